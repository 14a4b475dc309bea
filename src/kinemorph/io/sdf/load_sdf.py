"""SDF: the model files of Gazebo, which can describe closed chains. `docs/sdf.md` says what is read and how."""

from __future__ import annotations

import math
import re
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
from kinemorph.io.sdf.frames import MODEL, WORLD, Frames, flag
from kinemorph.io.sdf.tree import build
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
    "ball": JointKind.SPHERICAL,
    "universal": JointKind.UNIVERSAL,
    "screw": JointKind.SCREW,
}
UNLIMITED = 1e16  # what SDF writes for "no limit"
ABSENT = {"lower": -np.inf, "upper": np.inf, "velocity_limit": np.inf, "effort_limit": np.inf}  # and all else is 0
UNIT = Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3))  # what SDF gives to a link that does not say

_VERSION = re.compile(r"1\.([0-9]{1,3})")


@checked_first
def load_sdf(
    path: PathLike,
    floating: bool = True,
    *,
    prefer: Iterable[str] = (),
    package_dirs: Iterable[PathLike] = (),
    mesh_root: PathLike | None = None,
    merge_fixed: bool = True,
    gravity: Iterable[float] = GRAVITY,
    strict: bool = False,
) -> Model:
    """The model of an SDF file, with the loops that its joints close. At zero it stands as the file places it.

    `floating`: links that no joint carries move freely, as SDF means it; else they are fixed to the world.
    `prefer`: joints that stay in the tree, where another one would close the loop if the file's order decided.
    The other options are those of `load_urdf`.
    """
    reading = Reading(Path(path).parent, floating, package_dirs, mesh_root, merge_fixed, gravity, strict)
    return _model(read_xml(path), list(prefer), reading)


@checked_first
def parse_sdf(
    text: str,
    floating: bool = True,
    *,
    source: str = "SDF text",
    folder: PathLike = ".",
    prefer: Iterable[str] = (),
    package_dirs: Iterable[PathLike] = (),
    mesh_root: PathLike | None = None,
    merge_fixed: bool = True,
    gravity: Iterable[float] = GRAVITY,
    strict: bool = False,
) -> Model:
    """The model of an SDF text, as if it were a file in `folder`; `source` names it in errors."""
    reading = Reading(Path(folder), floating, package_dirs, mesh_root, merge_fixed, gravity, strict)
    return _model(parse_xml(text, source), list(prefer), reading)


def _model(sdf: Element, prefer: list[str], reading: Reading) -> Model:
    model, warned = _the_model(sdf), reading.warned
    frames = Frames(model, sdf.attribute("version").strip() == "1.4")
    links: dict[str, FileLink] = {}
    for element in model.all("link"):
        name = new_name(element, links)
        if name in (MODEL, WORLD):
            raise element.error("SDF has taken this name; give the link another one")
        link = links[name] = FileLink(element, name, _inertia(element, frames, warned), [])
        link.shapes.extend(_shapes(element, frames, reading))
    joints: dict[str, FileJoint] = {}
    for element in model.all("joint"):
        name = new_name(element, joints)
        joints[name] = _joint(element, name, links, frames)
    if not links:
        warned.add("empty", model, "there are no <link> elements; the model is empty")
    reading.floating = reading.floating and not flag(model.one("static"))
    result = build(model, links, joints, frames, prefer, reading)
    warned.issue()
    return result


def _the_model(sdf: Element) -> Element:
    """The only model of a file, if it is all in this file."""
    if sdf.tag != "sdf":
        raise sdf.error("this is not an SDF file: its outermost element must be <sdf>")
    version = sdf.attribute("version").strip()
    match = _VERSION.fullmatch(version)
    if not match or int(match[1]) < 4:
        raise sdf.error(f"version={quoted(version)}: versions from 1.4 on are read")
    worlds = sdf.all("world")
    models = sdf.all("model") + [model for world in worlds for model in world.all("model")]
    if len(models) != 1:
        raise sdf.error(f"it holds {len(models)} models; expected one")
    model = models[0]
    model.attribute("name")
    for tag in ("model", "include"):
        for element in (*model.all(tag), *(part for world in worlds for part in world.all("include"))):
            raise element.error("models inside or from other files are not read; write one model out")
    if "placement_frame" in model.attributes:
        raise model.error("the attribute 'placement_frame' is not read; give the pose of the model")
    return model


