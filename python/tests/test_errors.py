# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each wrong call is an exception whose sentence names what is wrong, and writes nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fovea
from cases import Case, for_kernels, kernel_named, make_case, plain_case, takes


def changed(case: Case, **arguments: Any) -> Case:
    return case.with_arrays(arguments={**case.arguments, **arguments})


def test_errors_are_what_callers_expect() -> None:
    assert issubclass(fovea.ShapeError, ValueError)
    assert issubclass(fovea.GraphError, ValueError)
    assert issubclass(fovea.UnsupportedError, RuntimeError)
    assert issubclass(fovea.ArgumentError, TypeError)
    for error in (fovea.ShapeError, fovea.GraphError, fovea.UnsupportedError, fovea.ArgumentError):
        assert issubclass(error, fovea.Error)


def test_unknown_kernel_lists_the_kernels(library: fovea.Library) -> None:
    case = plain_case()
    with pytest.raises(fovea.Error, match=f"no kernel 'nothing' in .*{case.kernel.name}"):
        fovea.attend(case.q, case.k, case.v, "nothing")
    with pytest.raises(AttributeError, match="no kernel 'nothing'"):
        library.nothing
    assert not hasattr(library, "_nothing")


def test_type_that_was_not_built_lists_the_types() -> None:
    case = plain_case()
    missing = [t for t in ("f32", "f64", "f16") if t not in case.kernel.types]
    if not missing:
        pytest.skip(f"{case.kernel.name} is built for all types of NumPy")
    q = np.ones((2, 4), {"f32": "f4", "f64": "f8", "f16": "f2"}[missing[0]])
    with pytest.raises(
        fovea.UnsupportedError, match=f"built for {', '.join(case.kernel.types)} .* not for {missing[0]}"
    ):
        fovea.attend(q, q, q, case.kernel.name)


