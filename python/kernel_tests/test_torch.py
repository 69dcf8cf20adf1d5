# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results on tensors are part of autograd: against differences, and against scores that PyTorch materialises."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import spellings
import variants
from conftest import torch_or_skip
from spellings import FEATURES, HEADS, QUERIES, VARIANTS

import fovea

torch = torch_or_skip(__file__)
NIGHT = pytest.mark.night
TABLES = {
    "alibi": ("slopes",),
    "relative": ("table",),
    "graph": ("of_target", "of_source", "of_edge", "on_edges"),
    "sparsemax": ("temperatures",),
    "additive": ("vector",),
}
ARRAYS = {each: getattr(variants, each) for names in TABLES.values() for each in names}
TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "bfloat16": 3e-2, "float16": 4e-3}
SPELLINGS = [(name, place) for name in TABLES for place in range(len(VARIANTS[name][0]()))]


def in_change(name: str, place: int) -> bool:
    """Whether a spelling is compiled for each change: those of text that another test compiles."""
    return (name, place) in (("alibi", 0), ("sparsemax", 0), ("sparsemax", 1), ("sparsemax", 2))


def leaves(name: str, dtype: str = "float64", queries: int = QUERIES, keys: int = QUERIES) -> list[Any]:
    """Queries, keys, values and the tables of a variant, each of which requires a gradient."""
    torch.manual_seed(5)
    shapes = [(1, HEADS, n, FEATURES) for n in (queries, keys, keys)]
    operands = [torch.randn(shape, dtype=torch.float64).to(getattr(torch, dtype)) for shape in shapes]
    of_tables = torch.float64 if dtype == "float64" else torch.float32
    tables = [torch.tensor(ARRAYS[each], dtype=of_tables) for each in TABLES[name]]
    return [x.requires_grad_() for x in (*operands, *tables)]


def call(patch: pytest.MonkeyPatch, name: str, place: int, q: Any, k: Any, v: Any, *tables: Any) -> Any:
    """A variant in some spelling, whose variables are now these tables."""
    for each, tensor in zip(TABLES[name], tables):
        for module in (variants, spellings):
            if hasattr(module, each):
                patch.setattr(module, each, tensor)
    return VARIANTS[name][0]()[place](q, k, v)


def sparsemax(scores: Any) -> Any:
    ordered = scores.sort(-1, descending=True).values
    sums, counts = ordered.cumsum(-1) - 1, torch.arange(1, scores.shape[-1] + 1)
    support = (counts * ordered > sums).sum(-1, keepdim=True)
    return (scores - sums.gather(-1, support - 1) / support).clamp(min=0)


def materialised(name: str, q: Any, k: Any, v: Any, *tables: Any) -> Any:
    """A variant as it is written in PyTorch, with all of its scores."""
    i, j = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
    scores = q @ k.transpose(-1, -2) / FEATURES**0.5
    if name == "alibi":
        capped = 50 * torch.tanh((scores + tables[0][:, None, None] * (j - i)) / 50)
        return capped.masked_fill((j > i) | (i - j >= 16), float("-inf")).softmax(-1) @ v
    if name == "relative":
        return (scores + tables[0][:, (j - i).clamp(-8, 8) + 8]).softmax(-1) @ v
    if name == "sparsemax":
        return sparsemax(scores / tables[0][:, None, None]) @ v
    if name == "additive":
        return (torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ tables[0]).softmax(-1) @ v
    of_target, of_source, of_edge, on_edges = tables
    at = torch.tensor(spellings.edges)
    of_edges = torch.zeros(HEADS, QUERIES, QUERIES, dtype=of_edge.dtype)
    of_edges = of_edges.index_put((torch.arange(HEADS)[:, None], at[:, 0], at[:, 1]), of_edge @ on_edges.T)
    of_nodes = (q @ of_target[..., None]) + (k @ of_source[..., None]).transpose(-1, -2)
    sees = torch.zeros(QUERIES, QUERIES, dtype=torch.bool).index_put((at[:, 0], at[:, 1]), torch.tensor(True))
    scores = torch.nn.functional.leaky_relu(of_nodes + of_edges, 0.2)
    return scores.masked_fill(~sees, float("-inf")).softmax(-1) @ v


