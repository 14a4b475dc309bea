"""Small programs that call what users call, so that the kernels behind it are compiled: the list of `kinemorph warm`.

Each says about how many kernels it compiles after those before it, and the seconds that takes on one core: for the bar
of `kinemorph warm` alone. `python -m benchmarks.compile` measures them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kinemorph as km


class Exercise(NamedTuple):
    run: Callable[[], object]
    kernels: int  # that it compiles after those before it
    seconds: float  # that this takes on one core
    usual: bool  # among what README, tutorial and demos call


EXERCISES: dict[str, Exercise] = {}  # in this order: neighbours have little in common, and can be run side by side


def _exercise(kernels: int, seconds: float, usual: bool = True) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(run: Callable[[], None]) -> Callable[[], None]:
        EXERCISES[run.__name__] = Exercise(run, kernels, seconds, usual)
        return run

    return add


def _pendulum() -> tuple[km.Model, km.Data, Any, Any]:
    b = km.Builder("double pendulum")
    rod = km.Inertia.cylinder(1.0, radius=0.02, length=1.0, at=(0, 0, -0.5))
    b.link("upper", joint=km.Joint.revolute("y"), inertia=rod)
    b.link("lower", "upper", km.Joint.revolute("y"), at=(0, 0, -1), inertia=rod)
    model = b.build()
    return model, km.Data(model), np.array([0.5, -0.2]), np.zeros(2)


@_exercise(661, 47.9)
def world() -> None:
    """Bodies of several shapes fall, touch, are tied together and fall asleep."""
    world = km.World()
    world.add_ground()
    bricks = [world.add(km.Shape.box((0.4, 0.2, 0.1)), at=(0, 0, 0.05 + 0.1 * i), density=500) for i in range(3)]
    hand = world.add(km.Shape.sphere(0.05), at=(0, 0, 0.6))
    world.add(km.Shape.capsule(0.1, 0.3), at=(1, 0, 0.3))
    world.connect(None, hand, km.Joint.fixed())
    world.run(0.5)
    grip = world.connect(hand, bricks[2], km.Joint.fixed())
    world.run(0.5)
    world.cut(grip)
    world.run(1.5)
    assert world.contacts(bricks[0])
    world.queries.cast_ray((0, 0, 5), (0, 0, -1))
    world.queries.overlaps(km.Shape.sphere(0.5), at=(0, 0, 0))


@_exercise(34, 2.1, usual=False)
def distance() -> None:
    """Distances, contacts and rays of shapes, on ground too."""
    box, capsule = km.Shape.box((1.0, 1.0, 1.0)), km.Shape.capsule(0.1, 0.5)
    km.distance(box, None, capsule, km.Pose((0.0, 0.2, 0.9)))
    km.contacts(km.Shape.box((10.0, 10.0, 1.0)), None, box, km.Pose((0.0, 0.0, 0.999)), margin=0.01)
    km.cast(capsule, km.Pose((2.0, 0.0, 0.0)), origin=(0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    km.closest_point(box, None, (0.0, 0.0, 0.4))
    hills = km.HeightField(0.2 * np.sin(np.arange(100.0)).reshape(10, 10), size=(20.0, 20.0))
    ball = km.Pair(hills, km.Shape.sphere(0.3))
    ball.distance(None, km.Pose((0.1, 0.2, 1.0)))
    ball.contacts(None, km.Pose((0.1, 0.2, 0.2)), margin=0.01)
    km.mass_properties(km.Polyhedron.hull(np.sin(np.arange(300.0) ** 2).reshape(100, 3)), density=2700.0)


@_exercise(55, 4.7)
def simulate() -> None:
    """A simulation with events, one of which cuts a joint, and one with a spring."""
    model, _, q, v = _pendulum()

    def let_go(model: km.Model, state: km.State) -> km.ModelEdit:
        return km.cut(model, state, "lower")

    events = [km.Event.position("upper", 0.0, let_go, direction=-1), km.Event.height("lower", -3.0, ends=True)]
    km.simulate(model, km.State(q, v), 2.0, events=events)
    b = km.Builder("door")
    b.link("door", joint=km.Joint.revolute("z"), inertia=km.Inertia.box(12.0, (0.9, 0.04, 2.0), (0.45, 0, 1.0)))
    b.element(km.ForceElement.spring(None, "door", stiffness=80.0, length=0.2, damping=15.0, at_a=(0, 1, 0)))
    km.simulate(b.build(), km.State(np.array([1.2]), np.zeros(1)), 0.1)


@_exercise(27, 1.7)
def edits() -> None:
    """Links are connected and cut, and trees get other roots: as models, and in a forest."""
    b = km.Builder("three rods")
    rod = km.Inertia.cylinder(1.0, 0.03, 0.6, at=(0, 0, -0.3))
    for name, x in (("left", 0.0), ("middle", 0.5), ("right", 1.0)):
        b.link(name, joint=km.Joint.free(), at=(x, 0, 1), inertia=rod)
    model = b.build()
    state = km.State(q=km.neutral(model), v=np.arange(18.0))
    one = km.connect(model, state, "left", "middle", km.Joint.spherical(name="elbow"), at=(0.25, 0, 1.0))
    two = km.connect(one.model, one.state, "middle", "right", km.Joint.revolute("y", name="wrist"), at=(0.75, 0, 0.4))
    three = km.connect(two.model, two.state, "right", "left", km.Joint.spherical(name="grip"), at=(0.5, 0, 0.7))
    km.reroot(three.model, three.state, "right")
    km.cut(three.model, three.state, "elbow")
    forest = km.Forest()
    left, middle, right = map(int, forest.add(model, state.q, state.v).bodies)
    elbow = forest.connect(left, middle, km.Joint.spherical(), at=(0.25, 0, 1.0))
    forest.connect(right, left, km.Joint.fixed(), at=(0.5, 0, 0.5), how="loop")
    forest.reroot(middle)
    forest.forward_dynamics()
    forest.cut(elbow.joint)
    forest.remove(right)


@_exercise(22, 3.7)
def dynamics() -> None:
    """The algorithms of trees, each once."""
    model, data, q, v = _pendulum()
    a = km.aba(model, data, q, v, v)
    km.rnea(model, data, q, v, a)
    km.crba(model, data, q)
    km.kinematics(model, data, q, v, a)
    km.energy(model, data, q, v)
    km.forward_dynamics(model, data, q, v, v)
    km.inverse_dynamics(model, data, q, v, a)
    km.impulse_response(model, data, q, "lower", impulse=(1.0, 0.0, 0.0), point=(0, 0, -1))
    km.collision_matrix(model, data, q, "lower", point=(0, 0, -1))
    km.jacobian(model, data, q, "lower", point=(0, 0, -1))
    km.jacobian_drift(model, data, q, v, "lower")
    km.com(model, data, q)
    km.momentum(model, data, q, v)
    km.integrate(model, q, v)
    km.difference(model, q, q)


@_exercise(26, 2.7)
def loops() -> None:
    """Closed chains: coordinates, mobility, dynamics, and the mechanisms of the demo."""
    from kinemorph.scenes.robots import parade

    parade.parade(0.02)
    parade.matrices_of_the_paper()


@_exercise(33, 2.1)
def bounce() -> None:
    """Objects that bounce, some of several parts: the broad phase, and features that are followed."""
    from kinemorph.scenes.bounce.simulation import Bounce, run

    run(Bounce(200, None, 0.01, 0), 50, 10_000)


@_exercise(82, 7.1)
def robot_in_a_world() -> None:
    """An arm with a servo and a motor reaches down to a box, and a chain is closed to a loop."""
    b = km.Builder("arm")
    inertia, shape = km.Inertia.box(1.0, (0.05, 0.05, 0.3), (0, 0, -0.15)), km.Shape.sphere(0.1)
    b.link("upper", None, km.Joint.revolute("y", name="shoulder", effort_limit=40.0), (0, 0, 0.6), inertia, shape)
    b.link("lower", "upper", km.Joint.revolute("y", name="elbow", lower=-1.0, upper=1.0), (0, 0, -0.3), inertia, shape)
    world = km.World()
    world.add_ground()
    world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0.0, 0, 0.1))
    arm = world.add(b.build())
    shoulder = world.servo(arm.joint("shoulder"), position=0.5, stiffness=400.0, damping=20.0, effort_limit=30.0)
    elbow = world.motor(arm.joint("elbow"), speed=1.0, effort_limit=10.0)
    world.run(0.3)
    shoulder.position = -0.2
    elbow.withdraw()
    world.apply_force(arm["lower"], force=(0, 5.0, 0), lasting=False)
    boxes = [world.add(km.Shape.box((0.3, 0.1, 0.1)), at=(0.4 * i, 3, 0.5)) for i in range(3)]
    for i in range(2):
        world.connect(boxes[i], boxes[i + 1], km.Joint.spherical(), at=(0.4 * i + 0.2, 3, 0.5))
    ring = world.connect(None, boxes[2], km.Joint.spherical(), at=(1.0, 3, 0.5), how="loop")
    world.run(0.5)
    world.queries.loop_force(ring)


@_exercise(36, 2.9, usual=False)
def contact_of_impulses() -> None:
    """A chain and a ball fall, in a world whose contact is made of impulses."""
    for boost in (None, 3.0):
        world = km.World(contact="impulse", epsilon=1e-3, boost=boost, material=km.Material(0.5, restitution=0.5))
        world.add_ground()
        boxes = [world.add(km.Shape.box((0.3, 0.1, 0.1)), at=(0.4 * i, 0, 0.3)) for i in range(3)]
        for i in range(2):
            world.connect(boxes[i], boxes[i + 1], km.Joint.revolute("y"), at=(0.4 * i + 0.2, 0, 0.3))
        world.add(km.Shape.sphere(0.1), at=(0.4, 0, 0.6), twist=(0, 0, 0, 0.1, 0, 0))
        world.run(0.5)


@_exercise(5, 0.6)
def keeping() -> None:
    """A world is saved, loaded, recorded and lived through again."""
    world = km.World()
    world.add_ground()
    box = world.add(km.Shape.box((0.4, 0.2, 0.1)), at=(0, 0, 0.1), name="box")
    world.run(0.1)
    world.restore(data := world.save())
    assert km.World.load(data).hash() == world.hash()
    with tempfile.TemporaryDirectory() as folder:
        with world.record(Path(folder, "run.journal"), every=10):
            world.run(0.1)
            world.cut(world.connect(None, box, km.Joint.fixed()))
        km.World.rerun(Path(folder, "run.journal"))


@_exercise(0, 0.2)
def motion() -> None:
    """Steps and rollouts, by each method."""
    model, data, q, v = _pendulum()
    km.rollout(model, data, q, v, dt=1e-3, steps=10)
    km.rollout_adaptive(model, data, q, v, times=[0.0, 0.1], tolerance=1e-8)
    for method in ("euler", "rk4"):
        km.step(model, data, q, v, dt=1e-4, steps=10, method=method)


@_exercise(1, 1.8)
def pictures() -> None:
    """A picture of a figure."""
    from kinemorph.view.pictures.picture import picture

    model = km.human()
    with tempfile.TemporaryDirectory() as folder:
        picture(model, km.neutral(model), Path(folder, "human.png"), size=(160, 120))


@_exercise(52, 5.3)
def scenes_of_worlds() -> None:
    """The demos in worlds, until each has shown what it is about."""
    from kinemorph.scenes.structure import chain_bridge, dismount, glued_tower, gripper, train, walker_on_ground
    from kinemorph.scenes.thesis import brick_wall, coin_toss

    chain_bridge.bridge().world.run(2.6)
    glued_tower.tower().world.run(1.5)
    walker_on_ground.walker().world.run(1.5)
    gripper.gripper().world.run(8.0)
    dismount.dismount().world.run(4.0)
    train.train().world.run(6.0)
    coin_toss.coins().world.run(0.6)
    brick_wall.brick_wall().world.run(1.0)
    world = km.World()
    world.add_ground()
    for i in range(6):  # so small that they move by much of their size in a step
        coin = world.add(km.Shape.cylinder(0.012, 0.002), at=(0.02 * (i % 2), 0.0, 0.1 + 0.02 * i))
        coin.twist = (20.0 - 7.0 * i, 5.0 * i, 3.0, 0.1 - 0.03 * i, 0.0, 1.0)
    world.run(1.0)


@_exercise(65, 3.9)
def creatures() -> None:
    """A creature grows, stands on the ground, and thinks; others try to get on, as in evolution."""
    from kinemorph.creatures.genotype.initial_genotypes import founder
    from kinemorph.creatures.tasks import Locomotion

    grown = km.creatures.develop(km.creatures.handmade("quadruped"), km.creatures.ROOMY)
    world = km.World()
    world.add_ground()
    figure = world.add(grown.model, at=(0, 0, grown.lift))
    world.brains.attach(figure, grown.brain, target=(3, 0, 0))
    world.run(0.2)
    for one in (km.creatures.handmade("worm"), founder(0)):
        km.creatures.evaluate(one, Locomotion(seconds=1.0), seed=0)


@_exercise(50, 3.9)
def recorded_motion() -> None:
    """The analysis of a recorded walk."""
    km.mocap.analyse(km.mocap.walk_file())


@_exercise(62, 11.1, usual=False)
def batches() -> None:
    """Many states at once, four in a register."""
    model, _, q, v = _pendulum()
    Q, V = np.tile(q, (9, 1)), np.tile(v, (9, 1))
    A = km.batch.aba(model, Q, V, V)
    km.batch.rnea(model, Q, V, A)
    km.batch.crba(model, Q)
    for method in ("euler", "rk4"):
        km.batch.rollout(model, Q, V, V, dt=2e-3, steps=2, every=1, method=method)
