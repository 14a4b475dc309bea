"""The same model in Pinocchio, with or without loops, built from our model's own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import kinemorph as km

KINDS = {
    km.JointKind.REVOLUTE: lambda l: pin.JointModelRevoluteUnaligned(l["axis"]),
    km.JointKind.PRISMATIC: lambda l: pin.JointModelPrismaticUnaligned(l["axis"]),
    km.JointKind.UNIVERSAL: lambda l: pin.JointModelUniversal(l["axis"], l["axis2"]),
    km.JointKind.SPHERICAL: lambda l: pin.JointModelSpherical(),
    km.JointKind.FREE: lambda l: pin.JointModelFreeFlyer(),
}


def tree(model: km.Model) -> pin.Model:
    """Pinocchio's model: joint i + 1 carries link i. Joints of the kinds above only."""
    peer = pin.Model()
    peer.name = model.name
    peer.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    for l, name in zip(model.links, model.joint_names, strict=True):
        joint = KINDS[km.JointKind(l["kind"])](l)
        i = peer.addJoint(int(l["parent"]) + 1, joint, pin.SE3(l["R"].reshape(3, 3), l["p"]), name)
        mass = float(l["mass"])
        com = l["h"] / mass if mass else np.zeros(3)
        I = l["I"][[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3) - mass * (com @ com * np.eye(3) - np.outer(com, com))
        peer.appendBodyToJoint(i, pin.Inertia(mass, com, I), pin.SE3.Identity())
    return peer


class Closed:
    """A model with loops in Pinocchio.

    A spherical joint in a loop is one of its contacts, and so is a weld; a hinge is two points on its axis that stay
    together, one row more than it needs.
    """

    def __init__(self, model: km.Model) -> None:
        self.peer = tree(model)
        self.data = self.peer.createData()
        self.to = km.convert.pinocchio(model, self.peer)
        self.constraints = pin.StdVec_RigidConstraintModel()
        self.loop_of: list[int] = []
        for i, (row, loop) in enumerate(zip(model.loop_rows, model.loops, strict=True)):
            kind = pin.ContactType.CONTACT_3D
            shifts = [np.zeros(3)]
            if loop.joint.kind is km.JointKind.FIXED:
                kind = pin.ContactType.CONTACT_6D
            elif loop.joint.kind is km.JointKind.REVOLUTE:
                shifts = [0.3 * row["axis"], -0.3 * row["axis"]]
            elif loop.joint.kind is not km.JointKind.SPHERICAL:
                raise ValueError(f"Pinocchio has no constraint for a {loop.joint.kind.name.lower()} joint")
            for shift in shifts:
                a, b = (
                    pin.SE3(row[R].reshape(3, 3), row[p]) * pin.SE3(np.eye(3), shift)
                    for R, p in (("Ra", "pa"), ("Rb", "pb"))
                )
                ends = int(row["a"]) + 1, a, int(row["b"]) + 1, b
                self.constraints.append(pin.RigidConstraintModel(kind, self.peer, *ends, pin.ReferenceFrame.LOCAL))
                self.loop_of.append(i)
        self.constraint_data = pin.StdVec_RigidConstraintData([c.createData() for c in self.constraints])
        pin.initConstraintDynamics(self.peer, self.data, self.constraints, self.constraint_data)

    def arguments(self, q: Any, v: Any, tau: Any, damping: float = 0.0, turns: int = 1) -> tuple[Any, ...]:
        """Those of pin.constraintDynamics. Where rows depend on each other it needs damping, and turns to undo it."""
        states = self.to.q(q), self.to.v(q, v), self.to.tau(q, tau)
        settings = pin.ProximalSettings(1e-14, damping, turns)
        return (self.peer, self.data, *states, self.constraints, self.constraint_data, settings)

    def accelerations(self, q: Any, v: Any, tau: Any, damping: float = 0.0, turns: int = 1) -> Any:
        """What Pinocchio says, in our coordinates."""
        arguments = self.arguments(q, v, tau, damping, turns)
        return self.to.a_back(arguments[2], arguments[3], pin.constraintDynamics(*arguments))
