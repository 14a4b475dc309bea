"""Meshes of MJCF files: where they are, and the mass properties that MuJoCo gives them, by its four rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError, quoted
from kinemorph._xml import Element
from kinemorph.geometry.hull import hull_triangles
from kinemorph.geometry.meshes.faults import FATAL, mesh_faults
from kinemorph.geometry.meshes.kept_mesh import keep_mesh
from kinemorph.geometry.meshes.mesh import Mesh, load_mesh, load_weighed_mesh
from kinemorph.io.mjcf.compiled_inertia import OF_MESH, PrincipalInertia
from kinemorph.io.mjcf.document import Document, exact_numbers, parse_choice, quaternion
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.spatial.pose import Pose, Vector

Array = np.ndarray[Any, np.dtype[Any]]
RULES = {name: name for name in ("legacy", "convex", "exact", "shell")}


class MeshAsset:
    """One mesh of a file. It is opened only if its mass properties are asked for."""

    def __init__(self, element: Element, document: Document) -> None:
        self.element = element
        if "builtin" in element.attributes or element.children:
            raise element.error("meshes that MuJoCo or a plugin makes are not read; write it to a file")
        scale = element.numbers("scale", 3, (1.0, 1.0, 1.0))
        if not all(scale):
            raise element.error(f"scale={quoted(element.attribute('scale'))} makes the mesh flat")
        self.scale: Vector = np.array(scale)
        self.rule = parse_choice(element, "inertia", RULES, "legacy")
        # vertices are given relative to a reference frame, and scaled in that
        turned = quaternion(element, "refquat") if "refquat" in element.attributes else np.eye(3)
        self.reference = Pose.known(np.array(element.numbers("refpos", 3, (0.0, 0.0, 0.0))), turned)
        self.source = self._path(document)
        self.path, self.size, self.pose = self.source, self.scale, Pose()  # of its shape
        if "refquat" in element.attributes and np.ptp(self.scale):  # no scale of the file's vertices does that
            seen = self._placed(load_mesh)
            self.path, self.size = keep_mesh(seen.vertices, seen.faces), np.ones(3)
        else:
            back = self.reference.inverse()
            self.pose = Pose.known(self.scale * back.position, back.rotation)

    def _path(self, document: Document) -> Path:
        element = self.element
        if "file" in element.attributes:
            if "vertex" in element.attributes:
                raise element.error("it has both a file and vertices; delete one")
            path = document.file(element, document.mesh_folder)
            if path.suffix.lower() not in (".stl", ".obj", ".msh"):
                raise element.error(f"file={quoted(element.attribute('file'))}: only .stl, .obj and .msh are read")
            return path
        if "vertex" not in element.attributes:
            raise element.error("it has neither a file nor vertices")
        return keep_mesh(*self._given())

    def _given(self) -> tuple[Array, Array]:
        """Vertices and faces that stand in the file."""
        element = self.element
        numbers = exact_numbers(element, "vertex")
        if len(numbers) % 3 or len(numbers) < 12:
            raise element.error(f"vertex has {len(numbers)} numbers; expected three for each of four vertices or more")
        vertices = np.array(numbers).reshape(-1, 3).astype(np.float32).astype(np.float64)  # as MuJoCo reads them: it
        # decides which way a flat side of a hull is cut
        if "face" not in element.attributes:
            return vertices, self._hull(vertices)
        corners = exact_numbers(element, "face")
        if len(corners) % 3 or not all(c == int(c) and 0 <= c < len(vertices) for c in corners):
            raise element.error(f"face: expected three vertices for each, from 0 to {len(vertices) - 1}")
        return vertices, np.array(corners, dtype=np.int64).reshape(-1, 3)

    def _hull(self, points: Array) -> Array:
        try:
            return hull_triangles(points)
        except ValueError as error:
            raise self.element.error(str(error)) from None

    def _placed(self, load: Callable[[Path], Mesh]) -> Mesh:
        """The mesh as geoms have it: scaled, and seen from its reference frame."""
        try:
            mesh = load(self.source)
        except FileError as error:
            raise self.element.error(str(error)) from None
        single = mesh.vertices.astype(np.float32).astype(np.float64)  # MuJoCo reads numbers of text in this precision
        return Mesh(self.reference.inverse().apply(single), mesh.faces).scaled(self.scale)

    @cached_property
    def mesh(self) -> Mesh:
        """The mesh that mass properties are of: the first object of an .obj file."""
        return self._placed(load_weighed_mesh)

    @cached_property
    def solid(self) -> PrincipalInertia:
        """Mass properties for a density of 1: of a volume, or of a surface if it is a shell."""
        mesh = self.mesh
        corners, faces = mesh.vertices, mesh.faces
        if self.rule == "convex":
            if self.element.number("maxhullvert", -1.0) > 0.0:
                raise self.element.error("maxhullvert: a hull with fewer corners is not weighed; delete it")
            faces = self._hull(corners)
        elif self.rule == "exact" and (fatal := [f for f in mesh_faults(mesh) if f.kind in FATAL]):
            raise self.element.error(f'inertia="exact": the mesh is not the surface of a solid: {fatal[0]}')
        try:
            return PrincipalInertia.of(pyramids(corners[faces], self.rule), OF_MESH)
        except ValueError as error:
            raise self.element.error(str(error)) from None

    def fitted(self, kind: str, by_bounds: bool) -> tuple[list[float], Pose]:
        """Size and place of a primitive with the inertia of the mesh, or one around its bounds, along its main axes."""
        solid = self.solid
        pose = Pose.known(solid.com, solid.axes)
        if not by_bounds:  # half the edges of a box that has these moments
            squares = 1.5 * (solid.moments.sum() - 2.0 * solid.moments) / solid.mass
            x, y, z = np.sqrt(np.maximum(squares, 0.0)).tolist()
            thick = 0.5 * (x + y)
            ends = {"sphere": [(x + y + z) / 3.0], "capsule": [thick, max(0.0, z - 0.5 * thick)]}
            return ends.get(kind) or ([thick, z] if kind == "cylinder" else [x, y, z]), pose
        seen = (self.mesh.vertices - solid.com) @ solid.axes
        low, high = seen.min(axis=0), seen.max(axis=0)
        x, y, z = (high - 0.5 * (low + high)).tolist()
        thick = max(x, y)
        ends = {"sphere": [max(thick, z)], "capsule": [thick, z - thick], "cylinder": [thick, z]}
        return ends.get(kind, [x, y, z]), pose @ Pose(0.5 * (low + high))


def pyramids(triangles: Array, rule: str) -> Inertia:
    """Mass properties of the pyramids over all triangles (n, 3, 3), from a point among them and then from the centre.

    By the legacy rule all count as positive, also those that a hollow of the mesh should take away. A shell has its
    mass in the triangles themselves.
    """
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normals = 0.5 * np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    middles = (a + b + c) / 3.0
    if not areas.sum() > 0.0:
        raise ValueError("its triangles have no area")
    apex = areas @ middles / areas.sum()

    def weights(top: Vector) -> Array:
        volumes = np.einsum("ij,ij->i", middles - top, normals) / 3.0
        return areas if rule == "shell" else np.abs(volumes) if rule == "legacy" else volumes

    w = weights(apex)
    mass = float(w.sum())
    if not mass > 1e-14:
        raise ValueError(f'its volume is {mass:.3g}, which is too small; turn its faces round, or use inertia="shell"')
    com = w @ (middles if rule == "shell" else 0.75 * middles + 0.25 * apex) / mass
    w = weights(com)
    corners = np.stack([a, b, c, a + b + c]) - np.array([com, com, com, 3.0 * com])[:, np.newaxis]
    P = np.einsum("i,kix,kiy->xy", w, corners, corners, optimize=True) / (12.0 if rule == "shell" else 20.0)
    P = 0.5 * (P + P.T)
    return Inertia.unchecked(float(w.sum()), com, np.trace(P) * np.eye(3) - P)
