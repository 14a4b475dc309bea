"""Narrow phase: distance or contacts of each candidate pair, by the forms of its two shapes.

| shapes | computed by |
| --- | --- |
| convex, convex | V-Clip and EPA (`core_pair`), `manifold` |
| tree, tree or convex | `hull_trees`, then the same for each pair of parts |
| ground, convex or tree | `ground.search` and `ground.contacts`, part by part |
| ground, ground | not computed: the broad phase never reports them |

If a table is full, a pair is left as it was: it is evaluated again after the tables have grown, with the same result.
"""

import math
from typing import Any

from kinemorph.collision.broad.hash_rows import INDEX_ROW, LISTED_PAIR
from kinemorph.collision.contact_table import (
    can_keep_contacts,
    finish_pair,
    had_fast_impact,
    half_start,
    impact_normal,
    keep_contacts,
    was_evaluated,
    write_contacts,
    write_world_contact,
)
from kinemorph.collision.ground.contacts import find_ground_contacts
from kinemorph.collision.ground.search import GROUND_BODY, find_near_triangles
from kinemorph.collision.ground.surface import HALF_SPACE
from kinemorph.collision.narrow import part_pairs
from kinemorph.collision.narrow.conservative_advancement import (
    advance_to_impact,
    move_contacts_to_start,
    relative_displacement,
)
from kinemorph.collision.narrow.core_pair import CORE_PAIR, NEW, bound_core_pair, evaluate_core_pair
from kinemorph.collision.narrow.depth import WORK
from kinemorph.collision.narrow.hull_trees import search_trees
from kinemorph.collision.narrow.manifold import MANIFOLD_POINT, MANIFOLD_ROWS, closest_features_id, find_manifold
from kinemorph.collision.narrow.part_pairs import core_pairs_of, load_start, part_keys_of, store_known, store_start
from kinemorph.collision.narrow.speculative_corners import (
    MOST_SPECULATIVE_CONTACTS,
    add_speculative_contacts,
    separate_along_impact,
)
from kinemorph.collision.shapes import shape_rows
from kinemorph.geometry.convex_parts import NODE
from kinemorph.geometry.ground import GROUND
from kinemorph.jit.api import kernel, rows_at
from kinemorph.jit.prefetch import CACHE_LINE_BYTES, prefetch, prefetch_to_write
from kinemorph.spatial.mat3 import mul, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import Vec3, dot, scale, sub

CONVEX, GROUND_FORM = int(shape_rows.Form.CONVEX), int(shape_rows.Form.GROUND)
CONTACTS = int(shape_rows.PairQuery.CONTACTS)
POINT_SIZE = MANIFOLD_POINT.itemsize
MEMORY_SIZE, PAIR_SIZE, CONTACT_SIZE, ANCHOR_SIZE = (
    x.itemsize for x in (shape_rows.PAIR_MEMORY, shape_rows.PAIR, shape_rows.CONTACT, shape_rows.ANCHOR)
)
PREFETCHED_PAIRS = 4  # pairs ahead whose PAIR_MEMORY rows are prefetched: they are in random order
PAIRS_AHEAD = 8  # PAIR rows ahead that are prefetched: another thread may have written them last


@kernel(inline=False)
def find_contacts(collisions: Any) -> int:
    """Find the contacts, or the closest points, of all pairs. After FULL and larger tables it continues."""
    if collisions["goes_on"] == 0:
        begin_narrow_phase(collisions)
    collisions["goes_on"] = 0
    set_contact_rows(collisions)
    return evaluate_pairs(collisions, collisions["next"], collisions["n_met"])


@kernel
def begin_narrow_phase(collisions: Any) -> None:
    """Begin a step: no pairs, contacts or known features so far."""
    collisions["step"] += 1
    collisions["next"] = 0
    collisions["n_pairs"] = 0
    collisions["n_contacts"] = 0
    collisions["n_known"] = 0


