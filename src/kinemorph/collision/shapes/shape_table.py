"""The shapes of a world under stable ids: their geometry, the links that carry them, and their poses on these."""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinemorph.collision.broad.broad_phase import ALL_GROUPS_MASK
from kinemorph.collision.narrow.part_pairs import PAIR_STACK
from kinemorph.collision.shapes.shape_rows import MOUNT, SHAPE, SHAPES, STATIC_CARRIER, Form
from kinemorph.collision.shapes.shape_writing import ROW_BITS, write_shapes
from kinemorph.geometry.boxes import box_pattern, make_boxes
from kinemorph.geometry.convex_parts import NODE, Parts
from kinemorph.geometry.ground import Ground, HalfSpace
from kinemorph.geometry.polyhedron import BOX_ROWS, CACHED_CORES, Polyhedron, box_from_row, core_of
from kinemorph.geometry.shapes import Shape, ShapeKind
from kinemorph.multibody.model.catalog import Catalog
from kinemorph.multibody.tables import Pattern, Tables, in_one_piece
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_bits, repr_of
from kinemorph.spatial.pose import Pose

Solid: TypeAlias = Shape | Polyhedron | tuple[Polyhedron, float] | Parts | Ground
Mount: TypeAlias = tuple[Solid, int, Pose | None, int, int]  # a solid, its link, where on it, its group and its mask
Array = np.ndarray[Any, np.dtype[Any]]
NO_BODIES = np.zeros(0, np.int64)

BASE_LINK = -1  # link number of static shapes
HALF_SPACE_EXTENT = 1e18  # m: extent of the box of a half-space
HALF_SPACE_BOUNDS = [-HALF_SPACE_EXTENT] * 3, [HALF_SPACE_EXTENT] * 3
CONVEX, GROUND = int(Form.CONVEX), int(Form.GROUND)
BODY_FIELDS = ("form", "core", "nodes", "n_nodes", "ground", "radius")  # fields of SHAPE that follow from the body
SHAPE_ROW_MASK = (1 << ROW_BITS) - 1
FIRST_ROWS = 16  # rows of a new table
REVISION = np.dtype(np.int64)

IDENTITY_POSE = Pose()


class BodyFields(NamedTuple):
    """Fields of rows that follow from the geometry of a body; see `shape_rows`."""

    form: int
    core: int
    nodes: int
    n_nodes: int
    ground: int
    radius: float
    low: list[float]
    high: list[float]
    reach: float


class Mounts(NamedTuple):
    """Shapes and the links that carry them, as arguments of `write_shapes`."""

    solids: Sequence[Solid | LateShape]  # as they were given
    owners: Sequence[Parts | Ground | BoxOwner]  # objects whose addresses are in `whole`
    whole: Array
    numbers: Array


class LateShape:
    """One of a model's shapes, created on demand."""

    __slots__ = ("_catalog", "_k")

    def __init__(self, catalog: Catalog, k: int) -> None:
        self._catalog, self._k = catalog, k

    def made(self) -> Shape:
        return [shape for shapes in self._catalog.shapes for shape in shapes][self._k]


def _resolve_solid(solid: Solid | LateShape | None) -> Solid | None:
    return solid.made() if isinstance(solid, LateShape) else solid


