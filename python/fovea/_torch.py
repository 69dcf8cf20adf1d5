# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on tensors of PyTorch, whose results are part of autograd. Imported with the first tensor that is passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from ._arrays import as_numpy
from ._errors import ArgumentError, UnsupportedError
from ._info import ElementTypes
from ._repeat import OfNumPy, RepeatedCall, RepeatedGradient, Repeats
from ._source import KERNEL
from ._types import types_named, types_of

_TYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16"}
_DTYPES = {name: dtype for dtype, name in _TYPES.items()}
_KNOWN = (torch.Tensor, torch.nn.Parameter)
HAS_OPERATORS = hasattr(torch.library, "register_autograd")  # PyTorch 2.4
is_compiling: Callable[[], bool] = getattr(torch, "compiler").is_dynamo_compiling if HAS_OPERATORS else bool
transforms: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active") if HAS_OPERATORS else bool
_modes: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", int)
_unpack_dual: Any = forward_ad.unpack_dual
SECOND = "kernels have no second derivatives: a gradient of theirs cannot be differentiated"
_OPERANDS = ("query", "key", "value")


class OfTorch:
    """How tensors are looked at and made."""

    empty = staticmethod(torch.empty)

    @staticmethod
    def address(x: Any) -> int:
        return OfNumPy.address(x) if type(x) is np.ndarray else x.data_ptr()  # type: ignore[no-any-return]

    @staticmethod
    def as_array(x: Any) -> Any:
        """The same memory in NumPy."""
        return as_numpy(x, "a tensor") if isinstance(x, torch.Tensor) else x

    @staticmethod
    def result_dtype(q: Any, types: ElementTypes) -> Any:
        """What the elements of a result are."""
        return _DTYPES[types.result]

    @staticmethod
    def layout(x: Any) -> Any:
        """All but the address; None for what is no tensor that lies in memory."""
        if type(x) is np.ndarray:
            return (x.shape, x.strides, x.dtype)
        if type(x) in _KNOWN and x.is_cpu and x.layout is torch.strided and not x.is_neg():
            return (x.shape, x.stride(), x.dtype)
        return None


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
) -> Any:
    """The call of a kernel on tensors: a node where a graph of calls is made of a program, and done otherwise."""
    if is_compiling():
        from ._torch_compile import call as followed

        return followed(kernel, q, k, v, out, threads, dtype, outputs, arguments)
    if forward_ad._current_level >= 0 and (transforms() or any([_is_dual(x) for x in (q, k, v)])):
        raise UnsupportedError("kernels have no derivatives in forward mode: take those of backward()")
    if HAS_OPERATORS and out is None and (transforms() or _modes() > 0 or _has_no_memory(q)):
        from ._torch_operators import call as operator

        if dtype is not None or not same_elements(q, k, v):
            raise UnsupportedError("operands of types of their own are no operator: call outside of what is followed")
        return operator(kernel, q, k, v, threads, outputs, arguments)
    return in_eager(kernel, q, k, v, out, threads, dtype, outputs, arguments)


def same_elements(q: Any, k: Any, v: Any) -> bool:
    """Whether queries, keys and values are of one type."""
    return bool(q.dtype == torch.as_tensor(k).dtype == torch.as_tensor(v).dtype)


