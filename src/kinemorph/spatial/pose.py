"""Poses of frames for Python: a rotation and a position, with the operations that users need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import as_floats, check_finite, repr_of
from kinemorph.spatial.products import inner, length, times

Array = npt.NDArray[np.float64]
Vector = Array
Matrix = Array

FARTHEST = 1e150  # m or rad: squares of longer ways are no numbers
ORTHOGONAL = 1e-6  # largest error of a rotation matrix; smaller errors are corrected


def vector(values: Iterable[float], size: int, what: str) -> Vector:
    """`values` as a float64 vector of a given size without NaN and infinity; `what` names it in the error."""
    try:
        if isinstance(values, np.ndarray) and (values.dtype.kind == "c" or np.ma.is_masked(values)):
            raise TypeError
        array = np.array(list(values) if not isinstance(values, np.ndarray) else values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, LookupError):
        raise ValueError(f"{what}: expected {size} numbers, got {repr_of(values)}") from None
    if array.shape != (size,):
        raise ValueError(f"{what}: expected {size} numbers, got shape {array.shape}")
    if not all(map(math.isfinite, array.tolist())):  # of a few numbers, this is faster than NumPy
        raise ValueError(f"{what}: {array.tolist()} is not finite")
    return array


def rotation(values: Iterable[float], what: str) -> Vector:
    """A quaternion w x y z of any length but zero, made one of length 1; `what` names it in the error."""
    q = vector(values, 4, what)
    length = math.hypot(*q.tolist())
    if not 0.0 < length < math.inf:
        raise ValueError(f"{what}: {q.tolist()} is a quaternion of length {length:g}, which is no rotation")
    return q if abs(length - 1.0) < _ROUNDED else q / length


_ROUNDED = 1e-14  # lengths closer to 1 are those of quaternions that were made so, and keep their bits
_UPRIGHT = np.eye(3)
_ONE_AND_A_HALF = 1.5 * _UPRIGHT


def rotation_of_quaternion(w: float, x: float, y: float, z: float) -> Matrix:
    """The rotation matrix of a unit quaternion."""
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.array(rows)


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame seen from another one: `a_X_b` has b's axes as columns of `rotation` and b's origin as `position`."""

    rotation: Matrix
    position: Vector

    @checked_on_failure
    def __init__(self, position: Iterable[float] = (0.0, 0.0, 0.0), rotation: npt.ArrayLike | None = None) -> None:
        R = _UPRIGHT.copy()
        if rotation is not None:
            R = np.array(rotation, dtype=np.float64)
            if R.shape != (3, 3) or not all(map(math.isfinite, R.ravel().tolist())):
                raise ValueError(f"Pose: rotation must be a finite 3x3 matrix, got {R.tolist()}")
            if max(map(abs, (times(R, R.T) - _UPRIGHT).ravel().tolist())) > ORTHOGONAL or _mirrors(R):
                raise ValueError(f"Pose: {R.tolist()} is not a rotation matrix")
            R = times(R, _ONE_AND_A_HALF - 0.5 * times(R.T, R))  # one Newton step towards the nearest rotation
        object.__setattr__(self, "rotation", R)
        object.__setattr__(self, "position", vector(position, 3, "Pose: position"))

    @staticmethod
    def rpy(roll: float, pitch: float, yaw: float, position: Iterable[float] = (0.0, 0.0, 0.0)) -> Pose:
        """Roll about x, then pitch about y, then yaw about z, all fixed axes (as URDF means it)."""
        roll, pitch, yaw = vector((roll, pitch, yaw), 3, "Pose.rpy").tolist()
        (cr, sr), (cp, sp), (cy, sy) = ((math.cos(t), math.sin(t)) for t in (roll, pitch, yaw))
        rows = (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            (-sp, cp * sr, cp * cr),
        )
        return Pose(position, rows)

    @staticmethod
    @checked_on_failure
    def turn(axis: Iterable[float], angle: float, position: Iterable[float] = (0.0, 0.0, 0.0)) -> Pose:
        """Rotation by `angle` about `axis`."""
        a = vector(axis, 3, "Pose.turn: axis")
        size = math.hypot(*a)
        if size == 0.0:
            raise ValueError("Pose.turn: the axis is zero")
        angle = check_finite("Pose.turn: angle", angle)
        x, y, z = a / size
        K = _cross_matrix(np.array([x, y, z]))
        return Pose(position, np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * times(K, K))

    @staticmethod
    def quaternion(wxyz: Iterable[float], position: Iterable[float] = (0.0, 0.0, 0.0)) -> Pose:
        """From a quaternion w x y z of any length but zero."""
        q = vector(wxyz, 4, "Pose.quaternion")
        size = math.hypot(*q)
        if size == 0.0:
            raise ValueError("Pose.quaternion: the quaternion is zero")
        return Pose(position, rotation_of_quaternion(*(q / size)))

    @staticmethod
    def known(position: Vector, rotation: Matrix) -> Pose:
        """From a vector and a rotation matrix that are known to be valid, and not modified afterwards."""
        pose = object.__new__(Pose)
        pose.__dict__.update(rotation=rotation, position=position)
        return pose

    def __matmul__(self, other: Pose) -> Pose:
        """a_X_b @ b_X_c = a_X_c"""
        if not isinstance(other, Pose):
            return NotImplemented
        R = self.rotation
        return Pose.known(times(R, other.position) + self.position, times(R, other.rotation))

    def inverse(self) -> Pose:
        R = self.rotation.T
        return Pose.known(-times(R, self.position), R)

    def log(self) -> Vector:
        """The twist (6: angular, linear) that moves the outer frame to this one in unit time; `Pose.exp` leads back.

        Both parts are in the outer frame's axes at its origin, turned along with the motion: a screw.
        """
        R = self.rotation
        sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        s, c = length(sine), 0.5 * (float(np.trace(R)) - 1.0)
        angle = math.atan2(s, c)
        if s > 1e-3 or c > 0.0:
            phi = sine * (angle / s if s > 1e-12 else 1.0)
        else:  # near half a turn: the axis is the column of (R + Rᵀ)/2 + 1 that is largest, and its sign from the sine
            S = 0.5 * (R + R.T) - c * np.eye(3)
            axis = S[:, int(np.argmax(np.diag(S)))]
            axis = axis / length(axis)
            phi = math.copysign(angle, inner(axis, sine) or 1.0) * axis
        K = _cross_matrix(phi)
        k = 1.0 / 12.0 + angle**2 / 720.0 if angle < 1e-2 else (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / angle**2
        return np.concatenate([phi, self.position - 0.5 * times(K, self.position) + k * times(K, K, self.position)])

    @staticmethod
    @checked_on_failure
    def exp(twist: Iterable[float]) -> Pose:
        """The pose after moving with a constant twist (6: angular, linear) for unit time."""
        phi, u = np.split(vector(twist, 6, "Pose.exp: twist"), 2)
        if max(map(abs, (*phi.tolist(), *u.tolist()))) > FARTHEST:
            raise ValueError(f"Pose.exp: twist is {repr_of(twist)}, and must be at most {FARTHEST:g}")
        angle = length(phi)
        if angle < 1e-2:
            a, b, c = 1.0 - angle**2 / 6.0, 0.5 - angle**2 / 24.0, 1.0 / 6.0 - angle**2 / 120.0
            a, b, c = a + angle**4 / 120.0, b + angle**4 / 720.0, c + angle**4 / 5040.0
        else:
            a, b = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle**2
            c = (1.0 - a) / angle**2
        K = _cross_matrix(phi)
        return Pose(u + b * times(K, u) + c * times(K, K, u), np.eye(3) + a * K + b * times(K, K))

    @checked_on_failure
    def apply(self, points: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Transform points (…, 3) from the inner to the outer frame."""
        given = as_floats(points)
        if given.ndim == 0 or given.shape[-1] != 3:
            raise ValueError(f"Pose.apply: points have shape {given.shape}, expected (..., 3)")
        return np.einsum("...j,ij->...i", given, self.rotation) + self.position

    def matrix(self) -> Matrix:
        """The 4x4 homogeneous matrix."""
        X = np.eye(4)
        X[:3, :3] = self.rotation
        X[:3, 3] = self.position
        return X

    def __repr__(self) -> str:
        return f"Pose(position={self.position.tolist()}, rotation={self.rotation.tolist()})"


def _mirrors(R: Matrix) -> bool:
    """Whether a matrix is a reflection: its determinant is negative."""
    a, b, c, d, e, f, g, h, i = R.ravel().tolist()
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) < 0.0


def _cross_matrix(a: Vector) -> Matrix:
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
