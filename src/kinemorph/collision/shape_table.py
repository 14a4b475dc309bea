"""The shapes of a world under stable ids: what they are made of, which link carries each, and where on it."""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinemorph.collision.broad_phase import EVERYTHING
from kinemorph.collision.part_pairs import STACK
from kinemorph.collision.shape_rows import MOUNT, SHAPE, Form
from kinemorph.collision.shape_writing import write_shapes
from kinemorph.geometry.ground import Ground
from kinemorph.geometry.parts import NODE, Parts, box_roots
from kinemorph.geometry.polyhedron import CACHED, Polyhedron, box_of, box_rows, core_of
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.multibody.tables import aligned_at
from kinemorph.spatial.given import bits, shown
from kinemorph.spatial.pose import Pose

Solid: TypeAlias = Shape | Polyhedron | tuple[Polyhedron, float] | Parts | Ground
Array = np.ndarray[Any, np.dtype[Any]]

BASE = -1  # the link of what does not move
FAR = 1e18  # m: half of space has a box that reaches so far
FOLLOWS = ("form", "core", "nodes", "n_nodes", "ground", "radius")  # fields of SHAPE that bodies say
ROW_BITS = 32  # of an id; the generation of its row is above them
ROWS = (1 << ROW_BITS) - 1


HERE = Pose()


class Description(NamedTuple):
    """What rows say of a body; see `shape_rows` for the fields."""

    form: Form
    core: int
    nodes: int
    n_nodes: int
    ground: int
    radius: float
    low: list[float]
    high: list[float]
    reach: float


