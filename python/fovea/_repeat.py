# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls like one before: of arrays with the same shapes, strides and types only the addresses are looked at."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import _abi
from ._arrays import REALS, Array, address_of, can_be_passed, extents_of, layout_of
from ._graph import Graph
from ._info import ElementTypes
from ._library import Library

_MOST = 256  # layouts that are kept; then all are forgotten
_NUMBERS = (float, int, bool)
_LIMIT = 2**63


def _address_function() -> Callable[[Array], int]:
    """Where the first element of an array lies. NumPy keeps the address behind the head of the object, which takes an
    eighth of the time to read; where that is not so, it is asked."""
    place, read = object.__basicsize__, ctypes.c_void_p.from_address

    def fast(array: Array) -> int:
        return read(id(array) + place).value or 0

    samples: tuple[Array, ...] = (np.empty(3), np.empty((2, 2), np.int8)[1:], np.empty(7, np.float32)[2:])
    return fast if all(fast(x) == address_of(x) for x in samples) else address_of


class OfNumPy:
    """How arrays of NumPy are looked at and made."""

    address = staticmethod(_address_function())
    empty = staticmethod(np.empty)

    @staticmethod
    def as_array(x: Any) -> Any:
        """The same memory in NumPy."""
        return x

    @staticmethod
    def result_dtype(q: Any, types: ElementTypes) -> Any:
        """What the elements of a result are."""
        return q.dtype if types.result == types.query else REALS[types.result]

    @staticmethod
    def layout(x: Any) -> Any:
        """All but the address; None for what is no array that lies in memory."""
        return (x.shape, x.strides, x.dtype) if type(x) is np.ndarray else None


class _Repeated:
    """A call that went through, to be made again on other arrays of the same layout."""

    def __init__(
        self, how: Any, library: Library, kernel: str, given: Sequence[Any], values: dict[str, Any], dtype: str
    ) -> None:
        q, k, v = (how.as_array(x) for x in given[:3])
        passed = {name: how.as_array(x) for name, x in values.items()}
        compiled, x, _, kept = library._bind(q, k, v, kernel, dtype, passed)
        used = (*x.arrays, *(kept[name] for name in passed))
        slots = compiled.plan.slots
        takes = [slot.argument.name for slot in slots if slot.kind != "derived"]
        self.is_possible = (
            compiled.keeps_shape
            and all(slot.kind == "derived" for slot in slots[len(takes) :])
            and all(type(a) in _NUMBERS or _is_same(a, b) for a, b in zip((q, k, v, *passed.values()), used))
        )
        # What C takes, in its order: a library may take more than is passed, and knows the numbers that it takes.
        self.row = [None if name in passed else kept[name] for name in takes]
        self.places = [takes.index(name) for name in passed]
        self.how, self.library, self.compiled = how, library, compiled
        self.layouts = [layout_of(a, extents_of(a))[1:] for a in x.arrays]
        self.features = x.extents[2][3]
        self.alignment: int = max(a.dtype.alignment for a in used if isinstance(a, np.ndarray)) - 1
        known = {
            axis.name: n
            for slot in slots
            if slot.kind == "table"
            for axis, n in zip(slot.axes, kept[slot.argument.name].shape)
        }
        self.extents = [known[slot.argument.name] for slot in slots if slot.kind == "derived"]
        self.no_targets = [0] * len(self.extents)

    def values(self, given: Iterable[Any], addresses: list[int]) -> bytes | None:
        """What a call passes beside arrays, for C; the addresses of tables are added to the others."""
        row, address = self.row.copy(), self.how.address
        for place, x in zip(self.places, given):
            if type(x) in _NUMBERS:
                row[place] = x
            elif type(x) is Graph:
                row[place] = x.address
            else:
                row[place] = at = address(x)
                addresses.append(at)
        return self.compiled.plan._format.pack(*row, *self.extents) if row else None

    def are_aligned(self, addresses: list[int]) -> bool:
        """Whether elements lie where those of their size do."""
        every = 0
        for at in addresses:
            every |= at
        return every & self.alignment == 0


