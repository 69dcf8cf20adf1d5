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
        for wrong in ("2", None, [1, 2]) + ((2.5, 2**63) if a.type == "int64_t" else ()):
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
    with pytest.raises(fovea.ShapeError, match=f"^{word} has 1 axes"):
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
        "key has 1 batch elements, query has 2": {"k": case.k[:1]},
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
    monkeypatch.setattr("fovea._library._default", None)
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
