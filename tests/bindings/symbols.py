"""What a library of kernels exports, and whose code it has of functions that several architectures define.

  symbols.py exports OBJDUMP LIBRARY EXPECTED.def       the functions of C that EXPECTED.def lists, and nothing else
  symbols.py least_first OBJDUMP LIBRARY OBJECT...      of what the objects of the least architecture, SSE2, define, its own
                                                        code: none holds an instruction of AVX
"""

import pathlib
import re
import subprocess
import sys

MOST = 20  # lines of what is wrong


def said(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", check=True).stdout


def exported(objdump: str, library: str) -> set[str]:
    if library.endswith(".dll"):
        table = said(objdump, "-p", library).partition("[Ordinal/Name Pointer] Table")[2]
        return set(re.findall(r"^\s*\[ *\d+\] (?:\+base\[ *\d+\] +[0-9a-f]+ )?(\w+)$", table, re.MULTILINE))
    symbols = re.findall(r"^[0-9a-f]+ .{7} (\S+)\t[0-9a-f]+ .*?(\S+)$", said(objdump, "-T", library), re.MULTILINE)
    return {name for section, name in symbols if section not in ("*UND*", "*ABS*")}


def wrong_exports(objdump: str, library: str, expected_name: str) -> tuple[int, list[str]]:
    expected = set(pathlib.Path(expected_name).read_text().split()[1:])
    found = exported(objdump, library)
    wrong = [f"does not export {name}" for name in sorted(expected - found)]
    wrong += [f"exports {name}, more than the functions of C" for name in sorted(found - expected)]
    return len(expected & found), wrong


def functions_of(objdump: str, objects: tuple[str, ...]) -> set[str]:
    """Functions that others may define too, by their names in C++."""
    return set(re.findall(r"\b_Z\w+$", "".join(said(objdump, "-t", name) for name in objects), re.MULTILINE))


def wrong_code(objdump: str, library: str, *objects: str) -> tuple[int, list[str]]:
    defined = functions_of(objdump, objects)
    checked, wrong = 0, []
    for code in said(objdump, "-d", "--no-show-raw-insn", library).split("\n\n"):
        name = re.match(r"\s*[0-9a-f]+ <(_Z\w+)>:", code)
        if name is None or name[1] not in defined:
            continue
        checked += 1
        if instruction := re.search(r"^\s+[0-9a-f]+:\s+(v[a-z0-9]+)\b", code, re.MULTILINE):
            wrong.append(f"{name[1]} holds {instruction[1]}, an instruction of a better architecture")
    return checked, wrong


def main(what: str, *arguments: str) -> int:
    checked, wrong = {"exports": wrong_exports, "least_first": wrong_code}[what](*arguments)
    print(*wrong[:MOST], sep="\n")
    print(f"{what}: checked {checked} functions, {len(wrong)} are wrong")
    return 0 if checked and not wrong else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
