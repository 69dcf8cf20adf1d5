# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of kernels under the transforms of `torch.func`: functions of autograd that these take apart."""

from __future__ import annotations

from typing import Any

import torch as typed_torch

from ._errors import UnsupportedError
from ._torch import SECOND
from ._torch_operators import attend, differentiate, gradient, keep, one_by_one

torch: Any = typed_torch  # whose types differ from one version to the next


class _Attend(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(q: Any, k: Any, v: Any, reals: Any, integers: Any, kernel: str, *tables: Any) -> Any:
        return tuple(attend(q, k, v, list(tables), reals, integers, kernel, True))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        q, k, v, reals, integers, kernel, *tables = inputs
        keep(ctx, (q, k, v, tables, reals, integers, kernel, True), output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        needs = ctx.needs_input_grad
        q, k, v, tables, *_ = differentiate(ctx, grads, (*needs[:3], needs[6:]), _gradient)
        return q, k, v, None, None, None, *tables

    vmap = staticmethod(one_by_one(lambda *x: _Attend.apply(*x)))


class _Gradient(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(count: int, others: Any, *tensors: Any) -> Any:
        q, k, v, d_result, *more = tensors
        reals, integers, kernel, wanted, with_lse = others
        tables, more = more[:count], more[count:]
        d_outputs, forward = (more[:1], more[1:]) if with_lse else ([], more)
        return tuple(gradient(q, k, v, tables, reals, integers, kernel, wanted, d_result, d_outputs, forward))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise UnsupportedError(SECOND)

    vmap = staticmethod(one_by_one(lambda *x: _Gradient.apply(*x)))


def _gradient(
    q: Any,
    k: Any,
    v: Any,
    tables: Any,
    reals: Any,
    integers: Any,
    kernel: str,
    wanted: Any,
    d: Any,
    outputs: Any,
    forward: Any,
) -> Any:
    others = (reals, integers, kernel, wanted, len(outputs) > 0)
    return _Gradient.apply(len(tables), others, q, k, v, d, *tables, *outputs, *forward)


def functional(q: Any, k: Any, v: Any, tables: Any, reals: Any, integers: Any, kernel: str, _: bool) -> Any:
    """What the operator gives."""
    return _Attend.apply(q, k, v, reals, integers, kernel, *tables)
