"""Penetration depth of two cores by the expanding polytope algorithm (EPA) on the Minkowski difference B - A.

The difference of two convex bodies is convex; the bodies overlap if it contains the origin, and the shortest
translation that separates them is from the origin to its surface. A polytope of some of its corners grows from inside:
the facet nearest to the origin, by *signed* distance, is expanded to the support point along its normal. So the
polytope need not contain the origin at first, and the search also returns a separating axis if there is one. The facet
bounds the depth from below, the support point from above; when the two meet, the depth is exact. If the memory runs
out, the best axis so far is returned: it separates the bodies, but may not be the shortest way.
"""

import math
from typing import Any

import numpy as np

from kinemorph.collision.narrow.features import climb_to_vertex, core_vertex, support_vertex
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, neg, scale, sub

MOST_CORNERS = 512  # capacity of the polytope: n corners have 2 n - 4 facets
MOST_FACETS = 2 * MOST_CORNERS
COPLANAR_SHARE = 1e-3  # of the gap: a facet that is less below a corner is coplanar with it
MOST_RETRIES = 4  # after the first attempt
SMALL_FACET_CORNERS = 12  # corners, from which on facets are small
FEW_VERTICES = 24  # vertices: of fewer all are scanned
COPLANAR_COSINE_ERROR = 1e-12  # 1 - cosine of the angle between normals of coplanar facets

CORNER = np.dtype(
    [
        ("w", "f8", 3),  # m, y - x in the frame of B
        ("a", "i4"),  # the vertex x of A
        ("b", "i4"),  # the vertex y of B
    ],
    align=True,
)
FACET = np.dtype(
    [
        ("n", "f8", 3),  # unit, outwards
        ("d", "f8"),  # m, n · w on the facet: signed distance of the origin from it, positive if the origin is inside
        ("corners", "i4", 3),  # counterclockwise seen from outside
        ("unused", "i4"),
    ],
    align=True,
)
WORK = np.dtype(
    [("corners", CORNER, (MOST_CORNERS,)), ("facets", FACET, (MOST_FACETS,)), ("rim", "i4", (MOST_FACETS, 2))]
)

SEPARATED = 0  # the normal separates the cores, by minus the depth
DEPTH_FOUND = 1  # they overlap; the depth is accurate to the gap
DIFFERENCE_FLAT = 2  # the difference is flat: the cores touch without overlap
ROUGH = 3  # memory ran out: the depth is an upper bound
TORN = 4  # rounding tore the polytope: also an upper bound
Depth = tuple[int, Vec3, Vec3, Vec3, float]  # status, points of core_a and core_b, unit normal from b to a, depth


@kernel(inline=False)
def find_penetration(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, guess: Vec3, vertex_a: int, vertex_b: int, gap: float, work: Any
) -> Depth:
    """Penetration depth of core_a and core_b, where a point x of core_a is R x + p in core_b.

    `guess` approximates the direction from core_b to core_a; the support searches start at `vertex_a` and `vertex_b`.
    `gap` (m) is the accuracy. Nearly coplanar facets can make rounding tear the polytope; it is then built again with a
    larger coplanarity tolerance.
    """
    slack = COPLANAR_SHARE * gap
    best = _expand_polytope(core_a, core_b, R, p, guess, vertex_a, vertex_b, gap, slack, work)
    for _ in range(MOST_RETRIES):
        if best[0] != TORN:
            break
        slack *= 10.0
        other = _expand_polytope(core_a, core_b, R, p, best[3], vertex_a, vertex_b, gap, slack, work)
        if other[0] != TORN or other[4] < best[4]:
            best = other
    return best


@kernel(inline=False)
def _expand_polytope(
    core_a: Any,
    core_b: Any,
    R: Mat3,
    p: Vec3,
    guess: Vec3,
    vertex_a: int,
    vertex_b: int,
    gap: float,
    slack: float,
    work: Any,
) -> Depth:
    """Expand the polytope once, with a coplanarity tolerance `slack` (m)."""
    corners = work["corners"]
    facets = work["facets"]
    corners[0]["a"] = vertex_a
    corners[0]["b"] = vertex_b
    status, n = _first_corners(core_a, core_b, R, p, guess, gap, corners)
    if status != DEPTH_FOUND:
        x, y = _corner_points(core_a, core_b, R, p, corners, 0)
        return status, x, y, n, dot(n, load3(corners[0]["w"]))
    count = _tetrahedron(corners, facets)
    best = np.inf
    best_n = n
    status = ROUGH
    for size in range(4, MOST_CORNERS):
        f = nearest_facet(facets, count)
        n = load3(facets[f]["n"])
        reach = _support_corner(core_a, core_b, R, p, n, corners, facets[f]["corners"][0], size)
        if reach < -gap:
            x, y = _corner_points(core_a, core_b, R, p, corners, size)
            return SEPARATED, x, y, n, reach
        if reach < best:
            best = reach
            best_n = n
        if reach - facets[f]["d"] <= gap:
            x, y = _points_on_facet(core_a, core_b, R, p, corners, facets, count, f)
            if _depth_residual(x, y, n, reach) <= gap:
                return DEPTH_FOUND, x, y, n, reach
            status, x, y, n, reach = _recover_from_sliver(core_a, core_b, R, p, corners, facets, count, f, gap, size)
            if status != ROUGH:
                return status, x, y, n, reach
        grown = grow_polytope(corners, facets, work["rim"], size, count, slack)
        if grown < 0 or grown > 2 * size - 2:  # Euler: n corners carry 2 n - 4 facets at most
            status = TORN
            break
        count = grown
    x, y = _points_on_facet(core_a, core_b, R, p, corners, facets, count, nearest_facet(facets, count))
    return status, x, y, best_n, best


