# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two copies of a network that learn side by side: one has attention by a kernel of fovea, one materialises scores."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch


class Session:
    """One run of a program of this folder, `program.py [short] [exact] [SEED]`, on one core.

    The seed is 1 where none is given. A short run takes few steps, and states no result but that the curves agree. An
    exact one trains a third copy in float64, to say how far rounding alone takes the materialised one from it.
    """

    def __init__(self) -> None:
        words = sys.argv[1:]
        self.is_short, self._is_exact = "short" in words, "exact" in words
        self.seed = next((int(word) for word in words if word.isdecimal()), 1)
        self._missed = False
        torch.set_num_threads(1)
        torch.manual_seed(self.seed)

    def train(
        self,
        kinds: tuple[type, type],
        make: Callable[[type], Any],
        loss_of: Callable[..., Any],
        batches: Sequence[Sequence[Any]],
        rate: float,
        tolerance: float,
    ) -> Any:
        """The network of the first kind of attention, trained by Adam; losses of both may differ by the tolerance."""
        copies = [(kinds[0], torch.float32), (kinds[1], torch.float32), (kinds[1], torch.float64)]
        networks = []
        for kind, dtype in copies[: 3 if self._is_exact else 2]:
            torch.manual_seed(self.seed)  # the same numbers to begin with
            networks.append(make(kind).to(dtype))
        optimizers = [torch.optim.Adam(each.parameters(), rate) for each in networks]
        loss_of(networks[0], *batches[0]).backward()  # compiles
        seconds, apart, rounding, printed = [0.0, 0.0, 0.0], [], 0.0, 0.0
        for step, batch in enumerate(batches):
            losses = []
            for at, (network, optimizer) in enumerate(zip(networks, optimizers)):
                start = time.process_time()
                optimizer.zero_grad()
                loss = loss_of(network, *(x.double() if at == 2 and x.is_floating_point() else x for x in batch))
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                seconds[at] += time.process_time() - start
            apart.append(abs(losses[0] - losses[1]))
            rounding = max(rounding, abs(losses[1] - losses[-1]))
            if step + 1 == len(batches) or time.monotonic() > printed + 2:
                printed = time.monotonic()
                both = f"loss {losses[0]:9.6f}, materialised {losses[1]:9.6f}"
                print(f"  step {step:4d}   {both}, at most {max(apart):.1e} apart", flush=True)
        ratio = seconds[1] / seconds[0]
        print(f"steps of fovea {seconds[0]:.1f} s, materialised {seconds[1]:.1f} s of one core: ratio {ratio:.1f}")
        if self._is_exact:
            print(f"rounding alone, materialised in float32 and float64: {rounding:.1e} apart")
        is_within = all(each <= tolerance for each in apart)  # not where one is NaN
        self.expect(is_within, f"losses are at most {tolerance:.0e} apart: {max(apart):.1e}")
        return networks[0]

    def expect(self, reached: bool, result: str) -> None:
        """A result that the program states: printed, and the run fails where it is missed."""
        print(f"{'reached:' if reached else 'MISSED: '} {result}", flush=True)
        self._missed = self._missed or not reached

    def exit(self) -> None:
        sys.exit(self._missed)
