"""Every reference page is what docs/tools/reference.py makes of the header of its word and the example of its test."""

from .tree import Report, Tree, check_by_tool

CHECKED = "pages"
AT_LEAST = 80


def check(tree: Tree, report: Report) -> None:
    check_by_tool("reference", tree, report)
