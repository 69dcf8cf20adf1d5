# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of weights: a map of queries and keys for each head."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, as_numpy
from ._errors import ArgumentError, ShapeError, counted
from ._graph import Graph, graph_of
from ._svg import (
    BELOW,
    INK,
    MOST_PANELS,
    MUTED,
    PAPER,
    RAMP,
    Axis,
    Card,
    Picture,
    cell_of,
    colours,
    left_out,
    names_of_panels,
    raster,
    rect,
    text,
)

_STRANGE = "#d6208a"  # of NaN
_LEVELS = 96  # of colours between nothing and the most


def attention_map(
    weights: Any,
    /,
    *,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    heads: Sequence[str] | None = None,
    title: str = "",
    caption: str = "",
    scale: str | None = None,
    reduce: str = "max",
    graph: Any = None,
) -> Picture:
    """Draws weights of queries and keys, a panel for each of the first 16 heads, in less than 200 kB.

    Parameters
    ----------
    weights : (queries, keys), (heads, queries, keys) or (batch, heads, queries, keys) of reals, or the results of a
        call with outputs=("weights",), which have no heads where its queries have none: (batch, queries, keys). Scores
        will do too: -inf is not seen.
    queries, keys, heads : labels, of which there are as many as there are positions or heads.
    title, caption : what stands above, the title in bold.
    scale : "linear" or "log"; without it linear, unless most of the weights are less than a twentieth of the largest.
        It is one for all panels.
    reduce : "max" or "mean": what is drawn of several pairs, where there are too many to draw each; the picture says of
        how many.
    graph : that of the kernel, where weights are those of its edges, (..., edges).

    Example
    -------
        weights = np.full((2, 5, 5), 0.2)  # (heads, queries, keys), as outputs=("weights",) of a call gives them
        picture = fovea.attention_map(weights, title="Nothing is learned yet", heads=("first", "second"))
    """
    if reduce not in ("max", "mean"):
        raise ArgumentError(f"reduce is {reduce!r}, it must be 'max' or 'mean'")
    if scale not in (None, "linear", "log"):
        raise ArgumentError(f"scale is {scale!r}, it must be 'linear' or 'log'")
    all_panels = _panels_of(weights, graph, None if keys is None else len(keys))
    n, m = all_panels.shape[2:]
    for name, labels, count in (("queries", queries, n), ("keys", keys, m), ("heads", heads, all_panels.shape[1])):
        if labels is not None and len(labels) != count:
            raise ShapeError(f"{name} has {counted(len(labels), 'label')}, the weights have {count}")
    names = names_of_panels(all_panels.shape[:2], heads)
    panels = all_panels.reshape(-1, n, m)[:MOST_PANELS]
    cell = cell_of(panels.size)
    cells = _reduced(panels, cell, reduce)
    colouring = _Colouring(cells, scale)
    levels = colouring.levels(cells)

    def draw(panel: int, x: float, y: float, width: float, height: float) -> Iterator[str]:
        across, down = width * cell * cells.shape[2] / m, height * cell * cells.shape[1] / n
        yield f'<svg x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" overflow="hidden">'
        yield raster(0, 0, across, down, levels[panel], colouring.palette)
        if min(width / m, height / n) >= 34:
            yield from _numbers(cells[panel], levels[panel], width / m, height / n)
        yield "</svg>"

    batch, of_heads = all_panels.shape[:2]
    more = [f", {counted(of_heads, 'head')}"] * (of_heads > 1) + [f", a batch of {batch}"] * (batch > 1)
    notes = [*[caption] * bool(caption), f"{counted(n, 'query')} x {counted(m, 'key')}{''.join(more)}."]
    if cell > 1:
        which = "the mean" if reduce == "mean" else "the largest"
        notes.append(f"Each cell is {which} of {cell} x {cell} pairs.")
    axes = (Axis("query", n, queries), Axis("key", m, keys))
    notes += left_out(len(names))
    return _drawn(Card(title, "", notes, *axes, names[:MOST_PANELS], draw, colouring.legend))


