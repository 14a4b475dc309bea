"""The work of one helper process (`jit.cache.compile_processes`): compile the units that a call will need."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from kinemorph.jit import api
from kinemorph.jit.arguments import numba_types
from kinemorph.jit.cache.claims import claims
from kinemorph.jit.cache.keys import named
from kinemorph.jit.cache.usual_kernels import expected, next_after, place

_IDLE = 60.0  # seconds after which a helper without work ends
_POLL_PERIOD = 0.01
_ENOUGH = 3  # calls of a program that speak for a further one


class Helper:
    """The units that are known to be called, and lack machine code."""

    def __init__(self) -> None:
        self._roots: dict[Path, Any] = {}  # kernels that are called now, by their files, which the caller makes
        self._likely: dict[Any, float] = {}  # how likely kernels are needed
        self._missing: dict[Path, tuple[Any, Any]] = {}  # units, and their types, by their files
        self._known: set[Path] = set()
        self._guesses: Counter[str] = Counter()  # what may be called later, by name: how much speaks for it
        self._guessed: set[str] = set()

    def add(self, kernel: Any, path: Path) -> None:
        """A kernel is called that will lie under `path`."""
        self._roots[path] = kernel
        for needed, likely in expected(kernel).items():
            self._likely[needed] = max(likely, self._likely.get(needed, 0.0))
        if kernel.is_entry:
            self._guesses.update(next_after(kernel))

    def look(self) -> bool:
        """See what the callers that are there by now call. Whether something has come."""
        there = [path for path in self._roots if path.exists()]
        for path in there:
            self._called_by(self._roots.pop(path), path)
        made = [path for path in self._missing if path.exists()]
        for path in made:
            self._called_by(self._missing.pop(path)[0].kernel, path)
        return bool(there or made)

    def _called_by(self, caller: Any, path: Path) -> None:
        for kernel, types in caller.calls_in(path):
            file = kernel.called.kept_at(types)
            if file is not None and file not in self._known and kernel in self._likely:
                self._known.add(file)
                self._missing[file] = kernel.called, types

    def _urgency(self, path: Path) -> tuple[float, int]:
        """What is likely called, and of that what is called late: the caller compiles what is called early."""
        kernel = self._missing[path][0].kernel
        return self._likely[kernel], place(kernel)

    def step(self) -> bool:
        """Compile one unit; False if other processes compile all that are missing."""
        free = [path for path in self._missing if not claims.taken(path)]
        if not free:
            return False
        path = max(free, key=self._urgency)
        unit, types = self._missing.pop(path)
        unit.address(types)
        self._called_by(unit.kernel, path)
        return True

    def guess(self) -> bool:
        """Compile what usual programs call next, if nothing else is to do; False if there is nothing."""
        likely = [name for name, count in self._guesses.items() if count >= _ENOUGH and name not in self._guessed]
        if not likely:
            return False
        self._guessed.add(name := likely[0])
        with contextlib.suppress(ImportError, AttributeError):  # the list is older than the sources
            kernel = named(*name.rsplit(".", 1))
            types = numba_types(kernel.py_func, api.types) if kernel.is_entry else None
            path = kernel.kept_at(types) if types else None
            if path and path not in self._roots and not path.exists() and not claims.taken(path):
                self.add(kernel, path)
                kernel.compile(types)
        return True


_TRIES = 100  # to remove a folder while another thread, or another helper, may claim one more unit in it


def _listen(lines: queue.Queue[str], folder: Path) -> None:
    """Until the process that we help ends, however it does."""
    for line in sys.stdin:
        lines.put(line)
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
    os._exit(0)


def main() -> None:
    """What a helper runs: its arguments are the folder of claims, its name, and what its machine code must be for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that we help decides
    folder, name, setting = Path(sys.argv[1]), *sys.argv[2:4]
    if api.no_cache or api.setting_key() != setting:
        return  # other settings than a new process has: it would not find what we compile
    claims.folder, claims.name = folder, name
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(lines, folder), daemon=True).start()
    helper, busy = Helper(), time.monotonic()
    while time.monotonic() - busy < _IDLE and not api.progress.unkept:
        with contextlib.suppress(queue.Empty):
            while True:
                module, qualified, path = json.loads(lines.get_nowait())
                helper.add(named(module, qualified), Path(path))
        if helper.look() or helper.step() or helper.guess():
            busy = time.monotonic()
        else:
            time.sleep(_POLL_PERIOD)
