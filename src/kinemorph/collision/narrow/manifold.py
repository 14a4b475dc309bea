"""Contact manifolds of two convex shapes: contact points, their ids, and their tracking from step to step.

Projected along the normal, two faces overlap in a convex polygon. Its corners are vertices of one face above the other
and crossings of two edges. Each is named by two features; this id persists from step to step, for warm starts. A core
without faces contributes its edge. If no face is across the normal, there is one point, or two on parallel edges.
"""

import math
from typing import Any

import numpy as np

from kinemorph.collision.narrow.closest_points import closest_points
from kinemorph.collision.narrow.core_pair import APART
from kinemorph.collision.narrow.features import (
    NOT_FOUND,
    E,
    F,
    V,
    clip_edge_to_face,
    core_vertex,
    edge_towards,
    height_above_face,
    most_aligned_face,
    point_outside_edge,
    point_outside_face,
)
from kinemorph.collision.round import solids
from kinemorph.geometry import polyhedron
from kinemorph.jit.api import entry, kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, neg, scale, sub

MANIFOLD_POINT = np.dtype(
    [
        ("id", "i8"),  # kinds and rows of the two features
        ("distance", "f8"),  # m, along the normal; negative: depth
        ("normal", "f8", 3),  # unit, from shape 1 to shape 2; of a pair of convex shapes all are the same
        ("x1", "f8", 3),  # m, on the surface of shape 1, in the frame of core 1
        ("x2", "f8", 3),  # m, on that of shape 2: x2 - x1 = distance normal
    ],
    align=True,
)
NO_FEATURES = -1  # id of a contact without features
MANIFOLD_ROWS = 128  # rows that `manifold` needs: two faces of reasonable size give fewer points
PARALLEL_SINE = 0.01  # sine: edges closer to parallel touch in two points
FACE_WIDENING = 1e-9  # of its size, by which a face is widened: corners on its boundary are not lost to rounding
MANY_SIDES = 8  # sides: on two faces with more, `circles` accept or reject most edges early
LEVEL_MARGIN_SHARE = 0.1  # share of the margin: higher corners above the deepest one get a low weight
TINY_LENGTH = 1e-12  # m
SQUARED_RADIUS_SHARE = 1.0 - 1e-9  # share of a squared radius that is safe from rounding


@kernel
def contact_id(kind1: int, index1: int, kind2: int, index2: int) -> int:
    """Pack kinds and rows of two features into one integer."""
    return ((int(kind1) << 29 | int(index1)) << 32) | (int(kind2) << 29 | int(index2))


@kernel
def contact_features(id: int) -> tuple[int, int, int, int]:
    """The inverse of `contact_id`."""
    first = id >> 32
    second = id & 0xFFFFFFFF
    return first >> 29, first & 0x1FFFFFFF, second >> 29, second & 0x1FFFFFFF


@kernel
def closest_features_id(pair: Any) -> int:
    """The closest features of a pair as an id, or NO_FEATURES if the cores overlap."""
    apart = pair["relation"] == APART or pair["distance"] + pair["radius1"] + pair["radius2"] > 0.0
    return closest_id(pair) if apart else NO_FEATURES


@kernel(inline=False)
def closest_id(pair: Any) -> int:
    """The closest features as an id. Those of round cores are taken after a turn to n: they persist as it rolls."""
    n = load3(pair["normal"])
    core_a = polyhedron.core2_of(pair)
    core_b = polyhedron.core1_of(pair)
    k1, i1 = _named_feature(core_b, pair["kind1"], pair["index1"], n)
    k2, i2 = _named_feature(core_a, pair["kind2"], pair["index2"], neg(tmul_vec(load9(pair["R"]), n)))
    return contact_id(k1, i1, k2, i2)


@kernel
def _named_feature(core: Any, kind: int, index: int, n: Vec3) -> tuple[int, int]:
    if core["sides"] == 0:
        return int(kind), int(index)
    f, e, _ = solids.facing_feature(core, n)
    if f != NOT_FOUND:
        return F, f
    return (E, e) if e != NOT_FOUND else (V, solids.support_piece(core, 0, n)[1])


