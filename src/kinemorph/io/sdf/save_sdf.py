"""SDF out: a model, with its loops, as one of Gazebo. `docs/sdf.md` says what becomes of what."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import PathLike
from kinemorph.constraint.loops import loop_errors
from kinemorph.geometry.meshes.kept_mesh import shape_for_files
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.io.link_merging import ROOT_JOINT
from kinemorph.io.model_writing import LostFeatures, MeshFiles, at_pose, write_model_file
from kinemorph.io.xml_text import Tag, quaternion_of
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.convert.mujoco_names import new_name
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.inertia import moments_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose

WORLD, MODEL = "world", "__model__"
BASE_NAME = "base"  # the link of what stands in the world
# m or rad: a loop that is open by more, with all joints at zero, is not one that SDF can describe.
OPEN_LOOP_ERROR = 1e-6
TYPES = {
    JointKind.REVOLUTE: "revolute", JointKind.PRISMATIC: "prismatic", JointKind.FIXED: "fixed",
    JointKind.SPHERICAL: "ball", JointKind.UNIVERSAL: "universal", JointKind.SCREW: "screw",
}  # fmt: skip


@checked_first
def save_sdf(model: Model, path: PathLike) -> Path:
    """Write a model as an SDF file, and meshes that are not in its folder into one beside it. Returns the path.

    Joints that SDF does not have, and loops that are open where all joints are at zero, raise ValueError by name; what
    else has no place in it is left out with a `ModelWarning`.
    """
    file = Path(path)
    writer = _Writer(model, file)
    return write_model_file(file, writer.sdf, writer.lost)


class _Writer:
    def __init__(self, model: Model, file: Path) -> None:
        self.model, self.lost = model, LostFeatures(model, "SDF")
        self.refused = self.lost.refused
        self.meshes = MeshFiles(file, (".stl", ".obj", ".dae"))
        self.sdf = Tag("sdf", version="1.9")
        self.root = self.sdf.add("model", name=model.name)
        if model.elements:
            raise self.refused(f"force element {model.elements[0].name!r}", "there are no springs between links")
        for name in (WORLD, MODEL):
            if name in model.names:
                raise self.refused(f"link {name!r}", "SDF has taken this name")
        self.lost.add_what_only_mjcf_has()
        for m in model.mimics:
            self.lost.add("mimics", m.joint)
        base = BASE_NAME
        if model.base_shapes or any(link < 0 for link, _ in model.frames.values()):
            while base in model.names or base in model.frames:
                base += "_"
            stand = self.root.add("link", name=base)
            _inertial(stand, 0.0, np.zeros(3), np.zeros((3, 3)))
            self.shapes(stand, model.base_shapes)
            self.joint(f"{base}_joint", "fixed", WORLD, base)
        for i in range(model.n):
            self.link(i)
        self.loops()
        for name, (link, pose) in model.frames.items():
            if name not in model.names:
                carrier = model.names[link] if link >= 0 else base
                tag = self.root.add("frame", name=name, attached_to=carrier)
                _pose(tag, self.seen(link) @ pose, carrier)

    def seen(self, i: int) -> Pose:
        """A link's frame in the one that its name means, which is the link's in the file."""
        name = self.model.names[i] if i >= 0 else ""
        return self.model.frames[name][1].inverse() if name in self.model.frames else Pose()

    def link(self, i: int) -> None:
        model = self.model
        row, name = model.links[i], model.names[i]
        kind, parent = JointKind(int(row["kind"])), int(row["parent"])
        link, seen = self.root.add("link", name=name), self.seen(i)
        _pose(link, self.seen(parent) @ at_pose(row) @ seen.inverse(), model.names[parent] if parent >= 0 else None)
        mass, com, matrix = moments_of(row)
        _inertial(link, mass, seen.apply(com), seen.rotation @ matrix @ seen.rotation.T)
        self.shapes(link, tuple(shape.moved(seen) for shape in model.shapes[i]))
        if kind is JointKind.FREE:
            tops = np.flatnonzero(model.links["kind"] == JointKind.FREE).tolist()
            usual = ROOT_JOINT if len(tops) == 1 else f"{ROOT_JOINT}:{name}"
            if parent >= 0:
                raise self.refused(f"joint {model.joint_names[i]!r}", "only what hangs on the world is free there")
            if model.joint_names[i] != usual:
                self.lost.add("names of free joints", model.joint_names[i])
            self.lost.add_dofs("of free joints", model.joint_names[i], model.dofs[model.v_slice(i)])
            return
        if kind not in TYPES:
            raise self.refused(f"joint {model.joint_names[i]!r}", f"there is no {kind.name.lower()} joint")
        joint = self.joint(model.joint_names[i], TYPES[kind], model.names[parent] if parent >= 0 else WORLD, name)
        _pose(joint, seen, None)
        dofs = model.dofs[model.v_slice(i)]
        rest = model.rest[model.q_slice(i)]
        self.axes(joint, kind, row, dofs, rest, model.joint_names[i])

    def axes(self, joint: Tag, kind: JointKind, row: Any, dofs: Any, rest: Any, name: str) -> None:
        if kind is JointKind.SCREW:
            joint.add("screw_thread_pitch", float(row["pitch"]) * 2.0 * math.pi)
        if kind is JointKind.SPHERICAL:
            self.lost.add_dofs("of ball joints", name, dofs)
            return
        axes = (row["axis"], row["axis2"])
        for k in range(len(dofs)):
            axis, dof = joint.add("axis" if k == 0 else "axis2"), dofs[k]
            axis.add("xyz", axes[k])
            limit = {
                "lower": dof["lower"], "upper": dof["upper"], "effort": dof["effort_limit"],
                "velocity": dof["velocity_limit"],
            }  # fmt: skip
            limit = {tag: value for tag, value in limit.items() if math.isfinite(value)}
            if limit:
                tag = axis.add("limit")
                for word, value in limit.items():
                    tag.add(word, value)
            acts = {"damping": dof["damping"], "friction": dof["friction"], "spring_stiffness": dof["stiffness"]}
            acts = {tag: value for tag, value in acts.items() if value}
            if "spring_stiffness" in acts and rest[k]:
                acts["spring_reference"] = rest[k]
            if acts:
                tag = axis.add("dynamics")
                for word, value in acts.items():
                    tag.add(word, value)
            if dof["armature"]:
                self.lost.add("armature", name)

    def joint(self, name: str, kind: str, parent: str, child: str) -> Tag:
        joint = self.root.add("joint", name=name, type=kind)
        joint.add("parent", parent)
        joint.add("child", child)
        return joint

    def loops(self) -> None:
        model = self.model
        if not model.loop_names:
            return
        errors = loop_errors(model, Data(model), neutral(model))
        for loop, row, name in zip(model.loops, model.loop_rows, model.loop_names, strict=True):
            first, count = int(row["first"]), int(row["m"])
            if np.abs(errors[first : first + count]).max(initial=0.0) > OPEN_LOOP_ERROR:
                raise self.refused(f"loop {name!r}", "it is open where all joints are at zero")
            kind = JointKind(int(row["kind"]))
            if kind not in TYPES:
                raise self.refused(f"loop {name!r}", f"there is no {kind.name.lower()} joint")
            a, b, side = int(row["a"]), int(row["b"]), "b"
            if b < 0:  # there no joint carries the world; seen from the other side it turns the other way
                if kind is JointKind.UNIVERSAL:
                    raise self.refused(f"loop {name!r}", "it holds the world; swap its two sides")
                a, b, side, row = b, a, "a", row.copy()
                row["axis"] *= -1.0
            joint = self.joint(name, TYPES[kind], model.names[a] if a >= 0 else WORLD, model.names[b])
            _pose(joint, self.seen(b) @ Pose.known(row[f"p{side}"], row[f"R{side}"].reshape(3, 3)), None)
            _, dofs, rest = loop.joint.rows
            self.axes(joint, kind, row, dofs, rest, name)

    def shapes(self, link: Tag, shapes: tuple[Shape, ...]) -> None:
        taken: dict[Role, set[str]] = {Role.VISUAL: set(), Role.COLLISION: set()}
        for k, shape in enumerate(map(shape_for_files, shapes)):
            for role in (Role.VISUAL, Role.COLLISION) if shape.role is Role.BOTH else (shape.role,):
                tag = link.add(str(role), name=new_name(shape.name or f"{role}{k}", taken[role]))
                _pose(tag, shape.pose, None)
                geometry = tag.add("geometry").add(str(shape.kind))
                if shape.kind is ShapeKind.BOX:
                    geometry.add("size", shape.size)
                elif shape.kind is ShapeKind.MESH:
                    assert shape.path is not None
                    geometry.add("uri", self.meshes.name(shape.path))
                    geometry.add("scale", shape.size)
                else:
                    for word, value in zip(("radius", "length"), shape.size, strict=False):
                        geometry.add(word, value)
                if role is Role.VISUAL and shape.colour is not None:
                    tag.add("material").add("diffuse", shape.colour)


def _pose(tag: Tag, pose: Pose, relative_to: str | None) -> None:
    if pose.position.any() or np.abs(pose.rotation - np.eye(3)).max() > 0.0 or relative_to:
        w, x, y, z = quaternion_of(pose.rotation)
        numbers = [*pose.position.tolist(), x, y, z, w]
        tag.add("pose", numbers, relative_to=relative_to, rotation_format="quat_xyzw")


def _inertial(link: Tag, mass: float, com: Any, I: Any) -> None:
    """Always: SDF gives 1 kg to a link that does not say."""
    inertial = link.add("inertial")
    _pose(inertial, Pose(com), None)
    inertial.add("mass", mass)
    inertia = inertial.add("inertia")
    for word, value in (
        ("ixx", I[0, 0]), ("ixy", I[0, 1]), ("ixz", I[0, 2]), ("iyy", I[1, 1]), ("iyz", I[1, 2]), ("izz", I[2, 2]),
    ):  # fmt: skip
        inertia.add(word, value)
