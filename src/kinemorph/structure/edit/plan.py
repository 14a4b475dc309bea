"""Plan an edit: look up its ids and decide what is connected, cut and carried, before anything changes."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.free_body import is_floating
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.layout import LINK, dofs_of, links_of
from kinemorph.multibody.model.loops import LOOP
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.structure.edit.forest_graft import begin_graft
from kinemorph.structure.edit.graft_joint import reverse_graft_joint, set_graft_joint
from kinemorph.structure.edit.registration import LOOP_SIZE, free_joint_slot, remove_loop
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.islands import collect_coupled_trees, next_side
from kinemorph.structure.forest.memory import DOF_SIZE, claim_scratch, copy_words, find_row, has_room, pool_of


@kernel
def is_floating_tree(forest: Any, tree_index: int) -> bool:
    """Whether the root joint of a tree is free, and no spring, damper, friction, limit or armature acts in it."""
    if tree_index < 0:
        return False
    tree = layout.tree_of(layout.trees_of(forest)[tree_index])
    return is_floating(links_of(tree), dofs_of(tree))


@kernel
def choose_floating_tree(forest: Any, ta: int, tb: int) -> int:
    """A floating tree that has one of the bodies but not the other, that of b if possible; else -1."""
    if ta == tb:
        return -1
    if is_floating_tree(forest, tb):
        return tb
    return ta if is_floating_tree(forest, ta) else -1


@kernel(inline=False)
def plan_connection(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Plan a connection of two bodies, and collect the trees that loops couple to them. Returns STRIKE or a refusal."""
    bodies = layout.bodies_of(forest)
    pool = pool_of(forest, layout.BODIES)
    a, b = find_row(pool, bodies, edit["a"]), find_row(pool, bodies, edit["b"])
    if a < 0 and edit["a"] != -1:
        return layout.STALE_A
    if b < 0 and edit["b"] != -1:
        return layout.STALE_B
    outcome["body"] = b
    if a == b:
        return layout.SAME_BODY
    ta, la = (bodies[a]["tree"], bodies[a]["link"]) if a >= 0 else (-1, -1)
    tb, lb = (bodies[b]["tree"], bodies[b]["link"]) if b >= 0 else (-1, -1)
    plan["a"], plan["tree_a"], plan["link_a"] = a, ta, la
    plan["b"], plan["tree_b"], plan["link_b"] = b, tb, lb
    plan["tree"] = -1 if edit["how"] == layout.AS_LOOP else choose_floating_tree(forest, ta, tb)
    plan["end"] = 0
    if plan["tree"] < 0 and edit["how"] == layout.AS_TREE:
        return layout.WOULD_CLOSE_LOOP
    if plan["tree"] < 0 and edit["cannot_close"] != 0:
        return layout.UNFIT_FOR_LOOP
    plan["loop"], plan["drives"] = claim_scratch(forest, LOOP_SIZE), edit["dofs"]
    if plan["loop"] == 0 or not (has_room(forest, layout.LOOPS, 1) and has_room(forest, layout.JOINTS, 1)):
        return layout.FULL
    copy_words(edit["row"], plan["loop"], LOOP_SIZE)
    outcome["kind"] = rows_at(plan["loop"], 1, LOOP)[0]["kind"]
    collect_coupled_trees(forest, ta if ta >= 0 else tb, tb if ta >= 0 and tb != ta else -1)
    return layout.IMPACT_NEXT


