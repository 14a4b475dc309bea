"""What comes of a change of structure: the new model and state, how old entries map to new ones, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kinemorph.constraint.loops import loop_errors
from kinemorph.multibody.checks import Array
from kinemorph.multibody.data import Data
from kinemorph.multibody.model import Model
from kinemorph.multibody.state import State

Indices = np.ndarray[tuple[int], np.dtype[np.int32]]


@dataclass(frozen=True, eq=False)
class Report:
    """A change of structure. Everything is new; the old model and state stay as they were.

    `model` is what to go on with.
    `q_map[i]` says where entry i of the old q is in the new one, -1 if nowhere; likewise `v_map` for v, a and tau,
    `link_map` for links, and `loop_map` for loops. Where a joint is inverted its entries change sign; of a spherical,
    planar or free joint they are those of the inverse motion. Names of links, joints and loops stay.
    """

    model: Model
    state: State
    link_map: Indices
    q_map: Indices
    v_map: Indices
    loop_map: Indices
    joint: str = ""  # the joint that was made, of the tree or of a loop: what a later `cut` takes
    impulse: Array = field(default_factory=lambda: np.zeros(6))  # moment, impulse on b at the new joint, world axes
    jump: Array = field(default_factory=lambda: np.zeros(0))  # of the new v; entries of a new joint count from zero
    energy_lost: float = 0.0  # J
    pose_error: float = 0.0  # m and rad: largest difference of a body's pose before and after
    twist_error: float = 0.0  # m/s and rad/s: likewise for velocities, the jump left out
    momentum_error: float = 0.0  # N s and N m s: of the whole system, if nothing ties it to the base

    @cached_property
    def loop_error(self) -> float:
        """How far the worst loop is open after the change (m or rad)."""
        return float(np.abs(loop_errors(self.model, Data(self.model), self.state.q)).max(initial=0.0))

    def __repr__(self) -> str:
        return (
            f"Report: {self.model!r}, energy lost {self.energy_lost:.3g} J, residuals: pose {self.pose_error:.1e}, "
            f"twist {self.twist_error:.1e}, momentum {self.momentum_error:.1e}, loops {self.loop_error:.1e}"
        )