class ShapeTable:
    """Shapes that may be added and removed at any time; each has an id, which no other shape ever gets.

    A shape is a `Shape`, a `Polyhedron` (with a radius around it as a pair: `(core, radius)`), `Parts` for a concave
    body, or `Ground`. The table keeps what its rows have addresses of alive. Rows are used again, the smallest free one
    first; `row_of` and `id_at` lead from ids to rows and back, and an id of a shape that is gone is refused.
    """

    __slots__ = ("_free", "_owners", "_solids", "addresses", "changed", "mounts", "revision", "rows")

    def __init__(self) -> None:
        self._begin(16)
        self.revision = 0  # how often the table has changed
        self._solids: list[Solid | None] = []  # as they were given
        self._owners: list[Parts | Ground | Box | None] = []  # of what rows have the addresses of
        self._free: list[int] = []  # rows that were given back, a heap

    def _begin(self, room: int) -> None:
        self.rows: Array  # one a shape; `form` is 0 in rows that are free
        self.mounts: Array  # as many
        self.rows, rows = aligned_at(room, SHAPE)
        self.mounts, mounts = aligned_at(room, MOUNT)
        self.addresses = rows, mounts
        self.changed: Array = np.zeros(room, np.int64)  # of each row, the revision in which it last did

    # --- coming and going ---

    def add(
        self, solid: Solid, link: int = BASE, pose: Pose | None = None, *, group: int = 1, mask: int = EVERYTHING
    ) -> int:
        """Fix a shape to a link, at `pose` in the link's frame. Returns its id.

        Two shapes meet if each one's group (of 32 bits) is in the other's mask, unless they are on one link or both do
        not move: what is on the base, and ground, wherever it is.
        """
        return self.add_all([(solid, link, pose, group, mask)])[0]

    def add_all(self, mounts: Sequence[tuple[Solid, int, Pose | None, int, int]]) -> list[int]:
        """The same for many: solid, link, pose, group and mask of each. If one is refused, none is added."""
        if not mounts:
            return []
        places = []
        for solid, link, pose, group, mask in mounts:
            bits("group", group)
            bits("mask", mask)
            _check_link(link)
            places.append(_pose_on_link(solid, pose))
        described = _described([solid for solid, *_ in mounts])
        rows = [self._claim() for _ in mounts]
        whole: list[int] = []
        numbers: list[float] = []
        for row, (solid, link, _, group, mask), at, (owner, said) in zip(rows, mounts, places, described, strict=True):
            self._solids[row], self._owners[row] = solid, owner
            form, *made, radius, low, high, reach = said
            whole += row, form, link, group, mask, link == BASE or form == Form.GROUND, *made
            numbers += *at.rotation.ravel().tolist(), *at.position.tolist(), *low, *high, radius, reach
        written = np.array(whole, np.int64).reshape(-1, 10), np.array(numbers, np.float64).reshape(-1, 20)
        write_shapes(self.rows, self.mounts, self.changed, self.revision, *written)
        generations = self.rows["generation"]
        ids = [int(generations[row]) << ROW_BITS | row for row in rows]
        self.revision += len(ids)
        return ids

    def _claim(self) -> int:
        """A row that is free."""
        row = heapq.heappop(self._free) if self._free else len(self._owners)
        if row == len(self._owners):
            self._owners.append(None)
            self._solids.append(None)
        if row == len(self.rows):
            self._make_room(2 * row)
        return row

    def remove(self, id: int) -> None:
        """Take a shape out. Its id is refused from now on; its row may go to another shape."""
        row = self.row_of(id)
        generation = int(self.rows["generation"][row])
        self.rows[row] = np.zeros((), SHAPE)
        self.rows["generation"][row] = generation + 1
        self._solids[row] = self._owners[row] = None
        heapq.heappush(self._free, row)
        self._note(row)

    def move(self, id: int, link: int | None = None, pose: Pose | None = None) -> None:
        """Fix a shape elsewhere: to another link, at another pose, or both. What is known of its pairs stays."""
        row = self.row_of(id)
        shape = self.rows[row]
        if link is not None:
            _check_link(link)
        self._put(row, int(shape["link"]) if link is None else link, pose and _pose_on_link(self[id], pose))

    def regroup(self, id: int, *, group: int, mask: int) -> None:
        """Change what a shape is and what it meets."""
        row = self.row_of(id)
        bits("group", group)
        bits("mask", mask)
        self.rows["group"][row], self.rows["mask"][row] = group, mask
        self._note(row)

    def _put(self, row: int, link: int, pose: Pose | None) -> None:
        shape = self.rows[row]
        shape["link"], shape["fixed"] = link, link == BASE or shape["form"] == Form.GROUND
        if pose is not None:
            self.mounts["R"][row], self.mounts["p"][row] = pose.rotation.reshape(9), pose.position
        self._note(row)

    def _note(self, row: int) -> None:
        self.revision += 1
        self.changed[row] = self.revision

    def _make_room(self, room: int) -> None:
        before = self.rows, self.mounts, self.changed
        self._begin(room)
        for new, old in zip((self.rows, self.mounts, self.changed), before, strict=True):
            new[: len(old)] = old

    # --- ids ---

    def row_of(self, id: Any) -> int:
        """The row of a shape; ValueError if there is none with this id, or not any more."""
        if isinstance(id, int | np.integer) and not isinstance(id, bool) and id >= 0:
            row, generation = int(id) & ROWS, int(id) >> ROW_BITS
            if row < len(self._owners) and self._owners[row] is not None:
                if generation == self.rows["generation"][row]:
                    return row
                if generation < self.rows["generation"][row]:
                    raise ValueError(f"shape {id} was removed; {self.id_at(row)} has its row now")
            elif row < len(self._owners) and generation < self.rows["generation"][row]:
                raise ValueError(f"shape {id} was removed")
        raise ValueError(f"there is no shape {shown(id)}")

    def id_at(self, row: int) -> int:
        """The id of the shape in a row."""
        if not 0 <= row < len(self._owners) or self._owners[row] is None:
            raise ValueError(f"row {row} has no shape")
        return int(self.rows["generation"][row]) << ROW_BITS | int(row)

    @property
    def ids(self) -> list[int]:
        """All ids, in the order of their rows."""
        return [self.id_at(row) for row, owner in enumerate(self._owners) if owner is not None]

    @property
    def count(self) -> int:
        """Rows in use are below this."""
        return len(self._owners)

    def __len__(self) -> int:
        return len(self._owners) - len(self._free)

    def __contains__(self, id: Any) -> bool:
        try:
            self.row_of(id)
        except ValueError:
            return False
        return True

    def __getitem__(self, id: int) -> Solid:
        """What was added under this id."""
        solid = self._solids[self.row_of(id)]
        assert solid is not None
        return solid

    def body(self, id: int) -> Parts | Ground:
        """What a shape is made of: convex parts, or ground."""
        body = _body(self._owners[self.row_of(id)])
        assert body is not None
        return body

    @property
    def bodies(self) -> list[Parts | Ground | None]:
        """What the shape of each row is made of; None in rows that are free."""
        return [_body(owner) for owner in self._owners]

    def link(self, id: int) -> int:
        """The link that carries a shape; -1 is the base."""
        return int(self.rows["link"][self.row_of(id)])

    def __repr__(self) -> str:
        return f"ShapeTable of {len(self)} shapes"

    # --- copies ---

    def __getstate__(self) -> tuple[Any, ...]:
        """Rows without addresses and what follows from bodies; these never change, and are their own copies."""
        n = self.count
        rows = self.rows[:n].copy()
        for name in FOLLOWS:
            rows[name] = 0
        mounts, changed, free = self.mounts[:n].copy(), self.changed[:n].copy(), sorted(self._free)
        return rows, mounts, changed, self.revision, list(self._solids), self.bodies, free

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        rows, mounts, changed, self.revision, solids, bodies, free = state
        if rows.dtype != SHAPE or mounts.dtype != MOUNT:
            raise ValueError("shapes that another version of kinemorph has pickled cannot be read")
        self._begin(max(16, len(rows)))
        self.rows[: len(rows)], self.mounts[: len(rows)], self.changed[: len(rows)] = rows, mounts, changed
        self._solids, self._owners, self._free = list(solids), list(bodies), list(free)
        for row, body in enumerate(bodies):  # copies of cores are elsewhere
            if body is not None:
                said, shape, mount = _description(body), self.rows[row], self.mounts[row]
                for name in FOLLOWS:
                    shape[name] = getattr(said, name)
                mount["low"], mount["high"], mount["pad"], mount["reach"] = said.low, said.high, said.radius, said.reach

    def __deepcopy__(self, memo: Any) -> ShapeTable:
        return copy.copy(self)