@kernel
def set_contact_rows(collisions: Any) -> None:
    """Set the addresses where the contacts of this step are written."""
    now = half_start(collisions["step"], collisions["contact_room"])
    collisions["fresh"] = collisions["contacts"] + now * CONTACT_SIZE
    collisions["fresh_anchors"] = collisions["anchors"] + now * ANCHOR_SIZE


@kernel(inline=False)
def evaluate_pairs(collisions: Any, start: int, stop: int) -> int:
    """Find the contacts, or the closest points, of the candidate pairs from `start` to before `stop`."""
    met = rows_at(collisions["met"], collisions["n_met"], LISTED_PAIR)
    lives = rows_at(collisions["lives"], collisions["room"], INDEX_ROW)
    pairs = shape_rows.pairs_of(collisions)
    shapes = shape_rows.shapes_of(collisions)
    memories = shape_rows.memories_of(collisions)
    for m in range(start, stop):
        i, j, memory_row = met[m]["ij"][0], met[m]["ij"][1], met[m]["row"]
        ahead = collisions["memory"] + met[min(m + PREFETCHED_PAIRS, collisions["n_met"] - 1)]["row"] * MEMORY_SIZE
        prefetch(ahead)
        prefetch(ahead + CACHE_LINE_BYTES)
        prefetch_to_write(
            collisions["pairs"] + min(collisions["n_pairs"] + PAIRS_AHEAD, collisions["room"] - 1) * PAIR_SIZE
        )
        if _are_joined(shapes[i], shapes[j]):
            continue
        pair_row = collisions["n_pairs"]
        pair, memory = pairs[pair_row], memories[memory_row]
        turned = shapes[j]["form"] == GROUND_FORM
        pair["a"], pair["b"] = (j, i) if turned else (i, j)
        pair["row"] = memory_row
        pair["exact"] = 1
        first, second = shapes[pair["a"]], shapes[pair["b"]]
        if not _belongs_to(memory, pair, first, second, lives[memory_row]["i"]):
            _claim_memory(memory, pair, first, second, lives[memory_row]["i"])
        kept, margin = _prepare_pair(collisions, pair, memory)
        if kept:
            places = shape_rows.shape_poses_of(collisions)
            status = keep_contacts(collisions, pair_row, pair, memory, places[pair["a"]], places[pair["b"]])
        elif first["form"] == CONVEX and second["form"] == CONVEX:
            status = _collide_cores(collisions, pair_row, pair, first, second, memory, margin)
        elif turned or first["form"] == GROUND_FORM:
            status = _collide_ground(collisions, pair_row, pair, first, second, memory, margin)
        else:
            status = _collide_trees(collisions, pair_row, pair, first, second, memory, margin)
        if status == shape_rows.FULL:
            collisions["next"] = m
            collisions["goes_on"] = 1
            return shape_rows.FULL
        collisions["n_pairs"] = pair_row + 1
    return shape_rows.DONE


@kernel
def _are_joined(first: Any, second: Any) -> bool:
    """Whether two shapes are on one link, or one of their links carries the other."""
    return (
        (first["link"] == second["link"]) | (first["carrier"] == second["link"]) | (second["carrier"] == first["link"])
    )


@kernel
def _prepare_pair(collisions: Any, pair: Any, memory: Any) -> tuple[bool, float]:
    """Write the pose of the second shape in the first. Returns whether contacts are kept; if not, the margin (m)."""
    places = shape_rows.shape_poses_of(collisions)
    one, other = places[pair["a"]], places[pair["b"]]
    row = rows_at(collisions["row"], 1, CORE_PAIR)[0]
    turn = transpose(load9(one["R"]))
    R = mul(turn, load9(other["R"]))
    p = tmul_vec(load9(one["R"]), sub(load3(other["p"]), load3(one["p"])))
    store9(row["R"], R)
    store3(row["p"], p)
    if collisions["question"] != CONTACTS:
        return False, 0.0
    margin = collisions["margin"] + one["sweep"] + other["sweep"]
    if collisions["keep_within"] > 0.0:
        made = rows_at(collisions["made"], collisions["room"], shape_rows.CONTACT_POSE)[pair["row"]]
        reach = shape_rows.mounts_of(collisions)[pair["b"]]["reach"]
        shapes = shape_rows.shapes_of(collisions)
        both_round = shapes[pair["a"]]["radius"] > 0.0 and shapes[pair["b"]]["radius"] > 0.0 and memory["count"] > 0
        if not both_round and can_keep_contacts(collisions, memory, made, R, p, reach, margin):
            return True, margin
    return False, margin + collisions["keep_within"]


