# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a kernel, made from what it says of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import fovea

SLOTS = 4  # positions of a page
TOLERANCES = {"f64": 1e-11, "f32": 3e-5, "f16": 4e-3, "bf16": 3e-2}
DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16}


def to_type(x: np.ndarray, type_name: str) -> np.ndarray:
    """The nearest elements of a type; those of bf16 as bits."""
    if type_name != "bf16":
        return x.astype(DTYPES[type_name])
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def to_f64(x: np.ndarray, type_name: str) -> np.ndarray:
    if type_name != "bf16":
        return x.astype(np.float64)
    return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@dataclass(frozen=True)
class Case:
    """A call: its arrays are of `type`."""

    kernel: fovea.Kernel
    type: str
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    arguments: dict[str, Any]

    def run(self, **options: Any) -> np.ndarray:
        """What the kernel gives, in double precision."""
        return to_f64(self.run_raw(**options), self.type)

    def run_raw(self, **options: Any) -> Any:
        dtype = "bf16" if self.type == "bf16" else None
        return fovea.attend(self.q, self.k, self.v, self.kernel.name, dtype=dtype, **options, **self.arguments)

    def with_arrays(self, **arrays: Any) -> Case:
        return replace(self, **arrays)

    @property
    def tolerance(self) -> float:
        return TOLERANCES[self.type]


def main_type(kernel: fovea.Kernel) -> str:
    """The type that laws are checked in."""
    return next(t for t in ("f32", "f64", "f16", "bf16") if t in kernel.types)


def make_case(
    kernel: fovea.Kernel,
    seed: int = 0,
    batch: int = 2,
    heads: int = 4,
    positions: int = 8,
    type_name: str | None = None,
    features: int = 8,
    value_features: int = 5,
) -> Case:
    """A call with as many keys as queries, which suits masks and graphs of every kind."""
    random = np.random.default_rng(seed)
    type_name = type_name or main_type(kernel)
    if takes(kernel, "query_offsets"):
        batch = 1
    extents = {"batch": batch, "heads": heads, "key_heads": heads, "queries": positions, "keys": positions}
    extents |= {"features": features, "value_features": value_features, "pages": positions // SLOTS, "sequences": 2}
    graphs = {a.name: example_graph(positions, random) for a in kernel.arguments if a.type == "fovea_graph"}
    if graphs:  # other axes may be those of edges
        extents = {**dict.fromkeys(own_axes(kernel), positions**2), **extents}
        extents |= {name: graph.edges for name, graph in graphs.items()}

    def array(*shape: int) -> np.ndarray:
        return to_type(random.standard_normal(shape), type_name)

    q = array(batch, heads, positions, extents["features"])
    rows = (batch * extents["pages"] + 1, heads, SLOTS) if kernel.is_paged else (batch, heads, positions)
    k, v = array(*rows, extents["features"]), array(*rows, extents["value_features"])
    arguments = {a.name: graphs.get(a.name) or _example(a, extents, random) for a in kernel.arguments}
    return Case(kernel, type_name, q, k, v, arguments)


def own_axes(kernel: fovea.Kernel) -> set[str]:
    return {axis for a in kernel.arguments for axis in a.shape if axis.isidentifier()}


def projects(kernel: fovea.Kernel) -> bool:
    """Whether it takes sources of features that only its matrices tell: not what these tests call by themselves."""
    return "rows" in parts(kernel)


def is_plain(kernel: fovea.Kernel) -> bool:
    """Whether each of its types is one of reals, that of all arrays."""
    return set(kernel.types) <= set(DTYPES)


def plain_kernels() -> list[fovea.Kernel]:
    """Those that tests call which are about other things than types."""
    return [k for k in fovea.kernels() if is_plain(k) and not projects(k)]


def takes(kernel: fovea.Kernel, argument: str) -> bool:
    return any(a.name == argument for a in kernel.arguments)


def _example(a: fovea.Argument, extents: dict[str, int], random: np.random.Generator) -> Any:
    if a.type == "double":
        return 1.5
    if a.type == "int64_t" and not a.shape:
        return 2
    shape = tuple(_extent(axis, extents) for axis in a.shape)
    if a.name == "page_table":
        return random.permutation(np.arange(1, 1 + shape[0] * shape[1], dtype=np.int32)).reshape(shape)
    if a.name == "lengths":
        return random.integers(1, extents["keys"] + 1, shape).astype(np.int32)
    if a.name.endswith("offsets"):
        return np.linspace(0, extents["queries"], shape[0]).astype(np.int64)
    if a.type in ("bool", "fovea_bits"):
        return random.random(shape) < 0.7
    if "int" in a.type:
        return np.sort(random.integers(0, 2, shape), axis=-1)
    return (random.standard_normal(shape) / 2).astype(np.float32).astype(np.float64)  # the same in either precision


def _extent(axis: str, extents: dict[str, int]) -> int:
    if axis.isdigit():
        return int(axis)
    name, _, more = axis.partition(" + ")
    return extents.get(name, 5) + int(more or 0)


def example_graph(nodes: int, random: np.random.Generator) -> fovea.Graph:
    """Each node sees itself and some others; edges stand in no order."""
    sees = random.random((nodes, nodes)) < 0.3
    np.fill_diagonal(sees, True)
    return fovea.Graph.from_edges(nodes, random.permutation(np.argwhere(sees)))


def adjacency(graph: fovea.Graph, keys: int) -> np.ndarray:
    sees = np.zeros((graph.queries, keys), bool)
    for query in range(graph.queries):
        sees[query, graph.keys[graph.offsets[query] : graph.offsets[query + 1]]] = True
    return sees


def parts(kernel: fovea.Kernel) -> dict[str, str]:
    """The lines of its formula by their first words."""
    return dict(line.split(None, 1) for line in kernel.formula.splitlines())


def kernel_named(*names: str) -> fovea.Kernel:
    """The first plain kernel there is of some names; skips the test where there is none."""
    found = {k.name: k for k in fovea.kernels() if is_plain(k)}
    for name in names:
        if name in found:
            return found[name]
    pytest.skip(f"the library has no kernel named {' or '.join(names)}")


def for_kernels(that: str, which: Callable[[fovea.Kernel], bool]) -> pytest.MarkDecorator:
    """Runs a test for the plain kernels of the library that are or do something."""
    return _for_each(that, [k for k in plain_kernels() if which(k)])


def for_caches(that: str, which: Callable[[fovea.Kernel], bool]) -> pytest.MarkDecorator:
    """Runs a test for the kernels of the library all of whose types are those of caches, that are or do something."""
    return _for_each(that, [k for k in fovea.kernels() if set(DTYPES).isdisjoint(k.types) and which(k)])


def _for_each(that: str, kernels: list[fovea.Kernel]) -> pytest.MarkDecorator:
    chosen = [pytest.param(k, id=k.name) for k in kernels]
    none = pytest.param(None, marks=pytest.mark.skip(reason=f"the library has no kernels that {that}"), id="none")
    return pytest.mark.parametrize("kernel", chosen or [none])


def plain_case(seed: int = 0, **extents: int) -> Case:
    """A call of the causal kernel, which takes nothing but arrays."""
    return make_case(kernel_named("causal", "gqa_causal"), seed, **extents)
