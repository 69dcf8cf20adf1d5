"""Whatever macros others have defined, a public header reads as it is written: it begins with <fovea/core/prologue.hpp>,
which sets them aside, and ends with <fovea/core/epilogue.hpp>, which gives them back. Public are words, headers in the
uppermost folder, those that <fovea/fovea.hpp> includes, and those that a page outside docs/inside/ names."""

import re

from .tree import WORDS, Report, Tree, folder_of

CHECKED = "headers"
AT_LEAST = 80

PROLOGUE, EPILOGUE = "core/prologue.hpp", "core/epilogue.hpp"
MACROS_ALONE = {PROLOGUE, EPILOGUE, "core/version.hpp"}
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]", re.MULTILINE)


def check(tree: Tree, report: Report) -> None:
    headers = tree.headers()
    named = set(re.findall(r"#include <fovea/([\w/]+\.hpp)>", tree.header("fovea.hpp")))
    pages = [page for page in tree.files("docs/**/*.md") if not page.startswith(("docs/inside/", "docs/map"))]
    for page in ["README.md", *pages]:
        named |= set(re.findall(r"\bfovea/([\w/]+\.hpp)", tree.text(page)))
    for header in headers:
        report.checked += 1
        public = folder_of(header) in ("", *WORDS) or header in named - MACROS_ALONE
        included = INCLUDE.findall(tree.header(header))
        guards = [f"fovea/{each}" for each in (PROLOGUE, EPILOGUE)]
        if not public:
            if set(guards) & set(included):
                report.problem(f"{header}: is not public, and what includes it has set macros aside")
        elif [*included[:1], *included[-1:]] != guards or not tree.header(header).endswith(f"#include <{guards[1]}>\n"):
            report.problem(f"{header}: is public, and does not begin with <{guards[0]}> and end with <{guards[1]}>")
    saved, removed, restored = (
        re.findall(pattern, tree.header(header), re.MULTILINE)
        for pattern, header in (
            (r'^#pragma push_macro\("(\w+)"\)$', PROLOGUE),
            (r"^#undef (\w+)$", PROLOGUE),
            (r'^#pragma pop_macro\("(\w+)"\)$', EPILOGUE),
        )
    )
    if not saved == removed == restored:
        report.problem(f"{PROLOGUE} saves and removes, and {EPILOGUE} restores, different macros, or in another order")
