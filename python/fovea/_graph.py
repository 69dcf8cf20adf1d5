# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs: for each query the keys it sees."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from ._abi import GraphEntry
from ._arrays import address_of, as_integers
from ._errors import ArgumentError, GraphError, counted, there_are


class Graph:
    """For each query the keys it sees, as compressed sparse rows.

    Query `i` sees `keys[offsets[i]]` ... `keys[offsets[i + 1] - 1]`. Arrays of int64 (offsets, numbers) and int32
    (keys) are used where they lie, others are copied.

    Parameters
    ----------
    offsets : (queries + 1), from 0 to the number of edges.
    keys : (edges).
    numbers : (edges), where tables of edges are read for each of `keys`; its own place if not given.

    Raises
    ------
    GraphError : what is no list of integers, or of another length; a call says what its edges do not fit.

    Example
    -------
        graph = fovea.Graph.from_edges(3, [(0, 1), (0, 2), (1, 0), (2, 2)])  # who looks, and at which key
        assert graph.queries == 3 and graph.edges == 4
        assert graph.offsets.tolist() == [0, 2, 3, 4] and graph.keys.tolist() == [1, 2, 0, 2]
    """

    __slots__ = ("_entry", "_keys", "_numbers", "_offsets")

    def __init__(self, offsets: npt.ArrayLike, keys: npt.ArrayLike, numbers: npt.ArrayLike | None = None) -> None:
        self._offsets = _list_of(offsets, "offsets", np.int64)
        self._keys = _list_of(keys, "keys", np.int32)
        self._numbers = None if numbers is None else _list_of(numbers, "numbers", np.int64)
        if self._offsets.size == 0:
            raise GraphError("offsets is empty, it must have one element more than there are queries")
        if self._numbers is not None and self._numbers.size != self._keys.size:
            raise GraphError(f"numbers has {counted(self._numbers.size, 'element')}, keys has {self._keys.size}")
        self._entry = GraphEntry(
            self._offsets.size - 1,
            self._keys.size,
            address_of(self._offsets),
            address_of(self._keys),
            None if self._numbers is None else address_of(self._numbers),
        )

    @classmethod
    def from_edges(cls, queries: int, edges: npt.ArrayLike) -> Graph:
        """The graph of some queries with the given edges.

        Parameters
        ----------
        queries : how many there are.
        edges : (edges, 2): who looks, and at which key. Tables of edges are read in this order.

        Raises
        ------
        GraphError : an edge from a query that is not there, or what is no table of integers (edges, 2).
        """
        pairs = _pairs_of(edges)
        to, keys = pairs[:, 0], pairs[:, 1]
        queries = _count_of(queries)
        _require_range(to, queries, f"an edge ends at query {{}}, {there_are(queries, 'query')}")
        _require_range(keys, 2**31, "an edge begins at key {}, keys are from 0 to 2147483647")
        offsets = np.zeros(queries + 1, np.int64)
        np.cumsum(np.bincount(to, minlength=queries), out=offsets[1:])
        if np.all(to[1:] >= to[:-1]):
            return cls(offsets, keys)
        order = np.argsort(to, kind="stable")
        return cls(offsets, keys[order], order)

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return self._offsets.size - 1

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return self._keys.size

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """(queries + 1), where the keys of each query begin."""
        return self._offsets

    @property
    def keys(self) -> npt.NDArray[np.int32]:
        """(edges), the keys of one query after those of the other."""
        return self._keys

    @property
    def numbers(self) -> npt.NDArray[np.int64] | None:
        """(edges), where tables of edges are read; None where each has its own place."""
        return self._numbers

    @property
    def address(self) -> int:
        """Where the `fovea_graph` of C lies; it lives as long as this object."""
        return ctypes.addressof(self._entry)

    def __repr__(self) -> str:
        return f"fovea.Graph(queries={self.queries}, edges={self.edges})"


def graph_of(x: Any, name: str) -> Graph:
    """A graph, or whatever has `indptr` and `indices` as the sparse rows of SciPy."""
    if isinstance(x, Graph):
        return x
    if getattr(x, "format", "csr") == "csr" and hasattr(x, "indptr") and hasattr(x, "indices"):
        return Graph(x.indptr, x.indices)
    raise ArgumentError(f"{name} is of type {type(x).__name__}, it must be a fovea.Graph or sparse rows (CSR)")


def _list_of(x: Any, name: str, dtype: Any) -> npt.NDArray[Any]:
    try:
        array = as_integers(x, name, np.dtype(dtype))
    except ArgumentError as error:
        raise GraphError(str(error)) from None
    if array.ndim != 1:
        raise GraphError(f"{name} has {counted(array.ndim, 'axis')}, it must have 1")
    return array


def _count_of(queries: Any) -> int:
    try:
        count = operator.index(queries)
    except TypeError:
        raise GraphError(f"queries is {queries!r}, it must be an integer") from None
    if not 0 <= count < 2**48:
        raise GraphError(f"queries is {count}, it must be from 0 to {2**48 - 1}")
    return count


def _pairs_of(edges: Any) -> npt.NDArray[np.int64]:
    try:
        pairs = np.asarray(edges)
    except ValueError as error:
        raise GraphError(f"edges is no table: {error}") from None
    if pairs.size == 0:
        return np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphError(f"edges is {pairs.shape}, it must be (edges, 2)")
    if pairs.dtype.kind not in "iu":
        raise GraphError(f"edges has elements of {pairs.dtype}, it must have integers")
    return pairs.astype(np.int64)


def _require_range(numbers: npt.NDArray[np.int64], end: int, sentence: str) -> None:
    outside = numbers[(numbers < 0) | (numbers >= end)]
    if outside.size > 0:
        raise GraphError(sentence.format(int(outside[0])))
