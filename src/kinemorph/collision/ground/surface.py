"""The surface of the ground: vertices, neighbours, and which normals belong to it.

A single triangle does not know its neighbours, and a normal that points from its edge towards a neighbour is wrong: the
neighbour is nearer. On the whole surface, a point can be closest to a body only if no direction on the surface leads
towards the body. For a point on an edge it suffices to test the vertex across, for a vertex its neighbours. This is the
Voronoi region of the feature in the whole ground.
"""

import math
from typing import Any

import numpy as np

from kinemorph.geometry.ground import TRIANGLE, GroundKind
from kinemorph.geometry.polyhedron import CORE, EDGE, FACE, VERTEX
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.rows import load3, store3
from kinemorph.spatial.vec3 import Vec3, add, cross, dot, neg, scale, sub

HALF_SPACE, SOUP, FIELD = int(GroundKind.HALF_SPACE), int(GroundKind.SOUP), int(GroundKind.FIELD)
INDEX = np.dtype(np.int32)
HEIGHT = np.dtype(np.float64)
NEIGHBOUR_SINE = 1e-6  # sine: directions closer to tangential do not lead towards a neighbour
OVERLAP_SINE = 0.14  # sine: the same for bodies that overlap the ground, 8°: there the normal may be one of the body
FIELD_NEIGHBOURS = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))  # neighbours in a height field


@kernel
def ground_vertex(ground: Any, vertex: int) -> Vec3:
    """Position (m) of a vertex."""
    if ground["kind"] == SOUP:
        return load3(rows_at(ground["points"], ground["n_points"], VERTEX)[vertex]["x"])
    i = vertex // ground["ny"]
    z = rows_at(ground["heights"], ground["n_points"], HEIGHT)[vertex]
    return ground["x0"] + i * ground["dx"], ground["y0"] + (vertex - i * ground["ny"]) * ground["dy"], z


@kernel(inline=False)
def triangle_vertex(ground: Any, triangle: int, corner_number: int) -> int:
    """Vertex of a triangle, by corner number. Cell (i, j) of a field: (ij, i+1 j, i+1 j+1) and (ij, i+1 j+1, i j+1)."""
    if ground["kind"] == SOUP:
        return int(rows_at(ground["triangles"], ground["n"], TRIANGLE)[triangle]["corners"][corner_number])
    v = _first_corner(ground, triangle)
    if corner_number == 0:
        return v
    if triangle & 1:
        return v + ground["ny"] + 1 if corner_number == 1 else v + 1
    return v + ground["ny"] if corner_number == 1 else v + ground["ny"] + 1


@kernel
def _first_corner(ground: Any, triangle: int) -> int:
    cell = triangle >> 1
    i = cell // (ground["ny"] - 1)
    return int(cell + i)  # a row has one vertex more than cells


@kernel(inline=False)
def vertex_across(ground: Any, triangle: int, side_number: int) -> int:
    """The vertex of the neighbour beyond a side of a triangle; -1 at a border. Side k starts at corner k."""
    if ground["kind"] == SOUP:
        return int(rows_at(ground["triangles"], ground["n"], TRIANGLE)[triangle]["across"][side_number])
    v = _first_corner(ground, triangle)
    i = v // ground["ny"]
    j = v - i * ground["ny"]
    if triangle & 1:
        if side_number == 0:
            return _field_vertex(ground, i + 1, j)
        return _field_vertex(ground, i + 1, j + 2) if side_number == 1 else _field_vertex(ground, i - 1, j)
    if side_number == 2:
        return _field_vertex(ground, i, j + 1)
    return _field_vertex(ground, i, j - 1) if side_number == 0 else _field_vertex(ground, i + 2, j + 1)


@kernel
def _field_vertex(ground: Any, row: int, column: int) -> int:
    inside = 0 <= row < ground["nx"] and 0 <= column < ground["ny"]
    return int(row * ground["ny"] + column) if inside else -1


@kernel(inline=False)
def shared_side(ground: Any, triangle: int, side_number: int) -> int:
    """The number of a side of a triangle, which its neighbour shares."""
    if ground["kind"] == SOUP:
        return int(rows_at(ground["triangles"], ground["n"], TRIANGLE)[triangle]["sides"][side_number])
    v = _first_corner(ground, triangle)
    if triangle & 1:
        return 3 * v + 2 if side_number == 0 else (3 * (v + 1) if side_number == 1 else 3 * v + 1)
    return 3 * v if side_number == 0 else (3 * (v + ground["ny"]) + 1 if side_number == 1 else 3 * v + 2)


@kernel
def mesh_face(ground: Any, triangle: int) -> int:
    """The face of the mesh that a triangle is."""
    if ground["kind"] == SOUP:
        return int(rows_at(ground["triangles"], ground["n"], TRIANGLE)[triangle]["face"])
    return triangle


@kernel(inline=False)
def is_open_at_vertex(ground: Any, vertex: int, n: Vec3, slack: float) -> bool:
    """Whether no edge of the ground leads from a vertex towards n."""
    x = ground_vertex(ground, vertex)
    if ground["kind"] == SOUP:
        row = rows_at(ground["points"], ground["n_points"], VERTEX)[vertex]
        ring = rows_at(ground["ring"], ground["n_ring"], INDEX)
        for k in range(row["first"], row["first"] + row["count"]):
            if _leads_towards(sub(ground_vertex(ground, int(ring[k])), x), n, slack):
                return False
        return True
    i = vertex // ground["ny"]
    j = vertex - i * ground["ny"]
    for k in range(6):
        w = _field_vertex(ground, i + FIELD_NEIGHBOURS[k][0], j + FIELD_NEIGHBOURS[k][1])
        if w >= 0 and _leads_towards(sub(ground_vertex(ground, w), x), n, slack):
            return False
    return True


