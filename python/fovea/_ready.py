# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are compiled already, in the library of the package: found by the text of a traced kernel.

Names of tables do not matter there, and numbers of a text are found where the library has a parameter.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from ._errors import Error
from ._library import Library
from ._source import KERNEL, Source, parameter_of

LIBRARY = Path(__file__).resolve().parent / "ready" / "libfovea_ready.so"

_IDENTIFIER = r"[A-Za-z_]\w*"
_LITERALS = {"index_t": r"-?\d+", "double": r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?"}


class ReadyKernel(Library):
    """One kernel of a library, for the tables and numbers of a traced one, as `kernel` of a library of its own."""

    def __init__(self, library: Library, name: str, given: dict[str, Any]) -> None:
        self.__dict__.update(library.__dict__)
        self._compiled = {KERNEL: library._compiled[name]}
        self._kernels = {KERNEL: library._kernels[name]}
        self._given = given
        self._renamed = {ready: name for ready, name in given.items() if isinstance(name, str) and name != ready}

    def values_of(self, values: dict[str, Any]) -> dict[str, Any]:
        """What the traced kernel was given, by the names of this one."""
        return {name: values[x] if isinstance(x, str) else x for name, x in self._given.items()}

    def _run(self, *arguments: Any, **hint: Any) -> None:
        try:
            super()._run(*arguments, **hint)
        except Error as error:
            raise type(error)(self._in_names_of_caller(str(error))) from None

    def _in_names_of_caller(self, sentence: str) -> str:
        for ready, name in self._renamed.items():
            sentence = re.sub(rf"\b{ready}\b", name, sentence)
        return sentence


def find(source: Source, type_name: str) -> ReadyKernel | None:
    """The kernel of the package that a text stands for; None without one."""
    for name, pattern, parameters in known():
        found = pattern.fullmatch(source.words)
        if found is None:
            continue
        given = {p: _given(found[p], c_type, source) for p, c_type in parameters.items()}
        tables = [x for x in given.values() if isinstance(x, str)]
        if None in given.values() or len(set(tables)) != len(source.arguments):
            continue
        library = default()
        if library is not None and type_name in library._compiled.get(name, ()):
            return ReadyKernel(library, name, given)
    return None


def _given(text: str, c_type: str, source: Source) -> Any:
    """The name of an argument of its type, or a number; None for what fits nothing."""
    if re.fullmatch(_IDENTIFIER, text):
        argument = source.arguments.get(text)
        return text if argument is not None and parameter_of(argument) == c_type else None
    return int(text) if c_type == "index_t" else float(text)


@functools.lru_cache(maxsize=1)
def default() -> Library | None:
    """The library of the package; None in a package without one, or for another processor."""
    try:
        return Library(LIBRARY)
    except Error:
        return None


@functools.lru_cache(maxsize=1)
def known() -> list[tuple[str, re.Pattern[str], dict[str, str]]]:
    try:
        entries = json.loads(LIBRARY.with_name("fovea_ready.json").read_text())
    except (OSError, ValueError):
        return []
    return [(e["name"], pattern_of(e["words"], dict(e["parameters"])), dict(e["parameters"])) for e in entries]


def pattern_of(words: str, parameters: dict[str, str]) -> re.Pattern[str]:
    """Texts that differ from one in the names of tables and numbers, each of which is the same wherever it stands."""
    pattern, seen = "", set()
    for part in re.split(rf"({_IDENTIFIER})", words):
        if part not in parameters:
            pattern += re.escape(part)
        elif part in seen:
            pattern += f"(?P={part})"
        else:
            literal = _LITERALS.get(parameters[part])
            pattern += f"(?P<{part}>{_IDENTIFIER}{f'|{literal}' if literal else ''})"
            seen.add(part)
    return re.compile(pattern)
