# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong with a call. Nothing has been written when one of these is raised."""


class Error(Exception):
    """Anything that went wrong in fovea; its text is one sentence."""


class ArgumentError(Error, TypeError):
    """An argument is missing, unknown or of a type that the kernel does not take."""


class ShapeError(Error, ValueError):
    """An array, table or number does not fit the others."""


class GraphError(Error, ValueError):
    """A graph is no valid list of neighbours, or does not fit the call."""


class UnsupportedError(Error, RuntimeError):
    """The library has no code for this element type or this processor."""


_STATUSES: dict[int, type[Exception]] = {
    1: ShapeError,
    2: GraphError,
    3: MemoryError,
    4: UnsupportedError,
}


def error_of_status(status: int, message: str) -> Exception:
    """The exception that stands for a status of C."""
    return _STATUSES.get(status, Error)(message or f"the kernel failed with status {status}")
