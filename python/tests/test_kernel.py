# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are written in Python, against plain loops; each compiles once for a session.

The spellings of a variant have to be the same text of C++, or have the same results.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fovea
from fovea import _compile

BATCH, HEADS, QUERIES, FEATURES = 2, 3, 37, 11
RNG = np.random.default_rng(7)
Q, K, V = (RNG.standard_normal((BATCH, HEADS, QUERIES, FEATURES), dtype=np.float32) for _ in range(3))
SLOPES = np.array([0.5, 0.11, 0.02], np.float32)
TABLE = RNG.standard_normal((HEADS, 17), dtype=np.float32)
TEMPERATURE = np.array([0.5, 1, 2], np.float32)
VECTOR = RNG.standard_normal(FEATURES, dtype=np.float32)
TARGET, SOURCE = RNG.standard_normal((2, HEADS, FEATURES), dtype=np.float32)
OF_EDGES = RNG.standard_normal((HEADS, 4), dtype=np.float32)
EDGES = [(i, j) for i in range(QUERIES) for j in range(QUERIES) if (i * 7 + j * 5) % 6 == 0]
FEATURES_OF_EDGES = RNG.standard_normal((len(EDGES), 4), dtype=np.float32)
GRAPH = fovea.Graph.from_edges(QUERIES, EDGES)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of this session alone, unless FOVEA_CACHE names one."""
    folder = os.environ.get("FOVEA_CACHE") or str(tmp_path_factory.mktemp("cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOVEA_CACHE", folder)
        yield Path(folder)


# --- the variants, each in several spellings ---


def alibi_with_softcap() -> list[Any]:
    @fovea.kernel
    def by_method(i, j, head):
        score = fovea.scaled_dot.rescore(lambda score: 50 * np.tanh((score + SLOPES[head] * (j - i)) / 50))
        return score | fovea.where((j <= i) & (i - j < 9)) | fovea.softmax

    @fovea.kernel
    def by_expression(score, i, j, head):
        score = 50 * np.tanh((score + SLOPES[head] * (j - i)) / 50)
        return score | fovea.where((j <= i) & (i - j < 9)) | fovea.softmax

    def score_mod(s, b, h, q_idx, kv_idx):
        return 50 * np.tanh((s + SLOPES[h] * (kv_idx - q_idx)) / 50)

    def mask_mod(b, h, q, kv):
        return (kv <= q) & (q - kv < 9)

    @fovea.kernel
    def by_score_mod():
        return fovea.scaled_dot | fovea.rescore(score_mod) | fovea.where(mask_mod) | fovea.softmax

    @fovea.kernel
    def by_words():
        score = fovea.scaled_dot | fovea.alibi(SLOPES) | fovea.softcap(50)
        return score | fovea.causal | fovea.sliding_window(8, 0) | fovea.softmax | fovea.weighted_sum

    return [by_method, by_expression, by_score_mod, by_words]


def relative_table() -> list[Any]:
    @fovea.kernel
    def by_expression(score, i, j, head):
        reach = TABLE.shape[1] // 2
        return score + TABLE[head, np.clip(j - i, -reach, reach) + reach] | fovea.softmax

    @fovea.kernel
    def by_argument(score, i, j, head, table=TABLE):
        reach = table.shape[1] // 2
        return score + table[head][np.clip(j - i, -reach, reach) + reach] | fovea.softmax

    @fovea.kernel
    def by_word():
        return fovea.scaled_dot | fovea.relative_bias(TABLE) | fovea.softmax

    return [by_expression, by_argument, by_word]


def graph_with_edge_features() -> list[Any]:
    @fovea.kernel
    def by_expression(q, k, head, edge):
        score = TARGET[head] @ q + SOURCE[head] @ k + OF_EDGES[head] @ FEATURES_OF_EDGES[edge]
        return fovea.leaky_relu(score, 0.2) | fovea.neighbors(GRAPH) | fovea.softmax

    @fovea.kernel
    def by_sums(q, k, head, edge):
        of_nodes = fovea.sum(TARGET[head, :] * q) + fovea.sum(SOURCE[head, :] * k)
        score = of_nodes + fovea.sum(OF_EDGES[head] * FEATURES_OF_EDGES[edge])
        return fovea.compare(fovea.leaky_relu(score, 0.2)) | fovea.neighbors(GRAPH) | fovea.softmax

    return [by_expression, by_sums]


def sparsemax_with_temperature() -> list[Any]:
    @fovea.kernel
    def by_expression(score, head):
        return score / TEMPERATURE[head] | fovea.sparsemax

    @fovea.kernel
    def by_word(head):
        return fovea.scaled_dot | fovea.temperature(TEMPERATURE[head]) | fovea.sparsemax

    by_text = fovea.kernel(
        "scaled_dot | temperature(param(TEMPERATURE)[head]) | sparsemax | weighted_sum", TEMPERATURE=TEMPERATURE
    )
    return [by_expression, by_word, by_text]


def additive() -> list[Any]:
    @fovea.kernel
    def by_product(q, k):
        return VECTOR @ np.tanh(q + k) | fovea.softmax

    @fovea.kernel
    def by_sum(q, k):
        return fovea.sum(VECTOR * fovea.tanh(q + k)) | fovea.softmax

    @fovea.kernel
    def by_word():
        return fovea.additive(VECTOR) | fovea.softmax

    return [by_product, by_sum, by_word]


# --- the same in plain loops ---


def softmax(scores: list[float]) -> list[float]:
    most = max(scores, default=0.0)
    weights = [math.exp(s - most) for s in scores]
    return [w / sum(weights) for w in weights]


def sparsemax(scores: list[float]) -> list[float]:
    support: list[float] = []
    for s in sorted(scores, reverse=True):
        if 1 + (len(support) + 1) * s <= sum(support) + s:
            break
        support.append(s)
    threshold = (sum(support) - 1) / len(support)
    return [max(s - threshold, 0.0) for s in scores]


def plain(
    score: Callable[[np.ndarray, np.ndarray, int, int, int], float],
    keys: Callable[[int], list[int]] = lambda i: list(range(QUERIES)),
    normalize: Callable[[list[float]], list[float]] = softmax,
) -> np.ndarray:
    result = np.zeros(Q.shape)
    for b, h, i in np.ndindex(BATCH, HEADS, QUERIES):
        row = Q[b, h, i].astype(float)
        weights = normalize([score(row, K[b, h, j].astype(float), h, i, j) for j in keys(i)])
        for w, j in zip(weights, keys(i)):
            result[b, h, i] += w * V[b, h, j]
    return result


def scaled(q: np.ndarray, k: np.ndarray) -> float:
    return float((q * k).sum()) / math.sqrt(FEATURES)


def capped(q: np.ndarray, k: np.ndarray, h: int, i: int, j: int) -> float:
    return 50 * math.tanh((scaled(q, k) + float(SLOPES[h]) * (j - i)) / 50)


def of_graph(q: np.ndarray, k: np.ndarray, h: int, i: int, j: int) -> float:
    of_edge = float((OF_EDGES[h].astype(float) * FEATURES_OF_EDGES[EDGES.index((i, j))]).sum())
    x = float((TARGET[h] * q).sum() + (SOURCE[h] * k).sum()) + of_edge
    return x if x > 0 else 0.2 * x


VARIANTS: list[tuple[Callable[[], list[Any]], Callable[[], np.ndarray]]] = [
    (alibi_with_softcap, lambda: plain(capped, lambda i: list(range(max(0, i - 8), i + 1)))),
    (
        relative_table,
        lambda: plain(lambda q, k, h, i, j: scaled(q, k) + float(TABLE[h, min(max(j - i, -8), 8) + 8])),
    ),
    (graph_with_edge_features, lambda: plain(of_graph, lambda i: [j for to, j in EDGES if to == i])),
    (
        sparsemax_with_temperature,
        lambda: plain(lambda q, k, h, i, j: scaled(q, k) / float(TEMPERATURE[h]), normalize=sparsemax),
    ),
    (additive, lambda: plain(lambda q, k, h, i, j: float((VECTOR * np.tanh(q + k)).sum()))),
]


@pytest.mark.parametrize(("spellings", "expected"), VARIANTS, ids=[v[0].__name__ for v in VARIANTS])
def test_a_variant_is_that_of_plain_loops(spellings: Any, expected: Any) -> None:
    first = spellings()[0]
    np.testing.assert_allclose(first(Q, K, V), expected(), rtol=0, atol=3e-6)


def test_spellings_say_the_same() -> None:
    texts = {variant.__name__: [kernel.text for kernel in variant()] for variant, _ in VARIANTS}
    for name, same in (("alibi_with_softcap", 3), ("graph_with_edge_features", 2), ("additive", 2)):
        assert len(set(texts[name][:same])) == 1, texts[name]
    assert texts["alibi_with_softcap"][0] == (
        "scaled_dot | rescore(50 * tanh((score + param(SLOPES)[head] * (kv_idx - q_idx)) / 50)) "
        "| where(kv_idx <= q_idx && q_idx - kv_idx < 9) | softmax | weighted_sum"
    )
    assert texts["alibi_with_softcap"][3] == (
        "scaled_dot | alibi(SLOPES) | softcap(50) | causal | sliding_window(8, 0) | softmax | weighted_sum"
    )
    assert texts["relative_table"][1].replace("table", "TABLE") == texts["relative_table"][0]
    assert texts["sparsemax_with_temperature"][1] == texts["sparsemax_with_temperature"][2]


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
    mine = additive()[0]
    expected = mine(Q, K, V)
    for _ in range(3):
        for q, k, v in zip(layouts_of(Q), layouts_of(K), reversed(layouts_of(V))):
            np.testing.assert_array_equal(mine(q, k, v), expected)
        for queries in (0, 1, 5):
            np.testing.assert_array_equal(mine(Q[:, :, :queries], K, V), expected[:, :, :queries])
        np.testing.assert_allclose(mine(Q[1, 2], K[1, 2], V[1, 2]), expected[1, 2], rtol=0, atol=1e-6)
        assert mine(Q, K[:, :1], V[:, :1], threads=2).shape == Q.shape
        with pytest.raises(fovea.ShapeError):
            mine(Q, K, V[:, :, :3])
        with pytest.raises(fovea.ArgumentError, match="key has elements of f64, query has f32"):
            mine(Q, K.astype(float), V)


# --- what tracing understands ---


def text_of(function: Callable[..., Any]) -> str:
    return fovea.kernel(function).text.removesuffix(" | softmax | weighted_sum")


def test_operators_are_those_of_the_language() -> None:
    assert text_of(lambda i, j: fovea.dot | fovea.where(~(j > i) | (j // 4 == 0)) | fovea.softmax) == (
        "dot | where(!(kv_idx > q_idx) || floor_div(kv_idx, 4) == 0)"
    )
    assert text_of(lambda score, i, j: score - (i - j) / 4 | fovea.softmax) == (
        "scaled_dot | rescore(score - real(q_idx - kv_idx) / 4)"
    )
    assert text_of(lambda q, k, dim: q[:8] @ k[:8] / dim**0.5 | fovea.softmax) == (
        "compare(sum(q * k, features(0, 8)) / sqrt(dim))"
    )
    assert text_of(lambda score: np.where(score < 0, 0.1 * score, score**2) | fovea.softmax) == (
        "scaled_dot | rescore(select(score < 0, 0.1 * score, square(score)))"
    )
    assert text_of(lambda score: -(score - 1) - (2 - (score - np.float32(0.5))) | fovea.softmax) == (
        "scaled_dot | rescore(-(score - 1) - (2 - (score - 0.5)))"
    )
    assert text_of(lambda s, b, i: s + np.arange(3)[1] | fovea.where(i < np.int64(2**40)) | fovea.softmax) == (
        "scaled_dot | rescore(score + 1) | where(q_idx < index_t{1099511627776})"
    )


def test_numbers_of_numpy_are_numbers() -> None:
    assert repr(np.float32(0.5) < fovea.score) == "score > 0.5"
    assert repr(np.int64(3) - fovea.q_idx) == "3 - q_idx"
    assert repr(fovea.q_idx != np.uint8(3)) == "q_idx != 3"
    assert repr(np.float64(2) * fovea.score) == "2.0 * score"


def test_functions_of_torch_are_known_by_their_names() -> None:
    e = fovea.score

    def of_torch(name: str, *inputs: Any, **keywords: Any) -> str:
        function = SimpleNamespace(__name__=name)
        return repr(type(e).__torch_function__(function, (), inputs, keywords))

    assert of_torch("tanh", e) == "tanh(score)"
    assert of_torch("__rsub__", e, 1) == "1 - score"
    assert of_torch("where", e > 0, e, 0.0) == "select(score > 0, score, 0.0)"
    assert of_torch("clamp", e, min=-1, max=1) == "min(max(score, -1), 1)"
    with pytest.raises(fovea.ArgumentError, match=r"torch\.cumsum is not in the language of kernels, which has "):
        of_torch("cumsum", e)


def test_tables_are_those_of_the_variables_at_each_call() -> None:
    VECTOR = np.ones(FEATURES, np.float32)

    @fovea.kernel
    def mine(q, k):
        return VECTOR @ np.tanh(q + k) | fovea.softmax

    before = mine(Q, K, V)
    VECTOR = 2 * VECTOR
    assert np.abs(mine(Q, K, V) - before).max() > 1e-3
    VECTOR /= 2
    np.testing.assert_array_equal(mine(Q, K, V), before)


def test_numbers_stand_in_the_text_as_they_are_now() -> None:
    window = 4

    @fovea.kernel
    def mine(i, j):
        return fovea.dot | fovea.where(i - j < window) | fovea.softmax

    assert "< 4" in mine.text
    window = 5
    assert "< 5" in mine.text


def test_parameters_are_passed_by_the_caller() -> None:
    def with_cap(score):
        return score + cap[0] * 0

    cap = np.zeros(1, np.float32)

    @fovea.kernel
    def mine(q, k, cap=2.0):
        return (VECTOR @ np.tanh(q + k)) / cap + with_cap(VECTOR @ q) * 0 | fovea.softmax

    assert mine.text.count("param(cap_)[0]") == 1 and "/ cap " in mine.text
    assert [a.parameter for a in mine.trace().arguments.values()] == [None, "cap", None]
    with pytest.raises(fovea.ArgumentError, match="the call of mine does not take cup: it takes cap"):
        mine(Q, K, V, cup=1)
    with pytest.raises(fovea.ArgumentError, match="cap is of type str, it must be a table, a number or a graph"):
        mine(Q, K, V, cap="x")


def test_what_lies_in_an_object_is_read_at_each_call() -> None:
    held = SimpleNamespace(window=4, slopes=SLOPES)

    @fovea.kernel
    def mine(score, head, i, j):
        return score + fovea.param(held.slopes)[head] | fovea.where(i - j < held.window) | fovea.softmax

    assert "< 4" in mine.text
    held.window, held.slopes = 5, TEMPERATURE
    assert "< 5" in mine.text
    assert mine.trace().arguments["table"].read() is TEMPERATURE


def test_names_give_way_to_words() -> None:
    softmax = SLOPES
    _T = SLOPES + 1

    @fovea.kernel
    def mine(score, head, key=TEMPERATURE):
        return score + softmax[head] + key[head] | fovea.sparsemax

    assert text_of(lambda s, h: s + _T[h] | fovea.softmax) == "scaled_dot | rescore(score + param(T_)[head])"
    by_default = text_of(lambda: fovea.dot | fovea.rescore(lambda s, h, t=SLOPES: s + t[h]) | fovea.softmax)
    assert by_default == "dot | rescore(score + param(SLOPES)[head])"

    assert mine.text == (
        "scaled_dot | rescore(score + param(softmax_)[head] + param(key_)[head]) | sparsemax | weighted_sum"
    )
    assert mine.definition.startswith(
        'takes<"softmax_(softmax__axis_0), key_(key__axis_0)">([]<class T>(view<T const, 1> softmax_, '
    )


def test_explain_names_what_runs() -> None:
    lines = sparsemax_with_temperature()[0].explain(Q, K, V).splitlines()
    assert lines[0].startswith("attention   scaled_dot | rescore(score / param[head]) | sparsemax | weighted_sum")
    assert any(line.startswith("loop        driver/dense/") for line in lines)


def words_of_every_role() -> list[Any]:
    """Specifications that are compiled together; not one of them is called."""
    matrix, lengths = np.ones((FEATURES, 6), np.float32), np.array([3, 4])
    seen, ids, buckets = np.ones((9, 9), bool), np.arange(9, dtype=np.int32), np.arange(9, dtype=np.int32)
    f, number = fovea, np.array(2, np.float32)
    rows = f.project(matrix | f.rotary, matrix | f.rotary, matrix, f.heads(2, 1))
    return [
        lambda: rows | f.scaled_dot | f.causal | f.softmax | f.weighted_sum | f.output(matrix) | f.residual,
        lambda h: f.dot | f.keep(f.threshold(SLOPES[h])) | f.weigh(lambda s: f.sigmoid(s + SLOPES[h])),
        lambda h: f.dot | f.keep(f.top_k(4)) | f.softmax_with_sink(SLOPES[h]),
        lambda b, j: f.dot | f.where(j < lengths[b]) | f.key_lengths(lengths) | f.document(ids) & f.causal | f.softmax,
        lambda: f.dot | f.any_of(f.sliding_window(4, 4), f.chunked(2)) | ~f.causal | f.mask_tensor(seen) | f.uniform,
        lambda: f.dot | f.t5_bias(TABLE, buckets) | f.neighborhood((3, 3), (4, 4)) | f.entmax(1.5),
        lambda score: score / number | f.softmax | f.reweight(lambda w: w * f.select(f.random(3) < 0.1, 0, 1 / 0.9)),
        lambda: f.feature_map(lambda q: f.elu(q) + 1) | f.causal | f.proportional | f.running_state,
        lambda: f.dot | f.softmax | f.weighted_sum | f.map(lambda x: f.relu(x)) | f.precision(f.bf16x2),
        lambda q, k: f.sum(q[:4] * k[:4]) / 2 - f.squared_distance(q, k, f.features(4, 7)) | f.softmax,
        lambda score, i, j: score + TABLE[-1, (j - i) % TABLE.shape[1]] | f.where(seen[i, j]) | f.softmax,
        lambda score, j, cap=50.0, reach=8, on=True: cap * np.tanh(score / cap) | f.where((j < reach) & on) | f.softmax,
        lambda: f.dot | f.normalized(lambda s: f.relu(s)) | f.weighted_sum | f.concat_heads,
    ]


def test_words_of_every_role_are_kernels_of_cpp(tmp_path: Path) -> None:
    unit = ["#include <fovea/fovea.hpp>", "#include <fovea/bindings/unit.hpp>", "using namespace fovea;"]
    unit.append("using namespace fovea::placeholders;")
    for number, function in enumerate(words_of_every_role()):
        unit.append(f"auto kernel_{number}() {{ return {fovea.kernel(function).definition}; }}")
        unit.append(f"static_assert(bindings::is_kernel<decltype(kernel_{number}()), float>());")
    (tmp_path / "unit.cpp").write_text("\n".join(unit))
    flags = ["-std=c++20", "-fsyntax-only", f"-I{_compile.find_headers()}"]
    compiler = [*_compile.find_compiler(), *flags, str(tmp_path / "unit.cpp")]
    done = subprocess.run(compiler, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


# --- each wrong use has a sentence ---


def refused(function: Callable[..., Any], sentence: str, error: type[Exception] = fovea.ArgumentError) -> None:
    with pytest.raises(error) as caught:
        fovea.kernel(function).trace()
    assert sentence in str(caught.value)


def test_the_if_of_python_is_refused() -> None:
    def mine(score, i, j):
        if j > i:
            score = score - 1
        return score | fovea.softmax

    refused(mine, "write fovea.select(condition, a, b) for `if`")
    refused(lambda i, j: fovea.dot | fovea.where(j <= i and i - j < 4) | fovea.softmax, "and & | ~ with parentheses")
    refused(lambda i, j: fovea.dot | fovea.where(not j <= i) | fovea.softmax, "`and`, `or`, `not`")
    refused(lambda i, j: fovea.dot | fovea.where(0 <= i - j < 4) | fovea.softmax, "chains such as a < b < c")
    refused(lambda score: max(score, 0) | fovea.softmax, "neither true nor false")


def test_functions_of_math_are_refused() -> None:
    refused(lambda score: math.tanh(score) | fovea.softmax, "write np.tanh, torch.tanh or fovea.tanh for math.tanh")
    refused(lambda score, i: score + [1, 2][i] | fovea.softmax, "has no number while a kernel is traced")


def test_what_the_language_does_not_have_is_refused() -> None:
    refused(lambda score: np.sinc(score) | fovea.softmax, "is not in the language of kernels, which has")
    refused(lambda score: np.spacing(score) | fovea.softmax, "np.spacing is not in the language of kernels")
    refused(lambda score, i: score * (i == 3) | fovea.softmax, "a condition is not a number: write fovea.select")
    refused(lambda score, i: score | (i == 3) | fovea.softmax, "& | ^ and ~ are between conditions")
    refused(lambda i: fovea.where(i & 3) | fovea.softmax, "& | ^ and ~ are between conditions")
    refused(lambda score, i: score // 2 | fovea.softmax, "// is between integers")
    refused(lambda score, x: score | fovea.softmax, "the call of kernel lacks x: it takes x")
    refused(lambda score: score, "it must be a specification: score | fovea.softmax")
    refused(lambda: fovea.dot | fovea.rescore(lambda s, x: s) | fovea.softmax, "has the parameter x, it must be one of")


def test_wrong_indices_are_refused() -> None:
    of_a_list = [SLOPES]
    refused(lambda s, head: s + of_a_list[0][head] | fovea.softmax, "write fovea.param(table)[head]")
    twice = "SLOPES has 1 axis and is read at 2 expressions"
    refused(lambda s, head, i: s + SLOPES[head, i] | fovea.softmax, twice, fovea.ShapeError)
    refused(lambda s, head: s + SLOPES[s] | fovea.softmax, "an index of SLOPES is score, it must be an integer")
    refused(lambda s, i: s + TABLE[:, i] | fovea.softmax, "TABLE is read in whole rows or at an index for each axis")
    refused(lambda s: s + SLOPES | fovea.softmax, "has 1 axis without an index: index it, such as", fovea.ShapeError)
    refused(lambda: fovea.dot | fovea.temperature(SLOPES) | fovea.softmax, "1 axis without", fovea.ShapeError)
    refused(lambda q, k: fovea.sum(TABLE * q * k) | fovea.softmax, "a table in a sum has 2 axes", fovea.ShapeError)
    refused(lambda s: s + len(SLOPES) | fovea.softmax, "write SLOPES.shape[0]")
    assert fovea.kernel(lambda s, head: s + fovea.param(of_a_list[0])[head] | fovea.softmax).text.startswith(
        "scaled_dot | rescore(score + param(table)[head])"
    )


def test_a_table_that_changed_its_axes_is_refused() -> None:
    TEMPERATURE = np.ones(HEADS, np.float32)

    @fovea.kernel
    def mine(score, head):
        return score / TEMPERATURE[head] | fovea.sparsemax

    mine(Q, K, V)
    TEMPERATURE = TEMPERATURE[:, None]
    with pytest.raises(fovea.ShapeError) as caught:
        mine(Q, K, V)
    assert str(caught.value) == (
        "TEMPERATURE has 2 axes, it had 1 axis when mine was traced: index it by as many expressions, and decorate a "
        "function for each number of axes"
    )
    TEMPERATURE = TEMPERATURE[:2, 0]
    with pytest.raises(fovea.ShapeError, match="is read at 2 along axis 0, which has 2 elements"):
        mine(Q, K, V)


# --- the compiler and the cache, with a compiler that copies a library ---


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A compiler that appends a line to a file and copies a library, or says what it is told and fails."""
    count, library, says = (tmp_path / name for name in ("count", "library.so", "says"))
    library.write_bytes(b"\x7fELF and so on")
    compiler = tmp_path / "fake-c++"
    compiler.write_text(
        f"""#!/bin/sh
echo x >>{count}
[ -e {says} ] && cat {says} >&2 && exit 1
while [ "$1" != -o ]; do shift; done
sleep 0.3
cp {library} "$2"
"""
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("FOVEA_CACHE", str(tmp_path / "cache"))
    return SimpleNamespace(
        count=lambda: len(count.read_text().split()) if count.exists() else 0, says=says, cache=tmp_path / "cache"
    )


def test_a_unit_is_compiled_once(fake: SimpleNamespace) -> None:
    path = _compile.library_of("one", "mine", "f")
    assert _compile.library_of("one", "mine", "f") == path and fake.count() == 1
    assert _compile.library_of("two", "mine", "f") != path and fake.count() == 2
    assert path.read_bytes().startswith(b"\x7fELF and so on")
    assert not list(fake.cache.glob(".compiling-*"))


def test_broken_files_are_compiled_again(fake: SimpleNamespace) -> None:
    path = _compile.library_of("one", "mine", "f")
    for content in (b"", path.read_bytes()[:-1], b"x" + path.read_bytes()):
        path.write_bytes(content)
        assert _compile.library_of("one", "mine", "f") == path
        assert path.read_bytes().startswith(b"\x7fELF and so on")
    assert fake.count() == 4
    other = _compile.library_of("two", "mine", "f")
    other.write_bytes(path.read_bytes())  # whole, but another kernel
    _compile.library_of("two", "mine", "f")
    assert fake.count() == 6


def test_processes_side_by_side_compile_once(fake: SimpleNamespace) -> None:
    program = "from fovea import _compile; print(_compile.library_of('three', 'mine', 'f').read_bytes()[:4])"
    path = [str(Path(fovea.__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    started = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE) for _ in range(4)
    ]
    assert {process.communicate()[0] for process in started} == {b"b'\\x7fELF'\n"}
    assert fake.count() == 1


def test_a_folder_that_others_may_write_is_not_used(fake: SimpleNamespace) -> None:
    fake.cache.mkdir(mode=0o777)
    fake.cache.chmod(0o777)
    assert _compile.library_of("four", "mine", "f").parent != fake.cache


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        (
            "a.hpp:1:1: error: static assertion failed: fovea: this is a mask: write it before the normalizer\n  1 | x",
            "mine: this is a mask: write it before the normalizer",
        ),
        ("error: static assertion failed due to requirement 'x': fovea: a word\n", "mine: a word"),
        ("k:2:1: error: 'foo' was not declared\n", "cannot be compiled: fake-c++ ends with: 'foo' was not declared"),
        ("cc1plus: fatal error: x: No space left on device\n", "no space is left in "),
    ],
)
def test_errors_of_the_compiler_become_a_sentence(fake: SimpleNamespace, says: str, sentence: str) -> None:
    fake.says.write_text(says)
    with pytest.raises(fovea.Error) as caught:
        _compile.library_of("five", "mine", "f")
    assert sentence in str(caught.value)


