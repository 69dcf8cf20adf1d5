# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program with types of everything that is public and takes no PyTorch: a type checker finds no mistake in it."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fovea
from fovea import Expression, Specification

Array = npt.NDArray[Any]

q = k = v = np.zeros((2, 4, 5, 8), np.float32)
slopes, gamma = np.zeros(4, np.float32), np.zeros(4, np.float32)
table, matrix, turned = (np.zeros(shape, np.float32) for shape in ((4, 17), (8, 32), (32, 8)))
lengths, ids = np.zeros(2, np.int64), np.zeros(5, np.int64)
seen = np.zeros((5, 5), np.bool_)
graph = fovea.Graph.from_edges(5, [(0, 1), (4, 2)])


# Kernels of functions, of words and of text.
#! [kernel]
@fovea.kernel
def of_score(score: Expression, i: Expression, j: Expression, head: Expression) -> Specification:
    score = 50 * fovea.tanh((score + slopes[head] * (j - i)) / 50)
    return score | fovea.where((j <= i) & (i - j < 16)) | fovea.softmax
#! [kernel]


@fovea.kernel
def by_numpy(score: Expression, i: Expression, j: Expression) -> object:
    return 50 * np.tanh(score / 50) + np.where(j > i, 1, 0) | fovea.softmax


@fovea.kernel()
def of_features(q: Expression, k: Expression, edge: Expression) -> Specification:
    return fovea.leaky_relu(fovea.sum(q[0:4] * k[0:4]), 0.2) | fovea.neighbors(graph) | fovea.softmax


@fovea.kernel
def with_parameters(
    score: Expression, i: Expression, j: Expression, *, cap: float = 5.0
) -> Specification:
    capped = fovea.select((i == j) | (i > j), cap * fovea.tanh(score / cap), -fovea.abs(score) ** 2)
    return capped | ~fovea.causal | fovea.softmax


@fovea.kernel
def projected(head: Expression) -> Specification:
    rows = fovea.project(matrix, fovea.transposed(turned), matrix, fovea.heads(4))
    scores = fovea.scaled_dot | fovea.temperature(fovea.param(gamma)[head]) | fovea.softcap(30)
    mask = fovea.any_of(fovea.sliding_window(4, 0), fovea.global_tokens(2)) & fovea.causal
    weights = mask | fovea.keep(fovea.top_k(8)) | fovea.softmax_with_sink(slopes) | fovea.weighted_sum
    return rows | scores | weights | fovea.concat_heads | fovea.output(turned)


class Layer:
    def __init__(self) -> None:
        self.slopes = slopes

    @fovea.kernel
    def attend(self, score: Expression, i: Expression, j: Expression) -> Specification:
        return score | fovea.alibi(self.slopes) | fovea.where(lambda b, h, q, kv: kv <= q) | fovea.softmax


of_words: fovea.TracedKernel = fovea.kernel(
    fovea.scaled_dot
    | fovea.relative_bias(table)
    | fovea.rescore(lambda score: score * 2)
    | fovea.key_lengths(lengths)
    | fovea.document(ids)
    | fovea.mask_tensor(seen)
    | fovea.neighborhood((1, 5), (3, 3))
    | fovea.where(fovea.kv_idx <= fovea.q_idx)
    | fovea.softmax
    | fovea.reweight(fovea.select(fovea.random(7) < 0.9, fovea.weight, 0))
)
of_text = fovea.kernel("scaled_dot | alibi(slopes) | softmax | weighted_sum", slopes=slopes)
KERNELS = (of_score, by_numpy, of_features, with_parameters, projected, of_text, Layer().attend)


def calls_of_kernels(layer: Layer) -> None:
    result: Array = of_score(q, k, v)
    shape: tuple[int, ...] = with_parameters(q, k, v, cap=3.0, threads=2).shape
    both = of_score(q, k, v, outputs=("lse", "weights"))
    lse: Array = both.lse
    first, second = both
    heads: Array = layer.attend(q, k, v, page_table=np.zeros((2, 3), np.int32))
    d: fovea.Gradients = of_score.gradient(q, k, v, result, wanted=("query", "slopes"), forward=(result, lse))
    tables: dict[str, Any] = d.tables
    ready: Future[None] = of_score.prepare("f64", gradients=True)
    text: str = of_score.text + of_score.definition + of_score.explain(q, k, v)
    path: Path = fovea.prebuild({"of_score": of_score, "plain": "dot | softmax"}, "libmine.so", architectures=["avx2"])
    print(shape, first, second, heads, tables, ready, text, path)


def calls_of_libraries(path: Path) -> None:
    library: fovea.Library = fovea.load(path)
    out = np.empty_like(q)
    result: Array = fovea.attend(q, k, v, "alibi", slopes=[0.5, 0.25], library=library)
    written = fovea.attend(q, k, v, kernel="causal", out=out, threads=2)
    same: npt.NDArray[np.float32] = written
    some: fovea.Results[Any] = fovea.attend(q.data, k, v, outputs=("lse",))
    d = fovea.gradient(q, k, v, result, "alibi", slopes=slopes, d_outputs={"lse": some.lse}, forward=some)
    bound: fovea.BoundKernel = library.causal
    again: Array = bound(q, k, v) + library.attend(q, k, v, "causal") + bound(q, k, v, out)
    d = bound.gradient(q, k, v, result)
    rounded: Array = fovea.quantize(k, "q8_0")
    for kernel in fovea.kernels(library):
        names: tuple[str, ...] = (kernel.name, *kernel.types, kernel.formula, *kernel.outputs, *kernel.gradients)
        elements: fovea.ElementTypes = kernel.elements[0]
        arguments: list[fovea.Argument] = [argument for argument in kernel.arguments if argument.shape]
        print(names, elements.key, arguments, kernel.is_paged, kernel.takes_forward)
    print(same, d.query, again, rounded, library.path, library.name, library.kernels())


def caches() -> None:
    cache = fovea.KVCache(layers=2, heads=2, key_features=16, pages=64, page_size=4, key_type="q8_0", value_type="f16")
    sequence: int = cache.fork(cache.add())
    rotary = fovea.Rotary(base=500000, interleaved=True, positions=[0, 1])
    cache.append(sequence, k[:1], v[:1], layer=1, rotary=rotary)
    batch: fovea.CacheBatch = cache.batch([sequence], layer=1)
    cache.truncate(sequence, cache.length(sequence) - cache.free_pages(0))
    cache.evict(sequence, 0, 4)
    cache.remove(sequence)
    keys, values, table_of_pages, lengths_of_all, positions = batch
    result: Array = fovea.attend(q, keys, values, "decode", lengths=batch.lengths, page_table=batch.page_table)
    print(result, table_of_pages.dtype, lengths_of_all.sum(), positions.max())


def graphs_and_errors() -> int:
    try:
        print(graph.queries + graph.edges, graph.offsets.dtype, graph.keys.max(), graph.numbers)
    except (fovea.ShapeError, fovea.GraphError) as error:  # both are ValueError
        wrong: ValueError = error
        raise wrong from None
    except fovea.ArgumentError as error:
        print(TypeError.with_traceback(error, None))
    except fovea.UnsupportedError as error:
        print(RuntimeError.with_traceback(error, None))
    except fovea.Error:
        pass
    return fovea.Graph([0, 1], [0], numbers=None).edges
