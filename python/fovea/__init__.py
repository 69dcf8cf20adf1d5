# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention kernels compiled by fovea, called on NumPy arrays and on whatever shares its memory like them.

    import fovea

    fovea.load("libattention.so")               # made by fovea_add_kernels
    result = fovea.attend(q, k, v, "causal")    # (batch, head, position, feature)
"""

import importlib
from typing import TYPE_CHECKING

from ._cache import CacheBatch, KVCache, Rotary
from ._calls import attend, gradient, kernels, load, quantize
from ._errors import ArgumentError, Error, GraphError, ShapeError, UnsupportedError
from ._expression import Expression
from ._graph import Graph
from ._info import Argument, ElementTypes, Gradients, Kernel, Results
from ._kernel import TracedKernel, kernel
from ._library import BoundKernel, Library
from ._map import attention_map
from ._picture import MaskPicture
from ._prebuild import prebuild
from ._specification import Specification, Stage
from ._svg import Picture

__all__ = [
    "Argument",
    "ArgumentError",
    "BoundKernel",
    "CacheBatch",
    "ElementTypes",
    "Error",
    "Expression",
    "Gradients",
    "Graph",
    "GraphError",
    "KVCache",
    "Kernel",
    "Library",
    "MaskPicture",
    "Picture",
    "Results",
    "Rotary",
    "ShapeError",
    "Specification",
    "Stage",
    "TracedKernel",
    "UnsupportedError",
    "attend",
    "attention_map",
    "gradient",
    "kernel",
    "kernels",
    "load",
    "prebuild",
    "quantize",
]


if TYPE_CHECKING:
    from ._words import *
else:

    def __getattr__(name: str) -> object:
        """The words, functions and placeholders of the language, by their names in C++; and the module for PyTorch."""
        if name == "torch":
            return importlib.import_module(f"{__name__}.torch")
        from ._specification import vocabulary

        words = {} if name.startswith("_") else vocabulary()
        if name not in words:
            raise AttributeError(f"module 'fovea' has no attribute {name!r}")
        globals().update({word: x for word, x in words.items() if word not in globals()})
        return globals()[name]


def __dir__() -> list[str]:
    """What there is for a completion, the words too."""
    from ._specification import vocabulary

    return sorted({*globals(), *vocabulary(), "torch"})
