"""A synthetic walk, made of formulas, for examples and tests; `walk.bvh` is this walk as a file.

A foot touches with its heel, lies flat and rolls over its ball; the knee above it bends as people's do, and so says how
high the pelvis is; in the air joints swing to where they touch again. Velocities and accelerations are continuous. The
numbers of `Gait` were searched for (tools/fit_walk.py), so that angles, forces, moments and centres of pressure are
those of normal gait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from kinemorph.io.motion.bvh import Bvh
from kinemorph.io.motion.save_bvh import bvh_of
from kinemorph.mocap.body.figure import HEIGHT, human, sole, upright
from kinemorph.mocap.body.inertias import SIDES
from kinemorph.mocap.body.legs import knee_cosines
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_positive, check_whole
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import about, conjugate_all, multiply_all, rotate_all

PELVIS_TURN = 0.07  # rad: of the pelvis about the vertical
BENDS = (0.0, 0.05, 0.11, 0.18, 0.26, 0.34)  # shares of the stride
SHORTLY = 1e-4  # s
MOST_FRAMES = 100_000
STRETCHED = 0.9999  # of a leg: so far it reaches at most
HIP = float(upright()["left thigh"].at[1])  # from the middle of the pelvis, m
THIGH, SHANK = (float(np.linalg.norm(upright()[f"left {bone}"].end)) for bone in ("thigh", "shank"))
FILE = Path(__file__).with_name("walk.bvh")
NAMES = {
    "pelvis": "Hips", "chest": "Spine", "head": "Head",
    **{f"{side} {ours}": f"{side.capitalize()}{theirs}" for side in SIDES for ours, theirs in {
        "clavicle": "Shoulder", "upper arm": "Arm", "forearm": "ForeArm", "hand": "Hand", "thigh": "UpLeg",
        "shank": "Leg", "foot": "Foot",
    }.items()},
}  # fmt: skip


@checked_first
@dataclass(frozen=True)
class Gait:
    """Parameters of a walk; lengths in m, angles in rad, times in s, shares of the stride."""

    speed: float = 1.145
    stride: float = 1.0601  # time from one contact of a foot to the next of the same
    stance: float = 0.5773
    flat: float = 0.0772  # share until the foot is flat
    rise: float = 0.3766  # share from which the heel rises
    strike: float = 0.4855  # toes up before contact
    early: float = 0.0581  # share before contact from which they come down
    land: tuple[float, ...] = (0.0947, -0.1237)  # how else they do: see `hump`
    push: float = 0.8908  # heel up at the end of contact
    roll: tuple[float, ...] = (-0.1879, -0.1901)  # how else the heel rises
    reach: float = 0.2368  # from the pelvis to the heel at contact
    width: float = 0.06  # from the middle to an ankle
    knee: tuple[float, ...] = (0.123, 0.1939, 0.3346, 0.3566, 0.2694, 0.1867)  # how far it is bent at BENDS
    crouch: float = 0.0  # and how much more while the foot stands
    tilt: float = 0.02  # of the pelvis, forward
    # waves of the pelvis, one, three, ... a stride: how far it drops on the other side, and how it sways,
    drop: tuple[complex, ...] = (0.02039 - 0.01138j, 0.00104 - 0.0256j)
    sway: tuple[complex, ...] = (-0.0071 - 0.02237j, -0.00719 - 0.00094j, -0.00014 - 3e-05j)
    # two, four and six a stride: how it hastens
    hasten: tuple[complex, ...] = (-0.00325 - 0.00933j, -0.00123 - 0.00061j, -0.00028 + 0.0002j)
    # humps of thigh, knee and foot in the air
    swing: tuple[tuple[float, ...], ...] = (
        (-0.1767, 0.3341, -0.1893, 0.7019),
        (0.5777, -0.7968, 0.794, -1.8982),
        (0.7862, 0.2324, 2.4674, 2.755),
    )


@checked_first
def walk_file() -> Path:
    """A small BVH file that comes with kinemorph: this walk, four seconds of it."""
    return FILE


@checked_first
def synthetic_walk(seconds: float = 4.0, rate: float = 100.0, gait: Gait | None = None) -> Bvh:
    """The walk, as a recording."""
    check_positive("synthetic_walk: seconds", seconds)
    check_positive("synthetic_walk: rate", rate)
    check_whole("synthetic_walk: frames (seconds * rate)", round(min(seconds * rate, 1e18)), 2, MOST_FRAMES)
    g = gait or Gait()
    model = human()
    t = np.arange(round(seconds * rate)) / rate
    return bvh_of(model, posture(model, t, g), 1.0 / rate, names=NAMES, name="walk")


def posture(model: Model, t: Array, g: Gait) -> Array:
    """Configurations (times, nq)."""
    q = np.tile(neutral(model), (len(t), 1))
    phase = 2.0 * math.pi * t / g.stride
    root, turn = pelvis(t, g)
    q[:, model.q_slice("pelvis")] = np.concatenate([root, turn], axis=1)
    upright_again = about(1, np.full(len(t), 0.04 - g.tilt))
    q[:, model.q_slice("chest")] = multiply_all(about(2, 2.0 * PELVIS_TURN * np.cos(phase)), upright_again)
    for side in SIDES:
        mine = phase if side == "left" else phase + math.pi
        q[:, model.q_slice(f"{side} upper arm")] = about(1, 0.30 * np.cos(mine))
        q[:, model.q_slice(f"{side} forearm")] = (0.35 - 0.15 * np.cos(mine))[:, None]
        roll, pitch, knee, foot = leg(t, side, g).T
        thigh = multiply_all(about(0, roll), about(1, pitch))
        q[:, model.q_slice(f"{side} thigh")] = multiply_all(conjugate_all(turn), thigh)
        q[:, model.q_slice(f"{side} shank")] = knee[:, None]
        shank = multiply_all(thigh, about(1, knee))
        q[:, model.q_slice(f"{side} foot")] = multiply_all(conjugate_all(shank), about(1, foot))
    return q


def pelvis(t: Array, g: Gait) -> tuple[Array, Array]:
    """Where it is, (times, 3), and how it is turned, (times, 4).

    The leg that touched last carries it, and how far that knee is bent says how high. Shortly before the next one does
    so, it goes over to where that one will carry it.
    """
    step = np.floor(2.0 * t / g.stride)
    share = t / g.stride - 0.5 * step
    last, span = BENDS[-1], 0.5 - BENDS[-1]
    ends = between(lambda x, n: pelvis_height(x, n, g), 0.5, (last, 0.0), step, span, g)
    u = (share - last) / span
    root, turn = pelvis_path(t, g)
    root[:, 2] = np.where(u < 0.0, pelvis_height(t, step, g), quintic(u, *ends))
    return root, turn


def pelvis_path(t: Array, g: Gait) -> tuple[Array, Array]:
    """Where the pelvis is seen from above, and how it is turned."""
    phase = 2.0 * math.pi * t / g.stride
    ahead, aside, drop = (
        odd_harmonics(phase, first, amplitudes) for first, amplitudes in ((2, g.hasten), (1, g.sway), (1, g.drop))
    )
    root = np.stack([g.speed * t + ahead.real, aside.real, np.zeros(len(t))], axis=1)
    turn = multiply_all(about(2, -PELVIS_TURN * np.cos(phase)), about(0, drop.imag))
    return root, multiply_all(turn, about(1, np.full(len(t), g.tilt)))


def odd_harmonics(phase: Array, first: int, amplitudes: Sequence[complex]) -> npt.NDArray[np.complex128]:
    """A sum of every other harmonic: both halves of a stride mirror each other."""
    orders = first + 2 * np.arange(len(amplitudes))
    return np.asarray(np.exp(1j * np.outer(phase, orders)) @ np.array(amplitudes))


def pelvis_height(t: Array, step: Array, g: Gait) -> Array:
    """How high the pelvis is on the leg of a step, if its knee is bent as it should be; even steps are of the left."""
    a, b = THIGH, SHANK
    left = 1.0 - 2.0 * (step % 2.0)
    share = t / g.stride - 0.5 * step
    root, turn = pelvis_path(t, g)
    at = np.stack([np.zeros(len(t)), left * HIP, np.zeros(len(t))], axis=1)
    hip = root + rotate_all(turn, at)
    ankle, _ = on_floor(share, g)
    ankle += np.stack([0.5 * step * g.speed * g.stride, left * g.width, np.zeros(len(t))], axis=1)
    knee = knee_flexion(g)(share)
    far = a**2 + b**2 + 2.0 * a * b * np.cos(knee) - ((ankle - hip)[:, :2] ** 2).sum(axis=1)
    return np.asarray(ankle[:, 2] + np.sqrt(np.maximum(far, 0.0)) - hip[:, 2])


@lru_cache
def knee_flexion(g: Gait) -> Callable[[Array], Array]:
    """How far the knee of a leg that bears is bent, by the share of the stride."""
    from scipy.interpolate import CubicSpline

    return cast(Callable[[Array], Array], CubicSpline(BENDS, np.array(g.knee) + g.crouch))


def leg(t: Array, side: str, g: Gait) -> Array:
    """(times, 4): how a thigh rolls and pitches in the world, how far the knee is bent, how the foot pitches.

    A foot on the floor says it; in the air, joints go from how they leave to how they touch again, and their own way.
    """
    shift = 0.0 if side == "left" else 0.5
    stride = np.floor(t / g.stride - shift) + shift
    share = t / g.stride - stride
    ends = between(lambda x, n: standing(x, n, side, g), 1.0, (g.stance, 0.0), stride, 1.0 - g.stance, g)
    u = np.clip((share - g.stance) / (1.0 - g.stance), 0.0, 1.0)[:, None]
    flying = quintic(u, *ends)
    for column, shape in enumerate(g.swing, 1):
        flying[:, column] += hump(u[:, 0], shape)
    down = share <= g.stance
    found = standing(np.where(down, t, (stride + g.stance) * g.stride), stride, side, g)
    return np.where(down[:, None], found, flying)


def standing(t: Array, stride: Array, side: str, g: Gait) -> Array:
    """The same of a leg whose foot touched at the start of a stride: it reaches from hip to ankle, the knee ahead."""
    a, b = THIGH, SHANK
    root, turn = pelvis(t, g)
    hip = root + rotate_all(turn, np.broadcast_to([0.0, SIDES[side] * HIP, 0.0], root.shape))
    ankle, foot = on_floor(t / g.stride - stride, g)
    ankle += np.stack([stride * g.speed * g.stride, np.full(len(t), SIDES[side] * g.width), 0.0 * t], axis=1)
    line = ankle - hip
    far = np.linalg.norm(line, axis=1)
    if far.max() > STRETCHED * (a + b):
        raise ValueError(f"a leg of {a + b:.3f} m cannot reach {far.max():.3f} m: walk slower or crouch more")
    knee, lead = np.arccos(knee_cosines(a, b, far))
    roll = np.arctan2(line[:, 1], -line[:, 2])
    pitch = np.arctan2(-line[:, 0], np.hypot(line[:, 1], line[:, 2]))
    return np.stack([roll, pitch - lead, knee, foot], axis=1)


def on_floor(share: Array, g: Gait) -> tuple[Array, Array]:
    """The ankle and the pitch of a foot that rolls over heel, sole and ball, around where the heel touches."""
    heel, toe = sole(HEIGHT)
    ball = heel + 0.72 * (toe - heel)
    down = (share + g.early) / (g.flat + g.early)
    toes_up = -g.strike * (1.0 - glide(down)) + hump(down, g.land)
    up = (share - g.rise) / (g.stance + 0.06 - g.rise)
    heel_up = g.push * glide(up) + hump(up, g.roll)
    at_heel = -rotate_all(about(1, toes_up), np.broadcast_to(heel, (len(share), 3)))
    flat = -heel
    at_ball = ball - rotate_all(about(1, heel_up), np.broadcast_to(ball, (len(share), 3))) + flat
    ankle = np.where((share < g.rise)[:, None], at_heel, at_ball)
    return ankle + [g.reach, 0.0, 0.0], toes_up + heel_up


def glide(x: Array) -> Array:
    """From 0 to 1, at rest at both ends, accelerations too."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2)