@pytest.mark.parametrize(
    ("name", "place"),
    [pytest.param(*case, marks=() if in_change(*case) else NIGHT) for case in SPELLINGS],
    ids=[f"{name}-{place}" for name, place in SPELLINGS],
)
def test_gradients_of_a_spelling_are_differences(monkeypatch: Any, name: str, place: int) -> None:
    inputs = leaves(name) if name == "graph" else leaves(name, queries=5, keys=7)
    if (name, place) == ("relative", 1):  # a parameter with a default, which is read once
        run = lambda q, k, v, table: VARIANTS[name][0]()[place](q, k, v, other=table)  # noqa: E731
    else:
        run = lambda *x: call(monkeypatch, name, place, *x)  # noqa: E731
    assert torch.autograd.gradcheck(run, inputs, fast_mode=name == "graph")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *(("alibi", "float64"), ("sparsemax", "float64")),
        *(pytest.param(name, "float64", marks=NIGHT) for name in ("relative", "graph", "additive")),
        *(pytest.param(name, "float32", marks=NIGHT) for name in TABLES),
        *(pytest.param("alibi", dtype, marks=NIGHT) for dtype in ("bfloat16", "float16")),
    ],
)
def test_a_variant_is_that_of_materialised_scores(monkeypatch: Any, name: str, dtype: str) -> None:
    inputs = leaves(name, dtype)
    result = call(monkeypatch, name, 0, *inputs)
    in_double = [x.detach().double().requires_grad_() for x in inputs]
    expected = materialised(name, *in_double)
    assert result.dtype == inputs[0].dtype
    assert torch.allclose(result.double(), expected, rtol=0, atol=TOLERANCE[dtype])
    d_result = torch.randn_like(result)
    found = torch.autograd.grad(result, inputs, d_result)
    for x, d, wanted in zip(inputs, found, torch.autograd.grad(expected, in_double, d_result.double())):
        assert d.dtype == x.dtype and d.shape == x.shape
        assert (d.double() - wanted).abs().max() <= 20 * TOLERANCE[dtype] * max(1, float(wanted.abs().max()))


# What follows takes the kernel of sparsemax in float64 alone.


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> Any:
    *_, temperatures = leaves("sparsemax")
    monkeypatch.setattr(variants, "temperatures", temperatures)
    return variants.sharpened


def test_layouts_of_tensors_are_read_in_place(mine: Any) -> None:
    q, k, v, _ = leaves("sparsemax")
    expected = mine(q, k, v)
    d = torch.randn_like(expected)
    gradients = torch.autograd.grad(expected, (q, k, v), d)
    turned = [x.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for x in (q, k, v)]
    wide = [x.detach().repeat_interleave(2, -1)[..., ::2].requires_grad_() for x in (q, k, v)]
    for operands in (turned, wide, turned, wide):
        for of_result in (d, d.transpose(1, 2).contiguous().transpose(1, 2), d.repeat_interleave(2, -1)[..., ::2]):
            result = mine(*operands)
            assert torch.equal(result, expected)
            for found, wanted in zip(torch.autograd.grad(result, operands, of_result), gradients):
                assert torch.equal(found, wanted)
    ones = torch.autograd.grad(mine(q, k, v), (q, k, v), torch.ones_like(expected))
    for found, wanted in zip(torch.autograd.grad(mine(q, k, v).sum(), (q, k, v)), ones):
        assert torch.equal(found, wanted)


