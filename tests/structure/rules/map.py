"""Every header of the engine begins with a sentence on what it is for, and docs/map.md has it (docs/tools/map.py)."""

from .tree import Report, Tree, check_by_tool

CHECKED = "headers of the engine"
AT_LEAST = 90


def check(tree: Tree, report: Report) -> None:
    check_by_tool("map", tree, report)
