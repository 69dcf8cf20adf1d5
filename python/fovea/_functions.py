# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of the language, and those of NumPy and PyTorch that stand for them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ._errors import ArgumentError
from ._expression import (
    LOOSEST,
    Expression,
    Formula,
    Range,
    Value,
    as_expression,
    call,
    divide,
    features,
    floor_divide,
    power,
    select,
    sum_of,
)

_FUNCTIONS = (
    "exp exp2 log tanh erf sqrt rsqrt sigmoid silu gelu leaky_relu elu pow sin cos tan asin acos atan atan2 sinh cosh "
    "asinh acosh atanh expm1 log2 log10 log1p cbrt erfc hypot real abs square relu min max floor_div"
).split()


def function_named(name: str) -> Callable[..., Expression]:
    """A function of the language, for expressions and for numbers."""

    def function(*operands: Value) -> Expression:
        return call(name, *operands)

    function.__name__ = function.__qualname__ = name
    return function


def squared_distance(a: Value, b: Value, features: Range | None = None) -> Expression:
    """The sum of the squared differences of features."""
    return sum_of(call("square", as_expression(a) - b), features)


def random(seed: int | Expression) -> Expression:
    """A number from 0 to 1 for each pair; the seed is an integer, or one that a call passes."""
    if isinstance(seed, Expression):
        if seed.kind != "integer" or not seed.constant:
            raise ArgumentError(f"the seed of random is {seed!r}, it must be an integer")
        return Formula("real", "random({0})", [(seed, LOOSEST)])
    return Formula("real", f"random({operator.index(seed)})")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: function_named(name) for name in _FUNCTIONS},
    "select": select,
    "sum": sum_of,
    "squared_distance": squared_distance,
    "features": features,
    "random": random,
}

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "matmul": operator.matmul,
    "negative": operator.neg,
    "positive": operator.pos,
    "divide": divide,
    "true_divide": divide,
    "floor_divide": floor_divide,
    "remainder": operator.mod,
    "power": power,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "logical_xor": operator.xor,
    "logical_not": operator.inv,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}

COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

# The functions that NumPy and PyTorch name alike, and as the language does.
_COMMON = {
    **{name: FUNCTIONS[name] for name in "exp exp2 log tanh sqrt square sin cos tan sinh cosh expm1".split()},
    **{name: FUNCTIONS[name] for name in "log2 log10 log1p hypot".split()},
    **{f"arc{name[1:]}": FUNCTIONS[name] for name in "asin acos atan asinh acosh atanh".split()},
    **{"arctan2": FUNCTIONS["atan2"], "maximum": FUNCTIONS["max"], "minimum": FUNCTIONS["min"]},
    **{"fmax": FUNCTIONS["max"], "fmin": FUNCTIONS["min"], "absolute": FUNCTIONS["abs"]},
}

OF_NUMPY: dict[str, Callable[..., Any]] = {
    **_OPERATORS,
    **_COMMON,
    **{"cbrt": FUNCTIONS["cbrt"], "fabs": FUNCTIONS["abs"], "invert": operator.inv, "float_power": power},
}


def _clip(x: Any, least: Any = None, most: Any = None, **keywords: Any) -> Any:
    least, most = keywords.get("min", least), keywords.get("max", most)
    x = x if least is None else call("max", x, least)
    return x if most is None else call("min", x, most)


def _element(table: Any, index: Any) -> Any:
    from ._capture import param

    return param(table)[index]


def _reversed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(b, a)


OF_NUMPY_ARRAYS: dict[str, Callable[..., Any]] = {"where": select, "sum": sum_of, "clip": _clip}

# Functions of torch, methods of tensors, and operators of these by their names without underscores.
_OPERATORS_OF_TORCH: dict[str, Callable[..., Any]] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": divide, "truediv": divide},
    **{"floordiv": floor_divide, "mod": operator.mod, "pow": power, "neg": operator.neg, "pos": operator.pos},
    **{"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq},
    **{"ne": operator.ne, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "invert": operator.inv},
}
OF_TORCH: dict[str, Callable[..., Any]] = {
    **_OPERATORS,
    **_COMMON,
    **_OPERATORS_OF_TORCH,
    **{f"r{name}": _reversed(_OPERATORS_OF_TORCH[name]) for name in "sub truediv floordiv mod pow add mul".split()},
    **{name: FUNCTIONS[name] for name in "asin acos atan atan2 asinh acosh atanh erf erfc rsqrt abs".split()},
    **{name: FUNCTIONS[name] for name in "sigmoid relu silu gelu leaky_relu elu sum".split()},
    **{"where": select, "clip": _clip, "clamp": _clip, "bitwise_not": operator.inv, "getitem": _element},
}


def _as_real(x: Any, *_: Any, **__: Any) -> Any:
    return x if x.kind == "real" else call("real", x)


# Methods of tensors; those of both libraries that an expression has are in its class.
METHODS: dict[str, Callable[..., Any]] = {
    **{name: function for name, function in OF_TORCH.items() if name not in ("where", "getitem")},
    **{name: _as_real for name in ("float", "double", "to", "type_as")},
}
