"""What the rules share: the tree that they read, and what they report."""

import importlib
import pathlib
import sys
import types
from dataclasses import dataclass, field

WORDS = ("project", "score", "mask", "keep", "normalize", "aggregate", "result")


@dataclass
class Report:
    lines: list[str] = field(default_factory=list)
    problems: int = 0
    checked: int = 0

    def problem(self, text: str) -> None:
        self.lines.append(text)
        self.problems += 1

    def note(self, text: str) -> None:
        self.lines.append(text)

    def finish(self, what: str, at_least: int) -> None:
        self.lines.append(f"checked {self.checked} {what}: {self.problems} problems")
        if not self.problems and self.checked < at_least:
            self.problem(f"only {self.checked} {what} were found to check, {at_least} or more are expected")


@dataclass
class Tree:
    root: pathlib.Path

    def path(self, name: str) -> pathlib.Path:
        return self.root / name

    def exists(self, name: str) -> bool:
        return self.path(name).is_file()

    def text(self, name: str) -> str:
        """The text of a file by its path from the root; nothing where there is no such file."""
        return self.path(name).read_text(encoding="utf-8") if self.exists(name) else ""

    def files(self, pattern: str) -> list[str]:
        """The files that match, by their paths from the root."""
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.glob(pattern) if path.is_file())

    def headers(self, *folders: str) -> list[str]:
        """Headers below include/fovea, in these folders or in all, by their paths from there."""
        found = [name.removeprefix("include/fovea/") for name in self.files("include/fovea/**/*.hpp")]
        return [name for name in found if not folders or folder_of(name) in folders]

    def header(self, name: str) -> str:
        return self.text(f"include/fovea/{name}")


def folder_of(header: str) -> str:
    """The folder directly below include/fovea, or nothing for a header that stands there itself."""
    return header.split("/")[0] if "/" in header else ""


def tool(name: str) -> types.ModuleType:
    """A module of docs/tools."""
    tools = str(pathlib.Path(__file__).resolve().parents[3] / "docs/tools")
    if tools not in sys.path:
        sys.path.append(tools)
    return importlib.import_module(name)


def check_by_tool(name: str, tree: Tree, report: Report) -> None:
    """What a program of docs/tools finds wrong with the pages of the tree."""
    problems, report.checked = tool(name).check_pages(tree.root)
    for problem in problems:
        report.problem(problem)
