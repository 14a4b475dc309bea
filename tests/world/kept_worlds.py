"""Small worlds in which everything is found that a snapshot must hold, and how to spoil their snapshots."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kinemorph as km
from kinemorph.collision.shape_table import mounts_of
from kinemorph.world.snapshot import HEAD, MAGIC, VERSION, sealed

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
        world._add_shapes(mounts_of([(parts, body.id & 0xFFFFFFFF, None, 1, 0xFFFFFFFF)]), [world.material])
    world.run(0.4)
    return world


SMALL = {"ground": ground, "asleep": asleep, "concave": concave}


def content_of(snapshot: bytes) -> bytes:
    return snapshot[HEAD:]


def resealed(content: bytes) -> bytes:
    """A content with a checksum that says it is whole."""
    return sealed(MAGIC, VERSION, content)


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
