"""Mass properties of the bones of a figure, from a table of anthropometry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinemorph.mocap.body.anthropometry import LIMBS, Segment, Table
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.spatial.pose import Array, Pose

SIDES = {"left": 1.0, "right": -1.0}  # and the sign of y there
OTHER = {"left": "right", "right": "left"}
CLAVICLE = 0.018  # share of the body's mass; no table has it, and the trunk gives it away
ABDOMEN = 0.139 / 0.355  # of Winter's thorax and abdomen
FOREFOOT_SHARE = 0.78  # share of the foot's length that is in front of the ankle
ANKLE = 0.039  # height of the ankle, a share of the body's (Drillis and Contini)
UP, LEFT, FORWARD = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Bone:
    """A part of a figure that stands upright: x forward, y to its left, z up, in m. Its frame is on its joint."""

    parent: str | None
    at: Array  # its joint, from that of its parent
    end: Array  # where it ends, from its joint
    axis: str | tuple[float, float, float] | None = None  # of a hinge; else the joint is spherical


def inertias(bones: Mapping[str, Bone], table: Table, mass: float, height: float) -> dict[str, Inertia]:
    """The mass properties of all bones, each in its own frame; together they have the mass."""
    found: dict[str, Inertia] = {}
    for limb in LIMBS:
        for side in SIDES:
            name = f"{side} {limb}"
            weight = mass * table.share(limb)
            start, end = limb_ends(limb, bones[name].end if name in bones else None, table, height)
            if name in bones:
                found[name] = solid(table.segments[limb], weight, start, end, SIDES[side] * LEFT)
            else:  # a hand that the figure does not have belongs to the forearm
                on = f"{side} forearm"
                along = unit(bones[on].end)
                place = Pose(bones[on].end + 0.5 * table.segments[limb].length * height * along)
                found[on] = found[on] + Inertia.point(weight).moved(place)
    found["head"] = head(bones["head"], table, mass * table.share("head"), height)
    clavicles = [name for name in bones if name.endswith("clavicle")]
    for name in clavicles:
        end = bones[name].end
        row = Segment("", "", 0.0, 0.0, 0.5, (0.30, 0.30, 0.030 / 0.105 / 2.0**0.5))
        found[name] = solid(row, mass * CLAVICLE, np.zeros(3), end)
    found.update(trunk(bones, table, mass, mass * CLAVICLE * len(clavicles)))
    return found


def limb_ends(limb: str, bone: Array | None, table: Table, height: float) -> tuple[Array, Array]:
    """The two landmarks that a limb's row counts between, in the bone's frame."""
    row = table.segments[limb]
    if limb == "foot" and row.start == "HEEL":
        length = row.length * height
        low = -0.5 * ANKLE * height * UP  # its line lies halfway between ankle and sole
        return (FOREFOOT_SHARE - 1.0) * length * FORWARD + low, FOREFOOT_SHARE * length * FORWARD + low
    if bone is None:
        return np.zeros(3), -row.length * height * UP
    return np.zeros(3), (row.length * height * unit(bone) if row.end in ("MET3", "MHEADS") else bone)


def head(bone: Bone, table: Table, mass: float, height: float) -> Inertia:
    """Head and neck, which stand on the joint of the neck."""
    row = table.segments["head"]
    if row.start == "VERT":
        return solid(row, mass, row.length * height * unit(bone.end), np.zeros(3))
    return solid(row, mass, np.zeros(3), bone.end)


def trunk(bones: Mapping[str, Bone], table: Table, mass: float, given: float) -> dict[str, Inertia]:
    """Pelvis, chest and, if there is one, abdomen. The chest gives away the mass of the clavicles."""
    abdomen = "abdomen" in bones
    chest_at = bones["chest"].at + (bones["abdomen"].at if abdomen else 0.0)  # from the pelvis, upright
    neck = chest_at + bones["head"].at
    frames = {"pelvis": np.zeros(3), "abdomen": bones["abdomen"].at if abdomen else chest_at, "chest": chest_at}
    if "upper trunk" in table.segments:
        pieces = trunk_line(table, 0.5 * (bones["left thigh"].at + bones["right thigh"].at), neck)
        owners = {"lower trunk": "pelvis", "middle trunk": "abdomen" if abdomen else "chest", "upper trunk": "chest"}
    else:
        hips = 0.5 * (bones["left thigh"].at + bones["right thigh"].at)
        waist = {"pelvis": frames["abdomen"], "chest": chest_at}
        owners = {"pelvis": "pelvis", "chest": "chest"}
        pieces = {}
        for piece in owners:
            at = {"MIDH": hips, "WAIST": waist[piece], "NECK": neck}
            pieces[piece] = at[table.segments[piece].start], at[table.segments[piece].end]
    found: dict[str, Inertia] = {}
    for piece, (start, end) in pieces.items():
        owner, row = owners[piece], table.segments[piece]
        weight = mass * table.share(piece)
        if owner == "chest" and piece != "middle trunk":
            weight -= given
        if abdomen and piece == "chest":
            part = ABDOMEN * mass * table.share("chest")
            ends = (np.zeros(3), bones["chest"].at)
            found["abdomen"] = solid(row, part, *(ends if row.start == "WAIST" else ends[::-1]))
            weight -= part
        here = solid(row, weight, start - frames[owner], end - frames[owner])
        found[owner] = found[owner] + here if owner in found else here
    return found


def trunk_line(table: Table, hips: Array, neck: Array) -> dict[str, tuple[Array, Array]]:
    """Where the three parts of the trunk begin and end: CERV is at the neck, MIDH between the hips."""
    names = ("upper trunk", "middle trunk", "lower trunk")
    lengths = np.cumsum([0.0, *(table.segments[name].length for name in names)])
    points = [neck + share * (hips - neck) for share in lengths / lengths[-1]]
    return {name: (points[k], points[k + 1]) for k, name in enumerate(names)}


def solid(row: Segment, mass: float, start: Array, end: Array, outward: Array = -LEFT) -> Inertia:
    """The mass properties of a segment between two points; what lies in the middle of the body is of the right side."""
    line = end - start
    length = float(np.linalg.norm(line))
    along = unit(line)
    side = LEFT - (LEFT @ along) * along
    if np.linalg.norm(side) < 0.5:  # a bone across the body
        side = FORWARD - (FORWARD @ along) * along
    side = unit(side)
    axes = np.stack([np.cross(side, along), side, along], axis=1)
    moments = mass * (np.array(row.gyration) * length) ** 2
    matrix = axes @ np.diag(moments) @ axes.T
    centre = start + row.centre * line
    if any(row.aside) or any(row.products):  # in axes that point forward, outward and up, as far as they can
        ahead, out, up = axes.T * [_towards(axes[:, 0]), math.copysign(1.0, float(side @ outward)), _towards(along)]
        centre = centre + length * (row.aside[0] * ahead + row.aside[1] * out)
        turned = matrix
        for radius, one, two in zip(row.products, (ahead, ahead, up), (up, out, out), strict=True):
            product = math.copysign(mass * (radius * length) ** 2, radius) * np.outer(one, two)
            turned = turned + product + product.T
        if not Inertia.unchecked(mass, centre, turned).fault():  # else they are too coarsely rounded for any body
            matrix = turned
    return Inertia(mass, centre, matrix)


def _towards(axis: Array) -> float:
    """The sign that makes an axis point forward or up."""
    return math.copysign(1.0, float(axis @ (FORWARD + UP)))


def unit(vector: Array) -> Array:
    length = np.linalg.norm(vector)
    if not length:
        raise ValueError("two joints are in one place all the time: the bone between them has no length")
    return vector / length
