"""Inertias as MuJoCo's compiler makes them: principal moments, and axes that it finds to limits of its own.

It turns the matrix of a mesh to its axes until what is beside the diagonal is below 1e-7 of the largest moment, and
forgets the rest; and a frame within 1e-6 of the body's is the body's. A file that means what MuJoCo makes of it needs
the same limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kinemorph.multibody.model.inertia import Inertia
from kinemorph.spatial.pose import Matrix, Pose, Vector

OF_MESH, OF_BODY = 1e-7, 4e-15  # of the largest moment: what is smaller beside the diagonal is forgotten
SAME_FRAME = 1e-6  # m, or an entry of a quaternion: frames that are so near are one
MOST_AXIS_ITERATIONS = 500
LIGHTEST_WEIGHED = 1e-14  # kg: what weighs less is not weighed


@dataclass(frozen=True)
class PrincipalInertia:
    """A body's mass, its place, and its moments along axes, the columns of a matrix."""

    mass: float
    com: Vector
    moments: Vector
    axes: Matrix

    @staticmethod
    def of(inertia: Inertia, limit: float = OF_BODY) -> PrincipalInertia:
        return PrincipalInertia(inertia.mass, inertia.com, *principal_axes(inertia.matrix, limit))

    @staticmethod
    def together(lumps: list[PrincipalInertia]) -> PrincipalInertia:
        """Several that are one body."""
        whole, *others = (Inertia.unchecked(lump.mass, lump.com, lump.matrix()) for lump in lumps)
        for other in others:
            whole += other
        return PrincipalInertia.of(whole)

    def scaled(self, k: float) -> PrincipalInertia:
        return self if k == 1.0 else replace(self, mass=k * self.mass, moments=k * self.moments)

    def moved(self, pose: Pose) -> PrincipalInertia:
        return replace(self, com=pose.rotation @ self.com + pose.position, axes=pose.rotation @ self.axes)

    def bounded(self, least_mass: float, least_moment: float, balance: bool) -> PrincipalInertia:
        """No lighter than a bound, and such that a body can have it."""
        moments = np.maximum(self.moments, least_moment)
        low, middle, high = sorted(moments.tolist())
        if balance and low + middle < high:
            moments = np.full(3, moments.mean())
        return replace(self, mass=max(self.mass, least_mass), moments=moments)

    def matrix(self) -> Matrix:
        matrix = (self.axes * self.moments) @ self.axes.T
        return 0.5 * (matrix + matrix.T)

    def inertia(self) -> Inertia:
        """In the body's frame; the axes and the place are the body's own if they are near enough."""
        if not _is_same(self.axes):
            return Inertia.unchecked(self.mass, self.com, self.matrix())
        com = np.zeros(3) if all(abs(x) < SAME_FRAME for x in self.com.tolist()) else self.com
        return Inertia.unchecked(self.mass, com, np.diag(self.moments))


def _is_same(axes: Matrix) -> bool:
    """Whether a turn is none: its quaternion is that of no turn, but for `SAME_FRAME` in each entry."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = axes.tolist()
    if xx + yy + zz < 2.9:
        return False
    four = 2.0 * math.sqrt(1.0 + xx + yy + zz)
    return max(abs(zy - yz), abs(xz - zx), abs(yx - xy)) < SAME_FRAME * four


def principal_axes(matrix: Matrix, limit: float) -> tuple[Vector, Matrix]:
    """Moments, the largest first, and their axes, by Jacobi's turns. What is alike to the limit stays where it is."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = matrix.tolist()
    D = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    small = limit * max(abs(xx), abs(yy), abs(zz))
    for _ in range(MOST_AXIS_ITERATIONS):
        first, second, third = abs(D[0][1]), abs(D[0][2]), abs(D[1][2])
        r, c, k = (0, 1, 2) if first > second and first > third else (0, 2, 1) if second > third else (1, 2, 0)
        beside = D[r][c]
        if not abs(beside) > small:  # true for NaN as well
            break
        tau = (D[c][c] - D[r][r]) / (2.0 * beside)
        tan = math.copysign(1.0, tau) / (abs(tau) + math.hypot(1.0, tau)) if tau else 1.0
        cos = 1.0 / math.hypot(1.0, tan)
        sin = tan * cos
        D[r][r] -= tan * beside
        D[c][c] += tan * beside
        D[r][c] = D[c][r] = 0.0
        rk, ck = D[r][k], D[c][k]
        D[r][k] = D[k][r] = cos * rk - sin * ck
        D[c][k] = D[k][c] = sin * rk + cos * ck
        a, b = columns[r], columns[c]
        columns[r] = [cos * x - sin * y for x, y in zip(a, b, strict=True)]
        columns[c] = [sin * x + cos * y for x, y in zip(a, b, strict=True)]
    moments = [D[0][0], D[1][1], D[2][2]]
    for j in (0, 1, 0):
        if moments[j] + small < moments[j + 1]:  # a quarter turn
            moments[j], moments[j + 1] = moments[j + 1], moments[j]
            columns[j], columns[j + 1] = columns[j + 1], [-x for x in columns[j]]
    return np.array(moments), np.array(columns).T
