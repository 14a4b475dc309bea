"""Contacts of a convex body on the ground: manifolds of its triangles, without false contacts at internal edges.

Each listed triangle gives the manifold of a flat core. A contact is named by features of the whole ground, so that
triangles agree on shared edges and vertices, and their points count once. Where the ground continues flat, edges and
vertices of triangles are no features of the surface: they give no contacts. The rest is grouped by normals, and each
group keeps a few well-spread points: a box in a corner has some on the floor and some on the wall.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.ground.search import FLAT_ON_TRIANGLE_COSINE
from kinemorph.collision.ground.surface import (
    HALF_SPACE,
    NEIGHBOUR_SINE,
    across,
    corner,
    face,
    is_seam,
    normal_of,
    open_at_vertex,
    side,
)
from kinemorph.collision.narrow.core_pair import CORE_PAIR
from kinemorph.collision.narrow.features import HERE, INDEX, F, V, facing, point_outside_face, position
from kinemorph.collision.narrow.manifold import (
    MANIFOLD_ROWS,
    PARALLEL_SINE,
    between,
    closest_id,
    contact_features,
    contact_id,
    known,
    spread,
    swap,
    with_radii,
)
from kinemorph.collision.narrow.part_pairs import KEY, LISTED
from kinemorph.collision.round.solids import carries
from kinemorph.geometry.polyhedron import CORE, edges_of, faces_of, vertices_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg

SAME_WAY = 0.99  # cosine: normals closer than 8° are one group


@kernel(inline=False)
def ground_contacts(ground: Any, body: Any, search: Any, margin: float, most: int, contacts: Any, spare: Any) -> int:
    """Write the contacts of a body that was surveyed with at least this margin (m). Returns their number, at most
    `most` a group.

    `contacts` and `spare` have MANIFOLD_ROWS rows each.
    """
    if not search["distance"] <= margin or (search["best"] < 0 and ground["kind"] != HALF_SPACE):
        return 0
    if ground["kind"] == HALF_SPACE:
        return spread(contacts, 0, _on_plane(ground, body, margin, contacts), most, margin)
    listed = rows_at(search["listed"], search["room"], LISTED)
    pairs = rows_at(search["pairs"], search["room"], CORE_PAIR)
    keys = rows_at(search["keys"], search["room"], KEY)
    count = 0
    for k in range(search["n_listed"]):
        found = _on_triangle(ground, int(keys[listed[k]]["i"]), pairs[listed[k]], margin, spare)
        if count + found > MANIFOLD_ROWS:
            count = _thin_out(contacts, count, most, margin)
        for c in range(found):
            if count < MANIFOLD_ROWS and not known(contacts, 0, count, spare[c]["id"]):
                swap(contacts[count], spare[c])
                count += 1
    if count == 0:  # only the closest points: all features are internal edges or vertices
        contacts[0]["id"] = contact_id(F, search["i"], V, 0)
        contacts[0]["distance"] = search["distance"]
        store3(contacts[0]["normal"], load3(search["normal"]))
        store3(contacts[0]["x1"], load3(search["x1"]))
        store3(contacts[0]["x2"], load3(search["x2"]))
        return 1
    return _thin_out(contacts, count, most, margin)


@kernel(inline=False)
def _on_triangle(ground: Any, triangle: int, row: Any, margin: float, contacts: Any) -> int:
    """The contacts of a triangle, with ids of features of the whole ground."""
    count = between(row, margin, contacts)
    n = load3(row["normal"])
    if count == 0:
        core = rows_at(row["core1"], 1, CORE)[0]
        x1 = load3(row["x1"])
        if row["distance"] > margin or point_outside_face(core, 0, x1, 1e-9 * core["radius_bound"]) != HERE:
            return 0  # the neighbour has the contact
        contacts[0]["id"] = closest_id(row)
        store3(contacts[0]["x1"], x1)
        store3(contacts[0]["x2"], axpy(load3(row["x2"]), row["radius2"], n))
        count = 1
    with_radii(row, contacts, count)
    triangle_normal = normal_of(ground, triangle)
    kept = 0
    for k in range(count):
        k1, i1, k2, i2 = contact_features(contacts[k]["id"])
        name = _name(ground, triangle, k1, i1, triangle_normal, count > 1)
        if name >= 0:
            contacts[k]["id"] = contact_id(k1, name, k2, i2)
            if kept != k:
                swap(contacts[kept], contacts[k])
            kept += 1
    return kept


@kernel(inline=False)
def _name(ground: Any, triangle: int, kind: int, index: int, triangle_normal: Vec3, others: bool) -> int:
    """The row of a triangle's feature in the whole ground; -1 if it is no feature of the surface."""
    if kind == F:
        return face(ground, triangle)
    if kind == V:
        v = corner(ground, triangle, index)
        inside = across(ground, triangle, index) >= 0 and across(ground, triangle, index - 1 if index > 0 else 2) >= 0
        flat = (
            others
            and inside
            and open_at_vertex(ground, v, triangle_normal, NEIGHBOUR_SINE)
            and open_at_vertex(ground, v, neg(triangle_normal), NEIGHBOUR_SINE)
        )
        return -1 if flat else v
    c = 0 if index == 0 else 3 - index  # the edges of a flat core are 0 1, 0 2 and 1 2
    return -1 if others and is_seam(ground, triangle, c, triangle_normal) else side(ground, triangle, c)


