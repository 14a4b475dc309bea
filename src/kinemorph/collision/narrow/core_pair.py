"""Two convex shapes: their distance, normal and closest points, or how deep they overlap.

A shape is a core and a radius around it, and all arithmetic is on the cores. A `CORE_PAIR` row carries what is asked,
the answer, and the features where the last walk ended: the next one starts there. Everything is in the frame of the
first core; the normal points from the first shape to the second.
"""

import math
from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.collision.narrow.all_features import all_features
from kinemorph.collision.narrow.closest_points import closest_points
from kinemorph.collision.narrow.depth import DIFFERENCE_FLAT, PARTED, ROUGH, penetration
from kinemorph.collision.narrow.features import V, farthest, position, tolerance
from kinemorph.collision.narrow.shallow import shallow
from kinemorph.collision.narrow.vclip import CLOSEST, TOO_MANY_STEPS, walk
from kinemorph.collision.round.normals import along
from kinemorph.collision.round.pairs import follow, true_closest
from kinemorph.collision.round.points import FARTHEST_TOLERANCES, feature_along, level
from kinemorph.geometry.polyhedron import CORE
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9, store3
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, scale, sub

CORE_PAIR = np.dtype(
    [
        ("core1", "i8"),  # address of a CORE
        ("core2", "i8"),
        ("R", "f8", 9),  # rotation of core 2 in the frame of core 1; asked
        ("p", "f8", 3),  # m, position of core 2 there; asked
        ("radius1", "f8"),  # m, around the cores; asked
        ("radius2", "f8"),
        ("coarse", "f8"),  # m, of round shapes that are farther apart a lower bound is enough; 0: it is not. Asked
        ("kind1", "i4"),  # Feature; the closest ones, and where the next walk starts
        ("index1", "i4"),  # row of that feature
        ("kind2", "i4"),
        ("index2", "i4"),
        ("relation", "i4"),  # Relation
        ("steps", "i4"),  # of V-Clip in the last call
        ("fallbacks", "i4"),  # how often the walk was too long or ended too early, in all calls
        ("rough", "i4"),  # how often a depth was an upper bound only, in all calls
        ("missed", "i4"),  # overlaps since the last that was seen to be shallow, modulo AGAIN
        ("distance", "f8"),  # m, of the shapes; negative: how deep they overlap
        ("normal", "f8", 3),  # unit, from shape 1 to shape 2
        ("x1", "f8", 3),  # m, closest point on the surface of shape 1
        ("x2", "f8", 3),  # m, on shape 2: x2 - x1 = distance normal
    ],
    align=True,
)


class Relation(IntEnum):
    """What is known of two cores."""

    NEW = 0  # nothing: the next walk starts at the vertices that face each other
    APART = 1  # the cores are apart or just touch, though the shapes may overlap
    DEEP = 2  # the cores overlap
    ROUND = 3  # at least one core is that of a round solid: the normal is that of the solids, apart or not


NEW, APART, DEEP, ROUND = (int(x) for x in (Relation.NEW, Relation.APART, Relation.DEEP, Relation.ROUND))
EXACT_TOLERANCES = 1e5  # an answer is exact to so many tolerances: 1e-9 of the sizes
DEEP_LOOK_PERIOD = 16  # of so many overlaps that are not shallow, one is looked at again
SAGITTA = 0.005  # of its radius, by which a disc is more than the 32 sides in it, at most
TWO_SIDES = 2  # faces of a triangle of the ground: its neighbours have a say in its normal, which then is not its own
CHECKED_TOLERANCES = (
    1e8  # within so many tolerances a walk may end too early, and its answer is checked: 1e-6 of the sizes
)


@kernel(inline=False)
def evaluate(pair: Any, work: Any) -> None:
    """Fill in the answer of one pair. In what follows A is core 2, and B, in whose frame everything is, core 1."""
    core_a = rows_at(pair["core2"], 1, CORE)[0]
    core_b = rows_at(pair["core1"], 1, CORE)[0]
    if core_a["sides"] + core_b["sides"] == 0:
        _evaluate_cores(pair, work)
    elif pair["relation"] != ROUND or not _go_on(pair, core_a, core_b, work):
        _evaluate_round(pair, core_a, core_b, work)


