# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys and values of sequences in pages, for kernels over pages."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _abi
from ._arrays import (
    NUMBERS_OF_BLOCK,
    REALS,
    ROUNDED,
    Array,
    address_of,
    as_integer,
    as_integers,
    as_table,
    extents_of,
    layout_of,
    memory_of,
    numbers_to_round,
    require_rank,
)
from ._calls import library_or_default
from ._errors import ArgumentError, Error, ShapeError, counted, require_type
from ._library import Library
from ._typing import CacheElement, Operand

ELEMENTS: dict[str, np.dtype[Any]] = {"f32": REALS["f32"], "bf16": REALS["bf16"], "f16": REALS["f16"], **ROUNDED}

# What the functions of C take behind the call.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "bytes": (ctypes.POINTER(_abi.CacheSizes), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64)),
    "create": (ctypes.POINTER(_abi.CacheSizes), ctypes.POINTER(_abi.CacheMemory), ctypes.POINTER(ctypes.c_void_p)),
    "add": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)),
    "fork": (ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)),
    "append": (
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
        _abi.InputF32,
        _abi.InputF32,
        ctypes.POINTER(_abi.RotaryEntry),
    ),
    "evict": (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64),
    "truncate": (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64),
    "remove": (ctypes.c_void_p, ctypes.c_int64),
    "length": (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)),
    "free_pages": (ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)),
    "batch": (
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.POINTER(_abi.CacheBatchEntry),
    ),
}


@dataclass(frozen=True, eq=False)
class Rotary:
    """How keys are rotated as they are appended: pairs of features by angles that grow with the position.

    Attributes
    ----------
    features : how many of each head, the first ones; all if not given.
    interleaved : whether pairs are (2 i, 2 i + 1), not (i, i + features / 2).
    base : pair i turns by position / base ** (2 * i / features).
    interpolated : what positions are divided by.
    ntk_scaled : s multiplies base by s ** (features / (features - 2)).
    frequencies : (features / 2), the angles at position 1 in place of those of base.
    positions : (position), those of the new keys in place of those that they get in the sequence.

    Raises
    ------
    ShapeError : `append` says it of frequencies and positions that do not fit the keys.
    Error : `append` says it of a factor that is not above 0.

    Example
    -------
        rotary = fovea.Rotary(base=500000)
        cache = fovea.KVCache(heads=2, key_features=16, pages=64)
        token = np.ones((1, 2, 1, 16), np.float32)
        cache.append(cache.add(), token, token, rotary=rotary)
    """

    features: int | None = None
    interleaved: bool = False
    base: float = 10000
    interpolated: float = 1
    ntk_scaled: float = 1
    frequencies: npt.ArrayLike | None = None
    positions: npt.ArrayLike | None = None

    def _entry(self, keys: Array) -> tuple[_abi.RotaryEntry, tuple[Any, ...]]:
        """What C is told of the rotation of some keys, and what has to live until then."""
        turned = as_integer(self.features or 0, "features")
        frequencies = None if self.frequencies is None else as_table(self.frequencies, "frequencies", "float")
        positions = None if self.positions is None else as_integers(self.positions, "positions", np.dtype(np.int64))
        pairs, count = (turned or keys.shape[-1]) // 2, keys.shape[-2]
        if frequencies is not None and frequencies.shape != (pairs,) and 0 < 2 * pairs <= keys.shape[-1]:
            raise ShapeError(f"rotary on keys: frequencies are {frequencies.shape}, they must be ({pairs},)")
        if positions is not None and positions.shape != (count,):
            raise ShapeError(f"rotary on keys: positions are {positions.shape}, they must be ({count},)")
        entry = _abi.RotaryEntry(
            turned,
            bool(self.interleaved),
            *(_factor(getattr(self, name), name) for name in ("base", "interpolated", "ntk_scaled")),
            *(None if table is None else address_of(table) for table in (frequencies, positions)),
        )
        return entry, (frequencies, positions)


