#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the kernels that a wheel has ready: ready.py PATH/libfovea_ready.so [NAME...]

Each is written as a user writes it, so that what `fovea.kernel` traces of a user's is the same text. Numbers and tables
are parameters: any stand in their place. All take grouped-query heads; those at the end of the keys decode, too.
"""

from __future__ import annotations

import sys

import numpy as np

import fovea

# Samples, of which the number of axes and the kind of the elements count.
per_head = np.zeros(1, np.float32)
per_relation = np.zeros((1, 1), np.float32)
per_pair = np.zeros((1, 1, 1, 1), np.float32)
integers = np.zeros(1, np.int64)
seen = np.zeros((1, 1, 1, 1), bool)


def plain():
    return fovea.scaled_dot | fovea.softmax


def causal():
    return fovea.scaled_dot | fovea.causal | fovea.softmax


def causal_at_end():
    return fovea.scaled_dot | fovea.causal_at_end | fovea.softmax


def scaled(scale=1.0):
    return fovea.scaled_by(scale) | fovea.softmax


def causal_scaled(scale=1.0):
    return fovea.scaled_by(scale) | fovea.causal | fovea.softmax


def window(left=1, right=1):
    return fovea.scaled_dot | fovea.sliding_window(left, right) | fovea.softmax


def causal_window(left=1, right=1):
    return fovea.scaled_dot | fovea.causal | fovea.sliding_window(left, right) | fovea.softmax


def softcap(cap=1.0):
    return fovea.scaled_dot | fovea.softcap(cap) | fovea.causal | fovea.softmax


def softcap_window(cap=1.0, left=1, right=1):
    return fovea.scaled_dot | fovea.softcap(cap) | fovea.causal | fovea.sliding_window(left, right) | fovea.softmax


def alibi(slopes=per_head):
    return fovea.scaled_dot | fovea.alibi(slopes) | fovea.causal | fovea.softmax


def sink(sinks=per_head):
    return fovea.scaled_dot | fovea.causal | fovea.softmax_with_sink(sinks)


def sink_window(left=1, right=1, sinks=per_head):
    return fovea.scaled_dot | fovea.causal | fovea.sliding_window(left, right) | fovea.softmax_with_sink(sinks)


def key_lengths(lengths=integers):
    return fovea.scaled_dot | fovea.key_lengths(lengths) | fovea.softmax


def causal_key_lengths(lengths=integers):
    return fovea.scaled_dot | fovea.key_lengths(lengths) | fovea.causal | fovea.softmax


def prefix_lm(length=1):
    return fovea.scaled_dot | fovea.prefix_lm(length) | fovea.softmax


def document(ids=integers):
    return fovea.scaled_dot | fovea.document(ids) | fovea.causal | fovea.softmax


def bias(biases=per_pair):
    return fovea.scaled_dot | fovea.bias(biases) | fovea.softmax


def mask(mask=seen):
    return fovea.scaled_dot | fovea.mask_tensor(mask) | fovea.softmax


def relative(table=per_relation):
    return fovea.scaled_dot | fovea.relative_bias(table) | fovea.softmax


def sparsemax():
    return fovea.scaled_dot | fovea.causal | fovea.sparsemax


FUNCTIONS = (
    plain, causal, causal_at_end, scaled, causal_scaled, window, causal_window, softcap, softcap_window, alibi, sink,
    sink_window, key_lengths, causal_key_lengths, prefix_lm, document, bias, mask, relative, sparsemax,
)  # fmt: skip
# What has no spelling in Python: keys and values in pages, (page, head, slot, feature).
PAGED = {
    "decode": 'takes<"lengths(batch)">([](view<std::int64_t const, 1> lengths) { return scaled_dot '
    "| key_lengths(lengths) | softmax | weighted_sum; }).over_pages()",
}
KERNELS = {function.__name__: fovea.kernel(function) for function in FUNCTIONS} | PAGED


if __name__ == "__main__":
    names = sys.argv[2:] or list(KERNELS)
    fovea.prebuild({name: KERNELS[name] for name in names}, sys.argv[1])