@kernel
def _leads_towards(r: Vec3, n: Vec3, slack: float) -> bool:
    s = dot(r, n)
    return s > 0.0 and s * s > slack * slack * dot(r, r)


@kernel(inline=False)
def in_normal_cone(ground: Any, triangle: int, n: Vec3, slack: float) -> bool:
    """Whether n is in the normal cone at the triangle's support feature: nothing on the surface leads towards n."""
    a = triangle_vertex(ground, triangle, 0)
    b = triangle_vertex(ground, triangle, 1)
    c = triangle_vertex(ground, triangle, 2)
    sa = dot(n, ground_vertex(ground, a))
    sb = dot(n, ground_vertex(ground, b))
    sc = dot(n, ground_vertex(ground, c))
    r = sub(ground_vertex(ground, b), ground_vertex(ground, a))
    q = sub(ground_vertex(ground, c), ground_vertex(ground, a))
    tol = NEIGHBOUR_SINE * math.sqrt(dot(r, r) + dot(q, q))
    top = max(sa, sb, sc) - tol
    on_a, on_b, on_c = sa >= top, sb >= top, sc >= top  # the corners that are farthest along n
    if on_a and on_b and on_c:
        return True
    if on_a and on_b:
        return _is_open_at_side(ground, triangle, 0, n, slack)
    if on_b and on_c:
        return _is_open_at_side(ground, triangle, 1, n, slack)
    if on_c and on_a:
        return _is_open_at_side(ground, triangle, 2, n, slack)
    return is_open_at_vertex(ground, a if on_a else (b if on_b else c), n, slack)


@kernel
def _is_open_at_side(ground: Any, triangle: int, side_number: int, n: Vec3, slack: float) -> bool:
    w = vertex_across(ground, triangle, side_number)
    return w < 0 or not _leads_towards(
        sub(ground_vertex(ground, w), ground_vertex(ground, triangle_vertex(ground, triangle, side_number))), n, slack
    )


@kernel(inline=False)
def normal_of_triangle(ground: Any, triangle: int) -> Vec3:
    x = ground_vertex(ground, triangle_vertex(ground, triangle, 0))
    n = cross(
        sub(ground_vertex(ground, triangle_vertex(ground, triangle, 1)), x),
        sub(ground_vertex(ground, triangle_vertex(ground, triangle, 2)), x),
    )
    return scale(n, 1.0 / math.sqrt(dot(n, n)))


@kernel(inline=False)
def neighbour_normal(ground: Any, triangle: int, side_number: int, n: Vec3) -> Vec3:
    """The normal of the neighbour beyond a side, if the edge is convex; else n, that of the triangle itself."""
    w = vertex_across(ground, triangle, side_number)
    if w < 0:
        return n
    tail = ground_vertex(ground, triangle_vertex(ground, triangle, side_number))
    out = sub(ground_vertex(ground, w), tail)
    if dot(out, n) >= 0.0:
        return n
    m = cross(
        out,
        sub(ground_vertex(ground, triangle_vertex(ground, triangle, side_number + 1 if side_number < 2 else 0)), tail),
    )
    length = math.sqrt(dot(m, m))
    return scale(m, 1.0 / length) if length > 0.0 else n


@kernel
def is_internal_edge(ground: Any, triangle: int, side_number: int, n: Vec3) -> bool:
    """Whether the ground continues flat beyond a side; n is the normal of the triangle."""
    w = vertex_across(ground, triangle, side_number)
    if w < 0:
        return False
    r = sub(ground_vertex(ground, w), ground_vertex(ground, triangle_vertex(ground, triangle, side_number)))
    s = dot(r, n)
    return s * s <= NEIGHBOUR_SINE * NEIGHBOUR_SINE * dot(r, r)


@kernel(inline=False)
def write_triangle(ground: Any, triangle: int, address: int) -> None:
    """Write a triangle into the FLAT_CORE at `address`."""
    core = rows_at(address, 1, CORE)[0]
    vertices = rows_at(core["vertices"], 3, VERTEX)
    edges = rows_at(core["edges"], 3, EDGE)
    faces = rows_at(core["faces"], 2, FACE)
    centre = (0.0, 0.0, 0.0)
    for c in range(3):
        x = ground_vertex(ground, triangle_vertex(ground, triangle, c))
        store3(vertices[c]["x"], x)
        centre = add(centre, scale(x, 1.0 / 3.0))
    n = normal_of_triangle(ground, triangle)
    offset = dot(n, load3(vertices[0]["x"]))
    store3(faces[0]["normal"], n)
    store3(faces[1]["normal"], neg(n))
    faces[0]["offset"] = offset
    faces[1]["offset"] = -offset
    bound = 0.0
    for e in range(3):
        r = sub(load3(vertices[e]["x"]), centre)
        bound = max(bound, dot(r, r))
        edge = edges[e]
        d = sub(load3(vertices[edge["head"]]["x"]), load3(vertices[edge["tail"]]["x"]))
        length = math.sqrt(dot(d, d))
        d = scale(d, 1.0 / length)
        inward = cross(n, d) if edge["left"] == 0 else cross(d, n)  # both faces are on the same side of the edge
        edge["length"] = length
        store3(edge["direction"], d)
        store3(edge["left_normal"], inward)
        store3(edge["right_normal"], inward)
    store3(core["centre"], centre)
    core["radius_bound"] = math.sqrt(bound)
