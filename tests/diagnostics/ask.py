#!/usr/bin/env python3
"""Asks a compiler about all mistakes of a file at once, and writes down which cases are not answered as they should be.

    tests/diagnostics/ask.py FILE ANSWERS gcc|clang [--corrected] -- COMPILER FLAG...

CMakeLists.txt says how a FILE is written. A unit is a program of several cases, each in a namespace of its own and on
the lines that it has in FILE. With FOVEA_BROKEN each case makes its mistake, without it none does. The compiler answers
by diagnostics, one after the other, and each names lines of one case, if only as the place where a template was used.
A diagnostic that names no case, or several, is held against all cases of its unit.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

# The last line of an answer for its sentence, and for the words of the compiler where the library cannot answer.
SENTENCE_BY = 40
WORDS_BY = 2

ALL_ERRORS = {"gcc": "-fmax-errors=0", "clang": "-ferror-limit=0"}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    begin: int  # the number of the line `// case: ...`, from 1
    end: int
    lines: tuple[str, ...]

    def tags(self, tag: str) -> list[str]:
        """The text of each line `// tag: ...`; a sentence may go on over more."""
        more = r"(?:\n// .+)*" if tag == "sentence" else ""
        texts = re.findall(rf"^// {tag}: (.+{more})$", "\n".join(self.lines), re.MULTILINE)
        return [text.replace("\n// ", " ") for text in texts]


@dataclasses.dataclass
class Diagnostic:
    """An error or a warning, with what led to it before and its notes after it."""

    kind: str
    lines: list[str]

    def is_error(self) -> bool:
        return self.kind.endswith("error")

    def __str__(self) -> str:
        return "\n".join(self.lines)


class Source:
    """A file of cases."""

    def __init__(self, file: pathlib.Path):
        self.file = file
        lines = [*file.read_text(encoding="utf-8").splitlines(), ""]
        begins = [number for number, line in enumerate(lines) if line.startswith("// case: ")]
        self.shared = lines[: begins[0]] if begins else lines
        self.cases = [
            Case(lines[begin].removeprefix("// case: "), begin + 1, end, tuple(lines[begin:end]))
            for begin, end in zip(begins, [*begins[1:], len(lines)])
        ]
        if not self.cases:
            raise SystemExit(f"{file} has no line '// case: ...'")
        if len({case.name for case in self.cases}) != len(self.cases):
            raise SystemExit(f"{file} has two cases of one name")
        for case in self.cases:
            if case.lines[-1]:
                raise SystemExit(f"{file}: no empty line ends {case.name}")
            if any(re.match(" *# *include", line) for line in case.lines):
                raise SystemExit(f"{file}: {case.name} has an include, which stands before the first case")

    def unit(self, cases: list[Case]) -> str:
        """A program of these cases, with empty lines in place of the others."""
        unit = [f'#line 1 "{self.file}"', *self.shared]
        for case in self.cases:
            if case in cases:
                unit += [f"namespace case_{case.name} {{", *case.lines[1:-1], "}"]
            else:
                unit += [""] * len(case.lines)
        return "\n".join([*unit, ""])

    def named_by(self, diagnostic: Diagnostic) -> set[Case]:
        place = re.compile(rf"(?:In file included from | +from )?{re.escape(str(self.file))}:(\d+)")
        numbers = [int(found[1]) for line in diagnostic.lines if (found := place.match(line))]
        return {case for case in self.cases if any(case.begin <= number <= case.end for number in numbers)}


HEAD = re.compile(r"(?:\S.*?: )?((?:fatal |internal compiler )?error|warning|note): ")
# As in `file.hpp: In instantiation of ...:` and `file.cpp:12:3:   required from here`.
LED_TO = re.compile(r"In file included from |\S.*?: (?:In|At) |\S.*?:\d+:   \S")


def diagnostics_of(output: str) -> list[Diagnostic]:
    """GCC writes what led to a diagnostic before it, Clang after it, as notes; any line may go on over more."""
    found: list[Diagnostic] = []
    before: list[str] = []
    for line in output.splitlines():
        head = HEAD.match(line)
        if head and (head[1] != "note" or not found):
            found.append(Diagnostic(head[1], [*before, line]))
            before = []
        elif head:
            found[-1].lines += [*before, line]
            before = []
        elif before or not found or LED_TO.match(line):
            before.append(line)
        else:
            found[-1].lines.append(line)
    return [*found, Diagnostic("error", before)] if before else found


class Compiler:
    def __init__(self, family: str, command: list[str]):
        self.family = family
        self.command = command

    def answer(self, program: str, *flags: str) -> list[Diagnostic]:
        run = subprocess.run(
            [*self.command, *flags, ALL_ERRORS[self.family], "-fsyntax-only", "-x", "c++", "-"],
            input=program,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},  # the quotation marks of compilers differ by language
        )
        said = diagnostics_of(run.stdout)
        if (run.returncode != 0) != any(diagnostic.is_error() for diagnostic in said):
            said.append(Diagnostic("error", [f"the compiler has ended with {run.returncode}"]))
        return said

    def faults(self, source: Source, cases: list[Case], broken: bool) -> dict[Case, list[str]]:
        """What is wrong with each case of a unit: if broken, with its answer, else with its program."""
        said = self.answer(source.unit(cases), *(["-DFOVEA_BROKEN"] if broken else []))
        of_case: dict[Case, list[Diagnostic]] = {case: [] for case in cases}
        of_all: list[str] = []
        for diagnostic in said:
            named = source.named_by(diagnostic)
            if len(named) == 1:
                of_case[named.pop()].append(diagnostic)
            else:
                of_all.append(f"a diagnostic names {len(named)} cases:\n{diagnostic}")
        if broken:
            faults = {case: self.faults_of_answer(case, of_case[case]) + of_all for case in cases}
        else:
            faults = {case: faults_of_correction(of_case[case]) + of_all for case in cases}
        for case in cases if len(cases) > 1 else []:
            if any(diagnostic.kind == "fatal error" for diagnostic in of_case[case]):
                faults[case].append("nothing after this is compiled: write '// alone: ...', with this reason")
        return faults

    def faults_of_answer(self, case: Case, said: list[Diagnostic]) -> list[str]:
        words = case.tags(self.family)
        sentences = words or case.tags("sentence")
        if len(sentences) != 1:
            return [f"{len(sentences)} lines '// sentence: ...' where one is needed"]
        sentence = sentences[0]
        lines = "\n".join(map(str, said)).splitlines()
        errors = sum(diagnostic.is_error() for diagnostic in said)
        place = next((number for number, line in enumerate(lines, 1) if sentence in line), 0)
        by = WORDS_BY if words else SENTENCE_BY
        faults = []
        if not errors:
            faults.append("the mistake compiles, or another case makes it with the same types")
        elif not place:
            faults.append("the sentence is not said")
        elif place > by:
            faults.append(f"the sentence is said on line {place}, after {by} others")
        if errors > 1 and not words:
            faults.append(f"{errors} errors where one sentence is enough")
        return ["\n".join([f"{fault}: {sentence}", *lines]) for fault in faults]


def faults_of_correction(said: list[Diagnostic]) -> list[str]:
    what = {True: "does not compile", False: "compiles with warnings"}
    return [f"the corrected program {what[diagnostic.is_error()]}:\n{diagnostic}" for diagnostic in said]


def report(source: Source, faults: dict[Case, list[str]]) -> str:
    """Begins with `all` where each case has the faults that it should have: those `found` in rejected/, else none."""
    wrong = []
    for case in source.cases:
        expected = case.tags("found") if source.file.parent.name == "rejected" else []
        found = faults[case]
        if len(found) != len(expected) or not all(map(str.startswith, found, expected)):
            told = "".join(f"\n  {fault}" for fault in found or ["no fault is found"])
            wanted = f" (expected: {'; '.join(expected)})" if expected else ""
            wrong.append(f"{case.name}{wanted}: {told}\n")
    names = ", ".join(case.name for case in source.cases)
    if wrong:
        return f"{len(wrong)} of {len(source.cases)} cases are not answered as they should be\n\n" + "\n".join(wrong)
    return f"all {len(source.cases)} cases are answered as they should be: {names}\n"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=pathlib.Path)
    arguments.add_argument("answers", type=pathlib.Path)
    arguments.add_argument("family", choices=["gcc", "clang"])
    arguments.add_argument("--corrected", action="store_true", help="whether the corrected programs compile as well")
    arguments.add_argument("command", nargs="+")
    given = arguments.parse_args()

    source, compiler = Source(given.file), Compiler(given.family, given.command)
    alone = [case for case in source.cases if case.tags("alone")]
    together = [case for case in source.cases if case not in alone]
    faults: dict[Case, list[str]] = {}
    for unit in filter(None, [together, *([case] for case in alone)]):
        faults |= compiler.faults(source, unit, broken=True)
    if given.corrected:
        for case, more in compiler.faults(source, source.cases, broken=False).items():
            faults[case] += more
    given.answers.write_text(report(source, faults), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
