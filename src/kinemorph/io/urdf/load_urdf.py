"""URDF: the robot files of ROS. `docs/urdf.md` says what is read and by which rules."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import PathLike, quoted
from kinemorph._xml import Element, parse_xml, read_xml
from kinemorph.geometry.shapes import Colour, Role, Shape
from kinemorph.io.file_models import Reading, clipped_colour, new_name, shapes_of
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.io.link_merging import GRAVITY, INERTIA_ROUNDING, FileJoint, FileLink, inertia_of
from kinemorph.io.urdf.tree import build
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose

KINDS = {
    "revolute": JointKind.REVOLUTE,
    "continuous": JointKind.REVOLUTE,
    "prismatic": JointKind.PRISMATIC,
    "fixed": JointKind.FIXED,
    "floating": JointKind.FREE,
    "planar": JointKind.PLANAR,
}


@checked_first
def load_urdf(
    path: PathLike,
    floating: bool = False,
    *,
    package_dirs: Iterable[PathLike] = (),
    mesh_root: PathLike | None = None,
    merge_fixed: bool = True,
    gravity: Iterable[float] = GRAVITY,
    strict: bool = False,
) -> Model:
    """The model of a URDF file.

    `floating`: the root link moves freely, on a joint "root_joint"; else it is fixed to the world.
    `merge_fixed`: links behind fixed joints become part of their parent, and frames keep their names.
    `package_dirs`: folders that hold packages, for meshes at package://; the folders above the file are searched too.
    `mesh_root`: the only folder that meshes may come from.
    `strict`: what else would be a `ModelWarning` is a `FileError`.
    """
    reading = Reading(Path(path).parent, floating, package_dirs, mesh_root, merge_fixed, gravity, strict)
    return _model(read_xml(path), Path(path).stem, reading)


@checked_first
def parse_urdf(
    text: str,
    floating: bool = False,
    *,
    source: str = "URDF text",
    folder: PathLike = ".",
    package_dirs: Iterable[PathLike] = (),
    mesh_root: PathLike | None = None,
    merge_fixed: bool = True,
    gravity: Iterable[float] = GRAVITY,
    strict: bool = False,
) -> Model:
    """The model of a URDF text, as if it were a file in `folder`; `source` names it in errors."""
    reading = Reading(Path(folder), floating, package_dirs, mesh_root, merge_fixed, gravity, strict)
    return _model(parse_xml(text, source), "robot", reading)


def _model(robot: Element, name: str, reading: Reading) -> Model:
    if robot.tag != "robot":
        raise robot.error("this is not a URDF file: its outermost element must be <robot>")
    for element in robot.children:
        if element.tag.startswith("xacro:"):
            raise element.error("this is a xacro file; expand it first: xacro robot.urdf.xacro > robot.urdf")
    colours = _colours(robot)
    links: dict[str, FileLink] = {}
    for element in robot.all("link"):
        link = FileLink(element, new_name(element, links), _inertia(element, reading.warned), [])
        link.shapes.extend(shapes_of(element, lambda part, body: _shape(part, body, colours, reading)))
        links[link.name] = link
    joints: dict[str, FileJoint] = {}
    for element in robot.all("joint"):
        joint = _joint(element, new_name(element, joints))
        joints[joint.name] = joint
    model = build(robot, robot.attributes.get("name") or name, links, joints, reading)
    reading.warned.issue()
    return model


def _pose(element: Element) -> Pose:
    """Where an element's <origin> is."""
    origin = element.one("origin")
    if origin is None:
        return Pose()
    roll, pitch, yaw = origin.numbers("rpy", 3, (0.0, 0.0, 0.0))
    return Pose.rpy(roll, pitch, yaw, origin.numbers("xyz", 3, (0.0, 0.0, 0.0)))


