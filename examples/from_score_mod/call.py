# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Calls a kernel of the library from Python, and holds it against the formula.
#! [call]
import numpy as np

import fovea

q, k, v = np.random.default_rng(1).standard_normal((3, 1, 2, 5, 4), dtype=np.float32)
slopes = np.array([0.5, 0.25], np.float32)
result = fovea.attend(q, k, v, kernel="capped_alibi", slopes=slopes, cap=50, window=3)
#! [call]

i, j = np.arange(5)[:, None], np.arange(5)[None, :]
s = q @ k.swapaxes(-1, -2) / 2 + slopes[:, None, None] * (j - i)
s = 50 * np.tanh(s / 50)
s[..., (j > i) | (i - j >= 3)] = -np.inf
p = np.exp(s - s.max(-1, keepdims=True))
expected = p / p.sum(-1, keepdims=True) @ v
assert np.abs(result - expected).max() < 1e-5
print("as the formula says")
