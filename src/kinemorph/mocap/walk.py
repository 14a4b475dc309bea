"""A walk that nobody walked: made of formulas, for examples and tests; `walk.bvh` is this walk as a file.

The pelvis goes ahead and rises over each leg; a foot touches with its heel, lies flat, rolls over its ball and swings;
legs follow by inverse kinematics. How the pelvis sways and hastens follows from dynamics: the centre of pressure goes
from heel to ball of one foot after the other, as if somebody had walked. Velocities and accelerations are continuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinemorph.io.bvh import Bvh
from kinemorph.io.bvh_motion import bvh_of
from kinemorph.mocap.figure import FOOT, HEIGHT, human, sole, upright
from kinemorph.mocap.inertias import SIDES
from kinemorph.mocap.legs import bend
from kinemorph.multibody.configuration import difference, neutral
from kinemorph.multibody.data import Data
from kinemorph.multibody.model import Model
from kinemorph.multibody.rnea import rnea
from kinemorph.spatial.quaternion_arrays import about, conjugate, multiply, rotate

Array = npt.NDArray[np.float64]
Waves = npt.NDArray[np.complex128]

HARMONICS = 8  # of the pelvis' way
ROUNDS = 5
FILE = Path(__file__).with_name("walk.bvh")
NAMES = {
    "pelvis": "Hips", "chest": "Spine", "head": "Head",
    **{f"{side} {ours}": f"{side.capitalize()}{theirs}" for side in SIDES for ours, theirs in {
        "clavicle": "Shoulder", "upper arm": "Arm", "forearm": "ForeArm", "hand": "Hand", "thigh": "UpLeg",
        "shank": "Leg", "foot": "Foot",
    }.items()},
}  # fmt: skip


@dataclass(frozen=True)
class Gait:
    """How somebody walks; lengths in m, times in s, shares of the stride."""

    speed: float = 1.05
    stride: float = 1.1  # time from one contact of a foot to the next of the same
    stance: float = 0.62
    flat: float = 0.08  # share until the foot is flat
    rise: float = 0.30  # share from which the heel rises
    strike: float = 0.30  # rad, toes up at contact
    push: float = 0.95  # rad, heel up at the end of contact
    bob: float = 0.018
    reach: float = 0.20  # from the pelvis to the heel at contact
    width: float = 0.07  # from the middle to an ankle
    crouch: float = 0.075  # how much lower the hips are than those of one who stands


def walk_file() -> Path:
    """A small BVH file that comes with kinemorph: this walk, four seconds of it."""
    return FILE


def synthetic_walk(seconds: float = 4.0, rate: float = 100.0, gait: Gait | None = None) -> Bvh:
    """The walk, as a recording."""
    g = gait or Gait()
    model = human()
    t = np.arange(round(seconds * rate)) / rate
    return bvh_of(model, posture(model, t, g, balanced(model, g)), 1.0 / rate, names=NAMES, name="walk")


def posture(model: Model, t: Array, g: Gait, way: Waves) -> Array:
    """Configurations (times, nq). `way` has the harmonics of the pelvis' way besides going straight ahead: (n, 2)."""
    q = np.tile(neutral(model), (len(t), 1))
    phase = 2.0 * math.pi * t / g.stride
    waves = np.exp(1j * np.outer(phase, np.arange(len(way))))
    root = np.zeros((len(t), 3))
    root[:, :2] = (waves @ way).real
    root[:, 0] += g.speed * t
    root[:, 2] = 0.53 * HEIGHT - g.crouch - g.bob * np.cos(2.0 * phase - 0.75)
    turn = multiply(about(2, 0.06 * np.cos(phase)), about(0, 0.03 * np.sin(phase)))
    q[:, model.q_slice("pelvis")] = np.concatenate([root, turn], axis=1)
    q[:, model.q_slice("chest")] = multiply(about(2, -0.10 * np.cos(phase)), about(1, np.full(len(t), 0.04)))
    for side, sign in SIDES.items():
        mine = phase if side == "left" else phase + math.pi
        q[:, model.q_slice(f"{side} upper arm")] = about(1, 0.30 * np.cos(mine))
        q[:, model.q_slice(f"{side} forearm")] = (0.35 - 0.15 * np.cos(mine))[:, None]
        shift = 0.0 if side == "left" else 0.5 * g.stride
        ankle, pitch = foot_path(t + shift, g)
        ankle[:, 0] -= g.speed * shift
        ankle[:, 1] = sign * g.width
        hip = root + rotate(turn, np.broadcast_to(upright()[f"{side} thigh"].at, root.shape))
        thigh, knee = leg(hip, ankle)
        q[:, model.q_slice(f"{side} thigh")] = multiply(conjugate(turn), thigh)
        q[:, model.q_slice(f"{side} shank")] = knee[:, None]
        shank = multiply(thigh, about(1, knee))
        q[:, model.q_slice(f"{side} foot")] = multiply(conjugate(shank), about(1, pitch))
    return q