class Box:
    """What keeps the rows of a box alive; it is a body of one part when somebody asks for it."""

    __slots__ = ("_body", "_nodes", "_row")

    def __init__(self, row: Array, nodes: Array) -> None:
        self._row, self._nodes = row, nodes  # BOX_ROWS, an array of one; and the roots, among which its own is
        self._body: Parts | None = None

    @property
    def body(self) -> Parts:
        if self._body is None:
            core = box_of(self._row)
            self._body = Parts.single(core, 0.0, *core.bounds.tolist())
        return self._body


def _body(owner: Parts | Ground | Box | None) -> Parts | Ground | None:
    return owner.body if isinstance(owner, Box) else owner


def body_of(solid: Any) -> Parts | Ground:
    """What rows can point to: ground as it is, convex shapes as trees of one part."""
    if isinstance(solid, Shape) and solid.parts is not None:
        solid = solid.parts
    if isinstance(solid, Parts):
        if 2 * solid.depth >= STACK:
            raise ValueError(f"{solid}: trees of {STACK // 2} levels or more are not searched")
        return solid
    if isinstance(solid, Ground):
        return solid
    core, radius = core_and_radius(solid)
    return Parts([core], radius)


def _described(solids: list[Any]) -> list[tuple[Parts | Ground | Box, Description]]:
    """What solids are made of, and what rows say of them. Boxes that are not known yet are made together."""
    sizes = [s.size for s in solids if isinstance(s, Shape) and s.kind is ShapeKind.BOX]
    new = [size for size in dict.fromkeys(sizes) if size not in _BOXES]
    boxes = {size: _BOXES[size] for size in sizes if size in _BOXES}
    if new:
        made = dict(zip(new, _new_boxes(new), strict=True))
        boxes |= made
        _BOXES.update(made)
        for size in list(_BOXES)[: max(0, len(_BOXES) - CACHED)]:
            _BOXES.pop(size, None)
    found: list[tuple[Parts | Ground | Box, Description]] = []
    for solid in solids:
        if isinstance(solid, Shape) and solid.kind is not ShapeKind.MESH:
            found.append(boxes[solid.size] if solid.kind is ShapeKind.BOX else _simple(solid.kind, solid.size))
        else:
            body = body_of(solid)
            found.append((body, _description(body)))
    return found


