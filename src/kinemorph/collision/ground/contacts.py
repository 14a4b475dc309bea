"""Contacts of a convex body on the ground: manifolds of its triangles, without false contacts at internal edges.

Each listed triangle gives the manifold of a flat core. A contact is named by features of the whole ground, so that
triangles agree on shared edges and vertices, and their points count once. Where the ground continues flat, edges and
vertices of triangles are no features of the surface: they give no contacts. The rest is grouped by normals, and each
group keeps a few well-spread points: a box in a corner has some on the floor and some on the wall.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.ground import surface
from kinemorph.collision.ground.search import FLAT_ON_TRIANGLE_COSINE
from kinemorph.collision.narrow import manifold
from kinemorph.collision.narrow.features import NOT_FOUND, F, V, core_vertex, most_aligned_face, point_outside_face
from kinemorph.collision.narrow.part_pairs import LISTED_ROW, core_pairs_of, part_keys_of
from kinemorph.collision.round.solids import facing_feature
from kinemorph.geometry import polyhedron
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg

SAME_NORMAL_COSINE = 0.99  # cosine: normals closer than 8° are one group


@kernel(inline=False)
def find_ground_contacts(
    ground: Any, body: Any, search: Any, margin: float, most: int, contacts: Any, spare: Any
) -> int:
    """Write the contacts of a body that was surveyed with at least this margin (m). Returns their number, at most
    `most` a group.

    `contacts` and `spare` have MANIFOLD_ROWS rows each.
    """
    if not search["distance"] <= margin or (search["best"] < 0 and ground["kind"] != surface.HALF_SPACE):
        return 0
    if ground["kind"] == surface.HALF_SPACE:
        count = _half_space_contacts(ground, body, margin, contacts)
        return manifold.choose_spread_contacts(contacts, 0, count, most, margin)
    listed = rows_at(search["listed"], search["room"], LISTED_ROW)
    pairs = core_pairs_of(search)
    keys = part_keys_of(search)
    count = 0
    for k in range(search["n_listed"]):
        found = _triangle_contacts(ground, int(keys[listed[k]]["i"]), pairs[listed[k]], margin, spare)
        if count + found > manifold.MANIFOLD_ROWS:
            count = _reduce_groups(contacts, count, most, margin)
        for c in range(found):
            if count < manifold.MANIFOLD_ROWS and not manifold.has_contact(contacts, 0, count, spare[c]["id"]):
                manifold.swap_contacts(contacts[count], spare[c])
                count += 1
    if count == 0:  # only the closest points: all features are internal edges or vertices
        contacts[0]["id"] = manifold.contact_id(F, search["i"], V, 0)
        contacts[0]["distance"] = search["distance"]
        store3(contacts[0]["normal"], load3(search["normal"]))
        store3(contacts[0]["x1"], load3(search["x1"]))
        store3(contacts[0]["x2"], load3(search["x2"]))
        return 1
    return _reduce_groups(contacts, count, most, margin)


@kernel(inline=False)
def _triangle_contacts(ground: Any, triangle: int, row: Any, margin: float, contacts: Any) -> int:
    """The contacts of a triangle, with ids of features of the whole ground."""
    count = manifold.find_face_contacts(row, margin, contacts)
    n = load3(row["normal"])
    if count == 0:
        core = polyhedron.core1_of(row)
        x1 = load3(row["x1"])
        if row["distance"] > margin or point_outside_face(core, 0, x1, 1e-9 * core["radius_bound"]) != NOT_FOUND:
            return 0  # the neighbour has the contact
        contacts[0]["id"] = manifold.closest_id(row)
        store3(contacts[0]["x1"], x1)
        store3(contacts[0]["x2"], axpy(load3(row["x2"]), row["radius2"], n))
        count = 1
    manifold.add_radii(row, contacts, count)
    triangle_normal = surface.normal_of_triangle(ground, triangle)
    kept = 0
    for k in range(count):
        k1, i1, k2, i2 = manifold.contact_features(contacts[k]["id"])
        name = _surface_feature(ground, triangle, k1, i1, triangle_normal, count > 1)
        if name >= 0:
            contacts[k]["id"] = manifold.contact_id(k1, name, k2, i2)
            if kept != k:
                manifold.swap_contacts(contacts[kept], contacts[k])
            kept += 1
    return kept


@kernel(inline=False)
def _surface_feature(ground: Any, triangle: int, kind: int, index: int, triangle_normal: Vec3, others: bool) -> int:
    """The row of a triangle's feature in the whole ground; -1 if it is no feature of the surface."""
    if kind == F:
        return surface.mesh_face(ground, triangle)
    if kind == V:
        v = surface.triangle_vertex(ground, triangle, index)
        inside = (
            surface.vertex_across(ground, triangle, index) >= 0
            and surface.vertex_across(ground, triangle, index - 1 if index > 0 else 2) >= 0
        )
        flat = (
            others
            and inside
            and surface.is_open_at_vertex(ground, v, triangle_normal, surface.NEIGHBOUR_SINE)
            and surface.is_open_at_vertex(ground, v, neg(triangle_normal), surface.NEIGHBOUR_SINE)
        )
        return -1 if flat else v
    c = 0 if index == 0 else 3 - index  # the edges of a flat core are 0 1, 0 2 and 1 2
    internal = others and surface.is_internal_edge(ground, triangle, c, triangle_normal)
    return -1 if internal else surface.shared_side(ground, triangle, c)


