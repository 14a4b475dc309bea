"""Worlds in which much touches: free bodies of many shapes and masses, and figures of random joints, on ground."""

from __future__ import annotations

import warnings

import numpy as np
from tests import random_worlds
from tests.strategies import Rng

import kinemorph as km

JOINTS = (
    km.JointKind.REVOLUTE,
    km.JointKind.PRISMATIC,
    km.JointKind.SPHERICAL,
    km.JointKind.UNIVERSAL,
    km.JointKind.CYLINDRICAL,
    km.JointKind.SCREW,
    km.JointKind.FIXED,
    km.JointKind.PLANAR,
)


def material(rng: Rng) -> km.Material:
    return km.Material(
        float(10.0 ** rng.uniform(-2, 0.5)),
        torsional=float(0.01 * rng.random()),
        rolling=float(0.01 * rng.random()),
        restitution=float(rng.random() * (rng.random() < 0.3)),
        directions=int(rng.choice([1, 3, 4, 6])),
        priority=int(rng.integers(2)),
        surface=tuple((rng.normal(size=3) * (rng.random() < 0.2)).tolist()),
    )


def inertia(rng: Rng, shape: km.Shape, decades: float) -> km.Inertia:
    """Of any mass, a solid of that shape."""
    one = km.inertia_of(shape, 1.0)
    factor = 10.0 ** rng.uniform(-decades, decades) / one.mass
    return km.Inertia(one.mass * factor, one.com, one.matrix * factor)


def figure(rng: Rng, links: int, *, held: bool, decades: float = 1.0, passive: bool = True) -> km.Model:
    """A tree of random joints with limits that are near, dry friction and largest speeds."""
    builder = km.Builder("figure")
    for i in range(links):
        kind = JOINTS[int(rng.integers(len(JOINTS)))]
        extra: dict[str, float] = {"armature": float(0.01 * rng.random())}
        if kind in (km.JointKind.REVOLUTE, km.JointKind.PRISMATIC, km.JointKind.SCREW, km.JointKind.CYLINDRICAL):
            if rng.random() < 0.6:
                extra |= {"lower": -float(0.01 * rng.random()), "upper": float(0.01 * rng.random())}
            if rng.random() < 0.5:
                extra["friction"] = float(rng.random())
            if rng.random() < 0.4:
                extra["velocity_limit"] = 0.2
        if passive and rng.random() < 0.3:
            extra |= {"damping": float(rng.random()), "stiffness": float(10.0 * rng.random())}
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        across = np.cross(axis, rng.normal(size=3))
        joint = km.Joint(kind, axis, across / np.linalg.norm(across), pitch=0.1, **extra)
        if i == 0 and not held:
            joint = km.Joint.free()
        elif i == 0 and kind is km.JointKind.FIXED:
            joint = km.Joint.revolute(axis)
        shape = random_worlds.random_shape(rng)
        parent = f"part {rng.integers(i)}" if i else None
        place = random_worlds.random_pose(rng, 0.15)
        builder.link(f"part {i}", parent, joint, place, inertia(rng, shape, decades), [shape])
    return builder.build()


def scene(
    seed: int,
    *,
    bodies: int = 5,
    figures: int = 1,
    held: int = 1,
    decades: float = 1.0,
    passive: bool = True,
    ground: bool = True,
    sleep: bool = False,
    joined: bool = False,
) -> km.World:
    """A random world that moves slowly: nothing is fast against its size. `joined` bodies are links of one tree."""
    rng = np.random.default_rng(seed)
    world = km.World(dt=2e-3, sleep=sleep, gravity=rng.normal(size=3) + (0.0, 0.0, -9.0))
    if ground:
        world.add_ground(material=material(rng))
        world.add_ground(km.Shape.box((0.5, 0.5, 0.2), km.Pose((0.4, 0.0, 0.0))))
    for _ in range(bodies):
        shape = random_worlds.random_shape(rng)
        own = inertia(rng, shape, decades)
        at = km.Pose((*(0.35 * rng.normal(size=2)), 0.3 * rng.random()), random_worlds.random_pose(rng, 1.0).rotation)
        world.add(shape, at, mass=own.mass, twist=0.05 * rng.normal(size=6), material=material(rng))
    parts = world.bodies
    for i in range(1, len(parts) if joined else 0):
        joint = km.Joint(JOINTS[int(rng.integers(4))], *np.linalg.qr(rng.normal(size=(3, 3)))[0][:2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            world.connect(parts[rng.integers(i)], parts[i], joint)
    for i in range(figures + held):
        model = figure(rng, int(rng.integers(2, 6)), held=i >= figures, decades=decades, passive=passive)
        at = km.Pose((*(0.3 * rng.normal(size=2)), 0.3 * rng.random()))
        q = km.random_configuration(model, rng) if rng.random() < 0.5 else km.neutral(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            world.add(model, at=at, q=q, v=0.1 * rng.normal(size=model.nv), material=material(rng), name=f"f{i}")
    return world


def let_settle(world: km.World, steps: int) -> km.World:
    """Some steps, of which the first says what overlaps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world.step(steps)
    return world
