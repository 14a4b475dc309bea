"""Bodies and joints that are put where one wants them, with the velocities that one wants."""

import numpy as np
import pytest

import kinemorph as km

CUBE = km.Shape.box((1, 1, 1))


def tree() -> km.Model:
    b = km.Builder("tree")
    mass = km.Inertia.box(1.0, (0.1, 0.2, 0.3), (0.01, 0.02, 0.03))
    b.link("a", None, km.Joint.free(), (0, 0, 0), mass)
    b.link("b", "a", km.Joint.revolute("y", name="hinge"), (0.3, 0, 0), mass)
    b.link("c", "b", km.Joint.spherical(name="ball"), (0.3, 0, 0), mass)
    return b.build()


def test_a_body_is_where_it_is_put_and_moves_as_it_is_told():
    world = km.World(gravity=(0, 0, 0))
    body = world.add(CUBE, twist=(0.1, 0.2, 0.3, 1, 2, 3))
    body.position = (5, 6, 7)
    assert body.position.tolist() == [5, 6, 7]
    assert np.allclose(body.twist, (0.1, 0.2, 0.3, 1, 2, 3), atol=1e-15)
    body.velocity = (1, 0, 0)
    body.angular_velocity = (0, 0, 2)
    assert np.allclose(body.twist, (0, 0, 2, 1, 0, 0), atol=1e-15)
    pose = km.Pose.rpy(0.3, 0.2, 0.1, position=(1, 1, 1))
    body.pose = pose
    assert np.allclose(body.pose.rotation, pose.rotation, atol=1e-15)
    assert np.allclose(body.twist, (0, 0, 2, 1, 0, 0), atol=1e-15)  # in the world's axes, whatever its own are
    world.run(0.5)
    assert np.allclose(body.position, (1.5, 1, 1), atol=1e-12)


@pytest.mark.parametrize("name", ["a", "b", "c"])
@pytest.mark.parametrize("top", ["a", "b", "c"])
def test_what_is_joined_to_a_body_goes_along(name, top):
    rng = np.random.default_rng(3)
    model = tree()
    world = km.World(gravity=(0, 0, 0))
    figure = world.add(model, q=km.random_configuration(model, rng), v=rng.normal(size=model.nv))
    world.reroot(figure[top])

    def inside():
        joints = [figure.velocity(joint) for joint in ("hinge", "ball")]
        return np.concatenate([(figure["a"].pose.inverse() @ figure[n].pose).position for n in "bc"] + joints)

    before, pose, twist = inside(), km.Pose.quaternion(rng.normal(size=4), (1, 2, 3)), rng.normal(size=6)
    world.placement.place(figure[name], pose, twist)
    assert np.allclose(figure[name].position, pose.position, atol=1e-14)
    assert np.allclose(figure[name].pose.rotation, pose.rotation, atol=1e-14)
    assert np.allclose(figure[name].twist, twist, atol=1e-13)
    assert np.allclose(inside(), before, atol=1e-13)


def test_joints_are_where_they_are_set():
    world = km.World()
    figure = world.add(tree())
    world.placement.set_joint("hinge", 0.5, velocity=1.0)
    world.placement.set_joint(figure.joint("ball"), (2, 0, 0, 0), (1, 2, 3))
    assert figure.position("hinge") == 0.5
    assert figure.velocity("hinge") == 1.0
    assert figure.position("ball").tolist() == [1, 0, 0, 0]
    assert figure.velocity("ball").tolist() == [1, 2, 3]


def test_it_wakes_and_so_does_what_it_carried():
    world = km.World()
    world.add_ground()
    below, above = (world.add(CUBE, at=(0, 0, z)) for z in (0.5, 1.5))
    world.run(1.5)
    assert above.asleep
    below.position = (4, 0, 0.5)
    assert not above.asleep
    world.run(2.0)
    assert above.position[2] == pytest.approx(0.5, abs=1e-4)
    assert below.position[2] == pytest.approx(0.5, abs=1e-4)
    assert above.asleep


