# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Transformer learns which character comes next in the pages of docs/.

Scores fall linearly with distance (ALiBi), by slopes that are learned for each head, are capped, and end at a window.
"""

from pathlib import Path

import fovea
import torch
from session import Session
from torch import nn

WIDTH, HEADS, BLOCKS, WINDOW, CONTEXT, BATCH = 64, 4, 2, 64, 512, 2


#! [attention]
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.mix = nn.Linear(WIDTH, WIDTH, bias=False)
        self.slopes = nn.Parameter(torch.logspace(-1, -7, HEADS, base=2))

    @fovea.kernel
    def attend(self, score, i, j, head):
        score = 20 * torch.tanh((score + self.slopes[head] * (j - i)) / 20)
        return score | fovea.where((j <= i) & (i - j < WINDOW)) | fovea.softmax

    def forward(self, x):
        split = self.project(x).unflatten(-1, (3, HEADS, -1)).movedim(-3, 0)  # (3, batch, position, head, feature)
        query, key, value = split.transpose(-2, -3)
        return self.mix(self.attend(query, key, value).transpose(-2, -3).flatten(-2))
#! [attention]


class Materialised(Attention):
    def attend(self, query, key, value):
        distance = torch.arange(CONTEXT) - torch.arange(CONTEXT)[:, None]  # (query, key)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + self.slopes[:, None, None] * distance
        scores = (20 * torch.tanh(scores / 20)).masked_fill((distance > 0) | (distance <= -WINDOW), float("-inf"))
        return scores.softmax(-1) @ value


class Block(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention, self.norms = attention(), nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.feed(self.norms[1](x))


def main():
    session = Session()
    pages = "".join(page.read_text() for page in sorted((Path(__file__).parents[2] / "docs").glob("*.md")))
    characters = sorted(set(pages))
    text = torch.tensor([characters.index(c) for c in pages])
    shares = torch.bincount(text) / len(text)
    entropy = -(shares * shares.log()).sum().item()
    learned = len(text) * 9 // 10  # the last tenth is held out

    def passages(first, end):
        starts = torch.randint(first, end - CONTEXT - 1, (BATCH,))
        some = torch.stack([text[at : at + CONTEXT + 1] for at in starts])
        return some[:, :-1], some[:, 1:]

    def make(attention):
        blocks = [Block(attention) for _ in range(BLOCKS)]
        ends = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(characters))
        return nn.Sequential(nn.Embedding(len(characters), WIDTH), *blocks, *ends)

    def loss_of(network, known, following):
        return nn.functional.cross_entropy(network(known).flatten(0, 1), following.flatten())

    steps = 10 if session.is_short else 100
    print(f"a language model of {len(text)} characters of docs/, {entropy:.2f} nats each: {steps} steps", flush=True)
    batches = [passages(0, learned) for _ in range(steps)]
    network = session.train((Attention, Materialised), make, loss_of, batches, 3e-3, 1e-5)
    with torch.no_grad():
        held_out = sum(loss_of(network, *passages(learned, len(text))).item() for _ in range(10)) / 10
    print("slopes of the last block:", [round(x, 3) for x in network[BLOCKS].attention.slopes.tolist()])
    if not session.is_short:
        session.expect(held_out < 0.85 * entropy, f"{held_out:.2f} nats for a character held out, below 0.85 of that")
    session.exit()


if __name__ == "__main__":
    main()