@kernel
def _belongs_to(memory: Any, pair: Any, first: Any, second: Any, life: int) -> bool:
    """Whether a row of PAIR_MEMORY belongs to a pair: rows, generations and life are equal."""
    same = (memory["a"] == pair["a"]) & (memory["b"] == pair["b"]) & (memory["life"] == life)
    same &= memory["generation_a"] == first["generation"]
    return same & (memory["generation_b"] == second["generation"])


@kernel
def _claim_memory(memory: Any, pair: Any, first: Any, second: Any, life: int) -> None:
    """Assign a row of PAIR_MEMORY to a pair, without any features or contacts."""
    memory["a"] = pair["a"]
    memory["b"] = pair["b"]
    memory["generation_a"] = first["generation"]
    memory["generation_b"] = second["generation"]
    memory["life"] = life
    memory["step"] = -1
    memory["count"] = 0
    memory["n_known"] = 0
    memory["struck"] = 0.0
    memory["rolls"] = 0
    memory["start"]["relation"] = NEW
    memory["start"]["index2"] = 0


# --- convex, convex ---


@kernel
def _collide_cores(
    collisions: Any, pair_row: int, pair: Any, first: Any, second: Any, memory: Any, margin: float
) -> int:
    # Checked first: an evaluation cannot be undone.
    if collisions["n_contacts"] + collisions["max_contacts"] + MOST_SPECULATIVE_CONTACTS > collisions["contact_room"]:
        collisions["full"] |= shape_rows.FULL_CONTACTS
        return shape_rows.FULL
    row = rows_at(collisions["row"], 1, CORE_PAIR)[0]
    row["core1"] = first["core"]
    row["core2"] = second["core"]
    row["radius1"] = first["radius"]
    row["radius2"] = second["radius"]
    row["coarse"] = margin if collisions["question"] == CONTACTS else 0.0
    row["steps"] = row["missed"] = 0  # most overlaps of resting bodies are shallow
    load_start(memory["start"], row)
    evaluate_core_pair(row, rows_at(collisions["work"], 1, WORK)[0])
    store_start(row, memory["start"])
    collisions["updates"] += 1
    collisions["walked"] += row["steps"]
    if row["fallbacks"] + row["rough"] > 0:
        collisions["fallbacks"] += row["fallbacks"]
        collisions["rough"] += row["rough"]
        row["fallbacks"] = 0
        row["rough"] = 0
    place = shape_rows.shape_poses_of(collisions)[pair["a"]]
    if collisions["question"] != CONTACTS:
        return _write_closest(collisions, pair_row, pair, memory, row, closest_features_id(row), 0, 0, place)
    points = rows_at(collisions["found"], MANIFOLD_ROWS, MANIFOLD_POINT)
    distance = row["distance"]
    back = (
        row["distance"] < 0.0
        and had_fast_impact(collisions, memory)
        and separate_along_impact(row, tmul_vec(load9(place["R"]), impact_normal(collisions, memory)))
    )
    found, passes = _find_pair_contacts(
        collisions, row, relative_displacement(collisions, pair, first, second), margin, points
    )
    passes = shape_rows.MEETS if back else passes
    end = write_contacts(collisions, pair_row, memory, points, found, 0, 0, collisions["n_contacts"], place, passes)
    return finish_pair(collisions, pair, memory, end, distance, margin, collisions["n_known"])