def _inertia(link: Element, frames: Frames, warned: FileWarnings) -> Inertia:
    inertial = link.one("inertial")
    if inertial is None:
        warned.add("inertial", link, "<inertial> is missing; SDF means 1 kg and 1 kg m² by that")
        return UNIT
    if inertial.attributes.get("auto", "false").strip().lower() in ("true", "1"):
        raise inertial.error('auto="true": inertias are not made of collisions; write <mass> and <inertia>')
    if (water := inertial.one("fluid_added_mass")) is not None:
        warned.add("inertial", water, "it is left out: bodies move in nothing")
    weight, moments = inertial.one("mass"), inertial.one("inertia")
    for tag, part, means in (("mass", weight, "1 kg"), ("inertia", moments, "1 kg m²")):
        if part is None:
            warned.add("inertial", inertial, f"<{tag}> is missing; SDF means {means} by that")
    mass = weight.values(1)[0] if weight is not None else 1.0
    if weight is not None and mass < 0.0:
        raise weight.error(f"{quoted(weight.content())}: a mass cannot be negative")
    place = frames.on(link.attribute("name"), inertial)
    if moments is None:
        return inertia_of(mass, [1.0, 0.0, 0.0, 1.0, 0.0, 1.0], place, inertial, warned)
    values = []
    for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"):
        part = moments.need(name) if name in ("ixx", "iyy", "izz") else moments.one(name)
        values.append(part.values(1)[0] if part is not None else 0.0)
        if part is not None and name in ("ixx", "iyy", "izz") and values[-1] < -INERTIA_ROUNDING:
            raise part.error(f"{quoted(part.content())}: a moment of inertia cannot be negative")
    return inertia_of(mass, values, place, moments, warned)


def _joint(element: Element, name: str, links: dict[str, FileLink], frames: Frames) -> FileJoint:
    kind = element.attribute("type")
    if kind not in KINDS:
        raise element.error(f"type={quoted(kind)}: this type is not read; use one of {', '.join(KINDS)}")
    ends = [element.need(tag).content() for tag in ("parent", "child")]
    for tag, end in zip(("parent", "child"), ends, strict=True):
        if end not in links and end != WORLD:
            hint = "; frames as ends of joints are not read" if end in frames.elements or end in frames.poses else ""
            raise element.need(tag).error(f"{quoted(end)}: there is no link of this name{hint}")
    parent, child = ends
    if parent == child:
        raise element.error(f"both of its ends are {quoted(parent)}")
    frame = frames.placed(element)
    at, on = (frames.of(end, element).inverse() @ frame for end in ends)
    options: dict[str, Any] = {"name": name}
    if kind == "ball":
        options |= _passive(element.one("axis"))
    elif kind == "universal":
        both = [_axis_options(element.need(tag), kind, frame, frames) for tag in ("axis", "axis2")]
        options |= {"axis": both[0].pop("axis"), "axis2": both[1].pop("axis")}
        for field in {**both[0], **both[1]}:
            options[field] = [each.get(field, ABSENT.get(field, 0.0)) for each in both]
    elif kind != "fixed":
        options |= _axis_options(element.need("axis"), kind, frame, frames)
    if kind == "screw":
        options["pitch"] = _pitch(element)
    try:
        joint = Joint(KINDS[kind], **options)
    except ValueError as error:  # its axes, or what acts along them
        raise element.error(str(error)) from None
    if child == WORLD:  # the base carries the other link then
        return FileJoint(element, name, joint.turned(), child, parent, on, at)
    return FileJoint(element, name, joint, parent, child, at, on)


