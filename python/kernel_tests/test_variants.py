# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are written in Python, against plain loops and differences.

The spellings of a variant have to be the same text of C++, or have the same results.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES
from spellings import FEATURES, HEADS, QUERIES, RNG, VARIANTS, K, Q, V
from variants import additive, sharpened, temperatures, vector

import fovea

NIGHT = pytest.mark.night
HOW_TO = Path(__file__).parents[2] / "docs" / "how_to"
PAGES = (HOW_TO / "kernels_from_python.md", HOW_TO / "flex_attention_on_cpus.md")
TOLERANCE = {"f32": 3e-6, "f64": 1e-12}
OPERANDS = {"f32": (Q, K, V), "f64": tuple(x.astype(float) for x in (Q, K, V))}


def test_pages_show_all_of_the_examples() -> None:
    shown = [name for page in PAGES for name in re.findall(r"<!-- examples/from_python/(\S+) -->", page.read_text())]
    regions = [f"{file.name}:{name}" for file in EXAMPLES.glob("*.py") for name in marks_of(file)]
    assert sorted(set(shown)) == sorted(set(regions)) and len(regions) == 2 * len(set(regions))


def marks_of(file: Path) -> list[str]:
    return re.findall(r"^#! \[(\w+)\]$", file.read_text(), re.MULTILINE)


def compiled(kernel: Any, type_name: str) -> Any:
    """A kernel, of float64 with its gradients."""
    kernel.prepare(type_name, gradients=type_name == "f64").result()
    return kernel


@pytest.mark.parametrize(
    ("name", "type_name"),
    [
        *(("alibi", "f64"), ("graph", "f32"), ("sparsemax", "f64"), ("additive", "f32")),
        *(pytest.param(name, "f32", marks=NIGHT) for name in ("alibi", "relative", "sparsemax")),
        *(pytest.param(name, "f64", marks=NIGHT) for name in ("relative", "graph", "additive")),
    ],
)
def test_a_variant_is_that_of_plain_loops(name: str, type_name: str) -> None:
    spellings, expected = VARIANTS[name]
    result = compiled(spellings()[0], type_name)(*OPERANDS[type_name])
    np.testing.assert_allclose(result, expected(), rtol=0, atol=TOLERANCE[type_name])


@NIGHT
@pytest.mark.parametrize("name", VARIANTS)
def test_spellings_have_the_same_results(name: str) -> None:
    first, *others = VARIANTS[name][0]()
    expected = first(Q, K, V)
    for other in others:
        np.testing.assert_allclose(other(Q, K, V), expected, rtol=0, atol=TOLERANCE["f32"])


def test_spellings_say_the_same() -> None:
    texts = {name: [kernel.text for kernel in spellings()] for name, (spellings, _) in VARIANTS.items()}
    for name, same in (("alibi", 3), ("graph", 2), ("additive", 2)):
        assert len(set(texts[name][:same])) == 1, texts[name]
    assert texts["alibi"][0] == (
        "scaled_dot | rescore(50 * tanh((score + param(slopes)[head] * (kv_idx - q_idx)) / 50)) "
        "| where(kv_idx <= q_idx && q_idx - kv_idx < 16) | softmax | weighted_sum"
    )
    assert texts["alibi"][3] == (
        "scaled_dot | alibi(slopes) | softcap(50) | causal | sliding_window(15, 0) | softmax | weighted_sum"
    )
    assert texts["relative"][1].replace("other", "table") == texts["relative"][0]
    assert texts["sparsemax"][1] == texts["sparsemax"][2]


def layouts_of(x: np.ndarray) -> list[np.ndarray]:
    """The same numbers, as they may lie in memory."""
    unaligned = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    unaligned[...] = x
    turned = x.swapaxes(1, 2).copy().swapaxes(1, 2)
    wide = np.repeat(x, 2, -1)
    fixed = x.copy()
    fixed.flags.writeable = False
    return [x, turned, wide[..., ::2], x[:, :, ::-1].copy()[:, :, ::-1], unaligned, fixed, x.astype(">f4"), x.copy()]


