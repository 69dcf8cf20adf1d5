# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels give beside their result: by its definition, in any choice, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fovea
import reference
from cases import Case, for_kernels, kernel_named, make_case, to_f64, to_type

with_outputs = for_kernels("give more than their result", lambda kernel: bool(kernel.outputs))


def expected(case: Case) -> dict[str, np.ndarray]:
    """Every output that a call can have; weights over a graph by its edges."""
    computed = reference.rows(case)
    weights = computed.weights
    found = {
        "lse": computed.lse(),
        "weights": weights,
        "scores": computed.scores,
        "entropy": -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1),
        "best_key": computed.scores.argmax(-1),
        "column_sums": weights.sum(-2),
    }
    for graph in (x for x in case.arguments.values() if isinstance(x, fovea.Graph)):
        of_edges = np.empty((*weights.shape[:2], graph.edges))
        for query in range(graph.queries):
            for place in range(graph.offsets[query], graph.offsets[query + 1]):
                number = place if graph.numbers is None else graph.numbers[place]
                of_edges[:, :, number] = weights[:, :, query, graph.keys[place]]
        found["weights"] = of_edges
    return found


@for_kernels("give outputs and have a reference", lambda k: bool(k.outputs) and k.name in reference.REFERENCES)
def test_outputs_are_those_of_the_definition(kernel: fovea.Kernel) -> None:
    for seed, shared in ((0, 1), (1, 2)):
        case = make_case(kernel, seed)
        if not kernel.is_paged:
            case = case.with_arrays(k=case.k[:, ::shared], v=case.v[:, ::shared])
        found, everything = case.run_raw(outputs=kernel.outputs), expected(case)
        assert found._fields == ("result", *kernel.outputs)
        np.testing.assert_allclose(to_f64(found.result, case.type), reference.attend(case), atol=case.tolerance)
        for name in kernel.outputs:
            of_kernel = getattr(found, name)
            assert of_kernel.dtype == (np.int64 if name == "best_key" else np.float32)
            np.testing.assert_allclose(of_kernel, everything[name], atol=case.tolerance, err_msg=name)


