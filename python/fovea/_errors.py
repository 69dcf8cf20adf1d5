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


def counted(n: int, noun: str) -> str:
    """A count with its noun: 1 axis, 3 axes."""
    if n == 1:
        return f"1 {noun}"
    if noun.endswith("is"):
        return f"{n} {noun[:-2]}es"
    irregular = noun.endswith("y") and not noun.endswith("ey")  # entry, key
    return f"{n} {noun[:-1]}ies" if irregular else f"{n} {noun}s"


def there_are(n: int, noun: str) -> str:
    """The same with a verb: there is 1 axis."""
    return f"there {'is' if n == 1 else 'are'} {counted(n, noun)}"


def require_type(x: object, types: type | tuple[type, ...], name: str, what: str) -> None:
    """ArgumentError where an argument is of none of some types."""
    if not isinstance(x, types):
        raise ArgumentError(f"{name} is of type {type(x).__name__}, it must be {what}")


_STATUSES: dict[int, type[Exception]] = {
    1: ShapeError,
    2: GraphError,
    3: MemoryError,
    4: UnsupportedError,
}


def error_of_status(status: int, message: str) -> Exception:
    """The exception that stands for a status of C."""
    return _STATUSES.get(status, Error)(message or f"the kernel failed with status {status}")
