"""A recorded skeleton becomes a body: bones as long as the recording's, masses from a table, and how it moved."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinemorph._files import ModelWarning, PathLike, caller_level
from kinemorph.io.motion.bvh import Bvh
from kinemorph.mocap.body.anthropometry import table_of
from kinemorph.mocap.body.figure import FOOT_LENGTH_SHARE, assemble, upright
from kinemorph.mocap.body.inertias import ANKLE, FOREFOOT_SHARE, SIDES, Bone, unit
from kinemorph.mocap.body.legs import Shift, quaternion, shifts_of, with_hips_moved
from kinemorph.mocap.body.skeleton import Moves, Skeleton, match
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first, checked_on_failure
from kinemorph.spatial.arguments.checks import as_number, check_finite, repr_of
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import conjugate_all, multiply_all, normalize_all, rotate_all, to_matrices

UNITS = {  # m; what files are written in
    "metres": 1.0, "centimetres": 0.01, "millimetres": 0.001, "inches": 0.0254, "feet": 0.3048,
    "CMU's units (inches / 0.45)": 0.0254 / 0.45,
}  # fmt: skip
SMALLEST, LARGEST, USUAL = 1.35, 2.15, 1.72  # m: heights of people
HEAVIEST, TALLEST = 1e4, 100.0  # kg, m: of what is asked for; beyond, something is wrong
NECK = 0.779  # height of the neck above the ankle, a share of the body's (the figure's)
LOWEST_FRAME_RATE = 60.0  # Hz: below, accelerations are doubtful
BREADTH = 0.055  # of a foot, a share of the height
PARENTS = {
    "abdomen": "pelvis", "chest": "abdomen", "head": "chest", "clavicle": "chest", "upper arm": "clavicle",
    "forearm": "upper arm", "hand": "forearm", "thigh": "pelvis", "shank": "thigh", "foot": "shank",
}  # fmt: skip
LIMBS = (("thigh", "shank"), ("shank", "foot"), ("upper arm", "forearm"), ("forearm", "hand"))
APART = (  # joints that cannot be in one place
    ("left thigh", "right thigh"), ("pelvis", "head"),
    *((f"{side} {a}", f"{side} {b}") for side in SIDES for a, b in LIMBS),
)  # fmt: skip


@checked_first
@dataclass(frozen=True, eq=False)
class Foot:
    """The sole of a foot in the frame of its link (m): below the heel, the ball and the tip of the toes."""

    heel: Array
    ball: Array
    toe: Array
    breadth: float

    @property
    def corners(self) -> Array:
        """The four corners of the sole (4, 3): at the heel, then at the toes."""
        side = np.array([0.0, 0.5 * self.breadth, 0.0])
        return np.array([self.heel + side, self.heel - side, self.toe - side, self.toe + side])


@checked_first
@dataclass(frozen=True, eq=False)
class Body:
    """A model of the recorded person, and the recorded motion in its coordinates, z up, in metres."""

    model: Model
    q: Array  # (frames, nq)
    dt: float
    feet: Mapping[str, Foot]
    mass: float
    height: float
    unit: float  # m, of the recording
    fit: float  # m: how far joints of the model are from those of the recording, on average (rms)
    notes: tuple[str, ...]  # what was inferred
    # m, by side: how far forward and up in the pelvis they are from the recorded ones
    hips: Mapping[str, Shift] = field(default_factory=lambda: shifts_of((0.0, 0.0)))

    @property
    def t(self) -> Array:
        return self.dt * np.arange(len(self.q), dtype=np.float64)

    def lengths(self, side: str) -> tuple[float, float]:
        """Of thigh and shank (m)."""
        model = self.model
        thigh, shank = (np.linalg.norm(model.links["p"][model.link(f"{side} {end}")]) for end in ("shank", "foot"))
        return float(thigh), float(shank)

    @property
    def leg(self) -> float:
        """From the hip to the sole (m), both sides' mean."""
        return float(np.mean([sum(self.lengths(side)) - self.feet[side].heel[2] for side in SIDES]))


