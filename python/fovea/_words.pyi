# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Made by docs/tools/reference.py from the tables of the package and the headers of the words.
"""The words, functions and placeholders of the language by their names in C++, which `fovea` makes when they are asked
for: at run time there is no such module."""

from collections.abc import Callable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from ._expression import Expression, Range, Value
from ._graph import Graph
from ._specification import Condition, Rotary, Specification, Stage
from ._table import Table
from ._typing import Operand, SparseRows

_Array = Value | Specification  # also one that words have changed: transposed(w), packed_bits(bytes, keys)
_Formula = Value | Callable[..., object]
_Integer = int | Expression
_Real = float | Expression

def exp(a: Value, /) -> Expression: ...
def exp2(a: Value, /) -> Expression: ...
def log(a: Value, /) -> Expression: ...
def tanh(a: Value, /) -> Expression: ...
def erf(a: Value, /) -> Expression: ...
def sqrt(a: Value, /) -> Expression: ...
def rsqrt(a: Value, /) -> Expression: ...
def sigmoid(a: Value, /) -> Expression:
    """sigmoid(a) = 1 / (1 + exp(-a))."""
def silu(a: Value, /) -> Expression:
    """silu(a) = a sigmoid(a)."""
def gelu(a: Value, /) -> Expression:
    """gelu(a) = a (1 + erf(a / sqrt(2))) / 2."""
def leaky_relu(a: Value, slope: Value, /) -> Expression:
    """leaky_relu(a, slope) = a above zero, slope * a below."""
def elu(a: Value, /) -> Expression:
    """elu(a) = a above zero, exp(a) - 1 below."""
def pow(a: Value, b: Value, /) -> Expression: ...
def sin(a: Value, /) -> Expression: ...
def cos(a: Value, /) -> Expression: ...
def tan(a: Value, /) -> Expression: ...
def asin(a: Value, /) -> Expression: ...
def acos(a: Value, /) -> Expression: ...
def atan(a: Value, /) -> Expression: ...
def atan2(y: Value, x: Value, /) -> Expression: ...
def sinh(a: Value, /) -> Expression: ...
def cosh(a: Value, /) -> Expression: ...
def asinh(a: Value, /) -> Expression: ...
def acosh(a: Value, /) -> Expression: ...
def atanh(a: Value, /) -> Expression: ...
def expm1(a: Value, /) -> Expression: ...
def log2(a: Value, /) -> Expression: ...
def log10(a: Value, /) -> Expression: ...
def log1p(a: Value, /) -> Expression: ...
def cbrt(a: Value, /) -> Expression: ...
def erfc(a: Value, /) -> Expression: ...
def hypot(a: Value, b: Value, /) -> Expression: ...
def real(a: Value, /) -> Expression:
    """real(a) = a as a real number: the quotient of real(a) and b is one of reals."""
def abs(a: Value, /) -> Expression: ...
def square(a: Value, /) -> Expression: ...
def relu(a: Value, /) -> Expression:
    """relu(a) = max(a, 0)."""
def min(a: Value, b: Value, /) -> Expression: ...
def max(a: Value, b: Value, /) -> Expression: ...
def floor_div(a: Value, b: Value, /) -> Expression:
    """floor_div(a, b) = the greatest integer that is not above a / b: what `/` is between integers. By zero it is 0."""
def select(condition: Value, a: Value, b: Value) -> Expression:
    """One of two, by a condition."""
def sum(e: Value, features: Range | None = None) -> Expression:
    """The sum over the features, or over a range of them."""
def squared_distance(a: Value, b: Value, features: Range | None = None) -> Expression:
    """The sum of the squared differences of features."""
def features(first: int | Expression, end: int | Expression) -> Range:
    """A range of features of numbers, which a call may pass."""
def random(seed: int | Expression) -> Expression:
    """A number from 0 to 1 for each pair; the seed is an integer, or one that a call passes."""
def alibi_slopes(heads: int, geometric: bool = False) -> npt.NDArray[np.float32]:
    """The slope of each head: 2 ** (-8 (h + 1) / heads) where heads is a power of two.

    Parameters
    ----------
    geometric : whether it is that for any number of heads. Otherwise they are those of the power of two below, then
        every other one of the power of two above, as published."""
