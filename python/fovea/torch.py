# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with the signatures of PyTorch, forward and backward on CPUs.

    import fovea.torch

    result = fovea.torch.flex_attention(query, key, value, score_mod, block_mask=mask_mod)
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Literal, Protocol, overload

try:
    import torch
except ImportError as error:
    raise ImportError("fovea.torch needs PyTorch (on Debian: apt install python3-torch)") from error

from ._errors import ArgumentError, ShapeError
from ._functions import FUNCTIONS
from ._kernel import TracedKernel
from ._specification import Specification, word
from ._torch import HAS_OPERATORS, is_compiling

if HAS_OPERATORS:
    from . import _torch_operators as _  # graphs that are kept in files have these

__all__ = ["flex_attention", "scaled_dot_product_attention"]

class HasMaskMod(Protocol):
    """What has a mask_mod, as the BlockMask of PyTorch does."""

    @property
    def mask_mod(self) -> Callable[..., object]:
        """(b, h, q_idx, kv_idx), whether a query sees a key."""
        ...


_MOST = 16  # kernels that a function keeps, each with another one


@overload
def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., object] | None = ...,
    block_mask: Callable[..., object] | HasMaskMod | None = ...,
    scale: float | None = ...,
    enable_gqa: bool = ...,
    return_lse: Literal[False] = ...,
    kernel_options: object = ...,
) -> torch.Tensor: ...
@overload
def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., object] | None = ...,
    block_mask: Callable[..., object] | HasMaskMod | None = ...,
    scale: float | None = ...,
    enable_gqa: bool = ...,
    *,
    return_lse: Literal[True],
    kernel_options: object = ...,
) -> tuple[torch.Tensor, torch.Tensor]: ...
@overload
def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., object] | None = ...,
    block_mask: Callable[..., object] | HasMaskMod | None = ...,
    scale: float | None = ...,
    enable_gqa: bool = ...,
    *,
    return_lse: bool,
    kernel_options: object = ...,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]: ...
