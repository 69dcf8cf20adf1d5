#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes fovea as a single header: packaging/bundle.py build/fovea.hpp

Each header of the library stands in the bundle once, where it is first included, as `#pragma once` would have it; those
that set macros aside, and give them back, stand around all others. Other headers (the standard library's, xsimd's,
Boost.Hana's) are included as before.
"""

import argparse
import re
import sys
from pathlib import Path

INCLUDE_FOLDER = Path(__file__).resolve().parent.parent / "include"
LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
PROLOGUE, EPILOGUE = "fovea/core/prologue.hpp", "fovea/core/epilogue.hpp"


class Bundle:
    """The lines of the bundle so far, and what they include."""

    def __init__(self, folder):
        self.folder = folder
        self.lines = []
        self.own = set()
        self.others = set()
        self.conditional = {}

    def add(self, header, condition=None):
        """Appends a header and, in their places, those that it includes.

        `condition` names the place of an #include that stands between #if and #endif.
        """
        if header in self.own:
            return
        self.own.add(header)
        lines = (self.folder / header).read_text(encoding="utf-8").splitlines()
        if lines[0] != LICENCE:
            raise ValueError(f"{header}: the first line is not {LICENCE}")
        self.lines += ["", f"// <{header}>"]
        depth = 0
        for number, line in enumerate(lines[1:], 2):
            directive = re.match(r"\s*#\s*(\w+)", line)
            word = directive[1] if directive else ""
            depth += word in ("if", "ifdef", "ifndef")
            depth -= word == "endif"
            if word == "include":
                place = f"{header}:{number}"
                self._include(line, place, condition or (place if depth else None))
            elif line != "#pragma once":
                self.lines.append(line)

    def _include(self, line, place, condition):
        if re.match(r'\s*#\s*include\s*"fovea: ', line):  # a sentence, where there is no such file
            self.lines.append(line)
            return
        name = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not name:
            raise ValueError(f"{place}: names no file")
        if name[2] in (PROLOGUE, EPILOGUE):
            return
        own = name[2].startswith("fovea/")
        if name[1] == '"':
            raise ValueError(f"{place}: a header of the library is included as <fovea/...>")
        # What stands under a condition may be missing for others; so it brings nothing new, and nobody else needs it.
        if not condition and name[2] in self.conditional:
            raise ValueError(f"{place}: <{name[2]}> stands under the condition in {self.conditional[name[2]]}")
        if name[2] in (self.own if own else self.others):
            return
        if condition and condition != place:
            raise ValueError(f"{place}: includes <{name[2]}>, which no header before the condition in {condition} does")
        if own and condition:
            self.conditional[name[2]] = condition
        if own:
            self.add(name[2], condition)
        else:
            self.lines.append(line)
            if not condition:
                self.others.add(name[2])


def bundle(folder, headers):
    version = ".".join(
        re.findall(r"^#define FOVEA_VERSION_[A-Z]+ (\d+)$", (folder / "fovea/core/version.hpp").read_text(), re.MULTILINE)
    )
    result = Bundle(folder)
    for header in (PROLOGUE, *headers, EPILOGUE):
        result.add(header)
    text = "\n".join(
        [LICENCE, f"// fovea {version} in a single header, made by packaging/bundle.py from {' '.join(headers)}."]
        + ["#pragma once", *result.lines, ""]
    )
    return re.sub(r"\n{3,}", "\n\n", text), len(result.own)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("headers", nargs="*", default=["fovea/fovea.hpp"], help="fovea/fovea.hpp unless others are named")
    parser.add_argument("--include", type=Path, default=INCLUDE_FOLDER, help="the folder that has fovea/")
    options = parser.parse_args()
    try:
        text, count = bundle(options.include, options.headers)
    except (OSError, ValueError) as error:
        sys.exit(f"bundle.py: {error}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    print(f"{options.output}: {count} headers, {text.count(chr(10))} lines")


if __name__ == "__main__":
    main()
