"""The engine uses the field's terms (docs/glossary.md): words that say less, or mean something else in the field, are
not used in its code and comments."""

import re

from .tree import Report, Tree

CHECKED = "headers"
AT_LEAST = 60

INSTEAD_OF = {
    **dict.fromkeys(("meet", "meets", "met"), "multiply, read or combine"),
    "careful": "nonfinite",
    **dict.fromkeys(("word", "words"), "bf16 pairs or halves: a word is part of a specification"),
    **dict.fromkeys(("chunk", "chunks"), "steps or blocks: nothing here is the chunkwise form of linear attention"),
    "enumerated": "listed",
}


def check(tree: Tree, report: Report) -> None:
    for header in tree.headers("simd", "plan", "kernel", "driver"):
        report.checked += 1
        used = set(re.findall(r"[a-z_]+", tree.header(header).lower()))
        for term in sorted(used & INSTEAD_OF.keys()):
            report.problem(f"{header}: '{term}': write {INSTEAD_OF[term]}")