@kernel(inline=False)
def find_manifold(pair: Any, margin: float, most: int, contacts: Any) -> int:
    """Write the contacts of an evaluated pair within `margin` (m), at most `most`. Returns their number.

    `contacts` has MANIFOLD_ROWS rows; the first ones are the result.
    """
    if pair["distance"] > margin:
        return 0
    count = find_face_contacts(pair, margin, contacts)
    if count == 0:
        n = load3(pair["normal"])
        contacts[0]["id"] = closest_id(pair)
        store3(contacts[0]["x1"], axpy(load3(pair["x1"]), -pair["radius1"], n))
        store3(contacts[0]["x2"], axpy(load3(pair["x2"]), pair["radius2"], n))
        count = 1
    add_radii(pair, contacts, count)
    return choose_spread_contacts(contacts, 0, count, most, margin)


@kernel(inline=False)
def find_face_contacts(pair: Any, margin: float, contacts: Any) -> int:
    """Contacts of the cores where faces or parallel edges overlap. Returns their number, 0 if there are none.

    Round cores are turned about their axes until an edge of the prism is at the contact.
    """
    core_a = polyhedron.core2_of(pair)
    core_b = polyhedron.core1_of(pair)
    R = load9(pair["R"])
    p = load3(pair["p"])
    n = load3(pair["normal"])
    reach = margin + pair["radius1"] + pair["radius2"]  # of the cores
    start = pair["kind1"], pair["index1"], pair["kind2"], pair["index2"]
    if core_a["sides"] + core_b["sides"] == 0:
        return _find_core_contacts(core_a, core_b, R, p, n, start, reach, contacts)
    c, s = solids.turn_towards(core_a, neg(tmul_vec(R, n)))
    R = solids.turn_matrix(R, c, s)
    c, s = solids.turn_towards(core_b, n)
    R = transpose(solids.turn_matrix(transpose(R), c, s))
    count = _find_core_contacts(
        core_a, core_b, R, solids.turn_vector(p, c, -s), solids.turn_vector(n, c, -s), start, reach, contacts
    )
    for k in range(count):
        store3(contacts[k]["x1"], solids.turn_vector(load3(contacts[k]["x1"]), c, s))
        store3(contacts[k]["x2"], solids.turn_vector(load3(contacts[k]["x2"]), c, s))
    return count


@kernel(inline=False)
def _find_core_contacts(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, start: tuple[int, int, int, int], reach: float, contacts: Any
) -> int:
    kind_b, index_b, kind_a, index_a = start
    q = neg(tmul_vec(R, p))
    m = neg(tmul_vec(R, n))  # from shape 2 to shape 1, in the frame of core 2
    f1, index_b, c1 = _front_features(core_b, kind_b, index_b, n)
    f2, index_a, c2 = _front_features(core_a, kind_a, index_a, m)
    count = 0
    if c1 > solids.FACE_COSINE:
        count = _contacts_over_face(core_a, f2, index_a, core_b, f1, R, p, n, True, reach, contacts, 0)
        count = _contacts_beside_face(core_a, f2, core_b, f1, R, p, n, reach, contacts, 0, count)
    if c2 > solids.FACE_COSINE:
        first = count
        count = _contacts_over_face(
            core_b, f1, index_b, core_a, f2, transpose(R), q, m, c1 <= solids.FACE_COSINE, reach, contacts, first
        )
        count = _contacts_beside_face(core_b, f1, core_a, f2, transpose(R), q, m, reach, contacts, first, count)
        _exchange_shapes(contacts, first, count, R, p)
    if c1 <= solids.FACE_COSINE and c2 <= solids.FACE_COSINE and index_a != NOT_FOUND and index_b != NOT_FOUND:
        count = _parallel_edge_contacts(core_a, index_a, core_b, index_b, R, p, n, reach, contacts)
    return count


