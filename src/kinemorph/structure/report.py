"""What comes of a change of structure: the new model and state, how old entries map to new ones, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinemorph.multibody.calls import Array
from kinemorph.multibody.model import Model

Indices = np.ndarray[tuple[int], np.dtype[np.int32]]


@dataclass(frozen=True, eq=False)
class State:
    """Where a model is and how it moves; accelerations and joint forces are carried along if they are given."""

    q: Array
    v: Array
    a: Array | None = None
    tau: Array | None = None
    time: float = 0.0


@dataclass(frozen=True, eq=False)
class Report:
    """A change of structure. Everything is new; the old model and state stay as they were.

    `q_map[i]` says where entry i of the old q is in the new one, -1 if nowhere; likewise `v_map` for v, a and tau, and
    `link_map` for links. An entry of an inverted joint keeps its place in the map, and changes sign or more.
    """

    model: Model
    state: State
    link_map: Indices
    q_map: Indices
    v_map: Indices
    impulse: Array = field(default_factory=lambda: np.zeros(6))  # moment, impulse at the new joint, world axes
    jump: Array = field(default_factory=lambda: np.zeros(0))  # of the new v
    energy_lost: float = 0.0  # J
    pose_error: float = 0.0  # m and rad: largest difference of a body's pose before and after
    twist_error: float = 0.0  # m/s and rad/s: likewise for velocities, the jump left out
    momentum_error: float = 0.0  # N s and N m s: of the whole system

    def __repr__(self) -> str:
        return (
            f"Report: {self.model!r}, energy lost {self.energy_lost:.3g} J, residuals: pose {self.pose_error:.1e}, "
            f"twist {self.twist_error:.1e}, momentum {self.momentum_error:.1e}"
        )


def same_places(old: Any, new: Any) -> Indices:
    """A map of entries when joint by joint old[i] starts where new[i] does: arrays (joints, 2) of start and length."""
    total = int(old[:, 1].sum())
    mapped = np.full(total, -1, np.int32)
    for (start, length), (to, kept) in zip(old, new, strict=True):
        if kept:
            mapped[start : start + length] = np.arange(to, to + length)
    return mapped
