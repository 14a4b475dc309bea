"""Distance, normal and closest points of two convex shapes, or their penetration depth.

A shape is a core (a polyhedron, or the prism inside a round solid) and a radius around it; all arithmetic is on cores.
A `CORE_PAIR` row holds the input, the answer and the features where the last V-Clip walk ended, from which the next one
starts. All is in the frame of the first core; the normal points from the first shape to the second.
"""

import math
from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.collision.narrow.all_features import find_closest_features
from kinemorph.collision.narrow.closest_points import closest_points
from kinemorph.collision.narrow.depth import DIFFERENCE_FLAT, ROUGH, SEPARATED, find_penetration
from kinemorph.collision.narrow.features import V, core_vertex, support_vertex, tolerance
from kinemorph.collision.narrow.shallow import find_shallow_depth
from kinemorph.collision.narrow.vclip import CLOSEST, TOO_MANY_STEPS, walk_to_closest
from kinemorph.collision.round.normals import separation_along
from kinemorph.collision.round.pairs import refine_closest, track_closest
from kinemorph.collision.round.points import FARTHEST_TOLERANCES, named_support_feature, split_residual
from kinemorph.geometry.polyhedron import core1_of, core2_of
from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, scale, sub

CORE_PAIR = np.dtype(
    [
        ("core1", "i8"),  # address of a CORE
        ("core2", "i8"),
        ("R", "f8", 9),  # rotation of core 2 in the frame of core 1; input
        ("p", "f8", 3),  # m, position of core 2 there; input
        ("radius1", "f8"),  # m, around the cores; input
        ("radius2", "f8"),
        ("coarse", "f8"),  # m, beyond it a lower bound is enough for round shapes; 0: always exact. Input
        ("kind1", "i4"),  # Feature; the closest ones, and where the next walk starts
        ("index1", "i4"),  # row of that feature
        ("kind2", "i4"),
        ("index2", "i4"),
        ("relation", "i4"),  # Relation
        ("steps", "i4"),  # of V-Clip in the last call
        ("fallbacks", "i4"),  # walks that were too long or ended too early, in all calls
        ("rough", "i4"),  # depths that are only upper bounds, in all calls
        ("missed", "i4"),  # overlaps since the last shallow one, modulo DEEP_LOOK_PERIOD
        ("distance", "f8"),  # m, of the shapes; negative: penetration depth
        ("normal", "f8", 3),  # unit, from shape 1 to shape 2
        ("x1", "f8", 3),  # m, closest point on the surface of shape 1
        ("x2", "f8", 3),  # m, on shape 2: x2 - x1 = distance normal
    ],
    align=True,
)


class Relation(IntEnum):
    """What the last evaluation found out about two cores."""

    NEW = 0  # not evaluated: the walk starts at the vertices that face each other
    APART = 1  # the cores are apart or just touch, though the shapes may overlap
    DEEP = 2  # the cores overlap
    ROUND = 3  # at least one core is that of a round solid: the normal is that of the solids, apart or not


NEW, APART, DEEP, ROUND = (int(x) for x in (Relation.NEW, Relation.APART, Relation.DEEP, Relation.ROUND))
EXACT_TOLERANCES = 1e5  # accuracy of an answer in tolerances: 1e-9 of the sizes
DEEP_LOOK_PERIOD = 16  # after so many overlaps that are not shallow, `shallow` is tried again
SAGITTA_SHARE = 0.005  # share of the radius by which a disc exceeds its inscribed polygon of 32 sides, at most
TRIANGLE_FACES = 2  # faces of a ground triangle: its normal is judged with its neighbours, and not tracked
# An answer within so many tolerances is checked, because a walk may end too early: 1e-6 of the sizes.
CHECKED_TOLERANCES = 1e8


@kernel(inline=False)
def evaluate_core_pair(pair: Any, work: Any) -> None:
    """Compute the answer of one pair. Below, core_a is core 2 and core_b is core 1, whose frame is used."""
    core_a = core2_of(pair)
    core_b = core1_of(pair)
    if core_a["sides"] + core_b["sides"] == 0:
        _evaluate_cores(pair, work)
    elif pair["relation"] != ROUND or not _track_round(pair, core_a, core_b, work):
        _evaluate_round(pair, core_a, core_b, work)


