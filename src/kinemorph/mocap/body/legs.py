"""Legs of two bones: how far a knee is bent, and how a leg stands when its hip is elsewhere and its ankle is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kinemorph.mocap.body.inertias import SIDES, Bone
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import multiply_all, normalize_all, rotate_all

Shift = tuple[float, float]  # m: forward and up
LARGEST_HIP_DISTANCE = 0.1  # m: a hip that lies farther from where it was recorded is none
LARGEST_LEG_MISS = 0.03  # m: no more may a leg miss to its ankle
SOFT = 0.0075  # m: how far from straight a leg begins to give, at most: markers move on skin as far as that


def knee_cosines(thigh: float, shank: float, far: Array) -> tuple[Array, Array]:
    """Cosines of how far a knee is bent, and of the angle between thigh and the line from hip to ankle."""
    knee = (far**2 - thigh**2 - shank**2) / (2.0 * thigh * shank)
    lead = (thigh**2 + far**2 - shank**2) / (2.0 * thigh * far)
    return np.clip(knee, -1.0, 1.0), np.clip(lead, -1.0, 1.0)


def shifts_of(hips: Shift | Mapping[str, Shift]) -> dict[str, Shift]:
    """How far hips are moved, by side, out of one shift for both or a table of both."""
    table = hips if isinstance(hips, Mapping) else dict.fromkeys(SIDES, hips)
    found = {}
    for side in SIDES:
        numbers = np.asarray(table.get(side, (0.0, 0.0)), dtype=np.float64)
        if (
            numbers.shape != (2,)
            or not (np.abs(numbers) <= LARGEST_HIP_DISTANCE).all()
            or not table.keys() <= SIDES.keys()
        ):
            raise ValueError(
                f"hips {repr_of(hips)} must be two lengths, forward and up, of {LARGEST_HIP_DISTANCE:g} m at most,"
                " or two for each side"
            )
        found[side] = (float(numbers[0]), float(numbers[1]))
    return found


def with_hips_moved(
    bones: Mapping[str, Bone], world: Mapping[str, Array], shifts: Mapping[str, Shift]
) -> tuple[dict[str, Bone], dict[str, Array], float]:
    """The same recording with hips elsewhere in the pelvis: bones, their rotations, how far feet are drawn up (m).

    Bones keep their lengths, and pelvis, ankles and feet their motion, but where a leg is nearly straight (`reach`):
    its foot is drawn up then. The knee bends about the axis that it had, turned with the line from hip to ankle.
    """
    moved, turned, misses = dict(bones), dict(world), 0.0
    for side, (forward, up) in shifts.items():
        if not (forward or up):
            continue
        shift = np.array([forward, 0.0, up])
        names = [f"{side} {bone}" for bone in ("thigh", "shank", "foot")]
        to_hip, to_knee, to_ankle = (bones[name].at for name in names)
        thigh, shank = (rotate_all(world[name], at) for name, at in zip(names, (to_knee, to_ankle)))
        way = thigh + shank - rotate_all(world["pelvis"], shift)
        left = rotate_all(world[names[0]], np.array([0.0, 1.0, 0.0]))
        upper, lower, missed = solve_leg(
            way, left, float(np.linalg.norm(to_knee)), float(np.linalg.norm(to_ankle)), float(width_of(forward, up))
        )
        if missed > LARGEST_LEG_MISS:
            raise ValueError(
                f"hips {shifts}: the {side} leg would be {1e3 * missed:.0f} mm too short; move the hips less, or the "
                "other way"
            )
        for name, old, new in zip(names, (thigh, shank), (upper, lower)):
            before, after = axes(old, left, thigh + shank), axes(new, left, way)
            turned[name] = normalize_all(multiply_all(quaternion(after @ before.transpose(0, 2, 1)), world[name]))
        moved[names[0]] = replace(bones[names[0]], at=to_hip + shift)
        misses = max(misses, missed)
    return moved, turned, misses


def solve_leg(way: Array, left: Array, thigh: float, shank: float, width: float) -> tuple[Array, Array, float]:
    """Thigh and shank (frames, 3) of a leg from hip to ankle, knee ahead, and how far its foot is drawn up at most."""
    distance = np.linalg.norm(way, axis=1)
    down = way / distance[:, None]
    far = limit_leg_reach(distance, thigh + shank, width)
    _, lead = knee_cosines(thigh, shank, far)
    ahead = np.cross(across(left, down), -down)
    upper = thigh * (lead[:, None] * down + np.sqrt(1.0 - lead**2)[:, None] * ahead)
    return upper, far[:, None] * down - upper, float((distance - far).max())


def width_of(forward: Array | float, up: Array | float) -> Array:
    """Over how much slack the legs give if a hip is moved by so much: twice that, and no more than markers move."""
    return np.minimum(2.0 * np.hypot(forward, up), SOFT)


def limit_leg_reach(distance: Array, leg: float, width: Array | float) -> Array:
    """How far a leg reaches for an ankle at a distance.

    Near straight, a millimetre between hip and ankle is several degrees at the knee, and a knee that follows each of
    them jerks. So what is left of the leg's slack falls smoothly to none, from `width` to -`width` of slack.
    """
    slack = leg - distance
    x = np.clip(slack / np.maximum(width, 1e-9), -1.0, 1.0)
    return np.where(slack < width, leg - width * (x + 1.0) ** 3 * (3.0 - x) / 16.0, distance)


def across(left: Array, along: Array) -> Array:
    """Axes to the left, made perpendicular to lines."""
    found = left - (left * along).sum(axis=1, keepdims=True) * along
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def axes(bone: Array, left: Array, way: Array) -> Array:
    """Axes of a bone (frames, 3, 3): z up along it, y to the left of the line from hip to ankle."""
    z = -bone / np.linalg.norm(bone, axis=1, keepdims=True)
    y = across(across(left, way / np.linalg.norm(way, axis=1, keepdims=True)), z)
    return np.stack([np.cross(y, z), y, z], axis=2)


def quaternion(R: Array) -> Array:
    """Of rotation matrices."""
    from scipy.spatial.transform import Rotation  # late: it takes longer to import than the rest of kinemorph

    return np.asarray(Rotation.from_matrix(R).as_quat(scalar_first=True))
