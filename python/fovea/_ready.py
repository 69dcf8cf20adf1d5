# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are compiled already, in the library of the package: found by the text of a traced kernel.

Names of tables do not matter there, and numbers of a text are found where the library has a parameter.
"""

from __future__ import annotations

import copy
import functools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from ._errors import Error
from ._library import Compiled, Library
from ._plan import Plan
from ._source import KERNEL, Source, parameter_of

LIBRARY = Path(__file__).resolve().parent / "ready" / "libfovea_ready.so"

_CAUSAL = re.compile(r"where\((kv_idx <= q_idx|q_idx >= kv_idx)\)")  # what a mask_mod says for it
_IDENTIFIER = r"[A-Za-z_]\w*"
_LITERALS = {"index_t": r"-?\d+", "double": r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?"}


class ReadyKernel(Library):
    """One kernel of a library, as `kernel` of a library that is compiled of a traced one: it takes what that takes.

    Parameters
    ----------
    given : for each argument of the library's kernel the name of one of the traced kernel's, or a number of its text.
    """

    def __init__(self, library: Library, name: str, given: dict[str, Any]) -> None:
        self.__dict__.update(library.__dict__)
        # What stands in the text has a name that no argument of Python has.
        names = {ready: x if isinstance(x, str) else f"{ready} of the text" for ready, x in given.items()}
        self._numbers = {names[ready]: x for ready, x in given.items() if not isinstance(x, str)}
        self._compiled = {KERNEL: {of: _renamed(x, names) for of, x in library._compiled[name].items()}}
        self._kernels = {KERNEL: library._kernels[name]}

    def _bind(self, q: Any, k: Any, v: Any, kernel: str, dtype: str | None, arguments: dict[str, Any]) -> Any:
        return super()._bind(q, k, v, kernel, dtype, {**arguments, **self._numbers})


def _renamed(ready: Compiled, names: dict[str, str]) -> Compiled:
    compiled = copy.copy(ready)
    compiled.arguments = [replace(x, name=names.get(x.name, x.name)) for x in ready.arguments]
    compiled.plan = Plan.of(compiled.arguments)
    return compiled


def find(source: Source, type_name: str) -> ReadyKernel | None:
    """The kernel of the package that a text stands for; None without one."""
    words = _CAUSAL.sub("causal", source.words)
    for name, pattern, parameters in known():
        found = pattern.fullmatch(words)
        if found is None:
            continue
        given = {p: _given(found[p], c_type, source) for p, c_type in parameters.items()}
        passed = sorted(x for x in given.values() if isinstance(x, str))
        if None in given.values() or passed != sorted(source.arguments):
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
