#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types what the README says on machines that have nothing: bare roots of Debian 12 with git alone.

  tests/install/fresh.py                     all of the following
  tests/install/fresh.py demo                the first command of "Demo and tests"
  tests/install/fresh.py install             each block of "Install", in its order, and of "With CMake" in docs/install.md
  tests/install/fresh.py test [WORD...]      the second command of "Demo and tests"; with words, of these tests alone

Each is typed on two machines: in a clone at /fovea, by root, and in a clone at a path with a space, by a user who has
sudo. What is cloned is the commit at HEAD. A block of shell is typed in the clone; one that quotes a file, in a copy of
that file's folder. A block of CMake replaces CMakeLists.txt in such a copy, which is then built, and its programs run.
What a machine says is in build/fresh/*.log. Needs root, debootstrap and a network.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
WORK = TREE / "build/fresh"
CMAKE_PAGE = "docs/install.md"
DEBIAN_ROOT = TREE / "tests/support/debian_root"
SUITE = "bookworm"
SECONDS_BETWEEN_LINES = 20  # of what is said while a command runs
PARTS = ("demo", "install", "test")
MAKING = threading.Lock()
MACHINES = (("root", "root", "/fovea"), ("user", "guest", "/home/guest/my projects/fovea"))

sys.path.insert(0, str(TREE / "tests/structure"))
sys.dont_write_bytecode = True
from rules import code_blocks  # noqa: E402


class Failed(Exception):
    """What did not work, in a sentence."""


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def ended(process: subprocess.Popen) -> bool:
    """Whether a process has ended, or does so before it is time to tell of it."""
    try:
        process.wait(SECONDS_BETWEEN_LINES)
    except subprocess.TimeoutExpired:
        return False
    return True


@dataclasses.dataclass
class Block:
    language: str
    source: pathlib.PurePosixPath | None  # the file that it quotes
    text: str


def blocks_of_section(page: str, title: str) -> list[Block]:
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    found = [section for section in sections if section.startswith(f"{title}\n")]
    if len(found) != 1:
        raise Failed(f"the page has {len(found)} sections '{title}'")
    if re.search(r"^(?: {4}|\t)", re.sub(r"^```.*?^```$", "", found[0], flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        raise Failed(f"{title}: an indented block does not say what it contains: write a fence")
    blocks = []
    for language, before, text in code_blocks.blocks_of(found[0]):
        quoted = code_blocks.SOURCE.match(before)
        blocks.append(Block(language, pathlib.PurePosixPath(quoted[1]) if quoted else None, text))
    return blocks


class Machine:
    """A bare root with git, and a clone in it."""

    def __init__(self, name: str, user: str, clone: str):
        self.root, self.log, self.user, self.clone = WORK / name, WORK / f"{name}.log", user, clone
        self.log.write_text("")
        with MAKING:  # the first makes what the others are copied from
            made = subprocess.run([DEBIAN_ROOT, "make", SUITE, self.root], stderr=subprocess.PIPE, text=True, check=False)
        if made.returncode != 0:
            raise Failed(made.stderr.strip())
        packages = "git" if user == "root" else "git sudo"
        install = "DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends"
        self.run(f"apt-get update -qq && {install} {packages}")
        copy = ["git", "clone", "--quiet", "--bare", "--depth=1", f"file://{TREE}", self.root / "origin.git"]
        if subprocess.run(copy, check=False).returncode != 0:
            raise Failed(f"the commit at HEAD cannot be copied from {TREE}")
        if user != "root":
            self.run(f"useradd --create-home {user} && chown -R {user}: /origin.git")
            (self.root / "etc/sudoers.d" / user).write_text(f"{user} ALL=(ALL) NOPASSWD: ALL\n")
        self.type(f"mkdir -p {shlex.quote(clone)} && git clone --quiet /origin.git {shlex.quote(clone)}", "/")

    def run(self, script: str, *before: str) -> str:
        """What a script of root's says; with a command before it, as that runs it."""
        started = time.monotonic()
        with self.log.open("a") as log:
            print(f"\n$ {script}", file=log, flush=True)
            start = log.tell()
            command = [DEBIAN_ROOT, "run", self.root, *before, "bash", "-euo", "pipefail", "-c", script]
            done = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            while not ended(done):
                self.tell(time.monotonic() - started)
            log.seek(0, 2)
            end = log.tell()
            print(f"# {time.monotonic() - started:.0f} s", file=log)
        said = self.log.read_bytes()[start:end].decode(errors="replace")
        if done.returncode != 0:
            last = "\n".join(said.splitlines()[-25:])
            raise Failed(f"'{script}' ends with {done.returncode} in {self.clone}:\n{last}\nall of it is in {self.log}")
        return said

    def tell(self, seconds: float) -> None:
        """How far a script is: the last line that it has said."""
        lines = [line for line in self.log.read_text(errors="replace")[-4000:].splitlines() if line.strip()]
        print(f"  {self.clone}, {seconds:4.0f} s   {lines[-1].strip()[:90] if lines else ''}", flush=True)

    def type(self, script: str, folder: str) -> str:
        """What the user types in a folder; root types no sudo, and has none."""
        where = ["env", f"--chdir={folder}"]
        if self.user == "root":
            return self.run(re.sub(r"\bsudo ", "", script), *where)
        return self.run(script, "runuser", "-u", self.user, "--", *where, f"HOME=/home/{self.user}")

    def inside(self, path: str) -> pathlib.Path:
        return self.root / path.lstrip("/")


def type_demo(machine: Machine) -> str:
    machine.type("./run demo", machine.clone)
    made = sorted(path.name for path in machine.inside(machine.clone).glob("build/tour/*") if path.stat().st_size > 0)
    if "tour.txt" not in made or len(made) < 2:
        raise Failed(f"./run demo leaves {made or 'nothing'} in build/tour, where its output and pictures should be")
    if machine.inside("/usr/bin/python3").exists():
        raise Failed("./run demo installs Python, which it does not need")
    return f"{len(made)} files in build/tour"


def type_test(machine: Machine, words: list[str]) -> str:
    said = machine.type(shlex.join(["./run", "test", *words]), machine.clone)
    return "; ".join(re.findall(r"^(?:\d+% tests passed.*|All tests passed.*)$", said, re.MULTILINE))


def type_install(machine: Machine, blocks: list[Block]) -> str:
    beside = pathlib.PurePosixPath(machine.clone).parent
    copied: dict[pathlib.PurePosixPath, str] = {}

    def copy_of(folder: pathlib.PurePosixPath) -> str:
        if folder not in copied:
            copied[folder] = str(beside / folder.name)
            machine.type(f"cp -r {shlex.quote(str(folder))} {shlex.quote(copied[folder])}", machine.clone)
        return copied[folder]

    programs = 0
    for block in blocks:
        if block.language == "sh" and block.source is None:
            machine.type(block.text, machine.clone)
            continue
        if block.language not in ("sh", "cmake") or block.source is None:
            raise Failed(f"nobody knows what to do with this block of {block.language}:\n{block.text}")
        folder = copy_of(block.source.parent)
        if block.language == "sh":
            said = [machine.type(block.text, folder)]
        else:
            machine.inside(f"{folder}/CMakeLists.txt").write_text(block.text + "\n")
            machine.type("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build", folder)
            named = re.findall(r"^add_executable\((\w+)", block.text, re.MULTILINE)
            said = [machine.type(f"./build/{name}", folder) for name in named]
        for text in said:
            programs += 1
            expected = printed_by(TREE / block.source.parent)
            if not text or (expected and text != expected):
                raise Failed(f"a program of {block.source.parent} prints\n{text}and should print\n{expected}")
    if programs == 0:
        raise Failed("README.md, Install: no block runs a program")
    return f"{len(blocks)} blocks, {programs} programs"


def printed_by(folder: pathlib.Path) -> str:
    """What the program in a folder says that it prints, in the comments at its end."""
    ends = [path.read_text().split("\n// prints\n")[1:] for path in sorted(folder.glob("*.cpp"))]
    return "".join(re.sub(r"^// ?", "", end, flags=re.MULTILINE) for [end] in filter(None, ends))


def type_part(part: str, words: list[str], machine: Machine, page: str) -> str:
    commands = [block.text for block in blocks_of_section(page, "Demo and tests") if block.language == "sh"]
    typed = [line.split("#")[0].strip() for text in commands for line in text.splitlines()]
    if typed != ["./run demo", "./run test"]:
        raise Failed(f"the commands of the README are {typed}: this knows ./run demo and ./run test")
    if part == "demo":
        return type_demo(machine)
    if part == "test":
        return type_test(machine, words)
    return type_install(machine, blocks_of_section(page, "Install") + blocks_of_section(committed(CMAKE_PAGE), "With CMake"))


def committed(page: str) -> str:
    show = subprocess.run(["git", "-C", TREE, "show", f"HEAD:{page}"], capture_output=True, text=True, check=False)
    if show.returncode != 0:
        raise Failed(f"there is no {page} at HEAD to type: {show.stderr.strip()}")
    return show.stdout


def main(arguments: list[str]) -> int:
    parts = []
    while arguments and arguments[0] in PARTS and "test" not in parts:
        parts.append(arguments.pop(0))
    if arguments and "test" not in parts:
        print(f"fresh: there is no '{arguments[0]}': name some of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("fresh: machines of its own can be made by root alone", file=sys.stderr)
        return 1
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        page = committed("README.md")
    except Failed as reason:
        print(f"fresh: {reason}", file=sys.stderr)
        return 1
    if subprocess.run(["git", "-C", TREE, "diff", "--quiet", "HEAD"], check=False).returncode != 0:
        print("fresh: changes that are not committed are no part of this")

    def passes(part: str, name: str, user: str, clone: str) -> bool:
        say(f"{part} in {clone}, by {user}")
        started = time.monotonic()
        try:
            machine = Machine(f"{part}-{name}", user, clone)
            passed = type_part(part, arguments, machine, page)
            subprocess.run(["rm", "-rf", "--one-file-system", machine.root], check=True)
            print(f"{part} in {clone} passed in {time.monotonic() - started:.0f} s: {passed}", flush=True)
            return True
        except Failed as reason:
            print(f"fresh: {part} fails in {clone}: {reason}", file=sys.stderr, flush=True)
            return False

    failures = 0
    for part in parts or PARTS:  # the tests take all processors and much memory; the rest waits for packages, too
        with concurrent.futures.ThreadPoolExecutor(1 if part == "test" else len(MACHINES)) as machines:
            failures += sum(not passed for passed in machines.map(lambda m, p=part: passes(p, *m), MACHINES))
    print(f"fresh: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
