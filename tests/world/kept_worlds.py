"""Small worlds in which everything is found that a snapshot must hold, and how to spoil their snapshots."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

import kinemorph as km
from kinemorph.collision.shapes.shape_table import make_mounts
from kinemorph.creatures import EpisodeStatistics, begin_statistics
from kinemorph.world.persistence.snapshot import SNAPSHOT_HEAD_BYTES, SNAPSHOT_MAGIC, SNAPSHOT_VERSION, sealed

NUMBERS = (-1, -2, 0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 63, 64, 100, 255, 1000, 2**15, 2**31 - 1, -(2**31), 2**24)


def arm() -> km.Model:
    b = km.Builder("arm")
    rod = km.Shape.capsule(0.04, 0.3, km.Pose((0, 0, 0.15)))
    mass = km.Inertia.box(1.0, (0.08, 0.08, 0.3), (0, 0, 0.15))
    for i, joint in enumerate(
        (km.Joint.revolute("y", lower=-2, upper=2, friction=0.1), km.Joint.spherical(damping=0.1))
    ):
        b.link(f"part {i}", f"part {i - 1}" if i else None, joint, (0, 0, 0.35 * bool(i)), mass, [rod])
    return b.build()


def ground() -> km.World:
    """Bodies of all shapes on ground of all kinds, some of them joined, one gone."""
    rng = np.random.default_rng(5)
    world = km.World()
    world.add_ground()
    world.add_ground(km.HeightField(0.05 * rng.random((4, 5)), (2.0, 2.0)))
    world.add_ground(km.Terrain(km.mesh_of(km.Shape.box((0.5, 0.5, 0.2), km.Pose()))), material=km.Material(0.3))
    shapes = [
        km.Shape.sphere(0.1), km.Shape.box((0.2, 0.2, 0.1)), km.Shape.cylinder(0.08, 0.2), km.Shape.capsule(0.06, 0.2),
        km.Shape.cone(0.08, 0.2),
    ]  # fmt: skip
    bodies = [
        world.add(s, at=(0.3 * (i % 3) - 0.3, 0.3 * (i // 3) - 0.2, 0.35 + 0.02 * i), name=f"body {i}")
        for i, s in enumerate(shapes * 2)
    ]
    world.add(arm(), at=(1.5, 0, 0.2), q=[0.3, 1, 0, 0, 0])
    world.run(0.3)
    world.connect(bodies[1], bodies[4], km.Joint.revolute("x", damping=0.1))
    world.connect(bodies[2], bodies[6], km.Joint.fixed())
    world.remove(bodies[3])
    world.run(0.2)
    return world


def asleep() -> km.World:
    """A pile that sleeps, and a ball on its way to it."""
    world = km.World()
    world.add_ground()
    for i in range(4):
        world.add(km.Shape.box((0.4, 0.2, 0.1)), at=(0, 0, 0.05 + 0.1 * i), name=f"brick {i}")
    world.run(1.0)
    world.add(km.Shape.sphere(0.1), at=(-1.0, 0.02, 0.2), twist=(0, 0, 0, 6.0, 0, 0), name="ball")
    world.step(3)
    return world


def concave(folder: Path | None = None) -> km.World:
    """A body of several parts, by way of the table of shapes, on a floor."""
    world = km.World()
    world.add_ground()
    for x in (0.0, 0.15):
        body = world.add(km.Shape.sphere(0.05), at=(x, 0, 0.3 + x), density=3000.0)
        parts = km.Parts([km.core_of(km.Shape.box((0.3, 0.1, 0.1)))[0], km.core_of(km.Shape.box((0.1, 0.3, 0.1)))[0]])
        world.structure._add_shapes(make_mounts([(parts, body.id & 0xFFFFFFFF, None, 1, 0xFFFFFFFF)]), [world.material])
    world.run(0.4)
    return world


def waiting(contact: str = "timestep") -> km.World:
    """Events of all kinds, controllers, drives, pushes, springs, loops, materials of pairs, memory and chance."""
    world = km.World(dt=2.5e-3, contact=contact)
    world.add_ground()
    figure = world.add(arm(), at=(0, 0, 1.0), q=[0.3, 1, 0, 0, 0], name="arm")
    boxes = [world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(1 + 0.3 * i, 0, 0.11), name=f"box {i}") for i in range(3)]
    ball = world.add(km.Shape.sphere(0.1), at=(1, 0.05, 0.5), name="ball")
    tie = world.connect(boxes[0], boxes[1], km.Joint.revolute("y", name="hinge"))
    ring = [world.connect(boxes[i], boxes[j], km.Joint.fixed()) for i, j in ((1, 2), (0, 2))]  # the last closes a loop
    swing, ball_joint = figure.joint("part 0"), figure.joint("part 1")
    for event in (
        km.Event.at(0.3, times=2), km.Event.height("ball", 0.2, times=1), km.Event.distance("box 0", "ball", 0.2),
        km.Event.position(swing, 0.1), km.Event.velocity(swing), km.Event.contact("ball"), km.Event.limit(swing),
        km.Event.contact("box 0", "ground", direction=-1), km.Event.impact("ball", "box 0", 0.01),
        km.Event.sleep("ball"), km.Event.load(tie, 50.0), km.Event.load(ring[1], 50.0, moment=True),
        km.Event.load(ball_joint, 5.0), km.Event.force(ring[1], (0, 0, 1), 3.0),
        km.Event.force(ring[1], (1, 0, 0), 3.0, moment=True), km.Event("of time", lambda world: world.time - 1.0),
    ):  # fmt: skip
        world.when(event)
    world.every(0.05, lambda world: None, name="nothing")
    world.servo(swing, 0.5, stiffness=20.0, damping=1.0, effort_limit=5.0)
    world.motor(tie, 0.2, effort_limit=1.0)
    world.drives.force(ball_joint, 0.1, dof=1)
    world.apply_force(ball, force=(0.1, 0, 0))
    world.structure.tie(km.ForceElement.spring("part 1", "box 0", 20.0, 0.5), figure["part 1"], boxes[0])
    world.collision_filter.ignore(figure["part 1"], boxes[2])
    world.memory["numbers"] = np.arange(3.0)
    world.random.normal(size=3)
    world.forces.set_fluid(1.2, 1.0)
    world.run(0.15)
    return world


def thinking() -> km.World:
    """A mind whose hand holds a ball that it has grasped, and one that swims; an episode is recorded."""
    from tests.world.test_brain_instances import waves, worm
    from tests.world.test_grasps import crane

    world, *_ = crane()
    world.brains.attach(world.add(worm(), at=(2, 0, 0.1)), waves(), (2.0, 0.5, 0.2))
    begin_statistics(world)
    world.run(0.48)
    return world


SMALL = {"ground": ground, "asleep": asleep, "concave": concave}
BUSY = {"waiting": waiting, "impulses": lambda: waiting("impulse"), "thinking": thinking}


def content_of(snapshot: bytes) -> bytes:
    return snapshot[SNAPSHOT_HEAD_BYTES:]


def resealed(content: bytes) -> bytes:
    """A content with a checksum that says it is whole."""
    return sealed(SNAPSHOT_MAGIC, SNAPSHOT_VERSION, content)


def spoiled(content: bytes, rng: np.random.Generator) -> bytes:
    """A few whole numbers, in the arrays of a snapshot, are others."""
    start = 8 + int.from_bytes(content[:8], "little")
    start += -start % 8
    changed = bytearray(content)
    if start + 8 > len(content):
        return content  # there are no arrays
    for _ in range(int(rng.integers(1, 4))):
        size = int(rng.choice((4, 4, 4, 8)))
        at = start + size * int(rng.integers((len(content) - start) // size))
        changed[at : at + size] = int(rng.choice(NUMBERS)).to_bytes(size, "little", signed=True)
    return bytes(changed)


def released(world: km.World) -> None:
    """Let a world that was loaded go on without the functions that it had."""
    for watch in world._monitors:
        watch._lacks = False
    for timer in world._timers:
        timer.action = lambda world: None


def probe(world: km.World) -> None:
    """Ask a world whatever it can be asked."""
    world.hash()
    for ask in (
        lambda: [watch.value for watch in world.monitors], lambda: [drive.applied for drive in world.drives],
        lambda: [(mind.sensed, mind.holds) for mind in world.brains],
        lambda: [EpisodeStatistics(world).of(brain) for brain in world.brains],
        world.queries.energy, world.queries.momentum, lambda: world.collision_filter.ignored,
        lambda: [(body.pose, body.velocity, world.sleep.why_awake(body)) for body in world.bodies],
        lambda: [figure.position(name) for figure in world.figures for name in ("part 0", "bend1")],
        lambda: world.queries.cast_ray((0, 0, 5.0), (0, 0, -1.0)), lambda: world.queries.overlaps(km.Shape.sphere(0.5)),
        world.contacts, world.branch,
        lambda: [watch.cancel() for watch in world.monitors[::2]],
    ):  # fmt: skip
        with contextlib.suppress(km.WorldError, ValueError, ArithmeticError, KeyError):
            ask()


def use(world: km.World) -> None:
    """Do with a world whatever kernels do."""
    try:
        world.step(5)
        bodies = world.bodies
        world.contacts()
        world.hash()
        if len(bodies) > 2:
            tie = world.connect(bodies[0], bodies[1], km.Joint.revolute("y"))
            world.step(2)
            world.reroot(bodies[1])
            world.cut(tie)
            world.remove(bodies[2])
        world.add(km.Shape.box((0.1, 0.1, 0.1)), at=(0, 0, 1))
        world.step(5)
        world.save()
    except (km.WorldError, ValueError, ArithmeticError, KeyError):
        pass  # it is not the world that it was
