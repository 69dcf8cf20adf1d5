# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a library says of itself, and the ways to call it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

import fovea
from cases import kernel_named, make_case, plain_case


def test_kernels_say_what_they_are(kernel: fovea.Kernel) -> None:
    assert kernel.name.isidentifier()
    assert kernel.specification and kernel.formula
    assert set(kernel.types) <= {"f32", "f64", "bf16", "f16"} and len(kernel.types) == len(kernel.architectures)
    assert kernel.elements == tuple((name, name, name, name) for name in kernel.types)
    assert all(kernel.architectures)
    assert {"pages", "sequences"}.isdisjoint(a.name for a in kernel.arguments)
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.name = "other"  # type: ignore[misc]


def test_arguments_say_their_types_and_axes() -> None:
    assert kernel_named("alibi").arguments == (fovea.Argument("slopes", "float", ("heads",)),)
    assert "(computed)" not in "".join(kernel.formula for kernel in fovea.kernels())
    decode = kernel_named("decode")
    assert decode.is_paged
    assert [str(a) for a in decode.arguments] == ["lengths(batch): int32_t", "page_table(batch, pages): int32_t"]


def test_kernels_are_attributes(library: fovea.Library, kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    bound = getattr(library, kernel.name)
    dtype = "bf16" if case.type == "bf16" else None
    result = bound(case.q, case.k, case.v, dtype=dtype, **case.arguments)
    np.testing.assert_array_equal(result, case.run_raw())
    assert bound.info == kernel and bound.__name__ == kernel.name
    assert kernel.specification in bound.__doc__ and kernel.name in repr(bound)
    assert kernel.comment in bound.__doc__ and kernel.formula in bound.__doc__
    assert kernel.name in dir(library) and kernel.name in repr(library)


def test_the_last_library_loaded_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, target = os.path.abspath(os.environ["FOVEA_KERNELS"]), fovea.load(os.environ["FOVEA_KERNELS"]).name
    other = tmp_path / "other.so"
    other.symlink_to(path)
    library = fovea.load(other, name=target)
    monkeypatch.setattr(library, "attend", lambda *rest, **more: "the last")
    assert plain_case().run_raw() == "the last"
    monkeypatch.setattr("fovea._calls._default", None)
    assert isinstance(plain_case().run_raw(), np.ndarray)  # from FOVEA_KERNELS
    assert plain_case().run_raw(library=library) == "the last"


@pytest.mark.parametrize("file", ["lib{}.so", "lib{}.so.1.2", "{}.so", "lib{}.dylib", "{}.dll"])
def test_names_are_read_off_files(file: str, tmp_path: Path) -> None:
    library = fovea.load(os.environ["FOVEA_KERNELS"])
    path = tmp_path / file.format(library.name)
    path.symlink_to(os.path.abspath(library.path))
    assert fovea.Library(path).name == library.name
    assert fovea.Library(str(path)).kernels() == library.kernels()


def test_architecture_can_be_lowered() -> None:
    """Read by the library when it is loaded, so in a process of its own."""
    from test_threads import run_program

    best = plain_case().kernel.architectures[0]
    program = f"""
import os
os.environ["FOVEA_ARCHITECTURE"] = "nothing"
import fovea
kernel = fovea.kernels()[0]
assert set(kernel.architectures) == {{None}}, kernel
import numpy
from cases import make_case
try:
    make_case(kernel).run()
except fovea.UnsupportedError as error:
    assert "FOVEA_ARCHITECTURE is nothing" in str(error), error
else:
    raise AssertionError("it ran, on {best}")
"""
    ended = run_program(program)
    assert ended.returncode == 0, ended.stderr