def test_a_compiler_is_called_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers do by their name what they do: clang++ is a link to clang, which links no library of C++."""
    (tmp_path / "clang").write_text("#!/bin/sh\n")
    (tmp_path / "clang").chmod(0o755)
    (tmp_path / "clang++").symlink_to("clang")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "clang++ --flag")
    assert _compile.find_compiler() == (str(tmp_path / "clang++"), "--flag")
    monkeypatch.delenv("CXX")
    assert _compile.find_compiler() == (str(tmp_path / "clang++"),)


def test_a_missing_compiler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(fovea.UnsupportedError, match="needs a compiler, and CXX is 'no-such-compiler', which is not"):
        _compile.find_compiler()


def test_the_order_of_words_is_that_of_the_language() -> None:
    mine = fovea.kernel(fovea.scaled_dot | fovea.softmax | fovea.causal | fovea.weighted_sum)
    with pytest.raises(fovea.ArgumentError, match=r"write it after the score function and before the normalizer$"):
        mine(Q, K, V)


def test_a_kernel_is_loaded_in_another_process(cache: Path) -> None:
    """The program of the first test once more, by a compiler that cannot run."""
    program = """
        import numpy as np, fovea
        from fovea import _compile
        def never(*_):
            raise AssertionError("compiled again")
        _compile._compile = never
        VECTOR = np.ones(11, np.float32)
        @fovea.kernel
        def by_product(q, k):
            return VECTOR @ np.tanh(q + k) | fovea.softmax
        x = np.ones((3, 11), np.float32)
        print(round(float(by_product(x, x, x).sum()), 3))
    """
    additive()[0](Q, K, V)
    environment = {**os.environ, "PYTHONPATH": str(Path(fovea.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "33.0\n", done.stderr


# --- gradients ---


def test_gradients_are_those_of_differences() -> None:
    t = TEMPERATURE
    mine = fovea.kernel(lambda score, head: score / t[head] | fovea.sparsemax)
    d_result = RNG.standard_normal(Q.shape)
    q, k, v = (x.astype(float) for x in (Q, K, V))
    d = mine.gradient(q, k, v, d_result)
    assert set(d.tables) == {"t"}
    for name, x, gradient in (("query", q, d.query), ("key", k, d.key), ("value", v, d.value)):
        direction = RNG.standard_normal(x.shape)
        moved = [{"query": q, "key": k, "value": v, name: x + e * direction} for e in (1e-5, -1e-5)]
        ends = [float((mine(m["query"], m["key"], m["value"]) * d_result).sum()) for m in moved]
        assert abs((ends[0] - ends[1]) / 2e-5 - float((gradient * direction).sum())) < 1e-5 * abs(ends[0])
    of_table = d.tables["t"]
    assert of_table.shape == TEMPERATURE.shape and of_table.dtype == TEMPERATURE.dtype
    step = np.zeros(HEADS)
    step[1] = 1 / 4096  # a float
    ends = []
    for t in (TEMPERATURE - step, TEMPERATURE + step):
        ends.append(float((mine(q, k, v) * d_result).sum()))
    assert abs((ends[1] - ends[0]) * 2048 - of_table[1]) < 1e-3 * abs(of_table[1])