@checked_on_failure
def body_of(
    bvh: Bvh,
    mass: float = 70.0,
    height: float | None = None,
    sex: str = "male",
    table: str = "de Leva",
    *,
    unit: float | None = None,
    up: str | None = None,
    skeleton: PathLike | Mapping[str, Any] | None = None,
    hips: Shift | Mapping[str, Shift] = (0.0, 0.0),
) -> Body:
    """The body that a recording shows.

    `mass` in kg; `height` in m, to which the skeleton is scaled; if it is not given the file's unit is inferred: the
    one that makes a grown-up of it. `unit` (m) says what it is. `up` is the axis that points up, "y" or "z". `skeleton`
    says how joints are called: see `skeleton.match`. `hips` (m) moves the hip joints forward and up in the pelvis, both
    alike or each by its own ({"left": (-0.01, 0.0), "right": ...}), with ankles, feet and pelvis as they were recorded
    and bones as long: only thighs and shanks turn.
    """
    if not 0.0 < as_number(mass) <= HEAVIEST:
        raise ValueError(f"mass {repr_of(mass)} must be positive, and no more than {HEAVIEST:g} kg")
    if not len(bvh.frames):
        raise ValueError(f"BVH {bvh.name!r} has no frames")
    shifts = shifts_of(hips)
    notes = []
    found = drop_bones_of_no_length(bvh, match(bvh, skeleton))
    notes.append(f"skeleton: {found.name}, {len(found.bones)} of {len(bvh.joints)} joints move bones")
    frames = count_reference_frames(bvh, notes)
    turns, places = bvh.world()
    turns, places = turns[frames:], places[frames:]
    up = up or find_up_axis(found, places)
    turns, places = rotate_to_z_up(turns, places, up)
    axes = bone_axes(bvh, found, up)
    world = {name: normalize_all(multiply_all(turns[:, found.bones[name].turns], axis)) for name, axis in axes.items()}
    bones, misses = bones_of(bvh, found, world, places)
    scale, tall = scale_of(bones, height, unit, notes)
    notes.append(f"{up} is up, {1.0 / bvh.dt:.4g} Hz, {len(places)} frames")
    if 1.0 / bvh.dt < LOWEST_FRAME_RATE - 0.5:
        warnings.warn(
            f"BVH {bvh.name!r}: {1.0 / bvh.dt:.3g} frames a second are few; accelerations, and so forces, are "
            f"smoothed away; {LOWEST_FRAME_RATE:g} or more are better", ModelWarning, stacklevel=caller_level(),
        )  # fmt: skip
    scaled = {k: Bone(b.parent, scale * b.at, scale * b.end, None) for k, b in bones.items()}
    root = scale * places[:, found.bones["pelvis"].where]
    scaled, world, short = with_hips_moved(scaled, world, shifts)
    if short:
        notes.append(
            f"hips are moved; where a leg is nearly straight, its foot is drawn up, by {1e3 * short:.1f} mm at most"
        )
    builder = assemble(scaled, table_of(table, sex), mass, tall)
    builder.name = bvh.name or "body"
    model = builder.build()
    return Body(
        model, coordinates(model, world, root), bvh.dt,
        {side: foot_of(bvh, found, axes, side, scale, tall) for side in SIDES}, mass, tall, scale, scale * misses,
        tuple(notes), shifts,
    )  # fmt: skip


def drop_bones_of_no_length(bvh: Bvh, skeleton: Skeleton) -> Skeleton:
    """The same without a waist or collarbones that have no length: what hangs on them hangs on the bone below them."""
    where = bind_pose(bvh, "z")
    bones = dict(skeleton.bones)
    for group in (("abdomen",), tuple(f"{side} clavicle" for side in SIDES)):
        ends = [(name, name.replace("clavicle", "upper arm").replace("abdomen", "chest")) for name in group]
        if any(a in bones and not (where[bones[a].where] - where[bones[b].where]).any() for a, b in ends):
            for name in group:
                bones.pop(name, None)
    return Skeleton(skeleton.name, bones)


def count_reference_frames(bvh: Bvh, notes: list[str]) -> int:
    """How many frames to leave out at the start: converters put a reference pose there that was not recorded."""
    if len(bvh.frames) < 4:
        return 0
    jumps = np.abs(np.diff(bvh.frames[: min(len(bvh.frames), 400)], axis=0)).sum(axis=1)
    if jumps[0] > 20.0 * max(float(np.median(jumps[1:])), 1e-9) and jumps[0] > 3.0 * jumps[1:].max():
        notes.append("the first frame is a pose that does not belong to the motion: left out")
        return 1
    return 0


def find_up_axis(skeleton: Skeleton, places: Array) -> str:
    """The axis that the body stands along on average."""
    feet = [places[:, skeleton.bones[f"{side} foot"].where] for side in SIDES]
    rise = (places[:, skeleton.bones["head"].where] - 0.5 * (feet[0] + feet[1])).mean(axis=0)
    axis = int(np.argmax(np.abs(rise)))
    if axis == 0 or rise[axis] < 0.0:
        direction = rise.round(3).tolist()
        if not rise.any():
            raise ValueError("head and feet are in one place: bones of this skeleton have no length")
        raise ValueError(f"the body stands along {direction}; give the axis that points up: up='y' or up='z'")
    return "xyz"[axis]


