# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are written in Python, each compiled once for a session.

FOVEA_TEST_LEVEL says how many: `change` or, without it, `night`. CXX may name another compiler with other flags.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "from_python"
sys.path[:0] = [str(Path(__file__).parent), str(EXAMPLES)]

NIGHT = os.environ.get("FOVEA_TEST_LEVEL", "night") == "night"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "night: compiles too much for each change")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    later = [] if NIGHT else [item for item in items if item.get_closest_marker("night")]
    for item in later:
        item.add_marker(pytest.mark.skip(reason=f"left to the level night, with {len(later)} cases in all"))


def torch_or_skip(file: str) -> Any:
    """PyTorch; without it the tests of a file are skipped."""
    if importlib.util.find_spec("torch") is None:
        count = Path(file).read_text().count("\ndef test_")
        pytest.skip(f"{count} tests are left out: PyTorch is not installed", allow_module_level=True)
    return importlib.import_module("torch")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of this session alone, unless FOVEA_CACHE names one."""
    folder = os.environ.get("FOVEA_CACHE") or str(tmp_path_factory.mktemp("cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOVEA_CACHE", folder)
        yield Path(folder)
