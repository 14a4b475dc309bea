"""Wavefront OBJ: vertices, polygons, and the diffuse colours of its materials. Everything else in it is skipped."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import FileError, quoted, read_bytes

MOST_BYTES = 512 * 2**20
MOST_MATERIAL_BYTES = 2**20
NO_COLOUR = (np.nan,) * 4

Array = np.ndarray[Any, np.dtype[Any]]


def read(path: Path) -> tuple[Array, Array, Array | None]:
    text = read_bytes(path, MOST_BYTES).decode("latin-1")  # names may be in any encoding, and no name matters
    vertices: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    lines: list[int] = []  # of each face, for errors
    quads: list[int] = []  # where the first triangle of each is
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
                if len(corners) == 4:
                    quads.append(len(faces))
                for b, c in pairwise(corners[1:]):  # a fan: right for convex polygons, which these should be
                    faces.append((corners[0], b, c))
                    lines.append(number)
                    colours.append(colour)
            elif words[0] == "mtllib":
                materials |= _materials(path.parent / Path(line.split(None, 1)[1].strip().replace("\\", "/")).name)
            elif words[0] == "usemtl":
                colour = materials.get(line.split(None, 1)[1].strip(), NO_COLOUR)
        except (ValueError, IndexError):
            raise FileError(f"{path}:{number}: {quoted(line)} is not read as {_MEANING[words[0]]}") from None
    indices = np.array(faces, dtype=np.int64).reshape(-1, 3)
    bad = ((indices < 0) | (indices >= len(vertices))).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise FileError(
            f"{path}:{lines[row]}: a face names the vertices {(indices[row] + 1).tolist()}, "
            f"but there are {len(vertices)}"
        )
    found = np.array(vertices).reshape(-1, 3)
    _cut_shorter(indices, np.array(quads, dtype=np.int64), found)
    painted = np.array(colours, dtype=np.float32) if any(c is not NO_COLOUR for c in colours) else None
    return found, indices, painted


def _cut_shorter(faces: Array, quads: Array, vertices: Array) -> None:
    """Cut polygons of four corners along the shorter diagonal, in place: if they are not flat, it matters which.

    Those who wrote the file meant one of both; MuJoCo takes the shorter one as well, so masses are equal.
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