@kernel(inline=False)
def _track_round(pair: Any, core_a: Any, core_b: Any, work: Any) -> bool:
    """Track the previous answer of a pair with a round solid. False if it cannot be proved to be the closest."""
    n, R, p = load3(pair["normal"]), load9(pair["R"]), load3(pair["p"])
    if pair["coarse"] > 0.0:
        apart = separation_along(core_a, core_b, R, p, n, 0, 0)[0] - pair["radius1"] - pair["radius2"]
        if apart > pair["coarse"]:
            pair["distance"] = apart
            return True
    tol = tolerance(core_a, core_b, p)
    found, x, y, way = track_closest(core_a, core_b, R, p, p, n, tol, work)
    if not found:
        pair["relation"] = DEEP  # the old normal is still the best guess
        return False
    pair["steps"] = 0
    pair["kind1"], pair["index1"] = named_support_feature(core_b, way[3], way[1], FARTHEST_TOLERANCES * tol)
    pair["kind2"], pair["index2"] = named_support_feature(
        core_a, way[2], neg(tmul_vec(R, way[1])), FARTHEST_TOLERANCES * tol
    )
    _write_answer(pair, *split_residual(x, y, way))
    return True


@kernel(inline=False)
def _evaluate_round(pair: Any, core_a: Any, core_b: Any, work: Any) -> None:
    """The answer of a pair with a round solid, refined from that of the prism inside it."""
    _evaluate_cores(pair, work)
    if pair["relation"] == NEW:
        return
    n, p = load3(pair["normal"]), load3(pair["p"])
    x = axpy(load3(pair["x2"]), pair["radius2"], n)
    apart = pair["distance"] + pair["radius1"] + pair["radius2"]
    round_more = SAGITTA_SHARE * (core_a["low"] + core_a["high"] + core_b["low"] + core_b["high"])
    if pair["coarse"] > 0.0 and pair["distance"] - round_more > pair["coarse"]:
        pair["distance"] -= round_more
    else:
        _write_answer(
            pair, *refine_closest(core_a, core_b, load9(pair["R"]), p, x, n, apart, tolerance(core_a, core_b, p), work)
        )
    if pair["relation"] != NEW and core_b["n_faces"] != TRIANGLE_FACES:
        pair["relation"] = ROUND


@kernel
def _walk(pair: Any, core_a: Any, core_b: Any, R: Mat3, p: Vec3, tol: float) -> tuple[int, int, int, int, int]:
    """Walk from the stored features to the closest ones, and store these. How the walk ended, and both features."""
    limit = 100 + 4 * (core_a["n_faces"] + core_b["n_faces"])
    kind_b, index_b = int(pair["kind1"]), int(pair["index1"])
    kind_a, index_a = int(pair["kind2"]), int(pair["index2"])
    found, kind_a, index_a, kind_b, index_b, steps = walk_to_closest(
        core_a, core_b, R, p, kind_a, index_a, kind_b, index_b, tol, limit
    )
    pair["kind1"], pair["index1"], pair["kind2"], pair["index2"] = kind_b, index_b, kind_a, index_a
    pair["steps"] = steps
    return found, kind_a, index_a, kind_b, index_b


@kernel(inline=False)
def _evaluate_cores(pair: Any, work: Any) -> None:
    """The answer for polyhedral cores; round solids count as the prisms inside them."""
    core_a = core2_of(pair)
    core_b = core1_of(pair)
    R = load9(pair["R"])
    p = load3(pair["p"])
    tol = tolerance(core_a, core_b, p)
    if pair["relation"] == DEEP and _evaluate_overlap(pair, core_a, core_b, R, p, load3(pair["normal"]), tol, work):
        return
    if pair["relation"] != APART:
        _start_at_facing_vertices(pair, core_a, core_b, R, p)
    found, kind_a, index_a, kind_b, index_b = _walk(pair, core_a, core_b, R, p, tol)
    x, y, n, distance = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    sure = found == CLOSEST and distance > EXACT_TOLERANCES * tol
    if sure and distance < CHECKED_TOLERANCES * tol:
        sure = distance - _gap_along(core_a, core_b, R, p, n) <= EXACT_TOLERANCES * tol
    if not sure:
        if found == TOO_MANY_STEPS:
            pair["fallbacks"] += 1
        if _evaluate_overlap(pair, core_a, core_b, R, p, _centre_difference(core_a, core_b, R, p), tol, work):
            return
        if found != TOO_MANY_STEPS:
            pair["fallbacks"] += 1
        x, y, _, distance = closest_points(core_a, core_b, R, p, V, 0, V, 0)
        n = load3(pair["normal"])  # it separates the cores
        _, kind_a, index_a, kind_b, index_b = find_closest_features(
            core_a, core_b, R, p, n, (distance, V, 0, V, 0), tol
        )
        pair["kind1"], pair["index1"], pair["kind2"], pair["index2"] = kind_b, index_b, kind_a, index_a
        x, y, n, distance = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    pair["relation"] = APART
    _write_answer(pair, x, y, n, distance)


