"""Ray: a real cluster of several nodes on this machine, of which one is taken away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from tests.evolve.test_creatures import settings as of_creatures
from tests.evolve.test_evaluators import all_results, jobs, sprung
from tests.evolve.test_runs import golden, settings
from tests.evolve.toy import Reach
from tests.needs import library, linux

from kinemorph.evolve.evaluators.evaluator import Serial
from kinemorph.evolve.evaluators.worker import Limits
from kinemorph.evolve.experiment import begin, evolve, problem_of

library("ray")

pytestmark = [linux, pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    # By default it takes half a minute until a node that says nothing counts as dead.
    prompt = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": prompt}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def evaluator(cluster: Any) -> Iterator[Any]:
    from kinemorph.evolve.evaluators.on_ray import Ray

    made = []

    def make(problem: Reach, limits: Limits = Limits()) -> Any:
        made.append(Ray(problem, limits=limits))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_ray_agrees_with_this_process(evaluator, tmp_path):
    assert golden(tmp_path / "ray.db", settings(), evaluator(Reach())) == golden(tmp_path / "here.db", settings())


def test_creatures_are_the_same_on_ray(evaluator, tmp_path):
    of = of_creatures("hit-ball-anywhere")
    assert golden(tmp_path / "ray.db", of, evaluator(problem_of(of))) == golden(tmp_path / "here.db", of)


@pytest.mark.parametrize("trap", ["killed", "stuck", "memory"])
def test_a_lost_task_is_sent_again(trap, evaluator, tmp_path):
    asked = jobs(20)
    there = all_results(evaluator(Reach(trap, str(tmp_path / "mark")), Limits(seconds=1.0, memory=1 << 28)), asked)
    here = all_results(Serial(Reach()), asked)
    assert {i: one.outcomes for i, one in there.items()} == {i: one.outcomes for i, one in here.items()}
    assert max(one.attempt for one in there.values()) == 1


def test_a_worker_that_is_stopped_is_given_up(evaluator, tmp_path, monkeypatch):
    monkeypatch.setattr("kinemorph.evolve.evaluators.on_ray._START", 20.0)
    asked = jobs(20)
    there = all_results(evaluator(Reach("stopped", str(tmp_path / "mark")), Limits(seconds=0.2, retries=9)), asked)
    here = all_results(Serial(Reach()), asked)
    assert {i: one.outcomes for i, one in there.items()} == {i: one.outcomes for i, one in here.items()}
    assert max(one.attempt for one in there.values()) > 0


def test_who_is_lost_three_times_is_faulty(evaluator):
    asked = jobs(8)
    there = all_results(evaluator(Reach("killed")), asked)
    assert {i for i, one in there.items() if not one.golden} == set(sprung(asked))


def test_a_node_that_is_taken_away_loses_nothing(cluster, evaluator, tmp_path):
    of = settings(of_task={"trap": "slow"})
    node = cluster.add_node(num_cpus=2)
    gone = []

    def watch(progress: Any) -> None:
        if progress.episodes > 60 and not gone:
            cluster.remove_node(node, allow_graceful=False)
            gone.append(progress.episodes)

    with begin(tmp_path / "ray.db", of, trust=[Reach]) as store:
        evolve(store, of, watch, evaluator(Reach("slow"), Limits(retries=5)))
        assert gone
        assert store.golden
        assert store.golden_hash() == golden(tmp_path / "here.db", of)
