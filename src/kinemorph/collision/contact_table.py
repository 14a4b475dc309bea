"""The contacts of a step, in the world frame: new ones are written, contacts of resting pairs are kept from the step
before.

Contacts of two steps are stored side by side, one in each half of the table. So a contact is matched with the previous
step by its features, or all contacts of a pair are kept because it has hardly moved.
"""

import math
from typing import Any

from kinemorph.collision.narrow.core_pair import CORE_PAIR
from kinemorph.collision.narrow.part_pairs import KNOWN_FEATURES, load_start
from kinemorph.collision.shapes import shape_rows
from kinemorph.collision.shapes.shape_rows import Form, contacts_of, mounts_of, shapes_of
from kinemorph.geometry.polyhedron import core_row_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, scale, sub

CONVEX = int(Form.CONVEX)
FLAT_DISC_COSINE = 0.99  # cosine: a disc within 8° of a contact normal lies, and does not roll
ROLLING_SHARE = 1e-3  # share of `keep_within` by which shapes may roll without new contacts


@kernel
def half_start(step: int, room: int) -> int:
    """First row of a step's half of a table with `room` rows a step."""
    return room if step & 1 else 0


@kernel
def was_evaluated(collisions: Any, memory: Any) -> bool:
    """Whether a pair was evaluated in the step before, so that its rows of that step exist."""
    return memory["step"] == collisions["step"] - 1


@kernel
def had_fast_impact(collisions: Any, memory: Any) -> bool:
    """Whether the shapes of a pair were fast and met in the step before."""
    return (
        was_evaluated(collisions, memory)
        and memory["count"] > 0
        and _previous_first_contact(collisions, memory)["passes"] == shape_rows.MEETS
    )


@kernel
def impact_normal(collisions: Any, memory: Any) -> Vec3:
    """Contact normal of that impact, in the world."""
    return load3(_previous_first_contact(collisions, memory)["normal"])


@kernel
def _previous_first_contact(collisions: Any, memory: Any) -> Any:
    """The first contact of a pair in the step before."""
    at = half_start(collisions["step"] - 1, collisions["contact_room"]) + memory["first"]
    return contacts_of(collisions)[at]


# --- new contacts ---


@kernel(inline=False)
def write_contacts(
    collisions: Any,
    pair_row: int,
    memory: Any,
    points: Any,
    count: int,
    part1: int,
    part2: int,
    at: int,
    place: Any,
    passes: float,
) -> int:
    """Write contacts of pair `pair_row` from the frame of its first shape, at `place`, into rows `at` and on, in the
    world frame.

    Returns the row after them, or -1 if the table is full.
    """
    if at + count > collisions["contact_room"]:
        collisions["full"] |= shape_rows.FULL_CONTACTS
        return -1
    fresh = rows_at(collisions["fresh"], at + count, shape_rows.CONTACT)
    anchors = rows_at(collisions["fresh_anchors"], at + count, shape_rows.ANCHOR)
    for j in range(count):
        row = fresh[at + j]
        write_world_contact(row, points[j]["id"], part1, part2, pair_row, points[j], place)
        row["before"] = _find_previous_contact(collisions, memory, row)
        row["passes"] = passes
        if collisions["keep_within"] > 0.0:  # `finish_pair` transforms x2 to the frame of the second shape
            anchor = anchors[at + j]
            store3(anchor["normal"], load3(points[j]["normal"]))
            store3(anchor["x1"], load3(points[j]["x1"]))
            store3(anchor["x2"], load3(points[j]["x2"]))
    return at + count


@kernel
def write_world_contact(row: Any, id: int, part1: int, part2: int, pair_row: int, point: Any, place: Any) -> None:
    """Write one contact. `point` has distance, normal, x1 and x2 in the frame of the first shape, at `place`."""
    R = load9(place["R"])
    p = load3(place["p"])
    row["id"] = id
    row["part1"] = part1
    row["part2"] = part2
    row["pair"] = pair_row
    row["before"] = -1
    row["passes"] = shape_rows.SLOW
    row["flies"] = 0
    row["distance"] = point["distance"]
    store3(row["normal"], mul_vec(R, load3(point["normal"])))
    store3(row["x1"], add(mul_vec(R, load3(point["x1"])), p))
    store3(row["x2"], add(mul_vec(R, load3(point["x2"])), p))


