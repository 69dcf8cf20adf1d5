# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures show what kernels do: the blocks of a mask are those in which a kernel has weights."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import fovea

HOW_TO = Path(__file__).parents[2] / "docs" / "how_to"
SVG = "{http://www.w3.org/2000/svg}"
QUERIES, KEYS = 37, 53
RNG = np.random.default_rng(3)
i, j, h = fovea.q_idx, fovea.kv_idx, fovea.head

query_ids, key_ids = np.sort(RNG.integers(0, 5, QUERIES)), np.sort(RNG.integers(0, 5, KEYS))
lengths = np.array([40], np.int32)
tree_of = np.tri(QUERIES, 20, dtype=np.uint8)
listed = RNG.random((5, 7)) < 0.5
visible = RNG.random((QUERIES, KEYS)) < 0.3
bias = np.where(RNG.random((1, KEYS)) < 0.4, -np.inf, 0.25).astype(np.float32)
limits = np.array([3, 20], np.int64)
thresholds = RNG.standard_normal(KEYS)


def documents(b, h, q_idx, kv_idx):
    return query_ids[q_idx] == key_ids[kv_idx]


# Words and conditions, each in a head of its group's kernel: of one group with each change, of all at night.
OF_CHANGE: dict[str, Any] = {
    "causal_at_end": fovea.causal_at_end,
    "document": fovea.document(query_ids, key_ids),
    "neighborhood of a plane": fovea.neighborhood([3, 4], [6, 9]),
    "a function and words": fovea.causal & fovea.where(documents) & ~fovea.chunked(4),
    "quotients": fovea.where(((j - i) // 4 == -1) | ((j - i) % 4 == 2) & (i // (i - i) == 0) & (i % (j - j) > 8)),
    "comparisons of reals": fovea.where((fovea.param(thresholds)[j] > 0.1) ^ (i != 4)),
    "random": fovea.where(fovea.random(3) < 0.3),
}
OF_NIGHT: list[dict[str, Any]] = [
    {
        "functions": fovea.where(fovea.min(abs(i - j), 9) * 2 < fovea.max(i, 6) - fovea.square(fovea.relu(j - 40))),
        "select": fovea.where(fovea.select(i < 9, j * 3, -j) >= 12 - i),
        "lengths of tables": fovea.where(j < fovea.param(listed).shape[0] * 3 + fovea.kv_len - fovea.q_len),
        "an index out of a table": fovea.where(i - j < fovea.param(limits)[j % 2]),
        "reals": fovea.where(fovea.param(thresholds)[j] * 0.7 + 0.1 * i < fovea.tanh(fovea.param(thresholds)[j])),
        "causal_from": fovea.causal_from(7),
        "causal_from of the batch": fovea.causal_from(lengths),
        "key_lengths": fovea.key_lengths(lengths),
        "everything": fovea.everything,
    },
    {
        "document of the keys": fovea.document(key_ids),
        "dilated_window": fovea.dilated_window(14, 3),
        "global_tokens": fovea.global_tokens(3),
        "prefix_lm": fovea.prefix_lm(11),
        "sliding_window": fovea.sliding_window(5, 2),
        "shared_prefix": fovea.shared_prefix(6, key_ids[:QUERIES].copy()),
        "tree": fovea.tree(9, tree_of),
    },
    {
        "block_list": fovea.block_list(listed, 8, 8),
        "mask_tensor": fovea.mask_tensor(visible),
        "mask_tensor of one row": fovea.mask_tensor(visible[:1].copy()),
        "packed_bits": fovea.mask_tensor(fovea.packed_bits(np.packbits(visible, axis=-1, bitorder="little"), KEYS)),
        "neighborhood": fovea.neighborhood([7], [KEYS]),
    },
    {
        "neighborhood of a volume": fovea.neighborhood([1, 3, 2], [2, 5, 6]),
        "sliding_tiles": fovea.sliding_tiles([3, 1], [2, 3], [6, 9]),
        "sliding_tiles of a volume": fovea.sliding_tiles([1, 3, 1], [1, 2, 3], [3, 4, 6]),
    },
]
OF_REALS = ("random", "reals")


def in_heads(masks: dict[str, Any]) -> Any:
    """A mask that is another one in each head."""
    return fovea.any_of(*(fovea.where(h == n) & mask for n, mask in enumerate(masks.values())))


@pytest.mark.parametrize("masks", [OF_CHANGE, *(pytest.param(masks, marks=pytest.mark.night) for masks in OF_NIGHT)])
def test_blocks_are_those_of_a_kernel(masks: dict[str, Any]) -> None:
    q = np.zeros((1, len(masks), QUERIES, 1), np.float32)
    k = np.zeros((1, 1, KEYS, 1), np.float32)
    kernel = fovea.kernel(fovea.dot | in_heads(masks) | fovea.softmax)
    seen = kernel(q, k, k, outputs=("weights",)).weights[0] > 0
    for (name, mask), of in zip(masks.items(), seen):
        assert name in OF_REALS or check_picture(name, mask, of)
    if "random" in masks:
        assert in_heads(masks)._repr_svg_() is None, "a notebook compiles nothing unasked"
        picture = in_heads(masks).picture(queries=QUERIES, keys=KEYS, heads=len(masks), block=1)
        np.testing.assert_array_equal(picture.blocks[0], seen)
        np.testing.assert_array_equal(kernel.picture(q, k, block=1).blocks[0], seen)


def check_picture(name: str, mask: Any, seen: np.ndarray) -> bool:
    for block in ((1, 1), (4, 4), (8, 3)):
        picture = mask.picture(queries=QUERIES, keys=KEYS, block=block)
        np.testing.assert_array_equal(picture.blocks, shares(seen, block)[None, None], name)
    words = " ".join(words_of(picture))
    for kind, fill, share in (("full", "#2171b5", 1), ("empty", "#ffffff", 0)):
        those = picture.blocks[0, 0] == share
        assert f"{kind}: {those.sum()} " in words, name
        np.testing.assert_array_equal(filled(picture, fill, those.shape), those, name)
    blind = int((~seen.any(1)).sum())
    return f"{blind} quer" in words or blind == 0


def shares(of: np.ndarray, block: tuple[int, int]) -> np.ndarray:
    """The share that holds in each block, in plain loops."""
    rows, columns = (range(0, n, size) for n, size in zip(of.shape, block))
    return np.array([[of[a : a + block[0], b : b + block[1]].mean() for b in columns] for a in rows])


def filled(picture: fovea.Picture, fill: str, shape: tuple[int, int]) -> np.ndarray:
    """The blocks that rectangles of a colour cover."""
    covered = np.zeros(shape, bool)
    for path in ElementTree.fromstring(picture.svg).iter(f"{SVG}path"):
        if path.get("fill") == fill and path.get("transform"):
            for column, row, width in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", path.get("d", "")):
                covered[int(row), int(column) : int(column) + int(width)] = True
    return covered


def test_sizes_are_those_of_tables() -> None:
    assert fovea.document(query_ids, key_ids).picture(block=1).blocks.shape == (1, 1, QUERIES, KEYS)
    assert fovea.document(np.zeros((3, 7), int)).picture(block=1).blocks.shape == (3, 1, 7, 7)
    assert fovea.block_list(np.ones((2, 4, 5), bool), 8, 8).picture(block=8).blocks.shape == (1, 2, 4, 5)
    assert fovea.neighborhood([3, 3], [5, 6]).picture(block=1).blocks.shape == (1, 1, 30, 30)
    assert fovea.tree(9, tree_of).picture(block=1).blocks.shape == (1, 1, QUERIES, 29)
    assert fovea.causal.picture().block == (32, 32) and fovea.causal.picture().blocks.shape == (1, 1, 16, 16)
    assert fovea.sliding_window(1000, 0).picture(block=2048).blocks.shape == (1, 1, 1, 1)
    graph = fovea.Graph.from_edges(6, [(0, 3), (5, 8), (5, 1)])
    drawn = fovea.neighbors(graph).picture(block=1).blocks[0, 0]
    assert [*zip(*np.nonzero(drawn))] == [(0, 3), (5, 1), (5, 8)] and drawn.shape == (6, 9)


def test_extremes_are_drawn() -> None:
    for n, m in ((1, 1), (1, 300), (300, 1), (3, 17)):
        picture = fovea.causal_at_end.picture(queries=n, keys=m, block=(np.int64(2), 1000))
        assert picture.blocks.shape == (1, 1, (n + 1) // 2, 1) and ElementTree.fromstring(picture.svg) is not None
        assert ElementTree.fromstring(fovea.attention_map(np.zeros((n, m))).svg) is not None
    everywhere = fovea.where(fovea.kv_idx >= 0).picture(queries=4, keys=4)
    assert (everywhere.blocks == 1).all() and "100 % of pairs are seen" in everywhere.svg
    nowhere = fovea.where(fovea.kv_idx < 0).picture(queries=4, keys=4)
    assert (nowhere.blocks == 0).all() and "; 4 queries see no key" in " ".join(words_of(nowhere))
    assert "NaN or inf: 4" in fovea.attention_map(np.full((2, 2), np.nan)).svg
    long = fovea.document(np.zeros(100_000, int))
    assert long._repr_svg_() is None, "a notebook does not wait for ten thousand million pairs"


def test_pages_show_pictures_as_they_are_made(tmp_path: Path) -> None:
    import pictures

    pictures.mask().save(tmp_path / "mask.svg")
    kept, made = (HOW_TO / "mask_of_heads.svg").read_text(), (tmp_path / "mask.svg").read_text()
    for a, b in zip(images_of(kept), images_of(made), strict=True):
        np.testing.assert_array_equal(a, b)
    without = re.compile(r"base64,[^\"]*")  # other versions of zlib write other bytes
    assert without.sub("", kept) == without.sub("", made)


@pytest.mark.night
def test_pages_show_weights_as_they_are() -> None:
    import pictures

    kept, made = (HOW_TO / "weights_of_heads.svg").read_text(), pictures.heads().svg
    for a, b in zip(images_of(kept), images_of(made), strict=True):
        assert np.abs(a.astype(int) - b).mean() < 0.5


@pytest.mark.night
def test_masks_of_edges_are_asked_of_a_kernel() -> None:
    graph = fovea.Graph.from_edges(6, [(0, 3), (5, 8), (5, 1), (2, 2)])
    chosen = fovea.neighbors(graph) & fovea.where(fovea.param(np.array([1.0, -1.0, 1.0, 1.0]))[fovea.edge] > 0)
    assert [*zip(*np.nonzero(chosen.picture(block=1).blocks[0, 0]))] == [(0, 3), (2, 2), (5, 1)]


def test_kernels_are_drawn_for_their_calls() -> None:
    reach = np.array([4, 90])

    @fovea.kernel
    def local(score, i, j, head, left):
        return score | fovea.causal | fovea.where((i - j < reach[head]) | (j < left)) | fovea.bias(bias) | fovea.softmax

    q, k = np.zeros((1, 2, QUERIES, 8), np.float32), np.zeros((1, 1, KEYS, 8), np.float32)
    a, b = np.indices((QUERIES, KEYS))
    for left in (0, 3):
        expected = (b <= a) & ((a - b < reach[:, None, None]) | (b < left)) & np.isfinite(bias)
        np.testing.assert_array_equal(local.picture(q, k, k, left=left, block=1).blocks[0], expected)
    reach[0] = 9
    drawn = local.picture(q, k, k, left=0, block=1).blocks[0, 0]
    assert {*np.subtract(*np.nonzero(drawn)).tolist()} == {*range(9)}, "the array that the variable has now"
    assert local._repr_svg_() is None, "it lacks an argument"
    drawn = [name for name in fovea._specification.WORDS if getattr(fovea, name)._repr_svg_() is not None]
    assert drawn == ["causal", "causal_at_end", "everything"], "others are no masks, or lack arguments"
    assert (fovea.scaled_dot | fovea.causal | fovea.softmax)._repr_svg_().startswith("<svg")


@pytest.mark.parametrize(
    ("error", "sentence", "draw"),
    [
        (fovea.ShapeError, "is read at", lambda: fovea.document(query_ids).picture(queries=100)),
        (fovea.ArgumentError, "queries is 0", lambda: fovea.causal.picture(queries=0)),
        (fovea.ArgumentError, "block is (0, 1)", lambda: fovea.causal.picture(block=(0, 1))),
        (fovea.ArgumentError, "its arguments do not fit", lambda: fovea.document.picture()),
        (fovea.ArgumentError, "a text in C++", lambda: fovea.kernel("scaled_dot | causal | softmax").picture()),
        (fovea.ShapeError, "weights is (3,)", lambda: fovea.attention_map(np.ones(3))),
        (fovea.ShapeError, "keys has 1 label", lambda: fovea.attention_map(np.ones((4, 4)), keys=["a"])),
        (fovea.ArgumentError, "scale is 'root'", lambda: fovea.attention_map(np.ones((4, 4)), scale="root")),
    ],
)
def test_what_cannot_be_drawn_is_refused(error: type[Exception], sentence: str, draw: Any) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        draw()


def words_of(picture: fovea.Picture) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")]


def images_of(svg: str) -> list[np.ndarray]:
    """The colours (row, column, 3) of the images in a drawing."""
    found = []
    for image in ElementTree.fromstring(svg).iter(f"{SVG}image"):
        data = base64.b64decode(image.get("{http://www.w3.org/1999/xlink}href").partition(",")[2])
        chunks, at = {}, 8
        while at < len(data):
            (size,) = struct.unpack(">I", data[at : at + 4])
            chunks[data[at + 4 : at + 8]] = data[at + 8 : at + 8 + size]
            at += size + 12
        columns, rows = struct.unpack(">II", chunks[b"IHDR"][:8])
        lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(rows, columns + 1)
        found.append(np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[lines[:, 1:]])
    return found


def test_maps_darken_with_weights() -> None:
    weights = np.tril(RNG.random((3, 24, 24)))
    for scale in ("linear", "log"):
        *panels, legend = images_of(fovea.attention_map(weights, scale=scale).svg)
        for panel, of in zip(panels, weights, strict=True):
            times = len(panel) // 24
            bright = panel[::times, ::times].astype(int).sum(2)
            np.testing.assert_array_equal(bright == bright.max(), of == 0)
            order = np.argsort(of, axis=None)
            assert np.all(np.diff(bright.ravel()[order]) <= 0)
        assert {*map(tuple, panels[0].reshape(-1, 3))} - {*map(tuple, legend.reshape(-1, 3))} == {(251, 252, 253)}


def test_maps_have_labels_and_numbers() -> None:
    weights = np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]])
    drawn = fovea.attention_map(weights, queries=["a", "b", "c"], keys=["x", "<y>"], title="A & B", caption="C")
    expected = {"a", "b", "c", "x", "<y>", "A & B", "C", "query", "key", "1", ".25", ".75", "weight, linear"}
    assert expected <= {*words_of(drawn)}


