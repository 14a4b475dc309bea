"""Smoothing a recorded motion and taking its derivatives: what noise does to accelerations decides over all forces.

A zero-lag Butterworth filter of fourth order (one of second order, forth and back), then quintic splines, whose second
derivatives are smooth as well. Rotations are filtered in the tangent space of a smooth path that they never leave far,
so no turn is too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph.multibody.checks import check_quaternions
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import as_floats, check_finite, check_positive
from kinemorph.spatial.pose import FARTHEST, Array
from kinemorph.spatial.quaternion_arrays import (
    conjugate_all,
    continuous,
    exp_all,
    log_all,
    multiply_all,
    normalize_all,
    rotate_all,
)

Cutoff = float | tuple[float, float] | None  # Hz, of all, or of the root's position and of all rotations

# Two passes of a filter of second order have their cutoff at this share of its own (Winter).
TWO_PASS_CUTOFF_SHARE = 0.802
END = 1.0  # cutoff periods at both ends, where the filter has seen only one side
CUTOFFS = np.arange(1.0, 21.0)  # Hz, of the residual analysis
SLOWEST = 1e-9  # of a cutoff, beside the rate of frames: below it filters lose their numbers
SLOW_PATH_CUTOFF = 1.5  # Hz: the path that rotations are compared with; what they do beyond it is analysed
NOISE_FREQUENCY = 12.0  # Hz: from here on what a filter takes away is noise


class Motion(NamedTuple):
    """States over time, with accelerations: rows of q, v and a of one model."""

    q: Array
    v: Array
    a: Array


@checked_first
@dataclass(frozen=True, eq=False)
class Residuals:
    """Winter's residual analysis: the part of a recording that filters of different cutoffs remove."""

    cutoffs: Array  # Hz
    positions: Array  # m, rms over frames of the root's position
    angles: Array  # rad, rms over frames and joints
    noise: tuple[float, float]  # m and rad: of the recording
    best: tuple[float, float]  # Hz: where what is taken away is as much as the noise

    def __str__(self) -> str:
        lines = ["residuals   root [mm]  joints [deg]"]
        for f, x, w in zip(self.cutoffs, self.positions, self.angles, strict=True):
            if f in (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0):
                lines.append(f"{f:6.0f} Hz  {1e3 * x:10.3f}  {np.degrees(w):12.4f}")
        lines.append(f"     noise  {1e3 * self.noise[0]:10.3f}  {np.degrees(self.noise[1]):12.4f}")
        lines.append(f"best [Hz]   {self.best[0]:10.1f}  {self.best[1]:12.1f}")
        return "\n".join(lines)


def highest(dt: float) -> float:
    """The cutoff (Hz) that a recording of this rate cannot reach."""
    return TWO_PASS_CUTOFF_SHARE * 0.5 / dt


def low_pass(x: Array, dt: float, cutoff: float) -> Array:
    """A zero-lag Butterworth filter of fourth order along the first axis."""
    from scipy.signal import butter, sosfiltfilt

    dt = check_positive("dt", dt)
    if not cutoff * dt > SLOWEST:
        raise ValueError(f"cutoff {cutoff:g} Hz must be positive, and not too little for frames of dt {dt:g} s")
    limit = highest(dt)
    if cutoff >= limit:
        raise ValueError(
            f"cutoff {cutoff:g} Hz is too high for {1.0 / dt:.4g} frames a second (dt {dt:g} s); "
            f"the limit is {limit:.3g} Hz"
        )
    sections = butter(2, cutoff / TWO_PASS_CUTOFF_SHARE, fs=1.0 / dt, output="sos")
    pad = min(len(x) - 1, round(2.0 / (cutoff * dt)))
    return np.asarray(sosfiltfilt(sections, x, axis=0, padlen=pad))


def low_pass_rotations(turns: Array, dt: float, cutoff: float) -> Array:
    """The same for quaternions (frames, ..., 4): a smooth path, and from it the filtered logarithm of the rest."""
    turns = continuous(turns)
    flat = turns.reshape(len(turns), -1)
    path = normalize_all(low_pass(flat, dt, cutoff).reshape(turns.shape))
    rest = log_all(multiply_all(conjugate_all(path), turns))
    rest = low_pass(rest.reshape(len(turns), -1), dt, cutoff).reshape(rest.shape)
    return normalize_all(multiply_all(path, exp_all(rest)))