@kernel(inline=False)
def _reduce_groups(contacts: Any, count: int, most: int, margin: float) -> int:
    """Reduce each group of normals to at most `most` contacts; the deepest group comes first."""
    done = 0
    while done < count:
        leader = done
        for k in range(done, count):
            if contacts[k]["distance"] < contacts[leader]["distance"]:
                leader = k
        manifold.swap_contacts(contacts[done], contacts[leader])
        n = load3(contacts[done]["normal"])
        end = done + 1
        for k in range(done + 1, count):
            if dot(n, load3(contacts[k]["normal"])) > SAME_NORMAL_COSINE:
                manifold.swap_contacts(contacts[end], contacts[k])
                end += 1
        kept = manifold.choose_spread_contacts(contacts, done, end, most, margin)
        for k in range(end, count):
            manifold.swap_contacts(contacts[done + kept + k - end], contacts[k])
        count -= end - done - kept
        done += kept
    return count


@kernel
def _half_space_contacts(ground: Any, body: Any, margin: float, contacts: Any) -> int:
    """Contacts on a half-space: vertices of a face that lies on it, or the deepest, and along edges that lie on it."""
    core = polyhedron.core_row_of(body)
    down = neg(tmul_vec(load9(body["R"]), load3(ground["normal"])))
    round_core = core["sides"] > 0
    f, side, cosine = facing_feature(core, down) if round_core else (NOT_FOUND, NOT_FOUND, -1.0)
    if not round_core:
        f, cosine = most_aligned_face(core, body["vertex"], down)
    edges = polyhedron.edges_of(core)
    if cosine > FLAT_ON_TRIANGLE_COSINE:
        row = polyhedron.faces_of(core)[f]
        face_edges = polyhedron.face_edges_of(core)
        count = 0
        for k in range(row["first"], row["first"] + row["count"]):
            edge = edges[face_edges[k] >> 1]
            v = edge["head"] if face_edges[k] & 1 else edge["tail"]
            count = _add_vertex(ground, body, core, v, margin, contacts, count)
        return count if round_core else _add_edge_contacts(ground, body, core, down, f, margin, contacts, count)
    count = _add_vertex(ground, body, core, body["vertex"], margin, contacts, 0)
    if not round_core:
        return _add_edge_contacts(ground, body, core, down, NOT_FOUND, margin, contacts, count)
    if side == NOT_FOUND or abs(dot(load3(edges[side]["direction"]), down)) >= manifold.PARALLEL_SINE:
        return count
    if edges[side]["tail"] != body["vertex"] and edges[side]["head"] != body["vertex"]:
        return count
    return _add_edge_end(ground, body, core, edges[side], body["vertex"], margin, contacts, count)


@kernel(inline=False)
def _add_edge_contacts(
    ground: Any, body: Any, core: Any, down: Vec3, f: int, margin: float, contacts: Any, count: int
) -> int:
    """Add vertices reached from the contacts along edges that lie on the plane, and from those on; edges of face f are
    done.

    A hull may have small faces at both ends of a long edge. It rests on that edge, whichever of the faces is most
    aligned.
    """
    vertices, edges = polyhedron.vertices_of(core), polyhedron.edges_of(core)
    edge_at = polyhedron.vertex_edges_of(core)
    seen = 0
    while seen < count:
        _, _, _, v = manifold.contact_features(contacts[seen]["id"])
        vertex = vertices[v]
        for k in range(vertex["first"], vertex["first"] + vertex["count"]):
            edge = edges[edge_at[k]]
            if f != NOT_FOUND and (edge["left"] == f or edge["right"] == f):
                continue
            if abs(dot(load3(edge["direction"]), down)) < manifold.PARALLEL_SINE:
                count = _add_edge_end(ground, body, core, edge, v, margin, contacts, count)
        seen += 1
    return count


@kernel
def _add_edge_end(
    ground: Any, body: Any, core: Any, edge: Any, vertex: int, margin: float, contacts: Any, count: int
) -> int:
    """Add the other end of an edge of a vertex, if it is not listed."""
    end = edge["head"] if edge["tail"] == vertex else edge["tail"]
    if manifold.has_contact(contacts, 0, count, manifold.contact_id(F, 0, V, end)):
        return count
    return _add_vertex(ground, body, core, end, margin, contacts, count)


@kernel
def _add_vertex(ground: Any, body: Any, core: Any, vertex: int, margin: float, contacts: Any, count: int) -> int:
    n = load3(ground["normal"])
    x = add(mul_vec(load9(body["R"]), core_vertex(core, vertex)), load3(body["p"]))
    above = dot(n, x) - ground["offset"]
    if above - body["radius"] > margin or count >= manifold.MANIFOLD_ROWS:
        return count
    contacts[count]["id"] = manifold.contact_id(F, 0, V, vertex)
    contacts[count]["distance"] = above - body["radius"]
    store3(contacts[count]["normal"], n)
    store3(contacts[count]["x1"], axpy(x, -above, n))
    store3(contacts[count]["x2"], axpy(x, -body["radius"], n))
    return count + 1