_BOXES: dict[tuple[float, ...], tuple[Box, Description]] = {}  # the last ones, by size: many are alike


def _new_boxes(sizes: list[tuple[float, ...]]) -> Iterator[tuple[Box, Description]]:
    numbers = np.array(sizes, np.float64)
    if not ((numbers > 0.0) & (numbers < np.inf)).all():
        for size in sizes:
            Polyhedron.box(size)  # which says what is wrong
    rows = box_rows(numbers)
    nodes = box_roots(rows)
    start = int(nodes.ctypes.data)
    columns = (nodes[name].tolist() for name in ("core", "low", "high", "radius_bound"))
    for k, (core, low, high, reach) in enumerate(zip(*columns, strict=True)):
        said = Description(Form.CONVEX, core, start + k * NODE.itemsize, 1, 0, 0.0, low, high, reach)
        yield Box(rows[k : k + 1], nodes), said


@lru_cache(maxsize=CACHED)
def _simple(kind: ShapeKind, size: tuple[float, ...]) -> tuple[Parts, Description]:
    """The same for a simple shape: what it is made of never changes, and shapes of the same size share it."""
    core, radius = core_of(Shape(kind, size, HERE))
    low, high = core.bounds.tolist()
    reach = math.sqrt(max(x * x + y * y + z * z for x, y, z in core.points.tolist())) + radius
    body = Parts.single(core, radius, low, high)
    node = body.address - NODE.itemsize
    return body, Description(Form.CONVEX, core.address, node, 1, 0, radius, low, high, reach)


def core_and_radius(solid: Any) -> tuple[Polyhedron, float]:
    """What a convex shape is made of."""
    if isinstance(solid, Shape):
        return core_of(solid)
    if isinstance(solid, Polyhedron):
        return solid, 0.0
    if isinstance(solid, tuple) and len(solid) == 2 and isinstance(solid[0], Polyhedron):
        radius = float(solid[1])
        if not 0.0 <= radius < math.inf:
            raise ValueError(f"the radius around {solid[0]!r} is {radius}; expected it finite and not negative")
        return solid[0], radius
    raise TypeError(
        f"expected a Shape, a Polyhedron, a pair of a Polyhedron and a radius, Parts, or ground; got {shown(solid)}"
    )


def _description(body: Parts | Ground) -> Description:
    """What rows say of a body."""
    if isinstance(body, Ground):
        low, high = ([min(max(x, -FAR), FAR) for x in corner] for corner in body.bounds.tolist())
        return Description(Form.GROUND, 0, 0, 0, body.address, 0.0, low, high, math.inf)
    root = body.nodes[0]
    address, reach = int(body.nodes.ctypes.data), 0.0
    for part, radius in zip(body.parts, body.radii.tolist(), strict=True):
        reach = max(reach, float(np.linalg.norm(part.points, axis=1).max()) + radius)
    if len(body.nodes) == 1:
        low, high = body.parts[0].bounds.tolist()
        return Description(Form.CONVEX, int(root["core"]), address, 1, 0, float(body.radii[0]), low, high, reach)
    low, high = root["low"].tolist(), root["high"].tolist()
    return Description(Form.TREE, 0, address, len(body.nodes), 0, 0.0, low, high, reach)


def _pose_on_link(solid: Solid, pose: Pose | None) -> Pose:
    at = HERE if pose is None else pose
    if not isinstance(at, Pose):
        raise TypeError(f"pose must be a km.Pose or None, not {pose!r}")
    if not isinstance(solid, Shape):
        return at
    return solid.pose if at is HERE else at @ solid.pose


def _check_link(link: Any) -> None:
    if not isinstance(link, int | np.integer) or isinstance(link, bool) or not BASE <= link < 1 << 31:
        raise ValueError(f"link is {link!r}; expected -1 for the base, or the number of a link")
