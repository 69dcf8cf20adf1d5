# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""measure.py ROOT COMPILER FLAG...: what a program with ten specifications costs, as a table of Markdown.

The processor time of the compiler and the text of the linked program: all specifications in one unit and each in a unit
of its own, header only and with FOVEA_COMPILED (src/compiled.cpp), at full speed and for size (FOVEA_SIZE). The last
rows are the one call of ../variants/causal.cpp. Each program is run once.
"""

import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

COUNT = 10


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


def main():
    root, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    here = root / "bench/compile_time/ten_specs"
    version = subprocess.run([command[0], "--version"], check=True, capture_output=True, text=True).stdout
    print(f"{version.splitlines()[0]}, {' '.join(f for f in command[1:] if not f.startswith('-I'))}, {processor()}\n")
    print("| program | built | compile time, s | text, KB |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)

        def compiled(source, name, *flags):
            """The seconds that an object takes."""
            return seconds_of([*command, *flags, "-c", str(source), "-o", str(scratch / name)])

        compiled(here / "main.cpp", "main.o")
        ways = {
            "header only": [],
            "`FOVEA_COMPILED`": ["-DFOVEA_COMPILED=1"],
            "`FOVEA_SIZE`": ["-DFOVEA_SIZE=1"],
            "`FOVEA_SIZE`, `FOVEA_COMPILED`": ["-DFOVEA_SIZE=1", "-DFOVEA_COMPILED=1"],
        }
        for layout in ("ten specifications in one unit", "ten specifications in ten units"):
            for way, flags in ways.items():
                units = [("all", [])] if "one unit" in layout else [(str(n), [f"-DONLY={n}"]) for n in range(COUNT)]
                seconds, objects = 0.0, ["main.o"]
                for name, only in units:
                    seconds += compiled(here / "specs.cpp", f"{name}.o", *flags, *only)
                    objects.append(f"{name}.o")
                if "-DFOVEA_COMPILED=1" in flags:
                    seconds += compiled(root / "src/compiled.cpp", "compiled.o", *flags)
                    objects.append("compiled.o")
                program = scratch / "program"
                subprocess.run([command[0], *(str(scratch / o) for o in objects), "-o", str(program)], check=True)
                subprocess.run([str(program)], check=True, stdout=subprocess.DEVNULL)
                print(f"| {layout} | {way} | {seconds:.1f} | {text_of(program) / 1000:.0f} |", flush=True)
        variants = root / "bench/compile_time/variants"
        for name, variant in (("the header alone", "include"), ("one specification", "causal")):
            for way in ("header only", "`FOVEA_SIZE`"):
                seconds = min(compiled(variants / f"{variant}.cpp", "one.o", *ways[way]) for _ in range(3))
                print(f"| {name} | {way} | {seconds:.1f} | {text_of(scratch / 'one.o') / 1000:.0f} |", flush=True)
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
