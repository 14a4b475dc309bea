"""A recording as a GLB file, with its motion."""

from __future__ import annotations

import numpy as np

from kinemorph._files import PathLike
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.geometry.shapes import Shape
from kinemorph.io.gltf import GlbBody, GlbPart
from kinemorph.io.gltf import save_glb as write
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.view.pictures.picture import PALETTE
from kinemorph.view.recordings.recording import Recording, shapes_to_show


@checked_first
def save_glb(recording: Recording, path: PathLike) -> None:
    """Write a recording as a GLB file: every body is a node that moves. Blender and browsers open it."""
    t, poses = recording.t, recording.poses
    if not len(t):
        raise ValueError(f"recording {recording.name!r} has no frames to write")
    meshes: dict[object, Mesh] = {}
    bodies = []
    for i, body in enumerate(recording.bodies):
        colour = (*PALETTE[i % len(PALETTE)], 1.0)
        parts = [part for shape in shapes_to_show(body.shapes) for part in _parts(recording, shape, colour, meshes)]
        bodies.append(GlbBody(body.name, parts, poses[:, i]))
    still = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (len(t), 1))
    parts = [p for s in recording.base_shapes for p in _parts(recording, s, (0.86, 0.88, 0.91, 1.0), meshes)]
    if parts:
        bodies.append(GlbBody("base", parts, still))
    write(path, recording.name, t, bodies)


def _parts(
    recording: Recording, shape: Shape, colour: tuple[float, float, float, float], meshes: dict[object, Mesh]
) -> list[GlbPart]:
    """The surface of a shape, in the frame of its body; the file's colours, face by face, if it has any."""
    matrix = shape.pose.matrix()
    key = (shape.kind, shape.size, shape.path, matrix.tobytes())
    if key not in meshes:
        mesh = recording.mesh_of(shape)
        meshes[key] = Mesh(shape.pose.apply(mesh.vertices), mesh.faces, mesh.colours)
    mesh = meshes[key]
    own = mesh.colours
    if shape.colour is not None or own is None:
        return [GlbPart(mesh, shape.colour or colour)]
    rows = np.where(np.isnan(own), np.array(colour)[: own.shape[1]], own)
    found = []
    for one in np.unique(rows, axis=0):
        faces = mesh.faces[(rows == one).all(axis=1)]
        r, g, b = (float(x) for x in one[:3])
        found.append(GlbPart(Mesh(mesh.vertices, faces), (r, g, b, float(one[3]) if len(one) > 3 else 1.0)))
    return found