@kernel
def nearest_facet(facets: Any, count: int) -> int:
    """The facet at the least signed distance from the origin."""
    f = 0
    for k in range(1, count):
        if facets[k]["d"] < facets[f]["d"]:
            f = k
    return f


@kernel
def _support_corner(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, corners: Any, start_row: int, new_row: int
) -> float:
    """Write the support point of B - A along n into row `new_row`, and return its distance along n; row `start_row` is
    a guess.

    Once facets are small, hill climbing from a corner of one needs few steps.
    """
    if new_row < SMALL_FACET_CORNERS:
        a = support_vertex(core_a, corners[start_row]["a"], neg(tmul_vec(R, n)))
        b = support_vertex(core_b, corners[start_row]["b"], n)
    else:
        a = _climb_to_support(core_a, corners[start_row]["a"], neg(tmul_vec(R, n)))
        b = _climb_to_support(core_b, corners[start_row]["b"], n)
    w = sub(core_vertex(core_b, b), add(mul_vec(R, core_vertex(core_a, a)), p))
    row = corners[new_row]
    store3(row["w"], w)
    row["a"] = a
    row["b"] = b
    return dot(n, w)


@kernel(inline=False)
def _climb_to_support(core: Any, v: int, n: Vec3) -> int:
    """The support vertex along n: by hill climbing, or by a scan of all vertices if they are few, which is faster."""
    return climb_to_vertex(core, v, n) if core["n_vertices"] > FEW_VERTICES else support_vertex(core, v, n)


@kernel
def _corner_points(core_a: Any, core_b: Any, R: Mat3, p: Vec3, corners: Any, corner: int) -> tuple[Vec3, Vec3]:
    """The points of core_a and core_b whose difference is a corner."""
    return add(mul_vec(R, core_vertex(core_a, corners[corner]["a"])), p), core_vertex(core_b, corners[corner]["b"])


@kernel(inline=False)
def _first_corners(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, guess: Vec3, gap: float, corners: Any
) -> tuple[int, Vec3]:
    """Find four corners that span a volume. Or return the normal along which the difference is flat, or a separating
    one.

    As in GJK, each direction points from the corners so far to the origin; where there is no extent along it, the
    opposite one is tried.
    """
    n = unit_vector(guess)
    for k in range(4):
        if k == 1:
            n = neg(n)
        elif k == 2:
            e = unit_vector(sub(load3(corners[1]["w"]), load3(corners[0]["w"])))
            w = load3(corners[0]["w"])
            n = sub(scale(e, dot(w, e)), w)  # from the line to the origin
            n = unit_vector(n) if dot(n, n) > gap * gap else _perpendicular(e)
            n = unit_vector(sub(n, scale(e, dot(n, e))))
        elif k == 3:
            w = load3(corners[0]["w"])
            n = unit_vector(cross(sub(load3(corners[1]["w"]), w), sub(load3(corners[2]["w"]), w)))
            n = n if dot(n, w) <= 0.0 else neg(n)
        reach = _support_corner(core_a, core_b, R, p, n, corners, max(k - 1, 0), k)
        if reach < -gap:
            return _copy_to_first(corners, k, SEPARATED), n
        if k == 0 or reach - dot(n, load3(corners[0]["w"])) > gap:
            continue
        if k == 1:  # no width along the guess
            return DIFFERENCE_FLAT, neg(n)
        reach = _support_corner(core_a, core_b, R, p, neg(n), corners, k, k)
        if reach < -gap:
            return _copy_to_first(corners, k, SEPARATED), neg(n)
        if reach + dot(n, load3(corners[0]["w"])) <= gap:
            return DIFFERENCE_FLAT, n
    return DEPTH_FOUND, n