@checked_on_failure
class ShapeTable:
    """Shapes that may be added and removed at any time; each has an id, which no other shape ever gets.

    A shape is a `Shape`, a `Polyhedron` (with a radius around it as a pair: `(core, radius)`), `Parts` for a concave
    body, or `Ground`. The table keeps what its rows have addresses of alive. Rows are used again, the smallest free one
    first; `row_of` and `id_at` lead from ids to rows and back, and an id of a shape that is gone is refused.
    """

    __slots__ = ("_free", "_owners", "_room", "_solids", "_tables", "moves", "revision")

    def __init__(self, tables: Tables | None = None) -> None:
        """With new tables, or with `tables` as `first_shape_tables` makes them."""
        self._tables, self._room = _pattern().tables()[0] if tables is None else tables, FIRST_ROWS
        self.moves = 0  # how often the rows have moved to other memory
        self.revision = 0  # how often the table has changed
        self._solids: list[Solid | LateShape | None] = []  # as they were given
        self._owners: list[Parts | Ground | BoxOwner | None] = []  # objects whose addresses are in the rows
        self._free: list[int] = []  # free rows, a heap

    @property
    def addresses(self) -> tuple[int, int]:
        """Addresses of SHAPE and MOUNT rows."""
        h = self._tables.header[0]
        return int(h["rows"]), int(h["mounts"])

    @property
    def address(self) -> int:
        """Address of the SHAPES row."""
        return self._tables.address

    @property
    def rows(self) -> Array:
        """SHAPE rows; `form` is 0 in free ones."""
        found: Array = self._tables["rows"]
        return found

    @property
    def mounts(self) -> Array:
        """MOUNT rows, one for each of `rows`."""
        found: Array = self._tables["mounts"]
        return found

    @property
    def changed(self) -> Array:
        """For each row, the revision of its last change."""
        found: Array = self._tables["changed"]
        return found

    # --- adding and removing ---

    def add(
        self,
        solid: Solid,
        link: int = BASE_LINK,
        pose: Pose | None = None,
        *,
        group: int = 1,
        mask: int = ALL_GROUPS_MASK,
    ) -> int:
        """Fix a shape to a link, at `pose` in the link's frame. Returns its id.

        Two shapes meet if each one's group (of 32 bits) is in the other's mask, unless they are on one link or both do
        not move: what is on the base, and ground, wherever it is.
        """
        return self.add_all([(solid, link, pose, group, mask)])[0]

    def add_all(self, mounts: Sequence[Mount]) -> list[int]:
        """The same for many: solid, link, pose, group and mask of each. If one is refused, none is added."""
        return self.write(make_mounts(mounts))[:, 0].tolist()

    def write(self, mounts: Mounts, bodies: Array = NO_BODIES) -> Array:
        """Add shapes as rows. Returns the id and the link of each; for `bodies` see `write_shapes`."""
        first, n = len(self._owners), len(mounts.owners)
        written = np.empty((n, 2), np.int64)
        if self._free or first + n > self._room:
            rows = [self._claim() for _ in range(n)]
            written[:, 0] = rows
            for row, solid, owner in zip(rows, mounts.solids, mounts.owners, strict=True):
                self._solids[row], self._owners[row] = solid, owner
        else:
            written[:, 0] = range(first, first + n)
            self._solids += mounts.solids
            self._owners += mounts.owners
        write_shapes(self._tables.address, self.revision, written, mounts.whole, mounts.numbers, bodies)
        self.revision += n
        return written

    def _claim(self) -> int:
        """A row that is free."""
        row = heapq.heappop(self._free) if self._free else len(self._owners)
        if row == len(self._owners):
            self._owners.append(None)
            self._solids.append(None)
        if row == self._room:
            self._make_room(2 * row)
        return row

    def remove(self, id: int) -> None:
        """Remove a shape. Its id is refused from now on; its row may be reused."""
        row = self.row_of(id)
        generation = int(self.rows["generation"][row])
        self.rows[row] = np.zeros((), SHAPE)
        self.rows["generation"][row] = generation + 1
        self._solids[row] = self._owners[row] = None
        heapq.heappush(self._free, row)
        self._note(row)

    def move(self, id: int, link: int | None = None, pose: Pose | None = None) -> None:
        """Fix a shape to another link, at another pose, or both. Known features of its pairs are kept."""
        row = self.row_of(id)
        shape = self.rows[row]
        if link is not None:
            _check_link(link)
        self._put(row, int(shape["link"]) if link is None else link, pose and _pose_on_link(self[id], pose))

    def regroup(self, id: int, *, group: int, mask: int) -> None:
        """Change the group and mask of a shape."""
        row = self.row_of(id)
        check_bits("group", group)
        check_bits("mask", mask)
        self.rows["group"][row], self.rows["mask"][row] = group, mask
        self._note(row)

    def _put(self, row: int, link: int, pose: Pose | None) -> None:
        shape = self.rows[row]
        shape["link"], shape["fixed"] = link, link == BASE_LINK or shape["form"] == Form.GROUND
        if pose is not None:
            self.mounts["R"][row], self.mounts["p"][row] = pose.rotation.reshape(9), pose.position
        self._note(row)

    def _note(self, row: int) -> None:
        self.revision += 1
        self.changed[row] = self.revision

    def _make_room(self, room: int) -> None:
        make_shape_tables(room, self._tables)
        self._room, self.moves = room, self.moves + 1

    # --- ids ---

    def row_of(self, id: Any) -> int:
        """The row of a shape; ValueError if there is none with this id, or not any more."""
        if isinstance(id, int | np.integer) and not isinstance(id, bool) and id >= 0:
            row, generation = int(id) & SHAPE_ROW_MASK, int(id) >> ROW_BITS
            if row < len(self._owners) and self._owners[row] is not None:
                if generation == self.rows["generation"][row]:
                    return row
                if generation < self.rows["generation"][row]:
                    raise ValueError(f"shape {id} was removed; {self.id_at(row)} has its row now")
            elif row < len(self._owners) and generation < self.rows["generation"][row]:
                raise ValueError(f"shape {id} was removed")
        raise ValueError(f"there is no shape {repr_of(id)}")

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
        """The solid that was added under this id."""
        solid = _resolve_solid(self._solids[self.row_of(id)])
        assert solid is not None
        return solid

    def body(self, id: int) -> Parts | Ground:
        """The geometry of a shape: convex parts, or ground."""
        body = _body_of_owner(self._owners[self.row_of(id)])
        assert body is not None
        return body

    @property
    def bodies(self) -> list[Parts | Ground | None]:
        """The geometry of the shape in each row; None in free rows."""
        return [_body_of_owner(owner) for owner in self._owners]

    def link(self, id: int) -> int:
        """The link that carries a shape; -1 is the base."""
        return int(self.rows["link"][self.row_of(id)])

    def __repr__(self) -> str:
        return f"ShapeTable of {len(self)} shapes"

    # --- copies ---

    def __getstate__(self) -> tuple[Any, ...]:
        """Rows without addresses and fields that follow from bodies; bodies are immutable, and shared by copies."""
        n = self.count
        rows = self.rows[:n].copy()
        for name in BODY_FIELDS:
            rows[name] = 0
        mounts, changed, free = self.mounts[:n].copy(), self.changed[:n].copy(), sorted(self._free)
        solids = [_resolve_solid(solid) for solid in self._solids]
        return rows, mounts, changed, self.revision, solids, self.bodies, free

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        rows, mounts, changed, self.revision, solids, bodies, free = state
        if rows.dtype != SHAPE or mounts.dtype != MOUNT:
            raise ValueError("shapes that another version of kinemorph has pickled cannot be read")
        self._room, self.moves = max(FIRST_ROWS, len(rows)), 0
        self._tables = make_shape_tables(self._room, Tables(SHAPES))
        self.rows[: len(rows)], self.mounts[: len(rows)], self.changed[: len(rows)] = rows, mounts, changed
        self._solids, self._owners, self._free = list(solids), list(bodies), list(free)
        for row, body in enumerate(bodies):  # copies of cores have other addresses
            if body is not None:
                said, shape, mount = _describe_body(body), self.rows[row], self.mounts[row]
                for name in BODY_FIELDS:
                    shape[name] = getattr(said, name)
                mount["low"], mount["high"], mount["pad"], mount["reach"] = said.low, said.high, said.radius, said.reach

    def __deepcopy__(self, memo: Any) -> ShapeTable:
        return copy.copy(self)


