# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels from Python beside PyTorch with materialised scores: PYTHONPATH=python python3 bench/from_python.py [ROW]

Milliseconds of one thread, the least of some seconds: forward, and with the gradients of operands and tables. It
takes PyTorch with a good BLAS, and compares results and gradients before it measures.
"""

import math
import sys
import time

import fovea
import torch

HEADS, FEATURES, WINDOW = 8, 64, 256
INFINITY = float("inf")


def places(n):
    return torch.arange(n)[:, None], torch.arange(n)


def buckets_of(distance):
    """T5's 32 buckets of distances up to 128, the first 16 of one distance each."""
    far = 16 + (torch.log(distance.clamp(min=1) / 16) / math.log(8) * 16).long()
    return torch.where(distance < 16, distance, far.clamp(max=31)).int()


def parameter(*shape):
    return torch.nn.Parameter(torch.randn(shape))


slopes = torch.nn.Parameter(2.0 ** -torch.arange(1, HEADS + 1))
table, temperatures, vector = parameter(32, HEADS), torch.nn.Parameter(torch.ones(HEADS)), parameter(FEATURES)
buckets = buckets_of(torch.arange(1024))


@fovea.kernel
def capped_alibi(score, i, j, head):
    return 50 * torch.tanh((score + slopes[head] * (j - i)) / 50) | fovea.causal | fovea.softmax


@fovea.kernel
def window(i, j):
    return fovea.scaled_dot | fovea.causal | fovea.where(i - j < WINDOW) | fovea.softmax


@fovea.kernel
def t5():
    return fovea.scaled_dot | fovea.t5_bias(table, buckets) | fovea.causal | fovea.softmax


@fovea.kernel
def sparsemax(score, head):
    return score / temperatures[head] | fovea.sparsemax


@fovea.kernel
def additive(q, k):
    return vector @ torch.tanh(q + k) | fovea.softmax


def scores(q, k):
    return q @ k.transpose(-1, -2) * FEATURES**-0.5


def eager_capped_alibi(q, k, v):
    i, j = places(q.shape[-2])
    capped = 50 * torch.tanh((scores(q, k) + slopes[:, None, None] * (j - i)) / 50)
    return capped.masked_fill(j > i, -INFINITY).softmax(-1) @ v


def eager_window(q, k, v):
    i, j = places(q.shape[-2])
    return scores(q, k).masked_fill((j > i) | (i - j >= WINDOW), -INFINITY).softmax(-1) @ v


def eager_t5(q, k, v):
    i, j = places(q.shape[-2])
    bias = table[buckets_of((i - j).clamp(min=0)).long()].movedim(-1, 0)
    return (scores(q, k) + bias).masked_fill(j > i, -INFINITY).softmax(-1) @ v


def eager_sparsemax(q, k, v):
    s = scores(q, k) / temperatures[:, None, None]
    ordered = s.sort(-1, descending=True).values
    sums = ordered.cumsum(-1) - 1
    support = (torch.arange(1, s.shape[-1] + 1) * ordered > sums).sum(-1, keepdim=True)
    return (s - sums.gather(-1, support - 1) / support).clamp(min=0) @ v


def eager_additive(q, k, v):
    return (torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ vector).softmax(-1) @ v


# A kernel, the same in PyTorch, the tables of which there are gradients, and how many positions.
ROWS = {
    "capped_alibi": (capped_alibi, eager_capped_alibi, (slopes,), 1024),
    "window": (window, eager_window, (), 1024),
    "t5": (t5, eager_t5, (table,), 1024),
    "sparsemax": (sparsemax, eager_sparsemax, (temperatures,), 1024),
    "additive": (additive, eager_additive, (vector,), 256),
}


def milliseconds(run, seconds=5):
    least, end, rounds = INFINITY, time.perf_counter() + seconds, 0
    while rounds < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        least, rounds = min(least, time.perf_counter() - begin), rounds + 1
    return 1000 * least


def measure(name):
    kernel, eager, tables, n = ROWS[name]
    q, k, v = (torch.randn(1, HEADS, n, FEATURES, requires_grad=True) for _ in range(3))
    d = torch.randn(1, HEADS, n, FEATURES)

    def forward(function):
        with torch.no_grad():
            return function(q, k, v)

    def both(function):
        return torch.autograd.grad(function(q, k, v), (q, k, v, *tables), d)

    for found, expected in zip((forward(kernel), *both(kernel)), (forward(eager), *both(eager))):
        assert (found - expected).abs().max() < 1e-4 * expected.abs().max()
    times = [milliseconds(lambda: run(function)) for run in (forward, both) for function in (kernel, eager)]
    ratios = times[1] / times[0], times[3] / times[2]
    print(f"{name:14}", *(f"{each:9.2f}" for each in times), *(f"{each:8.1f}" for each in ratios), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"PyTorch {torch.__version__}, {HEADS} heads of {FEATURES} features, float32, one thread")
    print(f"{'':14}   forward     eager      both     eager  forward     both")
    for row in sys.argv[1:] or ROWS:
        measure(row)
