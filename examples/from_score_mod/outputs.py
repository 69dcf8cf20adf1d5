# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Outputs of a kernel beside its result from Python, and the gradient of a loss that reads one, held against differences.
import numpy as np

import fovea

q, k, v = np.random.default_rng(1).standard_normal((3, 1, 2, 8, 4), dtype=np.float32)
arguments = {"slopes": np.array([0.5, 0.25], np.float32), "cap": 50, "window": 3}
#! [outputs]
result, lse = fovea.attend(q, k, v, kernel="causal", outputs=("lse",))
weights = fovea.attend(q, k, v, kernel="causal", outputs=("weights",)).weights
#! [outputs]
np.testing.assert_allclose(weights @ v, result, atol=1e-6)
np.testing.assert_allclose(lse[:, :, 0], (q[:, :, 0] * k[:, :, 0]).sum(-1) / 2, atol=1e-6)
#! [gradient]
forward = fovea.attend(q, k, v, kernel="capped_alibi", outputs=("lse",), **arguments)
d_result, d_lse = 2 * forward.result, 2 * forward.lse  # of the loss sum(result**2) + sum(lse**2)
of_forward = {"forward": forward, "d_outputs": {"lse": d_lse}}
d = fovea.gradient(q, k, v, d_result, kernel="capped_alibi", **of_forward, **arguments)
#! [gradient]


def loss(q: np.ndarray) -> float:
    result, lse = fovea.attend(q, k, v, kernel="capped_alibi", outputs=("lse",), **arguments)
    return float((result.astype(np.float64) ** 2).sum() + (lse.astype(np.float64) ** 2).sum())


step = 1e-2 * d.query
assert abs((loss(q + step) - loss(q - step)) / (2e-2 * (d.query**2).sum()) - 1) < 0.01
print("as the weights say")
