#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the Python package as one file, with all that it takes to compile a kernel and the kernels that are ready.

    python_wheel.py [--without-kernels] FOLDER

Into FOLDER goes a wheel for this processor and C library. In it are the package; the headers of fovea, and those of
xsimd and Boost.Hana that they include, with their licences; what builds libraries of kernels; and, compiled for each
instruction set, the kernels of python/ready.py.
"""

import argparse
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from wheel.wheelfile import WheelFile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What the compiler says that a unit includes depends on it and the instruction set; Boost chooses among these by both.
BY_COMPILER = ("boost/config/compiler", "boost/config/platform", "boost/config/stdlib", "xsimd")
UNIT = "#include <fovea/fovea.hpp>\n#include <fovea/bindings/gradient_unit.hpp>\n#include <fovea/bindings/describe.hpp>\n"
LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4") if platform.machine() in ("x86_64", "AMD64") else ()
COMPILER = os.environ.get("CXX", "c++").split()
LICENCES = ("LICENSE", "packaging/licences/LICENSE.boost", "packaging/licences/LICENSE.xsimd")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="where the wheel is written")
    arguments.add_argument("--without-kernels", action="store_true", help="only what compiles them")
    options = arguments.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        stage = work / "stage"
        wheel = folder / unpack_package(work, stage)
        collect(stage)
        if not options.without_kernels:
            build_kernels(stage)
        with WheelFile(wheel, "w") as packed:
            packed.write_files(stage)
    print(f"{wheel}: {wheel.stat().st_size / 2**20:.1f} MiB")


def collect(stage):
    """Copies headers and what builds libraries to where the package looks for them."""
    package = stage / "fovea"
    include = package / "include"
    shutil.copytree(ROOT / "include/fovea", include / "fovea")
    for header, path in headers_of_others().items():
        (include / header).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, include / header)
    (include / "digest").write_text(digest_of(include) + "\n")
    cmake = package / "cmake"
    shutil.copytree(ROOT / "src/bindings", cmake / "bindings")
    for name in ("cmake/kernels.cmake", "src/compiled.cpp"):
        shutil.copy(ROOT / name, cmake)


def headers_of_others():
    """The headers outside of fovea that its units include, by the names under which they do."""
    found = {}
    for arch in LEVELS or ("native",):
        command = [*COMPILER, "-std=c++20", f"-march={arch}", f"-I{ROOT / 'include'}", "-M", "-x", "c++", "-"]
        said = subprocess.run(command, input=UNIT, stdout=subprocess.PIPE, text=True, check=True).stdout
        for top, header in re.findall(r"((?:\\ |\S)+)/((?:boost|xsimd)/\S+)", said):
            found[header] = pathlib.Path(top.replace("\\ ", " "), header)
    for name in BY_COMPILER:
        header, path = next(item for item in found.items() if item[0].startswith(name.split("/", maxsplit=1)[0]))
        top = path.parents[header.count("/")]
        found.update({str(path.relative_to(top)): path for path in (top / name).rglob("*.hpp")})
    return found


def digest_of(folder):
    """What stands for the content of all headers."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.h*")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def build_kernels(stage):
    """Compiles the kernels that are ready, with the package itself, and what the compiler needs not do again."""
    ready = stage / "fovea/ready"
    ready.mkdir()
    flags = "-std=c++20 -O3 -DNDEBUG -fPIC -fvisibility=hidden -fno-gnu-unique -DFOVEA_COMPILED=1 -mtune=generic".split()
    for level in LEVELS:
        compiler = [*COMPILER, *flags, f"-march={level}", f"-I{stage / 'fovea/include'}"]
        subprocess.run([*compiler, "-c", ROOT / "src/compiled.cpp", "-o", ready / f"engine_{level}.o"], check=True)
    environment = {**os.environ, "PYTHONPATH": str(stage), "PYTHONDONTWRITEBYTECODE": "1"}
    program = shutil.copy(ROOT / "python/ready.py", stage.parent)  # beside which there is no other package
    subprocess.run([sys.executable, program, ready / "libfovea_ready.so"], env=environment, check=True)


def unpack_package(work, stage):
    """The package as setuptools makes a wheel of it, unpacked, and the name of that wheel."""
    source = work / "source"
    shutil.copytree(ROOT / "python/fovea", source / "fovea", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("python/pyproject.toml", "python/README.md", *LICENCES):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-W", "ignore", "-c", "import setuptools; setuptools.setup()"]
    command += ["-q", "bdist_wheel", "-d", str(work), "--plat-name", platform_tag()]
    subprocess.run(command, cwd=source, check=True, stderr=subprocess.DEVNULL)
    (wheel,) = work.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(stage)
    (about,) = stage.glob("*.dist-info/WHEEL")
    about.write_text(about.read_text().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false"))
    return wheel.name


def platform_tag():
    """Systems with the C library of this one or a newer one."""
    kind, version = platform.libc_ver()
    of_c = "manylinux_" + version.replace(".", "_") if kind == "glibc" else platform.system().lower()
    return f"{of_c}_{platform.machine()}"


if __name__ == "__main__":
    main()
