# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each kernel that a wheel has ready, held against the formula in NumPy; wheel.sh runs it."""

from __future__ import annotations

from typing import Any

import numpy as np

import fovea

BATCH, HEADS, QUERIES, KEYS, FEATURES = 2, 4, 7, 9, 5

random = np.random.default_rng(2)
query = random.standard_normal((BATCH, HEADS, QUERIES, FEATURES), dtype=np.float32)
key, value = random.standard_normal((2, BATCH, HEADS // 2, KEYS, FEATURES), dtype=np.float32)
products = query @ np.repeat(key, 2, axis=1).swapaxes(-1, -2)
score = products / np.sqrt(FEATURES)
i, j = np.arange(QUERIES)[:, None], np.arange(KEYS)
every, causal = np.ones((QUERIES, KEYS), bool), j <= i

slopes = np.array([0.5, 0.2, 0.1, 0.01], np.float32)
sinks = np.array([0, 1, -1, 0.5], np.float32)
lengths, ids = np.array([9, 4]), np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
biases = random.standard_normal((BATCH, HEADS, QUERIES, KEYS), dtype=np.float32)
mask = random.random(biases.shape) < 0.6
table = random.standard_normal((HEADS, 2 * KEYS - 1), dtype=np.float32)
of_lengths = j < lengths[:, None, None, None]


def softmax(score: Any, seen: Any, sinks: Any = None) -> Any:
    weights = np.where(seen, np.exp(score), 0)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks)[:, None, None]
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return weights @ np.repeat(value, 2, axis=1)


def sparsemax() -> Any:
    weights = np.zeros(score.shape)
    for row in np.ndindex(BATCH, HEADS, QUERIES):
        x = score[row][: row[-1] + 1].astype(float)
        above = np.sort(x)[::-1]
        count = (1 + np.arange(1, len(x) + 1) * above > np.cumsum(above)).sum()
        weights[row][: len(x)] = np.maximum(x - (above[:count].sum() - 1) / count, 0)
    return weights @ np.repeat(value, 2, axis=1)


def window(left: int, right: int) -> Any:
    return (i - j <= left) & (j - i <= right)


EXPECTED: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (softmax(score, every), {}),
    "causal": (softmax(score, causal), {}),
    "causal_at_end": (softmax(score, j <= i + KEYS - QUERIES), {}),
    "scaled": (softmax(0.3 * products, every), {"scale": 0.3}),
    "causal_scaled": (softmax(0.3 * products, causal), {"scale": 0.3}),
    "window": (softmax(score, window(2, 1)), {"left": 2, "right": 1}),
    "causal_window": (softmax(score, window(2, 0)), {"left": 2, "right": 0}),
    "softcap": (softmax(2 * np.tanh(score / 2), causal), {"cap": 2}),
    "softcap_window": (softmax(2 * np.tanh(score / 2), window(3, 0)), {"cap": 2, "left": 3, "right": 0}),
    "alibi": (softmax(score - slopes[:, None, None] * (i - j), causal), {"slopes": slopes}),
    "sink": (softmax(score, causal, sinks), {"sinks": sinks}),
    "sink_window": (softmax(score, window(2, 0), sinks), {"left": 2, "right": 0, "sinks": sinks}),
    "key_lengths": (softmax(score, of_lengths), {"lengths": lengths}),
    "causal_key_lengths": (softmax(score, of_lengths & causal), {"lengths": lengths}),
    "prefix_lm": (softmax(score, causal | (j < 3)), {"length": 3}),
    "document": (softmax(score, causal & (ids[:QUERIES, None] == ids)), {"ids": ids}),
    "bias": (softmax(score + biases, every), {"biases": biases}),
    "mask": (softmax(score, mask), {"mask": mask}),
    "relative": (softmax(score + table[:, j - i + KEYS - 1], every), {"table": table}),
    "sparsemax": (sparsemax(), {}),
}

for name, (expected, arguments) in EXPECTED.items():
    np.testing.assert_allclose(fovea.attend(query, key, value, name, **arguments), expected, atol=2e-6, err_msg=name)

# Two heads of keys in pages of four slots; each sequence has as many keys as its length says.
pages, page_table, visible = random.standard_normal((5, 2, 4, FEATURES), dtype=np.float32), [[0, 2], [4, 1]], [7, 5]
last = query[:, :, :1]
result = fovea.attend(last, pages, pages, "decode", lengths=visible, page_table=page_table)
for sequence, (listed, length) in enumerate(zip(page_table, visible)):
    rows = np.repeat(np.concatenate(pages[listed], axis=1)[:, :length], 2, axis=0)
    weights = np.exp(last[sequence] @ rows.swapaxes(-1, -2) / np.sqrt(FEATURES))
    expected = weights / weights.sum(-1, keepdims=True) @ rows
    np.testing.assert_allclose(result[sequence], expected, atol=2e-6, err_msg="decode")

assert {kernel.name for kernel in fovea.kernels()} == {*EXPECTED, "decode"}
print(f"{len(EXPECTED) + 1} kernels are as their formulas say")
