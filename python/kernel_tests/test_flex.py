# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The signatures of PyTorch, against scores that it materialises."""

from __future__ import annotations

import runpy
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import EXAMPLES, torch_or_skip

import fovea

torch = torch_or_skip(__file__)
NIGHT = pytest.mark.night


def operands(heads: int = 4, key_heads: int = 4, keys: int = 13, batch: int = 2) -> list[Any]:
    torch.manual_seed(2)
    shapes = ((batch, heads, 13, 6), (batch, key_heads, keys, 6), (batch, key_heads, keys, 5))
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def plain(q: Any, k: Any, v: Any, change: Any = lambda s: s, scale: Any = None) -> Any:
    """Softmax attention with all of its scores; several heads of queries may share one of keys."""
    k, v = (x.repeat_interleave(q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    return change(scores).softmax(-1) @ v


def require_same(found: Any, expected: Any, inputs: Any) -> None:
    """Results and all gradients are the same."""
    assert found.shape == expected.shape and (found - expected).abs().max() < 1e-12
    d = torch.randn_like(expected)
    for x, y in zip(torch.autograd.grad(found, inputs, d), torch.autograd.grad(expected, inputs, d)):
        assert (x - y).abs().max() < 1e-11


def test_flex_attention_trains() -> None:
    """The text is that of the first variant of the page, which other tests compile."""
    slopes = torch.tensor([0.5, 0.1, 0.02, 0.004], dtype=torch.float64, requires_grad=True)

    def score_mod(score, b, h, q_idx, kv_idx):
        return 50 * torch.tanh((score + slopes[h] * (kv_idx - q_idx)) / 50)

    def mask_mod(b, h, q_idx, kv_idx):
        return (kv_idx <= q_idx) & (q_idx - kv_idx < 16)

    i, j = torch.arange(13)[:, None], torch.arange(13)

    def change(scores: Any) -> Any:
        capped = 50 * torch.tanh((scores + slopes[:, None, None] * (j - i)) / 50)
        return capped.masked_fill((j > i) | (i - j >= 16), float("-inf"))

    q, k, v = operands(key_heads=2)
    for block_mask in (mask_mod, SimpleNamespace(mask_mod=mask_mod)):
        found = fovea.torch.flex_attention(q, k, v, score_mod, block_mask, enable_gqa=True)
        require_same(found, plain(q, k, v, change), (q, k, v, slopes))
    shared = [x[:1].detach().requires_grad_() for x in (k, v)]
    found = fovea.torch.flex_attention(q, *shared, score_mod, mask_mod, enable_gqa=True)
    require_same(found, plain(q, *shared, change), (q, *shared, slopes))
    assert list(score_mod.__fovea__.values()) == [score_mod.__fovea__[mask_mod, False]]


@NIGHT
def test_the_logarithm_of_the_sum_is_given_and_has_gradients() -> None:
    slopes = torch.tensor([0.5, 0.1, 0.02, 0.004], dtype=torch.float64, requires_grad=True)
    flex = fovea.torch.flex_attention
    i, j = torch.arange(13)[:, None], torch.arange(13)

    def score_mod(score, b, h, q_idx, kv_idx):
        return score + slopes[h] * (kv_idx - q_idx)

    def mask_mod(b, h, q_idx, kv_idx):
        return kv_idx <= q_idx

    q, k, v = operands()
    scores = (q @ k.transpose(-1, -2) * 6**-0.5 + slopes[:, None, None] * (j - i)).masked_fill(j > i, float("-inf"))
    expected = (scores.softmax(-1) @ v, scores.logsumexp(-1))
    found = flex(q, k, v, score_mod, mask_mod, return_lse=True)
    assert [x.shape for x in found] == [x.shape for x in expected]
    d = [torch.randn_like(x) for x in expected]
    for which in ((0, 1), (0,), (1,)):
        losses = [sum((x[n] * d[n]).sum() for n in which) for x in (found, expected)]
        of = (q, k, slopes) if which == (1,) else (q, k, v, slopes)  # values have none in lse
        gradients = [torch.autograd.grad(loss, of, retain_graph=True) for loss in losses]
        for x, y in zip(*gradients):
            assert (x - y).abs().max() < 1e-11
    for x, y in zip(found, expected):
        assert (x - y).abs().max() < 1e-12
    with torch.no_grad():
        assert all((x - y).abs().max() < 1e-12 for x, y in zip(flex(q, k, v, score_mod, mask_mod, return_lse=True), found))


def test_methods_read_their_own_objects() -> None:
    class Slopes:
        def __init__(self, factor: float) -> None:
            self.slopes = factor * torch.tensor([0.5, 0.1, 0.02, 0.004], dtype=torch.float64)

        def score_mod(self, score, b, h, q_idx, kv_idx):
            slopes = self.slopes
            return 50 * torch.tanh((score + slopes[h] * (kv_idx - q_idx)) / 50)

    from fovea.torch import kernel_of_functions

    first, second = Slopes(1), Slopes(2)
    for each in (first, second, first):
        (argument,) = kernel_of_functions(each.score_mod, None, False).trace().arguments.values()
        assert argument.read() is each.slopes


@NIGHT
def test_flex_attention_has_each_argument() -> None:
    q, k, v = operands()
    flex = fovea.torch.flex_attention
    require_same(flex(q, k, v), plain(q, k, v), (q, k, v))
    for scale in (0.3, 2):
        require_same(flex(q, k, v, scale=scale), plain(q, k, v, scale=scale), (q, k, v))
    lower = torch.ones(13, 13, dtype=torch.bool).tril()
    for kind in (torch.where, None):
        found = (
            flex(q, k, v, lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf")))
            if kind
            else flex(q, k, v, block_mask=lambda b, h, i, j: i >= j)
        )
        require_same(found, plain(q, k, v, lambda s: s.masked_fill(~lower, float("-inf"))), (q, k, v))


def test_wrong_arguments_of_flex_attention_are_refused() -> None:
    q, k, v = operands(key_heads=2)
    flex = fovea.torch.flex_attention
    with pytest.raises(fovea.ShapeError, match="query has 4 heads, key has 2: pass enable_gqa=True"):
        flex(q, k, v)
    with pytest.raises(fovea.ShapeError, match="query has 3 axes, it must be"):
        flex(q[0], k[0], v[0])
    with pytest.raises(fovea.ArgumentError, match="neither true nor false"):
        flex(q, q, q, lambda s, b, h, i, j: s if i > j else 0)


def words(*names: str, axes: tuple[str, ...] = (), condition: bool = False, causal: bool = False, **given: Any) -> str:
    from fovea.torch import kernel_of_arguments

    return kernel_of_arguments(names, axes, condition, causal).trace(**given).words


def test_scaled_dot_product_attention_is_words() -> None:
    mask = torch.ones(13, 13, dtype=torch.bool)
    assert words() == "scaled_dot | softmax | weighted_sum"
    assert words("scale", causal=True, scale=0.5) == "scaled_by(scale) | causal | softmax | weighted_sum"
    assert words("mask", axes=("q_idx", "kv_idx"), condition=True, mask=mask) == (
        "scaled_dot | where(param(mask)(q_idx, kv_idx)) | softmax | weighted_sum"
    )
    assert words("mask", axes=("head", "kv_idx"), mask=mask.float()) == (
        "scaled_dot | rescore(score + param(mask)(head, kv_idx)) | softmax | weighted_sum"
    )
    assert words("seed", "rate", "kept", seed=1, rate=0.5, kept=2.0) == (
        "scaled_dot | softmax | reweight(weight * select(random(seed) < rate, 0, kept)) | weighted_sum"
    )


@NIGHT
def test_scaled_dot_product_attention_is_that_of_torch() -> None:
    sdpa = fovea.torch.scaled_dot_product_attention
    q, k, v = operands(keys=17)
    bias = torch.randn(4, 13, 17, dtype=torch.float64, requires_grad=True)
    hidden = torch.where(torch.rand(13, 17) < 0.2, float("-inf"), 0.0).double()
    require_same(sdpa(q, k, v), plain(q, k, v), (q, k, v))
    for seen in (torch.rand(13, 17) < 0.7, torch.rand(2, 1, 13, 17) < 0.8, torch.rand(1, 17) < 0.8):
        expected = plain(q, k, v, lambda s, hides=~seen: s.masked_fill(hides, float("-inf")))
        require_same(sdpa(q, k, v, seen), expected, (q, k, v))
    require_same(sdpa(q, k, v, hidden), plain(q, k, v, lambda s: s + hidden), (q, k, v))
    for mask in (bias, bias[:, :1], bias[:1, :, :1]):
        require_same(sdpa(q, k, v, mask), plain(q, k, v, lambda s, m=mask: s + m), (q, k, v, bias))
    visible = torch.ones(13, 17, dtype=torch.bool).tril()
    found = sdpa(q, k, v, is_causal=True, scale=0.2)
    require_same(found, plain(q, k, v, lambda s: s.masked_fill(~visible, float("-inf")), 0.2), (q, k, v))
    fused = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if fused is not None:
        require_same(found, fused(q, k, v, is_causal=True, scale=0.2), (q, k, v))
    require_same(sdpa(q[0], k[0], v[0]), plain(q[0], k[0], v[0]), (q, k, v))
    five = [x.unflatten(0, (2, 1)) for x in (q, k, v)]
    require_same(sdpa(*five, bias), plain(*five, lambda s: s + bias), (q, k, v, bias))
    hides_all = torch.zeros(13, 17, dtype=torch.bool)
    assert torch.equal(sdpa(q, k, v, hides_all), torch.zeros(2, 4, 13, 5, dtype=torch.float64))


@NIGHT
def test_dropout_is_that_of_a_seed() -> None:
    q, k, _ = operands()
    identity = torch.eye(13, dtype=torch.float64).expand(2, 4, 13, 13)  # of which the result is the weights
    sdpa = fovea.torch.scaled_dot_product_attention
    torch.manual_seed(3)
    first, second = (sdpa(q, k, identity, dropout_p=0.25) for _ in range(2))
    torch.manual_seed(3)
    assert torch.equal(first, sdpa(q, k, identity, dropout_p=0.25)) and not torch.equal(first, second)
    kept = first != 0
    weights = sdpa(q, k, identity)
    assert 0.7 < kept.double().mean() < 0.8
    require_same(first, torch.where(kept, weights / 0.75, torch.zeros_like(weights)), (q, k))


def test_wrong_arguments_of_scaled_dot_product_attention_are_refused() -> None:
    sdpa = fovea.torch.scaled_dot_product_attention
    q, k, v = operands(key_heads=2)
    with pytest.raises(fovea.ArgumentError, match="attn_mask is given and is_causal is true"):
        sdpa(q, q, q, torch.ones(13, 13, dtype=torch.bool), is_causal=True)
    with pytest.raises(fovea.ShapeError, match=r"attn_mask is \(13, 12\), it must be \(\.\.\., queries, keys\), here"):
        sdpa(q, q, q, torch.ones(13, 12, dtype=torch.bool))
    with pytest.raises(fovea.ArgumentError, match="attn_mask has elements of torch.int64, it must have bool or reals"):
        sdpa(q, q, q, torch.ones(13, 13, dtype=torch.int64))
    with pytest.raises(fovea.ShapeError, match="query has 4 heads, key has 2: pass enable_gqa=True"):
        sdpa(q, k, v)
    with pytest.raises(fovea.ArgumentError, match="dropout_p is 2, it must be from 0 to 1"):
        sdpa(q, q, q, dropout_p=2)


@NIGHT
@pytest.mark.filterwarnings("ignore")
def test_flex_attention_is_that_of_torch_and_may_be_compiled() -> None:
    torch_flex = pytest.importorskip("torch.nn.attention.flex_attention", reason="1 test takes PyTorch 2.5 or newer")
    slopes = torch.tensor([0.5, 0.1, 0.02, 0.004], dtype=torch.float64, requires_grad=True)

    def score_mod(score, b, h, q_idx, kv_idx):
        return 50 * torch.tanh((score + slopes[h] * (kv_idx - q_idx)) / 50)

    def mask_mod(b, h, q_idx, kv_idx):
        return (kv_idx <= q_idx) & (q_idx - kv_idx < 16)

    q, k, v = (torch.randn(2, 4, 13, 8, dtype=torch.float64, requires_grad=True) for _ in range(3))
    block_mask = torch_flex.create_block_mask(mask_mod, None, None, 13, 13, device="cpu")
    found = fovea.torch.flex_attention(q, k, v, score_mod, block_mask)
    with torch.no_grad():
        assert (found - torch_flex.flex_attention(q, k, v, score_mod, block_mask=block_mask)).abs().max() < 1e-12

    def network(x: Any) -> Any:
        return torch.relu(fovea.torch.flex_attention(2 * x, k, v, score_mod, mask_mod)) + 1

    compiled = torch.compile(network, backend="aot_eager")
    for _ in range(3):
        require_same(compiled(q), network(q), (q, k, v, slopes))


@NIGHT
def test_the_page_runs() -> None:
    runpy.run_path(str(EXAMPLES / "flex.py"), run_name="__main__")
