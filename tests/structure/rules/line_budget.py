"""A header has one concept: a word fits on two screens, any other header on six. A header that a single other one in
its folder includes, and that fits into it, is part of it."""

import posixpath
import re

from .tree import WORDS, Report, Tree, folder_of

CHECKED = "headers"
AT_LEAST = 80

WORD_LIMIT = 120
HEADER_LIMIT = 400
OVERHEAD = 12  # lines of a header beside what it has to say
GUARD = re.compile(r"^\n#include <fovea/core/(?:pro|epi)logue\.hpp>\n", re.MULTILINE)  # says nothing of the header
# Headers with one includer that stand by themselves all the same, and why.
STAND_ALONE = {
    "core/memory_checks.hpp": "compiled once where FOVEA_COMPILED is defined",
    "core/messages.hpp": "compiled once where FOVEA_COMPILED is defined",
    "driver/graph/backward/key_pass.hpp": "one of the two passes of a gradient over listed keys",
    "interop/mpi.hpp": "a program without gradients includes it alone",
    "driver/dense/pass/split_keys.hpp": "one of the passes",
    "driver/dense/pass/whole_rows.hpp": "one of the passes",
    "testing/against_reference.hpp": "tests of words include it",
    "testing/score_laws.hpp": "tests of words include it",
    "testing/selection_laws.hpp": "tests of words include it",
    "testing/tolerance.hpp": "tests of words include it",
}


def check(tree: Tree, report: Report) -> None:
    lines = {header: GUARD.sub("", tree.header(header)).count("\n") for header in tree.headers()}
    includers: dict[str, list[str]] = {header: [] for header in lines}
    for header in lines:
        for included in re.findall(r"^[ \t]*#[ \t]*include <fovea/([^>]+)>", tree.header(header), re.MULTILINE):
            includers.get(included, []).append(header)
    for header, count in lines.items():
        report.checked += 1
        word = folder_of(header) in WORDS
        if count > (limit := WORD_LIMIT if word else HEADER_LIMIT):
            report.problem(f"{header}: {count} lines, and {limit} are allowed")
        if word or header in STAND_ALONE or len(includers[header]) != 1:
            continue
        only = includers[header][0]
        together = count + lines[only] - OVERHEAD
        if posixpath.dirname(only) == posixpath.dirname(header) and folder_of(header) and together <= HEADER_LIMIT:
            report.problem(f"{header}: only {only} includes it, and both fit into one header of {together} lines")
    for header, reason in STAND_ALONE.items():
        if len(includers.get(header, [])) > 1:
            report.problem(f"{header}: more than one header includes it, so that it need not be excused: {reason}")
    alone = sum(len(by) == 1 and folder_of(name) not in WORDS for name, by in includers.items())
    report.note(f"{len(lines)} headers, {sum(lines.values())} lines; {alone} headers have one includer")
