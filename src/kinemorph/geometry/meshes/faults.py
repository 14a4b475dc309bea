"""Faults of triangle meshes as surfaces of solids: holes, faces that look inwards, and so on, each named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from kinemorph.geometry.meshes.distinct_points import distinct_points
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of

Array = np.ndarray[Any, np.dtype[Any]]

THIN_HEIGHT_SHARE = 1e-12  # of the longest edge: a triangle whose height is less has no area


class FaultKind(StrEnum):
    OPEN = "open"  # edges with one face: there is a hole
    TURNED = "turned"  # edges whose two faces disagree about which side is outside
    INSIDE_OUT = "inside out"  # closed shells whose faces all look inwards
    TOUCHING = "self-touching"  # edges with four faces or more; the volume is right all the same
    DEGENERATE = "degenerate"  # faces without area; the volume is right all the same


FATAL = (FaultKind.OPEN, FaultKind.TURNED, FaultKind.INSIDE_OUT)  # with these there is no volume to speak of


@checked_first
@dataclass(frozen=True, eq=False)
class Fault:
    kind: FaultKind
    where: Array  # (k, 2) vertices of edges, or (k,) faces
    text: str

    def __str__(self) -> str:
        return self.text


def check_mesh(mesh: Mesh, what: str) -> None:
    """Raise ValueError if a mesh is not valid: no triangles, a position that is not finite, a vertex index out of
    range.

    `what` names the mesh in the error.
    """
    if not isinstance(mesh, Mesh):
        raise TypeError(f"{what}: expected a km.Mesh, got {repr_of(mesh)}")
    if not len(mesh.faces):
        raise ValueError(f"{what}: the mesh has no faces")
    bad = np.flatnonzero(~np.isfinite(mesh.vertices).all(axis=1))
    if len(bad):
        raise ValueError(f"{what}: vertex {bad[0]} is at {mesh.vertices[bad[0]].tolist()}, which is not finite")
    bad = np.flatnonzero(((mesh.faces < 0) | (mesh.faces >= len(mesh.vertices))).any(axis=1))
    if len(bad):
        face, n = mesh.faces[bad[0]].tolist(), len(mesh.vertices)
        raise ValueError(f"{what}: face {bad[0]} has the vertices {face}, but there are only {n}")


@checked_first
def mesh_faults(mesh: Mesh) -> list[Fault]:
    """All faults of a mesh as the surface of a solid; those that spoil its volume come first.

    Vertices in the same place count as one. A shell in the box of another may be a cavity in it and look inwards.
    """
    check_mesh(mesh, "mesh_faults")
    faces, first = _join_places(mesh)
    faults = [*_edge_faults(faces, first), *_face_faults(mesh)]
    if all(fault.kind not in FATAL for fault in faults):
        faults = [*_shell_faults(mesh, faces), *faults]
    return faults


def turn_shells_out(mesh: Mesh) -> Mesh:
    """The mesh with its inside-out shells turned round. Everything else stays as it is."""
    wrong = [fault.where for fault in mesh_faults(mesh) if fault.kind is FaultKind.INSIDE_OUT]
    if not wrong:
        return mesh
    faces = mesh.faces.copy()
    faces[wrong[0]] = faces[wrong[0], ::-1]
    return Mesh(mesh.vertices, faces, mesh.colours)


def _join_places(mesh: Mesh) -> tuple[Array, Array]:
    """Faces in terms of places, and a vertex in each place."""
    first, place = distinct_points(mesh.vertices)
    return place[mesh.faces].reshape(-1, 3), first


def _half_edges(faces: Array) -> tuple[Array, Array]:
    return faces.ravel(), np.roll(faces, -1, axis=1).ravel()


def _edge_faults(faces: Array, first: Array) -> Iterator[Fault]:
    twice = (faces == np.roll(faces, 1, axis=1)).any(axis=1)  # a face with a corner twice is a line: it closes nothing
    tail, head = _half_edges(faces[~twice])
    if not len(tail):
        return
    n = len(first)
    key, edge = np.unique(np.minimum(tail, head) * n + np.maximum(tail, head), return_inverse=True)
    count = np.bincount(edge)
    balance = np.bincount(edge, np.where(tail < head, 1.0, -1.0))
    ends = first[np.column_stack([key // n, key % n])]
    for kind, bad, what in (
        (FaultKind.OPEN, count == 1, "have one face only: there is a hole, or vertices that almost meet"),
        (FaultKind.TURNED, (count > 1) & (balance != 0.0), "have faces that disagree about the outside, or too few"),
        (FaultKind.TOUCHING, (count > 2) & (balance == 0.0), "have more than two faces: the surface touches itself"),
    ):
        if bad.any():
            a, b = ends[np.argmax(bad)].tolist()
            text = f"{kind}: {bad.sum()} of {len(key)} edges {what}; the first is between vertices {a} and {b}"
            yield Fault(kind, ends[bad], text)


def _face_faults(mesh: Mesh) -> Iterator[Fault]:
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    twice_area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    longest = np.max([np.linalg.norm(side, axis=1) for side in (b - a, c - b, a - c)], axis=0)
    bad = twice_area <= THIN_HEIGHT_SHARE * longest**2
    if bad.any():
        row = int(np.argmax(bad))
        text = f"{bad.sum()} of {len(bad)} faces have no area; the first is face {row} with the vertices"
        text = f"{FaultKind.DEGENERATE}: {text} {mesh.faces[row].tolist()}"
        yield Fault(FaultKind.DEGENERATE, np.flatnonzero(bad), text)


def _shell_faults(mesh: Mesh, faces: Array) -> Iterator[Fault]:
    """Closed shells that look inwards and cannot be hollows: no other shell has them in its box."""
    shell = _shells(faces)
    corners = mesh.vertices[mesh.faces] - mesh.vertices.mean(axis=0)
    volume = np.bincount(shell, np.linalg.det(corners))
    if (volume >= 0.0).all():
        return
    order = np.argsort(shell, kind="stable")
    starts = np.searchsorted(shell[order], np.arange(len(volume)))
    low = np.minimum.reduceat(corners.min(axis=1)[order], starts)
    high = np.maximum.reduceat(corners.max(axis=1)[order], starts)
    solid = volume > 0.0
    wrong = [
        k
        for k in np.flatnonzero(volume < 0.0)
        if not ((low[solid] <= low[k]) & (high[k] <= high[solid])).all(axis=1).any()
    ]
    if wrong:
        where = np.flatnonzero(np.isin(shell, wrong))
        text = f"all faces of {len(wrong)} of {len(volume)} shells look inwards; the first is face {where[0]}"
        text = f"{FaultKind.INSIDE_OUT}: {text} (turn=True turns them round)"
        yield Fault(FaultKind.INSIDE_OUT, where, text)


def _shells(faces: Array) -> Array:
    """A number for each face: faces that share a vertex have the same one."""
    from scipy.sparse import coo_array  # here: it takes a while, and few programs need it
    from scipy.sparse.csgraph import connected_components

    tail, head = _half_edges(faces)
    n = int(faces.max()) + 1
    _, place = connected_components(coo_array((np.ones(len(tail), np.int8), (tail, head)), (n, n)), directed=False)
    return np.unique(place[faces[:, 0]], return_inverse=True)[1].ravel()
