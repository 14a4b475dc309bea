"""Common parts of writers of model files: meshes beside the file, simple joints, features that are lost."""

from __future__ import annotations

import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError, ModelWarning, caller_level, write_whole
from kinemorph.geometry.material import ALL_GROUPS_MASK
from kinemorph.geometry.meshes.kept_mesh import keep_mesh
from kinemorph.geometry.meshes.mesh import load_mesh
from kinemorph.geometry.shapes import Role
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose, Vector

GRAVITY = (0.0, 0.0, -9.81)  # m/s²: of models that do not say
LIMITS = {"lower": "limits", "upper": "limits", "velocity_limit": "limits of speed", "effort_limit": "limits of effort"}


class MeshFiles:
    """Puts meshes where a file can name them: those in its folder stay, others are copied into one beside it."""

    def __init__(self, path: Path, kinds: tuple[str, ...]) -> None:
        self.folder, self.kinds = path.parent, kinds
        self.own = f"{path.stem}_meshes"
        self.names: dict[Path, str] = {}

    def name(self, mesh: Path) -> str:
        """The path of a mesh, seen from the file."""
        if mesh not in self.names:
            known = mesh.suffix.lower() in self.kinds
            folder = Path(os.path.abspath(self.folder))
            if known and Path(os.path.abspath(mesh)).is_relative_to(folder):
                self.names[mesh] = Path(os.path.abspath(mesh)).relative_to(folder).as_posix()
            else:
                self.names[mesh] = f"{self.own}/{self._copied(mesh, known)}"
        return self.names[mesh]

    def _copied(self, mesh: Path, known: bool) -> str:
        if not mesh.is_file():
            raise FileError(f"{mesh}: there is no such file")
        (self.folder / self.own).mkdir(parents=True, exist_ok=True)
        taken = {Path(name).name for name in self.names.values()}
        suffix, stem, count = mesh.suffix if known else ".stl", mesh.stem, 1
        name = stem + suffix
        while name in taken:
            count += 1
            name = f"{stem}_{count}{suffix}"
        source = mesh
        if not known:
            read = load_mesh(mesh)
            source = keep_mesh(read.vertices, read.faces)
        shutil.copyfile(source, self.folder / self.own / name)
        return name


class LostFeatures:
    """Features that a kind of file does not have: one warning for each."""

    def __init__(self, model: Model, kind: str) -> None:
        self.model, self.kind, self.found = model, kind, dict[str, list[str]]()

    def refused(self, what: str, why: str) -> ValueError:
        """The error about what cannot be left out."""
        return ValueError(f"{what} of model {self.model.name!r} cannot be written as {self.kind}: {why}")

    def add(self, what: str, name: str) -> None:
        names = self.found.setdefault(what, [])
        if name not in names:
            names.append(name)

    def add_what_only_mjcf_has(self) -> None:
        """Of a whole model: what neither URDF nor SDF files of one model hold."""
        model = self.model
        for what, found in (
            ("actuators", model.actuators), ("keyframes", model.keyframes), ("floors", model.floors),
            ("bodies that do not meet", model.exclusions), ("materials of pairs", model.pair_materials),
            ("other gravity than 9.81 m/s²", tuple(model.gravity) != GRAVITY),
        ):  # fmt: skip
            if found:
                self.add(what, model.name)
        for name, shapes in zip(("the base", *model.names), (model.base_shapes, *model.shapes), strict=True):
            touching = [shape for shape in shapes if shape.role is not Role.VISUAL]
            if any(shape.material is not None for shape in touching):
                self.add("materials of shapes", name)
            if any((shape.group, shape.mask) != (1, ALL_GROUPS_MASK) for shape in touching):
                self.add("groups of shapes", name)

    def add_dofs(self, of: str, name: str, dofs: Any) -> None:
        """Add the passive forces and limits of a joint of a kind that has none in the file."""
        for field in ("damping", "friction", "stiffness", "armature"):
            if dofs[field].any():
                self.add(f"{field} {of}", name)
        for field, called in LIMITS.items():
            if np.isfinite(dofs[field]).any():
                self.add(f"{called} {of}", name)

    def issue(self) -> None:
        for what, names in self.found.items():
            shown = ", ".join(repr(name) for name in names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
            text = f"model {self.model.name!r}: {self.kind} has no {what}: left out of {shown}"
            warnings.warn(text, ModelWarning, caller_level())


def write_model_file(file: Path, root: object, lost: LostFeatures) -> Path:
    """Write a file, whole or not at all, and tell the caller of `save_...` what it has no place for."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, str(root).encode())
    lost.issue()
    return file


@dataclass(frozen=True)
class SimpleJoint:
    """A joint of one degree of freedom, a ball or a free one, in the joint frame; several make up one of ours."""

    name: str
    kind: JointKind
    axis: Vector
    dofs: np.ndarray[Any, Any]  # rows of what acts on it
    rest: float


def simple_joints(model: Model, link: int) -> list[SimpleJoint]:
    """The joint that carries a link as simple ones, the outermost first; none if it is fixed. Refuses a screw."""
    row = model.links[link]
    kind, name = JointKind(int(row["kind"])), model.joint_names[link]
    a, b = row["axis"].copy(), row["axis2"].copy()
    dofs = model.dofs[int(row["iv"]) : int(row["iv"] + row["nv"])]
    rest = model.rest[int(row["iq"]) : int(row["iq"] + row["nq"])]
    if kind is JointKind.FIXED:
        return []
    if kind in (JointKind.FREE, JointKind.SPHERICAL):
        return [SimpleJoint(name, kind, a, dofs, 0.0)]
    if kind is JointKind.SCREW:
        raise ValueError(f"joint {name!r} of model {model.name!r} is a screw, which this kind of file does not have")
    turn, slide = JointKind.REVOLUTE, JointKind.PRISMATIC
    ways = {
        JointKind.REVOLUTE: [(turn, a)],
        JointKind.PRISMATIC: [(slide, a)],
        JointKind.CYLINDRICAL: [(turn, a), (slide, a)],
        JointKind.UNIVERSAL: [(turn, a), (turn, b)],
        JointKind.PLANAR: [(slide, b), (slide, np.cross(a, b)), (turn, a)],
    }[kind]
    names = [name] if len(ways) == 1 else [f"{name}:{k}" for k in range(len(ways))]
    return [
        SimpleJoint(part, way, axis, dofs[k : k + 1], float(rest[k]))
        for k, (part, (way, axis)) in enumerate(zip(names, ways, strict=True))
    ]


def at_pose(row: Any) -> Pose:
    """Where the joint frame of a link stands on its parent."""
    return Pose.known(row["p"].copy(), row["R"].reshape(3, 3).copy())
