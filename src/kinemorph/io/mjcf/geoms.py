"""Geoms of MJCF files: what they are, and what they weigh."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kinemorph._files import quoted
from kinemorph._xml import Element
from kinemorph.geometry.material import Material
from kinemorph.geometry.meshes.kept_mesh import ball_file
from kinemorph.geometry.shapes import Colour, Role, Shape
from kinemorph.io.file_models import clipped_colour
from kinemorph.io.mjcf.compiled_inertia import PrincipalInertia
from kinemorph.io.mjcf.document import TRUE_FALSE, Document, from_z, padded_numbers, parse_choice, parse_integer, unit
from kinemorph.io.mjcf.meshes import MeshAsset
from kinemorph.io.mjcf.mujoco_parts import Unsupported
from kinemorph.spatial.pose import Pose

# how many numbers the size of a geom has, without and with fromto
SIZES = {"sphere": (1, 0), "capsule": (2, 1), "cylinder": (2, 1), "ellipsoid": (3, 1), "box": (3, 1)}
TYPES = {
    name: name for name in ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
}  # fmt: skip
WATER = 1000.0  # kg/m³
NO_VELOCITY = (0.0,) * 6
FRICTION = (1.0, 0.005, 0.0001)


@dataclass
class Geom:
    """A geom of a body, in the body's frame."""

    where: Element
    name: str
    body: int
    kind: str
    size: list[float]
    pose: Pose
    mesh: MeshAsset | None
    bits: tuple[int, int]
    group: int
    material: Material
    colour: Colour | None

    def shape(self, role: Role, group: int, mask: int) -> Shape:
        more: dict[str, Any] = {
            "role": role, "colour": self.colour, "name": self.name, "material": self.material, "group": group,
            "mask": mask,
        }  # fmt: skip
        s, pose = self.size, self.pose
        if self.mesh is not None:
            return Shape.mesh(self.mesh.path, self.mesh.size, pose @ self.mesh.pose, **more)
        if self.kind == "sphere":
            return Shape.sphere(s[0], pose, **more)
        if self.kind == "box":
            return Shape.box([2.0 * x for x in s], pose, **more)
        if self.kind == "ellipsoid":
            return Shape.mesh(ball_file(), s, pose, **more)
        return (Shape.capsule if self.kind == "capsule" else Shape.cylinder)(s[0], 2.0 * s[1], pose, **more)

    def weight(self, unsupported: Unsupported) -> PrincipalInertia | None:
        """Its mass properties; None if it has no mass."""
        element = self.where
        mass = element.number("mass") if "mass" in element.attributes else None
        density = element.number("density", WATER)
        for name, value in (("mass", mass), ("density", density)):
            if value is not None and value < 0.0:
                raise element.error(f"{name}={quoted(element.attribute(name))} cannot be negative")
        if self.kind in ("plane", "hfield") or (mass == 0.0 if mass is not None else density == 0.0):
            return None
        solid: PrincipalInertia | None = None
        if self.mesh is not None:
            solid = self.mesh.solid
            amount, moments = solid.mass, solid.moments
        else:
            shell = parse_choice(element, "shellinertia", TRUE_FALSE, False)
            if shell and self.kind == "ellipsoid":
                unsupported.found("shell", element, "a hollow ellipsoid has no mass here")
                return None
            try:
                amount, gyrations = (SHELLS if shell else SOLIDS)[self.kind](*self.size)
            except ZeroDivisionError:
                raise element.error(f"size {self.size} is too small to be weighed") from None
            moments = np.array([amount * g for g in gyrations])
        scale = density if mass is None else mass / amount if amount > 0.0 else math.inf
        if not math.isfinite(scale * max(amount, *np.abs(moments).tolist())):
            raise element.error("it is too small or too large to be weighed")
        if solid is not None:
            return PrincipalInertia(amount * scale, solid.com, moments * scale, solid.axes).moved(self.pose)
        return PrincipalInertia(amount * scale, self.pose.position, moments * scale, self.pose.rotation)