def make_shape_tables(room: int, tables: Tables) -> Tables:
    """Tables with room for `room` shapes, which keep existing rows."""
    for name, dtype in (("rows", SHAPE), ("mounts", MOUNT), ("changed", REVISION)):
        tables.make(name, room, dtype, keep=True)
    tables.header["room"] = room
    return tables


def first_shape_tables() -> Tables:
    """Tables of shapes without any shapes."""
    return make_shape_tables(FIRST_ROWS, Tables(SHAPES))


@cache
def _pattern() -> Pattern:
    return Pattern(first_shape_tables())


class BoxOwner:
    """The owner of a box's rows; it makes a body of one part on demand."""

    __slots__ = ("_body", "_k", "_rows")

    def __init__(self, rows: Array, k: int) -> None:
        self._rows, self._k = rows, k  # BOX_ROWS, its index in them; the roots are in the same memory
        self._body: Parts | None = None

    @property
    def body(self) -> Parts:
        if self._body is None:
            core = box_from_row(self._rows[self._k : self._k + 1])
            self._body = Parts.single(core, 0.0, *core.bounds.tolist())
        return self._body


def _body_of_owner(owner: Parts | Ground | BoxOwner | None) -> Parts | Ground | None:
    return owner.body if isinstance(owner, BoxOwner) else owner


