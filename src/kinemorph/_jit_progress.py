"""Tells the user on stderr that kernels are being compiled, and how far that is."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

_LONG = 2.0  # seconds after which a user wants to know how far it is


class CompileCount(NamedTuple):
    compiled: int
    loaded: int


class Progress:
    """Not for two threads at a time: every call is made under Numba's compiler lock."""

    def __init__(self) -> None:
        self.count = CompileCount(0, 0)
        self._announced = self._complained = False
        self._depth = 0
        self._started = self._shown = 0.0
        self._done = self._expected = 0

    @contextlib.contextmanager
    def compiling(self, expect: Callable[[], int]) -> Iterator[None]:
        """Around the compilation of a kernel, within which its callees are compiled."""
        if self._depth == 0:
            self._started, self._shown = time.monotonic(), 0.0
            self._done = self._expected = 0
            self._expect = expect
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._shown and _on_terminal():
                _tell("")  # to the end of the line that was rewritten so far

    def missed(self, why_not_kept: Callable[[], str | None], folder: Callable[[], object]) -> None:
        """The cache does not have a kernel: it will be compiled now."""
        self._expected = self._expected or self._expect()
        if not self._announced:
            self._announced = True
            reason = why_not_kept()
            self._complained = reason is not None
            where = f"not kept: {reason}" if reason else f"kept in {folder()}"
            _tell(f"kinemorph: compiling kernels (first use; {where})")

    def finished(self, *, compiled: bool) -> None:
        """A kernel was compiled, or loaded from the cache."""
        self.count = CompileCount(self.count.compiled + compiled, self.count.loaded + (not compiled))
        self._done += 1
        now = time.monotonic()
        pause = 0.1 if _on_terminal() else 10.0
        if self._expected and now - self._started > _LONG and now - self._shown > pause:
            self._shown = now
            total, seconds = max(self._expected, self._done), now - self._started
            text = f"kinemorph: compiled {self._done} of about {total} kernels, {seconds:.0f} s"
            _tell(f"\r{text:<60}" if _on_terminal() else text, end="" if _on_terminal() else "\n")

    def complain(self, reason: object) -> None:
        """Say once that what was compiled is not kept on disk."""
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
