# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of a kernel, for the pages: PYTHONPATH=python python3 examples/from_python/pictures.py docs/how_to"""

import sys
from pathlib import Path

import numpy as np

import fovea

#! [packed]
ids = np.repeat(np.arange(5), [130, 70, 160, 40, 112])  # the document of each token
reach = np.array([16, 48, 128, 512])  # of each head


@fovea.kernel
def packed(score, i, j, head):
    return score | fovea.where((j <= i) & (i - j < reach[head]) & (ids[i] == ids[j])) | fovea.softmax
#! [packed]


def mask() -> fovea.MaskPicture:
#! [mask]
    picture = packed.picture(block=32)  # for a call: packed.picture(query, key, value)
    assert picture.blocks.shape == (1, 4, 16, 16)  # shares of (batch, head, query block, key block)
#! [mask]
    return picture


def heads() -> fovea.Picture:
    query, key = rotating(np.arange(512), [0, 6, 20, 0]), rotating(np.arange(512), [0, 0, 0, 0])
#! [heads]
    found = packed(query, key, key, outputs=("weights",))
    picture = fovea.attention_map(found, title="Weights of packed")
#! [heads]
    return picture


def rotating(positions: np.ndarray, shifts: list[int]) -> np.ndarray:
    """Features (1, head, position, feature) by which a query finds the keys at a distance, and every so many beyond."""
    rates = 2 * np.pi / np.array([12, 24, 48, 96])
    angles = rates * (positions[:, None] - np.array(shifts)[:, None, None])
    strength = np.array([1.0, 1.5, 2.0, 2.5])[:, None, None]
    return (strength * np.concatenate([np.cos(angles), np.sin(angles)], -1)).astype(np.float32)[None]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    mask().save(folder / "mask_of_heads.svg")
    heads().save(folder / "weights_of_heads.svg")
