"""Pairs of shapes that may touch: what they are decides who computes their distance or contacts.

| shapes | by |
| --- | --- |
| convex, convex | V-Clip and depth (`core_pair`), `manifold` |
| tree, tree or convex | `hull_trees`, then the same for each pair of parts |
| ground, convex or tree | `ground_search` and `ground_contacts`, part by part |
| ground, ground | nobody: they never meet |

A pair that cannot be finished for lack of room leaves everything as it was: after the tables have grown it is looked at
again, and comes out the same.
"""

import math
from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.collision.contact_table import (
    half_of,
    has_hardly_moved,
    keep_contacts,
    put_contacts,
    put_world,
    settle,
    was_looked_at,
)
from kinemorph.collision.core_pair import CORE_PAIR, NEW, evaluate
from kinemorph.collision.depth import WORK
from kinemorph.collision.ground_contacts import ground_contacts
from kinemorph.collision.ground_search import CARRIED, survey
from kinemorph.collision.hull_trees import search
from kinemorph.collision.manifold import POINT, ROOM, features_of, manifold
from kinemorph.collision.part_pairs import (
    KEY,
    KNOWN,
    KNOWN_SIZE,
    LISTED,
    SEARCH,
    count,
    keep_start,
    remember,
    start_from,
)
from kinemorph.collision.shape_rows import (
    CONTACT,
    DONE,
    FULL,
    FULL_CONTACTS,
    FULL_KNOWN,
    FULL_SEARCH,
    MEMORY,
    PAIR,
    PLACE,
    SHAPE,
    Form,
    Question,
)
from kinemorph.geometry.ground import GROUND
from kinemorph.geometry.parts import NODE
from kinemorph.spatial.mat3 import Mat3, mul, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import Vec3, sub

CONVEX, IS_GROUND = int(Form.CONVEX), int(Form.GROUND)
CONTACTS = int(Question.CONTACTS)
POINT_SIZE = POINT.itemsize


@kernel(inline=False)
def find_contacts(c: Any) -> int:
    """Find the contacts, or the closest points, of all pairs; after FULL and larger tables, of those that are left."""
    if c["goes_on"] == 0:
        c["step"] += 1
        c["next"] = 0
        c["n_contacts"] = 0
        c["n_known"] = 0
    s = rows_at(c["search"], 1, SEARCH)[0]
    pairs = rows_at(c["pairs"], c["room"], PAIR)
    shapes = rows_at(c["shapes"], c["n"], SHAPE)
    places = rows_at(c["places"], c["n"], PLACE)
    memories = rows_at(c["memory"], c["room"], MEMORY)
    for k in range(c["next"], c["n_pairs"]):
        pair = pairs[k]
        first, second, memory = shapes[pair["a"]], shapes[pair["b"]], memories[pair["row"]]
        pair["exact"] = 1
        if not _is_of(memory, pair, first, second):
            _stamp(memory, pair, first, second)
        one, other = places[pair["a"]], places[pair["b"]]
        R1, p1 = load9(one["R"]), load3(one["p"])
        R2, p2 = load9(other["R"]), load3(other["p"])
        R, p = mul(transpose(R1), R2), tmul_vec(R1, sub(p2, p1))
        updates, walked, fallbacks, rough = s["updates"], s["walked"], s["fallbacks"], s["rough"]
        margin = 0.0
        kept = False
        if c["question"] == CONTACTS:
            margin = c["margin"] + one["sweep"] + other["sweep"]
            kept = c["keep_within"] > 0.0 and has_hardly_moved(c, memory, R, p, second["reach"], margin)
            margin += c["keep_within"]
        if kept:
            status = keep_contacts(c, k, pair, memory, R1, p1, R2, p2)
        elif first["form"] == IS_GROUND:
            status = _on_ground(c, k, pair, first, second, memory, R1, p1, R, p, margin)
        elif first["form"] == CONVEX and second["form"] == CONVEX:
            status = _two_cores(c, k, pair, first, second, memory, R1, p1, R, p, margin)
        else:
            status = _two_trees(c, k, pair, first, second, memory, R1, p1, R, p, margin)
        if status == FULL:
            s["updates"], s["walked"], s["fallbacks"], s["rough"] = updates, walked, fallbacks, rough
            c["next"] = k
            c["goes_on"] = 1
            return FULL
    c["goes_on"] = 0
    return DONE


@kernel
def _is_of(memory: Any, pair: Any, first: Any, second: Any) -> bool:
    """Whether a row of MEMORY has the stamp of a pair."""
    same = (memory["a"] == pair["a"]) & (memory["b"] == pair["b"]) & (memory["life"] == pair["life"])
    same &= memory["generation_a"] == first["generation"]
    return same & (memory["generation_b"] == second["generation"])


