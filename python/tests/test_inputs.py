# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of every kind and layout give what the same numbers give without gaps."""

from __future__ import annotations

import array
import ctypes
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fovea
from cases import Case, kernel_named, make_case, plain_case, to_f64, to_type


class Interface:
    """What has `__array_interface__` only."""

    def __init__(self, x: np.ndarray) -> None:
        self._x = x
        self.__array_interface__ = x.__array_interface__


class Pack:
    """What has DLPack only."""

    def __init__(self, x: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self._x = x
        self._device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self._x.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def unaligned(x: np.ndarray) -> np.ndarray:
    memory = np.empty(x.nbytes + 1, np.uint8)
    result = memory[1:].view(x.dtype).reshape(x.shape)
    result[...] = x
    return result


def field_of_records(x: np.ndarray) -> np.ndarray:
    """Strides that are no multiple of an element."""
    records = np.zeros(x.shape, np.dtype([("x", x.dtype), ("more", np.uint8)]))
    records["x"] = x
    return records["x"]


def spread(x: np.ndarray) -> np.ndarray:
    wide = np.zeros((*x.shape, 2), x.dtype)
    wide[..., 0] = x
    return wide[..., 0]


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "features not side by side": spread,
    "columns first": np.asfortranarray,
    "features backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "positions backwards": lambda x: x[:, :, ::-1].copy()[:, :, ::-1],
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "no alignment": unaligned,
    "fields of records": field_of_records,
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "array interface": Interface,
    "memoryview": memoryview,
    "DLPack": Pack,
    "subclass": lambda x: x.view(type("Sub", (np.ndarray,), {})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_give_the_same(layout: str) -> None:
    case = plain_case()
    expected = case.run_raw()
    change = LAYOUTS[layout]
    arrays = {name: change(getattr(case, name)) for name in "qkv"}
    result = case.with_arrays(**arrays).run_raw()
    assert type(result) is np.ndarray and result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_layouts_of_pages_give_the_same() -> None:
    case = make_case(kernel_named("decode"))
    for change in LAYOUTS.values():
        arrays = {name: change(getattr(case, name)) for name in "qkv"}
        np.testing.assert_array_equal(case.with_arrays(**arrays).run(), case.run())


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("read-only", "DLPack")])
def test_layouts_of_out_get_the_result(layout: str) -> None:
    case = plain_case()
    expected = case.run_raw()
    memory = LAYOUTS[layout](np.zeros_like(expected))
    assert case.run_raw(out=memory) is memory
    np.testing.assert_array_equal(np.asarray(getattr(memory, "_x", memory)), expected)


def test_out_through_dlpack_gets_the_result_or_says_why_not() -> None:
    case = plain_case()
    expected = case.run_raw()
    memory = np.zeros_like(expected)
    if np.from_dlpack(Pack(memory)).flags.writeable:
        case.run_raw(out=Pack(memory))
        np.testing.assert_array_equal(memory, expected)
    else:
        with pytest.raises(fovea.ArgumentError, match="out is read-only"):
            case.run_raw(out=Pack(memory))


def test_other_devices_are_refused() -> None:
    case = plain_case()
    with pytest.raises(fovea.ArgumentError, match=r"key is on device \(2, 0\) of DLPack, it must be on the CPU"):
        case.with_arrays(k=Pack(case.k, device=(2, 0))).run_raw()


def test_what_fits_is_used_where_it_lies() -> None:
    from fovea._arrays import layout_of, passable

    x = np.zeros((2, 3, 4, 6), np.float32)
    for y in (x, x.swapaxes(1, 2), x[:, ::2], x[..., :5], np.broadcast_to(x[:1], x.shape)):
        assert passable(y) is y
    strides = layout_of(x.swapaxes(1, 2), (2, 4, 3, 6))[5:]
    assert strides == (72, 6, 24, 1)
    assert layout_of(np.broadcast_to(x[:1], x.shape), x.shape)[5] == 0


