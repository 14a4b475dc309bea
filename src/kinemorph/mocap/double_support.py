"""Both feet stand: which of them bears how much? The motion does not say, so there are several answers, a band.

- "smooth": each foot presses where feet do: the one behind rolls from where it bore last to its toes, the one in front
  from its heel to where it bears next, in standing both with their middles. Where the centre of pressure of the whole
  lies between these two points says how much each bears, and forces of a step meet in a point above the hips, as those
  of walkers do (Maus et al. 2010). Force plates are met to 5 % of the weight (docs/mocap_methods.md). A load that fades
  by a curve over time (Ren, Jones and Howard 2008) is 15 % off them, and then the foot in front bears behind its heel,
  and its knee too much.
- "least-torque": the smallest joint moments (N&Y section III) among all that the ground can give: forces that press,
  and within the cones of friction, at the four corners of each sole.
- "measured": what force plates say.

The total is exact in all of them: whatever the right foot bears, the left one bears the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kinemorph.mocap.body.body import Foot
from kinemorph.mocap.body.inertias import OTHER, SIDES
from kinemorph.mocap.contact import Contacts, Phase
from kinemorph.mocap.support import Support, centre_of_pressure, shift_wrenches, wrench_at
from kinemorph.mocap.support_handover import STRIKE
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import rotate_all

METHODS = ("smooth", "least-torque", "measured")
PIVOT = 1.4  # how high above the floor forces of both feet meet: so many times as high as the pelvis is
SMALLEST_LOAD_SHARE = 1e-6  # a share that is none
WRENCH_WEIGHT = 1e4  # weight of the total wrench against joint moments


def smooth_share(support: Support, feet: Mapping[str, Foot], turns: Mapping[str, Array]) -> Array:
    """The wrench on the right foot in frames on both feet (both, 6), at its ankle. `turns` are the feet's rotations."""
    right = np.zeros((len(support.both), 6))
    phases = support.contacts.phases
    for i, phase in enumerate(phases):
        if phase.kind != "double":
            continue
        rows = np.searchsorted(support.both, np.arange(phase.start, phase.end))
        before = phases[i - 1].kind if i else ""
        after = phases[i + 1].kind if i + 1 < len(phases) else ""
        both = _DoubleSupport(support, phase, feet, turns)
        if before in SIDES and after == OTHER[before]:
            right[rows] = both.stepping(before)
        else:
            right[rows] = both.standing()
    return right


