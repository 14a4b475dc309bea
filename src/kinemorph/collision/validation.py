"""Validation of unpickled tables of shapes, hash and collisions, before kernels use them.

As in `structure.forest.validation`: indices that kernels follow without a check are checked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.broad import hash_rows
from kinemorph.collision.broad.broad_phase import BroadPhase
from kinemorph.collision.broad.hash_tables import SAVED_HEADER_FIELDS
from kinemorph.collision.broad.hash_tiles import LARGEST_TILE_COORDINATE, OVERSIZED_BUDGET_FACTOR
from kinemorph.collision.collisions import belongs_to_pair
from kinemorph.collision.narrow.core_pair import Relation
from kinemorph.collision.narrow.features import Feature
from kinemorph.collision.narrow.manifold import MANIFOLD_ROWS
from kinemorph.collision.narrow.part_pairs import KNOWN_FEATURES
from kinemorph.collision.shapes import shape_rows
from kinemorph.collision.shapes.shape_table import BASE_LINK, BODY_FIELDS, ShapeTable, body_of
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.ground import BOUNDS, Ground
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.structure.forest.validation import Rows, require, require_finite, require_range, require_rows

TRIANGLE = 3, 3, 2  # vertices, edges and faces of the core of a triangle
MOST_BUDGET = 256  # tiles of a box: far more would allocate too much memory
LARGEST_ROTATION_ERROR = 1e-3  # how far from a rotation a matrix may be
MOST_ROWS = 10**7  # contacts of a step


# ---------------------------------------------------------------------------------------------------------- shapes


def check_shapes(state: Any) -> None:
    """Raise ValueError unless this is a state that `ShapeTable.__getstate__` could return."""
    require(isinstance(state, tuple) and len(state) == 7, "a table of shapes has other parts")
    rows, mounts, changed, revision, solids, bodies, free = state
    require(isinstance(solids, list) and isinstance(bodies, list) and isinstance(free, list), "shapes are no lists")
    n = len(bodies)
    require(len(solids) == n, "the numbers of shapes and bodies differ")
    require_rows(rows, shape_rows.SHAPE, "shapes", n)
    require_rows(mounts, shape_rows.MOUNT, "mounts", n)
    require_rows(changed, np.dtype(np.int64), "changes of shapes", n)
    require(isinstance(revision, int) and 0 <= revision < 1 << 62, "the revision of shapes is none")
    require_range(changed, 0, revision + 1, "changes of shapes")
    require_range(rows["generation"], 0, np.inf, "generations of shapes")
    require_range(rows["link"], BASE_LINK, np.inf, "links of shapes")
    for name in BODY_FIELDS:
        require((rows[name] == 0).all(), f"{name} of shapes follows from their bodies")
    gone = [row for row, body in enumerate(bodies) if body is None]
    require(sorted(free) == gone, "the free rows of shapes are no list")
    for row, (solid, body) in enumerate(zip(solids, bodies, strict=True)):
        if body is None:
            require(solid is None, f"shape {row} has no body")
            continue
        require(isinstance(body, Parts | Ground) and _is_solid(solid), f"shape {row} is none")
        body_of(body)  # a tree that is too deep raises
        fixed = rows[row]["link"] == BASE_LINK or isinstance(body, Ground)
        require(rows[row]["fixed"] == fixed, f"shape {row} has a wrong fixed flag")
    there = np.array([body is not None for body in bodies], dtype=bool)
    require_finite(mounts[there][["R", "p"]], "mounts")
    R = mounts["R"][there].reshape(-1, 3, 3)
    fits = (np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)) < LARGEST_ROTATION_ERROR).all()
    require(fits, "the rotation of a shape is not orthogonal")


def _is_solid(solid: Any) -> bool:
    from kinemorph.geometry.shapes import Shape

    if isinstance(solid, tuple):
        return len(solid) == 2 and isinstance(solid[0], Polyhedron) and isinstance(solid[1], float)
    return isinstance(solid, Shape | Polyhedron | Parts | Ground)


# ------------------------------------------------------------------------------------------------------------ hash


def check_hash(state: Any) -> None:
    """Raise ValueError unless this is a state that `HashTables.__getstate__` could return."""
    require(isinstance(state, tuple) and len(state) == 6, "a broad phase has other parts")
    header, boxes, filters, order, pairs, lives = state
    grid = require_rows(header, hash_rows.HASH, "the header of the hash", 1)[0]
    for name in set(hash_rows.HASH.names or ()) - set(SAVED_HEADER_FIELDS):
        require(grid[name] == 0, f"{name} of the hash follows")
    n = int(grid["n"])
    require_rows(boxes, hash_rows.BOX, "boxes", n)
    require_rows(filters, hash_rows.FILTER, "filters", n)
    require_rows(order, hash_rows.INDEX_ROW, "the order of boxes", int(grid["moving"]))
    require_rows(pairs, hash_rows.BOX_PAIR, "pairs of boxes", int(grid["pair_count"]))
    require_rows(lives, hash_rows.INDEX_ROW, "lives of pairs", len(pairs))
    require(0 <= grid["top"] <= 60 and 2.0**-64 <= grid["finest"] <= 2.0**64, "the hash has no such levels")
    require(8 <= grid["budget"] <= grid["fixed_budget"] <= MOST_BUDGET, "the hash has no such budgets")
    require(0 <= grid["linger"] <= 1_000_000 and grid["pairs_made"] >= 0, "the hash has no such numbers")
    _check_boxes(grid, boxes, filters)
    there = boxes["level"] != hash_rows.ABSENT_LEVEL
    require_range(order["i"], 0, n, "the order of boxes")
    require(there[order["i"]].all() and len(np.unique(order["i"])) == len(order), "a box moves twice, or is not there")
    require_range(filters["fixed"], 0, 2, "filters")
    _check_pairs(grid, pairs, there, filters)


def hash_bytes(state: Any) -> int:
    """Bytes of tiles and entries that such a state needs: a box is in tiles of all coarser levels."""
    _, boxes, *_ = state
    placed = boxes[boxes["level"] >= 0]
    first, last = (np.floor(placed[side] * placed["scale"][:, None]) for side in ("low", "high"))
    tiles = float((last - first + 1.0).prod(axis=1).sum()) + 8.0 * len(placed) * len(np.unique(placed["level"]))
    # Tables double, and that of tiles is half empty.
    return int(2.0 * tiles) * (hash_rows.ENTRY.itemsize + 2 * hash_rows.TILE.itemsize)


def _check_boxes(grid: Any, boxes: Rows, filters: Rows) -> None:
    level = boxes["level"]
    require_range(level, hash_rows.ABSENT_LEVEL, grid["top"] + 1, "levels of boxes")
    placed = level >= 0
    scale = np.where(placed, grid["finest"] * 0.5 ** np.maximum(level, 0), 0.0)
    there = level != hash_rows.ABSENT_LEVEL
    require((boxes["scale"] == scale)[there].all() and (boxes["entry"] == -1).all(), "boxes have wrong scales")
    low, high = boxes["low"], boxes["high"]
    size = high[there] - low[there]
    require(((size >= 0.0) & (size < np.inf)).all(), "a box has no finite size")
    first, last = (np.floor(x[placed] * scale[placed, None]) for x in (low, high))
    require(
        (np.maximum(np.abs(first), np.abs(last)) < LARGEST_TILE_COORDINATE).all(), "a box is too far out for its level"
    )
    most = OVERSIZED_BUDGET_FACTOR * np.where(filters["fixed"] != 0, grid["fixed_budget"], grid["budget"])
    require(((last - first + 1.0).prod(axis=1) <= most[placed]).all(), "a box covers too many tiles")


def _check_pairs(grid: Any, pairs: Rows, there: Rows, filters: Rows) -> None:
    alive = pairs["shared"] == 0
    gone, free, seen = pairs[~alive], int(grid["pair_free"]), 0
    blank = (gone["a"] == 0) & (gone["b"] == 0) & (gone["linger"] == hash_rows.IGNORED) & (gone["shared"] < 0)
    require(blank.all(), "a free row of pairs is not blank")
    while free >= 0:
        require(free < len(pairs) and not alive[free] and seen < len(gone), "the free rows of pairs are no list")
        free, seen = hash_rows.FREE_PAIR_BASE - int(pairs["shared"][free]), seen + 1
    require(free == -1 and seen == len(gone), "the free rows of pairs are no list")
    a, b, linger = pairs["a"][alive], pairs["b"][alive], pairs["linger"][alive]
    require_range(a, 0, len(there), "pairs of boxes")
    require_range(b, 0, len(there), "pairs of boxes")
    require((a < b).all() and there[a].all() and there[b].all(), "a pair of boxes is not valid")
    require(len(np.unique(a.astype(np.int64) * len(there) + b)) == len(a), "a pair of boxes is there twice")
    require_range(linger, hash_rows.IGNORED, grid["linger"] + 1, "times of pairs")
    p, q = filters[a], filters[b]
    meet = (p["mask"] & q["group"] != 0) & (q["mask"] & p["group"] != 0) & (p["fixed"] + q["fixed"] < 2)
    require(meet.all(), "a pair of boxes is excluded by its filters")


def check_broad_phase(state: Any) -> None:
    """Raise ValueError unless this is a state that `BroadPhase.__getstate__` could return."""
    require(isinstance(state, tuple) and len(state) == 3, "a broad phase has other parts")
    tables, free, ignored = state
    require(free == [] and isinstance(ignored, dict), "a broad phase of a world has no free ids of its own")
    n = int(tables.header["n"][0])
    for i, others in ignored.items():
        require(isinstance(i, int) and isinstance(others, set), "ignored pairs are not valid")
        both = all(isinstance(j, int) and 0 <= j < n and i in ignored.get(j, ()) for j in others)
        require(both, "a pair is ignored by one side alone")


# ------------------------------------------------------------------------------------------------------ collisions


def check_collisions(state: Any) -> None:
    """Raise ValueError unless this is a state that `Collisions.__getstate__` could return in a world."""
    require(isinstance(state, tuple) and len(state) == 6, "collisions have other parts")
    header, lasting, broad, shapes, seen, boxed = state
    collisions = require_rows(header, shape_rows.COLLISIONS, "the header of collisions", 1)[0]
    require(isinstance(broad, BroadPhase) and isinstance(shapes, ShapeTable), "collisions have no shapes")
    fits = collisions["kind"] == shape_rows.COLLISIONS_KIND and collisions["question"] == shape_rows.PairQuery.CONTACTS
    require(fits, "collisions have another kind or question")
    fits = collisions["candidates"] == shape_rows.Candidates.OVERLAPPING and collisions["from_scratch"] in (0, 1)
    require(fits, "collisions have other candidates")
    for name in ("margin", "keep_within"):
        require(0.0 <= collisions[name] < np.inf, f"{name} of collisions is {collisions[name]}")
    require(
        collisions["threshold"] >= 0.0 and 1 <= collisions["max_contacts"] <= MANIFOLD_ROWS,
        "collisions have no such settings",
    )
    require(0 <= collisions["step"] < 1 << 62, f"step {collisions['step']} of collisions is none")
    for name in ("goes_on", "full", "next"):
        require(collisions[name] == 0, "collisions are in the middle of a step")
    require(seen == shapes.revision and collisions["n"] == shapes.count, "collisions have not seen all shapes")
    require(isinstance(lasting, dict), "collisions have no tables")
    tables: dict[str, Any] = {
        "places": shape_rows.SHAPE_POSE,
        "boxes": BOUNDS,
        "pairs": shape_rows.PAIR,
        "memory": shape_rows.PAIR_MEMORY,
        "made": shape_rows.CONTACT_POSE,
    }
    tables["known_pairs"] = np.dtype(np.int64)
    tables |= {"contacts": shape_rows.CONTACT, "anchors": shape_rows.ANCHOR, "known": KNOWN_FEATURES}
    kept = bool(collisions["keep_within"] > 0.0)
    pairs, contacts, known = (int(collisions[name]) for name in ("n_pairs", "n_contacts", "n_known"))
    count, remembered = int(broad.hash.header["pair_count"][0]), len(lasting.get("known_pairs", ()))
    sizes = {"places": shapes.count, "boxes": shapes.count, "pairs": pairs, "contacts": contacts, "known": known}
    sizes |= {"known_pairs": remembered, "memory": remembered}
    sizes |= {"made": remembered, "anchors": contacts} if kept else {}
    require(set(lasting) == {name for name, size in sizes.items() if size}, "collisions have other tables")
    for name, rows in lasting.items():
        require_rows(rows, tables[name], name, sizes[name])
    fits = max(contacts, 1) <= collisions["contact_room"] <= MOST_ROWS and known <= MOST_ROWS
    require(fits, "there is no room for contacts")
    _check_boxed_shapes(broad, shapes, boxed)
    if shapes.count:
        require_finite(lasting["places"], "places of shapes")
    _check_reported(lasting, shapes, contacts, pairs, count)
    if remembered:
        where = lasting["known_pairs"]
        require((np.diff(where) > 0).all(), "a pair is known twice")
        require_range(where, 0, count, "pairs that are known")
        rows, lives = broad.rows[where], broad.hash["lives"]["i"][where]
        good = belongs_to_pair(lasting["memory"], rows, lives, shapes.rows)
        require(good.all(), "there are known features of a pair that does not exist")
        _check_remembered(collisions, lasting["memory"], lasting.get("known", np.zeros(0, KNOWN_FEATURES)), shapes)


def collision_bytes(state: Any) -> int:
    """Bytes of the contacts of two steps for which the header of such a state has room."""
    return 2 * int(state[0]["contact_room"][0]) * (shape_rows.CONTACT.itemsize + shape_rows.ANCHOR.itemsize)


def _check_boxed_shapes(broad: BroadPhase, shapes: ShapeTable, boxed: Any) -> None:
    """Check that exactly the existing shapes have boxes, with their own filters."""
    there = np.flatnonzero(broad.boxes["level"][: int(broad.hash.header["n"][0])] != hash_rows.ABSENT_LEVEL)
    used = np.flatnonzero(shapes.rows["form"][: shapes.count])
    require(np.array_equal(there, used), "there are shapes without boxes, or boxes without shapes")
    rows, filters = shapes.rows[used], broad.hash["filters"][used]
    for name in ("group", "mask", "fixed"):
        require((rows[name] == filters[name]).all(), f"the box of a shape has another {name}")
    known = {int(i): tuple(int(shapes.rows[i][f]) for f in ("generation", "group", "mask", "fixed")) for i in used}
    require(isinstance(boxed, dict) and boxed == known, "boxes are not those of the shapes")
    moving = used[rows["link"] >= 0]
    order = broad.hash["order"]["i"][: int(broad.hash.header["moving"][0])]
    require(np.array_equal(order, moving), "the moving boxes are not those of the moving shapes")


def _check_reported(lasting: Any, shapes: ShapeTable, contacts: int, pairs: int, count: int) -> None:
    if pairs:
        rows = lasting["pairs"]
        for side in "ab":
            require_range(rows[side], 0, shapes.count, "shapes of pairs")
        require_range(rows["row"], 0, count, "rows of pairs")
        require((rows["first"] >= 0).all() and (rows["count"] >= 0).all(), "contacts of pairs lead out of their table")
        require_range(rows["first"].astype(np.int64) + rows["count"], 0, contacts + 1, "contacts of pairs")
    if contacts:
        require_range(lasting["contacts"]["pair"], 0, pairs, "pairs of contacts")


def _check_remembered(collisions: Any, memory: Rows, known: Rows, shapes: ShapeTable) -> None:
    """Check the rows of pairs from the step before: their contacts, and the features where walks start."""
    require_range(memory["step"], -1, collisions["step"] + 1, "steps of pairs")
    now = memory[memory["step"] == collisions["step"]]
    for first, count, most in (
        ("first", "count", collisions["n_contacts"]),
        ("first_known", "n_known", collisions["n_known"]),
    ):
        require((now[first] >= 0).all() and (now[count] >= 0).all(), "what is known of a pair leads out of its table")
        require_range(now[first].astype(np.int64) + now[count], 0, most + 1, "what is known of pairs")
    bodies = shapes.bodies
    cores = [None if body is None or isinstance(body, Ground) else body.cores for body in bodies]
    sizes = np.array([_core_size(c[0]) if c is not None else TRIANGLE for c in cores]).reshape(-1, 3)
    ground = shapes.rows["form"][memory["a"]] == shape_rows.Form.GROUND
    firm = ground & (shapes.rows["n_nodes"][memory["b"]] == 1)
    index2 = memory["start"]["index2"][firm]
    require(
        ((index2 >= 0) & (index2 < sizes[memory["b"][firm], 0])).all(), "a pair starts at a vertex that is not there"
    )
    walking = ~ground
    _check_features(memory["start"][walking], sizes[memory["a"][walking]], sizes[memory["b"][walking]])
    for m in now[now["n_known"] > 0]:
        part = known[int(m["first_known"]) : int(m["first_known"]) + int(m["n_known"])]
        _check_known_parts(part, bodies[m["a"]], bodies[m["b"]])


def _check_known_parts(rows: Rows, one: Any, other: Any) -> None:
    """Check known features of parts of two bodies: triangles of ground and parts on it, or nodes of two trees."""
    sizes = [_core_size(core) for core in other.cores]
    if isinstance(one, Ground):
        leaves = {int(node["part"]): i for i, node in enumerate(other.nodes)}
        require(all(int(j) in leaves for j in rows["j"]), "a part is known that is not there")
        on_one, on_other = [TRIANGLE] * len(rows), [sizes[leaves[int(j)]] for j in rows["j"]]
    else:
        require_range(rows["i"], 0, len(one.cores), "nodes that are known")
        require_range(rows["j"], 0, len(sizes), "nodes that are known")
        on_one, on_other = [_core_size(one.cores[i]) for i in rows["i"]], [sizes[j] for j in rows["j"]]
    _check_features(rows, np.array(on_one).reshape(-1, 3), np.array(on_other).reshape(-1, 3))


def _core_size(core: Polyhedron) -> tuple[int, int, int]:
    return len(core.vertices), len(core.edges), len(core.faces)


def _check_features(rows: Rows, first: Rows, second: Rows) -> None:
    """Check that walks start at features that the two cores have."""
    require_range(rows["relation"], 0, len(Relation), "relations of pairs")
    used = rows["relation"] != Relation.NEW
    for side, sizes in (("1", first), ("2", second)):
        kind, index = rows[f"kind{side}"][used], rows[f"index{side}"][used]
        require_range(kind, 0, len(Feature), "kinds of features")
        most = sizes[used][np.arange(len(kind)), kind]
        require(((index >= 0) & (index < most)).all(), "a pair starts at a feature that is not there")
