# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of the language, made by the operators and functions of Python, NumPy and PyTorch on placeholders.

An expression is text of C++ that is not written yet: tables get their names when a specification is complete.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Union, overload

import numpy as np

from ._errors import ArgumentError, ShapeError, counted
from ._typing import Array, Scalar, TensorLike

if TYPE_CHECKING:
    from ._specification import Specification
    from ._table import Names

Value = Union["Expression", Scalar, Array, TensorLike[Any]]  # what operators and functions take

# How tightly C++ binds, from 0: what binds less stands in parentheses.
_ATOM, _UNARY, _PRODUCT, _SUM, _ORDER, _EQUALITY, _AND, LOOSEST = range(8)

_NO_TRUTH = (
    "a condition on placeholders is neither true nor false while a kernel is traced: write "
    "fovea.select(condition, a, b) for `if`, and & | ~ with parentheses around each condition for `and`, `or`, `not` "
    "and chains such as a < b < c"
)
_NO_NUMBER = (
    "an expression of placeholders has no number while a kernel is traced: write np.tanh, torch.tanh or fovea.tanh for "
    "math.tanh, and so for every function of math, float() and int()"
)
_NO_ARRAY = (
    "NumPy cannot index an array by a placeholder, or make an array of one: write fovea.param(table)[head] where the "
    "table is an attribute or an element of something"
)
_NO_ITERATION = "an expression of placeholders has no elements: index a table by one expression for each axis"
_NO_RANGE = "a range of features is from a number to a number"
_NOT_A_CONDITION = "& | ^ and ~ are between conditions, such as (kv_idx <= q_idx) & (q_idx - kv_idx < 256)"
_NOT_A_NUMBER = "a condition is not a number: write fovea.select(condition, 1, 0)"