class _DoubleSupport:
    """A stretch of frames on both feet: the total load, and where the soles are."""

    def __init__(self, support: Support, phase: Phase, feet: Mapping[str, Foot], turns: Mapping[str, Array]) -> None:
        self.support, self.phase = support, phase
        frames = slice(phase.start, phase.end)
        self.ankles = {side: support.ankles[side][frames] for side in SIDES}
        self.floor = support.contacts.floor(self.ankles["left"])
        total = support.alone.wrenches["left"][frames]
        self.force = total[:, 3:]
        self.centre, self.free = centre_of_pressure(total, self.ankles["left"], self.floor)
        self.heels, self.toes, self.soles = {}, {}, {}
        for side, foot in feet.items():
            corners = support_corners(support.contacts, foot, side, np.arange(phase.start, phase.end))
            corners = np.einsum("fij,fcj->fci", turns[side][frames], corners) + self.ankles[side][:, None]
            self.soles[side] = corners
            self.heels[side], self.toes[side] = corners[:, :2].mean(axis=1), corners[:, 2:].mean(axis=1)
        self.middles = {side: 0.5 * (self.heels[side] + self.toes[side]) for side in SIDES}
        pressed = (self.force[:, 2] > 0.0) & np.isfinite(self.centre).all(axis=1)  # else there is no such centre
        middle = 0.5 * (self.middles["left"] + self.middles["right"])
        self.centre = np.where(pressed[:, None], self.centre, middle)
        self.free = np.where(pressed, self.free, 0.0)

    def stepping(self, behind: str) -> Array:
        """The wrench on the right foot at its ankle while the load goes to the foot in front."""
        front, first, last = OTHER[behind], self.phase.start - 1, self.phase.end
        leaves, lands = self._alone(behind, first), self._nearest(front, self._alone(front, last))
        passed = (np.arange(1, last - first) / (last - first))[:, None]
        strikes = self.heels[front] + STRIKE * (self.toes[front] - self.heels[front])
        points = {behind: leaves + passed * (self.toes[behind] - leaves), front: strikes + passed * (lands - strikes)}
        share = self._share(points)
        q = self.support.motion.q[first + 1 : last]
        ahead = rotate_all(q[:, 3:7], np.array([1.0, 0.0, 0.0])) * [1.0, 1.0, 0.0]
        ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
        height = PIVOT * (q[:, 2] - self.floor)[:, None]
        beyond = ((points["right"] - points["left"]) * ahead).sum(axis=1, keepdims=True)  # of the left foot's force
        lean = -share * (1.0 - share) * self.force[:, 2:] * beyond / np.maximum(height, 1e-9)
        return self._split(share, share * self.force + lean * ahead, points)

    def standing(self) -> Array:
        """The wrench on the right foot at its ankle in standing: all forces are shared as the load is."""
        share = self._share(self.middles)
        return self._split(share, share * self.force, self.middles)

    def _alone(self, side: str, frame: int) -> Array:
        """Where a foot presses that bears all in a frame; below its ankle if nothing presses."""
        ankle, wrench = self.support.ankles[side][[frame]], self.support.alone.wrenches[side][[frame]]
        point, _ = centre_of_pressure(wrench, ankle, self.support.contacts.floor(ankle))
        return np.asarray(point[0] if wrench[0, 5] > 0.0 else ankle[0])

    def _share(self, points: Mapping[str, Array]) -> Array:
        """The right foot's share of the load (frames, 1), if feet press there: where the centre lies between them."""
        apart = (points["right"] - points["left"]) * [1.0, 1.0, 0.0]
        along = ((self.centre - points["left"]) * apart).sum(axis=1) / np.maximum((apart**2).sum(axis=1), 1e-9)
        return np.asarray(np.clip(along, 0.0, 1.0)[:, None])

    def _split(self, share: Array, force: Array, points: Mapping[str, Array]) -> Array:
        """The wrench on the right foot at its ankle, for its share of the load, and where feet should press.

        Both points are shifted alike until they make the total. Where that leads off the sole of the foot that bears
        less, it stays there.
        """
        a, b = points["left"], points["right"]
        gap = self.centre - (1.0 - share) * a - share * b
        less = share < 0.5  # the right foot: then the left one bears what is left over, else the right one
        beside = self._across(self._nearest("right", b + gap), 1.0 - share)
        a = self._nearest("left", np.where(less, a + gap, beside))
        b = self._across(a, share)
        point = np.where(less, self._nearest("right", b), b)
        point[:, 2] = self.floor
        return wrench_at(point, force, share[:, 0] * self.free, self.ankles["right"])

    def _across(self, other: Array, share: Array) -> Array:
        """Where a foot must press that bears a share of the load, if the other one presses there."""
        return np.asarray((self.centre - (1.0 - share) * other) / np.maximum(share, SMALLEST_LOAD_SHARE))

    def _nearest(self, side: str, point: Array) -> Array:
        """The nearest point of a sole, seen from above."""
        heel, toe, corners = self.heels[side], self.toes[side], self.soles[side]
        found = heel.copy()
        for axis, low, high in ((toe - heel, 0.0, 1.0), (corners[:, 0] - corners[:, 1], -0.5, 0.5)):
            flat = axis * [1.0, 1.0, 0.0]
            share = ((point - heel) * flat).sum(axis=1) / np.maximum((flat**2).sum(axis=1), 1e-9)
            found = found + np.clip(share, low, high)[:, None] * flat
        return found


