"""A block of code in the documentation is a piece of a program that is built:

  <!-- examples/overview.cpp:spec -->      names the lines between two marks //! [spec] in that file, or #! [spec], and
  ```cpp                                   what stands here must be those lines

  <!-- declarations: include/fovea/mask/where.hpp -->
  ```cpp                                   each line must stand in that header

  <!-- docstring: python/fovea/_graph.py -->  each line must stand in that module; a test runs the example
  ```python

  <!-- output of examples/docs/masks.cpp -->
  ```text                                  a test compares what the program prints (examples/docs/output.cmake); of a
                                           program that ends with "// prints", these lines are compared here

  <!-- another library -->                 what no test here could run; never C++
  ```python

A fence says what it contains; what is not in the list of programs is nothing that could be built.
"""

import re
import textwrap

from .tree import Report, Tree, tool

CHECKED = "blocks of code"
AT_LEAST = 15

PROGRAMS = ("cpp", "c", "cmake", "python")
OTHERS = ("text", "math", "sh", "console", "json", "meson", "bazel")
FENCE = re.compile(r"^ *```(.*)$")
SOURCE = re.compile(r"^ *<!-- ([^ :]+):([^ ]+) -->$")
DECLARATIONS = re.compile(r"^ *<!-- (?:declarations|docstring): ([^ ]+) -->$")
OUTPUT = re.compile(r"^ *<!-- output of ([^ ]+) -->$")
ANOTHER_LIBRARY = re.compile(r"^ *<!-- another library -->$")
region_of = tool("regions").region_of


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


def check_declarations(tree: Tree, report: Report, page: str, header: str, text: str) -> None:
    """Declarations in the order of the header or module, without the bodies of functions; or an example."""
    if not tree.exists(header):
        report.problem(f"{page}: declarations of {header}, which is no file")
        return
    declared = tree.text(header)
    for line in text.splitlines():
        if line.removesuffix(";") not in declared:
            report.problem(f"{page}: {header} has no '{line.removesuffix(';')}'")


def check_region(tree: Tree, report: Report, page: str, named: re.Match, text: str) -> None:
    file, region = named.groups()
    if not tree.exists(file):
        report.problem(f"{page}: {file}:{region} names no file")
        return
    expected = region_of(tree.text(file), region)
    if expected is None:
        report.problem(f"{page}: {file} has no region {region}")
    elif text != expected:
        report.problem(f"{page}: the block differs from {file}:{region}, which is now:\n{expected}")


def check_output(tree: Tree, report: Report, page: str, program: str, text: str) -> None:
    _, ends, printed = tree.text(program).partition("\n// prints\n")
    if ends and text != re.sub(r"^// ?", "", printed, flags=re.MULTILINE).rstrip("\n"):
        report.problem(f"{page}: the block differs from what {program} says that it prints")


def check_block(tree: Tree, report: Report, page: str, block: tuple[str, str, str]) -> None:
    language, source, text = block
    if language not in PROGRAMS + OTHERS:
        report.problem(f"{page}: a fence '{language}': write one of {', '.join(PROGRAMS + OTHERS)}")
    named, declarations = SOURCE.match(source), DECLARATIONS.match(source)
    if output := OUTPUT.match(source):
        check_output(tree, report, page, output[1], text)
    if ANOTHER_LIBRARY.match(source) and language != "cpp":
        report.note(f"{page}: a block of {language} for another library is not checked")
    elif language in PROGRAMS or named:
        report.checked += 1
        if declarations:
            check_declarations(tree, report, page, declarations[1], text)
        elif named:
            check_region(tree, report, page, named, text)
        else:
            report.problem(f"{page}: a block of {language} without a line '<!-- file:region -->' before it")


def check(tree: Tree, report: Report) -> None:
    pages = tree.files("*.md") + tree.files("docs/**/*.md")
    for page in pages:
        for block in blocks_of(tree.text(page)):
            check_block(tree, report, page, block)
    report.note(f"read {len(pages)} pages")
