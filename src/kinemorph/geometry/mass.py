"""Mass properties of solids: exact integrals over the volume of a closed surface, or known formulas for simple shapes.

The surface's triangles and a common point span tetrahedra; those of faces that look away from the point count positive,
the others negative, and what is outside cancels. Over a tetrahedron with corners 0, a, b, c, of signed volume
V = a · (b × c) / 6 and with s = a + b + c,

    ∫ 1 = V,    ∫ x = V s / 4,    ∫ x xᵀ = V (a aᵀ + b bᵀ + c cᵀ + s sᵀ) / 20,

because a polynomial in barycentric coordinates integrates to factorials. The second moments are taken about the centre
of mass itself, found first: nothing is translated, and no digits cancel far from the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.meshes.faults import FATAL, mesh_faults, turn_shells_out
from kinemorph.geometry.meshes.mesh import Mesh, mesh_of
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Matrix, Pose, Vector
from kinemorph.spatial.products import inner, times

WATER_DENSITY = 1000.0  # kg/m³
FLAT_VOLUME_SHARE = 1e-12  # volume over area times size: less is rounding

Array = np.ndarray[Any, np.dtype[Any]]


@checked_first
@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass properties of a homogeneous solid. `km.Inertia(m.mass, m.com, m.matrix)` puts them on a link."""

    volume: float  # m³
    mass: float  # kg
    com: Vector  # m, centre of mass
    matrix: Matrix  # kg m², inertia about the centre of mass, in the axes of the frame

    @property
    def moments(self) -> Vector:
        """The principal moments of inertia, kg m², ascending."""
        return np.linalg.eigvalsh(self.matrix).astype(np.float64)

    @property
    def principal(self) -> Pose:
        """The principal frame: at the centre of mass, its axes in the order of `moments`, along what the frame has.

        Where moments are equal, as those of a cube, the axes are any that fit.
        """
        axes = np.linalg.eigh(self.matrix)[1]
        for k in range(2):  # eigenvectors have no sense of their own: take the one along the frame's axes
            axes[:, k] *= np.sign(axes[np.abs(axes[:, k]).argmax(), k])
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        return Pose(self.com, axes)

    def with_mass(self, mass: float) -> MassProperties:
        """The same solid with the density that gives it this mass (kg)."""
        if not 0.0 < mass < np.inf:
            raise ValueError(f"MassProperties.with_mass: {mass} must be positive and finite")
        if not self.mass > 0.0:
            raise ValueError(f"MassProperties.with_mass: mass {mass:g} is for a solid that has a volume")
        return MassProperties(self.volume, mass, self.com, self.matrix * (mass / self.mass))

    def moved(self, pose: Pose) -> MassProperties:
        """The same solid in an outer frame, where this frame stands at `pose`."""
        R = pose.rotation
        return MassProperties(self.volume, self.mass, pose.apply(self.com), times(R, self.matrix, R.T))

    def __add__(self, other: MassProperties) -> MassProperties:
        """Both solids as one body; their intersection counts twice."""
        mass = self.mass + other.mass
        d = other.com - self.com
        # Steiner: about the common centre, the two masses count like the reduced one at their distance.
        steiner = self.mass * other.mass / mass * (inner(d, d) * np.eye(3) - np.outer(d, d))
        com = self.com + other.mass / mass * d
        return MassProperties(self.volume + other.volume, mass, com, self.matrix + other.matrix + steiner)


@checked_first
def mass_properties(body: Mesh | Polyhedron, density: float = WATER_DENSITY, *, turn: bool = False) -> MassProperties:
    """Mass properties of the volume of a closed mesh or a polyhedron; density in kg/m³.

    A mesh with holes, inconsistent faces, or faces that look inwards raises ValueError, which says where; `turn=True`
    turns inside-out shells. `geometry.meshes.faults.mesh_faults` lists all faults.
    """
    _check_density(density)
    if isinstance(body, Polyhedron):
        if len(body.faces) < 4:
            raise ValueError(f"{body} has no volume")
        return _integrals(body.points, body.triangles, density)
    mesh = turn_shells_out(body) if turn else body
    if fatal := [str(fault) for fault in mesh_faults(mesh) if fault.kind in FATAL]:
        raise ValueError("the mesh is not the surface of a solid: " + "; ".join(fatal))
    return _integrals(mesh.vertices, mesh.faces, density)


