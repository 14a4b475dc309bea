"""Mass properties of a link, validated on construction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import as_floats
from kinemorph.spatial.pose import FARTHEST, Matrix, Pose, Vector, vector
from kinemorph.spatial.products import inner, times

TRIANGLE_SLACK = 1e-6  # slack of the triangle inequality, relative: files carry rounded numbers
_EYE = np.eye(3)
LARGEST_INERTIA = 1e150  # kg m²: products of larger numbers may overflow
LARGEST_LENGTH = 1e100  # m
POINT_GYRATION_RADIUS = 1e-6  # m: a body with a smaller radius of gyration is a point, and its matrix is rounding


@checked_on_failure
@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass in kg, centre of mass in m, and inertia about it in kg m², all in the link's frame."""

    mass: float
    com: Vector
    matrix: Matrix

    def __init__(
        self,
        mass: float,
        com: Iterable[float] = (0.0, 0.0, 0.0),
        matrix: npt.ArrayLike = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ) -> None:
        I = as_floats(matrix).copy()
        if I.shape == (3,):
            I = np.diag(I)
        object.__setattr__(self, "mass", float(mass))
        object.__setattr__(self, "com", vector(com, 3, "Inertia: com"))
        object.__setattr__(self, "matrix", I)
        fault = self.fault()
        if fault:
            raise ValueError(fault)

    @staticmethod
    def unchecked(mass: float, com: Vector, matrix: Matrix) -> Inertia:
        """An inertia that is not validated: files of real robots have impossible ones. `fault` describes the fault."""
        inertia = object.__new__(Inertia)
        inertia.__dict__.update(mass=mass, com=com, matrix=matrix)
        return inertia

    def fault(self) -> str:
        """The reason why no body has this inertia; empty if it is valid."""
        m, I = self.mass, self.matrix
        if not np.isfinite(m) or m < 0.0:
            return f"mass {m} must be finite and not negative"
        if I.shape != (3, 3) or not np.isfinite(I).all():
            return f"inertia {I.tolist()} must be a finite 3x3 matrix or three diagonal entries"
        size = float(np.abs(I).max())
        if size > LARGEST_INERTIA:
            return f"inertia {I.tolist()} of mass {m:g} kg is out of range, {LARGEST_INERTIA:g} kg m² at most"
        if np.abs(I - I.T).max() > 1e-9 * size:
            return f"inertia {I.tolist()} is not symmetric"
        if size < m * POINT_GYRATION_RADIUS**2:
            return ""
        low, middle, high = np.linalg.eigvalsh(I)
        if low < -1e-9 * size:
            return f"inertia {I.tolist()} is not positive definite (principal moment {low:g}): no body has it"
        if low + middle < high * (1.0 - TRIANGLE_SLACK):
            return (
                f"inertia {I.tolist()} breaks the triangle inequality "
                f"(principal moments {low:g} + {middle:g} < {high:g}): no body has it"
            )
        return ""

    @staticmethod
    def point(mass: float, at: Iterable[float] = (0.0, 0.0, 0.0)) -> Inertia:
        return Inertia(mass, at)

    @staticmethod
    def sphere(mass: float, radius: float, at: Iterable[float] = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid ball."""
        _check_lengths("sphere", radius=radius)
        return Inertia(mass, at, np.full(3, 0.4 * mass * radius**2))

    @staticmethod
    def box(mass: float, size: Iterable[float], at: Iterable[float] = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid box with full edge lengths `size`."""
        edges = vector(size, 3, "Inertia.box: size")
        _check_lengths("box", size=min(edges))
        if max(edges) > FARTHEST:
            raise ValueError(f"Inertia.box: size is {edges.tolist()}, and must be at most {FARTHEST:g} m")
        with np.errstate(all="ignore"):  # what is not finite is refused
            x, y, z = edges**2
            return Inertia(mass, at, mass / 12.0 * np.array([y + z, x + z, x + y]))

    @staticmethod
    def cylinder(mass: float, radius: float, length: float, at: Iterable[float] = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid cylinder along z."""
        _check_lengths("cylinder", radius=radius, length=length)
        side = mass * (3.0 * radius**2 + length**2) / 12.0
        return Inertia(mass, at, [side, side, 0.5 * mass * radius**2])

    @staticmethod
    def rod(mass: float, start: Iterable[float], end: Iterable[float]) -> Inertia:
        """A thin rod between two points."""
        a, b = vector(start, 3, "Inertia.rod: start"), vector(end, 3, "Inertia.rod: end")
        _check_lengths("rod", start=np.abs(a).max(), end=np.abs(b).max())
        with np.errstate(all="ignore"):  # what is not finite is refused
            d = b - a
            return Inertia(mass, (a + b) / 2.0, mass / 12.0 * (inner(d, d) * np.eye(3) - np.outer(d, d)))

    def moved(self, pose: Pose) -> Inertia:
        """The inertia in an outer frame, where this frame stands at `pose`."""
        R = pose.rotation
        return Inertia.unchecked(self.mass, times(R, self.com) + pose.position, times(R, self.matrix, R.T))

    def about_origin(self) -> Matrix:
        """Second moment about the link's origin."""
        return self.matrix + _point_second_moment(self.mass, self.com)

    def __add__(self, other: Inertia) -> Inertia:
        """The inertia of both bodies welded together."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia.unchecked(0.0, self.com, self.matrix + other.matrix)
        com = (self.mass * self.com + other.mass * other.com) / mass
        I = self.about_origin() + other.about_origin() - _point_second_moment(mass, com)
        return Inertia.unchecked(mass, com, 0.5 * (I + I.T))


def moments_of(row: Any) -> tuple[float, Vector, Matrix]:
    """Mass, centre of mass, and inertia about it, of a LINK row."""
    mass, h = float(row["mass"]), row["h"]
    xx, xy, xz, yy, yz, zz = row["I"].tolist()
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass == 0.0:
        return 0.0, np.zeros(3), I
    com = h / mass
    return mass, com, I - mass * (com @ com * np.eye(3) - np.outer(com, com))


def _point_second_moment(mass: float, c: Vector) -> Matrix:
    """The second moment of a point mass about the origin."""
    return mass * (inner(c, c) * _EYE - c[:, np.newaxis] * c)


def _check_lengths(shape: str, **lengths: float) -> None:
    for name, length in lengths.items():
        if not 0.0 <= length <= LARGEST_LENGTH:
            raise ValueError(
                f"Inertia.{shape}: {name} {length} must be finite and not negative, {LARGEST_LENGTH:g} m at most"
            )