@kernel(inline=False)
def _front_features(core: Any, kind: int, index: int, n: Vec3) -> tuple[int, int, float]:
    """The face most aligned with n, the edge that may carry instead (the closest feature, or the only edge), and the
    cosine; NOT_FOUND where there is none.
    """
    if core["sides"] > 0:
        return solids.facing_feature(core, n)
    f, cosine = most_aligned_face(core, index if kind == V else 0, n)
    if kind == E:
        return f, index, cosine
    return f, 0 if core["n_edges"] == 1 else NOT_FOUND, cosine


@kernel
def add_radii(pair: Any, contacts: Any, count: int) -> None:
    """Move contacts from the cores to the surfaces of the shapes, and write distance and normal."""
    n = load3(pair["normal"])
    for k in range(count):
        x1 = load3(contacts[k]["x1"])
        x2 = load3(contacts[k]["x2"])
        contacts[k]["distance"] = dot(n, sub(x2, x1)) - pair["radius1"] - pair["radius2"]
        store3(contacts[k]["x1"], axpy(x1, pair["radius1"], n))
        store3(contacts[k]["x2"], axpy(x2, -pair["radius2"], n))
        store3(contacts[k]["normal"], n)


@kernel(inline=False)
def face_circles(core: Any, f: int) -> tuple[Vec3, float, float]:
    """Centre of a face, and squares of an inscribed and a circumscribed radius (m²): for early accept and reject."""
    edges = polyhedron.edges_of(core)
    face_edges = polyhedron.face_edges_of(core)
    face = polyhedron.faces_of(core)[f]
    centre = (0.0, 0.0, 0.0)
    for k in range(face["first"], face["first"] + face["count"]):
        centre = add(centre, core_vertex(core, edges[face_edges[k] >> 1]["tail"]))
        centre = add(centre, core_vertex(core, edges[face_edges[k] >> 1]["head"]))
    centre = scale(centre, 0.5 / face["count"])
    inner, outer = math.inf, 0.0
    for k in range(face["first"], face["first"] + face["count"]):
        side = face_edges[k]
        edge = edges[side >> 1]
        inward = load3(edge["right_normal"]) if side & 1 else load3(edge["left_normal"])
        r = sub(centre, core_vertex(core, edge["tail"]))
        inner, outer = min(inner, dot(inward, r)), max(outer, dot(r, r))
    return centre, SQUARED_RADIUS_SHARE * max(inner, 0.0) ** 2, outer / SQUARED_RADIUS_SHARE


@kernel
def edge_distances(r: Vec3, direction: Vec3, length: float, n: Vec3) -> tuple[float, float]:
    """Smallest and largest squared distance (m²) of an edge from a centre, projected along n; r is the edge's tail."""
    along = axpy(direction, -dot(n, direction), n)
    r = axpy(r, -dot(n, r), n)
    rr, rd, dd = dot(r, r), dot(r, along), dot(along, along)
    end = rr + length * (2.0 * rd + length * dd)
    s = min(max(-rd, 0.0), length * dd)  # times dd
    near = rr if dd == 0.0 else rr + s * (2.0 * rd + s) / dd
    return near, max(rr, end)


