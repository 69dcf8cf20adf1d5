#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the page together, into one file that loads no other: the module, packed, script and style, and the lines of C++
that the module was compiled from.

    build_page.py MODULE PAGE
"""

import base64
import gzip
import html
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "docs/tools"))
import regions  # noqa: E402

REGIONS = {
    "graph": "calls.hpp",
    "causal": "calls.hpp",
    "window": "calls.hpp",
    "alibi": "calls.hpp",
    "exported": "module.cpp",
}


def main():
    module, page = map(pathlib.Path, sys.argv[1:])
    page.write_text(page_of(module.read_bytes()))


def page_of(module: bytes) -> str:
    parts = {name: (HERE / name).read_text() for name in ("page.css", "page.js")}
    parts["script_size"] = kilobytes(sum(len(text.encode()) for text in parts.values()))
    parts["module_size"] = kilobytes(len(module))
    parts["module"] = base64.b64encode(gzip.compress(module, mtime=0)).decode()
    for region, file in REGIONS.items():
        lines = regions.region_of((HERE / file).read_text(), region)
        if lines is None:
            sys.exit(f"build_page.py: {file} has no region {region}")
        parts[region] = html.escape(lines, quote=False)
    return re.sub(r"\{\{([\w.]+)\}\}", lambda name: parts[name[1]], (HERE / "page.html").read_text())


def kilobytes(size: int) -> str:
    return str(round(size / 1000))


if __name__ == "__main__":
    main()