@kernel
def _stamp(memory: Any, pair: Any, first: Any, second: Any) -> None:
    """Let a row of MEMORY belong to a pair; nothing is known of it."""
    memory["a"] = pair["a"]
    memory["b"] = pair["b"]
    memory["generation_a"] = first["generation"]
    memory["generation_b"] = second["generation"]
    memory["life"] = pair["life"]
    memory["step"] = -1
    memory["count"] = 0
    memory["n_known"] = 0
    memory["start"]["relation"] = NEW
    memory["start"]["index2"] = 0


# --- convex, convex ---


@kernel(inline=False)
def _two_cores(
    c: Any, k: int, pair: Any, first: Any, second: Any, memory: Any, R1: Mat3, p1: Vec3, R: Mat3, p: Vec3, margin: float
) -> int:
    if c["n_contacts"] + c["most"] > c["contact_room"]:  # beforehand: an evaluation cannot be taken back
        c["full"] |= FULL_CONTACTS
        return FULL
    s = rows_at(c["search"], 1, SEARCH)[0]
    row = rows_at(c["row"], 1, CORE_PAIR)[0]
    row["core1"] = first["core"]
    row["core2"] = second["core"]
    row["radius1"] = first["radius"]
    row["radius2"] = second["radius"]
    store9(row["R"], R)
    store3(row["p"], p)
    row["steps"] = 0
    row["fallbacks"] = 0
    row["rough"] = 0
    start_from(memory["start"], row)
    evaluate(row, rows_at(c["work"], 1, WORK)[0])
    count(s, row)
    keep_start(row, memory["start"])
    if c["question"] != CONTACTS:
        return _put_closest(c, k, pair, memory, row, features_of(row), 0, 0, R1, p1)
    points = rows_at(c["found"], ROOM, POINT)
    found = manifold(row, margin, c["most"], points)
    end = put_contacts(c, k, memory, points, found, 0, 0, c["n_contacts"], R1, p1)
    return settle(c, pair, memory, end, row["distance"], margin, R, p, c["n_known"])


@kernel(inline=False)
def _put_closest(
    c: Any, k: int, pair: Any, memory: Any, point: Any, id: int, part1: int, part2: int, R1: Mat3, p1: Vec3
) -> int:
    """The closest points of a pair as its only contact; there is room for it."""
    at = c["n_contacts"]
    now = half_of(c["step"], c["contact_room"])
    put_world(rows_at(c["contacts"], 2 * c["contact_room"], CONTACT)[now + at], id, part1, part2, k, point, R1, p1)
    pair["first"] = at
    pair["count"] = 1
    pair["distance"] = point["distance"]
    memory["step"] = c["step"]
    memory["first"] = at
    memory["count"] = 1
    c["n_contacts"] = at + 1
    return DONE


# --- trees ---


@kernel
def _recall(c: Any, s: Any, memory: Any) -> None:
    """Let a search know what the one of the step before knew."""
    s["cursor"] = 0
    s["n_known"] = memory["n_known"] if was_looked_at(c, memory) else 0
    then = half_of(c["step"] - 1, c["known_room"]) + memory["first_known"]
    s["known"] = c["known"] + then * KNOWN_SIZE


@kernel(inline=False)
def _two_trees(
    c: Any, k: int, pair: Any, first: Any, second: Any, memory: Any, R1: Mat3, p1: Vec3, R: Mat3, p: Vec3, margin: float
) -> int:
    s = rows_at(c["search"], 1, SEARCH)[0]
    nodes1 = rows_at(first["nodes"], first["n_nodes"], NODE)
    nodes2 = rows_at(second["nodes"], second["n_nodes"], NODE)
    _recall(c, s, memory)
    threshold = margin if c["question"] == CONTACTS else c["threshold"]
    search(nodes1, nodes2, R, p, margin, threshold, s, rows_at(c["work"], 1, WORK)[0])
    end_known = _remembered(c, s, c["n_known"])
    if end_known < 0 or c["n_contacts"] >= c["contact_room"]:
        c["full"] |= FULL_CONTACTS if end_known >= 0 else 0
        return FULL
    opened = int(s["n"] > 1)
    if c["question"] != CONTACTS:
        pair["exact"] = s["exact"]
        memory["first_known"] = c["n_known"]
        memory["n_known"] = end_known - c["n_known"]
        c["n_known"] = end_known
        c["opened"] += opened
        part1, part2 = _part(nodes1, int(s["i"])), _part(nodes2, int(s["j"]))
        return _put_closest(c, k, pair, memory, s, s["id"], part1, part2, R1, p1)
    end = _of_parts(c, k, memory, s, nodes1, nodes2, margin, R1, p1)
    if end < 0:
        return FULL
    c["opened"] += opened
    return settle(c, pair, memory, end, s["distance"], margin, R, p, end_known)