def rotate_to_z_up(turns: Array, places: Array, up: str) -> tuple[Array, Array]:
    """Orientations and positions in a world whose z points up."""
    if up == "z":
        return turns, places
    if up != "y":
        raise ValueError(f"up must be 'y' or 'z', not {up!r}")
    turn = np.array([0.5, 0.5, 0.5, 0.5])  # x y z become y z x: y is up, z forward, x to the left
    return multiply_all(np.broadcast_to(turn, turns.shape), turns), rotate_all(
        np.broadcast_to(turn, turns.shape), places
    )


def bind_pose(bvh: Bvh, up: str) -> Array:
    """Where joints are when no joint is turned (joints, 3), in the world whose z points up."""
    places = np.zeros((len(bvh.joints), 3))
    for k, joint in enumerate(bvh.joints):
        if joint.parent >= 0:
            places[k] = places[joint.parent] + joint.offset
    return rotate_to_z_up(np.tile([1.0, 0.0, 0.0, 0.0], (len(places), 1)), places, up)[1]


def bone_axes(bvh: Bvh, skeleton: Skeleton, up: str) -> dict[str, Array]:
    """Of each bone its axes in the frame of the joint that it turns with: x forward, y to the left, z along it, up.

    Where no joint is turned, the frames of all joints stand as the world does, and the body stands upright.
    """
    where = bind_pose(bvh, up)
    at = {name: where[m.where] for name, m in skeleton.bones.items()}
    for a, b in APART:
        way = at[a] - at[b] if a in at and b in at else np.ones(3)
        if not np.linalg.norm(way[:2] if b == "right thigh" else way):
            raise ValueError(f"BVH {bvh.name!r}: the joints of {a} and {b} are in one place: a bone has no length")
    left = at["left thigh"] - at["right thigh"]
    left = unit(left - [0.0, 0.0, left[2]])
    above = np.array([0.0, 0.0, 1.0])
    forward = np.cross(left, above)
    if (at["head"] - at["pelvis"]) @ above <= 0.0 or (at["left foot"] - at["left thigh"]) @ above >= 0.0:
        raise ValueError(f"BVH {bvh.name!r}: its skeleton does not stand upright where no joint is turned")
    axes = {name: np.stack([forward, left, above], axis=1) for name in ("pelvis", "abdomen", "chest", "head")}
    for side in SIDES:
        axes[f"{side} clavicle"] = np.stack([forward, left, above], axis=1)
        for bone, end in (("upper arm", "forearm"), ("forearm", "hand"), ("thigh", "shank"), ("shank", "foot")):
            axes[f"{side} {bone}"] = along(at, f"{side} {bone}", f"{side} {end}", forward, axes)
        axes[f"{side} hand"] = axes[f"{side} forearm"]
        z = axes[f"{side} shank"][:, 2]  # a foot stands flat below a straight leg
        ahead = ahead_of(bvh, skeleton, side, where)
        x = unit((forward if ahead is None else ahead) - z * (z @ (forward if ahead is None else ahead)))
        axes[f"{side} foot"] = np.stack([x, np.cross(z, x), z], axis=1)
    to_file = rotate_to_z_up(np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3)), up)[0]
    found = {}
    for name in skeleton.bones:
        if name in axes:
            found[name] = multiply_all(conjugate_all(to_file[0]), quaternion(axes[name]))
    return found


def along(at: Mapping[str, Array], bone: str, end: str, forward: Array, axes: Mapping[str, Array]) -> Array:
    """Axes of a limb: z from its end to its joint; where the end is not recorded, as the bone above."""
    if end not in at:
        return axes[bone.replace("forearm", "upper arm")]
    z = unit(at[bone] - at[end])
    x = unit(forward - (forward @ z) * z)
    return np.stack([x, np.cross(z, x), z], axis=1)


def ahead_of(bvh: Bvh, skeleton: Skeleton, side: str, where: Array) -> Array | None:
    """From the ankle to the toes in the bind pose, if the recording has them."""
    toe = skeleton.bones.get(f"{side} toe")
    return None if toe is None else np.asarray(where[toe.where] - where[skeleton.bones[f"{side} foot"].where])


def bones_of(bvh: Bvh, skeleton: Skeleton, world: Mapping[str, Array], places: Array) -> tuple[dict[str, Bone], float]:
    """The bones, in the file's unit, and how far their joints are from the recorded ones (rms)."""
    usual = upright(1.0)
    ats: dict[str, tuple[str, Array]] = {}
    misses = []
    for name in order_of(world):
        parent = parent_of(name, world)
        if parent is None:
            continue
        shift = places[:, skeleton.bones[name].where] - places[:, skeleton.bones[parent].where]
        local = rotate_all(conjugate_all(world[parent]), shift)
        at = local.mean(axis=0)
        misses.append(((local - at) ** 2).sum(axis=1))
        ats[name] = (parent, at)
    size = float(np.linalg.norm(ats["left shank"][1])) / 0.245  # a rough height, for what is not recorded
    bones: dict[str, Bone] = {}
    for name in order_of(world):
        parent, at = ats.get(name, (None, np.zeros(3)))
        below = [child for child, (p, _) in ats.items() if p == name and not child.endswith(("clavicle", "upper arm"))]
        end = ats[below[0]][1] if below and name != "pelvis" else size * usual.get(name, usual["chest"]).end
        if name.endswith("clavicle"):
            end = ats[name.replace("clavicle", "upper arm")][1]
        bones[name] = Bone(parent, at, end)
    return bones, float(np.sqrt(np.mean(misses)))


