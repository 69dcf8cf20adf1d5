# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries compiled for this processor while a program runs, and kept in the user's cache folder.

A file there is named after everything that it depends on, ends in a checksum, and takes its place by a rename, so that
no process reads half of one; of several that want the same, one compiles and the others wait.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._errors import ArgumentError, Error, UnsupportedError

_FLAGS = ("-std=c++20", "-O3", "-DNDEBUG", "-march=native", "-fPIC", "-shared", "-fvisibility=hidden", "-w", "-pipe")
# What a processor of each level has, as /proc/cpuinfo names it: 32-bit and 64-bit kernels gain nothing by what is above.
_LEVELS = {
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl avx2 fma f16c bmi1 bmi2 abm movbe",
    "x86-64-v3": "avx2 fma f16c bmi1 bmi2 abm movbe",
    "x86-64": "sse2",
}
_NOT_LINKED = re.compile(r"undefined reference|ld returned|linker command failed")
_OF_LEVEL = re.compile(r"// .* for elements of (f32|f64),")
_WORK = ".compiling-"
_CHECKSUM = hashlib.sha256().digest_size
_lock = threading.Lock()


def library_of(source: str, name: str, exported: str) -> Path:
    """The library that is compiled of a unit, from the cache where it lies there.

    Errors: UnsupportedError without a compiler or headers; ArgumentError with the sentence that the compiler says of a
    specification.
    """
    compiler, headers = find_compiler(), find_headers()
    key = key_of(source, compiler, headers)
    folder = cache_folder()
    path = folder / f"{key}.so"
    if is_sound(path, key):
        return path
    with _lock, _only_process(folder / f"{key}.lock", name):
        if not is_sound(path, key):
            _compile(source, name, exported, compiler, headers, path, key)
    return path


def is_compiled(source: str) -> bool:
    """Whether a unit lies in the cache."""
    key = key_of(source, find_compiler(), find_headers())
    return is_sound(cache_folder() / f"{key}.so", key)


@functools.lru_cache(maxsize=1024)
def key_of(source: str, compiler: tuple[str, ...], headers: Path) -> str:
    """What a library depends on, as the name of a file."""
    program = Path(compiler[0]).resolve()
    flags = (*_FLAGS, *_engine_of(source, compiler, headers))
    facts = (source, *compiler, str(program), _stamp(program), *flags, processor(), str(headers), *_stamps_of(headers))
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:40]


@functools.lru_cache(maxsize=1)
def _level() -> str:
    """The level of the processor; empty for another family."""
    found = re.search(r"^flags\s*:(.*)", processor(), re.MULTILINE)
    flags = set(found[1].split() if found is not None else ())
    return next((level for level, needed in _LEVELS.items() if flags.issuperset(needed.split())), "")


def _engine_of(source: str, compiler: tuple[str, ...], headers: Path) -> tuple[str, ...]:
    """What is the same in all units, where the package has it compiled for this processor: flags and an object."""
    engine = headers.parent / "ready" / f"engine_{_level()}.o"
    if compiler[1:] or "clang" in Path(compiler[0]).name or not _OF_LEVEL.match(source) or not engine.is_file():
        return ()
    return (f"-march={_level()}", "-mtune=native", "-DFOVEA_COMPILED=1", "-Wl,-z,defs", str(engine))


def find_compiler() -> tuple[str, ...]:
    """The compiler of C++: what CXX names, or c++, g++ or clang++."""
    wanted = os.environ.get("CXX", "").strip()
    return _found_compiler(wanted, os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=16)
def _found_compiler(wanted: str, path: str) -> tuple[str, ...]:
    for command in (shlex.split(wanted),) if wanted else (["c++"], ["g++"], ["clang++"]):
        found = shutil.which(command[0])
        if found is not None:
            return (found, *command[1:])  # not where a link leads: clang++ is a link to clang, and does more
    which = f"CXX is {wanted!r}, which is not there" if wanted else "there is none of c++, g++ and clang++"
    raise UnsupportedError(
        f"a kernel from Python needs a compiler, and {which}: install GCC 12 or newer (on Debian: apt install g++), or "
        "Clang 16 or newer"
    )


@functools.lru_cache(maxsize=1)
def find_headers() -> Path:
    """The folder with fovea/fovea.hpp: in the package, beside it in a checkout, or where headers are installed."""
    package = Path(__file__).resolve().parent
    named = os.environ.get("FOVEA_INCLUDE")
    places = [Path(named)] if named else []
    places += [package / "include", package.parents[1] / "include", package.parents[2] / "include"]
    places += [Path(sys.prefix) / "include", Path("/usr/local/include"), Path("/usr/include")]
    for place in places:
        if (place / "fovea" / "fovea.hpp").is_file():
            return place
    raise UnsupportedError("a kernel from Python needs the headers of fovea: name their folder in FOVEA_INCLUDE")


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


@functools.lru_cache(maxsize=4)
def _stamps_of(headers: Path) -> tuple[str, ...]:
    """Sizes and times of all headers, since reading them would take ten times as long, or the digest that a wheel has."""
    if (headers / "digest").is_file():
        return ((headers / "digest").read_text(),)
    files = sorted((headers / "fovea").rglob("*.[h]*"))
    return tuple(f"{path.name} {_stamp(path)}" for path in files)


