# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of PyTorch that call kernels: what a graph of `torch.compile` or `torch.export` has of a call.

An operator gets its kernel as text, so that a graph that is kept in a file means the same in another process.
"""

from __future__ import annotations

import functools
import json
import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import torch as typed_torch

from ._capture import Captured
from ._errors import UnsupportedError
from ._graph import Graph, graph_of
from ._kernel import TracedKernel
from ._source import Source
from ._specification import WORDS, GraphArgument
from ._table import Number, Table
from ._torch import SECOND, Calls, transforms, type_name_of

torch: Any = typed_torch  # whose types differ from one version to the next

_READ = "Tensor query, Tensor key, Tensor value, Tensor[] tables, float[] reals, SymInt[] integers, str kernel"
_LIBRARY = torch.library.Library("fovea", "DEF")
for _signature in (
    f"attend({_READ}, bool trains) -> Tensor[]",
    f"gradient({_READ}, bool[] wanted, Tensor d_result, Tensor[] d_outputs, Tensor[] forward) -> Tensor[]",
):
    _LIBRARY.define(_signature, tags=(torch.Tag.pt2_compliant_tag,))
attend: Any = torch.ops.fovea.attend.default
gradient: Any = torch.ops.fovea.gradient.default

_MOST_GRAPHS = 16  # that are kept, then all are made anew
_OF_NUMBERS = {"condition": bool, "integer": int, "real": float}


def call(kernel: Any, q: Any, k: Any, v: Any, threads: int | None, outputs: Any, arguments: dict[str, Any]) -> Any:
    """A call in which Python sees tensors that stand for others."""
    source, values = kernel.read(arguments)
    asked = kernel.outputs_asked(outputs)
    text = text_of(kernel, source, asked, threads)
    of_call = _described(text)
    of_call.require_shape()
    passed = Passed()
    for (kind, *_), x in zip(of_call.kinds.values(), values.values()):
        passed.add(kind, x)
    k, v, results = torch.as_tensor(k), torch.as_tensor(v), None if asked is None else results_of(asked)
    if transforms():
        from ._torch_functional import functional

        return passed.call(q, k, v, text, results, functional)
    return passed.call(q, k, v, text, results)


class Passed:
    """What a call passes beside queries, keys and values. `torch.compile` follows what this does."""

    def __init__(self) -> None:
        self.tables: list[Any] = []
        self.reals: list[Any] = []
        self.integers: list[Any] = []

    def add(self, kind: str, x: Any) -> None:
        """One argument of some kind."""
        if kind == "real":
            self.reals.append(float(x))
        elif kind in ("integer", "condition"):
            self.integers.append(int(x))
        elif kind == "graph":
            parts = (x.offsets, x.keys) if x.numbers is None else (x.offsets, x.keys, x.numbers)
            self.tables.extend([torch.as_tensor(part) for part in parts])
        else:  # a table, or the number that a tensor holds
            self.tables.append(torch.as_tensor(x))

    def call(self, q: Any, k: Any, v: Any, text: str, results: Any, operator: Any = torch.ops.fovea.attend) -> Any:
        """The result; a tuple of some type where there is one."""
        trains = torch.is_grad_enabled() and any([x.requires_grad for x in (q, k, v, *self.tables)])
        found = operator(q, k, v, self.tables, self.reals, self.integers, text, trains)
        return found[0] if results is None else results(*found)


@functools.lru_cache(maxsize=64)
def results_of(outputs: tuple[str, ...]) -> Any:
    """The type of what a call with outputs gives."""
    return namedtuple("Results", ("result", *outputs))


def text_of(
    kernel: Any, source: Source, outputs: tuple[str, ...] | None, threads: int | None, drawn: Sequence[str] = ()
) -> str:
    """All that an operator is told of a call but its tensors and numbers; those `drawn` are numbers in tensors."""
    return json.dumps(
        {
            "name": kernel.__name__,
            "words": source.words,
            "text": source.text,
            "arguments": {name: _kind_of(a, name in drawn) for name, a in source.arguments.items()},
            "with_gradient": source.with_gradient,
            "batch": source.batch,
            "outputs": outputs,
            "threads": threads,
        }
    )


def keeps_shape(source: Source) -> bool:
    """Whether the result is (batch, head, query, feature of the values), as far as it is known before it is compiled."""
    roles = {WORDS.get(name) for name in re.findall(r"\w+", source.words)}
    return not roles & {"projection", "finish"}


def _kind_of(argument: Any, is_drawn: bool) -> list[Any]:
    if isinstance(argument, Table):
        return ["table", argument.dtype.name, argument.rank]
    if isinstance(argument, Number):
        return ["drawn" if is_drawn else argument.kind, argument.kind]
    return ["graph", graph_of(argument.array, argument.hint).numbers is not None]


def _stand_in(name: str, kind: str, of: Any, rank: int = 0) -> Any:
    """An argument of some kind, of which there is nothing but its type."""
    if kind == "table":
        return Table(torch.empty((0,) * rank, dtype=getattr(torch, of)), name)
    if kind == "graph":
        return GraphArgument(None, name)
    return Number(_OF_NUMBERS[of](0), name, lambda: 0)


class _Described:
    """The call that a text describes."""

    def __init__(self, text: str) -> None:
        of = json.loads(text)
        self.kinds: dict[str, list[Any]] = {**of["arguments"], **{name: ["batch"] for name in of["batch"]}}
        self.outputs: tuple[str, ...] | None = None if of["outputs"] is None else tuple(of["outputs"])
        self._threads: int | None = of["threads"]
        self._kernel = TracedKernel(of["text"], {})
        self._kernel.__name__ = of["name"]
        self._calls = Calls(self._kernel)
        self._graphs: dict[tuple[int, ...], Graph] = {}
        self._places: list[int | None] = []  # of tables among the tensors that are passed
        self.edges: int | None = None  # the place of the keys of edges
        self._count = 0
        for kind, *more in self.kinds.values():
            self._places.append(self._count if kind == "table" else None)
            if kind == "graph":
                self.edges = self._count + 1
            self._count += 0 if kind in _OF_NUMBERS else 1 if kind != "graph" else 3 if more[0] else 2
        self.source = Source(
            of["words"],
            of["text"],
            {name: _stand_in(name, *kind) for name, kind in of["arguments"].items()},
            tuple(of["with_gradient"]),
            Captured(),
            tuple(of["batch"]),
        )

    def require_shape(self) -> None:
        """UnsupportedError for results of a shape that only the compiled kernel knows."""
        if not keeps_shape(self.source):
            raise UnsupportedError(
                f"{self._kernel.__name__} projects operands or changes its result: it is no operator of a graph, call "
                "it outside of what is compiled"
            )

    def library(self, query: Any, trains: bool) -> Any:
        """Where the kernel is compiled."""
        purpose = "gradient" if trains else "kernel"
        return self._kernel.library(self.source, type_name_of(query), purpose, self.outputs or ())

    def arguments(self, query: Any, tables: Any, reals: Any, integers: Any, trains: bool) -> tuple[Calls, Any]:
        """The calls of the kernel, and what they take."""
        library = self.library(query, trains)
        threads = torch.get_num_threads() if self._threads is None else self._threads
        values = self._values(iter(tables), iter(reals), iter(integers))
        return self._calls, (self._calls, self.source, library, type_name_of(query), threads, self.outputs, values)

    def _values(self, tables: Any, reals: Any, integers: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, (kind, *of) in self.kinds.items():
            if kind == "graph":
                values[name] = self._graph([next(tables) for _ in range(3 if of[0] else 2)])
            elif kind == "drawn":
                values[name] = next(tables).item()
            elif kind in _OF_NUMBERS:
                values[name] = next(reals) if kind == "real" else _OF_NUMBERS[kind](next(integers))
            else:
                table = next(tables)
                values[name] = table if table.dim() > 0 else table.reshape(1)
        return values

    def _graph(self, arrays: list[Any]) -> Graph:
        key = tuple(n for x in arrays for n in (x.data_ptr(), x.numel()))
        graph = self._graphs.get(key)
        if graph is None:  # which keeps its arrays, so that no others have their addresses
            if len(self._graphs) >= _MOST_GRAPHS:
                self._graphs.clear()
            graph = self._graphs[key] = Graph(*[x.numpy() for x in arrays])
        return graph

    def tables(self, given: Sequence[Any]) -> list[Any]:
        """For each argument what belongs to its table; None for what is none."""
        return [None if place is None else given[place] for place in self._places]

    def by_place(self, of_arguments: Sequence[Any]) -> list[Any]:
        """What belongs to each tensor that is passed."""
        found: list[Any] = [None] * self._count
        for place, x in zip(self._places, of_arguments):
            if place is not None:
                found[place] = x
        return found


_described = functools.lru_cache(maxsize=1024)(_Described)
_SHAPES: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "weights": lambda q, k: (*q.shape[:-1], k.shape[-2]),
    "scores": lambda q, k: (*q.shape[:-1], k.shape[-2]),
    "column_sums": lambda q, k: (*q.shape[:-2], k.shape[-2]),
}


def _attend(
    query: Any, key: Any, value: Any, tables: Any, reals: Any, integers: Any, kernel: str, trains: bool
) -> list[Any]:
    of = _described(kernel)
    calls, arguments = of.arguments(query, tables, reals, integers, trains)
    found = calls.forward(arguments, query, key, value)
    return [found] if of.outputs is None else list(found)


def _shapes_of_attend(
    query: Any, key: Any, value: Any, tables: Any, reals: Any, integers: Any, kernel: str, trains: bool
) -> list[Any]:
    of = _described(kernel)
    of.require_shape()
    type_name_of(query)
    results = [query.new_empty((*query.shape[:-1], value.shape[-1]))]
    number = torch.float64 if query.dtype is torch.float64 else torch.float32
    for name in of.outputs or ():
        shape = _SHAPES.get(name, lambda q, k: tuple(q.shape[:-1]))(query, key)
        if name == "weights" and of.edges is not None:
            shape = (*query.shape[:-2], tables[of.edges].shape[0])
        results.append(query.new_empty(shape, dtype=torch.int64 if name == "best_key" else number))
    return results


def _gradient(
    query: Any,
    key: Any,
    value: Any,
    tables: Any,
    reals: Any,
    integers: Any,
    kernel: str,
    wanted: Sequence[bool],
    d_result: Any,
    d_outputs: Any,
    forward: Any,
) -> list[Any]:
    calls, arguments = _described(kernel).arguments(query, tables, reals, integers, True)
    d = {"lse": d_outputs[0]} if d_outputs else None
    found = calls.backward(arguments, query, key, value, d_result, list(wanted), d, forward or None)
    return [x for x in found if x is not None]


def _shapes_of_gradient(
    query: Any,
    key: Any,
    value: Any,
    tables: Any,
    reals: Any,
    integers: Any,
    kernel: str,
    wanted: Sequence[bool],
    *_: Any,
) -> list[Any]:
    of = (query, key, value, *_described(kernel).tables(tables))
    return [x.new_empty(x.shape) for x, needed in zip(of, wanted) if needed]


def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Has a context what gradients take."""
    query, key, value, tables, reals, integers, kernel, trains = inputs
    of = _described(kernel)
    ctx.numbers, ctx.kernel, ctx.lse, forward = (reals, integers), kernel, None, []
    if of.outputs is not None:
        info = of.library(query, trains).kernels()[0]
        names = ("result", *of.outputs)
        ctx.mark_non_differentiable(*[x for name, x in zip(names[1:], output[1:]) if name not in info.d_outputs])
        if "lse" in of.outputs and "lse" in info.d_outputs:
            ctx.lse = names.index("lse")
        if "lse" in of.outputs and info.takes_forward:
            forward = [output[0], output[names.index("lse")]]
    ctx.count = len(tables)
    ctx.save_for_backward(query, key, value, *tables, *forward)


