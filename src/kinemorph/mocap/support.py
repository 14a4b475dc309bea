"""Support-rooted inverse dynamics of a recorded motion (SPW section 7.1): the foot that stands is the root.

Rooted at the pelvis, inverse dynamics puts all that holds the body on the pelvis, and no joint moment is true. Here
each frame is re-rooted at a foot that stands, through a free joint, for the foot may roll: the force of that joint is
what the ground does, and all other joints have their own. Where both feet stand the load is shared (`sharing`); in
flight nothing holds the body, and what is left on the root is the error of the recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinemorph.mocap.body.inertias import SIDES
from kinemorph.mocap.contact import Contacts
from kinemorph.mocap.smooth import Motion
from kinemorph.motion.parallel import batch
from kinemorph.multibody.algorithms.jacobian import jacobian
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import rotate_all
from kinemorph.structure.reroot_motion import Rerooted, reroot_motion


@checked_first
@dataclass(frozen=True, eq=False)
class Loads:
    """Forces in all frames: those of joints, in the coordinates of the model, and of the ground on each foot.

    `wrenches` are [moment, force] on a foot at its ankle, world axes, by side. `tau` of the root is zero but for
    flight, where it is what the recording cannot explain; so it is wherever no foot stands.
    """

    tau: Array  # (frames, nv)
    wrenches: Mapping[str, Array]  # (frames, 6) each


@dataclass(frozen=True, eq=False)
class Stance:
    """Frames in which one foot is the root and bears all, before another takes its share."""

    side: str
    frames: npt.NDArray[np.intp]
    seen: Rerooted  # the motion from this foot, without forces
    tau: Array  # (frames, nv) of its model
    wrench: Array  # (frames, 6) of the ground on the foot, at the ankle, world axes


def stance_of(model: Model, motion: Motion, frames: npt.NDArray[np.intp], side: str, ankles: Array) -> Stance:
    """The frames in which a foot is the root. `ankles` are where its own frame is (frames, 3)."""
    foot = f"{side} foot"
    seen = reroot_motion(model, motion.q[frames], motion.v[frames], motion.a[frames], foot)
    tau = batch.rnea(seen.model, seen.q, seen.v, seen.a)
    turn, origin = seen.q[:, 3:7], seen.q[:, :3]
    moment, force = rotate_all(turn, tau[:, :3]), rotate_all(turn, tau[:, 3:6])
    moment = moment + np.cross(origin - ankles, force)
    return Stance(side, frames, seen, tau, np.concatenate([moment, force], axis=1))


def shift_wrenches(wrench: Array, by: Array) -> Array:
    """The same wrenches [moment, force] at points that lie `by` further."""
    found = wrench.copy()
    found[..., :3] -= np.cross(by, wrench[..., 3:])
    return found


def jacobians(stance: Stance, chosen: npt.NDArray[np.intp], other: str) -> Array:
    """Of some of its frames, the Jacobian of the other foot's ankle in the model that is rooted at this foot."""
    model, data = stance.seen.model, Data(stance.seen.model)
    found = np.empty((len(chosen), 6, model.nv))
    for row, k in enumerate(chosen):
        found[row] = jacobian(model, data, stance.seen.q[k], f"{other} foot")
    return found


def forces_at_pelvis_root(model: Model, stance: Stance, chosen: npt.NDArray[np.intp], tau: Array) -> Array:
    """Forces of the joints, as the model that is rooted at the pelvis has them; its root has none."""
    seen = stance.seen
    back = reroot_motion(seen.model, seen.q[chosen], seen.v[chosen], seen.a[chosen], model.names[0], tau)
    found = np.zeros((len(chosen), model.nv))
    for i, name in enumerate(model.joint_names):
        if model.links[i]["parent"] >= 0:
            found[:, model.v_slice(i)] = back.tau[:, back.model.v_slice(name)]
    return found


@dataclass(frozen=True, eq=False)
class Support:
    """A motion, rooted at the feet that stand: what is certain, and where the load must be shared."""

    model: Model
    motion: Motion
    contacts: Contacts
    ankles: Mapping[str, Array]  # (frames, 3)
    stances: Mapping[str, Stance]  # by side; frames on both feet are the left one's
    alone: Loads  # of all frames; of those on both feet only the wrench is there, as if it were all on the left foot
    both: npt.NDArray[np.intp]  # the frames on both feet,
    rows: npt.NDArray[np.intp]  # and which of the left stance's they are
    J: Array  # (both, 6, nv) of the right ankle there, in the left stance's model

    def shared(self, right: Array) -> Loads:
        """All loads, if the ground does this to the right foot in frames on both feet: [moment, force] at its ankle."""
        stance = self.stances["left"]
        tau, wrenches = self.alone.tau.copy(), {side: w.copy() for side, w in self.alone.wrenches.items()}
        if len(self.both):
            local = stance.tau[self.rows] - np.einsum("fij,fi->fj", self.J, right)
            tau[self.both] = forces_at_pelvis_root(self.model, stance, self.rows, local)
            apart = self.ankles["left"][self.both] - self.ankles["right"][self.both]
            wrenches["right"][self.both] = right
            wrenches["left"][self.both] -= shift_wrenches(right, apart)
        return Loads(tau, wrenches)


def support_of(model: Model, motion: Motion, contacts: Contacts, ankles: Mapping[str, Array]) -> Support:
    """Inverse dynamics of all frames, each rooted where the body stands."""
    kinds = contacts.kinds
    count = len(kinds)
    tau = np.zeros((count, model.nv))
    wrenches = {side: np.zeros((count, 6)) for side in SIDES}
    stances = {}
    for side in SIDES:
        frames = np.flatnonzero((kinds == side) | ((kinds == "double") & (side == "left")))
        stance = stances[side] = stance_of(model, motion, frames, side, ankles[side][frames])
        alone = np.flatnonzero(kinds[frames] == side)
        tau[frames[alone]] = forces_at_pelvis_root(model, stance, alone, stance.tau[alone])
        wrenches[side][frames] = stance.wrench
    flying = np.flatnonzero(kinds == "flight")
    tau[flying] = batch.rnea(model, motion.q[flying], motion.v[flying], motion.a[flying])
    both = np.flatnonzero(kinds == "double")
    rows = np.searchsorted(stances["left"].frames, both)
    J = jacobians(stances["left"], rows, "right")
    return Support(model, motion, contacts, ankles, stances, Loads(tau, wrenches), both, rows, J)


def centre_of_pressure(wrench: Array, ankle: Array, floor: Array) -> tuple[Array, Array]:
    """Where the force goes through the floor (frames, 3), and the free moment about the vertical there."""
    M, F = wrench[:, :3], wrench[:, 3:]
    down = floor - ankle[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (down * F[:, 0] - M[:, 1]) / F[:, 2]
        y = (M[:, 0] + down * F[:, 1]) / F[:, 2]
        free = M[:, 2] - (x * F[:, 1] - y * F[:, 0])
    return np.stack([ankle[:, 0] + x, ankle[:, 1] + y, floor], axis=1), free


def wrench_at(point: Array, force: Array, free: Array, ankle: Array) -> Array:
    """The inverse: [moment, force] at the ankle of a force through a point and a free moment about the vertical."""
    moment = np.cross(point - ankle, force)
    moment[..., 2] += free
    return np.concatenate([moment, force], axis=-1)