@kernel(inline=False)
def _contacts_over_face(
    core_a: Any,
    face_a: int,
    edge_a: int,
    core_b: Any,
    face_b: int,
    R: Mat3,
    p: Vec3,
    n: Vec3,
    cross: bool,
    reach: float,
    contacts: Any,
    count: int,
) -> int:
    """Contacts of the boundary of face_a, or else of edge_a, above face_b; core_b is shape 1, in its frame.

    Crossings of edges are found from both sides, so only one of the two calls has `cross` true.
    """
    edges = polyhedron.edges_of(core_a)
    face_edges = polyhedron.face_edges_of(core_a)
    first, sides = 0, 1 if edge_a != NOT_FOUND else 0
    if face_a != NOT_FOUND:
        face = polyhedron.faces_of(core_a)[face_a]
        first, sides = int(face["first"]), int(face["count"])
    slack = FACE_WIDENING * core_b["radius_bound"]
    many = sides > MANY_SIDES and polyhedron.faces_of(core_b)[face_b]["count"] > MANY_SIDES
    centre, inner, outer = face_circles(core_b, face_b) if many else ((0.0, 0.0, 0.0), 0.0, 0.0)
    for k in range(first, first + sides):
        side = int(face_edges[k]) if face_a != NOT_FOUND else 2 * edge_a
        e = side >> 1
        t = add(mul_vec(R, core_vertex(core_a, edges[e]["tail"])), p)
        d = mul_vec(R, load3(edges[e]["direction"]))
        length = edges[e]["length"]
        lo, hi, edge_lo, edge_hi = 0.0, length, NOT_FOUND, NOT_FOUND
        near, far = edge_distances(sub(t, centre), d, length, load3(polyhedron.faces_of(core_b)[face_b]["normal"]))
        if many and near > outer:
            continue
        if not (many and far < inner):
            lo, hi, edge_lo, edge_hi = clip_edge_to_face(core_b, face_b, t, d, length, slack)
        if lo > hi:
            continue
        if edge_lo == NOT_FOUND and (face_a == NOT_FOUND or side & 1 == 0):  # each vertex starts one side of its face
            count = _add_contact(core_b, face_b, F, face_b, V, edges[e]["tail"], t, n, reach, contacts, count)
        if edge_hi == NOT_FOUND and (face_a == NOT_FOUND or side & 1 == 1):
            count = _add_contact(
                core_b, face_b, F, face_b, V, edges[e]["head"], axpy(t, length, d), n, reach, contacts, count
            )
        if edge_lo != NOT_FOUND and cross:
            count = _add_contact(core_b, face_b, E, edge_lo, E, e, axpy(t, lo, d), n, reach, contacts, count)
        if edge_hi != NOT_FOUND and cross:
            count = _add_contact(core_b, face_b, E, edge_hi, E, e, axpy(t, hi, d), n, reach, contacts, count)
    return count


@kernel(inline=False)
def _contacts_beside_face(
    core_a: Any,
    face_a: int,
    core_b: Any,
    face_b: int,
    R: Mat3,
    p: Vec3,
    n: Vec3,
    reach: float,
    contacts: Any,
    first: int,
    count: int,
) -> int:
    """Add contacts of edges of core_a that leave face_a and lie on face_b, starting at its contacts there.

    A hull may have small faces at both ends of a long edge. It rests on that edge, whichever of the faces is most
    aligned.
    """
    if face_a == NOT_FOUND or core_a["sides"] > 0:
        return count
    vertices, edges = polyhedron.vertices_of(core_a), polyhedron.edges_of(core_a)
    edge_at = polyhedron.vertex_edges_of(core_a)
    m = tmul_vec(R, n)
    seen = first
    while seen < count:
        _, _, kind, v = contact_features(contacts[seen]["id"])
        seen += 1
        if kind != V:
            continue
        for k in range(vertices[v]["first"], vertices[v]["first"] + vertices[v]["count"]):
            edge = edges[edge_at[k]]
            if (
                edge["left"] == face_a
                or edge["right"] == face_a
                or abs(dot(load3(edge["direction"]), m)) >= PARALLEL_SINE
            ):
                continue
            end = edge["head"] if edge["tail"] == v else edge["tail"]
            t = add(mul_vec(R, core_vertex(core_a, v)), p)
            d = scale(mul_vec(R, load3(edge["direction"])), 1.0 if edge["tail"] == v else -1.0)
            _, hi, _, cut = clip_edge_to_face(
                core_b, face_b, t, d, edge["length"], FACE_WIDENING * core_b["radius_bound"]
            )
            id = contact_id(F, face_b, V, end) if cut == NOT_FOUND else contact_id(E, cut, E, edge_at[k])
            if hi > 0.0 and not has_contact(contacts, first, count, id):
                k1, i1, k2, i2 = contact_features(id)
                count = _add_contact(core_b, face_b, k1, i1, k2, i2, axpy(t, hi, d), n, reach, contacts, count)
    return count


