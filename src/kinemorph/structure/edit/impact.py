"""The impact with which a joint between two moving links begins to hold (N&Y section V).

A joint that has just been made is a loop that is closed but whose two sides still move apart. The impulses at all loops
that end this, with those at the joints of the trees, conserve momentum and lose the least energy: with J_C of all
loops, old and new, Δv = - M⁻¹ J_Cᵀ (J_C M⁻¹ J_Cᵀ)⁻¹ J_C v, which is N&Y eqs. 25 to 38 for any joints and any number
of chains. Rows that depend on others, because a constraint holds already or a side cannot move, bear no impulse.

Nothing of the forest changes here but what algorithms compute: the new velocities are in scratch.
"""

from __future__ import annotations

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.constraint.closure import cancel, prepare
from kinemorph.constraint.loops import errors, frames, link_at, relative_velocities
from kinemorph.constraint.solve import MOST_UNSURE, UNSURE
from kinemorph.multibody.energy_momentum import SUMS, sum_up
from kinemorph.multibody.impulse import articulate, jump
from kinemorph.multibody.inversion import extract_position
from kinemorph.multibody.joints import FREE
from kinemorph.multibody.layout import LINK, LINK_DATA, TREE
from kinemorph.multibody.loops import LOOP
from kinemorph.multibody.system import F8, I8, ROW, SYSTEM
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load9, store3, store3_at, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, sub
from kinemorph.structure.edit.proof import larger
from kinemorph.structure.forest_islands import assemble
from kinemorph.structure.forest_layout import LOOP_SLOT, NOT_SAID, ON_BODY, TREE_SLOT, Q, V
from kinemorph.structure.forest_memory import claim

SUMS_SIZE = SUMS.itemsize
ROUNDING = 1e-13  # squared sine below which a row follows from others by rounding alone


@kernel
def seen(d: Any, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3]:
    """A frame of the world, seen from a link."""
    E = load9(d["R"])
    return mul(transpose(E), R), tmul_vec(E, sub(p, load3(d["p"])))


@kernel(inline=False)
def take_hold(loop: Any, edit: Any, da: Any, db: Any, own: Any) -> None:
    """Where a new joint that stands at a place in the world holds its two links, from their rows.

    `own` is the body's own frame on link b, for what is said about that.
    """
    R, p = load9(edit["at_R"]), load3(edit["at_p"])
    Ra, pa = seen(da, R, p)
    store9(loop["Ra"], Ra)
    store3(loop["pa"], pa)
    Rb, pb = hold(edit, db, own, R, p)
    store9(loop["Rb"], Rb)
    store3(loop["pb"], pb)


@kernel
def hold(edit: Any, d: Any, own: Any, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3]:
    """Where on a link a joint holds it: as it is said, or else where the joint, at (R, p) in the world, is now."""
    if edit["held"] == NOT_SAID:
        return seen(d, R, p)
    on_R, on_p = load9(edit["on_R"]), load3(edit["on_p"])
    if edit["held"] == ON_BODY:
        E = load9(own["R"])
        return mul(E, on_R), add(load3(own["p"]), mul_vec(E, on_p))
    return on_R, on_p


@kernel(inline=False)
def add_up(forest: Any, velocities: int, each: Any, total: Any) -> None:
    """Energy and momentum of all trees that are collected, with their own velocities or others, tree by tree."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    total["kinetic"] = 0.0
    for k in range(3):
        total["angular"][k] = total["linear"][k] = 0.0
    t = forest["first_tree"]
    while t >= 0:
        tree = rows_at(trees[t]["address"], 1, TREE)[0]
        if velocities == 0:
            sum_up(
                tree,
                rows_at(trees[t]["state"] + 8 * tree["nq"] * Q, tree["nq"], F8),
                rows_at(trees[t]["state"] + 8 * tree["nq"] * V, tree["nv"], F8),
                each,
            )
        else:
            sum_up(
                tree,
                rows_at(trees[t]["state"] + 8 * tree["nq"] * Q, tree["nq"], F8),
                rows_at(velocities, tree["nv"], F8),
                each,
            )
            velocities += 8 * tree["nv"]
        total["kinetic"] += each["kinetic"]
        store3(total["angular"], add(load3(total["angular"]), load3(each["angular"])))
        store3(total["linear"], add(load3(total["linear"]), load3(each["linear"])))
        t = trees[t]["follows"]


@kernel(inline=False)
def extent(forest: Any, outcome: Any) -> None:
    """How far out the bodies of all trees that are collected are, and how fast."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    reach = speed = 0.0
    t = forest["first_tree"]
    while t >= 0:
        tree = rows_at(trees[t]["address"], 1, TREE)[0]
        rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
        for i in range(1, tree["n"] + 1):
            for k in range(3):
                reach = larger(reach, abs(rows[i]["p"][k]))
                speed = larger(larger(speed, abs(rows[i]["v"][k])), abs(rows[i]["w"][k]))
        t = trees[t]["follows"]
    outcome["reach"], outcome["speed"] = reach, speed


