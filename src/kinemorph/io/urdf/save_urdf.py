"""URDF out: a model as a robot of ROS. `docs/urdf.md` says what becomes of what."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import PathLike
from kinemorph.geometry.meshes.kept_mesh import shape_for_files
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.io.link_merging import ROOT_JOINT
from kinemorph.io.model_writing import LostFeatures, MeshFiles, SimpleJoint, at_pose, simple_joints, write_model_file
from kinemorph.io.xml_text import Tag, rpy_of
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.inertia import moments_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose

WORLD = "world"
NO_LIMIT = float(np.finfo(float).max)  # what URDF writes for a limit that is none
PLACES = ("armature", "stiffness")  # what acts in a joint and has no place in URDF
# kg and kg m²: MuJoCo takes no link that moves and has less, unless a file lets it give it as much.
LIGHTEST_MOVING_LINK = 2e-15


@checked_first
def save_urdf(model: Model, path: PathLike) -> Path:
    """Write a model as a URDF file, and meshes that are not in its folder into one beside it. Returns the path.

    A model of one tree on a free joint "root_joint" is written without it: `load_urdf(path, floating=True)` reads it
    back. Any other stands on a link "world". Loops, and joints that URDF does not have, raise ValueError by name; what
    else has no place in it is left out with a `ModelWarning`.
    """
    file = Path(path)
    writer = _Writer(model, file)
    return write_model_file(file, writer.robot, writer.lost)


class _Writer:
    def __init__(self, model: Model, file: Path) -> None:
        self.model, self.lost = model, LostFeatures(model, "URDF")
        self.refused = self.lost.refused
        self.meshes = MeshFiles(file, (".stl", ".obj", ".dae"))
        self.robot = Tag("robot", name=model.name)
        if model.loop_names:
            raise self.refused(f"loop {model.loop_names[0]!r}", "a URDF is a tree; write SDF or MJCF")
        if model.elements:
            raise self.refused(f"force element {model.elements[0].name!r}", "there are no springs between links")
        self.lost.add_what_only_mjcf_has()
        # the root itself, if it floats and nothing stands in the world
        alone = len(model.trees) == 1 and not model.base_shapes
        self.floating = alone and model.joint_names[0] == ROOT_JOINT and model.links[0]["kind"] == JointKind.FREE
        self.names = set(model.names)
        self.massive: set[str] = set()
        self.hollow = False  # whether a link without mass moves: joints of several axes are chains of them
        self.root = model.names[0] if self.floating else self.new(WORLD)
        if not self.floating:
            self.link(self.root, None, model.base_shapes)
        for i in range(model.n):
            self.add(i)
        for name, (link, pose) in model.frames.items():
            if name not in model.names or pose.position.any() or np.abs(pose.rotation - np.eye(3)).max() > 0.0:
                self.frame(name, link, pose)
        for m in model.mimics:
            joint = next(
                tag for tag in self.robot.children if tag.attributes.get("name") == m.joint and tag.name == "joint"
            )
            joint.add("mimic", joint=m.source, multiplier=m.multiplier, offset=m.offset or None)
        if self.hollow:
            self.robot.add("mujoco").add("compiler", boundmass=LIGHTEST_MOVING_LINK, boundinertia=LIGHTEST_MOVING_LINK)

    def new(self, name: str) -> str:
        """A name that nothing has yet."""
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def called(self, link: int) -> str:
        return self.root if link < 0 else self.model.names[link]

    def add(self, i: int) -> None:
        model = self.model
        row, name = model.links[i], model.names[i]
        self.link(name, row, model.shapes[i])
        kind, dofs = JointKind(int(row["kind"])), model.dofs[model.v_slice(i)]
        if kind in (JointKind.FREE, JointKind.PLANAR):
            self.lost.add_dofs(f"of {kind.name.lower()} joints", model.joint_names[i], dofs)
        if i == 0 and self.floating:
            if (np.abs(at_pose(row).matrix() - np.eye(4)) > 0.0).any():
                self.lost.add("place of its root", name)
            return
        parent, at = self.called(int(row["parent"])), at_pose(row)
        if kind is JointKind.PLANAR:
            self.planar(i, parent, at)
        elif kind in (JointKind.FIXED, JointKind.FREE):
            free = kind is JointKind.FREE
            self.joint(model.joint_names[i], "floating" if free else "fixed", parent, name, at)
        else:
            self.chain(i, parent, at)

    def chain(self, i: int, parent: str, at: Pose) -> None:
        """A joint as one of URDF's or several, with links of nothing between them."""
        parts = simple_joints(self.model, i)
        for k, part in enumerate(parts):
            if part.kind is JointKind.SPHERICAL:
                raise self.refused(f"joint {part.name!r}", "there is no spherical joint; write SDF or MJCF")
            last = k == len(parts) - 1
            child = self.model.names[i] if last else self.new(f"{self.model.names[i]}:{k}")
            if not last:
                self.robot.add("link", name=child)
            self.moving(part, parent, child, at)
            parent, at = child, Pose()

    def moving(self, part: SimpleJoint, parent: str, child: str, at: Pose) -> None:
        dof = part.dofs[0]
        lower, upper = float(dof["lower"]), float(dof["upper"])
        limited = math.isfinite(lower) or math.isfinite(upper)
        kind = "prismatic" if part.kind is JointKind.PRISMATIC else "revolute" if limited else "continuous"
        joint = self.joint(part.name, kind, parent, child, at, part.axis)
        limits: dict[str, Any] = {}
        if kind != "continuous":
            limits = {"lower": max(lower, -NO_LIMIT), "upper": min(upper, NO_LIMIT)}
        for name, value in (("effort", float(dof["effort_limit"])), ("velocity", float(dof["velocity_limit"]))):
            if math.isfinite(value):
                limits[name] = value
        if limits:
            joint.add("limit", **limits)
        if dof["damping"] or dof["friction"]:
            joint.add("dynamics", damping=dof["damping"] or None, friction=dof["friction"] or None)
        for field in PLACES:
            if dof[field]:
                self.lost.add(field, part.name)

    def planar(self, i: int, parent: str, at: Pose) -> None:
        row = self.model.links[i]
        a, b = row["axis"], row["axis2"]
        usual = np.eye(3)[0 if abs(a[0]) < 0.9 else 1]
        usual = usual - (a @ usual) * a
        if np.abs(usual / np.linalg.norm(usual) - b).max() > 1e-12:
            name = self.model.joint_names[i]
            raise self.refused(f"joint {name!r}", "of a planar joint it knows the normal alone, and x along the plane")
        self.joint(self.model.joint_names[i], "planar", parent, self.model.names[i], at, a)

    def joint(self, name: str, kind: str, parent: str, child: str, at: Pose, axis: Any = None) -> Tag:
        joint = self.robot.add("joint", name=name, type=kind)
        self.hollow |= kind != "fixed" and child not in self.massive
        joint.add("parent", link=parent)
        joint.add("child", link=child)
        _origin(joint, at)
        if axis is not None:
            joint.add("axis", xyz=axis)
        return joint

    def frame(self, name: str, link: int, pose: Pose) -> None:
        """A named place: a link of nothing."""
        here = self.new(f"{name}:frame" if name in self.model.names else name)
        self.robot.add("link", name=here)
        taken = {tag.attributes["name"] for tag in self.robot.children if tag.name == "joint"}
        joint = here
        while joint in taken:
            joint += "_"
        self.joint(joint, "fixed", self.called(link), here, pose)

    def link(self, name: str, row: Any, shapes: tuple[Shape, ...]) -> None:
        link = self.robot.add("link", name=name)
        if row is not None:
            mass, com, I = moments_of(row)
            if mass or I.any():
                self.massive.add(name)
                inertial = link.add("inertial")
                _origin(inertial, Pose(com))
                inertial.add("mass", value=mass)
                inertial.add("inertia", ixx=I[0, 0], ixy=I[0, 1], ixz=I[0, 2], iyy=I[1, 1], iyz=I[1, 2], izz=I[2, 2])
        for shape in map(shape_for_files, shapes):
            for role in (Role.VISUAL, Role.COLLISION) if shape.role is Role.BOTH else (shape.role,):
                self.shape(link, shape, role)

    def shape(self, link: Tag, shape: Shape, role: Role) -> None:
        tag = link.add(str(role), name=shape.name or None)
        _origin(tag, shape.pose)
        geometry = tag.add("geometry")
        if shape.kind is ShapeKind.BOX:
            geometry.add("box", size=shape.size)
        elif shape.kind is ShapeKind.SPHERE:
            geometry.add("sphere", radius=shape.size[0])
        elif shape.kind is ShapeKind.MESH:
            assert shape.path is not None
            scale = None if shape.size == (1.0, 1.0, 1.0) else shape.size
            geometry.add("mesh", filename=self.meshes.name(shape.path), scale=scale)
        else:
            geometry.add(str(shape.kind), radius=shape.size[0], length=shape.size[1])
        if role is Role.VISUAL and shape.colour is not None:
            tag.add("material", name="").add("color", rgba=shape.colour)


def _origin(tag: Tag, pose: Pose) -> None:
    turned = np.abs(pose.rotation - np.eye(3)).max() > 0.0
    if turned or pose.position.any():
        tag.add("origin", xyz=pose.position, rpy=rpy_of(pose.rotation) if turned else None)