@kernel(inline=False)
def bound_core_pair(pair: Any) -> None:
    """Compute a lower bound of the distance, without depth: for hulls that are opened if they are near.

    It is exact for polyhedra that are apart and a little too small for round solids; it is the distance of cores that
    touch if they overlap.
    """
    core_a = core2_of(pair)
    core_b = core1_of(pair)
    R = load9(pair["R"])
    p = load3(pair["p"])
    tol = tolerance(core_a, core_b, p)
    if pair["relation"] != APART:
        pair["relation"] = NEW  # no normal to start from
        _start_at_facing_vertices(pair, core_a, core_b, R, p)
    found, kind_a, index_a, kind_b, index_b = _walk(pair, core_a, core_b, R, p, tol)
    pair["relation"] = APART
    x, y, n, distance = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    round_more = SAGITTA_SHARE * (core_a["low"] + core_a["high"] + core_b["low"] + core_b["high"])
    sure = found == CLOSEST and distance > CHECKED_TOLERANCES * tol
    _write_answer(pair, x, y, n, max(distance - round_more, 0.0) if sure else 0.0)


@kernel
def _gap_along(core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3) -> float:
    """The gap (m) between the cores along n: a lower bound of their distance."""
    x = add(mul_vec(R, core_vertex(core_a, support_vertex(core_a, 0, neg(tmul_vec(R, n))))), p)
    return dot(n, sub(x, core_vertex(core_b, support_vertex(core_b, 0, n))))


@kernel
def _centre_difference(core_a: Any, core_b: Any, R: Mat3, p: Vec3) -> Vec3:
    """Vector from the centre of core_b to that of core_a, in the frame of core_b."""
    return sub(add(mul_vec(R, load3(core_a["centre"])), p), load3(core_b["centre"]))


@kernel(inline=False)
def _start_at_facing_vertices(pair: Any, core_a: Any, core_b: Any, R: Mat3, p: Vec3) -> None:
    """Start a new walk at the vertices that are farthest towards the other core."""
    n = _centre_difference(core_a, core_b, R, p) if pair["relation"] == NEW else load3(pair["normal"])
    pair["kind1"], pair["index1"] = V, support_vertex(core_b, 0, n)
    pair["kind2"], pair["index2"] = V, support_vertex(core_a, 0, neg(tmul_vec(R, n)))


@kernel(inline=False)
def _evaluate_overlap(
    pair: Any, core_a: Any, core_b: Any, R: Mat3, p: Vec3, guess: Vec3, tol: float, work: Any
) -> bool:
    """Fill in the answer if the cores overlap or touch. Else return False: the normal is a separating direction."""
    if pair["relation"] != DEEP:
        pair["missed"] = 0
    else:
        if pair["missed"] == 0:
            found, x, y, n, depth = find_shallow_depth(core_a, core_b, R, p, guess)
            if found:
                _write_answer(pair, x, y, n, -depth)
                return True
        pair["missed"] = (pair["missed"] + 1) % DEEP_LOOK_PERIOD
    a = int(pair["index2"]) if pair["kind2"] == V else 0
    b = int(pair["index1"]) if pair["kind1"] == V else 0
    status, x, y, n, depth = find_penetration(core_a, core_b, R, p, guess, a, b, EXACT_TOLERANCES * tol, work)
    if status == SEPARATED:
        store3(pair["normal"], n)
        return False
    if status >= ROUGH:
        pair["rough"] += 1
    if status == DIFFERENCE_FLAT:
        x, y = _find_touching_points(pair, core_a, core_b, R, p, n, tol)
    pair["relation"] = APART if status == DIFFERENCE_FLAT else DEEP
    r = scale(axpy(sub(x, y), depth, n), 0.5)  # a residual below the gap: each point is moved by half of it
    _write_answer(pair, sub(x, r), add(y, r), n, -depth)
    return True


@kernel(inline=False)
def _find_touching_points(
    pair: Any, core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, tol: float
) -> tuple[Vec3, Vec3]:
    """Touching points of cores that are flat together. The walk may have ended at features only nearly closest."""
    kind_a, index_a, kind_b, index_b = int(pair["kind2"]), int(pair["index2"]), int(pair["kind1"]), int(pair["index1"])
    x, y, _, apart = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    if apart > EXACT_TOLERANCES * tol:
        pair["fallbacks"] += 1
        _, kind_a, index_a, kind_b, index_b = find_closest_features(
            core_a, core_b, R, p, n, (apart, kind_a, index_a, kind_b, index_b), tol
        )
        pair["kind1"], pair["index1"], pair["kind2"], pair["index2"] = kind_b, index_b, kind_a, index_a
        x, y, _, _ = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    return x, y


@kernel
def _write_answer(pair: Any, x: Vec3, y: Vec3, n: Vec3, distance: float) -> None:
    """Write the answer for the shapes from that of the cores: the radii move the closest points towards each other."""
    pair["distance"] = distance - pair["radius1"] - pair["radius2"]
    store3(pair["normal"], n)
    store3(pair["x1"], axpy(y, pair["radius1"], n))
    store3(pair["x2"], axpy(x, -pair["radius2"], n))
    if not math.isfinite(distance):  # a pose was not finite: keep nothing of it for the next step
        pair["relation"] = NEW
