# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls from many threads of Python, and the scratch memory that they use."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fovea
from cases import make_case, plain_case, plain_kernels


def test_many_threads_call_every_kernel_at_once() -> None:
    cases = [make_case(kernel, positions=16) for kernel in plain_kernels()]
    expected = [case.run() for case in cases]

    def call(i: int) -> None:
        n = i % len(cases)
        np.testing.assert_allclose(cases[n].run(threads=1 + i % 3), expected[n], atol=cases[n].tolerance)

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(call, range(40 * len(cases))))) == 40 * len(cases)


def test_errors_of_threads_are_their_own() -> None:
    case = plain_case()

    def call(i: int) -> str:
        wrong = case.with_arrays(k=np.zeros((3 + i, 4, 8, 8), case.k.dtype))
        with pytest.raises(fovea.ShapeError) as error:
            wrong.run()
        return str(error.value)

    with ThreadPoolExecutor(8) as pool:
        for i, sentence in enumerate(pool.map(call, range(200))):
            assert sentence == f"key has {3 + i} batch elements, query has 2"


def test_each_thread_has_a_workspace_that_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    library = fovea.load(os.environ["FOVEA_KERNELS"])
    created, destroyed = count_workspaces(library, monkeypatch)
    case = plain_case()

    def call() -> None:
        for _ in range(3):
            case.run(library=library)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    del each, threads
    gc.collect()
    assert len(created) == 4
    assert sorted(destroyed) == sorted(created)


def test_workspaces_end_with_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    library = fovea.load(os.environ["FOVEA_KERNELS"])
    created, destroyed = count_workspaces(library, monkeypatch)
    plain_case().run(library=library)
    assert (len(created), len(destroyed)) == (1, 0)
    monkeypatch.undo()
    fovea.load(os.environ["FOVEA_KERNELS"])
    del library
    gc.collect()
    assert destroyed == created


def count_workspaces(library: fovea.Library, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    created: list[int] = []
    destroyed: list[int] = []
    create, destroy = library._create_workspace, library._destroy_workspace

    def counted_create() -> int:
        created.append(create())
        return created[-1]

    def counted_destroy(workspace: int) -> None:
        destroyed.append(workspace)
        destroy(workspace)

    monkeypatch.setattr(library, "_create_workspace", counted_create)
    monkeypatch.setattr(library, "_destroy_workspace", counted_destroy)
    return created, destroyed


def test_no_memory_for_a_workspace_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    library = fovea.load(os.environ["FOVEA_KERNELS"])
    monkeypatch.setattr(library, "_create_workspace", lambda: None)
    with pytest.raises(MemoryError, match="no memory for a workspace"):
        plain_case().run(library=library)


def test_other_threads_of_python_run_during_a_call() -> None:
    case = plain_case(positions=512, heads=8)
    done = threading.Event()
    steps = 0

    def call() -> None:
        for _ in range(20):
            case.run_raw()
        done.set()

    thread = threading.Thread(target=call)
    thread.start()
    while not done.is_set():
        steps += 1
    thread.join()
    assert steps > 100


def test_a_program_may_end_while_threads_compute() -> None:
    plain_case()  # skipped where there is none
    program = """
import threading, numpy, fovea
from cases import plain_case
case = plain_case(positions=512, heads=8)
def call():
    while True: case.run_raw()
for _ in range(3): threading.Thread(target=call, daemon=True).start()
case.run_raw()
"""
    ended = run_program(program)
    assert ended.returncode == 0, ended.stderr


def test_a_child_may_call_after_a_fork() -> None:
    plain_case()  # skipped where there is none
    program = """
import os, numpy, fovea
from cases import plain_case
case = plain_case(positions=64)
expected = case.run(threads=2)
child = os.fork()
numpy.testing.assert_allclose(case.run(threads=2), expected, atol=case.tolerance)
if child != 0:
    assert os.waitpid(child, 0)[1] == 0
"""
    ended = run_program(program)
    assert ended.returncode == 0, ended.stderr


def run_program(program: str) -> Any:
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{here.parent}"}
    environment["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
