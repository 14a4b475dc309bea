"""Minds in worlds: what they sense and do, and that they go on whatever happens to the world that they are in."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.brain.oracle import Slow

import kinemorph as km
from kinemorph.brain import Acted, Brain, Effect, Function, Neuron, Sense, Sensed
from kinemorph.creatures import begin_statistics

MODELS = ("timestep", "impulse")
LONG = (0.3, 0.1, 0.1)


def worm(parts: int = 3, gap: float = 0.02) -> km.Model:
    b = km.Builder("worm")
    half = km.Pose((0.15 + gap / 2, 0, 0))
    b.link("part0", None, km.Joint.free(), inertia=km.Inertia.box(1.5, LONG), shapes=[km.Shape.box(LONG)])
    for i in range(1, parts):
        b.link(
            f"part{i}", f"part{i - 1}", km.Joint.revolute("z", lower=-1.0, upper=1.0, name=f"bend{i}"),
            at=(0.3 + gap if i > 1 else 0.15 + gap / 2, 0, 0), inertia=km.Inertia.box(1.5, LONG, half.position),
            shapes=[km.Shape.box(LONG, pose=half)],
        )  # fmt: skip
    return b.build()


ALL = (
    Sense(Sensed.ANGLE, "part1"), Sense(Sensed.SPEED, "part1", mirrored=True), Sense(Sensed.TOUCH, "part0"),
    *(Sense(Sensed.UP, "part1", k) for k in range(3)), *(Sense(Sensed.DIRECTION, "part2", k) for k in range(3)),
    Sense(Sensed.DISTANCE, "part0"), *(Sense(Sensed.PLACE, "part0", k) for k in range(3)),
)  # fmt: skip


def waves(what: Acted = Acted.TARGET, senses: Any = ALL, **more: Any) -> Brain:
    neurons = [
        Neuron(Function.WAVE, (1, 1, 1), (1.2, 0.0, 1.0)), Neuron(Function.DELAY, (2, 1, 0), (1.0, 4.0, 0.0)),
        Neuron(Function.ADD, (2, 4, 0), (0.5, 0.1, 0.0)),
    ]  # fmt: skip
    effects = [Effect(what, f"part{i}", 0, 1 + i, 1.0, 3.0, -0.6, 0.6) for i in (1, 2)]
    return Brain(neurons, senses, effects, **more)


def scene(contact: str = "timestep", brain: Brain | None = None, target: Any = (2.0, 0.5, 0.2)) -> Any:
    world = km.World(dt=5e-3, contact=contact)
    world.add_ground()
    figure = world.add(worm(), at=(0, 0, 0.08))
    return world, figure, world.brains.attach(figure, brain or waves(), target)


@pytest.mark.parametrize("contact", MODELS)
def test_senses_read_what_the_world_says(contact: str) -> None:
    world, figure, mind = scene(contact)
    touched = []
    for _ in range(20):
        world.run(0.04)
        read = {
            "ANGLE": figure.position("bend1"), "SPEED": -figure.velocity("bend1"),
            "UP": figure["part1"].pose.rotation[2], "PLACE": np.array([2.0, 0.5, 0.2]),
        }  # fmt: skip
        way = np.array([2.0, 0.5, 0.2]) - figure["part2"].position
        read["DIRECTION"] = figure["part2"].pose.rotation.T @ (way / np.linalg.norm(way))
        read["DISTANCE"] = np.array([np.linalg.norm(np.array([2.0, 0.5, 0.2]) - figure["part0"].position)])
        force = sum(touch.normal_force for touch in world.contacts(figure["part0"]))
        world.step()
        wanted = np.concatenate([read[name] for name in ("ANGLE", "SPEED", "UP", "DIRECTION", "DISTANCE", "PLACE")])
        np.testing.assert_allclose(np.delete(mind.sensed, 2), wanted, atol=1e-9)
        if contact == "timestep":
            assert mind.sensed[2] == pytest.approx(force / (4.5 * 9.81), abs=1e-9)
        touched.append(mind.sensed[2])
        world.step(7)
    assert np.median(touched[5:]) == pytest.approx(1 / 3, rel=0.3)  # it carries a third of the weight


@pytest.mark.parametrize("contact", MODELS)
def test_a_mind_thinks_as_its_brain_does_at_its_own_rate(contact: str) -> None:
    for rate in (25.0, 40.0, 200.0):
        brain = waves(rate=rate)
        world, _, mind = scene(contact, brain)
        oracle = Slow(brain)
        for passes in range(1, 9):
            world.step(round(200 / rate))
            assert mind.ticks == passes
            np.testing.assert_allclose(mind.values, oracle.step(mind.sensed.tolist()), atol=1e-12)
        world.run(1.0)
        assert mind.ticks == 8 + rate
        assert mind.nan_count == 0


@pytest.mark.parametrize("what", [Acted.TORQUE, Acted.TARGET, Acted.SPEED])
def test_effects_act_through_drives(what: Acted) -> None:
    world, _, mind = scene(brain=waves(what, ()))
    for _ in range(10):
        world.run(0.1)
        for drive, x in zip(world.drives, mind.values[0:2], strict=True):
            x = float(np.clip(x, -1, 1))
            row = drive._row()
            if what is Acted.TORQUE:
                assert row["force"] == pytest.approx(3.0 * x)
            else:
                told = row["position" if what is Acted.TARGET else "speed"]
                assert told == pytest.approx(0.6 * x)
                assert row["largest_force"] == 3.0
                assert abs(drive.applied) <= 3.0 + 1e-9
                assert row["stiffness"] == (12.0 if what is Acted.TARGET else 0.0)


def test_a_servo_gets_where_it_is_told() -> None:
    brain = Brain((), (), [Effect(Acted.TARGET, "part1", 0, 1, 0.5, 20.0, -0.8, 0.8)])
    world = km.World(gravity=(0, 0, 0), dt=5e-3)
    figure = world.add(worm(2))
    world.brains.attach(figure, brain)
    world.run(3.0)
    assert figure.position("bend1")[0] == pytest.approx(0.4, abs=1e-3)


def test_asleep_it_does_nothing_and_its_clock_starts_when_it_wakes() -> None:
    world, figure, mind = scene()
    mind.asleep = True
    world.run(1.0)
    assert (mind.values == 0.0).all()
    assert mind.ticks == 0
    assert all(drive.applied == 0.0 for drive in world.drives)
    assert abs(figure.position("bend1")[0]) < 1e-3
    mind.asleep = False
    world.step()
    assert mind.ticks == 1
    world.run(0.25)
    assert abs(figure.position("bend1")[0]) > 0.05
    mind.asleep = True
    assert all(drive.effort_limit == 0.0 for drive in world.drives)


def test_blank_senses_read_nothing_and_targets_may_change() -> None:
    world, figure, mind = scene()
    ball = world.add(km.Shape.sphere(0.1), at=(3, 1, 0.1), name="ball")
    mind.target = ball
    world.run(0.2)
    assert mind.sensed[-3:] == pytest.approx(ball.position, abs=0.02)
    mind.blank = True
    world.run(0.2)
    assert (mind.sensed == 0.0).all()
    mind.blank = False
    mind.target = None
    world.run(0.2)
    assert (mind.sensed[6:] == 0.0).all()
    assert mind.sensed[5] == pytest.approx(1.0)
    mind.target = ball
    world.remove(ball)
    world.run(0.2)
    assert (mind.sensed[6:] == 0.0).all()
    assert mind.target is None
    assert figure["part0"].position[2] > 0.0


def test_what_thinks_does_not_sleep() -> None:
    world, figure, _ = scene(brain=Brain([Neuron(Function.ADD)]))
    box = world.add(km.Shape.box((0.1, 0.1, 0.1)), at=(5, 0, 0.05))
    world.run(3.0)
    assert box.asleep
    assert not figure["part0"].asleep


def changed(world: km.World, figure: Any) -> None:
    """Edits in the middle of a life."""
    world.run(0.3)
    block = world.add(km.Shape.box((0.1, 0.1, 0.1)), at=(0, 0.5, 0.05), name="block")
    grip = world.connect(figure["part0"], block, km.Joint.fixed())
    world.run(0.2)
    world.reroot(figure["part2"])
    world.run(0.2)
    world.cut(grip)
    world.cut(figure.joint("bend2"))
    world.run(0.2)


@pytest.mark.parametrize("contact", MODELS)
def test_a_mind_goes_on_bit_for_bit_through_saves_copies_and_edits(contact: str) -> None:
    world, figure, mind = scene(contact)
    begin_statistics(world)
    changed(world, figure)
    assert mind.alive
    assert mind.ticks == 23
    data = world.save()
    others = [km.World.load(data), world.branch(), pickle.loads(pickle.dumps(world)), copy.copy(world)]
    world.run(0.5)
    for other in others:
        other.run(0.5)
        assert other.hash() == world.hash()
        assert (mind.on(other).values == mind.values).all()
    later = mind.values
    world.restore(data)
    assert world.hash() != others[0].hash()
    world.run(0.5)
    assert world.hash() == others[0].hash()
    assert (mind.values == later).all()


def test_the_digest_knows_what_a_mind_remembers() -> None:
    worlds = [scene()[0] for _ in range(2)]
    for world in worlds:
        world.run(0.2)
    assert worlds[0].hash() == worlds[1].hash()
    worlds[1]._brain_instances["neurons"]["state"][0] += 1e-9
    assert worlds[0].hash() != worlds[1].hash()


def test_a_journal_lives_through_a_life_again(tmp_path: Path) -> None:
    world = km.World(dt=5e-3)
    world.add_ground()
    figure = world.add(worm(), at=(0, 0, 0.08))
    with world.record(tmp_path / "life.journal", every=20):
        mind = world.brains.attach(figure, waves(), (1.0, 0, 0))
        changed(world, figure)
        mind.target = (0.0, 1.0, 0.0)
        mind.blank = True
        world.run(0.3)
    assert km.World.rerun(tmp_path / "life.journal").hash() == world.hash()


def test_a_mind_ends_with_its_body() -> None:
    world, figure, mind = scene()
    world.cut(figure.joint("bend1"))
    world.run(0.1)
    assert mind.alive  # it goes on without most of its body
    world.remove(figure["part0"])
    world.run(0.1)
    assert not mind.alive
    assert not world.brains
    assert not world.drives
    with pytest.raises(KeyError, match="has ended"):
        _ = mind.values
    again = world.add(worm(), at=(0, 2, 0.08))
    other = world.brains.attach(again, waves())
    world.run(0.1)
    assert other.row == mind.row
    assert other.alive
    assert not mind.alive


def test_many_minds_in_one_world_are_as_each_alone() -> None:
    alone = []
    for k in range(3):
        world = km.World(dt=5e-3)
        world.add_ground()
        figure = world.add(worm(), at=(0, 4 * k, 0.08))
        alone.append((figure, world.brains.attach(figure, waves(rate=20.0 + 10 * k), (2.0, 4 * k, 0))))
        world.run(0.5)
    world = km.World(dt=5e-3)
    world.add_ground()
    minds = []
    for k in range(3):
        minds.append(
            world.brains.attach(world.add(worm(), at=(0, 4 * k, 0.08)), waves(rate=20.0 + 10 * k), (2.0, 4 * k, 0))
        )
    world.run(0.5)
    for (_, one), mind in zip(alone, minds, strict=True):
        np.testing.assert_allclose(one.values, mind.values, atol=1e-12)
        np.testing.assert_allclose(one.sensed, mind.sensed, atol=1e-9)


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    world, figure, _ = scene()
    before = world.hash()
    for brain, what in (
        (Brain((), [Sense(Sensed.UP, "tail")]), "no body 'tail'"),
        (Brain((), [Sense(Sensed.ANGLE, "part0")]), "is free"),
        (Brain((), [Sense(Sensed.ANGLE, "part1", 1)]), "1 degrees of freedom"),
        (Brain((), (), [Effect(Acted.TORQUE, "part1"), Effect(Acted.TORQUE, "part0")]), "is free"),
        (3, "a kinemorph.Brain"),
    ):
        with pytest.raises((KeyError, ValueError, TypeError), match=what):
            world.brains.attach(figure, brain)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a figure of this world"):
        world.brains.attach(scene()[1], waves())
    with pytest.raises(ValueError, match="finite"):
        world.brains.attach(figure, waves(), (np.nan, 0, 0))
    assert world.hash() == before


def test_spoiled_minds_in_snapshots_are_refused() -> None:
    spoils = {
        "neurons": [("function", 99), ("sources", -1), ("sources", 10**6), ("weights", np.nan), ("ring", 7)],
        "senses": [("what", 50), ("axis", 9), ("gain", np.inf)],
        "effects": [("what", -1), ("source", 99), ("drive", 10**6), ("body", -9), ("effort_limit", np.nan)],
        "minds": [("neurons", -1), ("neuron_count", 10**9), ("signals", 10**9), ("period", 0.0), ("rings", 3)],
    }
    for table, each in spoils.items():
        for field, value in each:
            world, _, _ = scene()
            world.run(0.05)
            rows = world._brain_instances[table]
            where = 1 if field == "ring" else 0  # the delay
            rows[field][where] = value
            with pytest.raises(km.FileError):
                km.World.load(world.save())


def test_worlds_without_minds_compile_nothing_of_them() -> None:
    code = (
        "import kinemorph as km; from kinemorph.world.brains import update\n"
        "from kinemorph.world.tree_motion import fluid_drag\n"
        "world = km.World(); world.add_ground(); world.add(km.Shape.sphere(0.1), at=(0, 0, 0.2)); world.run(0.3)\n"
        "units = update.prepare_brains, update.update_brains\n"
        "units += (fluid_drag.apply_fluid_drag,)\n"
        "print(sum(len(unit.called.overloads) for unit in units))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["0"]
