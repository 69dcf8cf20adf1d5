#!/usr/bin/env python3
"""Builds and runs a selection of the tests with several compilers, standards and libraries, and prints a table.

  tests/toolchains/build_and_test.py [WORD...]      all toolchains, those of these names, or whose names contain them

Those of this machine, which is meant to be Debian 12, come first. Newer ones are installed in a scratch root of
Debian 13 (build/toolchains/root), which takes root, debootstrap and a network; the next call finds it there. What a
toolchain says is in build/toolchains/NAME.log, its files are in build/toolchains/NAME, for those of the scratch root
within it.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

TREE = pathlib.Path(__file__).resolve().parents[2]
PLACE = "build/toolchains"
SUITE = "trixie"
ROOT = TREE / PLACE / "root"
DEBIAN_ROOT = str(TREE / "tests/support/debian_root")
TREE_IN_ROOT = "/checkout"
PACKAGES_IN_ROOT = (
    "g++-14 clang-19 clang-22 libc++-19-dev libc++abi-19-dev cmake ninja-build libxsimd-dev libboost-dev catch2 "
    "nlohmann-json3-dev libcli11-dev libeigen3-dev pkgconf python3"
).split()


@dataclasses.dataclass(frozen=True)
class Toolchain:
    name: str
    compiler: str
    standard: int
    in_root: bool = False
    flags: str = ""
    by_name_only: bool = False  # not supported yet
    file: str = ""  # CMake's toolchain file, of another processor or system
    selection: str = "selection"
    options: tuple[str, ...] = ()  # of CMake


# Not all combinations: each value at least once, the oldest together and the newest together.
TOOLCHAINS = [
    Toolchain("gcc-12", "g++-12", 20),
    Toolchain("clang-16", "clang++-16", 20),
    Toolchain("clang-19", "clang++-19", 23),
    Toolchain("clang-19-libc++", "clang++-19", 20, flags="-stdlib=libc++"),
    Toolchain("new-gcc-14", "g++-14", 23, in_root=True),
    Toolchain("new-clang-19", "clang++-19", 20, in_root=True),
    Toolchain("new-clang-22", "clang++-22", 23, in_root=True, by_name_only=True),
    *(
        Toolchain(name, f"{target}-g++", 20, file=f"cmake/linux_gnu/{name}.cmake", selection="processors",
                  options=("-DFOVEA_TEST_LEVEL=quick",))
        for name, target in {
            "riscv64": "riscv64-linux-gnu",
            "ppc64el": "powerpc64le-linux-gnu",
            "s390x": "s390x-linux-gnu",
            "armhf": "arm-linux-gnueabihf",
            "i386": "i686-linux-gnu",
        }.items()
    ),
    Toolchain("windows", "x86_64-w64-mingw32-g++-posix", 20, file="cmake/mingw_w64.cmake", selection="windows",
              options=("-DFOVEA_TEST_LEVEL=quick", "-DFOVEA_BUILD_TOUR=ON")),
    Toolchain("windows-clang", "clang++-19", 20, flags="--target=x86_64-w64-mingw32",
              file="cmake/mingw_w64_clang.cmake", selection="windows_clang", options=("-DFOVEA_TEST_LEVEL=quick",)),
]

VERSIONS = """
#include <version>
#include <boost/version.hpp>
#include <xsimd/config/xsimd_config.hpp>
#if __has_include(<catch2/catch_version_macros.hpp>)
#include <catch2/catch_version_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
"""


class Unusable(Exception):
    """Why a toolchain cannot be tried here."""


@dataclasses.dataclass
class Row:
    name: str
    columns: list[str]
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    cases: int = 0  # of Catch2, in programs that are one test
    elapsed: float = 0
    processor: float = 0
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return self.passed > 0 and self.failed == 0


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Machine:
    """Where commands run: here, or in the scratch root."""

    def __init__(self, in_root: bool, environment: dict[str, str] | None = None):
        self.in_root = in_root
        self.environment = dict(os.environ, LC_ALL="C", **(environment or {}))
        self.tree = pathlib.Path(TREE_IN_ROOT) if in_root else TREE

    def run(self, command: list[str], log=subprocess.PIPE, text: str | None = None) -> subprocess.CompletedProcess:
        if self.in_root:
            where = ["env", f"--chdir={self.tree}", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"]
            command = [DEBIAN_ROOT, "run", str(ROOT), *where, *command]
        return subprocess.run(
            command, cwd=TREE, env=self.environment, input=text, stdout=log, stderr=subprocess.STDOUT, text=True,
            check=False,
        )

    def from_here(self, path: pathlib.Path) -> pathlib.Path:
        return ROOT / path.relative_to("/") if self.in_root else path


def prepare_root(log_name: pathlib.Path) -> None:
    """Makes the root unless it is there, installs what it lacks, and copies the sources into it."""
    if os.geteuid() != 0:
        raise Unusable("a scratch root can be made and entered by root alone")
    made = ROOT / "made"
    with log_name.open("w") as log:
        if not made.exists():
            say(f"a scratch root of Debian's {SUITE}")
            command = [DEBIAN_ROOT, "make", SUITE, str(ROOT)]
            making = subprocess.run(command, stdout=log, stderr=subprocess.PIPE, text=True, check=False)
            if making.returncode != 0:
                raise Unusable(making.stderr.strip())
        (ROOT / TREE_IN_ROOT[1:]).mkdir(exist_ok=True)
        if not made.exists() or made.read_text().split() != PACKAGES_IN_ROOT:
            say(f"install {' '.join(PACKAGES_IN_ROOT)} there")
            install = ["apt-get", "install", "-qq", "-y", "-o", "Dpkg::Use-Pty=0", "--no-install-recommends"]
            for command in (["apt-get", "update", "-qq"], install + PACKAGES_IN_ROOT):
                if Machine(in_root=True).run(command, log).returncode != 0:
                    raise Unusable(f"{' '.join(command[:2])} fails in the scratch root: {log_name}")
            made.write_text("\n".join(PACKAGES_IN_ROOT) + "\n")
    copy_sources(ROOT / TREE_IN_ROOT[1:])


def copy_sources(target: pathlib.Path) -> None:
    """The tree without what a build made; files keep their times, so that unchanged ones are not compiled again."""
    for old in target.iterdir():
        if old.name != "build":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for source in TREE.iterdir():
        if source.name in ("build", ".git"):
            continue
        if source.is_dir():
            shutil.copytree(source, target / source.name, symlinks=True)
        else:
            shutil.copy2(source, target / source.name)


def versions(toolchain: Toolchain, machine: Machine) -> list[str]:
    """The columns that say what is tried, as the headers themselves state it."""
    command = [toolchain.compiler, *toolchain.flags.split(), f"-std=c++{toolchain.standard}"]
    command += ["-dM", "-E", "-x", "c++", "-"]
    with tempfile.TemporaryDirectory() as borrowed:
        if toolchain.file:  # must not search /usr/include; these headers are the same for all processors
            for folder in ("xsimd", "boost", "catch2"):
                os.symlink(f"/usr/include/{folder}", f"{borrowed}/{folder}")
            command += ["-isystem", borrowed]
        try:
            said = machine.run(command, text=VERSIONS)
        except FileNotFoundError:
            raise Unusable(f"there is no {toolchain.compiler}") from None
    if said.returncode != 0:
        raise Unusable(f"{toolchain.compiler}: {(said.stdout.strip() or 'is not there').splitlines()[-1]}")
    macros = dict(re.findall(r"^#define (\w+) (.+)$", said.stdout, re.MULTILINE))

    def dotted(*names: str) -> str:
        return ".".join(macros[name] for name in names)

    if "__clang__" in macros:
        compiler = "Clang " + dotted("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
    else:
        compiler = "GCC " + dotted("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
    if "_LIBCPP_VERSION" in macros:
        library = f"libc++ {int(macros['_LIBCPP_VERSION']) // 10000}"
    else:
        library = f"libstdc++ {macros['_GLIBCXX_RELEASE']}"
    boost = macros["BOOST_LIB_VERSION"].strip('"').replace("_", ".")
    return [
        compiler,
        library,
        f"C++{toolchain.standard}",
        dotted("XSIMD_VERSION_MAJOR", "XSIMD_VERSION_MINOR", "XSIMD_VERSION_PATCH"),
        boost,
        dotted("CATCH_VERSION_MAJOR", "CATCH_VERSION_MINOR", "CATCH_VERSION_PATCH"),
    ]


def count_tests(row: Row, results: pathlib.Path) -> None:
    for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
        status = case.get("status")
        said = case.findtext("system-out") or ""
        row.cases += sum(int(n or m) for n, m in re.findall(r"\bin (\d+) test cases?\)|\btest cases: +(\d+)", said))
        if status == "run":
            row.passed += 1
        elif status == "fail" or "_NOT_BUILT" in case.get("name", ""):
            row.failed += 1
            row.notes.append(f"fails: {case.get('name')}")
        else:
            row.skipped += 1
            reason = case.find("skipped")
            why = reason.get("message") if reason is not None else None
            row.notes.append(f"skipped: {case.get('name')}: {why or status}")


def first_errors(said: str, most: int = 3) -> list[str]:
    errors = re.findall(r"^.*\b(?:error|FAILED): .*$", said, re.MULTILINE)
    return [error[:300] for error in dict.fromkeys(errors)][:most]


class Wine:
    """Wine with a folder of its own, and with its services started: they live as long as this does, and would otherwise
    hold the output of the program that is the first to start them."""

    def __init__(self) -> None:
        self.environment = {"WINEPREFIX": str(TREE / PLACE / "wine"), "WINEDEBUG": "-all"}

    def run(self, *command: str) -> None:
        subprocess.run(
            command, env=dict(os.environ, **self.environment), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False,
        )

    def __enter__(self) -> dict[str, str]:
        try:
            self.run("wineserver", "-p")
            self.run("wine", "wineboot", "--init")
        except FileNotFoundError:
            raise Unusable("there is no Wine") from None
        return self.environment

    def __exit__(self, *_: object) -> None:
        self.run("wineserver", "-k")


def try_toolchain(toolchain: Toolchain, jobs: int) -> Row:
    with Wine() if "mingw" in toolchain.file else contextlib.nullcontext({}) as environment:
        return build_and_test(toolchain, Machine(toolchain.in_root, environment), jobs)


def build_and_test(toolchain: Toolchain, machine: Machine, jobs: int) -> Row:
    log_name = TREE / PLACE / f"{toolchain.name}.log"
    build = machine.tree / PLACE / toolchain.name
    row = Row(toolchain.name, versions(toolchain, machine))
    labels = ("", "", "", "xsimd ", "Boost ", "Catch2 ")
    versions_tried = ", ".join(label + column for label, column in zip(labels, row.columns))
    say(f"{toolchain.name}: {versions_tried}; what it says is in {log_name.relative_to(TREE)}")
    start, used = time.monotonic(), processor_time()
    configure = ["cmake", "--preset", "toolchain", "-B", str(build), f"-DCMAKE_CXX_STANDARD={toolchain.standard}"]
    configure += [f"-DFOVEA_TEST_SELECTION=tests/toolchains/{toolchain.selection}.txt", *toolchain.options]
    if toolchain.file:
        configure.append(f"-DCMAKE_TOOLCHAIN_FILE={machine.tree / toolchain.file}")
    else:
        configure += [f"-DCMAKE_CXX_COMPILER={toolchain.compiler}", f"-DCMAKE_CXX_FLAGS={toolchain.flags}"]
    results = build / "results.xml"
    machine.from_here(results).unlink(missing_ok=True)
    with log_name.open("w") as log:
        configured = machine.run(configure, log).returncode == 0
        built = configured and machine.run(
            ["cmake", "--build", str(build), "--parallel", str(jobs), "--", "-k", "0"], log
        ).returncode == 0
        if configured:
            machine.run(
                ["ctest", "--test-dir", str(build), "--parallel", str(jobs), "--output-on-failure",
                 "--test-output-size-passed", "1000000", "--output-junit", str(results)], log
            )
    row.elapsed, row.processor = time.monotonic() - start, processor_time() - used
    said = log_name.read_text(errors="replace")
    row.notes += re.findall(r"^-- (.*(?:(?:is|are) (?:skipped|left out)|left to a longer test).*)$", said, re.MULTILINE)
    if not configured:
        row.failed += 1
        row.notes.append(f"CMake fails: {log_name.relative_to(TREE)}")
    elif not built:
        row.failed += 1
        row.notes += ["not all is built: " + error for error in first_errors(said)]
    if configured and machine.from_here(results).exists():
        count_tests(row, machine.from_here(results))
    return row


def print_table(rows: list[Row]) -> None:
    titles = ["", "compiler", "library", "standard", "xsimd", "Boost", "Catch2"]
    titles += ["passed", "failed", "skipped", "seconds", "of a processor"]
    lines = [titles]
    for row in rows:
        columns = (row.columns + [""] * 6)[:6]
        counts = [str(row.passed), str(row.failed), str(row.skipped), f"{row.elapsed:.0f}", f"{row.processor:.0f}"]
        lines.append([row.name, *columns, *counts])
    widths = [max(len(line[i]) for line in lines) for i in range(len(titles))]
    for line in lines:
        cells = [c.ljust(w) if i < 7 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())
    for row in rows:
        if row.cases:
            print(f"{row.name}: {row.cases} cases in programs that count as one test each")
        for note in row.notes:
            print(f"{row.name}: {note}")


def main(words: list[str]) -> int:
    names = [toolchain.name for toolchain in TOOLCHAINS]

    def is_chosen(name: str) -> bool:
        return not words or any(word == name or (word not in names and word in name) for word in words)

    chosen = [
        toolchain
        for toolchain in TOOLCHAINS
        if is_chosen(toolchain.name) and (words or not toolchain.by_name_only)
    ]
    if not chosen:
        print(f"toolchains: nothing is called {' or '.join(words)}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    (TREE / PLACE).mkdir(parents=True, exist_ok=True)
    jobs = int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", os.cpu_count() or 1))
    rows: list[Row] = []
    left_out: list[str] = []
    no_root = ""
    try:
        if any(toolchain.in_root for toolchain in chosen):
            prepare_root(TREE / PLACE / "root.log")
    except Unusable as reason:
        no_root = str(reason)
    for toolchain in chosen:
        try:
            if toolchain.in_root and no_root:
                raise Unusable(no_root)
            rows.append(try_toolchain(toolchain, jobs))
            print(f"{rows[-1].passed} passed, {rows[-1].failed} failed, {rows[-1].skipped} skipped", flush=True)
        except Unusable as reason:
            left_out.append(f"{toolchain.name} is not tried: {reason}")
    say("toolchains")
    if rows:
        print_table(rows)
    for line in left_out:
        print(line)
    return 0 if not left_out and all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
