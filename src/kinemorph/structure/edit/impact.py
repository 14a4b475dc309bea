"""The plastic impact that a new joint between two moving links causes (N&Y section V).

A new joint is a loop that is closed but whose two sides still move apart. The impulses at all loops that end this
relative motion, with those at the joints of the trees, conserve momentum and lose the least energy: with J_C of all
loops, old and new, Δv = - M⁻¹ J_Cᵀ (J_C M⁻¹ J_Cᵀ)⁻¹ J_C v, which is N&Y eqs. 25 to 38 for any joints and any number of
chains. Rows that depend on others, because a constraint holds already or a side cannot move, get no impulse.

The forest's state does not change here, only computed rows do: the new velocities are in scratch.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.closure import prepare_rows, solve_loop_impulses
from kinemorph.constraint.loops import fill_errors, fill_relative_velocities, joint_frames, link_row_at
from kinemorph.constraint.solve import raise_dependence
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.energy_momentum import SUMS, store_sums
from kinemorph.multibody.algorithms.free_body import articulate_tree, jump_tree
from kinemorph.multibody.algorithms.inversion import extract_position
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.layout import DOF, LINK_DATA, link_data_of, links_of
from kinemorph.multibody.loop_layout import system_loops_of
from kinemorph.multibody.model.loops import LOOP
from kinemorph.multibody.system import F8, SYSTEM, constraint_rows_of
from kinemorph.spatial.mat3 import mul, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at, store9
from kinemorph.spatial.vec3 import add, axpy, sub
from kinemorph.structure.edit.check_result import MOTION_ERROR, is_position_error_small, max_or_nan
from kinemorph.structure.edit.successor_frame import frame_on_link, successor_frame
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.islands import assemble_system, set_loop_links
from kinemorph.structure.forest.layout import bodies_of, loop_slots_of, q_of, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import claim_scratch, copy_words

SUMS_SIZE, ROW_SIZE = SUMS.itemsize, LINK_DATA.itemsize
LARGEST_FLOAT = 1.7976931348623157e308
MOST_IMPULSE_ITERATIONS = 4  # passes over all impulses of one impact
RESIDUAL_VELOCITY_SHARE = 1e-12  # share of the largest velocity below which a relative velocity is rounding
DEPENDENT_SINE_SQUARED = 1e-13  # squared sine below which a row follows from others by rounding alone


@kernel(inline=False)
def set_loop_frames(forest: Any, edit: Any, plan: Any) -> None:
    """Set the frames of the new joint on its two links, whose poses are known, from its pose in the world."""
    bodies = bodies_of(forest)
    trees = trees_of(forest)
    ta, tb, a, b = plan["tree_a"], plan["tree_b"], plan["link_a"], plan["link_b"]
    loop = rows_at(plan["loop"], 1, LOOP)[0]
    da = rows_at(link_row_address(trees, ta if ta >= 0 else tb, a), 1, LINK_DATA)[0]
    db = rows_at(link_row_address(trees, tb if tb >= 0 else ta, b), 1, LINK_DATA)[0]
    R, p = load9(edit["at_R"]), load3(edit["at_p"])
    Ra, pa = frame_on_link(da, R, p)
    store9(loop["Ra"], Ra)
    store3(loop["pa"], pa)
    Rb, pb = successor_frame(edit, db, bodies, plan["b"], R, p)
    store9(loop["Rb"], Rb)
    store3(loop["pb"], pb)
    set_loop_links(loop, trees[ta]["place"] if ta >= 0 else 0, a, trees[tb]["place"] if tb >= 0 else 0, b)


@kernel
def link_row_address(trees: Any, tree_index: int, link: int) -> int:
    """Address of the LINK_DATA of a link of a tree; link -1 is the base."""
    return tree_of(trees[tree_index])["rows"] + (link + 1) * ROW_SIZE


@kernel(inline=False)
def sum_collected_trees(forest: Any, velocities: int, each: Any, total: Any) -> None:
    """Sum energy and momentum of all collected trees, with their own velocities or with those at an address."""
    trees = trees_of(forest)
    total["kinetic"] = 0.0
    for k in range(3):
        total["angular"][k] = total["linear"][k] = 0.0
    t = forest["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        if velocities == 0:
            store_sums(tree, q_of(trees[t], tree), v_of(trees[t], tree), each)
        else:
            store_sums(tree, q_of(trees[t], tree), rows_at(velocities, tree["nv"], F8), each)
            velocities += 8 * tree["nv"]
        total["kinetic"] += each["kinetic"]
        store3(total["angular"], add(load3(total["angular"]), load3(each["angular"])))
        store3(total["linear"], add(load3(total["linear"]), load3(each["linear"])))
        t = trees[t]["follows"]


@kernel(inline=False)
def measure_extent(forest: Any, outcome: Any) -> None:
    """Find the largest coordinate (m) and velocity (m/s, rad/s) of the bodies of all collected trees."""
    trees = trees_of(forest)
    reach = speed = 0.0
    t = forest["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        rows = link_data_of(tree)
        for i in range(1, tree["n"] + 1):
            for k in range(3):
                reach = max_or_nan(reach, abs(rows[i]["p"][k]))
                speed = max_or_nan(max_or_nan(speed, abs(rows[i]["v"][k])), abs(rows[i]["w"][k]))
        t = trees[t]["follows"]
    outcome["reach"], outcome["speed"] = reach, speed


@kernel
def is_grounded(forest: Any, loop: Any) -> bool:
    """Whether a joint, a loop or the new joint ties the collected trees to the base."""
    trees = trees_of(forest)
    loops = loop_slots_of(forest)
    if loop["a"] < 0 or loop["b"] < 0:
        return True
    t = forest["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        if links_of(tree)[0]["kind"] != FREE:
            return True
        t = trees[t]["follows"]
    k = forest["first_loop"]
    while k >= 0:
        if loops[k]["a"] < 0 or loops[k]["b"] < 0:
            return True
        k = loops[k]["follows"]
    return False


@kernel(inline=False)
def solve_impact(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Compute the impact of the joint of a plan on the collected trees. Returns a status.

    The velocities after the impact are at `plan["velocities"]`, one tree after the other in the order of the
    collection, followed by the jumps.
    """
    sums = claim_scratch(forest, 3 * SUMS_SIZE)
    if sums == 0:
        return layout.FULL
    before, after, each = rows_at(sums, 3, SUMS)[0], rows_at(sums, 3, SUMS)[1], rows_at(sums, 3, SUMS)[2]
    sum_collected_trees(forest, 0, each, before)  # also updates the poses of the links
    copy_words(sums, sums + SUMS_SIZE, SUMS_SIZE)
    measure_extent(forest, outcome)
    if not (outcome["reach"] <= LARGEST_FLOAT and before["kinetic"] <= LARGEST_FLOAT):
        return layout.NOT_FINITE
    set_loop_frames(forest, edit, plan)
    at = assemble_system(forest, plan["loop"])
    if at == 0:
        return layout.FULL
    system = rows_at(at, 1, SYSTEM)[0]
    velocities = claim_scratch(forest, 16 * system["nv"])
    if velocities == 0:
        return layout.FULL
    plan["velocities"] = velocities
    outcome["loop_error"] = fill_errors(system)
    prepare_impact(forest, system, velocities)
    # masses that are very different leave something of the velocities for a second turn
    for _ in range(MOST_IMPULSE_ITERATIONS):
        if fill_relative_velocities(system) <= RESIDUAL_VELOCITY_SHARE * (1.0 + outcome["speed"]):
            break
        apply_loop_impulses(forest, system, velocities, outcome)
        sum_collected_trees(forest, velocities, each, after)
        outcome["energy_lost"] = before["kinetic"] - after["kinetic"]
    report_new_joint(system, outcome)
    error = 0.0
    for k in range(3):
        error = max_or_nan(error, abs(after["angular"][k] - before["angular"][k]))
        error = max_or_nan(error, abs(after["linear"][k] - before["linear"][k]))
    loop = rows_at(plan["loop"], 1, LOOP)[0]
    outcome["momentum_error"] = 0.0 if is_grounded(forest, loop) else error
    if not abs(outcome["energy_lost"]) <= LARGEST_FLOAT:
        return layout.NOT_FINITE
    if not is_position_error_small(outcome["gap"], outcome["reach"]):
        return layout.OFF_POSITION
    if not is_within_limits(loop, rows_at(plan["drives"], loop["nv"], DOF), outcome["position"]):
        return layout.OUTSIDE_LIMITS
    return layout.GRAFT_NEXT