def rotations_of(model: Model) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where the quaternions of a model start in q, and their angular velocities in v."""
    turning = np.isin(model.links["kind"], (JointKind.SPHERICAL, JointKind.FREE))
    l = model.links[turning]
    others = model.links["nq"][~turning]
    if others.any():
        raise ValueError(f"model {model.name!r}: smoothing knows spherical and free joints only")
    first = l["iq"] + np.where(l["kind"] == JointKind.FREE, 3, 0)
    return first.astype(np.intp), l["iv"].astype(np.intp)


@checked_first
def smooth(model: Model, q: Array, dt: float, cutoff: Cutoff = 6.0) -> Motion:
    """A recorded motion, filtered, with its velocities and accelerations. Without a cutoff only derivatives are taken.

    Two cutoffs are that of the root's position and that of all rotations. The model has one tree, on a free joint, and
    balls.
    """
    iq, iv = rotations_of(model)
    q = _checked_frames(model, q, iq)
    if len(q) < 7:
        raise ValueError(f"model {model.name!r}: {len(q)} frames are too few for derivatives; 7 are the least")
    turns = normalize_all(q[:, iq[:, None] + np.arange(4)])
    root = q[:, :3]
    if cutoff is not None:
        of_root, of_turns = cutoff if isinstance(cutoff, tuple) else (cutoff, cutoff)
        root, turns = low_pass(root, dt, of_root), low_pass_rotations(turns, dt, of_turns)
    else:
        turns = continuous(turns)
    turns, w, al = angular(turns, dt)
    x, velocity, acceleration = derivatives(root, dt)
    Q, V, A = np.empty_like(q), np.empty((len(q), model.nv)), np.empty((len(q), model.nv))
    Q[:, :3] = x
    Q[:, iq[:, None] + np.arange(4)] = turns
    columns = iv[:, None] + np.arange(3)
    V[:, columns], A[:, columns] = w, al
    back = conjugate_all(turns[:, 0])  # a free joint's velocities are in the body's frame
    V[:, 3:6] = rotate_all(back, velocity)
    A[:, 3:6] = rotate_all(back, acceleration) - np.cross(w[:, 0], V[:, 3:6])
    return Motion(Q, V, A)


def _checked_frames(model: Model, q: Array, iq: npt.NDArray[np.intp]) -> Array:
    """The frames. Refuse numbers that are not finite, and quaternions without a direction; they start at `iq`."""
    q = as_floats(q)
    if q.ndim != 2 or q.shape[1] != model.nq or not (np.abs(q) <= FARTHEST).all():
        raise ValueError(
            f"model {model.name!r}: q has shape {np.shape(q)}, expected finite numbers (frames, {model.nq}) of at most "
            f"{FARTHEST:g}"
        )
    sizes = np.abs(q[:, iq[:, None] + np.arange(4)]).max(axis=2).min(axis=1, initial=np.inf)
    for frame in q[sizes == 0.0][:1]:
        check_quaternions(model, frame)
    return q


def derivatives(x: Array, dt: float) -> tuple[Array, Array, Array]:
    """Values, first and second derivatives at the frames, of quintic splines through them."""
    from scipy.interpolate import make_interp_spline

    t = check_finite("dt", dt, 1e-9, 1e9) * np.arange(len(x))
    spline = make_interp_spline(t, x.reshape(len(x), -1), k=5)
    return x, spline(t, 1).reshape(x.shape), spline(t, 2).reshape(x.shape)


def angular(turns: Array, dt: float) -> tuple[Array, Array, Array]:
    """Quaternions, angular velocities and accelerations, in the frame that turns.

    From ẋ = x ω / 2 of a unit quaternion x: ω = 2 x* ẋ, and ω̇ = 2 x* ẍ without its real part.
    """
    _, first, second = derivatives(turns, dt)
    back = conjugate_all(turns)
    w = 2.0 * multiply_all(back, first)
    al = 2.0 * multiply_all(back, second)
    stretch = w[..., :1]  # twice the growth of |x|: next to nothing, but splines keep |x| = 1 at frames only
    return turns, w[..., 1:], al[..., 1:] - stretch * w[..., 1:]


@checked_first
def residuals(model: Model, q: Array, dt: float) -> Residuals:
    """Winter's residual analysis of the root's position and of all joints' rotations."""
    iq, _ = rotations_of(model)
    q = _checked_frames(model, q, iq)
    turns = continuous(normalize_all(q[:, iq[:, None] + np.arange(4)]))
    path = normalize_all(low_pass(turns.reshape(len(q), -1), dt, SLOW_PATH_CUTOFF).reshape(turns.shape))
    angles = log_all(multiply_all(conjugate_all(path), turns)).reshape(len(q), -1)
    both = np.concatenate([q[:, :3], angles], axis=1)
    cutoffs = CUTOFFS[0.95 * highest(dt) > CUTOFFS]
    taken = np.array([((both - low_pass(both, dt, f)) ** 2).mean(axis=0) for f in cutoffs])
    positions = np.sqrt(taken[:, :3].sum(axis=1))
    rotations = np.sqrt(3.0 * taken[:, 3:].mean(axis=1))
    found = [_noise(cutoffs, x) for x in (positions, rotations)]
    return Residuals(cutoffs, positions, rotations, (found[0][0], found[1][0]), (found[0][1], found[1][1]))


def _noise(cutoffs: Array, residual: Array) -> tuple[float, float]:
    """The line through the residuals of high cutoffs, at zero; and the cutoff that takes away as much."""
    high = cutoffs >= min(NOISE_FREQUENCY, cutoffs[-1] - 2.0)
    _, noise = np.polyfit(cutoffs[high], residual[high], 1) if high.sum() > 1 else (0.0, residual[-1])
    noise = max(float(noise), 0.0)
    below = np.flatnonzero(residual <= noise)
    if not len(below) or below[0] == 0:
        return noise, float(cutoffs[below[0]] if len(below) else cutoffs[-1])
    k = int(below[0])
    share = (residual[k - 1] - noise) / max(residual[k - 1] - residual[k], 1e-300)
    return noise, float(cutoffs[k - 1] + share * (cutoffs[k] - cutoffs[k - 1]))


def reliable(frames: int, dt: float, cutoff: Cutoff) -> npt.NDArray[np.bool_]:
    """Which frames are far enough from both ends for the filter and the splines."""
    lowest = min(cutoff) if isinstance(cutoff, tuple) else cutoff
    margin = 3 if lowest is None else max(3, round(END / (lowest * dt)))
    good = np.zeros(frames, dtype=bool)
    good[margin : frames - margin] = True
    return good