def t5_buckets(buckets: int, max_distance: int, length: int) -> npt.NDArray[np.int32]:
    """The bucket of each distance below a length: exact up to half of the buckets, then by logarithm.

    Errors: ShapeError for fewer than 2 buckets, or a max_distance that half of them reach."""
def tree_ancestors(parents: Sequence[int]) -> npt.NDArray[np.uint8]:
    """What each node of a tree sees of the others, itself and its ancestors: (node, node). A root has parent -1.

    Errors: ShapeError for a parent that does not stand before its child."""
def heads(of_queries: int, of_keys: int | None = None) -> Stage:
    """How many heads a projection has."""
def any_of(*masks: Condition) -> Stage:
    """A mask that holds where one of some masks does; `|` joins masks of which all have to hold."""
def param(array: Operand | Table) -> Table:
    """A table that is no variable of its own: an attribute, an element of a list."""
q: Expression
k: Expression
score: Expression
weight: Expression
out: Expression
q_idx: Expression
kv_idx: Expression
head: Expression
batch: Expression
edge: Expression
q_len: Expression
kv_len: Expression
dim: Expression
def project(q: _Array, k: _Array, v: _Array, heads: Stage = ..., /) -> Stage:
    """How queries, keys and values are computed from their sources, and into how many heads they are split."""
def additive(v: Value, /) -> Stage:
    """The score of a small network with one hidden layer, tanh of query plus key."""
def compare(e: _Formula, /) -> Stage:
    """A score function from any expression of query and key features."""
@overload
def concat(v: Value, activation: _Formula, /) -> Stage:
    """A small network on query and key side by side; each projection is one half of its matrix."""
@overload
def concat(v: Value, /) -> Stage:
    """A small network on query and key side by side; each projection is one half of its matrix."""
cosine: Stage
"""The cosine of the angle between query and key."""
dot: Stage
"""The inner product of query and key."""
@overload
def feature_map(of_query: _Formula, of_key: _Formula, /) -> Stage:
    """The inner product of query and key after a function is applied to each feature."""
@overload
def feature_map(of_query: _Formula, /) -> Stage:
    """The inner product of query and key after a function is applied to each feature."""
def gat_score(target: Value, source: Value, slope: _Real = 0.2, /) -> Stage:
    """The score of graph attention, from one number for each node and role."""
def gatv2_score(a: Value, slope: _Real = 0.2, /) -> Stage:
    """The score of graph attention with the activation applied to the sum of query and key."""
def gaussian(width: Value, /) -> Stage:
    """Minus half the squared distance of query and key, in units of a width."""
def general(matrix: _Array, /) -> Stage:
    """Query and key compared through a matrix (bilinear attention)."""
def key_only(v: Value, /) -> Stage:
    """A score that depends on the key alone, the same for all queries: pooling with learned attention."""
def l1_distance(width: Value, /) -> Stage:
    """Minus the sum of the absolute differences of query and key, over the features (Laplace kernel)."""
def location(w: Value, /) -> Stage:
    """A score of the query for each position; the contents of the key do not matter."""
def scaled_by(factor: Value, /) -> Stage:
    """The inner product of query and key times a custom factor."""
scaled_dot: Stage
"""The inner product of query and key, divided by the square root of their number of features."""
def rescore(e: _Formula, /) -> Stage:
    """A new score, as an expression of the old score, indices and parameters."""
def alibi(slopes: Value, /) -> Stage:
    """A penalty that grows with the distance of a key before its query, with a slope for each head."""
def bias(table: _Array, /) -> Stage:
    """A number added to the score of each pair, from a tensor."""
def decay(gamma: Value, /) -> Stage:
    """Scores times gamma to the power of the distance, as in retention."""
def gumbel(seed: _Integer, /) -> Stage:
    """Adds noise to the scores, so that the best key is drawn with the probability of its softmax weight."""
def relative_bias(table: Value, /) -> Stage:
    """A learned number for each head and each distance between key and query."""
def relative_keys(table: Value, /) -> Stage:
    """Scaled dot product with a learned vector added to each key according to its distance."""
def softcap(cap: Value, /) -> Stage:
    """Limits scores smoothly to the range from -cap to cap."""
def t5_bias(table: Value, of_distance: Value, both_directions: bool = True, /) -> Stage:
    """A learned number for each bucket of distances and each head; buckets widen with the distance."""