def _has_no_memory(x: Any) -> bool:
    """Whether a tensor tells operators itself what they do, as fake ones do."""
    return type(x) not in _KNOWN and type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def _is_dual(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and _unpack_dual(x).tangent is not None


def in_eager(kernel: Any, *of_call: Any) -> Any:
    """The call itself, which takes what `call` does."""
    calls = kernel.calls_on_tensors
    if calls is None:
        calls = kernel.calls_on_tensors = Calls(kernel)
    return calls(*of_call)


def type_name_of(q: Any) -> str:
    """The type of kernels for the elements of a tensor."""
    name = _TYPES.get(q.dtype)
    if name is None:
        raise ArgumentError(f"query has elements of {q.dtype}, it must have float32, float64, float16 or bfloat16")
    return name


class Calls:
    """The calls of a kernel on tensors."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._repeated = Repeats(OfTorch, RepeatedCall)
        self._repeated_gradients = Repeats(OfTorch, RepeatedGradient)

    def __call__(
        self,
        q: Any,
        k: Any,
        v: Any,
        out: Any,
        threads: int | None,
        dtype: str | None,
        outputs: Any,
        arguments: dict[str, Any],
    ) -> Any:
        """The result: a tensor, part of autograd where one that it depends on requires a gradient; with `outputs` a
        tuple of it and these, of which `lse` is part of autograd too."""
        source, values = self._kernel.read(arguments)
        asked = self._kernel.outputs_asked(outputs)
        if type(k) is np.ndarray or type(v) is np.ndarray:
            k, v = torch.as_tensor(k), torch.as_tensor(v)
        type_name = _TYPES.get(q.dtype) if dtype is None and out is None and q.dtype == k.dtype == v.dtype else None
        if type_name is None:
            type_name = types_of(q, k, v, out, dtype)
        if threads is None:
            threads = torch.get_num_threads()
        if not torch.is_grad_enabled():
            library = self._kernel.library(source, type_name, "kernel", asked or ())
            return self.forward((self, source, library, type_name, threads, asked, values), q, k, v, out)
        tensors = [x for x in values.values() if isinstance(x, torch.Tensor)]
        needs = q.requires_grad or k.requires_grad or v.requires_grad or any([x.requires_grad for x in tensors])
        library = self._kernel.library(source, type_name, "gradient" if needs else "kernel", asked or ())
        call = (self, source, library, type_name, threads, asked, values)
        if not needs:
            return self.forward(call, q, k, v, out)
        if out is not None:
            raise ArgumentError("out is not part of autograd: call without it, or under torch.no_grad()")
        if asked is None:
            return _Attention.apply(call, q, k, v, *tensors)
        return library.results_of(KERNEL, asked)(*_AttentionWithOutputs.apply(call, q, k, v, *tensors))

    def forward(self, call: Any, q: Any, k: Any, v: Any, out: Any = None) -> Any:
        """The result."""
        _, _, library, type_name, threads, asked, values = call
        if out is None and asked is None:
            result = self._repeated(library, KERNEL, (q, k, v), values, type_name, threads)
            if result is not None:
                return result
        found = self._kernel.result(library, q, k, v, out, threads, type_name, asked, values)
        result = found if asked is None else found.result
        if out is None:
            result = _tensor(result, _DTYPES[types_named(type_name).result])
        if asked is None:
            return result
        return found._replace(result=result, **{name: torch.from_numpy(getattr(found, name)) for name in asked})

    def backward(
        self, call: Any, q: Any, k: Any, v: Any, d: Any, wanted: list[bool], d_outputs: Any = None, forward: Any = None
    ) -> list[Any]:
        """The gradients of queries, keys, values and of each of the values of a call, where they are wanted."""
        _, _, library, type_name, threads, asked, values = call
        if 0 in d.stride():
            d = d.contiguous()
        if asked is None:
            arrays = (q, k, v, d)
            found = self._repeated_gradients(library, KERNEL, arrays, values, type_name, threads, tuple(wanted))
            if found is not None:
                return found  # type: ignore[no-any-return]
        names = [name for name, needed in zip((*_OPERANDS, *values), wanted) if needed]
        g = library.gradient(q, k, v, d, KERNEL, threads, type_name, names, d_outputs, forward, **values)
        of_operands = [None if x is None else _tensor(x, q.dtype) for x in (g.query, g.key, g.value)]
        return of_operands + [
            torch.from_numpy(g.tables[name]).to(x.dtype) if name in g.tables else None for name, x in values.items()
        ]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: Any, q: Any, k: Any, v: Any, *tensors: Any) -> Any:  # type: ignore[override]
        ctx.call = call
        ctx.save_for_backward(q, k, v, *tensors)
        return call[0].forward(call, q, k, v)

    @staticmethod
    def backward(ctx: Any, d_result: Any) -> Any:  # type: ignore[override]
        return _gradients(ctx, d_result)


class _AttentionWithOutputs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: Any, q: Any, k: Any, v: Any, *tensors: Any) -> Any:  # type: ignore[override]
        found = call[0].forward(call, q, k, v)
        info = call[2].kernels()[0]
        ctx.call, ctx.takes_forward = call, info.takes_forward and "lse" in found._fields
        constant = [x for name, x in zip(found._fields[1:], found[1:]) if name not in info.d_outputs]
        ctx.mark_non_differentiable(*constant)
        ctx.of_lse = found._fields.index("lse") - 1 if "lse" in info.d_outputs else None
        ctx.save_for_backward(q, k, v, *tensors, *((found.result, found.lse) if ctx.takes_forward else ()))
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, d_result: Any, *d_outputs: Any) -> Any:  # type: ignore[override]
        d = None if ctx.of_lse is None else {"lse": d_outputs[ctx.of_lse].contiguous()}
        return _gradients(ctx, d_result, d, ctx.saved_tensors[-2:] if ctx.takes_forward else None)


def _gradients(ctx: Any, d_result: Any, *of_outputs: Any) -> Any:
    calls, source, *_, values = call = ctx.call
    q, k, v, *_ = ctx.saved_tensors  # which says where one has been written to
    needs = iter(ctx.needs_input_grad[1:])
    wanted = [next(needs), next(needs), next(needs)]
    is_tensor = [isinstance(x, torch.Tensor) for x in values.values()]
    for name, each in zip(values, is_tensor):
        wanted.append(each and next(needs) and name in source.with_gradient)
    found = calls.backward(call, q, k, v, d_result, wanted, *of_outputs)
    if torch.is_grad_enabled():  # create_graph
        found = _Once.apply(len(found), *found, *(x for x in (d_result, *ctx.saved_tensors) if x.requires_grad))
    return (None, *found[:3], *(d for d, each in zip(found[3:], is_tensor) if each))


class _Once(torch.autograd.Function):
    """Gradients that have none themselves: autograd would take them for constants."""

    @staticmethod
    def forward(ctx: Any, count: int, *gradients: Any) -> Any:  # type: ignore[override]
        return tuple(None if x is None else x.view_as(x) for x in gradients[:count])

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise UnsupportedError(SECOND)


def _tensor(array: Any, dtype: Any) -> Any:
    """The same memory as a tensor."""
    if dtype is torch.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