def balanced(model: Model, g: Gait, samples: int = 120) -> Waves:
    """The way of the pelvis for which the centre of pressure goes from heel to ball of one foot after the other.

    A cart on a table: moved by x, its centre of pressure moves by x - (h / g) x'', so what is wrong with the pressure
    says, wave by wave, how the pelvis must move; a few rounds take care of all that is no cart.
    """
    h = g.stride / samples
    t = h * np.arange(samples, dtype=np.float64)
    data = Data(model)
    way = np.zeros((HARMONICS, 2), dtype=np.complex128)
    stiff = 0.55 * HEIGHT / 9.81 * (2.0 * math.pi / g.stride * np.arange(HARMONICS)) ** 2
    for _ in range(ROUNDS):
        q = posture(model, np.concatenate([t[:1] - h, t, t[-1:] + h]), g, way)
        steps = np.array([difference(model, a, b) for a, b in pairwise(q)]) / h
        v, a = 0.5 * (steps[1:] + steps[:-1]), (steps[1:] - steps[:-1]) / h
        pressure = np.empty((samples, 2))
        for k in range(samples):
            moment, force = _held(model, data, q[k + 1], v[k], a[k])
            pressure[k] = -moment[1] / force[2], moment[0] / force[2]
        wrong = np.fft.fft(pressure - wanted(t, g), axis=0)[:HARMONICS] / samples
        wrong[1:] *= 2.0
        way -= wrong / (1.0 + stiff[:, None])
    return way


