# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types that signatures name.

Tensors are known by what they have, so that checking a program that uses NumPy alone does not read PyTorch.
"""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar, Union

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
OfCall = TypeVar("OfCall")  # what an operand of a call becomes: an array, or a tensor
OfCall_co = TypeVar("OfCall_co", covariant=True)


class TensorLike(Protocol[OfCall_co]):
    """A tensor of PyTorch, or one of its parameters."""

    @property
    def requires_grad(self) -> bool:
        """Whether autograd computes its gradient."""
        ...

    def detach(self) -> OfCall_co:
        """The same memory outside of autograd: a tensor."""
        ...


class _HasInterface(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class _HasDLPack(Protocol):
    @property
    def __dlpack__(self) -> Callable[..., Any]: ...


class SparseRows(Protocol):
    """Compressed sparse rows, as SciPy has them."""

    @property
    def indptr(self) -> Any:
        """Where the entries of each row begin."""
        ...

    @property
    def indices(self) -> Any:
        """The column of each entry."""
        ...


# What is read where it lies. A list is none of these.
ArrayLike = Union[Array, _HasInterface, _HasDLPack, memoryview, bytearray, "array.array[Any]"]
Operand = Union[ArrayLike, TensorLike[Any]]
OperandType = TypeVar("OperandType", bound=Operand)

Scalar = Union[bool, int, float, "np.number[Any]", np.bool_]

# Elements of caches, what numbers are rounded to, and the instruction sets of a library.
CacheElement = Literal["f32", "bf16", "f16", "fp8_e4m3", "fp8_e5m2", "q8_0", "q4_0", "q4_1"]
RoundedElement = Literal["bf16", "fp8_e4m3", "fp8_e5m2", "q8_0", "q4_0", "q4_1"]
Architecture = Literal["sse2", "avx2", "avx512", "neon"]