@kernel(inline=False)
def _go_on(pair: Any, core_a: Any, core_b: Any, work: Any) -> bool:
    """The answer of a pair with a round solid near that of the last time, if that is proved to be right."""
    n, R, p = load3(pair["normal"]), load9(pair["R"]), load3(pair["p"])
    if pair["coarse"] > 0.0:
        apart = along(core_a, core_b, R, p, n, 0, 0)[0] - pair["radius1"] - pair["radius2"]
        if apart > pair["coarse"]:
            pair["distance"] = apart
            return True
    tol = tolerance(core_a, core_b, p)
    found, x, y, way = follow(core_a, core_b, R, p, p, n, tol, work)
    if not found:
        pair["relation"] = DEEP  # its normal is still the best guess
        return False
    pair["steps"] = 0
    pair["kind1"], pair["index1"] = feature_along(core_b, way[3], way[1], FARTHEST_TOLERANCES * tol)
    pair["kind2"], pair["index2"] = feature_along(core_a, way[2], neg(tmul_vec(R, way[1])), FARTHEST_TOLERANCES * tol)
    _answer(pair, *level(x, y, way))
    return True


@kernel(inline=False)
def _evaluate_round(pair: Any, core_a: Any, core_b: Any, work: Any) -> None:
    """The answer of a pair with a round solid, from that of the prism in it."""
    _evaluate_cores(pair, work)
    if pair["relation"] == NEW:
        return
    n, p = load3(pair["normal"]), load3(pair["p"])
    x = axpy(load3(pair["x2"]), pair["radius2"], n)
    apart = pair["distance"] + pair["radius1"] + pair["radius2"]
    round_more = SAGITTA * (core_a["low"] + core_a["high"] + core_b["low"] + core_b["high"])
    if pair["coarse"] > 0.0 and pair["distance"] - round_more > pair["coarse"]:
        pair["distance"] -= round_more
    else:
        _answer(
            pair, *true_closest(core_a, core_b, load9(pair["R"]), p, x, n, apart, tolerance(core_a, core_b, p), work)
        )
    if pair["relation"] != NEW and core_b["n_faces"] != TWO_SIDES:
        pair["relation"] = ROUND


@kernel(inline=False)
def _evaluate_cores(pair: Any, work: Any) -> None:
    """The same for polyhedra; of round solids, for the prisms in them."""
    core_a = rows_at(pair["core2"], 1, CORE)[0]
    core_b = rows_at(pair["core1"], 1, CORE)[0]
    R = load9(pair["R"])
    p = load3(pair["p"])
    tol = tolerance(core_a, core_b, p)
    if pair["relation"] == DEEP and _overlap(pair, core_a, core_b, R, p, load3(pair["normal"]), tol, work):
        return
    if pair["relation"] != APART:
        _face_each_other(pair, core_a, core_b, R, p)
    limit = 100 + 4 * (core_a["n_faces"] + core_b["n_faces"])
    found, kind_a, index_a, kind_b, index_b, steps = walk(
        core_a,
        core_b,
        R,
        p,
        int(pair["kind2"]),
        int(pair["index2"]),
        int(pair["kind1"]),
        int(pair["index1"]),
        tol,
        limit,
    )
    pair["kind1"], pair["index1"], pair["kind2"], pair["index2"], pair["steps"] = (
        kind_b,
        index_b,
        kind_a,
        index_a,
        steps,
    )
    x, y, n, distance = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    sure = found == CLOSEST and distance > EXACT_TOLERANCES * tol
    if sure and distance < CHECKED_TOLERANCES * tol:
        sure = distance - _room(core_a, core_b, R, p, n) <= EXACT_TOLERANCES * tol
    if not sure:
        if found == TOO_MANY_STEPS:
            pair["fallbacks"] += 1
        if _overlap(pair, core_a, core_b, R, p, _between_centres(core_a, core_b, R, p), tol, work):
            return
        if found != TOO_MANY_STEPS:
            pair["fallbacks"] += 1
        x, y, _, distance = closest_points(core_a, core_b, R, p, V, 0, V, 0)
        n = load3(pair["normal"])  # it separates the cores
        _, kind_a, index_a, kind_b, index_b = all_features(core_a, core_b, R, p, n, (distance, V, 0, V, 0), tol)
        pair["kind1"], pair["index1"], pair["kind2"], pair["index2"] = kind_b, index_b, kind_a, index_a
        x, y, n, distance = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    pair["relation"] = APART
    _answer(pair, x, y, n, distance)


@kernel(inline=False)
def bound(pair: Any) -> None:
    """Fill in the answer of a pair whose cores are apart; else a distance of the cores of 0, which is never too much.
    Of round solids it is a little too small.

    This is for hulls around what matters: it takes no depth.
    """
    core_a = rows_at(pair["core2"], 1, CORE)[0]
    core_b = rows_at(pair["core1"], 1, CORE)[0]
    R = load9(pair["R"])
    p = load3(pair["p"])
    tol = tolerance(core_a, core_b, p)
    if pair["relation"] != APART:
        pair["relation"] = NEW  # there is no normal to start from
        _face_each_other(pair, core_a, core_b, R, p)
    limit = 100 + 4 * (core_a["n_faces"] + core_b["n_faces"])
    found, kind_a, index_a, kind_b, index_b, steps = walk(
        core_a,
        core_b,
        R,
        p,
        int(pair["kind2"]),
        int(pair["index2"]),
        int(pair["kind1"]),
        int(pair["index1"]),
        tol,
        limit,
    )
    pair["kind1"], pair["index1"], pair["kind2"], pair["index2"], pair["steps"] = (
        kind_b,
        index_b,
        kind_a,
        index_a,
        steps,
    )
    pair["relation"] = APART
    x, y, n, distance = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    round_more = SAGITTA * (core_a["low"] + core_a["high"] + core_b["low"] + core_b["high"])
    _answer(
        pair,
        x,
        y,
        n,
        max(distance - round_more, 0.0) if found == CLOSEST and distance > CHECKED_TOLERANCES * tol else 0.0,
    )


