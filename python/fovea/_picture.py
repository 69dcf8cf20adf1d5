# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures for notebooks: of the blocks that a mask leaves, and of the weights of heads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, as_numpy, elements_of, extents_of
from ._capture import Captured
from ._errors import ArgumentError, Error, ShapeError, counted
from ._graph import Graph, graph_of
from ._masks import Mask, Sizes
from ._source import KERNEL, OF_BATCH, source_of
from ._specification import GraphArgument, Specification, word
from ._svg import BELOW, GRID, INK, MUTED, PAPER, RAMP, Axis, Card, Picture, colours, raster, rect, text
from ._table import Names

if TYPE_CHECKING:
    from ._kernel import TracedKernel

_EMPTY, _FULL, _MIXED, _SEEN = "#ffffff", "#2171b5", "#fdebd2", "#e08a2e"
_STRANGE = "#d6208a"  # of NaN
_MOST_PANELS = 16
_CELLS = 100_000  # of all rasters of a picture, which then takes less than 200 kB
_MOST_RUNS = 3000  # of neighbouring blocks, which are drawn as rectangles
_AT_ONCE = 2**21  # pairs
_LEVELS = 96  # of colours between nothing and the most
_QUICK = 2**27  # pairs that a notebook draws unasked


class MaskPicture(Picture):
    """Which blocks of queries and keys a mask leaves.

    Attributes
    ----------
    block : how many queries and keys a block has; the last ones may have fewer.
    blocks : (batch, heads, query blocks, key blocks), the share of the pairs that are seen: 0 in an empty block, 1 in a
        full one. Batch and heads are 1 where the mask is the same for all.
    svg : the drawing, as a file has it.
    """

    def __init__(self, title: str, code: str, notes: Sequence[str], sizes: Sizes, pairs: _Pairs, block: Any) -> None:
        self.block = _block_of(block, sizes)
        counted_pairs = _Counts(sizes, pairs, self.block)
        self.blocks = counted_pairs.blocks
        self.svg = _drawn_mask(self, title, code, notes, sizes, counted_pairs)


_Pairs = Callable[[int, int], npt.NDArray[np.bool_]]


def _block_of(block: Any, sizes: Sizes) -> tuple[int, int]:
    """The given one, or the least power of two of which there are at most 16 to a side."""
    if block is None:
        block = 1
        while max(sizes.queries, sizes.keys) > 16 * block:
            block *= 2
    pair = tuple(block) if isinstance(block, (tuple, list)) else (block, block)
    if len(pair) != 2 or not all(isinstance(n, (int, np.integer)) and n >= 1 for n in pair):
        raise ArgumentError(f"block is {block!r}, it must be a number of positions, or one of queries and one of keys")
    return int(pair[0]), int(pair[1])


