"""Speculative contacts of a fast body after its first hit: all of its corners stay on their side of the face it hits.

After a corner hits, the body rotates about it within the step, faster than the contacts of the impact predict: its
middle could pass through a thin plate. So each corner above the face gets a contact of its own that stops it at the
face. Then the middle of all corners stays on their side too, however far the body turns, and the next step finds it
there. The middle has the last contact, because Gauss-Seidel satisfies only the last row exactly. Corners that do not
reach the face in the step take no impulse.

Exceptions are solver residuals, and the rotation of a plate while a body slides along it. Once the middle is beyond
that of a thin plate, the shortest way out leads to the wrong side. So a pair that met fast and now overlaps is
separated along its previous normal.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.narrow.features import NOT_FOUND, F, most_aligned_face
from kinemorph.collision.narrow.manifold import MANIFOLD_ROWS, contact_id
from kinemorph.collision.narrow.shallow import distance_inside_face
from kinemorph.collision.round.normals import separation_along
from kinemorph.collision.round.solids import FACE_COSINE, facing_feature, piece_point, support_point
from kinemorph.geometry.polyhedron import core1_of, core2_of, faces_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, sub

MOST_SPECULATIVE_CONTACTS = 9  # at most: a corner in each octant, and the middle
MIDDLE_CORNER = 8
SPECULATIVE_KIND = 3  # in a contact id, in place of a kind of feature, so that the ids differ from all others
SHORTEST_SLIDE_SHARE = 0.05  # smallest share of a slide along a face
SLIDE_REDUCTION = 0.8  # the factor by which it is reduced
SAME_CORNER_SHARE = 1e-6  # of the size: corners closer than this are one
SAME_FACE_COSINE = 0.9  # cosine: the face has turned since the previous step


@kernel(inline=False)
def add_speculative_contacts(row: Any, rest: Vec3, points: Any, count: int) -> int:
    """Add contacts of the corners of one shape above the face of the other that it hits. Returns the number of
    contacts.

    If both meet with a face, the corners are those of the smaller shape. `rest` (m) is the remaining displacement of
    the second shape.
    """
    core_a, core_b = core2_of(row), core1_of(row)
    n, R = load3(row["normal"]), load9(row["R"])
    f1, f2 = _face_across(core_b, n), _face_across(core_a, neg(tmul_vec(R, n)))
    if f1 != NOT_FOUND and (f2 == NOT_FOUND or core_a["radius_bound"] <= core_b["radius_bound"]):
        return _add_corner_contacts(core_a, core_b, f1, row, rest, True, points, count)
    return _add_corner_contacts(core_b, core_a, f2, row, rest, False, points, count) if f2 != NOT_FOUND else count


@kernel
def _face_across(core: Any, n: Vec3) -> int:
    """The face or disc across n, or NOT_FOUND."""
    if core["sides"] > 0:
        return facing_feature(core, n)[0]
    f, cosine = most_aligned_face(core, 0, n)
    return f if cosine > FACE_COSINE else NOT_FOUND


@kernel(inline=False)
def _add_corner_contacts(
    body: Any, plate: Any, f: int, row: Any, rest: Vec3, second: bool, points: Any, count: int
) -> int:
    """Add the corners of one core, the second or first of a pair, above face f of the other."""
    n, R, p = load3(row["normal"]), load9(row["R"]), load3(row["p"])
    face = faces_of(plate)[f]
    slide = axpy(rest, -dot(n, rest), n)
    for k in range(MOST_SPECULATIVE_CONTACTS):
        c = load3(body["centre"])
        if k != MIDDLE_CORNER:
            c = support_point(body, 0, (1.0 if k & 1 else -1.0, 1.0 if k & 2 else -1.0, 1.0 if k & 4 else -1.0))[1]
        x = add(mul_vec(R, c), p) if second else c
        over, ahead = (x, slide) if second else (tmul_vec(R, sub(x, p)), neg(tmul_vec(R, slide)))
        if distance_inside_face(plate, face, over) < 0.0:
            continue
        share = 1.0
        while share > SHORTEST_SLIDE_SHARE and distance_inside_face(plate, face, axpy(over, share, ahead)) < 0.0:
            share *= SLIDE_REDUCTION
        x1 = load3(row["x1"]) if second else axpy(x, row["radius1"], n)
        x2 = axpy(x, -row["radius2"], n) if second else load3(row["x2"])
        distance = dot(n, sub(x2, x1))
        known = _has_corner(points, count, x1 if not second else x2, second, SAME_CORNER_SHARE * body["radius_bound"])
        if second:
            x1 = axpy(axpy(x2, -distance, n), share, slide)
        else:
            x2 = axpy(axpy(x1, distance, n), -share, slide)
        if count < MANIFOLD_ROWS and not known:
            points[count]["id"] = (
                contact_id(F, f, SPECULATIVE_KIND, k) if second else contact_id(SPECULATIVE_KIND, k, F, f)
            )
            points[count]["distance"] = distance
            store3(points[count]["normal"], n)
            store3(points[count]["x1"], x1)
            store3(points[count]["x2"], x2)
            count += 1
    return count


@kernel
def _has_corner(points: Any, count: int, x: Vec3, second: bool, near: float) -> bool:
    """Whether a corner already has a contact: the first one to hit, or a corner in several octants."""
    for k in range(count):
        y = sub(x, load3(points[k]["x2"]) if second else load3(points[k]["x1"]))
        if dot(y, y) <= near * near:
            return True
    return False


@kernel(inline=False)
def separate_along_impact(row: Any, n: Vec3) -> bool:
    """Whether a pair that met fast along n would now separate the opposite way; if so, its answer is changed to n."""
    if not row["distance"] < 0.0 or dot(n, load3(row["normal"])) >= 0.0:
        return False
    core_a, core_b = core2_of(row), core1_of(row)
    R, p = load9(row["R"]), load3(row["p"])
    f1, cosine1 = most_aligned_face(core_b, 0, n)
    f2, cosine2 = most_aligned_face(core_a, 0, neg(tmul_vec(R, n)))
    if cosine1 > SAME_FACE_COSINE:
        n = load3(faces_of(core_b)[f1]["normal"])
    elif cosine2 > SAME_FACE_COSINE:
        n = neg(mul_vec(R, load3(faces_of(core_a)[f2]["normal"])))
    distance, _, a, _ = separation_along(core_a, core_b, R, p, n, 0, 0)
    x = add(mul_vec(R, piece_point(core_a, a, neg(tmul_vec(R, n)))), p)
    row["distance"] = distance - row["radius1"] - row["radius2"]
    store3(row["normal"], n)
    store3(row["x1"], axpy(x, row["radius1"] - distance, n))
    store3(row["x2"], axpy(x, -row["radius2"], n))
    return True
