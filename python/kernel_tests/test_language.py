# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The language is whole: each word has a spelling in Python, which is that of C++, and what it says is computed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fovea as f
from fovea import _compile, _functions, _specification
from fovea._specification import word

NIGHT = pytest.mark.night
PAGES = Path(__file__).parents[2] / "docs" / "reference"

ones = np.ones
slopes, vector, offset, angles = (ones(n, np.float32) for n in (4, 6, 8, 3))
W, Wo, of_pair, of_head, near = (ones(shape, np.float32) for shape in ((6, 8), (8, 6), (5, 5), (4, 5), (5, 6)))
past, ids, buckets, places = np.array([3, 4]), ones(9, np.int32), ones(9, np.int32), ones((2, 5), np.int64)
half = np.array(0.5)
seen, packed = ones((5, 5), bool), ones((5, 1), np.uint8)
edges = f.Graph(np.array([0, 1, 2, 3, 4, 4]), np.array([1, 2, 3, 0], np.int32))
SOFTMAX = " | softmax | weighted_sum"
AS_IS = "project(as_is, as_is, as_is, heads<2>) | dot"

# In C++ and in Python, each word once or more; a text that ends in softmax is left without its end.
SPELLINGS: dict[str, Any] = {
    "scaled_by(param(slopes)[head])": lambda head: f.scaled_by(slopes[head]) | f.softmax,
    "cosine | softcap(50) | temperature(param(slopes)[head])": lambda head: (
        f.cosine | f.softcap(50) | f.temperature(slopes[head]) | f.softmax
    ),
    "gaussian(width)": lambda width=2.0: f.gaussian(width) | f.softmax,
    "l1_distance(2) | decay(slopes)": lambda: f.l1_distance(2) | f.decay(slopes) | f.softmax,
    "general(W) | bias(of_pair)": lambda: f.general(W) | f.bias(of_pair) | f.softmax,
    "key_only(vector) | alibi(slopes)": lambda: f.key_only(vector) | f.alibi(slopes) | f.softmax,
    "location(W) | relative_bias(of_head)": lambda: f.location(W) | f.relative_bias(of_head) | f.softmax,
    "relative_keys(near) | t5_bias(of_head, buckets)": lambda: (
        f.relative_keys(near) | f.t5_bias(of_head, buckets) | f.softmax
    ),
    "additive(vector)": lambda: f.additive(vector) | f.softmax,
    "concat(vector)": lambda: f.concat(vector) | f.softmax,
    "compare(sum(param(vector) * relu(q + k)))": lambda: f.concat(vector, lambda hidden: f.relu(hidden)) | f.softmax,
    "compare(-log(1 + sum(square(q - k)) / 3))": lambda q, k: -f.log(1 + f.squared_distance(q, k) / 3) | f.softmax,
    "compare(sum(q * k, features(n, 2 * n)) / 8 - sum(square(q - k), features(64, 67)))": lambda q, k, n=3: (
        q[n : 2 * n] @ k[n : 2 * n] / 8 - f.squared_distance(q, k, f.features(64, 67)) | f.softmax
    ),
    "compare(-sqrt(sum(square(param(of_pair)[q_idx] - param(of_pair)[kv_idx]))))": lambda i, j: (
        -f.sqrt(f.sum(f.square(of_pair[i] - of_pair[j]))) | f.softmax
    ),
    "scaled_dot | rescore(score / param(half)[0] + param(of_pair)(of_pair.extents[0] - 1, (kv_idx - q_idx) % "
    "of_pair.extents[1])) | where(param(seen)(q_idx, kv_idx))": lambda score, i, j: (
        score / half + of_pair[-1, (j - i) % of_pair.shape[1]] | f.where(seen[i, j]) | f.softmax
    ),
    "scaled_dot | rescore(cap * tanh(score / cap)) | where(kv_idx < reach && on)": (
        lambda s, j, cap=50.0, reach=8, on=True: cap * np.tanh(s / cap) | f.where((j < reach) & on) | f.softmax
    ),
    "scaled_dot | rescore(select(score > 0, score, real(q_len) / 2)) | everything": lambda score, q_len: (
        f.where(score > 0, score, q_len / 2) | f.everything | f.softmax
    ),
    "dot | causal_at_end | causal_from(3) | causal_from(param(past)[batch])": lambda batch: (
        f.dot | f.causal_at_end | f.causal_from(3) | f.causal_from(past[batch]) | f.softmax
    ),
    "dot | dilated_window(64, 4) | (sliding_window(4, 4) || global_tokens(1))": lambda: (
        f.dot | f.dilated_window(64, 4) | f.any_of(f.sliding_window(4, 4), f.global_tokens(1)) | f.softmax
    ),
    "dot | prefix_lm(past) | key_lengths(past) | (document(ids) && causal)": lambda: (
        f.dot | f.prefix_lm(past) | f.key_lengths(past) | f.document(ids) & f.causal | f.softmax
    ),
    "dot | neighborhood({size, 3}, {9, 9}) | sliding_tiles({3, 3}, {2, 2}, {8, 8})": lambda size=3: (
        f.dot | f.neighborhood((size, 3), (9, 9)) | f.sliding_tiles([3, 3], [2, 2], [8, 8]) | f.softmax
    ),
    "dot | tree(4, seen) | !shared_prefix(2, ids) | chunked(size)": lambda size=4: (
        f.dot | f.tree(4, seen) | ~f.shared_prefix(2, ids) | f.chunked(size) | f.softmax
    ),
    "dot | block_list(packed_bits(packed, n), 64, 64) | mask_tensor(seen)": lambda n=5: (
        f.dot | f.block_list(f.packed_bits(packed, n), 64, 64) | f.mask_tensor(seen) | f.softmax
    ),
    "dot | where((q_idx < kv_idx) != (q_idx % 4 == 3))": lambda i, j: (
        f.dot | f.where((i < j) ^ (i % 4 == 3)) | f.softmax
    ),
    "dot | keep(top_k(n)) | keep(top_p(0.9)) | keep(min_p(0.05))": lambda n=8: (
        f.dot | f.keep(f.top_k(n)) | f.keep(f.top_p(0.9)) | f.keep(f.min_p(0.05)) | f.softmax
    ),
    "dot | keep(threshold(param(slopes)[head])) | weigh(sigmoid(score - 6)) | weighted_sum": lambda head, score: (
        f.dot | f.keep(f.threshold(slopes[head])) | f.weigh(f.sigmoid(score - 6))
    ),
    "dot | gumbel(seed) | hardmax | weighted_sum": lambda seed=3: f.dot | f.gumbel(seed) | f.hardmax,
    "dot | softmax | reweight(weight * select(random(seed) < p, 0, 1 / (1 - p))) | weighted_sum": (
        lambda weight, seed=3, p=0.1: (
            f.dot | f.softmax | f.reweight(weight * f.select(f.random(seed) < p, 0, 1 / (1 - p)))
        )
    ),
    "dot | softmax_with_sink(slopes) | weighted_sum": lambda: f.dot | f.softmax_with_sink(slopes),
    "dot | top_k_softmax(n) | weighted_sum": lambda n=8: f.dot | f.top_k_softmax(n),
    "dot | entmax(1.3) | weighted_sum": lambda: f.dot | f.entmax(1.3),
    "dot | normalized(relu(score)) | weighted_sum": lambda score: f.dot | f.normalized(f.relu(score)),
    "dot | averaged(relu(score)) | weighted_sum": lambda: f.dot | f.averaged(lambda s: f.relu(s)),
    **{
        f"dot | {name} | weighted_sum": f.dot | word(name)
        for name in "entmax15 l1_weights softmax_plus_one sparsemax straight_through uniform unnormalized".split()
    },
    "feature_map(elu(q) + 1, elu(k) + 2) | causal | proportional | running_state": lambda q, k: (
        f.feature_map(f.elu(q) + 1, f.elu(k) + 2) | f.causal | f.proportional | f.running_state
    ),
    "scaled_dot | causal | unnormalized | running_state | gated(slopes) | delta(rate)": lambda rate=0.5: (
        f.scaled_dot | f.causal | f.unnormalized | f.running_state | f.gated(slopes) | f.delta(rate)
    ),
    "dot | causal | softmax | relative_values(near)": lambda: f.dot | f.causal | f.softmax | f.relative_values(near),
    "compare(kv_idx * 0 + 1) | neighbors(edges) | unnormalized | max_pool": lambda j: (
        f.compare(j * 0 + 1) | f.neighbors(edges) | f.unnormalized | f.max_pool
    ),
    "project(W, W, W, heads<2>) | gat_score(Wo, Wo, 0.2) | neighbors(edges) | softmax | weighted_sum | concat_heads "
    "| map(elu(out))": lambda: (
        f.project(W, W, W, f.heads(2)) | f.gat_score(Wo, Wo, 0.2) | f.neighbors(edges) | f.softmax | f.weighted_sum
        | f.concat_heads | f.map(lambda x: f.elu(x))
    ),
    "gatv2_score(Wo, slope) | neighbors(edges) | softmax | reweight(weight * param(slopes)[edge]) | weighted_sum": (
        lambda weight, edge, slope=0.2: (
            f.gatv2_score(Wo, slope) | f.neighbors(edges) | f.softmax | f.reweight(weight * slopes[edge])
        )
    ),
    "project(as_is | rotary.from(past), as_is | l2_normalized, as_is) | dot": lambda: (
        f.project(f.as_is | f.rotary.from_(past), f.as_is | f.l2_normalized, f.as_is) | f.dot | f.softmax
    ),
    "project(W | rotary.features(4).interleaved().base(500.0), W | rotary.interpolated(2).positions(places), "
    "W | rotary.ntk_scaled(1.5).frequencies(angles), heads<2>) | dot": lambda: (
        f.project(
            W | f.rotary.features(4).interleaved().base(500.0),
            W | f.rotary.interpolated(2).positions(places),
            W | f.rotary.ntk_scaled(1.5).frequencies(angles),
            f.heads(2),
        )
        | f.dot
        | f.softmax
    ),
    "project(linear(W, offset) | rms_normalized(slopes, 1e-05), linear(transposed(Wo)), "
    "layer_normalized(vector, vector) | W, heads<4, 2>) | dot | softmax | weighted_sum | output(transposed(W), vector) "
    "| residual": lambda: (
        f.project(
            f.linear(W, offset) | f.rms_normalized(slopes, 1e-5),
            f.linear(f.transposed(Wo)),
            f.layer_normalized(vector, vector) | W,
            f.heads(4, 2),
        )
        | f.dot | f.softmax | f.output(f.transposed(W), vector) | f.residual
    ),
    f"{AS_IS} | softmax | weighted_sum | mean_heads": lambda: (
        f.project(f.as_is, f.as_is, f.as_is, f.heads(2)) | f.dot | f.softmax | f.mean_heads
    ),
    **{
        f"dot | softmax | weighted_sum | precision({name})": f.dot | f.softmax | f.precision(word(name))
        for name in ("bf16x2", "bf16x3", "q8")
    },
    "dot | softmax | weighted_sum | batch_invariant": f.dot | f.softmax | f.batch_invariant,
}  # fmt: skip


