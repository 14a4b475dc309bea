"""How a link is carried by its parent, as users write it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.multibody.layout import NQ, NV, JointKind
from kinemorph.spatial.pose import vector

Number = float | Iterable[float]  # one for all degrees of freedom of a joint, or one each

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class Joint:
    """A joint: its kind, its axes in the joint frame, and what acts on its degrees of freedom.

    `lower`, `upper`: limits of position; `speed`, `effort`: largest allowed; `damping`, `stiffness`, `friction`:
    passive forces; `armature`: inertia of the drive, seen at the joint; `rest`: where the spring is slack.
    """

    kind: JointKind
    axis: str | Iterable[float] = "z"
    axis2: str | Iterable[float] = "x"
    pitch: float = 0.0
    lower: Number = -np.inf
    upper: Number = np.inf
    speed: Number = np.inf
    effort: Number = np.inf
    damping: Number = 0.0
    stiffness: Number = 0.0
    friction: Number = 0.0
    armature: Number = 0.0
    rest: Iterable[float] | float | None = None
    name: str | None = None

    @staticmethod
    def fixed(**more: Any) -> Joint:
        return Joint(JointKind.FIXED, **more)

    @staticmethod
    def revolute(axis: str | Iterable[float] = "z", **more: Any) -> Joint:
        """Rotation about an axis. q: angle."""
        return Joint(JointKind.REVOLUTE, axis, **more)

    @staticmethod
    def prismatic(axis: str | Iterable[float] = "z", **more: Any) -> Joint:
        """Translation along an axis. q: distance."""
        return Joint(JointKind.PRISMATIC, axis, **more)

    @staticmethod
    def screw(axis: str | Iterable[float] = "z", pitch: float = 0.0, **more: Any) -> Joint:
        """Rotation about an axis that advances by `pitch` metres per radian. q: angle."""
        return Joint(JointKind.SCREW, axis, pitch=pitch, **more)

    @staticmethod
    def cylindrical(axis: str | Iterable[float] = "z", **more: Any) -> Joint:
        """Rotation about and translation along one axis. q: angle, distance."""
        return Joint(JointKind.CYLINDRICAL, axis, **more)

    @staticmethod
    def universal(axis: str | Iterable[float] = "x", axis2: str | Iterable[float] = "y", **more: Any) -> Joint:
        """Rotation about `axis`, fixed in the parent, then about `axis2`, fixed in the link. q: two angles."""
        return Joint(JointKind.UNIVERSAL, axis, axis2, **more)

    @staticmethod
    def planar(normal: str | Iterable[float] = "z", along: str | Iterable[float] = "x", **more: Any) -> Joint:
        """Motion in a plane. q: distance along `along`, distance along normal x along, angle about `normal`."""
        return Joint(JointKind.PLANAR, normal, along, **more)

    @staticmethod
    def spherical(**more: Any) -> Joint:
        """Any rotation. q: quaternion w x y z; v: angular velocity in the link's frame."""
        return Joint(JointKind.SPHERICAL, **more)

    @staticmethod
    def free(**more: Any) -> Joint:
        """Any motion. q: position, quaternion w x y z; v: angular, then linear velocity, in the link's frame."""
        return Joint(JointKind.FREE, **more)

    @property
    def nq(self) -> int:
        return NQ[self.kind]

    @property
    def nv(self) -> int:
        return NV[self.kind]

    def axes(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Both axes as unit vectors; a planar joint's second is made orthogonal to its first."""
        a = unit(self.axis, "axis")
        b = unit(self.axis2, "axis2")
        if self.kind is JointKind.PLANAR:
            b = b - (a @ b) * a
            if np.linalg.norm(b) < 1e-6:
                raise ValueError(f"planar joint: direction {self.axis2} is parallel to the normal {self.axis}")
            b = b / np.linalg.norm(b)
        if self.kind is JointKind.UNIVERSAL and np.linalg.norm(np.cross(a, b)) < 1e-6:
            raise ValueError(f"universal joint: its axes {self.axis} and {self.axis2} are parallel")
        return a, b

    def per_dof(self, field: str) -> np.ndarray[Any, Any]:
        """A field as one number for each degree of freedom."""
        value = getattr(self, field)
        numbers = np.array(value if np.isscalar(value) else list(value), dtype=np.float64)
        if numbers.ndim and numbers.shape != (self.nv,):
            raise ValueError(f"{field}: expected one number or {self.nv}, got {value!r}")
        numbers = np.broadcast_to(numbers, (self.nv,))
        if np.isnan(numbers).any():
            raise ValueError(f"{field}: {value!r} is not a number")
        if field in ("damping", "stiffness", "friction", "armature", "speed", "effort") and (numbers < 0).any():
            raise ValueError(f"{field}: {value!r} is negative")
        if field in ("damping", "stiffness", "friction", "armature") and np.isinf(numbers).any():
            raise ValueError(f"{field}: {value!r} is infinite")
        return numbers

    def check(self) -> None:
        """Raise if any number makes no sense."""
        self.axes()
        for field in ("speed", "effort", "damping", "stiffness", "friction", "armature"):
            self.per_dof(field)
        low, high = self.per_dof("lower"), self.per_dof("upper")
        if (low > high).any():
            raise ValueError(f"limits: lower {low.tolist()} is above upper {high.tolist()}")
        if (low == np.inf).any() or (high == -np.inf).any():
            raise ValueError(f"limits: lower {low.tolist()} and upper {high.tolist()} leave no room")
        if not np.isfinite(self.pitch):
            raise ValueError(f"pitch {self.pitch} is not finite")

    def slack(self) -> list[float]:
        """Configuration where the joint's springs are slack."""
        has_quaternion = self.kind in (JointKind.SPHERICAL, JointKind.FREE)
        if self.rest is None:
            neutral = [0.0] * self.nq
            if has_quaternion:
                neutral[-4] = 1.0
            return neutral
        rest = vector(np.atleast_1d(np.asarray(self.rest, dtype=np.float64)), self.nq, "rest")
        if has_quaternion:
            length = float(np.linalg.norm(rest[-4:]))
            if length < 1e-6:
                raise ValueError(f"rest: {rest[-4:].tolist()} is no rotation")
            rest[-4:] /= length
        return rest.tolist()


def unit(axis: str | Iterable[float], what: str) -> np.ndarray[Any, Any]:
    if isinstance(axis, str):
        if axis not in AXES:
            raise ValueError(f"{what}: {axis!r} is not 'x', 'y', 'z' or three numbers")
        axis = AXES[axis]
    a = vector(axis, 3, what)
    length = math.hypot(*a)
    if length < 1e-12:
        raise ValueError(f"{what}: {a.tolist()} has no direction")
    return a / length
