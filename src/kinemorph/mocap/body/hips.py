"""Where the hips are: recorded skeletons have them misplaced in the pelvis, and knees that are bent so far say it.

A leg is nearly straight when it strikes the ground and again before its heel rises; there one centimetre between hip
and ankle is ten degrees at the knee. So how far knees of healthy walkers are bent then says where the hips must be, far
better than markers on the skin do. Ankles, feet, pelvis and lengths of bones stay as they were recorded. Everything
else is then found, not fitted: how far knees bend in loading, forces, and moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from kinemorph.mocap.body.body import Body
from kinemorph.mocap.body.inertias import SIDES
from kinemorph.mocap.body.legs import Shift, knee_cosines, limit_leg_reach, width_of
from kinemorph.mocap.contact import Contacts, Flags, Phase
from kinemorph.mocap.link_motion import places_of
from kinemorph.mocap.normal_gait import Norm, norms, pace_of
from kinemorph.mocap.smooth import Motion
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Array

ERROR = 0.02  # m: standard deviation of where skeletons have their hips, forward and up
LARGEST_HIP_SHIFT = 0.05  # m
LEG_MISS = 2e-3  # m: by how much a leg may miss its ankle; those that are just straight do by 1.4 mm (`legs.reach`)
LATER = (0.35, 0.85)  # share of the stance in which the knee is bent the least after loading


def speed_of(way: Array, stances: Sequence[tuple[str, Phase]], dt: float) -> float:
    """How fast the pelvis goes over stances (m/s), from where it was (frames, 2)."""
    speeds = [np.linalg.norm(way[p.end - 1] - way[p.start]) / (dt * (p.end - 1 - p.start)) for _, p in stances]
    return float(np.mean(speeds)) if speeds else 0.0


class Leg(NamedTuple):
    """A leg of a recording: from its recorded hip to its ankle in the frame of the pelvis, in all reliable frames."""

    way: Array  # (frames, 3) m
    thigh: float
    shank: float
    strikes: npt.NDArray[np.intp]  # rows of way
    later: list[slice]  # of each stance, where the knee is bent the least after loading

    def knees(self, shifts: Array) -> tuple[Array, Array, Array]:
        """With the hip elsewhere: how far knees are bent at strikes and least later (rad), and what the leg misses.

        `shifts` (n, 3) are several places; so the rows of all results are. Legs give as those of the moved body will,
        for a knee that is bent by what they give must not be taken for one that is normal.
        """
        squares = (self.way**2).sum(axis=1) - 2.0 * shifts @ self.way.T + (shifts**2).sum(axis=1)[:, None]
        distance = np.sqrt(squares)
        far = limit_leg_reach(distance, self.thigh + self.shank, width_of(shifts[:, 0], shifts[:, 2])[:, None])
        furthest = np.stack([far[:, rows].max(axis=1) for rows in self.later], axis=1)  # there the knee is bent least
        at, least = (np.arccos(knee_cosines(self.thigh, self.shank, x)[0]) for x in (far[:, self.strikes], furthest))
        return at, least, distance - far


def legs_of(body: Body, motion: Motion, stances: Sequence[tuple[str, Phase]], reliable: Flags) -> dict[str, Leg]:
    """Both legs of a recording."""
    links = ["pelvis", *(f"{side} {end}" for side in SIDES for end in ("thigh", "foot"))]
    places = places_of(body.model, motion, links)
    first = int(reliable.argmax())
    legs = {}
    for i, side in enumerate(SIDES):
        way = np.einsum("fij,fi->fj", places.R[:, 0], places.p[:, 2 + 2 * i] - places.p[:, 1 + 2 * i])[reliable]
        forward, up = body.hips[side]
        mine = [phase for foot, phase in stances if foot == side]
        later = []
        for phase in mine:
            start, end = (phase.start - first + round(x * (phase.end - 1 - phase.start)) for x in LATER)
            later.append(slice(start, end + 1))
        strikes = np.array([phase.start - first for phase in mine], dtype=np.intp)
        legs[side] = Leg(way + [forward, 0.0, up], *body.lengths(side), strikes, later)
    return legs


def fit_hip_shift(legs: Sequence[Leg], strike: Norm, later: Norm) -> Shift:
    """The most probable shift of a hip: knees that are normal, legs that reach, and a hip not far from where it was."""

    def costs(shifts: Array) -> Array:
        knees = [leg.knees(shifts) for leg in legs]
        at, least, missed = (np.concatenate([knee[k] for knee in knees], axis=1) for k in range(3))
        off = (np.degrees(at.mean(axis=1)) - strike.mean) / strike.deviation
        off_later = (np.degrees(least.mean(axis=1)) - later.mean) / later.deviation
        far = (shifts**2).sum(axis=1) / ERROR**2
        return np.asarray(off**2 + off_later**2 + far + ((missed / LEG_MISS) ** 2).mean(axis=1))

    best = np.zeros(3)
    for step, count in ((5e-3, 10), (1e-3, 5), (1e-4, 10)):
        forward, up = np.meshgrid(*[step * np.arange(-count, count + 1)] * 2)
        around = best + np.stack([forward.ravel(), np.zeros(forward.size), up.ravel()], axis=1)
        around = around[np.abs(around).max(axis=1) <= LARGEST_HIP_SHIFT]
        best = around[costs(around).argmin()]
    return (round(float(best[0]), 4), round(float(best[2]), 4))


class Recorded(Protocol):
    """The parts of an `Analysis` that a calibration needs."""

    @property
    def body(self) -> Body: ...
    @property
    def motion(self) -> Motion: ...
    @property
    def contacts(self) -> Contacts: ...
    @property
    def reliable(self) -> Flags: ...


def has_steps(recording: Recorded) -> bool:
    """Whether there is double support and no flight."""
    kinds = recording.contacts.kinds[recording.reliable]
    return "double" in kinds and "flight" not in kinds


@checked_first
def calibrate_hips(*recordings: Recorded) -> dict[str, Shift]:
    """How far the hips of a walker are to be moved in the pelvis, forward and up (m), by side.

    The shift is the most probable one, if knees of healthy adults are bent so far at strike, and at least in later
    stance, as Winter 1991 found (at this pace, with his deviations), and if skeletons have their hips misplaced by 2 cm
    (standard deviation) forward or up, 5 cm at most. Give one or several analyses of one person, such as all trials.
    """
    for one in recordings:
        if not all(hasattr(one, name) for name in ("contacts", "body", "motion", "reliable")):
            raise TypeError(f"calibrate_hips: recordings are analyses of a walk, not {repr_of(one)}")
    stances = [x.contacts.stances(x.reliable) for x in recordings]
    legs = [legs_of(x.body, x.motion, found, x.reliable) for x, found in zip(recordings, stances, strict=True)]
    speeds = [speed_of(x.motion.q[:, :2], s, x.body.dt) for x, s in zip(recordings, stances, strict=True) if s]
    pace = pace_of(float(np.mean(speeds or [0.0])), recordings[0].body.leg) if recordings else ""
    if not pace or not all(map(has_steps, recordings)):
        raise ValueError(
            "hips='calibrated' needs a walk: somebody is in the air, or stands, or is too slow or too fast"
        )
    every, found = norms(pace), {}
    for side in SIDES:
        mine = [leg[side] for leg in legs if len(leg[side].strikes)]
        if not mine:
            raise ValueError(f"hips='calibrated' needs a walk: there is no whole stance on the {side} foot")
        found[side] = fit_hip_shift(mine, every["knee at strike"], every["knee least later"])
    return found
