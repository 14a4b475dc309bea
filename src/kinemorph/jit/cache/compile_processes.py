"""Processes that compile beside a first call, one on each core that is left.

A call runs on one core, and asks for one unit of machine code after the other. If many are missing, helpers look at
what those that are there call, compile what is likely to be asked for (`jit.cache.compile_worker`), then what usual
programs call next, and leave it in the cache on disk, where the call finds it. Whatever happens to them, the call
compiles what it does not find: they are never needed. They have no output, ignore Ctrl-C, end when this process does,
and a minute after the last was compiled.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kinemorph._cores import jobs
from kinemorph.jit.cache.claims import claims

_SECONDS_PER_PROCESS = 3.0  # seconds of compilation for which it is worth starting one
_MOST_PROCESSES = 7
_PATIENCE = 60.0  # seconds for which a helper is waited for
_COMMAND = "import sys; sys.path[:] = sys.argv[4:]; from kinemorph.jit.cache.compile_worker import main; main()"


class Helpers:
    """The helpers of this process."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[str]] = {}  # by the name in their claims
        self._folder: Path | None = None
        self._owner = os.getpid()
        self._useless = False
        self._work = 0.0  # seconds that all that was missing so far takes
        self._asked: list[str] = []  # what was missing so far, as helpers are told

    def ask(self, module: str, name: str, path: Path | None, setting: str, seconds: float) -> int:
        """Let helpers compile what a kernel calls, which takes about so long, when it lies under `path`.

        How many processes compile then, with this one.
        """
        self._work += seconds
        if path is None or module == "__main__" or not self._may():
            return 1
        self._asked.append(json.dumps([module, name, str(path)]) + "\n")
        if self._work < _SECONDS_PER_PROCESS:
            return 1
        self._tell(list(self._running.values()), self._asked[-1:])
        self._drop_ended()
        wanted = min(jobs() - 1, _MOST_PROCESSES, int(self._work / _SECONDS_PER_PROCESS))
        try:
            while len(self._running) < wanted:
                self._start(setting)
        except (OSError, ValueError):
            self._useless = True  # processes cannot be started here
        return 1 + len(self._running)

    def _tell(self, processes: list[subprocess.Popen[str]], lines: list[str]) -> None:
        for process in processes:
            with contextlib.suppress(OSError, ValueError):
                assert process.stdin
                process.stdin.writelines(lines)
                process.stdin.flush()

    def _may(self) -> bool:
        """Not in processes of a pool or of a fork, which have their cores already, nor beside `kinemorph warm`, nor
        where to start Python again would start some other program, of which Python is a part."""
        if self._owner != os.getpid():
            claims.folder, self._useless = None, True
        elsewhere = claims.folder is not None and claims.folder != self._folder
        is_python = Path(sys.executable or "").name.lower().startswith("py") and not hasattr(sys, "frozen")
        return is_python and not (self._useless or elsewhere or multiprocessing.parent_process())

    def _start(self, setting: str) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="kinemorph-claims-"))
            atexit.register(self.dismiss)
        claims.folder, claims.patience = self._folder, _PATIENCE
        claims.is_gone, claims.gave_up = self._is_gone, self.dismiss
        name = f"helper {len(self._running)}"
        flags = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []  # another bytecode is another kernel
        self._running[name] = subprocess.Popen(
            [sys.executable, *flags, "-c", _COMMAND, str(self._folder), name, setting, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # of Windows
            env=os.environ | {"KINEMORPH_QUIET": "1", "KINEMORPH_JOBS": "1"},
        )
        self._tell([self._running[name]], self._asked)

    def _is_gone(self, name: str) -> bool:
        process = self._running.get(name)
        return process is not None and process.poll() is not None

    def _drop_ended(self) -> None:
        for name in [name for name in self._running if self._is_gone(name)]:
            self._end(self._running.pop(name))

    def _end(self, process: subprocess.Popen[str]) -> None:
        with contextlib.suppress(OSError, ValueError):
            assert process.stdin
            process.stdin.close()
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait(1.0)

    def dismiss(self) -> None:
        """End them: what they have finished is kept. From now on this process compiles for itself."""
        if self._owner == os.getpid():
            self._useless = True
            for process in self._running.values():
                self._end(process)
            self._running.clear()
            claims.folder = None
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)


helpers = Helpers()
