"""Wavefront OBJ: vertices, polygons, and the diffuse colours of its materials. Everything else in it is skipped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError, quoted, read_bytes

LARGEST_MESH_BYTES = 512 * 2**20
MOST_MATERIAL_BYTES = 2**20
NO_COLOUR = (np.nan,) * 4

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Polygons:
    """Contents of a file: points, and polygons of them, one after the other."""

    vertices: Array  # (n, 3)
    corners: Array  # of all polygons, rows of vertices
    counts: Array  # corners of each polygon
    colours: Array | None  # (polygons, 4), NaN where there is none
    starts: list[int]  # the polygon that each object or group of the file begins with

    @property
    def first(self) -> Array:
        """Where each polygon begins among the corners."""
        return np.cumsum(self.counts) - self.counts


def read_obj(path: Path) -> tuple[Array, Array, Array | None]:
    """Vertices, triangles and their colours, of all objects. Polygons should be convex, and become fans."""
    found = parse(path)
    triangles = found.counts - 2
    first = np.cumsum(triangles) - triangles  # the first triangle of each polygon
    nth = np.arange(int(triangles.sum())) - np.repeat(first, triangles)
    at = np.repeat(found.first, triangles)
    faces = np.stack([found.corners[at], found.corners[at + nth + 1], found.corners[at + nth + 2]], axis=1)
    _cut_shorter(faces, first[found.counts == 4], found.vertices)
    painted = None if found.colours is None else np.repeat(found.colours, triangles, axis=0)
    return found.vertices, faces, painted


def parse(path: Path) -> Polygons:
    text = read_bytes(path, LARGEST_MESH_BYTES).decode("latin-1")  # names may be in any encoding, and no name matters
    vertices: list[tuple[float, float, float]] = []
    flat: list[int] = []
    counts: list[int] = []
    starts = [0]
    lines: list[int] = []  # of each polygon, for errors
    colours: list[tuple[float, ...]] = []
    materials: dict[str, tuple[float, ...]] = {}
    colour: tuple[float, ...] = NO_COLOUR
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            if words[0] == "v":
                vertices.append((float(words[1]), float(words[2]), float(words[3])))
            elif words[0] == "f":
                corners = [_index(word, len(vertices)) for word in words[1:]]
                if len(corners) < 3:
                    raise ValueError
                flat += corners
                counts.append(len(corners))
                lines.append(number)
                colours.append(colour)
            elif words[0] in ("o", "g"):
                starts.append(len(counts))
            elif words[0] == "mtllib":
                materials |= _materials(path.parent / Path(line.split(None, 1)[1].strip().replace("\\", "/")).name)
            elif words[0] == "usemtl":
                colour = materials.get(line.split(None, 1)[1].strip(), NO_COLOUR)
        except (ValueError, IndexError):
            raise FileError(f"{path}:{number}: {quoted(line)} is not read as {_MEANING[words[0]]}") from None
    painted = np.array(colours, dtype=np.float32) if any(c is not NO_COLOUR for c in colours) else None
    rows, sizes = np.array(flat, dtype=np.int64), np.array(counts, dtype=np.int64)
    found = Polygons(np.array(vertices).reshape(-1, 3), rows, sizes, painted, starts)
    bad = (rows < 0) | (rows >= len(vertices))
    if bad.any():
        polygon = int(np.searchsorted(found.first, int(np.argmax(bad)), side="right")) - 1
        named = rows[found.first[polygon] :][: sizes[polygon]] + 1
        raise FileError(
            f"{path}:{lines[polygon]}: a face names the vertices {_parse_few(named.tolist())}, "
            f"but there are {len(vertices)}"
        )
    return found


def _parse_few(numbers: list[int]) -> str:
    return str(numbers) if len(numbers) <= 8 else f"{numbers[:8]} and {len(numbers) - 8} more"


def _cut_shorter(faces: Array, quads: Array, vertices: Array) -> None:
    """Triangulate polygons of four corners along the shorter diagonal, in place: for non-flat ones the choice matters.

    MuJoCo takes the shorter diagonal as well, so masses are equal.
    """
    (a, b, c), d = faces[quads].T, faces[quads + 1, 2]
    far = ((vertices[a] - vertices[c]) ** 2).sum(axis=1) > ((vertices[b] - vertices[d]) ** 2).sum(axis=1)
    faces[quads[far]] = np.stack([a, b, d], axis=1)[far]
    faces[quads[far] + 1] = np.stack([b, c, d], axis=1)[far]


_MEANING = {
    "v": "a vertex: v x y z",
    "f": "a face of three vertices or more: f 1 2 3 or f 1/1/1 2/2/2 3/3/3",
    "mtllib": "a material file",
    "usemtl": "a material",
}


def _index(word: str, count: int) -> int:
    """Of a vertex, from 0: files count from 1, or with negative numbers back from the last vertex."""
    index = int(word.partition("/")[0])
    if not -(2**31) < index < 2**31:
        raise ValueError
    return index - 1 if index >= 0 else count + index


def _materials(path: Path) -> dict[str, tuple[float, ...]]:
    """Colours by name. A material file is decoration: where it is missing or unreadable, there are none."""
    colours: dict[str, tuple[float, ...]] = {}
    try:
        text = read_bytes(path, MOST_MATERIAL_BYTES).decode("latin-1")
        name, opacity = "", 1.0
        for line in text.splitlines():
            words = line.split()
            if words[:1] == ["newmtl"]:
                name, opacity = line.split(None, 1)[1].strip() if len(words) > 1 else "", 1.0
            elif words[:1] == ["Kd"]:
                colours[name] = (*(min(max(float(w), 0.0), 1.0) for w in words[1:4]), opacity)
            elif words[:1] == ["d"]:
                opacity = float(words[1])
                if name in colours:
                    colours[name] = (*colours[name][:3], opacity)
    except (FileError, ValueError, IndexError):
        return {}
    return {name: colour for name, colour in colours.items() if len(colour) == 4 and np.isfinite(colour).all()}
