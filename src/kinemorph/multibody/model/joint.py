"""A joint as users declare it: kind, axes, limits and passive forces."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from kinemorph.multibody.layout import DOF, LINK, NQ, NV, JointKind
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import vector
from kinemorph.spatial.products import inner, length

Number = float | Iterable[float]  # one for all degrees of freedom of a joint, or one each

AXES = {"x": np.array([1.0, 0.0, 0.0]), "y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}
NONE, NO_LIMIT, NO_LOWER = 0.0, np.inf, -np.inf
PASSIVE = ("damping", "stiffness", "friction", "armature")
FIELD_DEFAULTS = {
    **dict.fromkeys(PASSIVE, NONE),
    **dict.fromkeys(("upper", "velocity_limit", "effort_limit"), NO_LIMIT),
    "lower": NO_LOWER,
}  # defaults of the fields below
MASSLESS_INERTIA_SHARE = 1e-13  # share of a body's inertia below which the inertia in a direction is rounding
_EVERY, _NO_DIRECTION = np.eye(3), np.zeros((0, 3))
_DEFAULT_DOFS = np.zeros(6, DOF)
for _field, _usual in FIELD_DEFAULTS.items():
    _DEFAULT_DOFS[_field] = _usual
_DEFAULT_DOF_BYTES = _DEFAULT_DOFS.tobytes()
_DEFAULT_LINKS = np.zeros(len(JointKind), LINK)  # of each kind of joint
for _kind in JointKind:
    _DEFAULT_LINKS[_kind]["kind"] = _kind
    _DEFAULT_LINKS[_kind]["nq"] = NQ[_kind]
    _DEFAULT_LINKS[_kind]["nv"] = NV[_kind]


@checked_first
@dataclass(frozen=True)
class Joint:
    """A joint: its kind, its axes in the joint frame, and what acts on its degrees of freedom.

    `lower`, `upper`: limits of position; `velocity_limit`, `effort_limit`: largest allowed; `damping`, `stiffness`,
    `friction`: passive forces; `armature`: inertia of the drive, seen at the joint; `rest`: where the spring is slack.
    """

    kind: JointKind
    axis: str | Iterable[float] = "z"
    axis2: str | Iterable[float] = "x"
    pitch: float = 0.0
    lower: Number = NO_LOWER
    upper: Number = NO_LIMIT
    velocity_limit: Number = NO_LIMIT
    effort_limit: Number = NO_LIMIT
    damping: Number = NONE
    stiffness: Number = NONE
    friction: Number = NONE
    armature: Number = NONE
    rest: Iterable[float] | float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, JointKind):
            raise TypeError(f"a joint's kind is a kinemorph.JointKind, not {self.kind!r}")
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"{self.kind.name.lower()} joint: its name must be a text, not {self.name!r}")
        try:
            self.check()
        except (TypeError, ValueError) as error:
            called = f" {self.name!r}" if self.name else ""
            raise ValueError(f"{self.kind.name.lower()} joint{called}: {error}") from None

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
        return self._axes

    @cached_property
    def _axes(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        a = unit_vector(self.axis, "axis")
        b = unit_vector(self.axis2, "axis2")
        if self.kind is JointKind.PLANAR:
            b = b - inner(a, b) * a
            if length(b) < 1e-6:
                raise ValueError(f"direction {self.axis2} is parallel to the normal {self.axis}")
            b = b / length(b)
        if self.kind is JointKind.UNIVERSAL and np.linalg.norm(np.cross(a, b)) < 1e-6:
            raise ValueError(f"its axes {self.axis} and {self.axis2} are parallel")
        return a, b

    def per_dof(self, field: str) -> np.ndarray[Any, Any]:
        """A field as one number for each degree of freedom."""
        value = getattr(self, field)
        if isinstance(value, float):
            return np.full(self.nv, value)
        numbers = np.array(value if np.isscalar(value) else list(value), dtype=np.float64)
        if numbers.ndim and numbers.shape != (self.nv,):
            raise ValueError(f"{field}: expected one number or {self.nv}, got {repr_of(value)}")
        return np.broadcast_to(numbers, (self.nv,))

    def check(self) -> None:
        """Raise if a number is invalid."""
        _ = self.rows

    @cached_property
    def rows(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], list[float]]:
        """The joint as a LINK row, DOF rows, and the rest position of its springs, all checked."""
        kind, given = int(self.kind), self.__dict__
        row = _DEFAULT_LINKS[kind : kind + 1].copy()
        l = row[0]
        l["pitch"] = self.pitch
        l["axis"], l["axis2"] = self.axes()
        dofs = np.frombuffer(bytearray(_DEFAULT_DOF_BYTES[: NV[kind] * DOF.itemsize]), DOF)
        for field, usual in FIELD_DEFAULTS.items():
            value = given[field]
            if value is not usual:
                dofs[field] = value if isinstance(value, float) else self.per_dof(field)
            if not NV[kind] and value is not usual and np.isnan(np.asarray(value, dtype=np.float64)).any():
                raise ValueError(f"{field} is {repr_of(value)}, which is no number")
        check_numbers(dofs)
        if not math.isfinite(self.pitch):
            raise ValueError(f"pitch {self.pitch} is not finite")
        return row, dofs, self.slack()

    def turned(self) -> Joint:
        """The same joint with predecessor and successor swapped.

        Its position means the same, but for a universal joint, whose angles are swapped, and for spherical, planar and
        free joints: theirs is that of the inverse motion. Limits of distances in a plane are lost.
        """
        a, b = self.axes()
        rest: Any = self.rest
        low: Any
        high: Any
        if self.kind is JointKind.UNIVERSAL:
            values: dict[str, Any] = {field: self.per_dof(field)[::-1] for field in FIELD_DEFAULTS}
            return replace(self, axis=-b, axis2=-a, rest=None if rest is None else list(rest)[::-1], **values)
        if self.kind is JointKind.PLANAR:
            low, high = ([x, x, float(self.per_dof(f)[2])] for f, x in (("lower", -np.inf), ("upper", np.inf)))
            if rest is not None:
                x, y, angle = np.asarray(rest, dtype=np.float64)
                s, c = np.sin(angle), np.cos(angle)
                rest = [-(c * x + s * y), -(s * x - c * y), angle]  # the second direction changes sign with the normal
            return replace(self, axis=-a, axis2=b, lower=low, upper=high, rest=rest)
        if self.kind is JointKind.SPHERICAL:
            low, high = -self.per_dof("upper"), -self.per_dof("lower")
            rest = None if rest is None else np.asarray(rest, dtype=np.float64) * [1.0, -1.0, -1.0, -1.0]
            return replace(self, lower=low, upper=high, rest=rest)
        return self if self.kind is JointKind.FREE else replace(self, axis=-a)

    def still(self, moved: Inertia) -> bool:
        """Whether a rigid body that hangs on the joint, at zero, has no inertia in one of the joint's directions."""
        m, c = moved.mass, moved.com
        C = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
        whole = np.block([[moved.about_origin(), m * C], [-m * C, m * np.eye(3)]])
        T = self.forbidden
        S = np.linalg.svd(T)[2][len(T) :] if len(T) else np.eye(6)
        low = np.linalg.eigvalsh(S @ whole @ S.T)[0]
        return bool(low <= MASSLESS_INERTIA_SHARE * max(np.trace(whole), 1e-300))

    @property
    def passive(self) -> str:
        """The first of damping, stiffness, friction and armature that the joint has, or nothing."""
        _, dofs, _ = self.rows
        return next((f for f in PASSIVE if getattr(self, f) is not FIELD_DEFAULTS[f] and dofs[f].any()), "")

    def slack(self) -> list[float]:
        """Configuration in which the joint's springs are slack."""
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

    @cached_property
    def forbidden(self) -> np.ndarray[Any, Any]:
        """The complement of the motion subspace (6 - nv rows, orthonormal): angular and linear parts.

        In the predecessor's axes and at the successor's origin it is constant, but for a universal joint, whose first
        row (the normal of both axes) turns; it is given here for the joint at zero.
        """
        a, b = self.axes()
        kind = self.kind
        if kind in (JointKind.FIXED, JointKind.PRISMATIC):
            angular = _EVERY
        elif kind in (JointKind.SPHERICAL, JointKind.FREE):
            angular = _NO_DIRECTION
        elif kind is JointKind.UNIVERSAL:
            angular = unit_vector(np.cross(a, b), "normal")[np.newaxis]
        else:
            angular = perpendicular_pair(a)
        if kind in (JointKind.PRISMATIC, JointKind.SCREW, JointKind.CYLINDRICAL):
            linear = perpendicular_pair(a)
        elif kind is JointKind.PLANAR:
            linear = a[np.newaxis]
        else:
            linear = _NO_DIRECTION if kind is JointKind.FREE else _EVERY
        T = np.zeros((6 - self.nv, 6))
        T[: len(angular), :3] = angular
        T[len(angular) : len(angular) + len(linear), 3:] = linear
        if kind is JointKind.SCREW:
            T[4, :3], T[4, 3:] = -self.pitch * a, a
            T[4] /= math.hypot(1.0, self.pitch)
        return T


