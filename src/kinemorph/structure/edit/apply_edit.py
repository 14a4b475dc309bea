"""Connect, cut, re-root and remove in a forest, each wholly in kernels: an EDIT row in, an OUTCOME row out."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import TREE, links_of
from kinemorph.multibody.system import F8
from kinemorph.structure.edit import plan as plans
from kinemorph.structure.edit.forest_graft import free_tree, free_tree_slot, impact_velocities_at, perform_graft
from kinemorph.structure.edit.impact import solve_impact
from kinemorph.structure.edit.registration import free_joint_slot, register_loop, remove_loop
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.memory import claim_scratch, free_row, id_of, pool_of, take_row

PLAN_SIZE = layout.PLAN.itemsize

Records = np.ndarray[tuple[int], np.dtype[np.void]]


@kernel
def clear_outcome(outcome: Any) -> None:
    outcome["status"], outcome["closes"], outcome["kind"] = layout.DONE, 0, 0
    outcome["joint"] = outcome["body"] = outcome["loop"] = outcome["lossy"] = outcome["tree"] = -1
    outcome["energy_lost"] = outcome["momentum_error"] = outcome["pose_error"] = outcome["twist_error"] = 0.0
    outcome["loop_error"] = outcome["gap"] = outcome["reach"] = outcome["speed"] = 0.0
    for k in range(6):
        outcome["impulse"][k] = 0.0


@kernel(inline=False)
def plan_edit(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Plan an edit. Returns the next stage (STRIKE, HANG), DONE, or the reason why the edit is refused."""
    plan["graft"] = plan["velocities"] = plan["loop"] = plan["removes_tree"] = 0
    plan["tree"] = -1
    if edit["what"] == layout.CONNECT:
        return plans.plan_connection(forest, edit, plan, outcome)
    if edit["what"] == layout.CUT:
        return plans.plan_cut(forest, edit, plan, outcome)
    if edit["what"] == layout.REROOT:
        return plans.plan_reroot(forest, edit, plan, outcome)
    return plans.plan_removal(forest, edit, plan, outcome)


@kernel(inline=False)
def close_loop(forest: Any, plan: Any, outcome: Any) -> None:
    """Close a loop by the joint of the plan."""
    joints = layout.joints_of(forest)
    joint = take_row(pool_of(forest, layout.JOINTS), joints)
    register_loop(forest, plan["loop"], plan["drives"], plan["a"], plan["b"], joint)
    outcome["joint"], outcome["closes"] = id_of(joints, joint), 1
    store_impact_velocities(forest, plan["velocities"], -1, -1)


@kernel(inline=False)
def store_impact_velocities(forest: Any, velocities: int, but: int, also: int) -> None:
    """Store the velocities after the impact in all collected trees but `but` and `also`, which are new."""
    trees = layout.trees_of(forest)
    t = forest["first_tree"]
    while t >= 0:
        if t != but and t != also:
            tree = layout.tree_of(trees[t])
            v = layout.v_of(trees[t], tree)
            jump = layout.jump_of(trees[t], tree)
            after = rows_at(impact_velocities_at(forest, velocities, t, layout.V), tree["nv"], F8)
            jumps = rows_at(impact_velocities_at(forest, velocities, t, layout.JUMP), tree["nv"], F8)
            for k in range(v.shape[0]):
                v[k] = after[k]
                jump[k] = jumps[k]
        t = trees[t]["follows"]


@kernel(inline=False)
def remove_tree(forest: Any, tree_index: int) -> None:
    """Remove a whole tree with its bodies, its joints and the loops on them."""
    slot = layout.trees_of(forest)[tree_index]
    bodies = layout.bodies_of(forest)
    loops = layout.loop_slots_of(forest)
    block = slot["address"]
    tree = rows_at(block, 1, TREE)[0]
    links = links_of(tree)
    for i in range(tree["n"]):
        body = links[i]["body"]
        while bodies[body]["side"] >= 0:
            k = bodies[body]["side"] >> 1
            joint = loops[k]["joint"]
            remove_loop(forest, k)
            free_joint_slot(forest, joint)
        free_row(pool_of(forest, layout.BODIES), bodies, body)
        free_joint_slot(forest, links[i]["joint"])
    free_tree_slot(forest, tree_index)
    free_tree(forest, block)


@kernel(inline=False)
def perform_planned_graft(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Perform the graft of a plan. Returns a status."""
    graft = rows_at(plan["graft"], 1, layout.GRAFT)[0]
    graft["made"] = outcome["loop"]
    status = perform_graft(forest, edit, graft, outcome)
    if status == layout.DONE and plan["velocities"] != 0:
        store_impact_velocities(forest, plan["velocities"], graft["from"], graft["to"])
    return status


@entry
def perform_edit(address: int, edits: Records, outcomes: Records) -> int:
    """Perform one change of structure, that of the first row, into the first outcome: for Python and for kernels.

    The stages are plan, impact and graft, as far as the edit needs them. Returns its status; if that is not DONE, the
    forest is unchanged.
    """
    forest, edit, outcome = rows_at(address, 1, layout.FOREST)[0], edits[0], outcomes[0]
    if forest["kind"] != layout.FOREST_KIND:
        return layout.NO_FOREST
    clear_outcome(outcome)
    forest["scratch_used"], forest["need"] = 0, 0
    at = claim_scratch(forest, PLAN_SIZE)
    if at == 0:
        return layout.FULL
    plan = rows_at(at, 1, layout.PLAN)[0]
    status = plan_edit(forest, edit, plan, outcome)
    if status == layout.IMPACT_NEXT:
        status = solve_impact(forest, edit, plan, outcome)
        if status == layout.GRAFT_NEXT and plan["tree"] < 0:
            close_loop(forest, plan, outcome)
            return layout.DONE
    if status == layout.GRAFT_NEXT and plan["graft"] == 0:
        status = plans.plan_loop_graft(forest, plan)
    if status == layout.GRAFT_NEXT:
        status = perform_planned_graft(forest, edit, plan, outcome)
        # next to a singular configuration, such as a taut chain, loops are closed, but their sides keep some of a
        # velocity that no joint can follow
        if status == layout.MOVES_OTHERWISE and outcome["loop"] >= 0:
            outcome["loop"] = -1
            status = plans.plan_free_part(forest, edit, plan)
            if status == layout.GRAFT_NEXT:
                status = perform_planned_graft(forest, edit, plan, outcome)
        if outcome["loop"] >= 0 and status == layout.OFF_POSITION:
            status = layout.LOOP_OPEN
    if status == layout.DONE and plan["removes_tree"] != 0:
        remove_tree(forest, outcome["tree"])
        outcome["joint"] = -1
    outcome["status"] = status
    return status
