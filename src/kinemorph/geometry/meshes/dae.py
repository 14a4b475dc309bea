"""COLLADA (.dae): the triangles of its scene, in metres, with the colours of its materials.

`<unit>` counts. `<up_axis>` does not: programs write Y_UP into files for robots without turning anything, RViz, Gazebo
and Pinocchio ignore it, and so the robots of the world are drawn to be read without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import quoted
from kinemorph._xml import Element, read_xml
from kinemorph.spatial.pose import Pose

MOST_INSTANCES = 10_000  # nodes in nodes can multiply: thirty levels that each use the next one twice are 10⁹
MOST_DAE_ELEMENTS = 10_000_000  # vertices and triangles, after all that

Array = np.ndarray[Any, np.dtype[Any]]
Piece = tuple[Array, Array, str]  # vertices, faces, the symbol of the material


@np.errstate(all="ignore")  # what overflows is found in the end: no vertex may be infinite
def read_dae(path: Path) -> tuple[Array, Array, Array | None]:
    root = read_xml(path)
    if root.tag != "COLLADA":
        raise root.error("this is not a COLLADA file: its outermost element must be <COLLADA>")
    scene = _Scene(root)
    vertices: list[Array] = []
    faces: list[Array] = []
    colours: list[Array] = []
    total = parts = 0
    for count, (X, geometry, materials) in enumerate(scene.instances()):
        if count > MOST_INSTANCES:
            raise root.error(f"its scene shows more than {MOST_INSTANCES} meshes")
        for points, corners, symbol in scene.pieces(geometry):
            parts += len(points) + len(corners)
            if parts > MOST_DAE_ELEMENTS:
                raise root.error(f"its scene has more than {MOST_DAE_ELEMENTS} vertices and triangles")
            flip = np.linalg.det(X[:3, :3]) < 0.0
            vertices.append(points @ X[:3, :3].T + X[:3, 3])
            faces.append((corners[:, ::-1] if flip else corners) + total)
            colours.append(np.tile(scene.colour(materials.get(symbol, symbol)), (len(corners), 1)))
            total += len(points)
    if not faces:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64), None
    painted = np.vstack(colours).astype(np.float32)
    return np.vstack(vertices) * scene.unit(), np.vstack(faces), None if np.isnan(painted).all() else painted


class _Scene:
    """A document, with its elements by id and each geometry read once."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.ids: dict[str, Element] = {}
        self.known: dict[int, list[Piece]] = {}
        waiting = [root]
        while waiting:
            element = waiting.pop()
            if "id" in element.attributes:
                self.ids.setdefault(element.attributes["id"], element)
            waiting.extend(element.children)

    def unit(self) -> float:
        asset = self.root.one("asset")
        unit = asset.one("unit") if asset is not None else None
        return 1.0 if unit is None else unit.number("meter", 1.0)

    def target(self, element: Element, attribute: str) -> Element:
        """The element that a link like url="#name" refers to."""
        link = element.attribute(attribute)
        found = self.ids.get(link.removeprefix("#"))
        if found is None:
            raise element.error(f"{attribute}={quoted(link)}: there is nothing with this id in the file")
        return found

    def instances(self) -> Iterator[tuple[Array, Element, dict[str, str]]]:
        """Every instance of a geometry: its transform, the geometry, and its materials by symbol."""
        scenes = [self.target(e, "url") for s in self.root.all("scene") for e in s.all("instance_visual_scene")]
        if not scenes:
            for library in self.root.all("library_geometries"):
                for geometry in library.all("geometry"):
                    yield np.eye(4), geometry, {}
        waiting = [(np.eye(4), node) for scene in scenes for node in scene.all("node")]
        visited = 0
        while waiting:
            X, node = waiting.pop()
            visited += 1
            if visited + len(waiting) > MOST_INSTANCES:
                raise node.error(f"the scene has more than {MOST_INSTANCES} nodes; perhaps one contains itself")
            X = X @ _transform(node)
            for use in node.all("instance_geometry"):
                yield X, self.target(use, "url"), _symbols(use)
            for use in node.all("instance_controller"):  # a skin, shown as it was before it was bent
                for skin in self.target(use, "url").all("skin"):
                    yield X, self.target(skin, "source"), _symbols(use)
            inner = node.all("node") + [self.target(use, "url") for use in node.all("instance_node")]
            waiting.extend((X, child) for child in inner)

    def pieces(self, geometry: Element) -> list[Piece]:
        if id(geometry) not in self.known:
            self.known[id(geometry)] = [
                (*self._triangles(element, READERS[element.tag]), element.attributes.get("material", ""))
                for mesh in geometry.all("mesh")
                for element in mesh.children
                if element.tag in READERS
            ]
        return self.known[id(geometry)]

    def _triangles(self, element: Element, reader: Callable[[Element, int, int], Array]) -> tuple[Array, Array]:
        inputs = element.all("input")
        corner = next((i for i in inputs if i.attributes.get("semantic") == "VERTEX"), None)
        if corner is None:
            raise element.error('there is no <input semantic="VERTEX">')
        offsets = [int(i.number("offset", 0.0, 64.0)) for i in inputs]
        if min(offsets) < 0:
            raise element.error(f"an <input> has the offset {min(offsets)}, which cannot be negative")
        faces = reader(element, max(offsets) + 1, int(corner.number("offset", 0.0, 64.0)))
        points = self._points(self.target(corner, "source"))
        if len(faces) and (faces.min() < 0 or faces.max() >= len(points)):
            bad = faces.max() if faces.max() >= len(points) else faces.min()
            raise element.error(f"it names the vertex {bad}, but there are {len(points)}")
        return points, faces

    def _points(self, vertices: Element) -> Array:
        position = next((i for i in vertices.all("input") if i.attributes.get("semantic") == "POSITION"), None)
        if position is None:
            raise vertices.error('there is no <input semantic="POSITION">')
        source = self.target(position, "source")
        values = _values(source.need("float_array"), np.float64)
        accessor = source.need("technique_common").need("accessor")
        count, stride, offset = (
            int(accessor.number(k, d)) for k, d in (("count", None), ("stride", 3.0), ("offset", 0.0))
        )
        if stride < 3 or offset < 0 or count < 0 or offset + count * stride > len(values):
            raise accessor.error(f"it takes {count} points of {stride} numbers, but there are {len(values)} numbers")
        return values[offset : offset + count * stride].reshape(count, stride)[:, :3]

    def colour(self, material: str) -> tuple[float, ...]:
        """The diffuse colour of a material; NaN where there is none or a picture."""
        nothing = (np.nan,) * 4
        element = self.ids.get(material.removeprefix("#"))
        use = element.one("instance_effect") if element is not None else None
        if use is None:
            return nothing
        waiting = [self.target(use, "url")]
        while waiting:
            element = waiting.pop()
            if element.tag == "diffuse":
                colour = element.one("color")
                values = _values(colour, np.float64) if colour is not None else np.zeros(0)
                return tuple(np.clip(values, 0.0, 1.0)) if values.shape == (4,) else nothing
            waiting.extend(element.children)
        return nothing