class Expression:
    """A number, or a condition, for each pair of a query and a key: what parameters of a kernel's function are.

    Operators, and functions of NumPy, PyTorch and fovea, make others of it. It has no value while a kernel is traced.

    Raises
    ------
    ArgumentError : what asks for its value, such as `if`, `and`, `float` and functions of `math`.

    Example
    -------
        @fovea.kernel
        def near(score: fovea.Expression, i: fovea.Expression, j: fovea.Expression) -> fovea.Specification:
            return score - 0.1 * abs(i - j) | fovea.softmax

        assert near.text == "scaled_dot | rescore(score - 0.1 * abs(q_idx - kv_idx)) | softmax | weighted_sum"
    """

    __slots__ = ("children", "constant", "features", "free", "kind", "level", "template")
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(
        self,
        kind: str,
        template: str,
        children: Sequence[tuple[Expression, int]] = (),
        level: int = _ATOM,
        constant: bool = False,
    ) -> None:
        self.kind = kind  # "integer", "real" or "condition"
        self.template = template
        self.children = tuple(children)  # each with the loosest level that needs no parentheses
        self.level = level
        self.constant = constant  # a number of C++ before the language sees it
        # How many axes of tables in it have no index.
        self.free: int = max((child.free for child, _ in self.children), default=0)
        ranges = {repr(child.features): child.features for child, _ in self.children if child.features is not None}
        if len(ranges) > 1:
            raise ArgumentError("a sum is over one range of features: give all of them the same, or add up two sums")
        self.features: Range | None = next(iter(ranges.values()), None)

    def text(self, names: Names) -> str:
        """The expression in C++."""
        parts = [
            child.text(names) if child.level <= level else f"({child.text(names)})" for child, level in self.children
        ]
        return self.template.format(*parts)

    def __bool__(self) -> bool:
        raise ArgumentError(_NO_TRUTH)

    def __float__(self) -> float:
        raise ArgumentError(_NO_NUMBER)

    __int__ = __complex__ = __trunc__ = __round__ = __ceil__ = __floor__ = __float__

    def __index__(self) -> int:
        raise ArgumentError(_NO_NUMBER)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ArgumentError(_NO_ARRAY)

    def __iter__(self) -> NoReturn:
        raise ArgumentError(_NO_ITERATION)

    def __len__(self) -> int:
        raise ArgumentError(_NO_ITERATION)

    def __add__(self, other: Value) -> Expression:
        return _arithmetic("+", self, other)

    def __radd__(self, other: Value) -> Expression:
        return _arithmetic("+", other, self)

    def __sub__(self, other: Value) -> Expression:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: Value) -> Expression:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Value) -> Expression:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: Value) -> Expression:
        return _arithmetic("*", other, self)

    def __mod__(self, other: Value) -> Expression:
        return _arithmetic("%", self, other)

    def __rmod__(self, other: Value) -> Expression:
        return _arithmetic("%", other, self)

    def __truediv__(self, other: Value) -> Expression:
        return divide(self, other)

    def __rtruediv__(self, other: Value) -> Expression:
        return divide(other, self)

    def __floordiv__(self, other: Value) -> Expression:
        return floor_divide(self, other)

    def __rfloordiv__(self, other: Value) -> Expression:
        return floor_divide(other, self)

    def __pow__(self, other: Value) -> Expression:
        return power(self, other)

    def __rpow__(self, other: Value) -> Expression:
        return power(other, self)

    def __matmul__(self, other: Value) -> Expression:
        return sum_of(self * other)

    def __rmatmul__(self, other: Value) -> Expression:
        return sum_of(other * self)

    def __neg__(self) -> Expression:
        return Formula(_number(self).kind, "-{0}", [(self, _ATOM)], _UNARY, self.constant)

    def __pos__(self) -> Expression:
        return _number(self)

    def __abs__(self) -> Expression:
        return call("abs", self)

    def __lt__(self, other: Value) -> Expression:
        return _comparison("<", self, other)

    def __le__(self, other: Value) -> Expression:
        return _comparison("<=", self, other)

    def __gt__(self, other: Value) -> Expression:
        return _comparison(">", self, other)

    def __ge__(self, other: Value) -> Expression:
        return _comparison(">=", self, other)

    def __eq__(self, other: Value) -> Expression:  # type: ignore[override]
        return _comparison("==", self, other)

    def __ne__(self, other: Value) -> Expression:  # type: ignore[override]
        return _comparison("!=", self, other)

    def __and__(self, other: Value) -> Expression:
        return _logical("&&", _AND, self, other)

    def __rand__(self, other: Value) -> Expression:
        return _logical("&&", _AND, other, self)

    @overload
    def __or__(self, other: Specification) -> Specification: ...
    @overload
    def __or__(self, other: Value) -> Expression: ...
    def __or__(self, other: Any) -> Any:
        if hasattr(other, "__fovea_stages__"):
            return NotImplemented
        return _logical("||", LOOSEST, self, other)

    def __ror__(self, other: Value) -> Expression:
        return _logical("||", LOOSEST, other, self)

    def __xor__(self, other: Value) -> Expression:
        return _comparison("!=", _condition(self), _condition(other))

    __rxor__ = __xor__

    def __invert__(self) -> Expression:
        return Formula("condition", "!{0}", [(_condition(self), _ATOM)], _UNARY, self.constant)

    def __getitem__(self, index: Any) -> Expression:
        if self.template not in ("q", "k") or not isinstance(index, slice):
            raise ArgumentError(f"{_NO_ITERATION}; of q and k there are ranges, such as q[0:64]")
        if index.step is not None or index.stop is None:
            raise ArgumentError(f"{_NO_RANGE}, such as q[0:64]")
        part = Formula(self.kind, self.template)
        part.features = features(0 if index.start is None else index.start, index.stop)
        return part

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        from ._functions import COMPARISONS, OF_NUMPY

        known = OF_NUMPY.get(ufunc.__name__)
        if method != "__call__" or keywords or known is None:
            what = ufunc.__name__ if known is None or method == "__call__" else f"{ufunc.__name__}.{method}"
            raise ArgumentError(f"np.{what} is not in the language of kernels, which has {_listed(OF_NUMPY)}")
        if ufunc.__name__ in COMPARISONS:  # NumPy makes an array of the number in np.float32(3) < score
            inputs = tuple(x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in inputs)
        return known(*map(_operand, inputs))

    def __array_function__(self, function: Any, types: Any, inputs: Any, keywords: Any) -> Any:
        from ._functions import OF_NUMPY_ARRAYS

        known = OF_NUMPY_ARRAYS.get(function.__name__)
        if known is None or keywords:
            raise ArgumentError(
                f"np.{function.__name__} is not in the language of kernels, which has {_listed(OF_NUMPY_ARRAYS)}"
            )
        return known(*inputs)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, inputs: Any = (), keywords: Any = None) -> Any:
        from ._functions import OF_TORCH

        name = function.__name__
        known = OF_TORCH.get(name.strip("_"))
        if known is None:
            raise ArgumentError(f"torch.{name} is not in the language of kernels, which has {_listed(OF_TORCH)}")
        return known(*(x if isinstance(x, tuple) else _operand(x) for x in inputs), **(keywords or {}))

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        from ._functions import METHODS

        if name not in METHODS:
            raise AttributeError(f"an expression of placeholders has no attribute {name!r}")
        return functools.partial(METHODS[name], self)

    def __repr__(self) -> str:
        from ._table import Names

        return self.text(Names())