class _Counts:
    """The shares of pairs that are seen, of blocks and of the smaller cells that are drawn in mixed ones."""

    def __init__(self, sizes: Sizes, pairs: _Pairs, block: tuple[int, int]) -> None:
        panels = sizes.batch * sizes.heads
        drawn = min(panels, _MOST_PANELS)
        self.cell = max(1, math.isqrt(sizes.queries * sizes.keys * drawn // _CELLS) + 1) if panels else 1
        if sizes.queries * sizes.keys * drawn <= _CELLS:
            self.cell = 1
        rows = max(1, _AT_ONCE // (panels * sizes.keys))
        of_blocks, of_cells = [], []
        for first in range(0, sizes.queries, rows):
            seen = pairs(first, min(first + rows, sizes.queries))
            of_blocks.append(_added(seen, block[1], 3))
            of_cells.append(_added(seen, self.cell, 3))
        along_keys = np.concatenate(of_blocks, 2)
        self.blind = int((along_keys.sum(3) == 0).sum())  # queries that see nothing
        self.seen = int(along_keys.sum()) / (panels * sizes.queries * sizes.keys)
        self.blocks = _shares(_added(along_keys, block[0], 2), sizes, block)
        self.cells = _shares(_added(np.concatenate(of_cells, 2), self.cell, 2), sizes, (self.cell, self.cell))


def _added(counts: npt.NDArray[Any], size: int, axis: int) -> npt.NDArray[np.int64]:
    """Sums of so many neighbours along an axis."""
    starts = np.arange(0, counts.shape[axis], size)
    return np.add.reduceat(counts, starts, axis, np.int64)


def _shares(counts: npt.NDArray[np.int64], sizes: Sizes, block: tuple[int, int]) -> npt.NDArray[np.float64]:
    of_queries, of_keys = (
        np.minimum(size, n - np.arange(0, n, size)) for n, size in zip((sizes.queries, sizes.keys), block)
    )
    shares: npt.NDArray[np.float64] = counts / (of_queries[:, None] * of_keys)
    return shares


def _drawn_mask(
    picture: MaskPicture, title: str, code: str, notes: Sequence[str], sizes: Sizes, counts: _Counts
) -> str:
    blocks = picture.blocks.reshape(-1, *picture.blocks.shape[2:])
    cells = counts.cells.reshape(-1, *counts.cells.shape[2:])
    shades = np.zeros((_LEVELS + 1, 4), np.uint8)
    shades[1:] = [*bytes.fromhex(_SEEN[1:]), 0]
    shades[1:, 3] = np.rint(np.linspace(255 / _LEVELS, 255, _LEVELS))
    (of_queries, of_keys), (n, m) = picture.block, blocks.shape[1:]

    def draw(panel: int, x: float, y: float, width: float, height: float) -> Iterator[str]:
        one, other = width / sizes.keys, height / sizes.queries
        yield f'<svg x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" overflow="hidden">'
        yield rect(0, 0, width, height, _MIXED)
        raw = cells[panel]
        across, down = (counts.cell * each * k for each, k in zip((one, other), raw.shape[::-1]))
        yield raster(0, 0, across, down, np.ceil(raw * _LEVELS).astype(np.uint8), shades)
        for share, fill in ((0, _EMPTY), (1, _FULL)):
            yield from _filled(blocks[panel] == share, of_keys * one, of_queries * other, fill, _MOST_RUNS // len(blocks))
        if max(n, m) <= 40:
            lines = [f"M{j * of_keys * one:.2f} 0v{height:.2f}" for j in range(1, m)]
            lines += [f"M0 {i * of_queries * other:.2f}h{width:.2f}" for i in range(1, n)]
            yield f'<path d="{"".join(lines)}" stroke="{GRID}" stroke-width="0.6" fill="none"/>'
        yield "</svg>"

    number = blocks.size
    kinds = [("full", _FULL, blocks == 1), ("mixed", _MIXED, (blocks > 0) & (blocks < 1)), ("empty", _EMPTY, blocks == 0)]

    def legend(x: float, y: float, room: float) -> tuple[float, list[str]]:
        parts, step = [], room / 3
        for i, (name, fill, those) in enumerate(kinds):
            at, count = x + i * step, int(those.sum())
            parts.append(rect(at, y, 14, 14, fill, f' stroke="{MUTED}" stroke-width="0.6"'))
            if name == "mixed":
                parts.append(f'<path d="M{at:.1f} {y:.1f}v14h14z" fill="{_SEEN}"/>')
            parts.append(text(at + 21, y + 11.5, f"{name}: {count}", 12, "start", INK))
            parts.append(text(at + 21, y + 27, f"{_percent(count / number)} of blocks", 11, "start", MUTED))
        return 30, parts

    names = _names_of_panels(picture.blocks.shape[:2], None)
    size = f"{counted(sizes.queries, 'query')} x {counted(sizes.keys, 'key')} in blocks of {of_queries} x {of_keys}"
    seen = f"{_percent(counts.seen)} of pairs are seen"
    more = [f"{counts.blind} queries see no key" if counts.blind > 1 else "1 query sees no key"] if counts.blind else []
    lines = [f"{size}; {'; '.join([seen, *more])}.", *notes, *_left_out(len(names))]
    axes = (Axis("query", sizes.queries), Axis("key", sizes.keys))
    return Card(title, code, lines, *axes, names[:_MOST_PANELS], draw, legend).svg()


def _filled(
    those: npt.NDArray[np.bool_], width: float, height: float, fill: str, most: int
) -> Iterator[str]:
    """Blocks of one colour: rows of neighbours as rectangles, or an image where they are many."""
    edges = np.diff(np.pad(those.astype(np.int8), ((0, 0), (1, 1))))
    rows, begins = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    if len(rows) > most:
        palette = np.array([[0, 0, 0, 0], [*bytes.fromhex(fill[1:]), 255]], np.uint8)
        yield raster(0, 0, width * those.shape[1], height * those.shape[0], those.astype(np.uint8), palette)
    elif len(rows) > 0:
        runs = zip(rows.tolist(), begins.tolist(), ends.tolist())
        path = "".join(f"M{begin} {i}h{end - begin}v1h{begin - end}z" for i, begin, end in runs)
        scaled = f'transform="scale({width:.6g} {height:.6g})" shape-rendering="crispEdges"'
        yield f'<path d="{path}" fill="{fill}" {scaled}/>'


def _percent(share: float) -> str:
    """A share that is not rounded to nothing or to all."""
    for digits in range(5):
        words = f"{100 * share:.{digits}f}"
        if share in (0, 1) or (0 < float(words) < 100 and (digits > 0 or 1 <= float(words) <= 99)):
            return f"{words} %"
    return "less than 0.0001 %" if share < 0.5 else "more than 99.9999 %"


def _names_of_panels(shape: tuple[int, ...], heads: Sequence[str] | None) -> list[str]:
    batch, of_heads = shape
    names = []
    for b, h in np.ndindex(batch, of_heads):
        head = heads[h] if heads is not None else f"head {h}" if of_heads > 1 else ""
        names.append(", ".join(part for part in (f"batch {b}" if batch > 1 else "", head) if part))
    return names


def _left_out(panels: int) -> list[str]:
    return [f"The first {_MOST_PANELS} of {panels} are drawn."] if panels > _MOST_PANELS else []


def picture_of_specification(
    spec: Specification,
    queries: int | None = None,
    keys: int | None = None,
    heads: int | None = None,
    batch: int | None = None,
    block: Any = None,
    is_asked: bool = True,
) -> MaskPicture | None:
    """The picture of the masks of a specification; None where it is not asked for and would take long."""
    return _picture_of(spec, lambda argument: argument.read(), "f32", "", (queries, keys, heads, batch), block, is_asked)


def picture_of_kernel(
    kernel: TracedKernel,
    operands: tuple[Any, Any],
    given: tuple[int | None, int | None, int | None, int | None],
    block: Any,
    arguments: dict[str, Any],
    is_asked: bool = True,
) -> MaskPicture | None:
    """The same of the masks of a kernel, for the operands and arguments of a call."""
    if any(name in arguments for name in OF_BATCH):
        raise ArgumentError("a picture is of sequences that lie side by side: pass queries and keys instead")
    source, values = kernel.read(arguments)
    if source.specification is None:
        raise ArgumentError(f"{kernel.__name__} is a text in C++, of which there is no picture: write it in Python")
    passed = {id(argument): values[name] for name, argument in source.arguments.items()}
    queries, keys, heads, batch = given
    q, k = operands
    type_name = "f32"
    if q is not None:
        array, found = elements_of(q, "query", None)
        type_name = found[0]
        of_q = extents_of(array)
        batch, heads, queries = batch or of_q[0], heads or of_q[1], queries or of_q[2]
    if k is not None:
        keys = keys or extents_of(as_numpy(k, "key"))[2]
    sizes = (queries, keys, heads, batch)
    name = "" if kernel.__name__ == "kernel" else kernel.__name__

    def value_of(argument: Any) -> Any:
        return passed[id(argument)] if id(argument) in passed else argument.read()

    return _picture_of(source.specification, value_of, type_name, name, sizes, block, is_asked)


def _picture_of(
    spec: Specification,
    value_of: Callable[[Any], Any],
    type_name: str,
    title: str,
    given: tuple[int | None, int | None, int | None, int | None],
    block: Any,
    is_asked: bool,
) -> MaskPicture | None:
    mask = Mask(spec.stages, value_of, np.float64 if type_name == "f64" else np.float32)
    if not mask.stages and not is_asked:
        return None
    sizes = mask.sizes(*given)
    if not is_asked and (not mask.is_exact or sizes.batch * sizes.heads * sizes.queries * sizes.keys > _QUICK):
        return None
    if mask.is_exact:

        def pairs(first: int, end: int) -> npt.NDArray[np.bool_]:
            return mask.pairs(sizes, first, end)

    else:
        seen = _compiled_pairs(mask, value_of, type_name, sizes)

        def pairs(first: int, end: int) -> npt.NDArray[np.bool_]:
            return seen[:, :, first:end]

    names = Names()
    code = " | ".join(stage.words(names) for stage in mask.stages) or "everything"
    if len(mask.stages) == 1 and "{1}" in mask.stages[0].name:
        code = code[1:-1]  # without the parentheses that it has in a pipe
    kept = [stage.words(names) for stage in spec.stages if stage.role == "selection"]
    notes = [f"Of the keys that a query sees, {' and '.join(kept)} chooses by their scores."] if kept else []
    return MaskPicture(title, code, notes, sizes, pairs, block)


def _compiled_pairs(
    mask: Mask, value_of: Callable[[Any], Any], type_name: str, sizes: Sizes
) -> npt.NDArray[np.bool_]:
    """The pairs (batch, head, query, key) that have weight in a kernel with the mask alone."""
    from ._kernel import TracedKernel

    spec = Specification((word("dot"), *mask.stages, word("softmax")))
    source = source_of(spec, Captured())
    values = {name: value_of(argument) for name, argument in source.arguments.items()}
    library = TracedKernel(spec, {}).library(source, type_name, "kernel", ("weights",))
    real = np.float64 if type_name == "f64" else np.float32
    q = np.zeros((sizes.batch, sizes.heads, sizes.queries, 1), real)
    k = np.zeros((sizes.batch, sizes.heads, sizes.keys, 1), real)
    weights: Array = library.attend(q, k, k, KERNEL, None, 1, None, ("weights",), **values).weights
    for argument in source.arguments.values():
        if isinstance(argument, GraphArgument):
            weights = _of_pairs(weights, mask.graph(argument), sizes.keys)
    return weights > 0


def shown_in_notebook(draw: Callable[[], MaskPicture | None]) -> str | None:
    """The drawing; None for what has none, which a notebook then shows as text."""
    try:
        picture = draw()
    except Error:
        return None
    return None if picture is None else picture.svg


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
    """Draws weights of queries and keys, a panel for each head.

        fovea.attention_map(kernel(q, k, v, outputs=("weights",)))

    Parameters
    ----------
    weights : (queries, keys), (heads, queries, keys) or (batch, heads, queries, keys) of reals, or the results of a call
        with outputs=("weights",). Scores will do too: -inf is not seen.
    queries, keys, heads : labels, of which there are as many as there are positions or heads.
    title, caption : what stands above, the title in bold.
    scale : "linear" or "log"; without it linear, unless most of the weights are less than a twentieth of the largest.
        It is one for all panels.
    reduce : "max" or "mean": what is drawn of several pairs, where there are too many to draw each; the picture says of
        how many.
    graph : that of the kernel, where weights are those of its edges, (..., edges).

    Cost: memory for a few copies of the weights; a picture of less than 200 kB. The first 16 panels are drawn.
    """
    if reduce not in ("max", "mean"):
        raise ArgumentError(f"reduce is {reduce!r}, it must be 'max' or 'mean'")
    if scale not in (None, "linear", "log"):
        raise ArgumentError(f"scale is {scale!r}, it must be 'linear' or 'log'")
    all_panels = _panels_of(getattr(weights, "weights", weights), graph, None if keys is None else len(keys))
    n, m = all_panels.shape[2:]
    for name, labels, count in (("queries", queries, n), ("keys", keys, m), ("heads", heads, all_panels.shape[1])):
        if labels is not None and len(labels) != count:
            raise ShapeError(f"{name} has {counted(len(labels), 'label')}, the weights have {count}")
    names = _names_of_panels(all_panels.shape[:2], heads)
    panels = all_panels.reshape(-1, n, m)[:_MOST_PANELS]
    cell = 1 if panels.size <= _CELLS else math.isqrt(panels.size // _CELLS) + 1
    cells = _reduced(panels, cell, reduce)
    colouring = _Colouring(cells, scale, "weight" if cells.size == 0 or np.nanmin(cells) >= 0 else "value")
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
    notes += _left_out(len(names))
    return _drawn(Card(title, "", notes, *axes, names[:_MOST_PANELS], draw, colouring.legend))


def _drawn(card: Card) -> Picture:
    picture = Picture()
    picture.svg = card.svg()
    return picture


def _panels_of(weights: Any, graph: Any, keys: int | None) -> npt.NDArray[np.float64]:
    """Weights (batch, head, query, key); of the edges of a graph those of all pairs."""
    array = np.asarray(as_numpy(weights, "weights") if not isinstance(weights, (list, tuple)) else weights)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"weights has elements of {array.dtype}, it must have reals")
    if graph is not None:
        of = graph_of(graph, "graph")
        if array.ndim == 0 or array.shape[-1] != of.edges:
            raise ShapeError(f"weights is {array.shape}, the graph has {counted(of.edges, 'edge')}")
        array = _of_pairs(array, of, keys or max(of.queries, int(of.keys.max(initial=-1)) + 1))
    if not 2 <= array.ndim <= 4 or 0 in array.shape:
        raise ShapeError(
            f"weights is {array.shape}, it must be (queries, keys), (heads, queries, keys) or (batch, heads, queries, keys)"
        )
    return array.reshape((1,) * (4 - array.ndim) + array.shape).astype(np.float64)


def _of_pairs(of_edges: Array, graph: Graph, keys: int) -> Array:
    """Weights (..., query, key) of those of edges (..., edge)."""
    if graph.keys.max(initial=-1) >= keys:
        raise ShapeError(f"the graph has an edge from key {graph.keys.max()}, there are {counted(keys, 'key')}")
    dense = np.zeros((*of_edges.shape[:-1], graph.queries, keys), of_edges.dtype)
    dense[..., np.repeat(np.arange(graph.queries), np.diff(graph.offsets)), graph.keys] = of_edges
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

    def __init__(self, cells: npt.NDArray[np.float64], scale: str | None, name: str) -> None:
        sizes = np.abs(cells[np.isfinite(cells) & (cells != 0)])
        self.name = name
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
        parts.append(text(at + width / 2, y + 45, f"{self.name}, {'logarithmic' if self.is_log else 'linear'}", 11, "middle", MUTED))
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