def check_numbers(dofs: np.ndarray[Any, Any]) -> None:
    """Raise if a number of the DOF rows (passive forces, limits) is invalid."""
    if all(map(_is_valid_dof, dofs.tolist())):  # fast path
        return
    for field in FIELD_DEFAULTS:
        numbers = dofs[field]
        for bad, how in (
            (np.isnan(numbers), "not a number"),
            ((numbers < 0.0) if field not in ("lower", "upper") else np.isnan(numbers), "negative"),
            (np.isinf(numbers) if field in PASSIVE else np.isnan(numbers), "infinite"),
        ):
            if bad.any():
                raise ValueError(f"{field}: {numbers[bad][0]:g} is {how}")
    low, high = dofs["lower"], dofs["upper"]
    bad = (low > high) | (low == np.inf) | (high == -np.inf)
    if bad.any():
        text = f"lower {low[bad][0]:g} and upper {high[bad][0]:g}"
        raise ValueError(f"limits: {text} leave no room")


_NUMBERS = itemgetter(
    *((DOF.names or ()).index(name) for name in (
        "armature", "damping", "stiffness", "friction", "lower", "upper", "velocity_limit", "effort_limit",
    ))
)  # fmt: skip


def _is_valid_dof(dof: tuple[float, ...]) -> bool:
    """Whether one degree of freedom is valid: NaN is in no range."""
    armature, damping, stiffness, friction, lower, upper, velocity_limit, effort_limit = _NUMBERS(dof)
    return (
        0.0 <= armature < NO_LIMIT and 0.0 <= damping < NO_LIMIT and 0.0 <= stiffness < NO_LIMIT
        and 0.0 <= friction < NO_LIMIT and velocity_limit >= 0.0 and effort_limit >= 0.0 and lower <= upper
        and lower < NO_LIMIT and upper > NO_LOWER
    )  # fmt: skip


def perpendicular_pair(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Two unit vectors orthogonal to a unit vector and to each other (Duff et al. 2017)."""
    x, y, z = a.tolist()
    sign = math.copysign(1.0, z)
    f = -1.0 / (sign + z)
    g = x * y * f
    return np.array([[1.0 + sign * x * x * f, sign * g, -sign * x], [g, sign + y * y * f, -y]])


def unit_vector(axis: str | Iterable[float], what: str) -> np.ndarray[Any, Any]:
    if isinstance(axis, str):
        if axis not in AXES:
            raise ValueError(f"{what}: {axis!r} is not 'x', 'y', 'z' or three numbers")
        return AXES[axis]
    a = vector(axis, 3, what)
    length = math.hypot(*a.tolist())
    if length < 1e-12:
        raise ValueError(f"{what}: {a.tolist()} has no direction")
    return a if length == 1.0 else a / length