def _axis_options(axis: Element, kind: str, frame: Pose, frames: Frames) -> dict[str, Any]:
    """An axis, in the joint's frame, with what acts along it."""
    options: dict[str, Any] = _passive(axis)
    options["axis"] = [0.0, 0.0, 1.0]
    xyz = axis.one("xyz")
    if xyz is not None:
        direction = np.array(xyz.values(3))
        length = float(np.linalg.norm(direction))
        if length < 1e-9:
            raise xyz.error(f"{quoted(xyz.content())}: this vector has no direction")
        in_model = frames.axes_in_model or flag(axis.one("use_parent_model_frame"))
        named = xyz.attributes.get("expressed_in") or (MODEL if in_model else "")
        if named:
            direction = frame.rotation.T @ frames.of(named, xyz).rotation @ direction
        options["axis"] = (direction / length).tolist()
    limit = axis.one("limit")
    if limit is None:
        return options
    for field, tag in (("velocity_limit", "velocity"), ("effort_limit", "effort")):
        options[field] = _limit(limit, tag, np.inf)
        if options[field] < 0.0:  # SDF means by it that there is none
            options[field] = np.inf
    if kind != "continuous":
        lower = options["lower"] = _limit(limit, "lower", -np.inf)
        upper = options["upper"] = _limit(limit, "upper", np.inf)
        if lower > upper:
            raise limit.error(f"lower {lower:g} is above upper {upper:g}; swap them")
    return options


def _limit(limit: Element, tag: str, default: float) -> float:
    element = limit.one(tag)
    if element is None:
        return default
    word = element.content().lower().lstrip("+")
    if word in ("inf", "-inf"):
        return float(word)
    value = element.values(1, float(np.finfo(float).max))[0]
    return value if abs(value) < UNLIMITED else math.copysign(np.inf, value)


def _passive(axis: Element | None) -> dict[str, Any]:
    dynamics = axis.one("dynamics") if axis is not None else None
    if dynamics is None:
        return {}
    options = {}
    for field, tag in (
        ("damping", "damping"),
        ("friction", "friction"),
        ("stiffness", "spring_stiffness"),
        ("rest", "spring_reference"),
    ):
        element = dynamics.one(tag)
        if element is not None:
            options[field] = element.values(1)[0]
            if field != "rest" and options[field] < 0.0:
                raise element.error(f"{quoted(element.content())}: it cannot be negative")
    return options


def _pitch(element: Element) -> float:
    """Metres per radian. The older <thread_pitch> is in radians per metre, and counts the other way round."""
    pitch, older = element.one("screw_thread_pitch"), element.one("thread_pitch")
    if pitch is not None:
        return pitch.values(1)[0] / (2.0 * math.pi)
    if older is None:
        return -1.0
    value = older.values(1)[0]
    if abs(value) < 1e-9:
        raise older.error(f"{quoted(older.content())}: a screw that never turns is a prismatic joint")
    return -1.0 / value


def _shapes(link: Element, frames: Frames, reading: Reading) -> list[Shape]:
    name = link.attribute("name")
    return shapes_of(link, lambda element, body: _shape(element, body, frames.on(name, element), reading))


def _shape(element: Element, body: Element, pose: Pose, reading: Reading) -> Shape | None:
    more: dict[str, Any] = {"role": Role(element.tag), "name": element.attributes.get("name", "")}
    more["colour"] = _colour(element.one("material"))
    if body.tag == "box":
        return Shape.box(body.need("size").values(3), pose, **more)
    if body.tag == "sphere":
        return Shape.sphere(body.need("radius").values(1)[0], pose, **more)
    if body.tag in ("cylinder", "capsule"):
        radius, length = (body.need(tag).values(1)[0] for tag in ("radius", "length"))
        return (Shape.cylinder if body.tag == "cylinder" else Shape.capsule)(radius, length, pose, **more)
    if body.tag == "mesh":
        scale = body.one("scale")
        path = reading.paths.find(body.need("uri"), "", reading.warned)
        return None if path is None else Shape.mesh(path, scale.values(3) if scale else (1, 1, 1), pose, **more)
    if body.tag != "empty":
        reading.warned.add(
            "shape", body, "this shape is not read, and left out; use box, sphere, cylinder, capsule or mesh"
        )
    return None


def _colour(material: Element | None) -> Colour | None:
    for tag in ("diffuse", "ambient"):
        colour = material.one(tag) if material is not None else None
        if colour is not None:
            count = 3 if len(colour.text.split()) == 3 else 4
            return clipped_colour((*colour.values(count), 1.0)[:4])
    return None
