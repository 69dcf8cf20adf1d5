"""Every word has a test and a reference page of its own name."""

from .tree import WORDS, Report, Tree

CHECKED = "words"
AT_LEAST = 25


def check(tree: Tree, report: Report) -> None:
    for header in tree.headers(*WORDS):
        report.checked += 1
        word = header.removesuffix(".hpp")
        for twin in (f"tests/{word}.cpp", f"docs/reference/{word}.md"):
            if not tree.exists(twin):
                report.problem(f"{header}: {twin} is missing")
