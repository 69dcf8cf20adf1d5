# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function reads of the variables around it: arrays become tables of a kernel, numbers stand in its text.

An array cannot be indexed by a placeholder, so a function is called with tables in the place of its arrays.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from ._errors import ArgumentError
from ._expression import Expression
from ._graph import Graph
from ._table import Table
from ._typing import Operand

_PACKAGES = ("fovea", "numpy", "torch")  # whose functions read no arrays of a user's
NUMBERS = (bool, int, float, str, np.generic, type(None))
FIXED = (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc, Expression)  # they hold nothing that may change


class Variable(NamedTuple):
    """A variable of a function: a global one, or one in a cell."""

    name: str
    around: dict[str, Any]
    cell: Any = None

    def reader(self, attribute: str = "") -> Callable[[], Any]:
        """A function that reads it, or an attribute of it, as a program does: `torch.compile` sees what is read."""
        code = _code_of_reader(self.name, attribute, self.cell is not None)
        return types.FunctionType(code, self.around, "read", (), None if self.cell is None else (self.cell,))


class Captured:
    """The variables that a trace has read, to be looked at again by each call."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[int, str], Any] = {}  # by the array and its name: what stands for it
        self.numbers: list[tuple[Callable[[], Any], Any]] = []
        self.may_change = False  # whether something was read that holds other values, such as self
        self.holders: list[tuple[Any, Variable]] = []  # these
        self.names: set[str] = set()  # of variables and attributes, in all functions that were called

    def stand_in(self, value: Any, variable: Variable) -> Any:
        """What a function gets in the place of a variable; the variable itself, if it is no array."""
        from ._specification import GraphArgument

        if is_array(value) or isinstance(value, Graph):
            make = GraphArgument if isinstance(value, Graph) else Table
            name = variable.name
            return self.arrays.setdefault((id(value), name), make(value, name, variable.reader()))
        if isinstance(value, NUMBERS):
            self.numbers.append((variable.reader(), value))
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            return rebound(value)
        elif not isinstance(value, FIXED) and not hasattr(value, "__fovea_stages__"):
            self.hold(value, variable)
        return value

    def hold(self, value: Any, variable: Variable) -> None:
        """Something is read that holds other values."""
        self.may_change = True
        self.holders.append((value, variable))

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


@contextmanager
def capturing_if_nothing_does() -> Iterator[None]:
    """Lets functions outside of a kernel, such as that of a mask, read arrays too: each is a table."""
    with contextlib.nullcontext() if _captured.get() is not None else capturing():
        yield


def param(array: Operand | Table) -> Table:
    """A table that is no variable of its own: an attribute, an element of a list."""
    captured = _captured.get()
    if isinstance(array, Table):
        return array
    if not is_array(array):
        raise ArgumentError(f"param takes an array, this is of type {type(array).__name__}")
    table = Table(array)
    if captured is not None:
        table = captured.arrays.setdefault((id(array), ""), table)
    return table


def is_array(x: Any) -> bool:
    """Whether something is an array of NumPy, PyTorch or DLPack."""
    if isinstance(x, (Expression, np.generic)):
        return False
    return isinstance(x, np.ndarray) or (hasattr(x, "__dlpack__") and hasattr(x, "shape"))


def is_of_package(function: Callable[..., Any]) -> bool:
    """Whether a function is of a package whose functions read no arrays of a user's."""
    return (function.__module__ or "").partition(".")[0] in _PACKAGES


def rebound(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with tables in the place of the arrays that it reads from around it."""
    captured = _captured.get()
    if captured is not None and isinstance(function, types.MethodType):
        of = function.__self__
        captured.hold(of, Variable("self", globals(), types.CellType(of)))
        return types.MethodType(rebound(function.__func__), of)
    if captured is None or not isinstance(function, types.FunctionType) or function in _rebinding.get():
        return function
    if is_of_package(function):
        return function
    token = _rebinding.set((*_rebinding.get(), function))
    try:
        return _rebound(function, captured)
    finally:
        _rebinding.reset(token)


def _rebound(function: types.FunctionType, captured: Captured) -> Callable[..., Any]:
    code, around = function.__code__, function.__globals__
    captured.names |= names_in(code)
    changed = {
        name: captured.stand_in(around[name], Variable(name, around))
        for name in globals_in(code)
        if name in around
    }
    same = all(changed[name] is around[name] for name in changed)
    cells = []
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            cells.append(cell)
            continue
        replaced = captured.stand_in(value, Variable(name, around, cell))
        cells.append(cell if replaced is value else types.CellType(replaced))
        same = same and replaced is value
    defaults = tuple(param(x) if is_array(x) else x for x in function.__defaults__ or ())
    if same and all(x is y for x, y in zip(defaults, function.__defaults__ or ())):
        return function
    made = types.FunctionType(code, {**around, **changed}, function.__name__, defaults, tuple(cells) or None)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@functools.lru_cache(maxsize=256)
def names_in(code: types.CodeType) -> frozenset[str]:
    """The names of globals and attributes in a function and in those that it defines."""
    return frozenset(code.co_names).union(*map(names_in, _codes_in(code)))


@functools.lru_cache(maxsize=256)
def globals_in(code: types.CodeType) -> frozenset[str]:
    """The names of globals alone."""
    reads = ("LOAD_GLOBAL", "LOAD_NAME")
    names = frozenset(each.argval for each in dis.get_instructions(code) if each.opname in reads)
    return names.union(*map(globals_in, _codes_in(code)))


def _codes_in(code: types.CodeType) -> list[types.CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def _templates() -> dict[tuple[bool, bool], types.CodeType]:
    """Functions that read a variable, by whether it is in a cell and whether an attribute of it is read."""
    variable: Any = None
    return {
        (True, False): (lambda: variable).__code__,
        (True, True): (lambda: variable.attribute).__code__,
        (False, False): (lambda: NUMBERS).__code__,
        (False, True): (lambda: NUMBERS.attribute).__code__,  # type: ignore[attr-defined]
    }


@functools.lru_cache(maxsize=1024)  # equal functions have one code
def _code_of_reader(name: str, attribute: str, is_free: bool) -> types.CodeType:
    code = _templates()[is_free, bool(attribute)]
    attributes = (attribute,) if attribute else ()
    if is_free:
        return code.replace(co_freevars=(name,), co_names=attributes)
    return code.replace(co_names=(name, *attributes))