def _drawn(card: Card) -> Picture:
    picture = Picture()
    picture.svg = card.svg()
    return picture


def _panels_of(weights: Any, graph: Any, keys: int | None) -> npt.NDArray[np.float64]:
    """Weights (batch, head, query, key); of the edges of a graph those of all pairs."""
    given = getattr(weights, "weights", weights)
    array = np.asarray(given) if isinstance(given, (list, tuple)) else as_numpy(given, "weights")
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"weights has elements of {array.dtype}, it must have reals")
    if graph is not None:
        of = graph_of(graph, "graph")
        if array.ndim == 0 or array.shape[-1] != of.edges:
            raise ShapeError(f"weights is {array.shape}, the graph has {counted(of.edges, 'edge')}")
        array = of_pairs(array, of, keys or max(of.queries, int(of.keys.max(initial=-1)) + 1))
    if not 2 <= array.ndim <= 4 or 0 in array.shape:
        raise ShapeError(
            f"weights is {array.shape}, it must be (queries, keys), (heads, queries, keys) or (batch, heads, queries, "
            "keys), each 1 or more"
        )
    if array.ndim == 3 and given is not weights:
        array = array[:, None]
    return array.reshape((1,) * (4 - array.ndim) + array.shape).astype(np.float64)


def of_pairs(of_edges: Array, graph: Graph, keys: int) -> Array:
    """Weights (..., query, key) of those of edges (..., edge)."""
    if graph.keys.max(initial=-1) >= keys:
        raise ShapeError(f"the graph has an edge from key {graph.keys.max()}, there are {counted(keys, 'key')}")
    dense = np.zeros((*of_edges.shape[:-1], graph.queries, keys), of_edges.dtype)
    in_rows = of_edges if graph.numbers is None else of_edges[..., graph.numbers]
    dense[..., np.repeat(np.arange(graph.queries), np.diff(graph.offsets)), graph.keys] = in_rows
    return dense


def _reduced(panels: npt.NDArray[np.float64], cell: int, reduce: str) -> npt.NDArray[np.float64]:
    """One number for so many queries and keys."""
    if cell == 1:
        return panels

    def along_both(combine: Any, of: npt.NDArray[np.float64]) -> Any:
        for axis in (1, 2):
            of = combine.reduceat(of, np.arange(0, of.shape[axis], cell), axis)
        return of

    if reduce == "mean":
        finite = np.where(np.isneginf(panels), 0.0, panels)
        means: npt.NDArray[np.float64] = along_both(np.add, finite) / along_both(np.add, np.ones_like(panels))
        return means
    most, least = along_both(np.maximum, panels), along_both(np.minimum, np.where(np.isneginf(panels), 0, panels))
    return np.where(np.where(np.isneginf(most), 0, most) >= -least, most, least)