def test_every_word_has_a_spelling() -> None:
    """Those of the reference, those of Python, and the functions of expressions."""
    folders = ("project", "score", "mask", "keep", "normalize", "aggregate")
    pages = {page.stem for folder in folders for page in (PAGES / folder).glob("*.md")} - {"logic", "everything"}
    named = set(_specification.vocabulary())
    assert pages - named == set()
    spelled = " ".join(SPELLINGS) + SOFTMAX
    assert [name for name in _specification.WORDS if name not in spelled] == []
    assert [name for name in _functions.FUNCTIONS if not hasattr(f, name)] == []


def test_tables_of_words_are_those_of_cpp() -> None:
    """Of the tests of alibi, t5_bias and tree, and as they are published."""
    assert f.alibi_slopes(8).tolist() == [2.0**-n for n in range(1, 9)]
    assert f.alibi_slopes(6).tolist() == [*(2.0 ** (-2 * n) for n in range(1, 5)), 0.5, 0.125]
    assert np.allclose(f.alibi_slopes(6, geometric=True), 2.0 ** (-8 * np.arange(1, 7) / 6))
    assert [f.alibi_slopes(n).size for n in range(6)] == list(range(6))
    buckets = f.t5_buckets(16, 128, 200)
    assert buckets.tolist() == [bucket_of(d) for d in range(200)] and buckets.dtype == np.int32
    with pytest.raises(f.ShapeError, match="t5_buckets: there is 1 bucket up to a distance of 4: it takes 2 or more"):
        f.t5_buckets(1, 4, 3)
    seen = f.tree_ancestors([-1, 0, 0, 1, 1, 2])
    assert ["".join(map(str, row)) for row in seen] == ["100000", "110000", "101000", "110100", "110010", "101001"]
    with pytest.raises(f.ShapeError, match="the parent of node 1 is 1: it must be a node before it, or -1 for a root"):
        f.tree_ancestors([-1, 1])


