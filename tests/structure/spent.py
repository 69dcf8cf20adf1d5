#!/usr/bin/env python3
"""Where the time of a build and its tests went, from the logs of Ninja and CTest.

    tests/structure/spent.py [BUILD_DIR]        build/release where none is named

Seconds are those of a clock, summed over what ran at the same time: read them on a machine that does nothing else. Each
unit and test counts as when it last ran.
"""

import collections
import math
import pathlib
import re
import sys

SHOWN = 10


def units(build: pathlib.Path) -> dict[str, float]:
    """Seconds of each product of the build; one command with several products counts once."""
    seconds, commands = {}, {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, product, command = line.split("\t")
        earlier = commands.get((begin, end, command))
        if (build / product).exists() and earlier in (None, product):
            commands[begin, end, command] = product
            seconds[product] = (int(end) - int(begin)) / 1000
    return seconds


def tests(build: pathlib.Path) -> dict[str, float]:
    """Seconds of each test; none where none has run."""
    log = build / "Testing/Temporary/CTestCostData.txt"
    lines = log.read_text().split("---")[0].splitlines() if log.exists() else []
    # CTest reads a name with blanks back in part, and may take a word of it for the cost.
    costs = {name: float(cost) for name, _, cost in (line.rsplit(" ", 2) for line in lines)}
    return {name: cost for name, cost in costs.items() if math.isfinite(cost)}


def of_unit(product: str) -> str:
    """The target that a product belongs to, or its folder."""
    target = re.search(r"CMakeFiles/([^/]+)\.dir/", product)
    return target[1] if target else str(pathlib.PurePath(product).parent)


def of_test(name: str) -> str:
    return "/".join(name.split("/")[:2]) if name.startswith(("native", "avx", "sse")) else name.split("/")[0]


def show(title: str, seconds: dict[str, float], group) -> None:
    sums: dict[str, float] = collections.Counter()
    for name, each in seconds.items():
        sums[group(name)] += each
    print(f"{title}: {sum(seconds.values()):.0f} s in {len(seconds)}")
    for heading, these in (("by group", sums), ("dearest", seconds)):
        print(f"  {heading}")
        for name, each in sorted(these.items(), key=lambda item: -item[1])[:SHOWN]:
            print(f"    {each:7.1f} s  {name}")


def main() -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build/release"
    if not (build / ".ninja_log").exists():
        print(f"{build} was not built by Ninja, or not yet", file=sys.stderr)
        return 1
    show("build", units(build), of_unit)
    show("tests", tests(build), of_test)
    return 0


if __name__ == "__main__":
    sys.exit(main())
