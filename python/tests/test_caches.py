# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels over keys and values in the types of caches give what the numbers of these give."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import fovea
import reference
from cases import Case, for_caches, is_plain, make_case, to_f64, to_type

BYTES = {"q8_0": 34, "q4_0": 18, "q4_1": 20}  # of a block of 32 numbers
# The greatest error of rounding: a part of the number, and of the greatest in its block.
ERRORS = {
    "bf16": (2**-8, 0),
    "fp8_e4m3": (2**-4, 0),
    "fp8_e5m2": (2**-3, 0),
    "q8_0": (0, 1.1 / 254),
    "q4_0": (0, 1.01 / 8),
    "q4_1": (0, 1.1 / 15),
}


def decoded(x: np.ndarray, type_name: str) -> np.ndarray:
    """The numbers that rows stand for."""
    if type_name in BYTES:
        blocks = x.reshape(*x.shape[:-1], -1, BYTES[type_name])
        scale = blocks[..., :2].copy().view(np.float16).astype(np.float64)
        if type_name == "q8_0":
            numbers = scale * blocks[..., 2:].copy().view(np.int8)
        else:
            pairs = blocks[..., -16:]
            halves = np.concatenate([pairs & 15, pairs >> 4], axis=-1).astype(np.float64)
            numbers = scale * (halves - 8) if type_name == "q4_0" else scale * halves + least_of(blocks)
        return numbers.reshape(*x.shape[:-1], -1)
    if type_name.startswith("fp8"):
        fraction_bits, bias = (3, 7) if type_name == "fp8_e4m3" else (2, 15)
        bits = x.astype(np.int64)
        exponent, fraction = (bits & 127) >> fraction_bits, bits & (2**fraction_bits - 1)
        size = np.where(
            exponent == 0,
            np.ldexp(fraction.astype(np.float64), 1 - bias - fraction_bits),
            np.ldexp(1 + fraction / 2**fraction_bits, exponent - bias),
        )
        return np.where(bits < 128, size, -size)
    return x.astype(np.float64) if type_name == "i8" else to_f64(x, type_name)


def least_of(blocks: np.ndarray) -> np.ndarray:
    return blocks[..., 2:4].copy().view(np.float16).astype(np.float64)


def stored(x: np.ndarray, type_name: str) -> np.ndarray:
    if type_name in ERRORS:
        return fovea.quantize(x, type_name)
    return np.round(20 * x).astype(np.int8) if type_name == "i8" else to_type(x, type_name)


def cached_case(kernel: fovea.Kernel, place: int, **extents: int) -> tuple[Case, Case]:
    """A call of the types in one place of a kernel's, and the numbers of it."""
    types = kernel.elements[place]
    case = make_case(kernel, place, type_name="f64", features=64, value_features=32, **extents)
    case = case.with_arrays(
        type=kernel.types[place],
        q=to_type(case.q, types.query),
        k=stored(case.k, types.key),
        v=stored(case.v, types.value),
    )
    numbers = {"q": to_f64(case.q, types.query), "k": decoded(case.k, types.key), "v": decoded(case.v, types.value)}
    return case, case.with_arrays(type="f64", **numbers)


def run(case: Case, **options: Any) -> np.ndarray:
    return fovea.attend(case.q, case.k, case.v, case.kernel.name, dtype=case.type, **options, **case.arguments)


over_caches = for_caches("have keys and values of types of their own", lambda kernel: True)
causal_over_caches = for_caches("are causal, over caches", lambda kernel: kernel.name == "causal")


@over_caches
def test_kernel_computes_its_formula_of_the_numbers(kernel: fovea.Kernel) -> None:
    if kernel.name not in reference.REFERENCES:
        pytest.skip(f"there is no formula in NumPy for a kernel named {kernel.name}")
    for place, (name, types) in enumerate(zip(kernel.types, kernel.elements)):
        case, numbers = cached_case(kernel, place)
        result = to_f64(run(case), types.result)
        close = {"f64": 1e-11, "f32": 3e-6, "f16": 1e-3, "bf16": 8e-3}[types.result] * np.abs(numbers.v).max()
        np.testing.assert_allclose(result, reference.attend(numbers), rtol=0, atol=close, err_msg=name)


