# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Queries, keys, values and results of types of their own, beside attention over the numbers that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fovea
from fovea._arrays import BLOCKS
from fovea._types import name_of, types_named, types_of

NIGHT = pytest.mark.night
RNG = np.random.default_rng(5)
Q, K, V = (RNG.standard_normal((1, 2, n, 32), dtype=np.float32) for n in (5, 9, 9))
plain = fovea.kernel(fovea.scaled_dot | fovea.softmax)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = np.asarray(q, float) @ np.asarray(k, float).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ np.asarray(v, float)


def in_blocks(x: Any) -> tuple[Any, Any]:
    """Rows of bytes of q8_0, and the numbers that they stand for."""
    blocks = np.zeros((*x.shape[:-1], x.shape[-1] // 32), BLOCKS["q8_0"])
    numbers = x.reshape(*blocks.shape, 32)
    blocks["scale"] = np.abs(numbers).max(-1) / 127
    scales = blocks["scale"].astype(np.float32)[..., None]
    blocks["integers"] = np.rint(numbers / scales)
    return blocks.view(np.uint8).reshape(*x.shape[:-1], -1), (scales * blocks["integers"]).reshape(x.shape)


def bits(x: Any) -> Any:
    """Of bfloat16, cut."""
    return (x.view(np.uint32) >> 16).astype(np.uint16)


def numbers(x: Any) -> Any:
    return (x.astype(np.uint32) << 16).view(np.float32)


def test_a_name_says_the_types_as_in_c() -> None:
    for name in ("f32", "f64", "bf16", "f32_q8_0_q4_0", "bf16_i8_fp8_e4m3_f32", "f16_q4_1_fp8_e5m2"):
        assert name_of(types_named(name)) == name
    assert name_of(types_named("f32_f32_f32_f32")) == "f32"
    for name in ("", "i8", "f32_q8_0", "f32_q8_0_q8_0_i8", "f32__f32", "f32_f32_f32_f32_f32", "f32_", 3):
        with pytest.raises(fovea.ArgumentError, match=f"dtype is {name!r}, it must be one of f32, f64, bf16, f16, "):
            types_named(name)  # type: ignore[arg-type]


def test_arrays_say_their_types() -> None:
    half, integers, out = K.astype(np.float16), K.astype(np.int8), np.empty(Q.shape, np.float32)
    assert types_of(Q, K, V) == "f32"
    assert types_of(Q, half, integers) == "f32_f16_i8"
    assert types_of(half, half, half, out) == "f16_f16_f16_f32"
    assert types_of(Q, K, V, out, "f32_f32_f32") == "f32"
    of_bytes = K.view(np.uint8)
    for given, sentence in (
        ((Q, of_bytes, V), "key has elements of uint8, which may be fp8_e4m3, fp8_e5m2, q8_0, q4_0 or q4_1: dtype "),
        ((of_bytes, K, V), "query has elements of uint8, it must have float32, float64, float16 or bfloat16"),
        ((Q, K, V, integers), "out has elements of int8, it must have float32, float64, float16 or bfloat16"),
        ((Q, K, V.astype(float)), "value has elements of f64, query has f32: where float64 is meant beside another "
         "type, dtype='f32_f32_f64' says so"),
        ((Q.astype(float), K, V), "key has elements of f32, query has f64: .*, dtype='f64_f32_f32' says so"),
        ((Q, K, V, np.empty(Q.shape)), "out has elements of f64, query has f32: .*, dtype='f32_f32_f32_f64' says so"),
    ):  # fmt: skip
        with pytest.raises(fovea.ArgumentError, match=f"^{sentence}"):
            types_of(*given)
    with pytest.raises(fovea.UnsupportedError, match="f32_f16_f16: gradients are of queries, keys and values of one"):
        plain.gradient(Q, half, half, Q)


def test_keys_and_values_in_blocks_are_the_numbers_that_they_stand_for() -> None:
    (k, of_keys), (v, of_values) = in_blocks(K), in_blocks(V)
    how = {"dtype": "f32_q8_0_q8_0"}
    result = plain(Q, k, v, **how)
    np.testing.assert_allclose(result, attention(Q, of_keys, of_values), rtol=0, atol=2e-6)
    for _ in range(3):
        turned, reversed_ = k.swapaxes(1, 2).copy().swapaxes(1, 2), v[:, :, ::-1].copy()[:, :, ::-1]
        assert np.array_equal(plain(Q, turned, reversed_, **how), result)
        odd = np.zeros(k.size + 1, np.uint8)[1:].reshape(k.shape)
        odd[...] = k
        assert np.array_equal(plain(Q, odd, v, **how), result)
    with pytest.raises(fovea.ShapeError, match="key has rows of 33 bytes, it must be a multiple of 34: those of a"):
        plain(Q, k[..., 1:], v, **how)
    with pytest.raises(fovea.ArgumentError, match="key has elements of f32, dtype is f32_q8_0_q8_0"):
        plain(Q, K, v, **how)


@NIGHT
def test_types_of_reals_and_bytes_mix() -> None:
    half = [x.astype(np.float16) for x in (K, V)]
    np.testing.assert_allclose(plain(Q, *half), attention(Q, *half), rtol=0, atol=2e-6)
    q, k, v = map(bits, (Q, K, V))
    out = np.empty(Q.shape, np.float32)
    assert plain(q, k, v, out=out, dtype="bf16_bf16_bf16_f32") is out
    np.testing.assert_allclose(out, attention(*map(numbers, (q, k, v))), rtol=0, atol=2e-6)
    again = plain(q, k, v, dtype="bf16_bf16_bf16_f32")
    assert again.dtype == np.float32 and np.array_equal(again, out)
    assert np.array_equal(plain(q, k, v, dtype="bf16_bf16_bf16_f32"), out)
    eights = [(x.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8) for x in (K, V)]  # of fp8_e5m2, cut
    of_eights = [(x.astype(np.uint16) << 8).view(np.float16) for x in eights]
    found = plain(Q, *eights, dtype="f32_fp8_e5m2_fp8_e5m2", outputs=("lse",))
    np.testing.assert_allclose(found.result, attention(Q, *of_eights), rtol=0, atol=2e-6)
    assert found.lse.dtype == np.float32 and found.lse.shape == Q.shape[:-1]


@NIGHT
def test_scales_of_integers_are_tables_of_a_kernel() -> None:
    of_keys, of_values = (np.abs(x).max(-1) / 127 for x in (K, V))
    k, v = (np.rint(x / s[..., None]).astype(np.int8) for x, s in ((K, of_keys), (V, of_values)))

    @fovea.kernel
    def scaled(score, weight, batch, head, j):
        return score * of_keys[batch, head, j] | fovea.softmax | fovea.reweight(weight * of_values[batch, head, j])

    expected = attention(Q, k * of_keys[..., None], v * of_values[..., None])
    np.testing.assert_allclose(scaled(Q, k, v), expected, rtol=0, atol=2e-6)


@NIGHT
def test_pages_of_blocks_are_those_of_one_array() -> None:
    whole = [in_blocks(x)[0] for x in (K, V)]
    pages = [x.reshape(2, 3, 3, -1).swapaxes(0, 1)[[2, 0, 1]].copy() for x in whole]
    how: dict[str, Any] = {"dtype": "f32_q8_0_q8_0", "page_table": np.array([[1, 2, 0]], np.int32)}
    assert np.array_equal(plain(Q, *pages, **how), plain(Q, *whole, dtype="f32_q8_0_q8_0"))
    assert "loop        driver/dense/" in plain.explain(Q, *pages, **how)
    rounded = fovea.kernel(fovea.scaled_dot | fovea.softmax | fovea.precision(fovea.q8))
    assert np.abs(rounded(Q, *pages, **how) - plain(Q, *pages, **how)).max() < 0.02
