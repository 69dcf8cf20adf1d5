# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arrays of a call: what it reads, and what it writes into."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import (
    REALS,
    Array,
    as_elements,
    can_be_passed,
    elements_of,
    extents_of,
    layout_of,
    passable,
    require_distinct_elements,
    require_rank,
    said,
)
from ._errors import ArgumentError, ShapeError
from ._info import ElementTypes
from ._plan import SLOTS


class Operands:
    """Queries, keys and values as C takes them, and the types of their elements and of the result's."""

    def __init__(self, arrays: tuple[Array, Array, Array], types: ElementTypes) -> None:
        self.arrays = arrays
        self.types = types
        self.extents = tuple(map(extents_of, arrays))
        self.known: dict[str, int] = {}  # of all axes, once the arguments of the call are bound

    def layout(self) -> tuple[int, ...]:
        query, key, value = map(layout_of, self.arrays, self.extents)
        return (*query, *key, *value)

    def known_extents(self, is_paged: bool) -> dict[str, int]:
        query, key, value = self.extents
        known = {
            "batch": query[0],
            "heads": query[1],
            "queries": query[2],
            "features": query[3],
            "key_heads": key[1],
            "value_features": value[3],
        }
        known[SLOTS if is_paged else "keys"] = key[2]
        return known


class Result:
    """What a call writes into: an array of its own, the given one, or one that is copied there afterwards."""

    def __init__(
        self, out: Any, q: Any, query: Array, type_name: str, dtype: str | None, features: int, keeps_shape: bool
    ) -> None:
        shape = (*query.shape[:-1], features)
        self._out = out
        self._target: Array | None = None
        if out is None:
            self.written = np.empty(shape, REALS[type_name])
            named = type_name == "bf16" and getattr(getattr(q, "dtype", None), "name", "") == "bfloat16"
            self._view = q.dtype if named else None
            return
        array = elements_like(out, "out", dtype, type_name, "the result")
        if not array.flags.writeable:
            raise ArgumentError("out is read-only, it must be writable")
        if array.ndim != query.ndim or (keeps_shape and array.shape != shape):
            raise ShapeError(f"out is {array.shape}, it must be {shape}")
        if can_be_passed(array):
            self.written = array
        else:
            require_distinct_elements(array, "out")
            self._target = array
            self.written = np.empty(array.shape, array.dtype.newbyteorder("="))

    def finished(self) -> Any:
        if self._out is None:
            return self.written if self._view is None else self.written.view(self._view)
        if self._target is not None:
            self._target[...] = self.written
        return self._out


def operand(array: Array, name: str, type_name: str, least_rank: int = 2) -> Array:
    """What C reads of an array whose elements are of a type."""
    require_rank(array, name, least_rank)
    return passable(as_elements(array, name, type_name))


def elements_like(x: Any, name: str, dtype: str | None, type_name: str, other: str) -> Array:
    """An array of the type that another one has."""
    array, found = elements_of(x, name, dtype)
    if type_name not in found:
        raise ArgumentError(f"{name} has elements of {said(array, found)}, {other} has {type_name}")
    return array
