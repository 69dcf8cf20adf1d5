# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of masks: which blocks of queries and keys they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, as_numpy, elements_of, extents_of
from ._capture import Captured
from ._errors import ArgumentError, Error, counted
from ._map import of_pairs
from ._masks import Mask, Sizes
from ._source import KERNEL, OF_BATCH, source_of
from ._specification import GraphArgument, Specification, word
from ._svg import (
    GRID,
    INK,
    MOST_PANELS,
    MUTED,
    Axis,
    Card,
    Picture,
    cell_of,
    left_out,
    names_of_panels,
    raster,
    rect,
    text,
)
from ._table import Names

if TYPE_CHECKING:
    from ._kernel import TracedKernel

_EMPTY, _FULL, _MIXED, _SEEN = "#ffffff", "#2171b5", "#fdebd2", "#e08a2e"
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

    Example
    -------
        picture = fovea.where(fovea.q_idx >= fovea.kv_idx).picture(queries=96, keys=64, block=32)
        assert picture.blocks[0, 0].tolist() == [[0.515625, 0.0], [1.0, 0.515625], [1.0, 1.0]]
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
        drawn = min(panels, MOST_PANELS)
        self.cell = cell_of(sizes.queries * sizes.keys * drawn)
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
        most = _MOST_RUNS // len(blocks)
        for share, fill in ((0, _EMPTY), (1, _FULL)):
            yield from _filled(blocks[panel] == share, of_keys * one, of_queries * other, fill, most)
        if max(n, m) <= 40:
            lines = [f"M{j * of_keys * one:.2f} 0v{height:.2f}" for j in range(1, m)]
            lines += [f"M0 {i * of_queries * other:.2f}h{width:.2f}" for i in range(1, n)]
            yield f'<path d="{"".join(lines)}" stroke="{GRID}" stroke-width="0.6" fill="none"/>'
        yield "</svg>"

    number = blocks.size
    mixed = (blocks > 0) & (blocks < 1)
    kinds = [("full", _FULL, blocks == 1), ("mixed", _MIXED, mixed), ("empty", _EMPTY, blocks == 0)]

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

    names = names_of_panels(picture.blocks.shape[:2], None)
    size = f"{counted(sizes.queries, 'query')} x {counted(sizes.keys, 'key')} in blocks of {of_queries} x {of_keys}"
    seen = f"{_percent(counts.seen)} of pairs are seen"
    more = [f"{counts.blind} queries see no key" if counts.blind > 1 else "1 query sees no key"] if counts.blind else []
    lines = [f"{size}; {'; '.join([seen, *more])}.", *notes, *left_out(len(names))]
    axes = (Axis("query", sizes.queries), Axis("key", sizes.keys))
    return Card(title, code, lines, *axes, names[:MOST_PANELS], draw, legend).svg()


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
    sizes = (queries, keys, heads, batch)
    return _picture_of(spec, lambda argument: argument.read(), "f32", "", sizes, block, is_asked)


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
        type_name = "f64" if found[0] == "f64" else "f32"  # 16 bits are computed with as float
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
    compiled = None if mask.is_exact else _compiled_pairs(mask, value_of, type_name, sizes)

    def pairs(first: int, end: int) -> npt.NDArray[np.bool_]:
        return mask.pairs(sizes, first, end) if compiled is None else compiled[:, :, first:end]

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
    weights: Array = library.attend(q, k, k, KERNEL, outputs=("weights",), **values).weights
    for argument in source.arguments.values():
        if isinstance(argument, GraphArgument):
            weights = of_pairs(weights, mask.graph(argument), sizes.keys)
    return weights > 0


def shown_in_notebook(draw: Callable[[], MaskPicture | None]) -> str | None:
    """The drawing; None for what has none, which a notebook then shows as text."""
    try:
        picture = draw()
    except Error:
        return None
    return None if picture is None else picture.svg