class Formula(Expression):
    """What operators and functions make. No other expression is one: Python would turn `a < b` round for it."""

    __slots__ = ()


def as_expression(x: Any) -> Expression:
    """A number, a table or an expression as an expression."""
    if isinstance(x, Expression):
        return x
    if isinstance(x, (bool, np.bool_)):
        return Formula("condition", "true" if x else "false", constant=True)
    if isinstance(x, (int, np.integer)):
        text = str(int(x)) if abs(int(x)) < 2**31 else f"index_t{{{int(x)}}}"
        return Formula("integer", text.replace("{", "{{").replace("}", "}}"), (), _UNARY if x < 0 else _ATOM, True)
    if isinstance(x, (float, np.floating)):
        return Formula("real", _text_of_real(float(x)), (), _UNARY if math.copysign(1, x) < 0 else _ATOM, True)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        from ._table import Table

        return Table(x)
    raise ArgumentError(f"an operand is of type {type(x).__name__}, it must be a number, a table or an expression")


def _operand(x: Any) -> Any:
    """What an operator of Python may take beside an expression: an array or its element would ask NumPy again."""
    if isinstance(x, np.generic):
        return x.item()
    return x if isinstance(x, (Expression, bool, int, float, str, type(None))) else as_expression(x)


def _text_of_real(x: float) -> str:
    if math.isnan(x):
        return "NAN"
    return repr(x) if math.isfinite(x) else ("INFINITY" if x > 0 else "-INFINITY")


def _number(x: Any) -> Expression:
    e = as_expression(x)
    if e.kind == "condition":
        raise ArgumentError(_NOT_A_NUMBER)
    return e


def _condition(x: Any) -> Expression:
    e = as_expression(x)
    if e.kind != "condition":
        raise ArgumentError(_NOT_A_CONDITION)
    return e


def _joined(kind: str, symbol: str, level: int, a: Expression, b: Expression) -> Expression:
    left = _SUM if level in (_ORDER, _EQUALITY) else level
    right = _SUM if level in (_ORDER, _EQUALITY) else level - 1
    return Formula(kind, f"{{0}} {symbol} {{1}}", [(a, left), (b, right)], level, a.constant and b.constant)


def _arithmetic(symbol: str, left: Value, right: Value) -> Expression:
    a, b = _number(left), _number(right)
    kind = "integer" if a.kind == b.kind == "integer" else "real"
    return _joined(kind, symbol, _PRODUCT if symbol in "*%" else _SUM, a, b)


def divide(left: Value, right: Value) -> Expression:
    """The quotient of reals: integers become reals first, as in Python."""
    a, b = _number(left), _number(right)
    if a.kind == b.kind == "integer":
        a = _as_real(a)
    return _joined("real", "/", _PRODUCT, a, b)