def _held(model: Model, data: Data, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """What holds the body: moment about the world's origin, and force."""
    tau = rnea(model, data, q, v, a)
    moment, force = rotate(q[3:7], tau[:3]), rotate(q[3:7], tau[3:6])
    return moment + np.cross(q[:3], force), force


def wanted(t: Array, g: Gait) -> Array:
    """Where the centre of pressure should be, seen from above, over a stride that begins when the left foot touches."""
    both, length = g.stance - 0.5, g.speed * g.stride
    share = t / g.stride
    found = np.zeros((len(t), 2))
    first, last = g.reach + 0.25 * FOOT * HEIGHT, g.reach + 0.70 * FOOT * HEIGHT
    for k, sign in enumerate((1.0, -1.0)):  # left, then right
        s = share - 0.5 * k
        here = (s >= 0.0) & (s < 0.5)
        roll = np.clip((s - both) / (0.5 - both), 0.0, 1.0)
        come = glide(s / both)
        x = 0.5 * k * length + first + (last - first) * roll
        before = 0.5 * (k - 1) * length + last
        found[here, 0] = (before + come * (x - before))[here]
        found[here, 1] = (g.width * sign * (2.0 * come - 1.0))[here]
    return found


def foot_path(t: Array, g: Gait) -> tuple[Array, Array]:
    """Where the ankle of a foot is (frames, 3) and how it is pitched, toes down: contact at multiples of the stride."""
    k = np.floor(t / g.stride)
    share = t / g.stride - k
    length = g.speed * g.stride
    here, pitch = on_floor(np.minimum(share, g.stance), g)
    down = share <= g.stance
    # in the air: a polynomial of fifth degree from how it leaves to how it touches again
    h = 1e-4
    knots = []
    for s0, shift in ((g.stance, 0.0), (0.0, length)):
        near = np.array([s0 - h, s0, s0 + h])
        x, angle = on_floor(near, g)
        rows = np.concatenate([x + [shift, 0.0, 0.0], angle[:, None]], axis=1)
        knots.append((rows[1], (rows[2] - rows[0]) / (2.0 * h), (rows[2] - 2.0 * rows[1] + rows[0]) / h**2))
    span = 1.0 - g.stance
    u = np.clip((share - g.stance) / span, 0.0, 1.0)[:, None]
    flying = quintic(u, *(x * span**i for i, x in enumerate(knots[0])), *(x * span**i for i, x in enumerate(knots[1])))
    flying[:, 2] += 0.6 * (u * (1.0 - u))[:, 0] ** 3  # clear of the floor
    ankle = np.where(down[:, None], here, flying[:, :3])
    ankle[:, 0] += k * length
    return ankle, np.where(down, pitch, flying[:, 3])


def on_floor(share: Array, g: Gait) -> tuple[Array, Array]:
    """The ankle and the pitch of a foot that rolls over heel, sole and ball, around where the heel touches."""
    heel, toe = sole(HEIGHT)
    ball = heel + 0.72 * (toe - heel)
    toes_up = -g.strike * (1.0 - glide(share / g.flat))
    heel_up = g.push * glide((share - g.rise) / (g.stance + 0.06 - g.rise))
    at_heel = -rotate(about(1, toes_up), np.broadcast_to(heel, (len(share), 3)))
    flat = -heel
    at_ball = ball - rotate(about(1, heel_up), np.broadcast_to(ball, (len(share), 3))) + flat
    ankle = np.where((share < g.rise)[:, None], at_heel, at_ball)
    return ankle + [g.reach, 0.0, 0.0], toes_up + heel_up


def glide(x: Array) -> Array:
    """From 0 to 1, at rest at both ends, accelerations too."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2)


def quintic(u: Array, x0: Array, v0: Array, a0: Array, x1: Array, v1: Array, a1: Array) -> Array:
    """The polynomial of fifth degree with given values, velocities and accelerations at u = 0 and u = 1."""
    c3 = 10.0 * (x1 - x0) - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1
    c4 = -15.0 * (x1 - x0) + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1
    c5 = 6.0 * (x1 - x0) - 3.0 * (v0 + v1) - 0.5 * (a0 - a1)
    return np.asarray(x0 + u * v0 + 0.5 * u**2 * a0 + u**3 * c3 + u**4 * c4 + u**5 * c5)


def leg(hip: Array, ankle: Array) -> tuple[Array, Array]:
    """How a thigh is turned and a knee is bent so that the leg reaches from hip to ankle, the knee ahead."""
    bones = upright()
    a, b = (float(np.linalg.norm(bones[f"left {bone}"].end)) for bone in ("thigh", "shank"))
    way = ankle - hip
    far = np.linalg.norm(way, axis=1)
    if far.max() > 0.999 * (a + b):
        raise ValueError(f"a leg of {a + b:.3f} m cannot reach {far.max():.3f} m: walk slower or crouch more")
    knee, lead = np.arccos(bend(a, b, far))
    roll = np.arctan2(way[:, 1], -way[:, 2])
    pitch = np.arctan2(-way[:, 0], np.hypot(way[:, 1], way[:, 2]))
    return multiply(about(0, roll), about(1, pitch - lead)), knee
