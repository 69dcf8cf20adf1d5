#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of the engine's headers in docs/map.md: each header with what its first comment says, and its tests.

The comment stands between the licence and `#pragma once` and is one or more sentences. Tests of a header are those that
include it by name, or else those of the nearest headers that include it. The tables stand in docs/map.md between BEGIN
and END; everything else there is written by hand.

    map.py    writes the tables; tests/structure/check.py map compares them
"""

import collections
import pathlib
import re
import sys

PAGE = "docs/map.md"
ENGINE = ("driver", "kernel", "parts", "plan", "simd")
BEGIN = "<!-- Made by docs/tools/map.py from the first comment of each header, and from what tests include. -->"
END = "<!-- The end of what is made. -->"
INCLUDE = re.compile(r"^ *# *include <fovea/([\w/]+\.hpp)>", re.MULTILINE)
TESTS_SHOWN = 3
LONG = 150  # lines of a header that a test has to reach
FARTHEST = 3  # includes from a long header to one that a test names
CODE = re.compile(
    r"`[^`]*`|<\w+>"  # marked by the author; a header of the standard library
    r"|\b[\w/]+\.[ch]pp\b|\b\w+/(?:\w+/)*(?= )"  # a file, a folder
    r"|\b\w+::\w+|\b\w+\(\)|\b[a-z0-9]+(?:_\w+)+\b"  # a name
)


class MapError(Exception):
    """A header or a page that no tables can be made of."""


def main():
    root, problems = pathlib.Path(__file__).resolve().parents[2], []
    rows = rows_of(root, problems)
    try:
        (root / PAGE).write_text(with_tables((root / PAGE).read_text(), rows))
    except MapError as error:
        problems.append(str(error))
    for problem in problems:
        print(problem)
    print(f"{len(rows)} headers: {len(problems)} problems")
    sys.exit(1 if problems else 0)


def check_pages(root):
    """Headers that do not say what they are for, and whether the page differs; how many headers there are."""
    problems = []
    rows = rows_of(root, problems)
    problems += untested(root)
    text = (root / PAGE).read_text() if (root / PAGE).exists() else ""
    try:
        written = with_tables(text, rows)
        if written != text and not problems:
            problems.append(f"{PAGE} differs from the headers: ./run docs reference writes it anew")
    except MapError as error:
        problems.append(str(error))
    return problems, len(rows)


def rows_of(root, problems):
    """What each header of the engine is for, and its tests, by its path."""
    rows = {}
    tests, includers = read_includes(root)
    for part in ENGINE:
        for path in sorted((root / "include/fovea" / part).rglob("*.hpp")):
            name = path.relative_to(root / "include/fovea").as_posix()
            try:
                rows[name] = (purpose_of(path.read_text()), *nearest_tests(name, tests, includers)[:1])
            except MapError as error:
                rows[name] = ("", [])
                problems.append(f"include/fovea/{name}: {error}")
    return rows


def read_includes(root):
    """The tests that include each header by name, and the headers that do."""
    tests, includers = collections.defaultdict(set), collections.defaultdict(set)
    for path in sorted((root / "tests").rglob("*.cpp")):
        for name in INCLUDE.findall(path.read_text()):
            tests[name].add(path.relative_to(root / "tests").with_suffix("").as_posix())
    for path in sorted((root / "include/fovea").rglob("*.hpp")):
        for name in INCLUDE.findall(path.read_text()):
            includers[name].add(path.relative_to(root / "include/fovea").as_posix())
    for everything in ("fovea.hpp",):  # names no header in particular
        tests.pop(everything, None)
    return tests, includers


def nearest_tests(name, tests, includers):
    """The tests of a header, or of the nearest headers that include it, those of its name and folder first; how far."""
    around, seen, steps = {name}, set(), 0
    while around:
        found = set().union(*(tests[each] for each in around))
        if found:
            stem, folder = pathlib.PurePath(name).stem, pathlib.PurePath(name).parent.as_posix()
            order = lambda test: (pathlib.PurePath(test).name != stem, not test.startswith(folder), test)
            return sorted(found, key=order), steps
        seen |= around
        around = set().union(*(includers[each] for each in around)) - seen - {"fovea.hpp"}
        steps += 1
    return [], steps


def untested(root):
    """Long headers that no test reaches by a few includes."""
    tests, includers = read_includes(root)
    problems = []
    for path in sorted((root / "include/fovea").rglob("*.hpp")):
        name, lines = path.relative_to(root / "include/fovea").as_posix(), path.read_text().count("\n")
        found, steps = nearest_tests(name, tests, includers)
        if lines > LONG and (not found or steps > FARTHEST):
            problems.append(f"include/fovea/{name}: no test includes it, or a header that does within {FARTHEST} steps")
    return problems


def purpose_of(text):
    """The first comment of a header as one line."""
    lines = re.match(r"// SPDX.*\n((?:// .*\n)*)#pragma once\n", text)
    purpose = re.sub(r"^// ", "", lines[1], flags=re.MULTILINE).replace("\n", " ").strip() if lines else ""
    if not purpose.endswith("."):
        raise MapError("no sentence between the licence and #pragma once says what it is for")
    return purpose


def with_tables(text, rows):
    """The page with these rows, a table for each folder, in place of those that it has."""
    start, begin, rest = text.partition(BEGIN)
    _, end, rest = rest.partition(END)
    if not (begin and end):
        raise MapError(f"{PAGE} does not say where the tables belong: '{BEGIN}' and '{END}'")
    tables = []
    for folder in sorted({name.rpartition("/")[0] for name in rows}):
        lines = [f"### {folder}", "", "| header | what it is for | tests |", "|---|---|---|"]
        for name in rows:
            if name.rpartition("/")[0] == folder:
                purpose, tests = rows[name]
                lines.append(f"| `{name}` | {marked(purpose)} | {listed(tests)} |")
        tables.append("\n".join(lines))
    return "\n\n".join([start + begin, *tables, end + rest])


def listed(tests):
    """Some tests as code, and how many more there are."""
    shown = ", ".join(f"`{test}`" for test in tests[:TESTS_SHOWN])
    return shown + (f" and {len(tests) - TESTS_SHOWN} more" if len(tests) > TESTS_SHOWN else "")


def marked(text):
    """Names of files, functions and types as code."""
    return CODE.sub(lambda match: f"`{match[0].strip('`')}`", text).replace("|", "\\|")


if __name__ == "__main__":
    main()
