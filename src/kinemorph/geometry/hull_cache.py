"""Convex hulls of mesh files, cached on disk: reading a file, computing and checking its hull takes up to a second.

The name of an entry is a hash of all that it depends on: the bytes of the mesh file, the scale, the options, the
sources that read meshes and make hulls, and the version of Qhull. The folder `hulls` is beside the kernels
(`KINEMORPH_CACHE_DIR`). An entry is a SHA-256 followed by an .npz file with four arrays: `points` (n, 3), `counts` of
the corners of the faces, their `corners`, and the depth of the mesh below the hull, `hollow`. Files are written whole
and then renamed, so processes can share the folder; damaged entries are made again, and without a writable folder
nothing is cached.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.cache_eviction import DAY, evict_occasionally
from kinemorph.jit.api import kept_folder, make_kept, why_foreign_file
from kinemorph.jit.cache.source_hash import file_digest, module_key

LARGEST_HULL_BYTES = 64 * 2**20  # bytes of an entry
HULL_CACHE_BYTES = 256 * 2**20  # of all entries: beyond this, those that were not used for longest go

Array = np.ndarray[Any, np.dtype[Any]]
Loops = tuple[Array, ...]  # the vertices of each face


def hull_entry(mesh: str, *options: object) -> Path | None:
    """The file for the hull of a mesh file; None if the mesh cannot be read, or no folder is writable."""
    from scipy import __version__ as qhull  # SciPy brings Qhull along

    content = file_digest(mesh)
    if content is None:
        return None
    code = module_key("kinemorph.geometry.polyhedron", str(Path(__file__).with_name("polyhedron.py")))
    key = hashlib.sha256(repr((content, Path(mesh).suffix, options, code, qhull, np.__version__)).encode()).hexdigest()
    with contextlib.suppress(OSError, RuntimeError):  # no folder is safe; there is no home folder
        return kept_folder("hulls") / f"{key[:40]}.hull"
    return None


def load_hull(entry: Path | None) -> tuple[Array, list[Array], float] | None:
    """Points and faces of an entry, and the depth of the mesh below the hull; None if it is missing or damaged."""
    if entry is None:
        return None
    try:
        with entry.open("rb") as file:
            status, content = os.fstat(file.fileno()), file.read(LARGEST_HULL_BYTES + 1)
        if why_foreign_file(status) or len(content) > LARGEST_HULL_BYTES:
            return None
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            return None
        with np.load(io.BytesIO(content[32:]), allow_pickle=False) as arrays:
            points, counts, corners = arrays["points"], arrays["counts"], arrays["corners"]
            hollow = float(arrays["hollow"])
        if time.time() - status.st_mtime > DAY:
            with contextlib.suppress(OSError):  # the folder may be shared and read-only
                os.utime(entry)  # marks it as used, for the eviction
        return points, np.split(corners, np.cumsum(counts)[:-1]), hollow
    except Exception:  # any damage: the hull is made again
        return None


def save_hull(entry: Path | None, points: Array, loops: Loops, hollow: float) -> None:
    """Write an entry, if possible."""
    if entry is None:
        return
    body = io.BytesIO()
    corners = np.concatenate(loops).astype(np.int32)
    counts = np.array([len(loop) for loop in loops], np.int32)
    np.savez(body, points=points, counts=counts, corners=corners, hollow=hollow)
    content = hashlib.sha256(body.getvalue()).digest() + body.getvalue()
    with contextlib.suppress(OSError):
        make_kept("hulls")
        handle, temporary = tempfile.mkstemp(dir=entry.parent, prefix=entry.stem, suffix=".tmp")
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, entry)
        except BaseException:
            os.unlink(temporary)
            raise
        evict_occasionally(entry.parent, ".hull", HULL_CACHE_BYTES, len(content))