def test_calls_like_one_before_have_its_bits() -> None:
    mine = additive
    expected = mine(Q, K, V)
    for _ in range(3):
        for q, k, v in zip(layouts_of(Q), layouts_of(K), reversed(layouts_of(V))):
            np.testing.assert_array_equal(mine(q, k, v), expected)
        for queries in (0, 1, 5):
            np.testing.assert_array_equal(mine(Q[:, :, :queries], K, V), expected[:, :, :queries])
        np.testing.assert_allclose(mine(Q[1, 0], K[1, 0], V[1, 0]), expected[1, 0], rtol=0, atol=1e-6)
        assert mine(Q, K[:, :1], V[:, :1], threads=2).shape == Q.shape
        with pytest.raises(fovea.ShapeError):
            mine(Q, K, V[:, :, :3])
        with pytest.raises(fovea.ArgumentError, match="key has elements of f64, query has f32"):
            mine(Q, K.astype(float), V)


def test_tables_are_those_of_the_variables_at_each_call() -> None:
    vector = np.ones(FEATURES, np.float32)

    @fovea.kernel
    def mine(q, k):
        return vector @ np.tanh(q + k) | fovea.softmax

    before = mine(Q, K, V)
    vector = 2 * vector
    assert np.abs(mine(Q, K, V) - before).max() > 1e-3
    vector /= 2
    np.testing.assert_array_equal(mine(Q, K, V), before)


@NIGHT
def test_a_mask_of_bits_gives_the_bits_of_one_of_conditions() -> None:
    seen = RNG.random((QUERIES, QUERIES)) < 0.6
    packed = np.packbits(seen, axis=-1, bitorder="little")

    @fovea.kernel
    def by_bits(keys):
        return fovea.scaled_dot | fovea.mask_tensor(fovea.packed_bits(packed, keys)) | fovea.softmax

    @fovea.kernel
    def by_conditions():
        return fovea.scaled_dot | fovea.mask_tensor(seen) | fovea.softmax

    np.testing.assert_array_equal(by_bits(Q, K, V, keys=QUERIES), by_conditions(Q, K, V))
    with pytest.raises(fovea.ShapeError, match="rows of 5 bytes do not have 41 bits"):
        by_bits(Q, K, V, keys=41)


def test_outputs_are_those_of_plain_loops() -> None:
    rng = np.random.default_rng(5)
    q, k, v = rng.standard_normal((3, 2, 2, 7, 4))
    slopes = np.array([0.5, 0.1])

    @fovea.kernel
    def biased(score, i, j, head):
        return score + slopes[head] * (j - i) | fovea.where(j <= i) | fovea.softmax

    behind = np.arange(7) - np.arange(7)[:, None]
    scores = np.where(behind <= 0, q @ k.swapaxes(-1, -2) / 2 + slopes[:, None, None] * behind, -np.inf)
    lse = np.log(np.exp(scores).sum(-1))
    weights = np.exp(scores - lse[..., None])
    found = biased(q, k, v, outputs=("weights", "lse"))
    assert found._fields == ("result", "weights", "lse")
    for x, y in zip(found, (weights @ v, weights, lse)):
        assert x.shape == y.shape and np.abs(x - y).max() < 1e-12
    for wrong in ("lse", ("nothing",), ("lse", "lse"), 3):
        with pytest.raises(fovea.ArgumentError, match="^outputs "):
            biased(q, k, v, outputs=wrong)


