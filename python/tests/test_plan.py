# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments as C takes them, of kernels that a library need not have."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import fovea
from fovea import Argument
from fovea._arrays import address_of
from fovea._plan import SLOTS, Axis, Plan


def values(plan: Plan, codes: str, known: dict[str, int], **given: Any) -> list[Any]:
    """The addresses and numbers that C gets."""
    packed, kept = plan.values(given, known)
    assert packed is not None and len(kept) == len(plan.names)
    return list(struct.unpack(codes, packed))


def test_axes_are_numbers_names_or_sums() -> None:
    assert Axis.of("8").extent({}) == 8
    assert Axis.of("heads").extent({"heads": 3}) == 3
    assert Axis.of("sequences + 1").extent({"sequences": 3}) == 4
    assert Axis.of("distances").extent({}) is None


def test_extents_of_its_own_are_read_off_a_table() -> None:
    table = Argument("table", "float", ("heads", "distances"))
    plan = Plan.of([table, Argument("cap", "double"), Argument("distances", "int64_t")])
    assert plan.names == ("table", "cap")
    array = np.zeros((2, 7), np.float32)
    assert values(plan, "Pdq", {"heads": 2}, table=array, cap=2.5) == [address_of(array), 2.5, 7]


def test_tables_have_to_agree_on_an_extent() -> None:
    tables = [Argument("a", "double", ("n",)), Argument("b", "double", ("n", "2")), Argument("n", "int64_t")]
    plan = Plan.of(tables)
    assert values(plan, "PPq", {}, a=np.zeros(3), b=np.zeros((3, 2)))[2] == 3
    with pytest.raises(fovea.ShapeError, match=r"^b is \(4, 2\), it must be \(n, 2\), here \(3, 2\)$"):
        plan.values({"a": np.zeros(3), "b": np.zeros((4, 2))}, {})
    with pytest.raises(fovea.ShapeError, match=r"^b is \(3, 3\), it must be \(n, 2\), here \(3, 2\)$"):
        plan.values({"a": np.zeros(3), "b": np.zeros((3, 3))}, {})


def test_keys_of_pages_are_counted() -> None:
    arguments = [Argument("bias", "float", ("keys",)), Argument("by_slot", "float", ("slots",))]
    arguments += [Argument("slots", "int64_t"), Argument("page_table", "int32_t", ("batch", "pages"))]
    plan = Plan.of([*arguments, Argument("pages", "int64_t")])
    assert plan.is_paged and plan.names == ("bias", "by_slot", "page_table")
    given = {"bias": np.zeros(12), "by_slot": np.zeros(9), "page_table": np.zeros((2, 3), np.int64)}
    numbers = values(plan, "PPqPq", {"batch": 2, SLOTS: 4}, **given)
    assert (numbers[2], numbers[4]) == (9, 3)
    with pytest.raises(fovea.ShapeError, match=r"^bias is \(11\), it must be \(keys\), here \(12\)$"):
        plan.values({**given, "bias": np.zeros(11)}, {"batch": 2, SLOTS: 4})
    with pytest.raises(fovea.ShapeError, match=r"^page_table is \(2, 3\), it must be \(batch, pages\), here \(1, 3\)$"):
        plan.values(given, {"batch": 1, SLOTS: 4})


def test_sequences_are_one_less_than_their_offsets() -> None:
    offsets = [Argument(name, "int64_t", ("sequences + 1",)) for name in ("query_offsets", "key_offsets")]
    plan = Plan.of([*offsets, Argument("sequences", "int64_t")])
    assert plan.names == ("query_offsets", "key_offsets")
    assert values(plan, "PPq", {}, query_offsets=[0, 2, 5], key_offsets=[0, 1, 4])[2] == 2
    with pytest.raises(fovea.ShapeError, match=r"^key_offsets is \(2\), it must be \(sequences \+ 1\), here \(3\)$"):
        plan.values({"query_offsets": [0, 2, 5], "key_offsets": [0, 5]}, {})
    with pytest.raises(fovea.ShapeError, match=r"^query_offsets is \(0\), it must be \(sequences \+ 1\)$"):
        plan.values({"query_offsets": [], "key_offsets": []}, {})


def test_numbers_are_passed_as_they_are() -> None:
    plan = Plan.of([Argument("left", "int64_t"), Argument("flag", "int64_t"), Argument("scale", "double")])
    assert values(plan, "qqd", {}, left=-(2**63), flag=np.True_, scale=np.float32(0.5)) == [-(2**63), 1, 0.5]


def test_tables_are_converted_and_kept() -> None:
    plan = Plan.of([Argument("a", "float", ("n",)), Argument("b", "uint8_t", ("n",)), Argument("n", "int64_t")])
    packed, kept = plan.values({"a": [1.5, 2], "b": [255, 0]}, {})
    assert [x.dtype for x in kept.values()] == [np.float32, np.uint8]
    assert all(x.flags.c_contiguous for x in kept.values())
    assert packed == struct.pack("PPq", *map(address_of, kept.values()), 2)
    with pytest.raises(fovea.ArgumentError, match="b has the element 256, which is no uint8"):
        plan.values({"a": [1.5, 2], "b": [256, 0]}, {})


def test_bits_have_the_extent_that_a_table_names_or_all_of_their_bytes() -> None:
    plan = Plan.of([Argument("a", "fovea_bits", ("n",)), Argument("b", "float", ("n",)), Argument("n", "int64_t")])
    alone = Plan.of([Argument("a", "fovea_bits", ("n",)), Argument("n", "int64_t")])
    packed, truths = np.array([3, 255], np.uint8), np.arange(11) % 2 == 0
    for given in (packed, truths):
        assert values(plan, "PPq", {}, a=given, b=np.zeros(11))[2] == 11
    assert values(alone, "Pq", {}, a=packed)[1] == 16
    assert values(alone, "Pq", {}, a=truths)[1] == 11
    for n in (8, 17):
        with pytest.raises(fovea.ShapeError, match=rf"^a is \(16 bits\), it must be \(n\), here \({n}\)$"):
            plan.values({"a": packed, "b": np.zeros(n)}, {})


def test_types_of_later_versions_are_refused() -> None:
    with pytest.raises(fovea.Error, match="x is of type fovea_tree, which this package does not know"):
        Plan.of([Argument("x", "fovea_tree")])
    with pytest.raises(fovea.Error, match="x is a table of complex, which this package does not know"):
        Plan.of([Argument("x", "complex", ("n",))])