@kernel
def _find_previous_contact(collisions: Any, memory: Any, row: Any) -> int:
    """Row of the contact with the same features and parts in the step before, or -1."""
    if was_evaluated(collisions, memory):
        contacts = contacts_of(collisions)
        old = half_start(collisions["step"] - 1, collisions["contact_room"])
        for j in range(memory["first"], memory["first"] + memory["count"]):
            other = contacts[old + j]
            if other["id"] == row["id"] and other["part1"] == row["part1"] and other["part2"] == row["part2"]:
                return j
    return -1


@kernel(inline=False)
def finish_pair(
    collisions: Any, pair: Any, memory: Any, end: int, distance: float, margin: float, end_known: int
) -> int:
    """Assign the rows up to `end` to a pair, and store the pose and margin for which they were made.

    `distance` (m) is a lower bound of the distance of the two shapes.
    """
    first = collisions["n_contacts"]
    fresh = rows_at(collisions["fresh"], end, shape_rows.CONTACT)
    least = math.inf
    for j in range(first, end):
        least = min(least, fresh[j]["distance"])
    if collisions["keep_within"] > 0.0:
        row = rows_at(collisions["row"], 1, CORE_PAIR)[0]
        R, p = load9(row["R"]), load3(row["p"])
        made = rows_at(collisions["made"], collisions["room"], shape_rows.CONTACT_POSE)[pair["row"]]
        store9(made["R"], R)
        store3(made["p"], p)
        memory["margin"] = margin
        memory["distance"] = distance
        anchors = rows_at(collisions["fresh_anchors"], end, shape_rows.ANCHOR)
        shapes = shapes_of(collisions)
        round1, round2 = shapes[pair["a"]]["radius"], shapes[pair["b"]]["radius"]
        on_disc1, on_disc2 = is_round_shape(shapes[pair["a"]]), is_round_shape(shapes[pair["b"]])
        rolls = 0
        for j in range(first, end):
            anchor = anchors[j]
            n = load3(anchor["normal"])
            rolls |= 1 if on_disc1 and abs(n[2]) < FLAT_DISC_COSINE else 0
            rolls |= 2 if on_disc2 and abs(tmul_vec(R, n)[2]) < FLAT_DISC_COSINE else 0
            store3(anchor["x1"], axpy(load3(anchor["x1"]), -round1, n))
            store3(anchor["x2"], tmul_vec(R, sub(axpy(load3(anchor["x2"]), round2, n), p)))
            if round1 > 0.0:
                store3(anchor["normal"], tmul_vec(R, n))
        memory["rolls"] = rolls
    _assign_rows(collisions, pair, memory, end, least, end_known)
    return shape_rows.DONE


@kernel
def is_round_shape(shape: Any) -> bool:
    """Whether a shape is a cylinder or a cone, which may stand on a disc or roll."""
    return shape["form"] == CONVEX and core_row_of(shape)["sides"] > 0


@kernel
def _assign_rows(collisions: Any, pair: Any, memory: Any, end: int, least: float, end_known: int) -> None:
    """Assign the contacts up to `end` and the known features up to `end_known` to a pair."""
    pair["first"] = collisions["n_contacts"]
    pair["count"] = end - collisions["n_contacts"]
    pair["distance"] = least
    memory["first"] = collisions["n_contacts"]
    memory["count"] = end - collisions["n_contacts"]
    memory["first_known"] = collisions["n_known"]
    memory["n_known"] = end_known - collisions["n_known"]
    memory["step"] = collisions["step"]
    collisions["n_contacts"] = end
    collisions["n_known"] = end_known


# --- kept contacts ---


@kernel
def can_keep_contacts(collisions: Any, memory: Any, made: Any, R: Mat3, p: Vec3, reach: float, margin: float) -> bool:
    """Whether the contacts of the step before still hold; `reach` (m) is that of the second shape.

    With contacts: since they were made, no point of the second shape has moved by more than `keep_within` in the frame
    of the first. Without: the shapes cannot be within the margin.
    """
    if not was_evaluated(collisions, memory):
        return False
    turned = 0.0
    for k in range(9):
        turned += (R[k] - made["R"][k]) ** 2
    r = sub(p, load3(made["p"]))
    moved = math.sqrt(dot(r, r)) + math.sqrt(0.5 * turned) * reach
    if memory["count"] == 0:
        return memory["distance"] - moved > margin
    if moved > collisions["keep_within"] or margin > memory["margin"]:
        return False
    return (
        memory["rolls"] == 0
        or _rolled_distance(collisions, memory, made, R, reach) <= ROLLING_SHARE * collisions["keep_within"]
    )


