"""Folders of files that can be made again: what was not used for longest goes when they grow too large."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

DAY = 86400.0  # s
FOLDER_CHECKS = 16  # at a folder, while as much is written into it as it may hold

_written: dict[Path, int] = {}  # bytes since the last look, by folder


def forget_now_and_then(folder: Path, suffix: str, most: int, written: int, spared: float = 0.0) -> None:
    """`forget`, after so many bytes were written: with the first file of this process, and now and then later.

    To look at thousands of files takes far longer than to write one.
    """
    _written[folder] = _written.get(folder, most) + written
    if _written[folder] * FOLDER_CHECKS >= most:
        _written[folder] = 0
        forget(folder, suffix, most, spared)


def forget(folder: Path, suffix: str, most: int, spared: float = 0.0) -> None:
    """Remove the oldest files beyond a number of bytes, and what was left half written a day ago.

    What was used in the last `spared` seconds stays, however much that is: a process may still need it.
    """
    found, now = [], time.time()
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process may have removed it
            status = path.stat()
            age = now - status.st_mtime
            if path.suffix == suffix and not path.name.startswith("."):
                found.append((age, status.st_size, path))
            elif age > DAY:
                path.unlink()
    room = most
    for age, size, path in sorted(found):
        room -= size
        if room < 0 and age >= spared:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