@kernel
def has_contact(contacts: Any, first: int, count: int, id: int) -> bool:
    """Whether one of the contacts from `first` to before `count` has this id."""
    for k in range(first, count):
        if contacts[k]["id"] == id:
            return True
    return False


@kernel(inline=False)
def _add_contact(
    core_b: Any,
    face_b: int,
    kind_b: int,
    index_b: int,
    kind_a: int,
    index_a: int,
    x: Vec3,
    n: Vec3,
    reach: float,
    contacts: Any,
    count: int,
) -> int:
    """Add point x of core_a, and the point of face_b below it along n, if they are within reach."""
    slope = dot(n, load3(polyhedron.faces_of(core_b)[face_b]["normal"]))
    above = height_above_face(core_b, face_b, x) / slope if slope > 0.1 else np.inf
    if above > reach or count >= MANIFOLD_ROWS:
        return count
    contacts[count]["id"] = contact_id(kind_b, index_b, kind_a, index_a)
    store3(contacts[count]["x1"], axpy(x, -above, n))
    store3(contacts[count]["x2"], x)
    return count + 1


@kernel
def _exchange_shapes(contacts: Any, start: int, end: int, R: Mat3, p: Vec3) -> None:
    """Exchange the shapes of contacts that were found in reverse order, in the frame of core 2."""
    for k in range(start, end):
        k2, i2, k1, i1 = contact_features(contacts[k]["id"])
        contacts[k]["id"] = contact_id(k1, i1, k2, i2)
        x2 = load3(contacts[k]["x1"])
        store3(contacts[k]["x1"], add(mul_vec(R, load3(contacts[k]["x2"])), p))
        store3(contacts[k]["x2"], add(mul_vec(R, x2), p))


@kernel(inline=False)
def _parallel_edge_contacts(
    core_a: Any, index_a: int, core_b: Any, index_b: int, R: Mat3, p: Vec3, n: Vec3, reach: float, contacts: Any
) -> int:
    """The two ends of the common part of parallel edges. Returns 0 if they cross, or if one end is too far apart."""
    edge_a = polyhedron.edges_of(core_a)[index_a]
    edge_b = polyhedron.edges_of(core_b)[index_b]
    t = add(mul_vec(R, core_vertex(core_a, edge_a["tail"])), p)
    d = mul_vec(R, load3(edge_a["direction"]))
    tail = core_vertex(core_b, edge_b["tail"])
    u = load3(edge_b["direction"])
    sine = cross(d, u)
    s0 = dot(sub(t, tail), u)
    s1 = s0 + edge_a["length"] * dot(d, u)
    lo = max(min(s0, s1), 0.0)
    hi = min(max(s0, s1), edge_b["length"])
    if math.sqrt(dot(sine, sine)) > PARALLEL_SINE or hi <= lo:
        return 0
    for k in range(2):
        s = hi if k else lo
        y = axpy(tail, s, u)
        end_b = s == 0.0 or s == edge_b["length"]
        i = (edge_b["tail"] if s == 0.0 else edge_b["head"]) if end_b else index_b
        j = index_a if end_b else (edge_a["tail"] if s == s0 else edge_a["head"])
        contacts[k]["id"] = contact_id(V if end_b else E, i, E if end_b else V, j)
        x = axpy(t, (s - s0) * dot(d, u), d)
        above = dot(n, sub(x, y))
        if above > reach:
            return 0
        store3(contacts[k]["x1"], y)
        store3(contacts[k]["x2"], axpy(y, above, n))
    return 2


