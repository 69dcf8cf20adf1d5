# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention kernels compiled by fovea, called on NumPy arrays and on whatever shares its memory like them.

    import fovea

    fovea.load("libattention.so")               # made by fovea_add_kernels
    result = fovea.attend(q, k, v, "causal")    # (batch, head, position, feature)
"""

from ._cache import CacheBatch, KVCache
from ._errors import ArgumentError, Error, GraphError, ShapeError, UnsupportedError
from ._graph import Graph
from ._info import Argument, ElementTypes, Gradients, Kernel
from ._library import BoundKernel, Library, attend, gradient, kernels, load, quantize

__all__ = [
    "Argument",
    "ArgumentError",
    "BoundKernel",
    "CacheBatch",
    "ElementTypes",
    "Error",
    "Gradients",
    "Graph",
    "GraphError",
    "KVCache",
    "Kernel",
    "Library",
    "ShapeError",
    "UnsupportedError",
    "attend",
    "gradient",
    "kernels",
    "load",
    "quantize",
]
