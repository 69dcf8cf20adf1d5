# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls each kernel of a library with all its arguments by name; the last says how many keys are seen."""

import sys

import numpy as np

import fovea

library = fovea.load(sys.argv[1])
x = np.array([[1.0], [2.0]], np.float32)
for kernel in library.kernels():
    arguments = {a.name: np.ones(3) if a.shape else 1.5 for a in kernel.arguments}
    for seen, expected in ((1, [[1], [1]]), (0, [[0], [0]])):
        arguments["seen"] = seen
        np.testing.assert_array_equal(fovea.attend(x, x, x, kernel.name, **arguments), expected)
        np.testing.assert_array_equal(getattr(library, kernel.name)(x, x, x, **arguments), expected)
    assert "kv_idx < seen" in kernel.formula, kernel.formula
    print(kernel.name, len(arguments), "arguments")
