"""Evaluators: the same results whoever computes them, and none lost when a worker is."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest
from tests.evolve.toy import Reach
from tests.needs import linux

from kinemorph.evolve.evaluators import processes
from kinemorph.evolve.evaluators.evaluator import Evaluator, Serial
from kinemorph.evolve.evaluators.job import Job, Result
from kinemorph.evolve.evaluators.processes import Processes
from kinemorph.evolve.evaluators.worker import Limits, enable_alarms
from kinemorph.evolve.problem import Draw

QUICK = Limits(seconds=1.0, memory=1 << 28)


def jobs(number: int = 40) -> list[Job]:
    toy = Reach()
    return [
        Job(0, i, toy.founder(np.random.default_rng(i)), (Draw(0, i), Draw(1, i + 1))) for i in range(1, number + 1)
    ]


def all_results(evaluator: Evaluator, asked: list[Job]) -> dict[int, Result]:
    evaluator.submit(asked)
    results: list[Result] = []
    while some := evaluator.collect():
        results += some
    assert len({result.key for result in results}) == len(results) == len(asked)
    return {result.individual: result for result in results}


def outcomes(problem: Reach, workers: int, asked: list[Job]) -> dict[int, Result]:
    evaluator = Processes(problem, workers, QUICK)
    try:
        return all_results(evaluator, asked)
    finally:
        evaluator.close()


def sprung(asked: list[Job]) -> list[int]:
    """Those for whom the toy's trap shuts."""
    return [job.individual for job in asked if json.loads(job.genotype)[0][0] > 1.0]


@pytest.mark.parametrize("workers", [1, 3])
def test_processes_agree_with_this_one(workers):
    asked = jobs()
    here, there = all_results(Serial(Reach()), asked), outcomes(Reach(), workers, asked)
    assert {i: one.outcomes for i, one in here.items()} == {i: one.outcomes for i, one in there.items()}


@linux
@pytest.mark.parametrize("trap", ["killed", "stopped", "stuck", "stuck in Python", "memory"])
def test_a_lost_worker_costs_one_attempt(trap, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_GRACE", 1.0)
    asked = jobs(20)
    there = outcomes(Reach(trap, str(tmp_path / "mark")), 2, asked)
    assert sorted(one.attempt for one in there.values()) == [0] * 19 + [1]
    assert {i: one.outcomes for i, one in there.items()} == {
        i: one.outcomes for i, one in all_results(Serial(Reach()), asked).items()
    }
    assert all(one.golden for one in there.values())


@linux
@pytest.mark.parametrize(
    ("trap", "reason"), [("killed", "killed by signal 9"), ("memory", "out of memory"), ("stuck", "out of time")]
)
def test_who_is_lost_three_times_is_faulty(trap, reason):
    asked = jobs(8)
    (first, *_) = trapped = sprung(asked)
    there = outcomes(Reach(trap), 2, asked)
    assert {i for i, one in there.items() if not one.golden} == set(trapped)
    assert there[first].attempt == 2
    assert all(outcome.faulty and reason in outcome.reason for outcome in there[first].outcomes)


@linux
def test_alarms_are_heeded_whoever_started_the_process():
    before, mask = (
        signal.signal(signal.SIGALRM, signal.SIG_IGN),
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]),
    )
    try:
        enable_alarms()
        assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        assert signal.SIGALRM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGALRM, before)


def test_what_an_evaluation_raises_is_a_result_like_any_other():
    asked = jobs(8)
    here, there = all_results(Serial(Reach("raises")), asked), outcomes(Reach("raises"), 2, asked)
    assert here[sprung(asked)[0]].outcomes[0].reason == "faulty: ValueError: the trap has shut"
    assert {i: one.outcomes for i, one in here.items()} == {i: one.outcomes for i, one in there.items()}
    assert all(one.golden for one in there.values())


@linux
def test_workers_killed_from_outside_at_any_moment_lose_nothing():
    asked = jobs(200)
    evaluator = Processes(Reach("slow"), 2, Limits(retries=50))
    rng = np.random.default_rng(0)
    try:
        evaluator.submit(asked)
        got: dict[int, Result] = {}
        while some := evaluator.collect():
            got |= {result.individual: result for result in some}
            if rng.random() < 0.05:
                os.kill(evaluator.processes[int(rng.integers(len(evaluator.processes)))], signal.SIGKILL)
    finally:
        evaluator.close()
    assert {i: one.outcomes for i, one in got.items()} == {
        i: one.outcomes for i, one in all_results(Serial(Reach()), asked).items()
    }


def test_a_worker_that_cannot_start_is_told_of_at_once():
    class Hopeless(Reach, frozen=True):  # cannot be pickled: workers cannot import what a function defines
        pass

    evaluator = Processes(Hopeless(), 1)
    with pytest.raises((AttributeError, TypeError)):
        evaluator.submit(jobs(1))
