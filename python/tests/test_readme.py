# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each block of Python in the README runs as it stands, and so does the example of each docstring."""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import fovea

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
PUBLIC = {name: getattr(fovea, name) for name in fovea.__all__}
EXAMPLES = {
    name: textwrap.dedent(inspect.getdoc(x).partition("\nExample\n-------\n")[2])  # type: ignore[union-attr]
    for name, x in PUBLIC.items()
}
OF_COMPILERS = re.compile(r"@fovea\.kernel|fovea\.prebuild")  # left to kernel_tests
KERNEL = re.compile(r'"(causal|alibi|decode|gat)"|library\.(causal)|(?:out=)')


def kernels_of(block: str) -> set[str]:
    """The kernels that a block calls; causal where it names none."""
    if not re.search(r"attend\(|gradient\(|library\.", block):
        return set()
    return {a or b or "causal" for a, b in KERNEL.findall(block)} or {"causal"}


def type_of(block: str) -> str:
    named = re.search(r'dtype="(\w+)"', block)
    return named[1] if named else "f32"


def test_all_blocks_are_found() -> None:
    text = README.read_text()
    assert len(BLOCKS) == text.count("```python") == 12
    assert text.count("attend(") == sum(block.count("attend(") for block in BLOCKS)
    assert all(kernels_of(block) or "attend(" not in block for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=[f"block_{i}" for i in range(1, len(BLOCKS) + 1)])
def test_block_runs(block: str, library: fovea.Library) -> None:
    run(block, library, {})


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if not OF_COMPILERS.search(example)])
def test_example_runs(name: str, library: fovea.Library) -> None:
    assert EXAMPLES[name], f"the docstring of {name} has no example"
    run(EXAMPLES[name], library, {"np": np, "os": os, "fovea": fovea})


def run(block: str, library: fovea.Library, space: dict[str, object]) -> None:
    for name in sorted(kernels_of(block)):
        found = next((k for k in library.kernels() if k.name == name), None)
        if found is None or type_of(block) not in found.types:
            pytest.skip(f"the library has no kernel {name} for {type_of(block)}")
        if "gradient(" in block and not found.gradients:
            pytest.skip(f"the library has no gradients of {name}")
        if "outputs=" in block and not found.outputs:
            pytest.skip(f"{name} gives nothing beside its result in this library")
    exec(compile(block, "block", "exec"), space)
    results = [x for x in space.values() if isinstance(x, np.ndarray)]
    assert all(np.isfinite(x).all() for x in results)
