# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library under test is the one that the environment variable FOVEA_KERNELS names."""

import os

import pytest

import fovea


def pytest_configure(config: pytest.Config) -> None:
    if not os.environ.get("FOVEA_KERNELS"):
        pytest.exit("set FOVEA_KERNELS to the path of a library of kernels", returncode=2)
    fovea.load(os.environ["FOVEA_KERNELS"])


def pytest_report_header(config: pytest.Config) -> list[str]:
    kernels = ", ".join(f"{k.name} ({' '.join(k.types)})" for k in fovea.kernels())
    return [f"fovea: {os.environ['FOVEA_KERNELS']}: {kernels}"]


@pytest.fixture
def library() -> fovea.Library:
    return fovea.load(os.environ["FOVEA_KERNELS"])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `kernel` runs for each kernel of the library, unless it says for which."""
    chosen = any("kernel" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "kernel" in metafunc.fixturenames and not chosen:
        from cases import plain_kernels

        kernels = plain_kernels()
        metafunc.parametrize("kernel", kernels, ids=[k.name for k in kernels])
