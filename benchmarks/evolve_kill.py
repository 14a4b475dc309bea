"""Workers killed from outside while they work: our processes beside pebble's pool, by the same killer.

Every job must come back, whatever is killed when. A pool that gives nothing back for ten seconds counts as stalled.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, wait
from importlib.metadata import version
from typing import Any

from kinemorph.evolve.evaluators.job import Job
from kinemorph.evolve.evaluators.processes import Processes
from kinemorph.evolve.evaluators.worker import Limits
from kinemorph.evolve.problem import Draw, Outcome

JOBS, WORKERS, STALLED = 1500, 2, 10.0


class Nap:
    """A problem that takes a millisecond."""

    def evaluate(self, genotype: str, draw: Draw) -> Outcome:
        time.sleep(0.001)
        return Outcome(float(genotype))

    def warm(self) -> None: ...


def nap(number: int) -> float:
    return Nap().evaluate(str(number), Draw(0, 0)).score


def workers() -> list[int]:
    """Workers of both pools are children of the fork server, which is a child of ours."""
    return [worker for server in _children(os.getpid()) for worker in _children(server)]


def _children(of: int) -> list[int]:
    try:
        files = [f"/proc/{of}/task/{task}/children" for task in os.listdir(f"/proc/{of}/task")]
        return [int(child) for file in files for child in open(file).read().split()]
    except OSError:
        return []


class Killer(threading.Thread):
    """Kills a random worker every few hundredths of a second."""

    def __init__(self, seed: int, pause: float) -> None:
        super().__init__(daemon=True)
        self.kills, self.over = 0, False
        self._rng, self._pause = random.Random(seed), pause

    def run(self) -> None:
        while not self.over:
            time.sleep(self._rng.uniform(0.0, 2.0 * self._pause))
            if victims := workers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._rng.choice(victims), signal.SIGKILL)
                    self.kills += 1


def ours(killer: Killer) -> int:
    evaluator: Any = Processes(Nap(), WORKERS, Limits(retries=1000))  # type: ignore[arg-type]
    evaluator.submit([Job(0, i, str(i), (Draw(0, i),)) for i in range(JOBS)])
    killer.start()
    done: set[int] = set()
    while some := evaluator.collect():
        done |= {result.individual for result in some}
    evaluator.close()
    return len(done)


def pebbles(killer: Killer) -> int:
    from pebble import ProcessPool

    context = multiprocessing.get_context("forkserver")
    pool = ProcessPool(max_workers=WORKERS, context=context)
    under_way = {pool.schedule(nap, args=(i,), timeout=5.0): i for i in range(JOBS)}
    killer.start()
    done: set[int] = set()
    last = time.monotonic()
    while under_way and time.monotonic() - last < STALLED:
        ended, _ = wait(under_way, timeout=1.0, return_when=FIRST_COMPLETED)
        for future in ended:
            number = under_way.pop(future)
            last = time.monotonic()
            if future.exception() is None:
                done.add(number)
            elif pool.active:
                under_way[pool.schedule(nap, args=(number,), timeout=5.0)] = number
    pool.stop()
    return len(done)


def main() -> None:
    print(f"{JOBS} jobs of 1 ms, {WORKERS} workers, killed at random; pebble {version('pebble')}")
    for pause in (0.2, 0.05):
        for name, pool in (("own pipes", ours), ("pebble", pebbles)):
            for seed in range(3):
                killer = Killer(seed, pause)
                started = time.monotonic()
                done = pool(killer)
                killer.over = True
                killer.join()
                took = f"{killer.kills} kills, {time.monotonic() - started:.1f} s"
                print(f"{name:9}  a kill every {pause} s: {done} of {JOBS} done, {took}", flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # a stalled pool would keep the process
