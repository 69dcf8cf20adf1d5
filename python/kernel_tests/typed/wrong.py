# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes: a type checker reports each line that ends in names of errors, by one of them, and no other line."""

import numpy as np

import fovea

q = k = v = np.zeros((2, 4, 5, 8), np.float32)
graph = fovea.Graph([0, 1], [0])


@fovea.kernel
def plain(score: fovea.Expression) -> fovea.Specification:
    return score | fovea.softmax


# Words.
fovea.sofmax  # attr-defined
fovea.causal | fovea.sliding_window  # operator
fovea.sliding_window(4)  # call-arg
fovea.sliding_window(left=4, right=0)  # call-arg
fovea.sliding_window("4", 0)  # arg-type
fovea.causal(3)  # operator
fovea.softmax()  # operator
fovea.keep(8)  # arg-type
fovea.neighbors([(0, 1)])  # arg-type
fovea.neighborhood(3, 4)  # arg-type
fovea.heads("4")  # arg-type
fovea.top_k(8)(fovea.score)  # operator
fovea.select(fovea.q_idx < 3, 1)  # call-arg
fovea.tanh(fovea.score, 2)  # call-arg
fovea.tanh(fovea.softmax)  # arg-type
fovea.score + "1"  # operator
"causal" | fovea.softmax  # operator
fovea.random(0.5)  # arg-type

# Kernels.
fovea.kernel(3)  # call-overload
plain(q, k)  # call-overload
plain([1.0], k, v)  # call-overload
plain(q, k, v, threads="2")  # call-overload
plain(q, k, v, outputs=3)  # call-overload
plain(q, k, v).lse  # attr-defined
plain(q, k, v, outputs=("lse",)).lze  # attr-defined
plain.gradient(q, k, v)  # call-arg
plain.gradient(q, k, v, q, wanted=1)  # arg-type
plain.gradient(q, k, v, q).keys  # attr-defined
plain.prepare(gradients="yes")  # arg-type
plain.txt  # attr-defined
plain.text = "dot"  # misc
fovea.prebuild([plain], "libmine.so")  # arg-type
fovea.prebuild({"plain": plain}, "libmine.so", architectures=["avx1024"])  # list-item

# Libraries.
fovea.load(3)  # arg-type
fovea.attend(q, k, v, 3)  # call-overload
fovea.attend(q, k, 1.5)  # call-overload
fovea.attend(q, k, v, out="x")  # call-overload
fovea.gradient(q, k, v, q, forward=1)  # arg-type
fovea.quantize(k, "q9_0")  # arg-type
fovea.quantize([1.0], "q8_0")  # arg-type
fovea.kernels("libmine.so")  # arg-type
fovea.kernels()[0].nam  # attr-defined
fovea.kernels()[0].types.append("f32")  # attr-defined

# Caches and graphs.
fovea.KVCache(2, 16, 64)  # misc call-arg
fovea.KVCache(heads=2, key_features=16)  # call-arg
fovea.KVCache(heads=2, key_features=16, pages=64, key_type="q5_0")  # arg-type
cache = fovea.KVCache(heads=2, key_features=16, pages=64)
cache.append(0, [1.0], v)  # arg-type
cache.append(0, k, v, rotary=500000)  # arg-type
cache.batch(None)  # arg-type
cache.batch([0]).lenghts  # attr-defined
fovea.Rotary(basis=500000)  # call-arg
fovea.Rotary(interleaved="no")  # arg-type
graph.queries = 3  # misc
fovea.Graph([0, 1])  # call-arg
fovea.Graph.from_edges("3", [(0, 1)])  # arg-type
