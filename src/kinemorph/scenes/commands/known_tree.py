"""A small tree with every kind of joint and its accelerations as the slow oracle of the tests computes them."""

from __future__ import annotations

import numpy as np

from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose

JOINTS = {
    "free": Joint.free(),
    "revolute": Joint.revolute((0.0, 0.6, 0.8), armature=0.02),
    "prismatic": Joint.prismatic("x"),
    "screw": Joint.screw((1.0, 0.0, 1.0), pitch=0.1),
    "cylindrical": Joint.cylindrical("y"),
    "universal": Joint.universal("x", (0.2, 1.0, 0.0)),
    "planar": Joint.planar((0.0, 0.0, 1.0), "x"),
    "spherical": Joint.spherical(),
    "fixed": Joint.fixed(),
}


def every_joint() -> Model:
    """Each link hangs on the one two before it, so that there are branches."""
    b = Builder("every joint")
    names = list(JOINTS)
    for i, (name, joint) in enumerate(JOINTS.items()):
        at = Pose.rpy(0.3 * i, -0.2, 0.1 * i, (0.1, 0.05 * i, -0.3))
        parent = None if i == 0 else names[max(0, i - 2)]
        b.link(name, parent, joint, at, Inertia.box(1.0 + 0.1 * i, (0.1, 0.2, 0.3), (0.02, 0.01 * i, -0.1)))
    return b.build()


def state(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fixed q, v and tau that are not special in any way."""
    q = 0.4 * np.sin(1.0 + 1.7 * np.arange(model.nq))
    for l in model.links[model.links["nq"] > model.links["nv"]]:  # quaternions have length one
        end = l["iq"] + l["nq"]
        q[end - 4 : end] /= np.linalg.norm(q[end - 4 : end])
    return q, 0.5 * np.cos(2.3 * np.arange(model.nv)), np.sin(0.9 * np.arange(model.nv))


# computed once by tests/naive/dynamics.py, which shares no code with the kernels; a test compares the two again
ACCELERATIONS: tuple[float, ...] = (
    1.8533708661884587, 6.758873356009657, 2.4938152706755092, 10.707606517940276, -0.21986017271964917,
    2.662820784845486, -7.431873913353186, -13.352235661993666, 28.54549259661061, 24.156858262932957,
    19.306009393490836, -10.36571316466077, -87.81432366443444, 2.780158117122198, -8.924539561003135,
    0.4022313834997361, 1.9467553288027848, -0.071528534418694, -13.923228977177223,
)  # fmt: skip
