# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of kernels: against differences of the definition, by laws, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fovea
import reference
from cases import Case, for_kernels, kernel_named, make_case, to_f64, to_type

with_gradients = for_kernels("have gradients", lambda kernel: bool(kernel.gradients))


def gradient_of(case: Case, d: np.ndarray, **options: Any) -> fovea.Gradients:
    dtype = "bf16" if case.type == "bf16" else None
    return fovea.gradient(
        case.q, case.k, case.v, to_type(d, case.type), case.kernel.name, dtype=dtype, **options, **case.arguments
    )


def small_case(kernel: fovea.Kernel) -> tuple[Case, np.ndarray]:
    case = make_case(kernel, batch=2, heads=2, positions=4)
    d = np.random.default_rng(3).standard_normal((*case.q.shape[:-1], case.v.shape[-1]))
    return case, to_f64(to_type(d, case.type), case.type)


def differences(case: Case, d: np.ndarray, changed: Any) -> np.ndarray:
    """Of sum(d * result) by each element of an array; changed(x) is the case with another array in its place."""
    case = case.with_arrays(type="f64", **{name: to_f64(getattr(case, name), case.type) for name in "qkv"})
    x, with_array = changed(case)
    found = np.empty(x.shape)
    step = 1e-5
    for at in np.ndindex(x.shape):
        moved = np.zeros(x.shape)
        moved[at] = step
        above, below = (reference.attend(with_array(y)) for y in (x + moved, x - moved))
        found[at] = (d * (above - below)).sum() / (2 * step)
    return found


@for_kernels("have gradients and a reference", lambda k: bool(k.gradients) and k.name in reference.REFERENCES)
def test_gradients_are_those_of_the_definition(kernel: fovea.Kernel) -> None:
    case, d = small_case(kernel)
    found = gradient_of(case, d)
    for letter, name in zip("qkv", ("query", "key", "value")):

        def operand(of: Case, letter: str = letter) -> Any:
            return getattr(of, letter), lambda x: of.with_arrays(**{letter: x})

        expected = differences(case, d, operand)
        np.testing.assert_allclose(to_f64(getattr(found, name), case.type), expected, atol=4 * case.tolerance)
    assert set(kernel.gradients) == {"query", "key", "value", *found.tables}
    for name, of_table in found.tables.items():

        def table(of: Case, name: str = name) -> Any:
            return np.asarray(of.arguments[name]), lambda x: of.with_arrays(arguments={**of.arguments, name: x})

        np.testing.assert_allclose(of_table, differences(case, d, table), atol=10 * case.tolerance)


@with_gradients
def test_values_and_their_gradient_give_the_result_and_its_gradient(kernel: fovea.Kernel) -> None:
    case, d = small_case(kernel)
    d_value = to_f64(gradient_of(case, d).value, case.type)
    expected = (d * case.run()).sum()
    np.testing.assert_allclose((d_value * to_f64(case.v, case.type)).sum(), expected, atol=20 * case.tolerance)


@with_gradients
def test_gradients_are_linear_in_that_of_the_result(kernel: fovea.Kernel) -> None:
    case, d = small_case(kernel)
    once, twice = gradient_of(case, d), gradient_of(case, 2 * d)
    for name in ("query", "key", "value"):
        x, y = (to_f64(getattr(g, name), case.type) for g in (once, twice))
        np.testing.assert_array_equal(y, 2 * x)
    for name, x in once.tables.items():
        np.testing.assert_array_equal(twice.tables[name], 2 * x)


@with_gradients
def test_gradients_have_the_shapes_and_types_of_arrays(kernel: fovea.Kernel) -> None:
    case, d = small_case(kernel)
    found = gradient_of(case, d, threads=3)
    for x, y in ((case.q, found.query), (case.k, found.key), (case.v, found.value)):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
    for name, x in found.tables.items():
        assert x.shape == np.asarray(case.arguments[name]).shape


