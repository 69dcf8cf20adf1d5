"""The engine uses the field's terms (docs/glossary.md): words that say less, or that once said something else here, are
not used in its code and comments."""

import re

from .tree import Report, Tree

CHECKED = "headers"
AT_LEAST = 60

INSTEAD_OF = {
    **dict.fromkeys(("meet", "meets", "met"), "multiply, read or combine"),
    "careful": "nonfinite",
    **dict.fromkeys(("nearer", "upcoming", "fetch"), "prefetch"),
    **dict.fromkeys(("strip", "strips"), "whole rows"),
    "note_visible": "mark_visible",
    **dict.fromkeys(("greater", "greatest"), "max, maximum or largest"),
    **dict.fromkeys(("word", "words"), "bf16 pairs or halves: a word is part of a specification"),
    "held": "opaque (an optimization barrier) or stored",
    **dict.fromkeys(("saturates", "saturated"), "any exponent, or what happens beyond the range"),
    "turns": "interleaved",
    "glances": "spins",
    **dict.fromkeys(("line_of", "grid_of"), "c_array or c_array_2d: a line is a cache line"),
    "spread": "to_integers",
    "recipe": "lowered_spec",
    **dict.fromkeys(("chunk", "chunks"), "steps or blocks: nothing here is the chunkwise form of linear attention"),
    "enumerated": "listed",
}


def check(tree: Tree, report: Report) -> None:
    for header in tree.headers("simd", "plan", "kernel", "driver"):
        report.checked += 1
        used = set(re.findall(r"[a-z_]+", tree.header(header).lower()))
        for term in sorted(used & INSTEAD_OF.keys()):
            report.problem(f"{header}: '{term}': write {INSTEAD_OF[term]}")
