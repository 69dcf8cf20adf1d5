"""No two paths differ in the case of letters alone: on macOS and Windows they are one file."""

from collections import defaultdict

from .tree import Report, Tree

CHECKED = "paths"
AT_LEAST = 1000

LEFT_OUT = ("build", ".git")


def check(tree: Tree, report: Report) -> None:
    alike = defaultdict(set)
    for name in tree.files("**/*"):
        if name.split("/")[0] in LEFT_OUT:
            continue
        report.checked += 1
        parts = name.split("/")
        for length in range(1, len(parts) + 1):  # folders too
            path = "/".join(parts[:length])
            alike[path.casefold()].add(path)
    for paths in alike.values():
        if len(paths) > 1:
            report.problem(f"{' and '.join(sorted(paths))} are one path where case does not count")