def bucket_of(distance: int) -> int:
    """Of 16, up to 128."""
    if distance < 8:
        return distance
    return min(8 + int(np.log(distance / 8) / np.log(128 / 8) * 8), 15)


def test_spellings_are_those_of_cpp(tmp_path: Path) -> None:
    unit = ["#include <fovea/fovea.hpp>", "#include <fovea/bindings/unit.hpp>", "using namespace fovea;"]
    unit.append("using namespace fovea::placeholders;")
    for number, (text, function) in enumerate(SPELLINGS.items()):
        kernel = f.kernel(function)
        assert kernel.text.removesuffix(SOFTMAX) == text.removesuffix(SOFTMAX)
        unit.append(f"auto kernel_{number}() {{ return {kernel.definition}; }}")
        unit.append(f"static_assert(bindings::is_kernel<decltype(kernel_{number}()), float>());")
    (tmp_path / "unit.cpp").write_text("\n".join(unit))
    flags = ["-std=c++20", "-fsyntax-only", f"-I{_compile.find_headers()}"]
    compiler = [*_compile.find_compiler(), *flags, str(tmp_path / "unit.cpp")]
    done = subprocess.run(compiler, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


# --- what they compute, beside plain loops ---

RNG = np.random.default_rng(11)
Q, K, V = (RNG.standard_normal((2, 4, n, 6)) for n in (5, 7, 7))
SAME = RNG.standard_normal((3, 2, 4, 7, 6))
I, J = np.arange(5)[:, None], np.arange(7)
LEVEL = np.array([-0.5, 0.0, 0.2, 5.0])
NEAR, HIDDEN = RNG.standard_normal((5, 6)), RNG.standard_normal(6)
DECAY, RATE = -RNG.random(4), RNG.random((2, 4, 7))
TABLE = np.array([[0, 1], [4, 2]])
LINKS = f.Graph(np.array([0, 2, 3, 3, 5, 6]), np.array([1, 6, 0, 2, 3, 4], np.int32))
ON_LINKS = RNG.standard_normal(6)


def product(q: Any = Q, k: Any = K) -> Any:
    return q @ k.swapaxes(-1, -2)


def softmax_of(s: Any) -> Any:
    e = np.exp(s - s.max(-1, keepdims=True, initial=-1e300))
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)


