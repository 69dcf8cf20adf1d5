# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in what PyTorch compiles, exports and transforms: the results and gradients of calls outside of that.

But for those of the night, all have the text of a kernel that another test compiles.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import torch_or_skip

import fovea

torch = torch_or_skip(__file__)
if not hasattr(torch.library, "register_autograd"):
    COUNT = Path(__file__).read_text().count("\ndef test_")
    pytest.skip(f"{COUNT} tests are left out: they take PyTorch 2.4 or newer", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's own
NIGHT = pytest.mark.night
HAS_INDUCTOR = importlib.util.find_spec("setuptools") is not None and shutil.which("g++") is not None
INDUCTOR = pytest.mark.skipif(not HAS_INDUCTOR, reason="inductor takes setuptools and g++")
BACKENDS = ["aot_eager", pytest.param("inductor", marks=(NIGHT, INDUCTOR))]
SDPA = fovea.torch.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def compilers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inductor takes no arguments in CXX."""
    from torch._inductor import config

    monkeypatch.setattr(config.cpp, "cxx", (None, "g++"))
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def operands(positions: int = 13, features: int = 6) -> list[Any]:
    return [torch.randn(2, 4, positions, features, dtype=torch.float64, requires_grad=True) for _ in range(3)]


def score_mod_of(slopes: Any, cap: float = 50) -> Any:
    """The function of the page, with variables of its own."""

    def score_mod(score, b, h, q_idx, kv_idx):
        return cap * torch.tanh((score + slopes[h] * (kv_idx - q_idx)) / cap)

    return score_mod


def mask_mod_of(window: int = 16) -> Any:
    def mask_mod(b, h, q_idx, kv_idx):
        return (kv_idx <= q_idx) & (q_idx - kv_idx < window)

    return mask_mod


def slopes_of(factor: float = 1) -> Any:
    return (factor * torch.tensor([0.5, 0.1, 0.02, 0.004], dtype=torch.float64)).requires_grad_()


def network_of(score_mod: Any, mask_mod: Any, **more: Any) -> Any:
    return lambda q, k, v: torch.relu(fovea.torch.flex_attention(2 * q, k, v, score_mod, mask_mod, **more)) + 1


def require_same(found: Any, expected: Any, inputs: Any) -> None:
    """The same results and gradients."""
    d = torch.randn_like(expected)
    assert found.shape == expected.shape and (found - expected).abs().max() < 1e-12
    for x, y in zip(torch.autograd.grad(found, inputs, d), torch.autograd.grad(expected, inputs, d)):
        assert (x - y).abs().max() < 1e-11


class Attention(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The same kernel as a method."""

    def __init__(self) -> None:
        super().__init__()
        self.slopes = torch.nn.Parameter(slopes_of().detach())
        self.cap = 50

    @fovea.kernel
    def attend(self, score, i, j, head):
        score = self.cap * torch.tanh((score + self.slopes[head] * (j - i)) / self.cap)
        return score | fovea.where((j <= i) & (i - j < 16)) | fovea.softmax

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        return torch.relu(self.attend(2 * q, k, v)) + 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_compiled_function_has_the_results_and_gradients_of_eager(backend: str) -> None:
    slopes = slopes_of()
    network = network_of(score_mod_of(slopes), mask_mod_of())
    compiled = torch.compile(network, backend=backend, fullgraph=True)
    for positions in (13, 17, 29, 30):  # from the second on with dynamic shapes
        inputs = operands(positions)
        require_same(compiled(*inputs), network(*inputs), (*inputs, slopes))
        with torch.no_grad():
            assert torch.equal(compiled(*inputs), network(*inputs))


def test_variables_of_functions_are_looked_at_in_each_call() -> None:
    q, k, v = operands()
    flex = fovea.torch.flex_attention
    compiled = torch.compile(lambda *x: flex(q, k, v, *x), backend="aot_eager", fullgraph=True)
    first, second, capped = score_mod_of(slopes_of()), score_mod_of(slopes_of(2)), score_mod_of(slopes_of(), 50)
    near, nearer = mask_mod_of(), mask_mod_of(16)
    for functions in ((first, near), (second, near), (first, nearer), (capped, near), (second, nearer), (first, near)):
        assert torch.equal(compiled(*functions), flex(q, k, v, *functions))
    for cell in first.__closure__:
        if isinstance(cell.cell_contents, torch.Tensor):
            cell.cell_contents = slopes_of(3)
    assert torch.equal(compiled(first, near), flex(q, k, v, first, near))


def test_methods_of_modules_are_compiled() -> None:
    module, inputs = Attention(), operands()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    for _ in range(2):
        require_same(compiled(*inputs), module(*inputs), (*inputs, module.slopes))
        module.slopes = torch.nn.Parameter(slopes_of(2).detach())
    other = Attention()
    assert not torch.equal(compiled(*inputs), other(*inputs))


@NIGHT
def test_numbers_of_modules_are_looked_at_in_each_call() -> None:
    module, inputs = Attention(), operands()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    for cap in (50, 5):  # each stands in a text
        module.cap = cap
        assert torch.equal(compiled(*inputs), module(*inputs))


@pytest.mark.parametrize("strict", [True, False])
def test_exported_programs_are_those_of_eager(tmp_path: Path, strict: bool) -> None:
    module = Attention()
    assert module.attend.text  # a strict export has methods that were read before
    inputs = [x.detach() for x in operands()]
    shapes = {name: {2: torch.export.Dim("positions", min=2)} for name in "qkv"}
    program = torch.export.export(module, tuple(inputs), strict=strict, dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "program.pt2")
    others = [x.detach() for x in operands(21)]
    for each in (program, torch.export.load(tmp_path / "program.pt2")):
        assert (each.module()(*others) - module(*others)).abs().max() < 1e-12


def test_what_is_read_through_a_list_breaks_a_graph() -> None:
    q, k, v = operands()
    kept = [slopes_of()]

    @fovea.kernel
    def attend(score, i, j, head):
        score = 50 * torch.tanh((score + fovea.param(kept[0])[head] * (j - i)) / 50)
        return score | fovea.where((j <= i) & (i - j < 16)) | fovea.softmax

    network = lambda q: attend(2 * q, k, v) + 1  # noqa: E731
    compiled = torch.compile(network, backend="aot_eager")
    for factor in (1, 2):
        kept[0] = slopes_of(factor)
        require_same(compiled(q), network(q), (q, kept[0]))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(network, backend="aot_eager", fullgraph=True)(q)


def test_functions_are_transformed() -> None:
    slopes = slopes_of().detach()
    inputs = operands()
    q, k, v = (x.detach() for x in inputs)
    network = network_of(score_mod_of(slopes), mask_mod_of())
    loss = lambda *x: network(*x).square().sum()  # noqa: E731
    wanted = torch.autograd.grad(loss(*inputs), inputs)
    for x, y in zip(torch.func.grad(loss, (0, 1, 2))(q, k, v), wanted):
        assert (x - y).abs().max() < 1e-12
    every = torch.stack([q, 3 * q])
    assert torch.equal(torch.vmap(network, (0, None, None))(every, k, v)[1], network(3 * q, k, v))
    assert (torch.vmap(torch.func.grad(loss), (0, None, None))(every, k, v)[0] - wanted[0]).abs().max() < 1e-12
    module = Attention()
    of_module = lambda p: torch.func.functional_call(module, p, (q, k, v)).sum()  # noqa: E731
    found = torch.func.grad(of_module)(dict(module.named_parameters()))["slopes"]
    assert torch.allclose(found, torch.autograd.grad(module(q, k, v).sum(), module.slopes)[0], rtol=0, atol=1e-12)
    with pytest.raises(fovea.UnsupportedError, match="kernels have no second derivatives"):
        torch.func.grad(lambda q: torch.func.grad(loss)(q, k, v).sum())(q)
    with pytest.raises(fovea.UnsupportedError, match="kernels have no derivatives in forward mode"):
        torch.func.jvp(lambda q: network(q, k, v), (q,), (q,))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(q, q)
        with pytest.raises(fovea.UnsupportedError, match="kernels have no derivatives in forward mode"):
            network(dual, k, v)


def test_operators_pass_the_checks_of_pytorch() -> None:
    from fovea._torch_operators import text_of

    slopes = slopes_of()
    kernel = fovea.torch.kernel_of_functions(score_mod_of(slopes), mask_mod_of(), False)
    text = text_of(kernel, kernel.read({})[0], None, None)
    read = (*operands(), [slopes], [], [], text)
    torch.library.opcheck(torch.ops.fovea.attend.default, (*read, True))
    d = torch.randn(2, 4, 13, 6, dtype=torch.float64)
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")  # there is no second derivative
    arguments = (*read, [True, False, True, True], d, [], [])
    torch.library.opcheck(torch.ops.fovea.gradient.default, arguments, test_utils=checks)


@NIGHT
def test_the_logarithm_of_the_sum_is_that_of_pytorch_and_compiled() -> None:
    flex = pytest.importorskip("torch.nn.attention.flex_attention", reason="1 test takes PyTorch 2.5 or newer")
    slopes, (q, k, v) = slopes_of(), operands(features=8)  # powers of 2, for PyTorch
    score_mod, mask_mod = score_mod_of(slopes), mask_mod_of()
    network = lambda *x: fovea.torch.flex_attention(*x, score_mod, mask_mod, return_lse=True)  # noqa: E731
    block_mask = flex.create_block_mask(mask_mod, None, None, 13, 13, device="cpu")
    with torch.no_grad():
        expected = flex.flex_attention(q, k, v, score_mod, block_mask, return_lse=True)
        for x, y in zip(network(q, k, v), expected):
            assert (x - y).abs().max() < 1e-12
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    for of in (0, 1):
        require_same(compiled(q, k, v)[of], network(q, k, v)[of], (q, k, slopes))


@NIGHT
def test_scaled_dot_product_attention_is_compiled() -> None:
    q, k, v = operands()
    bias = torch.randn(4, 1, 13, dtype=torch.float64, requires_grad=True)
    lower = torch.ones(13, 13, dtype=torch.bool).tril()
    for inputs, more in (((), {}), ((bias,), {}), ((), {"is_causal": True, "scale": 0.3}), ((), {"attn_mask": lower})):
        network = lambda *x, given=more: SDPA(2 * x[0], *x[1:], **given) + 1  # noqa: E731
        compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
        require_same(compiled(q, k, v, *inputs), network(q, k, v, *inputs), (q, k, v, *inputs))
    network = lambda x: SDPA(2 * x, k, v, dropout_p=0.25)  # noqa: E731
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    torch.manual_seed(4)
    found, again = compiled(q), compiled(q)
    torch.manual_seed(4)
    require_same(found, network(q), (q,))
    assert not torch.equal(found, again)


@NIGHT
def test_graphs_and_arrays_of_numpy_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    import variants

    q, k, v = (torch.randn(1, 4, variants.graph.queries, 11, requires_grad=True) for _ in range(3))
    network = lambda q: variants.graph_attention(2 * q, k, v) + 1  # noqa: E731
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    for _ in range(2):
        found, expected = compiled(q), network(q)
        assert torch.equal(found, expected)
        assert torch.equal(torch.autograd.grad(found.sum(), q)[0], torch.autograd.grad(expected.sum(), q)[0])
        monkeypatch.setattr(variants, "of_target", 2 * variants.of_target)
