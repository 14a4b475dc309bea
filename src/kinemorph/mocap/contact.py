"""When feet stand on the floor: heel and ball low and slow, with hysteresis, over a floor that is fitted to them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph._files import FileError, PathLike, quoted, read_bytes
from kinemorph.mocap.body.inertias import SIDES
from kinemorph.mocap.smooth import derivatives
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_positive
from kinemorph.spatial.pose import Array

Flags = npt.NDArray[np.bool_]

LARGEST_CONTACTS_BYTES = 1 << 24  # bytes of a table of contacts
LEVEL = math.radians(3.0)  # a floor that seems steeper is taken as level
SPREAD = 0.3  # m: points that cover less ground say nothing about its slope


@checked_first
@dataclass(frozen=True)
class Thresholds:
    """A point touches when it is low and slow; it has left when it is high or fast. Short phases do not count."""

    low: float = 0.025  # m
    high: float = 0.05
    slow: float = 0.55  # m/s
    fast: float = 1.2
    stance: float = 0.10  # s, the shortest contact of a foot
    swing: float = 0.08  # s, the shortest time in the air


class Phase(NamedTuple):
    """Frames from `start` to `end`, the last left out, on "left", "right", both feet ("double"), or none ("flight")."""

    kind: str
    start: int
    end: int


@checked_first
@dataclass(frozen=True, eq=False)
class Contacts:
    """Which feet stand on the floor, frame by frame, and where the floor is: z = level + slope · (x, y)."""

    feet: Mapping[str, Flags]  # "left", "right"
    heels: Mapping[str, Flags]  # and which end of the foot does
    balls: Mapping[str, Flags]
    level: float  # m
    slope: Array  # (2,)

    @property
    def kinds(self) -> npt.NDArray[np.str_]:
        """Of each frame what holds the body."""
        left, right = self.feet["left"], self.feet["right"]
        return np.where(left & right, "double", np.where(left, "left", np.where(right, "right", "flight")))

    @property
    def phases(self) -> tuple[Phase, ...]:
        return find_runs(self.kinds)

    def stances(self, reliable: Flags) -> list[tuple[str, Phase]]:
        """Every whole contact of a foot with reliable frames only: its side and its frames."""
        found = []
        reliable = np.asarray(reliable, dtype=bool)
        if any(reliable.shape != flags.shape for flags in self.feet.values()):
            raise ValueError(f"stances: reliable has shape {reliable.shape}, and must say it of each frame")
        for side, flags in self.feet.items():
            for phase in find_runs(np.where(flags, side, "")):
                whole = phase.start > 0 and phase.end < len(flags) and reliable[phase.start : phase.end].all()
                if phase.kind == side and whole:
                    found.append((side, phase))
        return found

    def floor(self, x: Array) -> Array:
        """The height of the floor below points (..., 3)."""
        points = np.asarray(x, dtype=np.float64)
        if points.ndim == 0 or points.shape[-1] != 3:
            raise ValueError(f"floor: x has shape {points.shape}, expected (..., 3)")
        return np.asarray(self.level + points[..., :2] @ self.slope)


def find_runs(kinds: npt.NDArray[np.str_]) -> tuple[Phase, ...]:
    """Stretches of equal entries."""
    ends = [*(np.flatnonzero(kinds[1:] != kinds[:-1]) + 1).tolist(), len(kinds)]
    starts = [0, *ends[:-1]]
    return tuple(Phase(str(kinds[a]), a, b) for a, b in zip(starts, ends, strict=True) if b > a)


@checked_first
def find_contacts(
    points: Mapping[str, tuple[Array, Array]], dt: float, thresholds: Thresholds | None = None
) -> Contacts:
    """Contacts from where the heel and the ball of each foot were: (frames, 3) each."""
    th = thresholds or Thresholds()
    missing = [side for side in SIDES if side not in points]
    if missing:
        raise ValueError(f"find_contacts: points have no side {missing[0]!r}: a heel and a ball")
    dt = check_positive("find_contacts: dt", dt)
    series = [points[side][k] for side in SIDES for k in range(2)]
    speeds = [np.linalg.norm(derivatives(x, dt)[1], axis=1) for x in series]
    slope, levels = fit_floor(series, speeds, th)
    flags = []
    for x, speed, level in zip(series, speeds, levels, strict=True):
        flags.append(apply_hysteresis(x[:, 2] - x[:, :2] @ slope - level, speed, th))
    feet, heels, balls = {}, {}, {}
    for i, side in enumerate(SIDES):
        heel, ball = flags[2 * i], flags[2 * i + 1]
        foot = drop_short_runs(drop_short_runs(heel | ball, False, round(th.swing / dt)), True, round(th.stance / dt))
        heels[side], balls[side] = heel & foot, ball & foot
        feet[side] = foot
    return Contacts(feet, heels, balls, float(np.mean(levels)), slope)


def fit_floor(series: list[Array], speeds: list[Array], th: Thresholds) -> tuple[Array, list[float]]:
    """A plane below all points that rest, and how high each series lies: soles are not known to the centimetre."""
    lows = [float(np.percentile(x[:, 2], 5.0)) for x in series]
    rests = [(x[:, 2] < low + 2.0 * th.high) & (v < th.slow) for x, low, v in zip(series, lows, speeds, strict=True)]
    rests = [r if r.any() else x[:, 2] <= np.percentile(x[:, 2], 10.0) for r, x in zip(rests, series, strict=True)]
    slope = np.zeros(2)
    points = [x[r] for x, r in zip(series, rests, strict=True)]
    for _ in range(3):
        points = [x for x in points if len(x)]
        centred = [x - x.mean(axis=0) for x in points]
        ground = np.concatenate([x[:, :2] for x in centred])
        heights = np.concatenate([x[:, 2] for x in centred])
        values, axes = np.linalg.eigh(ground.T @ ground / len(ground))
        wide = np.sqrt(values) > SPREAD
        slope = np.zeros(2)
        for k in np.flatnonzero(wide):
            slope += axes[:, k] * float((ground @ axes[:, k]) @ heights) / (len(ground) * values[k])
        rest = heights - ground @ slope
        limit = 2.5 * max(float(np.std(rest)), 1e-4)
        split = np.cumsum([len(x) for x in centred])[:-1]
        points = [x[np.abs(r) < limit] for x, r in zip(points, np.split(rest, split), strict=True)]
    if not np.linalg.norm(slope) < math.tan(LEVEL):
        slope = np.zeros(2)
    # heights of points that rest gather at one value and stray upwards: the lower quartile is on the floor
    levels = [float(np.percentile((x[:, 2] - x[:, :2] @ slope)[r], 25.0)) for x, r in zip(series, rests, strict=True)]
    return slope, levels


def apply_hysteresis(height: Array, speed: Array, th: Thresholds) -> Flags:
    """Hysteresis: on where a point is low and slow, off where it is high or fast, else as before."""
    on = (height < th.low) & (speed < th.slow)
    off = (height > th.high) | (speed > th.fast)
    found = np.zeros(len(height), dtype=bool)
    state = bool(on[0] or not off[0])
    for k, (starts, ends) in enumerate(zip(on.tolist(), off.tolist(), strict=True)):
        state = True if starts else False if ends else state
        found[k] = state
    return found


def drop_short_runs(flags: Flags, value: bool, least: int) -> Flags:
    """The same, without stretches of `value` that are shorter than `least` frames; those at the ends stay."""
    found = flags.copy()
    for phase in find_runs(np.where(flags, "1", "0")):
        inner = phase.start > 0 and phase.end < len(flags)
        if (phase.kind == "1") == value and inner and phase.end - phase.start < least:
            found[phase.start : phase.end] = not value
    return found


@checked_first
def read_contacts(path: PathLike, found: Contacts, t: Array) -> Contacts:
    """The contacts of a CSV file instead of those found: lines "left,0.52,1.13", a foot, its start and its end (s)."""
    t = np.asarray(t, dtype=np.float64)
    if t.shape != found.heels["left"].shape:
        raise ValueError(f"read_contacts: t has shape {t.shape}, and those found {found.heels['left'].shape}")
    feet = {side: np.zeros(len(t), dtype=bool) for side in SIDES}
    text = read_bytes(path, LARGEST_CONTACTS_BYTES).decode("utf-8-sig", "replace")  # spreadsheets put a mark before it
    for number, line in enumerate(text.splitlines(), 1):
        words = [word.strip() for word in line.split(",")]
        if not line.strip() or line.startswith("#") or (number == 1 and words[0].lower() == "foot"):
            continue
        where = f"{path}, line {number}"
        if len(words) != 3 or words[0].lower() not in SIDES:
            raise FileError(f"{where}: expected a foot (left or right), a start and an end, not {quoted(line)}")
        try:
            start, end = float(words[1]), float(words[2])
        except ValueError:
            raise FileError(f"{where}: {quoted(line)}: start and end must be seconds") from None
        if not (math.isfinite(start) and math.isfinite(end) and start <= end):
            raise FileError(f"{where}: the contact from {words[1]} s to {words[2]} s does not end after it starts")
        feet[words[0].lower()] |= (t >= start) & (t <= end)
    if not any(flags.any() for flags in feet.values()):
        raise FileError(f"{path}: in none of the times of this motion does a foot touch the ground")
    return given_contacts(feet, found)


def given_contacts(feet: Mapping[str, Flags], found: Contacts) -> Contacts:
    """Other contacts over the same floor; where nothing was found to touch, the whole foot does."""
    heels, balls = {}, {}
    for side in SIDES:
        neither = feet[side] & ~found.heels[side] & ~found.balls[side]
        heels[side] = feet[side] & (found.heels[side] | neither)
        balls[side] = feet[side] & (found.balls[side] | neither)
    return Contacts(dict(feet), heels, balls, found.level, found.slope)
