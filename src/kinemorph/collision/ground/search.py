"""The triangles near a convex body, with distance, normal and depth of each: internal-edge filtering on the whole
surface.

The ground is the first shape, and its frame is used throughout. A tree of boxes, or the grid of a height field, finds
the triangles; V-Clip and EPA evaluate each as a flat core. The answer for one triangle is then judged by the whole
surface (see `surface`):

- apart, with a normal that belongs to the surface: accepted.
- apart, with a normal that leads to a neighbour: an internal edge. If the body lies flat on the triangle, to within 8°,
  the normal of the triangle replaces it, and the part of the body above it may have contacts; else the row is dropped.
- apart, and behind the triangle: it counts for the distance, without contacts. Below a height field counts as inside.
- overlapping: the shortest way out, if its normal belongs to the surface, to within 8°, and along the normal of the
  triangle if that is within 8°. Else along the normal of the triangle or of a neighbour beyond a convex edge, the
  shorter one; but if that is much longer than the ways out of other triangles, it is dropped: a box that stands on a
  step is not pushed off it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.collision.ground import surface
from kinemorph.collision.narrow import part_pairs
from kinemorph.collision.narrow.core_pair import DEEP, evaluate_core_pair
from kinemorph.collision.narrow.features import F, V, core_vertex, support_vertex
from kinemorph.collision.narrow.manifold import NO_FEATURES
from kinemorph.collision.round.solids import support_piece, support_point, turn_matrix, turn_towards
from kinemorph.geometry.ground import BOUNDS
from kinemorph.geometry.polyhedron import core2_of, core_row_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg

GROUND_BODY = np.dtype(
    [
        ("core", "i8"),  # address of a CORE
        ("R", "f8", 9),  # rotation of the body in the frame of the ground
        ("p", "f8", 3),  # m, position there
        ("radius", "f8"),  # m, around the core
        ("part", "i8"),  # which part of a concave body it is; 0 if it is convex
        ("vertex", "i8"),  # the deepest one in a half-space, where its search starts; `find_near_triangles`
        ("low", "f8", 3),  # m, the box around it, with its radius; `find_near_triangles`
        ("high", "f8", 3),
    ],
    align=True,
)
HEIGHTS = np.dtype(np.float64)
FLAT_ON_TRIANGLE_COSINE = 0.99  # cosine: a body within 8° of a triangle lies flat on it
DROPPED, BEHIND, INTERNAL_EDGE, FORCED, BURIED, ACCEPTED = 0, 1, 2, 3, 4, 5  # verdicts on a row, see above
FORCED_WAY_FACTOR = 2.0  # factor by which a forced way out may be longer than the deepest accepted one


@kernel
def find_near_triangles(ground: Any, body: Any, margin: float, reach: float, search: Any, work: Any) -> None:
    """List the triangles no farther than `margin` (m) from a body, and find the distance if it is below `reach` (m).

    search["distance"] is inf if there is none.
    """
    part_pairs.clear_list(search)
    if ground["kind"] == surface.HALF_SPACE:
        _turn_to_half_space(ground, body)
        _evaluate_half_space(ground, body, search)
        return
    _write_bounds(body)
    if ground["kind"] == surface.SOUP:
        _search_tree(ground, body, margin, reach, search, work)
    else:
        first = max(margin, 0.0)
        while True:
            _search_cells(ground, body, margin, min(first, reach), search, work)
            found = search["distance"] <= first or search["n_listed"] > 0
            if found or first >= reach or _covers_field(ground, body, first):
                break
            first = 4.0 * first + ground["dx"] + ground["dy"]
            part_pairs.clear_list(search)
    _drop_long_ways_out(ground, search, margin)


@kernel(inline=False)
def _write_bounds(body: Any) -> None:
    """Write the bounds of a body, from its support points along the axes."""
    core = core_row_of(body)
    R = load9(body["R"])
    v = 0
    for k in range(3):
        n = (R[3 * k], R[3 * k + 1], R[3 * k + 2])
        reach, v = support_piece(core, v, n)
        body["high"][k] = reach + body["p"][k] + body["radius"]
        reach, v = support_piece(core, v, neg(n))
        body["low"][k] = body["p"][k] - reach - body["radius"]


@kernel
def _squared_box_distance(body: Any, low: Any, high: Any) -> float:
    """Squared distance (m²) between the bounds of the body and a box."""
    s = 0.0
    for k in range(3):
        d = max(low[k] - body["high"][k], body["low"][k] - high[k], 0.0)
        s += d * d
    return s


@kernel
def _search_radius(search: Any, margin: float, reach: float) -> float:
    """Distance (m) beyond which a triangle cannot change the result."""
    return max(margin, min(reach, search["distance"]), 0.0)


@kernel(inline=False)
def _search_tree(ground: Any, body: Any, margin: float, reach: float, search: Any, work: Any) -> None:
    boxes = rows_at(ground["boxes"], 2 * ground["leaves"], BOUNDS)
    n, leaves = ground["n"], ground["leaves"]
    stack = search["stack"]
    stack[0] = 1
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        limit = _search_radius(search, margin, reach)
        if not _squared_box_distance(body, boxes[node]["low"], boxes[node]["high"]) <= limit * limit:
            continue
        if node >= leaves:
            k = node - leaves
            for t in range(k * n // leaves, (k + 1) * n // leaves):
                _evaluate_triangle(ground, t, body, margin, _search_radius(search, margin, reach), search, work)
        else:  # the nearer child first: its distance may exclude the other one
            a = 2 * node
            swap = _squared_box_distance(body, boxes[a]["low"], boxes[a]["high"]) < _squared_box_distance(
                body, boxes[a + 1]["low"], boxes[a + 1]["high"]
            )
            stack[top] = a + 1 if swap else a
            stack[top + 1] = a if swap else a + 1
            top += 2


@kernel(inline=False)
def _search_cells(ground: Any, body: Any, margin: float, reach: float, search: Any, work: Any) -> None:
    """Evaluate the triangles of a height field under the bounds of the body, extended by `reach` (m)."""
    z = rows_at(ground["heights"], ground["n_points"], HEIGHTS)
    nx, ny = ground["nx"], ground["ny"]
    i0 = _cell_at(body["low"][0] - reach, ground["x0"], ground["dx"], nx, 0)
    i1 = _cell_at(body["high"][0] + reach, ground["x0"], ground["dx"], nx, 1)
    j0 = _cell_at(body["low"][1] - reach, ground["y0"], ground["dy"], ny, 0)
    j1 = _cell_at(body["high"][1] + reach, ground["y0"], ground["dy"], ny, 1)
    for i in range(i0, i1):
        for j in range(j0, j1):
            v = i * ny + j
            limit = min(_search_radius(search, margin, reach), reach)
            if max(max(z[v], z[v + 1]), max(z[v + ny], z[v + ny + 1])) < body["low"][2] - limit:
                continue
            for half in range(2):
                _evaluate_triangle(ground, 2 * (i * (ny - 1) + j) + half, body, margin, limit, search, work)


@kernel
def _cell_at(x: float, x0: float, dx: float, count: int, up: int) -> int:
    """The cell at a coordinate, with `up` the next one; clamped to 0 to n - 1."""
    s = (x - x0) / dx
    if not s >= 0.0:  # NaN too
        return 0
    return min(int(s) + up, count - 1) if s < count else count - 1


@kernel
def _is_over_field(ground: Any, x: Any) -> bool:
    """Whether a height field has a height at this x and y."""
    i = (x[0] - ground["x0"]) / ground["dx"]
    j = (x[1] - ground["y0"]) / ground["dy"]
    return 0.0 <= i <= ground["nx"] - 1 and 0.0 <= j <= ground["ny"] - 1


@kernel
def _covers_field(ground: Any, body: Any, reach: float) -> bool:
    """Whether no cell is farther than `reach` (m) from the bounds of the body, seen from above."""
    x1 = ground["x0"] + (ground["nx"] - 1) * ground["dx"]
    y1 = ground["y0"] + (ground["ny"] - 1) * ground["dy"]
    wide = body["low"][0] - reach <= ground["x0"] and body["high"][0] + reach >= x1
    long = body["low"][1] - reach <= ground["y0"] and body["high"][1] + reach >= y1
    z = rows_at(ground["heights"], ground["n_points"], HEIGHTS)[0]
    return (wide and long and reach > body["low"][2] - z + x1 + y1) or not reach < 1e30


@kernel(inline=False)
def _evaluate_triangle(
    ground: Any, triangle: int, body: Any, margin: float, limit: float, search: Any, work: Any
) -> None:
    """Evaluate a triangle, unless its box is farther than `limit` (m), and list it if it is near."""
    a = surface.ground_vertex(ground, surface.triangle_vertex(ground, triangle, 0))
    b = surface.ground_vertex(ground, surface.triangle_vertex(ground, triangle, 1))
    c = surface.ground_vertex(ground, surface.triangle_vertex(ground, triangle, 2))
    low = (min(a[0], b[0], c[0]), min(a[1], b[1], c[1]), min(a[2], b[2], c[2]))
    high = (max(a[0], b[0], c[0]), max(a[1], b[1], c[1]), max(a[2], b[2], c[2]))
    if ground["kind"] == surface.FIELD:  # solid below the surface
        low = (low[0], low[1], -np.inf)
    if not _squared_box_distance(body, low, high) <= limit * limit:
        return
    k = part_pairs.prepare_row(search, triangle, body["part"])
    if k < 0:
        return
    row = part_pairs.core_pairs_of(search)[k]
    row["core1"] = search["triangles"] + k * part_pairs.TRIANGLE_SIZE
    surface.write_triangle(ground, triangle, row["core1"])
    row["core2"] = body["core"]
    row["radius1"] = 0.0
    row["radius2"] = body["radius"]
    for m in range(9):
        row["R"][m] = body["R"][m]
    store3(row["p"], load3(body["p"]))
    evaluate_core_pair(row, work)
    part_pairs.add_row_counters(search, row)
    verdict = _judge_triangle(ground, triangle, row)
    keep = verdict >= INTERNAL_EDGE and row["distance"] <= margin
    if row["distance"] < search["distance"] and (verdict == ACCEPTED or verdict == BEHIND):
        face = surface.mesh_face(ground, triangle)
        part_pairs.keep_closest(search, row, k if keep else -1, face, body["part"], NO_FEATURES, 1)
    if keep:
        part_pairs.list_row(search, verdict)


@kernel(inline=False)
def _drop_long_ways_out(ground: Any, search: Any, margin: float) -> None:
    """Drop forced ways out that are much longer than accepted ones, if there are any.

    The depth of a body that is entirely below a height field is the shortest way up.
    """
    pairs = part_pairs.core_pairs_of(search)
    keys = part_pairs.part_keys_of(search)
    listed = rows_at(search["listed"], search["room"], part_pairs.LISTED_ROW)
    good = search["distance"]
    up = -np.inf
    for c in range(search["n_listed"]):
        if keys[listed[c]]["verdict"] == BURIED:
            up = max(up, pairs[listed[c]]["distance"])
    deepest = min(good, up) if up > -np.inf else good
    kept = 0
    for c in range(search["n_listed"]):
        k = listed[c]
        verdict = keys[k]["verdict"]
        if verdict == FORCED or verdict == BURIED:
            if deepest < 0.0 and pairs[k]["distance"] < FORCED_WAY_FACTOR * deepest - margin:
                continue
            if pairs[k]["distance"] < search["distance"] and (verdict == FORCED or pairs[k]["distance"] == up):
                face = surface.mesh_face(ground, int(keys[k]["i"]))
                part_pairs.keep_closest(search, pairs[k], k, face, keys[k]["j"], NO_FEATURES, 1)
        listed[kept] = k
        kept += 1
    search["n_listed"] = kept


@kernel(inline=False)
def _judge_triangle(ground: Any, triangle: int, row: Any) -> int:
    """Correct the answer of V-Clip for one triangle by its neighbours. Returns the verdict."""
    n = load3(row["normal"])
    triangle_normal = surface.normal_of_triangle(ground, triangle)
    front = dot(n, triangle_normal)
    if row["relation"] == DEEP:
        if front > FLAT_ON_TRIANGLE_COSINE and not surface.in_normal_cone(ground, triangle, n, surface.NEIGHBOUR_SINE):
            _set_normal(ground, triangle, row, triangle_normal)
            return ACCEPTED
        if front > -surface.OVERLAP_SINE and surface.in_normal_cone(ground, triangle, n, surface.OVERLAP_SINE):
            return ACCEPTED
        _push_out(ground, triangle, row, triangle_normal)
        return FORCED
    if surface.in_normal_cone(ground, triangle, n, surface.NEIGHBOUR_SINE):
        if front > -surface.OVERLAP_SINE:
            return ACCEPTED
        if ground["kind"] != surface.FIELD or not _is_over_field(ground, row["x2"]):
            return BEHIND
        _push_out(ground, triangle, row, triangle_normal)
        return BURIED
    if front < FLAT_ON_TRIANGLE_COSINE:
        return DROPPED
    _set_normal(ground, triangle, row, triangle_normal)
    return INTERNAL_EDGE


@kernel(inline=False)
def _push_out(ground: Any, triangle: int, row: Any, triangle_normal: Vec3) -> None:
    """Set the shortest way out along the normal of the triangle, or of a neighbour beyond a convex edge."""
    best = triangle_normal
    least = _depth_along(ground, triangle, row, triangle_normal)
    for c in range(3):
        n = surface.neighbour_normal(ground, triangle, c, triangle_normal)
        depth = _depth_along(ground, triangle, row, n)
        if depth < least:
            least = depth
            best = n
    _set_normal(ground, triangle, row, best)


@kernel
def _depth_along(ground: Any, triangle: int, row: Any, n: Vec3) -> float:
    """Distance (m) that the core must move along n to clear the triangle."""
    core = core2_of(row)
    R = load9(row["R"])
    reach, _ = support_piece(core, 0, neg(tmul_vec(R, n)))
    top = -np.inf
    for c in range(3):
        top = max(top, dot(n, surface.ground_vertex(ground, surface.triangle_vertex(ground, triangle, c))))
    return top + reach - dot(n, load3(row["p"]))


@kernel(inline=False)
def _set_normal(ground: Any, triangle: int, row: Any, n: Vec3) -> None:
    """Set n as the normal of a row, and the lowest point of the body along it as the contact."""
    core = core2_of(row)
    R = load9(row["R"])
    v, x = support_point(core, 0, neg(tmul_vec(R, n)))
    x = add(mul_vec(R, x), load3(row["p"]))
    depth = _depth_along(ground, triangle, row, n)
    row["distance"] = -depth - row["radius2"]
    row["kind1"], row["index1"] = F, 0
    row["kind2"], row["index2"] = V, v
    store3(row["normal"], n)
    store3(row["x1"], axpy(x, depth, n))
    store3(row["x2"], axpy(x, -row["radius2"], n))


@kernel
def _turn_to_half_space(ground: Any, body: Any) -> None:
    """Turn a round body about its axis until an edge of its prism touches the half-space."""
    core = core_row_of(body)
    R = load9(body["R"])
    c, s = turn_towards(core, neg(tmul_vec(R, load3(ground["normal"]))))
    store9(body["R"], turn_matrix(R, c, s))


@kernel
def _evaluate_half_space(ground: Any, body: Any, search: Any) -> None:
    """Distance from a half-space: that of the support vertex against its normal."""
    core = core_row_of(body)
    R = load9(body["R"])
    n = load3(ground["normal"])
    v = support_vertex(core, body["vertex"], neg(tmul_vec(R, n)))
    x = add(mul_vec(R, core_vertex(core, v)), load3(body["p"]))
    above = dot(n, x) - ground["offset"]
    search["distance"] = above - body["radius"]
    search["i"] = 0
    search["j"] = body["part"]
    search["id"] = NO_FEATURES
    body["vertex"] = v
    store3(search["normal"], n)
    store3(search["x1"], axpy(x, -above, n))
    store3(search["x2"], axpy(x, -body["radius"], n))
