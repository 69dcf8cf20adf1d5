"""Every relative link of every page leads to a file and, where it names one, to a heading."""

from .tree import Report, Tree, check_by_tool

CHECKED = "links"
AT_LEAST = 400


def check(tree: Tree, report: Report) -> None:
    check_by_tool("links", tree, report)
