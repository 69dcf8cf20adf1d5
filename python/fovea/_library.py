# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries of kernels and the calls of them."""

from __future__ import annotations

import ctypes
import operator
import os
import re
import struct
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from . import _abi
from ._arrays import (
    Array,
    address_of,
    elements_of,
    extents_of,
    layout_of,
    numbers_to_round,
    require_dtype,
    rounded_like,
    said,
)
from ._errors import ArgumentError, Error, UnsupportedError, error_of_status, require_type
from ._info import Argument, ElementTypes, Gradients, Kernel, Results, wanted_gradients
from ._operands import Operands, Result, elements_like, operand
from ._outputs import Output, Outputs, packed_forward, packed_gradients
from ._plan import Plan
from ._typing import Operand, OperandType, RoundedElement


_OPERANDS = ("query", "key", "value")


class Scratch:
    """The scratch memory of calls and the place for their messages, of one thread; freed when that ends."""

    def __init__(self, library: Library) -> None:
        workspace = library._create_workspace()
        if not workspace:
            raise MemoryError("there is no memory for a workspace")
        # The process takes the memory with it: at exit a daemon thread may still be computing in it.
        weakref.finalize(self, library._destroy_workspace, workspace).atexit = False
        self._message = ctypes.create_string_buffer(1024)
        self.call = _abi.Call(1, workspace, ctypes.addressof(self._message), len(self._message))

    @property
    def message(self) -> str:
        return self._message.value.decode("utf-8", "replace")


class Compiled:
    """The code of one kernel for one type of elements."""

    def __init__(self, entry: _abi.KernelEntry) -> None:
        self.name: str = entry.name.decode()
        self.type: str = entry.type.decode()
        self.types = ElementTypes(*(name.decode() for name in entry.types))
        self.specification: str = entry.specification.decode()
        self.comment: str = entry.comment.decode("utf-8", "replace")
        self.formula: str = entry.formula.decode()
        self.architecture: str | None = entry.architecture.decode() if entry.architecture else None
        self.arguments = [_argument_of(entry.arguments[i]) for i in range(entry.argument_count)]
        self.plan = Plan.of(self.arguments)
        self.run = entry.run
        self.gradient = entry.gradient if entry.gradient else None
        self.tables_with_gradient = [
            a.name for i, a in enumerate(self.arguments) if entry.arguments[i].has_gradient
        ]
        self.keeps_shape = bool(entry.keeps_shape)
        self.outputs = tuple(Output.of(entry.outputs[i]) for i in range(entry.output_count))
        self.choices = Outputs(self.name, self.outputs)
        self.run_outputs = entry.run_outputs
        self.takes_forward = bool(entry.takes_forward)


class BoundKernel:
    """One kernel of a library, to be called on queries, keys and values: `library.causal(q, k, v)`.

    Attributes
    ----------
    info : what the library says of it, a `fovea.Kernel`.

    Example
    -------
        library = fovea.load(os.environ["FOVEA_KERNELS"])
        causal = library.causal
        q = np.ones((10, 16), np.float32)
        assert causal(q, q, q).shape == q.shape and causal.info.name == "causal"
    """

    info: Kernel

    def __init__(self, library: Library, info: Kernel) -> None:
        self._library = library
        self.info = info
        self.__name__ = info.name
        takes = "".join(f"\n    {argument}" for argument in info.arguments)
        parts = [info.comment, info.specification, info.formula, f"Arguments:{takes}" if takes else ""]
        self.__doc__ = "\n\n".join(part for part in parts if part) + "\n"

    @overload
    def __call__(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,
        out: None = ...,
        threads: int = ...,
        dtype: str | None = ...,
        outputs: None = ...,
        **arguments: Any,
    ) -> Array: ...
    @overload
    def __call__(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,
        out: OperandType,
        threads: int = ...,
        dtype: str | None = ...,
        outputs: None = ...,
        **arguments: Any,
    ) -> OperandType: ...
    @overload
    def __call__(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,
        out: Operand | None = ...,
        threads: int = ...,
        dtype: str | None = ...,
        *,
        outputs: Iterable[str],
        **arguments: Any,
    ) -> Results[Any]: ...
    def __call__(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,
        out: Operand | None = None,
        threads: int = 1,
        dtype: str | None = None,
        outputs: Iterable[str] | None = None,
        **arguments: Any,
    ) -> Any:
        """The result; see `fovea.attend`."""
        attend: Any = self._library.attend
        return attend(q, k, v, self.info.name, out, threads, dtype, outputs, **arguments)

    def gradient(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        d_result: Operand,
        /,
        threads: int = 1,
        dtype: str | None = None,
        wanted: Iterable[str] | None = None,
        d_outputs: Mapping[str, Any] | None = None,
        forward: Sequence[Any] | None = None,
        **arguments: Any,
    ) -> Gradients:
        """Computes gradients of this kernel; see `fovea.gradient`."""
        return self._library.gradient(
            q, k, v, d_result, self.info.name, threads, dtype, wanted, d_outputs, forward, **arguments
        )

    def __repr__(self) -> str:
        return f"<kernel {self.info.name} for {', '.join(self.info.types)}: {self.info.specification}>"


