"""Figures whose links are in each other, and bodies that begin deep in others: pushed apart gently, and named."""

import warnings

import numpy as np
import pytest

import kinemorph as km
from kinemorph.scenes.robots import catalog

with_robots = pytest.mark.skipif(catalog.folder() is None, reason="example-robot-data is not installed")
# A pose in which each stands, by what its joints are called
STANDING = {
    "anymal": {"F_HFE": 0.4, "F_KFE": -0.8, "H_HFE": -0.4, "H_KFE": 0.8},
    "go2_description/go2": {"thigh": 0.8, "calf": -1.5},
    "solo_description/solo12": {},
    "talos": {},
    "tiago_description/tiago": {},
}


def energy(world: km.World) -> float:
    return world.forest.kinetic_energy() + world.forest.potential_energy()


def bent_arm(reach: float) -> km.Model:
    """Three links; the third is in the first by so much."""
    b = km.Builder("bent")
    box = km.Shape.box((0.1, 0.1, 0.1))
    mass = km.Inertia.box(1.0, (0.1, 0.1, 0.1))
    b.link("base", None, km.Joint.free(), (0, 0, 0), mass, shapes=[box])
    b.link("middle", "base", km.Joint.revolute("y", lower=-0.2, upper=0.2), (0.05, 0, 0.2), mass)
    b.link("tip", "middle", km.Joint.revolute("y", lower=-0.2, upper=0.2), (0.05 - reach, 0, -0.2), mass, shapes=[box])
    return b.build()


def standing(name: str) -> tuple[km.Model, np.ndarray]:
    model = catalog.robot(name, floating=True)
    q = km.neutral(model)
    for joint, link in zip(model.joint_names, model.links, strict=True):
        if link["nv"] == 1:
            told = [x for part, x in STANDING[name].items() if part in joint]
            low, high = (float(model.dofs[end][link["iv"]]) for end in ("lower", "upper"))
            q[link["iq"]] = min(max(told[0] if told else 0.0, low + 1e-3), high - 1e-3)
    return model, q


def dropped(name: str, held: bool) -> tuple[km.World, km.Figure, km.Model]:
    """A robot whose lowest point is 5 cm above the ground, with or without servos that hold its joints."""
    model, q = standing(name)
    world = km.World(sleep=False)
    world.add_ground()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", km.ModelWarning)
        before = km.World()
        before.add(model, q=q)
        low = float(before.collisions.boxes["low"][:, 2].min())
        figure = world.add(model, (0, 0, 0.05 - low), q=q)
    for joint, link in zip(model.joint_names, model.links, strict=True):
        if held and link["nv"] == 1:
            at = float(q[link["iq"]])
            world.servo(figure.joint(joint), position=at, stiffness=20.0 * model.mass, damping=model.mass)
    return world, figure, model


@with_robots
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("name", STANDING)
def test_robots_that_are_dropped_collapse_or_stand(name, held):
    world, figure, model = dropped(name, held)
    start, first = energy(world), next(iter(figure)).position[2]
    fastest, last = 0.0, 0.0
    for k in range(750):
        world.step()
        speed = max(float(np.linalg.norm(body.velocity)) for body in figure)
        fastest, last = max(fastest, speed), speed if k > 700 else 0.0
        assert energy(world) < start + 1e-3 * model.mass  # servos hold what is there, and work little
    assert fastest < 6.0
    if held:
        assert last < 0.05
        assert next(iter(figure)).position[2] > first - 0.12


def test_links_that_are_in_each_other_pass_and_are_named():
    world = km.World()
    with pytest.warns(km.ModelWarning, match="'base' and 'tip' by 9 mm"):
        figure = world.add(bent_arm(0.009))
    assert world.collision_filter.ignored == [(figure["base"], figure["tip"])]
    world.run(0.1)
    assert not world.contacts()
    world.collision_filter.collide_with(figure["base"], figure["tip"])
    assert not world.collision_filter.ignored
    world.step()
    assert world.contacts()


def test_links_that_are_in_the_base_of_their_own_robot_pass():
    """A robot that stands has shapes of its foot on the base; what is carried by a joint reaches into them."""
    b = km.Builder("standing")
    b.base([km.Shape.box((0.3, 0.3, 0.4), km.Pose((0, 0, 0.2)))])
    mass = km.Inertia.box(1.0, (0.1, 0.1, 0.4), (0, 0, 0.2))
    arm = km.Shape.box((0.1, 0.1, 0.4), km.Pose((0, 0, 0.2)))
    b.link("arm", None, km.Joint.revolute("y", name="shoulder"), (0, 0, 0.3), mass, shapes=[arm])
    world = km.World()
    with pytest.warns(km.ModelWarning, match="'arm'"):
        figure = world.add(b.build(), q=[0.1])
    start = energy(world)
    for _ in range(300):
        world.step()
        assert energy(world) < start + 1e-6
    assert abs(figure.position("shoulder")[0]) > 1.0
    assert world.collision_filter.ignored == [(figure["arm"], None)] or world.collision_filter.ignored == [
        (None, figure["arm"])
    ]


def test_links_that_touch_meet():
    world = km.World(gravity=(0, 0, 0))
    world.add(bent_arm(5e-4))
    world.step()
    assert not world.collision_filter.ignored
    assert len(world.contacts()) > 0


def test_links_are_not_pushed_apart_beyond_the_limits_of_their_joints():
    world = km.World(gravity=(0, 0, 0), sleep=False)
    with pytest.warns(km.ModelWarning):
        figure = world.add(bent_arm(0.009))
    world.collision_filter.collide_with(figure["base"], figure["tip"])
    for _ in range(500):
        world.step()
        assert max(abs(float(figure.position(name)[0])) for name in ("middle", "tip")) < 0.21
        assert energy(world) < 1e-6


def test_bodies_that_begin_deep_in_each_other_are_named_once_and_come_apart_gently():
    world = km.World(gravity=(0, 0, 0), sleep=False)
    a, b = (world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(x, 0, 0), name=name) for x, name in ((0, "a"), (0.08, "b")))
    with pytest.warns(km.ModelWarning, match="'a' and 'b' by 120 mm"):
        world.step()
    before = float(np.linalg.norm(a.position - b.position))
    for _ in range(500):
        world.step()
        now = float(np.linalg.norm(a.position - b.position))
        assert now - before < 3.1 * world.dt
        assert energy(world) < 1e-6
        before = now
    assert 0.199 < now < 0.201
