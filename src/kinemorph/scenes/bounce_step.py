"""One step of `bounce` in kernels, by the rules of Fontijne 2.6: boxes, hash, motion, V-Clip, walls, bounces.

The objects, the answers of the narrow phase and what else a run knows are rows. The answers of a pair are in the rows
with the number of its row in the broad phase; without hashing, all pairs have a row, one after the other.
"""

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.collision.core_pair import NEW, evaluate
from kinemorph.collision.hash_rows import HASH
from kinemorph.collision.hash_rows import PAIR as CLOSE
from kinemorph.collision.hash_update import FULL, fill, update_boxes
from kinemorph.geometry.parts import NODE
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.quaternion import exp, multiply, normalized, to_matrix
from kinemorph.spatial.rows import load3, load4_at, load9, store3, store4_at, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, neg, scale, sub

OBJECT = np.dtype(
    [
        ("x", "f8", 3),  # m, its centre
        ("q", "f8", 4),  # w x y z
        ("v", "f8", 3),  # m/s
        ("w", "f8", 3),  # rad/s, world axes; never changes
        ("gravity", "f8"),  # m/s, added to v_y at each step
        ("R", "f8", 9),  # of q
        ("half", "f8", 3),  # m, half the sides of the box around it in its own frame, which is around its centre
        ("core", "i8"),  # of its hull
        ("nodes", "i8"),  # address of the tree of its convex parts, and
        ("n_nodes", "i8"),  # how many there are; 1 if it is convex
    ]
)

BOUNCE = np.dtype(
    [
        ("n", "i8"),  # objects
        ("hash", "i8"),  # address of the HASH, see BroadPhase.lend
        ("half", "f8"),  # m, half a side of the world, which is a cube around the origin
        ("dt", "f8"),  # s, the step size
        ("speed", "f8"),  # m/s, largest component of a new velocity
        ("random", "i8", 2),  # state of the random numbers
        ("phases", "i8"),  # bits: HASHING, COHERENCE, VCLIP
        ("steps", "i8"),  # how far it is
        ("pairs", "i8"),  # in the last step
        ("updates", "i8"),  # of pairs by V-Clip, since the start, as all that follows; convex parts count each
        ("walked", "i8"),  # steps of V-Clip
        ("fallbacks", "i8"),
        ("rough", "i8"),
        ("bounces", "i8"),  # pairs that were found to penetrate
        ("opened", "i8"),  # hulls of concave objects that were opened
    ]
)
HASHING, COHERENCE, VCLIP = 1, 2, 4

ANSWER = np.dtype(
    [
        ("distance", "f8"),  # m, of the convex parts if a hull was opened, else of the hulls
        ("x1", "f8", 3),  # m, world: the closest points
        ("x2", "f8", 3),
        ("opened", "i8"),
    ]
)


# --- random numbers (L'Ecuyer 1988: two small generators, no overflow, which LLVM leaves undefined) ---


@kernel
def uniform(b: Any) -> float:
    """Between -1 and 1."""
    s = b["random"]
    s[0] = 40014 * s[0] % 2147483563
    s[1] = 40692 * s[1] % 2147483399
    return ((s[0] - s[1]) % 2147483562) * (2.0 / 2147483562.0) - 1.0


@kernel
def any_velocity(b: Any) -> Vec3:
    s = b["speed"]
    return (s * uniform(b), s * uniform(b), s * uniform(b))


# --- the rules ---


@kernel
def box_for_step(o: Any, dt: float, low: Any, high: Any) -> None:
    """Rule 1: the box around where an object is and where it will be; in between it is not looked at."""
    x = load3(o["x"])
    h = load3(o["half"])
    r = reach(load9(o["R"]), h)
    y = axpy(x, dt, load3(o["v"]))
    s = reach(to_matrix(turned(o, dt)), h)
    for d in range(3):
        low[d] = min(x[d] - r[d], y[d] - s[d])
        high[d] = max(x[d] + r[d], y[d] + s[d])


@kernel
def reach(R: Mat3, h: Vec3) -> Vec3:
    """Half the sides of the box around a box that is turned."""
    return (
        abs(R[0]) * h[0] + abs(R[1]) * h[1] + abs(R[2]) * h[2],
        abs(R[3]) * h[0] + abs(R[4]) * h[1] + abs(R[5]) * h[2],
        abs(R[6]) * h[0] + abs(R[7]) * h[1] + abs(R[8]) * h[2],
    )


