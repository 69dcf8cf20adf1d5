#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the recipe of Conan with stand-ins for what it imports: what it exports, or the archive that it loads, must
install what the tree installs.

    conan_recipe.py RECIPE WORK TREE VERSION CXX

Conan itself, and its packages of xsimd and Boost, are not part of this.
"""

import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import types
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RECIPE, work, tree = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
version, cxx = sys.argv[4], sys.argv[5]


def data_beside(recipe):
    """conandata.yml as ./run release writes it: an archive of one version."""
    file = recipe.with_name("conandata.yml")
    if not file.exists():
        return None
    form = r'sources:\n  "(.*)":\n    url: "(.*)"\n    sha256: "(.*)"\n'
    name, url, digest = re.fullmatch(form, file.read_text()).groups()
    return {"sources": {name: {"url": url, "sha256": digest}}}


class ConanFile:
    recipe_folder = str(RECIPE.parent)
    export_sources_folder = source_folder = str(work / "source")
    package_folder = str(work / "package")
    conan_data = data_beside(RECIPE)
    required = []

    def requires(self, reference, **_):
        self.required.append(reference)


class Toolchain:
    variables = {}

    def __init__(self, recipe):
        self.cache_variables = Toolchain.variables

    def generate(self):
        pass


class CMake:
    def __init__(self, recipe):
        self.recipe = recipe

    def configure(self):
        options = [f"-D{name}={'ON' if on else 'OFF'}" for name, on in Toolchain.variables.items()]
        command = ["cmake", "-S", self.recipe.source_folder, "-B", work / "build", "-G", "Ninja", *options]
        subprocess.run([*command, f"-DCMAKE_CXX_COMPILER={cxx}"], check=True, stdout=subprocess.DEVNULL)

    def install(self):
        command = ["cmake", "--install", work / "build", "--prefix", self.recipe.package_folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def copy(recipe, pattern, src, dst):
    if pattern.endswith("/*"):
        shutil.copytree(Path(src, pattern[:-2]), Path(dst, pattern[:-2]))
    else:
        Path(dst).mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(src, pattern), dst)


def get(recipe, url, sha256, strip_root):
    with urllib.request.urlopen(url) as stream:
        archive = work / "archive"
        archive.write_bytes(stream.read())
    if hashlib.sha256(archive.read_bytes()).hexdigest() != sha256 or not strip_root:
        sys.exit(f"{url} is not what the recipe expects")
    with tarfile.open(archive) as files:
        files.extractall(work / "extracted")
    (folder,) = (work / "extracted").iterdir()
    folder.rename(recipe.source_folder)


def stand_in(name, **contents):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(contents)


def files_in(folder):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}


stand_in("conan", ConanFile=ConanFile)
stand_in("conan.errors", ConanInvalidConfiguration=Exception)
stand_in("conan.tools")
stand_in("conan.tools.build", check_min_cppstd=None, can_run=None)
stand_in("conan.tools.cmake", CMake=CMake, CMakeToolchain=Toolchain, cmake_layout=None)
stand_in("conan.tools.files", copy=copy, get=get, load=lambda recipe, path: Path(path).read_text())


def load(path):
    spec = importlib.util.spec_from_file_location("recipe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
load(ROOT / "packaging/conan/test_package/conanfile.py")
recipe = load(RECIPE).Fovea()
recipe.set_version()
recipe.export_sources()
recipe.source()
recipe.requirements()
recipe.generate()
recipe.build()
recipe.package()
if recipe.version != version:
    sys.exit(f"the recipe has version {recipe.version}, and the tree {version}")
if sorted(reference.split("/")[0] for reference in recipe.required) != ["boost", "xsimd"]:
    sys.exit(f"the recipe requires {recipe.required}")
if (difference := files_in(recipe.package_folder) ^ (files_in(tree) | {"licenses/LICENSE"})) or not files_in(tree):
    sys.exit(f"the recipe installs other files than the tree: {sorted(difference)}")
print(f"version {recipe.version}, {len(files_in(recipe.package_folder))} files, requires {recipe.required}")
