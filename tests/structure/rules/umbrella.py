"""<fovea/fovea.hpp> is the one header that a program includes: it has every word and every public door."""

from .tree import WORDS, Report, Tree

CHECKED = "headers that the umbrella must include"
AT_LEAST = 25

DOORS = ["driver/attend.hpp", "driver/explain.hpp", "reference/attend.hpp"]


def check(tree: Tree, report: Report) -> None:
    included = tree.header("fovea.hpp").splitlines()
    for header in tree.headers(*WORDS) + DOORS:
        report.checked += 1
        if f"#include <fovea/{header}>" not in included:
            report.problem(f"fovea.hpp: lacks #include <fovea/{header}>")
