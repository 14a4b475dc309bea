"""What is said to have woken a body has: by its name, through all that changes which body is in which tree."""

import numpy as np
import pytest
from tests.world.test_grasps import crane

import kinemorph as km

pytestmark = [
    pytest.mark.filterwarnings("ignore:world. at .* deep in each other:kinemorph.ModelWarning"),
    pytest.mark.quick,
]
BOX, MASS = km.Shape.box((1, 1, 1)), km.Inertia.box(1.0, (0.2, 0.2, 0.2))
EDITED, LOST, CALLED = "the structure changed", "something that is gone touched it", "it was asked to wake"


def pair(name: str) -> km.Model:
    """Two balls that are one tree until their joint is cut."""
    b = km.Builder(name)
    shapes = [km.Shape.sphere(0.1)]
    b.link(f"{name} a", None, km.Joint.free(), inertia=MASS, shapes=shapes)
    b.link(f"{name} b", f"{name} a", km.Joint.fixed(name=f"{name} joint"), (0.3, 0, 0), MASS, shapes)
    return b.build()


def asleep(world: km.World) -> km.World:
    while not all(body.asleep for body in world.bodies):
        world.run(0.2)
        assert world.time < 10.0
    return world


def test_a_tree_that_an_edit_makes_has_woken_nothing_and_nothing_has_woken_it():
    """Ids of trees come again: the part that is cut off has the place of the ball, or of the box that it woke."""
    for near_first in (True, False):
        world = km.World()
        world.add_ground()
        if near_first:
            near, far, two = (
                world.add(BOX, (0, 0, 0.5)),
                world.add(BOX, (20, 0, 0.5)),
                world.add(pair("two"), (40, 0, 0.1)),
            )
        else:
            two, far, near = (
                world.add(pair("two"), (40, 0, 0.1)),
                world.add(BOX, (20, 0, 0.5)),
                world.add(BOX, (0, 0, 0.5)),
            )
        asleep(world)
        ball = world.add(km.Shape.sphere(0.2), (0, 0, 1.3), name="ball")
        world.run(0.3)
        assert world.sleep.why_awake(near) == "'ball' touched it"
        world.sleep.wake(two["two a"])
        world.connect(far, ball if near_first else near, km.Joint.fixed())
        assert world.sleep.why_awake(near) == (LOST if near_first else EDITED)
        world.cut("two joint")
        assert world.sleep.why_awake(near) == (LOST if near_first else EDITED)
        assert [world.sleep.why_awake(body) for body in two] == [CALLED] * 2


@pytest.mark.parametrize("seed", range(10, 40))
def test_nothing_far_away_is_said_to_have_woken_a_body(seed):
    """At places 10 m apart things fall, are joined, cut off, removed and come: only what was there is named."""
    rng = np.random.default_rng(seed)
    world = km.World()
    world.add_ground()
    for k in range(4):
        world.add(BOX, (10 * k, 0, 0.5), name=f"{k} box")
        world.add(pair(f"{k} pair"), (10 * k, 3, 0.1))
    asleep(world)
    joined, told = [int(world.joint_id(f"{k} pair joint")) for k in range(4)], 0
    for count in range(40):
        k, bodies = int(rng.integers(4)), world.bodies
        here = [body for body in bodies if body.name[0] == str(k)]
        if not here:
            continue
        a, b = (here[i] for i in rng.integers(len(here), size=2))
        match rng.choice(["fall", "fall", "join", "cut", "remove", "come", "wake", "rest"]):
            case "fall":
                world.add(
                    km.Shape.sphere(0.2), (10 * k + rng.uniform(-0.4, 0.4), 0, 1.4 + 0.1 * count), name=f"{k} ball"
                )
                world.run(0.3)
            case "join" if world.forest.tree_of(a.id) != world.forest.tree_of(b.id):
                joined.append(int(world.connect(a, b, km.Joint.fixed()).joint))
            case "cut" if joined:
                joint = joined.pop(int(rng.integers(len(joined))))
                if world.forest.has_joint(joint):
                    world.cut(joint)
            case "remove" if len(here) > 2:
                world.remove(a)
            case "come":
                name = f"{k} pair {count}"
                world.add(pair(name), (10 * k, -3 - count, 0.1))
                joined.append(int(world.joint_id(f"{name} joint")))
            case "wake":
                world.sleep.wake(a)
            case "rest":
                world.run(0.6)
        for body in world.bodies:
            why = world.sleep.why_awake(body)
            if "touched" in why and why != LOST:
                assert why[1] == body.name[0], (body.name, why)
                told += 1
    assert told > 0


@pytest.mark.parametrize("contact", ["timestep", "impulse"])
def test_grasps_say_so_too(contact):
    """A ball that wakes a box is taken and let go: the tree it is in by then is a new one."""
    world, _, ball, mind = crane(contact)
    box = world.add(km.Shape.box((0.2, 0.2, 0.2)), (0.35, 0, 0.1), name="box")
    ball.velocity = (3.0, 0, 0)
    world.run(0.05)
    spans = world.solver["slices"]
    spans["woken_by"][world.forest.tree_of(box.id) & 0xFFFFFFFF] = 1 + (world.forest.tree_of(ball.id) & 0xFFFFFFFF)
    assert world.sleep.why_awake(box) == "'ball' touched it"
    ball.pose = km.Pose((0, 0, 0.101))
    ball.velocity = (0, 0, 0)
    world.run(0.45)
    assert len(mind.holds) == 1
    assert world.sleep.why_awake(box) == LOST
    held = world.sleep.why_awake(ball)
    world.run(0.5)
    assert not mind.holds
    assert world.sleep.why_awake(box) == LOST
    assert world.sleep.why_awake(ball) == held