@kernel
def _rolled_distance(collisions: Any, memory: Any, made: Any, R: Mat3, reach: float) -> float:
    """Distance (m) that round shapes have rolled on rims or sides: kept contacts would move along and drive them."""
    S = load9(made["R"])
    far = 0.0
    if memory["rolls"] & 2:  # about the axis of the second: S^T R
        far = 0.5 * reach * abs(S[1] * R[0] + S[4] * R[3] + S[7] * R[6] - S[0] * R[1] - S[3] * R[4] - S[6] * R[7])
    if memory["rolls"] & 1:  # of the first: R S^T
        size = mounts_of(collisions)[memory["a"]]["reach"]
        turned = R[3] * S[0] + R[4] * S[1] + R[5] * S[2] - R[0] * S[3] - R[1] * S[4] - R[2] * S[5]
        far = max(far, 0.5 * size * abs(turned))
    return far


@kernel
def keep_contacts(collisions: Any, pair_row: int, pair: Any, memory: Any, one: Any, other: Any) -> int:
    """Keep the contacts of the step before: ids, anchors and normals stay fixed on their shapes, distances are new."""
    count = memory["count"]
    first = memory["first"]
    at = collisions["n_contacts"]
    known = memory["n_known"]
    if at + count > collisions["contact_room"] or collisions["n_known"] + known > collisions["known_room"]:
        collisions["full"] |= (
            shape_rows.FULL_CONTACTS if at + count > collisions["contact_room"] else shape_rows.FULL_KNOWN
        )
        return shape_rows.FULL
    contacts = contacts_of(collisions)
    anchors = rows_at(collisions["anchors"], 2 * collisions["contact_room"], shape_rows.ANCHOR)
    fresh = rows_at(collisions["fresh"], at + count, shape_rows.CONTACT)
    new = rows_at(collisions["fresh_anchors"], at + count, shape_rows.ANCHOR)
    then = half_start(collisions["step"] - 1, collisions["contact_room"])
    shapes = shapes_of(collisions)
    round1, round2 = shapes[pair["a"]]["radius"], shapes[pair["b"]]["radius"]
    least = math.inf
    for j in range(count):
        row = fresh[at + j]
        old = contacts[then + first + j]
        row["id"] = old["id"]
        row["part1"] = old["part1"]
        row["part2"] = old["part2"]
        row["pair"] = pair_row
        row["before"] = first + j
        row["passes"] = shape_rows.SLOW
        row["flies"] = 0
        _write_kept_contact(anchors[then + first + j], new[at + j], row, one, other, round1, round2)
        least = min(least, row["distance"])
    _copy_known(collisions, memory["first_known"], known)
    collisions["kept"] += 1
    _assign_rows(collisions, pair, memory, at + count, least, collisions["n_known"] + known)
    return shape_rows.DONE


@kernel
def _write_kept_contact(old: Any, anchor: Any, row: Any, one: Any, other: Any, round1: float, round2: float) -> None:
    """Write a kept contact: its anchors are fixed on the cores, and its points are centred between them.

    On a round shape the contact follows the core along the normal of the other shape. If it stayed behind, or turned
    with a ball, it would drive the ball on.
    """
    store3(anchor["normal"], load3(old["normal"]))
    store3(anchor["x1"], load3(old["x1"]))
    store3(anchor["x2"], load3(old["x2"]))
    R, R2 = load9(one["R"]), load9(other["R"])
    n = mul_vec(R2, load3(old["normal"])) if round1 > 0.0 else mul_vec(R, load3(old["normal"]))
    x1 = axpy(add(mul_vec(R, load3(old["x1"])), load3(one["p"])), round1, n)
    x2 = axpy(add(mul_vec(R2, load3(old["x2"])), load3(other["p"])), -round2, n)
    distance = dot(n, sub(x2, x1))
    if round2 > 0.0:
        middle = axpy(x2, -0.5 * distance, n)
    elif round1 > 0.0:
        middle = axpy(x1, 0.5 * distance, n)
    else:
        middle = scale(add(x1, x2), 0.5)
    row["distance"] = distance
    store3(row["normal"], n)
    store3(row["x1"], axpy(middle, -0.5 * distance, n))
    store3(row["x2"], axpy(middle, 0.5 * distance, n))


@kernel
def _copy_known(collisions: Any, first: int, count: int) -> None:
    """Copy the known features of parts to this step."""
    known = rows_at(collisions["known"], 2 * collisions["known_room"], KNOWN_FEATURES)
    now = half_start(collisions["step"], collisions["known_room"]) + collisions["n_known"]
    then = half_start(collisions["step"] - 1, collisions["known_room"]) + first
    for j in range(count):
        known[now + j]["i"] = known[then + j]["i"]
        known[now + j]["j"] = known[then + j]["j"]
        load_start(known[then + j], known[now + j])