@kernel
def _find_pair_contacts(collisions: Any, row: Any, way: Vec3, margin: float, points: Any) -> tuple[int, float]:
    """Write the contacts of two evaluated cores. Returns their number, and SLOW, MEETS or the clearance (m) of a fast
    pair.

    Contacts of a fast pair are those at its time of impact.
    """
    if row["distance"] > margin or dot(way, way) == 0.0:
        return find_manifold(row, margin, collisions["max_contacts"], points), shape_rows.SLOW
    p = load3(row["p"])
    share, passes = advance_to_impact(row, way, rows_at(collisions["work"], 1, WORK)[0])
    found = find_manifold(row, margin, collisions["max_contacts"], points)
    if passes == shape_rows.MEETS:
        found = add_speculative_contacts(row, scale(way, 1.0 - share), points, found)
    if share > 0.0:
        move_contacts_to_start(points, found, share, way)
    store3(row["p"], p)
    return found, passes


@kernel
def _write_closest(
    collisions: Any, pair_row: int, pair: Any, memory: Any, point: Any, id: int, part1: int, part2: int, place: Any
) -> int:
    """Write the closest points of a pair as its only contact, without a match in the next step."""
    at = collisions["n_contacts"]
    contact = rows_at(collisions["contacts"], collisions["contact_room"], shape_rows.CONTACT)[at]
    write_world_contact(contact, id, part1, part2, pair_row, point, place)
    pair["first"] = at
    pair["count"] = 1
    pair["distance"] = point["distance"]
    memory["count"] = 0
    memory["step"] = collisions["step"]
    collisions["n_contacts"] = at + 1
    return shape_rows.DONE


@kernel
def _assign_known(collisions: Any, memory: Any, end: int) -> None:
    """Assign the rows of KNOWN_FEATURES up to `end` to a pair."""
    memory["first_known"] = collisions["n_known"]
    memory["n_known"] = end - collisions["n_known"]
    collisions["n_known"] = end


# --- trees ---


@kernel
def _load_known(collisions: Any, search: Any, memory: Any) -> None:
    """Give a search the features that the pair had in the step before."""
    search["cursor"] = 0
    search["n_known"] = memory["n_known"] if was_evaluated(collisions, memory) else 0
    then = half_start(collisions["step"] - 1, collisions["known_room"]) + memory["first_known"]
    search["known"] = collisions["known"] + then * part_pairs.KNOWN_SIZE
    search["updates"] = 0
    search["walked"] = 0
    search["fallbacks"] = 0
    search["rough"] = 0


@kernel
def _store_known(collisions: Any, search: Any, first: int) -> int:
    """Store the features of a search from row `first` on. Returns the row after them, or -1 if a table was full."""
    if search["missed"] > 0:
        collisions["full"] |= shape_rows.FULL_SEARCH
        return -1
    now = half_start(collisions["step"], collisions["known_room"])
    at, room = collisions["known"] + now * part_pairs.KNOWN_SIZE, collisions["known_room"]
    end = store_known(search, rows_at(at, room, part_pairs.KNOWN_FEATURES), first)
    if end < 0:
        collisions["full"] |= shape_rows.FULL_KNOWN
    return end


@kernel
def _add_counters(collisions: Any, search: Any) -> None:
    """Add the counters of a finished search to those of the collisions."""
    collisions["updates"] += search["updates"]
    collisions["walked"] += search["walked"]
    collisions["fallbacks"] += search["fallbacks"]
    collisions["rough"] += search["rough"]


