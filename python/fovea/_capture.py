# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function reads of the variables around it: arrays become tables of a kernel, numbers stand in its text.

An array cannot be indexed by a placeholder, so a function is called with tables in the place of its arrays.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ._errors import ArgumentError
from ._expression import Expression
from ._graph import Graph
from ._table import Table

_PACKAGES = ("fovea", "numpy", "torch")  # whose functions read no arrays of a user's
_NUMBERS = (bool, int, float, str, np.generic, type(None))
_FIXED = (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc, Expression)  # they hold nothing that may change


class Captured:
    """The variables that a trace has read, to be looked at again by each call."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[int, str], Any] = {}  # by the array and its name: what stands for it
        self.numbers: list[tuple[Callable[[], Any], Any]] = []
        self.may_change = False  # whether something was read that holds other values, such as self

    def stand_in(self, value: Any, name: str, read: Callable[[], Any]) -> Any:
        """What a function gets in the place of a variable; the variable itself, if it is no array."""
        from ._specification import GraphArgument

        if is_array(value) or isinstance(value, Graph):
            make = GraphArgument if isinstance(value, Graph) else Table
            return self.arrays.setdefault((id(value), name), make(value, name, read))
        if isinstance(value, _NUMBERS):
            self.numbers.append((read, value))
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            return rebound(value)
        elif not isinstance(value, _FIXED) and not hasattr(value, "__fovea_stages__"):
            self.may_change = True
        return value

    def changed(self) -> bool:
        """Whether some number may be another one now: it stands in the text of the kernel."""
        return self.may_change or any(read() is not value for read, value in self.numbers)


_captured: ContextVar[Captured | None] = ContextVar("captured", default=None)
_rebinding: ContextVar[tuple[Any, ...]] = ContextVar("rebinding", default=())


@contextmanager
def capturing() -> Iterator[Captured]:
    """Collects what functions read while a kernel is traced."""
    captured = Captured()
    token = _captured.set(captured)
    try:
        yield captured
    finally:
        _captured.reset(token)


def param(array: Any) -> Table:
    """A table that is no variable of its own: an attribute, an element of a list."""
    captured = _captured.get()
    if isinstance(array, Table):
        return array
    if not is_array(array):
        raise ArgumentError(f"param takes an array, this is of type {type(array).__name__}")
    return Table(array) if captured is None else captured.arrays.setdefault((id(array), ""), Table(array))


def is_array(x: Any) -> bool:
    """Whether something is an array of NumPy, PyTorch or DLPack."""
    if isinstance(x, (Expression, np.generic)):
        return False
    return isinstance(x, np.ndarray) or (hasattr(x, "__dlpack__") and hasattr(x, "shape"))


def rebound(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with tables in the place of the arrays that it reads from around it."""
    captured = _captured.get()
    if captured is not None and isinstance(function, types.MethodType):
        captured.may_change = True
        return types.MethodType(rebound(function.__func__), function.__self__)
    if captured is None or not isinstance(function, types.FunctionType) or function in _rebinding.get():
        return function
    if (function.__module__ or "").partition(".")[0] in _PACKAGES:
        return function
    token = _rebinding.set((*_rebinding.get(), function))
    try:
        return _rebound(function, captured)
    finally:
        _rebinding.reset(token)


def _rebound(function: types.FunctionType, captured: Captured) -> Callable[..., Any]:
    variables, around = _names_in(function.__code__), function.__globals__
    changed = {
        name: captured.stand_in(around[name], name, lambda name=name: around.get(name))  # type: ignore[misc]
        for name in variables
        if name in around
    }
    same = all(changed[name] is around[name] for name in changed)
    cells = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            cells.append(cell)
            continue
        replaced = captured.stand_in(value, name, lambda cell=cell: cell.cell_contents)  # type: ignore[misc]
        cells.append(cell if replaced is value else types.CellType(replaced))
        same = same and replaced is value
    defaults = tuple(param(x) if is_array(x) else x for x in function.__defaults__ or ())
    if same and all(x is y for x, y in zip(defaults, function.__defaults__ or ())):
        return function
    made = types.FunctionType(
        function.__code__, {**around, **changed}, function.__name__, defaults, tuple(cells) or None
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@functools.lru_cache(maxsize=256)
def _names_in(code: types.CodeType) -> frozenset[str]:
    """The names of globals in a function and in those that it defines."""
    reads = ("LOAD_GLOBAL", "LOAD_NAME")  # names of attributes are in co_names too
    names = frozenset(each.argval for each in dis.get_instructions(code) if each.opname in reads)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names
