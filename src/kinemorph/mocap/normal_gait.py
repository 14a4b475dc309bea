"""Normal gait: published means and deviations between people, at slow, natural and fast walking."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kinemorph._toml import Toml
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_finite, check_positive

PACES = ("slow", "natural", "fast")
NORMAL_DEVIATIONS = 2.0  # deviations to both sides of the mean that count as normal: 95 % of people
STANDARD_GRAVITY = 9.81


class Norm(NamedTuple):
    """A quantity of normal gait: mean and standard deviation between people."""

    mean: float
    deviation: float

    @property
    def low(self) -> float:
        return self.mean - NORMAL_DEVIATIONS * self.deviation

    @property
    def high(self) -> float:
        return self.mean + NORMAL_DEVIATIONS * self.deviation


@cache
def _table() -> Toml:
    return Toml(Path(__file__).with_name("norms.toml"))


def sources() -> dict[str, str]:
    """Whose norms there are, the first of which judges, and where they were published."""
    return dict(_table().table["sources"])


@checked_first
def norms(pace: str, source: str = "Winter") -> dict[str, Norm]:
    """The quantities of gait at a pace ("slow", "natural" or "fast"), as "Winter" or "Schwartz" published them."""
    if pace not in PACES or source not in sources():
        there = f"{', '.join(sources())}, at {', '.join(PACES)} walking"
        raise ValueError(f"there are no norms of {source!r} at {pace!r}: there are those of {there}")
    return {name: Norm(*row[pace]) for name, row in _table().table[source].items()}


@checked_first
def pace_of(speed: float, leg: float) -> str:
    """The pace of a walk by speed (m/s) over √(g · leg length in m), in which people of all sizes are alike.

    It is "" if the speed is below that of any walk in the norms, or so high that people run.
    """
    check_finite("pace_of: speed", speed)
    check_positive("pace_of: leg", leg)
    bounds = _table().table["paces"]
    share = speed / math.sqrt(STANDARD_GRAVITY * leg)
    return next((pace for pace in reversed(PACES) if bounds["run"] > share >= bounds[pace]), "")
