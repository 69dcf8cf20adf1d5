# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A type checker accepts programs that use the package as it is meant, and reports mistakes; nothing is compiled.

It reads PyTorch at the level night alone, which takes longer than all the rest.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import NIGHT

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "fovea"
WITH_TORCH = NIGHT and importlib.util.find_spec("torch") is not None
PROGRAMS = [HERE / "typed" / name for name in ("right.py", "wrong.py", *["right_torch.py"] * WITH_TORCH)]
OF_TORCH = ("torch.py", "_torch.py")  # in the package


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    """What mypy --strict says of the package and the programs: errors by file and line."""
    mypy = shutil.which("mypy")
    if mypy is None:
        pytest.skip("types are not checked: mypy is not installed")
    options = ["--strict", "--show-error-codes", "--no-error-summary", "--hide-error-context", "--no-color-output"]
    folder = tmp_path_factory.mktemp("mypy")
    skipped = "" if WITH_TORCH else "[mypy-torch.*]\nfollow_imports = skip\n"
    (folder / "mypy.ini").write_text(f"[mypy]\n{skipped}")
    options += ["--ignore-missing-imports", f"--config-file={folder / 'mypy.ini'}", f"--cache-dir={folder}"]
    command = [mypy, *options, PACKAGE, *PROGRAMS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    assert done.returncode in (0, 1) and not done.stderr, done.stdout + done.stderr
    found = re.findall(r"^(?:.*/)?(\w+\.pyi?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert len(found) == done.stdout.count(" error: ")
    return {(file, int(line)): error for file, line, error in found}


def test_no_mistake_is_found(said: dict[tuple[str, int], str]) -> None:
    left_out = () if WITH_TORCH else OF_TORCH
    assert not [(at, error) for at, error in said.items() if at[0] not in ("wrong.py", *left_out)]


def test_each_mistake_is_found(said: dict[tuple[str, int], str]) -> None:
    lines = (HERE / "typed" / "wrong.py").read_text().splitlines()
    mistakes = {n: line.split("  # ")[1].split() for n, line in enumerate(lines, 1) if "  # " in line}
    assert len(mistakes) > 50
    found = {at[1]: error for at, error in said.items() if at[0] == "wrong.py"}
    assert found.keys() == mistakes.keys(), sorted(found.keys() ^ mistakes.keys())
    for n, codes in mistakes.items():
        assert found[n].endswith(tuple(f"[{code}]" for code in codes)), (lines[n - 1], found[n])


def test_words_take_what_their_types_say() -> None:
    """The program without mistakes makes its kernels, too."""
    spec = importlib.util.spec_from_file_location("right", HERE / "typed" / "right.py")
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    for kernel in program.KERNELS:
        assert kernel.text.count("|") >= 2
    assert program.of_words.text.startswith("scaled_dot | relative_bias(table)")
    assert program.graphs_and_errors() == 1
