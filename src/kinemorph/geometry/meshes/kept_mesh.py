"""Meshes without a file: written to a cache folder, so that a shape can name a file.

The file is a binary STL, named by a hash of its content, in the folder `meshes` beside the kernels
(`KINEMORPH_CACHE_DIR`). It is written whole and then renamed, so processes can share the folder. When the folder
exceeds a limit, files that no model was made with for a week are removed, the oldest first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError, write_whole
from kinemorph.geometry.cache_eviction import DAY, evict_occasionally
from kinemorph.geometry.meshes import tessellate
from kinemorph.geometry.meshes.stl import STL_HEADER_BYTES, TRIANGLE
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.jit.api import make_kept

Array = np.ndarray[Any, np.dtype[Any]]

KEPT_MESHES_BYTES = 512 * 2**20  # of all files; those of the last week may be more


def keep_mesh(vertices: Array, faces: Array) -> Path:
    """The file of a mesh, to the precision of STL: single."""
    rows = np.zeros(len(faces), TRIANGLE)
    rows["corners"] = np.asarray(vertices, dtype=np.float32)[faces]
    content = b"kinemorph".ljust(STL_HEADER_BYTES - 4) + len(rows).to_bytes(4, "little") + rows.tobytes()
    name = hashlib.sha256(content).hexdigest()[:40] + ".stl"
    try:
        path = make_kept("meshes") / name
        if not (path.is_file() and path.stat().st_size == len(content)):
            write_whole(path, content)
            evict_occasionally(path.parent, ".stl", KEPT_MESHES_BYTES, len(content), spared=7.0 * DAY)
        elif time.time() - path.stat().st_mtime > DAY:
            with contextlib.suppress(OSError):  # the folder may be shared and read-only
                os.utime(path)  # marks it as used, for the eviction
    except (OSError, RuntimeError) as error:
        raise FileError(f"a mesh cannot be kept: {error}; set KINEMORPH_CACHE_DIR to a folder of yours") from None
    return path


@lru_cache(maxsize=1)
def ball_file() -> Path:
    """The file of a ball of radius 1: scaled, it is an ellipsoid."""
    return keep_mesh(*tessellate.sphere(1.0))


@lru_cache(maxsize=1)
def _cone_file() -> Path:
    """The file of a cone of radius 1 and length 1."""
    return keep_mesh(*tessellate.cone(1.0, 1.0))


def shape_for_files(shape: Shape) -> Shape:
    """A shape for file formats without cones: the inscribed pyramid of 32 sides as a mesh."""
    if shape.kind is not ShapeKind.CONE:
        return shape
    radius, length = shape.size
    return replace(shape, kind=ShapeKind.MESH, size=(radius, radius, length), path=_cone_file())
