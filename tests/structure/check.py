#!/usr/bin/env python3
"""Checks rules about the source tree that no compiler checks.

    tests/structure/check.py                    every rule
    tests/structure/check.py layering terms     these rules
    tests/structure/check.py --reject           each rule on the trees that are wrong on purpose (rejected/): it must
                                                fail and say what is expected of the tree

A rule is a module of rules/: its comment says what it demands, CHECKED what it counts, AT_LEAST how many of these it
must find. A check that has stopped looking in the right place finds nothing, and fails.

A wrong tree is one file, rejected/RULE.NAME.txt: what must be said after "=== expected", and each file of the tree
after "=== its path", "=== its path: may be run", or "=== its path: 401 lines" for lines of comments.
"""

import argparse
import importlib
import pathlib
import re
import sys
import tempfile

from rules.tree import Report, Tree

HERE = pathlib.Path(__file__).resolve().parent
RULES = sorted(path.stem for path in (HERE / "rules").glob("*.py") if path.stem not in ("__init__", "tree"))


def run(rule: str, root: pathlib.Path, at_least: int | None) -> Report:
    module = importlib.import_module(f"rules.{rule}")
    report = Report()
    module.check(Tree(root), report)
    report.finish(module.CHECKED, module.AT_LEAST if at_least is None else at_least)
    return report


def unpack(packed: pathlib.Path, into: pathlib.Path) -> list[str]:
    """Writes the files of a wrong tree; what the rule must say of it."""
    expected: list[str] = []
    for part in re.split(r"^=== ", packed.read_text(), flags=re.MULTILINE)[1:]:
        name, _, text = part.partition("\n")
        if name == "expected":
            expected = text.splitlines()
            continue
        if lines := re.fullmatch(r"(.*): (\d+) lines", name):
            name, text = lines[1], "// a line\n" * int(lines[2])
        runs, name = name.endswith(": may be run"), name.removesuffix(": may be run")
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(text)
        if runs:
            (into / name).chmod(0o755)
    return expected


def rejects(rule: str) -> bool:
    """Whether the rule finds each of its wrong trees wrong, for the reasons that are expected."""
    trees = sorted((HERE / "rejected").glob(f"{rule}.*.txt"))
    if not trees:
        print(f"{rule}: rejected/ has no tree that the rule must reject")
    right = bool(trees)
    for packed in trees:
        with tempfile.TemporaryDirectory() as folder:
            expected = unpack(packed, pathlib.Path(folder))
            report = run(rule, pathlib.Path(folder), at_least=1)
        unsaid = [line for line in expected if not any(line in said for said in report.lines)]
        if not report.problems or unsaid or not expected:
            print(f"{packed.name}: the rule did not reject the tree, or not for {unsaid}, but said:")
            print(*report.lines, sep="\n")
            right = False
        else:
            print(f"{packed.name}: rejected, with all of {len(expected)} sentences")
    return right


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    arguments.add_argument("--root", type=pathlib.Path, default=HERE.parent.parent, help="the tree to check")
    arguments.add_argument("--reject", action="store_true", help="whether wrong trees are found wrong")
    given = arguments.parse_args()
    if unknown := set(given.rules) - set(RULES):
        arguments.error(f"no such rule: {', '.join(sorted(unknown))}; there are {', '.join(RULES)}")

    if given.reject:
        return 0 if all([rejects(rule) for rule in given.rules or RULES]) else 1
    failed = False
    for rule in given.rules or RULES:
        report = run(rule, given.root, at_least=None)
        print(*(f"{rule}: {line}" for line in report.lines), sep="\n")
        failed = failed or bool(report.problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
