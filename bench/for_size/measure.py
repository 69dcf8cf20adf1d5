# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""measure.py [text] [speed] [webassembly] [programs]: units for size (FOVEA_SIZE) beside others, as tables of Markdown.

text         the code of one call, and what it takes to compile, of which the header alone is the most
speed        the same calls by turns in one program
webassembly  the code of one call in a linked program, with Clang 19
programs     a program with ten specifications in one unit and in ten, with and without FOVEA_COMPILED

The compiler is that of the variable CXX, or g++; all four without an argument.
"""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "bench/for_size"
VARIANTS = ROOT / "bench/compile_time/variants"
COMPILER = [os.environ.get("CXX", "g++"), "-std=c++20", f"-I{ROOT / 'include'}"]
FLAGS = ["-O2", "-march=native"]
WAYS = {"full": [], "`FOVEA_SIZE`": ["-DFOVEA_SIZE=1"]}


def seconds_of(command):
    """Runs a command; the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def text_of(file):
    """The bytes of its sections of code."""
    listed = subprocess.run(["size", "-A", file], check=True, capture_output=True, text=True).stdout
    return sum(int(size) for size in re.findall(r"^\.text\S*\s+(\d+)", listed, re.MULTILINE))


def processor():
    """Its name, as Linux has it."""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unnamed processor"


def print_row(*cells):
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


def measure_text(scratch):
    one = scratch / "one.o"
    print("\n| flags | | text, bytes | compile time, s |\n|---|---|---|---|")
    for flags in ("-O2 -march=x86-64-v3", "-O2 -march=native", "-O3 -march=x86-64-v3", "-Os -march=x86-64-v3"):
        for way, more in WAYS.items():
            command = [*COMPILER, *flags.split(), *more, "-c", VARIANTS / "causal.cpp", "-o", one]
            seconds = seconds_of(command)
            print_row(f"`{flags}`", way, text_of(one), f"{seconds:.1f}")
    seconds = seconds_of([*COMPILER, *FLAGS, "-c", VARIANTS / "include.cpp", "-o", one])
    print_row("the header alone", "", text_of(one), f"{seconds:.1f}")


def measure_speed(scratch):
    objects = []
    for name, more in (("call_for_speed", []), ("call_for_size", ["-DFOVEA_SIZE=1"])):
        objects.append(scratch / f"{name}.o")
        command = [*COMPILER, *FLAGS, *more, f"-DNAME={name}", "-c", HERE / "calls.cpp", "-o", objects[-1]]
        subprocess.run(command, check=True)
    subprocess.run([*COMPILER, *FLAGS, HERE / "speed.cpp", *objects, "-o", scratch / "speed"], check=True)
    print(flush=True)
    subprocess.run([scratch / "speed"], check=True)


def measure_webassembly(scratch):
    clang = shutil.which("clang++-19")
    if clang is None:
        print("\nno WebAssembly: clang++-19 is not installed")
        return
    for header in ("xsimd", "boost"):  # without the other headers of the system
        if (pathlib.Path("/usr/include") / header).exists():
            (scratch / header).symlink_to(pathlib.Path("/usr/include") / header)
    target = [clang, "--target=wasm32-wasi", "-std=c++20", "-msimd128", "-fno-exceptions", f"-I{ROOT / 'include'}",
              "-isystem", scratch, "-Wl,--gc-sections", "-Wl,--strip-all"]
    none = scratch / "none.cpp"
    none.write_text("#include <fovea/fovea.hpp>\nint main() {}\n", encoding="utf-8")
    one = scratch / "one.cpp"
    one.write_text((VARIANTS / "causal.cpp").read_text(encoding="utf-8")
                   + "\nint main(int count, char**) {\n    float x[16] = {}, y[16];\n"
                   "    view<float const, 4> const in(x, {1, 1, count, 1});\n"
                   "    run(in, in, in, {y, {1, 1, count, 1}});\n    return y[0] > 1;\n}\n", encoding="utf-8")
    print("\n| WebAssembly | | bytes more than without a call |\n|---|---|---|")
    for level in ("-O2", "-Os"):
        for way, more in WAYS.items():
            sizes = []
            for source in (none, one):
                program = scratch / "program.wasm"
                subprocess.run([*target, level, *more, source, "-o", program], check=True)
                sizes.append(program.stat().st_size)
            print_row(f"`{level} -msimd128`", way, sizes[1] - sizes[0])


def measure_programs(scratch):
    def compiled(source, name, *flags):
        """The seconds that an object takes."""
        return seconds_of([*COMPILER, *FLAGS, *flags, "-c", source, "-o", scratch / name])

    compiled(HERE / "ten_specs.cpp", "main.o")
    print("\n| ten specifications | | compile time, s | text of the program, KB |\n|---|---|---|---|")
    for layout, units in (("in one unit", [[]]), ("in ten units", [[f"-DONLY={n}"] for n in range(10)])):
        for way, more in (("header only", []), ("`FOVEA_COMPILED`", ["-DFOVEA_COMPILED=1"]),
                          ("`FOVEA_SIZE`", ["-DFOVEA_SIZE=1"]),
                          ("both", ["-DFOVEA_SIZE=1", "-DFOVEA_COMPILED=1"])):
            seconds, objects = 0.0, ["main.o"]
            for n, only in enumerate(units):
                seconds += compiled(HERE / "specs.cpp", f"{n}.o", *more, *only)
                objects.append(f"{n}.o")
            if "-DFOVEA_COMPILED=1" in more:
                seconds += compiled(ROOT / "src/compiled.cpp", "compiled.o", *more)
                objects.append("compiled.o")
            program = scratch / "program"
            subprocess.run([COMPILER[0], *(scratch / name for name in objects), "-o", program], check=True)
            subprocess.run([program], check=True, stdout=subprocess.DEVNULL)
            print_row(layout, way, f"{seconds:.0f}", f"{text_of(program) / 1000:.0f}")


def main():
    measures = {"text": measure_text, "speed": measure_speed, "webassembly": measure_webassembly,
                "programs": measure_programs}
    wanted = sys.argv[1:] or list(measures)
    if not set(wanted) <= set(measures):
        print(__doc__, file=sys.stderr)
        return 2
    version = subprocess.run([COMPILER[0], "--version"], check=True, capture_output=True, text=True).stdout
    print(f"{version.splitlines()[0]}, where not said otherwise {' '.join(FLAGS)}, on {processor()}")
    for name in wanted:
        with tempfile.TemporaryDirectory() as folder:
            measures[name](pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
