"""The same tree in Pinocchio and in kinemorph, with what it takes to compare them."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from kinemorph import Builder, Data, Inertia, Joint, JointKind, Model, Pose

Array = np.ndarray
AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]  # picks our order from Pinocchio's, and the other way round


def joint_of(joint: pin.JointModel) -> Joint:
    """Our joint for one of Pinocchio's."""
    kind = joint.shortname().removeprefix("JointModel")
    real = joint.extract()
    if kind == "FreeFlyer":
        return Joint.free()
    if kind == "Spherical":
        return Joint.spherical()
    if kind == "Planar":
        return Joint.planar()
    if kind == "Universal":
        return Joint.universal(real.axis1, real.axis2)
    axis = real.axis if kind.endswith("Unaligned") else AXES[kind[-1]]
    if kind.startswith("H"):
        return Joint.screw(axis, real.pitch)
    return Joint.prismatic(axis) if kind.startswith("P") else Joint.revolute(axis)


def pose_of(placement: pin.SE3) -> Pose:
    return Pose(placement.translation, placement.rotation)


class Twin:
    """A Pinocchio model with a kinemorph model of the same tree, whose joints have the same names.

    Without a given one it is made from Pinocchio's: one link a joint, and frame i of Pinocchio is "frame i".
    """

    def __init__(self, peer: pin.Model, model: Model | None = None) -> None:
        self.peer = peer
        self.peer_data = peer.createData()
        self.model = model or self._copy().build(lenient=True)
        self.data = Data(self.model)
        self.massless = self._copy().massless()
        self.joints = [
            (peer.joints[i], JointKind(self.model.links["kind"][self.model.joint(name)]), name)
            for i, name in enumerate(peer.names)
            if i
        ]

    def _copy(self) -> Builder:
        peer = self.peer
        builder = Builder(peer.name, peer.gravity.linear)
        for i in range(1, peer.njoints):
            inertia, parent = peer.inertias[i], peer.parents[i]
            joint = joint_of(peer.joints[i])
            builder.link(
                peer.names[i],
                peer.names[parent] if parent else None,
                Joint(joint.kind, joint.axis, joint.axis2, joint.pitch, armature=self._armature(i)),
                pose_of(peer.jointPlacements[i]),
                Inertia.unchecked(inertia.mass, inertia.lever, inertia.inertia),
            )
        for i, frame in enumerate(peer.frames):
            link = peer.names[frame.parentJoint] if frame.parentJoint else None
            builder.frame(f"frame {i}", link, pose_of(frame.placement))
        return builder

    def _armature(self, i: int) -> Array:
        joint = self.peer.joints[i]
        armature = self.peer.armature[joint.idx_v : joint.idx_v + joint.nv]
        return armature[ANGULAR_FIRST] if joint.nv == 6 else armature

    def q(self, ours: Array) -> Array:
        """Our q as Pinocchio writes it."""
        q = np.full(self.peer.nq, np.nan)
        for joint, kind, name in self.joints:
            x = ours[self.model.q_slice(name)]
            if kind in (JointKind.SPHERICAL, JointKind.FREE):
                x = np.r_[x[:-4], x[-3:], x[-4]]
            elif kind is JointKind.PLANAR:
                x = np.array([x[0], x[1], np.cos(x[2]), np.sin(x[2])])
            elif joint.nq > joint.nv:
                x = np.array([np.cos(x[0]), np.sin(x[0])])
            q[joint.idx_q : joint.idx_q + joint.nq] = x
        return q

    def T(self, ours: Array) -> Array:
        """The matrix with v(Pinocchio) = T v(ours)."""
        T = np.zeros((self.peer.nv, self.model.nv))
        for joint, kind, name in self.joints:
            block = np.eye(joint.nv)
            if kind is JointKind.FREE:
                block = block[ANGULAR_FIRST]
            elif kind is JointKind.PLANAR:  # its velocity is in the link's axes, ours in the joint frame's
                angle = ours[self.model.q_slice(name)][2]
                c, s = np.cos(angle), np.sin(angle)
                block[:2, :2] = [[c, s], [-s, c]]
            T[joint.idx_v : joint.idx_v + joint.nv, self.model.v_slice(name)] = block
        return T

    def a(self, q: Array, v: Array, a: Array) -> Array:
        """Our acceleration as Pinocchio writes it: T a + dT/dt v"""
        T = self.T(q)
        turning, velocity = np.zeros(self.peer.nv), T @ v
        for joint, kind, _ in self.joints:
            if kind is JointKind.PLANAR:
                x, y, w = velocity[joint.idx_v : joint.idx_v + 3]
                turning[joint.idx_v : joint.idx_v + 2] = [w * y, -w * x]
        return T @ a + turning

    def a_back(self, q: Array, v: Array, a: Array) -> Array:
        """Pinocchio's acceleration as we write it."""
        return np.linalg.solve(self.T(q), a - self.a(q, v, np.zeros(self.model.nv)))


def random_peer(rng: np.random.Generator, n: int, armature: bool = False) -> pin.Model:
    """A Pinocchio model with all kinds of joints that kinemorph has too."""
    peer = pin.Model()
    peer.name = "random"
    peer.gravity = pin.Motion(rng.normal(size=3) * 5.0, np.zeros(3))
    makers = [
        pin.JointModelFreeFlyer, pin.JointModelSpherical, pin.JointModelPlanar, pin.JointModelRX, pin.JointModelPY,
        pin.JointModelRUBZ, pin.JointModelHY,
    ]  # fmt: skip
    for i in range(n):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        across = np.cross(axis, [0.3, 0.5, -0.7])
        across /= np.linalg.norm(across)
        made = [make() if make is not pin.JointModelHY else make(0.2) for make in makers]
        made += [
            pin.JointModelRevoluteUnaligned(axis),
            pin.JointModelPrismaticUnaligned(axis),
            pin.JointModelHelicalUnaligned(axis, 0.1),
            pin.JointModelUniversal(axis, across),
        ]
        parent = peer.njoints - 1
        while parent and rng.random() < 0.3:  # Pinocchio wants each subtree in one piece
            parent = peer.parents[parent]
        joint = peer.addJoint(parent, made[(i + int(rng.integers(2))) % len(made)], pin.SE3.Random(), f"joint{i}")
        peer.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
        peer.addFrame(pin.Frame(f"frame{i}", joint, pin.SE3.Random(), pin.FrameType.OP_FRAME))
        added = peer.joints[joint]
        if armature and "Planar" not in added.shortname():  # whose velocities, and so its armatures, are not ours
            peer.armature[added.idx_v : added.idx_v + added.nv] = rng.uniform(0.1, 0.5, added.nv)
    return peer
