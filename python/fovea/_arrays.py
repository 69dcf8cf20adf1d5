# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of any library as arrays of NumPy, and what C is told of them."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._errors import ArgumentError, ShapeError, counted
from ._typing import Array as Array

# The elements of queries and results, as NumPy holds them: those of bfloat16 as their bits.
REALS: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(np.uint16),
    "f16": np.dtype(np.float16),
}

# Blocks of numbers that lie in bytes, as `fovea/bindings/types.h` has them.
NUMBERS_OF_BLOCK = 32
BLOCKS: dict[str, np.dtype[Any]] = {
    "q8_0": np.dtype([("scale", np.float16), ("integers", np.int8, 32)], align=True),
    "q4_0": np.dtype([("scale", np.float16), ("pairs", np.uint8, 16)], align=True),
    "q4_1": np.dtype([("scale", np.float16), ("least", np.float16), ("pairs", np.uint8, 16)], align=True),
}

# What numbers can be rounded to.
ROUNDED: dict[str, np.dtype[Any]] = {
    "bf16": np.dtype(np.uint16),
    "fp8_e4m3": np.dtype(np.uint8),
    "fp8_e5m2": np.dtype(np.uint8),
    **BLOCKS,
}

# The elements of keys and values.
TYPES_OF_ROWS = (*REALS, "i8", "fp8_e4m3", "fp8_e5m2", *BLOCKS)

# The elements of kernels, in either byte order; those of bytes may be of several types.
_TYPES: dict[np.dtype[Any], tuple[str, ...]] = {
    np.dtype(order + code): (name,) for code, name in (("f4", "f32"), ("f8", "f64"), ("f2", "f16")) for order in "<>"
}
_TYPES[np.dtype(np.int8)] = ("i8",)
_TYPES[np.dtype(np.uint8)] = ("fp8_e4m3", "fp8_e5m2", *BLOCKS)
_BITS = (np.dtype("<u2"), np.dtype(">u2"))
# What NumPy has bits for alone, as ml_dtypes and PyTorch name it.
_NAMED_TYPES = {"bfloat16": "bf16", "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2"}

