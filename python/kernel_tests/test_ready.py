# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that a library has ready are found by their text, and are what is compiled of it; prebuild makes libraries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES

import fovea
from fovea import _prebuild, _ready

sys.path.append(str(Path(__file__).parents[1]))
import ready  # noqa: E402

HAS_CMAKE = shutil.which("cmake") is not None


class Everything:
    """A library that has each kernel for float32."""

    class _compiled:
        @staticmethod
        def get(name: str, default: Any) -> tuple[str, ...]:
            return ("f32",)

    _kernels = _compiled


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What is found of a kernel in the manifest of a wheel: its name there, and what it is given."""
    of_wheel = [_prebuild.described(name, k) for name, k in ready.KERNELS.items() if not isinstance(k, str)]
    (tmp_path / "fovea_ready.json").write_text(json.dumps(of_wheel))
    monkeypatch.setattr(_ready, "LIBRARY", tmp_path / "libfovea_ready.so")
    monkeypatch.setattr(_ready, "default", Everything)
    monkeypatch.setattr(_ready, "ReadyKernel", lambda library, name, given: (name, given))
    _ready.known.cache_clear()
    yield lambda kernel, type_name="f32", **arguments: _ready.find(kernel.trace(**arguments), type_name)
    _ready.known.cache_clear()


def test_each_kernel_is_found_as_itself(found: Any) -> None:
    for name, kernel in ready.KERNELS.items():
        if not isinstance(kernel, str):
            assert found(kernel) == (name, {argument: argument for argument in kernel.trace().arguments})


def test_names_of_tables_numbers_of_the_text_and_a_mask_mod_for_causal_do_not_matter(found: Any) -> None:
    mine = np.zeros(3, np.float32)
    assert found(fovea.kernel(fovea.scaled_dot | fovea.causal | fovea.softmax)) == ("causal", {})
    assert found(fovea.kernel("scaled_dot | causal | softmax | weighted_sum")) == ("causal", {})
    for mask_mod in (lambda i, j: j <= i, lambda i, j: i >= j):
        assert found(fovea.kernel(fovea.scaled_dot | fovea.where(mask_mod) | fovea.softmax)) == ("causal", {})
    alibi = fovea.kernel("scaled_dot | alibi(mine) | causal | softmax | weighted_sum", mine=mine)
    assert found(alibi) == ("alibi", {"slopes": "mine"})
    capped = fovea.scaled_dot | fovea.softcap(7.5) | fovea.causal
    assert found(fovea.kernel(capped | fovea.softmax)) == ("softcap", {"cap": 7.5})
    window = fovea.kernel(capped | fovea.sliding_window(256, 0) | fovea.softmax)
    assert found(window) == ("softcap_window", {"cap": 7.5, "left": 256, "right": 0})

    @fovea.kernel
    def passed(reach=3):
        return fovea.scaled_dot | fovea.causal | fovea.sliding_window(reach, 0) | fovea.softmax

    assert found(passed) == ("causal_window", {"left": "reach", "right": 0})


@pytest.mark.parametrize(
    "text, arguments",
    [
        ("scaled_dot | causal | causal | softmax | weighted_sum", {}),
        ("scaled_dot | alibi(x) | causal | softmax | weighted_sum", {"x": np.zeros((1, 1), np.float32)}),
        ("scaled_dot | key_lengths(x) | softmax | weighted_sum", {"x": np.zeros(1, np.int32)}),
        ("scaled_dot | sliding_window(x, 0) | softmax | weighted_sum", {"x": 1.5}),
        ("scaled_dot | sliding_window(x, x) | softmax | weighted_sum", {"x": 1}),
        ("scaled_dot | sliding_window(2 * 3, 0) | softmax | weighted_sum", {}),
        ("scaled_dot | causal | softmax | weighted_sum", {"unused": 1.5}),
    ],
)
def test_anything_else_is_compiled(found: Any, text: str, arguments: dict[str, Any]) -> None:
    assert found(fovea.kernel(text, **arguments)) is None


def test_a_number_that_stands_twice_is_one_number() -> None:
    pattern = _ready.pattern_of("rescore(cap * tanh(score / cap))", {"cap": "double"})
    assert pattern.fullmatch("rescore(50 * tanh(score / 50))")["cap"] == "50"
    assert pattern.fullmatch("rescore(50 * tanh(score / 5))") is None


def test_what_prebuild_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(fovea.ArgumentError, match="path is .*, it must end in libNAME.so"):
        fovea.prebuild({"causal": "causal"}, tmp_path / "kernels.so")
    with pytest.raises(fovea.ArgumentError, match="kernels must be a mapping of names of C"):
        fovea.prebuild({"2": "causal"}, tmp_path / "libmine.so")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fovea.UnsupportedError, match="needs CMake"):
        fovea.prebuild({"causal": "scaled_dot | causal | softmax | weighted_sum"}, tmp_path / "libmine.so")


@pytest.mark.night
@pytest.mark.skipif(not HAS_CMAKE, reason="needs CMake")
def test_a_prebuilt_library_has_the_results_of_kernels_that_are_compiled(tmp_path: Path, monkeypatch: Any) -> None:
    of_head = np.float32([0.5, 0.01])
    kernel = fovea.kernel("scaled_dot | alibi(of_head) | causal | softmax | weighted_sum", of_head=of_head)
    text = "scaled_dot | softcap({}) | softmax | weighted_sum"
    capped = fovea.kernel(text.format("cap"), cap=1.0)
    options = {"gradients": ["mine"], "architectures": ("sse2", "neon")}
    path = fovea.prebuild({"mine": kernel, "capped": capped}, tmp_path / "new" / "libmine.so", **options)
    library = fovea.Library(path)
    q, k, v = np.random.default_rng(3).standard_normal((3, 1, 2, 9, 5), dtype=np.float32)
    assert np.allclose(library.mine(q, k, v, of_head=of_head), kernel(q, k, v), atol=1e-6)
    of_capped = library.capped(q, k, v, cap=0.5)
    assert np.allclose(of_capped, fovea.kernel(text.format(0.5))(q, k, v), atol=1e-6)
    d, expected = (x.gradient(q, k, v, v, **y) for x, y in ((library.mine, {"of_head": of_head}), (kernel, {})))
    assert np.allclose(d.query, expected.query, atol=1e-5)
    assert np.allclose(d.tables["of_head"], expected.tables["of_head"], atol=1e-4)
    assert all((tmp_path / "new" / f"mine.{kind}").is_file() for kind in ("h", "md", "json"))

    monkeypatch.setattr(_ready, "LIBRARY", tmp_path / "new" / "fovea_ready.so")
    (tmp_path / "new" / "mine.json").rename(tmp_path / "new" / "fovea_ready.json")
    monkeypatch.setattr(_ready, "default", lambda: library)
    _ready.known.cache_clear()
    slopes = of_head[::-1].copy()
    other = fovea.kernel("scaled_dot | alibi(slopes) | causal | softmax | weighted_sum", slopes=slopes)
    by_number = fovea.kernel(text.format("0.5"))
    try:
        assert np.array_equal(other(q, k, v), library.mine(q, k, v, of_head=slopes))
        assert all(np.array_equal(by_number(q, k, v), of_capped) for _ in range(3))
        assert isinstance(by_number.library(by_number.trace(), "f32", "kernel"), _ready.ReadyKernel)
        assert None not in by_number._repeats._calls.values()  # the number of the text makes no call slow
        few = fovea.kernel("scaled_dot | alibi(slopes) | causal | softmax | weighted_sum", slopes=slopes[:1])
        with pytest.raises(fovea.ShapeError, match=r"a table of extents \(1\) is read at 1 along axis 0"):
            few(q, k, v)
    finally:
        _ready.known.cache_clear()


@pytest.mark.night
@pytest.mark.skipif(not HAS_CMAKE, reason="needs CMake")
def test_the_page_ships_a_library(tmp_path: Path) -> None:
    package = Path(fovea.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    subprocess.run([sys.executable, EXAMPLES / "ship.py", tmp_path], env=environment, check=True)
    assert (tmp_path / "libmine.so").is_file()


@pytest.mark.night
@pytest.mark.skipif(not HAS_CMAKE, reason="needs CMake")
def test_prebuild_says_what_is_wrong_with_a_specification(tmp_path: Path) -> None:
    wrong = "scaled_dot | softmax | causal | weighted_sum"
    with pytest.raises(fovea.ArgumentError, match="masks|must|before"):
        fovea.prebuild({"wrong": wrong}, tmp_path / "libwrong.so", architectures=("sse2", "neon"))
    assert not (tmp_path / "libwrong.so").exists()
