"""The progress of a long simulation, shown at a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

STEP_COUNT_LIMIT = 1 << 60  # steps that one call may ask for
QUIET_TIME = 1.5  # s of computing before anything is shown


class Bar:
    """A bar on a terminal, once a simulation has taken a while; nothing anywhere else."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end, self.began = start, end, time.monotonic()
        self.bar: Any = None

    def __enter__(self) -> Bar:
        return self

    def show(self, now: float) -> None:
        if self.bar is None and time.monotonic() - self.began > QUIET_TIME and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("simulating", total=self.end - self.start)
        if self.bar is not None:
            self.bar.update(self.task, completed=now - self.start)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