def test_arrays_of_the_language() -> None:
    case = plain_case(batch=1, heads=1)
    code = {"f32": "f", "f64": "d"}.get(case.type)
    if code is None:
        pytest.skip(f"Python has no arrays of {case.type}")
    flat = {name: getattr(case, name)[0, 0] for name in "qkv"}
    views = {n: memoryview(array.array(code, x.ravel())).cast("B").cast(code, x.shape) for n, x in flat.items()}
    np.testing.assert_array_equal(case.with_arrays(**views).run()[None, None], case.run())

    element = {"f": ctypes.c_float, "d": ctypes.c_double}[code]
    rows = {n: ((element * x.shape[1]) * x.shape[0])(*map(tuple, x)) for n, x in flat.items()}
    out = ((element * 5) * 8)()
    assert case.with_arrays(**rows).run_raw(out=out) is out
    np.testing.assert_array_equal(np.asarray(out), case.run()[0, 0])


def test_tables_may_be_lists_and_other_numbers() -> None:
    case = make_case(kernel_named("alibi"))
    slopes = np.array([0.5, 0.25, 0.125, 0.0625])
    expected = case.with_arrays(arguments={"slopes": slopes.astype(np.float32)}).run()
    wide = np.zeros((4, 2), np.float32)
    wide[:, 0] = slopes
    for same in (slopes, slopes.tolist(), tuple(slopes), slopes.astype(">f4"), wide[:, 0], unaligned(slopes)):
        np.testing.assert_array_equal(case.with_arrays(arguments={"slopes": same}).run(), expected)
    whole = case.with_arrays(arguments={"slopes": [1, 2, 3, 4]}).run()
    np.testing.assert_array_equal(whole, case.with_arrays(arguments={"slopes": np.arange(1.0, 5.0)}).run())


def test_integers_may_be_of_any_width() -> None:
    case = make_case(kernel_named("decode"))
    lengths, table = case.arguments["lengths"], case.arguments["page_table"]
    for dtype in (np.int8, np.uint16, np.int64, np.uint64, ">i4"):
        same = {"lengths": lengths.astype(dtype), "page_table": table.astype(dtype)}
        np.testing.assert_array_equal(case.with_arrays(arguments=same).run(), case.run())
    same = {"lengths": lengths.tolist(), "page_table": np.asfortranarray(table)}
    np.testing.assert_array_equal(case.with_arrays(arguments=same).run(), case.run())


def test_conditions_are_packed_or_come_so() -> None:
    case = make_case(kernel_named("listed"), positions=13)
    bits = case.arguments["bits"]
    packed = np.packbits(bits, axis=-1, bitorder="little")
    packed[:, -1] |= 0xE0  # what is none of the 13 conditions
    wide = np.zeros((13, 4), np.uint8)
    wide[:, ::2] = packed
    swapped = {"bits": case.arguments["bytes"], "bytes": bits}
    np.testing.assert_array_equal(case.with_arrays(arguments=swapped).run(), case.run())
    for same in (bits.tolist(), np.asfortranarray(bits), memoryview(bits), packed, wide[:, ::2], memoryview(packed)):
        np.testing.assert_array_equal(case.with_arrays(arguments={**case.arguments, "bits": same}).run(), case.run())
    here = r"it must be \(queries, keys\), here \(13, 13\)"
    for wrong, error, sentence in (
        (bits[:, :12], fovea.ShapeError, r"bits is \(13, 12\), " + here),
        (packed[:, :1], fovea.ShapeError, r"bits is \(13, 8 bits\), " + here),
        (packed.repeat(2, axis=1), fovea.ShapeError, r"bits is \(13, 32 bits\), " + here),
        (packed[:12], fovea.ShapeError, r"bits is \(12, 13 bits\), " + here),
        (packed.ravel(), fovea.ShapeError, r"bits is \(208 bits\), " + here),
        (np.uint8(1), fovea.ShapeError, r"bits is \(\), " + here),
        (np.array(True), fovea.ShapeError, r"bits is \(\), " + here),
        (packed.astype(np.int8), fovea.ArgumentError, "bits has elements of int8, it must have bool, or uint8 for eight"),
        (bits.astype(np.float32), fovea.ArgumentError, "bits has elements of float32"),
        (bits.astype(int).tolist(), fovea.ArgumentError, "bits has elements of int64"),
    ):
        with pytest.raises(error, match=sentence):
            case.with_arrays(arguments={**case.arguments, "bits": wrong}).run()