@kernel
def turned(o: Any, dt: float) -> Any:
    return normalized(multiply(exp(scale(load3(o["w"]), dt)), load4_at(o["q"], 0)))


@kernel
def move(o: Any, dt: float) -> None:
    """Rule 3: along its velocity, which then changes by its gravity factor."""
    store3(o["x"], axpy(load3(o["x"]), dt, load3(o["v"])))
    q = turned(o, dt)
    store4_at(o["q"], 0, q)
    store9(o["R"], to_matrix(q))
    o["v"][1] += o["gravity"]


@kernel
def turn_back(b: Any, o: Any) -> None:
    """Rule 5: whoever's centre has left the world gets a random velocity that leads back."""
    out = False
    for d in range(3):
        out |= abs(o["x"][d]) > b["half"]
    if out:
        v = any_velocity(b)
        store3(o["v"], v)
        for d in range(3):
            if abs(o["x"][d]) > b["half"]:
                o["v"][d] = -abs(o["v"][d]) if o["x"][d] > 0.0 else abs(o["v"][d])


@kernel
def part(b: Any, first: Any, second: Any) -> None:
    """Rule 6: two that penetrate get random velocities by which their centres move away from each other."""
    d = sub(load3(second["x"]), load3(first["x"]))
    v = any_velocity(b)
    store3(first["v"], neg(v) if dot(v, d) > 0.0 else v)
    v = any_velocity(b)
    store3(second["v"], neg(v) if dot(v, d) < 0.0 else v)


# --- rule 4: distances ---


@kernel
def ask(b: Any, pair: Any, first: int, second: int, work: Any) -> None:
    """V-Clip for one pair of cores, from where it was the last time."""
    if pair["core1"] != first or pair["core2"] != second:
        pair["core1"] = first
        pair["core2"] = second
        pair["state"] = NEW
    pair["steps"] = 0
    evaluate(pair, work)
    b["updates"] += 1
    b["walked"] += pair["steps"]
    b["fallbacks"] += pair["fallbacks"]
    b["rough"] += pair["rough"]
    pair["fallbacks"] = 0
    pair["rough"] = 0


@kernel(inline=False)
def distance(b: Any, first: Any, second: Any, pair: Any, answer: Any, spare: Any, work: Any) -> None:
    """Of two objects. Hulls of concave ones are opened only if they touch (Fontijne 2.4.2)."""
    R1 = load9(first["R"])
    x = load3(first["x"])
    store9(pair["R"], mul(transpose(R1), load9(second["R"])))
    store3(pair["p"], tmul_vec(R1, sub(load3(second["x"]), x)))
    ask(b, pair, first["core"], second["core"], work)
    best = pair
    answer["opened"] = 0
    answer["distance"] = pair["distance"]
    store3(answer["x1"], add(x, mul_vec(R1, load3(best["x1"]))))
    store3(answer["x2"], add(x, mul_vec(R1, load3(best["x2"]))))
    if pair["distance"] > 0.0 or first["n_nodes"] + second["n_nodes"] == 2:
        return
    b["opened"] += 1
    answer["opened"] = 1
    answer["distance"] = np.inf
    for c in range(9):
        spare["R"][c] = pair["R"][c]
    store3(spare["p"], load3(pair["p"]))
    R, p = load9(pair["R"]), load3(pair["p"])
    nodes = rows_at(first["nodes"], first["n_nodes"], NODE)
    others = rows_at(second["nodes"], second["n_nodes"], NODE)
    for i in range(first["n_nodes"]):
        for j in range(second["n_nodes"]):
            if nodes[i]["part"] < 0 or others[j]["part"] < 0:
                continue  # a hull inside the tree: the parts are few, and each has a ball around it
            r = sub(add(mul_vec(R, load3(others[j]["centre"])), p), load3(nodes[i]["centre"]))
            room = answer["distance"] + nodes[i]["radius_bound"] + others[j]["radius_bound"]
            if room > 0.0 and dot(r, r) < room * room:
                spare["core1"] = 0  # forget
                ask(b, spare, nodes[i]["core"], others[j]["core"], work)
                if spare["distance"] < answer["distance"]:
                    answer["distance"] = spare["distance"]
                    store3(answer["x1"], add(x, mul_vec(R1, load3(spare["x1"]))))
                    store3(answer["x2"], add(x, mul_vec(R1, load3(spare["x2"]))))