class CacheBatch(NamedTuple):
    """Some sequences of a layer of a cache, as a call of a kernel over pages takes them.

    `fovea.KVCache` makes it; a kernel takes `lengths` and `page_table` by their names.

    Attributes
    ----------
    keys, values : all pages of the layer, (page, head, slot, feature), read-only and where they lie, so that they
        change with the cache; those of bfloat16 and FP8 are bits, those in blocks rows of bytes.
    page_table : (batch, pages), -1 behind the last page of a sequence.
    lengths : (batch), the positions of each sequence, evicted ones too.
    positions : (batch, pages * page_size), the position in each slot, -1 where it has none: for masks and scores of
        sequences of which some positions were evicted.

    Example
    -------
        cache = fovea.KVCache(heads=2, key_features=16, pages=64, page_size=4)
        sequence = cache.add()
        cache.append(sequence, np.ones((1, 2, 6, 16), np.float32), np.ones((1, 2, 6, 16), np.float32))
        batch = cache.batch([sequence])
        assert batch.lengths.tolist() == [6] and batch.page_table.shape == (1, 2)
        assert batch.keys.shape == (64, 2, 4, 16)
    """

    keys: Array
    values: Array
    page_table: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]


class _Pages:
    """Memory of a cache, which lives as long as an array of it."""

    def __init__(self, cache: KVCache, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._cache = cache
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (address, True)}


