"""Who may include whom, by folder, read off the #include lines.

  core -> expr -> spec --+--> words       project score mask keep normalize aggregate result
                         +--> engine      plan -> kernel -> driver -> driver/dense, driver/graph, driver/recurrent
                         +--> reference -> testing
  core -> simd ---------------> engine      vectors, which know nothing of attention
  base, simd, the doors of driver/, gradient.hpp -> bindings   driver/ names no element type that is stored, and no pages
  base, the doors of driver/, gradient.hpp -> interop    headers for other libraries, which include theirs
"""

import posixpath
import re

from .tree import WORDS, Report, Tree, folder_of

CHECKED = "#include lines"
AT_LEAST = 300

BASE = ("core", "expr", "spec")
MAY_INCLUDE = {
    "core": ("core",),
    "expr": ("core", "expr"),
    "spec": BASE,
    **{word: (*BASE, *WORDS) for word in WORDS},
    "simd": ("core", "simd"),
    "plan": (*BASE, "simd", "plan"),
    "kernel": (*BASE, "simd", "plan", "kernel"),
    "driver": (*BASE, "simd", "plan", "kernel", "driver"),
    "reference": (*BASE, "reference"),
    "testing": (*BASE, "reference", "testing"),
    "bindings": (*BASE, "simd", "driver", "bindings"),
    "interop": (*BASE, "driver", "interop"),
}
# Entry points outside of driver/, and who may include them: that of gradients knows the definition too.
DOORS = {"gradient.hpp": ("bindings", "interop")}
# What headers outside interop/ may include of folders of headers.
KNOWN_LIBRARIES = ("xsimd/", "boost/", "fovea/", "sys/")
KNOW_ALL_TRAVERSALS = ("driver/run_call.hpp", "driver/run_gradient.hpp")
# The traversals read rows and multiply them, whatever their elements and wherever they lie.
SEAMS = {
    r"[a-z0-9_]*(?:bf16|bfloat16|float16)[a-z0-9_]*": "kernel/product/ knows which elements are multiplied as stored",
    r"is_paged|paged_rows": "core/row_run.hpp reads rows wherever they lie",
}


def traversal_of(header: str) -> str:
    """Of driver/dense/... it is dense; the other headers of driver/ belong to none."""
    parts = header.split("/")
    return parts[1] if parts[0] == "driver" and len(parts) > 2 else ""


def own_header(header: str, included: str) -> str:
    """The path of an included header from include/fovea, or nothing if it is none of the library's."""
    if included.startswith("<fovea/"):
        return included[len("<fovea/") : -1]
    if included.startswith('"'):
        return posixpath.normpath(posixpath.join(posixpath.dirname(header), included[1:-1]))
    return ""


def check_own(header: str, path: str, report: Report) -> None:
    folder, allowed = folder_of(header), MAY_INCLUDE[folder_of(header)]
    if folder_of(path) not in allowed and folder not in DOORS.get(path, ()):
        report.problem(f"{header}: includes {path}, but {folder}/ may include only: {', '.join(allowed)}")
    if not traversal_of(path) or traversal_of(header) == traversal_of(path):
        return
    if traversal_of(header):
        report.problem(f"{header}: includes {path}, of another traversal")
    elif header not in KNOW_ALL_TRAVERSALS and folder == "driver":
        report.problem(f"{header}: includes {path}, but only {' and '.join(KNOW_ALL_TRAVERSALS)} may include one")


def check_foreign(header: str, included: str, report: Report) -> None:
    file = included.strip('<>"')
    if file.startswith("xsimd") and header != "simd/registers.hpp":
        report.problem(f"{header}: includes {included}, but only simd/registers.hpp may include xsimd")
    elif "/" in file and not file.startswith(KNOWN_LIBRARIES) and folder_of(header) != "interop":
        report.problem(f"{header}: includes {included}, but only interop/ may include other libraries")
    elif file.startswith("boost") and folder_of(header) not in ("expr", "plan"):
        report.problem(f"{header}: includes {included}, but only expr/ and plan/ may include Boost.Hana")
    elif file.startswith("boost") and not file.startswith("boost/hana"):
        report.problem(f"{header}: includes {included}, but of Boost only Hana may be included")


def check(tree: Tree, report: Report) -> None:
    for header in tree.headers():
        if not folder_of(header):
            continue  # fovea.hpp, which includes everything
        if folder_of(header) not in MAY_INCLUDE:
            report.problem(f"{header}: folder {folder_of(header)}/ has no place in tests/structure/rules/layering.py")
            continue
        if folder_of(header) == "driver":
            for names, seam in SEAMS.items():
                for name in sorted(set(re.findall(rf"\b(?:{names})\b", tree.header(header)))):
                    report.problem(f"{header}: names {name}, but {seam}")
        for line in re.findall(r"^[ \t]*#[ \t]*include.*$", tree.header(header), re.MULTILINE):
            report.checked += 1
            found = re.search(r'<[^>"]+>|"[^>"]+"', line)
            if not found:
                report.problem(f"{header}: '{line}' names no file")
            elif path := own_header(header, found[0]):
                check_own(header, path, report)
            else:
                check_foreign(header, found[0], report)