@for_kernels("take arguments", lambda kernel: bool(kernel.arguments))
def test_every_argument_has_to_be_passed(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    for name in case.arguments:
        rest = {n: x for n, x in case.arguments.items() if n != name}
        with pytest.raises(fovea.ArgumentError, match=f"the call of {kernel.name} lacks {name}: it takes .*{name}"):
            case.with_arrays(arguments=rest).run()


def test_no_other_argument_can_be_passed(kernel: fovea.Kernel) -> None:
    with pytest.raises(fovea.ArgumentError, match=f"call of {kernel.name} does not take colour: it takes "):
        changed(make_case(kernel), colour=1).run()


@for_kernels("take tables", lambda kernel: any(a.shape for a in kernel.arguments))
def test_tables_have_to_have_their_shapes(kernel: fovea.Kernel) -> None:
    tables = [a for a in kernel.arguments if a.shape]
    case = make_case(kernel)
    known = {"batch", "heads", "key_heads", "queries", "keys", "features", "value_features"}
    for a in tables:
        table = np.asarray(case.arguments[a.name])
        with pytest.raises(fovea.ShapeError, match=f"^{a.name} is \\(1, .*it must be "):
            changed(case, **{a.name: table[None]}).run()
        for axis in (i for i, name in enumerate(a.shape) if name in known):
            for wrong in (np.delete(table, 0, axis), table.take([], axis), table.repeat(2, axis)):
                with pytest.raises(fovea.ShapeError, match=f"^{a.name} is "):
                    changed(case, **{a.name: wrong}).run()


@for_kernels("take tables", lambda kernel: any(a.shape for a in kernel.arguments))
def test_tables_have_to_have_numbers_of_their_kind(kernel: fovea.Kernel) -> None:
    tables = [a for a in kernel.arguments if a.shape]
    case = make_case(kernel)
    for a in tables:
        table = np.asarray(case.arguments[a.name])
        wrong = table + 0.5 if "int" in a.type else table + 0.5j
        with pytest.raises(fovea.ArgumentError, match=f"^{a.name} has elements of "):
            changed(case, **{a.name: wrong}).run()
        if a.type == "int32_t":
            with pytest.raises(fovea.ArgumentError, match=f"^{a.name} has the element {2**40}, which is no int32"):
                changed(case, **{a.name: np.full(table.shape, 2**40)}).run()
        with pytest.raises(fovea.ArgumentError, match=f"^{a.name} is "):
            changed(case, **{a.name: object()}).run()


@for_kernels("take numbers", lambda kernel: any(not a.shape and a.type != "fovea_graph" for a in kernel.arguments))
def test_numbers_have_to_be_numbers(kernel: fovea.Kernel) -> None:
    numbers = [a for a in kernel.arguments if not a.shape and a.type != "fovea_graph"]
    for a in numbers:
        for wrong in ("2", None, [1, 2], np.ones(1), 1j) + ((2.5, 2**63) if a.type == "int64_t" else (10**400,)):
            with pytest.raises(fovea.ArgumentError, match=f"^{a.name} is "):
                changed(make_case(kernel), **{a.name: wrong}).run()


def test_graphs_have_to_fit() -> None:
    kernel = kernel_named("edges", "gat", "gatv2")
    case = make_case(kernel)
    name = next(a.name for a in kernel.arguments if a.type == "fovea_graph")
    wrong = {
        "rows for 3 queries": fovea.Graph.from_edges(3, []),
        "offsets run from 1 to 1": fovea.Graph([1] * 9, [0]),
        "less than the one before": fovea.Graph([0, 2, 1, 1, 1, 1, 1, 1, 2], [0, 1]),
        "leads to key 8": fovea.Graph.from_edges(8, [(0, 8)]),
        "leads to key -1": fovea.Graph([0] * 8 + [1], [-1]),
        "has the number 7": fovea.Graph([0] * 8 + [1], [0], [7]),
    }
    for sentence, graph in wrong.items():
        with pytest.raises(fovea.GraphError, match=sentence):
            changed(case, **{name: graph}).run()
    with pytest.raises(fovea.ArgumentError, match=f"{name} is of type int, it must be a fovea.Graph"):
        changed(case, **{name: 3}).run()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: fovea.Graph([], []), "offsets is empty"),
        (lambda: fovea.Graph([[0]], []), "offsets has 2 axes"),
        (lambda: fovea.Graph([0, 1], [0.5]), "keys has elements of float64"),
        (lambda: fovea.Graph([0, 1], [2**31]), "keys has the element 2147483648"),
        (lambda: fovea.Graph([0, 1], [0], [0, 1]), "numbers has 2 elements, keys has 1"),
        (lambda: fovea.Graph.from_edges(-1, []), "queries is -1"),
        (lambda: fovea.Graph.from_edges(2**70, []), f"queries is {2**70}, it must be from 0 "),
        (lambda: fovea.Graph.from_edges("3", []), "queries is '3', it must be an integer"),
        (lambda: fovea.Graph.from_edges(2.5, []), "queries is 2.5, it must be an integer"),
        (lambda: fovea.Graph.from_edges(1, [(1, 0)]), "ends at query 1, there is 1 query$"),
        (lambda: fovea.Graph.from_edges(2, [(0,), (0, 1)]), "edges is no table"),
        (lambda: fovea.Graph.from_edges(2, None), r"edges is \(\)"),
        (lambda: fovea.Graph.from_edges(2, [(0, 2**70)]), "edges has elements of object"),
        (lambda: fovea.Graph(None, []), "offsets is of type NoneType"),
        (lambda: fovea.Graph([0, 1], [0], [0, 1, 2]), "numbers has 3 elements, keys has 1$"),
        (lambda: fovea.Graph([0, 2], [0, 1], [0]), "numbers has 1 element, keys has 2$"),
        (lambda: fovea.Graph.from_edges(2, [(2, 0)]), "ends at query 2, there are 2"),
        (lambda: fovea.Graph.from_edges(2, [(0, -1)]), "begins at key -1"),
        (lambda: fovea.Graph.from_edges(2, [(0, 2**31)]), "begins at key 2147483648"),
        (lambda: fovea.Graph.from_edges(2, [0, 1]), r"edges is \(2,\)"),
        (lambda: fovea.Graph.from_edges(2, [(0.0, 1.0)]), "edges has elements of float64"),
    ],
)
def test_graphs_have_to_be_lists_of_neighbours(make: Any, sentence: str) -> None:
    with pytest.raises(fovea.GraphError, match=sentence):
        make()


