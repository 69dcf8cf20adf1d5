# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Five variants of attention and what can be asked of them; python/kernel_tests compares each with plain loops."""

import numpy as np

import fovea

random = np.random.default_rng(7)
table = random.standard_normal((4, 17), dtype=np.float32)
temperatures = np.array([0.5, 1, 2, 4], np.float32)
vector = random.standard_normal(11, dtype=np.float32)
of_target, of_source = random.standard_normal((2, 4, 11), dtype=np.float32)
of_edge = random.standard_normal((4, 3), dtype=np.float32)
edges = [(i, j) for i in range(37) for j in range(37) if (i * 7 + j * 5) % 6 == 0]
on_edges = random.standard_normal((len(edges), 3), dtype=np.float32)
graph = fovea.Graph.from_edges(37, edges)

#! [alibi]
slopes = np.geomspace(0.5, 0.004, 4, dtype=np.float32)  # one for each head


@fovea.kernel
def capped_alibi(score, i, j, head):
    score = 50 * np.tanh((score + slopes[head] * (j - i)) / 50)
    return score | fovea.where((j <= i) & (i - j < 16)) | fovea.softmax
#! [alibi]


#! [relative]
@fovea.kernel
def relative(score, i, j, head):
    reach = table.shape[1] // 2
    return score + table[head, np.clip(j - i, -reach, reach) + reach] | fovea.softmax
#! [relative]


#! [graph]
@fovea.kernel
def graph_attention(q, k, head, edge):
    score = of_target[head] @ q + of_source[head] @ k + of_edge[head] @ on_edges[edge]
    return fovea.leaky_relu(score, 0.2) | fovea.neighbors(graph) | fovea.softmax
#! [graph]


#! [sparsemax]
@fovea.kernel
def sharpened(score, head):
    return score / temperatures[head] | fovea.sparsemax
#! [sparsemax]


#! [additive]
@fovea.kernel
def additive(q, k):
    return vector @ np.tanh(q + k) | fovea.softmax
#! [additive]
