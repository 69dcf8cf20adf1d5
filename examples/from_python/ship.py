# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A library of kernels for each instruction set: ship.py FOLDER"""

import sys
from pathlib import Path

import numpy as np

import fovea

folder = Path(sys.argv[1])
query, key, value = np.random.default_rng(1).standard_normal((3, 2, 4, 37, 11), dtype=np.float32)

#! [ship]
@fovea.kernel
def capped(score, *, cap=50.0):
    return cap * np.tanh(score / cap) | fovea.causal | fovea.softmax


library = fovea.prebuild({"capped": capped}, folder / "libmine.so")
mine = fovea.Library(library)
result = mine.capped(query, key, value, cap=30.0)
#! [ship]
np.testing.assert_allclose(result, capped(query, key, value, cap=30.0), rtol=0, atol=1e-6)
print(library)
