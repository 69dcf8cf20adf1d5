# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures are SVG that shows every weight."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import draw
import fovea
from cases import adjacency, kernel_named

SVG = "{http://www.w3.org/2000/svg}"


def require_f32(kernel: fovea.Kernel) -> fovea.Kernel:
    if "f32" not in kernel.types:
        pytest.skip(f"{kernel.name} is not built for f32")
    return kernel


def words_of(picture: ElementTree.Element) -> list[str]:
    return [t.text or "" for t in picture.iter(f"{SVG}text")]


def test_weights_are_those_of_the_rows() -> None:
    kernel = require_f32(kernel_named("causal"))
    x = draw.example_features(draw.TOPICS)
    weights = draw.attention_weights(kernel.name, x, x)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
    assert np.all(weights[np.triu_indices(len(x), 1)] == 0)
    np.testing.assert_allclose(weights @ x, fovea.attend(x, x, x, kernel.name), atol=1e-5)


def test_graph_has_an_arrow_for_each_edge() -> None:
    graph = draw.example_graph()
    weights = adjacency(graph, 8) / adjacency(graph, 8).sum(1, keepdims=True)
    picture = ElementTree.fromstring(draw.graph_svg(graph, weights, draw.PEOPLE, "title"))
    assert len(list(picture.iter(f"{SVG}path"))) == len(list(picture.iter(f"{SVG}polygon"))) == graph.edges
    assert len(list(picture.iter(f"{SVG}circle"))) == 8
    words = words_of(picture)
    assert set(draw.PEOPLE) <= set(words)
    expected = [draw.number(weights[i, j]) for i in range(8) for j in np.flatnonzero(weights[i])]
    assert sorted(w for w in words if w.startswith(".")) == sorted(expected)


def test_colours_darken_with_the_weight() -> None:
    brightness = [sum(bytes.fromhex(draw.colour(share)[1:])) for share in np.linspace(0, 1, 21)]
    assert all(a > b for a, b in zip(brightness, brightness[1:]))


@pytest.mark.parametrize(
    ("what", "names", "more"),
    [
        ("map", ("causal",), []),
        ("map", ("alibi",), ["--argument", "slopes=[0.5]"]),
        ("graph", ("gat", "edges"), []),
    ],
)
def test_script_writes_pictures(
    what: str, names: tuple[str, ...], more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = require_f32(kernel_named(*names))
    file = tmp_path / "picture.svg"
    monkeypatch.setattr(sys, "argv", ["draw.py", what, str(file), "--kernel", kernel.name, *more])
    draw.main()
    picture = ElementTree.fromstring(file.read_text())
    assert any(kernel.name in words for words in words_of(picture))


def test_script_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["draw.py", "map", "nothing.svg", "--kernel", "nothing"])
    with pytest.raises(SystemExit) as end:
        draw.main()
    assert end.value.code == 1
    assert "there is no kernel 'nothing'" in capsys.readouterr().err