def test_large_maps_say_what_a_cell_is() -> None:
    weights = RNG.random((2048, 2048))
    weights[100, 200] = 5
    for reduce, words in (("max", "the largest"), ("mean", "the mean")):
        picture = fovea.attention_map(weights, reduce=reduce)
        assert len(picture.svg) < 200_000 and f"Each cell is {words} of 7 x 7 pairs." in picture.svg
    rows = np.arange(20)
    many = fovea.where(fovea.param(rows)[h] > i - j).picture()
    assert f"The first 16 of {len(rows)} are drawn." in many.svg and many.blocks.shape[:2] == (1, len(rows))
    assert ">5</text>" in fovea.attention_map(weights).svg
    assert len(fovea.attention_map(RNG.random((8, 64, 64))).svg) < 200_000
    assert len(fovea.mask_tensor(RNG.random((2048, 2048)) < 0.5).picture(block=8).svg) < 200_000


def test_maps_take_edges_negative_numbers_and_nan() -> None:
    graph = fovea.Graph.from_edges(3, [(0, 1), (2, 2)])
    assert {".50", "1"} <= {*words_of(fovea.attention_map(np.array([[[0.5, 1.0]]]), graph=graph))}
    turned = fovea.Graph.from_edges(2, [(1, 0), (0, 1)])  # whose tables are in the order of these edges
    panel = images_of(fovea.attention_map(np.array([[[0.25, 1.0]]]), graph=turned).svg)[0]
    half = len(panel) // 2
    assert panel[0, half].sum() < panel[half, 0].sum() < panel[0, 0].sum() == panel[half, half].sum()
    svg = fovea.attention_map([[-1.0, np.nan], [-np.inf, 2.0]]).svg
    assert "NaN or inf: 1" in svg and ">-2</text>" in svg and "value, linear" in svg
