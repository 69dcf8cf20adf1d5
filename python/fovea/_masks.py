# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which pairs a mask lets through, by NumPy, with the integers of the language.

Reals are compared, but not computed with: how a kernel rounds, the kernel alone knows.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, as_numpy, as_table
from ._errors import ArgumentError, Error, GraphError, ShapeError
from ._expression import Expression
from ._graph import Graph, graph_of
from ._meanings import ALWAYS, MEANINGS, Listed, Undecided, of_pair
from ._specification import PLACEHOLDERS, GraphArgument, Stage
from ._table import Element, Number, Table, _Extent

_AXES = ("batch", "head", "q_idx", "kv_idx")
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sizes:
    """How many of each there are."""

    batch: int
    heads: int
    queries: int
    keys: int


class Mask:
    """The masks of a specification, all of which have to hold.

    Parameters
    ----------
    stages : its words; those that are no masks are left out.
    value_of : what a call passes now, for a table, a number or a graph.
    real : the elements that the kernel computes with.
    """

    def __init__(
        self, stages: Sequence[Stage], value_of: Callable[[Any], Any], real: npt.DTypeLike = np.float32
    ) -> None:
        self._value_of = value_of
        self._real = np.dtype(real)
        self._extents: dict[str, list[int]] = {axis: [] for axis in _AXES}
        self._tables: dict[int, Array] = {}
        self.stages = [stage for stage in stages if stage.role == "mask" or self._excludes(stage)]
        self._stated: Expression | None = None
        self.is_exact = False  # whether NumPy gives what a kernel does
        with contextlib.suppress(Undecided):
            conditions = [self._condition_of(stage) for stage in self.stages] or [ALWAYS]
            stated: Expression = functools.reduce(operator.and_, conditions)
            self._stated = stated
            _require_exact(stated)
            self.is_exact = True
        all_stated = [*_conditions_in(self.stages)] if self._stated is None else [self._stated]
        self._parts = [part for condition in all_stated for part in _parts_of(condition)]
        self._note_extents()

    def sizes(self, queries: int | None, keys: int | None, heads: int | None, batch: int | None) -> Sizes:
        """The given ones, and others as tables and graphs have them; without these 512 positions, or more where a
        number in the mask is large."""
        least = {axis: min(extents) if extents else None for axis, extents in self._extents.items()}
        free = 512
        while free < 2 * self._largest() and free < 4096:
            free *= 2
        of_queries = least["q_idx"] if queries is None else queries
        of_keys = least["kv_idx"] if keys is None else keys
        of_queries = (free if of_keys is None else of_keys) if of_queries is None else of_queries
        of_keys = of_queries if of_keys is None else of_keys
        of_heads = (4 if least["head"] is None else least["head"]) if heads is None else heads
        of_batch = (1 if least["batch"] is None else least["batch"]) if batch is None else batch
        for name, n in (("queries", of_queries), ("keys", of_keys), ("heads", of_heads), ("batch", of_batch)):
            if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
                raise ArgumentError(f"{name} is {n!r}, it must be an integer from 1")
        return Sizes(
            of_batch if self._reads("batch") else 1, of_heads if self._reads("head") else 1, of_queries, of_keys
        )

    def pairs(self, sizes: Sizes, first: int, end: int) -> _Bools:
        """Whether each of some queries sees each key, (batch, head, query, key)."""
        if self._stated is None or not self.is_exact:
            raise Undecided
        at = _Place(
            {
                "batch": np.arange(sizes.batch).reshape(-1, 1, 1, 1),
                "head": np.arange(sizes.heads).reshape(-1, 1, 1),
                "q_idx": np.arange(first, end).reshape(-1, 1),
                "kv_idx": np.arange(sizes.keys),
                "q_len": np.array(sizes.queries),
                "kv_len": np.array(sizes.keys),
            },
            self,
        )
        with np.errstate(all="ignore"):  # integers wrap around
            seen = at.value(self._stated)
        return np.broadcast_to(seen, (sizes.batch, sizes.heads, end - first, sizes.keys))

    def table(self, table: Table) -> Array:
        """The elements of a table as a kernel reads them: integers of 64 bits, reals of the type it computes with."""
        if id(table) not in self._tables:
            given = self._value_of(table)
            if table.kind == "real":
                found = as_table(given, table.hint, "float" if self._real == np.float32 else "double")
            else:
                found = as_numpy(given, table.hint)
                found = found.astype(np.int64) if table.kind == "integer" else found
            if table.rank == 0:
                found = found.reshape(())
            if found.ndim != table.rank:
                raise ShapeError(f"{table.hint} has {found.ndim} axes, it had {table.rank} when the mask was made")
            self._tables[id(table)] = found
        return self._tables[id(table)]

    def note(self, table: Table, elements: Array) -> None:
        """Has these as the elements of a table."""
        self._tables[id(table)] = elements

    def number(self, number: Number) -> Any:
        """A number that a call passes."""
        value = self._value_of(number)
        return self._real.type(value) if number.kind == "real" else np.asarray(value)

    def graph(self, argument: GraphArgument) -> Graph:
        """A graph that a call passes."""
        return graph_of(self._value_of(argument), argument.hint)

    def of_reals(self, x: Any) -> Array:
        """Numbers as a kernel has them where it compares them with reals."""
        return np.asarray(x).astype(self._real)

    def _condition_of(self, stage: Stage) -> Any:
        """A mask as a condition."""
        try:
            return self._stated_by(stage, stage.arguments or ())
        except Error:
            raise
        except (TypeError, ValueError, IndexError, AttributeError) as error:  # what the compiler refuses
            raise ArgumentError(f"{stage!r} is no mask: its arguments do not fit") from error

    def _stated_by(self, stage: Stage, given: tuple[Any, ...]) -> Any:
        if stage.name == "{0} && {1}":
            return self._condition_of(given[0]) & self._condition_of(given[1])
        if stage.name == "{0} || {1}":
            return self._condition_of(given[0]) | self._condition_of(given[1])
        if stage.name == "!{0}":
            return ~self._condition_of(given[0])
        if stage.name == "bias":
            return of_pair(self, given[0]) != -np.inf
        if stage.name == "where":
            [stated] = given
            return self._condition_of(stated) if isinstance(stated, Stage) else stated
        meaning = MEANINGS.get(stage.name)
        if meaning is None:
            raise Undecided
        return meaning(self, *given)

    def hint(self, queries: int, keys: int) -> None:
        """Says how many positions a word is made for."""
        self._extents["q_idx"].append(queries)
        self._extents["kv_idx"].append(keys)

    def _excludes(self, stage: Stage) -> bool:
        """Whether a word adds -inf to scores, which is a mask too."""
        tables = stage.arguments if stage.name == "bias" else ()
        reals = [x for x in tables or () if isinstance(x, Table) and x.kind == "real"]
        return any(bool(np.isneginf(self.table(x)).any()) for x in reals)

    def _note_extents(self) -> None:
        """Finds how many positions there are in tables that they choose elements of."""
        for e in self._parts:
            if isinstance(e, Listed):
                graph = self.graph(e.graph)
                self.hint(graph.queries, max(graph.queries, int(graph.keys.max(initial=-1)) + 1))
            if not isinstance(e, Element):
                continue
            for n, index in zip(self.table(e.table).shape, e.indices):
                divisor = index.children[1][0].template if index.template == "floor_div({0}, {1})" else "1"
                of = index if divisor == "1" else index.children[0][0]
                if of.template in _AXES and divisor.isdigit():
                    self._extents[of.template].append(n * int(divisor))

    def _largest(self) -> int:
        """The largest number that is compared or computed with."""
        literals = [int(e.template) for e in self._parts if e.template.lstrip("-").isdigit()]
        passed = [int(self.number(e)) for e in self._parts if isinstance(e, Number) and e.kind == "integer"]
        return max([abs(n) for n in (*literals, *passed)], default=0)

    def _reads(self, axis: str) -> bool:
        return self._stated is None or any(e.template == axis or e.template.startswith("random") for e in self._parts)