@kernel(inline=False)
def _collide_trees(
    collisions: Any, pair_row: int, pair: Any, first: Any, second: Any, memory: Any, margin: float
) -> int:
    if collisions["n_contacts"] >= collisions["contact_room"]:
        collisions["full"] |= shape_rows.FULL_CONTACTS
        return shape_rows.FULL
    part_search = rows_at(collisions["search"], 1, part_pairs.SEARCH)[0]
    row = rows_at(collisions["row"], 1, CORE_PAIR)[0]
    nodes1 = rows_at(first["nodes"], first["n_nodes"], NODE)
    nodes2 = rows_at(second["nodes"], second["n_nodes"], NODE)
    place = shape_rows.shape_poses_of(collisions)[pair["a"]]
    asked = collisions["question"] == CONTACTS
    threshold = margin if asked else collisions["threshold"]
    end_known = collisions["n_known"]
    end = collisions["n_contacts"]
    if _hulls_are_apart(row, nodes1[0], nodes2[0], memory, threshold):
        collisions["updates"] += 1
        collisions["walked"] += row["steps"]
        pair["exact"] = 0
        distance = row["distance"]
        if not asked:
            _assign_known(collisions, memory, end_known)
            part1, part2 = _part_of_node(nodes1, 0), _part_of_node(nodes2, 0)
            _write_closest(collisions, pair_row, pair, memory, row, closest_features_id(row), part1, part2, place)
    else:
        _load_known(collisions, part_search, memory)
        work = rows_at(collisions["work"], 1, WORK)[0]
        deepest = threshold if asked else math.inf  # the distance of opened trees is exact
        search_trees(nodes1, nodes2, load9(row["R"]), load3(row["p"]), margin, deepest, part_search, work)
        end_known = _store_known(collisions, part_search, end_known)
        if asked and end_known >= 0:
            moved = relative_displacement(collisions, pair, first, second)
            end = _write_part_contacts(collisions, pair_row, memory, part_search, nodes1, nodes2, margin, place, moved)
        if end_known < 0 or end < 0:
            return shape_rows.FULL
        collisions["opened"] += 1
        _add_counters(collisions, part_search)
        distance = part_search["distance"]
        if not asked:
            pair["exact"] = part_search["exact"]
            _assign_known(collisions, memory, end_known)
            part1, part2 = _part_of_node(nodes1, int(part_search["i"])), _part_of_node(nodes2, int(part_search["j"]))
            _write_closest(collisions, pair_row, pair, memory, part_search, part_search["id"], part1, part2, place)
    if threshold < math.inf:  # else the hulls were not evaluated
        store_start(row, memory["start"])
    return finish_pair(collisions, pair, memory, end, distance, margin, end_known) if asked else shape_rows.DONE


@kernel
def _hulls_are_apart(row: Any, root1: Any, root2: Any, memory: Any, threshold: float) -> bool:
    """Whether the hulls around two shapes are farther apart than a threshold, so that the trees stay closed."""
    if threshold == math.inf:
        return False
    row["core1"] = root1["core"]
    row["core2"] = root2["core"]
    row["radius1"] = root1["radius"]
    row["radius2"] = root2["radius"]
    row["steps"] = 0
    load_start(memory["start"], row)
    bound_core_pair(row)
    return row["distance"] > threshold


@kernel
def _part_of_node(nodes: Any, node: int) -> int:
    """The part of a leaf; -1 - node for a hull that was not opened."""
    part = int(nodes[node]["part"])
    return part if part >= 0 else -1 - node


@kernel(inline=False)
def _write_part_contacts(
    collisions: Any,
    pair_row: int,
    memory: Any,
    search: Any,
    nodes1: Any,
    nodes2: Any,
    margin: float,
    place: Any,
    way: Vec3,
) -> int:
    """Write the contacts of all pairs of parts that a search has listed. Returns the row after them, or -1 if full."""
    points = rows_at(collisions["found"], MANIFOLD_ROWS, MANIFOLD_POINT)
    pairs = core_pairs_of(search)
    keys = part_keys_of(search)
    listed = rows_at(search["listed"], search["room"], part_pairs.LISTED_ROW)
    at = collisions["n_contacts"]
    for m in range(search["n_listed"]):
        key = keys[listed[m]]
        found, passes = _find_pair_contacts(collisions, pairs[listed[m]], way, margin, points)
        part1, part2 = int(nodes1[key["i"]]["part"]), int(nodes2[key["j"]]["part"])
        at = write_contacts(collisions, pair_row, memory, points, found, part1, part2, at, place, passes)
        if at < 0:
            break
    return at


# --- ground ---