def least_torque_share(
    support: Support, feet: Mapping[str, Foot], turns: Mapping[str, Array], friction: float
) -> tuple[Array, Array]:
    """The wrench on the right foot (both, 6) for the least joint moments, and the error of the total force.

    `turns` are the rotations of the feet (frames, 3, 3). The second result is the error of the total force, as a share
    of it: not zero where no forces within the cones make the motion.
    """
    from scipy.optimize import nnls

    model = support.stances["left"].seen.model
    weight = model.mass * float(np.linalg.norm(model.gravity))
    edges = np.array([[friction, 0, 1], [-friction, 0, 1], [0, friction, 1], [0, -friction, 1]]) * weight
    right, missed = np.zeros((len(support.both), 6)), np.zeros(len(support.both))
    grips = {side: _friction_wrenches(support, feet[side], side, turns[side], edges) for side in SIDES}
    apart = support.ankles["left"][support.both] - support.ankles["right"][support.both]
    across = shift_wrenches(grips["right"], np.broadcast_to(apart[:, None], (*grips["right"].shape[:2], 3)))
    stance = support.stances["left"]
    for row, frame in enumerate(support.both):
        left_grip, right_grip, at_left = grips["left"][row], grips["right"][row], across[row]
        J, tau = support.J[row][:, 6:], stance.tau[support.rows[row], 6:]
        used = np.abs(J).max(axis=0) > 0.0
        rows_total = WRENCH_WEIGHT * np.concatenate([left_grip, at_left]).T
        rows_tau = np.concatenate([np.zeros((len(left_grip), used.sum())), right_grip @ J[:, used]]).T
        total = support.alone.wrenches["left"][frame]
        try:
            factors, _ = nnls(
                np.concatenate([rows_total, rows_tau]), np.concatenate([WRENCH_WEIGHT * total, tau[used]])
            )
        except RuntimeError:  # it goes round in circles: half of the load for each, and all of it counts as missed
            right[row], missed[row] = shift_wrenches(0.5 * total, -apart[row]), 1.0
            continue
        right[row] = factors[len(left_grip) :] @ right_grip
        bears = factors @ np.concatenate([left_grip, at_left])
        missed[row] = float(np.linalg.norm(bears - total)) / max(float(np.linalg.norm(total[3:])), 1e-9)
    return right, missed


def _friction_wrenches(support: Support, foot: Foot, side: str, turn: Array, edges: Array) -> Array:
    """Unit wrenches that the ground can give to a foot, at its ankle: (both, 16, 6), four edges at four corners."""
    frames = support.both
    corners = support_corners(support.contacts, foot, side, frames)
    arms = np.einsum("fij,fcj->fci", turn[frames], corners)
    ankle = support.ankles[side][frames]
    places = arms + ankle[:, None]
    arms[..., 2] = support.contacts.floor(places) - ankle[:, None, 2]  # soles are not known to the centimetre
    force = np.broadcast_to(edges, (len(frames), 4, 4, 3))
    moment = np.cross(np.broadcast_to(arms[:, :, None], force.shape), force)
    return np.concatenate([moment, force], axis=-1).reshape(len(frames), 16, 6)


def support_corners(contacts: Contacts, foot: Foot, side: str, frames: npt.NDArray[np.intp]) -> Array:
    """The corners of what a foot stands on (frames, 4, 3), in its frame: the sole, or a part if heel or toes rise."""
    heel, ball = contacts.heels[side][frames], contacts.balls[side][frames]
    corners = np.broadcast_to(foot.corners, (len(frames), 4, 3)).copy()
    half = np.array([0.0, 0.5 * foot.breadth, 0.0])
    corners[~heel & ball, :2] = foot.ball + half, foot.ball - half
    corners[heel & ~ball, 2:] = foot.ball - half, foot.ball + half
    return corners


def measured_share(support: Support, forces: Mapping[str, Array]) -> Array:
    """The wrench on the right foot (both, 6), at its ankle, from measured [moment, force] at the world's origin."""
    count = len(support.contacts.feet["left"])
    right = np.asarray(forces.get("right"), dtype=np.float64) if "right" in forces else None
    if right is None or right.shape != (count, 6) or not np.isfinite(right).all():
        raise ValueError(
            f"measured forces need 'right', an array of shape {(count, 6)}: moment and force at the origin"
        )
    return shift_wrenches(right[support.both], support.ankles["right"][support.both])