def rotated(x: Any, first: Any) -> Any:
    """The first four features in pairs of neighbours, at the base 500."""
    angle = (np.arange(x.shape[-2]) + first)[..., None] / 500.0 ** np.array([0, 0.5])
    turned, (a, b) = x.copy(), (x[..., 0:4:2], x[..., 1:4:2])
    turned[..., 0:4:2] = a * np.cos(angle) - b * np.sin(angle)
    turned[..., 1:4:2] = b * np.cos(angle) + a * np.sin(angle)
    return turned


def chosen(s: Any) -> Any:
    """Of the four greatest scores of each row the fewest that hold 0.6 of the weight."""
    s = np.where(s >= np.sort(s, -1)[..., -4:-3], s, -np.inf)
    order = -np.sort(-softmax_of(s), -1)
    least = np.take_along_axis(order, (np.cumsum(order, -1) < 0.6).sum(-1, keepdims=True), -1)
    return np.where(softmax_of(s) >= least, s, -np.inf)


def states(feature: Any, decay: Any, rate: Any) -> Any:
    """S = exp(decay) S + k (v - rate' S^T k)^T, key after key, and S^T q."""
    q, k, v = SAME
    state, result = np.zeros((2, 4, 6, 6)), np.empty_like(v)
    for i in range(7):
        state = np.exp(decay)[:, None, None] * state
        key, weight = feature(k[:, :, i]), 1.0 if rate is None else rate[:, :, i, None]
        added = v[:, :, i] if rate is None else v[:, :, i] - np.einsum("bhcd,bhc->bhd", state, key)
        state = state + np.einsum("bhc,bhd->bhcd", key, weight * added)
        result[:, :, i] = np.einsum("bhcd,bhc->bhd", state, feature(q[:, :, i]))
    return result


def elu_plus_one(x: Any) -> Any:
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def linear_attention() -> Any:
    weights = np.tril(product(elu_plus_one(SAME[0]), elu_plus_one(SAME[1])))
    return weights / weights.sum(-1, keepdims=True) @ SAME[2]


def by_links(score: Any, pooled: bool = False) -> Any:
    result = np.zeros_like(Q)
    for i in range(5):
        at = slice(*LINKS.offsets[i : i + 2])
        values = V[:, :, LINKS.keys[at]]
        if pooled and values.size > 0:
            result[:, :, i] = values.max(-2)
        elif values.size > 0:
            result[:, :, i] = (softmax_of(score[:, :, i, LINKS.keys[at]] + ON_LINKS[at])[..., None] * values).sum(-2)
    return result


def relative_sums() -> Any:
    weights = softmax_of(np.where(J <= I, product() / np.sqrt(6), -np.inf))
    return weights @ V + np.einsum("bhij,ijc->bhic", weights, NEAR[np.clip(J - I, -2, 2) + 2])