@kernel(inline=False)
def _thin_out(contacts: Any, count: int, most: int, margin: float) -> int:
    """Reduce each group of normals to at most `most` contacts; the deepest group comes first."""
    done = 0
    while done < count:
        leader = done
        for k in range(done, count):
            if contacts[k]["distance"] < contacts[leader]["distance"]:
                leader = k
        swap(contacts[done], contacts[leader])
        n = load3(contacts[done]["normal"])
        end = done + 1
        for k in range(done + 1, count):
            if dot(n, load3(contacts[k]["normal"])) > SAME_WAY:
                swap(contacts[end], contacts[k])
                end += 1
        kept = spread(contacts, done, end, most, margin)
        for k in range(end, count):
            swap(contacts[done + kept + k - end], contacts[k])
        count -= end - done - kept
        done += kept
    return count


@kernel
def _on_plane(ground: Any, body: Any, margin: float, contacts: Any) -> int:
    """Contacts on a half-space: vertices of the face that lies on it, or the deepest vertex, and along edges that lie
    on it.
    """
    core = rows_at(body["core"], 1, CORE)[0]
    down = neg(tmul_vec(load9(body["R"]), load3(ground["normal"])))
    round_core = core["sides"] > 0
    f, side, cosine = carries(core, down) if round_core else (HERE, HERE, -1.0)
    if not round_core:
        f, cosine = facing(core, body["vertex"], down)
    edges = edges_of(core)
    if cosine > FLAT_ON_TRIANGLE_COSINE:
        row = faces_of(core)[f]
        face_edges = rows_at(core["face_edges"], core["n_edge_at"], INDEX)
        count = 0
        for k in range(row["first"], row["first"] + row["count"]):
            edge = edges[face_edges[k] >> 1]
            v = edge["head"] if face_edges[k] & 1 else edge["tail"]
            count = _put_vertex(ground, body, core, v, margin, contacts, count)
        return count if round_core else _along_edges(ground, body, core, down, f, margin, contacts, count)
    count = _put_vertex(ground, body, core, body["vertex"], margin, contacts, 0)
    if not round_core:
        return _along_edges(ground, body, core, down, HERE, margin, contacts, count)
    if side == HERE or abs(dot(load3(edges[side]["direction"]), down)) >= PARALLEL_SINE:
        return count
    if edges[side]["tail"] != body["vertex"] and edges[side]["head"] != body["vertex"]:
        return count
    return _put_end(ground, body, core, edges[side], body["vertex"], margin, contacts, count)


@kernel(inline=False)
def _along_edges(
    ground: Any, body: Any, core: Any, down: Vec3, f: int, margin: float, contacts: Any, count: int
) -> int:
    """Add vertices reached from the contacts along edges that lie on the plane, and from those on; edges of face f are
    done.

    A hull may have small faces at both ends of a long edge. It rests on that edge, whichever of the faces is most
    aligned.
    """
    vertices, edges = (
        vertices_of(core),
        edges_of(core),
    )
    edge_at = rows_at(core["edge_at"], core["n_edge_at"], INDEX)
    seen = 0
    while seen < count:
        _, _, _, v = contact_features(contacts[seen]["id"])
        vertex = vertices[v]
        for k in range(vertex["first"], vertex["first"] + vertex["count"]):
            edge = edges[edge_at[k]]
            if f != HERE and (edge["left"] == f or edge["right"] == f):
                continue
            if abs(dot(load3(edge["direction"]), down)) < PARALLEL_SINE:
                count = _put_end(ground, body, core, edge, v, margin, contacts, count)
        seen += 1
    return count


@kernel
def _put_end(
    ground: Any, body: Any, core: Any, edge: Any, vertex: int, margin: float, contacts: Any, count: int
) -> int:
    """Add the other end of an edge of a vertex, if it is not listed."""
    end = edge["head"] if edge["tail"] == vertex else edge["tail"]
    if known(contacts, 0, count, contact_id(F, 0, V, end)):
        return count
    return _put_vertex(ground, body, core, end, margin, contacts, count)


@kernel
def _put_vertex(ground: Any, body: Any, core: Any, vertex: int, margin: float, contacts: Any, count: int) -> int:
    n = load3(ground["normal"])
    x = add(mul_vec(load9(body["R"]), position(core, vertex)), load3(body["p"]))
    above = dot(n, x) - ground["offset"]
    if above - body["radius"] > margin or count >= MANIFOLD_ROWS:
        return count
    contacts[count]["id"] = contact_id(F, 0, V, vertex)
    contacts[count]["distance"] = above - body["radius"]
    store3(contacts[count]["normal"], n)
    store3(contacts[count]["x1"], axpy(x, -above, n))
    store3(contacts[count]["x2"], axpy(x, -body["radius"], n))
    return count + 1
