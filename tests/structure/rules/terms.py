"""One thing has one name: of the terms that docs/glossary.md gives under "elsewhere", these are not used in code and
its comments, since the glossary has another for the same. Terms that also mean something else here, such as kernel or
channel, are no such terms."""

import re

from .tree import Report, Tree

CHECKED = "sources"
AT_LEAST = 700

GLOSSARY = "docs/glossary.md"
FOLDERS = ("include", "src", "bench", "examples", "tests")
ELSEWHERE = ("epilogue", "logit", "nested tensor", "recurrent state", "unmasked", "varlen")


def check(tree: Tree, report: Report) -> None:
    ours = {term: name for term in ELSEWHERE if (name := name_of(term, tree.text(GLOSSARY)))}
    for term in ELSEWHERE:
        if term not in ours:
            report.problem(f"{GLOSSARY} does not give '{term}' as a term of other libraries")
    for source in [name for folder in FOLDERS for name in tree.files(f"{folder}/**/*.[ch]pp")]:
        report.checked += 1
        text = tree.text(source)
        for term, name in ours.items():
            if re.search(rf"\b{term}s?\b", text, re.IGNORECASE):
                report.problem(f"{source}: '{term}': the glossary says {name}")


def name_of(term: str, glossary: str) -> str:
    """What the glossary calls this term of other libraries; nothing where it does not have it."""
    found = re.search(rf"^\| ([^|]*) \|[^|]*\|[^|\n]*\b{term}\b[^|\n]*\|$", glossary, re.MULTILINE)
    return found[1] if found else ""