def reach(count: Any = 3) -> Any:
    """Places of windows that move inwards at the borders, of keys and queries on one line."""
    first = np.clip(np.arange(7) - count // 2, 0, 7 - count)[:, None]
    return (np.arange(7) >= first) & (np.arange(7) < first + count)


COMPUTED: dict[str, tuple[Any, Any, Any]] = {
    "rotary": (
        lambda: (
            f.project(
                f.as_is | f.rotary.features(4).interleaved().base(500.0).from_(past),
                f.as_is | f.rotary.features(4).interleaved().base(500.0),
                f.as_is,
            )
            | f.dot
            | f.softmax
        ),
        (Q, K, V),
        lambda: softmax_of(product(rotated(Q, past[:, None, None]), rotated(K, 0))) @ V,
    ),
    "selections": (
        lambda n=4: f.dot | f.keep(f.top_k(n)) | f.keep(f.top_p(0.6)) | f.softmax,
        (Q, K, V),
        lambda: softmax_of(chosen(product())) @ V,
    ),
    "threshold": (
        lambda head: f.dot | f.keep(f.threshold(LEVEL[head])) | f.weigh(lambda s: f.sigmoid(s)),
        (Q, K, V),
        lambda: np.where(product() >= LEVEL[:, None, None], 1 / (1 + np.exp(-product())), 0) @ V,
    ),
    "linear attention": (
        lambda: f.feature_map(lambda q: f.elu(q) + 1) | f.causal | f.proportional | f.running_state,
        SAME,
        linear_attention,
    ),
    "delta rule": (
        lambda: f.dot | f.causal | f.unnormalized | f.running_state | f.gated(DECAY) | f.delta(RATE),
        SAME,
        lambda: states(lambda x: x, DECAY, RATE),
    ),
    "concat": (
        lambda: f.concat(HIDDEN, lambda x: f.relu(x)) | f.softmax,
        (Q, K, V),
        lambda: softmax_of(np.maximum(Q[..., :, None, :] + K[..., None, :, :], 0) @ HIDDEN) @ V,
    ),
    "ranges": (
        lambda q, k, n=2: q[:n] @ k[:n] - f.squared_distance(q, k, f.features(n, 6)) | f.softmax,
        (Q, K, V),
        lambda: softmax_of(
            product(Q[..., :2], K[..., :2]) - ((Q[..., :, None, 2:] - K[..., None, :, 2:]) ** 2).sum(-1)
        )
        @ V,
    ),
    "relative values": (
        lambda: f.scaled_dot | f.causal | f.softmax | f.relative_values(NEAR),
        (Q, K, V),
        relative_sums,
    ),
    "edges": (
        lambda score, edge: score * np.sqrt(6.0) + ON_LINKS[edge] | f.neighbors(LINKS) | f.softmax,
        (Q, K, V),
        lambda: by_links(product()),
    ),
    "pooled": (
        lambda j: f.compare(j * 0 + 1) | f.neighbors(LINKS) | f.unnormalized | f.max_pool,
        (Q, K, V),
        lambda: by_links(None, pooled=True),
    ),
    "neighborhood": (
        lambda size=3: f.dot | f.any_of(f.neighborhood((size,), (7,)), f.global_tokens(1)) | f.softmax,
        SAME,
        lambda: softmax_of(
            np.where(reach() | (np.arange(7) < 1) | (np.arange(7) < 1)[:, None], product(*SAME[:2]), -np.inf)
        )
        @ SAME[2],
    ),
}


@NIGHT
@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_spelled_is_computed(name: str) -> None:
    function, operands, expected = COMPUTED[name]
    np.testing.assert_allclose(f.kernel(function)(*operands), expected(), rtol=0, atol=1e-12)


@NIGHT
def test_dropout_leaves_weights_or_takes_them_out() -> None:
    @f.kernel
    def dropped(weight, seed=1, p=0.25):
        return f.dot | f.softmax | f.reweight(weight * f.select(f.random(seed) < p, 0, 1 / (1 - p)))

    result, weights = dropped(Q, K, V, outputs=("weights",))
    whole = softmax_of(product())
    assert np.all(np.isclose(weights, 0) | np.isclose(weights, whole / 0.75))
    assert 0.15 < np.isclose(weights, 0).mean() < 0.35
    np.testing.assert_allclose(result, weights @ V, atol=1e-12)
    np.testing.assert_allclose(dropped(Q, K, V), result, atol=1e-12)
    assert np.abs(dropped(Q, K, V, seed=2) - result).max() > 0.1
    np.testing.assert_allclose(dropped(Q, K, V, p=0.0), whole @ V, atol=1e-12)
