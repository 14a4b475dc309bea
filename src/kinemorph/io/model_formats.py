"""Which kind of file a model file is, by what it says of itself, and how it is read and written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kinemorph._files import FileError, quoted
from kinemorph._xml import read_xml
from kinemorph.creatures.gallery import ROOMY
from kinemorph.creatures.genotype.genotype import load_genotype
from kinemorph.creatures.growth.develop import develop
from kinemorph.io.file_kind import MODELS, kind_of
from kinemorph.io.mjcf.load_mjcf import load_mjcf
from kinemorph.io.mjcf.save_mjcf import save_mjcf
from kinemorph.io.sdf.load_sdf import load_sdf
from kinemorph.io.sdf.save_sdf import save_sdf
from kinemorph.io.urdf.load_urdf import load_urdf
from kinemorph.io.urdf.save_urdf import save_urdf
from kinemorph.multibody.model.model import Model

ROOTS = {"mujoco": "MJCF", "robot": "URDF", "sdf": "SDF"}
WRITERS = {".xml": save_mjcf, ".mjcf": save_mjcf, ".urdf": save_urdf, ".sdf": save_sdf}


def load(path: Path, floating: bool | None = None, ignore: Iterable[str] = (), mesh_root: Path | None = None) -> Model:
    """The model of a file of any kind. `floating` is for URDF and SDF, `ignore` for MJCF; None is as usual there.

    A genotype becomes a creature with its drives. `mesh_root` is the only folder that meshes may come from.
    """
    if path.suffix.lower() == ".json":
        return develop(load_genotype(path), ROOMY).driven_model
    what = kind_of(path)
    if what is not None and what not in MODELS:
        known = "this is no model file (MJCF, URDF, SDF or a genotype)"
        raise FileError(f"{path}: {known} but {what.what}; {what.reader}")
    kind = format_of(path)
    named = tuple(ignore)
    if kind == "MJCF":
        return load_mjcf(path, root=mesh_root, ignore=named)
    if named:
        raise ValueError(f"{path}: it is {kind}, which leaves nothing out; ignore is for MJCF")
    if kind == "URDF":
        return load_urdf(path, bool(floating), mesh_root=mesh_root)
    return load_sdf(path, floating is not False, mesh_root=mesh_root)


def format_of(path: Path) -> str:
    """Whether a file is MJCF, URDF or SDF, by its outermost element."""
    root = read_xml(path)
    kind = ROOTS.get(root.tag)
    if kind is None:
        raise root.error("this is no model file: its outermost element must be <mujoco>, <robot> or <sdf>")
    return kind


def save(model: Model, path: Path) -> Path:
    """Write a model as the kind of file that the end of its name says."""
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ValueError(f"{path}: files that end in {quoted(path.suffix)} are not written; use {', '.join(WRITERS)}")
    return writer(model, path)
