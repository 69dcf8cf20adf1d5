# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are written in Python: traced, compiled for the types of a call, and kept."""

from __future__ import annotations

import ctypes
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _compile, _ready
from ._arrays import REALS, elements_of, is_tensor
from ._capture import Captured, capturing, is_array, rebound
from ._errors import ArgumentError, ShapeError, UnsupportedError, counted
from ._expression import Expression
from ._graph import Graph
from ._info import Gradients, Results
from ._library import Library
from ._outputs import outputs_among
from ._repeat import OfNumPy, RepeatedCall, Repeats
from ._source import KERNEL, NAME, OF_BATCH, OUTPUTS, Source, source_of, text_with_arguments
from ._specification import PARAMETERS, GraphArgument, Specification
from ._table import Number, Table
from ._types import types_named, types_of
from ._typing import Array, ArrayLike, OfCall, Operand, TensorLike

if TYPE_CHECKING:
    from ._picture import MaskPicture

_background = ThreadPoolExecutor(1, "fovea-compile")
_NEEDED_SHAPE = re.compile(r"result is .* and must be \(([\d, ]+)\)")
_libraries: dict[str, Library] = {}  # of all kernels: functions that are made anew are often the same text


class TracedKernel:
    """A kernel that Python wrote, to be called on queries, keys and values.

    `fovea.kernel` makes it. As a method of a class it reads what its object has. The code for a type of elements is
    compiled by the first call that needs it, and kept in `~/.cache/fovea`.

    Raises
    ------
    ArgumentError : what the function asks of placeholders is not in the language, or a call lacks a parameter.
    ShapeError : shapes that do not fit each other, or a table with another number of axes than before.
    UnsupportedError : there is no compiler, or no code for what is asked.

    Example
    -------
        temperatures = np.array([0.5, 1, 2, 4])

        @fovea.kernel
        def sharpened(score, head):
            return score / temperatures[head] | fovea.sparsemax

        q, k, v, d_result = np.random.rand(4, 2, 4, 37, 11)
        result = sharpened(q, k, v)  # (batch, head, position, feature)
        d = sharpened.gradient(q, k, v, d_result)
        assert d.query.shape == q.shape and d.tables["temperatures"].shape == (4,)
    """

    def __init__(self, what: Callable[..., object] | Specification | str, arguments: dict[str, Any]) -> None:
        self._what = what
        self._arguments = arguments
        self._source: Source | None = None
        self._signature: tuple[Any, ...] = ()
        self._parameters: dict[str, Any] = {}
        self._repeats = Repeats(OfNumPy, RepeatedCall)
        self.calls_on_tensors: Any = None
        self.__name__ = getattr(what, "__name__", "kernel")
        if not self.__name__.isidentifier() or not self.__name__.isascii():
            self.__name__ = "kernel"
        self.__doc__ = getattr(what, "__doc__", None) if callable(what) else None
        self.__wrapped__ = what
        if callable(what) and not isinstance(what, Specification):
            for name, parameter in inspect.signature(what).parameters.items():
                if name not in PARAMETERS:
                    self._parameters[name] = parameter.default

    def __reduce__(self) -> Any:
        return type(self), (self._what, self._arguments)

    @property
    def text(self) -> str:
        """The specification in C++, in which each table has the name of its variable."""
        return self.trace().words

    @property
    def definition(self) -> str:
        """The specification as KERNELS of fovea_add_kernels takes it: a function of what a call passes."""
        return self.trace().text

    def trace(self, **arguments: Any) -> Source:
        """What this kernel is in C++, for arguments of some types."""
        given = self._given(arguments)
        signature = tuple(_type_of(x) for x in given.values())
        if self._source is None or signature != self._signature or self._source.captured.changed():
            source = self._traced(given)
            if self._source is not None and source.is_like(self._source):
                source.libraries.update(self._source.libraries)
            self._source, self._signature = source, signature
        return self._source

    @overload
    def __call__(
        self,
        q: TensorLike[OfCall],
        k: Operand,
        v: Operand,
        /,
        out: Operand | None = ...,
        threads: int | None = ...,
        dtype: None = ...,
        outputs: None = ...,
        **arguments: Any,
    ) -> OfCall: ...
    @overload
    def __call__(
        self,
        q: TensorLike[OfCall],
        k: Operand,
        v: Operand,
        /,
        out: Operand | None = ...,
        threads: int | None = ...,
        dtype: None = ...,
        *,
        outputs: Iterable[str],
        **arguments: Any,
    ) -> Results[OfCall]: ...
    @overload
    def __call__(
        self,
        q: ArrayLike,
        k: Operand,
        v: Operand,
        /,
        out: Operand | None = ...,
        threads: int | None = ...,
        dtype: str | None = ...,
        outputs: None = ...,
        **arguments: Any,
    ) -> Array: ...
    @overload
    def __call__(
        self,
        q: ArrayLike,
        k: Operand,
        v: Operand,
        /,
        out: Operand | None = ...,
        threads: int | None = ...,
        dtype: str | None = ...,
        *,
        outputs: Iterable[str],
        **arguments: Any,
    ) -> Results[Array]: ...
    def __call__(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        /,
        out: Operand | None = None,
        threads: int | None = None,
        dtype: str | None = None,
        outputs: Iterable[str] | None = None,
        **arguments: Any,
    ) -> Any:
        """The result, an array, or a tensor where the queries are one: then it is part of autograd.

        Parameters
        ----------
        q, k, v : as those of `fovea.attend`, each of a type of its own if it likes: reals of 16 to 64 bits, and keys and
            values also of 8 bits, or of blocks as bytes.
        out : what the result is written to; not of tensors that require a gradient.
        threads : how many may compute it; 1 if not given, of tensors as many as PyTorch has.
        dtype : the types where arrays do not say them: "bf16" of the bits of bfloat16 in uint16, "f32_q8_0_q4_0" of queries,
            keys and values.
        outputs : what to give beside the result, of lse, weights, scores, entropy, best_key and column_sums.
        arguments : the parameters of the function that are no placeholders; `page_table` (batch, pages) where keys and
            values lie in pages, `query_offsets` and `key_offsets` (sequences + 1) where sequences follow each other.

        Returns
        -------
        (batch, head, query, feature of v), with as many axes as q has; with `outputs` a `fovea.Results`.
        """
        if type(q) is not np.ndarray and is_tensor(q):
            from . import _torch

            return _torch.call(self, q, k, v, out, threads, dtype, outputs, arguments)
        source, values = self.read(arguments)
        type_name = types_of(q, k, v, out, dtype)
        threads = 1 if threads is None else threads
        asked = self.outputs_asked(outputs)
        library = self.library(source, type_name, "kernel", asked or ())
        if out is None and asked is None:
            result = self._repeats(library, KERNEL, (q, k, v), values, type_name, threads)
            if result is not None:
                return result
        return self.result(library, q, k, v, out, threads, type_name, asked, values)

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
        """The gradients of what a call reads, compiled when they are first asked for; see `fovea.gradient`."""
        source, values = self.read(arguments)
        outputs = ("lse",) if d_outputs or forward is not None else ()
        type_name = types_of(q, k, v, None, dtype)
        library = self.library(source, type_name, "gradient", outputs)
        d = library.gradient(q, k, v, d_result, KERNEL, threads, type_name, wanted, d_outputs, forward, **values)
        for name, gradient in d.tables.items():  # computed in the type of the call
            of = source.arguments[name]
            d.tables[name] = gradient.reshape(() if of.rank == 0 else gradient.shape).astype(of.dtype, copy=False)
        return d

    def prepare(self, dtype: str = "f32", gradients: bool = False, **arguments: Any) -> Future[None]:
        """Begins to compile in a thread; calls wait until it is done.

        Parameters
        ----------
        dtype : the elements of queries, "f32", "f64", "bf16" or "f16".
        gradients : whether the gradients are compiled too.
        arguments : as those of a call, where the function has parameters that are no placeholders.
        """
        source = self.trace(**arguments)
        purpose = "gradient" if gradients else "kernel"
        return _background.submit(lambda: void(self.library(source, dtype, purpose)))

    def explain(self, q: Operand, k: Operand, v: Operand, /, dtype: str | None = None, **arguments: Any) -> str:
        """What runs for some operands: as `explain` of C++ says it; compiled by itself when it is first asked for."""
        source, values = self.read(arguments)
        type_name = types_of(q, k, v, None, dtype)
        return self.library(source, type_name, "explain").explain(q, k, v, KERNEL, type_name, **values)

    def picture(
        self,
        q: Any = None,
        k: Any = None,
        v: Any = None,
        /,
        *,
        queries: int | None = None,
        keys: int | None = None,
        heads: int | None = None,
        batch: int | None = None,
        block: int | tuple[int, int] | None = None,
        **arguments: Any,
    ) -> MaskPicture:
        """Draws which blocks of queries and keys the masks leave, for the operands of a call or for other sizes.

        Parameters
        ----------
        q, k, v, arguments : as those of a call; only the extents of operands are read.
        queries, keys, heads, batch, block : as those of `Specification.picture`; extents of operands, if they are not
            given.
        """
        from ._picture import picture_of_kernel

        drawn = picture_of_kernel(self, (q, k), (queries, keys, heads, batch), block, arguments)
        assert drawn is not None
        return drawn

    def _repr_svg_(self) -> str | None:
        from ._picture import picture_of_kernel, shown_in_notebook

        nothing = (None, None, None, None)
        return shown_in_notebook(lambda: picture_of_kernel(self, (None, None), nothing, None, {}, is_asked=False))

    def read(self, arguments: dict[str, Any]) -> tuple[Source, dict[str, Any]]:
        """What this kernel is in C++, and what a call passes to it now: by the names of C++."""
        batch = {name: arguments[name] for name in OF_BATCH if name in arguments and name not in self._parameters}
        if batch:
            arguments = {name: x for name, x in arguments.items() if name not in batch}
            if "key_offsets" in batch and "query_offsets" not in batch:
                raise ArgumentError("key_offsets is given without query_offsets, which says where each sequence begins")
            if "query_offsets" in batch:
                batch.setdefault("key_offsets", batch["query_offsets"])
        source = self.trace(**arguments)
        given = self._given(arguments) if self._parameters else arguments
        values = {}
        for name, argument in source.arguments.items():
            value = argument.read() if argument.parameter is None else given[argument.parameter]
            if isinstance(argument, Table):
                value = _as_traced(value, argument, name, self.__name__)
            values[name] = value
        return (source.of_batch(tuple(batch)), {**values, **batch}) if batch else (source, values)

    def followed(self, *how: Any) -> str:
        """The name of an attribute that has `torch.compile` sees of this kernel; empty where that is not all."""
        from ._torch_compile import follow

        return follow(self, *how)

    def outputs_asked(self, outputs: Iterable[str] | None) -> tuple[str, ...] | None:
        """The names of outputs that a call asks for; None for the result alone."""
        return None if outputs is None else outputs_among(outputs, self.__name__, OUTPUTS)

    def library(self, source: Source, type_name: str, purpose: str, outputs: tuple[str, ...] = ()) -> Library:
        """The library that a kernel is compiled into; for its gradients, for outputs, or to explain it, another one."""
        found = source.libraries.get((type_name, purpose, outputs))
        if found is None:
            in_order = tuple(name for name in OUTPUTS if name in outputs)  # each choice is compiled once
            found = source.libraries[type_name, purpose, outputs] = self._compiled(source, type_name, purpose, in_order)
        return found

    def _compiled(self, source: Source, type_name: str, purpose: str, outputs: tuple[str, ...]) -> Library:
        types = types_named(type_name)
        if purpose == "kernel" and not outputs and not source.batch:
            ready = _ready.find(source, type_name)
            if ready is not None:
                return ready
        if source.batch and purpose != "kernel" and (purpose, source.batch) != ("explain", ("page_table",)):
            raise UnsupportedError(f"{self.__name__} is given {source.batch[0]}: for such calls there is no {purpose}")
        if purpose == "gradient" and len(set(types)) > 1:
            raise UnsupportedError(
                f"{self.__name__} is given {type_name}: gradients are of queries, keys and values of one type of reals"
            )
        unit = source.unit(type_name, purpose, outputs)
        if unit not in _libraries:
            if purpose == "kernel":
                with_gradients = source.unit(type_name, "gradient", outputs)  # has the kernel too
                if with_gradients in _libraries or _compile.is_compiled(with_gradients):
                    return self.library(source, type_name, "gradient", outputs)
            purposes = [*([] if purpose == "kernel" else [purpose]), *outputs]
            what = f"{self.__name__} for {type_name}" + (f" ({', '.join(purposes)})" if purposes else "")
            _libraries[unit] = Library(_compile.library_of(unit, what, f"{NAME}_*"), NAME)
        return _libraries[unit]

    def result(
        self,
        library: Library,
        q: Any,
        k: Any,
        v: Any,
        out: Any,
        threads: int,
        type_name: str,
        asked: tuple[str, ...] | None,
        values: dict[str, Any],
    ) -> Any:
        """The result of a call, with what is asked for beside it; where words change its shape, the call says it."""
        attend: Callable[..., Any] = library.attend
        try:
            return attend(q, k, v, KERNEL, out, threads, type_name, asked, **values)
        except ShapeError as error:
            needed = _NEEDED_SHAPE.match(str(error))
            if out is not None or needed is None:
                raise
        array, _ = elements_of(q, "query", type_name)
        shape = tuple(map(int, needed[1].split(", ")))[4 - array.ndim :]
        out = np.empty(shape, REALS[types_named(type_name).result])
        return attend(q, k, v, KERNEL, out, threads, type_name, asked, **values)

    def _given(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if not self._parameters and not arguments:
            return arguments
        unknown = [name for name in arguments if name not in self._parameters]
        given = {**self._parameters, **arguments}
        missing = [name for name, value in given.items() if value is inspect.Parameter.empty]
        if unknown or missing:
            wrong = f"does not take {', '.join(unknown)}" if unknown else f"lacks {', '.join(missing)}"
            takes = ", ".join(self._parameters) or "q, k and v only"
            raise ArgumentError(f"the call of {self.__name__} {wrong}: it takes {takes}")
        return given

    def _traced(self, given: dict[str, Any]) -> Source:
        with capturing() as captured:
            if isinstance(self._what, str):
                return _source_of_text(self._what, self._arguments, captured)
            if isinstance(self._what, Specification):
                return source_of(self._what, captured)
            stand_ins = {name: _stand_in(name, x) for name, x in given.items()}
            for name, argument in stand_ins.items():
                argument.parameter = name
            result = _call(self._what, stand_ins)
            if not isinstance(result, Specification):
                has = f"{result!r}" if isinstance(result, Expression) else f"of type {type(result).__name__}"
                raise ArgumentError(
                    f"{self.__name__} returns what is {has}, it must be a specification: score | fovea.softmax"
                )
            return source_of(result, captured)

    def __repr__(self) -> str:
        needs = inspect.Parameter.empty in self._parameters.values()
        return f"<kernel {self.__name__}{'' if needs else f': {self.text}'}>"


class KernelOrMethod(TracedKernel):
    """A kernel that becomes a method where it is an attribute of a class: each object has a kernel of its own."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    def __get__(self, instance: Any, owner: type | None = None) -> TracedKernel:
        """The kernel of a method, which its object keeps."""
        if instance is None:
            return self
        if "torch" in sys.modules:
            from ._torch import is_compiling

            if is_compiling():
                from . import _torch_compile as _  # has the compiler call `bind`, not follow it
        self.bind(id(instance))
        return getattr(instance, self._attribute)  # type: ignore[no-any-return]

    def bind(self, address: int) -> None:
        """Has an object keep the kernel of its method; the object, which lives, is told by its address."""
        instance = ctypes.cast(address, ctypes.py_object).value
        function: Any = self._what
        instance.__dict__[self._attribute] = TracedKernel(types.MethodType(function, instance), {})


def void(_: Any) -> None:
    """Nothing."""


def _call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    by_name = {**PARAMETERS, **given}
    places, named = [], {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            named[name] = by_name[name]
        else:
            places.append(by_name[name])
    return rebound(function)(*places, **named)


def _stand_in(name: str, value: Any) -> Any:
    if is_array(value):
        return Table(value, name)
    if isinstance(value, Graph) or hasattr(value, "indptr"):
        return GraphArgument(value, name)
    if isinstance(value, (bool, int, float, np.number)):
        number = value.item() if isinstance(value, np.number) else value
        return Number(number, name, lambda: value)
    raise ArgumentError(f"{name} is of type {type(value).__name__}, it must be a table, a number or a graph")


def _source_of_text(text: str, given: dict[str, Any], captured: Captured) -> Source:
    arguments = {name: _stand_in(name, value) for name, value in given.items()}
    tables = tuple(name for name, a in arguments.items() if isinstance(a, Table) and a.kind == "real")
    return Source(text, text_with_arguments(text, arguments), arguments, tables, captured)


def _type_of(x: Any) -> Any:
    return (x.dtype, len(x.shape)) if is_array(x) else type(x)


def _as_traced(value: Any, table: Table, name: str, kernel: str) -> Any:
    """An array that a table stands for, which has as many axes as when the kernel was traced."""
    shape = getattr(value, "shape", None)
    if shape is None or len(shape) != table.rank:
        now = f"is of type {type(value).__name__}" if shape is None else f"has {counted(len(shape), 'axis')}"
        raise ShapeError(
            f"{name} {now}, it had {counted(table.rank, 'axis')} when {kernel} was traced: index it by as many "
            "expressions, and decorate a function for each number of axes"
        )
    return value if table.rank > 0 else value.reshape(1)


@overload
def kernel(what: Callable[..., object] | Specification | str, /, **arguments: Any) -> TracedKernel: ...
@overload
def kernel(what: None = None, /, **arguments: Any) -> Callable[[Callable[..., object]], TracedKernel]: ...
def kernel(
    what: Callable[..., object] | Specification | str | None = None, /, **arguments: Any
) -> TracedKernel | Callable[[Callable[..., object]], TracedKernel]:
    """Makes a kernel of a function of placeholders, of a specification, or of its text in C++.

    Parameters
    ----------
    what : a function, whose parameters are placeholders by their names (q, k, score, q_idx or i, kv_idx or j, head or
        h, batch or b, ...); others are arguments that each call passes. It returns words joined by `|`. Arrays that it
        reads from around it are tables, and may be other ones later; numbers stand in its text.
    arguments : of a text, the tables, numbers and graphs that it names.

    Returns
    -------
    A `fovea.TracedKernel`, or without a function, `@fovea.kernel()`, what makes it of one.

    Raises
    ------
    ArgumentError : it is none of these; the call, not the decorator, says what is wrong with the function.

    Example
    -------
        vector = np.ones(11, np.float32)

        @fovea.kernel
        def additive(q, k):
            return vector @ np.tanh(q + k) | fovea.softmax

        query, key, value = np.ones((3, 2, 4, 37, 11), np.float32)
        result = additive(query, key, value)
        by_text = fovea.kernel("additive(vector) | softmax | weighted_sum", vector=vector)
        assert np.allclose(result, 1) and by_text.definition.startswith("takes<")
    """
    if what is None:
        return lambda function: kernel(function, **arguments)
    if isinstance(what, (Specification, str)) or callable(what):
        return KernelOrMethod(what, arguments)
    raise ArgumentError(f"kernel is of type {type(what).__name__}, it must be a function, a specification or its text")