def test_only_what_requires_a_gradient_has_one(mine: Any) -> None:
    q, k, v, _ = leaves("sparsemax")
    with torch.no_grad():
        assert not mine(q, k, v).requires_grad
    result = mine(q.detach(), k.detach(), v.detach())
    assert result.requires_grad  # of the temperatures
    variants.temperatures.requires_grad_(False)
    assert not mine(q.detach(), k.detach(), v.detach()).requires_grad
    for wanted in (q, k, v):
        others = [x if x is wanted else x.detach() for x in (q, k, v)]
        every = torch.autograd.grad(mine(q, k, v).sum(), wanted)[0]
        assert torch.equal(torch.autograd.grad(mine(*others).sum(), wanted)[0], every)
    one = torch.autograd.grad(mine(q, q, q).sum(), q)[0]
    parts = [x.detach().clone().requires_grad_() for x in (q, q, q)]
    assert torch.allclose(one, sum(torch.autograd.grad(mine(*parts).sum(), parts)), rtol=0, atol=1e-12)


def test_what_autograd_cannot_do_is_said(mine: Any) -> None:
    q, k, v, temperatures = leaves("sparsemax")
    (d_query,) = torch.autograd.grad(mine(q, k, v).sum(), q, create_graph=True)
    with pytest.raises(fovea.UnsupportedError, match="kernels have no second derivatives"):
        d_query.sum().backward()
    result = mine(q, k, v)
    with torch.no_grad():
        variants.temperatures += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()
    out = torch.empty_like(q)
    with pytest.raises(fovea.ArgumentError, match="out is not part of autograd: call without it, or under"):
        mine(q, k, v, out=out)
    with torch.no_grad():
        assert mine(q, k, v, out=out) is out and torch.equal(out, mine(q, k, v))
    with pytest.raises(fovea.ArgumentError, match="key has elements of f32, query has f64"):
        mine(q, k.float(), v)
    with pytest.raises(fovea.ArgumentError, match="query has elements of int64, it must have float32"):
        mine(q.long(), k, v)
    for _ in range(2):
        with pytest.raises(fovea.ArgumentError, match="key is on meta, it must be on the CPU"):
            mine(q, k.to("meta"), v)
        with pytest.raises(fovea.ArgumentError, match="value cannot be read where it lies"):
            mine(q, k, v.detach().to_sparse())


def test_arrays_of_both_libraries_go_together(mine: Any) -> None:
    q, k, v, _ = leaves("sparsemax")
    arrays = [x.detach().numpy() for x in (q, k, v)]
    expected = mine(q, k, v).detach()
    assert torch.equal(mine(q, arrays[1], arrays[2]), expected)
    result = mine(arrays[0], k, v)
    assert type(result) is np.ndarray and np.array_equal(result, expected.numpy())


@NIGHT
def test_methods_of_modules_are_kernels() -> None:
    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.temperatures = torch.nn.Parameter(torch.ones(HEADS, dtype=torch.float64))

        @fovea.kernel
        def attend(self, score, head):
            return score / self.temperatures[head] | fovea.sparsemax

    first = Attention()
    second = copy.deepcopy(first)
    q, k, v, _ = leaves("sparsemax")
    assert first.attend.text == "scaled_dot | rescore(score / param(table)[head]) | sparsemax | weighted_sum"
    with torch.no_grad():
        second.temperatures *= 2
    assert not torch.equal(first.attend(q, k, v), second.attend(q, k, v))
    second.attend(q, k, v).sum().backward()
    assert first.temperatures.grad is None and second.temperatures.grad.shape == (HEADS,)
    with pytest.raises(fovea.ArgumentError, match="words with arrays are not copied"):
        copy.deepcopy(fovea.kernel(fovea.alibi(first.temperatures) | fovea.softmax))