def test_numbers_may_be_of_numpy() -> None:
    case = make_case(kernel_named("softcap", "capped"))
    expected = case.with_arrays(arguments={"cap": 2.0}).run()
    for same in (2, np.float32(2), np.int8(2), np.array(2.0)):
        np.testing.assert_array_equal(case.with_arrays(arguments={"cap": same}).run(), expected)


def test_graphs_may_be_sparse_rows() -> None:
    kernel = kernel_named("edges", "gat", "gatv2")
    case = make_case(kernel)
    name = next(a.name for a in kernel.arguments if a.type == "fovea_graph")
    graph = case.arguments[name]

    class Rows:
        indptr, indices = graph.offsets.astype(np.int32), graph.keys.astype(np.int64)

    same = case.with_arrays(arguments={**case.arguments, name: Rows()})
    np.testing.assert_array_equal(same.run(), case.run())


def test_sparse_arrays_of_scipy() -> None:
    try:
        sparse = importlib.import_module("scipy.sparse")
    except ImportError:
        pytest.skip("SciPy is not installed")
    kernel = kernel_named("edges", "gat", "gatv2")
    case = make_case(kernel)
    name = next(a.name for a in kernel.arguments if a.type == "fovea_graph")
    graph = case.arguments[name]
    rows = sparse.csr_matrix((np.ones(graph.edges), graph.keys, graph.offsets), shape=(8, 8))
    np.testing.assert_array_equal(case.with_arrays(arguments={**case.arguments, name: rows}).run(), case.run())
    with pytest.raises(fovea.ArgumentError, match="csc_matrix, it must be a fovea.Graph or sparse rows"):
        case.with_arrays(arguments={**case.arguments, name: rows.tocsc()}).run()


def with_bfloat16() -> Case:
    kernel = kernel_named("causal")
    if "bf16" not in kernel.types:
        pytest.skip(f"{kernel.name} is not built for bf16")
    return make_case(kernel, type_name="bf16")


def test_bits_of_bfloat16_give_bits() -> None:
    case = with_bfloat16()
    result = case.run_raw()
    assert result.dtype == np.uint16
    first = to_f64(result, "bf16")[:, :, 0]
    np.testing.assert_array_equal(first, to_f64(case.v, "bf16")[:, :, 0])  # the first query sees itself only
    swapped = {name: getattr(case, name).astype(">u2") for name in "qkv"}
    np.testing.assert_array_equal(case.with_arrays(**swapped).run_raw(), result)


def test_bfloat16_of_ml_dtypes() -> None:
    try:
        bfloat16 = importlib.import_module("ml_dtypes").bfloat16
    except ImportError:
        pytest.skip("ml_dtypes is not installed")
    case = with_bfloat16()
    q, k, v = (x.view(bfloat16) for x in (case.q, case.k, case.v))
    result = fovea.attend(q, k, v, case.kernel.name)
    assert result.dtype == bfloat16
    np.testing.assert_array_equal(result.view(np.uint16), case.run_raw())


def test_rounding_to_bfloat16_is_to_nearest_even() -> None:
    x = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -2.5, 3.0e38])
    np.testing.assert_array_equal(to_f64(to_type(x, "bf16"), "bf16")[:4], [1.0, 1.0, 1 + 2**-6, -2.5])