def temperature(t: Value, /) -> Stage:
    """Scores divided by a number for the whole call, for each head or for each query."""
def block_list(seen: Value, query_block: _Integer, key_block: _Integer, /) -> Stage:
    """Whole blocks of pairs are visible or not, according to a table that was learned or chosen at run time."""
causal: Stage
"""A query sees the keys up to its own position; the first query is aligned to the first key."""
causal_at_end: Stage
"""Causal with the last query aligned to the last key (bottom-right), as decoding with a cache needs it."""
def causal_from(offset: Value, /) -> Stage:
    """Causal with the first query at a given position, for queries that continue a cache."""
def chunked(size: _Integer, /) -> Stage:
    """Positions are cut into chunks of equal size; a query sees the keys of its own chunk."""
def dilated_window(reach: _Integer, step: _Integer, /) -> Stage:
    """A query sees every step-th key of a window around its own position."""
@overload
def document(query_ids: Value, key_ids: Value, /) -> Stage:
    """Sequences packed one after another: a query sees the keys of its own document."""
@overload
def document(ids: Value, /) -> Stage:
    """Sequences packed one after another: a query sees the keys of its own document."""
everything: Stage
"""A query sees all keys, as without a mask: for code that takes a mask as an argument."""
def global_tokens(count: _Integer, /) -> Stage:
    """The first tokens see all keys and are visible to all queries; join it to a window by `||`."""
def key_lengths(length: Value, /) -> Stage:
    """Each sequence of a batch has its own number of keys; the rest is padding."""
def mask_tensor(visible: _Array, /) -> Stage:
    """A condition for each pair, as a tensor of bool, of integers or of packed_bits; 0 excludes the pair."""
def neighborhood(size: Sequence[int], extent: Sequence[int], /) -> Stage:
    """Positions form a line, a plane or a volume; a query sees a window of places around its own."""
def neighbors(graph: Graph | SparseRows, /) -> Stage:
    """The keys of a query are the neighbours of a node, so only edges are visited."""
def prefix_lm(prefix: Value, /) -> Stage:
    """Every query sees a prefix; what follows it is causal."""
def shared_prefix(prefix: Value, ids: Value, /) -> Stage:
    """Sequences that begin with the same tokens, which are stored once, in front of all sequences."""
def sliding_tiles(window: Sequence[int], tile: Sequence[int], extent: Sequence[int], /) -> Stage:
    """A neighborhood of whole tiles, so that blocks of pairs are either full or empty."""
def sliding_window(left: _Integer, right: _Integer, /) -> Stage:
    """A query sees the keys at most `left` before and `right` after its own position."""
def tree(prefix: Value, ancestors: Value, /) -> Stage:
    """Queries are the nodes of a tree that continues a prefix, as drafts of speculative decoding do; a node sees the
    prefix, itself and its ancestors."""
@overload
def where(e: _Formula, /) -> Stage:
    """A query sees the keys for which a condition over the indices holds."""
@overload
def where(condition: Value, a: Value, b: Value, /) -> Expression: ...
def keep(s: Specification, /) -> Stage:
    """Of the keys that a query sees, only those of a selection are normalized; all others have weight 0."""
def averaged(e: _Formula, /) -> Stage:
    """An expression of each score, divided by the number of keys that the query sees."""
def entmax(alpha: _Real, /) -> Stage:
    """Softmax for alpha near 1, entmax15 for 1.5, sparsemax for 2; the larger alpha, the fewer keys have a weight."""
entmax15: Stage
"""Between softmax and sparsemax: smooth where weights are above 0, and exactly 0 far below the largest score."""
hardmax: Stage
"""Weight one for the best key of each query, zero for the others (hard attention)."""
l1_weights: Stage
"""The scores divided by the sum of their absolute values."""
def normalized(e: _Formula, eps: _Real = 0, /) -> Stage:
    """An expression of each score, divided by the sum of these expressions."""
proportional: Stage
"""The scores divided by their sum."""
softmax: Stage
"""Weights proportional to exp(score), summing to one over the keys a query sees."""
softmax_plus_one: Stage
"""Softmax that can attend to nothing: softmax_with_sink(0)."""
def softmax_with_sink(sink: Value, /) -> Stage:
    """Softmax with one additional key that takes weight but contributes no value."""
