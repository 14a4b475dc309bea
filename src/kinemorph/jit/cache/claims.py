"""Which of several processes compiles a kernel, while the others wait for it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_PATIENCE = 60.0  # seconds after which a kernel is compiled here too: the other process may be gone
_POLL_PERIOD = 0.01


class Claims:
    """Marks in a folder, one for each kernel that some process compiles. Without a folder no process waits.

    A process that waits has claimed callers of that kernel alone, and no kernel calls itself: they cannot all wait.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.name = ""  # of this process, which is in its marks
        self.is_gone: Callable[[str], bool] = lambda name: False  # whether a process of that name has ended
        self.patience = _PATIENCE
        self.gave_up: Callable[[], None] = lambda: None  # called when one was waited for in vain

    @contextlib.contextmanager
    def on(self, kept: Path | None) -> Iterator[None]:
        """Around the compilation of a kernel: when it begins, no other process compiles it, or one has finished."""
        mark = self._claimed(kept) if self.folder and kept else None
        try:
            yield
        finally:
            if mark:
                with contextlib.suppress(OSError):
                    mark.unlink()

    def taken(self, kept: Path) -> bool:
        """Whether a process compiles this kernel now."""
        return self.folder is not None and (self.folder / kept.name).exists()

    def _claimed(self, kept: Path) -> Path | None:
        assert self.folder
        mark, begun = self.folder / kept.name, time.monotonic()
        while not kept.exists():
            try:
                with open(mark, "x") as file:
                    file.write(self.name)
                return mark
            except FileExistsError:
                if time.monotonic() - begun > self.patience:
                    self.gave_up()
                    break
                if self._is_left(mark):
                    break
                time.sleep(_POLL_PERIOD)
            except OSError:  # a full disk: then each process compiles for itself
                with contextlib.suppress(OSError):
                    mark.unlink()
                break
        return None

    def _is_left(self, mark: Path) -> bool:
        """Whether a mark is that of a process that has ended."""
        with contextlib.suppress(OSError):
            return bool(name := mark.read_text()) and self.is_gone(name)
        return False


claims = Claims()  # of this process
