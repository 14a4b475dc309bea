"""Size limits for cache folders: the least recently used files are removed first."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

DAY = 86400.0  # s
FOLDER_SCANS = 16  # scans of a folder, while its limit in bytes is written once

_written: dict[Path, int] = {}  # bytes since the last scan, by folder


def evict_occasionally(folder: Path, suffix: str, most: int, written: int, spared: float = 0.0) -> None:
    """Call `evict_old_files` with the first file that this process writes, and after every share of `most` bytes
    written.

    A scan of thousands of files takes far longer than writing one.
    """
    _written[folder] = _written.get(folder, most) + written
    if _written[folder] * FOLDER_SCANS >= most:
        _written[folder] = 0
        evict_old_files(folder, suffix, most, spared)


def evict_old_files(folder: Path, suffix: str, most: int, spared: float = 0.0) -> None:
    """Remove the least recently used files beyond `most` bytes, and partial files older than a day.

    Files used in the last `spared` seconds stay, even beyond the limit: a process may still need them.
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