@kernel(inline=False)
def plan_cut(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Plan a cut: find the subtree and the loop that still holds it. Returns HANG, or DONE for a loop."""
    joints = layout.joints_of(forest)
    bodies = layout.bodies_of(forest)
    j = find_row(pool_of(forest, layout.JOINTS), joints, edit["joint"])
    if j < 0:
        return layout.STALE_JOINT
    if joints[j]["loop"] >= 0:
        remove_loop(forest, joints[j]["loop"])
        free_joint_slot(forest, j)
        return layout.DONE
    t, link = joints[j]["tree"], joints[j]["link"]
    plan["tree"], plan["end"] = t, link
    k = find_holding_loop(forest, t, link)
    if k >= 0:
        loop = layout.loop_slots_of(forest)[k]
        plan["loop"], plan["drives"] = claim_scratch(forest, LOOP_SIZE), forest["drives"] + 6 * k * DOF_SIZE
        if plan["loop"] == 0:
            return layout.FULL
        copy_words(forest["ties"] + k * LOOP_SIZE, plan["loop"], LOOP_SIZE)
        a, b = loop["a"], loop["b"]
        row = rows_at(plan["loop"], 1, LOOP)[0]
        row["a"], row["b"] = bodies[a]["link"] if a >= 0 else -1, bodies[b]["link"] if b >= 0 else -1
        plan["tree_a"], plan["tree_b"] = bodies[a]["tree"] if a >= 0 else -1, bodies[b]["tree"] if b >= 0 else -1
        outcome["loop"] = loop["joint"]
        return layout.GRAFT_NEXT
    return plan_free_part(forest, edit, plan)


@kernel(inline=False)
def plan_free_part(forest: Any, edit: Any, plan: Any) -> int:
    """Plan a free joint for the subtree that is cut off; the loops on it stay loops. Returns a status."""
    top = plan["end"]
    if edit["root"] != -1:
        bodies = layout.bodies_of(forest)
        root = find_row(pool_of(forest, layout.BODIES), bodies, edit["root"])
        if root < 0:
            return layout.STALE_ROOT
        top = bodies[root]["link"]
        if bodies[root]["tree"] != plan["tree"] or not subtree_contains(forest, plan["tree"], plan["end"], top):
            return layout.NOT_CARRIED
    return plan_free_graft(forest, edit, plan, top)


@kernel
def plan_free_graft(forest: Any, edit: Any, plan: Any, top: int) -> int:
    """Plan a graft of the plan's subtree onto the base, by the joint of the edit, at the frame of the body of `top`."""
    at = begin_graft(forest, plan["tree"])
    if at == 0:
        return layout.FULL
    plan["graft"] = at
    graft = rows_at(at, 1, layout.GRAFT)[0]
    graft["top"], graft["end"], graft["light"] = top, plan["end"], plan["removes_tree"]
    graft["placed"] = 1
    set_graft_joint(rows_at(edit["row"], 1, LOOP)[0], edit["dofs"], graft)
    return layout.GRAFT_NEXT


@kernel(inline=False)
def plan_reroot(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Plan a re-root: a body's link becomes the root of its tree, on a new joint on the base. Returns HANG."""
    bodies = layout.bodies_of(forest)
    b = find_row(pool_of(forest, layout.BODIES), bodies, edit["b"])
    if b < 0:
        return layout.STALE_B
    outcome["body"] = b
    if rows_at(edit["row"], 1, LOOP)[0]["kind"] != FREE and edit["placed"] == layout.NO_POSITION:
        return layout.NO_PLACE
    plan["tree"], plan["end"] = bodies[b]["tree"], 0
    return plan_free_graft(forest, edit, plan, bodies[b]["link"])


@kernel(inline=False)
def plan_removal(forest: Any, edit: Any, plan: Any, outcome: Any) -> int:
    """Plan a removal: the subtree of a body is cut off and then removed. Returns HANG, or DONE for a whole tree."""
    bodies = layout.bodies_of(forest)
    b = find_row(pool_of(forest, layout.BODIES), bodies, edit["b"])
    if b < 0:
        return layout.STALE_B
    plan["tree"], plan["end"], plan["removes_tree"] = bodies[b]["tree"], bodies[b]["link"], 1
    if plan["end"] == 0:
        outcome["tree"] = plan["tree"]
        return layout.DONE
    return plan_free_graft(forest, edit, plan, plan["end"])


@kernel(inline=False)
def plan_loop_graft(forest: Any, plan: Any) -> int:
    """Plan a graft by which the joint of the plan's loop carries the plan's subtree, in place of its present joint.

    One side of the loop is in the subtree, the other is not. If the joint's successor is the side that is not, the
    joint is reversed. Returns HANG.
    """
    t, ta, tb, loop = plan["tree"], plan["tree_a"], plan["tree_b"], rows_at(plan["loop"], 1, LOOP)[0]
    at = begin_graft(forest, t)
    if at == 0:
        return layout.FULL
    plan["graft"] = at
    graft = rows_at(at, 1, layout.GRAFT)[0]
    joint = rows_at(graft["joint"], 1, LINK)[0]
    set_graft_joint(loop, plan["drives"], graft)
    shifts = rows_at(graft["shifts"], layout.source_of(graft)["n"], layout.FRAME)
    graft["velocities"], graft["end"] = plan["velocities"], plan["end"]
    if tb == t and subtree_contains(forest, t, plan["end"], loop["b"]):
        graft["top"], graft["parent"], other = loop["b"], loop["a"], ta
        store9(joint["R"], load9(loop["Ra"]))
        store3(joint["p"], load3(loop["pa"]))
        store9(shifts[loop["b"]]["R"], load9(loop["Rb"]))
        store3(shifts[loop["b"]]["p"], load3(loop["pb"]))
    else:
        reverse_graft_joint(graft)
        graft["top"], graft["parent"], other = loop["a"], loop["b"], tb
        store9(joint["R"], load9(loop["Rb"]))
        store3(joint["p"], load3(loop["pb"]))
        store9(shifts[loop["a"]]["R"], load9(loop["Ra"]))
        store3(shifts[loop["a"]]["p"], load3(loop["pa"]))
    if graft["parent"] >= 0 and other != t:
        graft["to"] = other
        graft["keep"] = ta if plan["velocities"] != 0 else other
    return layout.GRAFT_NEXT


@kernel(inline=False)
def find_holding_loop(forest: Any, tree_index: int, link: int) -> int:
    """The loop with the fewest degrees of freedom that ties the subtree of a link to the rest, -1 if there is none."""
    slot = layout.trees_of(forest)[tree_index]
    if slot["sides"] == 0:
        return -1
    bodies = layout.bodies_of(forest)
    loops = layout.loop_slots_of(forest)
    ties = layout.loops_of(forest)
    tree = layout.tree_of(slot)
    links = links_of(tree)
    best, found = 6, -1
    for i in range(link, tree["n"]):
        side = bodies[links[i]["body"]]["side"]
        if side < 0 or not subtree_contains(forest, tree_index, link, i):
            continue
        while side >= 0:
            k = side >> 1
            other = loops[k]["a"] if side & 1 else loops[k]["b"]
            inside = other >= 0 and bodies[other]["tree"] == tree_index
            inside = inside and subtree_contains(forest, tree_index, link, bodies[other]["link"])
            if not inside and (ties[k]["nv"] < best or (ties[k]["nv"] == best and k < found)):
                best, found = ties[k]["nv"], k
            side = next_side(loops, side)
    return found


@kernel
def subtree_contains(forest: Any, tree_index: int, link: int, other: int) -> bool:
    """Whether `other` is `link`, or a link of its subtree."""
    tree = layout.tree_of(layout.trees_of(forest)[tree_index])
    links = links_of(tree)
    while other > link:
        other = links[other]["parent"]
    return other == link
