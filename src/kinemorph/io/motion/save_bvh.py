"""BVH out of a model's motion: trees whose joints turn, with one root that may go anywhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinemorph.io.motion.bvh import Bvh, BvhJoint
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.algorithms.kinematics import kinematics
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_positive
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import rotate_all, to_matrices

TURNING = (JointKind.FIXED, JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL)
ORDER = ("Zrotation", "Xrotation", "Yrotation")
LIE = np.array([0.5, -0.5, -0.5, -0.5])  # from z up, x forward to y up, z forward


@checked_first
def bvh_of(
    model: Model, q: npt.ArrayLike, dt: float, unit: float = 0.01, names: dict[str, str] | None = None, name: str = ""
) -> Bvh:
    """A motion (frames, nq) of a model as BVH: y is up, lengths are in `unit` metres, links are joints by name.

    `names` calls some links otherwise; frames of the model that are the only ones on a link without children become
    its end site. The skeleton is that of the model with all joints at zero.
    """
    unit = check_positive("bvh_of: unit", unit)
    frames = np.asarray(q, dtype=np.float64)
    if frames.ndim != 2:
        raise ValueError(f"bvh_of: q has shape {frames.shape}, and must be frames of {model.nq} numbers")
    parents = model.links["parent"].tolist()
    if parents.count(-1) != 1:
        raise ValueError(f"model {model.name!r} has {parents.count(-1)} trees; a BVH file holds one")
    for i, l in enumerate(model.links):
        if JointKind(l["kind"]) not in TURNING and parents[i] >= 0:
            kind = JointKind(l["kind"]).name.lower()
            raise ValueError(f"model {model.name!r}: joint {model.joint_names[i]!r} is {kind}; BVH's joints only turn")
    data = Data(model)
    kinematics(model, data, neutral(model))
    R0, p0 = data.links["R"].reshape(-1, 3, 3).copy(), data.links["p"].copy()
    R, p = np.empty((len(frames), model.n, 3, 3)), np.empty((len(frames), 3))
    for k, row in enumerate(frames):
        kinematics(model, data, row)
        R[k], p[k] = data.links["R"].reshape(-1, 3, 3), data.links["p"][0]
    world = R @ np.swapaxes(R0, 1, 2)  # from where nothing is turned
    lie = to_matrices(LIE)
    joints, columns = [], [rotate_all(np.broadcast_to(LIE, (len(p), 4)), p) / check_positive("bvh_of: unit", unit)]
    tips = {link: at for link, at in model.frames.values() if link >= 0}
    for i, link in enumerate(model.names):
        parent = parents[i]
        offset = lie @ (p0[i] - p0[parent]) / unit if parent >= 0 else np.zeros(3)
        local = world[:, i] if parent < 0 else np.swapaxes(world[:, parent], 1, 2) @ world[:, i]
        columns.append(np.degrees(angles(lie @ local @ lie.T)))
        ends = () if i in parents or i not in tips else (_triple(lie @ (R0[i] @ tips[i].position) / unit),)
        position = ("Xposition", "Yposition", "Zposition") if parent < 0 else ()
        called = (names or {}).get(link, link)
        joints.append(BvhJoint(called, parent, _triple(offset), (*position, *ORDER), ends))
    return Bvh(tuple(joints), np.concatenate(columns, axis=1), dt, name or model.name)


def angles(R: Array) -> Array:
    """Angles about z, then x, then y of rotation matrices (..., 3, 3), without jumps along the first axis."""
    x = np.arcsin(np.clip(R[..., 2, 1], -1.0, 1.0))
    z = np.arctan2(-R[..., 0, 1], R[..., 1, 1])
    y = np.arctan2(-R[..., 2, 0], R[..., 2, 2])
    return np.unwrap(np.stack([z, x, y], axis=-1), axis=0)


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