@with_outputs
def test_each_output_alone_is_the_same(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    together = case.run_raw(outputs=kernel.outputs, threads=2)
    for name in kernel.outputs:
        result, alone = case.run_raw(outputs=[name])
        np.testing.assert_allclose(alone, getattr(together, name), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(to_f64(result, case.type), case.run(), atol=case.tolerance)
    backwards = case.run_raw(outputs=tuple(reversed(kernel.outputs)))
    assert backwards._fields == ("result", *reversed(kernel.outputs))
    if "lse" in kernel.outputs:
        np.testing.assert_array_equal(case.run_raw(outputs=("lse",)).result, case.run_raw())


@with_outputs
def test_outputs_have_the_axes_of_queries(kernel: fovea.Kernel) -> None:
    case = make_case(kernel, batch=1, heads=1)
    every = case.run_raw(outputs=kernel.outputs)
    paged = case.kernel.is_paged
    three = case.with_arrays(q=case.q[0], **({} if paged else {"k": case.k[0], "v": case.v[0]}))
    two = case.with_arrays(q=case.q[0, 0], **({} if paged else {"k": case.k[0, 0], "v": case.v[0, 0]}))
    of_three, of_two = (x.run_raw(outputs=kernel.outputs) for x in (three, two))
    for name in every._fields:
        np.testing.assert_array_equal(getattr(of_three, name), getattr(every, name)[0])
        np.testing.assert_array_equal(getattr(of_two, name), getattr(every, name)[0, 0])


@with_outputs
def test_outputs_stand_beside_out_and_are_given_by_methods(kernel: fovea.Kernel, library: fovea.Library) -> None:
    case = make_case(kernel)
    every = case.run_raw(outputs=kernel.outputs)
    out = np.empty_like(every.result)
    into = case.run_raw(outputs=kernel.outputs, out=out)
    assert into.result is out
    method = getattr(library, kernel.name)
    by_method = method(case.q, case.k, case.v, outputs=kernel.outputs, **case.arguments)
    for a, b, c in zip(every, into, by_method):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    (alone,) = case.run_raw(outputs=())
    np.testing.assert_array_equal(alone, case.run_raw())


def causal_case() -> Case:
    kernel = kernel_named("causal")
    if "lse" not in kernel.outputs:
        pytest.skip("causal gives no lse in this library")
    return make_case(kernel)


def test_parts_of_the_keys_are_joined_by_their_log_sums() -> None:
    case = causal_case()
    last = case.with_arrays(q=case.q[:, :, :1])  # sees the first key only: parts are single keys
    whole = make_case(case.kernel, positions=2)
    q = whole.q[:, :, 1:]  # of two keys, which come one by one
    parts = [
        whole.with_arrays(q=q, k=whole.k[:, :, i : i + 1], v=whole.v[:, :, i : i + 1]).run_raw(outputs=("lse",))
        for i in range(2)
    ]
    lse = np.logaddexp(parts[0].lse, parts[1].lse)
    joined = sum(np.exp(part.lse - lse)[..., None] * part.result for part in parts)
    both = whole.run_raw(outputs=("lse",))
    np.testing.assert_allclose(lse, both.lse[:, :, 1:], atol=whole.tolerance)
    np.testing.assert_allclose(joined, both.result[:, :, 1:], atol=whole.tolerance)
    assert last.run_raw(outputs=("lse",)).lse.shape == (2, 4, 1)


def test_loss_of_an_output_has_a_gradient() -> None:
    case = causal_case()
    if "lse" not in case.kernel.d_outputs:
        pytest.skip("causal takes no gradient of its lse in this library")
    weights = reference.rows(case).weights
    d_lse = np.random.default_rng(5).standard_normal(weights.shape[:-1])
    nothing = to_type(np.zeros((*case.q.shape[:-1], case.v.shape[-1])), case.type)
    d = fovea.gradient(case.q, case.k, case.v, nothing, "causal", d_outputs={"lse": d_lse})
    q, k = (to_f64(x, case.type) for x in (case.q, case.k))
    through = weights * d_lse[..., None] / np.sqrt(q.shape[-1])
    np.testing.assert_allclose(d.query, through @ k, atol=10 * case.tolerance)
    np.testing.assert_allclose(d.key, through.swapaxes(2, 3) @ q, atol=10 * case.tolerance)
    assert np.all(d.value == 0)
    with pytest.raises(fovea.ShapeError, match=r"^the gradient of lse is \(2, 4, 8, 8\), it must be \(2, 4, 8\)$"):
        fovea.gradient(case.q, case.k, case.v, nothing, "causal", d_outputs={"lse": weights})
    with pytest.raises(fovea.ArgumentError, match="^the gradient of lse has elements of complex128"):
        fovea.gradient(case.q, case.k, case.v, nothing, "causal", d_outputs={"lse": d_lse * 1j})
    with pytest.raises(fovea.ArgumentError, match="^d_outputs names 'weights', causal takes gradients of lse$"):
        fovea.gradient(case.q, case.k, case.v, nothing, "causal", d_outputs={"weights": weights})
    with pytest.raises(fovea.ArgumentError, match="^d_outputs is of type tuple, it must be a dict, such as "):
        fovea.gradient(case.q, case.k, case.v, nothing, "causal", d_outputs=("lse",))


def test_what_the_forward_call_gave_is_not_computed_again() -> None:
    case = causal_case()
    if not case.kernel.takes_forward:
        pytest.skip("causal takes nothing of the forward call in this library")
    forward = case.run_raw(outputs=("weights", "lse"))
    d = np.random.default_rng(6).standard_normal(forward.result.shape).astype(forward.result.dtype)

    def gradient_after(forward: Any) -> fovea.Gradients:
        return fovea.gradient(case.q, case.k, case.v, d, "causal", forward=forward)

    again = gradient_after(None)
    for given in (forward, (forward.result, forward.lse), [forward.result, forward.lse.tolist()]):
        after = gradient_after(given)
        for name in ("query", "key", "value"):
            np.testing.assert_allclose(getattr(after, name), getattr(again, name), atol=10 * case.tolerance)
    taken = gradient_after((2 * forward.result, forward.lse))
    assert np.abs(taken.query - again.query).max() > 10 * case.tolerance
    with pytest.raises(fovea.ShapeError, match=r"^lse of forward is \(2, 4, 7\), it must be \(2, 4, 8\)$"):
        gradient_after((forward.result, forward.lse[..., 1:]))
    with pytest.raises(fovea.ShapeError, match=r"^the saved rows are those of a result \(2, 4, 8, 4\), this call has"):
        gradient_after((forward.result[..., 1:], forward.lse))
    for wrong in (forward.result, (forward.result,), 3):
        with pytest.raises(fovea.ArgumentError, match="^forward is of type .*, it must be what attend gives with"):
            gradient_after(wrong)


@for_kernels("have gradients after nothing", lambda kernel: bool(kernel.gradients) and not kernel.takes_forward)
def test_gradients_without_a_log_sum_take_no_forward_call(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    result = case.run_raw()
    with pytest.raises(fovea.ArgumentError, match=f"^forward is given, and gradients of {kernel.name} in .* do not take"):
        fovea.gradient(case.q, case.k, case.v, result, kernel.name, forward=(result, result), **case.arguments)


@pytest.mark.parametrize(
    "outputs, message",
    [
        (["colour"], "outputs names 'colour', causal gives lse, .* and column_sums$"),
        ("lse", r"outputs is of type str, it must be names of outputs, such as \('lse',\)$"),
        (3, r"outputs is of type int, it must be names of outputs, such as \('lse',\)$"),
        (["lse", "lse"], "outputs names 'lse' more than once$"),
        ([1], "outputs names 1, causal gives "),
        ((["lse"],), r"outputs names \['lse'\], causal gives "),
    ],
)
def test_outputs_that_there_are_not_are_refused(outputs: Any, message: str) -> None:
    with pytest.raises(fovea.ArgumentError, match=f"^{message}"):
        causal_case().run_raw(outputs=outputs)


def test_wrong_operands_are_refused_as_without_outputs() -> None:
    case = causal_case()
    with pytest.raises(fovea.ShapeError, match="query has 8 features, key has 7$"):
        case.with_arrays(k=case.k[..., 1:]).run_raw(outputs=("lse",))


@for_kernels("give nothing beside their result", lambda kernel: not kernel.outputs)
def test_kernel_without_outputs_says_how_to_get_them(kernel: fovea.Kernel) -> None:
    with pytest.raises(fovea.UnsupportedError, match=f"^{kernel.name} is built without outputs in .*OUTPUTS of fovea"):
        make_case(kernel).run_raw(outputs=("lse",))


@for_kernels("have gradients, and give nothing", lambda kernel: bool(kernel.gradients) and not kernel.outputs)
def test_kernel_without_outputs_takes_no_gradient_of_them(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    with pytest.raises(fovea.ArgumentError, match=f"^d_outputs names 'lse', {kernel.name} takes gradients of no output$"):
        fovea.gradient(
            case.q, case.k, case.v, case.run_raw(), kernel.name, d_outputs={"lse": [1.0]}, **case.arguments
        )