@kernel
def _copy_to_first(corners: Any, source: int, status: int) -> int:
    """Copy a corner to row 0, and return the status."""
    corners[0]["a"] = corners[source]["a"]
    corners[0]["b"] = corners[source]["b"]
    store3(corners[0]["w"], load3(corners[source]["w"]))
    return status


@kernel
def _perpendicular(edge: Vec3) -> Vec3:
    """A unit vector perpendicular to an edge."""
    return unit_vector(cross(edge, (1.0, 0.0, 0.0) if abs(edge[0]) < 0.6 else (0.0, 1.0, 0.0)))


@kernel
def unit_vector(a: Vec3) -> Vec3:
    """a / |a|; the z axis for a = 0."""
    length = math.sqrt(dot(a, a))
    return scale(a, 1.0 / length) if length > 0.0 else (0.0, 0.0, 1.0)


@kernel
def write_facet(corners: Any, facet: Any, first: int, second: int, third: int) -> None:
    """Write the facet with three corners, its unit normal and its distance from the origin."""
    w = load3(corners[first]["w"])
    n = cross(sub(load3(corners[second]["w"]), w), sub(load3(corners[third]["w"]), w))
    length = math.sqrt(dot(n, n))
    facet["corners"][0] = first
    facet["corners"][1] = second
    facet["corners"][2] = third
    if length > 0.0:
        n = scale(n, 1.0 / length)
        facet["d"] = dot(n, w)
    else:  # a sliver is never the nearest facet
        facet["d"] = np.inf
    store3(facet["n"], n)


@kernel
def _tetrahedron(corners: Any, facets: Any) -> int:
    """Write the four facets of the first four corners, and return their number."""
    w = load3(corners[0]["w"])
    n = cross(sub(load3(corners[1]["w"]), w), sub(load3(corners[2]["w"]), w))
    above = dot(n, sub(load3(corners[3]["w"]), w)) > 0.0
    i, j = (2, 1) if above else (1, 2)
    write_facet(corners, facets[0], 0, i, j)
    write_facet(corners, facets[1], 0, j, 3)
    write_facet(corners, facets[2], j, i, 3)
    write_facet(corners, facets[3], i, 0, 3)
    return 4


@kernel
def grow_polytope(corners: Any, facets: Any, rim: Any, new: int, count: int, slack: float) -> int:
    """Add corner `new` to the hull. Returns the number of facets, or -1 if no facet sees the corner or memory runs out.

    Facets that see the corner are removed; sides of exactly one of them form the rim of the hole. Facets coplanar with
    the corner all stay: if rounding chose among them, the hole could fall apart.
    """
    w = load3(corners[new]["w"])
    sides = 0
    k = 0
    while k < count:
        facet = facets[k]
        if dot(load3(facet["n"]), w) <= facet["d"] + slack:
            k += 1
            continue
        for c in range(3):
            i = facet["corners"][c]
            j = facet["corners"][(c + 1) % 3]
            twin = -1
            for s in range(sides):
                if rim[s, 0] == j and rim[s, 1] == i:
                    twin = s
            if twin >= 0:
                sides -= 1
                rim[twin, 0] = rim[sides, 0]
                rim[twin, 1] = rim[sides, 1]
            elif sides < MOST_FACETS:
                rim[sides, 0] = i
                rim[sides, 1] = j
                sides += 1
        count -= 1
        _copy_facet(facets[count], facet)
    if sides < 3 or count + sides > MOST_FACETS:
        return -1
    for s in range(sides):
        write_facet(corners, facets[count + s], rim[s, 0], rim[s, 1], new)
    return count + sides


@kernel
def _copy_facet(source: Any, target: Any) -> None:
    """Copy a facet to another row."""
    store3(target["n"], load3(source["n"]))
    target["d"] = source["d"]
    for c in range(3):
        target["corners"][c] = source["corners"][c]


@kernel(inline=False)
def _points_on_facet(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, corners: Any, facets: Any, count: int, facet: int
) -> tuple[Vec3, Vec3]:
    """The points of core_a and core_b whose difference is the projection of the origin on a facet.

    A face of the difference may consist of several coplanar facets: the one that contains the projection is used.
    """
    n = load3(facets[facet]["n"])
    foot = scale(n, facets[facet]["d"])
    most = -np.inf
    r, s, t = 1.0, 0.0, 0.0
    for k in range(count):
        if dot(load3(facets[k]["n"]), n) > 1.0 - COPLANAR_COSINE_ERROR:
            rk, sk, tk = _barycentric(corners, facets[k], foot)
            if min(rk, sk, tk) > most:
                most = min(rk, sk, tk)
                r, s, t = rk, sk, tk
                facet = k
    r, s, t = max(r, 0.0), max(s, 0.0), max(t, 0.0)
    total = r + s + t
    return _blend_points(core_a, core_b, R, p, corners, facets[facet], r / total, s / total, t / total)


