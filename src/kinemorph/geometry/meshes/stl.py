"""STL, binary and ASCII: triangles without anything in common."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError, quoted, read_bytes

LARGEST_MESH_BYTES = 512 * 2**20
STL_HEADER_BYTES = 84  # bytes: 80 of text, then the number of triangles
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)

Array = np.ndarray[Any, np.dtype[Any]]


@np.errstate(all="ignore")  # NaN and the like are found in the end: no vertex may have them
def read_stl(path: Path) -> tuple[Array, Array, None]:
    content = read_bytes(path, LARGEST_MESH_BYTES)
    whole_header = len(content) >= STL_HEADER_BYTES
    count = int.from_bytes(content[STL_HEADER_BYTES - 4 : STL_HEADER_BYTES], "little") if whole_header else 0
    expected = STL_HEADER_BYTES + count * TRIANGLE.itemsize
    # Some binary files begin with "solid" too, so the size decides first.
    if (
        len(content) != expected
        and content[:256].lstrip()[:5].lower() == b"solid"
        and b"facet" in content[:1024].lower()
    ):
        corners = _ascii(path, content)
    elif len(content) < STL_HEADER_BYTES:
        raise FileError(f"{path}: it has {len(content)} bytes, too few for an STL file")
    elif len(content) < expected:
        raise FileError(
            f"{path}: it claims {count} triangles, which take {expected} bytes, but it has {len(content)}: it is cut"
        )
    else:
        corners = np.frombuffer(content, TRIANGLE, count, STL_HEADER_BYTES)["corners"].reshape(-1, 3)
    return *_joined(corners), None


def _ascii(path: Path, content: bytes) -> Array:
    if b"endsolid" not in content[-1024:].lower():
        raise FileError(f"{path}: there is no 'endsolid' at its end; it is cut off")
    words = [word for match in _VERTEX.finditer(content) for word in match.groups()]
    try:
        corners = np.array([float(word) for word in words]).reshape(-1, 3)
    except ValueError:
        bad = next(word for word in words if not _is_number(word))
        raise FileError(f"{path}: {quoted(bad.decode('latin-1'))} in a vertex is not a number") from None
    if len(corners) % 3:
        raise FileError(f"{path}: it has {len(corners)} vertices; expected three for each triangle")
    return corners


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _joined(corners: Array) -> tuple[Array, Array]:
    """Corners that are the same to the last bit become one vertex."""
    corners = np.ascontiguousarray(corners + 0.0)  # + 0.0 makes -0.0 equal to 0.0
    keys = corners.view(np.dtype((np.void, corners.itemsize * 3))).ravel()
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    return corners[first], index.reshape(-1, 3)
