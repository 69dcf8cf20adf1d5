#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the weights of a kernel as SVG: a map of queries and keys, or a graph.

    python3 draw.py map causal.svg --kernel causal
    python3 draw.py map alibi.svg --kernel alibi --argument "slopes=[0.5]"
    python3 draw.py graph gat.svg --kernel gat

The library of kernels is the one that FOVEA_KERNELS names. A kernel gives its weights for values that are the rows of
the identity.
"""

from __future__ import annotations

import argparse
import ast
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fovea
from fovea._svg import INK, MUTED, PAPER, colour, text

Array = npt.NDArray[Any]
Arrow = tuple[str, Array, Array]  # a curve, where its arrow ends, and in which direction

WIDTH = 800


def attention_weights(kernel: str, q: Any, k: Any, library: fovea.Library | None = None, **arguments: Any) -> Array:
    """The weights (query, key) that a kernel gives to queries and keys of (position, feature)."""
    k = np.asarray(k)
    weights: Array = fovea.attend(q, k, np.eye(len(k), dtype=k.dtype), kernel, library=library, **arguments)
    return weights


def number(x: float) -> str:
    return f"{x:.2f}".removeprefix("0")


def page(height: float, title: str, subtitle: str, body: list[str]) -> str:
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        text(40, 42, title, 20, "start", INK, ' font-weight="bold"'),
        text(40, 66, subtitle, 13, "start", MUTED),
    ]
    return "\n".join([*head, *body, "</svg>"]) + "\n"


def graph_svg(graph: fovea.Graph, weights: Array, labels: list[str], title: str, subtitle: str = "") -> str:
    """Nodes on a circle; an arrow leads from each key to the query that sees it, the wider the more it weighs."""
    centre, radius, node = np.array([WIDTH / 2, 440.0]), 260.0, 30.0
    angles = 2 * np.pi * np.arange(len(labels)) / len(labels) - np.pi / 2
    outward = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = centre + radius * outward
    most = float(np.max(weights, initial=1e-9))
    arrows, words = [], []
    for query in range(graph.queries):
        for key in graph.keys[graph.offsets[query] : graph.offsets[query + 1]]:
            w = float(weights[query, key])
            if query == key:
                path, at = loop_path(places[query], outward[query], node)
            else:
                path, at = curve_path(places[key], places[query], node + 3)
            arrows.append((w, arrow_svg(path, w / most)))
            halo = f' stroke="{PAPER}" stroke-width="4" paint-order="stroke"'
            words.append(text(at[0], at[1] + 4, number(w), 13, "middle", INK, halo))
    nodes = [node_svg(place, label, node) for place, label in zip(places, labels)]
    return page(820, title, subtitle, [a for _, a in sorted(arrows)] + nodes + words)


def node_svg(place: Array, label: str, node: float) -> str:
    at = f'cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{node:g}"'
    circle = f'<circle {at} fill="#ffffff" stroke="{INK}" stroke-width="1.5"/>'
    return circle + text(place[0], place[1] + 5, label, min(15, 100 / max(len(label), 1)))


def arrow_svg(path: Arrow, share: float) -> str:
    """A curve and a head, of one colour: the curve ends where the head begins."""
    line, tip, direction = path
    ink = colour(0.3 + 0.7 * share)
    width = 1 + 6 * share
    length = 8 + 1.5 * width
    side = np.array([-direction[1], direction[0]]) * (3.5 + 0.8 * width)
    base = tip - direction * length
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, base + side, base - side))
    curve = f'<path d="{line}" fill="none" stroke="{ink}" stroke-width="{width:.1f}"/>'
    return curve + f'<polygon points="{corners}" fill="{ink}"/>'


def curve_path(start: Array, end: Array, gap: float) -> tuple[Arrow, Array]:
    """A curve to the right of the straight line, so that two nodes that see each other have two."""
    along = end - start
    bend = np.array([-along[1], along[0]]) * 0.16
    control = (start + end) / 2 + bend
    first, last = control - start, end - control
    first, last = first / np.linalg.norm(first), last / np.linalg.norm(last)
    begin, tip = start + first * gap, end - last * gap
    stop = tip - last * 8
    line = f"M{begin[0]:.1f} {begin[1]:.1f} Q{control[0]:.1f} {control[1]:.1f} {stop[0]:.1f} {stop[1]:.1f}"
    t = 0.62  # numbers stand nearer to the query, away from the crossings in the middle
    at = (1 - t) ** 2 * begin + 2 * t * (1 - t) * control + t**2 * tip
    return (line, tip, last), at


def loop_path(place: Array, outward: Array, node: float) -> tuple[Arrow, Array]:
    """From the node out and back to it."""
    aside = np.array([-outward[1], outward[0]])
    begin, tip = (place + node * (0.85 * outward + s * 0.53 * aside) for s in (-1, 1))
    a, b = (place + node * (2.6 * outward + s * 1.5 * aside) for s in (-1, 1))
    direction = (tip - b) / np.linalg.norm(tip - b)
    stop = tip - direction * 8
    line = f"M{begin[0]:.1f} {begin[1]:.1f} C{a[0]:.1f} {a[1]:.1f} {b[0]:.1f} {b[1]:.1f} {stop[0]:.1f} {stop[1]:.1f}"
    return (line, tip, direction), place + node * 2.65 * outward


SENTENCE = "the cat sat on the mat because it was tired".split()
TOPICS = [0, 1, 2, 3, 0, 1, 4, 1, 2, 2]
PEOPLE = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hugo"]
FRIENDS = [(0, 1), (0, 3), (1, 2), (2, 3), (3, 4), (4, 5), (4, 7), (5, 6), (6, 7), (2, 6)]


def example_features(topics: list[int], features: int = 16) -> Array:
    """Rows that are alike where their topics are."""
    random = np.random.default_rng(4)
    topic = random.standard_normal((max(topics) + 1, features))
    return (0.85 * topic[topics] + 0.4 * random.standard_normal((len(topics), features))).astype(np.float32)


def example_graph() -> fovea.Graph:
    """Friends see each other, and everyone themselves."""
    edges = [*FRIENDS, *((b, a) for a, b in FRIENDS), *((i, i) for i in range(len(PEOPLE)))]
    return fovea.Graph.from_edges(len(PEOPLE), edges)


def draw_map(kernel: str, given: dict[str, Any]) -> str:
    x = example_features(TOPICS)
    weights = attention_weights(kernel, x, x, **given)
    formula = next(k.formula for k in fovea.kernels() if k.name == kernel)
    title, caption = f"Attention of {kernel}", short_formula(formula)
    return fovea.attention_map(
        weights, queries=SENTENCE, keys=SENTENCE, title=title, caption=caption, scale="linear"
    ).svg


def draw_graph(kernel: str, given: dict[str, Any]) -> str:
    x, graph = example_features([0, 0, 1, 1, 2, 2, 3, 3]), example_graph()
    info = next((k for k in fovea.kernels() if k.name == kernel), None)
    arguments = dict(given)
    random = np.random.default_rng(5)
    for a in info.arguments if info else ():
        if a.type == "fovea_graph":
            arguments[a.name] = graph
        elif a.shape == ("heads", "features"):
            arguments.setdefault(a.name, random.standard_normal((1, x.shape[1])) / 3)
    weights = attention_weights(kernel, x, x, **arguments)
    subtitle = "An arrow leads from a key to the query that sees it; width, colour and number are the weight."
    return graph_svg(graph, weights, PEOPLE, f"Attention of {kernel} over the edges of a graph", subtitle)


def short_formula(formula: str) -> str:
    """Scores and pairs in one line."""
    lines = dict(line.split(None, 1) for line in formula.splitlines())
    shown = [f"{name}: {lines[name]}" for name in ("score", "pairs", "weights") if name in lines]
    return ";  ".join(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draws the weights of a kernel as SVG.")
    parser.add_argument("what", choices=("map", "graph"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--kernel", help="causal for a map, gat for a graph, if not given")
    parser.add_argument("--argument", action="append", default=[], metavar="NAME=VALUE", help="what the kernel takes")
    options = parser.parse_args()
    given = {name: ast.literal_eval(value) for name, _, value in (a.partition("=") for a in options.argument)}
    try:
        if options.what == "map":
            svg = draw_map(options.kernel or "causal", given)
        else:
            svg = draw_graph(options.kernel or "gat", given)
    except fovea.Error as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    options.file.write_text(svg)


if __name__ == "__main__":
    main()
