# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pages quote of a program: a region, the lines between two marks //! [region], or #! [region]."""

import re
import textwrap

MARK = re.compile(r"^ *(?://|#)! \[(.*)\]")


def region_of(text: str, region: str) -> str | None:
    """The lines of a region, without the marks of others; None where it is not marked."""
    inside, found, lines = False, False, []
    for line in text.splitlines():
        mark = MARK.match(line)
        if mark and mark[1] == region:
            inside, found = not inside, True
        elif inside and not mark:
            lines.append(line)
    return textwrap.dedent("\n".join(lines)) if found else None
