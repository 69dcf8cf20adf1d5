# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pictures are drawn of: colours, words, rasters of cells, and a card of panels with axes."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

INK, MUTED, GRID, PAPER = "#1f2933", "#616e7c", "#dde3ea", "#fbfcfd"
RAMP = np.array([[214, 230, 244], [158, 202, 225], [66, 146, 198], [8, 81, 156], [8, 36, 82]], float)
BELOW = np.array([[250, 226, 205], [253, 184, 120], [241, 105, 19], [166, 54, 3], [92, 28, 2]], float)

MOST_PANELS = 16
_CELLS = 100_000  # of all rasters of a picture, which then takes less than 200 kB

_MARGIN, _GAP = 24.0, 22.0
_WIDTHS = {1: 400.0, 2: 280.0, 3: 210.0, 4: 160.0}  # of panels, by how many stand side by side
_LEAST_WIDTH = 480.0
_SHARPEST = 480  # rasters are enlarged up to here, since some viewers blur what they enlarge themselves


class Picture:
    """A drawing, which a notebook shows.

    Attributes
    ----------
    svg : the drawing, as a file has it.

    Example
    -------
        picture = fovea.attention_map(np.eye(8))
        assert isinstance(picture, fovea.Picture) and picture.svg.startswith("<svg")
    """

    svg: str

    def save(self, path: str | Path) -> None:
        """Writes the drawing to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


def cell_of(pairs: int) -> int:
    """How many queries and keys are drawn as one, so that not too many cells are."""
    return 1 if pairs <= _CELLS else math.isqrt((pairs - 1) // _CELLS) + 1


def names_of_panels(shape: tuple[int, ...], heads: Sequence[str] | None) -> list[str]:
    batch, of_heads = shape
    names: list[str] = []
    for b, h in np.ndindex(batch, of_heads):
        head = str(heads[h]) if heads is not None else f"head {h}" if of_heads > 1 else ""
        names.append(", ".join(part for part in (f"batch {b}" if batch > 1 else "", head) if part))
    return names


def left_out(panels: int) -> list[str]:
    return [f"The first {MOST_PANELS} of {panels} are drawn."] if panels > MOST_PANELS else []


def colour(share: float, ramp: npt.NDArray[np.float64] = RAMP) -> str:
    """Between light, at 0, and dark, at 1."""
    return "#" + "".join(f"{c:02x}" for c in colours(np.array([share]), ramp)[0])


def colours(shares: npt.NDArray[np.float64], ramp: npt.NDArray[np.float64] = RAMP) -> npt.NDArray[np.uint8]:
    """The same of many, (shares, 3)."""
    place = np.clip(shares, 0, 1) * (len(ramp) - 1)
    below = np.minimum(place.astype(int), len(ramp) - 2)
    mixed = ramp[below] + (ramp[below + 1] - ramp[below]) * (place - below)[:, None]
    rounded: npt.NDArray[np.uint8] = np.rint(mixed).astype(np.uint8)
    return rounded


def text(
    x: float, y: float, words: str, size: float = 14, anchor: str = "middle", fill: str = INK, more: str = ""
) -> str:
    """Words at a place."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{fill}"{more}>'
        f"{escape(words)}</text>"
    )


def rect(x: float, y: float, width: float, height: float, fill: str, more: str = "") -> str:
    """A rectangle."""
    return f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{fill}"{more}/>'


