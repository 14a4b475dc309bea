"""Journals: a world lived through again from its inputs is the same; if it is not, the step and the body are named."""

import numpy as np
import pytest
from tests.world.kept_worlds import arm, asleep, ground

import kinemorph as km


def busy(world: km.World) -> None:
    """Everything that can be done to a world."""
    world.step(75)
    new = world.add(km.Shape.box((0.1, 0.1, 0.1)), at=(0, 0, 1), twist=np.array([0, 0, 0, 1.0, 0, 0]), name="new")
    world.add_ground(km.HalfSpace((1, 0, 0), -3.0), km.Material(0.2))
    world.run(0.1)
    tie = world.connect(world.bodies[0], new, km.Joint.revolute("y", damping=0.1), km.Pose((0, 0, 0.5)))
    world.run(0.1)
    world.reroot(new)
    world.cut(tie)
    world.add(arm(), at=(3, 0, 1))
    world.run(0.1)
    world.remove(new)
    world.sleep.wake(world.bodies[0])
    world.run(0.05)


@pytest.mark.parametrize("make", [asleep, ground])
def test_a_world_is_lived_through_again(make, tmp_path):
    world = make()
    with world.record(tmp_path / "a.journal", every=20):
        busy(world)
    again = km.World.rerun(tmp_path / "a.journal")
    assert again.hash() == world.hash()
    unseen = make()
    busy(unseen)
    assert unseen.hash() == world.hash()  # to be recorded changes nothing


def test_what_was_refused_is_refused_again(tmp_path):
    """A connection that cannot be made has woken both sides already."""
    world = asleep()
    with world.record(tmp_path / "a.journal", every=10):
        world.step(5)
        for _ in range(2):
            with pytest.raises(ValueError, match="itself"):
                world.connect(world.bodies[0], world.bodies[0], km.Joint.fixed())
        world.step(25)
    assert km.World.rerun(tmp_path / "a.journal").hash() == world.hash()


def test_a_restore_is_an_input(tmp_path):
    world = asleep()
    data = world.save()
    with world.record(tmp_path / "a.journal", every=10):
        world.step(30)
        world.restore(data)
        world.step(15)
    assert km.World.rerun(tmp_path / "a.journal").hash() == world.hash()


def test_the_first_step_and_body_that_differ_are_named(tmp_path):
    world = asleep()
    with world.record(tmp_path / "a.journal", every=10):
        world.step(35)
        tree = world.forest.tree_of(world.bodies[4].id)
        world.forest.set_state(tree, v=world.forest.state(tree).v * (1.0 + 1e-15))  # behind the journal's back
        world.step(30)
    with pytest.raises(km.DivergenceError, match="body 'ball' moves otherwise") as caught:
        km.World.rerun(tmp_path / "a.journal")
    first = int(world._header[0]["steps"]) - 30
    assert caught.value.body == "ball"
    assert first < caught.value.step <= first + 10


def test_a_journal_is_good_up_to_its_last_whole_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr("kinemorph.world.persistence.journal.JOURNAL_CHUNK_BYTES", 2000)
    world = asleep()
    path = tmp_path / "a.journal"
    with world.record(path, every=5):
        world.step(300)
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) - 700, len(whole) - 3000):
        path.write_bytes(whole[:size])
        again = km.World.rerun(path)
        assert again.time < world.time
        assert again._header[0]["steps"] > 503
    path.write_bytes(whole[:300])
    with pytest.raises(km.FileError, match="cut"):
        km.World.rerun(path)
    path.write_bytes(b"")
    with pytest.raises(km.FileError, match="empty"):
        km.World.rerun(path)


def test_inputs_that_name_files_are_not_written(tmp_path):
    from kinemorph.geometry.meshes.kept_mesh import ball_file

    world = km.World()
    with world.record(tmp_path / "a.journal"):
        world.add(km.Shape.mesh(ball_file(), (0.1, 0.1, 0.1)), at=(0, 0, 1))
        world.step(10)
    assert km.World.rerun(tmp_path / "a.journal").hash() == world.hash()


def test_a_run_that_fails_is_written_up_to_there(tmp_path):
    world = asleep()

    def fail() -> None:
        with world.record(tmp_path / "a.journal"):
            world.step(20)
            world.run(np.nan)

    with pytest.raises(ValueError, match="seconds"):
        fail()
    assert not world.observers
    assert km.World.rerun(tmp_path / "a.journal") is not None


def test_what_is_done_to_the_surfaces_of_bodies_is_written_down(tmp_path):
    world = km.World()
    world.add_ground()
    low = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1), twist=(0, 0, 0, 1, 0, 0))
    high = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.3))
    with world.record(tmp_path / "a.journal", every=10):
        world.run(0.1)
        world.surfaces.set_material(low, km.Material(friction=0.01))
        world.run(0.1)
        world.collision_filter.ignore(low, high)
        world.run(0.02)
        world.collision_filter.collide_with(low, high)
        world.run(0.1)
        world.collision_filter.set_groups(low, group=2, mask=2)
        world.run(0.1)
    assert km.World.rerun(tmp_path / "a.journal").hash() == world.hash()