@with_gradients
def test_wanted_alone_is_computed_and_is_what_it_is_among_all(kernel: fovea.Kernel) -> None:
    case, d = small_case(kernel)
    all_of_them = gradient_of(case, d)

    def of(found: fovea.Gradients, name: str) -> Any:
        return getattr(found, name) if name in ("query", "key", "value") else found.tables.get(name)

    for wanted in kernel.gradients:
        found = gradient_of(case, d, wanted=[wanted])
        for name in kernel.gradients:
            if name == wanted:
                np.testing.assert_array_equal(of(found, name), of(all_of_them, name))
            else:
                assert of(found, name) is None
    assert gradient_of(case, d, wanted=()) == fovea.Gradients(None, None, None, {})


@with_gradients
def test_one_array_for_all_operands_has_the_gradient_of_each(kernel: fovea.Kernel) -> None:
    case, d = small_case(kernel)
    x = case.q
    d = np.concatenate([d, d], axis=-1)[..., : x.shape[-1]]
    apart = gradient_of(case.with_arrays(q=x, k=x.copy(), v=x.copy()), d)
    shared = gradient_of(case.with_arrays(q=x, k=x, v=x), d)
    for name in ("query", "key", "value"):
        np.testing.assert_array_equal(getattr(shared, name), getattr(apart, name))


def test_kernel_of_a_library_has_a_method(library: fovea.Library) -> None:
    case, d = small_case(gradient_kernel())
    by_method = getattr(library, case.kernel.name).gradient(case.q, case.k, case.v, to_type(d, case.type))
    np.testing.assert_array_equal(by_method.key, gradient_of(case, d).key)


def gradient_kernel() -> fovea.Kernel:
    kernel = kernel_named("causal")
    if not kernel.gradients:
        pytest.skip("the library has no gradients of causal")
    return kernel


def test_gradient_of_another_shape_is_refused() -> None:
    case, d = small_case(gradient_kernel())
    with pytest.raises(fovea.ShapeError) as caught:
        gradient_of(case, d[..., 1:])
    assert str(caught.value) == (
        "the gradient of the result is (2, 2, 4, 4) and must be (2, 2, 4, 5), (batch, head, position, feature)"
    )


def test_gradient_of_another_type_is_refused() -> None:
    case, d = small_case(gradient_kernel())
    with pytest.raises(fovea.ArgumentError, match="^the gradient of the result has elements of f64, query has f32$"):
        fovea.gradient(case.q, case.k, case.v, d.astype(np.float64), case.kernel.name)


@pytest.mark.parametrize(
    "wanted, message",
    [
        (["weights"], "wanted names 'weights', causal has gradients of query, key and value"),
        ("query", "wanted is of type str, it must be names of gradients, such as ('query', 'key')"),
        (3, "wanted is of type int, it must be names of gradients, such as ('query', 'key')"),
        ([1], "wanted names 1, causal has gradients of query, key and value"),
    ],
)
def test_wanted_of_what_there_is_none_is_refused(wanted: Any, message: str) -> None:
    case, d = small_case(gradient_kernel())
    with pytest.raises(fovea.ArgumentError) as caught:
        gradient_of(case, d, wanted=wanted)
    assert str(caught.value) == message


def test_wrong_operands_are_refused_as_by_attend() -> None:
    case, d = small_case(gradient_kernel())
    with pytest.raises(fovea.ShapeError, match="query has 8 features, key has 7$"):
        gradient_of(case.with_arrays(k=case.k[..., 1:]), d)


@for_kernels("have no gradients", lambda kernel: not kernel.gradients and not kernel.is_paged)
def test_kernel_without_gradients_says_how_to_get_them(kernel: fovea.Kernel) -> None:
    case, d = small_case(kernel)
    with pytest.raises(fovea.UnsupportedError, match=f"^{kernel.name} is built without gradients in .*GRADIENTS"):
        gradient_of(case, d)
