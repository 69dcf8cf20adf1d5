# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in NumPy, by their names: scores, the pairs that take part, and weights, each as one would write it down.

Queries are (batch, head, query, 1, feature) and keys (batch, head, 1, key, feature); scores (batch, head, query, key).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cases import SLOTS, Case, adjacency, to_f64

Arrays = tuple[np.ndarray, np.ndarray, dict[str, Any]]


def dot(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return (q * k).sum(-1)


def scaled(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return dot(q, k, a) / np.sqrt(q.shape[-1])


def cosine(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return dot(q, k, a) / (np.linalg.norm(q, axis=-1) * np.linalg.norm(k, axis=-1))


def with_alibi(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return scaled(q, k, a) + np.asarray(a["slopes"])[:, None, None] * distance(q, k)


def capped(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return a["cap"] * np.tanh(scaled(q, k, a) / a["cap"])


def additive(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return (a["v"] * np.tanh(q + k)).sum(-1)


def with_relative_bias(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    reach = a["table"].shape[1] // 2
    return scaled(q, k, a) + a["table"][:, np.clip(distance(q, k), -reach, reach) + reach]


def leaky_relu(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, 0.2 * x, x)


def gat(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    target, source = (a[name][:, None, None, :] for name in ("a_target", "a_source"))
    return leaky_relu((target * q).sum(-1) + (source * k).sum(-1))


def gatv2(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return (a["a"][:, None, None, :] * leaky_relu(q + k)).sum(-1)


def linear(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    def features(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x, np.expm1(x)) + 1

    return (features(q) * features(k)).sum(-1)


def with_edge_bias(q: np.ndarray, k: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    graph, bias = a["edges"], np.zeros((q.shape[2], k.shape[3]))
    queries = np.repeat(np.arange(graph.queries), np.diff(graph.offsets))
    bias[queries, graph.keys] = a["bias"] if graph.numbers is None else np.asarray(a["bias"])[graph.numbers]
    return scaled(q, k, a) + bias


def distance(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Of key from query: (query, key)."""
    return np.arange(k.shape[3])[None, :] - np.arange(q.shape[2])[:, None]


def everything(d: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return np.ones(d.shape, bool)


def causal(d: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return d <= 0


def window(d: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return (-d <= a["left"]) & (d <= a["right"])


def documents(d: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return causal(d, a) & (np.asarray(a["ids"])[:, None] == np.asarray(a["ids"])[None, :])


def edges(d: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return adjacency(a["edges"], d.shape[1])


def listed(d: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return a["bits"] & a["bytes"]


def lengths(d: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return np.arange(d.shape[1]) < np.asarray(a["lengths"])[:, None, None, None]


def softmax(s: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def hardmax(s: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return np.eye(s.shape[-1])[s.argmax(-1)]


def sigmoid(s: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    return 1 / (1 + np.exp(-(s + a["bias"])))


def proportional(s: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    s = np.where(np.isinf(s), 0, s)
    return s / s.sum(-1, keepdims=True)


def entmax(power: int) -> Callable[[np.ndarray, dict[str, Any]], np.ndarray]:
    """Weights max(s - threshold, 0)^power that sum to one; the threshold is found by bisection."""

    def weights(s: np.ndarray, a: dict[str, Any]) -> np.ndarray:
        s = s / power
        most = s.max(-1, keepdims=True)
        low, high = most - 1, most
        for _ in range(80):
            threshold = (low + high) / 2
            enough = (np.maximum(s - threshold, 0) ** power).sum(-1, keepdims=True) >= 1
            low, high = np.where(enough, threshold, low), np.where(enough, high, threshold)
        return np.maximum(s - low, 0) ** power

    return weights


class Reference(NamedTuple):
    score: Callable[[np.ndarray, np.ndarray, dict[str, Any]], np.ndarray]
    pairs: Callable[[np.ndarray, dict[str, Any]], np.ndarray] = everything
    weights: Callable[[np.ndarray, dict[str, Any]], np.ndarray] = softmax


REFERENCES = {
    "dot": Reference(dot),
    "scaled": Reference(scaled),
    "causal": Reference(scaled, causal),
    "gqa_causal": Reference(scaled, causal),
    "sliding_window": Reference(scaled, window),
    "alibi": Reference(with_alibi, causal),
    "softcap": Reference(capped),
    "capped": Reference(capped),
    "documents": Reference(scaled, documents),
    "hard": Reference(scaled, everything, hardmax),
    "additive": Reference(additive),
    "cosine": Reference(cosine),
    "relative_bias": Reference(with_relative_bias),
    "gat": Reference(gat, edges),
    "gatv2": Reference(gatv2, edges),
    "edges": Reference(scaled, edges),
    "neighbours": Reference(with_edge_bias, edges),
    "sparsemax": Reference(scaled, everything, entmax(1)),
    "entmax15": Reference(scaled, everything, entmax(2)),
    "sigmoid": Reference(scaled, everything, sigmoid),
    "linear": Reference(linear, causal, proportional),
    "decode": Reference(scaled, lengths),
    "listed": Reference(scaled, listed),
}


def rows_of_pages(pages: np.ndarray, table: np.ndarray) -> np.ndarray:
    """(batch, head, position, feature) from (page, head, slot, feature)."""
    return np.stack([np.concatenate(list(pages[sequence]), axis=1) for sequence in table])


class Rows(NamedTuple):
    """What a call computes, in double precision."""

    scores: np.ndarray
    weights: np.ndarray
    values: np.ndarray

    def lse(self) -> np.ndarray:
        return np.logaddexp.reduce(self.scores, axis=-1)


def rows(case: Case) -> Rows:
    reference, a = REFERENCES[case.kernel.name], case.arguments
    q, k, v = (to_f64(x, case.type) for x in (case.q, case.k, case.v))
    if case.kernel.is_paged:
        k, v = (rows_of_pages(x, a["page_table"]) for x in (k, v))
        assert k.shape[2] == a["page_table"].shape[1] * SLOTS
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat(group, axis=1) for x in (k, v))
    q, k = q[:, :, :, None, :], k[:, :, None, :, :]
    scores = np.where(reference.pairs(distance(q, k), a), reference.score(q, k, a), -np.inf)
    return Rows(scores, reference.weights(scores, a), v)


def attend(case: Case) -> np.ndarray:
    """What the kernel of a case has to give, in double precision."""
    computed = rows(case)
    return computed.weights @ computed.values