class _Place:
    """The values of expressions for some positions."""

    def __init__(self, indices: Mapping[str, npt.NDArray[np.int64]], mask: Mask) -> None:
        self._indices = indices
        self._mask = mask

    def value(self, e: Expression) -> Any:
        """The value of an expression, an array that broadcasts over (batch, head, query, key)."""
        if isinstance(e, Listed):
            return self._listed(self._mask.graph(e.graph))
        if isinstance(e, Number):
            return self._mask.number(e)
        if isinstance(e, _Extent):
            return np.asarray(self._mask.table(e.table).shape[e.axis])
        if isinstance(e, Table):
            return self._mask.table(e)
        if isinstance(e, Element):
            return self._element(e)
        if not e.children:
            return self._indices[e.template] if e.template in self._indices else self._literal(e)
        values = [self.value(child) for child, _ in e.children]
        if e.template == "real({0})" or (e.template in _OF_REALS and _is_real(e)):
            values = [self._mask.of_reals(x) if x.dtype != np.bool_ else x for x in values]
        if e.constant and e.template in _OF_CONSTANTS:
            return _OF_CONSTANTS[e.template](*values)
        return _OPERATORS[e.template](*values)

    def _element(self, e: Element) -> Any:
        table = self._mask.table(e.table)
        indices = [self.value(index) for index in e.indices]
        for n, index in zip(table.shape, indices):
            outside = index[(index < 0) | (index >= n)]
            if outside.size > 0:
                raise ShapeError(f"{e.table.hint} is read at {outside.flat[0]}, along an axis of extent {n}")
        return table[tuple(indices)]

    def _literal(self, e: Expression) -> Any:
        literal = e.template.removeprefix("index_t{{").removesuffix("}}")
        if e.kind == "condition":
            return np.asarray(literal == "true")
        if e.kind == "integer":
            return np.asarray(int(literal))
        return self._mask.of_reals(float(literal.lower().replace("infinity", "inf")))

    def _listed(self, graph: Graph) -> _Bools:
        queries = self._indices["q_idx"].ravel()
        keys = self._indices["kv_idx"].size
        if graph.queries != self._indices["q_len"]:
            raise GraphError(f"the graph has {graph.queries} queries, the picture {self._indices['q_len']}")
        seen = np.zeros((queries.size, keys), np.bool_)
        if queries.size > 0:
            begin, end = int(graph.offsets[queries[0]]), int(graph.offsets[queries[-1] + 1])
            rows = np.repeat(np.arange(queries.size), np.diff(graph.offsets[queries[0] : queries[-1] + 2]))
            listed = graph.keys[begin:end]
            if listed.size > 0 and not 0 <= listed.min() <= listed.max() < keys:
                raise GraphError(f"an edge begins at key {listed.max()}, the picture has {keys} keys")
            seen[rows, listed] = True
        return seen