@NIGHT
def test_outputs_of_layers_are_those_of_their_heads() -> None:
    """Of two heads that a projection makes of one, with the gradient of the log-sum-exp."""
    rng = np.random.default_rng(8)
    x, d_result, d_lse = rng.standard_normal((2, 5, 6)), rng.standard_normal((2, 5, 6)), rng.standard_normal((2, 2, 5))
    given = {name: 0.3 * rng.standard_normal((6, 8)) for name in ("of_q", "of_k", "of_v")}
    given["back"] = 0.3 * rng.standard_normal((8, 6))

    @fovea.kernel
    def layer(of_q, of_k, of_v, back):
        rows = fovea.project(of_q, of_k, of_v, fovea.heads(2)) | fovea.scaled_dot | fovea.causal | fovea.softmax
        return rows | fovea.output(back) | fovea.residual

    def expected(x: Any, of_q: Any, of_k: Any, of_v: Any, back: Any) -> dict[str, Any]:
        q, k, v = ((x @ w).reshape(2, 5, 2, 4).swapaxes(1, 2) for w in (of_q, of_k, of_v))
        scores = np.where(np.tri(5, dtype=bool), q @ k.swapaxes(-1, -2) / 2, -np.inf)
        lse = np.log(np.exp(scores).sum(-1))
        weights = np.exp(scores - lse[..., None])
        entropy = -(weights * np.log(weights, where=weights > 0, out=np.zeros_like(weights))).sum(-1)
        result = (weights @ v).swapaxes(1, 2).reshape(2, 5, 8) @ back + x
        rows = {"lse": lse, "weights": weights, "scores": scores, "entropy": entropy}
        return {"result": result, **rows, "best_key": scores.argmax(-1), "column_sums": weights.sum(-2)}

    of_loops = expected(x, **given)
    found = layer(x, x, x, outputs=tuple(of_loops)[1:], **given)
    assert found._fields == tuple(of_loops)
    for name, right in of_loops.items():
        np.testing.assert_allclose(getattr(found, name), right, rtol=0, atol=1e-12, err_msg=name)
    of_one = layer(x[0], x[0], x[0], outputs=("lse",), **given)
    np.testing.assert_allclose(of_one.lse, found.lse[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(of_one.result, found.result[0], rtol=0, atol=1e-12)

    d = layer.gradient(x, x, x, d_result, d_outputs={"lse": d_lse}, **given)
    gradients = {"x": d.query + d.key + d.value, **d.tables}
    for name, start in {"x": x, **given}.items():
        direction = rng.standard_normal(start.shape)
        ends = [expected(**{"x": x, **given, name: start + e * direction}) for e in (1e-5, -1e-5)]
        forward, back = (float((e["result"] * d_result).sum() + (e["lse"] * d_lse).sum()) for e in ends)
        assert abs((forward - back) / 2e-5 - float((gradients[name] * direction).sum())) < 1e-6, name


def biased_at_end() -> Any:
    slopes = np.array([0.5, 0.1])

    @fovea.kernel
    def biased(score, i, j, head):
        return score + slopes[head] * (j - i) | fovea.causal_at_end | fovea.softmax

    return biased


@NIGHT
def test_keys_in_pages_are_those_of_one_array() -> None:
    rng = np.random.default_rng(6)
    kernel = biased_at_end()
    q, whole = rng.standard_normal((2, 2, 3, 4)), rng.standard_normal((2, 2, 2, 12, 4))
    table = np.array([[3, 0, 5], [1, 4, 2]], np.int32)
    pages = np.full((2, 6, 2, 4, 4), np.nan)
    for batch, entries in enumerate(table):
        for place, page in enumerate(entries):
            pages[:, page] = whole[:, batch, :, 4 * place : 4 * place + 4]
    assert np.array_equal(kernel(q, *pages, page_table=table), kernel(q, *whole))
    assert np.array_equal(kernel(q, *pages, page_table=table[:, :2]), kernel(q, *whole[..., :8, :]))
    with pytest.raises(fovea.ShapeError, match=r"page_table is \(3\), it must be \(batch, pages\)"):
        kernel(q, *pages, page_table=table[0])
    with pytest.raises(fovea.ShapeError, match="its table asks for page 10 at"):
        kernel(q, *pages, page_table=table + 7)
    with pytest.raises(fovea.UnsupportedError, match="is given page_table: for such calls there is no gradient"):
        kernel.gradient(q, *pages, q, page_table=table)


@NIGHT
def test_sequences_of_a_ragged_batch_are_computed_apart() -> None:
    rng = np.random.default_rng(7)
    kernel = biased_at_end()
    q, k, v = rng.standard_normal((1, 2, 3, 4)), *rng.standard_normal((2, 1, 2, 12, 4))
    of_queries, of_keys = np.array([0, 1, 1, 3]), np.array([0, 4, 4, 12])
    got = kernel(q, k, v, query_offsets=of_queries, key_offsets=of_keys)
    for n in (0, 2):
        queries, keys = (slice(*offsets[n : n + 2]) for offsets in (of_queries, of_keys))
        apart = kernel(*(np.ascontiguousarray(x) for x in (q[:, :, queries], k[:, :, keys], v[:, :, keys])))
        assert np.array_equal(got[:, :, queries], apart)
    assert kernel(k, k, v, query_offsets=of_keys).shape == k.shape
    with pytest.raises(fovea.ArgumentError, match="key_offsets is given without query_offsets"):
        kernel(q, k, v, key_offsets=of_keys)


def test_a_table_that_changed_its_axes_is_refused() -> None:
    vector = np.ones(FEATURES, np.float32)

    @fovea.kernel
    def mine(q, k):
        return vector @ np.tanh(q + k) | fovea.softmax

    mine(Q, K, V)
    vector = vector[:, None]
    with pytest.raises(fovea.ShapeError) as caught:
        mine(Q, K, V)
    assert str(caught.value) == (
        "vector has 2 axes, it had 1 axis when mine was traced: index it by as many expressions, and decorate a "
        "function for each number of axes"
    )
    vector = vector[:2, 0]
    with pytest.raises(fovea.ShapeError, match="a table read feature by feature has 2 elements, query has 11 features"):
        mine(Q, K, V)


def test_gradients_are_those_of_differences() -> None:
    t = temperatures
    mine = compiled(fovea.kernel(lambda score, head: score / temperatures[head] | fovea.sparsemax), "f64")
    d_result = RNG.standard_normal(Q.shape)
    q, k, v = OPERANDS["f64"]
    d = mine.gradient(q, k, v, d_result)
    assert set(d.tables) == {"temperatures"}
    for name, x, gradient in (("query", q, d.query), ("key", k, d.key), ("value", v, d.value)):
        direction = RNG.standard_normal(x.shape)
        moved = [{"query": q, "key": k, "value": v, name: x + e * direction} for e in (1e-5, -1e-5)]
        ends = [float((mine(m["query"], m["key"], m["value"]) * d_result).sum()) for m in moved]
        assert abs((ends[0] - ends[1]) / 2e-5 - float((gradient * direction).sum())) < 1e-5 * abs(ends[0])
    of_table = d.tables["temperatures"]
    assert of_table.shape == t.shape and of_table.dtype == t.dtype
    step = np.zeros(HEADS)
    step[1] = 1 / 4096  # a float
    moving = fovea.kernel(lambda score, head, temperatures: score / temperatures[head] | fovea.sparsemax)
    ends = [float((moving(q, k, v, temperatures=t + x) * d_result).sum()) for x in (-step, step)]
    assert abs((ends[1] - ends[0]) * 2048 - of_table[1]) < 1e-3 * abs(of_table[1])


@NIGHT
def test_explain_names_what_runs() -> None:
    lines = sharpened.explain(Q, K, V).splitlines()
    assert lines[0].startswith("attention   scaled_dot | rescore(score / param[head]) | sparsemax | weighted_sum")
    assert any(line.startswith("loop        driver/dense/") for line in lines)


def test_the_page_runs() -> None:
    """Its program, in a process of its own: kernels that others have compiled are loaded there."""
    for kernel, type_name in ((additive, "f32"), (sharpened, "f64")):
        compiled(kernel, type_name)
    program = f"""
import sys
sys.path[:0] = {[str(Path(fovea.__file__).parents[1]), str(EXAMPLES)]!r}
from fovea import _compile
def never(*_):
    raise AssertionError("compiled again")
_compile._compile = never
import call
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"{additive.text}\n", done.stderr
    assert vector.shape == (FEATURES,)
