"""Worker threads that share the steps of one world while it runs."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from kinemorph._cores import cores
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.threaded_narrow_phase import NarrowWorkers, can_run_threaded
from kinemorph.jit.api import switched_off
from kinemorph.motion.parallel.many_worlds import is_batch_thread
from kinemorph.multibody.tables import aligned_at
from kinemorph.structure.forest.layout import TREES
from kinemorph.world.layout import ContactModel
from kinemorph.world.threads.thread_rows import THREAD_PART, WORKERS
from kinemorph.world.threads.work_sharing import SHARE_OF_ALL_ROWS, run_shared_jobs

MOST_THREADS = 64
LEAST_SHARED_TREES = 200  # awake trees: with fewer a step ends before a worker can start
LEAST_SHARED_ROWS = 64  # rows of a stage: with fewer it is not shared


class WorkerThreads:
    """Shared tables for a number of threads, the first of which is the main thread, which makes the steps.

    Workers start when steps begin, and leave when there has been no job for a while. Results do not depend on them.
    """

    def __init__(self, threads: int, most: int) -> None:
        self.threads = threads
        self._row, self.address = aligned_at(1, WORKERS)
        self._scouts = NarrowWorkers(threads, most)
        self._parts, parts = aligned_at(threads, THREAD_PART)
        self._row["parts"], self._row["threads"], self._row["share"] = parts, threads, SHARE_OF_ALL_ROWS // threads
        self._row["narrow_workers"], self._row["least"] = self._scouts.address, LEAST_SHARED_ROWS
        self._helpers: dict[int, Future[None]] = {}  # by part
        self._runs = 0
        self._seen: tuple[Any, int] = None, -1  # the table of shapes at the last check, and its revision

    @property
    def helped(self) -> int:
        """Number of batches that workers other than the main thread have completed."""
        return int(self._parts["batches_total"][1:].sum())

    def is_worth_it(self, world: Any) -> bool:
        """Whether a world has enough awake trees for more than one thread, and may use them."""
        trees = int(world.forest._pools[TREES]["count"])
        if trees < LEAST_SHARED_TREES or switched_off or cores() < 2 or is_batch_thread():
            return False
        if world._header[0]["model"] != ContactModel.STEPS:
            return False
        return bool(np.count_nonzero(world.solver["slices"]["asleep"][:trees] == 0) >= LEAST_SHARED_TREES)

    def run(self, world: Any, count: int, most: int) -> tuple[int, int]:
        """`run_steps` of a world, with workers."""
        self._follow(world.collisions)
        header = world._header
        address = int(header.ctypes.data)
        self._runs += 1
        self._row["open"], self._row["world"] = self._runs, address
        header["crew"] = self.address
        try:
            for part in range(1, self.threads):
                self._call(part)
            result: tuple[int, int] = world._make_steps(count, most)
            return result
        finally:
            header["crew"] = 0
            self._row["open"] = 0

    def _follow(self, collisions: Collisions) -> None:
        """Update what depends on the shapes, and the tables of the threaded narrow phase for all pairs."""
        self._scouts.follow(int(collisions.header["room"][0]))
        if self._seen != (collisions.shapes, collisions.shapes.revision):
            self._row["all_shapes_threadable"] = can_run_threaded(collisions.shapes)
            rows = collisions.shapes.rows[: collisions.shapes.count]
            links = rows["link"][(rows["form"] != 0) & (rows["link"] >= 0)]
            self._row["one_shape_per_body"] = len(np.unique(links)) == len(links)
            self._seen = collisions.shapes, collisions.shapes.revision

    def _call(self, part: int) -> None:
        """Start the worker of a part, unless it is running or queued."""
        helper = self._helpers.get(part)
        if helper is None or helper.done():
            try:
                self._helpers[part] = _pool().submit(_help, self, part)
            except RuntimeError:  # the interpreter is shutting down
                self._helpers.pop(part, None)


def _help(crew: WorkerThreads, part: int) -> None:
    """Run a worker; the reference keeps the shared tables alive."""
    run_shared_jobs(crew.address, part)


@cache
def _pool() -> ThreadPoolExecutor:
    """The thread pool of all worlds: one thread for each core but one."""
    return ThreadPoolExecutor(max(1, cores() - 1), thread_name_prefix="kinemorph-crew")


if hasattr(os, "register_at_fork"):  # a forked process has none of these threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
