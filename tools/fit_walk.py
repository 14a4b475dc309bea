"""Search for the numbers of `kinemorph.mocap.synthetic_walk.Gait`: python tools/fit_walk.py [--rounds 30]

Least squares over what a stride of the walk shows: angles of hip, knee and ankle as in textbooks; vertical force;
the centre of pressure; feet clear of the floor; legs that reach; curves that are smooth; and, of the whole analysis,
curves of force and moments, and peaks that are far from `mocap/norms.toml`. It starts from the numbers that are there
and prints what it finds; those that are to be kept go into `Gait`, and `walk.bvh` is then made anew (--write).
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.optimize import least_squares

import kinemorph as km
from kinemorph.mocap.body.figure import FOOT_LENGTH_SHARE, HEIGHT, human, sole
from kinemorph.mocap.synthetic_walk import FILE, HIP, NAMES, SHANK, THIGH, Gait, glide, on_floor, posture
from kinemorph.multibody.algorithms.configuration import difference
from kinemorph.spatial.quaternion_arrays import about, multiply_all, rotate_all, to_matrices

Array = npt.NDArray[np.float64]

FIXED = ("speed", "width", "crouch")
SCALES = {
    "stride": 0.03, "stance": 0.01, "flat": 0.02, "early": 0.02, "rise": 0.03, "reach": 0.03, "hasten": 0.005,
    "sway": 0.005, "drop": 0.02, "swing": 0.2,
}  # fmt: skip
SAMPLES, PRESSURE = 60, (0.09, 0.89)  # of the foot, from its heel: where it bears first and last
MODEL = human()
# Over the stride, in degrees, as textbooks draw them (natural walking).
Points = dict[int, float]
KNEE: Points = {
    0: 5, 5: 11, 13: 20, 20: 18, 30: 12, 40: 8, 46: 10, 52: 18, 58: 32, 64: 48, 70: 58, 74: 60, 80: 52, 86: 34, 92: 14,
    97: 4,
}  # fmt: skip
THIGHS: Points = {0: 28, 10: 26, 20: 18, 30: 8, 40: -4, 50: -13, 54: -14, 60: -8, 70: 12, 80: 26, 86: 31, 93: 31}
ANKLE: Points = {
    0: 0, 6: -5, 12: -1, 20: 4, 30: 8, 42: 11, 48: 10, 54: 0, 60: -15, 64: -18, 70: -9, 78: -1, 86: 1, 94: 0,
}  # fmt: skip
# Over the stance, by weight, or N m/kg; and how far off they may be.
CURVES: dict[str, tuple[Points, float]] = {
    "force": ({0: 0, 6: 0.35, 12: 0.75, 22: 1.08, 28: 1.08, 40: 0.84, 50: 0.75, 58: 0.78, 70: 1.0, 78: 1.09, 86: 0.92,
               93: 0.4, 100: 0}, 0.08),
    "thigh": ({0: 0.2, 10: 0.6, 25: 0.35, 50: 0, 70: -0.25, 85: -0.45, 100: -0.2}, 0.2),
    "shank": ({0: -0.1, 5: -0.1, 22: 0.55, 45: 0.1, 62: -0.1, 75: 0, 90: 0.2, 100: 0.05}, 0.2),
    "foot": ({0: 0, 8: -0.05, 30: 0.45, 50: 0.85, 65: 1.25, 77: 1.55, 88: 1.1, 100: 0}, 0.17),
}  # fmt: skip


def packed(g: Gait) -> tuple[Array, Array]:
    """The numbers of a gait that are searched for, and the scale of each."""
    numbers: list[float] = []
    scales: list[float] = []
    for field in fields(g):
        if field.name not in FIXED:
            flat = np.ravel(np.array(getattr(g, field.name)))
            flat = np.stack([flat.real, flat.imag], axis=1).ravel() if np.iscomplexobj(flat) else flat
            numbers += flat.tolist()
            scales += [SCALES.get(field.name, 0.1)] * len(flat)
    return np.array(numbers), np.array(scales)


def unpacked(g: Gait, numbers: Array) -> Gait:
    """A gait with other numbers."""
    found: dict[str, Any] = {}
    at = 0
    for field in fields(g):
        if field.name in FIXED:
            continue
        old = np.array(getattr(g, field.name))
        count = old.size * (2 if np.iscomplexobj(old) else 1)
        new = numbers[at : at + count]
        at += count
        shaped: Any = (new[::2] + 1j * new[1::2] if np.iscomplexobj(old) else new).reshape(old.shape).tolist()
        nested = isinstance(shaped, list) and isinstance(shaped[0], list)
        found[field.name] = tuple(map(tuple, shaped)) if nested else tuple(shaped) if old.ndim else shaped
    return replace(g, **found)


def periodic(points: Points, share: Array) -> Array:
    x, y = np.array([*points, 100]) / 100.0, [*points.values(), points[0]]
    return np.asarray(CubicSpline(x, y, bc_type="periodic")(share))


def over_stance(points: Points, share: Array) -> Array:
    return np.asarray(PchipInterpolator(np.array([*points]) / 100.0, [*points.values()])(share))


def wanted(t: Array, g: Gait) -> Array:
    """Where the centre of pressure should be, ahead and aside, over a stride that begins when the left foot touches."""
    both, length, found = g.stance - 0.5, g.speed * g.stride, np.zeros((len(t), 2))
    first, last = (g.reach + x * FOOT_LENGTH_SHARE * HEIGHT for x in PRESSURE)
    for k in range(2):
        s = t / g.stride - 0.5 * k
        x = 0.5 * k * length + first + (last - first) * np.clip((s - both) / (0.5 - both), 0.0, 1.0)
        before = 0.5 * (k - 1) * length + last
        come = glide(s / both)
        place = np.stack([before + come * (x - before), (1.0 - 2.0 * k) * g.width * (2.0 * come - 1.0)], axis=1)
        found = np.where(((s >= 0.0) & (s < 0.5))[:, None], place, found)
    return found


def stride(g: Gait) -> Array:
    """What is wrong with a stride."""
    h = g.stride / SAMPLES
    t = h * np.arange(-1.0, SAMPLES + 1.0)
    every = posture(MODEL, t, g)
    q, t = every[1:-1], t[1:-1]
    s = t / g.stride
    n = np.sqrt(SAMPLES)
    joints = {bone: q[:, MODEL.q_slice(f"left {bone}")] for bone in ("thigh", "shank", "foot")}
    R = {bone: to_matrices(joints[bone]) for bone in ("thigh", "foot")}
    angles = {bone: np.degrees(-np.arctan2(x[:, 0, 2], x[:, 2, 2])) for bone, x in R.items()}
    angles["shank"] = np.degrees(joints["shank"][:, 0])
    wrong = [
        (angles["shank"] - periodic(KNEE, s)) * np.where(s < 0.16, 1.5, 0.75) / n,
        (angles["thigh"] - periodic(THIGHS, s)) * np.where(np.abs(s - 0.52) < 0.1, 0.72, 0.4) / n,
        (angles["foot"] - periodic(ANKLE, s)) * 0.4 / n,
        *(np.diff(angles[bone], 3, append=angles[bone][:3]) / rough / n for bone, rough in
          (("shank", 8.0), ("thigh", 3.0), ("foot", 6.0))),
    ]  # fmt: skip
    steps = np.array([difference(MODEL, a, b) for a, b in pairwise(every)]) / h
    v, a = 0.5 * (steps[1:] + steps[:-1]), (steps[1:] - steps[:-1]) / h
    data, forces, pressure = km.Data(MODEL), np.empty(SAMPLES), np.empty((SAMPLES, 2))
    for k in range(SAMPLES):
        tau = km.rnea(MODEL, data, q[k], v[k], a[k])
        moment, force = rotate_all(q[k, 3:7], tau[:3]), rotate_all(q[k, 3:7], tau[3:6])
        forces[k] = force[2] / (9.81 * MODEL.mass)
        moment = moment + np.cross(q[k, :3], force)
        pressure[k] = np.array([-moment[1], moment[0]]) / max(force[2], 100.0)
    total = sum(
        np.where(u < 1.0, over_stance(CURVES["force"][0], np.minimum(u, 1.0)), 0.0)
        for u in (s / g.stance, (s + 0.5) % 1.0 / g.stance)
    )
    alone = s % 0.5 > 0.09
    wrong.append((forces - total / np.mean(total)) * np.where(alone, 33.0, 13.0) / n)
    off = (pressure - wanted(t, g)) * np.where(alone, 180.0, 70.0)[:, None]
    wrong.append(np.clip(off, -400.0, 400.0).ravel() / n)
    turn = q[:, 3:7]
    hip = q[:, :3] + rotate_all(turn, np.broadcast_to([0.0, HIP, 0.0], (SAMPLES, 3)))
    thigh = multiply_all(turn, joints["thigh"])
    shank = multiply_all(thigh, about(1, joints["shank"][:, 0]))
    down = np.broadcast_to([0.0, 0.0, -1.0], (SAMPLES, 3))
    ankle = hip + THIGH * rotate_all(thigh, down) + SHANK * rotate_all(shank, down)
    heel, toe = sole(HEIGHT)
    for end, clear in ((heel, 0.015), (heel + 0.72 * (toe - heel), 0.015)):
        z = (ankle + rotate_all(multiply_all(shank, joints["foot"]), np.broadcast_to(end, (SAMPLES, 3))))[:, 2]
        least = clear * np.clip((s - g.stance) / 0.05, 0.0, 1.0) * np.clip((1.0 - s) / 0.06, 0.0, 1.0)
        wrong.append(np.where(s > g.stance, np.minimum(z - least, 0.0) * 750.0, 0.0) / n)
    far = np.linalg.norm(on_floor(s, g)[0] + [0.0, g.width, 0.0] - hip, axis=1)
    wrong.append(np.where(s <= g.stance, np.maximum(far - (THIGH + SHANK - 8e-4), 0.0) * 4000.0, 0.0) / n)
    return np.nan_to_num(np.clip(np.concatenate(wrong), -50.0, 50.0), nan=50.0)


def analysed(g: Gait) -> Array:
    """What is wrong with its analysis."""
    bvh = km.mocap.bvh_of(MODEL, posture(MODEL, np.arange(250) / 100.0, g), 0.01, names=NAMES, name="walk")
    try:
        walking = km.mocap.walking_of(km.mocap.analyse(bvh, methods=("smooth",)))
    except ValueError:
        return np.full(101 * len(CURVES) + 10, 3.0)
    share = np.linspace(0.0, 1.0, 101)
    off = [(walking.curves[name] - over_stance(told[0], share)) / told[1] / 10.0 for name, told in CURVES.items()]
    norms = [(walking.norm(name), value) for name, value in walking.values.items()]
    return np.concatenate([*off, [3.0 * max(0.0, abs(x - norm.mean) / norm.deviation - 1.0) for norm, x in norms]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--write", action="store_true", help="only make walk.bvh anew, of the numbers that are there")
    options = parser.parse_args()
    if options.write:
        km.save_bvh(km.mocap.synthetic_walk(), FILE, digits=4)
        return
    warnings.simplefilter("ignore")
    start, (numbers, scales) = Gait(), packed(Gait())

    def wrong(x: Array) -> Array:
        g = unpacked(start, (x - 100.0) * scales)  # shifted: steps of differences are shares of x
        try:
            return np.concatenate([stride(g), analysed(g)])
        except ValueError:  # a leg that cannot reach
            return np.full(len(first), 50.0)

    first = np.concatenate([stride(start), analysed(start)])
    found = least_squares(wrong, numbers / scales + 100.0, diff_step=1e-4, max_nfev=options.rounds, verbose=2)
    print(unpacked(start, (found.x - 100.0) * scales))


if __name__ == "__main__":
    main()
