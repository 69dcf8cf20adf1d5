#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ./run release refuses, each in a copy of the tree with one mistake, and what its archive contains.

    release.py WORK        the archive and the recipes stay in WORK/a tree/build/archive
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = pathlib.Path(sys.argv.pop(1))
TREE = WORK / "a tree"
HEADER = "include/fovea/core/version.hpp"


def git(*arguments):
    author = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    called = subprocess.run(["git", "-C", TREE, *author, *arguments], check=True, capture_output=True, text=True)
    return called.stdout


def release(*arguments):
    """Whether there is one, and what was said."""
    command = [sys.executable, "-B", TREE / "packaging/release.py", *arguments]
    called = subprocess.run(command, capture_output=True, text=True)
    return called.returncode == 0, called.stdout + called.stderr


def change(name, expression, text):
    """The first match of the expression in a file of the tree becomes the text."""
    before = (TREE / name).read_text()
    after = re.sub(expression, text, before, count=1, flags=re.MULTILINE)
    if before == after:
        raise ValueError(f"{name} has no {expression}")
    (TREE / name).write_text(after)


def setUpModule():
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(ROOT, TREE, ignore=shutil.ignore_patterns(".git", "build", "__pycache__"))
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message=tree")


class Refusals(unittest.TestCase):
    def tearDown(self):
        git("reset", "--hard", "--quiet")
        git("clean", "-d", "--force", "--quiet")

    def expect(self, *sentences):
        made, said = release()
        self.assertFalse(made, said)
        for sentence in sentences:
            self.assertIn(sentence, said)
        self.assertFalse((TREE / "build/archive").exists(), "something was written")

    def test_a_tree_with_changes(self):
        change("README.md", "^# .*", "# another")
        self.expect("release: the tree has changes that are not committed: README.md")
        (TREE / "added file").write_text("")
        self.expect("README.md and 1 more")

    def test_a_changelog_without_a_date(self):
        for date in ("unreleased", "2026-02-30", "soon - 2026-01-01", ""):
            with self.subTest(date):
                change("CHANGELOG.md", r"^(## [\d.]+) - .*", rf"\1 - {date}")
                self.expect("CHANGELOG.md has no date for ", f"but '{date}': write '## ")
                git("reset", "--hard", "--quiet")

    def test_a_changelog_of_another_version(self):
        change("CHANGELOG.md", r"^## [\d.]+", "## 7.8.9")
        self.expect("CHANGELOG.md begins with '7.8.9 - ", "states ")
        change("CHANGELOG.md", r"^## 7.8.9", "## Unreleased\n\n- more\n\n## 0.1.0")
        self.expect("CHANGELOG.md begins with 'Unreleased', and ")

    def test_a_changelog_without_entries(self):
        change("CHANGELOG.md", r"^(## [\d.]+ - [\d-]+)$[\s\S]*\Z", r"\1\n")
        self.expect("CHANGELOG.md does not say what ")

    def test_another_version_anywhere(self):
        for name, expression, text in (
            ("python/pyproject.toml", r'^version = ".*"', 'version = "7.8.9"'),
            ("packaging/vcpkg/fovea/vcpkg.json", r'"version": ".*"', '"version": "7.8.9"'),
            ("packaging/README.md", r"libfovea-dev_[\d.]+", "libfovea-dev_7.8.9"),
            ("docs/support.md", r"find_package\(fovea [\d.]+", "find_package(fovea 7.8.9"),
            ("docs/support.md", r"\Z", "\nfovea/7.8.9 is a name in Conan.\n"),
        ):
            with self.subTest(name):
                change(name, expression, text)
                self.expect(f"release: {name} ", "7.8", f", and {HEADER}")
                git("reset", "--hard", "--quiet")
        change("python/pyproject.toml", r'^version = ".*"\n', "")
        self.expect("python/pyproject.toml states version none, and ")

    def test_a_header_without_a_version(self):
        change(HEADER, r"^#define FOVEA_VERSION_MINOR", "#define FOVEA_VERSION_MIDDLE")
        self.expect(f"{HEADER} does not state major, minor and patch version")

    def test_a_page_that_differs_from_what_it_is_made_of(self):
        change("docs/reference/mask/causal.md", r"\Z", "\nmore\n")
        self.expect("tests/structure/check.py finds problems", "docs/reference/mask/causal.md differs")

    def test_a_version_that_was_released(self):
        form = r"^#define FOVEA_VERSION_[A-Z]+ (\d+)$"
        version = ".".join(re.findall(form, (TREE / HEADER).read_text(), re.MULTILINE))
        git("tag", f"v{version}")
        self.addCleanup(git, "tag", "--delete", f"v{version}")
        git("commit", "--quiet", "--allow-empty", "--message=later")
        self.addCleanup(git, "reset", "--hard", "--quiet", f"v{version}")
        self.expect(f"release: the tag v{version} is not the last commit")


class Releases(unittest.TestCase):  # after Refusals, in the order of names
    def test_the_archive(self):
        made, said = release()
        self.assertTrue(made, said)
        (archive,) = (TREE / "build/archive").glob("*.tar.gz")
        digest = hashlib.sha512(archive.read_bytes()).hexdigest()
        self.assertIn(digest, said)
        sums = archive.with_name(f"{archive.name}.sha512")
        self.assertEqual(sums.read_text(), f"{digest}  {archive.name}\n")
        with tarfile.open(archive) as files:
            names = {name.partition("/")[2] for name in files.getnames() if not files.getmember(name).isdir()}
            folders = {name.partition("/")[0] for name in files.getnames()}
            self.assertEqual(folders, {archive.name.removesuffix(".tar.gz")})
        tracked = set(git("ls-files", "-z").split("\0")) - {""}
        cases = {name for name in tracked if re.fullmatch(r"tests/conformance/cases/\w+\.tar\.xz", name)}
        self.assertEqual(names, tracked - cases)
        self.assertLess(archive.stat().st_size, 3 << 20)

        bytes_before = archive.read_bytes()
        made, said = release("https://example.org/fovea/")
        self.assertTrue(made, said)
        self.assertEqual(archive.read_bytes(), bytes_before, "another archive of the same commit")
        port = (TREE / "build/archive/vcpkg/fovea/archive.cmake").read_text()
        self.assertEqual(port, f'set(url "https://example.org/fovea/{archive.name}")\nset(sha512 {digest})\n')
        data = (TREE / "build/archive/conan/conandata.yml").read_text()
        self.assertIn(f'url: "https://example.org/fovea/{archive.name}"', data)
        self.assertIn(hashlib.sha256(bytes_before).hexdigest(), data)
        self.assertTrue(release()[0])  # for those who load it from where it was written


if __name__ == "__main__":
    unittest.main()
