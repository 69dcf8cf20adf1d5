"""Everything lies in the namespace that is named after the instruction set (core/config.hpp says why), so that no
function can forget it; but for the types that units of different sets hand to each other."""

import re

from .tree import Report, Tree

CHECKED = "namespaces"
AT_LEAST = 200

SHARED_TYPES = (
    "core/bits.hpp",
    "core/errors.hpp",
    "core/graph.hpp",
    "core/blocks.hpp",
    "core/fp8.hpp",
    "core/half.hpp",
    "core/subnormals.hpp",
    "core/tensor.hpp",
    "core/view.hpp",
    "driver/run/executor.hpp",
    "driver/run/workspace.hpp",
)


def check(tree: Tree, report: Report) -> None:
    for header in tree.headers():
        for opened in re.findall(r"^(?:inline )?namespace fovea.*$", tree.header(header), re.MULTILINE):
            report.checked += 1
            shared = header in SHARED_TYPES and opened == "namespace fovea {"
            if not shared and not re.fullmatch(r"namespace fovea::FOVEA_SET(::[a-z_]+)* {", opened):
                report.problem(f"{header}: '{opened}' is not below fovea::FOVEA_SET")