def hump(u: Array, shape: Sequence[float]) -> Array:
    """Away from zero and back, with the first entry of `shape` in the middle; at rest at 0 and 1, accelerations too."""
    u = np.clip(u, 0.0, 1.0)
    return np.asarray(64.0 * (u * (1.0 - u)) ** 3 * np.polynomial.polynomial.polyval(2.0 * u - 1.0, shape))


def quintic(u: Array, x0: Array, v0: Array, a0: Array, x1: Array, v1: Array, a1: Array) -> Array:
    """The polynomial of fifth degree with given values, velocities and accelerations at u = 0 and u = 1."""
    c3 = 10.0 * (x1 - x0) - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1
    c4 = -15.0 * (x1 - x0) + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1
    c5 = 6.0 * (x1 - x0) - 3.0 * (v0 + v1) - 0.5 * (a0 - a1)
    return np.asarray(x0 + u * v0 + 0.5 * u**2 * a0 + u**3 * c3 + u**4 * c4 + u**5 * c5)


def between(
    f: Callable[[Array, Array], Array], apart: float, at: tuple[float, float], start: Array, span: float, g: Gait
) -> list[Array]:
    """The end conditions of a `quintic` from f(t, start) to f(t, start + 1), each at its share `at` of the stride.

    Starts are `apart` strides from each other.
    """
    starts, which = np.unique(start, return_inverse=True)
    steps = np.stack([starts, starts, starts, starts + 1.0, starts + 1.0, starts + 1.0])
    shares, moments = np.repeat(at, 3)[:, None], SHORTLY * np.array([-1.0, 0.0, 1.0, -1.0, 0.0, 1.0])[:, None]
    every = f(((apart * steps + shares) * g.stride + moments).ravel(), steps.ravel())
    h, found = SHORTLY / (span * g.stride), []
    for before, now, after in every.reshape(2, 3, len(starts), *every.shape[1:]):
        found += [now[which], ((after - before) / (2.0 * h))[which], ((after - 2.0 * now + before) / h**2)[which]]
    return found