def _as_real(e: Expression) -> Expression:
    if not e.constant:
        return call("real", e)
    return Formula("real", "{0}.0" if e.template.isdigit() else "double({0})", [(e, LOOSEST)], constant=True)


def floor_divide(left: Value, right: Value) -> Expression:
    """The quotient of integers, rounded down."""
    a, b = _number(left), _number(right)
    if not a.kind == b.kind == "integer":
        raise ArgumentError("// is between integers: positions, lengths and elements of tables of integers")
    if a.constant and b.constant:
        return _joined("integer", "/", _PRODUCT, a, b)
    return call("floor_div", a, b)


def power(left: Value, right: Value) -> Expression:
    """A power: squares and roots by their own functions."""
    if isinstance(right, (int, float)) and right in (1, 2, 0.5):
        return _number(left) if right == 1 else call("square" if right == 2 else "sqrt", left)
    return call("pow", left, right)


def _comparison(symbol: str, left: Value, right: Value) -> Expression:
    a, b = as_expression(left), as_expression(right)
    if (a.kind == "condition") != (b.kind == "condition"):
        raise ArgumentError(_NOT_A_NUMBER)
    return _joined("condition", symbol, _EQUALITY if symbol in ("==", "!=") else _ORDER, a, b)


def _logical(symbol: str, level: int, left: Value, right: Value) -> Expression:
    return _joined("condition", symbol, level, _condition(left), _condition(right))


_KEEPS_INTEGERS = ("abs", "square", "relu", "min", "max", "select", "floor_div")


def call(name: str, *operands: Value) -> Expression:
    """A function of the language."""
    children = [_number(x) for x in operands]
    whole = name in _KEEPS_INTEGERS and all(child.kind == "integer" for child in children)
    if all(child.constant for child in children):
        raise ArgumentError(f"{name} of numbers alone is not computed here: compute it in Python before the kernel")
    inside = ", ".join(f"{{{i}}}" for i in range(len(children)))
    return Formula("integer" if whole else "real", f"{name}({inside})", [(child, LOOSEST) for child in children])


def select(condition: Value, a: Value, b: Value) -> Expression:
    """One of two, by a condition."""
    test, x, y = _condition(condition), as_expression(a), as_expression(b)
    if (x.kind == "condition") != (y.kind == "condition"):
        raise ArgumentError("the branches of select are both numbers or both conditions")
    kind = x.kind if x.kind == y.kind else "real"
    return Formula(kind, "select({0}, {1}, {2})", [(test, LOOSEST), (x, LOOSEST), (y, LOOSEST)])


class Range(NamedTuple):
    """A range of features, from the first to the one before the end."""

    first: Expression
    end: Expression


def features(first: int | Expression, end: int | Expression) -> Range:
    """A range of features of numbers, which a call may pass."""
    found = Range(as_expression(first), as_expression(end))
    if not all(x.kind == "integer" and x.constant for x in found):
        raise ArgumentError(f"{_NO_RANGE}, such as fovea.features(0, 64): it is from {found.first} to {found.end}")
    return found


def sum_of(e: Value, features: Range | None = None) -> Expression:
    """The sum over the features, or over a range of them."""
    body = _number(e)
    if body.free > 1:
        raise ShapeError(f"a table in a sum has {counted(body.free, 'axis')} without an index, it must have 1 or none")
    if features is not None and body.features is not None:
        raise ArgumentError("a sum has its range once: as q[0:64], or as fovea.features(0, 64)")
    where = body.features if features is None else features
    if where is None:
        total = Formula("real", "sum({0})", [(body, LOOSEST)])
    else:
        total = Formula("real", "sum({0}, features({1}, {2}))", [(x, LOOSEST) for x in (body, *where)])
    total.free, total.features = 0, None
    return total


def _listed(functions: dict[str, Any]) -> str:
    return ", ".join(sorted(functions))
