"""The log of a simulation: segments of motion with one structure each, and the events between them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinemorph._extras import in_notebooks
from kinemorph.multibody.checks import Array
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.structure.report import ModelEdit

FRAME = np.dtype(
    [
        ("t", "f8"),  # s
        ("kinetic", "f8"),  # J
        ("potential", "f8"),  # J, gravity's
        ("elastic", "f8"),  # J, of springs
        ("loop_error", "f8"),  # rad or m: how far the worst loop is open,
        ("loop_speed", "f8"),  # rad/s or m/s: and how fast it opens
        ("mobility", "f8"),  # degrees of freedom N_F
    ]
)
Frames = np.ndarray[tuple[int], np.dtype[np.void]]


@dataclass(eq=False)
class Stretch:
    """Motion with one structure: `q[i]` and `v[i]` at time `t[i]`, and the numbers that go with them."""

    model: Model
    _parts: list[tuple[Frames, Array, Array]] = field(default_factory=list)

    @property
    def coordinates(self) -> int:
        """Coordinates as N&Y count them: those of the trees and those of all loop joints."""
        return self.model.nv + self.model.loop_nv

    @property
    def frames(self) -> Frames:
        """Time, energies and what the loops do, with names (`FRAME`)."""
        return self._whole()[0]

    @property
    def t(self) -> Array:
        return self.frames["t"]

    @property
    def q(self) -> Array:
        return self._whole()[1]

    @property
    def v(self) -> Array:
        return self._whole()[2]

    @property
    def total(self) -> Array:
        """Energy, J."""
        frames = self.frames
        return frames["kinetic"] + frames["potential"] + frames["elastic"]

    def _whole(self) -> tuple[Frames, Array, Array]:
        if len(self._parts) > 1:  # once for all
            frames, q, v = zip(*self._parts, strict=True)
            self._parts[:] = [(np.concatenate(frames), np.concatenate(q), np.concatenate(v))]
        return self._parts[0]

    def add(self, frames: Frames, q: Array, v: Array) -> None:
        """Frames and the states that go with them."""
        self._parts.append((frames.copy(), q.copy(), v.copy()))


@dataclass(frozen=True, eq=False)
class Happening:
    """An event that happened: when, its name, the states before and after, and the energy (J) that was lost."""

    t: float
    name: str
    before: State
    after: State
    lost: float
    changed: bool  # whether the structure or the state is another one now
    report: ModelEdit | None = None


@checked_on_failure
@dataclass(eq=False)
class Log:
    """All that a simulation did. Curves over time (`t`, `kinetic`, ...) run through all stretches.

    Before and after an event there is a frame each, at the same time.
    """

    stretches: list[Stretch] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)

    @property
    def t(self) -> Array:
        """s"""
        return np.concatenate([s.t for s in self.stretches])

    @property
    def q(self) -> Array:
        """Positions at all frames, if the structure never changed; else see `stretches`."""
        return self._states("q")

    @property
    def v(self) -> Array:
        """Velocities at all frames, likewise."""
        return self._states("v")

    def _states(self, which: str) -> Array:
        if len({id(s.model) for s in self.stretches}) > 1:
            raise ValueError(
                f"the structure changed, so {which} does not mean the same at all times; "
                f"see log.stretches[i].{which}, with i from 0 to {len(self.stretches) - 1}"
            )
        return np.concatenate([getattr(s, which) for s in self.stretches])

    @property
    def kinetic(self) -> Array:
        """J"""
        return self._curve("kinetic")

    @property
    def potential(self) -> Array:
        """J, gravity's"""
        return self._curve("potential")

    @property
    def elastic(self) -> Array:
        """J, of springs in joints"""
        return self._curve("elastic")

    @property
    def total(self) -> Array:
        """J"""
        return self.kinetic + self.potential + self.elastic

    @property
    def lost(self) -> Array:
        """J that events have cost so far, at each frame."""
        return np.concatenate([np.full(len(s.t), loss) for s, loss in zip(self.stretches, self._losses(), strict=True)])

    @property
    def loop_error(self) -> Array:
        """How far the worst loop is open, rad or m."""
        return self._curve("loop_error")

    @property
    def loop_speed(self) -> Array:
        """How fast the worst loop opens, rad/s or m/s."""
        return self._curve("loop_speed")

    @property
    def mobility(self) -> Array:
        """Degrees of freedom N_F (N&Y eq. 13)."""
        return self._curve("mobility")

    @property
    def coordinates(self) -> Array:
        """Coordinates of the tree and of all loop joints."""
        return np.concatenate([np.full(len(s.t), float(s.coordinates)) for s in self.stretches])

    @property
    def model(self) -> Model:
        """The structure at the end."""
        return self.stretches[-1].model

    @property
    def state(self) -> State:
        """The last state."""
        last = self.stretches[-1]
        return State(last.q[-1], last.v[-1], time=float(last.t[-1]))

    @property
    def drift(self) -> float:
        """J: the largest change of the total energy within a stretch."""
        return max(float(np.abs(s.total - s.total[0]).max()) for s in self.stretches)

    def _curve(self, which: str) -> Array:
        return np.concatenate([s.frames[which] for s in self.stretches])

    def _losses(self) -> list[float]:
        """Energy lost before each stretch."""
        losses = [0.0]
        for h in self.happenings:
            if h.changed:
                losses.append(losses[-1] + h.lost)
        return losses[: len(self.stretches)]

    _repr_html_ = in_notebooks("log")

    def __repr__(self) -> str:
        span = f"{self.stretches[0].t[0]:g} to {self.stretches[-1].t[-1]:g} s" if self.stretches else "empty"
        return f"Log: {span}, {len(self.happenings)} events, {len(self.stretches)} stretches"
