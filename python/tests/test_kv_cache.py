# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches hold what was appended to them, and kernels over pages compute with that."""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fovea
from cases import to_f64, to_type
from fovea._cache import ELEMENTS
from test_caches import decoded

SIZES = {"heads": 2, "key_features": 64, "value_features": 32, "pages": 12, "page_size": 4, "layers": 2}


def random_rows(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(random.standard_normal((1, 2, count, n), np.float32) for n in (64, 32))  # type: ignore[return-value]


def rows_of(cache: fovea.KVCache, sequence: int, layer: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The positions of a sequence that are there, and its keys and values, (head, position, feature)."""
    batch = cache.batch([sequence], layer)
    there = batch.positions[0] >= 0
    rows = (np.concatenate(list(pages[batch.page_table[0]]), axis=1) for pages in (batch.keys, batch.values))
    keys, values = (x[:, there] for x in rows) if batch.page_table.size > 0 else (np.empty((2, 0, n)) for n in (64, 32))
    return batch.positions[0][there], keys, values


def test_sequences_hold_what_was_appended() -> None:
    random = np.random.default_rng(1)
    cache = fovea.KVCache(**SIZES)
    keys, values = random_rows(random, 11)
    first = cache.add()
    for layer in range(2):
        cache.append(first, keys[:, :, :7], values[:, :, :7], layer)
    second = cache.fork(first)
    assert (first, second) == (0, 1)
    assert cache.free_pages() == 10
    cache.append(second, keys[:, :, 7:], values[:, :, 7:], layer=1)
    assert [cache.length(second, layer) for layer in range(2)] == [7, 11]
    assert [cache.free_pages(layer) for layer in range(2)] == [10, 8]
    cache.evict(second, 1, 6)
    places, some_keys, some_values = rows_of(cache, second, 1)
    np.testing.assert_array_equal(places, [0, 6, 7, 8, 9, 10])
    np.testing.assert_array_equal(some_keys, keys[0][:, places])
    np.testing.assert_array_equal(some_values, values[0][:, places])
    cache.truncate(first, 2)
    np.testing.assert_array_equal(rows_of(cache, first)[1], keys[0, :, :2])
    batch = cache.batch([second, first], layer=1)
    assert batch.page_table.tolist()[1][1:] == [-1, -1]
    assert batch.lengths.tolist() == [11, 2]
    cache.remove(first)
    cache.remove(second)
    assert [cache.free_pages(layer) for layer in range(2)] == [12, 12]
    assert "f32" in repr(cache) and "12 of 4" in repr(cache)


def test_rows_come_from_any_array_of_reals() -> None:
    random = np.random.default_rng(2)
    keys, values = random_rows(random, 5)
    expected = fovea.KVCache(**SIZES)
    expected.append(expected.add(), keys.astype(np.float16), values.astype(np.float16))
    for change in (
        lambda x: x.astype(np.float16),
        lambda x: x.astype(np.float16).astype(np.float64),
        lambda x: memoryview(x.astype(np.float16).astype(np.float32)),
        lambda x: np.ascontiguousarray(x.astype(np.float16).astype(">f4")[..., ::-1])[..., ::-1],
        lambda x: np.ascontiguousarray(x.astype(np.float16).astype(np.float32).swapaxes(1, 2)).swapaxes(1, 2),
    ):
        cache = fovea.KVCache(**SIZES)
        cache.append(cache.add(), change(keys), change(values))
        for got, rows in zip(rows_of(cache, 0), rows_of(expected, 0)):
            np.testing.assert_array_equal(got, rows)
    one_head = fovea.KVCache(heads=1, key_features=3, pages=1)
    one_head.append(one_head.add(), np.ones((2, 3)), np.full((2, 3), 2.0))
    np.testing.assert_array_equal(one_head.batch([0]).values[0, 0, :2], np.full((2, 3), 2))


@pytest.mark.parametrize("type_name", ELEMENTS)
def test_elements_are_rounded_as_quantize_does(type_name: str, library: fovea.Library) -> None:
    random = np.random.default_rng(3)
    keys, values = random_rows(random, 6)
    cache = fovea.KVCache(**SIZES, key_type=type_name, library=library)
    cache.append(cache.add(), keys, values)
    for got, rows in zip(rows_of(cache, 0)[1:], (keys, values)):
        if type_name in ("f32", "f16"):
            np.testing.assert_array_equal(got, rows[0].astype(ELEMENTS[type_name]))
        else:
            np.testing.assert_array_equal(got, library.quantize(rows, type_name)[0])


def rotated(keys: np.ndarray, places: Any, features: int, frequencies: Any, interleaved: bool) -> np.ndarray:
    """Keys (1, head, position, feature) after the formula of rotary, in double precision."""
    x = keys.astype(np.float64)
    angles = np.asarray(places, np.float64)[:, None] * np.asarray(frequencies, np.float64)
    half = features // 2
    first, second = (slice(0, features, 2), slice(1, features, 2)) if interleaved else (slice(half), slice(half, features))
    a, b = keys[..., first].astype(np.float64), keys[..., second].astype(np.float64)
    x[..., first] = a * np.cos(angles) - b * np.sin(angles)
    x[..., second] = b * np.cos(angles) + a * np.sin(angles)
    return x


@pytest.mark.parametrize(
    ("rotary", "features", "frequencies"),
    [
        (fovea.Rotary(), 64, 10000.0 ** (-np.arange(32) / 32)),
        (fovea.Rotary(features=40, interleaved=True, base=500, interpolated=4), 40, 500.0 ** (-np.arange(20) / 20) / 4),
        (fovea.Rotary(ntk_scaled=8), 64, (10000 * 8 ** (64 / 62)) ** (-np.arange(32) / 32)),
        (fovea.Rotary(features=6, frequencies=[0.5, -2, 0]), 6, [0.5, -2, 0]),
    ],
)
def test_keys_are_rotated_at_the_positions_that_they_get(rotary: fovea.Rotary, features: int, frequencies: Any) -> None:
    keys, values = random_rows(np.random.default_rng(7), 12)
    cache = fovea.KVCache(**{**SIZES, "layers": 1})
    first = cache.add()
    cache.append(first, keys[:, :, :6], values[:, :, :6], rotary=rotary)
    second = cache.fork(first)
    cache.evict(second, 0, 4)  # positions keep their numbers
    for sequence in (second, first):
        cache.append(sequence, keys[:, :, 6:9], values[:, :, 6:9], rotary=rotary)
    elsewhere = replace(rotary, positions=[7, 7, -2])
    cache.append(first, keys[:, :, 9:], values[:, :, 9:], rotary=elsewhere)
    expected = rotated(keys, [*range(9), 7, 7, -2], features, frequencies, rotary.interleaved)[0]
    for sequence in (first, second):
        places, some_keys, some_values = rows_of(cache, sequence)
        np.testing.assert_allclose(some_keys, expected[:, places], atol=1e-6)
        np.testing.assert_array_equal(some_values, values[0][:, places])


def test_rotations_that_do_not_fit_change_nothing() -> None:
    cache = fovea.KVCache(**SIZES)
    s = cache.add()
    keys, values = random_rows(np.random.default_rng(8), 3)
    for wrong, error, sentence in (
        (fovea.Rotary(features=5), fovea.ShapeError, "rotary on keys: 5 features cannot be rotated in pairs, a head has 64"),
        (fovea.Rotary(features=66, frequencies=[1]), fovea.ShapeError, "66 features cannot be rotated in pairs"),
        (fovea.Rotary(features=-2, frequencies=[1]), fovea.ShapeError, "-2 features cannot be rotated in pairs"),
        (fovea.Rotary(features=2.5), fovea.ArgumentError, "features is 2.5, it must be an integer"),
        (fovea.Rotary(frequencies=[1, 2]), fovea.ShapeError, r"frequencies are \(2,\), they must be \(32,\)"),
        (fovea.Rotary(frequencies=["a"]), fovea.ArgumentError, "frequencies has elements of"),
        (fovea.Rotary(positions=[1, 2]), fovea.ShapeError, r"positions are \(2,\), they must be \(3,\)"),
        (fovea.Rotary(positions=[0.5, 1, 2]), fovea.ArgumentError, "positions has elements of float64"),
        (fovea.Rotary(base=0), fovea.Error, "rotary: base is 0.0, it must be above 0"),
        (fovea.Rotary(ntk_scaled=float("nan")), fovea.Error, "rotary: ntk_scaled is nan, it must be above 0"),
        (fovea.Rotary(interpolated="a"), fovea.ArgumentError, "interpolated is 'a', it must be a number"),
        (10000, fovea.ArgumentError, "rotary is of type int, it must be a fovea.Rotary"),
    ):
        with pytest.raises(error, match=sentence):
            cache.append(s, keys, values, rotary=wrong)  # type: ignore[arg-type]
    assert (cache.length(s), cache.free_pages()) == (0, 12)


def given_memory(key_type: str, value_type: str) -> tuple[np.ndarray, np.ndarray]:
    """Memory for caches of SIZES, of which no byte is 0."""
    arrays = []
    for name, features in ((key_type, 64), (value_type, 32)):
        element = ELEMENTS[name]
        row = features if element.fields is None else features // 32 * element.itemsize
        dtype = element if element.fields is None else np.dtype(np.uint8)
        arrays.append(np.full((2, 12, 2, 4, row * dtype.itemsize), 0xFF, np.uint8).view(dtype))
    return arrays[0], arrays[1]


@pytest.mark.parametrize("type_name", ELEMENTS)
def test_pages_lie_in_memory_of_the_caller(type_name: str) -> None:
    other = list(ELEMENTS)[list(ELEMENTS).index(type_name) - 1]
    types = {"key_type": type_name, "value_type": other}
    memory = given_memory(type_name, other)
    keys, values = random_rows(np.random.default_rng(9), 7)
    own, given = fovea.KVCache(**SIZES, **types), fovea.KVCache(**SIZES, **types, memory=memory)
    for cache in (own, given):
        cache.append(cache.add(), keys, values, layer=1, rotary=fovea.Rotary())
    for got, expected in zip(rows_of(given, 0, 1), rows_of(own, 0, 1)):
        np.testing.assert_array_equal(got, expected)
    batch = given.batch([0], layer=1)
    for array, pages in zip(memory, (batch.keys, batch.values)):
        assert pages.ctypes.data == array[1].ctypes.data and pages.shape == array[1].shape
        np.testing.assert_array_equal(pages.view(np.uint8), array[1].view(np.uint8))
        assert (array[0].view(np.uint8) == 0xFF).all()


def test_memory_may_be_listed_by_layer_and_lives_as_long_as_the_pages() -> None:
    keys, values = random_rows(np.random.default_rng(10), 3)
    memory = tuple([array.copy() for array in arrays] for arrays in given_memory("f32", "f32"))
    cache = fovea.KVCache(**SIZES, memory=memory)
    cache.append(cache.add(), keys, values)
    gone = weakref.ref(memory[0][0])
    batch = cache.batch([0])
    del cache, memory
    gc.collect()
    assert gone() is not None
    np.testing.assert_array_equal(batch.keys[batch.page_table[0, 0], :, :3], keys[0])
    del batch
    gc.collect()
    assert gone() is None


def test_memory_that_cannot_be_that_of_a_cache() -> None:
    keys, values = given_memory("f32", "f16")
    both = np.zeros(2 * keys.nbytes, np.uint8)
    odd = both[1 : 1 + keys.nbytes].view(np.float32).reshape(keys.shape)
    read_only = keys.copy()
    read_only.flags.writeable = False
    it_must_be = r"it must be \(12, 2, 4, 64\)"
    untouched = [x.copy() for x in (keys, values)]
    for memory, error, sentence in (
        (keys, fovea.ShapeError, "the memory of keys is that of 12 layers, the cache has 2"),
        (3, fovea.ArgumentError, r"memory is of type int, it must be \(keys, values\)"),
        ((keys,), fovea.ArgumentError, r"memory is of type tuple, it must be \(keys, values\)"),
        ((keys, None), fovea.ArgumentError, "the memory of values is of type NoneType"),
        ((keys[0], values), fovea.ShapeError, "the memory of keys is that of 12 layers, the cache has 2"),
        ((keys[:1], values), fovea.ShapeError, "the memory of keys is that of 1 layer, the cache has 2"),
        (([keys[0]], values), fovea.ShapeError, "the memory of keys is that of 1 layer, the cache has 2"),
        ((keys[:, :11], values), fovea.ShapeError, r"keys of layer 0 is \(11, 2, 4, 64\), " + it_must_be),
        ((keys.reshape(2, -1), values), fovea.ShapeError, r"keys of layer 0 is \(6144,\), " + it_must_be),
        ((np.float32(0), values), fovea.ShapeError, "the memory of keys is that of 0 layers"),
        ((keys.astype(float), values), fovea.ArgumentError, "the memory of keys has elements of float64, it must have float32"),
        ((keys.astype(">f4"), values), fovea.ArgumentError, "has elements of >f4, it must have float32"),
        ((keys, values.view(np.uint16)), fovea.ArgumentError, "values has elements of uint16, it must have float16"),
        ((read_only, values), fovea.ArgumentError, "the memory of keys of layer 0 is read-only, it must be writable"),
        ((np.asfortranarray(keys), values), fovea.ShapeError, "it must have no gaps"),
        (([keys[0], keys[0]], values), fovea.ShapeError, "the memory of keys of layer . overlaps that of keys of layer ."),
        ((odd, values), fovea.ShapeError, "the memory of keys of layer 0 must be aligned to 4 bytes"),
    ):
        with pytest.raises(error, match=sentence):
            fovea.KVCache(**SIZES, value_type="f16", memory=memory)
    for array, before in zip((keys, values), untouched):
        np.testing.assert_array_equal(array.view(np.uint8), before.view(np.uint8))
    with pytest.raises(fovea.ShapeError, match="-1 pages"):
        fovea.KVCache(**{**SIZES, "pages": -1}, value_type="f16", memory=(keys, values))
    none = {**SIZES, "pages": 0}
    fovea.KVCache(**none, memory=tuple(np.empty((2, 0, 2, 4, n), np.float32) for n in (64, 32)))


def softmax_sum(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The result of one query, (head, feature), over (key_head, position, feature)."""
    results = []
    for h, row in enumerate(query):
        own = h * len(keys) // len(query)
        scores = keys[own] @ row / np.sqrt(len(row))
        weights = np.exp(scores - scores.max())
        results.append(weights @ values[own] / weights.sum())
    return np.stack(results)


def test_kernels_over_pages_compute_with_a_batch(library: fovea.Library) -> None:
    decode = next((k for k in library.kernels() if k.name == "decode"), None)
    calls = zip(decode.types, decode.elements) if decode else ()
    calls = [(dtype, types) for dtype, types in calls if {types.key, types.value} <= set(ELEMENTS)]
    if not calls:
        pytest.skip("the library has no kernel named decode for types of a cache")
    for dtype, types in calls:
        random = np.random.default_rng(4)
        cache = fovea.KVCache(**SIZES, key_type=types.key, value_type=types.value, library=library)
        keys, values = random_rows(random, 10)
        first = cache.add()
        cache.append(first, keys[:, :, :6], values[:, :, :6], layer=1)
        second = cache.fork(first)
        cache.append(first, keys[:, :, 6:7], values[:, :, 6:7], layer=1)
        cache.append(second, keys[:, :, 7:], values[:, :, 7:], layer=1)
        query = to_type(random.standard_normal((2, 4, 1, 64)), types.query)
        batch = cache.batch([second, first], layer=1)
        result = library.decode(
            query, batch.keys, batch.values, dtype=dtype, lengths=batch.lengths, page_table=batch.page_table
        )
        for b, sequence in enumerate((second, first)):
            _, own_keys, own_values = rows_of(cache, sequence, layer=1)
            expected = softmax_sum(
                to_f64(query[b, :, 0], types.query),
                decoded(own_keys, types.key),
                decoded(own_values, types.value),
            )
            tolerance = {"f64": 1e-11, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}[types.result]
            np.testing.assert_allclose(to_f64(result[b, :, 0], types.result), expected, atol=tolerance)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"key_type": "f64"}, fovea.ArgumentError, "key_type is 'f64', it must be one of f32, bf16, f16, fp8_e4m3"),
        ({"value_type": 3}, fovea.ArgumentError, "value_type is 3, it must be one of f32"),
        ({"key_type": ["f32"]}, fovea.ArgumentError, r"key_type is \['f32'\], it must be one of"),
        ({"key_type": "q8_0", "key_features": 40}, fovea.ShapeError, "40 features .* features are whole blocks"),
        ({"heads": 0}, fovea.ShapeError, "0 heads of 64 features"),
        ({"pages": -1}, fovea.ShapeError, "-1 pages"),
        ({"layers": 0}, fovea.ShapeError, "layers is 0, it must be from 1 to 2147483647"),
        ({"page_size": 2**62}, fovea.ShapeError, "are more than can be counted"),
        ({"page_size": 2**70}, fovea.ArgumentError, f"page_size is {2**70}, it must fit 64 bits"),
        ({"heads": 2.5}, fovea.ArgumentError, "heads is 2.5, it must be an integer"),
        ({"pages": None}, fovea.ArgumentError, "pages is None, it must be an integer"),
        ({"library": "bound"}, fovea.ArgumentError, "library is of type str"),
    ],
)
def test_caches_that_cannot_be(arguments: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        fovea.KVCache(**{**SIZES, **arguments})


def test_steps_that_do_not_fit_change_nothing() -> None:
    cache = fovea.KVCache(**SIZES)
    s = cache.add()
    row = np.zeros((1, 2, 1, 64)), np.zeros((1, 2, 1, 32))
    wrong = [
        (lambda: cache.append(s, row[0], row[0]), fovea.ShapeError, r"values \(1, 2, 1, 64\), and must be"),
        (lambda: cache.append(s, row[0][0], row[1]), fovea.ShapeError, r"keys are \(2, 1, 1, 64\)"),
        (lambda: cache.append(s, row[0][None], row[1]), fovea.ShapeError, "keys has 5 axes, it must be"),
        (lambda: cache.append(s, row[0], row[1].astype(int)), fovea.ArgumentError, "values has elements of int64"),
        (lambda: cache.append(s, row[0], row[1], layer=2), fovea.ShapeError, "layer is 2, it must be from 0 to 1"),
        (lambda: cache.append(7, *row), fovea.ShapeError, "there is no sequence 7"),
        (lambda: cache.append("0", *row), fovea.ArgumentError, "sequence is '0', it must be an integer"),
        (lambda: cache.append(s, *(x.repeat(49, 2) for x in row)), fovea.ShapeError, "need 13 pages, and 12 are free"),
        (lambda: cache.evict(s, 0, 1), fovea.ShapeError, "sequence 0 has 0 positions, and those from 0 to 1"),
        (lambda: cache.truncate(s, 1), fovea.ShapeError, "sequence 0 has 0 positions, not 1 to be kept"),
        (lambda: cache.fork(-1), fovea.ShapeError, "there is no sequence -1"),
        (lambda: cache.remove(1), fovea.ShapeError, "there is no sequence 1"),
        (lambda: cache.remove(2**64), fovea.ArgumentError, "must fit 64 bits"),
        (lambda: cache.length(s, -1), fovea.ShapeError, "layer is -1"),
        (lambda: cache.free_pages(5), fovea.ShapeError, "layer is 5"),
        (lambda: cache.batch([s, 3]), fovea.ShapeError, "there is no sequence 3"),
        (lambda: cache.batch([0.5]), fovea.ArgumentError, "sequences has elements of float64"),
        (lambda: cache.batch(s), fovea.ArgumentError, "sequences is of type int"),
    ]
    for step, error, sentence in wrong:
        with pytest.raises(error, match=sentence):
            step()
    assert (cache.length(s), cache.free_pages(), cache.free_pages(1)) == (0, 12, 12)
    assert cache.add() == 1
    empty = cache.batch([])
    assert empty.page_table.shape == (0, 0) and empty.positions.shape == (0, 0)
    without_pages = fovea.KVCache(**{**SIZES, "pages": 0})
    assert without_pages.batch([without_pages.add()]).keys.shape == (0, 2, 4, 64)


def test_pages_outlive_their_cache() -> None:
    cache = fovea.KVCache(**SIZES)
    keys, values = random_rows(np.random.default_rng(5), 3)
    cache.append(cache.add(), keys, values)
    batch = cache.batch([0])
    with pytest.raises(ValueError, match="read-only"):
        batch.keys[0] = 0
    gone = weakref.ref(cache)
    del cache
    gc.collect()
    np.testing.assert_array_equal(batch.keys[batch.page_table[0, 0], :, :3], keys[0])
    assert gone() is not None
    del batch
    gc.collect()
    assert gone() is None


def test_steps_of_threads_come_one_after_the_other() -> None:
    cache = fovea.KVCache(**{**SIZES, "pages": 100})
    keys, values = random_rows(np.random.default_rng(6), 1)

    def work(sequence: int) -> None:
        for n in range(100):
            cache.append(sequence, keys * sequence, values)
            assert cache.batch([sequence]).lengths.tolist() == [n + 1]

    threads = [threading.Thread(target=work, args=(cache.add(),)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for sequence in range(4):
        np.testing.assert_array_equal(rows_of(cache, sequence)[1], (keys * sequence)[0].repeat(100, 1))
    assert cache.free_pages() == 0