def test_pages_have_to_be_there() -> None:
    case = make_case(kernel_named("decode"))
    table = case.arguments["page_table"].copy()
    table[1, 0] = case.k.shape[0]
    with pytest.raises(fovea.ShapeError, match=f"key has {case.k.shape[0]} pages, its table asks for page"):
        changed(case, page_table=table).run()
    with pytest.raises(fovea.ShapeError, match=r"key has 3 axes, it must be \(page, head, slot, feature\)"):
        case.with_arrays(k=case.k[0]).run()


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_arrays_have_to_be_arrays_of_one_type(name: str) -> None:
    case = plain_case()
    word = {"q": "query", "k": "key", "v": "value"}[name]
    x = getattr(case, name)
    for wrong in (x.astype(np.int32), x.astype(complex), x.tolist(), None, "text", np.ma.masked_array(x)):
        with pytest.raises(fovea.ArgumentError, match=f"^{word} "):
            case.with_arrays(**{name: wrong}).run_raw()
    with pytest.raises(fovea.ShapeError, match=f"^{word} has 1 axis,"):
        case.with_arrays(**{name: x[0, 0, 0]}).run()
    with pytest.raises(fovea.ShapeError, match=f"^{word} has 5 axes"):
        case.with_arrays(**{name: x[None]}).run()


def test_types_that_differ_name_the_array() -> None:
    case = plain_case()
    other = np.float64 if case.type == "f32" else np.float32
    for name, word in (("k", "key"), ("v", "value")):
        with pytest.raises(fovea.ArgumentError, match=f"^{word} has elements of f.., query has {case.type}"):
            case.with_arrays(**{name: np.ones((2, 4, 8, 8), other)}).run()
    with pytest.raises(fovea.ArgumentError, match="dtype is 'float', it must be one of f32, f64, bf16, f16"):
        fovea.attend(case.q, case.k, case.v, case.kernel.name, dtype="float")
    with pytest.raises(fovea.ArgumentError, match="query has elements of f64, dtype is f32"):
        fovea.attend(np.ones((2, 2)), case.k, case.v, case.kernel.name, dtype="f32")
    bits = np.ones((2, 2), np.uint16)
    with pytest.raises(fovea.ArgumentError, match='query has elements of uint16.*dtype="bf16"'):
        fovea.attend(bits, bits, bits, case.kernel.name)


def test_arrays_have_to_fit_one_another() -> None:
    case = plain_case()
    wrong = {
        "key has 1 batch element, query has 2": {"k": case.k[:1]},
        "value has 3 positions, key has 8": {"v": case.v[:, :, :3]},
        "value has 2 heads, key has 4": {"v": case.v[:, :2]},
        "not a multiple of the 3 heads": {"k": case.k[:, :3], "v": case.v[:, :3]},
        "feature by feature": {"k": case.k[..., :3]},
    }
    for sentence, arrays in wrong.items():
        with pytest.raises(fovea.ShapeError, match=sentence):
            case.with_arrays(**arrays).run()


def test_out_has_to_fit() -> None:
    case = plain_case()
    right = case.run_raw()
    for wrong in (right[0], right[:1], right[..., :3], np.zeros((2, 4, 8, 9), right.dtype)):
        with pytest.raises(fovea.ShapeError, match=r"out is .*, it must be \(2, 4, 8, 5\)"):
            case.run_raw(out=wrong)
    with pytest.raises(fovea.ArgumentError, match="out has elements of "):
        case.run_raw(out=right.astype(np.float64 if case.type == "f32" else np.float32))
    with pytest.raises(fovea.ArgumentError, match="out is of type list"):
        case.run_raw(out=[])
    right.flags.writeable = False
    with pytest.raises(fovea.ArgumentError, match="out is read-only"):
        case.run_raw(out=right)


