"""Result of a change of structure: new model and state, maps of indices from old to new, and measured errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinemorph._extras import in_notebooks
from kinemorph.constraint.loops import loop_errors
from kinemorph.multibody.checks import Array
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.annotated import checked_first

Indices = np.ndarray[tuple[int], np.dtype[np.int32]]
TURNING_AXES_KINDS = (JointKind.SPHERICAL, JointKind.PLANAR, JointKind.FREE)  # with the link that the joint carries


@checked_first
@dataclass(frozen=True, eq=False)
class ModelEdit:
    """A change of structure. Model and state are new; the old model and state stay as they were.

    `model` is the changed model. `q_map[i]` is the index in the new q of entry i of the old one, -1 if there is none;
    likewise `v_map` for v, a and tau, `link_map` for links, and `loop_map` for loops. Where a joint is inverted its
    entries change sign; the entries of a spherical, planar or free joint are those of the inverse motion. Links, joints
    and loops keep their names.
    """

    model: Model
    state: State
    before: Model
    joint: str = ""  # name of the new joint, of a tree or of a loop; a later `cut` takes it
    impulse: Array = field(default_factory=lambda: np.zeros(6))  # moment, impulse on b at the new joint, world axes
    jump: Array = field(default_factory=lambda: np.zeros(0))  # of the new v; entries of a new joint count from zero
    energy_lost: float = 0.0  # J, of the impact
    pose_error: float = 0.0  # m and rad: largest difference of a body's pose before and after
    twist_error: float = 0.0  # m/s and rad/s: likewise for velocities, the jump left out
    momentum_error: float = 0.0  # N s and N m s: of all coupled trees, if no joint ties them to the base

    @cached_property
    def link_map(self) -> Indices:
        """The new index of each old link."""
        found: Indices = self.model.bodies["link"][self.before.links["body"]].astype(np.int32)
        return found

    @cached_property
    def q_map(self) -> Indices:
        """The new index of each entry of the old q."""
        return self._entries("iq", "nq", self.before.nq)

    @cached_property
    def v_map(self) -> Indices:
        """The new index of each entry of the old v."""
        return self._entries("iv", "nv", self.before.nv)

    @cached_property
    def loop_map(self) -> Indices:
        """The new index of each old loop."""
        where = {joint: i for i, joint in enumerate(self.model.loop_rows["joint"].tolist())}
        return np.array([where.get(joint, -1) for joint in self.before.loop_rows["joint"].tolist()], dtype=np.int32)

    @cached_property
    def _carried(self) -> Indices:
        """The new link that the joint of each old link carries, -1 if the joint is gone."""
        where = np.full(len(self.model.catalog.joints), -1, dtype=np.int32)
        where[self.model.links["joint"]] = np.arange(self.model.n)
        found: Indices = where[self.before.links["joint"]]
        return found

    def _entries(self, start: str, size: str, total: int) -> Indices:
        """The new indices of the joints' entries; the two angles of an inverted universal joint are swapped."""
        old, new = self.before.links, self.model.links
        entries = np.full(total, -1, dtype=np.int32)
        kept = np.flatnonzero(self._carried >= 0)
        to = self._carried[kept]
        firsts, sizes, ends = old[start][kept], old[size][kept], new[start][to]
        swaps = (old["kind"][kept] == JointKind.UNIVERSAL) & (old["turned"][kept] != new["turned"][to])
        for k in range(int(sizes.max(initial=0))):
            has = sizes > k
            entries[firsts[has] + k] = ends[has] + (k ^ swaps[has])
        return entries

    @cached_property
    def misled(self) -> tuple[str, ...]:
        """Joints that carry a constant force and whose axes now turn with the other link.

        `state.tau` is right at this instant, a tau that is computed from the state at every instant.
        """
        tau: Any = self.state.tau
        if tau is None or not np.any(tau):
            return ()
        found = []
        for i in np.flatnonzero(self._carried >= 0).tolist():
            l, to = self.before.links[i], self.model.links[self._carried[i]]
            turns = l["kind"] in TURNING_AXES_KINDS and l["turned"] != to["turned"]
            if turns and tau[to["iv"] : to["iv"] + to["nv"]].any():
                found.append(self.before.joint_names[i])
        return tuple(found)

    @cached_property
    def loop_error(self) -> float:
        """The largest error of a loop after the change (m or rad)."""
        if not len(self.model.loop_rows):
            return 0.0
        return float(np.abs(loop_errors(self.model, Data(self.model), self.state.q)).max(initial=0.0))

    _repr_html_ = in_notebooks("report")

    def __repr__(self) -> str:
        return (
            f"ModelEdit: {self.model!r}, energy lost {self.energy_lost:.3g} J, residuals: pose {self.pose_error:.1e}, "
            f"twist {self.twist_error:.1e}, momentum {self.momentum_error:.1e}, loops {self.loop_error:.1e}"
        )
