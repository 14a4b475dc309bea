"""Concave bodies: trees of convex parts (Fontijne 2.4).

The leaves are the parts of the body; every other node is convex too and holds all that is below it, so its distance
is a lower bound of theirs. A collision test begins at the root and opens a node, which means it looks at its two
children instead, only if the bound is below a threshold (Fontijne 2.4.2, second extension): far away a concave body
costs as little as a convex one, and below the threshold the distance is the true one.

Inner nodes are hulls of their children, or boxes around them (his first extension): boxes are for flat parts, which
may have no hull with a volume. The ground is not made of parts: see `kinemorph.geometry.ground`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, cast, overload

import numpy as np

from kinemorph._extras import require_module
from kinemorph.geometry.meshes.faults import check_mesh
from kinemorph.geometry.meshes.mesh import Mesh, mesh_of
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.spatial.arguments.annotated import checked_first, checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of

NODE = np.dtype(
    [
        ("core", "i8"),  # address of its core, in the body's frame
        ("radius", "f8"),  # m, around the core; of an inner node the largest below it
        ("centre", "f8", 3),  # m, middle of a ball
        ("radius_bound", "f8"),  # m, radius of that ball, which holds the node with its radius
        ("low", "f8", 3),  # m, corner of the box around the parts below it, with their radii
        ("high", "f8", 3),  # m, the opposite corner
        ("parent", "i4"),  # node; -1 for the root
        ("first", "i4"),  # its first child, which is the next row; -1 for a leaf
        ("second", "i4"),  # its second child; -1 for a leaf
        ("skip", "i4"),  # the row after all that is below it: where to go on without opening it
        ("part", "i4"),  # of a leaf: which part of the body it is; -1 for an inner node
    ],
    align=True,
)

PARTS = np.dtype(
    [
        ("n", "i8"),  # number of nodes
        ("depth", "i8"),  # of the tree: a stack of depth + 1 nodes is enough to walk it
        ("nodes", "i8"),  # address of the NODE rows
    ]
)

UNIT_BOX = Polyhedron.box((1.0, 1.0, 1.0))
NO_MIDDLES = np.zeros((0, 3))  # of a body that is not split
FLAT_BOX_SHARE = 1e-6  # sizes: how thick the box around flat parts is made

Array = np.ndarray[Any, np.dtype[Any]]


@checked_on_failure
class Parts:
    """A body made of convex parts, as a tree in rows: the root first, each node followed by all that is below it.

    `parts` are polyhedra in the body's frame (see `Polyhedron.moved`), `radii` the radius around each. `inner` says
    what the inner nodes are, hulls or boxes. `solid` is the mesh that it was cut from, if that is known: its mass is
    that of the body. Nothing changes it; kernels read the rows through `address`.
    """

    __slots__ = ("_header", "_middles", "address", "cores", "inner", "nodes", "parts", "radii", "solid")

    def __init__(
        self, parts: Iterable[Polyhedron], radii: float | Sequence[float] = 0.0, inner: Literal["hull", "box"] = "hull",
        solid: Mesh | None = None,
    ) -> None:  # fmt: skip
        self.parts, self.solid = tuple(parts), solid
        if not isinstance(solid, Mesh | None):
            raise TypeError(f"Parts: the solid is a Mesh, not {repr_of(solid)}")
        if not self.parts:
            raise ValueError("Parts: a body needs one convex part or more")
        for k, part in enumerate(self.parts):
            if not isinstance(part, Polyhedron):
                raise TypeError(f"Parts: part {k} must be a Polyhedron, not {repr_of(part)}; core_of(shape)[0] is one")
        if inner not in ("hull", "box"):
            raise ValueError(f"Parts: inner nodes are 'hull' or 'box', not {repr_of(inner)}")
        try:
            self.radii: Array = np.broadcast_to(np.asarray(radii, dtype=np.float64), len(self.parts)).copy()
        except (TypeError, ValueError):
            raise ValueError(f"Parts: expected one radius or {len(self.parts)}, got {repr_of(radii)}") from None
        if not ((self.radii >= 0.0) & (self.radii < np.inf)).all():
            raise ValueError(f"Parts: radii {self.radii.tolist()} must be finite and not negative")
        self.inner = inner
        if len(self.parts) == 1:
            self._single(self.parts[0], float(self.radii[0]), *self.parts[0].bounds.tolist())
            return
        self._middles = np.array([part.bounds.mean(axis=0) for part in self.parts])
        cores: list[Polyhedron] = []
        rows: list[dict[str, Any]] = []
        depth = self._grow(np.arange(len(self.parts)), -1, cores, rows)
        self.cores = tuple(cores)  # of all nodes; kept alive here, because the rows know their addresses only
        self.nodes = np.zeros(len(rows), NODE)
        for node, row in zip(self.nodes, rows, strict=True):
            for name, value in row.items():
                node[name] = value
        for array in (self.nodes, self.radii):
            array.flags.writeable = False
        self._header = np.zeros(1, PARTS)
        self._header["n"], self._header["depth"], self._header["nodes"] = len(rows), depth, self.nodes.ctypes.data
        self.address = int(self._header.ctypes.data)

    @staticmethod
    def single(part: Polyhedron, radius: float, low: list[float], high: list[float]) -> Parts:
        """A body of one part, which is the root, with all that follows from it known: most bodies are like this.

        From `low` to `high` is the box around the part, without the radius around it.
        """
        body = object.__new__(Parts)
        body.parts = body.cores = (part,)
        body.radii, body.inner, body.solid = np.array([radius]), "hull", None
        body._single(part, radius, low, high)
        return body

    def _single(self, part: Polyhedron, radius: float, low: list[float], high: list[float]) -> None:
        core = part._core[0]
        self.cores = self.parts
        self._middles = NO_MIDDLES
        memory = bytearray(NODE.itemsize + PARTS.itemsize)
        self.nodes = np.frombuffer(memory, NODE, 1)
        self._header = np.frombuffer(memory, PARTS, 1, NODE.itemsize)
        start = self.nodes.ctypes.data
        self.nodes[0] = (
            part.address, radius, core["centre"], core["radius_bound"] + radius, [x - radius for x in low],
            [x + radius for x in high], -1, -1, -1, 1, 0,
        )  # fmt: skip
        self._header[0] = 1, 0, start
        self.nodes.flags.writeable = self.radii.flags.writeable = False
        self.address = start + NODE.itemsize

    def __reduce__(self) -> Any:  # a copy has its rows elsewhere, and needs an address of its own
        return Parts, (self.parts, self.radii, self.inner, self.solid)

    @property
    def surface(self) -> Mesh:
        """The surfaces of all parts, without the radii around them."""
        starts = np.cumsum([0, *(len(part.points) for part in self.parts[:-1])])
        faces = [part.triangles + start for part, start in zip(self.parts, starts, strict=True)]
        return Mesh(np.concatenate([part.points for part in self.parts]), np.concatenate(faces).astype(np.int32))

    @property
    def depth(self) -> int:
        """How many levels of the tree are below its root."""
        return int(self._header["depth"][0])

    def __repr__(self) -> str:
        return f"Parts: {len(self.parts)} convex parts in a tree of {len(self.nodes)} nodes"

    def _grow(self, parts: Array, parent: int, cores: list[Polyhedron], rows: list[dict[str, Any]]) -> int:
        """Append a node for some parts, and all below it; returns how deep that is."""
        here = len(rows)
        row: dict[str, Any] = {"parent": parent, "first": -1, "second": -1, "part": -1}
        rows.append(row)
        cores.append(self.parts[parts[0]])
        radius = float(self.radii[parts].max())
        below = 0
        if len(parts) == 1:
            row["part"] = parts[0]
            row["low"], row["high"] = cores[here].bounds + [[-radius], [radius]]
        else:
            for name, half in zip(("first", "second"), self._split(parts), strict=True):
                row[name] = len(rows)
                below = max(below, 1 + self._grow(half, here, cores, rows))
            a, b = row["first"], row["second"]
            cores[here] = self._around(cores[a], cores[b])
            row["low"] = np.minimum(rows[a]["low"], rows[b]["low"])
            row["high"] = np.maximum(rows[a]["high"], rows[b]["high"])
        core = cores[here]
        row |= {"core": core.address, "radius": radius, "skip": len(rows)}
        row |= {"centre": core.centre, "radius_bound": core.radius_bound + radius}
        return below

    def _split(self, parts: Array) -> tuple[Array, Array]:
        """Two halves, apart along the axis on which the parts are most spread."""
        middles = self._middles[parts]
        order = parts[np.argsort(middles[:, np.ptp(middles, axis=0).argmax()], kind="stable")]
        half = len(parts) // 2
        return order[:half], order[half:]

    def _around(self, a: Polyhedron, b: Polyhedron) -> Polyhedron:
        if self.inner == "hull":
            try:
                return Polyhedron.hull(np.vstack([a.points, b.points]))
            except ValueError as error:
                raise ValueError(f"Parts: {error} (inner='box' needs no hulls)") from None
        low, high = np.minimum(a.bounds[0], b.bounds[0]), np.maximum(a.bounds[1], b.bounds[1])
        size = np.maximum(high - low, FLAT_BOX_SHARE * (high - low).max())
        if not size.any():
            raise ValueError("Parts: the parts are points, all in one place")
        return UNIT_BOX.reshaped(0.5 * (low + high) + UNIT_BOX.points * size)


class _Decompose(Protocol):
    @overload
    def __call__(self, body: Mesh, concavity: float = ..., max_parts: int | None = ..., seed: int = ...) -> Parts: ...
    @overload
    def __call__(self, body: Shape, concavity: float = ..., max_parts: int | None = ..., seed: int = ...) -> Shape: ...


def _with_overloads(function: Callable[..., Any]) -> _Decompose:
    return cast(_Decompose, function)


@_with_overloads
@checked_first
def decompose(
    body: Mesh | Shape, concavity: float = 0.05, max_parts: int | None = None, seed: int = 0
) -> Parts | Shape:  # fmt: skip
    """A mesh cut into convex parts by CoACD (`pip install kinemorph[decompose]`); of a mesh shape, the shape with them.

    `concavity` (0.01 to 1) is how much of the mesh's size the parts may stick out of it; `max_parts` limits them.
    """
    if isinstance(body, Shape):
        if body.kind is not ShapeKind.MESH:
            raise ValueError(f"decompose: a {body.kind} is convex; expected a mesh")
        return replace(body, parts=decompose(mesh_of(body), concavity, max_parts, seed))
    mesh = body
    coacd = require_module("coacd", "decompose", "convex parts of a mesh")
    if not 0.01 <= concavity <= 1.0:
        raise ValueError(f"decompose: concavity {concavity}; expected 0.01 to 1")
    if max_parts is not None and (not isinstance(max_parts, int) or max_parts < 1):
        raise ValueError(f"decompose: max_parts is {max_parts!r}; expected 1 part or more, or None")
    check_mesh(mesh, "decompose")  # CoACD would end the process
    try:
        Polyhedron.hull(mesh.vertices[np.unique(mesh.faces)], max_vertices=1024)  # and if it is flat, too
    except ValueError as error:
        raise ValueError(f"decompose: {error}") from None
    coacd.set_log_level("error")
    pieces = coacd.run_coacd(
        coacd.Mesh(mesh.vertices, mesh.faces), threshold=concavity, max_convex_hull=max_parts or -1, seed=seed
    )
    return Parts([Polyhedron.hull(points) for points, _ in pieces], solid=mesh)