@kernel
def prepare_impact(forest: Any, system: Any, velocities: int) -> None:
    """Prepare the constraint rows for impulses, and set the jumps to zero. The loop errors are in the rows."""
    trees = trees_of(forest)
    nv = system["nv"]
    after, jumps = rows_at(velocities, nv, F8), rows_at(velocities + 8 * nv, nv, F8)
    t = forest["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        articulate_tree(tree, q_of(trees[t], tree))
        v = v_of(trees[t], tree)
        first = trees[t]["offset"]
        for k in range(tree["nv"]):
            after[first + k] = v[k]
            jumps[first + k] = 0.0
        t = trees[t]["follows"]
    raise_dependence(system, min(system["dependence"], DEPENDENT_SINE_SQUARED))
    prepare_rows(system, 0.0)


@kernel
def apply_loop_impulses(forest: Any, system: Any, velocities: int, outcome: Any) -> None:
    """Apply impulses that cancel the relative velocities, which are in the rows; update velocities and jumps."""
    trees = trees_of(forest)
    nv = system["nv"]
    after, jumps = rows_at(velocities, nv, F8), rows_at(velocities + 8 * nv, nv, F8)
    solve_loop_impulses(system)
    t = forest["first_tree"]
    while t >= 0:
        tree = tree_of(trees[t])
        v = v_of(trees[t], tree)
        first = trees[t]["offset"]
        jump_tree(tree, after[first : first + tree["nv"]])
        for k in range(tree["nv"]):
            jumps[first + k] += after[first + k]
            after[first + k] = v[k] + jumps[first + k]
        t = trees[t]["follows"]
    add_joint_impulse(system, outcome)


@kernel
def add_joint_impulse(system: Any, outcome: Any) -> None:
    """Add the impulse of the new joint, the last loop, to the outcome."""
    loop = system_loops_of(system)[system["count"] - 1]
    rows = constraint_rows_of(system)
    n, f = load3_at(outcome["impulse"], 0), load3_at(outcome["impulse"], 3)
    for j in range(loop["first"], loop["first"] + loop["m"]):
        n = axpy(n, rows[j]["force"], load3(rows[j]["n"]))
        f = axpy(f, rows[j]["force"], load3(rows[j]["f"]))
    store3_at(outcome["impulse"], 0, n)
    store3_at(outcome["impulse"], 3, f)


@kernel
def is_within_limits(loop: Any, dofs: Any, position: Any) -> bool:
    """Whether the position of the new joint is within its limits, of joints whose q has as many entries as v."""
    if loop["nq"] != loop["nv"]:
        return True
    for k in range(loop["nv"]):
        if position[k] < dofs[k]["lower"] - MOTION_ERROR or position[k] > dofs[k]["upper"] + MOTION_ERROR:
            return False
    return True


@kernel
def report_new_joint(system: Any, outcome: Any) -> None:
    """Write gap and position of the new joint, the last loop, to the outcome."""
    loops = system_loops_of(system)
    rows = constraint_rows_of(system)
    loop = loops[system["count"] - 1]
    fill_errors(system)
    gap = 0.0
    for j in range(loop["first"], loop["first"] + loop["m"]):
        gap = max_or_nan(gap, abs(rows[j]["c"]))
    outcome["gap"] = gap
    da = rows_at(link_row_at(system, loop["tree_a"], loop["a"]), 1, LINK_DATA)[0]
    db = rows_at(link_row_at(system, loop["tree_b"], loop["b"]), 1, LINK_DATA)[0]
    Ra, xa, Rb, xb = joint_frames(loop, da, db)
    loop["iq"] = 0
    extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(xb, xa)), outcome["position"])
