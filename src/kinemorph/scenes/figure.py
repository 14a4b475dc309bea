"""A human figure, of 17 links and 40 joint degrees of freedom (N&Y figure 16) or of 9 links and 16 (figure 19).

Masses, centres of mass and radii of gyration are the shares of Dempster's and Winter's table, lengths are those of
Drillis and Contini, both as everybody uses them (Winter, Biomechanics and Motor Control of Human Movement, 4.1). The
figure stands upright, x forward, y to its left, with its arms hanging.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.checks import Array
from kinemorph.multibody.configuration import neutral
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose

HEIGHT, MASS = 1.75, 70.0  # m, kg
SIMPLE = ("chest", "head", "left clavicle", "right clavicle", "left hand", "right hand", "left foot", "right foot")

Triple = tuple[float, float, float]
Posture = Mapping[str, Triple | float]  # of joints: rotation vectors of spherical ones, or angles


@dataclass(frozen=True)
class Segment:
    """A part of the body, along `end` from its joint. Lengths are shares of the height, the mass one of the mass."""

    parent: str | None
    at: Triple  # its joint in the parent's frame
    mass: float
    end: Triple
    centre: float  # of mass, along the segment, a share of its length
    gyration: float  # radius about an axis across, a share of its length
    radius: float  # thickness
    axis: str | Triple | None = None  # of a hinge; else the joint is spherical


def _sides(
    name: str, parent: str, at: Triple, mass: float, end: Triple, centre: float, gyration: float, radius: float,
    axis: str | Triple | None = None,
) -> dict[str, Segment]:  # fmt: skip
    """The same on both sides, where y changes its sign; a parent "* arm" is that of the side."""
    found = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        here, there = (at[0], sign * at[1], at[2]), (end[0], sign * end[1], end[2])
        on = parent.replace("*", side)
        found[f"{side} {name}"] = Segment(on, here, mass, there, centre, gyration, radius, axis)
    return found


SEGMENTS: dict[str, Segment] = {
    "pelvis": Segment(None, (0, 0, 0), 0.142, (0, 0, 0.060), 0.3, 0.9, 0.070),
    "chest": Segment("pelvis", (0, 0, 0.060), 0.319, (0, 0, 0.228), 0.52, 0.33, 0.075),
    "head": Segment("chest", (0, 0, 0.228), 0.081, (0, 0, 0.182), 0.60, 0.30, 0.052),
    **_sides("clavicle", "chest", (0, 0.015, 0.215), 0.018, (0, 0.105, 0.0), 0.5, 0.30, 0.030),
    **_sides("upper arm", "* clavicle", (0, 0.114, 0.0), 0.028, (0, 0, -0.186), 0.436, 0.322, 0.027),
    **_sides("forearm", "* upper arm", (0, 0, -0.186), 0.016, (0, 0, -0.146), 0.430, 0.303, 0.022, (0, -1, 0)),
    **_sides("hand", "* forearm", (0, 0, -0.146), 0.006, (0, 0, -0.080), 0.506, 0.297, 0.020),
    **_sides("thigh", "pelvis", (0, 0.055, 0.0), 0.100, (0, 0, -0.245), 0.433, 0.323, 0.042),
    **_sides("shank", "* thigh", (0, 0, -0.245), 0.0465, (0, 0, -0.246), 0.433, 0.302, 0.030, "y"),
    **_sides("foot", "* shank", (0, 0, -0.246), 0.0145, (0.110, 0, -0.025), 0.50, 0.475, 0.018),
}


def human(
    welded: Collection[str] = (),
    root: Joint | None = None,
    stiffness: Mapping[str, float] | float = 0.0,
    rest: Posture | None = None,
    builder: Builder | None = None,
) -> Builder:
    """A builder with the figure in it. The `welded` parts belong to their parents; SIMPLE leaves 16 joint dof.

    `stiffness` (N m/rad) is that of all joints, or of each by the last word of its name; their springs are slack in the
    posture `rest`.
    """
    b = builder or Builder("human")
    bodies: dict[str, tuple[Inertia, list[Shape]]] = {}
    for name in reversed(SEGMENTS):  # children before parents, so that welded ones are complete when they are added
        inertia, shapes = solid(name)
        for child, segment in SEGMENTS.items():
            if segment.parent == name and child in welded:
                place = Pose(HEIGHT * np.array(segment.at))
                inertia = inertia + bodies[child][0].moved(place)
                shapes += [shape.moved(place) for shape in bodies[child][1]]
        bodies[name] = inertia, shapes
    for name, segment in SEGMENTS.items():
        if name in welded:
            continue
        k = stiffness if isinstance(stiffness, (int, float)) else stiffness.get(name.split()[-1], 0.0)
        at = HEIGHT * np.array(segment.at)
        if segment.parent is None:
            joint = root or Joint.free()
        else:
            joint = _joint(segment, k, (rest or {}).get(name, 0.0))
            parent = segment.parent
            while parent in welded:
                at = at + HEIGHT * np.array(SEGMENTS[parent].at)
                parent = SEGMENTS[parent].parent or ""
            segment = replace(segment, parent=parent)
        b.link(name, segment.parent, joint, at, *bodies[name])
    for side in ("left", "right"):
        carrier = f"{side} hand" if f"{side} hand" not in welded else f"{side} forearm"
        reach = 0.045 if carrier.endswith("hand") else 0.146 + 0.045
        b.frame(f"{side} palm", carrier, (0.0, 0.0, -reach * HEIGHT))
    return b


def _joint(segment: Segment, stiffness: float, rest: Triple | float) -> Joint:
    if segment.axis is None:
        return Joint.spherical(stiffness=stiffness, rest=turned(rest if isinstance(rest, tuple) else (0.0, 0.0, 0.0)))
    if isinstance(rest, tuple):
        raise TypeError(f"a hinge rests at one angle, not at {rest}")
    return Joint.revolute(segment.axis, stiffness=stiffness, rest=rest)


def turned(vector: Triple) -> list[float]:
    """The quaternion of a rotation vector."""
    angle = math.hypot(*vector)
    part = 0.5 if angle < 1e-12 else math.sin(0.5 * angle) / angle
    return [math.cos(0.5 * angle), *(part * x for x in vector)]


def pose(model: Model, posture: Posture) -> Array:
    """A configuration with some joints in a posture, the others at zero."""
    q = neutral(model)
    for name, value in posture.items():
        q[model.q_slice(name)] = turned(value) if isinstance(value, tuple) else value
    return q


def both(**posture: Triple | float) -> dict[str, Triple | float]:
    """The same for both sides, mirrored: both(thigh=..., upper_arm=...)."""
    found: dict[str, Triple | float] = {}
    for name, value in posture.items():
        part = name.replace("_", " ")
        found[f"left {part}"] = value
        found[f"right {part}"] = (-value[0], value[1], -value[2]) if isinstance(value, tuple) else value
    return found


def solid(name: str) -> tuple[Inertia, list[Shape]]:
    """Mass properties of a segment and what it looks like, in its own frame."""
    s = SEGMENTS[name]
    end = HEIGHT * np.array(s.end)
    length, radius = float(np.linalg.norm(end)), HEIGHT * s.radius
    axis = end / length
    mass = MASS * s.mass
    across, along = mass * (s.gyration * length) ** 2, 0.5 * mass * radius**2
    along = min(along, 2.0 * across)  # no body has more
    matrix = across * np.eye(3) + (along - across) * np.outer(axis, axis)
    return Inertia(mass, s.centre * end, matrix), _shapes(name, end, length, radius)


def _shapes(name: str, end: Array, length: float, radius: float) -> list[Shape]:
    part = name.split()[-1]
    if part == "pelvis":
        return [Shape.capsule(0.11, 0.14, Pose.turn((1, 0, 0), 0.5 * math.pi, (0.0, 0.0, 0.04)))]
    if part == "chest":
        belly = Shape.capsule(0.105, 0.10, Pose.turn((1, 0, 0), 0.5 * math.pi, (0.0, 0.0, 0.10)))
        ribs = Shape.capsule(0.12, 0.16, Pose.turn((1, 0, 0), 0.5 * math.pi, (0.0, 0.0, 0.27)))
        return [belly, ribs]
    if part == "head":
        neck = Shape.capsule(0.05, 0.06, Pose((0.0, 0.0, 0.05)))
        face = Shape.capsule(0.082, 0.07, Pose((0.01, 0.0, 0.20)))
        nose = Shape.sphere(0.018, Pose((0.095, 0.0, 0.19)))
        return [neck, face, nose]
    if part == "foot":
        return [Shape.box((0.25, 0.085, 0.055), Pose((0.07, 0.0, -0.04)))]
    if part == "hand":
        return [Shape.box((0.09, 0.035, 0.15), Pose((0.0, 0.0, -0.08)))]
    turn = Pose() if abs(end[2]) > abs(end[1]) else Pose.turn((1, 0, 0), 0.5 * math.pi)
    return [Shape.capsule(radius, max(length - radius, 0.02), Pose(0.5 * end) @ turn)]
