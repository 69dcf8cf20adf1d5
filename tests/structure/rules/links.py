"""Every relative link of every page leads to a file and, where it names one, to a heading."""

from .tree import Report, Tree, tool

CHECKED = "links"
AT_LEAST = 400


def check(tree: Tree, report: Report) -> None:
    problems, report.checked = tool("links").check_pages(tree.root)
    for problem in problems:
        report.problem(problem)
