# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same of what takes tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch

import fovea.torch

q = k = v = torch.zeros(2, 4, 5, 8, requires_grad=True)


def score_mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return 50 * torch.tanh(score / 50)


def mask_mod(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx <= q_idx


@dataclass
class Blocks:
    mask_mod: Callable[..., Any]


class Attention(torch.nn.Module):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.temperatures = torch.nn.Parameter(torch.ones(heads))

    @fovea.kernel
    def attend(self, score: fovea.Expression, head: fovea.Expression) -> fovea.Specification:
        return score / fovea.param(self.temperatures)[head] | fovea.causal | fovea.sparsemax

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result, lse = self.attend(x, x, x, outputs=("lse",))
        return self.attend(x, x, x) + result + lse.unsqueeze(-1)


def calls() -> None:
    result: torch.Tensor = fovea.torch.flex_attention(q, k, v, score_mod, mask_mod, scale=0.5, enable_gqa=True)
    both = fovea.torch.flex_attention(q, k, v, block_mask=Blocks(mask_mod), return_lse=True)
    lse: torch.Tensor = both[1]
    plain = fovea.torch.scaled_dot_product_attention(q, k, v, torch.zeros(5, 5), dropout_p=0.1, is_causal=False)
    print((result + plain).sum())
    print(lse.shape)