def raster(
    x: float, y: float, width: float, height: float, cells: npt.NDArray[np.uint8], palette: npt.NDArray[np.uint8]
) -> str:
    """Cells (row, column) of colours of a palette (colours, 4), red, green, blue and opacity, as an image."""
    times = max(1, _SHARPEST // max(*cells.shape, 1))
    whole = cells.repeat(times, 0).repeat(times, 1)
    data = base64.b64encode(_png(whole, palette)).decode()
    return (
        f'<image x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" xlink:href="data:image/png;base64,{data}"/>'
    )


def _png(cells: npt.NDArray[np.uint8], palette: npt.NDArray[np.uint8]) -> bytes:
    rows, columns = cells.shape
    lines = np.zeros((rows, columns + 1), np.uint8)  # each begins with its filter: none
    lines[:, 1:] = cells
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        (b"PLTE", np.ascontiguousarray(palette[:, :3]).tobytes()),
        (b"tRNS", np.ascontiguousarray(palette[:, 3]).tobytes()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


@dataclass(frozen=True)
class Axis:
    """Positions along a side of a panel, with labels or numbers."""

    name: str
    count: int
    labels: Sequence[str] | None = None

    def ticks(self, length: float) -> list[tuple[float, str]]:
        """Where labels stand along a side, as shares of it, and the labels."""
        if self.count == 0:
            return []
        if self.labels is not None:
            step = max(1, -int(-13 * self.count // length))
            return [((i + 0.5) / self.count, str(self.labels[i])) for i in range(0, self.count, step)]
        most, step = max(2, int(length // 36)), 1
        while self.count > most * step:
            step *= 2
        return [((i + 0.5 * (step == 1)) / self.count, str(i)) for i in range(0, self.count, step)]


@dataclass
class Card:
    """Panels of one size in rows, under a heading and above a legend, on paper of its own: a notebook may be dark.

    Attributes
    ----------
    title : in bold; none where it is empty.
    code : what is shown, as a program has it.
    notes : lines of prose below.
    draw : what draws the panel of a number into (x, y, width, height).
    names : of the panels; no panel of a single one without.
    legend : what draws the legend from (x, y), within a width: its height and its parts.
    """

    title: str
    code: str
    notes: Sequence[str]
    queries: Axis
    keys: Axis
    names: Sequence[str]
    draw: Callable[[int, float, float, float, float], Iterable[str]]
    legend: Callable[[float, float, float], tuple[float, list[str]]]
    _body: list[str] = field(default_factory=list)

    def svg(self) -> str:
        """The drawing."""
        columns = len(self.names) if len(self.names) <= 4 else 3 if len(self.names) in (5, 6, 9) else 4
        width = _WIDTHS[columns]
        height = width * min(max(self.queries.count / max(self.keys.count, 1), 0.12), 2.0)
        if self.queries.labels is not None and self.keys.labels is not None and columns == 1:
            width = min(50.0 * self.keys.count, 560.0)
            height = min(width * self.queries.count / max(self.keys.count, 1), 2 * width)
        named = any(self.names)
        left = _MARGIN + 26 + 7.0 * _longest(self.queries, 5)
        whole = max(_LEAST_WIDTH, left + columns * width + (columns - 1) * _GAP + _MARGIN + 10)
        y = self._heading(whole)
        rows = -(-len(self.names) // columns)
        for row in range(rows):
            y += self._above() + 6 if row == 0 else 8
            y += 22 * named
            for column in range(min(columns, len(self.names) - row * columns)):
                x = left + column * (width + _GAP)
                self._panel(row * columns + column, x, y, width, height, column == 0, row == 0, named)
            y += height
        taken, parts = self.legend(left, y + 26, whole - left - _MARGIN)
        self._body += parts
        y += 26 + taken + _MARGIN
        head = [
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'viewBox="0 0 {whole:.0f} {y:.0f}" width="{whole:.0f}" height="{y:.0f}" '
            'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
            f"<title>{escape(self.title or self.code)}</title>",
            f'<rect x="0.5" y="0.5" width="{whole - 1:.0f}" height="{y - 1:.0f}" rx="8" fill="{PAPER}" '
            f'stroke="{GRID}"/>',
        ]
        return "\n".join([*head, *self._body, "</svg>"]) + "\n"

    def _heading(self, whole: float) -> float:
        y, room = _MARGIN, whole - 2 * _MARGIN
        if self.title:
            y += 14
            self._body.append(text(_MARGIN, y, self.title, 16, "start", INK, ' font-weight="bold"'))
            y += 8
        for line in _wrapped(self.code, int(room / 7.3), 3):
            y += 16
            code = ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" xml:space="preserve"'
            self._body.append(text(_MARGIN, y, line, 12, "start", INK, code))
        y += 4 * bool(self.code)
        for note in self.notes:
            for line in _wrapped(note, int(room / 6.2), 3):
                y += 16
                self._body.append(text(_MARGIN, y, line, 12, "start", MUTED))
        return y + 4

    def _panel(
        self, n: int, x: float, y: float, width: float, height: float, is_first: bool, is_top: bool, named: bool
    ) -> None:
        body = self._body
        body.extend(self.draw(n, x, y, width, height))
        body.append(rect(x, y, width, height, "none", f' stroke="{MUTED}" stroke-width="0.8"'))
        if named:
            body.append(text(x + width / 2, y - 8 - is_top * self._above(), self.names[n], 12))
        if is_first:
            for share, words in self.queries.ticks(height):
                body.append(text(x - 8, y + share * height + 4, words, 11, "end", MUTED))
            at, middle = x - 18 - 7.0 * _longest(self.queries, 5), y + height / 2
            turned = f' transform="rotate(-90 {at:.1f} {middle:.1f})"'
            if height > 40:
                body.append(text(at, middle, self.queries.name, 12, "middle", MUTED, turned))
        if not is_top:
            return
        for share, words in self.keys.ticks(width):
            at = x + share * width
            if self.keys.labels is None:
                body.append(text(at, y - 6, words, 11, "middle", MUTED))
            else:
                turned = f' transform="rotate(-45 {at + 4:.1f} {y - 6:.1f})"'
                body.append(text(at + 4, y - 6, words, 11, "start", MUTED, turned))
        body.append(text(x + width / 2, y + 10 - self._above(), self.keys.name, 12, "middle", MUTED))

    def _above(self) -> float:
        """The height of the name and the labels of keys."""
        return 34.0 if self.keys.labels is None else 24 + 5.0 * _longest(self.keys, 1)


def _longest(axis: Axis, least: int) -> int:
    if axis.labels is None:
        return max(len(str(axis.count)), min(least, 3))
    return max((len(str(label)) for label in axis.labels), default=0)


def _wrapped(words: str, room: int, most: int) -> list[str]:
    """Lines of at most so many letters, broken at blanks; what is too long ends in an ellipsis."""
    lines: list[str] = []
    for word in words.split():
        if lines and len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
    return [line if len(line) <= room else f"{line[: room - 1]}…" for line in lines]