class Library:
    """A library of kernels that `fovea_add_kernels` has made. Each kernel is also an attribute, to be called.

    Parameters
    ----------
    path : of the shared library.
    name : the TARGET of fovea_add_kernels; NAME of libNAME.so if not given.

    Raises
    ------
    Error : there is no library at the path, or one of another version or name.

    Example
    -------
        library = fovea.Library(os.environ["FOVEA_KERNELS"])
        q = np.ones((10, 16), np.float32)
        assert np.all(library.causal(q, q, q) == library.attend(q, q, q, "causal"))
    """

    path: Path
    name: str

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        require_type(path, (str, os.PathLike), "path", "the path of a library of kernels")
        require_type(name, (str, type(None)), "name", "the TARGET of fovea_add_kernels")
        self.path = Path(path)
        if not self.path.is_file():
            raise Error(f"there is no library of kernels at {self.path}")
        try:
            self._handle = ctypes.CDLL(os.path.abspath(self.path))
        except OSError as error:
            raise Error(f"{self.path} cannot be loaded: {error}") from error
        self.name = name if name is not None else _name_in(self.path)
        if (version := self._function("bindings_version", ctypes.c_int)()) != _abi.VERSION:
            raise Error(f"{self.path} has bindings of version {version}, this package knows {_abi.VERSION}")
        self._create_workspace = self._function("workspace_create", ctypes.c_void_p)
        self._destroy_workspace = self._function("workspace_destroy", None, ctypes.c_void_p)
        numbers = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
        self._quantize = self._function("quantize", ctypes.c_int, ctypes.POINTER(_abi.Call), *numbers)
        self._scratch = threading.local()
        self._compiled: dict[str, dict[str, Compiled]] = {}
        count = ctypes.c_size_t()
        list_kernels = self._function("kernels", ctypes.POINTER(_abi.KernelEntry), ctypes.POINTER(ctypes.c_size_t))
        entries = list_kernels(ctypes.byref(count))
        for i in range(count.value):
            compiled = Compiled(entries[i])
            self._compiled.setdefault(compiled.name, {})[compiled.type] = compiled
        self._kernels = {name: _info_of(list(types.values())) for name, types in self._compiled.items()}

    def kernels(self) -> list[Kernel]:
        """The kernels that there are to call."""
        return list(self._kernels.values())

    @overload
    def attend(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,
        kernel: str = ...,
        out: None = ...,
        threads: int = ...,
        dtype: str | None = ...,
        outputs: None = ...,
        **arguments: Any,
    ) -> Array: ...
    @overload
    def attend(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,
        kernel: str = ...,
        *,
        out: OperandType,
        threads: int = ...,
        dtype: str | None = ...,
        outputs: None = ...,
        **arguments: Any,
    ) -> OperandType: ...
    @overload
    def attend(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,
        kernel: str = ...,
        out: Operand | None = ...,
        threads: int = ...,
        dtype: str | None = ...,
        *,
        outputs: Iterable[str],
        **arguments: Any,
    ) -> Results[Any]: ...
    def attend(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,  # kernels may take arguments of these names
        kernel: str = "causal",
        out: Operand | None = None,
        threads: int = 1,
        dtype: str | None = None,
        outputs: Iterable[str] | None = None,
        **arguments: Any,
    ) -> Any:
        """Computes a kernel of this library; see `fovea.attend`."""
        compiled, x, values, kept = self._bind(q, k, v, kernel, dtype, arguments)
        result = Result(out, q, x.arrays[0], x.types.result, dtype, x.extents[2][3], compiled.keeps_shape)
        packed = _abi.operands_format.pack(*x.layout(), *layout_of(result.written, extents_of(result.written)))
        hint = ": pass an array of that shape as out" if out is None and not compiled.keeps_shape else ""
        if outputs is None:
            self._run(compiled.run, threads, packed, values, hint=hint)
            return result.finished()
        if not compiled.outputs:
            raise self._built_without("outputs", kernel, "OUTPUTS")
        asked = compiled.choices.asked(outputs, x)
        self._run(compiled.run_outputs, threads, packed + asked.packed, values, hint=hint)
        del kept
        return asked.beside(result.finished())

    def gradient(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        d_result: Operand,
        /,  # kernels may take arguments of these names
        kernel: str = "causal",
        threads: int = 1,
        dtype: str | None = None,
        wanted: Iterable[str] | None = None,
        d_outputs: Mapping[str, Any] | None = None,
        forward: Sequence[Any] | None = None,
        **arguments: Any,
    ) -> Gradients:
        """Computes gradients of a kernel of this library; see `fovea.gradient`."""
        compiled, x, values, tables = self._bind(q, k, v, kernel, dtype, arguments)
        if compiled.gradient is None:
            raise self._built_without("gradients", kernel, "GRADIENTS")
        what = "the gradient of the result"
        d = operand(elements_like(d_result, what, dtype, x.types.result, "query"), what, x.types.result)
        names = wanted_gradients(wanted, kernel, self._kernels[kernel].gradients)
        results = [
            Result(None, given, array, x.types.result, dtype, array.shape[-1], True) if name in names else None
            for name, given, array in zip(_OPERANDS, (q, k, v), x.arrays)
        ]
        of_tables = {
            name: np.empty(tables[name].shape, tables[name].dtype)
            for name in compiled.tables_with_gradient
            if name in names
        }
        targets_of_rows = [layout_of(r.written, extents_of(r.written)) if r else _abi.nowhere for r in results]
        layouts = [layout_of(d, extents_of(d)), *targets_of_rows]
        packed = _abi.gradient_operands_format.pack(*x.layout(), *(n for layout in layouts for n in layout))
        of_outputs, kept = packed_gradients(d_outputs, kernel, compiled.outputs, x)
        if compiled.takes_forward:
            of_forward, more = packed_forward(forward, dtype, compiled.outputs, x)
            of_outputs, kept = of_outputs + of_forward, kept + more
        elif forward is not None:
            raise ArgumentError(f"forward is given, and gradients of {kernel} in {self.path.name} do not take it")
        targets = [address_of(of_tables[a.name]) if a.name in of_tables else 0 for a in compiled.arguments]
        if values is not None:
            values += struct.pack(f"{len(targets)}P", *targets)
        self._run(compiled.gradient, threads, packed + of_outputs, values)
        del kept
        query, key, value = (result.finished() if result else None for result in results)
        return Gradients(query, key, value, of_tables)

    def explain(self, q: Operand, k: Operand, v: Operand, /, kernel: str, dtype: str | None, **arguments: Any) -> str:
        """What runs for a call: of libraries whose kernels write that into the message."""
        compiled, x, values, kept = self._bind(q, k, v, kernel, dtype, arguments)
        text = ctypes.create_string_buffer(1 << 16)
        call = _abi.Call(1, None, ctypes.addressof(text), len(text))
        status = compiled.run(call, _abi.operands_format.pack(*x.layout(), *_abi.nowhere), values)
        del kept
        said = text.value.decode("utf-8", "replace")
        if status != 0:
            raise error_of_status(status, said)
        return said

    def results_of(self, kernel: str, outputs: tuple[str, ...]) -> Any:
        """The type of what a call of a kernel with outputs gives."""
        return next(iter(self._compiled[kernel].values())).choices.results_of(outputs)

    def quantize(self, x: Operand, /, type: RoundedElement) -> Array:
        """Rounds rows to the elements of a cache; see `fovea.quantize`."""
        require_type(type, str, "type", "the name of a type of elements")
        numbers = numbers_to_round(x)
        rounded = rounded_like(numbers, type)
        self._run(self._quantize, 1, type.encode(), address_of(numbers), numbers.size, address_of(rounded))
        return rounded

    def _bind(
        self, q: Any, k: Any, v: Any, kernel: str, dtype: str | None, arguments: dict[str, Any]
    ) -> tuple[Compiled, Operands, bytes | None, dict[str, Any]]:
        """What a call reads: operands and values as C takes them, and the arrays of values, which have to live on."""
        require_type(kernel, str, "kernel", "the name of a kernel")
        require_dtype(dtype, self._compiled.get(kernel, ()))
        compiled, arrays = self._find(kernel, (q, k, v), dtype)
        plan = compiled.plan
        least = 4 if plan.is_paged else 2
        query, key, value = (
            operand(array, name, type_name, least if name != "query" else 2)
            for array, name, type_name in zip(arrays, _OPERANDS, compiled.types)
        )
        operands = Operands((query, key, value), compiled.types)
        plan.require_names(kernel, arguments)
        operands.known = operands.known_extents(plan.is_paged)
        values, kept = plan.values(arguments, operands.known)
        return compiled, operands, values, kept

    def _run(self, run: Any, threads: int, *arguments: Any, hint: str = "") -> None:
        scratch = getattr(self._scratch, "value", None)
        if scratch is None:
            scratch = self._scratch.value = Scratch(self)
        scratch.call.threads = _thread_count(threads)
        status = run(scratch.call, *arguments)
        if status != 0:
            message = scratch.message
            raise error_of_status(status, message + (hint if message.startswith("result is") else ""))

    def _find(self, kernel: str, given: tuple[Any, Any, Any], dtype: str | None) -> tuple[Compiled, list[Array]]:
        """The code of a kernel for queries, keys and values, and these as arrays."""
        types = self._compiled.get(kernel)
        if types is None:
            raise Error(self._no_kernel(kernel))
        left = list(types.values()) if dtype is None else [types[dtype]] if dtype in types else []
        arrays = []
        for place, name in enumerate(_OPERANDS):
            array, found = elements_of(given[place], name, dtype)
            arrays.append(array)
            fitting = [compiled for compiled in left if compiled.types[place] in found]
            if not fitting:
                raise self._no_code(kernel, name, said(array, found), dtype, left)
            left = fitting
        if len(left) > 1:
            names = ", ".join(compiled.type for compiled in left)
            raise ArgumentError(
                f"these arrays may be of several types that {kernel} is built for: pass dtype, one of {names}"
            )
        return left[0], arrays

    def _no_code(self, kernel: str, name: str, has: str, dtype: str | None, left: list[Compiled]) -> Error:
        built = f"{kernel} is built for {', '.join(self._compiled[kernel])} in {self.path.name}"
        if name == "query" and (dtype is None or has == dtype):
            return UnsupportedError(f"{built}, not for {has}")
        if dtype is not None:
            return ArgumentError(f"{name} has elements of {has}, dtype is {dtype}")
        if all(compiled.type == compiled.types.query for compiled in left):
            return ArgumentError(f"{name} has elements of {has}, query has {left[0].types.query}")
        return ArgumentError(f"{name} has elements of {has}, {built}")

    def _built_without(self, what: str, kernel: str, keyword: str) -> Error:
        having = [name for name, info in self._kernels.items() if getattr(info, what)]
        return UnsupportedError(
            f"{kernel} is built without {what} in {self.path.name}, which has those of "
            f"{', '.join(having) or 'no kernel'}: name it in {keyword} of fovea_add_kernels"
        )

    def _no_kernel(self, kernel: str) -> str:
        return f"there is no kernel {kernel!r} in {self.path.name}, which has {', '.join(sorted(self._kernels))}"

    def _function(self, name: str, result: Any, *arguments: Any) -> Any:
        symbol = f"{self.name}_{name}"
        try:
            function = getattr(self._handle, symbol)
        except AttributeError:
            raise Error(f"{self.path} has no function {symbol}: pass the TARGET of fovea_add_kernels as name") from None
        function.restype, function.argtypes = result, arguments
        return function

    def __getattr__(self, name: str) -> BoundKernel:
        kernels = self.__dict__.get("_kernels", {})
        if name not in kernels:
            what = self._no_kernel(name) if kernels and not name.startswith("_") else f"there is no attribute {name!r}"
            raise AttributeError(what)
        bound = BoundKernel(self, kernels[name])
        self.__dict__[name] = bound
        return bound

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._kernels})

    def __repr__(self) -> str:
        return f"<fovea.Library {self.name}: {', '.join(self._kernels)}>"