@kernel
def _collide_ground(
    collisions: Any, pair_row: int, pair: Any, first: Any, second: Any, memory: Any, margin: float
) -> int:
    search = rows_at(collisions["search"], 1, part_pairs.SEARCH)[0]
    body = rows_at(collisions["carried"], 1, GROUND_BODY)[0]
    ground = rows_at(first["ground"], 1, GROUND)[0]
    nodes = rows_at(second["nodes"], second["n_nodes"], NODE)
    place = shape_rows.shape_poses_of(collisions)[pair["a"]]
    points = rows_at(collisions["found"], MANIFOLD_ROWS, MANIFOLD_POINT)
    asked = collisions["question"] == CONTACTS
    way = relative_displacement(collisions, pair, first, second)
    # No time of impact with the ground is computed.
    passes = shape_rows.MEETS if dot(way, way) > 0.0 else shape_rows.SLOW
    _load_known(collisions, search, memory)
    _set_ground_body(collisions, body, memory["start"]["index2"] if second["n_nodes"] == 1 else 0)
    reach = margin if asked else math.inf
    nearest = math.inf
    points[0]["distance"] = math.inf
    part1, part2 = 0, 0
    at = collisions["n_contacts"]
    end_known = collisions["n_known"]
    for i in range(second["n_nodes"]):
        if nodes[i]["part"] < 0:
            continue
        body["core"] = nodes[i]["core"]
        body["radius"] = nodes[i]["radius"]
        body["part"] = nodes[i]["part"]
        find_near_triangles(ground, body, margin, reach, search, rows_at(collisions["work"], 1, WORK)[0])
        end_known = _store_known(collisions, search, end_known)
        if end_known >= 0 and asked:
            at = _write_ground_contacts(collisions, pair_row, memory, ground, body, search, margin, at, place, passes)
            seen = math.inf if ground["kind"] == HALF_SPACE else margin  # terrain is searched to the margin only
            nearest = min(nearest, search["distance"], seen)
        elif search["distance"] < nearest:
            nearest = search["distance"]
            reach = max(nearest, 0.0)
            part1, part2 = int(search["i"]), int(search["j"])
            _copy_point(search, points[0])
        if end_known < 0 or at < 0:
            return shape_rows.FULL
        body["vertex"] = body["vertex"] if second["n_nodes"] == 1 else 0
    if at >= collisions["contact_room"]:
        collisions["full"] |= shape_rows.FULL_CONTACTS
        return shape_rows.FULL
    memory["start"]["index2"] = body["vertex"]
    if asked:
        finish_pair(collisions, pair, memory, at, nearest, margin, end_known)
    else:
        _assign_known(collisions, memory, end_known)
        _write_closest(collisions, pair_row, pair, memory, points[0], -1, part1, part2, place)
    _add_counters(collisions, search)
    return shape_rows.DONE


@kernel
def _set_ground_body(collisions: Any, body: Any, vertex: int) -> None:
    """Set the pose of a body on the ground to that of the second shape."""
    row = rows_at(collisions["row"], 1, CORE_PAIR)[0]
    store9(body["R"], load9(row["R"]))
    store3(body["p"], load3(row["p"]))
    body["vertex"] = vertex


@kernel
def _write_ground_contacts(
    collisions: Any,
    pair_row: int,
    memory: Any,
    ground: Any,
    body: Any,
    search: Any,
    margin: float,
    at: int,
    place: Any,
    passes: float,
) -> int:
    """Write the contacts of one part on the ground. Returns the row after them, or -1 if the table is full."""
    points = rows_at(collisions["found"], MANIFOLD_ROWS, MANIFOLD_POINT)
    spare = rows_at(collisions["found"] + MANIFOLD_ROWS * POINT_SIZE, MANIFOLD_ROWS, MANIFOLD_POINT)
    found = find_ground_contacts(ground, body, search, margin, collisions["max_contacts"], points, spare)
    return write_contacts(collisions, pair_row, memory, points, found, 0, int(body["part"]), at, place, passes)


@kernel
def _copy_point(source: Any, target: Any) -> None:
    target["distance"] = source["distance"]
    store3(target["normal"], load3(source["normal"]))
    store3(target["x1"], load3(source["x1"]))
    store3(target["x2"], load3(source["x2"]))
