# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Gradients of a kernel of the library from Python, held against a difference of two calls.
import numpy as np

import fovea

q, k, v, d_result = np.random.default_rng(1).standard_normal((4, 1, 2, 5, 4), dtype=np.float32)
numbers = {"cap": 50, "window": 3}
slopes = np.array([0.5, 0.25], np.float32)
#! [gradient]
d = fovea.gradient(q, k, v, d_result, kernel="capped_alibi", slopes=slopes, **numbers)
q_next, slopes_next = q - 0.01 * d.query, slopes - 0.01 * d.tables["slopes"]
#! [gradient]


def loss(q: np.ndarray, slopes: np.ndarray) -> float:
    return float((d_result * fovea.attend(q, k, v, kernel="capped_alibi", slopes=slopes, **numbers)).sum())


squares = (d.query**2).sum() + (d.tables["slopes"] ** 2).sum()
assert abs((loss(q, slopes) - loss(q_next, slopes_next)) / (0.01 * squares) - 1) < 0.05
print("as differences say")
