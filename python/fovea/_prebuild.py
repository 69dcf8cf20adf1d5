# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries of kernels for all instruction sets, compiled before they are needed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _compile
from ._errors import ArgumentError, Error, UnsupportedError
from ._kernel import TracedKernel
from ._source import parameter_of
from ._types import name_of, types_named
from ._typing import Architecture

_PACKAGE = Path(__file__).resolve().parent
_ARCHITECTURES: tuple[Architecture, ...] = ("sse2", "avx2", "avx512", "neon")

_HEADER = """\
// Kernels of fovea.prebuild.
#pragma once
#include <fovea/bindings/takes.hpp>
#include <fovea/fovea.hpp>

namespace fovea_prebuilt {{
using namespace fovea;
using namespace fovea::placeholders;
{kernels}}}  // namespace fovea_prebuilt
"""
_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project({target} LANGUAGES CXX)
find_package(Threads REQUIRED)
add_library(fovea INTERFACE)
add_library(fovea::fovea ALIAS fovea)
target_include_directories(fovea SYSTEM INTERFACE [==[{headers}]==])
target_link_libraries(fovea INTERFACE Threads::Threads)
include([==[{cmake}]==])
fovea_add_kernels(
    TARGET {target}
    SPECS kernels.hpp
    KERNELS {kernels}
    {gradients}
    TYPES {types}
    ARCHS {architectures}
)
"""


def prebuild(
    kernels: Mapping[str, TracedKernel | str],
    path: str | os.PathLike[str],
    types: Iterable[str] = ("f32",),
    gradients: Iterable[str] = (),
    architectures: Iterable[Architecture] = _ARCHITECTURES,
) -> Path:
    """Compiles a library of kernels for all instruction sets, to be shipped with a program.

    Parameters
    ----------
    kernels : by their names in the library: what `fovea.kernel` has made, or KERNELS of fovea_add_kernels as text.
    path : of the library, libNAME.so. `fovea.load` loads it, and C calls it by NAME.h, which lies beside it.
    types : of elements, f32, f64, bf16 or f16, or those of query, key and value, such as f32_q8_0_q4_0.
    gradients : the names of kernels that have gradients too.
    architectures : those of other processors are left out.

    Returns
    -------
    The path of the library, an absolute one.

    Raises
    ------
    ArgumentError : a name that C does not take; what the compiler says of a specification.
    UnsupportedError : there is no CMake, or no compiler.
    Error : what else the compiler says.

    Example
    -------
        @fovea.kernel
        def capped(score, *, cap=50.0):
            return cap * np.tanh(score / cap) | fovea.causal | fovea.softmax

        library = fovea.prebuild({"capped": capped}, folder / "libmine.so")
        mine = fovea.Library(library)
        result = mine.capped(query, key, value, cap=30.0)
    """
    library = Path(path).absolute()
    named = re.fullmatch(r"lib([A-Za-z_]\w*)\.so", library.name)
    if named is None:
        raise ArgumentError(f"path is {str(path)!r}, it must end in libNAME.so, where NAME is a name of C")
    if not kernels or not all(name.isidentifier() and name.isascii() for name in kernels):
        raise ArgumentError("kernels must be a mapping of names of C to kernels, and not empty")
    cmake = shutil.which("cmake")
    if cmake is None:
        raise UnsupportedError("fovea.prebuild needs CMake 3.25 or newer (on Debian: apt install cmake)")
    texts = {name: kernel if isinstance(kernel, str) else kernel.definition for name, kernel in kernels.items()}
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fovea-prebuild-") as work:
        source, build = Path(work), Path(work) / "build"
        lines = (f"inline constexpr auto kernel_{name} = {text};\n" for name, text in texts.items())
        (source / "kernels.hpp").write_text(_HEADER.format(kernels="".join(lines)))
        wanted = " ".join(gradients)
        project = _PROJECT.format(
            target=named[1],
            headers=_compile.find_headers(),
            cmake=_kernels_cmake(),
            kernels=" ".join(f"{name}=fovea_prebuilt::kernel_{name}" for name in texts),
            gradients=f"GRADIENTS {wanted}" if wanted else "",
            types=" ".join(map(_types_of_cmake, types)),
            architectures=" ".join(architectures),
        )
        (source / "CMakeLists.txt").write_text(project)
        compiler = _compile.find_compiler()
        chosen = [f"-DCMAKE_CXX_COMPILER={compiler[0]}", f"-DCMAKE_CXX_FLAGS={' '.join(compiler[1:])}"]
        _run([cmake, "-S", str(source), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release", *chosen])
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
        _run([cmake, "--build", str(build), "--parallel", jobs])
        for name in (f"{named[1]}.h", f"{named[1]}.md"):
            shutil.copy(build / named[1] / name, library.parent)
        manifest = [described(name, kernel) for name, kernel in kernels.items() if isinstance(kernel, TracedKernel)]
        (library.parent / f"{named[1]}.json").write_text(json.dumps(manifest, indent=1) + "\n")
        shutil.copy(build / library.name, library)
    return library


def _types_of_cmake(name: str) -> str:
    """Types of elements as TYPES of fovea_add_kernels has them."""
    types = types_named(name)
    if name_of(types) in types:
        return types.query
    return '"' + " ".join(f"{operand}={of}" for operand, of in types._asdict().items()) + '"'


def _kernels_cmake() -> Path:
    """What builds libraries: in the package, in a checkout around it, or where headers are installed."""
    prefix = _compile.find_headers().parent
    for path in (_PACKAGE / "cmake", _PACKAGE.parents[1] / "cmake", prefix / "cmake", prefix / "share/cmake/fovea"):
        if (path / "kernels.cmake").is_file():
            return path / "kernels.cmake"
    raise UnsupportedError("fovea.prebuild needs kernels.cmake of fovea, which lies beside its headers")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0:
        said = done.stderr + done.stdout
        of_cmake = re.search(r"fovea_add_kernels: (.*?)\s*(?:\n\n|Call Stack)", said, re.DOTALL)
        sentence = " ".join(of_cmake[1].split()) if of_cmake is not None else _compile.sentence_in(said)
        if sentence is not None:
            raise ArgumentError(sentence)
        first = re.search(r"error:? ([^\n]*)", said, re.IGNORECASE)
        raise Error(f"{Path(command[0]).name} ends with: {first[1] if first else said[-200:].strip()}")


def described(name: str, kernel: TracedKernel) -> dict[str, Any]:
    """How the text of a kernel is known again."""
    source = kernel.trace()
    parameters = [[argument, parameter_of(value)] for argument, value in source.arguments.items()]
    return {"name": name, "words": source.words, "parameters": parameters}
