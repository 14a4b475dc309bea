"""Hostile files of every kind that kinemorph reads, each read in a child process with limits.

    python -m tests.hostile_files [KIND ...] [--count 20000] [--seed 0] [--keep FOLDER]

`tests.fuzz` judges sentences; this judges harm. A file is made of a seed and a number by the mutators of
`tests.mutators`, which know the formats: they set single fields of rows, values of JSON and members of archives, and
compute checksums anew. A child that reads it must come to an end with a value or with one of the errors of its kind.
It must not die, take more than `SECONDS` of processor time or `MEMORY` more than before, write anything outside of the
folder of the file, run code that comes from it, or start a process or a connection: an audit hook looks on.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz import mutated

import kinemorph as km
from kinemorph.jit.api import cache_folder

SECONDS = 10.0  # of the processor, for one file
PATIENCE = 300.0  # s: a child that waits for something for so long never ends
MEMORY = 2**30  # bytes more than before
BATCH = 500  # files for a child
IN_MEMORY = "/dev/shm"  # where files are written, if that is there: on disks they take most of the time
LONGEST = 2000  # characters of what is said of a fault
TEXT = 24  # bytes before what is said of a fault: the number of a file, the size of the text, and files refused
Content = bytes
Mutate = Callable[[Content, list[Content], np.random.Generator], Content]


@dataclass(frozen=True)
class Kind:
    """One kind of file: some to begin with (a suffix and a content), how they are spoiled, and what reads them."""

    examples: Callable[[], list[tuple[str, Content]]]
    mutate: Mutate
    read: Callable[[Path], Any]
    errors: tuple[type[Exception], ...] = (km.FileError,)


# ------------------------------------------------------------------------------------------------------------ guards

WRITES = {
    "os.remove": (0,), "os.rename": (0, 1), "os.mkdir": (0,), "os.rmdir": (0,), "os.link": (0, 1), "os.symlink": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,), "os.setxattr": (0,),
    "shutil.rmtree": (0,), "shutil.move": (0, 1), "shutil.copyfile": (1,), "tempfile.mkstemp": (0,),
    "tempfile.mkdtemp": (0,), "sqlite3.connect": (0,),
}  # fmt: skip
STARTS = (
    "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.startfile", "pty.", "socket.",
    "urllib.", "ftplib.", "smtplib.", "http.", "webbrowser.", "ctypes.dlopen", "sqlite3.enable_load_extension",
    "sqlite3.load_extension",
)  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Guard:
    """Notes what a reader does besides reading: once it is there it stays, so it belongs into a child process."""

    def __init__(self) -> None:
        self.folder = ""
        self.content = b""
        self.found = ""
        own = (Path(km.__file__).parent, Path(__file__).parent)
        self.known = tuple(os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, *own))
        # What is written to: the cache of kernels and hulls, and what says which kernel is being compiled.
        self.cache = os.path.realpath(cache_folder()), os.path.join(tempfile.gettempdir(), "kinemorph-claims-")
        sys.addaudithook(self._heard)

    @contextlib.contextmanager
    def over(self, folder: Path, content: bytes) -> Iterator[None]:
        self.found, self.content = "", content
        self.folder = os.path.realpath(folder)
        try:
            yield
        finally:
            self.folder = ""

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.folder or self.found:
            return
        folder, self.folder = self.folder, ""  # what is asked here is not looked at
        try:
            self.found = self._fault(event, arguments, folder)
        finally:
            self.folder = folder

    def _fault(self, event: str, arguments: tuple[Any, ...], folder: str) -> str:
        if event == "open":
            path, mode, flags = arguments
            writes = bool(set(mode or "") & set("wax+")) or bool((flags or 0) & WRITING)
            return self._stray(path, folder, "it opened", writes)
        for place in WRITES.get(event, ()):
            if fault := self._stray(arguments[place], folder, f"{event} of", True):
                return fault
        if event == "exec":
            name = getattr(arguments[0], "co_filename", "")
            known = name.startswith(self.known) or name.startswith("<")  # of dataclasses, named tuples, frozen modules
            return "" if known else f"it ran code of {name!r}"
        if event == "import":
            named = str(arguments[0])
            here = named not in sys.modules and named.encode() in self.content and len(named) > 4
            return f"it imported {named!r}, which the file names" if here else ""
        if event == "ctypes.dlopen" and str(arguments[0]).startswith(self.known):
            return ""  # a compiler that is needed late
        return f"{event}{arguments!r:.200}" if event.startswith(STARTS) else ""

    def _stray(self, path: Any, folder: str, what: str, writes: bool) -> str:
        if not isinstance(path, str | bytes | os.PathLike):
            return ""  # a file that is open already
        text = os.fsdecode(path)
        if text.startswith("file:"):  # an address for SQLite
            text = text.removeprefix("file://").partition("?")[0]
        real = os.path.realpath(text)
        places = (folder, *self.cache) if writes else (folder, *self.cache, *self.known, "/proc/", "/sys/")
        return "" if real.startswith(places) or real == os.devnull else f"{what} {real}"


def memory_taken() -> int:
    """Bytes that this process has had at most, since it was said to forget."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return 1024 * int(line.split()[1])
    return 0


def forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


# ---------------------------------------------------------------------------------------------------------- children


class Seeds:
    """The examples of a kind, and the files that are made of them."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.examples = kind.examples()
        self.contents = [content for _, content in self.examples]

    def made(self, seed: int, number: int) -> tuple[str, bytes]:
        rng = np.random.default_rng([seed, number])
        suffix, content = self.examples[int(rng.integers(len(self.examples)))]
        try:
            return suffix, self.kind.mutate(content, self.contents, rng)
        except Exception:  # what is spoiled twice may make no sense to what spoils it
            return suffix, mutated(content, self.contents, rng)


def read_one(kind: Kind, path: Path, content: bytes, guard: Guard, refused: list[int]) -> str:
    """What is wrong with how a file is read; empty if it is read, or refused (which is noted) as it should be."""
    forget_peak()
    before = memory_taken()
    fault = ""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # which ends the process
    try:
        with warnings.catch_warnings(), guard.over(path.parent, content):
            warnings.simplefilter("ignore")
            kind.read(path)
    except kind.errors as error:
        refused.append(1)
        if "allocate" in str(error):
            fault = f"it asked for too much memory: {error}"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-5:]
        way = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in where)
        fault = f"{type(error).__name__}: {error} at {way}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    taken = memory_taken() - before
    if not fault and taken > MEMORY:
        fault = f"it took {taken / 2**20:.0f} MB"
    return "; ".join(one for one in (guard.found, fault) if one)[:LONGEST]


def _child(seeds: Seeds, folder: Path, seed: int, first: int, end: int, shared: mmap.mmap) -> None:
    """Read files, and say in memory that is shared which one it is, and what was wrong with it."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 2 * MEMORY, size + 2 * MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()  # whoever dies is asked for by the parent
    guard = Guard()
    refused: list[int] = [0] * struct.unpack("<q", shared[16:TEXT])[0]
    os.chdir(folder)
    parent = os.getppid()
    for number in range(first, end):
        if os.getppid() != parent:
            return  # nobody listens any more
        suffix, content = seeds.made(seed, number)
        path = folder / f"seed{suffix}"
        path.write_bytes(content)
        shared[:16] = struct.pack("<qq", number, 0)
        fault = read_one(seeds.kind, path, content, guard, refused).encode(errors="replace")
        shared[16:TEXT] = struct.pack("<q", len(refused))
        for other in folder.iterdir():
            if other != path and other.name not in BESIDE:
                (shutil.rmtree if other.is_dir() and not other.is_symlink() else os.unlink)(other)
        shared[TEXT : TEXT + len(fault)] = fault
        shared[:16] = struct.pack("<qq", number + 1, len(fault))
        if fault:
            return


BESIDE = {path.name: path for path in (Path(km.__file__).parent / "scenes/data").glob("*.stl")}  # of scenes
FATES = {signal.SIGPROF: f"it took more than {SECONDS:g} s", signal.SIGKILL: "it was killed: it waited for ever"}


