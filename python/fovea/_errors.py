# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong with a call. Nothing has been written when one of these is raised."""


class Error(Exception):
    """Anything that went wrong in fovea; its text is one sentence, and nothing has been written.

    Example
    -------
        try:
            fovea.load("nowhere.so")
        except fovea.Error as error:
            assert str(error) == "there is no library of kernels at nowhere.so"
    """


class ArgumentError(Error, TypeError):
    """An argument is missing, unknown or of a type that is not taken: a TypeError too.

    Example
    -------
        try:
            fovea.kernel(3)
        except fovea.ArgumentError as error:
            assert "it must be a function, a specification or its text" in str(error)
    """


class ShapeError(Error, ValueError):
    """An array, table or number does not fit the others: a ValueError too.

    Example
    -------
        q = np.ones((1, 2, 10, 16), np.float32)
        try:
            fovea.attend(q, q, q, "alibi", slopes=[0.5])
        except fovea.ShapeError as error:
            assert str(error) == "slopes is (1), it must be (heads), here (2)"
    """


class GraphError(Error, ValueError):
    """A graph is no valid list of neighbours, or does not fit the call: a ValueError too.

    Example
    -------
        try:
            fovea.Graph.from_edges(3, [(0, 1), (3, 1)])
        except fovea.GraphError as error:
            assert str(error) == "an edge ends at query 3, there are 3 queries"
    """


class UnsupportedError(Error, RuntimeError):
    """There is no code for a type of elements, for this processor or for what is asked: a RuntimeError too.

    Example
    -------
        q = np.ones((10, 16), np.int8)
        try:
            fovea.attend(q, q, q, "causal")
        except fovea.UnsupportedError as error:
            assert str(error).endswith("not for i8")
    """


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
