# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels give what their formulas in NumPy give."""

from __future__ import annotations

import numpy as np
import pytest

import fovea
import reference
from cases import kernel_named, make_case


def test_kernel_computes_its_formula(kernel: fovea.Kernel) -> None:
    if kernel.name not in reference.REFERENCES:
        pytest.skip(f"there is no formula in NumPy for a kernel named {kernel.name}")
    for type_name in kernel.types:
        for seed in range(3):
            case = make_case(kernel, seed, type_name=type_name)
            np.testing.assert_allclose(case.run(), reference.attend(case), atol=case.tolerance, err_msg=type_name)


def test_query_heads_share_key_heads() -> None:
    case = make_case(kernel_named("gqa_causal", "causal"))
    shared = case.with_arrays(k=case.k[:, :2], v=case.v[:, :2])
    np.testing.assert_allclose(shared.run(), reference.attend(shared), atol=case.tolerance)


def test_pages_in_any_order_hold_the_same_sequence() -> None:
    case = make_case(kernel_named("decode"))
    table = case.arguments["page_table"]
    order = np.random.default_rng(2).permutation(case.k.shape[0])
    place = np.argsort(order).astype(np.int32)
    moved = case.with_arrays(k=case.k[order], v=case.v[order], arguments={**case.arguments, "page_table": place[table]})
    np.testing.assert_array_equal(moved.run(), case.run())


def test_numbers_of_a_graph_follow_the_edges_as_given() -> None:
    graph = fovea.Graph.from_edges(3, [(2, 0), (0, 1), (2, 1), (0, 0)])
    np.testing.assert_array_equal(graph.offsets, [0, 2, 2, 4])
    np.testing.assert_array_equal(graph.keys, [1, 0, 0, 1])
    np.testing.assert_array_equal(graph.numbers, [1, 3, 0, 2])
    assert (graph.queries, graph.edges) == (3, 4)
    assert fovea.Graph.from_edges(3, [(0, 2), (1, 0)]).numbers is None
    assert fovea.Graph.from_edges(2, []).edges == 0
