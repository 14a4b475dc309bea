"""Which of several processes compiles a kernel, while the others wait for it: for `kinemorph warm`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

_PATIENCE = 60.0  # seconds after which a kernel is compiled here too: the other process may be gone
_PAUSE = 0.02


class Claims:
    """Marks in a folder, one for each kernel that some process compiles. Without a folder nobody is waited for.

    A process that waits has claimed callers of that kernel alone, and no kernel calls itself: they cannot all wait.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None

    @contextlib.contextmanager
    def on(self, kept: Path | None) -> Iterator[None]:
        """Around the making of a kernel: when it begins, nobody else makes it, or somebody else has."""
        mark = self._claimed(kept) if self.folder and kept else None
        try:
            yield
        finally:
            if mark:
                mark.unlink(missing_ok=True)

    def _claimed(self, kept: Path) -> Path | None:
        assert self.folder
        mark, begun = self.folder / kept.name, time.monotonic()
        while not kept.exists() and time.monotonic() - begun < _PATIENCE:
            try:
                mark.touch(exist_ok=False)
                return mark
            except FileExistsError:
                time.sleep(_PAUSE)
            except OSError:  # a full disk: then everyone for themselves
                break
        return None


claims = Claims()  # of this process
