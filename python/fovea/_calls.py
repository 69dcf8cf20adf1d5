# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of the library that is loaded: functions of the package beside those of its objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from . import _ready
from ._errors import Error, require_type
from ._info import Gradients, Kernel, Results
from ._library import Library
from ._typing import Array, Operand, OperandType, RoundedElement

_default: Library | None = None


def load(path: str | os.PathLike[str], name: str | None = None) -> Library:
    """Loads a library of kernels, which becomes the one that `fovea.attend` uses.

    Parameters
    ----------
    path : of the shared library.
    name : the TARGET of fovea_add_kernels; NAME of libNAME.so if not given.

    Raises
    ------
    Error : there is no library at the path, or one of another version or name.

    Example
    -------
        library = fovea.load(os.environ["FOVEA_KERNELS"])
        q = np.ones((10, 16), np.float32)
        result = library.causal(q, q, q)  # each kernel is a method
    """
    global _default
    _default = Library(path, name)
    return _default


def _default_library() -> Library:
    if _default is not None:
        return _default
    path = os.environ.get("FOVEA_KERNELS")
    if not path:
        if (ready := _ready.default()) is not None:
            return ready
        raise Error(
            "no library of kernels is loaded: call fovea.load(path), or set the environment variable FOVEA_KERNELS to "
            "the path of one; fovea_add_kernels in CMake makes them"
        )
    return load(path)


def library_or_default(library: Library | None) -> Library:
    require_type(library, (Library, type(None)), "library", "a fovea.Library, which fovea.load makes of a path")
    return _default_library() if library is None else library


def kernels(library: Library | None = None) -> list[Kernel]:
    """The kernels of a library, each with its name, its types and its arguments.

    Parameters
    ----------
    library : any; the library loaded last, or the one that FOVEA_KERNELS names, if not given.

    Raises
    ------
    Error : there is no library.

    Example
    -------
        names = [kernel.name for kernel in fovea.kernels()]
    """
    return library_or_default(library).kernels()


def quantize(x: Operand, /, type: RoundedElement, library: Library | None = None) -> Array:
    """Rounds rows of numbers to the elements of a cache of keys or values, as `store` of C++ does.

    Parameters
    ----------
    x : (..., feature), of float32, float64, float16 or bfloat16, also as its bits in uint16.
    type : "q8_0", "q4_0", "q4_1", "fp8_e4m3", "fp8_e5m2" or "bf16". Features are a multiple of 32 for those in blocks.
    library : any; the library loaded last, or the one that FOVEA_KERNELS names, if not given.

    Returns
    -------
    An array of uint8: (..., bytes), 34, 18 or 20 of them for 32 features in blocks, or one for each feature; of uint16
    for bf16.

    Raises
    ------
    ArgumentError : elements of another type; a name of no type that numbers are rounded to.
    ShapeError : features that are no whole blocks.

    Example
    -------
        k = np.ones((2, 4, 10, 64), np.float32)
        blocks = fovea.quantize(k, "q8_0")  # 34 bytes for 32 numbers
        assert blocks.shape == (2, 4, 10, 68) and blocks.dtype == np.uint8
    """
    return library_or_default(library).quantize(x, type)