@causal_over_caches
def test_log_sums_are_computed_in_the_type_of_the_arithmetic(kernel: fovea.Kernel) -> None:
    for place, (name, types) in enumerate(zip(kernel.types, kernel.elements)):
        case, numbers = cached_case(kernel, place)
        result, lse = run(case, outputs=("lse",))
        assert lse.dtype == (np.float64 if "f64" in types else np.float32)
        np.testing.assert_array_equal(result, run(case))
        close = 1e-11 if "f64" in types else 1e-5
        np.testing.assert_allclose(lse, reference.rows(numbers).lse(), rtol=close, atol=close, err_msg=name)


@over_caches
def test_layouts_of_bytes_give_the_same(kernel: fovea.Kernel) -> None:
    for place in range(len(kernel.types)):
        case, _ = cached_case(kernel, place)
        expected = run(case)
        for layout in (
            lambda x: x.swapaxes(1, 2).copy().swapaxes(1, 2),  # heads inside of positions
            lambda x: np.repeat(x, 2, axis=-1)[..., ::2],  # bytes not side by side
            lambda x: np.repeat(x, 2, axis=2)[:, :, ::2],
            lambda x: np.concatenate([x, x[..., :3]], axis=-1)[..., :-3],  # rows that are no whole blocks apart
            lambda x: x[:, :, ::-1].copy()[:, :, ::-1],
            lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
            lambda x: np.frombuffer(b"1" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
            memoryview,
        ):
            np.testing.assert_array_equal(run(case.with_arrays(k=layout(case.k), v=layout(case.v))), expected)


@causal_over_caches
def test_result_has_the_rank_of_queries_and_a_type_of_its_own(kernel: fovea.Kernel) -> None:
    for place, types in enumerate(kernel.elements):
        case, _ = cached_case(kernel, place, batch=1, heads=1)
        result = run(case)
        assert result.shape == (1, 1, 8, 32) and result.dtype == to_type(np.zeros(1), types.result).dtype
        np.testing.assert_array_equal(run(case.with_arrays(q=case.q[0], k=case.k[0], v=case.v[0])), result[0])
        row = case.with_arrays(q=case.q[0, 0], k=case.k[0, 0], v=case.v[0, 0])
        np.testing.assert_array_equal(run(row), result[0, 0])
        out = np.zeros_like(result)
        assert run(case, out=out) is out
        np.testing.assert_array_equal(out, result)


@causal_over_caches
def test_types_are_told_by_arrays_where_one_fits(
    kernel: fovea.Kernel, library: fovea.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = next((i for i, types in enumerate(kernel.elements) if types.query == "f32"), None)
    if place is None:
        pytest.skip(f"{kernel.name} is not built for queries of f32")
    case, _ = cached_case(kernel, place)
    np.testing.assert_array_equal(fovea.attend(case.q, case.k, case.v, kernel.name), run(case))
    other = copy.copy(library._compiled[kernel.name][case.type])
    other.type = "f32_fp8_e4m3_fp8_e4m3"
    other.types = fovea.ElementTypes("f32", "fp8_e4m3", "fp8_e4m3", "f32")
    monkeypatch.setitem(library._compiled[kernel.name], other.type, other)
    with pytest.raises(fovea.ArgumentError, match=f"several types .* pass dtype, one of .*{case.type}, {other.type}"):
        fovea.attend(case.q, case.k, case.v, kernel.name)
    run(case)


@causal_over_caches
def test_arrays_of_other_types_are_refused(kernel: fovea.Kernel) -> None:
    built = f"{kernel.name} is built for {', '.join(kernel.types)} in "
    for place, types in enumerate(kernel.elements):
        case, numbers = cached_case(kernel, place)
        wrong = numbers.q.astype(np.float16 if types.query != "f16" else np.float32)
        with pytest.raises(fovea.ArgumentError, match=f"query has elements of f.*, dtype is {case.type}"):
            run(case.with_arrays(q=wrong))
        for name, word in (("k", "key"), ("v", "value")):
            with pytest.raises(fovea.ArgumentError, match=f"{word} has elements of f16, dtype is {case.type}"):
                run(case.with_arrays(**{name: getattr(numbers, name).astype(np.float16)}))
        if types.query in ("f32", "f64"):
            with pytest.raises(fovea.ArgumentError, match=f"key has elements of f16, {built}"):
                fovea.attend(case.q, numbers.k.astype(np.float16), case.v, kernel.name)
        with pytest.raises(fovea.UnsupportedError, match=f"{built}.*, not for {types.query}"):
            run(case.with_arrays(type=types.query))
    with pytest.raises(fovea.ArgumentError, match=f"dtype is 'q8_0', it must be one of .*{kernel.types[-1]}"):
        run(case.with_arrays(type="q8_0"))


@over_caches
def test_rows_have_to_be_whole_blocks(kernel: fovea.Kernel) -> None:
    for place, types in enumerate(kernel.elements):
        case, _ = cached_case(kernel, place)
        for name, word, type_name in (("k", "key", types.key), ("v", "value", types.value)):
            if (size := BYTES.get(type_name)) is not None:
                short = getattr(case, name)[..., :-1]
                sentence = f"{word} has rows of {short.shape[-1]} bytes, .* multiple of {size}: .* {type_name}"
                with pytest.raises(fovea.ShapeError, match=sentence):
                    run(case.with_arrays(**{name: short}))


@pytest.mark.parametrize("type_name", ERRORS)
def test_numbers_are_rounded_to_the_nearest(type_name: str) -> None:
    x = np.random.default_rng(3).standard_normal((3, 2, 64)).astype(np.float32)
    x[0, 0, :32] = 0
    rounded = fovea.quantize(x, type_name)
    assert rounded.dtype == (np.uint16 if type_name == "bf16" else np.uint8)
    assert rounded.shape == (3, 2, 2 * BYTES.get(type_name, 32))
    of_number, of_block = ERRORS[type_name]
    blocks = np.abs(x).reshape(3, 2, 2, 32)
    allowed = of_number * blocks + (of_block * blocks.max(-1, keepdims=True) if of_block else 2**-10)
    assert np.all(np.abs(decoded(rounded, type_name) - x).reshape(blocks.shape) <= allowed)
    backwards = x[..., ::-1].copy()[..., ::-1]
    for same in (x.astype(np.float64), x.swapaxes(0, 1).copy().swapaxes(0, 1), x.astype(">f4"), backwards):
        np.testing.assert_array_equal(fovea.quantize(same, type_name), rounded)
    np.testing.assert_array_equal(fovea.quantize(x[0, 1], type_name), rounded[0, 1])
    coarse = to_type(x, "bf16")
    np.testing.assert_array_equal(
        fovea.quantize(coarse, type_name), fovea.quantize(to_f64(coarse, "bf16"), type_name)
    )
    assert fovea.quantize(x[:0], type_name).shape == (0, *rounded.shape[1:])


def test_only_rows_of_numbers_are_rounded() -> None:
    x = np.ones((2, 32), np.float32)
    for wrong in ("f32", "Q8_0", "", None, 8, ["q8_0"]):
        with pytest.raises(fovea.ArgumentError, match="^type is .*it must be"):
            fovea.quantize(x, wrong)  # type: ignore[arg-type]
    for wrong in (x.astype(int), x.astype(bool), x.astype(np.int8), x.tolist(), None, "text"):
        with pytest.raises(fovea.ArgumentError, match="^rows "):
            fovea.quantize(wrong, "q8_0")
    with pytest.raises(fovea.ShapeError, match="rows has 33 features, it must be a multiple of 32"):
        fovea.quantize(np.ones((2, 33), np.float32), "q4_1")
    with pytest.raises(fovea.ShapeError, match="rows has 0 axes"):
        fovea.quantize(np.float32(1), "q8_0")


def test_kernels_of_one_type_take_no_bytes() -> None:
    kernel = next((k for k in fovea.kernels() if is_plain(k) and k.types[0] == "f32"), None)
    if kernel is None:
        pytest.skip("the library has no kernel for f32 alone")
    q, bytes_ = np.ones((2, 32), np.float32), fovea.quantize(np.ones((2, 32)), "q8_0")
    with pytest.raises(fovea.ArgumentError, match=f"key has elements of uint8, query has f32"):
        fovea.attend(q, bytes_, bytes_, kernel.name)
