"""Episode statistics: what they say of a world, that they end runs, and that they go along with it wherever it goes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.world.test_brain_instances import scene, waves, worm

import kinemorph as km
from kinemorph.brain import Brain, Function, Neuron
from kinemorph.creatures import EpisodeStatistics, begin_statistics


def test_what_is_recorded_is_what_the_world_says() -> None:
    world, figure, mind = scene()
    statistics = begin_statistics(world)
    fastest, spin, highest, energies = 0.0, 0.0, statistics.of(mind)["lowest"], []
    for _ in range(300):
        world.step()
        fastest = max(fastest, *(float(np.linalg.norm(v)) for v in map(centre_speed, figure)))
        spin = max(spin, *(abs(float(figure.velocity(f"bend{i}")[0])) for i in (1, 2)))
        highest = max(highest, statistics.of(mind)["lowest"])
        energies.append(world.forest.kinetic_energy() + world.forest.potential_energy())
    life, toil = statistics.of(mind), statistics.cost
    assert life["steps"] == 300
    assert life["riding"] == 0
    assert life["fastest"] == pytest.approx(fastest, rel=1e-9)
    assert life["spin"] == pytest.approx(spin, rel=1e-9)
    assert life["highest"] == pytest.approx(highest)
    assert -1e-3 < life["lowest"] < 1e-3
    assert toil["energy"] == pytest.approx(energies[-2], rel=1e-9)  # as the last step began
    assert toil["effort"] > toil["done"] > 0.1
    assert toil["surplus"] < 0.02 * toil["effort"]
    assert 0.0 < life["depth"] < 0.01


def test_the_work_of_a_belt_is_known() -> None:
    """A box that a belt of 1 m/s takes along has half of the work as energy; the other half was rubbed away."""
    world = km.World(dt=1e-3)
    belt = world.add_ground(material=km.Material(friction=0.5))
    builder = km.Builder("box")
    box = km.Shape.box((0.4, 0.4, 0.1))
    builder.link("box", None, km.Joint.free(), inertia=km.Inertia.box(3.0, (0.4, 0.4, 0.1)), shapes=[box])
    figure = world.add(builder.build(), at=(0.0, 0.0, 0.05))
    world.brains.attach(figure, Brain([Neuron(Function.CONSTANT)]))
    world.run(0.3)
    world.surfaces.set_material(belt, km.Material(friction=0.5, surface=(1.0, 0.0, 0.0)))
    statistics = begin_statistics(world)
    world.run(1.0)
    toil = statistics.cost
    assert figure["box"].velocity[0] == pytest.approx(1.0, abs=1e-3)
    assert toil["conveyed"] == pytest.approx(3.0, rel=0.02)  # m v²
    assert toil["energy"] - toil["start"] == pytest.approx(1.5, rel=0.02)
    assert toil["surplus"] < 1e-3


def centre_speed(body: Any) -> Any:
    link = body.world.queries.link_of(body.id)
    arm = body.pose.rotation @ (link["h"] / link["mass"])
    return body.velocity + np.cross(body.angular_velocity, arm)


def test_a_run_stops_when_all_is_still_or_the_budget_is_spent() -> None:
    world, _, mind = scene()
    mind.asleep = True
    statistics = begin_statistics(world, until_still=0.25)
    world.run(5.0)
    assert 0.25 < world.time < 2.0
    assert statistics.of(mind)["still"] >= 0.25
    mind.asleep = False
    before = world.time
    statistics = begin_statistics(world, budget=5000)
    world.run(5.0)
    spent = world.time - before
    assert 0.05 < spent < 4.0
    assert 5000 < statistics.cost["work"] < 5400
    again = km.World.load(world.save())
    begin_statistics(again, budget=10**9)
    again.run(1.0)
    assert again.time == pytest.approx(before + spent + 1.0)


def found(world: km.World) -> Any:
    """All that is recorded in a world."""
    statistics = EpisodeStatistics(world)
    return statistics.cost, [statistics.of(brain) for brain in world.brains]


@pytest.mark.parametrize("contact", ["timestep", "impulse"])
def test_copies_and_saved_worlds_go_on_with_what_was_recorded(contact: str) -> None:
    world, _, _ = scene(contact)
    begin_statistics(world)
    world.run(0.4)
    data = world.save()
    others = [km.World.load(data), world.branch(), pickle.loads(pickle.dumps(world)), copy.copy(world)]
    assert all(found(other) == found(world) for other in others)
    world.run(0.3)
    for other in others:
        other.run(0.3)
        assert found(other) == found(world)
        assert other.hash() == world.hash()
    world.restore(data)
    world.run(0.3)
    assert found(world) == found(others[0])


def test_a_saved_world_goes_on_in_a_process_that_knows_nothing_of_episodes(tmp_path: Path) -> None:
    world, _, _ = scene()
    begin_statistics(world)
    world.run(0.3)
    path = tmp_path / "world"
    path.write_bytes(world.save())
    world.run(0.2)
    code = f"""import kinemorph as km
