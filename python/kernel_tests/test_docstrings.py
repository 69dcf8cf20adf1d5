# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of docstrings that take a compiler run; other tests compile their kernels too."""

from __future__ import annotations

import importlib.util
import inspect
import textwrap
from pathlib import Path

import numpy as np
import pytest

import fovea

NIGHT = pytest.mark.night
NEEDS_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def run(documented: object, **given: object) -> None:
    _, _, example = (inspect.getdoc(documented) or "").partition("\nExample\n-------\n")
    assert example
    exec(compile(textwrap.dedent(example), "example", "exec"), {"np": np, "fovea": fovea, **given})


@pytest.mark.parametrize("name", ["kernel", "TracedKernel", "Expression"])
def test_example_runs(name: str) -> None:
    run(getattr(fovea, name))


@NEEDS_TORCH
@pytest.mark.parametrize("name", ["flex_attention", pytest.param("scaled_dot_product_attention", marks=NIGHT)])
def test_example_of_tensors_runs(name: str) -> None:
    of_torch = importlib.import_module("fovea.torch")
    run(getattr(of_torch, name), torch=importlib.import_module("torch"))


@NIGHT
def test_example_with_all_instruction_sets_runs(tmp_path: Path) -> None:
    query, key, value = np.ones((3, 2, 4, 37, 11), np.float32)
    run(fovea.prebuild, folder=tmp_path, query=query, key=key, value=value)
