# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables that words take: slopes of `alibi`, buckets of `t5_bias`, ancestors of `tree`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ._errors import ShapeError, there_are


def alibi_slopes(heads: int, geometric: bool = False) -> npt.NDArray[np.float32]:
    """The slope of each head: 2 ** (-8 (h + 1) / heads) where heads is a power of two.

    Parameters
    ----------
    geometric : whether it is that for any number of heads. Otherwise they are those of the power of two below, then
        every other one of the power of two above, as published.
    """
    below = heads if geometric or heads < 1 else 1 << (heads.bit_length() - 1)
    first = -8.0 * np.arange(1, below + 1) / max(below, 1)
    others = -4.0 * np.arange(1, 2 * (heads - below), 2) / max(below, 1)
    slopes: npt.NDArray[np.float32] = np.exp2(np.concatenate([first, others])).astype(np.float32)
    return slopes


def t5_buckets(buckets: int, max_distance: int, length: int) -> npt.NDArray[np.int32]:
    """The bucket of each distance below a length: exact up to half of the buckets, then by logarithm.

    Errors: ShapeError for fewer than 2 buckets, or a max_distance that half of them reach.
    """
    exact = buckets // 2
    if buckets < 2 or max_distance <= exact:
        raise ShapeError(
            f"t5_buckets: {there_are(buckets, 'bucket')} up to a distance of {max_distance}: it takes 2 or more, and a "
            "distance above half of them"
        )
    widest = math.log(max_distance / exact)  # not of NumPy, which may round otherwise than C++ does
    far = [exact + int(math.log(d / exact) / widest * (buckets - exact)) for d in range(exact, length)]
    return np.minimum([*range(min(exact, length)), *far], buckets - 1).astype(np.int32)


def tree_ancestors(parents: Sequence[int]) -> npt.NDArray[np.uint8]:
    """What each node of a tree sees of the others, itself and its ancestors: (node, node). A root has parent -1.

    Errors: ShapeError for a parent that does not stand before its child.
    """
    table = np.eye(len(parents), dtype=np.uint8)
    for node, parent in enumerate(parents):
        if parent >= node:
            raise ShapeError(
                f"tree_ancestors: the parent of node {node} is {parent}: it must be a node before it, or -1 for a root"
            )
        if parent >= 0:
            table[node] |= table[parent]
    return table