sparsemax: Stage
"""The nonnegative weights with sum one that are nearest to the scores; many of them are exactly 0."""
straight_through: Stage
"""The weights of `hardmax` with the gradient of `softmax`, so that hard attention can be trained."""
def top_k_softmax(k: _Integer, /) -> Stage:
    """Softmax over the k largest scores of each query; all other keys have weight 0."""
uniform: Stage
"""All keys that a query sees have the same weight; with weighted_sum, the mean of their values."""
unnormalized: Stage
"""The scores are the weights."""
def weigh(e: _Formula, /) -> Stage:
    """Each weight is an expression of its score: sigmoid, relu, squared relu, gelu, silu, or any other function."""
def reweight(e: _Formula, /) -> Stage:
    """A new weight, computed from the normalizer's weight and the indices."""
max_pool: Stage
"""The largest weighted value of the visible keys, feature by feature."""
def relative_values(table: Value, /) -> Stage:
    """The weighted sum of values with a learned vector added to each according to its distance."""
running_state: Stage
"""The weighted sum of the values, computed from a state that accumulates keys and values."""
weighted_sum: Stage
"""The sum of the values, each times the weight of its key."""
batch_invariant: Stage
"""The same bits for the same query over the same keys, whatever else is in the call."""
concat_heads: Stage
"""The results of all heads, side by side."""
def delta(rate: Value, /) -> Stage:
    """A running state that corrects itself: it adds only the part of each value that it does not give already."""
def gated(decay: Value, /) -> Stage:
    """A running state that forgets: before a key is added, the state is multiplied by exp(decay)."""
def map(e: _Formula, /) -> Stage:
    """Applies an expression of `out` to each feature of the result."""
mean_heads: Stage
"""The average of the results of all heads, as in the last layer of a graph attention network."""
@overload
def output(matrix: _Array, /) -> Stage:
    """The heads side by side, times a matrix, plus an optional bias."""
@overload
def output(matrix: _Array, bias: Value, /) -> Stage:
    """The heads side by side, times a matrix, plus an optional bias."""
def precision(parts: Stage, /) -> Stage:
    """Products of float from numbers of fewer bits: parts of bfloat16 in a matrix unit, or integers."""
residual: Stage
"""Adds the source of the queries to the result, or other rows."""
as_is: Stage
"""The input itself, cut into heads along its features."""
bf16x2: Stage
"""Products of float from numbers of fewer bits: parts of bfloat16 in a matrix unit, or integers."""
bf16x3: Stage
"""Products of float from numbers of fewer bits: parts of bfloat16 in a matrix unit, or integers."""
l2_normalized: Stage
"""The features of each head at each position, divided by their Euclidean norm."""
layer_normalized: Stage
"""Features with mean 0 and variance 1, times a gain, plus a bias."""
@overload
def linear(matrix: _Array, /) -> Stage:
    """A row times a matrix, plus an optional bias."""
@overload
def linear(matrix: _Array, bias: Value, /) -> Stage:
    """A row times a matrix, plus an optional bias."""
def min_p(p: _Real, /) -> Stage:
    """A selection: the keys whose softmax weight is at least a share of the largest one."""
@overload
def packed_bits(bytes: Value, keys: _Integer, /) -> Stage: ...
@overload
def packed_bits(bytes: Value, extents: Sequence[int], /) -> Stage: ...
@overload
def packed_bits(bytes: Value, extents: Sequence[int], strides: Sequence[int], /) -> Stage: ...
q8: Stage
"""Products of float from numbers of fewer bits: parts of bfloat16 in a matrix unit, or integers."""
rms_normalized: Stage
"""The features of each head at each position, divided by their root mean square, times a gain."""
rotary: Rotary
"""Rotates pairs of features by an angle that grows with the position p: products depend on distances only."""
def threshold(t: Value, /) -> Stage:
    """A selection: the keys whose score is not below a number."""
def top_k(k: _Integer, /) -> Stage:
    """A selection: the k keys with the largest scores of each query."""
def top_p(p: _Real, /) -> Stage:
    """A selection: the fewest keys whose softmax weights together reach a share (the nucleus)."""
def transposed(stored: _Array, /) -> Stage:
    """A row times a matrix, plus an optional bias."""
