# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conan 2: `conan create packaging/conan` packages the tree that this file lies in.

Where `./run release` has written conandata.yml beside it, it packages the archive of that version.
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, load


class Fovea(ConanFile):
    name = "fovea"
    description = "Composable attention, fused into SIMD loops"
    license = "Apache-2.0 WITH LLVM-exception"
    topics = ("attention", "simd", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    implements = ["auto_header_only"]

    def _tree(self):
        return Path(self.recipe_folder).parent.parent

    def set_version(self):
        if self.conan_data:
            (self.version,) = self.conan_data["sources"]
            return
        header = load(self, self._tree() / "include/fovea/core/version.hpp")
        self.version = ".".join(re.findall(r"^#define FOVEA_VERSION_[A-Z]+ (\d+)$", header, re.MULTILINE))

    def export_sources(self):
        if self.conan_data:
            return
        files = ["CMakeLists.txt", "CHANGELOG.md", "LICENSE"]
        folders = ["cmake/*", "include/*", "packaging/debian/*", "src/*"]
        for pattern in files + folders:
            copy(self, pattern, src=self._tree(), dst=self.export_sources_folder)

    def source(self):
        if self.conan_data:
            get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def requirements(self):
        self.requires("xsimd/13.0.0", transitive_headers=True)
        self.requires("boost/1.86.0", transitive_headers=True, options={"header_only": True})

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("fovea is tested on Linux alone: see docs/support.md")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"FOVEA_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()  # nothing is compiled

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=Path(self.package_folder) / "licenses")

    def package_info(self):
        # find_package(fovea) reads the package's own files, which have its components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/fovea"]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.system_libs = ["pthread"]