@kernel(inline=False)
def all_distances(b: Any, objects: Any, pairs: Any, answers: Any, work: Any) -> None:
    """Of the pairs that the hash has, or of all; the last row of `pairs` is for the parts of concave objects."""
    h = rows_at(b["hash"], 1, HASH)[0]
    spare = pairs[pairs.shape[0] - 1]
    b["pairs"] = 0
    if b["phases"] & HASHING:
        close = rows_at(h["pairs"], h["pair_room"], CLOSE)
        for k in range(h["pair_count"]):
            if close[k]["count"] >= 0:
                b["pairs"] += 1
                first, second = objects[close[k]["a"]], objects[close[k]["b"]]
                distance(b, first, second, pairs[k], answers[k], spare, work)
    else:
        for i in range(b["n"]):
            for j in range(i + 1, b["n"]):
                k = b["pairs"]
                b["pairs"] = k + 1
                distance(b, objects[i], objects[j], pairs[k], answers[k], spare, work)


@kernel
def bounce_off(b: Any, objects: Any, answers: Any) -> None:
    """Rule 6 for all pairs."""
    h = rows_at(b["hash"], 1, HASH)[0]
    if b["phases"] & HASHING:
        close = rows_at(h["pairs"], h["pair_room"], CLOSE)
        for k in range(h["pair_count"]):
            if close[k]["count"] >= 0 and answers[k]["distance"] <= 0.0:
                b["bounces"] += 1
                part(b, objects[close[k]["a"]], objects[close[k]["b"]])
    else:
        k = 0
        for i in range(b["n"]):
            for j in range(i + 1, b["n"]):
                if answers[k]["distance"] <= 0.0:
                    b["bounces"] += 1
                    part(b, objects[i], objects[j])
                k += 1


# --- what Python calls: the phases one by one, and many steps ---


@entry(nogil=True)
def broad_phase(bounce: Any, objects: Any, lows: Any, highs: Any) -> int:
    """Rules 1 and 2: boxes and hash. FULL if tables must grow first; nothing has changed then."""
    b = bounce[0]
    for i in range(b["n"]):
        box_for_step(objects[i], b["dt"], lows[i], highs[i])
    if not b["phases"] & HASHING:
        return 0
    if not b["phases"] & COHERENCE:
        fill(b["hash"])
    return update_boxes(b["hash"], lows, highs)


@entry(nogil=True)
def narrow_phase(bounce: Any, objects: Any, pairs: Any, answers: Any, work: Any) -> None:
    """Rules 3 and 4: motion and distances."""
    b = bounce[0]
    for i in range(b["n"]):
        move(objects[i], b["dt"])
    if b["phases"] & VCLIP:
        all_distances(b, objects, pairs, answers, work[0])


@entry(nogil=True)
def response(bounce: Any, objects: Any, answers: Any) -> None:
    """Rules 5 and 6: walls and bounces."""
    b = bounce[0]
    for i in range(b["n"]):
        turn_back(b, objects[i])
    if b["phases"] & VCLIP:
        bounce_off(b, objects, answers)
    b["steps"] += 1


@entry(nogil=True)
def advance(
    bounce: Any, objects: Any, lows: Any, highs: Any, pairs: Any, answers: Any, work: Any, steps: int, updates: int
) -> int:
    """Step until `steps` or `updates` are reached. FULL if tables must grow before the next step."""
    b = bounce[0]
    h = rows_at(b["hash"], 1, HASH)[0]
    if b["phases"] & HASHING and h["pair_room"] >= pairs.shape[0]:
        return FULL
    while b["steps"] < steps and b["updates"] < updates:
        if broad_phase(bounce, objects, lows, highs) == FULL:
            return FULL
        narrow_phase(bounce, objects, pairs, answers, work)
        response(bounce, objects, answers)
    return 0
