"""Every file that a page gives as a command, at the start of a line of code, is a program: it begins with #! and may be
run."""

import os
import re

from .code_blocks import FENCE
from .tree import Report, Tree

CHECKED = "commands"
AT_LEAST = 30


def commands_of(text: str):
    """The first word of each line of code, and of code within a line that has a blank: a name alone is no command."""
    inside = False
    for line in text.splitlines():
        if FENCE.match(line):
            inside = not inside
        elif inside or line.startswith("    "):
            yield from line.split()[:1]
        else:
            for code in re.findall(r"`([^`]+)`", line):
                yield from code.split()[:1] if " " in code or code.startswith("./") else ()


def check(tree: Tree, report: Report) -> None:
    folders = ("*.md", "docs/**/*.md", "packaging/*.md", "python/*.md")
    for page in [page for pattern in folders for page in tree.files(pattern)]:
        for word in commands_of(tree.text(page)):
            command = word.removeprefix("./")
            if "/" not in word or command.startswith("build/") or not tree.exists(command):
                continue  # what is built is no file of the tree
            report.checked += 1
            if not tree.text(command).startswith("#!"):
                report.problem(f"{page}: {word} is given as a command and does not begin with #!")
            elif not os.access(tree.path(command), os.X_OK):
                report.problem(f"{page}: {word} is given as a command and may not be run: git update-index --chmod=+x")
