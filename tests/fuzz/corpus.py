#!/usr/bin/env python3
"""The stored inputs of the fuzz targets: corpus/TARGET.txt has one a line, its name and its bytes, escaped as in Python.

    tests/fuzz/corpus.py unpack TARGET DIR           writes each input into a file of its name, and removes others
    tests/fuzz/corpus.py add TARGET NAME FILE        stores an input
"""

import pathlib
import sys

STORED = pathlib.Path(__file__).resolve().parent / "corpus"


def inputs(target: str) -> dict[str, bytes]:
    lines = (STORED / f"{target}.txt").read_text(encoding="ascii").splitlines()
    named = (line.partition(" ") for line in lines)
    return {name: text.encode("ascii").decode("unicode_escape").encode("latin-1") for name, _, text in named}


def unpack(target: str, folder: pathlib.Path) -> None:
    stored = inputs(target)
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if file.name not in stored:
            file.unlink()
    for name, data in stored.items():
        (folder / name).write_bytes(data)


def add(target: str, name: str, data: bytes) -> None:
    stored = {**inputs(target), name: data}
    lines = (f"{each} {stored[each].decode('latin-1').encode('unicode_escape').decode('ascii')}\n" for each in sorted(stored))
    (STORED / f"{target}.txt").write_text("".join(lines), encoding="ascii")


def main(arguments: list[str]) -> int:
    if len(arguments) == 3 and arguments[0] == "unpack":
        unpack(arguments[1], pathlib.Path(arguments[2]))
    elif len(arguments) == 4 and arguments[0] == "add" and arguments[2] and " " not in arguments[2]:
        add(arguments[1], arguments[2], pathlib.Path(arguments[3]).read_bytes())
    else:
        print(__doc__, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
