"""A walk beside normal gait: mean curves over stances, their peaks, and which of them no healthy walker has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinemorph.mocap.analysis import EXTENSION, Analysis
from kinemorph.mocap.body.hips import has_steps, speed_of
from kinemorph.mocap.body.inertias import SIDES
from kinemorph.mocap.normal_gait import Norm, norms, pace_of
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_choice
from kinemorph.spatial.pose import Array

SHARES = np.linspace(0.0, 1.0, 101)  # of the stance
PEAKS = {  # of each quantity: the curve, within which shares of the stance, and which extreme
    "knee at strike": ("flexion", 0, 0, np.max),
    "knee in loading": ("flexion", 0, 40, np.max),
    "knee least later": ("flexion", 35, 85, np.min),
    "force first": ("force", 0, 40, np.max),
    "force valley": ("force", 35, 65, np.min),
    "force second": ("force", 60, 100, np.max),
    "hip extension": ("thigh", 0, 50, np.max),
    "hip flexion": ("thigh", 40, 100, np.min),
    "knee extension": ("shank", 0, 45, np.max),
    "ankle plantar flexion": ("foot", 40, 100, np.max),
}


@checked_first
@dataclass(frozen=True, eq=False)
class Walking:
    """A person's walk: mean curves over all whole stances, from strike to toe-off, and their peaks.

    `curves` are "flexion" of the knee (degrees), vertical "force" by weight, and the moments that extend "thigh" (hip),
    "shank" (knee) and "foot" (ankle) by body mass (N m/kg), 101 values each. `values` are as `norms` has them.
    """

    speed: float  # m/s
    pace: str  # "slow", "natural" or "fast"
    stances: int
    curves: Mapping[str, Array]
    values: Mapping[str, float]

    def norm(self, name: str, source: str = "Winter") -> Norm:
        """The norm of a quantity at this pace."""
        known = norms(self.pace, source)
        return known[check_choice("norm: name", name, known)]

    @property
    def outside(self) -> tuple[str, ...]:
        """The quantities beyond two standard deviations of normal gait."""
        every = norms(self.pace)
        return tuple(name for name, value in self.values.items() if not every[name].low <= value <= every[name].high)

    def judgement(self) -> str:
        """One sentence: how fast, and what is not normal."""
        told = f"walking at {self.speed:.2f} m/s ({self.pace}), {self.stances} stances: "
        if not self.outside:
            return told + "all peaks are within two standard deviations of normal gait (Winter 1991)"
        found = [(name, self.values[name], self.norm(name)) for name in self.outside]
        beyond = ", ".join(f"{name} {x:.3g} (normal {norm.low:.3g} to {norm.high:.3g})" for name, x, norm in found)
        return f"{told}beyond two standard deviations of normal gait (Winter 1991) are {beyond}"


def is_walk(analysis: Analysis) -> bool:
    """Whether the motion is a walk: stances of both feet, double support, no flight, and a speed of walking."""
    stances = analysis.stances()
    pace = pace_of(speed_of(analysis.motion.q[:, :2], stances, analysis.body.dt), analysis.body.leg)
    return pace != "" and {side for side, _ in stances} == {*SIDES} and has_steps(analysis)


@checked_first
def walking_of(*analyses: Analysis) -> Walking:
    """One person's walk, out of one recording or several."""
    found: dict[str, list[Array]] = {name: [] for name in ("flexion", "force", *EXTENSION)}
    speeds, legs = [], []
    for analysis in analyses:
        stances = analysis.stances()
        for side, stance in stances:
            at = stance.start + SHARES * (stance.end - 1 - stance.start)
            every = {bone: analysis.extension(side, bone) for bone in EXTENSION}
            every["flexion"] = np.degrees(analysis.flexion(side, "shank"))
            every["force"] = analysis.force(side)[:, 2] / analysis.weight
            for name, curve in every.items():
                found[name].append(np.interp(at, np.arange(len(curve)), curve))
        speeds += [speed_of(analysis.motion.q[:, :2], stances, analysis.body.dt)] * len(stances)
        legs.append(analysis.body.leg)
    if not speeds:
        raise ValueError("there is no whole stance in these recordings: they do not show a walk")
    curves = {name: np.mean(values, axis=0) for name, values in found.items()}
    values = {
        name: float(extreme(curves[curve][first : last + 1])) for name, (curve, first, last, extreme) in PEAKS.items()
    }
    speed = float(np.mean(speeds))
    pace = pace_of(speed, float(np.mean(legs)))
    if not pace:
        raise ValueError(f"{speed:.2f} m/s is too slow or too fast a walk to be compared with others")
    return Walking(speed, pace, len(speeds), curves, values)
