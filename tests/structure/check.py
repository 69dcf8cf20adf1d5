#!/usr/bin/env python3
"""Checks rules about the source tree that no compiler checks.

    tests/structure/check.py                    every rule
    tests/structure/check.py layering terms     these rules
    tests/structure/check.py --reject DIR terms a tree that is wrong on purpose (fixtures/): the rule must fail and say
                                                every line of the tree's expected.txt

A rule is a module of rules/: its comment says what it demands, CHECKED what it counts, AT_LEAST how many of these it
must find. A check that has stopped looking in the right place finds nothing, and fails.
"""

import argparse
import importlib
import pathlib
import sys

from rules.tree import Report, Tree

HERE = pathlib.Path(__file__).resolve().parent
RULES = sorted(path.stem for path in (HERE / "rules").glob("*.py") if path.stem not in ("__init__", "tree"))


def run(rule: str, root: pathlib.Path, at_least: int | None) -> Report:
    module = importlib.import_module(f"rules.{rule}")
    report = Report()
    module.check(Tree(root), report)
    report.finish(module.CHECKED, module.AT_LEAST if at_least is None else at_least)
    return report


def reject(rule: str, fixture: pathlib.Path) -> bool:
    report = run(rule, fixture, at_least=1)
    if not report.problems:
        print(f"the rule {rule} accepted {fixture}:", *report.lines, sep="\n")
        return False
    expected = (fixture / "expected.txt").read_text().splitlines()
    unsaid = [line for line in expected if not any(line in said for said in report.lines)]
    if unsaid or not expected:
        print(f"the rule {rule} did not say {unsaid} of {fixture} but:", *report.lines, sep="\n")
        return False
    print(f"rejected, with all of {len(expected)} sentences")
    return True


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    arguments.add_argument("--root", type=pathlib.Path, default=HERE.parent.parent, help="the tree to check")
    arguments.add_argument("--reject", type=pathlib.Path, metavar="DIR", help="a tree that must be found wrong")
    given = arguments.parse_args()
    if unknown := set(given.rules) - set(RULES):
        arguments.error(f"no such rule: {', '.join(sorted(unknown))}; there are {', '.join(RULES)}")

    if given.reject:
        return 0 if all([reject(rule, given.reject) for rule in given.rules or RULES]) else 1
    failed = False
    for rule in given.rules or RULES:
        report = run(rule, given.root, at_least=None)
        print(*(f"{rule}: {line}" for line in report.lines), sep="\n")
        failed = failed or bool(report.problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
