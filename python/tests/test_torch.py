# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch, as arguments and as what results are compared with."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import fovea
from cases import Case, adjacency, kernel_named, make_case, to_type


@pytest.fixture
def torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        pytest.skip("PyTorch is not installed")


def tensors(torch: Any, case: Case) -> tuple[Any, Any, Any]:
    """Tensors of the operands; bfloat16 has no counterpart in NumPy, so its bits are moved as int16."""
    if case.type != "bf16":
        return tuple(torch.from_numpy(x) for x in (case.q, case.k, case.v))  # type: ignore[return-value]
    return tuple(  # type: ignore[return-value]
        torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) for x in (case.q, case.k, case.v)
    )


def attend_in_torch(torch: Any, q: Any, k: Any, v: Any, score: Any = None, visible: Any = None) -> Any:
    """Softmax attention as it is written in PyTorch."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    scores = scores if score is None else score(scores)
    if visible is not None:
        scores = scores.masked_fill(~visible, float("-inf"))
    return torch.softmax(scores, -1) @ v


def test_tensors_are_used_where_they_lie(torch: Any) -> None:
    case = make_case(kernel_named("causal", "gqa_causal"))
    q, k, v = tensors(torch, case)
    result = fovea.attend(q, k, v, case.kernel.name)
    np.testing.assert_array_equal(result, case.run_raw())
    strided = q.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_(q.dtype.is_floating_point)
    np.testing.assert_allclose(
        fovea.attend(strided, k, v, case.kernel.name).astype(float), result.astype(float), atol=case.tolerance
    )


def test_tensors_of_bfloat16_give_bits(torch: Any) -> None:
    kernel = kernel_named("causal", "gqa_causal")
    if "bf16" not in kernel.types:
        pytest.skip(f"{kernel.name} is not built for bf16")
    case = make_case(kernel, type_name="bf16")
    q, k, v = tensors(torch, case)
    result = fovea.attend(q, k, v, kernel.name)
    np.testing.assert_array_equal(result, case.run_raw())
    out = torch.zeros(result.shape, dtype=torch.bfloat16)
    assert fovea.attend(q, k, v, kernel.name, out=out) is out
    np.testing.assert_array_equal(out.view(torch.int16).numpy().view(np.uint16), result)


def test_tensors_may_be_written(torch: Any) -> None:
    case = make_case(kernel_named("causal", "gqa_causal"))
    q, k, v = tensors(torch, case)
    out = torch.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
    assert fovea.attend(q, k, v, case.kernel.name, out=out) is out
    assert torch.equal(out, torch.from_numpy(case.run_raw()))


def test_tensors_elsewhere_are_refused(torch: Any) -> None:
    case = make_case(kernel_named("causal", "gqa_causal"))
    q, k, v = tensors(torch, case)
    with pytest.raises(fovea.ArgumentError, match="key is on meta, it must be on the CPU"):
        fovea.attend(q, k.to("meta"), v, case.kernel.name)
    with pytest.raises(fovea.ArgumentError, match="key cannot be read where it lies"):
        fovea.attend(q, k.to_sparse(), v, case.kernel.name)


def test_causal_is_that_of_torch(torch: Any) -> None:
    kernel = kernel_named("causal", "gqa_causal")
    for type_name in kernel.types:
        case = make_case(kernel, positions=48, type_name=type_name)
        q, k, v = (x.double() for x in tensors(torch, case))
        visible = torch.ones(48, 48, dtype=torch.bool).tril()
        expected = attend_in_torch(torch, q, k, v, visible=visible)
        np.testing.assert_allclose(case.run(), expected.numpy(), atol=case.tolerance)
        functional = torch.nn.functional
        if hasattr(functional, "scaled_dot_product_attention"):
            fused = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            np.testing.assert_allclose(case.run(), fused.numpy(), atol=case.tolerance)


def test_alibi_is_that_of_torch(torch: Any) -> None:
    case = make_case(kernel_named("alibi"), positions=48)
    slopes = torch.tensor(case.arguments["slopes"])
    q, k, v = (x.double() for x in tensors(torch, case))
    place = torch.arange(48)
    bias = slopes[:, None, None] * (place[None, :] - place[:, None])
    expected = attend_in_torch(torch, q, k, v, lambda s: s + bias, place[None, :] <= place[:, None])
    result = fovea.attend(*tensors(torch, case), "alibi", slopes=slopes)
    np.testing.assert_allclose(result, expected.numpy(), atol=case.tolerance)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_graph_attention_is_that_of_torch(torch: Any) -> None:
    case = make_case(kernel_named("gat", "edges"))
    sees = torch.from_numpy(adjacency(case.arguments["edges"], 8))
    rows = sees.float().to_sparse_csr()
    arguments = {**case.arguments, "edges": fovea.Graph(rows.crow_indices(), rows.col_indices())}
    q, k, v = (x.double() for x in tensors(torch, case))
    score = None
    if case.kernel.name == "gat":
        target, source = (torch.from_numpy(arguments[name])[:, None, :] for name in ("a_target", "a_source"))
        sums = (q * target).sum(-1)[..., :, None] + (k * source).sum(-1)[..., None, :]
        score = lambda s: torch.nn.functional.leaky_relu(sums, 0.2)  # noqa: E731
    expected = attend_in_torch(torch, q, k, v, score, sees)
    np.testing.assert_allclose(case.with_arrays(arguments=arguments).run(), expected.numpy(), atol=case.tolerance)


def test_types_of_torch_round_as_these_tests_do(torch: Any) -> None:
    x = np.random.default_rng(0).standard_normal(1000)
    bits = torch.from_numpy(x).float().to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    np.testing.assert_array_equal(to_type(x, "bf16"), bits)