def test_what_is_put_into_something_is_pushed_out_and_named():
    world = km.World()
    world.add_ground()
    one, other = (world.add(CUBE, at=(x, 0, 0.5), name=f"at {x}") for x in (0, 3))
    world.run(0.1)
    one.position = (2.5, 0, 0.5)
    with pytest.warns(km.ModelWarning, match="'at 0' and 'at 3'"):
        world.run(1.0)
    assert other.position[0] - one.position[0] > 0.99


def test_what_cannot_be_placed_is_refused_and_stays():
    world = km.World()
    held, tied, third = (world.add(CUBE, at=(2 * i, 0, 1), name=f"cube {i}") for i in range(3))
    world.connect(None, held, km.Joint.revolute("y", name="hinge"))
    world.connect(tied, third, km.Joint.spherical(name="loop"), how="loop")
    before = world.hash()
    with pytest.raises(ValueError, match="'cube 0' does not float"):
        held.velocity = (1, 0, 0)
    with pytest.raises(ValueError, match="a loop ties body 'cube 1'"):
        tied.position = (0, 0, 5)
    with pytest.raises(ValueError, match="closes a loop"):
        world.placement.set_joint("loop", (1, 0, 0, 0))
    with pytest.raises(ValueError, match="not finite"):
        held.angular_velocity = (np.nan, 0, 0)
    with pytest.raises(ValueError, match="set_joint: position: expected 1 numbers"):
        world.placement.set_joint("hinge", (1, 2))
    assert world.hash() == before


def test_a_journal_knows_of_it(tmp_path):
    world = km.World()
    with world.record(tmp_path / "journal"):
        ground = world.add_ground()
        body = world.add(CUBE, at=(0, 0, 2))
        world.run(0.2)
        body.velocity = (1, 0, 2)
        world.run(0.2)
        body.pose = km.Pose.rpy(0, 0.3, 0, position=(0, 0, 3))
        world.structure.remove_ground(ground)
        world.run(0.2)
    assert km.World.rerun(tmp_path / "journal").hash() == world.hash()


def test_ground_that_is_removed_is_gone_for_rays_and_what_lies_on_it():
    world = km.World()
    ground = world.add_ground()
    body = world.add(CUBE, at=(0, 0, 0.5))
    world.run(1.5)
    assert body.asleep
    world.structure.remove_ground(ground)
    assert world.queries.cast_ray((5, 0, 1), (0, 0, -1)) is None
    world.run(0.5)
    assert body.position[2] < -0.5
    with pytest.raises(ValueError, match="was removed"):
        world.structure.remove_ground(ground)


@pytest.mark.parametrize("asleep", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_contacts_of_what_was_removed_are_not_those_of_what_has_its_row(asleep, kept):
    world = km.World(sleep=asleep)
    ground = world.add_ground()
    lower = world.add(CUBE, at=(0, 0, 0.5), name="lower")
    upper = world.add(CUBE, at=(0, 0, 1.5), name="upper")
    world.run(1.5)
    assert {touch.other for touch in world.contacts(lower)} == {None, upper}
    world.structure.remove_ground(ground)
    other = world.add_ground(km.HalfSpace((0, 0, 1), -20.0))
    assert world.shapes.row_of(other) == 0  # that of the ground before
    world.remove(upper)
    far = world.add(CUBE, at=(50, 0, 5), name="far")
    if kept:
        world = km.World.load(world.save())
        lower, far = world["lower"], world["far"]
    assert world.contacts() == world.contacts(lower) == world.contacts(far) == []
    world.step()
    assert world.contacts() == []
    world.run(3.0)
    assert lower.position[2] == pytest.approx(-19.5, abs=1e-3)


def test_what_is_set_in_motion_says_so_when_it_wakes():
    world = km.World()
    world.add_ground()
    box = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1))
    world.run(1.0)
    assert box.asleep
    box.velocity = (0.5, 0, 0)
    assert not box.asleep
    assert world.sleep.why_awake(box) == "something was put elsewhere, or set in motion"
    again = km.World.load(world.save())
    assert again.sleep.why_awake(int(box)) == world.sleep.why_awake(box)
