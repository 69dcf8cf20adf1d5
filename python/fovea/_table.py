# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel takes with each call: tables, whose elements expressions read, and numbers; and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import ArgumentError, ShapeError, counted
from ._expression import LOOSEST, Expression, as_expression

UNNAMED = "table"  # an array that no variable names


class Table(Expression):
    """An array whose elements a kernel reads."""

    __slots__ = ("array", "dtype", "hint", "parameter", "read", "shape")

    def __init__(self, array: Any, hint: str = UNNAMED, read: Callable[[], Any] | None = None) -> None:
        self.array = array
        self.hint = hint
        self.read = read if read is not None else lambda: array  # what a call passes, unless it is
        self.parameter: str | None = None  # by its caller
        self.dtype = dtype_of(array)
        super().__init__(kind_of(self.dtype, hint), "")
        self.free = len(array.shape)
        self.shape = tuple(_Extent(self, axis) for axis in range(self.free))

    @property
    def rank(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    def text(self, names: Names) -> str:
        return f"param({names.of(self)})" + ("[0]" if self.rank == 0 else "")

    def __getitem__(self, index: Any) -> Element:
        return Element(self, index if isinstance(index, tuple) else (index,))

    def __len__(self) -> int:
        raise ArgumentError(f"len({self.hint}) is not known while a kernel is traced: write {self.hint}.shape[0]")


class Element(Expression):
    """An element of a table, or a row of them."""

    __slots__ = ("indices", "table")

    def __init__(self, table: Table, index: tuple[Any, ...]) -> None:
        while index and isinstance(index[-1], slice) and index[-1] == slice(None):
            index = index[:-1]
        if len(index) > table.rank:
            raise ShapeError(
                f"{table.hint} has {counted(table.rank, 'axis')} and is read at {counted(len(index), 'expression')}: "
                "it takes one for each axis"
            )
        self.table = table
        self.indices = tuple(_index(table, axis, each) for axis, each in enumerate(index))
        super().__init__(table.kind, "", [(each, LOOSEST) for each in self.indices])
        self.free = table.rank - len(self.indices)

    def text(self, names: Names) -> str:
        inside = [each.text(names) for each in self.indices]
        table = f"param({names.of(self.table)})"
        if not inside:
            return table
        return f"{table}[{inside[0]}]" if len(inside) == 1 else f"{table}({', '.join(inside)})"

    def __getitem__(self, index: Any) -> Element:
        return Element(self.table, (*self.indices, *(index if isinstance(index, tuple) else (index,))))


class _Extent(Expression):
    """How long an axis of a table is in a call."""

    __slots__ = ("axis", "table")

    def __init__(self, table: Table, axis: int) -> None:
        super().__init__("integer", "", constant=True)
        self.table, self.axis = table, axis

    def text(self, names: Names) -> str:
        return f"{names.of(self.table)}.extents[{self.axis}]"


class Number(Expression):
    """A number that a call passes."""

    __slots__ = ("c_type", "hint", "parameter", "read")

    def __init__(self, value: Any, hint: str, read: Callable[[], Any]) -> None:
        kind = "condition" if isinstance(value, bool) else "integer" if isinstance(value, int) else "real"
        super().__init__(kind, "", constant=True)
        self.hint, self.read = hint, read
        self.parameter: str | None = None
        self.c_type = {"condition": "bool", "integer": "index_t", "real": "double"}[kind]

    def text(self, names: Names) -> str:
        return names.of(self)


class Names:
    """The names of what a kernel takes, in the order in which it is read first."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        self._names: dict[int, str] = {}
        self.arguments: list[Any] = []

    def of(self, argument: Any) -> str:
        """The name of an argument: that of its variable, where no word of C++ has it."""
        unnamed = isinstance(argument, Table) and argument.hint == UNNAMED
        key = id(argument.array if unnamed else argument)
        if key not in self._names:
            hint = argument.hint.lstrip("_") if argument.hint.isascii() else ""
            hint = hint if hint.isidentifier() else UNNAMED
            name, more = hint, 2
            while name in self._taken:
                name = f"{hint}_{more}" if name != hint or more > 2 else f"{hint}_"
                more += name != f"{hint}_"
            self._taken.add(name)
            self._names[key] = name
            self.arguments.append(argument)
        return self._names[key]


def dtype_of(array: Any) -> np.dtype[Any]:
    """The elements of an array of NumPy, PyTorch or DLPack, as NumPy names them."""
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype
    name = str(dtype).removeprefix("torch.")
    return np.dtype({"bfloat16": "float32", "half": "float16", "float": "float32"}.get(name, name))


def kind_of(dtype: np.dtype[Any], name: str) -> str:
    """The kind of the elements of a table."""
    kinds = {"f": "real", "i": "integer", "u": "integer", "b": "condition"}
    if dtype.kind not in kinds:
        raise ArgumentError(f"{name} has elements of {dtype}: a table has reals, integers or conditions")
    return kinds[dtype.kind]


def _index(table: Table, axis: int, index: Any) -> Expression:
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        return as_expression(index) if index >= 0 else table.shape[axis] - abs(int(index))
    if isinstance(index, slice) or index is None or index is Ellipsis:
        raise ArgumentError(f"{table.hint} is read in whole rows or at an index for each axis: {table.hint}[head, :]")
    e = as_expression(index)
    if e.kind != "integer" or e.free:
        raise ArgumentError(f"an index of {table.hint} is {e!r}, it must be an integer: // divides and rounds down")
    return e
