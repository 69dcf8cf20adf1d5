"""Every reference page is what docs/tools/reference.py makes of the header of its word and the example of its test."""

from .tree import Report, Tree, tool

CHECKED = "pages"
AT_LEAST = 80


def check(tree: Tree, report: Report) -> None:
    problems, report.checked = tool("reference").check_pages(tree.root)
    for problem in problems:
        report.problem(problem)
