"""Controllers, events, motors and their numbers are kept with a world."""

import copy

import numpy as np
import pytest

import kinemorph as km


def build() -> km.World:
    """An arm whose servo a controller moves at random above a ball, which an event pushes whenever it lands."""
    b = km.Builder("arm")
    link = km.Inertia.box(1.0, (0.05, 0.05, 0.3), (0, 0, -0.15))
    shape = km.Shape.box((0.05, 0.05, 0.3), pose=km.Pose((0, 0, -0.15)))
    b.link("upper", None, km.Joint.revolute("y", name="shoulder"), (0, 0, 0.7), link, shapes=[shape])
    b.link("lower", "upper", km.Joint.revolute("y", name="elbow"), (0, 0, -0.3), link, shapes=[shape])
    world = km.World(material=km.Material(restitution=0.6, rolling=0.002, torsional=0.001, directions=6))
    world.add_ground()
    arm = world.add(b.build())
    world.servo(arm.joint("shoulder"), 0.3, stiffness=200.0, damping=5.0, effort_limit=50.0)
    world.motor(arm.joint("elbow"), 1.0, effort_limit=2.0)
    world.add(km.Shape.sphere(0.05), at=(0.2, 0, 0.4), name="ball")
    world.memory["calls"] = np.zeros(1)
    return world


def shake(world: km.World) -> None:
    world.memory["calls"] += 1.0
    next(iter(world.drives)).position = world.random.uniform(-1.0, 1.0)


def kick(world: km.World, moment: km.EventRecord) -> None:
    world.apply_force(moment.body, force=(world.random.normal(), 0.0, 5.0), lasting=False)


LANDS = km.Event.contact("ball", "ground")


def alive() -> km.World:
    world = build()
    world.every(0.013, shake)
    world.when(LANDS, kick)
    return world


@pytest.fixture(scope="module")
def straight() -> list[str]:
    """What becomes of it without a break, every fifth of a second."""
    world, found = alive(), []
    for _ in range(8):
        world.run(0.2)
        found.append(world.hash())
    assert world.memory["calls"][0] == 123
    return found


@pytest.mark.parametrize("pause", [1, 4, 7])
def test_a_loaded_world_goes_on_once_it_has_its_functions_again(straight, pause):
    world = alive()
    world.run(0.2 * pause)
    again = km.World.load(world.save())
    assert again.hash() == straight[pause - 1]
    with pytest.raises(RuntimeError, match="event 'ball touches ground' of a snapshot has no action yet"):
        again.run(0.2)
    again.when(LANDS, kick)
    with pytest.raises(RuntimeError, match="controller 'shake' of a snapshot has no function yet"):
        again.run(0.2)
    with pytest.raises(ValueError, match=r"controller 'shake' was called every 0.013 s, not 0.1"):
        again.every(0.1, shake)
    again.every(0.013, shake)
    for expected in straight[pause:]:
        again.run(0.2)
        assert again.hash() == expected


def test_restoring_and_branching_need_no_help(straight):
    world = alive()
    world.run(0.6)
    kept, other = world.save(), copy.copy(world)
    world.run(0.5)
    world.restore(kept)
    for each in (world, other):
        assert each.hash() == straight[2]
        each.run(1.0)
        assert each.hash() == straight[7]


def test_a_journal_has_what_controllers_did(tmp_path):
    world = alive()
    with world.record(tmp_path / "run.journal", every=50):
        world.run(0.8)
    again = km.World.rerun(tmp_path / "run.journal")
    assert again.time == world.time
    a, b = (w.forest.state(int(w.forest.trees[0])) for w in (world, again))
    assert a.q.tobytes() == b.q.tobytes()


def test_no_restoring_within_a_step():
    world = alive()
    kept = world.save()
    world.every(0.1, lambda w: w.restore(kept))
    with pytest.raises(km.WorldError, match="cannot be restored by what is called in between steps"):
        world.run(0.2)
