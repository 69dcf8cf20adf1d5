# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks of examples/training_python, for some steps: losses are those of the same network in PyTorch alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import torch_or_skip

torch = torch_or_skip(__file__)
PROGRAMS = Path(__file__).parents[2] / "examples" / "training_python"
PACKAGE = str(Path(__file__).parents[1])


@pytest.mark.night
@pytest.mark.parametrize("name", ["graph_network", "language_model", "sensor_forecast"])
def test_a_network_has_the_losses_of_materialised_scores(name: str) -> None:
    command = [sys.executable, str(PROGRAMS / f"{name}.py"), "short"]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, text=True)
    assert run.returncode == 0 and "reached: losses" in run.stdout, run.stdout + run.stderr


@pytest.mark.night
@pytest.mark.parametrize(("by", "status"), [(1.0, 0), (1.001, 1), (float("nan"), 1)])
def test_a_run_fails_where_losses_part(monkeypatch: pytest.MonkeyPatch, by: float, status: int) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    monkeypatch.setattr(sys, "argv", ["program.py"])
    from session import Session

    class Scaled(torch.nn.Linear):  # type: ignore[misc, name-defined]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return by * super().forward(x)

    def loss_of(network: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return network(x).square().mean()

    threads = torch.get_num_threads()
    session = Session()
    session.train((torch.nn.Linear, Scaled), lambda kind: kind(3, 2), loss_of, [(torch.ones(4, 3),)] * 3, 1e-2, 1e-5)
    torch.set_num_threads(threads)
    with pytest.raises(SystemExit) as end:
        session.exit()
    assert int(end.value.code or 0) == status