def _symbols(use: Element) -> dict[str, str]:
    """Materials of an instance, by symbol."""
    bound = (i for b in use.all("bind_material") for t in b.all("technique_common") for i in t.all("instance_material"))
    return {i.attributes.get("symbol", ""): i.attributes.get("target", "") for i in bound}


def _transform(node: Element) -> Array:
    X = np.eye(4)
    for step in node.children:
        if step.tag not in ("matrix", "translate", "rotate", "scale"):
            continue
        values = _values(step, np.float64, {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3}[step.tag])
        Y = np.eye(4)
        if step.tag == "matrix":
            Y = values.reshape(4, 4)
        elif step.tag == "translate":
            Y[:3, 3] = values
        elif step.tag == "scale":
            Y[:3, :3] = np.diag(values)
        elif np.any(values[:3]):
            axis = values[:3] / np.abs(values[:3]).max()  # so that its length neither overflows nor vanishes
            Y[:3, :3] = Pose.turn(axis, np.radians(values[3])).rotation
        X = X @ Y
    return X


def _values(element: Element, kind: type[np.float64] | type[np.int64], count: int | None = None) -> Array:
    """The numbers in an element's text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # how older NumPy says that a word is no number
            values = np.fromstring(element.text, dtype=kind, sep=" ")
    except (ValueError, DeprecationWarning):
        bad = next((w for w in element.text.split() if not _is_number(w, kind)), "")
        raise element.error(f"{quoted(bad)} is not a number") from None
    if not np.isfinite(values).all():
        raise element.error("one of its numbers is not finite")
    if count is not None and len(values) != count:
        raise element.error(f"it has {len(values)} numbers; expected {count}")
    return values


def _is_number(word: str, kind: type[np.float64] | type[np.int64]) -> bool:
    try:
        int(word) if kind is np.int64 else float(word)
    except ValueError:
        return False
    return True


# How the primitives list their corners. Each reader gets the number of indices that a corner has and which one is the
# vertex, and returns faces.


def _corners(p: Element, stride: int, offset: int) -> Array:
    values = _values(p, np.int64)
    if len(values) % stride:
        raise p.error(f"it has {len(values)} indices, which is not a multiple of {stride}")
    return values[offset::stride]


def _each(element: Element, stride: int, offset: int) -> list[Array]:
    return [_corners(p, stride, offset) for p in element.all("p")]


def _triangles(element: Element, stride: int, offset: int) -> Array:
    corners = np.concatenate([np.zeros(0, np.int64), *_each(element, stride, offset)])
    if len(corners) % 3:
        raise element.error(f"it has {len(corners)} corners; expected three for each triangle")
    return corners.reshape(-1, 3)


def _polylist(element: Element, stride: int, offset: int) -> Array:
    corners = np.concatenate([np.zeros(0, np.int64), *_each(element, stride, offset)])
    counts = _values(element.need("vcount"), np.int64)
    if (counts < 0).any() or (counts > len(corners)).any() or counts.sum() != len(corners):
        raise element.error(f"the numbers in <vcount> do not add up to the {len(corners)} corners in <p>")
    # Fans of all polygons at once: a polygon of n corners gives the triangles (0, k, k + 1) for k from 1 to n - 2.
    fans = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, fans)
    k = 1 + np.arange(fans.sum()) - np.repeat(np.cumsum(fans) - fans, fans)
    return np.column_stack([corners[first], corners[first + k], corners[first + k + 1]])


def _polygons(element: Element, stride: int, offset: int) -> Array:
    return np.vstack([np.zeros((0, 3), np.int64), *(_fan(c) for c in _each(element, stride, offset))])


def _fan(c: Array) -> Array:
    return np.column_stack([np.full(max(len(c) - 2, 0), c[0] if len(c) else 0), c[1:-1], c[2:]])


def _strips(element: Element, stride: int, offset: int) -> Array:
    strips = [np.zeros((0, 3), np.int64)]
    for c in _each(element, stride, offset):
        strip = np.column_stack([c[:-2], c[1:-1], c[2:]])
        strip[1::2, :2] = strip[1::2, 1::-1]  # every second triangle of a strip turns the other way
        strips.append(strip)
    return np.vstack(strips)


READERS: dict[str, Callable[[Element, int, int], Array]] = {
    "triangles": _triangles,
    "polylist": _polylist,
    "polygons": _polygons,
    "trifans": _polygons,
    "tristrips": _strips,
}
