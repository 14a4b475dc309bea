"""How bodies look in a browser: their colours, and meshes as pieces of one colour, which a scene draws in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.spatial.pose import Array
from kinemorph.view.pictures.picture import PALETTE

Colour = tuple[float, ...]

ROOT = (0.95, 0.16, 0.02)
NEAR, FAR = (0.05, 0.22, 0.55), (0.55, 0.85, 0.90)  # links next to a root, and those farthest from one
BASE = (0.55, 0.57, 0.61)
GROUND = (0.86, 0.88, 0.91)
SMOOTH = (ShapeKind.SPHERE, ShapeKind.CAPSULE)  # the others have edges
SHADOW = 0.35  # how dark shadows on ground are
SHADES = 12  # colours that one mesh is drawn in, at most


class Piece(NamedTuple):
    """A part of a mesh, or all of it, with the colour that the file gives it, if it does."""

    vertices: Array
    faces: npt.NDArray[np.int32]
    colour: Colour | None


def pieces(mesh: Mesh) -> list[Piece]:
    """A mesh by the colours of its faces. Rare colours go to the next of the others."""
    if mesh.colours is None:
        return [Piece(round_vertices(mesh.vertices), mesh.faces, None)]
    shades = np.nan_to_num(np.round(mesh.colours[:, :3], 2), nan=-1.0)
    found, which, count = np.unique(shades, axis=0, return_inverse=True, return_counts=True)
    kept = found[np.argsort(-count, kind="stable")[:SHADES]]
    nearest = np.linalg.norm(found[:, None] - kept[None], axis=2).argmin(axis=1)[which.ravel()]
    parts = []
    for k, shade in enumerate(kept):
        faces = mesh.faces[nearest == k]
        used, numbers = np.unique(faces, return_inverse=True)
        colour = None if shade[0] < 0.0 else tuple(shade.tolist())
        parts.append(Piece(round_vertices(mesh.vertices[used]), numbers.reshape(-1, 3).astype(np.int32), colour))
    return parts


def round_vertices(vertices: Array) -> Array:
    """Vertices rounded to 1/32768 of their extent, which is invisible and packs a fifth better."""
    largest = float(np.abs(vertices).max(initial=0.0))
    if not largest:
        return vertices
    grain = 2.0 ** (np.ceil(np.log2(largest)) - 15.0)
    return np.round(vertices / grain) * grain


def add_batch(
    scene: Any, name: str, piece: Piece, shape: Shape, poses: Array, colours: Any, scales: Any = None
) -> Any:  # fmt: skip
    """All uses of a piece, at poses (n, 7), as one mesh of a scene."""
    return scene.add_batched_meshes_simple(
        name, piece.vertices, piece.faces, poses[:, 3:], poses[:, :3], batched_scales=scales, batched_colors=colours,
        lod="off", flat_shading=shape.kind not in SMOOTH,
        side="double" if shape.kind is ShapeKind.MESH else "front",  # files have holes
    )  # fmt: skip


def add_ground(scene: Any, name: str, piece: Piece, pose: Array, colour: tuple[int, ...]) -> Any:
    """A piece of ground that has an end, at a pose (7,). It casts no shadow, and those on it are as dark as on a grid.

    A mesh in a batch would only lose the little light that comes from the side.
    """
    return scene.add_mesh_simple(
        name, piece.vertices, piece.faces, color=colour, flat_shading=True, side="double", cast_shadow=False,
        receive_shadow=SHADOW, wxyz=pose[3:], position=pose[:3],
    )  # fmt: skip


def given_colour(shape: Shape, piece: Piece) -> Colour | None:
    """The colour that a shape was given, or its file; None if it has none."""
    return shape.colour[:3] if shape.colour is not None else piece.colour


def default_colour(body: int) -> Colour:
    """A default colour, another one for each body; -1 is the base."""
    return BASE if body < 0 else PALETTE[body % len(PALETTE)]


def depth_colour(depth: int, deepest: int) -> Colour:
    """The colour of a link that is so far from its root."""
    if depth == 0:
        return ROOT
    part = (depth - 1) / max(deepest - 1, 1)
    return tuple(a + part * (b - a) for a, b in zip(NEAR, FAR, strict=True))


def as_bytes(colour: Sequence[float]) -> tuple[int, ...]:
    """Red, green and blue from 0 to 255."""
    return tuple(round(255 * min(max(c, 0.0), 1.0)) for c in colour[:3])


def add_sky_light(scene: Any) -> None:
    """The sky of all pages."""
    scene.configure_environment_map(None)  # its white sky would wash the colours out
    scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(150, 155, 165), intensity=2.0)


def add_grid(scene: Any, name: str, height: float, size: float, solid: bool = True) -> Any:
    """Ground at a height, for what is so large; lines alone if it is not solid."""
    cell = float(10.0 ** np.floor(np.log10(max(size, 1e-6) / 2.0)))
    return scene.add_grid(
        name, infinite_grid=True, position=(0.0, 0.0, height - 1e-3 * size), cell_size=cell, section_size=5.0 * cell,
        fade_distance=12.0 * size, cell_color=(205, 209, 216), section_color=(180, 186, 196),
        plane_color=as_bytes(GROUND), plane_opacity=0.6 if solid else 0.0, shadow_opacity=SHADOW if solid else 0.0,
    )  # fmt: skip
