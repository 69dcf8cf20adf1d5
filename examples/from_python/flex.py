# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlexAttention's functions, and modules of PyTorch, trained on a CPU."""

import fovea.torch
import torch

torch.manual_seed(0)
#! [functions]
slopes = torch.nn.Parameter(torch.tensor([0.5, 0.1, 0.02, 0.004]))


def score_mod(score, b, h, q_idx, kv_idx):
    return 50 * torch.tanh((score + slopes[h] * (kv_idx - q_idx)) / 50)


def mask_mod(b, h, q_idx, kv_idx):
    return (kv_idx <= q_idx) & (q_idx - kv_idx < 16)
#! [functions]


query, key, value = (torch.randn(2, heads, 37, 16, requires_grad=True) for heads in (4, 2, 2))
#! [call]
out = fovea.torch.flex_attention(query, key, value, score_mod, block_mask=mask_mod, enable_gqa=True)
#! [call]
#! [train]
loss = out.square().sum()
loss.backward()  # query.grad, key.grad, value.grad, slopes.grad
#! [train]
before = loss.item()
with torch.no_grad():
    for x in (query, key, value, slopes):
        x -= 0.01 * x.grad / x.grad.norm()
    assert fovea.torch.flex_attention(query, key, value, score_mod, mask_mod, enable_gqa=True).square().sum() < before


#! [module]
class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.project = torch.nn.Linear(width, 3 * width)
        self.heads = heads
        self.temperatures = torch.nn.Parameter(torch.ones(heads))

    @fovea.kernel
    def attend(self, score, head):
        return score / self.temperatures[head] | fovea.causal | fovea.sparsemax

    def forward(self, x):
        split = self.project(x).unflatten(-1, (3, self.heads, -1)).movedim(-3, 0)  # views: nothing is copied
        query, key, value = split.transpose(-2, -3)
        return self.attend(query, key, value).transpose(-2, -3).flatten(-2)
#! [module]


if __name__ == "__main__":
    layer = Attention(32, 4)
    layer(torch.randn(2, 10, 32)).sum().backward()
    assert layer.temperatures.grad.shape == (4,)
