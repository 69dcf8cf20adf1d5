# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a library says of its kernels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from ._errors import ArgumentError

OfResult = TypeVar("OfResult")  # an array, or a tensor


@dataclass(frozen=True)
class Argument:
    """Something that a kernel takes beside queries, keys and values.

    Attributes
    ----------
    name : what it is passed as.
    type : as C names it: "float", "int32_t", ... of a table; "int64_t" or "double" of a number; "fovea_graph".
    shape : the names of a table's axes; empty for a number or a graph.

    Example
    -------
        slopes = fovea.Argument("slopes", "float", ("heads",))
        assert str(slopes) == "slopes(heads): float"
    """

    name: str
    type: str
    shape: tuple[str, ...] = ()

    def __str__(self) -> str:
        axes = f"({', '.join(self.shape)})" if self.shape else ""
        return f"{self.name}{axes}: {self.type}"


class ElementTypes(NamedTuple):
    """The elements that a kernel was built for.

    Attributes
    ----------
    query, result : "f32", "f64", "bf16" or "f16".
    key, value : one of these, "i8", "fp8_e4m3" or "fp8_e5m2", or that of blocks: "q8_0", "q4_0" or "q4_1".

    Example
    -------
        kernel = fovea.kernels()[0]
        query, key, value, result = kernel.elements[0]
        assert query in ("f32", "f64", "bf16", "f16")
    """

    query: str
    key: str
    value: str
    result: str


@dataclass(frozen=True)
class Kernel:
    """One kernel of a library.

    Attributes
    ----------
    name : what it is called by.
    types : the elements it was built for: "f32", "f64", "bf16" or "f16", or, where keys or values have others than the
        queries, a name such as "f32_q8_0_q4_0".
    elements : for each of `types`, those of query, key, value and result.
    specification : its words, such as "scaled_dot | causal | softmax | weighted_sum".
    comment : the comment above the specification in its header; empty where there is none.
    formula : what it computes, a line for each part.
    architectures : for each of `types`, whose instructions run on this processor; None where none do.
    arguments : what a call passes; what can be read off an array is left out. Types are those for `types[0]`.
    gradients : what `fovea.gradient` has gradients of, such as ("query", "key", "value", "slopes"); empty where the
        kernel is built without.
    outputs : what a call can give beside the result, such as ("lse", "weights"); empty where the kernel is built
        without.
    d_outputs : those of `outputs` whose gradients `fovea.gradient` takes.
    takes_forward : whether it takes what the forward call gave, for which `outputs` has "lse".

    Example
    -------
        for kernel in fovea.kernels():
            print(kernel.name, kernel.types, kernel.specification)
            for argument in kernel.arguments:
                print("   ", argument)  # slopes(heads): float
    """

    name: str
    types: tuple[str, ...]
    elements: tuple[ElementTypes, ...]
    specification: str
    comment: str
    formula: str
    architectures: tuple[str | None, ...]
    arguments: tuple[Argument, ...]
    gradients: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    d_outputs: tuple[str, ...] = ()
    takes_forward: bool = False

    @property
    def is_paged(self) -> bool:
        """Whether keys and values lie in pages: (page, head, slot, feature)."""
        return any(a.name == "page_table" and a.shape == ("batch", "pages") for a in self.arguments)


class Results(tuple[OfResult, ...], Generic[OfResult]):
    """What a call with `outputs` gives: a tuple of the result and of the outputs, which has their names.

    Those that the call does not ask for are no attributes of it.

    Attributes
    ----------
    result : what the call gives without outputs.
    lse : (batch, head, query), the natural logarithm of the sum of exponentials of each query's scores.
    weights, scores : (batch, head, query, key); weights over a graph (batch, head, edge).
    entropy : (batch, head, query), how spread out the weights of a query are, in nats.
    best_key : (batch, head, query), the position of the largest score, of int64.
    column_sums : (batch, head, key), the weight that a key has from all queries.

    Example
    -------
        q, k, v = np.ones((3, 1, 2, 10, 16), np.float32)
        both = fovea.attend(q, k, v, "causal", outputs=("lse", "weights"))
        result, lse, weights = both
        assert both.lse is lse and weights.shape == (1, 2, 10, 10)
    """

    __slots__ = ()
    result: OfResult
    lse: OfResult
    weights: OfResult
    scores: OfResult
    entropy: OfResult
    best_key: OfResult
    column_sums: OfResult

    def _replace(self, **others: Any) -> Results[Any]:
        """The same with others in the place of some."""
        raise NotImplementedError  # it is one of tuples with names


@dataclass(frozen=True)
class Gradients:
    """The gradients of a loss, by what a call of `fovea.gradient` or of a kernel's `gradient` reads.

    Attributes
    ----------
    query, key, value : arrays like those of the call; None where it is not wanted.
    tables : by the names of arguments, arrays like the tables of the call; those wanted.

    Example
    -------
        q, k, v, d_result = np.ones((4, 1, 2, 10, 16), np.float32)
        d = fovea.gradient(q, k, v, d_result, "causal", wanted=("query", "value"))
        assert d.query.shape == q.shape and d.key is None and d.tables == {}
    """

    query: Any
    key: Any
    value: Any
    tables: dict[str, Any]


def wanted_gradients(wanted: Iterable[str] | None, kernel: str, having: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the gradients to compute, of those that a kernel has."""
    if wanted is None:
        return having
    return names_among(wanted, "wanted", "gradients, such as ('query', 'key')", f"{kernel} has gradients of", having)


def names_among(given: Any, argument: str, what: str, has: str, having: tuple[str, ...]) -> tuple[str, ...]:
    """The names that a call passes, each one of some."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(f"{argument} is of type {type(given).__name__}, it must be names of {what}")
    names = tuple(given)
    for name in names:
        if name not in having:
            *first, last = having
            raise ArgumentError(f"{argument} names {name!r}, {has} {', '.join(first)}{' and ' * bool(first)}{last}")
    return names