def test_shapes_that_only_the_kernel_knows_are_told(monkeypatch: pytest.MonkeyPatch, library: fovea.Library) -> None:
    """As those of results of projections and of joined heads."""
    case = plain_case()
    compiled = library._compiled[case.kernel.name][case.type]
    monkeypatch.setattr(compiled, "keeps_shape", False)
    np.testing.assert_array_equal(case.run_raw(library=library), case.run_raw(out=np.zeros_like(case.run_raw())))
    with pytest.raises(fovea.ShapeError, match=r"^result is \(2, 4, 8, 3\) and must be \(2, 4, 8, 5\), "):
        case.run_raw(out=case.run_raw()[..., :3], library=library)

    scratch = library._scratch.value
    monkeypatch.setattr(type(scratch), "message", property(lambda self: "result is (1) and must be (2)"))
    monkeypatch.setattr(compiled, "run", lambda *rest: 1)
    with pytest.raises(fovea.ShapeError, match="pass an array of that shape as out"):
        case.run_raw(library=library)


def outs_that_overlap(shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, np.ndarray]:
    """Each element of some memory twice, by strides that C takes and by strides for which Python copies."""
    memory = np.full(4096, 7, dtype)
    size = memory.itemsize

    def strided(*strides: int, of: np.ndarray = memory) -> np.ndarray:
        return np.lib.stride_tricks.as_strided(of, shape, [s * size for s in strides])

    _, heads, positions, features = shape
    swapped = memory.view(memory.dtype.newbyteorder())
    rows = features * positions
    return {
        "the same batch twice": strided(0, rows, features, 1),
        "the same feature": strided(heads * rows, rows, features, 0),
        "the same position, every second feature": strided(2 * heads * rows, 2 * rows, 0, 2),
        "the same head, backwards": strided(rows, 0, features, -1, of=memory[2000:]),
        "windows": strided(heads * rows, rows, 1, 1),
        "windows, every second feature": strided(2 * heads * rows, 2 * rows, 2, 2),
        "windows, backwards": strided(heads * rows, rows, -1, 1, of=memory[2000:]),
        "the other byte order": strided(0, rows, features, 1, of=swapped),
    }


def test_out_may_not_overlap_itself() -> None:
    case = plain_case()
    right = case.run_raw()
    for what, out in outs_that_overlap(right.shape, right.dtype).items():
        before = out.copy()
        with pytest.raises(fovea.ShapeError, match=r"would be written (twice|more than once)"):
            case.run_raw(out=out)
            pytest.fail(what)
        np.testing.assert_array_equal(out, before)


