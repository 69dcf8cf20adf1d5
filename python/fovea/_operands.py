# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arrays of a call: what it reads, and what it writes into."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import (
    Array,
    can_be_passed,
    elements_of,
    extents_of,
    layout_of,
    passable,
    require_distinct_elements,
    require_rank,
)
from ._errors import ArgumentError, ShapeError
from ._plan import SLOTS


class Operands:
    """Queries, keys and values as C takes them, and the type of their elements."""

    def __init__(self, arrays: tuple[Array, Array, Array], type_name: str) -> None:
        self.arrays = arrays
        self.type_name = type_name
        self.extents = tuple(map(extents_of, arrays))

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
            self.written = np.empty(shape, query.dtype)
            named = type_name == "bf16" and getattr(getattr(q, "dtype", None), "name", "") == "bfloat16"
            self._view = q.dtype if named else None
            return
        array, _ = _element_checked(out, "out", dtype, type_name)
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


def operand(x: Any, name: str, dtype: str | None) -> tuple[Array, str]:
    array, type_name = elements_of(x, name, dtype)
    require_rank(array, name)
    return passable(array), type_name


def _element_checked(x: Any, name: str, dtype: str | None, type_name: str) -> tuple[Array, str]:
    array, found = elements_of(x, name, dtype)
    if found != type_name:
        raise ArgumentError(f"{name} has elements of {found}, query has {type_name}")
    return array, found


def operand_like(x: Any, name: str, dtype: str | None, type_name: str, least_rank: int) -> Array:
    array, _ = _element_checked(x, name, dtype, type_name)
    require_rank(array, name, least_rank)
    return passable(array)

