"""Attributes that not every compiler reads alike have macros: what is inlined by force is FOVEA_INLINE or FOVEA_LAMBDA, which
the address sanitizer turns off, and an empty member is FOVEA_NO_UNIQUE_ADDRESS, which MSVC's ABI spells otherwise. Only
core/config.hpp, which defines them, names the attributes."""

import re

from .tree import Report, Tree

CHECKED = "headers"
AT_LEAST = 200

DEFINES_THE_MACROS = "core/config.hpp"
BY_HAND = {
    r"\b(?:__)?always_inline(?:__)?\b|__forceinline\b": "forces inlining by itself: write FOVEA_INLINE or FOVEA_LAMBDA",
    r"\bno_unique_address\b": "names an attribute that MSVC's ABI spells otherwise: write FOVEA_NO_UNIQUE_ADDRESS",
}


def check(tree: Tree, report: Report) -> None:
    for header in tree.headers():
        report.checked += 1
        if header == DEFINES_THE_MACROS:
            continue
        for number, line in enumerate(tree.header(header).splitlines(), 1):
            for attribute, what in BY_HAND.items():
                if re.search(attribute, line):
                    report.problem(f"{header}:{number}: {what}")
