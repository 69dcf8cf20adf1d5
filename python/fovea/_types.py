# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of the elements of a call, as its arrays have them or as a name says."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from ._arrays import REALS, TYPES_OF_ROWS, elements_of, said
from ._errors import ArgumentError
from ._info import ElementTypes

_CODES: dict[Any, str] = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64", np.dtype(np.float16): "f16"}
_OF_REALS, _OF_ROWS = "|".join(REALS), "|".join(TYPES_OF_ROWS)
_NAME = re.compile(f"({_OF_REALS})(?:_({_OF_ROWS})_({_OF_ROWS})(?:_({_OF_REALS}))?)?")
_EXAMPLE = "f32_q8_0_q4_0"


@functools.lru_cache(maxsize=256)
def types_named(name: str) -> ElementTypes:
    """Those of query, key, value and result: "f32", "f32_q8_0_q4_0", or, with another result, "bf16_i8_i8_f32".

    Errors: ArgumentError for any other name.
    """
    found = _NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise ArgumentError(
            f"dtype is {name!r}, it must be one of {', '.join(REALS)}, or name those of query, key and value, such as "
            f"{_EXAMPLE!r}"
        )
    query, key, value, result = found.groups()
    return ElementTypes(query, key or query, value or query, result or query)


def name_of(types: ElementTypes) -> str:
    """The name of some types, as C has it."""
    if len(set(types)) == 1:
        return types.query
    return "_".join(types[: 3 if types.result == types.query else 4])


def types_of(q: Any, k: Any, v: Any, out: Any = None, dtype: str | None = None) -> str:
    """The name of the types of a call: `dtype`, or what its arrays say, of which the result is that of the query where
    there is none yet.

    Errors: ArgumentError where arrays do not say it.
    """
    if dtype is None and out is None:
        of_query = getattr(q, "dtype", None)
        if of_query is getattr(k, "dtype", None) and of_query is getattr(v, "dtype", None):
            name = _CODES.get(of_query)
            if name is not None:
                return name
    if dtype is not None:
        return name_of(types_named(dtype))
    of_query = _type_of(q, "query", True)
    of_result = of_query if out is None else _type_of(out, "out", True)
    given = [_type_of(k, "key", False), _type_of(v, "value", False), of_result]
    for name, found in zip(("key", "value", "out"), given):
        if found != of_query and "f64" in (found, of_query):
            named = name_of(ElementTypes(of_query, *given))
            raise ArgumentError(
                f"{name} has elements of {found}, query has {of_query}: where float64 is meant beside another type, "
                f"dtype={named!r} says so"
            )
    return name_of(ElementTypes(of_query, *given))


def _type_of(x: Any, name: str, is_real: bool) -> str:
    array, found = elements_of(x, name, None)
    if is_real and found[0] not in REALS:
        raise ArgumentError(f"{name} has elements of {array.dtype}, it must have float32, float64, float16 or bfloat16")
    if len(found) > 1:
        raise ArgumentError(
            f"{name} has elements of {said(array, found)}, which may be {', '.join(found[:-1])} or {found[-1]}: dtype "
            f"names those of query, key and value, such as {_EXAMPLE!r}"
        )
    return found[0]
