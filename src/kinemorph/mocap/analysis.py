"""The whole way in one call: a recording in, joint moments, powers, ground reaction and centre of pressure out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph._files import PathLike
from kinemorph.io.motion.bvh import Bvh, load_bvh
from kinemorph.mocap.body.body import Body, body_of
from kinemorph.mocap.body.hips import calibrate_hips
from kinemorph.mocap.body.inertias import SIDES
from kinemorph.mocap.body.legs import Shift
from kinemorph.mocap.contact import Contacts, Phase, Thresholds, find_contacts, read_contacts
from kinemorph.mocap.double_support import METHODS, least_torque_share, measured_share, smooth_share
from kinemorph.mocap.link_motion import Places, on_link, places_of
from kinemorph.mocap.smooth import Cutoff, Motion, Residuals, highest, reliable, residuals, smooth
from kinemorph.mocap.support import Loads, Support, centre_of_pressure, support_of
from kinemorph.mocap.support_handover import extend_contacts
from kinemorph.multibody.algorithms.energy_momentum import momentum
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first, checked_on_failure
from kinemorph.spatial.arguments.checks import check_choice, repr_of
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import rotate_all, to_matrices

HIPS = ("recorded", "calibrated")
LOWEST_CUTOFF = 4.0  # Hz: recordings that hold no more than this have too few cutoffs to analyse residuals of
PRESSED = 0.05  # share of the weight below which a foot has no centre of pressure worth the name
# Moments are those on the lower bone, in its frame: x forward, y to the left, z up along it. These signs make the one
# about y extend the leg: hip extension, knee extension, plantar flexion of the ankle are positive.
EXTENSION = {"thigh": 1.0, "shank": -1.0, "foot": 1.0}


@checked_first
@dataclass(frozen=True, eq=False)
class Analysis:
    """A recorded motion and what moved it. Arrays have a row for each frame; world axes, z up; SI units."""

    body: Body
    motion: Motion  # smoothed
    contacts: Contacts
    loads: Mapping[str, Loads]  # by method, the first is the one that properties show
    reliable: npt.NDArray[np.bool_]  # frames that are not too near the ends for derivatives
    cutoff: Cutoff  # Hz
    residuals: Residuals | None
    support: Support
    missed: float = 0.0  # share of the total force that no forces within the cones of friction make, at worst

    @property
    def model(self) -> Model:
        return self.body.model

    @property
    def t(self) -> Array:
        return self.body.t

    @property
    def ankles(self) -> Mapping[str, Array]:
        """(frames, 3) m, by side."""
        return self.support.ankles

    @property
    def weight(self) -> float:
        """N"""
        return self.model.mass * float(np.linalg.norm(self.model.gravity))

    @property
    def method(self) -> str:
        return next(iter(self.loads))

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints, each named after the bone that it carries."""
        return self.model.joint_names[1:]

    def moment(self, joint: str, method: str | None = None) -> Array:
        """(frames, 3) N m: on the lower bone, in its frame: x forward, y to the left, z along it, up."""
        return self._loads(method).tau[:, self.model.v_slice(joint)]

    def extension(self, side: str, bone: str, method: str | None = None) -> Array:
        """(frames,) N m/kg: the moment that extends hip ("thigh"), knee ("shank") or ankle ("foot"), by body mass."""
        sign = EXTENSION[check_choice("extension: bone", bone, EXTENSION)]
        return sign * self.moment(f"{side} {bone}", method)[:, 1] / self.body.mass

    def flexion(self, side: str, bone: str) -> Array:
        """(frames,) rad: how far hip ("thigh"), knee ("shank") or ankle ("foot") is bent, seen from the side.

        Extension and plantar flexion are negative; a straight leg below an upright pelvis, on a level foot, is at zero.
        """
        R = to_matrices(self.motion.q[:, self.model.q_slice(f"{side} {bone}")])
        return np.asarray(
            -EXTENSION[check_choice("flexion: bone", bone, EXTENSION)] * np.arctan2(R[:, 0, 2], R[:, 2, 2])
        )

    def stances(self) -> list[tuple[str, Phase]]:
        """Every whole contact of a foot that is far enough from the ends of the recording: its side and its frames."""
        return self.contacts.stances(self.reliable)

    def band(self, joint: str) -> tuple[Array, Array]:
        """The least and the greatest moment that any method gives, (frames, 3) each; equal but for double support."""
        every = np.array([self.moment(joint, method) for method in self.loads])
        return every.min(axis=0), every.max(axis=0)

    def power(self, joint: str, method: str | None = None) -> Array:
        """(frames,) W: moment times relative angular velocity; positive where muscles give energy."""
        here = self.model.v_slice(joint)
        return np.asarray((self._loads(method).tau[:, here] * self.motion.v[:, here]).sum(axis=1))

    def force(self, side: str, method: str | None = None) -> Array:
        """(frames, 3) N: of the ground on a foot."""
        return self._wrench(side, method)[:, 3:]

    def _loads(self, method: str | None) -> Loads:
        return self.loads[check_choice("method", method or self.method, self.loads)]

    def _wrench(self, side: str, method: str | None) -> Array:
        wrenches = self._loads(method).wrenches
        if side not in wrenches:
            raise KeyError(f"there is no side {repr_of(side)}; there are {', '.join(wrenches)}")
        return wrenches[side]

    def pressure(self, side: str, method: str | None = None) -> Array:
        """(frames, 3) m: where the force on a foot goes through the floor; NaN where it bears too little."""
        wrench = self._wrench(side, method)
        floor = self.contacts.floor(self.ankles[side])
        point, _ = centre_of_pressure(wrench, self.ankles[side], floor)
        point[wrench[:, 5] < PRESSED * self.weight] = np.nan
        return point

    @cached_property
    def ground(self) -> Array:
        """(frames, 3) N: of the ground on both feet; the same by all methods."""
        return np.asarray(sum(self.force(side) for side in SIDES))

    @cached_property
    def unexplained(self) -> Array:
        """(frames,) share of the weight: force on the root that no foot gives; should be none in flight."""
        return np.linalg.norm(self.loads[self.method].tau[:, 3:6], axis=1) / self.weight

    @cached_property
    def balance(self) -> float:
        """The largest error of ΣF = m (a - g) in any frame (N), with the momentum that the model computes itself."""
        model, q = self.model, self.motion.q
        data, h = Data(model), 1e-5
        worst = 0.0
        for k in range(3, len(q) - 3, max(1, len(q) // 50)):
            ahead, behind = (_advance_frame(model, self.motion, k, sign * h) for sign in (1.0, -1.0))
            change = (momentum(model, data, *ahead)[3:] - momentum(model, data, *behind)[3:]) / (2.0 * h)
            total = self.ground[k] + rotate_all(q[k, 3:7], self.loads[self.method].tau[k, 3:6])
            worst = max(worst, float(np.abs(change - model.mass * model.gravity - total).max()))
        return worst

    def summary(self) -> str:
        """The inferred settings and the results, in a few lines."""
        kinds = self.contacts.kinds
        shares = {kind: float((kinds == kind).mean()) for kind in ("left", "right", "double", "flight")}
        good = self.reliable
        lines = [
            *self.body.notes,
            f"model: {self.body.mass:g} kg, joints off the recorded ones by {1e3 * self.body.fit:.1f} mm (rms)",
        ]
        if self.residuals is not None:
            lines.append(str(self.residuals))
        f = self.cutoff
        used = f"{f[0]:.2g} Hz (root) and {f[1]:.2g} Hz (joints)" if isinstance(f, tuple) else f"{f or 0.0:g} Hz"
        lines.append("smoothing: " + ("none" if f is None else f"{used}, zero lag, fourth order"))
        lines.append(
            "support: " + ", ".join(f"{kind} {100.0 * share:.0f} %" for kind, share in shares.items() if share)
        )
        vertical = self.ground[good, 2].mean() / self.weight if good.any() else float("nan")
        lines.append(f"mean vertical force: {100.0 * vertical:.1f} % of the weight")
        flying = good & (kinds == "flight")
        if flying.any():
            held = float(self.unexplained[flying].mean())
            lines.append(f"in flight {100.0 * held:.0f} % of the weight is unexplained on average")
            if held > 0.4:
                lines.append("  so much that something else than feet must hold the body")
        if len(self.loads) > 1 and (kinds == "double").any():
            lines.append(f"double support: {', '.join(self.loads)} as a band; moments are those of {self.method}")
        if self.missed > 0.01:
            lines.append(f"least-torque: cones of friction miss up to {100.0 * self.missed:.0f} % of the force")
        for bone, joint in (("thigh", "hip"), ("shank", "knee"), ("foot", "ankle")):
            both = np.concatenate([self.extension(side, bone)[good] for side in SIDES])
            if len(both):
                lines.append(f"{joint}: extension moment {both.min():+.2f} to {both.max():+.2f} N m/kg")
        return "\n".join([*lines, *self._beside_normal_gait()])

    def _beside_normal_gait(self) -> list[str]:
        """If this is a walk: where its hips are, and what is not as in healthy people."""
        from kinemorph.mocap.gait_comparison import is_walk, walking_of  # late: it stands on this file

        moved = [
            f"the {side} one by {1e3 * forward:+.1f} mm forward and {1e3 * up:+.1f} mm up"
            for side, (forward, up) in self.body.hips.items()
            if forward or up
        ]
        lines = [f"hips are moved in the pelvis: {', '.join(moved)}"] if moved else []
        if not is_walk(self):
            return lines
        walking = walking_of(self)
        lines.append(walking.judgement())
        knee, norm = walking.values["knee at strike"], walking.norm("knee at strike")
        if knee > norm.high and not moved:
            lines.append(
                f"knees at strike are bent by {knee:.0f} degrees, normal are {norm.mean:.0f} ± {norm.deviation:.0f}: "
                "hips may be misplaced in the skeleton, and moments at the knees too high; try hips='calibrated'"
            )
        return lines


def _advance_frame(model: Model, motion: Motion, k: int, h: float) -> tuple[Array, Array]:
    """Frame k, a moment later, by its own velocity and acceleration."""
    from kinemorph.multibody.algorithms.configuration import integrate

    v = motion.v[k] + h * motion.a[k]
    return integrate(model, motion.q[k], 0.5 * (motion.v[k] + v), h), v


@checked_on_failure
def analyse(
    source: PathLike | Bvh | Body,
    mass: float = 70.0,
    height: float | None = None,
    sex: str = "male",
    table: str = "de Leva",
    *,
    unit: float | None = None,
    up: str | None = None,
    skeleton: PathLike | Mapping[str, Any] | None = None,
    cutoff: Cutoff | str = 6.0,
    contacts: PathLike | Contacts | None = None,
    thresholds: Thresholds | None = None,
    methods: Sequence[str] = ("smooth", "least-torque"),
    forces: Mapping[str, Array] | None = None,
    friction: float = 0.8,
    motion: Motion | None = None,
    hips: str | Shift | Mapping[str, Shift] = "recorded",
) -> Analysis:
    """Joint moments, powers, ground reaction and centre of pressure of a recorded motion, without force plates.

    `source` is a BVH file, what `load_bvh` returns, or a `Body`. `mass` (kg), `height` (m), `sex` and `table` describe
    the person; `unit`, `up` and `skeleton` what the file does not say: see `body_of`. `cutoff` (Hz) is that of the
    filter, None for no filter, "residuals" for the best ones of the residual analysis. `contacts` are found, or given
    as a CSV file with lines "left,0.52,1.13" (see `read_contacts`) or as `Contacts`. `methods` share the load where
    both feet stand: "smooth", "least-torque", "measured" (with `forces`, by side [moment, force] at the world's
    origin); the first is what the result shows, all of them make its bands. `friction` is the coefficient of the cones.
    `motion` is one that is smooth already. `hips` are those of the recording, "calibrated" by how far knees of healthy
    walkers are bent (see `calibrate_hips`), or moved by lengths (see `body_of`).
    """
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r} to share the load; there are {', '.join(METHODS)}")
    if not len(methods) or (("measured" in methods) != (forces is not None)):
        raise ValueError("name the methods that share the load; 'measured' and forces belong together")
    if not (math.isfinite(friction) and friction >= 0.0):
        raise ValueError(f"friction {friction} must be a number that is not negative")
    if isinstance(hips, str) and hips not in HIPS:
        raise ValueError(f"hips {hips!r} must be 'recorded' or 'calibrated', or two lengths, forward and up")
    if hips != "recorded" and (isinstance(source, Body) or motion is not None):
        raise ValueError(
            f"hips {hips!r}: a Body, or a motion that is smooth, has its hips; move them by body_of(hips=)"
        )
    if isinstance(source, Body):
        body = source
    else:
        bvh = source if isinstance(source, Bvh) else load_bvh(source)
        shape: Any = {"height": height, "sex": sex, "table": table, "unit": unit, "up": up, "skeleton": skeleton}
        body = body_of(bvh, mass, **shape, hips=(0.0, 0.0) if isinstance(hips, str) else hips)
        if hips == "calibrated":
            seen = _find_kinematics(body, cutoff, contacts, thresholds, None)
            body = body_of(bvh, mass, **shape, hips=calibrate_hips(seen))
    seen = _find_kinematics(body, cutoff, contacts, thresholds, motion)
    ankles = {side: seen.places.p[:, i] for i, side in enumerate(SIDES)}
    support = support_of(body.model, seen.motion, seen.contacts, ankles)
    loads, missed = _loads(support, body, seen.places, methods, forces, friction, seen.reliable)
    return Analysis(
        body, seen.motion, seen.contacts, loads, seen.reliable, seen.cutoff, seen.residuals, support, missed
    )


class _Kinematics(NamedTuple):
    """A recording without forces: its motion, where feet were, and when they stood."""

    body: Body
    motion: Motion
    contacts: Contacts
    reliable: npt.NDArray[np.bool_]
    cutoff: Cutoff
    residuals: Residuals | None
    places: Places  # of both feet


def _find_kinematics(
    body: Body, cutoff: Cutoff | str, contacts: PathLike | Contacts | None,
    thresholds: Thresholds | None, motion: Motion | None,
) -> _Kinematics:  # fmt: skip
    model = body.model
    enough = len(body.q) > 30 and highest(body.dt) > LOWEST_CUTOFF
    found = residuals(model, body.q, body.dt) if motion is None and enough else None
    if isinstance(cutoff, str):
        if cutoff != "residuals" or found is None:
            raise ValueError(f"cutoff {cutoff!r}: give a frequency, or 'residuals' for more than 30 recorded frames")
        cutoff = found.best
    if motion is None:
        motion = smooth(model, body.q, body.dt, cutoff)
    places = places_of(model, motion, [f"{side} foot" for side in SIDES])
    touching = contacts if isinstance(contacts, Contacts) else _contacts(body, places, thresholds)
    if contacts is None:
        touching = extend_contacts(touching, model, motion, places, body.feet, body.dt)
    elif not isinstance(contacts, Contacts):
        touching = read_contacts(contacts, touching, body.t)
    return _Kinematics(body, motion, touching, reliable(len(motion.q), body.dt, cutoff), cutoff, found, places)


def _contacts(body: Body, places: Places, thresholds: Thresholds | None) -> Contacts:
    points = {}
    for i, side in enumerate(SIDES):
        foot = body.feet[side]
        points[side] = (on_link(places, i, foot.heel), on_link(places, i, foot.ball))
    return find_contacts(points, body.dt, thresholds)


def _loads(
    support: Support, body: Body, places: Places, methods: Sequence[str], forces: Mapping[str, Array] | None,
    friction: float, counts: npt.NDArray[np.bool_],
) -> tuple[dict[str, Loads], float]:  # fmt: skip
    loads, worst = {}, 0.0
    turns = {side: places.R[:, i] for i, side in enumerate(SIDES)}
    for method in methods:
        if method == "smooth":
            right = smooth_share(support, body.feet, turns)
        elif method == "least-torque":
            right, missed = least_torque_share(support, body.feet, turns, friction)
            worst = float(missed[counts[support.both]].max(initial=0.0))
        else:
            right = measured_share(support, forces or {})
        loads[method] = support.shared(right)
    return loads, worst
