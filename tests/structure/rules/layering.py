"""Who may include whom, by folder, read off the #include lines.

  core -> expr -> spec --+--> words       project score mask keep normalize aggregate result
                         +--> engine      plan -> kernel -> driver
                         +--> reference -> testing
  core -> simd ---------------> engine      vectors, which know nothing of attention
  base, simd, driver/, gradient.hpp, project/rotary.hpp -> bindings
  base, driver/, gradient.hpp, parts/ -> interop    headers for other libraries, which include theirs

Within driver/: run, call -> layer, dense, graph, recurrent -> the doors, which stand in driver/ itself. None of the four
includes another or a door, and driver/ names no element type that is stored, and no pages. parts/ has the calls over
parts of a sequence: it includes doors and traversals, and only interop/ includes it.

A folder backward/ includes its forward room, never the other way; folders include each other in one direction.
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
    "parts": (*BASE, "simd", "plan", "kernel", "driver", "parts"),
    "reference": (*BASE, "reference"),
    "testing": (*BASE, "reference", "testing"),
    "bindings": (*BASE, "simd", "driver", "bindings"),
    "interop": (*BASE, "driver", "parts", "interop"),
}
# Headers that others may include than their folders say: the entry point of gradients, which knows the definition too,
# and the word by which caches for C rotate keys, without the engine.
DOORS = {"gradient.hpp": ("bindings", "interop"), "project/rotary.hpp": ("bindings",)}
# What headers outside interop/ may include of folders of headers.
KNOWN_LIBRARIES = ("xsimd/", "boost/", "fovea/", "sys/")
# The primary templates of vectors, which simd/arch/ specializes.
WITHOUT_ARCHITECTURES = tuple(f"simd/{name}.hpp" for name in ("bf16_pairs", "lanes", "pack", "registers", "storage"))
SHARED_ROOMS = ("run", "call")  # of driver/: what all traversals use
# The forward headers that begin a gradient, beside those that are named after it.
BEGIN_GRADIENTS = r"differentiate|(?:\w+_)?gradient(?:_\w+)?|exact_sink|grad"
# simd/arch/ has the specializations of what simd/ declares, which includes them.
ONE_ROOM = {"simd/arch": "simd"}
# The traversals read rows and multiply them, whatever their elements and wherever they lie.
SEAMS = {
    r"[a-z0-9_]*(?:bf16|bfloat16|float16)[a-z0-9_]*": "kernel/product/ knows which elements are multiplied as stored",
    r"is_paged|paged_rows": "core/row_run.hpp reads rows wherever they lie",
}


def room_of(header: str) -> str:
    """The folder of a header without its backward/: words are one room, and so is what ONE_ROOM joins."""
    folder = posixpath.dirname(header).removesuffix("/backward")
    return "words" if folder_of(header) in WORDS else ONE_ROOM.get(folder, folder)


def traversal_of(header: str) -> str:
    """Of driver/dense/pass/... it is dense; the doors and the rooms that all share belong to none."""
    parts = header.split("/")
    return parts[1] if parts[0] == "driver" and len(parts) > 2 and parts[1] not in SHARED_ROOMS else ""


def is_backward(header: str) -> bool:
    return posixpath.dirname(header).endswith("/backward")


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
    if traversal_of(header) and traversal_of(path) not in ("", traversal_of(header)):
        report.problem(f"{header}: includes {path}, of another traversal")
    if room_of(path) == "driver" and folder == "driver" and room_of(header) != "driver":
        report.problem(f"{header}: includes {path}, a door, which only other doors, parts/ and interop/ may include")
    if path in WITHOUT_ARCHITECTURES and folder != "simd":
        report.problem(f"{header}: includes {path}, but simd/simd.hpp has its specializations for each architecture")
    stem = posixpath.basename(header).removesuffix(".hpp")
    if is_backward(path) and not is_backward(header) and not re.fullmatch(BEGIN_GRADIENTS, stem):
        report.problem(f"{header}: includes {path}, but is no gradient and not in backward/")


def circles(includes: dict[str, set[str]]) -> list[list[str]]:
    """Folders that reach each other by includes, each group once."""
    def reached(start: str) -> set[str]:
        seen, ahead = set(), [start]
        while ahead:
            for folder in includes.get(ahead.pop(), set()) - seen:
                seen.add(folder)
                ahead.append(folder)
        return seen

    reach = {folder: reached(folder) for folder in includes}
    groups = {tuple(sorted(b for b in reach[a] if a in reach.get(b, set()))) for a in reach if a in reach[a]}
    return [list(group) for group in sorted(groups)]


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
    between: dict[str, set[str]] = {}
    for header in tree.headers():
        if not folder_of(header):
            continue  # fovea.hpp, which includes everything
        if folder_of(header) not in MAY_INCLUDE:
            report.problem(f"{header}: folder {folder_of(header)}/ has no place in tests/structure/rules/layering.py")
            continue
        if folder_of(header) in ("driver", "parts"):
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
                inside = tuple(room_of(name) + "/backward" * is_backward(name) for name in (header, path))
                if inside[0] != inside[1] and folder_of(path):
                    between.setdefault(inside[0], set()).add(inside[1])
            else:
                check_foreign(header, found[0], report)
    for group in circles(between):
        report.problem(f"folders include each other: {', '.join(group)}")
