"""Connect, cut, re-root and remove in a forest, each wholly in kernels: an EDIT row in, an OUTCOME row out."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import TREE, links_of
from kinemorph.multibody.system import F8
from kinemorph.structure.edit.hang import after_impact, drop_tree, forget_tree, rehang
from kinemorph.structure.edit.impact import strike
from kinemorph.structure.edit.plan import (
    cut_loose,
    graft_through,
    plan_connection,
    plan_cut,
    plan_removal,
    plan_root,
)
from kinemorph.structure.edit.registration import forget_joint, link_loop, unlink_loop
from kinemorph.structure.forest.layout import (
    BODIES,
    CONNECT,
    CUT,
    DONE,
    FOREST,
    FOREST_KIND,
    FULL,
    GRAFT,
    HANG,
    JOINTS,
    JUMP,
    MOVES,
    NO_FOREST,
    OFF,
    OPEN,
    PLAN,
    REROOT,
    STRIKE,
    V,
    bodies_of,
    joints_of,
    loop_slots_of,
    tree_of,
    trees_of,
)
from kinemorph.structure.forest.memory import claim, give_back, id_of, pool_of, take

PLAN_SIZE = PLAN.itemsize

Records = np.ndarray[tuple[int], np.dtype[np.void]]


@kernel
def clear_outcome(outcome: Any) -> None:
    outcome["status"], outcome["closes"], outcome["kind"] = DONE, 0, 0
    outcome["joint"] = outcome["body"] = outcome["loop"] = outcome["lossy"] = outcome["tree"] = -1
    outcome["energy_lost"] = outcome["momentum_error"] = outcome["pose_error"] = outcome["twist_error"] = 0.0
    outcome["loop_error"] = outcome["gap"] = outcome["reach"] = outcome["speed"] = 0.0
    for k in range(6):
        outcome["impulse"][k] = 0.0


@kernel(inline=False)
def make_plan(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Plan an edit. Returns the next stage (STRIKE, HANG), DONE, or the reason why the edit is refused."""
    plan["graft"] = plan["velocities"] = plan["loop"] = plan["felled"] = 0
    plan["tree"] = -1
    if edit["what"] == CONNECT:
        return plan_connection(forest, edit, plan, outcome)
    if edit["what"] == CUT:
        return plan_cut(forest, edit, plan, outcome)
    if edit["what"] == REROOT:
        return plan_root(forest, edit, plan, outcome)
    return plan_removal(forest, edit, plan, outcome)


@kernel(inline=False)
def close_loop(forest: Any, plan: Any, outcome: Any) -> None:
    """Close a loop by the joint of the plan."""
    joints = joints_of(forest)
    joint = take(pool_of(forest, JOINTS), joints)
    link_loop(forest, plan["loop"], plan["drives"], plan["a"], plan["b"], joint)
    outcome["joint"], outcome["closes"] = id_of(joints, joint), 1
    adopt_velocities(forest, plan["velocities"], -1, -1)


@kernel(inline=False)
def adopt_velocities(forest: Any, velocities: int, but: int, also: int) -> None:
    """Store the velocities after the impact in all collected trees but `but` and `also`, which are new."""
    trees = trees_of(forest)
    t = forest["first_tree"]
    while t >= 0:
        if t != but and t != also:
            tree = tree_of(trees[t])
            v = rows_at(trees[t]["state"] + 8 * tree["nq"] * V, tree["nv"], F8)
            jump = rows_at(trees[t]["state"] + 8 * tree["nq"] * JUMP, tree["nv"], F8)
            after = rows_at(after_impact(forest, velocities, t, V), tree["nv"], F8)
            jumps = rows_at(after_impact(forest, velocities, t, JUMP), tree["nv"], F8)
            for k in range(v.shape[0]):
                v[k] = after[k]
                jump[k] = jumps[k]
        t = trees[t]["follows"]


@kernel(inline=False)
def fell(forest: Any, t: int) -> None:
    """Remove a whole tree with its bodies, its joints and the loops on them."""
    slot = trees_of(forest)[t]
    bodies = bodies_of(forest)
    loops = loop_slots_of(forest)
    block = slot["address"]
    tree = rows_at(block, 1, TREE)[0]
    links = links_of(tree)
    for i in range(tree["n"]):
        body = links[i]["body"]
        while bodies[body]["side"] >= 0:
            k = bodies[body]["side"] >> 1
            joint = loops[k]["joint"]
            unlink_loop(forest, k)
            forget_joint(forest, joint)
        give_back(pool_of(forest, BODIES), bodies, body)
        forget_joint(forest, links[i]["joint"])
    forget_tree(forest, t)
    drop_tree(forest, block)


@kernel(inline=False)
def hang_as_planned(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Perform the graft of a plan. Returns a status."""
    graft = rows_at(plan["graft"], 1, GRAFT)[0]
    graft["made"] = outcome["loop"]
    status = rehang(forest, edit, graft, outcome)
    if status == DONE and plan["velocities"] != 0:
        adopt_velocities(forest, plan["velocities"], graft["from"], graft["to"])
    return status


@entry
def perform_edit(address: int, edits: Records, outcomes: Records) -> int:
    """Perform one change of structure, that of the first row, into the first outcome: for Python and for kernels.

    The stages are plan, impact and graft, as far as the edit needs them. Returns its status; if that is not DONE, the
    forest is unchanged.
    """
    forest, edit, outcome = rows_at(address, 1, FOREST)[0], edits[0], outcomes[0]
    if forest["kind"] != FOREST_KIND:
        return NO_FOREST
    clear_outcome(outcome)
    forest["scratch_used"], forest["need"] = 0, 0
    at = claim(forest, PLAN_SIZE)
    if at == 0:
        return FULL
    plan = rows_at(at, 1, PLAN)[0]
    status = make_plan(forest, edit, plan, outcome)
    if status == STRIKE:
        status = strike(forest, edit, plan, outcome)
        if status == HANG and plan["tree"] < 0:
            close_loop(forest, plan, outcome)
            return DONE
    if status == HANG and plan["graft"] == 0:
        status = graft_through(forest, plan)
    if status == HANG:
        status = hang_as_planned(forest, edit, plan, outcome)
        if status == MOVES and outcome["loop"] >= 0:  # next to a singular configuration, such as a taut chain, loops
            outcome["loop"] = -1  # are closed, but their sides keep some of a velocity that no joint can follow
            status = cut_loose(forest, edit, plan)
            if status == HANG:
                status = hang_as_planned(forest, edit, plan, outcome)
        if outcome["loop"] >= 0 and status == OFF:
            status = OPEN
    if status == DONE and plan["felled"] != 0:
        fell(forest, outcome["tree"])
        outcome["joint"] = -1
    outcome["status"] = status
    return status
