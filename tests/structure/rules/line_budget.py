"""A word fits on two screens, a header on six; machinery over 250 lines is worth a look."""

from .tree import WORDS, Report, Tree, folder_of

CHECKED = "headers"
AT_LEAST = 80

WORD_LIMIT = 120
HEADER_LIMIT = 400
WORTH_A_LOOK = 250


def check(tree: Tree, report: Report) -> None:
    long = 0
    for header in tree.headers():
        report.checked += 1
        lines = tree.header(header).count("\n")
        limit = WORD_LIMIT if folder_of(header) in WORDS else HEADER_LIMIT
        if lines > limit:
            report.problem(f"{header}: {lines} lines, and {limit} are allowed")
        elif lines > WORTH_A_LOOK:
            report.note(f"{header}: {lines} lines")
            long += 1
    report.note(f"{long} headers have more than {WORTH_A_LOOK} lines")
