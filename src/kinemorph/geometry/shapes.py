"""Shapes of links: for collisions and for pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinemorph.geometry.material import ALL_GROUPS_MASK, Material
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import as_number, check_bits, repr_of
from kinemorph.spatial.pose import Pose, vector

if TYPE_CHECKING:
    from kinemorph.geometry.convex_parts import Parts

Colour = tuple[float, float, float, float]  # red, green, blue, opacity: 0 to 1


class Role(StrEnum):
    """The purpose of a shape."""

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


NUMBERS = {  # in the size of each kind
    ShapeKind.SPHERE: 1, ShapeKind.BOX: 3, ShapeKind.CYLINDER: 2, ShapeKind.CAPSULE: 2, ShapeKind.CONE: 2,
    ShapeKind.MESH: 3,
}  # fmt: skip
LARGEST_SIZE = 1e60  # m: products of five lengths, as inertias have them, are still numbers


@checked_first
@dataclass(frozen=True)
class Shape:
    """A solid fixed to a link, at `pose` in the link's frame. Lengths in metres.

    Two shapes can touch if each one's `group` (of 32 bits) is in the other's `mask`. Without a `material`, the world's
    own counts. A mesh touches as its convex hull, or as its convex `parts`, in its own frame and size: `decompose`.
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
    mask: int = ALL_GROUPS_MASK
    parts: Parts | None = None

    def __post_init__(self) -> None:
        size = tuple([as_number(x) for x in self.size])
        count = NUMBERS.get(self.kind, len(size))
        if len(size) != count or not all(map(math.isfinite, size)):
            word = "number" if count == 1 else "numbers"
            raise ValueError(
                f"Shape: size is {repr_of(self.size)}, and must be {count} finite {word} for a {self.kind}"
            )
        object.__setattr__(self, "size", size)

    @staticmethod
    def known(kind: ShapeKind, size: tuple[float, ...], pose: Pose, colour: Colour) -> Shape:
        """A plain shape of values that are known to be valid."""
        shape = object.__new__(Shape)
        shape.__dict__.update(_PLAIN, kind=kind, size=size, pose=pose, colour=colour)
        return shape

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


_PLAIN = dict(vars(Shape(ShapeKind.SPHERE, (1.0,))))


def _shape(kind: ShapeKind, size: tuple[float, ...], pose: Pose | None, more: dict[str, object]) -> Shape:
    what = f"Shape.{kind}"
    if kind is not ShapeKind.MESH:
        given, size = size, tuple([as_number(x) for x in size])
        if not all(0.0 < x <= LARGEST_SIZE for x in size):
            raise ValueError(f"{what}: size {repr_of(given)} must be positive and finite, {LARGEST_SIZE:g} m at most")
    for name, kinds in KINDS.items():
        if name in more and not isinstance(more[name], kinds):
            raise TypeError(f"{what}: {name} is {repr_of(more[name])}, and must be {WORDS[name]}")
    if more.get("parts") is not None and (kind is not ShapeKind.MESH or not hasattr(more["parts"], "radii")):
        raise TypeError(f"{what}: parts is {repr_of(more['parts'])}, and must be the kinemorph.Parts of a mesh")
    if not isinstance(pose, Pose | None):
        raise TypeError(f"{what}: pose is {repr_of(pose)}, and must be a kinemorph.Pose")
    if more.get("colour") is not None:
        more["colour"] = tuple(vector(more["colour"], 4, f"{what}: colour").tolist())  # type: ignore[arg-type]
    if "role" in more:
        if more["role"] not in tuple(Role):
            raise ValueError(f"{what}: role is {repr_of(more['role'])}, and must be one of {', '.join(Role)}")
        more["role"] = Role(str(more["role"]))
    for name in {"group", "mask"} & more.keys():
        more[name] = check_bits(f"{what}: {name}", more[name])
    return Shape(kind, size, pose or Pose(), **more)  # type: ignore[arg-type]


KINDS: dict[str, Any] = {"name": str, "material": Material | None, "colour": Iterable | None, "role": str}
WORDS = {
    "name": "a string",
    "material": "a kinemorph.Material",
    "colour": "red, green, blue and opacity",
    "role": "one of " + ", ".join(Role),
}