def _thread_count(threads: Any) -> int:
    try:
        count = operator.index(threads)
    except TypeError:
        raise ArgumentError(f"threads is {threads!r}, it must be an integer") from None
    if count < 1:
        raise ArgumentError(f"threads is {count}, it must be 1 or more")
    return min(count, 2**31 - 1)


def _argument_of(entry: _abi.ArgumentEntry) -> Argument:
    axes = entry.shape.decode().strip("()")
    return Argument(entry.name.decode(), entry.type.decode(), tuple(a.strip() for a in axes.split(",") if a.strip()))


def _info_of(compiled: list[Compiled]) -> Kernel:
    first = compiled[0]
    return Kernel(
        first.name,
        tuple(c.type for c in compiled),
        tuple(c.types for c in compiled),
        first.specification,
        first.comment,
        first.formula,
        tuple(c.architecture for c in compiled),
        tuple(s.argument for s in first.plan.slots if s.kind != "derived"),
        (*_OPERANDS, *first.tables_with_gradient) if first.gradient else (),
        tuple(output.name for output in first.outputs),
        tuple(output.name for output in first.outputs if output.has_gradient),
        first.takes_forward,
    )


def _name_in(path: Path) -> str:
    """libNAME.so, with a version behind it, libNAME.dylib, NAME.dll."""
    return re.sub(r"^lib", "", re.sub(r"\.(so(\.\d+)*|dylib|dll)$", "", path.name))
