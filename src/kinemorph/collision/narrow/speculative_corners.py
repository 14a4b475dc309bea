"""What of a fast body meets a face next, after the point that meets it first: all of its corners stay on their side.

A corner hits, and the body turns about it within the step, faster than contacts of the moment of the hit can know: its
middle would go on through a thin plate. So each corner above the face has a contact of its own, which lets it come as
far as the face. Then the middle of all corners stays on their side as well, however far the body turns, and the next
step finds it there; it has a contact, too, the last one, for sweeps leave something of all but that. What none of them
reaches in the step takes no impulse.

That is so but for what a solver leaves, and what a plate turns by while a body slides along it. If the middle gets past
that of a thin plate by as little, the shortest way apart would lead out on the wrong side: who met fast, and overlaps
since, goes back to where it came from.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.narrow.features import HERE, F, facing
from kinemorph.collision.narrow.manifold import MANIFOLD_ROWS, contact_id
from kinemorph.collision.narrow.shallow import inside_by
from kinemorph.collision.round.normals import along
from kinemorph.collision.round.solids import FACE_COSINE, carries, point_of, support
from kinemorph.geometry.polyhedron import CORE, faces_of
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, sub

GUARDS = 9  # at most: a corner in each octant, and the middle
MIDDLE = 8
GUARD = 3  # in an id, in place of a kind of features: no other contact has such a name
SHORT, SHORTER = 0.05, 0.8  # shares of a way along a face
SAME_CORNER_SHARE = 1e-6  # of the size: corners that are one
SAME_FACE = 0.9  # cosine: the normal of a step ago, which has turned with a face since


@kernel(inline=False)
def guard(row: Any, rest: Vec3, points: Any, count: int) -> int:
    """Add contacts of all corners of one shape of a pair above the face of the other that it meets: their number.

    If both meet with a face, those are the corners of the smaller one. `rest` is how the second shape would go on.
    """
    core_a, core_b = rows_at(row["core2"], 1, CORE)[0], rows_at(row["core1"], 1, CORE)[0]
    n, R = load3(row["normal"]), load9(row["R"])
    f1, f2 = _face_across(core_b, n), _face_across(core_a, neg(tmul_vec(R, n)))
    if f1 != HERE and (f2 == HERE or core_a["radius_bound"] <= core_b["radius_bound"]):
        return _corners_of(core_a, core_b, f1, row, rest, True, points, count)
    return _corners_of(core_b, core_a, f2, row, rest, False, points, count) if f2 != HERE else count


@kernel
def _face_across(core: Any, n: Vec3) -> int:
    """The face or disc across n, or HERE."""
    if core["sides"] > 0:
        return carries(core, n)[0]
    f, cosine = facing(core, 0, n)
    return f if cosine > FACE_COSINE else HERE


@kernel(inline=False)
def _corners_of(body: Any, plate: Any, f: int, row: Any, rest: Vec3, second: bool, points: Any, count: int) -> int:
    """The corners of one core, the second or the first of a pair, above face f of the other."""
    n, R, p = load3(row["normal"]), load9(row["R"]), load3(row["p"])
    face = faces_of(plate)[f]
    slide = axpy(rest, -dot(n, rest), n)
    for k in range(GUARDS):
        c = load3(body["centre"])
        if k != MIDDLE:
            c = support(body, 0, (1.0 if k & 1 else -1.0, 1.0 if k & 2 else -1.0, 1.0 if k & 4 else -1.0))[1]
        x = add(mul_vec(R, c), p) if second else c
        over, ahead = (x, slide) if second else (tmul_vec(R, sub(x, p)), neg(tmul_vec(R, slide)))
        if inside_by(plate, face, over) < 0.0:
            continue
        share = 1.0
        while share > SHORT and inside_by(plate, face, axpy(over, share, ahead)) < 0.0:
            share *= SHORTER
        x1 = load3(row["x1"]) if second else axpy(x, row["radius1"], n)
        x2 = axpy(x, -row["radius2"], n) if second else load3(row["x2"])
        distance = dot(n, sub(x2, x1))
        known = _is_there(points, count, x1 if not second else x2, second, SAME_CORNER_SHARE * body["radius_bound"])
        if second:
            x1 = axpy(axpy(x2, -distance, n), share, slide)
        else:
            x2 = axpy(axpy(x1, distance, n), -share, slide)
        if count < MANIFOLD_ROWS and not known:
            points[count]["id"] = contact_id(F, f, GUARD, k) if second else contact_id(GUARD, k, F, f)
            points[count]["distance"] = distance
            store3(points[count]["normal"], n)
            store3(points[count]["x1"], x1)
            store3(points[count]["x2"], x2)
            count += 1
    return count


@kernel
def _is_there(points: Any, count: int, x: Vec3, second: bool, near: float) -> bool:
    """Whether a corner has a contact: that which hits first, or one that is in several octants."""
    for k in range(count):
        y = sub(x, load3(points[k]["x2"]) if second else load3(points[k]["x1"]))
        if dot(y, y) <= near * near:
            return True
    return False


@kernel(inline=False)
def go_back(row: Any, n: Vec3) -> bool:
    """Whether the shapes of a pair that met along n, and were fast, would go apart the other way: then they go back."""
    if not row["distance"] < 0.0 or dot(n, load3(row["normal"])) >= 0.0:
        return False
    core_a, core_b = rows_at(row["core2"], 1, CORE)[0], rows_at(row["core1"], 1, CORE)[0]
    R, p = load9(row["R"]), load3(row["p"])
    f1, cosine1 = facing(core_b, 0, n)
    f2, cosine2 = facing(core_a, 0, neg(tmul_vec(R, n)))
    if cosine1 > SAME_FACE:
        n = load3(faces_of(core_b)[f1]["normal"])
    elif cosine2 > SAME_FACE:
        n = neg(mul_vec(R, load3(faces_of(core_a)[f2]["normal"])))
    distance, _, a, _ = along(core_a, core_b, R, p, n, 0, 0)
    x = add(mul_vec(R, point_of(core_a, a, neg(tmul_vec(R, n)))), p)
    row["distance"] = distance - row["radius1"] - row["radius2"]
    store3(row["normal"], n)
    store3(row["x1"], axpy(x, row["radius1"] - distance, n))
    store3(row["x2"], axpy(x, -row["radius2"], n))
    return True