def campaign(
    kind: Kind, count: int, seed: int = 0, first: int = 0, most: int = 20, told: dict[str, int] | None = None
) -> Iterator[tuple[int, str]]:
    """Read so many files of a kind. Yields the number of each that went wrong, and how; tells how many were refused."""
    seeds = Seeds(kind)
    with _place() as folder:
        for suffix, content in seeds.examples:  # what compiles when it is first used is not to be blamed on a file
            (folder / f"seed{suffix}").write_bytes(content)
            with warnings.catch_warnings(), contextlib.suppress(*kind.errors):  # some miss what lies beside them
                warnings.simplefilter("ignore")
                kind.read(folder / f"seed{suffix}")
    yield from _read_all(seeds, count, seed, first, most, {} if told is None else told)


def judge(read: Callable[[Path], Any], content: bytes, suffix: str = "", errors: Any = (km.FileError,)) -> str:
    """What is wrong with how one file is read in a child process; empty if it is read or refused as it should be."""
    kind = Kind(lambda: [(suffix, content)], lambda same, others, rng: same, read, errors)
    return next(_read_all(Seeds(kind), 1, 0, 0, 1, {}), (0, ""))[1]


@contextlib.contextmanager
def _place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hostile-", dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None))
    try:
        for beside, path in BESIDE.items():
            shutil.copyfile(path, folder / beside)
        yield folder
    finally:
        shutil.rmtree(folder)


def _read_all(
    seeds: Seeds, count: int, seed: int, first: int, most: int, told: dict[str, int]
) -> Iterator[tuple[int, str]]:
    shared = mmap.mmap(-1, TEXT + 4 * LONGEST)
    with _place() as folder, contextlib.closing(shared):
        number, faults, slow = first, 0, -1
        while number < first + count and faults < most:
            shared[:16] = struct.pack("<qq", number, 0)
            end = min(number + BATCH, first + count)
            fate = _fate_of(lambda n=number, e=end: _child(seeds, folder, seed, n, e, shared), shared)  # type: ignore[misc]
            number, size, told["refused"] = struct.unpack("<qqq", shared[:TEXT])
            if fate == signal.SIGPROF and number != slow:  # it may have had to compile a kernel
                slow = number
                continue
            if fate:
                number, fault = number + 1, FATES.get(signal.Signals(fate), f"it died of {signal.Signals(fate).name}")
            else:
                fault = bytes(shared[TEXT : TEXT + size]).decode() if size else ""
            if fault:
                faults += 1
                yield number - 1, fault


def _fate_of(work: Callable[[], None], shared: mmap.mmap) -> int:
    """Let a child do it. Returns the signal that it died of, if it did."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    last, since = b"", time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if os.WIFEXITED(status) and os.WEXITSTATUS(status):
                raise RuntimeError("the harness itself failed; what it said is above")
            return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if shared[:8] != last:
            last, since = shared[:8], time.monotonic()
        if time.monotonic() - since > PATIENCE:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def main() -> None:
    from tests.hostile_kinds import KINDS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all if none is named")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--keep", type=Path, help="a folder for files that went wrong")
    told = parser.parse_args()
    failed = False
    for name in told.kinds or KINDS:
        start, bad, counted = time.perf_counter(), 0, {"refused": 0}
        for number, fault in campaign(KINDS[name], told.count, told.seed, told.first, told=counted):
            bad += 1
            print(f"{name}: file {number} of seed {told.seed}: {fault}", flush=True)
            if told.keep is not None:
                told.keep.mkdir(parents=True, exist_ok=True)
                suffix, content = Seeds(KINDS[name]).made(told.seed, number)
                (told.keep / f"{name}-{told.seed}-{number}{suffix}").write_bytes(content)
        took = time.perf_counter() - start
        print(f"{name}: {told.count} files, {counted['refused']} refused, {bad} went wrong, {took:.0f} s", flush=True)
        failed |= bool(bad)
    sys.exit(failed)


if __name__ == "__main__":
    main()
