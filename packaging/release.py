#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the source archive of a version, and recipes that name it, if everything that states a version agrees.

    release.py [--root DIR] [URL]

Into build/archive go fovea-1.2.3.tar.gz, which is the last commit without what .gitattributes leaves out, its SHA-512,
and the port of vcpkg and the recipe of Conan that load it and compare its hash (of Conan that is SHA-256). URL is the
folder from which users will load the archive; without it, the recipes name the file that was written.
"""

import argparse
import datetime
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

HEADER = "include/fovea/core/version.hpp"
STATED = {  # files that state the version themselves, and how
    "python/pyproject.toml": r'^version = "([^"]*)"',
    "packaging/vcpkg/fovea/vcpkg.json": r'"version": "([^"]*)"',
}
NAMED = (  # in a page: fovea-1.2.3, libfovea-dev_1.2.3, fovea/1.2.3; find_package(fovea 1.2)
    r"fovea[-_/](?:dev_)?v?(\d+\.\d+\.\d+)\b",
    r"find_package\(fovea (\d+\.\d+)\b",
)


class ReleaseError(Exception):
    """Why there is no release, in one sentence."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("url", nargs="?", metavar="URL", help="the folder from which users will load the archive")
    arguments.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    options = arguments.parse_args()
    root = options.root.resolve()
    into = root / "build/archive"
    try:
        version = stated_version(root)
        check_changelog(root, version)
        check_versions(root, version)
        check_rules(root)
        check_commit(root, version)
        archive = write_archive(root, into, version)
    except ReleaseError as error:
        sys.exit(f"release: {error}")
    write_recipes(root, into, version, f"{(options.url or into.as_uri()).rstrip('/')}/{archive.name}", archive)
    print(f"{archive}: {archive.stat().st_size / 2**20:.1f} MiB, SHA-512 {digest_of(archive, 'sha512')}")
    print(f"{into / 'vcpkg'}, {into / 'conan'}: recipes that load it from {options.url or 'there'}")


def git(root, *arguments):
    called = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    if called.returncode:
        raise ReleaseError(f"git {arguments[0]} fails: {called.stderr.strip()}")
    return called.stdout


def stated_version(root):
    form = r"^#define FOVEA_VERSION_(MAJOR|MINOR|PATCH) (\d+)$"
    numbers = re.findall(form, (root / HEADER).read_text(), re.MULTILINE)
    if [name for name, _ in numbers] != ["MAJOR", "MINOR", "PATCH"]:
        raise ReleaseError(f"{HEADER} does not state major, minor and patch version, in this order")
    return ".".join(number for _, number in numbers)


def check_changelog(root, version):
    """The first section is of this version, dated, and not empty."""
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    heading, _, text = (sections or [""])[0].partition("\n")
    name, _, date = heading.partition(" - ")
    if name.strip() != version:
        raise ReleaseError(f"CHANGELOG.md begins with '{heading}', and {HEADER} states {version}")
    try:
        datetime.datetime.strptime(date, "%Y-%m-%d")
    except ValueError:
        raise ReleaseError(
            f"CHANGELOG.md has no date for {version} but '{date}': write '## {version} - YYYY-MM-DD'"
        ) from None
    if not re.search(r"^- ", text, re.MULTILINE):
        raise ReleaseError(f"CHANGELOG.md does not say what {version} has")


def check_versions(root, version):
    for name, expression in STATED.items():
        found = re.search(expression, (root / name).read_text(), re.MULTILINE)
        if not found or found[1] != version:
            raise ReleaseError(f"{name} states version {found[1] if found else 'none'}, and {HEADER} {version}")
    for page in [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "packaging").rglob("*.md")]:
        for found in [match for form in NAMED for match in re.finditer(form, page.read_text())]:
            if page.name != "CHANGELOG.md" and not f"{version}.".startswith(f"{found[1]}."):
                raise ReleaseError(f"{page.relative_to(root)} names {found[0]}, and {HEADER} states {version}")


def check_rules(root):
    """Pages that are made agree with what they are made of, links lead somewhere, and so on."""
    called = subprocess.run([sys.executable, "-B", root / "tests/structure/check.py"], capture_output=True, text=True)
    if called.returncode:
        raise ReleaseError(f"tests/structure/check.py finds problems:\n{called.stdout}{called.stderr}")


def check_commit(root, version):
    """What is archived is the last commit: nothing else may lie in the tree, and a tag of the version names it."""
    changed = [line[3:] for line in git(root, "status", "--porcelain").splitlines()]
    if changed:
        others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise ReleaseError(f"the tree has changes that are not committed: {changed[0]}{others}")
    tag = f"v{version}"
    head = git(root, "rev-parse", "HEAD")
    if git(root, "tag", "--list", tag) and git(root, "rev-parse", f"{tag}^{{commit}}") != head:
        raise ReleaseError(f"the tag {tag} is not the last commit: a version is released once")


def digest_of(archive, kind):
    return hashlib.new(kind, archive.read_bytes()).hexdigest()


def write_archive(root, into, version):
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    archive = into / f"fovea-{version}.tar.gz"
    git(root, "archive", f"--prefix=fovea-{version}/", f"--output={archive}", "HEAD")
    sums = into / f"{archive.name}.sha512"  # as sha512sum -c reads it
    sums.write_text(f"{digest_of(archive, 'sha512')}  {archive.name}\n")
    return archive


def write_recipes(root, into, version, url, archive):
    """Copies of the recipes, and beside each the file in which it looks for an archive."""
    for manager in ("vcpkg", "conan"):
        shutil.copytree(root / "packaging" / manager, into / manager, ignore=shutil.ignore_patterns("test_package"))
    (into / "vcpkg/fovea/archive.cmake").write_text(
        f'set(url "{url}")\nset(sha512 {digest_of(archive, "sha512")})\n'
    )
    (into / "conan/conandata.yml").write_text(
        f'sources:\n  "{version}":\n    url: "{url}"\n    sha256: "{digest_of(archive, "sha256")}"\n'
    )


if __name__ == "__main__":
    main()