@kernel
def _part(nodes: Any, i: int) -> int:
    """Which part a node is, or -1 - node if it is the hull of several."""
    part = int(nodes[i]["part"])
    return part if part >= 0 else -1 - i


@kernel
def _remembered(c: Any, s: Any, first: int) -> int:
    """Keep what a search has found out, in rows `first` and on: the row after them, or -1 if something was full."""
    if s["missed"] > 0:
        c["full"] |= FULL_SEARCH
        return -1
    now = half_of(c["step"], c["known_room"])
    end = remember(s, rows_at(c["known"] + now * KNOWN_SIZE, c["known_room"], KNOWN), first)
    if end < 0:
        c["full"] |= FULL_KNOWN
    return end


@kernel(inline=False)
def _of_parts(c: Any, k: int, memory: Any, s: Any, nodes1: Any, nodes2: Any, margin: float, R1: Mat3, p1: Vec3) -> int:
    """Put the contacts of all pairs of parts that a search has listed: the row after them, or -1."""
    points = rows_at(c["found"], ROOM, POINT)
    pairs = rows_at(s["pairs"], s["room"], CORE_PAIR)
    keys = rows_at(s["keys"], s["room"], KEY)
    listed = rows_at(s["listed"], s["room"], LISTED)
    at = c["n_contacts"]
    for m in range(s["n_listed"]):
        key = keys[listed[m]]
        found = manifold(pairs[listed[m]], margin, c["most"], points)
        part1, part2 = int(nodes1[key["i"]]["part"]), int(nodes2[key["j"]]["part"])
        at = put_contacts(c, k, memory, points, found, part1, part2, at, R1, p1)
        if at < 0:
            break
    return at


# --- ground ---


@kernel(inline=False)
def _on_ground(
    c: Any, k: int, pair: Any, first: Any, second: Any, memory: Any, R1: Mat3, p1: Vec3, R: Mat3, p: Vec3, margin: float
) -> int:
    s = rows_at(c["search"], 1, SEARCH)[0]
    body = rows_at(c["carried"], 1, CARRIED)[0]
    ground = rows_at(first["ground"], 1, GROUND)[0]
    nodes = rows_at(second["nodes"], second["n_nodes"], NODE)
    points = rows_at(c["found"], ROOM, POINT)
    spare = rows_at(c["found"] + ROOM * POINT_SIZE, ROOM, POINT)
    asked = c["question"] == CONTACTS
    _recall(c, s, memory)
    store9(body["R"], R)
    store3(body["p"], p)
    body["vertex"] = memory["start"]["index2"] if second["n_nodes"] == 1 else 0
    reach = margin if asked else math.inf
    nearest = math.inf
    part1, part2 = 0, 0
    points[0]["distance"] = math.inf
    at = c["n_contacts"]
    end_known = c["n_known"]
    for i in range(second["n_nodes"]):
        if nodes[i]["part"] < 0:
            continue
        body["core"] = nodes[i]["core"]
        body["radius"] = nodes[i]["radius"]
        body["part"] = nodes[i]["part"]
        survey(ground, body, margin, reach, s, rows_at(c["work"], 1, WORK)[0])
        end_known = _remembered(c, s, end_known)
        if end_known < 0:
            return FULL
        if asked:
            found = ground_contacts(ground, body, s, margin, c["most"], points, spare)
            at = put_contacts(c, k, memory, points, found, 0, int(nodes[i]["part"]), at, R1, p1)
            if at < 0:
                return FULL
            nearest = min(nearest, s["distance"], margin)
        elif s["distance"] < nearest:
            nearest = s["distance"]
            reach = max(nearest, 0.0)
            part1, part2 = int(s["i"]), int(s["j"])
            _copy_point(s, points[0])
        if second["n_nodes"] > 1:
            body["vertex"] = 0
    if not asked and c["n_contacts"] >= c["contact_room"]:
        c["full"] |= FULL_CONTACTS
        return FULL
    memory["start"]["index2"] = body["vertex"]
    if asked:
        return settle(c, pair, memory, at, nearest, margin, R, p, end_known)
    memory["first_known"] = c["n_known"]
    memory["n_known"] = end_known - c["n_known"]
    c["n_known"] = end_known
    return _put_closest(c, k, pair, memory, points[0], -1, part1, part2, R1, p1)


@kernel
def _copy_point(source: Any, target: Any) -> None:
    target["distance"] = source["distance"]
    store3(target["normal"], load3(source["normal"]))
    store3(target["x1"], load3(source["x1"]))
    store3(target["x2"], load3(source["x2"]))