@overload
def attend(
    q: Operand,
    k: Operand,
    v: Operand,
    /,
    kernel: str = ...,
    out: None = ...,
    threads: int = ...,
    library: Library | None = ...,
    dtype: str | None = ...,
    outputs: None = ...,
    **arguments: Any,
) -> Array: ...
@overload
def attend(
    q: Operand,
    k: Operand,
    v: Operand,
    /,
    kernel: str = ...,
    *,
    out: OperandType,
    threads: int = ...,
    library: Library | None = ...,
    dtype: str | None = ...,
    outputs: None = ...,
    **arguments: Any,
) -> OperandType: ...
@overload
def attend(
    q: Operand,
    k: Operand,
    v: Operand,
    /,
    kernel: str = ...,
    out: Operand | None = ...,
    threads: int = ...,
    library: Library | None = ...,
    dtype: str | None = ...,
    *,
    outputs: Iterable[str],
    **arguments: Any,
) -> Results[Any]: ...
def attend(
    q: Operand,
    k: Operand,
    v: Operand,
    /,
    kernel: str = "causal",
    out: Operand | None = None,
    threads: int = 1,
    library: Library | None = None,
    dtype: str | None = None,
    outputs: Iterable[str] | None = None,
    **arguments: Any,
) -> Any:
    """Computes the attention of a compiled kernel.

    Parameters
    ----------
    q, k, v : (position, feature), (batch, position, feature) or (batch, head, position, feature), of float32, float64,
        float16 or bfloat16; keys and values also of int8, FP8 or blocks (then rows of bytes, 34 for 32 features of
        "q8_0"), where the kernel was built for that. Several query heads may share a head of keys and values. A kernel
        over pages takes k and v as (page, head, slot, feature). Anything with the buffer protocol,
        `__array_interface__` or DLPack on the CPU will do; what has its features side by side is used where it lies.
    kernel : which one; `fovea.kernels()` lists them.
    out : what the result is written to: writable, of its shape and element type.
    threads : how many may compute it.
    library : whose kernel; the library loaded last, or the one that FOVEA_KERNELS names, if not given.
    dtype : which of the kernel's `types`, where the arrays do not tell: "bf16" where those of uint16 hold the bits of
        bfloat16, "f32_q8_0_q4_0" where bytes of uint8 could also be of another type that the kernel was built for.
    outputs : what to give beside the result, such as ("lse", "weights"), of what `Kernel.outputs` lists: nothing where
        OUTPUTS of fovea_add_kernels does not name the kernel.
    arguments : what else the kernel takes, as `fovea.kernels()` lists it: tables, numbers, graphs.

    Returns
    -------
    `out`, or an array (batch, heads of q, queries, features of v) with as many axes as q has and its type, if the
    kernel was not built for another result. With `outputs` a tuple of this and of what they name, which has their
    names: `.result`, `.lse`. Outputs are (batch, head, query), weights and scores (batch, head, query, key), column_sums
    (batch, head, key), without the axes of batch and head that q does not have; weights over a graph are (batch, head,
    edge). They are float32, of a kernel for float64 float64; best_key is int64.

    Raises
    ------
    ArgumentError : an argument that is missing, unknown or of another type.
    ShapeError : shapes that do not fit each other.
    UnsupportedError : a type of elements, or outputs, that the kernel was built without.
    Error : there is no library, or no such kernel in it.

    Example
    -------
        q, k, v = np.ones((3, 2, 4, 10, 16), np.float32)  # (batch, head, position, feature)
        result = fovea.attend(q, k, v, "causal", threads=2)
        assert result.shape == (2, 4, 10, 16)
    """
    attend_of: Any = library_or_default(library).attend
    return attend_of(q, k, v, kernel, out, threads, dtype, outputs, **arguments)


def gradient(
    q: Operand,
    k: Operand,
    v: Operand,
    d_result: Operand,
    /,
    kernel: str = "causal",
    threads: int = 1,
    library: Library | None = None,
    dtype: str | None = None,
    wanted: Iterable[str] | None = None,
    d_outputs: Mapping[str, Any] | None = None,
    forward: Sequence[Any] | None = None,
    **arguments: Any,
) -> Gradients:
    """Computes the gradients of what a call of `attend` reads, from the gradient of its result.

    Parameters
    ----------
    q, k, v, kernel, threads, library, dtype, arguments : as those of `attend`. `Kernel.gradients` lists what the kernel
        has gradients of: nothing where GRADIENTS of fovea_add_kernels does not name it.
    d_result : the gradient of a loss by the result, of its shape and element type.
    wanted : which of `Kernel.gradients` to compute, such as ("query", "slopes"); None for all of them.
    d_outputs : gradients of the loss by outputs that it also reads, {"lse": array}, of what `Kernel.d_outputs` lists.
    forward : what the call of `attend` with outputs=("lse",) gave, or (result, lse), which is then not computed again;
        of a kernel that `takes_forward`.

    Returns
    -------
    Arrays with the shapes and types of q, k, v and of each table of reals that the score reads. Where one array is
    passed for several of them, each has its own. Of q, k and v None where it is not wanted; tables has those wanted.

    Raises
    ------
    ArgumentError : as of `fovea.attend`; also a name of no gradient, or of no output that has one.
    ShapeError : shapes that do not fit each other.
    UnsupportedError : a kernel that was built without gradients.
    Error : there is no library, or no such kernel in it.

    Example
    -------
        q, k, v = np.random.rand(3, 1, 2, 10, 16).astype(np.float32)
        result = fovea.attend(q, k, v, "causal")
        d = fovea.gradient(q, k, v, 2 * result, "causal")  # of the loss sum(result**2)
        less = fovea.attend(q - 0.1 * d.query, k - 0.1 * d.key, v - 0.1 * d.value, "causal")
        assert (less**2).sum() < (result**2).sum()
    """
    return library_or_default(library).gradient(
        q, k, v, d_result, kernel, threads, dtype, wanted, d_outputs, forward, **arguments
    )