# Tables: what C calls their elements.
TABLE_TYPES: dict[str, np.dtype[Any]] = {
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "bool": np.dtype(np.bool_),
    "fovea_f16": np.dtype(np.float16),
    "fovea_bf16": np.dtype(np.uint16),  # the bits
    **{f"{sign}int{bits}_t": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def address_of(array: Array) -> int:
    """Where the first element lies."""
    address: int = array.__array_interface__["data"][0]
    return address


def as_numpy(x: Any, name: str) -> Array:
    """The same memory as an array of NumPy. Elements that NumPy does not have come as their bits.

    Takes the buffer protocol, `__array_interface__`, tensors of PyTorch and DLPack, all on the CPU.
    """
    if type(x) is np.ndarray:
        return x
    if isinstance(x, np.ma.MaskedArray):
        raise ArgumentError(f"{name} is a masked array: fill it, and mask through the kernel")
    if is_tensor(x):
        return _from_torch(x, name)
    if hasattr(x, "__array_interface__"):
        return np.asarray(x)
    try:
        return np.asarray(memoryview(x))
    except TypeError:
        pass
    if hasattr(x, "__dlpack__"):
        return _from_dlpack(x, name)
    raise ArgumentError(
        f"{name} is of type {type(x).__name__}, it must have the buffer protocol, __array_interface__ or __dlpack__"
    )


def is_tensor(x: Any) -> bool:
    """Whether something is a tensor of PyTorch, which is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def _from_torch(x: Any, name: str) -> Array:
    torch: Any = sys.modules["torch"]
    if x.device.type != "cpu":
        raise ArgumentError(f"{name} is on {x.device}, it must be on the CPU")
    try:
        tensor = x.detach()
        if _named_type(x) is None:
            array: Array = tensor.numpy()
            return array
        if x.element_size() == 1:
            return tensor.view(torch.uint8).numpy()  # type: ignore[no-any-return]
        return tensor.view(torch.int16).numpy().view(np.uint16)  # type: ignore[no-any-return]
    except (RuntimeError, TypeError) as error:
        raise ArgumentError(f"{name} cannot be read where it lies: {error}") from error


def _from_dlpack(x: Any, name: str) -> Array:
    device = x.__dlpack_device__() if hasattr(x, "__dlpack_device__") else (1, 0)
    if int(device[0]) != 1:
        raise ArgumentError(f"{name} is on device {tuple(map(int, device))} of DLPack, it must be on the CPU, (1, 0)")
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError) as error:
        raise ArgumentError(f"{name} cannot be read where it lies: {error}") from error


def _named_type(x: Any) -> str | None:
    """The type of elements that NumPy does not have, of ml_dtypes or of PyTorch."""
    return _NAMED_TYPES.get(str(getattr(x, "dtype", "")).removeprefix("torch."))


def require_dtype(dtype: Any, types: Iterable[str]) -> None:
    """ArgumentError for what names no types of elements, neither any kernel's nor those that this one has."""
    if dtype is None:
        return
    names = tuple(dict.fromkeys((*REALS, *types)))
    if not (isinstance(dtype, str) and dtype in names):
        raise ArgumentError(f"dtype is {dtype!r}, it must be one of {', '.join(names)}")


def elements_of(x: Any, name: str, dtype: str | None) -> tuple[Array, tuple[str, ...]]:
    """An array and the types that its elements may be of; those of bfloat16 and FP8 are bits."""
    array = as_numpy(x, name)
    found = _TYPES.get(array.dtype)
    if found is not None and len(found) == 1:
        return array, found
    if (named := _named_type(x) or _named_type(array)) is not None:
        return array.view(f"u{array.itemsize}"), (named,)
    if found is not None:
        return array, found
    if array.dtype in _BITS and dtype is not None:
        return array, ("bf16",)
    hint = ', with dtype="bf16" where they are the bits of bfloat16' if array.dtype in _BITS else ""
    raise ArgumentError(
        f"{name} has elements of {array.dtype}, it must have float32, float64, float16 or bfloat16{hint}"
    )


def said(array: Array, found: tuple[str, ...]) -> str:
    """The type of its elements as a sentence names it."""
    return found[0] if len(found) == 1 else str(array.dtype)


def as_elements(array: Array, name: str, type_name: str) -> Array:
    """An array of the elements of a type; blocks from rows of bytes."""
    block = BLOCKS.get(type_name)
    if block is None:
        return array
    row = array.shape[-1]
    if row % block.itemsize != 0:
        raise ShapeError(
            f"{name} has rows of {counted(row, 'byte')}, it must be a multiple of {block.itemsize}: those of a block "
            f"of {type_name}, for {NUMBERS_OF_BLOCK} features"
        )
    return (array if array.strides[-1] == 1 else np.ascontiguousarray(array)).view(block)


def numbers_to_round(x: Any, name: str = "rows") -> Array:
    """Rows of reals as float32, without gaps; those of uint16 are the bits of bfloat16."""
    array, found = elements_of(x, name, "bf16")
    if found[0] not in REALS:
        raise ArgumentError(f"{name} has elements of {array.dtype}, it must have float32, float64, float16 or bfloat16")
    if array.ndim == 0:
        raise ShapeError(f"{name} has 0 axes, it must have 1 or more")
    numbers = (array.astype(np.uint32) << 16).view(np.float32) if found == ("bf16",) else array
    return np.ascontiguousarray(numbers, np.float32)


def rounded_like(numbers: Array, type_name: str) -> Array:
    """An array for the elements that rows of numbers are rounded to; of blocks as bytes."""
    element = ROUNDED.get(type_name)
    if element is None:
        raise ArgumentError(f"type is {type_name!r}, it must be one of {', '.join(ROUNDED)}")
    size = 1 if element.fields is None else NUMBERS_OF_BLOCK
    features = numbers.shape[-1]
    if features % size != 0:
        raise ShapeError(f"rows has {counted(features, 'feature')}, it must be a multiple of {size}: a block's")
    bits = np.empty((*numbers.shape[:-1], features // size), element)
    return bits if element.fields is None else bits.view(np.uint8)


def can_be_passed(array: Array) -> bool:
    """Whether C can be told where its elements lie: whole strides of 0 or more, features side by side."""
    flags = array.flags
    if not (flags.aligned and array.dtype.isnative):
        return False
    if flags.c_contiguous:
        return True
    size = array.itemsize
    for extent, stride in zip(array.shape, array.strides):
        if extent > 1 and (stride < 0 or stride % size != 0):
            return False
    return array.shape[-1] <= 1 or array.strides[-1] == size


def memory_of(x: Any, name: str, type_name: str, dtype: np.dtype[Any]) -> Array:
    """The same memory as an array that a cache writes elements of a type to, or their bits."""
    array = as_numpy(x, name)
    named = _named_type(x) or _named_type(array)
    if named is not None:
        array = array.view(f"u{array.itemsize}")
    if named not in (None, type_name) or array.dtype != dtype:
        raise ArgumentError(f"{name} has elements of {named or array.dtype}, it must have {dtype}")
    return array


def require_distinct_elements(array: Array, name: str) -> None:
    """ShapeError where some byte belongs to two elements of what is written."""
    has = f"{name} is {array.shape} with strides of {array.strides} bytes"
    if array.size > 0 and 0 in (stride for n, stride in zip(array.shape, array.strides) if n > 1):
        raise ShapeError(f"{has}: an axis of stride 0 would be written more than once")
    if _overlaps_itself(array):
        raise ShapeError(f"{has}: its elements overlap and would be written twice")


def _overlaps_itself(array: Array) -> bool:
    if array.size == 0:
        return False
    reach = array.itemsize  # bytes that the axes before take, smaller strides first
    axes = sorted((abs(stride), n) for n, stride in zip(array.shape, array.strides) if n > 1)
    for stride, n in axes:
        if stride < reach:  # may still be one in which the elements lie between one another
            break
        reach += stride * (n - 1)
    else:
        return False
    places = np.zeros(1, np.int64)
    for n, stride in zip(array.shape, array.strides):
        places = (places[:, None] + np.arange(n) * stride).ravel()
    return bool(np.any(np.diff(np.sort(places)) < array.itemsize))


def passable(array: Array) -> Array:
    """The array itself where it can be passed, a copy without gaps otherwise."""
    if can_be_passed(array):
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def require_rank(array: Array, name: str, least: int = 2) -> None:
    if not least <= array.ndim <= 4:
        what = (
            "(page, head, slot, feature)"
            if least == 4
            else "(position, feature), (batch, position, feature) or (batch, head, position, feature)"
        )
        raise ShapeError(f"{name} has {counted(array.ndim, 'axis')}, it must be {what}")


def _numbers_of(array: Array) -> int:
    """How many lie in an element."""
    return 1 if array.dtype.fields is None else NUMBERS_OF_BLOCK


def extents_of(array: Array) -> tuple[int, int, int, int]:
    """(batch, head, position, feature), also of blocks."""
    shape = (*array.shape[:-1], array.shape[-1] * _numbers_of(array))
    if len(shape) == 4:
        return shape  # type: ignore[return-value]
    if len(shape) == 3:
        return (shape[0], 1, shape[1], shape[2])
    return (1, 1, shape[0], shape[1])


def layout_of(array: Array, extents: tuple[int, int, int, int]) -> tuple[int, ...]:
    """The address, extents and strides in numbers of an array that can be passed."""
    if array.flags.c_contiguous:
        _, heads, positions, features = extents
        rows = positions * features
        return (address_of(array), *extents, heads * rows, rows, features, 1)
    size, numbers = array.itemsize, _numbers_of(array)
    strides = [s // size * numbers if n > 1 else 0 for n, s in zip(array.shape, array.strides)]
    strides[-1] = 1
    if len(strides) == 3:
        strides.insert(1, 0)
    elif len(strides) == 2:
        strides[:0] = (0, 0)
    return (address_of(array), *extents, *strides)


def as_integers(x: Any, name: str, dtype: np.dtype[Any]) -> Array:
    """An array of integers without gaps, of the given type; ArgumentError where some number does not fit."""
    array = _as_table(x, name)
    if array.dtype == dtype:
        return _without_gaps(array, dtype)
    if array.dtype.kind not in "iub" and array.size > 0:
        raise ArgumentError(f"{name} has elements of {array.dtype}, it must have integers ({dtype})")
    converted = _without_gaps(array, dtype)
    changed = array[converted != array]
    if changed.size > 0:
        raise ArgumentError(f"{name} has the element {changed[0]}, which is no {dtype}")
    return converted


def as_integer(x: Any, name: str) -> int:
    """A number of 64 bits; ArgumentError for anything else."""
    try:
        number = int(x) if isinstance(x, np.bool_) else operator.index(x)
    except TypeError:
        raise ArgumentError(f"{name} is {x!r}, it must be an integer") from None
    if not -(2**63) <= number < 2**63:
        raise ArgumentError(f"{name} is {number}, it must fit 64 bits")
    return number


def as_table(x: Any, name: str, c_type: str) -> Array:
    """An array without gaps of what C names so: float64 becomes float32, but no fraction an integer."""
    dtype = TABLE_TYPES[c_type]
    if dtype.kind == "f" and _named_type(x) == "bf16":
        return (as_numpy(x, name).view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(dtype)
    if dtype.kind in "iu":
        return as_integers(x, name, dtype)
    array = _as_table(x, name)
    if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ArgumentError(f"{name} has elements of {array.dtype}, it must have {dtype}")
    return _without_gaps(array, dtype)


@dataclass
class Bits:
    """A table of conditions, eight in a byte, the first one least; each row of the last axis begins in a byte.

    Attributes
    ----------
    packed : the bytes.
    shape : of the conditions.
    is_packed : whether the bytes were given, of which some rows may not use the last ones.
    """

    packed: Array
    shape: tuple[int, ...]
    is_packed: bool

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def narrow(self, last: int | None) -> None:
        """Has rows of this many conditions, where they take the bytes that were given."""
        if last is not None and self.is_packed and self.shape[-1] == (last + 7) // 8 * 8:
            self.shape = (*self.shape[:-1], last)


def as_bits(x: Any, name: str) -> Bits:
    """Conditions from an array of bool, or from one of uint8 that has eight of them in each byte."""
    array = _as_table(x, name)
    if array.dtype == np.bool_:
        packed = np.packbits(array, axis=-1, bitorder="little") if array.ndim > 0 else array
        return Bits(np.ascontiguousarray(packed), array.shape, False)
    if array.dtype != np.uint8:
        raise ArgumentError(f"{name} has elements of {array.dtype}, it must have bool, or uint8 for eight in a byte")
    *rows, last = array.shape or (0,)
    return Bits(np.ascontiguousarray(array), (*rows, 8 * last) if array.ndim > 0 else (), True)


def _without_gaps(array: Array, dtype: np.dtype[Any]) -> Array:
    array = np.asarray(array, dtype, order="C")
    return array if array.flags.aligned else array.copy()


def _as_table(x: Any, name: str) -> Array:
    """Tables are often short: lists of numbers will do."""
    if not isinstance(x, (list, tuple)):
        return as_numpy(x, name)
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ArgumentError(f"{name} is no table: {error}") from None
    if array.dtype == object:
        raise ArgumentError(f"{name} is no table of numbers")
    return array