@functools.lru_cache(maxsize=1)
def processor() -> str:
    """What -march=native depends on."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            first = file.read(8192).partition("\n\n")[0]
    except OSError:
        return " ".join(os.uname())
    lines = (line for line in first.split("\n") if re.match(r"vendor_id|cpu family|model\b|flags|Features|CPU", line))
    return "\n".join(lines)


def cache_folder() -> Path:
    """Where compiled libraries lie; a folder of this process alone where that cannot be written, or is not the user's.

    What lies there is executed, so nobody else may be able to write to it.
    """
    named = os.environ.get("FOVEA_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return _usable_folder(Path(named) if named else Path(base) / "fovea")


@functools.lru_cache(maxsize=16)
def _usable_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
        if status.st_uid == os.getuid() and status.st_mode & 0o022 == 0 and os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="fovea-"))


def is_sound(path: Path, key: str) -> bool:
    """Whether a library is whole, and the one that its name says."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return len(content) > _CHECKSUM and content[-_CHECKSUM:] == _checksum(content[:-_CHECKSUM], key)


def _checksum(content: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


@contextlib.contextmanager
def _only_process(path: Path, name: str) -> Iterator[None]:
    """Waits until no other process holds a file; without locks in the file system, none waits."""
    try:
        import fcntl

        file = open(path, "w")
    except (ImportError, OSError):
        yield
        return
    with file:
        with contextlib.suppress(OSError), _telling(f"waiting for another process that compiles {name}"):
            fcntl.flock(file, fcntl.LOCK_EX)  # ends with the process that holds it
        yield


def _compile(
    source: str, name: str, exported: str, compiler: tuple[str, ...], headers: Path, path: Path, key: str
) -> None:
    try:
        _remove_left_behind(path.parent)
        with tempfile.TemporaryDirectory(prefix=_WORK, dir=path.parent) as work:
            unit, symbols, made = (Path(work) / file for file in ("kernel.cpp", "symbols.map", "kernel.so"))
            unit.write_text(source)
            symbols.write_text(f"{{ global: {exported}; local: *; }};\n")
            linked = (f"-Wl,--version-script={symbols}", "-o", str(made))
            command = [compiler[0], *_FLAGS, *compiler[1:], f"-I{headers}", str(unit), *linked]
            engine = _engine_of(source, compiler, headers)
            with _telling(f"compiling {name} with {Path(compiler[0]).name}, once"):
                done = _run([*command, *engine], work)
                if engine and _NOT_LINKED.search(done.stderr):  # of a compiler that gives its functions other names
                    done = _run(command, work)
            if done.returncode != 0:
                raise _error_of(done.stderr, name, compiler, path)
            content = made.read_bytes()
            made.write_bytes(content + _checksum(content, key))
            os.replace(unit, path.with_suffix(".cpp"))
            os.replace(made, path)
    except OSError as error:
        raise Error(f"{name} cannot be compiled in {path.parent}: {error}; FOVEA_CACHE names another folder") from error


def _remove_left_behind(folder: Path) -> None:
    """Removes what processes that were killed a day ago have not."""
    for work in folder.glob(f"{_WORK}*"):
        with contextlib.suppress(OSError):
            if time.time() - work.stat().st_mtime > 86400:
                shutil.rmtree(work, ignore_errors=True)


def _run(command: list[str], work: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": work}
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        command, **streams, text=True, errors="replace", env=environment, start_new_session=True
    ) as p:
        try:
            _, said = p.communicate()
        except BaseException:
            os.killpg(p.pid, signal.SIGKILL)  # a compiler is several processes
            raise
    return subprocess.CompletedProcess(command, p.returncode, "", said)


def sentence_in(said: str) -> str | None:
    """What the library has to say in an error of a compiler."""
    found = re.search(r"(?:failed:|failed due to [^\"\n]*|#?error\b[^\n\"]*?) ?\"?fovea: ([^\n\"]*)", said)
    return None if found is None else found[1].strip()


def _error_of(said: str, name: str, compiler: tuple[str, ...], path: Path) -> Exception:
    """The sentence of the library in what a compiler says, or its first error."""
    sentence = sentence_in(said)
    if sentence is not None:
        error = UnsupportedError if "this compiler is not supported" in sentence else ArgumentError
        return error(f"{name}: {sentence}")
    log = path.with_suffix(".log")
    with contextlib.suppress(OSError):
        log.write_text(said)
    first = re.search(r"error: ([^\n]*)", said)
    what = first[1] if first is not None else "without an error"
    if "No space left" in said:
        what = f"no space is left in {path.parent}, FOVEA_CACHE names another folder"
    return Error(f"{name} cannot be compiled: {Path(compiler[0]).name} ends with: {what}; all it says is in {log}")


@contextlib.contextmanager
def _telling(what: str) -> Iterator[None]:
    """One line on a terminal that says what is waited for, and for how long; nothing elsewhere."""
    stream: Any = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    ended, begin = threading.Event(), time.monotonic()

    def tell() -> None:
        wait = 0.2
        while not ended.wait(wait):
            stream.write(f"\rfovea: {what}: {time.monotonic() - begin:.0f} s ")
            stream.flush()
            wait = 1

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
        if time.monotonic() - begin > 0.2:
            stream.write("\r\033[K")
            stream.flush()