class KVCache:
    """Keys and values of sequences in pages, which sequences that begin alike share.

    A call that is refused changes nothing. Calls of several threads come one after the other.

    Parameters
    ----------
    heads, key_features, value_features : the extents of keys and values; value_features is key_features if not given.
    pages, page_size : how many pages each layer has, and the positions of each.
    layers : how many a network has. Each has the same sequences, in pages of its own.
    key_type, value_type : "f32", "bf16", "f16", "fp8_e4m3", "fp8_e5m2", "q8_0", "q4_0" or "q4_1"; value_type is
        key_type if not given.
    library : whose functions; the library loaded last, or the one that FOVEA_KERNELS names, if not given.
    memory : (keys, values) that the pages lie in, which the cache keeps alive and alone may write to. Each has an array
        (page, head, slot, feature) for each layer, or is one array of them, (layer, page, head, slot, feature); writable,
        without gaps, with elements as those of a batch, and anything in them. Memory of its own if not given.

    Raises
    ------
    ArgumentError : an argument of another type; a name of no type of elements.
    ShapeError : an extent below 1, features that are no whole blocks; memory of another shape or with gaps.
    Error : there is no library; a method says it of a sequence that is not there, and of pages that are used up.

    Example
    -------
        cache = fovea.KVCache(layers=2, heads=2, key_features=16, pages=64, page_size=4)
        first = cache.add()
        for layer in range(2):
            prompt = np.ones((1, 2, 10, 16), np.float32)
            cache.append(first, prompt, prompt, layer)
        second = cache.fork(first)  # goes on from the same prompt, in the same pages
        cache.truncate(second, 8)
        assert cache.length(first) == 10 and cache.length(second) == 8 and cache.free_pages() == 61
    """

    def __init__(
        self,
        *,
        heads: int,
        key_features: int,
        pages: int,
        value_features: int | None = None,
        page_size: int = 16,
        layers: int = 1,
        key_type: CacheElement = "f32",
        value_type: CacheElement | None = None,
        library: Library | None = None,
        memory: Sequence[Operand | Sequence[Operand]] | None = None,
    ) -> None:
        self._library = library_or_default(library)
        self._lock = threading.Lock()
        self._functions = {
            name: self._library._function(f"cache_{name}", ctypes.c_int, ctypes.POINTER(_abi.Call), *arguments)
            for name, arguments in _FUNCTIONS.items()
        }
        if value_features is None:
            value_features = key_features
        self._types = _type(key_type, "key_type"), _type(key_type if value_type is None else value_type, "value_type")
        self._sizes = _abi.CacheSizes(
            as_integer(layers, "layers"),
            as_integer(heads, "heads"),
            as_integer(key_features, "key_features"),
            as_integer(value_features, "value_features"),
            as_integer(pages, "pages"),
            as_integer(page_size, "page_size"),
            *(name.encode() for name in self._types),
        )
        self._cache = ctypes.c_void_p()
        self._memory = [] if memory is None else self._checked(memory)
        given = [_abi.CacheMemory(address_of(k), address_of(v), k.nbytes, v.nbytes) for k, v in self._memory]
        entries = None if memory is None else (_abi.CacheMemory * len(given))(*given)
        self._library._run(self._functions["create"], 1, self._sizes, entries, self._cache)
        destroy = self._library._function("cache_destroy", None, ctypes.c_void_p)
        # The process takes the memory with it: at exit a daemon thread may still be computing in it.
        weakref.finalize(self, destroy, self._cache).atexit = False

    def add(self) -> int:
        """Begins a sequence without positions, and returns its number."""
        return self._found("add")

    def fork(self, sequence: int) -> int:
        """Begins a sequence with the positions of another, in the same pages, and returns its number."""
        return self._found("fork", as_integer(sequence, "sequence"))

    def append(self, sequence: int, keys: Operand, values: Operand, layer: int = 0, rotary: Rotary | None = None) -> None:
        """Adds positions to the end of a sequence in one layer, rounded to the elements of the cache.

        Parameters
        ----------
        sequence : its number.
        keys, values : (1, head, position, feature), or (position, feature) of one head, of reals.
        layer : which one, counted from 0.
        rotary : how keys are rotated before, at the positions that they get; not at all if not given.
        """
        require_type(rotary, (Rotary, type(None)), "rotary", "a fovea.Rotary")
        rows = [numbers_to_round(x, name) for name, x in (("keys", keys), ("values", values))]
        inputs = [_input(array, name) for name, array in zip(("keys", "values"), rows)]
        rotation, kept = (None, ()) if rotary is None else rotary._entry(rows[0])
        self._run("append", as_integer(layer, "layer"), as_integer(sequence, "sequence"), *inputs, rotation)
        del kept  # what the rotation reads

    def evict(self, sequence: int, first: int, last: int) -> None:
        """Takes positions first to last - 1 out in all layers; the others keep their numbers."""
        self._run("evict", as_integer(sequence, "sequence"), as_integer(first, "first"), as_integer(last, "last"))

    def truncate(self, sequence: int, positions: int) -> None:
        """Keeps the first positions of a sequence in all layers."""
        self._run("truncate", as_integer(sequence, "sequence"), as_integer(positions, "positions"))

    def remove(self, sequence: int) -> None:
        """Gives the pages and the number of a sequence back."""
        self._run("remove", as_integer(sequence, "sequence"))

    def length(self, sequence: int, layer: int = 0) -> int:
        """The positions of a sequence in a layer, evicted ones too."""
        return self._found("length", as_integer(layer, "layer"), as_integer(sequence, "sequence"))

    def free_pages(self, layer: int = 0) -> int:
        """The pages of a layer that no sequence has."""
        return self._found("free_pages", as_integer(layer, "layer"))

    def batch(self, sequences: npt.ArrayLike, layer: int = 0) -> CacheBatch:
        """Some sequences of a layer as the batch of a call.

        Parameters
        ----------
        sequences : their numbers, in the order of the batch.
        layer : which one, counted from 0.
        """
        numbers = as_integers(sequences, "sequences", np.dtype(np.int64)).ravel()
        found = _abi.CacheBatchEntry()
        with self._lock:
            self._call("batch", as_integer(layer, "layer"), numbers.ctypes.data, numbers.size, ctypes.byref(found))
            batch, pages = numbers.size, found.pages
            return CacheBatch(
                self._pages(found.keys, self._sizes.key_features, self._types[0]),
                self._pages(found.values, self._sizes.value_features, self._types[1]),
                _copied(found.page_table, (batch, pages), np.int32),
                _copied(found.lengths, (batch,), np.int64),
                _copied(found.positions, (batch, pages * self._sizes.page_size), np.int64),
            )

    def __repr__(self) -> str:
        s = self._sizes
        names = " and ".join(dict.fromkeys(self._types))
        return f"<fovea.KVCache of {names}: layers {s.layers}, heads {s.heads}, pages {s.pages} of {s.page_size}>"

    def _call(self, name: str, *arguments: Any) -> None:
        self._library._run(self._functions[name], 1, self._cache, *arguments)

    def _run(self, name: str, *arguments: Any) -> None:
        with self._lock:
            self._call(name, *arguments)

    def _found(self, name: str, *arguments: Any) -> int:
        number = ctypes.c_int64()
        self._run(name, *arguments, ctypes.byref(number))
        return number.value

    def _layout(self, features: int, type_name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """The shape and the elements of all pages of a layer."""
        element = ELEMENTS[type_name]
        row, dtype = features, element
        if element.fields is not None:
            row, dtype = features // NUMBERS_OF_BLOCK * element.itemsize, np.dtype(np.uint8)
        return (self._sizes.pages, self._sizes.heads, self._sizes.page_size, row), dtype

    def _pages(self, address: int | None, features: int, type_name: str) -> Array:
        shape, dtype = self._layout(features, type_name)
        return np.asarray(_Pages(self, address, shape, dtype)) if address else np.empty(shape, dtype)

    def _checked(self, memory: Any) -> list[tuple[Array, Array]]:
        """The arrays of keys and of values of each layer that given memory has."""
        sizes = self._sizes
        self._library._run(self._functions["bytes"], 1, sizes, ctypes.c_int64(), ctypes.c_int64())  # are some
        try:
            keys, values = memory
        except (TypeError, ValueError):
            raise ArgumentError(f"memory is of type {type(memory).__name__}, it must be (keys, values)") from None
        of_keys = _layers(keys, "keys", sizes.layers, self._types[0], *self._layout(sizes.key_features, self._types[0]))
        of_values = _layers(
            values, "values", sizes.layers, self._types[1], *self._layout(sizes.value_features, self._types[1])
        )
        return list(zip(of_keys, of_values))


def _type(name: Any, argument: str) -> str:
    if not (isinstance(name, str) and name in ELEMENTS):
        raise ArgumentError(f"{argument} is {name!r}, it must be one of {', '.join(ELEMENTS)}")
    return name


def _factor(x: Any, name: str) -> float:
    try:
        factor = float(x)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} is {x!r}, it must be a number") from None
    if not factor > 0:
        raise Error(f"rotary: {name} is {factor}, it must be above 0")
    return factor


