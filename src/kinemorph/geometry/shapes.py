"""What a link looks like and what it collides with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from kinemorph.geometry.material import EVERYTHING, Material
from kinemorph.spatial.pose import Pose, vector

Colour = tuple[float, float, float, float]  # red, green, blue, opacity: 0 to 1


class Role(StrEnum):
    """What a shape is for."""

    VISUAL = "visual"
    COLLISION = "collision"
    BOTH = "both"


class ShapeKind(StrEnum):
    SPHERE = "sphere"  # size: radius
    BOX = "box"  # size: full edge lengths
    CYLINDER = "cylinder"  # size: radius, length along z
    CAPSULE = "capsule"  # size: radius, length of the straight part along z
    CONE = "cone"  # size: radius, length along z, from the base at -length/2 to the tip at +length/2
    MESH = "mesh"  # size: scale along x, y, z; the file is `path`


@dataclass(frozen=True)
class Shape:
    """A solid fixed to a link, at `pose` in the link's frame. Lengths in metres.

    Two shapes can touch if each one's `group` (of 32 bits) is in the other's `mask`. Without a `material`, the world's
    own counts.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    pose: Pose = field(default_factory=Pose)
    role: Role = Role.BOTH
    colour: Colour | None = None
    path: Path | None = None
    name: str = ""
    material: Material | None = None
    group: int = 1
    mask: int = EVERYTHING

    @staticmethod
    def sphere(radius: float, pose: Pose | None = None, **more: object) -> Shape:
        return _shape(ShapeKind.SPHERE, (radius,), pose, more)

    @staticmethod
    def box(size: Iterable[float], pose: Pose | None = None, **more: object) -> Shape:
        return _shape(ShapeKind.BOX, tuple(vector(size, 3, "Shape.box: size").tolist()), pose, more)

    @staticmethod
    def cylinder(radius: float, length: float, pose: Pose | None = None, **more: object) -> Shape:
        return _shape(ShapeKind.CYLINDER, (radius, length), pose, more)

    @staticmethod
    def capsule(radius: float, length: float, pose: Pose | None = None, **more: object) -> Shape:
        return _shape(ShapeKind.CAPSULE, (radius, length), pose, more)

    @staticmethod
    def cone(radius: float, length: float, pose: Pose | None = None, **more: object) -> Shape:
        """Along z, the base at -length/2 and the tip at +length/2; its mass is nearer to the base."""
        return _shape(ShapeKind.CONE, (radius, length), pose, more)

    @staticmethod
    def mesh(
        path: Path | str, scale: Iterable[float] = (1.0, 1.0, 1.0), pose: Pose | None = None, **more: object
    ) -> Shape:
        size = tuple(vector(scale, 3, "Shape.mesh: scale").tolist())
        return _shape(ShapeKind.MESH, size, pose, {**more, "path": Path(path)})

    def moved(self, pose: Pose) -> Shape:
        """The same shape in an outer frame, where this frame stands at `pose`."""
        shape = object.__new__(Shape)
        shape.__dict__.update(self.__dict__, pose=pose @ self.pose)
        return shape


def _shape(kind: ShapeKind, size: tuple[float, ...], pose: Pose | None, more: dict[str, object]) -> Shape:
    if kind is not ShapeKind.MESH and not all(0.0 < s < float("inf") for s in size):
        raise ValueError(f"Shape.{kind}: size {size} must be positive and finite")
    return Shape(kind, size, pose or Pose(), **more)  # type: ignore[arg-type]