@pytest.mark.parametrize("seed", range(20))
def test_out_is_refused_for_its_overlaps_alone(seed: int) -> None:
    """Random strides: refused where two elements share a place, and written right where none do."""
    case = plain_case(batch=2, heads=2, positions=3)
    right = case.run_raw()
    random = np.random.default_rng(seed)
    memory = np.full(1 << 14, 7, right.dtype)
    for _ in range(30):
        strides = random.choice([1, 2, 3, 5, 6, 7, 10, 15, 30, 31, 45, -1, -2, -10, 90, 0], right.ndim, replace=False)
        out = np.lib.stride_tricks.as_strided(memory[1 << 13 :], right.shape, strides * memory.itemsize)
        places = {int(np.dot(index, strides)) for index in np.ndindex(right.shape)}
        if len(places) < right.size:
            with pytest.raises(fovea.ShapeError, match="would be written"):
                case.run_raw(out=out)
            assert np.all(memory == 7)
        else:
            np.testing.assert_array_equal(case.run_raw(out=out), right)
            memory[:] = 7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"kernel": ["causal"]}, "kernel is of type list, it must be the name of a kernel"),
        ({"kernel": None}, "kernel is of type NoneType"),
        ({"kernel": b"causal"}, "kernel is of type bytes"),
        ({"kernel": 3}, "kernel is of type int"),
        ({"kernel": np.ones(2)}, "kernel is of type ndarray"),
        ({"library": "libattention.so"}, "library is of type str, it must be a fovea.Library, which fovea.load makes"),
        ({"library": 0}, "library is of type int"),
        ({"dtype": ["bf16"]}, r"dtype is \['bf16'\], it must be one of f32"),
        ({"dtype": np.float32}, "dtype is <class 'numpy.float32'>, it must be one of f32"),
        ({"dtype": np.ones(2)}, "it must be one of f32"),
        ({"threads": "2"}, "threads is '2', it must be an integer"),
        ({"threads": None}, "threads is None, it must be an integer"),
        ({"threads": [2]}, r"threads is \[2\], it must be an integer"),
        ({"threads": np.ones(2)}, "threads is .* it must be an integer"),
        ({"out": (np.ones(2),)}, "out is of type tuple"),
        ({"out": "out"}, "out is of type str"),
        ({"out": 3}, "out is of type int"),
    ],
)
def test_options_have_to_be_of_their_types(arguments: dict[str, Any], sentence: str) -> None:
    case = plain_case()
    options: dict[str, Any] = {"kernel": case.kernel.name, **arguments}
    with pytest.raises(fovea.ArgumentError, match=sentence):
        fovea.attend(case.q, case.k, case.v, **options)


@pytest.mark.parametrize(
    ("path", "name", "sentence"),
    [
        (3, None, "path is of type int, it must be the path of a library"),
        (None, None, "path is of type NoneType"),
        (b"lib.so", None, "path is of type bytes"),
        (["lib.so"], None, "path is of type list"),
        ("lib.so", 3, "name is of type int, it must be the TARGET"),
    ],
)
def test_libraries_are_loaded_by_path_and_name(path: Any, name: Any, sentence: str) -> None:
    with pytest.raises(fovea.ArgumentError, match=sentence):
        fovea.load(path, name)
    with pytest.raises(fovea.ArgumentError, match="library is of type str"):
        fovea.kernels("libattention.so")  # type: ignore[arg-type]


def test_counts_have_their_nouns() -> None:
    from fovea._errors import counted, there_are

    assert [counted(n, "axis") for n in (0, 1, 2)] == ["0 axes", "1 axis", "2 axes"]
    assert [counted(n, "query") for n in (1, 3)] == ["1 query", "3 queries"]
    assert [counted(n, "key") for n in (1, 3)] == ["1 key", "3 keys"]
    assert [counted(n, "element") for n in (1, 3)] == ["1 element", "3 elements"]
    assert [there_are(n, "edge") for n in (1, 3)] == ["there is 1 edge", "there are 3 edges"]


def test_out_may_not_lie_in_what_is_read() -> None:
    case = plain_case()
    before = case.v.copy()
    whole = case.with_arrays(q=case.v, k=case.v)
    with pytest.raises(fovea.ShapeError, match="result overlaps"):
        whole.run_raw(out=case.v)
    np.testing.assert_array_equal(case.v, before)


def test_nothing_is_written_where_the_call_is_wrong() -> None:
    case = plain_case()
    out = np.full_like(case.run_raw(), 7)
    with pytest.raises(fovea.ShapeError):
        case.with_arrays(k=case.k[:1]).run_raw(out=out)
    assert np.all(out == 7)


@pytest.mark.parametrize(("threads", "sentence"), [(0, "1 or more"), (-1, "1 or more"), (1.5, "an integer")])
def test_threads_have_to_be_a_number(threads: Any, sentence: str) -> None:
    with pytest.raises(fovea.ArgumentError, match=f"^threads is .*{sentence}"):
        plain_case().run(threads=threads)


