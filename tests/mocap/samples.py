"""Bodies and motions for tests of motion capture."""

from __future__ import annotations

from functools import cache

import numpy as np

import kinemorph as km
from kinemorph.mocap.body.anthropometry import table_of
from kinemorph.mocap.body.body import Body
from kinemorph.mocap.body.figure import assemble, upright
from kinemorph.mocap.body.inertias import Bone
from kinemorph.mocap.contact import Contacts

FEET = ("left", "right")


@cache
def walk() -> km.mocap.Analysis:
    """The walk that comes with kinemorph, analysed."""
    return km.mocap.analyse(km.mocap.walk_file())


def body(q: np.ndarray | None = None, dt: float = 0.01) -> Body:
    """A figure whose joints are all balls, as a recorded one's are."""
    like = walk().body
    bones = {name: Bone(bone.parent, bone.at, bone.end) for name, bone in upright().items()}
    model = assemble(bones, table_of(), 70.0, 1.75).build()
    motion = np.tile(km.neutral(model), (10, 1)) if q is None else q
    return Body(model, motion, dt, like.feet, 70.0, 1.75, 1.0, 0.0, ())


def standing(frames: int, *feet: str) -> Contacts:
    """The same feet stand all the time."""
    flags = {side: np.full(frames, side in feet) for side in FEET}
    return Contacts(flags, flags, flags, 0.0, np.zeros(2))


def by_name(model: km.Model, values: np.ndarray, of: km.Model) -> np.ndarray:
    """Joint forces (frames, nv) of a model with the same joints, in the order of another; none at the root."""
    found = np.zeros((len(values), of.nv))
    for i, name in enumerate(of.joint_names):
        if of.links[i]["parent"] >= 0:
            found[:, of.v_slice(i)] = values[:, model.v_slice(name)]
    return found