class RepeatedCall(_Repeated):
    """A call of a kernel."""

    def __init__(self, how: Any, library: Library, kernel: str, given: Any, values: dict[str, Any], dtype: str) -> None:
        super().__init__(how, library, kernel, given, values, dtype)
        self.shape = (*given[0].shape[:-1], self.features)
        self.dtype = how.result_dtype(given[0], self.compiled.types)
        self.result = _without_gaps(self.shape)

    def __call__(self, arrays: Sequence[Any], values: Iterable[Any], threads: int) -> Any:
        """The result; None where the arrays lie differently after all."""
        address = self.how.address
        at_q, at_k, at_v = addresses = [address(x) for x in arrays]
        packed = self.values(values, addresses)
        if not self.are_aligned(addresses):
            return None
        result = self.how.empty(self.shape, dtype=self.dtype)
        q, k, v = self.layouts
        operands = _abi.operands_format.pack(at_q, *q, at_k, *k, at_v, *v, address(result), *self.result)
        self.library._run(self.compiled.run, threads, operands, packed)
        return result


class RepeatedGradient(_Repeated):
    """A call of gradients. Arrays are queries, keys, values and the gradient of the result; `wanted` says for the first
    three and for each value whether its gradient is computed."""

    def __init__(
        self, how: Any, library: Library, kernel: str, given: Any, values: dict[str, Any], dtype: str, wanted: Any
    ) -> None:
        super().__init__(how, library, kernel, given, values, dtype)
        d = how.as_array(given[3])
        shape = (*given[0].shape[:-1], self.features)
        in_order = self.places == list(range(len(self.row)))
        self.is_possible = self.is_possible and in_order and can_be_passed(d) and d.shape == shape
        self.layouts.append(layout_of(d, extents_of(d))[1:])
        read = (*given[:3], *values.values())
        self.made = [(x.shape, x.dtype) if needed else None for x, needed in zip(read, wanted)]
        self.targets = [_without_gaps(x.shape) for x in given[:3]]
        self.format = struct.Struct(f"{len(self.compiled.arguments)}P")

    def __call__(self, arrays: Sequence[Any], values: Iterable[Any], threads: int) -> Any:
        """The gradients in the order of `wanted`; None where the arrays lie differently after all."""
        address, empty = self.how.address, self.how.empty
        addresses = [address(x) for x in arrays]
        at_q, at_k, at_v, at_d = addresses
        packed = self.values(values, addresses)
        if not self.are_aligned(addresses):
            return None
        gradients = [made and empty(made[0], dtype=made[1]) for made in self.made]
        at = [0 if x is None else address(x) for x in gradients]
        (q, k, v, d), (to_q, to_k, to_v) = self.layouts, self.targets
        operands = _abi.gradient_operands_format.pack(
            at_q, *q, at_k, *k, at_v, *v, at_d, *d, at[0], *to_q, at[1], *to_k, at[2], *to_v
        )
        if packed is not None:
            packed += self.format.pack(*at[3:], *self.no_targets)
        self.library._run(self.compiled.gradient, threads, operands, packed)
        return gradients


class Repeats:
    """The calls of a kernel that went through, by the layouts of their arrays."""

    def __init__(self, how: Any, kind: Any) -> None:
        self._how, self._kind = how, kind
        self._calls: dict[Any, Any] = {}

    def __call__(
        self,
        library: Library,
        kernel: str,
        arrays: Sequence[Any],
        values: dict[str, Any],
        dtype: str,
        threads: int,
        *more: Any,
    ) -> Any:
        """The result of a call like one before; None for any other, which is remembered."""
        layout = self._how.layout
        key: list[Any] = [library, *more]
        for x in arrays:
            found = layout(x)
            if found is None:
                return None
            key.append(found)
        for x in values.values():
            kind = type(x)
            found = kind if kind in _NUMBERS else x if kind is Graph else layout(x)
            if found is None or (kind is int and not -_LIMIT <= x < _LIMIT):
                return None
            key.append(found)
        whole = tuple(key)
        known = self._calls.get(whole, self)
        if known is None:
            return None
        if known is not self:
            return known(arrays, values.values(), threads)
        if len(self._calls) >= _MOST:
            self._calls.clear()
        repeated = self._kind(self._how, library, kernel, arrays, values, dtype, *more)
        self._calls[whole] = repeated if repeated.is_possible else None
        return None


def _is_same(a: Any, b: Any) -> bool:
    """Whether C reads the memory that a call passes: an array itself, or its bytes as blocks or bits."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return a is b
    return a.nbytes == b.nbytes and address_of(a) == address_of(b)


def _without_gaps(shape: Sequence[int]) -> tuple[int, ...]:
    """The layout of a result, behind its address."""
    result = np.empty(shape, np.bool_)
    return layout_of(result, extents_of(result))[1:]