@kernel(inline=False)
def choose_spread_contacts(contacts: Any, start: int, end: int, most: int, margin: float) -> int:
    """Move `most` well-spread contacts of rows start .. end to the front. Returns their number.

    Chosen are the deepest, the farthest from it, then the one that adds most area. Contacts far above the deepest one
    get a low weight: the rim of a leaning coin is carried by the corners beside the lowest one, not by those across.
    """
    if end - start <= most:
        return end - start
    for chosen in range(start, start + most):
        best = chosen
        value = -np.inf
        for k in range(chosen, end):
            v = _contact_merit(contacts, start, chosen, k, margin)
            if v > value:
                value = v
                best = k
        swap_contacts(contacts[chosen], contacts[best])
    return most


@kernel
def _contact_merit(contacts: Any, start: int, chosen: int, candidate: int, margin: float) -> float:
    """Gain of adding a candidate to the contacts from `start` to before `chosen`."""
    if chosen == start:
        return -contacts[candidate]["distance"]
    deepest = contacts[start]["distance"]
    above = (contacts[candidate]["distance"] - deepest) / (LEVEL_MARGIN_SHARE * (margin - deepest) + TINY_LENGTH)
    share = 1.0 / (1.0 + above * above)
    x = load3(contacts[candidate]["x1"])
    first = load3(contacts[start]["x1"])
    if chosen == start + 1:
        return share * dot(sub(x, first), sub(x, first))
    if chosen == start + 2:
        n = load3(contacts[start]["normal"])
        return share * abs(dot(n, cross(sub(load3(contacts[start + 1]["x1"]), first), sub(x, first))))
    least = np.inf  # beyond three: far from all that are chosen
    for c in range(start, chosen):
        r = sub(x, load3(contacts[c]["x1"]))
        least = min(least, dot(r, r))
    return share * least


@kernel
def swap_contacts(one: Any, other: Any) -> None:
    one["id"], other["id"] = other["id"], one["id"]
    one["distance"], other["distance"] = other["distance"], one["distance"]
    for c in range(3):
        one["normal"][c], other["normal"][c] = other["normal"][c], one["normal"][c]
        one["x1"][c], other["x1"][c] = other["x1"][c], one["x1"][c]
        one["x2"][c], other["x2"][c] = other["x2"][c], one["x2"][c]


@kernel(inline=False)
def track_contact(pair: Any, contact: Any, slack: float) -> bool:
    """Move a contact to the closest points of its features. Returns whether it still is one (Fontijne 2.4.2).

    It is, if the closest points lie in the Voronoi regions of each other's feature, to within `slack` (m).
    """
    core_a = polyhedron.core2_of(pair)
    core_b = polyhedron.core1_of(pair)
    R = load9(pair["R"])
    p = load3(pair["p"])
    kind_b, index_b, kind_a, index_a = contact_features(contact["id"])
    x, y, n, distance = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    contact["distance"] = distance - pair["radius1"] - pair["radius2"]
    store3(contact["normal"], n)
    store3(contact["x1"], axpy(y, pair["radius1"], n))
    store3(contact["x2"], axpy(x, -pair["radius2"], n))
    return _in_region(core_b, kind_b, index_b, x, slack) and _in_region(
        core_a, kind_a, index_a, tmul_vec(R, sub(y, p)), slack
    )


@kernel
def _in_region(core: Any, kind: int, index: int, x: Vec3, slack: float) -> bool:
    if kind == V:
        return edge_towards(core, index, x, slack) == NOT_FOUND
    if kind == E:
        return point_outside_edge(core, index, x, slack)[1] == NOT_FOUND
    return point_outside_face(core, index, x, slack) == NOT_FOUND and height_above_face(core, index, x) >= -slack


@entry
def find_manifold_of_first(pairs: Any, margin: float, most: int, contacts: Any) -> int:
    """`manifold` of the first of the pairs, for Python."""
    return find_manifold(pairs[0], margin, most, contacts)


@entry
def track_first_contact(pairs: Any, contacts: Any, slack: float) -> bool:
    """`track_contact` of the first of the contacts with the first of the pairs, for Python."""
    return track_contact(pairs[0], contacts[0], slack)