def body_of(solid: Any) -> Parts | Ground:
    """The geometry to which rows point: ground as it is, convex shapes as trees of one part."""
    if isinstance(solid, Shape) and solid.parts is not None:
        solid = solid.parts
    if isinstance(solid, Parts):
        if 2 * solid.depth >= PAIR_STACK:
            raise ValueError(f"{solid}: trees of {PAIR_STACK // 2} levels or more are not searched")
        return solid
    if isinstance(solid, Ground):
        return solid
    core, radius = core_and_radius(solid)
    return Parts([core], radius)


def make_mounts(mounts: Sequence[Mount]) -> Mounts:
    """Solids with their links, poses, groups and masks, as rows."""
    places = []
    for solid, link, pose, group, mask in mounts:
        check_bits("group", group)
        check_bits("mask", mask)
        _check_link(link)
        places.append(_pose_on_link(solid, pose))
    described = _describe_solids([solid for solid, *_ in mounts])
    whole: list[int] = []
    numbers: list[float] = []
    for (_, link, _, group, mask), at, (_, said) in zip(mounts, places, described, strict=True):
        form, *made, radius, low, high, reach = said
        whole += form, link, group, mask, link == BASE_LINK or form == GROUND, *made, STATIC_CARRIER
        numbers += *at.rotation.ravel().tolist(), *at.position.tolist(), *low, *high, radius, reach
    n = len(mounts)
    return Mounts(
        [solid for solid, *_ in mounts], [owner for owner, _ in described],
        np.array(whole, np.int64).reshape(n, 10), np.array(numbers, np.float64).reshape(n, 20),
    )  # fmt: skip


def _describe_solids(solids: list[Any]) -> list[tuple[Parts | Ground | BoxOwner, BodyFields]]:
    """Bodies of solids, and their descriptions. Boxes of new sizes are made together."""
    found: list[Any] = []
    new: dict[tuple[float, ...], Any] = {}
    for solid in solids:
        if isinstance(solid, Shape) and solid.kind is not ShapeKind.MESH:
            if solid.kind is ShapeKind.BOX:
                known = _BOXES.get(solid.size)
                if known is None:
                    new[solid.size] = None
                found.append(known)
            else:
                found.append(_describe_simple(solid.kind, solid.size))
        else:
            body = body_of(solid)
            found.append((body, _describe_body(body)))
    if new:
        new = dict(zip(new, _describe_boxes(list(new)), strict=True))
        _BOXES.update(new)
        for size in list(_BOXES)[: max(0, len(_BOXES) - CACHED_CORES)]:
            _BOXES.pop(size, None)
        found = [one or new[solid.size] for one, solid in zip(found, solids, strict=True)]
    return found