def order_of(names: Mapping[str, Array]) -> list[str]:
    """Parents first."""
    parts = ["pelvis", "abdomen", "chest", "head", *(f"{side} {part}" for side in SIDES for part in PARENTS)]
    return [part for part in parts if part in names]


def parent_of(name: str, there: Mapping[str, Any]) -> str | None:
    """The bone that carries a bone; those that the recording does not have are passed over."""
    side = next((f"{side} " for side in SIDES if name.startswith(f"{side} ")), "")
    part = name.removeprefix(side)
    while part in PARENTS:
        part = PARENTS[part]
        for candidate in (f"{side}{part}", part):
            if candidate in there:
                return candidate
    return None


def scale_of(
    bones: Mapping[str, Bone], height: float | None, unit: float | None, notes: list[str]
) -> tuple[float, float]:
    """Metres of one unit of the file, and the height of the body."""
    trunk = bones["head"].at[2] + bones["chest"].at[2] + (bones["abdomen"].at[2] if "abdomen" in bones else 0.0)
    hips = 0.5 * (bones["left thigh"].at + bones["right thigh"].at)[2]
    legs = [np.linalg.norm(bones[f"{s} {a}"].end) for s in SIDES for a in ("thigh", "shank")]
    tall = (trunk - hips + 0.5 * float(np.sum(legs))) / NECK
    if unit is not None or height is not None:
        for what, value in (("unit", unit), ("height", height)):
            if value is not None:
                check_finite(what, value, 1e-9, 1e9)
        scale = float(unit) if unit is not None else float(height or USUAL) / tall
        if not 0.0 < scale * tall <= TALLEST:
            raise ValueError(f"the unit makes the body's height {scale * tall:.3g} m; the limit is {TALLEST:g} m")
        notes.append(f"one unit is {scale:.6g} m, as asked for: the body is {scale * tall:.3f} m tall")
        return scale, scale * tall
    name = min(UNITS, key=lambda name: abs(math.log(UNITS[name] * tall / USUAL)))
    if SMALLEST <= UNITS[name] * tall <= LARGEST:
        notes.append(f"unit: {name}, for then the body is {UNITS[name] * tall:.3f} m tall")
        return UNITS[name], UNITS[name] * tall
    notes.append(f"no usual unit makes this body as tall as people are: scaled to {USUAL} m")
    return USUAL / tall, USUAL


def foot_of(bvh: Bvh, skeleton: Skeleton, axes: Mapping[str, Array], side: str, scale: float, height: float) -> Foot:
    """The sole: below the ankle by what is usual, as long as usual, the ball where the toes begin."""
    length, low = FOOT_LENGTH_SHARE * height, -ANKLE * height
    ball, toe = (FOREFOOT_SHARE - 0.28) * length, FOREFOOT_SHARE * length
    moves: Moves | None = skeleton.bones.get(f"{side} toe")
    if moves is not None:
        joint, offset = moves.where, np.zeros(3)
        while joint != skeleton.bones[f"{side} foot"].where and joint >= 0:
            offset = offset + bvh.joints[joint].offset
            joint = bvh.joints[joint].parent
        ball = scale * float((to_matrices(axes[f"{side} foot"]).T @ offset)[0])
        ends = bvh.joints[moves.turns].ends
        toe = ball + scale * float(np.linalg.norm(ends[0])) if ends else ball + 0.28 * length
    heel = min(toe - length, -0.15 * length)
    return Foot(np.array([heel, 0.0, low]), np.array([ball, 0.0, low]), np.array([toe, 0.0, low]), BREADTH * height)


def coordinates(model: Model, world: Mapping[str, Array], root: Array) -> Array:
    """The recorded motion as configurations of the model (frames, nq)."""
    q = np.empty((len(root), model.nq))
    for i, name in enumerate(model.names):
        here = model.q_slice(i)
        parent = int(model.links[i]["parent"])
        if parent < 0:
            q[:, here] = np.concatenate([root, world[name]], axis=1)
        else:
            q[:, here] = multiply_all(conjugate_all(world[model.names[parent]]), world[name])
    return q
