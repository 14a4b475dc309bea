"""What a simulation leaves: stretches of motion with one structure each, and what happened between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinemorph.multibody.checks import Array
from kinemorph.multibody.model import Model
from kinemorph.structure.loops import Mechanism
from kinemorph.structure.report import Report, State

# columns of the numbers that are logged with every state
KINETIC, POTENTIAL, ELASTIC, LOOP_ERROR, LOOP_SPEED, MOBILITY = range(6)
NUMBERS = 6


@dataclass(eq=False)
class Stretch:
    """Motion with one structure: `q[i]` and `v[i]` at time `t[i]`, and the numbers that go with them."""

    model: Model | Mechanism
    _parts: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)

    @property
    def tree(self) -> Model:
        """The model, without its loops."""
        return self.model.model if isinstance(self.model, Mechanism) else self.model

    @property
    def coordinates(self) -> int:
        """Coordinates as N&Y count them: those of the tree and those of all loop joints."""
        return self.tree.nv + (self.model.loop_nv if isinstance(self.model, Mechanism) else 0)

    @property
    def t(self) -> Array:
        return self._all(0)

    @property
    def q(self) -> Array:
        return self._all(1)

    @property
    def v(self) -> Array:
        return self._all(2)

    @property
    def numbers(self) -> Array:
        return self._all(3)

    @property
    def total(self) -> Array:
        """Energy, J."""
        return self.numbers[:, : ELASTIC + 1].sum(axis=1)

    def _all(self, which: int) -> Array:
        if len(self._parts) > 1:  # once for all
            self._parts[:] = [tuple(np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))]  # type: ignore[list-item]
        return self._parts[0][which]

    def add(self, *arrays: Array) -> None:
        """Rows of t, q, v and the numbers."""
        self._parts.append(tuple(array.copy() for array in arrays))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Happening:
    """An event that happened: when, its name, the states before and after, and the energy (J) that was lost."""

    t: float
    name: str
    before: State
    after: State
    lost: float
    changed: bool  # whether the structure or the state is another one now
    report: Report | None = None


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
    def kinetic(self) -> Array:
        """J"""
        return self._curve(KINETIC)

    @property
    def potential(self) -> Array:
        """J, gravity's"""
        return self._curve(POTENTIAL)

    @property
    def elastic(self) -> Array:
        """J, of springs in joints"""
        return self._curve(ELASTIC)

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
        return self._curve(LOOP_ERROR)

    @property
    def loop_speed(self) -> Array:
        """How fast the worst loop opens, rad/s or m/s."""
        return self._curve(LOOP_SPEED)

    @property
    def mobility(self) -> Array:
        """Degrees of freedom N_F (N&Y eq. 13)."""
        return self._curve(MOBILITY)

    @property
    def coordinates(self) -> Array:
        """Coordinates of the tree and of all loop joints."""
        return np.concatenate([np.full(len(s.t), float(s.coordinates)) for s in self.stretches])

    @property
    def model(self) -> Any:
        """The structure at the end: a Model, or a Mechanism if there are loops."""
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

    def _curve(self, which: int) -> Array:
        return np.concatenate([s.numbers[:, which] for s in self.stretches])

    def _losses(self) -> list[float]:
        """Energy lost before each stretch."""
        losses = [0.0]
        for h in self.happenings:
            if h.changed:
                losses.append(losses[-1] + h.lost)
        return losses[: len(self.stretches)]

    def __repr__(self) -> str:
        span = f"{self.stretches[0].t[0]:g} to {self.stretches[-1].t[-1]:g} s" if self.stretches else "empty"
        return f"Log: {span}, {len(self.happenings)} events, {len(self.stretches)} stretches"