def _layers(
    given: Any, name: str, count: int, type_name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> list[Array]:
    """The arrays of all layers, which a cache can write to."""
    what = f"the memory of {name}"
    listed = isinstance(given, (list, tuple))
    arrays = [memory_of(x, what, type_name, dtype) for x in (given if listed else [given])]
    if not listed:
        arrays = list(arrays[0]) if arrays[0].ndim > 0 else []
    if len(arrays) != count:
        raise ShapeError(f"{what} is that of {counted(len(arrays), 'layer')}, the cache has {count}")
    for n, array in enumerate(arrays):
        if array.shape != shape:
            raise ShapeError(f"{what} of layer {n} is {array.shape}, it must be {shape}")
        if not array.flags.c_contiguous:
            raise ShapeError(f"{what} of layer {n} has strides of {array.strides} bytes, it must have no gaps")
        if not array.flags.writeable:
            raise ArgumentError(f"{what} of layer {n} is read-only, it must be writable")
    return arrays


def _input(array: Array, name: str) -> _abi.InputF32:
    require_rank(array, name)
    address, *layout = layout_of(array, extents_of(array))
    return _abi.InputF32(address, tuple(layout[:4]), tuple(layout[4:]))


def _copied(address: int | None, shape: tuple[int, ...], dtype: Any) -> Array:
    array: Array = np.empty(shape, dtype)
    if array.size > 0 and address is not None:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)
    return array