@kernel
def _room(core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3) -> float:
    """How far apart the cores are along n: no more than their distance."""
    x = add(mul_vec(R, position(core_a, farthest(core_a, 0, neg(tmul_vec(R, n))))), p)
    return dot(n, sub(x, position(core_b, farthest(core_b, 0, n))))


@kernel
def _between_centres(core_a: Any, core_b: Any, R: Mat3, p: Vec3) -> Vec3:
    return sub(add(mul_vec(R, load3(core_a["centre"])), p), load3(core_b["centre"]))


@kernel(inline=False)
def _face_each_other(pair: Any, core_a: Any, core_b: Any, R: Mat3, p: Vec3) -> None:
    """Start at the vertices of a new pair that are farthest towards the other core."""
    n = _between_centres(core_a, core_b, R, p) if pair["relation"] == NEW else load3(pair["normal"])
    pair["kind1"], pair["index1"] = V, farthest(core_b, 0, n)
    pair["kind2"], pair["index2"] = V, farthest(core_a, 0, neg(tmul_vec(R, n)))


@kernel(inline=False)
def _overlap(pair: Any, core_a: Any, core_b: Any, R: Mat3, p: Vec3, guess: Vec3, tol: float, work: Any) -> bool:
    """Fill in the answer if the cores overlap or touch; else leave a direction that separates them as normal."""
    if pair["relation"] != DEEP:
        pair["missed"] = 0
    else:
        if pair["missed"] == 0:
            found, x, y, n, depth = shallow(core_a, core_b, R, p, guess)
            if found:
                _answer(pair, x, y, n, -depth)
                return True
        pair["missed"] = (pair["missed"] + 1) % DEEP_LOOK_PERIOD
    a = int(pair["index2"]) if pair["kind2"] == V else 0
    b = int(pair["index1"]) if pair["kind1"] == V else 0
    status, x, y, n, depth = penetration(core_a, core_b, R, p, guess, a, b, EXACT_TOLERANCES * tol, work)
    if status == PARTED:
        store3(pair["normal"], n)
        return False
    if status >= ROUGH:
        pair["rough"] += 1
    if status == DIFFERENCE_FLAT:
        x, y = _touch(pair, core_a, core_b, R, p, n, tol)
    pair["relation"] = APART if status == DIFFERENCE_FLAT else DEEP
    r = scale(axpy(sub(x, y), depth, n), 0.5)  # less than the gap: each point takes its half of it
    _answer(pair, sub(x, r), add(y, r), n, -depth)
    return True


@kernel(inline=False)
def _touch(pair: Any, core_a: Any, core_b: Any, R: Mat3, p: Vec3, n: Vec3, tol: float) -> tuple[Vec3, Vec3]:
    """Where cores that are flat together touch. The walk may have ended where they only nearly do."""
    kind_a, index_a, kind_b, index_b = int(pair["kind2"]), int(pair["index2"]), int(pair["kind1"]), int(pair["index1"])
    x, y, _, apart = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    if apart > EXACT_TOLERANCES * tol:
        pair["fallbacks"] += 1
        _, kind_a, index_a, kind_b, index_b = all_features(
            core_a, core_b, R, p, n, (apart, kind_a, index_a, kind_b, index_b), tol
        )
        pair["kind1"], pair["index1"], pair["kind2"], pair["index2"] = kind_b, index_b, kind_a, index_a
        x, y, _, _ = closest_points(core_a, core_b, R, p, kind_a, index_a, kind_b, index_b)
    return x, y


@kernel
def _answer(pair: Any, x: Vec3, y: Vec3, n: Vec3, distance: float) -> None:
    """From the cores to the shapes: the radii move the closest points towards each other."""
    pair["distance"] = distance - pair["radius1"] - pair["radius2"]
    store3(pair["normal"], n)
    store3(pair["x1"], axpy(y, pair["radius1"], n))
    store3(pair["x2"], axpy(x, -pair["radius2"], n))
    if not math.isfinite(distance):  # a pose was not finite: let nothing of it live on
        pair["relation"] = NEW