def _inertia(link: Element, warned: FileWarnings) -> Inertia | None:
    """A link's inertia as the file has it; None if it has none, which means no mass."""
    inertial = link.one("inertial")
    if inertial is None:
        return None
    weight, moments = inertial.need("mass"), inertial.need("inertia")
    mass = weight.number("value")
    if mass < 0.0:
        raise weight.error(f"value={quoted(weight.attribute('value'))}: a mass cannot be negative")
    xx, xy, xz, yy, yz, zz = (moments.number(name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    for name, value in (("ixx", xx), ("iyy", yy), ("izz", zz)):
        if value < -INERTIA_ROUNDING:
            raise moments.error(f"{name}={quoted(moments.attribute(name))}: a moment of inertia cannot be negative")
    return inertia_of(mass, (xx, xy, xz, yy, yz, zz), _pose(inertial), moments, warned)


def _joint(element: Element, name: str) -> FileJoint:
    kind = element.attribute("type")
    if kind not in KINDS:
        raise element.error(f"type={quoted(kind)}: there is no such type; use one of {', '.join(KINDS)}")
    parent, child = (element.need(tag).attribute("link") for tag in ("parent", "child"))
    at = _pose(element)
    if kind == "fixed":  # whatever else it says, it does not move
        return FileJoint(element, name, Joint.fixed(name=name), parent, child, at)
    options: dict[str, Any] = _passive(element) | _limits(element, kind)
    if kind != "floating":
        axis = options["axis"] = _axis(element)
        if kind == "planar":  # URDF gives only the normal; coordinates in the plane start with x where that is possible
            options["axis2"] = "x" if abs(axis[0]) < 0.9 else "y"
    return FileJoint(element, name, Joint(KINDS[kind], name=name, **options), parent, child, at)


def _axis(element: Element) -> list[float]:
    axis = element.one("axis")
    if axis is None:
        return [1.0, 0.0, 0.0]
    xyz = axis.numbers("xyz", 3)
    length = float(np.linalg.norm(xyz))
    if length < 1e-9:
        raise axis.error(f"xyz={quoted(axis.attribute('xyz'))}: this vector has no direction")
    return [x / length for x in xyz]


def _passive(element: Element) -> dict[str, float]:
    dynamics = element.one("dynamics")
    if dynamics is None:
        return {}
    values = {name: dynamics.number(name, 0.0) for name in ("damping", "friction")}
    _not_negative(dynamics, values)
    return values


def _limits(element: Element, kind: str) -> dict[str, float]:
    """Limits as options of a Joint. Positions are limited for joints that have one and an end: not for others."""
    limit = element.one("limit")
    ends = kind in ("revolute", "prismatic")
    if limit is None:
        if ends:
            advice = '; without limits it is type="continuous"' if kind == "revolute" else ""
            raise element.error(f"<limit> is missing, which a {kind} joint needs{advice}")
        return {}
    largest = float(np.finfo(float).max)  # writers of URDF mean "none" by it, and limits are never multiplied
    values = {name: limit.number(name, np.inf, largest) for name in ("velocity", "effort")}
    _not_negative(limit, values)
    options = {"velocity_limit": values["velocity"], "effort_limit": values["effort"]}
    if ends:
        lower, upper = limit.number("lower", 0.0, largest), limit.number("upper", 0.0, largest)
        if lower > upper:
            raise limit.error(f"lower={quoted(f'{lower:g}')} is above upper={quoted(f'{upper:g}')}; swap them")
        # the largest number there is means that there is no limit
        options |= {"lower": lower if lower > -largest else -np.inf, "upper": upper if upper < largest else np.inf}
    return options


def _not_negative(element: Element, values: dict[str, float]) -> None:
    for name, value in values.items():
        if value < 0.0:
            raise element.error(f"{name}={quoted(element.attribute(name))} cannot be negative")


def _colours(robot: Element) -> dict[str, Colour]:
    """Materials by name: those of the robot, and those that a visual defines on its way."""
    visuals = [visual for link in robot.all("link") for visual in link.all("visual")]
    colours: dict[str, Colour] = {}
    for element in (robot, *visuals):
        for material in element.all("material"):
            colour = _colour(material)
            if colour is not None:
                colours.setdefault(material.attributes.get("name", ""), colour)
    return colours


def _colour(material: Element) -> Colour | None:
    colour = material.one("color")
    if colour is None:
        return None
    return clipped_colour(colour.numbers("rgba", 4))


def _shape(element: Element, body: Element, colours: dict[str, Colour], reading: Reading) -> Shape | None:
    material = element.one("material")
    colour = None
    if material is not None:
        colour = _colour(material) or colours.get(material.attributes.get("name", ""))
    more: dict[str, Any] = {
        "role": Role(element.tag), "colour": colour, "name": element.attributes.get("name", ""),
    }  # fmt: skip
    pose = _pose(element)
    if body.tag == "box":
        return Shape.box(body.numbers("size", 3), pose, **more)
    if body.tag == "sphere":
        return Shape.sphere(body.number("radius"), pose, **more)
    if body.tag in ("cylinder", "capsule"):
        make = Shape.cylinder if body.tag == "cylinder" else Shape.capsule
        return make(body.number("radius"), body.number("length"), pose, **more)
    if body.tag == "mesh":
        path = reading.paths.find(body, "filename", reading.warned)
        scale = body.numbers("scale", 3, (1.0, 1.0, 1.0))
        return None if path is None else Shape.mesh(path, scale, pose, **more)
    raise body.error("there is no such shape; use box, sphere, cylinder, capsule or mesh")
