# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call gives beside its result, and the gradients of it that a call of gradient takes."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _abi
from ._arrays import REALS, Array, address_of, as_table, extents_of, layout_of
from ._errors import ArgumentError, ShapeError
from ._info import Results, names_among
from ._operands import Operands, elements_like, operand
from ._plan import Axis

_TYPES: dict[str, tuple[str, np.dtype[Any]]] = {
    "f32": ("float", REALS["f32"]),
    "f64": ("double", REALS["f64"]),
    "i64": ("int64_t", np.dtype(np.int64)),
}


@dataclass(frozen=True)
class Output:
    """One output of a kernel; `c_type` is what C calls its elements."""

    name: str
    c_type: str
    dtype: np.dtype[Any]
    axes: tuple[Axis, ...]
    has_gradient: bool

    @classmethod
    def of(cls, entry: _abi.OutputEntry) -> Output:
        axes = tuple(Axis.of(text.strip()) for text in entry.shape.decode().strip("()").split(","))
        return cls(entry.name.decode(), *_TYPES[entry.type.decode()], axes, bool(entry.has_gradient))

    def shape(self, x: Operands) -> tuple[int, ...]:
        """Its extents for a call, without axes of batch and head that its queries do not have."""
        absent = _ABSENT[x.arrays[0].ndim]
        return tuple([_extent(axis, x) for axis in self.axes if axis.name not in absent])

    def packed(self, array: Array, x: Operands) -> bytes:
        """An array without gaps as C takes it."""
        extents = [_extent(axis, x) for axis in self.axes]
        b, h, n, m = extents if len(extents) == 4 else (*extents, 1)
        return _abi.more_operands_format.pack(address_of(array), b, h, n, m, h * n * m, n * m, m, 1)


_ABSENT: dict[int, tuple[str, ...]] = {4: (), 3: ("heads",), 2: ("batch", "heads")}
_NOWHERE = _abi.more_operands_format.pack(*_abi.nowhere)


def _extent(axis: Axis, x: Operands) -> int:
    return x.known[axis.name] + axis.more if axis.name else axis.more


def outputs_among(given: Iterable[str], kernel: str, having: tuple[str, ...]) -> tuple[str, ...]:
    """The names of outputs that a call asks for, each once and one of some."""
    names = names_among(given, "outputs", "outputs, such as ('lse',)", f"{kernel} gives", having)
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"outputs names {name!r} more than once")
    return names


class Outputs:
    """All that a kernel can give beside its result, and the choices among it that calls have made."""

    def __init__(self, kernel: str, having: tuple[Output, ...]) -> None:
        self._kernel = kernel
        self._having = having
        self._chosen: dict[tuple[str, ...], Any] = {}

    def asked(self, names: Iterable[str], x: Operands) -> Asked:
        """What a call asks for by names."""
        return Asked(self._having, self.results_of(names), x)

    def results_of(self, names: Iterable[str]) -> Any:
        """The type of the result and what a call asks for by names."""
        if type(names) is not tuple or any(type(name) is not str for name in names) or names not in self._chosen:
            names = self._checked(names)
        results = self._chosen.get(names)
        if results is None:
            named = namedtuple("Results", ("result", *names))  # type: ignore[misc]
            results = self._chosen[names] = type("Results", (named, Results), {"__slots__": ()})
        return results

    def _checked(self, given: Iterable[str]) -> tuple[str, ...]:
        return outputs_among(given, self._kernel, tuple(output.name for output in self._having))


class Asked:
    """The outputs that one call asks for: their arrays, and these as C takes them."""

    def __init__(self, having: tuple[Output, ...], results: Any, x: Operands) -> None:
        self._results = results
        self._arrays: dict[str, Array] = {}
        packed = []
        for output in having:
            if output.name in results._fields:
                array = self._arrays[output.name] = np.empty(output.shape(x), output.dtype)
                packed.append(output.packed(array, x))
            else:
                packed.append(_NOWHERE)
        self.packed = b"".join(packed)

    def beside(self, result: Any) -> Any:
        """A tuple of the result and these, which has their names."""
        return self._results(result=result, **self._arrays)


def packed_gradients(
    given: Mapping[str, Any] | None, kernel: str, having: tuple[Output, ...], x: Operands
) -> tuple[bytes, list[Array]]:
    """The gradients of outputs as C takes them, and the arrays, which have to live until the call has ended."""
    with_gradient = [output for output in having if output.has_gradient]
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ArgumentError(f"d_outputs is of type {type(given).__name__}, it must be a dict, such as {{'lse': d_lse}}")
    known = tuple(output.name for output in with_gradient)
    if given and not known:
        raise ArgumentError(f"d_outputs names {next(iter(given))!r}, {kernel} takes gradients of no output")
    names_among(given, "d_outputs", "outputs", f"{kernel} takes gradients of", known)
    packed, kept = b"", []
    for output in with_gradient:
        if output.name not in given:
            packed += _NOWHERE
            continue
        kept.append(_table_of(output, given[output.name], f"the gradient of {output.name}", x))
        packed += output.packed(kept[-1], x)
    return packed, kept


def packed_forward(
    forward: Any, dtype: str | None, having: tuple[Output, ...], x: Operands
) -> tuple[bytes, list[Array]]:
    """The result and the log-sum-exp of the forward call, and the arrays."""
    if forward is None:
        return _NOWHERE + _NOWHERE, []
    what = "what attend gives with outputs=('lse',), or (result, lse)"
    if hasattr(forward, "result") and hasattr(forward, "lse"):
        forward = (forward.result, forward.lse)
    if not isinstance(forward, (tuple, list)) or len(forward) != 2:
        raise ArgumentError(f"forward is of type {type(forward).__name__}, it must be {what}")
    name = "the result of forward"
    result = operand(elements_like(forward[0], name, dtype, x.types.result, "query"), name, x.types.result)
    lse = next(output for output in having if output.name == "lse")
    array = _table_of(lse, forward[1], "lse of forward", x)
    packed = _abi.more_operands_format.pack(*layout_of(result, extents_of(result)))
    return packed + lse.packed(array, x), [result, array]


def _table_of(output: Output, given: Any, what: str, x: Operands) -> Array:
    array = as_table(given, what, output.c_type)
    if array.shape != output.shape(x):
        raise ShapeError(f"{what} is {array.shape}, it must be {output.shape(x)}")
    return array
