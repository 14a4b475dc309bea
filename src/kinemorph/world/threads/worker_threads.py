"""WorkerThreads: the threads that help one world with its steps, for as long as these take."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from kinemorph._cores import cores
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.threaded_narrow_phase import Scouts, may_scout
from kinemorph.jit.api import switched_off
from kinemorph.motion.parallel.many_worlds import is_one_of_many
from kinemorph.multibody.tables import aligned_at
from kinemorph.structure.forest.layout import TREES
from kinemorph.world.layout import ContactModel
from kinemorph.world.step.run import run_steps
from kinemorph.world.threads.thread_rows import CREW, PART
from kinemorph.world.threads.work_sharing import WHOLE, assist

MOST_THREADS = 64
LEAST_SHARED_TREES = 200  # trees that are awake: with fewer a step is over before anybody could help
LEAST_SHARED_ROWS = 64  # rows of a stage, likewise


class WorkerThreads:
    """Room for so many threads to work side by side; the first of them is the one that makes the steps.

    The others come when steps begin and go when nothing has come for a moment. Nothing depends on whether they do.
    """

    def __init__(self, threads: int, most: int) -> None:
        self.threads = threads
        self._row, self.address = aligned_at(1, CREW)
        self._scouts = Scouts(threads, most)
        self._parts, parts = aligned_at(threads, PART)
        self._row["parts"], self._row["threads"], self._row["share"] = parts, threads, WHOLE // threads
        self._row["scouts"], self._row["least"] = self._scouts.address, LEAST_SHARED_ROWS
        self._helpers: dict[int, Future[None]] = {}  # by their numbers
        self._runs = 0
        self._seen: tuple[Any, int] = None, -1  # the table of shapes that was looked at, and its revision then

    @property
    def helped(self) -> int:
        """How many batches of rows others have done than the thread that made the steps."""
        return int(self._parts["helped"][1:].sum())

    def is_worth_it(self, world: Any) -> bool:
        """Whether there is enough to do for more than one thread, and they may have it."""
        trees = int(world.forest._pools[TREES]["count"])
        if trees < LEAST_SHARED_TREES or switched_off or cores() < 2 or is_one_of_many():
            return False
        if world._header[0]["model"] != ContactModel.STEPS:
            return False
        return bool(np.count_nonzero(world.solver["spans"]["asleep"][:trees] == 0) >= LEAST_SHARED_TREES)

    def run(self, world: Any, count: int, most: int) -> tuple[int, int]:
        """`run_steps` of a world, together."""
        self._follow(world.collisions)
        header = world._header
        address = int(header.ctypes.data)
        self._runs += 1
        self._row["open"], self._row["world"] = self._runs, address
        header["crew"] = self.address
        try:
            for part in range(1, self.threads):
                self._call(part)
            status, left = run_steps(address, count, most)
            return status, left
        finally:
            header["crew"] = 0
            self._row["open"] = 0

    def _follow(self, collisions: Collisions) -> None:
        """Know what shapes there are, and have room for all pairs of them."""
        self._scouts.follow(int(collisions.header["room"][0]))
        if self._seen != (collisions.shapes, collisions.shapes.revision):
            self._row["plain"] = may_scout(collisions.shapes)
            rows = collisions.shapes.rows[: collisions.shapes.count]
            links = rows["link"][(rows["form"] != 0) & (rows["link"] >= 0)]
            self._row["singles"] = len(np.unique(links)) == len(links)
            self._seen = collisions.shapes, collisions.shapes.revision

    def _call(self, part: int) -> None:
        """Have a thread help, unless it is still there, or on its way."""
        helper = self._helpers.get(part)
        if helper is None or helper.done():
            try:
                self._helpers[part] = _pool().submit(_help, self, part)
            except RuntimeError:  # the interpreter ends: no thread comes any more
                self._helpers.pop(part, None)


def _help(crew: WorkerThreads, part: int) -> None:
    """In another thread, which keeps the crew alive as long as it looks at it."""
    assist(crew.address, part)


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads for all worlds: as many as there are cores left."""
    return ThreadPoolExecutor(max(1, cores() - 1), thread_name_prefix="kinemorph-crew")


if hasattr(os, "register_at_fork"):  # a forked process has none of these threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
