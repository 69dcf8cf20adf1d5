# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments of a kernel: what a call passes, what is read off its arrays, and what has to fit what.

C gets bare addresses, so everything that says how far they reach is checked here.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _abi
from ._arrays import TABLE_TYPES, Array, Bits, address_of, as_bits, as_integer, as_table
from ._errors import ArgumentError, Error, ShapeError
from ._graph import graph_of
from ._info import Argument

Extents = dict[str, int]
SLOTS = "slots of a page"  # the name of no axis


@dataclass(frozen=True)
class Axis:
    """An axis of a table: a number, a name, or a name and some more."""

    text: str
    name: str
    more: int

    @classmethod
    def of(cls, text: str) -> Axis:
        if text.isdigit():
            return cls(text, "", int(text))
        name, _, more = text.partition("+")
        return cls(text, name.strip(), int(more) if more else 0)

    def extent(self, known: Extents) -> int | None:
        if not self.name:
            return self.more
        return known[self.name] + self.more if self.name in known else None


@dataclass(frozen=True)
class Slot:
    """One argument as C takes it; its kind is "table", "bits", "graph", "real", "integer", or "derived" from a table."""

    argument: Argument
    kind: str
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What a kernel takes beside queries, keys, values and result."""

    slots: tuple[Slot, ...]
    names: tuple[str, ...] = field(init=False)  # what a call passes
    is_paged: bool = field(init=False)
    _format: struct.Struct = field(init=False)

    def __post_init__(self) -> None:
        given = tuple(s.argument.name for s in self.slots if s.kind != "derived")
        codes = "".join(_abi.value_codes[s.kind] for s in self.slots)
        paged = any(s.argument.name == "page_table" and s.argument.shape == ("batch", "pages") for s in self.slots)
        object.__setattr__(self, "names", given)
        object.__setattr__(self, "is_paged", paged)
        object.__setattr__(self, "_format", struct.Struct(codes))

    @classmethod
    def of(cls, arguments: list[Argument]) -> Plan:
        axes = {a.name for argument in arguments for a in map(Axis.of, argument.shape)}
        return cls(tuple(_slot_of(a, axes) for a in arguments))

    def require_names(self, kernel: str, given: Mapping[str, Any]) -> None:
        """ArgumentError where a call passes too little or too much."""
        if len(given) == len(self.names) and all(name in given for name in self.names):
            return
        missing = [name for name in self.names if name not in given]
        unknown = [name for name in given if name not in self.names]
        wrong = f"lacks {', '.join(missing)}" if missing else f"does not take {', '.join(unknown)}"
        takes = ", ".join(str(s.argument) for s in self.slots if s.kind != "derived")
        raise ArgumentError(f"the call of {kernel} {wrong}: it takes {takes or 'q, k and v only'}")

    def values(self, given: Mapping[str, Any], known: Extents) -> tuple[bytes | None, dict[str, Any]]:
        """The arguments for C, and by name what has to live until the call has ended. Completes `known`."""
        if not self.slots:
            return None, {}
        converted = {
            s.argument.name: _CONVERT[s.kind](given[s.argument.name], s) for s in self.slots if s.kind in _CONVERT
        }
        known.update((s.argument.name, converted[s.argument.name].edges) for s in self.slots if s.kind == "graph")
        tables = [(s, converted[s.argument.name]) for s in self.slots if s.kind in ("table", "bits")]
        for slot, table in sorted(tables, key=lambda given: _is_packed(given[1])):
            _name_extents(slot, table, known)
        if self.is_paged:
            known["keys"] = known["pages"] * known.pop(SLOTS)
        for slot, table in tables:
            _require_extents(slot, table, known)
        packed = [
            known[s.argument.name] if s.kind == "derived" else _PACK[s.kind](converted[s.argument.name])
            for s in self.slots
        ]
        return self._format.pack(*packed), converted


def _slot_of(argument: Argument, axes: set[str]) -> Slot:
    if argument.shape:
        axes_of_table = tuple(map(Axis.of, argument.shape))
        if argument.type == "fovea_bits":
            return Slot(argument, "bits", axes_of_table)
        if argument.type not in TABLE_TYPES:
            raise Error(f"{argument.name} is a table of {argument.type}, which this package does not know")
        return Slot(argument, "table", axes_of_table)
    if argument.type == "int64_t":
        return Slot(argument, "derived" if argument.name in axes else "integer")
    if argument.type == "double":
        return Slot(argument, "real")
    if argument.type == "fovea_graph":
        return Slot(argument, "graph")
    raise Error(f"{argument.name} is of type {argument.type}, which this package does not know")


def _is_packed(table: Array | Bits) -> bool:
    """Whether its last axis may be shorter than its bytes say."""
    return isinstance(table, Bits) and table.is_packed


def _name_extents(slot: Slot, table: Array | Bits, known: Extents) -> None:
    """Axes that no array before has named get their extents from this one."""
    if table.ndim != len(slot.axes):
        raise ShapeError(_sentence(slot, table, known))
    for axis, extent in zip(slot.axes, table.shape):
        if axis.extent(known) is None and axis.name != "keys":
            known[axis.name] = extent - axis.more


def _require_extents(slot: Slot, table: Array | Bits, known: Extents) -> None:
    if isinstance(table, Bits):
        table.narrow(slot.axes[-1].extent(known))
    for axis, extent in zip(slot.axes, table.shape):
        if axis.extent(known) != extent or known.get(axis.name, 0) < 0:
            raise ShapeError(_sentence(slot, table, known))


def _sentence(slot: Slot, table: Array | Bits, known: Extents) -> str:
    names = ", ".join(axis.text for axis in slot.axes)
    needed = [axis.extent(known) for axis in slot.axes]
    here = ", ".join(
        axis.text if n is None or known.get(axis.name, 0) < 0 else str(n) for axis, n in zip(slot.axes, needed)
    )
    has = ", ".join(map(str, table.shape)) + (" bits" if table.shape and _is_packed(table) else "")
    return f"{slot.argument.name} is ({has}), it must be ({names})" + (f", here ({here})" if here != names else "")


def _real(x: Any, slot: Slot) -> float:
    if isinstance(x, (str, bytes)):
        raise ArgumentError(f"{slot.argument.name} is {x!r}, it must be a number")
    if getattr(x, "shape", ()) != ():
        raise ArgumentError(f"{slot.argument.name} is an array of shape {x.shape}, it must be a number")
    try:
        return float(x)
    except OverflowError:
        raise ArgumentError(f"{slot.argument.name} is {x}, which is more than a double can hold") from None
    except (TypeError, ValueError):
        raise ArgumentError(f"{slot.argument.name} is of type {type(x).__name__}, it must be a number") from None


_CONVERT: dict[str, Callable[[Any, Slot], Any]] = {
    "table": lambda x, slot: as_table(x, slot.argument.name, slot.argument.type),
    "bits": lambda x, slot: as_bits(x, slot.argument.name),
    "graph": lambda x, slot: graph_of(x, slot.argument.name),
    "real": _real,
    "integer": lambda x, slot: as_integer(x, slot.argument.name),
}
_PACK: dict[str, Callable[[Any], Any]] = {
    "table": address_of,
    "bits": lambda bits: address_of(bits.packed),
    "graph": operator.attrgetter("address"),
    "real": float,
    "integer": int,
}
