# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of kernels in what `torch.compile` and `torch.export` follow: nodes of their graphs.

The tensors that a kernel reads of variables are read here as a program reads them, so that the compiler of PyTorch has
them as inputs, and looks at each call whether they and the numbers that stand in the kernel's text are those of before.
The kernel itself is found by functions whose results it takes for constants.
"""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch as typed_torch

from ._capture import FIXED, NUMBERS, Captured, Variable, globals_in, is_array, is_of_package, names_in
from ._graph import Graph
from ._kernel import KernelOrMethod, TracedKernel
from ._source import Source
from ._specification import GraphArgument
from ._table import Number
from ._torch import in_eager, same_elements
from ._torch_operators import Passed, keeps_shape, results_of, text_of

torch: Any = typed_torch  # whose types differ from one version to the next


_BY_NAME = {"getattr", "vars", "__dict__", "globals", "locals", "eval", "exec"}  # what reads what no name tells
_SPECIAL = {
    f"__{name}__"
    for name in (
        "getattr getattribute getitem call iter len contains bool int float index array add radd sub rsub mul rmul "
        "truediv rtruediv floordiv rfloordiv mod rmod pow rpow lt le gt ge and rand or ror matmul rmatmul"
    ).split()
}


class _Argument(NamedTuple):
    """One of the arguments of a kernel in C++, and what a call takes it from."""

    kind: str
    given: str  # by the call
    read: Callable[[], Any] | None  # a variable


class _Followed(NamedTuple):
    """A kernel as it is traced for a call; `numbers` stand in its text."""

    text: str
    arguments: tuple[_Argument, ...]
    numbers: tuple[tuple[Callable[[], Any], Any], ...]
    results: Any


def call(
    kernel: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    threads: int | None,
    dtype: str | None,
    outputs: Any,
    arguments: dict[str, Any],
    drawn: tuple[str, ...] = (),
) -> Any:
    """A node of a graph, or a break of it; `drawn` are the names of numbers that tensors hold."""
    id(kernel)  # whose change is looked for
    if out is not None or dtype is not None or not same_elements(q, k, v):
        return outside(in_eager, kernel, q, k, v, out, threads, dtype, outputs, arguments)
    given = {**kernel._parameters, **arguments}
    kinds = tuple([(name, *_kind_of(x)) for name, x in given.items()])
    name = kernel.followed(kinds, threads, None if outputs is None else tuple(outputs), drawn)
    if name == "":
        return outside(in_eager, kernel, q, k, v, out, threads, dtype, outputs, arguments)
    followed = getattr(kernel, name)
    for read, value in followed.numbers:
        if read() != value:  # is looked at again by each call of the graph
            raise AssertionError
    passed = Passed()
    for kind, of_call, read in followed.arguments:
        passed.add(kind, given[of_call] if read is None else read())
    return passed.call(q, torch.as_tensor(k), torch.as_tensor(v), followed.text, followed.results)


def _outside(call_that_reads_what_torch_compile_cannot_follow: Callable[..., Any], *arguments: Any) -> Any:
    """A call that breaks a graph."""
    return call_that_reads_what_torch_compile_cannot_follow(*arguments)


def _kind_of(x: Any) -> tuple[Any, ...]:
    if isinstance(x, torch.Tensor):
        return ("table", x.dtype, x.dim())
    if isinstance(x, np.ndarray):
        x = torch.as_tensor(x)
        return ("table", x.dtype, x.dim())
    if isinstance(x, bool):
        return ("condition",)
    if isinstance(x, (int, torch.SymInt)):
        return ("integer",)
    if isinstance(x, (float, torch.SymFloat)):
        return ("real",)
    return ("graph", x.numbers is not None)


def _stand_in(kind: str, *of: Any) -> Any:
    """What a kernel is traced with in the place of an argument."""
    if kind == "table":
        return torch.empty((1,) * of[1], dtype=of[0])
    if kind == "graph":
        return Graph([0], [], [] if of[0] else None)
    return {"condition": False, "integer": 0, "real": 0.0}[kind]


def follow(
    kernel: TracedKernel,
    kinds: tuple[tuple[Any, ...], ...],
    threads: int | None,
    outputs: tuple[str, ...] | None,
    drawn: tuple[str, ...],
) -> str:
    """The attribute of a kernel that has what a graph has of it; empty where that would not see all that is read."""
    given = {name: 0 if name in drawn else _stand_in(*of) for name, *of in kinds}
    source, values = kernel.read(given)
    asked = kernel.outputs_asked(outputs)
    if not keeps_shape(source):
        return ""
    try:
        reads = _Reads(source.captured)
        arguments = tuple(_argument(name, source, values[name], given, drawn, reads) for name in values)
    except _Unseen:
        return ""
    text = text_of(kernel, source, asked, threads, drawn)
    name = "followed_" + hashlib.sha256(repr((text, kinds)).encode()).hexdigest()[:16]
    results = None if asked is None else results_of(asked)
    setattr(kernel, name, _Followed(text, arguments, tuple(reads.numbers), results))
    return name


def _argument(name: str, source: Source, value: Any, given: Any, drawn: tuple[str, ...], reads: _Reads) -> _Argument:
    if name in source.batch:
        return _Argument("batch", name if name in given else "query_offsets", None)
    argument = source.arguments[name]
    kind = "graph" if isinstance(argument, GraphArgument) else "table"
    if isinstance(argument, Number):
        kind = "drawn" if name in drawn else argument.kind
    if argument.parameter is not None:
        return _Argument(kind, argument.parameter, None)
    if source.captured.arrays.get((id(argument.array), argument.hint)) is argument:  # that of a variable
        return _Argument(kind, "", argument.read)
    read = reads.arrays.get(id(argument.array))
    if read is None:
        if source.captured.may_change:
            raise _Unseen
        read = Variable("table", globals(), types.CellType(argument.array)).reader()  # it is the same in each call
    return _Argument(kind, "", read)


def of_functions(score_mod: Any, mask_mod: Any, is_scaled: bool) -> Any:
    """The kernel of functions, which they keep: whether it is still theirs is looked for at each call. None for methods
    and other objects."""
    given = tuple([f for f in (score_mod, mask_mod) if f is not None])
    for f in given:
        if not isinstance(f, types.FunctionType):
            return None
    name = _keep_of_functions(score_mod, mask_mod, is_scaled)
    for f in given[1:]:
        id(getattr(f, name))
    return getattr(given[0], name) if given else getattr(_KEPT, name)


def _keep_of_functions(score_mod: Any, mask_mod: Any, is_scaled: bool) -> str:
    from .torch import kernel_of_functions

    kernel = kernel_of_functions(score_mod, mask_mod, is_scaled)
    name = f"__fovea_{id(kernel)}__"
    first, *others = [f for f in (score_mod, mask_mod) if f is not None] or [_KEPT]
    setattr(first, name, kernel)
    for other in others:
        setattr(other, name, _Kept())  # an object of its own, by which the function is known
    return name


def of_arguments(arguments: tuple[Any, ...]) -> Any:
    """The kernel for some arguments, which is kept for good."""
    return getattr(_KEPT, _keep_of_arguments(arguments))


def _keep_of_arguments(arguments: tuple[Any, ...]) -> str:
    from .torch import kernel_of_arguments

    kernel = kernel_of_arguments(*arguments)
    name = f"kernel_{id(kernel)}"
    setattr(_KEPT, name, kernel)
    return name


class _Kept:
    """What has kernels as attributes."""


_KEPT = _Kept()


class _Unseen(Exception):
    """Something is read that cannot be looked at by its name."""


class _Reads:
    """What functions read of objects that hold other values: arrays by their identity, and numbers."""

    def __init__(self, captured: Captured) -> None:
        self.arrays: dict[int, Callable[[], Any]] = {}
        self.numbers: list[tuple[Callable[[], Any], Any]] = []
        self._names = set(captured.names)
        self._functions: set[types.CodeType] = set()
        for read, value in captured.numbers:
            self._number(read, value)
        if captured.may_change and self._names & _BY_NAME:
            raise _Unseen
        seen: set[str] = set()
        while new := self._names - seen:
            seen |= new
            for holder, variable in captured.holders:
                self._look_at(holder, variable, new)

    def _number(self, read: Callable[[], Any], value: Any) -> None:
        if isinstance(value, np.generic):
            raise _Unseen
        self.numbers.append((read, value))

    def _look_at(self, holder: Any, variable: Variable, names: set[str]) -> None:
        users = [each for each in type(holder).__mro__ if each is not object and not is_of_package(each)]
        if not hasattr(holder, "__dict__") or any(name in vars(each) for each in users for name in _SPECIAL):
            raise _Unseen
        for name in sorted(names):
            if isinstance(inspect.getattr_static(type(holder), name, None), property):
                raise _Unseen
            if hasattr(holder, name):
                self._see(getattr(holder, name), variable.reader(name))

    def _see(self, value: Any, read: Callable[[], Any]) -> None:
        if is_array(value) or isinstance(value, Graph):
            self.arrays[id(value)] = read
        elif isinstance(value, NUMBERS):
            self._number(read, value)
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            self._enter(value.__func__ if isinstance(value, types.MethodType) else value)
        elif not isinstance(value, FIXED) and not hasattr(value, "__fovea_stages__"):
            raise _Unseen

    def _enter(self, function: Any) -> None:
        """A function that is called as an attribute: what it reads of variables, no trace has seen."""
        if is_of_package(function) or function.__code__ in self._functions:
            return
        self._functions.add(function.__code__)
        around = function.__globals__
        self._names |= names_in(function.__code__)
        for name in sorted(globals_in(function.__code__) & around.keys()):
            self._see(around[name], Variable(name, around).reader())
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._see(cell.cell_contents, Variable(name, around, cell).reader())


outside: Callable[..., Any] = torch.compiler.disable(_outside)
for _constant in (TracedKernel.followed, KernelOrMethod.bind, _keep_of_functions, _keep_of_arguments):
    torch.compiler.assume_constant_result(_constant)