def _floor_div(a: Any, b: Any) -> Any:
    """The quotient rounded down; by 0 it is 0."""
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b)))


def _modulo(a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor; by 0 the dividend."""
    return np.where(b == 0, a, np.remainder(a, np.where(b == 0, 1, b)))


def _towards_zero(a: Any, b: Any) -> Any:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


_OPERATORS: dict[str, Callable[..., Any]] = {
    "{0} + {1}": np.add,
    "{0} - {1}": np.subtract,
    "{0} * {1}": np.multiply,
    "{0} % {1}": _modulo,
    "floor_div({0}, {1})": _floor_div,
    "-{0}": np.negative,
    "abs({0})": np.abs,
    "square({0})": np.square,
    "relu({0})": lambda x: np.maximum(x, 0),
    "min({0}, {1})": np.minimum,
    "max({0}, {1})": np.maximum,
    "real({0})": np.asarray,
    "select({0}, {1}, {2})": np.where,
    "{0} < {1}": np.less,
    "{0} <= {1}": np.less_equal,
    "{0} > {1}": np.greater,
    "{0} >= {1}": np.greater_equal,
    "{0} == {1}": np.equal,
    "{0} != {1}": np.not_equal,
    "{0} && {1}": np.logical_and,
    "{0} || {1}": np.logical_or,
    "!{0}": np.logical_not,
}
# Between numbers that C++ knows before the language sees them, its own operators.
_OF_CONSTANTS: dict[str, Callable[..., Any]] = {
    "{0} / {1}": _towards_zero,
    "{0} % {1}": lambda a, b: a - b * _towards_zero(a, b),
}
# What gives the same number however it is computed.
_OF_REALS = ("{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}", "{0} == {1}", "{0} != {1}", "select({0}, {1}, {2})")
_EXACT = ("real({0})", "select({0}, {1}, {2})", "-{0}", "abs({0})")


def _is_real(e: Expression) -> bool:
    return any(child.kind == "real" for child, _ in e.children)


def _require_exact(condition: Expression) -> None:
    """Undecided where a condition does more than compare reals, or where it reads what pairs do not have."""
    for e in _parts_of(condition):
        if isinstance(e, (Element, Table, Number, _Extent, Listed)):
            continue
        if not e.children:
            if e.template in PLACEHOLDERS and e.template not in (*_AXES, "q_len", "kv_len"):
                raise Undecided
            if e.template.startswith("random"):
                raise Undecided
        elif e.kind == "real" and e.template not in _EXACT:
            raise Undecided
        elif e.template not in _OPERATORS and not (e.constant and e.template in _OF_CONSTANTS):
            raise Undecided


def _conditions_in(arguments: Iterable[Any]) -> Iterator[Expression]:
    for x in arguments:
        if isinstance(x, Expression):
            yield x
        elif isinstance(x, Stage):
            yield from _conditions_in(x.arguments or ())


def _parts_of(e: Expression) -> Iterator[Expression]:
    yield e
    for child, _ in e.children:
        yield from _parts_of(child)
    if isinstance(e, Element):
        yield e.table
