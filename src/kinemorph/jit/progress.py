"""Tells the user on stderr that kernels are being compiled, and how far that is."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

_LOG_PERIOD = 10.0  # seconds between two lines in a log
_LONG = 2.0  # seconds after which a user wants to know how far it is
_SECONDS_PER_KERNEL = 0.08  # seconds that a kernel takes, on average
_SHARE = 0.7  # of what a process does for itself, that one does which helps it
_WORTH_SAYING = 10  # seconds for which another line is due


class CompileCount(NamedTuple):
    compiled: int
    loaded: int


class Progress:
    """Not for two threads at a time: every call is made under Numba's compiler lock."""

    def __init__(self) -> None:
        self.count = CompileCount(0, 0)
        self.listener: Callable[[], None] | None = None  # called when a kernel was compiled
        self._announced = self._complained = False
        self.unkept: str | None = None  # why something that was compiled is not kept
        self._counted: set[object] = set()  # kernels that the user knows to be compiled
        self._depth = 0
        self._started = self._spent = 0.0
        self._last = -_LOG_PERIOD  # the seconds spent when the user was last told
        self._shown = False

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Around the compilation of a kernel, within which its callees are compiled."""
        if self._depth == 0:
            self._started, self._shown = time.monotonic() - self._spent, False
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._spent = time.monotonic() - self._started
                if self._shown and _on_terminal():
                    _tell("")  # to the end of the line that was rewritten so far

    def missed(
        self, name: str, kernels: Callable[[], Mapping[Any, float]], why_not_kept: Callable[[], str | None],
        folder: Callable[[], object], remark: Callable[[], str | None] = lambda: None,
        help: Callable[[float], int] = lambda seconds: 1,
    ) -> None:  # fmt: skip
        """The cache does not have a kernel: it will be compiled now, with the kernels that it calls.

        `kernels` are these, with how likely they are needed, and `help` finds processes for so many seconds of work.
        """
        if self._depth > 1 and self._announced:  # on behalf of one that was announced
            return
        needed = kernels()
        work = _SECONDS_PER_KERNEL * sum(likely for kernel, likely in needed.items() if kernel not in self._counted)
        self._counted.update(needed)
        processes = help(work)
        seconds = round(work / (1.0 + _SHARE * (processes - 1)))
        about = f"about {seconds} s" if seconds > 2 else "a moment"
        about += f" on {processes} cores" if processes > 1 else ""
        if not self._announced:
            self._announced = True
            reason = why_not_kept()
            self._complained = reason is not None
            where = f"not kept: {reason}" if reason else f"kept in {folder()}; all at once: kinemorph warm"
            also = f"; {text}" if (text := remark()) else ""
            _tell(f"kinemorph: compiling {name} and what it calls, {about} (first use; {where}{also})")
        elif seconds >= _WORTH_SAYING:
            _tell(f"kinemorph: compiling {name} and what it calls, {about}")

    def finished(self, *, compiled: bool) -> None:
        """A kernel was compiled, or loaded from the cache."""
        self.count = CompileCount(self.count.compiled + compiled, self.count.loaded + (not compiled))
        if compiled and self.listener:
            self.listener()
        now = time.monotonic()
        spent, pause = now - self._started, 0.1 if _on_terminal() else _LOG_PERIOD
        if compiled and spent > _LONG and spent - self._last > pause:
            self._last, self._shown = spent, True
            ending = "" if self.count.compiled == 1 else "s"
            text = f"kinemorph: compiled {self.count.compiled} kernel{ending} in {spent:.0f} s"
            _tell(f"\r{text:<60}" if _on_terminal() else text, end="" if _on_terminal() else "\n")

    def complain(self, reason: object) -> None:
        """Say once that what was compiled is not kept on disk."""
        self.unkept = self.unkept or str(reason)
        if not self._complained:
            self._complained = True
            self.warn(f"compiled kernels are not kept: {reason}")

    def warn(self, text: str) -> None:
        _tell(f"kinemorph: {text}")


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _tell(text: str, end: str = "\n") -> None:
    if os.environ.get("KINEMORPH_QUIET", "") in ("", "0"):
        with contextlib.suppress(Exception):  # a missing or closed stderr is no reason to fail
            print(text, end=end, file=sys.stderr, flush=True)


progress = Progress()  # of this process