@checked_first
def inertia_of(
    shape: Shape | Parts | Polyhedron, density: float = WATER_DENSITY, *, turn: bool = False
) -> MassProperties:
    """Mass properties of a shape where it is on its link; density in kg/m³. Round shapes are round, not tessellated.

    Convex parts have those of the mesh that they were cut from, or else all of their own together.
    """
    _check_density(density)
    if isinstance(shape, Polyhedron):
        return mass_properties(shape, density)
    if isinstance(shape, Parts):
        if shape.solid is not None:
            return mass_properties(shape.solid, density, turn=turn)
        if shape.radii.any():
            raise ValueError(f"{shape} has parts with a radius around them, whose mass is not known; give it a solid")
        first, *others = (mass_properties(part, density) for part in shape.parts)
        return sum(others, first)
    if shape.kind is not ShapeKind.MESH:
        return _simple_properties(shape.kind, shape.size, density).moved(shape.pose)
    try:
        return mass_properties(mesh_of(shape), density, turn=turn).moved(shape.pose)
    except ValueError as error:
        if str(shape.path) in str(error):
            raise
        raise ValueError(f"{shape.path}: {error}; its hull has: inertia_of(core_of(shape)[0])") from None


def _check_density(density: float) -> None:
    if not 0.0 < density < np.inf:
        raise ValueError(f"density {density} must be positive and finite")


def _integrals(points: Array, triangles: Array, density: float) -> MassProperties:
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))  # any point will do; a near one costs no digits
    a, b, c = (points[triangles[:, k]] - middle for k in range(3))
    normal = np.cross(b - a, c - a)
    volumes = np.einsum("ij,ij->i", a, normal) / 6.0
    volume = float(volumes.sum())
    area = 0.5 * float(np.linalg.norm(normal, axis=1).sum())
    size = float(np.ptp(points, axis=0).max())
    if not volume > FLAT_VOLUME_SHARE * area * size:
        raise ValueError(
            f"it is flat: its volume is {volume:.3g} m³, its surface {area:.3g} m²; there is no solid in it"
        )
    com = np.einsum("i,ij->j", volumes, a + b + c) / (4.0 * volume)

    a, b, c = a - com, b - com, c - com
    volumes = np.einsum("ij,ij->i", a, normal) / 6.0
    corners = np.stack([a, b, c, a + b + c])
    C = np.einsum("i,kix,kiy->xy", volumes, corners, corners) / 20.0
    C = 0.5 * (C + C.T)
    return MassProperties(volume, density * volume, middle + com, density * (np.trace(C) * np.eye(3) - C))


def _simple_properties(kind: ShapeKind, size: tuple[float, ...], density: float) -> MassProperties:
    """Mass properties of simple solids about their middle at the origin; cylinders, capsules and cones along z."""
    com = np.zeros(3)
    if kind is ShapeKind.BOX:
        x, y, z = size
        volume, gyration = x * y * z, [(y * y + z * z) / 12.0, (x * x + z * z) / 12.0, (x * x + y * y) / 12.0]
    elif kind is ShapeKind.SPHERE:
        r = size[0]
        volume, gyration = 4.0 / 3.0 * np.pi * r**3, [0.4 * r * r] * 3
    elif kind is ShapeKind.CYLINDER:
        r, l = size
        side = (3.0 * r * r + l * l) / 12.0
        volume, gyration = np.pi * r * r * l, [side, side, 0.5 * r * r]
    elif kind is ShapeKind.CONE:  # a quarter of the way up from the base
        r, l = size
        side = 0.15 * r * r + 0.0375 * l * l
        volume, gyration = np.pi * r * r * l / 3.0, [side, side, 0.3 * r * r]
        com[2] = -0.25 * l
    else:  # a capsule: a cylinder with a ball at its ends, whose halves have their centres 3/8 r beyond
        r, l = size
        rod, ball = np.pi * r * r * l, 4.0 / 3.0 * np.pi * r**3
        volume = rod + ball
        if not volume > 0.0:
            raise ValueError(f"inertia_of: a capsule of radius {r:g} and length {l:g} is too thin to have a volume")
        side = rod * (3.0 * r * r + l * l) / 12.0 + ball * (0.4 * r * r + 0.375 * r * l + 0.25 * l * l)
        gyration = [side / volume, side / volume, (0.5 * rod + 0.4 * ball) * r * r / volume]
    return MassProperties(volume, density * volume, com, density * volume * np.diag(gyration))