def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., object] | None = None,
    block_mask: Callable[..., object] | HasMaskMod | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: object = None,
) -> Any:
    """Softmax attention with a score and a mask of one's own, as `torch.nn.attention.flex_attention`, with gradients.

    Tensors that the functions read have gradients too. A function is compiled once, when it is first used; one that is
    defined anew for each call is traced each time, which takes less than a millisecond.

    Parameters
    ----------
    query, key, value : (batch, head, position, feature) of float32, float64, float16 or bfloat16.
    score_mod : (score, b, h, q_idx, kv_idx), from the scaled score to the one that softmax takes.
    block_mask : a mask_mod (b, h, q_idx, kv_idx), or what has one as an attribute `mask_mod`, as BlockMask does. Blocks
        are found from the condition.
    scale : of the inner product; 1 / sqrt(features) if not given.
    enable_gqa : whether several heads of queries may share one of keys.
    return_lse : whether the logarithms of the sums of exponentials are given too.
    kernel_options : is not looked at.

    Returns
    -------
    (batch, head, query, feature of value); with `return_lse` also the natural logarithm of the sum of exponentials of
    each query's scores, (batch, head, query), which has gradients too.

    Raises
    ------
    ShapeError : operands that are not (batch, head, position, feature); other heads of keys, without `enable_gqa`.
    ArgumentError : what the functions ask of their parameters is not in the language of kernels.

    Example
    -------
        slopes = torch.tensor([0.5, 0.1, 0.02, 0.004], dtype=torch.float64, requires_grad=True)

        def score_mod(score, b, h, q_idx, kv_idx):
            return 50 * torch.tanh((score + slopes[h] * (kv_idx - q_idx)) / 50)

        def mask_mod(b, h, q_idx, kv_idx):
            return (kv_idx <= q_idx) & (q_idx - kv_idx < 16)

        query, key, value = torch.randn(3, 2, 4, 13, 6, dtype=torch.float64, requires_grad=True)
        out = fovea.torch.flex_attention(query, key, value, score_mod, block_mask=mask_mod)
        out.square().sum().backward()
        assert out.shape == query.shape and slopes.grad.shape == (4,)
    """
    _require_axes(4, query=query, key=key, value=value)
    _require_heads(query, key, enable_gqa)
    mask_mod = getattr(block_mask, "mask_mod", block_mask)
    if is_compiling():
        from ._torch_compile import of_functions, outside

        kernel = of_functions(score_mod, mask_mod, scale is not None)
        if kernel is None:
            return outside(flex_attention, query, key, value, score_mod, block_mask, scale, enable_gqa, return_lse)
    else:
        kernel = kernel_of_functions(score_mod, mask_mod, scale is not None)
    key, value = (_of_batch(x, query.shape[0]) for x in (key, value))
    arguments: dict[str, Any] = {} if scale is None else {"scale": float(scale)}
    found = kernel(query, key, value, outputs=("lse",) if return_lse else None, **arguments)
    return tuple(found) if return_lse else found


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Softmax attention with the arguments of `torch.nn.functional.scaled_dot_product_attention`, with gradients.

    Parameters
    ----------
    query, key, value : (..., position, feature), of float32, float64, float16 or bfloat16, with one batch axis or more.
    attn_mask : (..., queries, keys), of bool, where a key is seen, or of reals, which are added to scores and may
        require a gradient. Axes of extent 1 are read in place.
    dropout_p : the probability with which weights are dropped, by numbers that `torch.manual_seed` seeds.
    is_causal : whether a query sees the keys up to its own position alone.
    scale, enable_gqa : as those of `flex_attention`.

    Returns
    -------
    (..., query, feature of value)

    Raises
    ------
    ArgumentError : `attn_mask` with `is_causal`, or with elements of another type; `dropout_p` not from 0 to 1.
    ShapeError : operands with less than 3 axes; a mask that does not fit; other heads of keys, without `enable_gqa`.

    Example
    -------
        query, key, value = torch.randn(3, 2, 4, 13, 6, dtype=torch.float64)
        out = fovea.torch.scaled_dot_product_attention(query, key, value, is_causal=True)
        assert torch.allclose(out[..., 0, :], value[..., 0, :])  # the first query sees the first key alone
    """
    if attn_mask is not None and is_causal:
        raise ArgumentError("attn_mask is given and is_causal is true: of both pass one")
    if not 0 <= dropout_p <= 1:
        raise ArgumentError(f"dropout_p is {dropout_p}, it must be from 0 to 1")
    if min(x.dim() for x in (query, key, value)) < 3:
        raise ShapeError("query, key and value must have 3 axes or more: (..., position, feature)")
    _require_heads(query, key, enable_gqa)
    arguments: dict[str, Any] = {} if scale is None else {"scale": float(scale)}
    q, k, v = _of_four_axes(query, key, value)
    axes: tuple[str, ...] = ()
    if attn_mask is not None:
        attn_mask, axes = _mask_of(attn_mask, query, key)
        arguments["mask"] = attn_mask
    if dropout_p > 0:
        kept = 1 / (1 - dropout_p) if dropout_p < 1 else 0.0
        arguments.update(seed=torch.randint(2**31, ()), rate=float(dropout_p), kept=kept)
    is_condition = attn_mask is not None and attn_mask.dtype is torch.bool
    which = (tuple(arguments), axes, is_condition, is_causal)
    if is_compiling():
        from ._torch_compile import call, of_arguments

        result = call(of_arguments(which), q, k, v, None, None, None, None, arguments, ("seed",))
    else:
        if "seed" in arguments:
            arguments["seed"] = int(arguments["seed"])
        result = kernel_of_arguments(*which)(q, k, v, **arguments)
    of_all: torch.Tensor = result.reshape(*query.shape[:-1], value.shape[-1])
    return of_all


def _require_axes(axes: int, **operands: Any) -> None:
    for name, x in operands.items():
        if x.dim() != axes:
            raise ShapeError(f"{name} has {x.dim()} axes, it must be (batch, head, position, feature)")


def _require_heads(query: Any, key: Any, enable_gqa: bool) -> None:
    if not enable_gqa and query.dim() > 3 and query.shape[-3] != key.shape[-3]:
        heads = f"query has {query.shape[-3]} heads, key has {key.shape[-3]}"
        raise ShapeError(f"{heads}: pass enable_gqa=True where heads of queries share one of keys")


def _of_batch(x: Any, batch: int) -> Any:
    return x if x.shape[0] == batch else x.expand(batch, *x.shape[1:])


def _of_four_axes(*operands: Any) -> list[Any]:
    """Operands with one batch axis: all axes before the heads, to which those of keys and values are expanded."""
    batch = operands[0].shape[:-3]
    if len(batch) <= 1:
        return [_of_batch(x, operands[0].shape[0]) for x in operands]
    return [x.expand(*batch, *x.shape[-3:]).flatten(0, len(batch) - 1) for x in operands]


def _mask_of(mask: Any, query: Any, key: Any) -> tuple[Any, tuple[str, ...]]:
    """A mask without the axes along which it is the same, and the names of those that it has."""
    if mask.dtype is not torch.bool and not mask.dtype.is_floating_point:
        raise ArgumentError(f"attn_mask has elements of {mask.dtype}, it must have bool or reals")
    whole = (*query.shape[:-1], key.shape[-2])
    try:
        mask.expand(whole)
    except RuntimeError:
        raise ShapeError(f"attn_mask is {tuple(mask.shape)}, it must be (..., queries, keys), here {whole}") from None
    if len(whole) > 4:
        mask = mask.expand(whole).flatten(0, len(whole) - 4)
    mask = mask[(None,) * (min(len(whole), 4) - mask.dim())]
    places = ("batch", "head", "q_idx", "kv_idx") if mask.dim() == 4 else ("batch", "q_idx", "kv_idx")
    kept = tuple(name for name, n in zip(places, mask.shape) if n != 1)
    return mask.reshape([n for n in mask.shape if n != 1]), kept


def kernel_of_functions(score_mod: Any, mask_mod: Any, is_scaled: bool) -> TracedKernel:
    """The kernel of two functions, which one of them keeps, so that it lives as long as that. Methods and other objects
    may read what changes, and keep none."""

    def build(**given: Any) -> Specification:
        spec = _scores(given)
        if score_mod is not None:
            spec = spec | word("rescore", score_mod)
        if mask_mod is not None:
            spec = spec | word("where", mask_mod)
        return spec | word("softmax")

    functions = [f for f in (score_mod, mask_mod) if f is not None]
    keeps = all(isinstance(f, types.FunctionType) for f in functions)
    kept = (functions or [kernel_of_functions])[0].__dict__.setdefault("__fovea__", {}) if keeps else {}
    key = (mask_mod, is_scaled)
    if key not in kept:
        if len(kept) >= _MOST:  # the other function is made anew with each call
            kept.clear()
        kept[key] = _kernel_of(build, "flex_attention", ("scale",) if is_scaled else ())
    return kept[key]  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=64)
def kernel_of_arguments(
    names: tuple[str, ...], axes: tuple[str, ...], is_condition: bool, is_causal: bool
) -> TracedKernel:
    """The kernel of scaled_dot_product_attention for some of its arguments."""
    from ._specification import PLACEHOLDERS

    def build(**given: Any) -> Specification:
        spec = _scores(given)
        if "mask" in given:
            mask = given["mask"]
            mask = mask[tuple(PLACEHOLDERS[axis] for axis in axes)] if axes else mask
            spec = spec | (word("where", mask) if is_condition else word("rescore", PLACEHOLDERS["score"] + mask))
        if is_causal:
            spec = spec | word("causal")
        spec = spec | word("softmax")
        if "rate" in given:
            drops = FUNCTIONS["random"](given["seed"]) < given["rate"]
            spec = spec | word("reweight", PLACEHOLDERS["weight"] * FUNCTIONS["select"](drops, 0, given["kept"]))
        return spec

    return _kernel_of(build, "scaled_dot_product_attention", names)


def _scores(given: dict[str, Any]) -> Specification:
    return word("scaled_by", given["scale"]) if "scale" in given else word("scaled_dot")


def _kernel_of(build: Callable[..., Specification], name: str, parameters: tuple[str, ...]) -> TracedKernel:
    build.__name__ = name
    build.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    )
    return TracedKernel(build, {})