world = km.World.load(open({str(path)!r}, "rb").read())
world.run(0.2)
print(world.hash(), sep="")"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == [world.hash()]


def test_a_journal_lives_through_an_episode_again(tmp_path: Path) -> None:
    world, _, _ = scene()
    world.run(0.1)
    with world.record(tmp_path / "episode.journal", every=20):
        begin_statistics(world, budget=10**6)
        world.run(0.4)
        world.brains.attach(world.add(worm(), at=(0, 2, 0.08)), waves(), (2.0, 0.5, 0.2))
        world.run(0.2)
    again = km.World.rerun(tmp_path / "episode.journal")
    assert again.hash() == world.hash()
    assert found(again) == found(world)


def test_a_brain_that_comes_later_is_recorded_from_then_on() -> None:
    """Those that are there keep what they have, and one that takes the row of another has nothing of that one."""
    world, _, first = scene()
    statistics, rng = begin_statistics(world), np.random.default_rng(5)
    world.run(0.3)
    before, second = statistics.of(first), None
    for k in range(4):
        other = world.add(worm(int(rng.integers(2, 5))), at=(0, 2 + k, 0.08))
        brain = world.brains.attach(other, waves() if len(other) > 2 else Brain([Neuron(Function.CONSTANT)]))
        assert statistics.of(first) == before
        assert statistics.of(brain)["steps"] == 0
        if second is not None:
            with pytest.raises(KeyError, match="has ended"):
                statistics.of(second)
        world.step(20)
        before, second = statistics.of(first), brain
        assert statistics.of(second)["steps"] == 20
        assert len(statistics.of(second)["swing"]) == (2 if len(other) > 2 else 0)
        for body in list(other)[:1]:
            world.remove(body)
        world.step(1)
        before = statistics.of(first)
    assert before["steps"] == round(0.3 / world.dt) + 4 * 21
    alone, _, brain = scene()
    own = begin_statistics(alone)
    alone.step(before["steps"])
    assert own.of(brain)["swing"] == before["swing"]
    assert own.of(brain)["fastest"] == before["fastest"]


def test_what_is_not_recorded_is_not_there() -> None:
    world, _, brain = scene()
    with pytest.raises(ValueError, match="has no episode statistics: call"):
        EpisodeStatistics(world)
    statistics = begin_statistics(world)
    with pytest.raises(ValueError, match="of another world"):
        statistics.of(brain.on(world.branch()))
    for wrong in ({"budget": -1}, {"until_still": 0.0}, {"until_still": float("nan")}):
        with pytest.raises(ValueError, match="not a budget and a time"):
            begin_statistics(world, **wrong)
    world.step_recording.end_recording()
    with pytest.raises(ValueError, match="has no episode statistics"):
        _ = statistics.cost


@pytest.mark.parametrize("part", range(3))
def test_a_saved_episode_that_is_spoiled_is_refused(part: int) -> None:
    """Other lengths, places of windows, and numbers that are none."""
    world, _, _ = scene()
    begin_statistics(world)
    world.run(0.1)
    state = world.__getstate__()
    kind, contents = state[-1]
    rng = np.random.default_rng(part)
    for number in (-1, 1 << 61, 0x7FF8 << 48):
        words = contents[part].view(np.int64).copy()
        words[rng.integers(len(words))] = number
        changed = [*contents[:part], words.view(np.uint8), *contents[part + 1 :]]
        try:
            other = km.World.__new__(km.World)
            other.__setstate__((*state[:-1], (kind, tuple(changed))))
        except ValueError:
            continue
        other.run(0.05)  # what is taken can be run
        other.hash()
    for wrong in (contents[:2], (*contents[:part], contents[part][:-1], *contents[part + 1 :]), None):
        other = km.World.__new__(km.World)
        with pytest.raises(ValueError, match="an episode"):
            other.__setstate__((*state[:-1], (kind, wrong)))
