"""Meshes: triangles from files (STL, OBJ, COLLADA, MSH) or around simple shapes, for pictures and for hulls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError, quoted
from kinemorph.geometry.meshes import dae, msh, obj, stl, tessellate
from kinemorph.geometry.meshes.first_object import read_first
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_finite, repr_of
from kinemorph.spatial.pose import Vector, vector

Array = np.ndarray[Any, np.dtype[Any]]

CACHED_MESHES = 64  # meshes that are kept in memory
LARGEST_COORDINATE = 1e6  # m or file units: a coordinate beyond this is no part of a machine

READERS: dict[str, Callable[[Path], tuple[Array, Array, Array | None]]] = {
    ".stl": stl.read_stl,
    ".obj": obj.read_obj,
    ".dae": dae.read_dae,
    ".msh": msh.read_msh,
}
MAKERS: dict[ShapeKind, Callable[..., tuple[Array, Array]]] = {
    ShapeKind.SPHERE: tessellate.sphere,
    ShapeKind.BOX: tessellate.box,
    ShapeKind.CYLINDER: tessellate.cylinder,
    ShapeKind.CAPSULE: tessellate.capsule,
    ShapeKind.CONE: tessellate.cone,
}


ELEMENTS = {"vertices": "fiu", "faces": "iu"}  # kinds of numbers


@checked_first
@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles. Seen from outside, the corners of a face are counterclockwise. A mesh is immutable."""

    vertices: Array  # (n, 3) float64, m
    faces: Array  # (m, 3) int32, rows of vertices
    colours: Array | None = None  # (m, 4) float32, red green blue opacity of each face, NaN where the file has none

    def __post_init__(self) -> None:
        for name in ("vertices", "faces", "colours"):
            array = getattr(self, name)
            if array is not None:
                if not isinstance(array, np.ndarray) or np.ma.is_masked(array):
                    raise TypeError(f"Mesh: {name} is {repr_of(array)}, and must be a NumPy array")
                if name != "colours" and (
                    array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in ELEMENTS[name]
                ):
                    numbers = "whole numbers" if name == "faces" else "numbers"
                    raise ValueError(f"Mesh: {name} is {repr_of(array)}, and must be rows of 3 {numbers}")
                array.flags.writeable = False

    @property
    def bounds(self) -> Array:
        """The lowest and the highest corner of the box around it, (2, 3)."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    @property
    def volume(self) -> float:
        """Volume of a closed mesh, in m³."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)

    def scaled(self, scale: Vector) -> Mesh:
        """Stretched along the axes. A mirrored mesh has its faces turned round, so that they look outwards again."""
        scale = (
            vector(scale, 3, "scaled: scale") if np.ndim(scale) else np.full(3, check_finite("scaled: scale", scale))
        )
        if not np.isfinite(scale * np.abs(self.bounds).max()).all():
            raise ValueError(f"scaled: scale {repr_of(scale)} makes numbers that are not finite")
        faces = self.faces if np.prod(np.sign(scale)) > 0.0 else self.faces[:, ::-1].copy()
        return Mesh(self.vertices * scale, faces, self.colours)

    def __repr__(self) -> str:
        return f"Mesh of {len(self.vertices)} vertices and {len(self.faces)} faces"


@checked_first
def load_mesh(path: str | os.PathLike[str], scale: Iterable[float] = (1.0, 1.0, 1.0)) -> Mesh:
    """The mesh of an .stl, .obj, .dae or .msh file. The last ones are kept in memory until their file changes."""
    factors = vector(scale, 3, f"{path}: scale")
    if not factors.all():
        raise FileError(f"{path}: scale {factors.tolist()} makes the mesh flat")
    mesh = _found(path, weighed=False)
    return mesh if (factors == 1.0).all() else mesh.scaled(factors)


def load_weighed_mesh(path: str | os.PathLike[str]) -> Mesh:
    """The mesh as MuJoCo weighs it: the first object of an .obj file, including points without faces."""
    return _found(path, weighed=True)


def _found(path: str | os.PathLike[str], weighed: bool) -> Mesh:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        raise FileError(f"{path}: there is no such file") from None
    return _load(os.path.abspath(path), status.st_mtime_ns, status.st_size, weighed)


@checked_first
def mesh_of(shape: Shape) -> Mesh:
    """The surface of a shape, in the shape's own frame (`shape.pose` is where that is on the link)."""
    if shape.kind is ShapeKind.MESH:
        if shape.path is None:
            raise ValueError(f"shape {shape.name!r}: a mesh needs a path")
        return load_mesh(shape.path, shape.size)
    return _primitive(shape.kind, shape.size)


@lru_cache(maxsize=CACHED_MESHES)
def _load(path: str, mtime: int, size: int, weighed: bool) -> Mesh:
    kind = Path(path).suffix.lower()
    if kind not in READERS:
        raise FileError(f"{path}: meshes of type {quoted(kind)} are not read; convert it to .stl, .obj, .dae or .msh")
    reader = read_first if weighed and kind == ".obj" else READERS[kind]
    return _checked(path, weighed, *reader(Path(path)))


def _checked(path: str, weighed: bool, vertices: Array, faces: Array, colours: Array | None) -> Mesh:
    """A mesh with validated arrays."""
    if not len(faces):
        raise FileError(f"{path}: there are no triangles in it")
    bad = ~(np.abs(vertices) <= LARGEST_COORDINATE)  # true for NaN as well
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        raise FileError(
            f"{path}: vertex {row} is at {vertices[row].tolist()}; expected numbers up to {LARGEST_COORDINATE:g}"
        )
    bad = (faces < 0) | (faces >= len(vertices))
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        raise FileError(f"{path}: face {row} names the vertices {faces[row].tolist()}, but there are {len(vertices)}")
    used = np.zeros(len(vertices), dtype=bool)
    used[faces] = True
    # A point that no face has would be a corner of the box around the mesh, and of its hull.
    if not weighed and not used.all():
        vertices, faces = vertices[used], (np.cumsum(used) - 1)[faces]
    return Mesh(vertices.astype(np.float64), faces.astype(np.int32), colours)


@lru_cache(maxsize=CACHED_MESHES)
def _primitive(kind: ShapeKind, size: tuple[float, ...]) -> Mesh:
    return Mesh(*MAKERS[kind](*size))
