# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The variants of examples/from_python in other spellings, and what they are in plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from variants import (
    additive,
    capped_alibi,
    edges,
    on_edges,
    graph,
    graph_attention,
    of_edge,
    of_source,
    of_target,
    relative,
    sharpened,
    slopes,
    table,
    temperatures,
    vector,
)

import fovea

BATCH, HEADS, QUERIES, FEATURES = 2, 4, 37, 11
RNG = np.random.default_rng(7)
Q, K, V = (RNG.standard_normal((BATCH, HEADS, QUERIES, FEATURES), dtype=np.float32) for _ in range(3))


def spellings_of_alibi() -> list[Any]:
    @fovea.kernel
    def by_method(i, j, head):
        score = fovea.scaled_dot.rescore(lambda score: 50 * np.tanh((score + slopes[head] * (j - i)) / 50))
        return score | fovea.where((j <= i) & (i - j < 16)) | fovea.softmax

    def score_mod(s, b, h, q_idx, kv_idx):
        return 50 * np.tanh((s + slopes[h] * (kv_idx - q_idx)) / 50)

    def mask_mod(b, h, q, kv):
        return (kv <= q) & (q - kv < 16)

    @fovea.kernel
    def by_score_mod():
        return fovea.scaled_dot | fovea.rescore(score_mod) | fovea.where(mask_mod) | fovea.softmax

    @fovea.kernel
    def by_words():
        score = fovea.scaled_dot | fovea.alibi(slopes) | fovea.softcap(50)
        return score | fovea.causal | fovea.sliding_window(15, 0) | fovea.softmax | fovea.weighted_sum

    return [capped_alibi, by_method, by_score_mod, by_words]


def spellings_of_a_relative_table() -> list[Any]:
    @fovea.kernel
    def by_argument(score, i, j, head, other=table):
        reach = other.shape[1] // 2
        return score + other[head][np.clip(j - i, -reach, reach) + reach] | fovea.softmax

    @fovea.kernel
    def by_word():
        return fovea.scaled_dot | fovea.relative_bias(table) | fovea.softmax

    return [relative, by_argument, by_word]


def spellings_of_a_graph() -> list[Any]:
    @fovea.kernel
    def by_sums(q, k, head, edge):
        of_nodes = fovea.sum(of_target[head, :] * q) + fovea.sum(of_source[head, :] * k)
        score = of_nodes + fovea.sum(of_edge[head] * on_edges[edge])
        return fovea.compare(fovea.leaky_relu(score, 0.2)) | fovea.neighbors(graph) | fovea.softmax

    return [graph_attention, by_sums]


def spellings_of_sparsemax() -> list[Any]:
    @fovea.kernel
    def by_word(head):
        return fovea.scaled_dot | fovea.temperature(temperatures[head]) | fovea.sparsemax

    text = "scaled_dot | temperature(param(temperatures)[head]) | sparsemax | weighted_sum"
    return [sharpened, by_word, fovea.kernel(text, temperatures=temperatures)]


def spellings_of_additive() -> list[Any]:
    @fovea.kernel
    def by_sum(q, k):
        return fovea.sum(vector * fovea.tanh(q + k)) | fovea.softmax

    @fovea.kernel
    def by_word():
        return fovea.additive(vector) | fovea.softmax

    return [additive, by_sum, by_word]


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
            result[b, h, i] += w * V[b, h, j].astype(float)
    return result


def scaled(q: np.ndarray, k: np.ndarray) -> float:
    return float((q * k).sum()) / math.sqrt(FEATURES)


def of_alibi(q: np.ndarray, k: np.ndarray, h: int, i: int, j: int) -> float:
    return 50 * math.tanh((scaled(q, k) + float(slopes[h]) * (j - i)) / 50)


def of_graph(q: np.ndarray, k: np.ndarray, h: int, i: int, j: int) -> float:
    of_one = float((of_edge[h].astype(float) * on_edges[edges.index((i, j))]).sum())
    x = float((of_target[h] * q).sum() + (of_source[h] * k).sum()) + of_one
    return x if x > 0 else 0.2 * x


# Each variant by its name: its spellings, and what it is in plain loops.
VARIANTS: dict[str, tuple[Callable[[], list[Any]], Callable[[], np.ndarray]]] = {
    "alibi": (spellings_of_alibi, lambda: plain(of_alibi, lambda i: list(range(max(0, i - 15), i + 1)))),
    "relative": (
        spellings_of_a_relative_table,
        lambda: plain(lambda q, k, h, i, j: scaled(q, k) + float(table[h, min(max(j - i, -8), 8) + 8])),
    ),
    "graph": (spellings_of_a_graph, lambda: plain(of_graph, lambda i: [j for to, j in edges if to == i])),
    "sparsemax": (
        spellings_of_sparsemax,
        lambda: plain(lambda q, k, h, i, j: scaled(q, k) / float(temperatures[h]), normalize=sparsemax),
    ),
    "additive": (
        spellings_of_additive,
        lambda: plain(lambda q, k, h, i, j: float((vector * np.tanh(q + k)).sum())),
    ),
}