def read_geom(
    element: Element, body: int, at: Callable[[Pose], Pose], document: Document, meshes: Mapping[str, MeshAsset],
    colours: Mapping[str, Colour], unsupported: Unsupported,
) -> Geom | None:  # fmt: skip
    """A geom that has all of its defaults, on the body `at` its own place; None if it is left out."""
    kind = parse_choice(element, "type", TYPES, "sphere")
    if kind in ("hfield", "sdf"):
        unsupported.found(kind, element, f'type="{kind}": this kind of shape is not read')
        return None
    if any(padded_numbers(element, "surfacevel", NO_VELOCITY)):
        unsupported.found("surfacevel", element, "its surface moves, which is not read")
    if element.number("adhesion", 0.0):
        unsupported.found("adhesion", element, "it sticks, which is not read")
    mesh = None
    if "mesh" in element.attributes:
        name = element.attribute("mesh")
        if name not in meshes:
            raise element.error(f"mesh={quoted(name)}: there is no mesh of this name")
        mesh = meshes[name]
        if kind == "plane" or "fromto" in element.attributes:
            raise element.error(f"mesh={quoted(name)}: what is fitted to a mesh is no plane and has no fromto")
    elif kind == "mesh":
        raise element.error("the attribute 'mesh' is missing")
    if mesh is not None and kind != "mesh":
        size, pose = _fitted(element, kind, mesh, document)
        mesh = None
    else:
        size, pose = _placed(element, kind, document)
    bits = parse_integer(element, "contype", 1), parse_integer(element, "conaffinity", 1)
    slide, spin, roll = padded_numbers(element, "friction", FRICTION)
    try:
        material = _material(
            slide, spin, roll, parse_integer(element, "condim", 3), element.number("margin", 0.0),
            parse_integer(element, "priority", 0),
        )  # fmt: skip
    except ValueError as error:
        raise element.error(str(error)) from None
    return Geom(
        element, element.attributes.get("name", ""), body, kind, size, at(pose), mesh, bits,
        parse_integer(element, "group", 0), material, _colour(element, colours),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _material(slide: float, spin: float, roll: float, directions: int, margin: float, priority: int) -> Material:
    """Most geoms of a file are of one material."""
    return Material(slide, spin, roll, directions=directions, margin=margin, priority=priority)


def _placed(element: Element, kind: str, document: Document) -> tuple[list[float], Pose]:
    """Size and place of a geom, perhaps by its two ends."""
    if kind in ("plane", "mesh"):
        return [], document.pose(element)
    needed, between = SIZES[kind]
    ends = "fromto" in element.attributes and between
    size = list(padded_numbers(element, "size", (0.0, 0.0, 0.0))[: between if ends else needed])
    if not all(s > 0.0 for s in size):
        shown = quoted(element.attributes.get("size", ""))
        raise element.error(f"size={shown}: a {kind} needs {len(size)} positive number{'s' if len(size) > 1 else ''}")
    if not ends:
        return size, document.pose(element)
    pose, half = between_ends(element)
    return ([size[0], half] if needed == 2 else [size[0], size[0], half]), pose


def _fitted(element: Element, kind: str, mesh: MeshAsset, document: Document) -> tuple[list[float], Pose]:
    """Size and place of a primitive that stands for a mesh."""
    size, pose = mesh.fitted(kind, parse_choice(document.compiler, "fitaabb", TRUE_FALSE, False))
    size = [element.number("fitscale", 1.0) * x for x in size]
    if not all(0.0 < x < math.inf for x in size):
        raise element.error(f"mesh={quoted(element.attribute('mesh'))}: a {kind} that fits it has the size {size}")
    return size, document.pose(element) @ pose


def between_ends(element: Element) -> tuple[Pose, float]:
    """The place in the middle of two ends, with z towards the first one, and half their distance."""
    a, b, c, x, y, z = element.numbers("fromto", 6)
    way = [a - x, b - y, c - z]
    middle = np.array([0.5 * (a + x), 0.5 * (b + y), 0.5 * (c + z)])
    return Pose.known(middle, from_z(unit(element, "fromto", way))), 0.5 * math.hypot(*way)


def _colour(element: Element, colours: Mapping[str, Colour]) -> Colour | None:
    if element.attributes.get("rgba", "").strip():
        return clipped_colour(element.numbers("rgba", 4))
    return colours.get(element.attributes.get("material", ""))


# ------------------------------------------------------------------------------- volume or area, and squared gyrations


def _ball(r: float) -> tuple[float, list[float]]:
    return 4.0 / 3.0 * math.pi * r**3, [0.4 * r * r] * 3


def _ellipsoid(a: float, b: float, c: float) -> tuple[float, list[float]]:
    return 4.0 / 3.0 * math.pi * a * b * c, [(b * b + c * c) / 5.0, (a * a + c * c) / 5.0, (a * a + b * b) / 5.0]


def _box(a: float, b: float, c: float) -> tuple[float, list[float]]:
    return 8.0 * a * b * c, [(b * b + c * c) / 3.0, (a * a + c * c) / 3.0, (a * a + b * b) / 3.0]


def _cylinder(r: float, h: float) -> tuple[float, list[float]]:
    side = 0.25 * r * r + h * h / 3.0
    return 2.0 * math.pi * r * r * h, [side, side, 0.5 * r * r]


def _capsule(r: float, h: float) -> tuple[float, list[float]]:
    rod, ends = 2.0 * math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3
    side = rod * (0.25 * r * r + h * h / 3.0) + ends * (0.4 * r * r + 0.75 * r * h + h * h)
    whole = rod + ends
    return whole, [side / whole, side / whole, (0.5 * rod + 0.4 * ends) * r * r / whole]


def _hollow_ball(r: float) -> tuple[float, list[float]]:
    return 4.0 * math.pi * r * r, [2.0 / 3.0 * r * r] * 3


def _hollow_box(a: float, b: float, c: float) -> tuple[float, list[float]]:
    x, y, z = 8.0 * b * c, 8.0 * a * c, 8.0 * a * b  # areas of the three pairs of sides
    aa, bb, cc = a * a, b * b, c * c
    area = x + y + z
    return area, [
        (x * (bb + cc) / 3.0 + y * (cc / 3.0 + bb) + z * (bb / 3.0 + cc)) / area,
        (x * (cc / 3.0 + aa) + y * (aa + cc) / 3.0 + z * (aa / 3.0 + cc)) / area,
        (x * (bb / 3.0 + aa) + y * (aa / 3.0 + bb) + z * (aa + bb) / 3.0) / area,
    ]


def _hollow_cylinder(r: float, h: float) -> tuple[float, list[float]]:
    wall, ends = 4.0 * math.pi * r * h, 2.0 * math.pi * r * r
    area = wall + ends
    side = (wall * (0.5 * r * r + h * h / 3.0) + ends * (0.25 * r * r + h * h)) / area
    return area, [side, side, (wall + 0.5 * ends) * r * r / area]


def _hollow_capsule(r: float, h: float) -> tuple[float, list[float]]:
    wall, ends = 4.0 * math.pi * r * h, 4.0 * math.pi * r * r
    area = wall + ends
    side = (wall * (0.5 * r * r + h * h / 3.0) + ends * (2.0 / 3.0 * r * r + h * r + h * h)) / area
    return area, [side, side, (wall + 2.0 / 3.0 * ends) * r * r / area]


Formula = Callable[..., tuple[float, list[float]]]
SOLIDS: dict[str, Formula] = {
    "sphere": _ball,
    "ellipsoid": _ellipsoid,
    "box": _box,
    "cylinder": _cylinder,
    "capsule": _capsule,
}
SHELLS: dict[str, Formula] = {
    "sphere": _hollow_ball,
    "box": _hollow_box,
    "cylinder": _hollow_cylinder,
    "capsule": _hollow_capsule,
}
