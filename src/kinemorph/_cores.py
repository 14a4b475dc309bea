"""How many cores this process may use."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds, or max, in a period of so many


def cores() -> int:
    """How many cores this process may use, by its affinity and by what its container is allowed."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        count = os.cpu_count() or 1
    return max(1, min(count, usable_cores(_QUOTA) or count))


def jobs() -> int:
    """In how many processes to compile: KINEMORPH_JOBS, or one for each core."""
    with contextlib.suppress(ValueError):
        return max(1, int(os.environ.get("KINEMORPH_JOBS", "")))
    return cores()


@functools.cache
def usable_cores(quota: Path) -> int | None:
    """How many cores a container may use; None if nothing says so."""
    try:
        time, period = map(float, quota.read_text().split())
        return math.ceil(time / period)
    except (OSError, ValueError, ZeroDivisionError):  # there is no such file, or it says max
        return None