class Broken:
    """Something with a shape that is none, and no other use."""

    shape = 3
    format = "csr"
    indptr = indices = "text"


JUNK = [None, "text", b"bytes", [], [[]], [1, [2]], {}, (), object(), Broken(), 1.5, -1, 10**400, 1j, float("nan"), int]
JUNK += [np.ones(2), np.ones((2, 2, 2), "U3"), np.array([None]), np.zeros((0, 0)), np.float32(1), np.datetime64("now")]
JUNK += [np.ones((2, 2), [("a", "f4")]), np.ma.masked_array([1.0]), Ellipsis, slice(2), range(3), memoryview(b"ab")]


@pytest.mark.parametrize("junk", JUNK, ids=[f"{i}-{type(x).__name__}" for i, x in enumerate(JUNK)])
def test_whatever_is_passed_the_error_is_one_of_fovea(junk: Any, kernel: fovea.Kernel) -> None:
    """A sentence of this package or, where the thing will do, a result."""
    case = make_case(kernel)

    def attend(**changed: Any) -> None:
        arrays = {name: changed.pop(name, getattr(case, name)) for name in ("q", "k", "v")}
        fovea.attend(*arrays.values(), **{"kernel": kernel.name, **case.arguments, **changed})

    names = ["q", "k", "v", "kernel", "out", "threads", "library", "dtype", *case.arguments]
    calls = [lambda name=name: attend(**{name: junk}) for name in names]
    calls += [lambda: fovea.load(junk), lambda: fovea.load(os.environ["FOVEA_KERNELS"], junk)]
    calls += [lambda: fovea.Graph(junk, [0]), lambda: fovea.Graph([0, 1], junk), lambda: fovea.Graph([0, 1], [0], junk)]
    calls += [lambda: fovea.Graph.from_edges(junk, [(0, 0)]), lambda: fovea.Graph.from_edges(3, junk)]
    calls += [lambda: fovea.kernels(junk)]
    for call in calls:
        try:
            call()
        except fovea.Error as error:
            assert str(error)


def test_libraries_have_to_be_libraries_of_kernels(tmp_path: Path) -> None:
    with pytest.raises(fovea.Error, match="there is no library of kernels at .*nothing.so"):
        fovea.load(tmp_path / "nothing.so")
    text = tmp_path / "libtext.so"
    text.write_text("no library")
    with pytest.raises(fovea.Error, match="cannot be loaded"):
        fovea.load(text)
    renamed = tmp_path / "librenamed.so"
    renamed.symlink_to(os.path.abspath(os.environ["FOVEA_KERNELS"]))
    with pytest.raises(fovea.Error, match="no function renamed_bindings_version: pass the TARGET"):
        fovea.load(renamed)


def test_without_a_library_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fovea._calls._default", None)
    monkeypatch.delenv("FOVEA_KERNELS")
    for call in (fovea.kernels, lambda: fovea.attend([], [], [])):
        with pytest.raises(
            fovea.Error, match=r"call fovea.load\(path\), or set the environment variable FOVEA_KERNELS"
        ):
            call()


def test_statuses_of_c_become_exceptions() -> None:
    from fovea._errors import error_of_status

    expected = [fovea.ShapeError, fovea.GraphError, MemoryError, fovea.UnsupportedError, fovea.Error, fovea.Error]
    for status, kind in enumerate(expected, start=1):
        error = error_of_status(status, "why")
        assert (type(error), str(error)) == (kind, "why")
    assert str(error_of_status(5, "")) == "the kernel failed with status 5"


@for_kernels("run over sequences", lambda kernel: takes(kernel, "query_offsets"))
def test_sequences_have_to_be_told_by_offsets(kernel: fovea.Kernel) -> None:
    case = make_case(kernel)
    for wrong in ([], [0], [0, 4, 5], [[0, 8]]):
        with pytest.raises(fovea.ShapeError, match="offsets"):
            changed(case, query_offsets=np.array(wrong, np.int64)).run()
