# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network learns what sensors will read in a day from readings of which many are lost.

Scores fall with age by slopes that are learned for each head, and learned sinks take the weight that no reading earns.
"""

import math

import fovea
import torch
from session import Session
from torch import nn

WIDTH, HEADS, HOURS, AHEAD, SENSORS = 32, 4, 240, 24, 8


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.mix = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.slopes = nn.Parameter(torch.logspace(-1, -7, HEADS, base=2))
        self.sinks = nn.Parameter(torch.zeros(HEADS))

    #! [attend]
    @fovea.kernel
    def attend(self, score, i, j, head, batch, seen):
        score = score + self.slopes[head] * (j - i)
        return score | fovea.causal | fovea.where(seen[batch, j] > 0) | fovea.softmax_with_sink(self.sinks[head])
    #! [attend]

    def forward(self, x, seen):
        split = self.project(x).unflatten(-1, (3, HEADS, -1)).movedim(-3, 0)  # (3, batch, position, head, feature)
        query, key, value = split.transpose(-2, -3)
        return self.mix(self.attend(query, key, value, seen=seen).transpose(-2, -3).flatten(-2))


class Materialised(Attention):
    def attend(self, query, key, value, seen):
        age = torch.arange(HOURS) - torch.arange(HOURS)[:, None]
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + self.slopes[:, None, None] * age
        scores = scores.masked_fill((age > 0) | (seen == 0)[:, None, None, :], float("-inf"))
        sinks = self.sinks[:, None, None].expand(*scores.shape[:-1], 1)
        return torch.cat([sinks, scores], -1).softmax(-1)[..., 1:] @ value


class Forecaster(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.begin, self.end = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 1)
        self.layers = nn.ModuleList(attention() for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.feed = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, readings, seen):
        angle = (2 * math.pi / 24 * torch.arange(HOURS)).to(readings).expand_as(readings)
        x = self.begin(torch.stack([readings * seen, seen.to(readings), angle.sin(), angle.cos()], -1))
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x), seen)
        return self.end(x + self.feed(self.norms[-1](x)))[..., 0]


def series():
    """Readings, whether each was received, and the temperature: a daily cycle of each place's own, and weather."""
    all_hours = HOURS + AHEAD
    height, peak, level = 1 + torch.rand(SENSORS, 1), 24 * torch.rand(SENSORS, 1), torch.randn(SENSORS, 1)
    weather = [torch.randn(SENSORS)]
    for noise in 0.1 * torch.randn(all_hours - 1, SENSORS):
        weather.append(0.995 * weather[-1] + noise)
    daily = height * torch.cos(2 * math.pi / 24 * (torch.arange(all_hours) - peak))
    temperature = level + daily + torch.stack(weather, -1)
    is_lost = nn.functional.max_pool1d(torch.rand(SENSORS, 1, HOURS + 5), 6, 1)[:, 0] > 0.95  # for six hours or more
    return temperature[:, :HOURS] + 0.2 * torch.randn(SENSORS, HOURS), (~is_lost).int(), temperature


def last_reading(readings, seen):
    """What each sensor said last: a forecast without a network, from 0 where it has said nothing yet."""
    at = (torch.arange(HOURS) * seen).cummax(-1).values
    return (readings * seen).gather(-1, at)


def main():
    session = Session()
    steps = 10 if session.is_short else 100
    print(f"a forecast of {SENSORS} sensors at a time, {AHEAD} hours ahead of {HOURS}: {steps} steps", flush=True)

    def loss_of(network, readings, seen, temperature):
        return nn.functional.mse_loss(network(readings, seen), temperature[:, AHEAD:])

    batches = [series() for _ in range(steps)]
    network = session.train((Attention, Materialised), Forecaster, loss_of, batches, 3e-3, 1e-5)
    others = [series() for _ in range(20)]
    with torch.no_grad():
        error = sum(loss_of(network, *each).item() for each in others) / len(others)
    of_last = sum(loss_of(last_reading, *each).item() for each in others) / len(others)
    print(f"mean square error of unseen series {error:.3f}, of the last reading of each sensor {of_last:.3f}")
    for name in ("slopes", "sinks"):
        print(f"{name} of the last layer:", [round(x, 3) for x in getattr(network.layers[-1], name).tolist()])
    if not session.is_short:
        session.expect(error < 0.75 * of_last, "less than 3/4 of that")
    session.exit()


if __name__ == "__main__":
    main()
