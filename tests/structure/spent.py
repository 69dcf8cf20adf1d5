#!/usr/bin/env python3
"""Where the time of a build and its tests went, and whether each test program keeps to its share of it.

    tests/structure/spent.py [BUILD_DIR]        build/release where none is named

Seconds are those of a clock, summed over what ran at the same time, from the logs of Ninja and CTest: read them on a
machine that does nothing else. Each unit and test counts as when it last ran.

What costs a compiler most is instantiating attend, gradient and their definitions for a specification and types. How
many of these the objects of each program hold does not depend on the machine, though it does on the compiler:
shares.txt has a number of GCC's for each program and level, and one that exceeds its own fails. A change that needs more
takes it from another program, or says why not.
"""

import collections
import concurrent.futures
import math
import os
import pathlib
import re
import subprocess
import sys

SHOWN = 10
SHARES = pathlib.Path(__file__).with_name("shares.txt")
# attend_on, gradient_on and their definitions, each with its template arguments: not what is nested in them, as the
# lambdas of a call that other functions are instantiated for. The namespace of a set of instructions stands before them.
INSIDE_SET = re.compile(r"_ZN5fovea(\d+)(?=set_)")
INSTANTIATED = re.compile(r"(?:9attend_on|11gradient_on|9reference9attend_in|9reference16compute_gradient)I\w+")


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


def instantiated_in(path: pathlib.Path) -> int:
    """How many calls and definitions an object holds the code of."""
    listed = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=False).stdout
    names = {line.rsplit(" ", 1)[-1] for line in listed.splitlines()}
    sets = ((name, INSIDE_SET.match(name)) for name in names)
    return sum(1 for name, inside in sets if inside and INSTANTIATED.fullmatch(name[inside.end() + int(inside[1]) :]))


def instantiations(build: pathlib.Path, products: dict[str, float]) -> dict[str, int]:
    """The instantiations of each target of tests."""
    objects = [product for product in products if product.startswith("tests/") and product.endswith(".o")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(instantiated_in, [build / each for each in objects])
    sums: dict[str, int] = collections.Counter()
    for product, count in zip(objects, counts):
        if count > 0 and not of_unit(product).startswith("fovea_test_"):  # built by name, beside the programs
            sums[of_unit(product)] += count
    return sums


def said(build: pathlib.Path, variable: str) -> str:
    found = re.search(rf"^{variable}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return found[1] if found else ""


def shares_of(build: pathlib.Path) -> dict[str, int]:
    """The shares of each target at the level of a build; none where it was not made for counting."""
    if said(build, "CMAKE_BUILD_TYPE") != "Release" or "clang" in said(build, "CMAKE_CXX_COMPILER"):
        return {}
    rows = (line.split() for line in SHARES.read_text().splitlines() if line and not line.startswith("#"))
    return {target: int(share) for of, target, share in rows if of == said(build, "FOVEA_TEST_LEVEL")}


def share_of(target: str, shares: dict[str, int]) -> int:
    """That of a target; those for other instruction sets than the machine's best have the same."""
    return shares.get(target, shares.get(re.sub(r"_(?:sse2|avx2|avx512)(?=_|$)", "_each_set", target), 0))


def check_shares(shares: dict[str, int], counts: dict[str, int], seconds: dict[str, float]) -> list[str]:
    """Prints what each program instantiates, and returns a sentence for each that exceeds its share."""
    cost: dict[str, float] = collections.Counter()
    for product, each in seconds.items():
        cost[of_unit(product)] += each
    print(f"instantiations of calls and definitions: {sum(counts.values())}")
    for target, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  {count:5d} of {share_of(target, shares):5d}  {cost[target]:7.1f} s  {target}")
    return [
        f"{target} instantiates {count} calls and definitions, its share is {share_of(target, shares)}: loop over the "
        f"catalogue, or take it from another program of tests/structure/{SHARES.name}"
        for target, count in counts.items()
        if count > share_of(target, shares)
    ]


def main() -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build/release"
    if not (build / ".ninja_log").exists():
        print(f"{build} was not built by Ninja, or not yet", file=sys.stderr)
        return 1
    built = units(build)
    show("build", built, of_unit)
    show("tests", tests(build), of_test)
    shares = shares_of(build)
    exceeded = check_shares(shares, instantiations(build, built), built) if shares else []
    for sentence in exceeded:
        print(sentence, file=sys.stderr)
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