@NIGHT
def test_projections_have_gradients() -> None:
    torch.manual_seed(1)
    wq, wk, wv, wo = (torch.randn(n, m, dtype=torch.float64).requires_grad_() for n, m in ((5, 8),) * 3 + ((8, 5),))
    x = torch.randn(2, 7, 5, dtype=torch.float64, requires_grad=True)

    @fovea.kernel
    def layer():
        rows = fovea.project(wq, wk, wv, fovea.heads(2)) | fovea.scaled_dot | fovea.causal | fovea.softmax
        return rows | fovea.weighted_sum | fovea.concat_heads | fovea.output(wo)

    q, k, v = ((x @ w).unflatten(-1, (2, 4)).transpose(1, 2) for w in (wq, wk, wv))
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
    weights = (q @ k.transpose(-1, -2) / 2).masked_fill(hidden, float("-inf")).softmax(-1)
    expected = (weights @ v).transpose(1, 2).flatten(-2) @ wo
    result = layer(x, x, x)  # of another shape than the queries
    assert torch.allclose(result, expected, rtol=0, atol=1e-12)
    inputs = (x, wq, wk, wv, wo)
    for found, wanted in zip(*(torch.autograd.grad(y.sum(), inputs) for y in (result, expected))):
        assert torch.allclose(found, wanted, rtol=0, atol=1e-10)


def test_functions_of_torch_are_traced() -> None:
    near, ids = torch.zeros(HEADS, 9), torch.zeros(2, 40, dtype=torch.int64)

    def of(score_mod: Any) -> str:
        return fovea.kernel(lambda: fovea.rescore(score_mod) | fovea.causal).text.removesuffix(" | causal")

    assert of(lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf"))) == (
        "rescore(select(q_idx >= kv_idx, score, -INFINITY))"
    )
    assert of(lambda s, b, h, i, j: s + near[h, torch.clamp(j - i, -4, 4) + 4]) == (
        "rescore(score + param(near)(head, min(max(kv_idx - q_idx, -4), 4) + 4))"
    )
    assert of(lambda s, b, h, i, j: torch.where(ids[b, i] == ids[b, j], s.sigmoid(), 0.0 * s)) == (
        "rescore(select(param(ids)(batch, q_idx) == param(ids)(batch, kv_idx), sigmoid(score), 0.0 * score))"
    )
    assert of(lambda s, b, h, i, j: s - (i - j).abs().float().exp2() * near[0][h]) == (
        "rescore(score - exp2(real(abs(q_idx - kv_idx))) * param(near)(0, head))"
    )
    with pytest.raises(fovea.ArgumentError, match="torch.cumsum is not in the language"):
        of(lambda s, b, h, i, j: torch.cumsum(s, 0))
    with pytest.raises(AttributeError, match="an expression of placeholders has no attribute 'grad'"):
        of(lambda s, b, h, i, j: s.grad)


def test_tables_of_bfloat16_are_numbers(mine: Any) -> None:
    numbers = torch.tensor([0.5, 1, 2, 4])
    moving = fovea.kernel(lambda score, head, temperatures: score / temperatures[head] | fovea.sparsemax)
    q, k, v, _ = (x.detach() for x in leaves("sparsemax"))
    expected = moving(q, k, v, temperatures=numbers.double())
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        leaf = numbers.to(dtype).requires_grad_()
        result = moving(q, k, v, temperatures=leaf)
        assert torch.equal(result, expected)
        assert torch.autograd.grad(result.sum(), leaf)[0].dtype is dtype


@pytest.mark.night
def test_tensors_of_several_types_are_those_of_numpy() -> None:
    plain = fovea.kernel(fovea.scaled_dot | fovea.softmax)
    q, k, v = torch.randn(3, 1, 2, 5, 8)
    half = k.half(), v.half()
    result = plain(q, *half)
    assert result.dtype == torch.float32
    assert np.array_equal(result.numpy(), plain(q.numpy(), half[0].numpy(), half[1].numpy()))
    assert plain(q.bfloat16(), *half).dtype == torch.bfloat16
    found = plain(q.bfloat16(), *half, dtype="bf16_f16_f16_f32", outputs=("lse",))
    assert found.result.dtype == found.lse.dtype == torch.float32
    with pytest.raises(fovea.UnsupportedError, match="f32_f16_f16: gradients are of queries, keys and values of one"):
        plain(q.requires_grad_(), *half)
