"""What random worlds have found: each once went wrong."""

import numpy as np
import pytest
from tests.random_worlds import live

import kinemorph as km


@pytest.mark.filterwarnings("ignore:world. at 0 s there are bodies deep in each other")
def test_a_contact_whose_normal_goes_through_the_pivot_does_not_explode():
    """The foot of a rod that hinges at the ground is below it, whatever the rod does."""
    b = km.Builder("rod")
    rod = km.Shape.capsule(0.04, 0.3, km.Pose((0, 0, 0.15)))
    mass = km.Inertia.box(1.0, (0.08, 0.08, 0.3), (0, 0, 0.15))
    b.link("lower", None, km.Joint.revolute("y", friction=0.1), inertia=mass, shapes=[rod])
    b.link("upper", "lower", km.Joint.spherical(damping=0.1), (0, 0, 0.35), mass, [rod])
    world = km.World()
    world.add_ground()
    figure = world.add(b.build(), q=[0.3, 1, 0, 0, 0])
    world.run(1.0)
    assert np.abs(figure["upper"].velocity).max() < 20.0


def test_two_that_touch_may_be_removed_one_after_the_other():
    world = km.World()
    world.add_ground()
    bricks = [world.add(km.Shape.box((0.4, 0.2, 0.1)), at=(0, 0, 0.05 + 0.1 * i)) for i in range(4)]
    world.run(0.1)
    world.remove(bricks[1])
    assert all(touch.body is None or touch.body.id != bricks[1].id for touch in world.contacts())
    world.remove(bricks[0])
    world.remove(bricks[2])
    world.run(0.5)
    assert bricks[3].position[2] == pytest.approx(0.05, abs=1e-3)


def test_what_gets_faster_than_light_is_named_and_stays():
    world = km.World(gravity=(0, 0, 0))
    body = world.add(km.Shape.sphere(0.1), name="comet")
    other = world.add(km.Shape.sphere(0.1), at=(5, 0, 0), twist=(0, 0, 0, 1.0, 0, 0))
    tree = world.forest.tree_of(body.id)
    world.forest.set_state(tree, tau=[0, 0, 0, 1e15, 0, 0])
    with pytest.raises(km.WorldError, match="comet") as caught:
        world.step()
    assert caught.value.body == "comet"
    assert world.time == 0.0
    assert np.array_equal(body.velocity, np.zeros(3))
    world.remove(body)
    world.run(0.1)
    assert other.position[0] == pytest.approx(5.1)


def test_a_step_that_failed_leaves_no_impulses_behind():
    world = km.World()
    world.add_ground()
    box = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1))
    world.run(0.1)
    tree = world.forest.tree_of(box.id)
    world.forest.set_state(tree, tau=[0, 0, 0, 0, 0, -1e200])
    with pytest.raises(km.WorldError):
        world.step()
    world.forest.set_state(tree, tau=np.zeros(6))
    world.run(0.5)
    assert box.position[2] == pytest.approx(0.1, abs=1e-3)


def test_a_joint_that_moves_no_mass_is_named():
    b = km.Builder("hand")
    b.link("palm", None, km.Joint.free(), (0, 0, 1), km.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    b.link("finger", "palm", km.Joint.revolute("y", name="knuckle"), (0.1, 0, 0))
    world = km.World()
    world.add(b.build(lenient=True))
    with pytest.raises(km.WorldError, match="'knuckle' moves no mass: give its link an inertia"):
        world.step()


@pytest.mark.parametrize("contact", ["timestep", "impulse"])
@pytest.mark.parametrize("joints", [2, 3])
def test_what_a_cut_leaves_without_mass_is_named_and_may_be_removed(joints, contact):
    """A hip of several hinges is a chain of links without mass, of which a cut of the last one leaves the others."""
    hinges = "".join(f'<joint name="{axis}" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1")[:joints])
    world = km.World(contact=contact)
    figure = world.add(
        km.parse_mjcf(
            '<mujoco><worldbody><body name="torso" pos="0 0 2"><freejoint/><geom size=".1"/>'
            f'<body name="leg" pos="0 0 -.5">{hinges}<geom size=".1"/></body></body></worldbody></mujoco>'
        )
    )
    world.cut(figure.joints[-1])
    stub = figure.model.names[1]
    with pytest.raises(km.WorldError, match=f"body '{stub}' and what it carries have no mass: remove it; "):
        world.step()
    world.remove(figure[stub])
    world.run(0.1)
    assert {body.name for body in world.bodies} == {"torso", "leg"}


@pytest.mark.filterwarnings("ignore")
def test_what_slides_along_the_ground_more_easily_than_out_of_it_is_not_pushed_away():
    """6 g on a planar joint, 1.7 m below the ground, were pushed to 5e7 m within a second."""
    assert live(150, seed=2002) == "done"
