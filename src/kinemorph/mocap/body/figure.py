"""A human figure: 17 links and 40 joint degrees of freedom (N&Y figure 16), or fewer, of any mass and height.

Lengths are the shares of the height of Drillis and Contini (Winter, Biomechanics and Motor Control of Human Movement,
figure 4.1); masses come from a table of `anthropometry`. The figure stands upright, x forward, y to its left, with its
arms hanging; the pelvis is the root, and its frame lies between the hips.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.mocap.body.anthropometry import Table, table_of
from kinemorph.mocap.body.inertias import ANKLE, FOREFOOT_SHARE, SIDES, Bone, inertias
from kinemorph.mocap.ranges import range_of
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.checks import Array
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_finite
from kinemorph.spatial.pose import Pose

HEIGHT, MASS = 1.75, 70.0  # m, kg
HEIGHTS, MASSES = (0.2, 5.0), (0.5, 2000.0)  # m, kg: shares of a table say nothing about what is no human figure
FOOT_LENGTH_SHARE = 0.152  # length of a foot, a share of the height
THICK = {  # radii, shares of the height
    "head": 0.052, "clavicle": 0.030, "upper arm": 0.027, "forearm": 0.022, "hand": 0.020, "thigh": 0.042,
    "shank": 0.030, "foot": 0.018,
}  # fmt: skip
# The parts that are welded to leave 9 links and 16 joint degrees of freedom (N&Y figure 19).
SIMPLE = ("chest", "head", "left clavicle", "right clavicle", "left hand", "right hand", "left foot", "right foot")

Triple = tuple[float, float, float]
Posture = Mapping[str, Triple | float]  # of joints: rotation vectors of spherical ones, or angles

_BOTH = {  # of the left side: parent, joint in its frame, end, axis of a hinge; shares of the height
    "clavicle": ("chest", (0, 0.015, 0.215), (0, 0.105, 0.0), None),
    "upper arm": ("* clavicle", (0, 0.114, 0.0), (0, 0, -0.186), None),
    "forearm": ("* upper arm", (0, 0, -0.186), (0, 0, -0.146), (0.0, -1.0, 0.0)),
    "hand": ("* forearm", (0, 0, -0.146), (0, 0, -0.080), None),
    "thigh": ("pelvis", (0, 0.055, 0.0), (0, 0, -0.245), None),
    "shank": ("* thigh", (0, 0, -0.245), (0, 0, -0.246), "y"),
    "foot": ("* shank", (0, 0, -0.246), (0.110, 0, -0.025), None),
}


def upright(height: float = HEIGHT) -> dict[str, Bone]:
    """The bones of a figure of a height, parents first."""
    bones = {
        "pelvis": Bone(None, np.zeros(3), np.array([0, 0, 0.060]) * height),
        "chest": Bone("pelvis", np.array([0, 0, 0.060]) * height, np.array([0, 0, 0.228]) * height),
        "head": Bone("chest", np.array([0, 0, 0.228]) * height, np.array([0, 0, 0.182]) * height),
    }
    for part, (parent, at, end, axis) in _BOTH.items():
        for side, sign in SIDES.items():
            mirror = height * np.array([1.0, sign, 1.0])
            bones[f"{side} {part}"] = Bone(parent.replace("*", side), mirror * at, mirror * end, axis)
    return bones


@checked_first
def human(
    mass: float = MASS,
    height: float = HEIGHT,
    sex: str = "male",
    table: str = "de Leva",
    *,
    welded: Collection[str] = (),
    root: Joint | None = None,
    stiffness: Mapping[str, float] | float = 0.0,
    rest: Posture | None = None,
    limits: bool = True,
) -> Model:
    """A human figure of a mass (kg) and a height (m), with the inertias of a table: "de Leva", "Winter" or "Dumas".

    Its knees and elbows are hinges, its other joints are balls. The `welded` parts belong to their parents. `stiffness`
    (N m/rad) is that of all joints, or of each by the last word of its name; their springs are slack in the posture
    `rest`, which has a rotation vector or an angle for each joint that it names. `root` carries the pelvis, free if not
    given. Joints have the `limits` of people (`mocap.ranges`); a shoulder whose clavicle is welded has none. Frames:
    "left palm", "left heel", "left toe" and the same on the right.
    """
    kg, tall = check_finite("human: mass", mass, *MASSES), check_finite("human: height", height, *HEIGHTS)
    return assemble(upright(tall), table_of(table, sex), kg, tall, welded, root, stiffness, rest, limits).build()


def assemble(
    bones: Mapping[str, Bone],
    table: Table,
    mass: float,
    height: float,
    welded: Collection[str] = (),
    root: Joint | None = None,
    stiffness: Mapping[str, float] | float = 0.0,
    rest: Posture | None = None,
    limits: bool = False,
) -> Builder:
    """A builder with a figure of any bones in it, parents first."""
    for name in welded:
        if name not in bones or bones[name].parent is None:
            raise ValueError(f"human: there is no part {name!r} to weld; there are {', '.join(bones)}")
    b = Builder("human")
    solids = inertias(bones, table, mass, height)
    bodies: dict[str, tuple[Inertia, list[Shape]]] = {}
    for name in reversed([*bones]):  # children before parents, so that welded ones are complete when they are added
        inertia, shapes = solids[name], shapes_of_bone(name, bones[name].end, height)
        for child, bone in bones.items():
            if bone.parent == name and child in welded:
                place = Pose(bone.at)
                inertia = inertia + bodies[child][0].moved(place)
                shapes += [shape.moved(place) for shape in bodies[child][1]]
        bodies[name] = inertia, shapes
    for name, bone in bones.items():
        if name in welded:
            continue
        k = stiffness.get(name.split()[-1], 0.0) if isinstance(stiffness, Mapping) else float(stiffness)
        carrier, at = _carrier(bones, bone.parent, bone.at, welded)
        if bone.parent is None:
            joint = root or Joint.free()
        else:
            alone = bone.parent.endswith("clavicle") and bone.parent in welded  # as far as both together, over the head
            span = range_of(name) if limits and not alone else None
            joint = _joint(bone, k, (rest or {}).get(name, 0.0), span)
        b.link(name, carrier, joint, at, *bodies[name])
    for side in SIDES:
        hand = f"{side} hand" if f"{side} hand" in bones else f"{side} forearm"
        reach = 0.045 * height if hand.endswith("hand") else 0.045 * height + np.linalg.norm(bones[hand].end)
        places = {"palm": (hand, reach * bones[hand].end / np.linalg.norm(bones[hand].end))}
        places["heel"], places["toe"] = ((f"{side} foot", x) for x in sole(height))
        for what, (link, x) in places.items():
            b.frame(f"{side} {what}", *_carrier(bones, link, x, welded))
    return b


def sole(height: float) -> tuple[Array, Array]:
    """The ends of the sole below heel and toe, in the frame of a foot."""
    heel, toe = (x * FOOT_LENGTH_SHARE * height for x in (FOREFOOT_SHARE - 1.0, FOREFOOT_SHARE))
    return np.array([heel, 0.0, -ANKLE * height]), np.array([toe, 0.0, -ANKLE * height])


def _carrier(
    bones: Mapping[str, Bone], link: str | None, at: Array, welded: Collection[str]
) -> tuple[str | None, Array]:
    """The link that is really there, and a place on it."""
    while link is not None and link in welded:
        at, link = at + bones[link].at, bones[link].parent
    return link, at


def _joint(bone: Bone, stiffness: float, rest: Triple | float, span: tuple[Array, Array] | None) -> Joint:
    low, high = (-np.inf, np.inf) if span is None else span
    if bone.axis is None:
        slack = quaternion_of_rotation_vector(rest if isinstance(rest, tuple) else (0.0, 0.0, 0.0))
        return Joint.spherical(stiffness=stiffness, rest=slack, lower=low, upper=high)
    if isinstance(rest, tuple):
        raise TypeError(f"a hinge rests at one angle, not at {rest}")
    return Joint.revolute(bone.axis, stiffness=stiffness, rest=rest, lower=low, upper=high)


def quaternion_of_rotation_vector(vector: Triple) -> list[float]:
    """The quaternion of a rotation vector."""
    angle = math.hypot(*vector)
    part = 0.5 if angle < 1e-12 else math.sin(0.5 * angle) / angle
    return [math.cos(0.5 * angle), *(part * x for x in vector)]


def pose(model: Model, posture: Posture) -> Array:
    """A configuration with some joints in a posture, the others at zero."""
    q = neutral(model)
    for name, value in posture.items():
        q[model.q_slice(name)] = quaternion_of_rotation_vector(value) if isinstance(value, tuple) else value
    return q


def both(**posture: Triple | float) -> dict[str, Triple | float]:
    """The same for both sides, mirrored: both(thigh=..., upper_arm=...)."""
    found: dict[str, Triple | float] = {}
    for name, value in posture.items():
        part = name.replace("_", " ")
        found[f"left {part}"] = value
        found[f"right {part}"] = (-value[0], value[1], -value[2]) if isinstance(value, tuple) else value
    return found


def shapes_of_bone(name: str, end: Array, height: float) -> list[Shape]:
    """The shapes of a bone, in its own frame."""
    part = name.removeprefix("left ").removeprefix("right ")
    h = height / HEIGHT  # the numbers below are those of a figure of usual height
    length = float(np.linalg.norm(end))
    across = Pose.turn((1, 0, 0), 0.5 * math.pi)
    if part == "pelvis":
        return [Shape.capsule(0.11 * h, 0.14 * h, Pose((0.0, 0.0, 0.04 * h)) @ across)]
    if part == "abdomen":
        return [Shape.capsule(0.105 * h, 0.10 * h, Pose(0.5 * end) @ across)]
    if part == "chest":
        belly = Shape.capsule(0.105 * h, 0.10 * h, Pose((0.0, 0.0, (0.10 / 0.399) * end[2])) @ across)
        ribs = Shape.capsule(0.12 * h, 0.16 * h, Pose((0.0, 0.0, (0.27 / 0.399) * end[2])) @ across)
        return [belly, ribs]
    if part == "head":
        neck = Shape.capsule(0.05 * h, 0.06 * h, Pose((0.0, 0.0, 0.05 * h)))
        face = Shape.capsule(0.082 * h, 0.07 * h, Pose((0.01 * h, 0.0, 0.20 * h)))
        nose = Shape.sphere(0.018 * h, Pose((0.095 * h, 0.0, 0.19 * h)))
        return [neck, face, nose]
    if part == "foot":
        return [Shape.box((0.25 * h, 0.085 * h, 0.055 * h), Pose((0.07 * h, 0.0, -0.04 * h)))]
    if part == "hand":
        return [Shape.box((0.09 * h, 0.035 * h, 0.15 * h), Pose((0.0, 0.0, -0.08 * h)))]
    radius = THICK[part] * height
    turn = Pose() if abs(end[2]) > abs(end[1]) else across
    return [Shape.capsule(radius, max(length - radius, 0.02), Pose(0.5 * end) @ turn)]