@kernel
def grounded(forest: Any, loop: Any) -> bool:
    """Whether anything ties the trees that are collected, or the new joint, to the base."""
    trees, loops = (
        rows_at(forest["trees"], forest["tree_room"], TREE_SLOT),
        rows_at(forest["loops"], forest["loop_room"], LOOP_SLOT),
    )
    if loop["a"] < 0 or loop["b"] < 0:
        return True
    t = forest["first_tree"]
    while t >= 0:
        tree = rows_at(trees[t]["address"], 1, TREE)[0]
        if rows_at(tree["links"], 1, LINK)[0]["kind"] != FREE:
            return True
        t = trees[t]["follows"]
    k = forest["first_loop"]
    while k >= 0:
        if loops[k]["a"] < 0 or loops[k]["b"] < 0:
            return True
        k = loops[k]["follows"]
    return False


@kernel(inline=False)
def strike(forest: Any, more: int, before: Any, outcome: Any) -> int:
    """The impact of a joint, the LOOP row at `more`, on the trees that are collected, which are placed and move.

    Returns the address of the velocities after it, followed by the jumps, one tree after the other in the order of the
    collection; 0 if scratch is too small. `before` are the sums of what was.
    """
    at = assemble(forest, more)
    if at == 0:
        return 0
    system = rows_at(at, 1, SYSTEM)[0]
    nv, count = system["nv"], system["tree_count"]
    velocities = claim(forest, 16 * nv)
    sums = claim(forest, 2 * SUMS_SIZE)
    if sums == 0:
        return 0
    after, jumps = rows_at(velocities, nv, F8), rows_at(velocities + 8 * nv, nv, F8)
    addresses, offsets = rows_at(system["trees"], count, I8), rows_at(system["offsets"], count, I8)
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    outcome["loop_error"] = errors(system)
    t = forest["first_tree"]
    while t >= 0:
        tree = rows_at(trees[t]["address"], 1, TREE)[0]
        articulate(tree, rows_at(trees[t]["state"] + 8 * tree["nq"] * Q, tree["nq"], F8))
        t = trees[t]["follows"]
    sine = min(UNSURE * outcome["loop_error"], MOST_UNSURE)
    prepare(system, max(min(system["dependence"], ROUNDING), sine * sine), 0.0)
    relative_velocities(system)
    cancel(system)
    t = forest["first_tree"]
    for i in range(count):
        tree = rows_at(addresses[i], 1, TREE)[0]
        first, last = offsets[i], offsets[i] + tree["nv"]
        jump(tree, jumps[first:last])
        v = rows_at(trees[t]["state"] + 8 * tree["nq"] * V, tree["nv"], F8)
        for k in range(tree["nv"]):
            after[first + k] = v[k] + jumps[first + k]
        t = trees[t]["follows"]
    tell(system, outcome)
    each = rows_at(sums, 2, SUMS)
    add_up(forest, velocities, each[0], each[1])
    outcome["energy_lost"] = before["kinetic"] - each[1]["kinetic"]
    error = 0.0
    for k in range(3):
        error = larger(error, abs(each[1]["angular"][k] - before["angular"][k]))
        error = larger(error, abs(each[1]["linear"][k] - before["linear"][k]))
    outcome["momentum_error"] = 0.0 if grounded(forest, rows_at(more, 1, LOOP)[0]) else error
    return velocities


@kernel
def tell(system: Any, outcome: Any) -> None:
    """Impulse, misfit and position of the new joint, which is the last loop."""
    loops = rows_at(system["loops"], system["count"], LOOP)
    rows = rows_at(system["rows"], system["m"], ROW)
    loop = loops[system["count"] - 1]
    n = f = (0.0, 0.0, 0.0)
    for j in range(loop["first"], loop["first"] + loop["m"]):
        n = axpy(n, rows[j]["force"], load3(rows[j]["n"]))
        f = axpy(f, rows[j]["force"], load3(rows[j]["f"]))
    store3_at(outcome["impulse"], 0, n)
    store3_at(outcome["impulse"], 3, f)
    errors(system)
    gap = 0.0
    for j in range(loop["first"], loop["first"] + loop["m"]):
        gap = larger(gap, abs(rows[j]["c"]))
    outcome["gap"] = gap
    da = rows_at(link_at(system, loop["tree_a"], loop["a"]), 1, LINK_DATA)[0]
    db = rows_at(link_at(system, loop["tree_b"], loop["b"]), 1, LINK_DATA)[0]
    Ra, xa, Rb, xb = frames(loop, da, db)
    loop["iq"] = 0
    extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(xb, xa)), outcome["position"])
