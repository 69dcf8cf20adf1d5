"""What is inlined by force is FOVEA_INLINE or FOVEA_LAMBDA, which the address sanitizer turns off: only core/config.hpp,
which defines them, names the attribute."""

import re

from .tree import Report, Tree

CHECKED = "headers"
AT_LEAST = 200

DEFINES_THE_MACROS = "core/config.hpp"


def check(tree: Tree, report: Report) -> None:
    for header in tree.headers():
        report.checked += 1
        if header == DEFINES_THE_MACROS:
            continue
        for number, line in enumerate(tree.header(header).splitlines(), 1):
            if re.search(r"\b(?:__)?always_inline(?:__)?\b|__forceinline\b", line):
                report.problem(f"{header}:{number}: forces inlining by itself: write FOVEA_INLINE or FOVEA_LAMBDA")
