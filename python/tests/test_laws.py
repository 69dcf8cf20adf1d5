# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What holds for every kernel, whatever it computes."""

from __future__ import annotations

from typing import Any

import numpy as np

import fovea
from cases import TOLERANCES, Case, for_kernels, main_type, make_case, parts, takes, to_f64, to_type

# Normalizers whose weights of one row sum to one.
CONVEX = {"softmax", "sparsemax", "entmax15", "hardmax", "uniform", "proportional"}


@for_kernels("have weights that sum to one", lambda kernel: parts(kernel).get("weights", "").split(" ")[0] in CONVEX)
def test_result_of_equal_values_is_that_value(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    row = to_type(np.array([-2.0, -0.5, 0.0, 0.25, 3.0]), case.type)
    result = case.with_arrays(v=np.broadcast_to(row, case.v.shape)).run()
    np.testing.assert_allclose(result, np.broadcast_to(to_f64(row, case.type), result.shape), atol=case.tolerance)


def knows_positions(kernel: fovea.Kernel) -> bool:
    """Whether it knows, or may know, keys by something else than their features."""
    tells = ("idx", "edges", "(computed)")  # of the last nothing is known
    return any(word in kernel.formula for word in tells) or kernel.is_paged or takes(kernel, "query_offsets")


@for_kernels("know keys by their features only", lambda kernel: not knows_positions(kernel))
def test_order_of_keys_does_not_matter(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    order = np.random.default_rng(1).permutation(case.k.shape[2])
    permuted = case.with_arrays(k=case.k[:, :, order], v=case.v[:, :, order])
    np.testing.assert_allclose(permuted.run(), case.run(), atol=case.tolerance)


@for_kernels("run over batches", lambda kernel: not takes(kernel, "query_offsets"))
def test_batch_elements_are_independent(kernel: fovea.Kernel) -> None:
    case = make_case(kernel, batch=3)
    whole = case.run()
    for b in range(3):
        np.testing.assert_allclose(element_of_batch(case, b).run(), whole[b : b + 1], atol=case.tolerance)


def element_of_batch(case: Case, b: int) -> Case:
    def cut(name: str, x: Any) -> Any:
        axes = next(a.shape for a in case.kernel.arguments if a.name == name)
        return x[tuple(slice(b, b + 1) if axis == "batch" else slice(None) for axis in axes)] if axes else x

    arguments = {name: cut(name, x) for name, x in case.arguments.items()}
    rows = slice(None) if case.kernel.is_paged else slice(b, b + 1)
    return Case(case.kernel, case.type, case.q[b : b + 1], case.k[rows], case.v[rows], arguments)


def test_heads_that_lie_inside_positions_are_read_where_they_lie(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)

    def moved(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)

    strided = case.with_arrays(q=moved(case.q), k=moved(case.k), v=moved(case.v))
    assert not strided.q.flags.c_contiguous
    np.testing.assert_allclose(strided.run(), case.run(), atol=case.tolerance)


def test_out_of_other_strides_gets_the_result(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    expected = case.run_raw()
    batch, heads, positions, features = expected.shape
    wide = np.zeros((batch, positions, heads, features + 3), expected.dtype)
    out = wide[..., :features].swapaxes(1, 2)
    assert case.run_raw(out=out) is out
    np.testing.assert_allclose(to_f64(out, case.type), to_f64(expected, case.type), atol=case.tolerance)
    assert np.all(wide[..., features:] == 0)


def test_more_threads_give_the_same(kernel: fovea.Kernel) -> None:
    case = make_case(kernel, positions=64)
    np.testing.assert_allclose(case.run(threads=3), case.run(), atol=case.tolerance)


@for_kernels("are built for several types", lambda kernel: len(kernel.types) > 1)
def test_types_agree_on_the_same_numbers(kernel: fovea.Kernel) -> None:
    coarsest = next(t for t in ("bf16", "f16", "f32", "f64") if t in kernel.types)
    rounded = make_case(kernel, type_name=coarsest)
    results = {}
    for type_name in kernel.types:
        arrays = {name: to_type(to_f64(getattr(rounded, name), coarsest), type_name) for name in "qkv"}
        results[type_name] = rounded.with_arrays(type=type_name, **arrays).run()
    base = main_type(kernel) if "f64" not in kernel.types else "f64"
    for type_name, result in results.items():
        np.testing.assert_allclose(result, results[base], atol=max(TOLERANCES[type_name], TOLERANCES[base]))


def test_result_has_the_type_and_rank_of_queries(kernel: fovea.Kernel) -> None:
    case = make_case(kernel, batch=1, heads=1)
    result = case.run_raw()
    assert (result.dtype, result.shape) == (case.q.dtype, (*case.q.shape[:-1], case.v.shape[-1]))
    arrays = {"q": case.q[0]} if case.kernel.is_paged else {"q": case.q[0], "k": case.k[0], "v": case.v[0]}
    less = case.with_arrays(**arrays).run_raw()
    assert less.shape == result.shape[1:]
    np.testing.assert_array_equal(less, result[0])
    flat = {name: x[0] if x.ndim == 3 else x for name, x in arrays.items()}
    np.testing.assert_array_equal(case.with_arrays(**flat).run_raw(), result[0, 0])


def counts_queries(kernel: fovea.Kernel) -> bool:
    """Whether there must be as many queries as keys, or as an argument is made for."""
    return "running_state" in kernel.formula or any(
        "queries" in a.shape or a.type == "fovea_graph" or "offsets" in a.name for a in kernel.arguments
    )


@for_kernels("take any number of queries", lambda kernel: not counts_queries(kernel))
def test_no_queries_give_an_empty_result(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    assert case.with_arrays(q=case.q[:, :, :0]).run().shape == (2, 4, 0, 5)
