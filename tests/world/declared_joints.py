"""Joints as they were declared, worked out from where bodies are alone: what readings of joints are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.strategies import random_inertia, random_joint, random_pose

import kinemorph as km

KINDS = list(km.JointKind)


def skew(a: Any) -> Any:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def about(a: Any, angle: float) -> Any:
    K = skew(a)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def turned_by(x: Any) -> Any:
    """The rotation of a quaternion w x y z."""
    w, v = x[0], np.asarray(x[1:])
    return (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew(v)


def motion(joint: km.Joint, q: Any, v: Any) -> tuple[Any, Any, Any, Any]:
    """Rotation and position of the second side of a joint seen from the first; angular velocity and that of its
    origin, in its own axes."""
    a, b = joint.axes()
    I, O = np.eye(3), np.zeros(3)
    match joint.kind:
        case km.JointKind.FIXED:
            return I, O, O, O
        case km.JointKind.REVOLUTE:
            return about(a, q[0]), O, a * v[0], O
        case km.JointKind.PRISMATIC:
            return I, a * q[0], O, a * v[0]
        case km.JointKind.SCREW:
            return about(a, q[0]), a * joint.pitch * q[0], a * v[0], a * joint.pitch * v[0]
        case km.JointKind.CYLINDRICAL:
            return about(a, q[0]), a * q[1], a * v[0], a * v[1]
        case km.JointKind.UNIVERSAL:
            R2 = about(b, q[1])
            return about(a, q[0]) @ R2, O, R2.T @ a * v[0] + b * v[1], O
        case km.JointKind.PLANAR:
            R, c = about(a, q[2]), np.cross(a, b)
            return R, b * q[0] + c * q[1], a * v[2], R.T @ (b * v[0] + c * v[1])
        case km.JointKind.SPHERICAL:
            return turned_by(q), O, v, O
    return turned_by(q[3:]), q[:3], v[:3], v[3:]


@dataclass
class Declared:
    """A joint between two bodies, None for the base, and where it is on each."""

    joint: km.Joint
    a: km.Body | None
    b: km.Body
    on_a: km.Pose
    on_b: km.Pose

    def error(self, q: Any, v: Any) -> float:
        """How far a reading is from what bodies do: the largest difference, in m, rad, and each per second."""
        R, p, w, u = motion(self.joint, np.asarray(q), np.asarray(v))
        base = (km.Pose(), np.zeros(6)) if self.a is None else (self.a.pose, self.a.twist)
        first, second = base[0] @ self.on_a, self.b.pose @ self.on_b
        seen = first.inverse() @ second
        spin = self.b.twist[:3] - base[1][:3]
        at_b = self.b.twist[3:] + np.cross(self.b.twist[:3], second.position - self.b.position)
        at_a = base[1][3:] + np.cross(base[1][:3], second.position - base[0].position)
        wrong = [
            seen.rotation - R, seen.position - p, second.rotation.T @ spin - w, second.rotation.T @ (at_b - at_a) - u
        ]  # fmt: skip
        return max(float(np.abs(x).max()) for x in wrong)


def random_tree(
    rng: np.random.Generator, name: str, root: km.JointKind, size: int
) -> tuple[km.Model, dict[str, km.Joint]]:
    """A model of so many links, and its joints by their names, which are those of links."""
    b, joints = km.Builder(name), {}
    for i in range(size):
        kind = root if i == 0 else km.JointKind(int(rng.choice(KINDS)))
        joint = joints[f"{name}{i}"] = random_joint(rng, kind)
        parent = f"{name}{rng.integers(i)}" if i else None
        b.link(f"{name}{i}", parent, joint, random_pose(rng, 0.5), random_inertia(rng))
    return b.build(), joints


def declared(figure: km.Figure, model: km.Model, joints: dict[str, km.Joint]) -> dict[str, Declared]:
    """The joints of a figure, by their names."""
    known = {}
    for i, name in enumerate(model.joint_names):
        l, up = model.links[i], model.parents[i]
        above = None if up < 0 else figure[model.names[up]]
        place = km.Pose(l["p"], l["R"].reshape(3, 3))
        known[name] = Declared(joints[name], above, figure[model.names[i]], place, km.Pose())
    return known
