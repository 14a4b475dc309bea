"""States of all bodies at once are those that bodies tell one by one, whatever has happened to the structure."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.random_worlds import Dice, add_something, edit

import kinemorph as km
from kinemorph.spatial.quaternion import from_matrix


def assert_as_bodies_tell(world: km.World, states: km.BodyStates) -> None:
    bodies = world.bodies
    assert states.ids.tolist() == [body.id for body in bodies]
    for k, body in enumerate(bodies):
        pose = body.pose
        np.testing.assert_array_equal(states.positions[k], pose.position)
        np.testing.assert_array_equal(states.rotations[k], pose.rotation)
        np.testing.assert_array_equal(states.quaternions[k], from_matrix(tuple(pose.rotation.ravel().tolist())))
        np.testing.assert_array_equal(states.twists[k], body.twist)
        np.testing.assert_array_equal(states.velocities[k], body.velocity)
        np.testing.assert_array_equal(states.angular_velocities[k], body.angular_velocity)


@pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")
@pytest.mark.parametrize("seed", range(6))
def test_states_are_those_of_single_bodies_whatever_was_edited(seed):
    rng = Dice([seed, 7], 0.0)
    world = km.World()
    for _ in range(8):
        add_something(world, rng)
    for _ in range(12):
        edit(world, rng)
        assert_as_bodies_tell(world, world.states())
        world.step(3)
        assert_as_bodies_tell(world, world.states())


def test_reading_states_changes_nothing():
    world, other = km.World(), km.World()
    for one in (world, other):
        one.add_ground()
        one.add(km.Shape.box((0.2, 0.3, 0.4)), at=(0, 0, 0.4), twist=(1, 2, 3, 0, 0, 0))
    for _ in range(20):
        world.step(10)
        other.step(10)
        world.states()
    assert world.hash() == other.hash()


def test_states_are_a_copy_of_now_unless_they_are_written_again():
    world = km.World()
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 5))
    first = world.states()
    world.run(0.1)
    assert first.positions[0, 2] == 5.0 > ball.position[2]
    assert world.states(first) is first
    assert first.positions[0, 2] == ball.position[2]


def test_states_of_another_number_of_bodies_get_new_memory():
    world = km.World()
    world.add(km.Shape.sphere(0.1), at=(0, 0, 5))
    first = world.states()
    second = world.add(km.Shape.sphere(0.1), at=(1, 0, 5))
    both = world.states(first)
    assert (len(first), len(both)) == (1, 2)
    assert both.row_of(second) == both.row_of(second.id) == 1
    world.remove(second)
    with pytest.raises(KeyError, match="there was no body"):
        world.states().row_of(second)


def test_states_of_an_empty_world_have_no_rows():
    states = km.World().states()
    assert (len(states), states.positions.shape, states.rotations.shape) == (0, (0, 3), (0, 3, 3))


def test_states_can_be_pickled():
    world = km.World()
    world.add(km.Shape.sphere(0.1), at=(0, 0, 5))
    states = world.states()
    twin = pickle.loads(pickle.dumps(states))
    np.testing.assert_array_equal(twin.poses, states.poses)
    assert twin.ids.tolist() == states.ids.tolist()


def test_states_refuse_memory_that_is_none():
    with pytest.raises(TypeError, match="into is 'x', and must be a BodyStates"):
        km.World().states("x")
