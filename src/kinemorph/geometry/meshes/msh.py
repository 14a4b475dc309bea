"""MSH, MuJoCo's own binary meshes: counts, vertices, normals, texture coordinates, faces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError, read_bytes
from kinemorph.geometry.hull import hull_triangles

LARGEST_MESH_BYTES = 512 * 2**20
MSH_HEADER_BYTES = 16  # bytes: four counts

Array = np.ndarray[Any, np.dtype[Any]]


def read_msh(path: Path) -> tuple[Array, Array, None]:
    content = read_bytes(path, LARGEST_MESH_BYTES)
    if len(content) < MSH_HEADER_BYTES:
        raise FileError(f"{path}: it has {len(content)} bytes, too few for an MSH file")
    vertices, normals, textures, faces = np.frombuffer(content, "<i4", 4).tolist()
    expected = MSH_HEADER_BYTES + 12 * (vertices + normals + faces) + 8 * textures
    if min(vertices, normals, textures, faces) < 0 or len(content) != expected:
        counts = f"{vertices} vertices, {normals} normals, {textures} texture coordinates and {faces} faces"
        raise FileError(f"{path}: it claims {counts}, which take {expected} bytes, but it has {len(content)}")
    points = np.frombuffer(content, "<f4", 3 * vertices, MSH_HEADER_BYTES).reshape(-1, 3)
    if not faces:
        try:
            return points, hull_triangles(points.astype(np.float64)), None  # without faces, a file means the hull
        except ValueError as error:
            raise FileError(f"{path}: {error}") from None
    start = MSH_HEADER_BYTES + 12 * (vertices + normals) + 8 * textures
    return points, np.frombuffer(content, "<i4", 3 * faces, start).reshape(-1, 3), None
