# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds and runs the program that tests every way to the library."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class FoveaTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder="../../../tests/install/client")
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("client", "compiled_client"):
                self.run(str(Path(self.build_folder, self.cpp.build.bindir, program)), env="conanrun")