class _Colouring:
    """The colour of each number: nothing for 0 and -inf, darker the larger it is, another hue below 0."""

    def __init__(self, cells: npt.NDArray[np.float64], scale: str | None) -> None:
        sizes = np.abs(cells[np.isfinite(cells) & (cells != 0)])
        self.most = float(sizes.max(initial=0)) or 1.0
        self.least = max(float(sizes.min(initial=self.most)), self.most * 1e-4)
        self.is_cut = bool(np.any(sizes < self.least))
        self.has_negative = bool(np.any(cells[np.isfinite(cells)] < 0))
        self.strange = int((np.isnan(cells) | np.isposinf(cells)).sum())
        small = sizes.size > 0 and float(np.median(sizes)) < self.most / 20
        self.is_log = scale == "log" or (scale is None and small and not self.has_negative)
        shades = [colours(np.arange(_LEVELS) / (_LEVELS - 1), ramp) for ramp in (RAMP, BELOW)]
        nothing, strange = ([*bytes.fromhex(c[1:])] for c in (PAPER, _STRANGE))
        opaque = np.vstack([[nothing], *shades, [strange]])
        self.palette = np.hstack([opaque, np.full((len(opaque), 1), 255)]).astype(np.uint8)

    def levels(self, cells: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
        """Places in the palette."""
        with np.errstate(all="ignore"):
            size = np.abs(np.where(np.isfinite(cells), cells, 0))
            share = size / self.most
            if self.is_log:
                share = 1 + np.log(share) / (math.log(self.most / self.least) or 1)
        level = 1 + np.clip(np.floor(np.nan_to_num(share, neginf=0) * _LEVELS), 0, _LEVELS - 1)
        level = np.where(cells < 0, level + _LEVELS, level)
        level = np.where((cells == 0) | np.isneginf(cells), 0, level)
        level = np.where(np.isnan(cells) | np.isposinf(cells), 2 * _LEVELS + 1, level)
        places: npt.NDArray[np.uint8] = level.astype(np.uint8)
        return places

    def legend(self, x: float, y: float, room: float) -> tuple[float, list[str]]:
        """The scale, and what is beside it."""
        parts = [rect(x, y, 14, 14, PAPER, f' stroke="{MUTED}" stroke-width="0.6"')]
        parts.append(text(x + 20, y + 11.5, "0, or not seen", 12, "start", INK))
        at, width = x + 130, min(230.0, room - 130 - 20)
        order = list(range(1, _LEVELS + 1))
        if self.has_negative:
            order = [*range(2 * _LEVELS, _LEVELS, -1), *order]
        parts.append(raster(at, y, width, 14, np.array([order], np.uint8), self.palette))
        parts.append(rect(at, y, width, 14, "none", f' stroke="{MUTED}" stroke-width="0.6"'))
        for share, words in self._ticks():
            parts.append(f'<path d="M{at + share * width:.1f} {y + 14:.1f}v4" stroke="{MUTED}" stroke-width="0.8"/>')
            parts.append(text(at + share * width, y + 30, words, 11, "middle", MUTED))
        what = "value" if self.has_negative else "weight"
        words = f"{what}, {'logarithmic' if self.is_log else 'linear'}"
        parts.append(text(at + width / 2, y + 45, words, 11, "middle", MUTED))
        if self.strange:
            parts.append(rect(x, y + 22, 14, 14, _STRANGE))
            parts.append(text(x + 20, y + 33.5, f"NaN or inf: {self.strange}", 12, "start", INK))
        return 48, parts

    def _ticks(self) -> Iterable[tuple[float, str]]:
        if self.is_log:
            span = math.log(self.most / self.least) or 1
            decades = range(math.ceil(math.log10(self.least)), math.floor(math.log10(self.most)) + 1)
            inside = [10.0**d for d in decades if 0.19 < math.log(10.0**d / self.least) / span < 0.81]
            ticks = [(math.log(v / self.least) / span, f"{v:.2g}") for v in inside]
            return [(0.0, f"{'≤ ' * self.is_cut}{self.least:.2g}"), *ticks, (1.0, f"{self.most:.2g}")]
        ticks = [(share, f"{share * self.most:.3g}") for share in (0.0, 0.5, 1.0)]
        if not self.has_negative:
            return ticks
        return [(0.0, f"-{ticks[2][1]}"), (0.5, "0"), (1.0, ticks[2][1])]





def _numbers(
    cells: npt.NDArray[np.float64], levels: npt.NDArray[np.uint8], width: float, height: float
) -> Iterator[str]:
    """The number of each cell."""
    for (i, j), value in np.ndenumerate(cells):
        if np.isfinite(value) and abs(value) >= 0.005:
            level = int(levels[i, j] - 1) % _LEVELS
            words = f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.3g}"
            ink = "#ffffff" if level > 0.5 * _LEVELS else INK
            yield text((j + 0.5) * width, (i + 0.5) * height + 4, words, min(13, width * 0.3), "middle", ink)
