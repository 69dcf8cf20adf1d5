# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler and the cache, with a compiler that copies a library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from spellings import K, Q, V

import fovea
from fovea import _compile


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A compiler that appends a line to a file and copies a library, or says what it is told and fails."""
    count, library, says = (tmp_path / name for name in ("count", "library.so", "says"))
    library.write_bytes(b"\x7fELF and so on")
    compiler = tmp_path / "fake-c++"
    compiler.write_text(
        f"""#!/bin/sh
echo x >>{count}
[ -e {says} ] && cat {says} >&2 && exit 1
while [ "$1" != -o ]; do shift; done
sleep 0.3
cp {library} "$2"
"""
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("FOVEA_CACHE", str(tmp_path / "cache"))
    return SimpleNamespace(
        count=lambda: len(count.read_text().split()) if count.exists() else 0, says=says, cache=tmp_path / "cache"
    )


def test_a_unit_is_compiled_once(fake: SimpleNamespace) -> None:
    path = _compile.library_of("one", "mine", "f")
    assert _compile.library_of("one", "mine", "f") == path and fake.count() == 1
    assert _compile.library_of("two", "mine", "f") != path and fake.count() == 2
    assert path.read_bytes().startswith(b"\x7fELF and so on")
    assert not list(fake.cache.glob(".compiling-*"))


def test_broken_files_are_compiled_again(fake: SimpleNamespace) -> None:
    path = _compile.library_of("one", "mine", "f")
    for content in (b"", path.read_bytes()[:-1], b"x" + path.read_bytes()):
        path.write_bytes(content)
        assert _compile.library_of("one", "mine", "f") == path
        assert path.read_bytes().startswith(b"\x7fELF and so on")
    assert fake.count() == 4
    other = _compile.library_of("two", "mine", "f")
    other.write_bytes(path.read_bytes())  # whole, but another kernel
    _compile.library_of("two", "mine", "f")
    assert fake.count() == 6


def test_processes_side_by_side_compile_once(fake: SimpleNamespace) -> None:
    program = "from fovea import _compile; print(_compile.library_of('three', 'mine', 'f').read_bytes()[:4])"
    path = [str(Path(fovea.__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    started = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE) for _ in range(4)
    ]
    assert {process.communicate()[0] for process in started} == {b"b'\\x7fELF'\n"}
    assert fake.count() == 1


def test_a_folder_that_others_may_write_is_not_used(fake: SimpleNamespace) -> None:
    fake.cache.mkdir(mode=0o777)
    fake.cache.chmod(0o777)
    assert _compile.library_of("four", "mine", "f").parent != fake.cache


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        (
            "a.hpp:1:1: error: static assertion failed: fovea: this is a mask: write it before the normalizer\n  1 | x",
            "mine: this is a mask: write it before the normalizer",
        ),
        ("error: static assertion failed due to requirement 'x': fovea: a word\n", "mine: a word"),
        ("k:2:1: error: 'foo' was not declared\n", "cannot be compiled: fake-c++ ends with: 'foo' was not declared"),
        ("cc1plus: fatal error: x: No space left on device\n", "no space is left in "),
    ],
)
def test_errors_of_the_compiler_become_a_sentence(fake: SimpleNamespace, says: str, sentence: str) -> None:
    fake.says.write_text(says)
    with pytest.raises(fovea.Error) as caught:
        _compile.library_of("five", "mine", "f")
    assert sentence in str(caught.value)


def test_a_compiler_is_called_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers do by their name what they do: clang++ is a link to clang, which links no library of C++."""
    (tmp_path / "clang").write_text("#!/bin/sh\n")
    (tmp_path / "clang").chmod(0o755)
    (tmp_path / "clang++").symlink_to("clang")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "clang++ --flag")
    assert _compile.find_compiler() == (str(tmp_path / "clang++"), "--flag")
    monkeypatch.delenv("CXX")
    assert _compile.find_compiler() == (str(tmp_path / "clang++"),)


def test_a_missing_compiler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(fovea.UnsupportedError, match="needs a compiler, and CXX is 'no-such-compiler', which is not"):
        _compile.find_compiler()


def test_the_order_of_words_is_that_of_the_language() -> None:
    mine = fovea.kernel(fovea.scaled_dot | fovea.softmax | fovea.causal | fovea.weighted_sum)
    with pytest.raises(fovea.ArgumentError, match=r"write it after the score function and before the normalizer$"):
        mine(Q, K, V)
