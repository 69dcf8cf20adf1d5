# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel of variants.py is asked for."""

import numpy as np

import fovea
from variants import additive, sharpened, temperatures, vector

#! [call]
query, key, value = np.random.default_rng(1).standard_normal((3, 2, 4, 37, 11), dtype=np.float32)
result = additive(query, key, value)  # (batch, head, position, feature)
#! [call]
assert result.shape == query.shape and np.isfinite(result).all()

#! [text]
print(additive.text)  # additive's pipe in C++; .definition is what fovea_add_kernels takes
assert additive.text == "compare(sum(param(vector) * tanh(q + k))) | softmax | weighted_sum"
#! [text]

#! [parameters]
@fovea.kernel
def softer(q, k, by, vector=vector):
    return vector @ np.tanh((q + k) / by) | fovea.softmax
#! [parameters]
assert softer.text == "compare(sum(param(vector) * tanh((q + k) / by))) | softmax | weighted_sum"

#! [same]
by_words = fovea.kernel(fovea.additive(vector) | fovea.softmax)
by_text = fovea.kernel("additive(vector) | softmax | weighted_sum", vector=vector)
#! [same]
assert by_words.text == by_text.text

#! [prepare]
ready = sharpened.prepare("f64", gradients=True)  # in a thread; calls wait for it
#! [prepare]
ready.result()

#! [gradient]
q, k, v = (x.astype(float) for x in (query, key, value))
d_result = np.ones(v.shape)
d = sharpened.gradient(q, k, v, d_result)
q_next, temperature_next = q - 0.01 * d.query, temperatures - 0.01 * d.tables["temperatures"]
#! [gradient]
assert sharpened(q_next, k, v).sum() < sharpened(q, k, v).sum()