def differentiate(ctx: Any, grads: Any, needs: Any = None, of: Any = gradient) -> tuple[Any, ...]:
    """The gradients of what the operator takes."""
    query, key, value, *others = ctx.saved_tensors
    tables, forward = others[: ctx.count], others[ctx.count :]
    described = _described(ctx.kernel)
    needs = ctx.needs_input_grad if needs is None else needs
    differentiable = [name in described.source.with_gradient for name in described.kinds]
    of_tables = described.tables(needs[3])
    wanted = [*needs[:3], *(bool(need) and has for need, has in zip(of_tables, differentiable))]
    d_outputs = [] if ctx.lse is None else [grads[ctx.lse].contiguous()]
    found = iter(of(query, key, value, tables, *ctx.numbers, ctx.kernel, wanted, grads[0], d_outputs, forward))
    d_query, d_key, d_value, *of_arguments = [next(found) if needed else None for needed in wanted]
    of_numbers: list[Any] = [None if numbers else [] for numbers in ctx.numbers]  # an empty list is one of tensors
    return d_query, d_key, d_value, described.by_place(of_arguments), *of_numbers, None, None


def _refuse(ctx: Any, *_: Any) -> Any:
    raise UnsupportedError(SECOND)


def one_by_one(operator: Any) -> Callable[..., Any]:
    """What `vmap` makes of an operator: a call for each element."""

    def mapped(info: Any, axes: Any, *arguments: Any) -> Any:
        each = [operator(*[_element(x, axis, n) for x, axis in zip(arguments, axes)]) for n in range(info.batch_size)]
        kind = type(each[0])
        return kind([torch.stack(parts) for parts in zip(*each)]), kind([0] * len(each[0]))

    return mapped


def _element(x: Any, axis: Any, n: int) -> Any:
    if isinstance(axis, (list, tuple)):
        return [_element(each, of_each, n) for each, of_each in zip(x, axis)]
    return x if axis is None else x.select(axis, n)


for _name, _run, _shapes in (("attend", _attend, _shapes_of_attend), ("gradient", _gradient, _shapes_of_gradient)):
    _LIBRARY.impl(_name, _run, "CPU")
    torch.library.register_fake(f"fovea::{_name}", _shapes, lib=_LIBRARY)
    if hasattr(torch.library, "register_vmap"):  # PyTorch 2.5
        torch.library.register_vmap(f"fovea::{_name}", one_by_one(globals()[_name]), lib=_LIBRARY)
torch.library.register_autograd("fovea::attend", differentiate, setup_context=keep, lib=_LIBRARY)
torch.library.register_autograd("fovea::gradient", _refuse, lib=_LIBRARY)
