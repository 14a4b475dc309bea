"""Where compile time goes: the exercises of `kinemorph warm`, one after the other in this process, with an empty cache.

By exercise: how many kernels, and seconds of the processor, with those that went into compiling: an exercise imports
what it needs, and runs, as well. By unit of machine code: seconds to optimise and to make machine code, its size, and
how many kernels it takes in. By kernel: seconds to lower, in how many versions, and how many units take it in: large
ones that many units take in should be units of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import arguments
from kinemorph.jit import api
from kinemorph.jit.compiler import dispatch
from kinemorph.jit.compiler import library as jit_library
from kinemorph.scenes.commands.exercises import EXERCISES
from kinemorph.scenes.commands.warming import Done, run_exercise


@dataclass
class Kernel:
    """What one function costs."""

    versions: int = 0
    lowering: float = 0.0  # s, without what is compiled on its behalf
    copies: int = 0  # units that take in one of its versions
    copied: int = 0  # instructions of LLVM in all of these


@dataclass
class Unit:
    """Machine code."""

    name: str
    seconds: float  # to optimise and to make machine code
    size: int  # bytes, with the tables of its object file
    parts: int  # kernels that it takes in
    instructions: int  # of these and its own, before it is optimised


@dataclass
class Ledger:
    """What was compiled while somebody watched."""

    kernels: defaultdict[str, Kernel] = field(default_factory=lambda: defaultdict(Kernel))
    units: list[Unit] = field(default_factory=list)
    compiling: float = 0.0  # s, in all
    _inner: list[float] = field(default_factory=lambda: [0.0])  # seconds that belong to others, by depth

    @contextlib.contextmanager
    def own_time(self) -> Iterator[list[float]]:
        """Seconds of the processor, without those of another such block within."""
        taken: list[float] = []
        start = time.process_time()
        self._inner.append(0.0)
        try:
            yield taken
        finally:
            whole = time.process_time() - start
            taken.append(whole - self._inner.pop())
            self._inner[-1] += whole
            self.compiling += taken[0]


def name_of(kernel: Any) -> str:
    return f"{kernel.py_func.__module__.removeprefix('kinemorph.')}.{kernel.py_func.__qualname__}"


def size_of(library: Any) -> int:
    """Instructions of a library that is not a unit yet."""
    if not hasattr(library, "instruction_count"):
        functions = library.part().functions if isinstance(library, jit_library.KernelLibrary) else ()
        library.instruction_count = sum(len(list(block.instructions)) for f in functions for block in f.blocks)
    return int(library.instruction_count)


@contextlib.contextmanager
def watched() -> Iterator[Ledger]:
    """Note down all that is compiled in this block."""
    ledger = Ledger()
    compile_kernel, finalize = dispatch._Kept.compile, jit_library.KernelLibrary.finalize

    def noted_compile(self: Any, signature: Any) -> Any:
        before = api.compile_count().compiled
        with ledger.own_time() as taken:
            result = compile_kernel(self, signature)
        if api.compile_count().compiled > before:
            ledger.kernels[name_of(self)].versions += 1
            ledger.kernels[name_of(self)].lowering += taken[0]
        return result

    def noted_finalize(self: Any) -> None:
        if not self._object_caching_enabled:  # Numba's own, which it makes in every process
            return finalize(self)
        own = size_of(self)
        taken_in = [other for other in self._taken_in(whole=True) if getattr(other, "kernel", None)]
        for other in taken_in:
            kernel = ledger.kernels[name_of(other.kernel[0])]
            kernel.copies += 1
            kernel.copied += size_of(other)
        with ledger.own_time() as taken:
            finalize(self)
        instructions = own + sum(map(size_of, taken_in))
        size = len(self._get_compiled_object())
        ledger.units.append(Unit(self.name, taken[0], size, len(taken_in), instructions))

    dispatch._Kept.compile, jit_library.KernelLibrary.finalize = noted_compile, noted_finalize  # type: ignore[method-assign]
    try:
        yield ledger
    finally:
        dispatch._Kept.compile, jit_library.KernelLibrary.finalize = compile_kernel, finalize  # type: ignore[method-assign]


def table(title: str, headings: str, rows: list[tuple[object, ...]]) -> Table:
    made = Table(title=title)
    for k, heading in enumerate(headings.split(", ")):
        made.add_column(heading, justify="right" if k else "left")
    for row in rows:
        made.add_row(*(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row))
    return made


def show(done: dict[str, Done], compiling: dict[str, float], ledger: Ledger, most: int) -> None:
    console = Console(width=120)
    rows: list[tuple[object, ...]] = [
        (name, d.compiled, d.seconds, compiling[name], EXERCISES[name].kernels, EXERCISES[name].seconds)
        for name, d in done.items()
    ]
    rows.append(("all", *(sum(row[k] for row in rows) for k in range(1, 6))))  # type: ignore[misc]
    heading = "exercise, kernels, CPU s, of these to compile, kernels as noted, CPU s as noted"
    console.print(table("exercises", heading, rows))
    units = sorted(ledger.units, key=lambda unit: -unit.seconds)
    rows = [(u.name, u.seconds, u.size // 1000, u.parts, u.instructions) for u in units]
    same = Counter(unit.name for unit in units)
    total = sum(u.seconds for u in units), sum(u.size for u in units) // 1000, sum(u.parts for u in units)
    rows = [(f"all {len(units)}, of {len(same)} kernels", *total, sum(u.instructions for u in units)), *rows]
    console.print(table("units", "unit, CPU s, kB, kernels taken in, LLVM instructions", rows[:most]))
    kernels = sorted(ledger.kernels.items(), key=lambda item: -item[1].copied)
    rows = [(name, k.copied, k.copies, k.copied // max(1, k.copies), k.versions, k.lowering) for name, k in kernels]
    heading = "kernel, instructions copied, units that take it in, instructions of one, versions, CPU s to lower"
    console.print(table("kernels, by what copies of them cost", heading, rows[:most]))
    slow = sorted(ledger.kernels.items(), key=lambda item: -item[1].lowering)
    rows = [(name, k.lowering, k.versions) for name, k in slow]
    rows = [("all", sum(k.lowering for _, k in slow), sum(k.versions for _, k in slow)), *rows]
    console.print(table("kernels, by lowering", "kernel, CPU s, versions", rows[:most]))


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", nargs="*", choices=list(EXERCISES), help="these exercises")
    parser.add_argument("--most", type=int, default=40, help="rows of a table")
    options = parser.parse_args()
    names = options.only or [name for name, one in EXERCISES.items() if one.usual]
    with tempfile.TemporaryDirectory() as folder, watched() as ledger:
        os.environ |= {"KINEMORPH_CACHE_DIR": folder, "KINEMORPH_JOBS": "1"}  # nobody helps
        done, compiling = {}, {}
        for name in names:
            before = ledger.compiling
            done[name] = run_exercise(name)
            compiling[name] = ledger.compiling - before
    show(done, compiling, ledger, options.most)
    if options.json:
        content = {
            "exercises": {
                name: {"kernels": d.compiled, "seconds": d.seconds, "compiling": compiling[name], "fault": d.fault}
                for name, d in done.items()
            },
            "units": [asdict(unit) for unit in ledger.units],
            "kernels": {name: asdict(kernel) for name, kernel in ledger.kernels.items()},
        }
        options.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