_BOXES: dict[tuple[float, ...], tuple[BoxOwner, BodyFields]] = {}  # the last ones, by size: many are equal


def _describe_boxes(sizes: list[tuple[float, ...]]) -> Iterator[tuple[BoxOwner, BodyFields]]:
    numbers = np.array(sizes, np.float64)
    if not ((numbers > 0.0) & (numbers < np.inf)).all():
        for size in sizes:
            Polyhedron.box(size)  # raises for the wrong size
    (rows, nodes), starts = in_one_piece((len(sizes), BOX_ROWS), (len(sizes), NODE))
    make_boxes(box_pattern(), numbers, *starts)
    rows.flags.writeable = False
    columns = (nodes[name].tolist() for name in ("core", "low", "high", "radius_bound"))
    for k, (core, low, high, reach) in enumerate(zip(*columns, strict=True)):
        yield BoxOwner(rows, k), BodyFields(CONVEX, core, starts[1] + k * NODE.itemsize, 1, 0, 0.0, low, high, reach)


@lru_cache(maxsize=CACHED_CORES)
def _describe_simple(kind: ShapeKind, size: tuple[float, ...]) -> tuple[Parts, BodyFields]:
    """The same for a simple shape; shapes of the same size share the immutable body."""
    core, radius = core_of(Shape(kind, size, IDENTITY_POSE))
    low, high = core.bounds.tolist()
    reach = math.sqrt(max(x * x + y * y + z * z for x, y, z in core.points.tolist())) + radius
    body = Parts.single(core, radius, low, high)
    node = body.address - NODE.itemsize
    return body, BodyFields(CONVEX, core.address, node, 1, 0, radius, low, high, reach)


def core_and_radius(solid: Any) -> tuple[Polyhedron, float]:
    """Core and radius (m) of a convex shape."""
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
        f"expected a Shape, a Polyhedron, a pair of a Polyhedron and a radius, Parts, or ground; got {repr_of(solid)}"
    )


def _describe_body(body: Parts | Ground) -> BodyFields:
    """The fields of rows that follow from a body."""
    if isinstance(body, Ground):
        low, high = HALF_SPACE_BOUNDS
        if not isinstance(body, HalfSpace):
            low, high = (
                [min(max(x, -HALF_SPACE_EXTENT), HALF_SPACE_EXTENT) for x in corner] for corner in body.bounds.tolist()
            )
        return BodyFields(GROUND, 0, 0, 0, body.address, 0.0, low, high, math.inf)
    root = body.nodes[0]
    address, reach = int(body.nodes.ctypes.data), 0.0
    for part, radius in zip(body.parts, body.radii.tolist(), strict=True):
        reach = max(reach, float(np.linalg.norm(part.points, axis=1).max()) + radius)
    if len(body.nodes) == 1:
        low, high = body.parts[0].bounds.tolist()
        return BodyFields(CONVEX, int(root["core"]), address, 1, 0, float(body.radii[0]), low, high, reach)
    low, high = root["low"].tolist(), root["high"].tolist()
    return BodyFields(int(Form.TREE), 0, address, len(body.nodes), 0, 0.0, low, high, reach)


def _pose_on_link(solid: Solid, pose: Pose | None) -> Pose:
    at = IDENTITY_POSE if pose is None else pose
    if not isinstance(at, Pose):
        raise TypeError(f"pose must be a km.Pose or None, not {repr_of(pose)}")
    if not isinstance(solid, Shape):
        return at
    return solid.pose if at is IDENTITY_POSE else at @ solid.pose


def _check_link(link: Any) -> None:
    whole = type(link) is int or isinstance(link, np.integer)
    if not whole or not BASE_LINK <= link < 1 << 31:
        raise ValueError(f"link is {repr_of(link)}; expected -1 for the base, or the number of a link")
