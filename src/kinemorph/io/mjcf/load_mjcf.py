"""MJCF: the model files of MuJoCo. `docs/mjcf.md` says what is read and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from kinemorph._files import PathLike, quoted
from kinemorph._xml import Element, parse_xml, read_xml
from kinemorph.geometry.shapes import Colour, Role
from kinemorph.io.file_models import clipped_colour
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.io.mjcf.actuators import damped_servo, read_actuators
from kinemorph.io.mjcf.bodies import Bodies
from kinemorph.io.mjcf.constraints import Constraints
from kinemorph.io.mjcf.document import DEEPEST_MJCF, TRUE_FALSE, Document, parse_choice
from kinemorph.io.mjcf.meshes import MeshAsset
from kinemorph.io.mjcf.mujoco_build import build, filters, role_of
from kinemorph.io.mjcf.mujoco_parts import KINDS, SENSOR, Parts, Unsupported
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.algorithms.crba import crba
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.equipment import Floor
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose

GRAVITY = (0.0, 0.0, -9.81)
MUJOCO_SMALLEST_DIVISOR = 1e-14  # what MuJoCo divides by at least


@checked_first
def load_mjcf(
    path: PathLike,
    *,
    root: PathLike | None = None,
    merge_fixed: bool = True,
    ignore: Iterable[str] = (),
    strict: bool = False,
) -> Model:
    """The model of an MJCF file, as MuJoCo would compile it. At zero it stands as the file draws it.

    `root`: the only folder that meshes and included files may come from; else it is the one above the file's.
    `merge_fixed`: bodies without joints become part of their parent, and frames keep their names.
    `ignore`: kinds of things that are left out with a warning where else they would be an error, such as "tendon".
    `strict`: what else would be a `ModelWarning` is a `FileError`.
    """
    return _model(read_xml(path, DEEPEST_MJCF), Path(path).stem, Path(path).parent, root, merge_fixed, ignore, strict)


@checked_first
def parse_mjcf(
    text: str,
    *,
    source: str = "MJCF text",
    folder: PathLike = ".",
    root: PathLike | None = None,
    merge_fixed: bool = True,
    ignore: Iterable[str] = (),
    strict: bool = False,
) -> Model:
    """The model of an MJCF text, as if it were a file in `folder`; `source` names it in errors."""
    return _model(parse_xml(text, source, DEEPEST_MJCF), "model", Path(folder), root, merge_fixed, ignore, strict)


def _model(
    top: Element, name: str, folder: Path, root: PathLike | None, merge_fixed: bool, ignore: Iterable[str], strict: bool
) -> Model:
    warned = FileWarnings(strict)
    unsupported = Unsupported(ignore, warned, KINDS)
    document = Document(top, folder, root)
    gravity = (0.0, 0.0, 0.0) if document.off("gravity") else document.option.numbers("gravity", 3, GRAVITY)
    parts = Parts(top, top.attributes.get("model") or name, np.array(gravity))
    _refuse(document, unsupported)
    bodies = Bodies(document, parts, _meshes(document), _colours(document), unsupported)
    bodies.read()
    joints = {joint.name: joint for joint in parts.joints()}
    constraints = Constraints(document, parts, joints, unsupported)
    constraints.read_contact({geom.name: i for i, geom in enumerate(bodies.geoms) if geom.name})
    _add_shapes(document, bodies)
    constraints.read_tendons()
    if not document.off("constraint", "equality"):
        constraints.read_equalities()
    controls = sum(len(section.children) for section in document.sections["actuator"])
    if not document.off("actuation"):
        parts.actuators = read_actuators(document, joints, bodies.ranges, unsupported)
    constraints.read_keys(controls)
    ratios = [a for _, a in parts.actuators if a.gain == -a.bias[1] and a.bias[2] > 0.0]
    if bodies.sprung or ratios:
        _settle_damping(parts, bodies, merge_fixed)
    model = build(parts, merge_fixed, warned)
    warned.issue()
    return model


def _refuse(document: Document, unsupported: Unsupported) -> None:
    """Refuse the features that a model cannot have."""
    for section in document.sections["extension"]:
        for plugin in section.children:
            unsupported.found("plugin", plugin, "plugins are not read")
    for section in document.sections["deformable"]:
        for flex in section.children:
            if flex.tag != "skin":
                unsupported.found("flex", flex, "bodies that bend are not read")
    for section in document.sections["sensor"]:
        for sensor in section.children:
            unsupported.warned.add("sensor", sensor, SENSOR)
    if any(document.option.number(name, 0.0) > 0.0 for name in ("density", "viscosity")):
        unsupported.found("fluid", document.option, "the model is in a fluid, which does not act here")


def _meshes(document: Document) -> dict[str, MeshAsset]:
    """Meshes by name: what they are not told, they are called after their file."""
    found: dict[str, MeshAsset] = {}
    for section in document.sections["asset"]:
        for element in section.children:
            if element.tag == "mesh":
                mesh = MeshAsset(document.settled(element), document)
                name = element.attributes.get("name") or Path(element.attribute("file")).stem
                if name in found:
                    line = found[name].element.line
                    raise element.error(f"there is already a mesh {quoted(name)} in line {line}")
                found[name] = mesh
            elif element.tag not in ("hfield", "skin", "texture", "material", "model"):
                raise element.error("there is no such asset")
    return found


def _colours(document: Document) -> dict[str, Colour]:
    found: dict[str, Colour] = {}
    for section in document.sections["asset"]:
        for element in section.all("material"):
            _, defaults = document.defaults(element, "material", "main")
            for each in (*defaults, element):
                if "rgba" in each.attributes:
                    found[element.attributes.get("name", "")] = clipped_colour(each.numbers("rgba", 4))
    return found


def _add_shapes(document: Document, bodies: Bodies) -> None:
    """Give the bodies their geoms, after all of them are known: the collision filters depend on all."""
    parts = bodies.parts
    paired = {name for pair in parts.pair_materials for name in (pair.a, pair.b)}
    sorts = filters([geom.bits for geom in bodies.geoms])
    discard = parse_choice(document.compiler, "discardvisual", TRUE_FALSE, False)
    still = document.off("contact", "constraint")
    for geom, (group, mask) in zip(bodies.geoms, sorts, strict=True):
        role = role_of(*geom.bits, geom.group, bool(geom.name) and geom.name in paired)
        if role is Role.VISUAL and (discard or geom.kind == "plane"):
            continue
        if still:
            group, mask = 1, 0
        if geom.kind == "plane":
            pose = _pose_at_zero(parts, geom.body, geom.where) @ geom.pose
            more = {"material": geom.material, "group": group, "mask": mask}
            parts.floors.append(Floor(pose=pose, colour=geom.colour, name=geom.name, **more))  # type: ignore[arg-type]
        else:
            try:
                parts.bodies[geom.body].shapes.append(geom.shape(role, group, mask))
            except ValueError as error:
                raise geom.where.error(str(error)) from None


def _pose_at_zero(parts: Parts, body: int, asking: Element) -> Pose:
    pose = Pose()
    while body > 0:
        part = parts.bodies[body]
        if part.joints:
            raise asking.error("a plane cannot move; give it to the world")
        pose, body = part.pose @ pose, part.parent
    return pose


def _settle_damping(parts: Parts, bodies: Bodies, merge_fixed: bool) -> None:
    """Springs and dampers that are given by a time and a ratio, from the inertia at their joints in the drawn pose."""
    plain = replace(parts, loops=[], couplings=[], actuators=[], keys=[], sites=[])
    model = build(plain, merge_fixed, FileWarnings(False))
    try:
        M = crba(model, Data(model), neutral(model))
        # the inverse of the inertia of a joint while all others give way
        alone = np.diag(np.linalg.inv(M)) if bodies.sprung else np.diag(M)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):
        where = bodies.sprung[0][0].where if bodies.sprung else parts.where
        why = "a spring or a servo is given by a time or a ratio, which needs the inertia at its joint"
        raise where.error(f"{why}, and a joint of the model moves no mass") from None
    if bodies.sprung:
        for joint, constant, ratio in bodies.sprung:
            inertia = 1.0 / max(float(alone[model.v_slice(joint.name)].mean()), MUJOCO_SMALLEST_DIVISOR)
            joint.stiffness = inertia / max(constant * constant * ratio * ratio, MUJOCO_SMALLEST_DIVISOR)
            joint.damping = 2.0 * inertia / max(constant, MUJOCO_SMALLEST_DIVISOR)
    for k, (where, a) in enumerate(parts.actuators):
        if a.gain == -a.bias[1] and a.bias[2] > 0.0:
            parts.actuators[k] = where, damped_servo(a, float(np.diag(M)[model.v_slice(a.joint)][0]))
