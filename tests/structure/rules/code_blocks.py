"""A C++ block in the documentation is a piece of a program that is built:

  <!-- examples/overview.cpp:spec -->      names the lines between two marks //! [spec] in that file
  ```cpp                                   and what stands here must be those lines

Blocks of other languages may name lines too, between marks #! [spec] where that begins a comment.
"""

import re
import textwrap

from .tree import Report, Tree

CHECKED = "C++ blocks"
AT_LEAST = 15

CPP = ("cpp", "c++", "C++", "cc")
FENCE = re.compile(r"^ *```(.*)$")
SOURCE = re.compile(r"^ *<!-- ([^ :]+):([^ ]+) -->$")
MARK = re.compile(r"^ *(?://|#)! \[(.*)\]")


def region_of(text: str, region: str) -> str | None:
    """The lines between two marks of the region, the marks of others left out; None where it is not marked."""
    inside, found, lines = False, False, []
    for line in text.splitlines():
        mark = MARK.match(line)
        if mark and mark[1] == region:
            inside, found = not inside, True
        elif inside and not mark:
            lines.append(line)
    return textwrap.dedent("\n".join(lines)) if found else None


def blocks_of(text: str):
    """(language, line before the fence, text) of each fenced block. A fence opens a block and closes it."""
    before, opened = "", None
    for line in text.splitlines():
        fence = FENCE.match(line)
        if fence and opened is None:
            opened = (fence[1], before, [])
        elif fence:
            yield opened[0], opened[1], textwrap.dedent("\n".join(opened[2]))
            opened = None
        elif opened:
            opened[2].append(line)
        before = line


def check_block(tree: Tree, report: Report, page: str, source: str, text: str) -> None:
    named = SOURCE.match(source)
    if not named:
        report.problem(f"{page}: a C++ block without a line '<!-- file:region -->' before it")
        return
    file, region = named.groups()
    if not tree.exists(file):
        report.problem(f"{page}: {file}:{region} names no file")
        return
    expected = region_of(tree.text(file), region)
    if expected is None:
        report.problem(f"{page}: {file} has no region {region}")
    elif text != expected:
        report.problem(f"{page}: the block differs from {file}:{region}, which is now:\n{expected}")


def check(tree: Tree, report: Report) -> None:
    pages = tree.files("README.md") + tree.files("docs/**/*.md")
    for page in pages:
        for language, source, text in blocks_of(tree.text(page)):
            if language in CPP or SOURCE.match(source):
                check_block(tree, report, page, source, text)
                report.checked += 1
    report.note(f"read {len(pages)} pages")