@kernel
def _blend_points(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, corners: Any, facet: Any, r: float, s: float, t: float
) -> tuple[Vec3, Vec3]:
    """The points of core_a and core_b with barycentric coordinates r, s, t on a facet."""
    xi, yi = _corner_points(core_a, core_b, R, p, corners, facet["corners"][0])
    xj, yj = _corner_points(core_a, core_b, R, p, corners, facet["corners"][1])
    xk, yk = _corner_points(core_a, core_b, R, p, corners, facet["corners"][2])
    return axpy(axpy(scale(xi, r), s, xj), t, xk), axpy(axpy(scale(yi, r), s, yj), t, yk)


@kernel
def _depth_residual(x: Vec3, y: Vec3, n: Vec3, depth: float) -> float:
    """Distance (m) of y - x from depth n, its required value."""
    r = axpy(sub(y, x), -depth, n)
    return math.sqrt(dot(r, r))


@kernel(inline=False)
def _recover_from_sliver(
    core_a: Any, core_b: Any, R: Mat3, p: Vec3, corners: Any, facets: Any, count: int, facet: int, gap: float, size: int
) -> Depth:
    """Handle a final facet when neither it nor a coplanar one contains the projection of the origin.

    A polytope thinner than the gap may lie beside the origin, and slivers have arbitrary normals. The point of the
    polytope closest to the origin then gives the next direction: ROUGH means that row `size` has a new corner.
    """
    least = np.inf
    best = facet
    r, s, t = 1.0, 0.0, 0.0
    for k in range(count):
        rk, sk, tk = _closest_barycentric(corners, facets[k])
        w = _blend_corners(corners, facets[k], rk, sk, tk)
        if dot(w, w) < least:
            least = dot(w, w)
            best = k
            r, s, t = rk, sk, tk
    x, y = _blend_points(core_a, core_b, R, p, corners, facets[best], r, s, t)
    n = load3(facets[facet]["n"])
    inside = facets[facet]["d"] > 0.0
    if least <= gap * gap:
        return DEPTH_FOUND, x, y, n, math.sqrt(least) if inside else 0.0
    n = unit_vector(sub(y, x)) if inside else unit_vector(sub(x, y))
    reach = _support_corner(core_a, core_b, R, p, n, corners, facets[best]["corners"][0], size)
    if reach < -gap:
        x, y = _corner_points(core_a, core_b, R, p, corners, size)
        return SEPARATED, x, y, n, reach
    if inside and reach - math.sqrt(least) <= gap:
        return DEPTH_FOUND, x, y, n, reach
    return ROUGH, x, y, n, reach


@kernel
def _blend_corners(corners: Any, facet: Any, r: float, s: float, t: float) -> Vec3:
    """The point of a facet with barycentric coordinates r, s, t."""
    u = load3(corners[facet["corners"][0]]["w"])
    v = load3(corners[facet["corners"][1]]["w"])
    w = load3(corners[facet["corners"][2]]["w"])
    return axpy(axpy(scale(u, r), s, v), t, w)


@kernel(inline=False)
def _closest_barycentric(corners: Any, facet: Any) -> tuple[float, float, float]:
    """Barycentric coordinates of a facet's point closest to the origin: its projection, or a point on a side."""
    r, s, t = _barycentric(corners, facet, scale(load3(facet["n"]), facet["d"]))
    if min(r, s, t) >= 0.0:
        return r, s, t
    best = (1.0, 0.0, 0.0)
    least = np.inf
    for c in range(3):
        u = load3(corners[facet["corners"][c]]["w"])
        e = sub(load3(corners[facet["corners"][(c + 1) % 3]]["w"]), u)
        length = dot(e, e)
        a = min(max(-dot(u, e) / length, 0.0), 1.0) if length > 0.0 else 0.0
        w = axpy(u, a, e)
        if dot(w, w) < least:
            least = dot(w, w)
            best = (1.0 - a, a, 0.0) if c == 0 else ((0.0, 1.0 - a, a) if c == 1 else (a, 0.0, 1.0 - a))
    return best


@kernel
def _barycentric(corners: Any, facet: Any, foot: Vec3) -> tuple[float, float, float]:
    """Barycentric coordinates of a point in the plane of a facet."""
    u = load3(corners[facet["corners"][0]]["w"])
    v = load3(corners[facet["corners"][1]]["w"])
    w = load3(corners[facet["corners"][2]]["w"])
    n = cross(sub(v, u), sub(w, u))
    area = dot(n, n)
    if area == 0.0:
        return 1.0, -np.inf, 0.0
    r = dot(cross(sub(v, foot), sub(w, foot)), n) / area
    s = dot(cross(sub(w, foot), sub(u, foot)), n) / area
    return r, s, 1.0 - r - s
