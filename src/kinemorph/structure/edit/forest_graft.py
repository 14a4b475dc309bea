"""Perform a graft in a forest: allocate the new trees, fill them, verify that no body has moved, and then commit."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.impulse import articulate
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.algorithms.kinematics import accelerate_links
from kinemorph.multibody.layout import LINK, TREE, dof_data_of, dofs_of, link_data_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import IDENTITY
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store9
from kinemorph.spatial.vec3 import dot
from kinemorph.structure.edit import check_result
from kinemorph.structure.edit.graft import I4, fill_chain_shifts, fill_graft_rows, order_links
from kinemorph.structure.edit.graft_state import fill_graft_state
from kinemorph.structure.edit.registration import free_joint_slot, register_tree, remove_loop, shift_body
from kinemorph.structure.edit.successor_frame import frame_on_link, successor_frame
from kinemorph.structure.forest import layout, memory

GRAFT_SIZE, FRAME_SIZE = layout.GRAFT.itemsize, layout.FRAME.itemsize
MASSLESS_SHARE = 1e-13  # share of the inertia around a joint below which the inertia that it moves is rounding


@kernel(inline=False)
def begin_graft(forest: Any, tree_index: int) -> int:
    """Claim a graft that takes a link from tree t, with all its scratch. Returns its address, 0 if scratch is FULL."""
    tree = layout.tree_of(layout.trees_of(forest)[tree_index])
    n, numbers = tree["n"], 48 * tree["nq"]
    at = memory.claim_scratch(forest, GRAFT_SIZE)
    order = memory.claim_scratch(forest, 4 * n)
    where = memory.claim_scratch(forest, 4 * n)
    shifts = memory.claim_scratch(forest, FRAME_SIZE * n)
    state, turned = memory.claim_scratch(forest, numbers), memory.claim_scratch(forest, numbers)
    joint = memory.claim_scratch(forest, memory.LINK_SIZE)
    dofs = memory.claim_scratch(forest, 6 * memory.DOF_SIZE)
    slack = memory.claim_scratch(forest, 56)
    if slack == 0:
        return 0
    graft = rows_at(at, 1, layout.GRAFT)[0]
    graft["from"], graft["to"], graft["keep"], graft["made"] = tree_index, -1, tree_index, -1
    graft["velocities"], graft["light"], graft["placed"], graft["parent"] = 0, 0, 0, -1
    graft["source"] = layout.trees_of(forest)[tree_index]["address"]
    graft["order"], graft["where"], graft["shifts"] = order, where, shifts
    graft["state"], graft["turned"] = state, turned
    graft["joint"], graft["dofs"], graft["slack"] = joint, dofs, slack
    return at


@kernel
def velocities_at(forest: Any, graft: Any, tree_index: int, which: int) -> int:
    """Address of a tree's velocities after the impact (V) or their jumps (JUMP); without an impact, of its own."""
    slot = layout.trees_of(forest)[tree_index]
    if graft["velocities"] == 0:
        return slot["state"] + 8 * layout.tree_of(slot)["nq"] * which
    return impact_velocities_at(forest, graft["velocities"], tree_index, which)


@kernel
def impact_velocities_at(forest: Any, velocities: int, tree_index: int, which: int) -> int:
    """Address of the velocities (V) or jumps (JUMP) that the impact gave a collected tree."""
    slot = layout.trees_of(forest)[tree_index]
    return velocities + 8 * (slot["offset"] + (forest["rates"] if which == layout.JUMP else 0))


@kernel(inline=False)
def copy_tree_state(forest: Any, graft: Any, tree_index: int, to: int, room: int) -> None:
    """Copy a tree's state, with its velocities after the impact, into one with room for `room` entries of q."""
    slot = layout.trees_of(forest)[tree_index]
    tree = layout.tree_of(slot)
    for which in range(6):
        count = tree["nq"] if which == layout.Q or which == layout.REST else tree["nv"]
        at = slot["state"] + 8 * tree["nq"] * which
        if which == layout.V or which == layout.JUMP:
            at = velocities_at(forest, graft, tree_index, which)
        old, new = rows_at(at, count, F8), rows_at(to + 8 * room * which, count, F8)
        for k in range(count):
            new[k] = old[k] if which != layout.JUMP or graft["velocities"] != 0 else 0.0


@kernel
def allocate_tree(forest: Any, count: int, nq: int, nv: int) -> tuple[int, int]:
    """Allocate a block for a tree of this size. Returns block and state address; both 0 if memory is short."""
    block = memory.allocate_block(forest, memory.block_class_of(memory.tree_size(count, nq, nv)))
    if block == 0:
        return 0, 0
    state = memory.lay_out_tree(block, count, nq, nv)
    memory.clear_tree_rows(forest, block)
    return block, state


@kernel
def free_tree(forest: Any, block: int) -> None:
    """Free the block of a tree."""
    tree = rows_at(block, 1, TREE)[0]
    memory.free_block(forest, block, memory.block_class_of(memory.tree_size(tree["n"], tree["nq"], tree["nv"])))


@kernel(inline=False)
def allocate_graft_trees(forest: Any, graft: Any) -> bool:
    """Allocate the trees that stay and that move, and copy the host's own rows. Returns whether there was memory."""
    source = layout.source_of(graft)
    links, order = links_of(source), rows_at(graft["order"], source["n"], I4)
    stay, n = graft["stay_count"], source["n"]
    joint = rows_at(graft["joint"], 1, LINK)[0]
    nq = nv = 0
    for s in range(stay):
        nq += links[order[s]]["nq"]
        nv += links[order[s]]["nv"]
    end = links[graft["end"]]
    more_q = source["nq"] - nq - end["nq"] + joint["nq"]
    more_v = source["nv"] - nv - end["nv"] + joint["nv"]
    graft["rest"] = graft["rest_state"] = 0
    if graft["to"] < 0 and graft["parent"] >= 0:  # it hangs on what stays
        graft["rest"], graft["rest_state"] = allocate_tree(forest, n, nq + more_q, nv + more_v)
        graft["host"], graft["host_state"] = graft["rest"], graft["rest_state"]
        graft["n0"], graft["iq0"], graft["iv0"] = stay, nq, nv
        graft["parent"] = rows_at(graft["where"], n, I4)[graft["parent"]]
        return graft["host"] != 0
    if stay > 0:
        graft["rest"], graft["rest_state"] = allocate_tree(forest, stay, nq, nv)
        if graft["rest"] == 0:
            return False
    graft["n0"] = graft["iq0"] = graft["iv0"] = 0
    if graft["to"] >= 0:
        own = layout.tree_of(layout.trees_of(forest)[graft["to"]])
        graft["n0"], graft["iq0"], graft["iv0"] = own["n"], own["nq"], own["nv"]
    count = graft["n0"] + n - stay
    graft["host"], graft["host_state"] = allocate_tree(forest, count, graft["iq0"] + more_q, graft["iv0"] + more_v)
    if graft["host"] == 0:
        if stay > 0:
            free_tree(forest, graft["rest"])
        return False
    if graft["to"] >= 0:
        host = layout.host_of(graft)
        own = layout.tree_of(layout.trees_of(forest)[graft["to"]])
        memory.copy_words(own["links"], host["links"], own["n"] * memory.LINK_SIZE)
        memory.copy_words(own["dofs"], host["dofs"], own["nv"] * memory.DOF_SIZE)
        copy_tree_state(forest, graft, graft["to"], graft["host_state"], host["nq"])
    return True


@kernel
def free_graft_trees(forest: Any, graft: Any) -> None:
    """Free the trees of a graft that is not committed."""
    if graft["rest"] != 0 and graft["rest"] != graft["host"]:
        free_tree(forest, graft["rest"])
    free_tree(forest, graft["host"])


@kernel(inline=False)
def update_graft_motion(forest: Any, graft: Any) -> None:
    """Compute the motion of source and new parent after the impact, from which the new joint's state follows."""
    source = layout.source_of(graft)
    if graft["velocities"] != 0:
        copy_tree_state(forest, graft, graft["from"], graft["state"], source["nq"])
    else:
        graft["state"] = layout.trees_of(forest)[graft["from"]]["state"]
    accelerate_links(source, layout.q_of(graft, source), layout.v_of(graft, source), layout.a_of(graft, source))
    graft["parent_row"] = source["rows"] + (graft["parent"] + 1) * memory.LINK_ROW_SIZE
    if graft["to"] >= 0:
        slot = layout.trees_of(forest)[graft["to"]]
        tree = layout.tree_of(slot)
        v = rows_at(velocities_at(forest, graft, graft["to"], layout.V), tree["nv"], F8)
        accelerate_links(tree, layout.q_of(slot, tree), v, layout.a_of(slot, tree))
        graft["parent_row"] = tree["rows"] + (graft["parent"] + 1) * memory.LINK_ROW_SIZE


@kernel(inline=False)
def place_graft_joint(forest: Any, edit: Any, graft: Any) -> None:
    """Set the new joint's frame in the world and its successor frame on the link, as an EDIT says."""
    source = layout.source_of(graft)
    top = graft["top"]
    joint, shift = rows_at(graft["joint"], 1, LINK)[0], rows_at(graft["shifts"], source["n"], layout.FRAME)[top]
    body = links_of(source)[top]["body"]
    bodies = layout.bodies_of(forest)
    data = link_data_of(source)[top + 1]
    R, p = IDENTITY, (0.0, 0.0, 0.0)
    free = joint["kind"] == FREE
    if edit["placed"] == layout.AT_POSE or not free:
        R, p = load9(edit["at_R"]), load3(edit["at_p"])
    store9(joint["R"], R)
    store3(joint["p"], p)
    if edit["held"] != layout.NOT_GIVEN or not free:
        R, p = successor_frame(edit, data, bodies, body, R, p)
    elif edit["placed"] == layout.AT_POINT:  # a point of the link, with the link's axes
        _, p = frame_on_link(data, IDENTITY, load3(edit["at_p"]))
    else:
        R, p = load9(bodies[body]["R"]), load3(bodies[body]["p"])
    store9(shift["R"], R)
    store3(shift["p"], p)


@kernel(inline=False)
def is_joint_massless(graft: Any) -> bool:
    """Whether the new joint has a degree of freedom that moves no mass."""
    source, tree = layout.source_of(graft), layout.host_of(graft)
    joint = links_of(tree)[graft["n0"]]
    end = links_of(source)[graft["end"]]
    if graft["light"] != 0 or joint["nv"] == 0:
        return False
    if joint["kind"] == FREE and end["kind"] == FREE and graft["stay_count"] == 0 and graft["parent"] < 0:
        return False  # the same system with another root
    dofs, dof_rows = dofs_of(tree), dof_data_of(tree)
    articulate(tree, rows_at(graft["host_state"] + 8 * tree["nq"] * layout.Q, tree["nq"], F8))
    row = link_data_of(tree)[graft["n0"] + 1]
    I, M = row["A"], row["M"]
    for k in range(joint["iv"], joint["iv"] + joint["nv"]):
        w, v = load3(dof_rows[k]["S"]), load3_at(dof_rows[k]["S"], 3)
        around = dot(w, w) * (I[0] + I[3] + I[5]) + dot(v, v) * (M[0] + M[3] + M[5]) + dofs[k]["armature"]
        moved = 1.0 / (dof_rows[k]["D"][0] * dof_rows[k]["D"][0])
        if not moved > MASSLESS_SHARE * around:
            return True
    return False


@kernel(inline=False)
def perform_graft(forest: Any, edit: Any, graft: Any, outcome: Any) -> int:
    """Carry link `top` by a new joint, in place of the joint that carries `end`, which is `top` or an ancestor of it.

    The joint, its frame on the parent and its successor frame are set, unless the edit gives them in the world. The
    joint must allow the velocities. Returns a status; if it is not DONE, the forest is unchanged.
    """
    if not (memory.has_room(forest, layout.TREES, 1) and memory.has_room(forest, layout.JOINTS, 1)):
        return layout.FULL
    order_links(graft)
    update_graft_motion(forest, graft)
    if graft["placed"] != 0:
        place_graft_joint(forest, edit, graft)
    fill_chain_shifts(graft)
    if not allocate_graft_trees(forest, graft):
        return layout.FULL
    fill_graft_rows(graft)
    fill_graft_state(graft)
    host = layout.host_of(graft)
    memory.update_tree_header(graft["host"])
    check_result.update_tree_motion(host, graft["host_state"])
    if graft["rest"] != 0 and graft["rest"] != graft["host"]:
        rest = rows_at(graft["rest"], 1, TREE)[0]
        memory.update_tree_header(graft["rest"])
        check_result.update_tree_motion(rest, graft["rest_state"])
    check_result.measure_motion_errors(graft, outcome)
    status = layout.DONE
    outcome["kind"] = rows_at(graft["joint"], 1, LINK)[0]["kind"]
    outcome["body"] = links_of(host)[graft["n0"]]["body"]
    if not check_result.is_position_error_small(outcome["pose_error"], outcome["reach"]):
        status = layout.OFF_POSITION
    elif not check_result.is_velocity_error_small(outcome):
        status = layout.MOVES_OTHERWISE
    elif is_joint_massless(graft):
        status = layout.WEIGHTLESS
    if status != layout.DONE:
        free_graft_trees(forest, graft)
        return status
    outcome["lossy"] = check_result.find_lossy_joint(graft)
    commit_graft(forest, graft, outcome)
    return layout.DONE


@kernel(inline=False)
def commit_graft(forest: Any, graft: Any, outcome: Any) -> None:
    """Put the new trees in the places of the old ones, and update bodies, joints and loops."""
    trees = layout.trees_of(forest)
    source = layout.source_of(graft)
    n, start = source["n"], graft["stay_count"]
    links, order = links_of(source), rows_at(graft["order"], n, I4)
    shifts = rows_at(graft["shifts"], n, layout.FRAME)
    for c in range(start, start + graft["length"]):
        shift_body(forest, links[order[c]]["body"], shifts[order[c]])
    free_joint_slot(forest, links[graft["end"]]["joint"])
    joints = layout.joints_of(forest)
    made = graft["made"]
    if made < 0:
        made = memory.take_row(memory.pool_of(forest, layout.JOINTS), joints)
    elif joints[made]["loop"] >= 0:
        remove_loop(forest, joints[made]["loop"])
    joints[made]["loop"] = -1
    host = layout.host_of(graft)
    links_of(host)[graft["n0"]]["joint"] = made
    old_block, other_block = trees[graft["from"]]["address"], 0
    place = graft["from"]  # of the host
    if graft["to"] >= 0:
        other_block = trees[graft["to"]]["address"]
        place = graft["keep"]
        if start == 0:
            free_tree_slot(forest, graft["to"] if place == graft["from"] else graft["from"])
    elif graft["rest"] != 0 and graft["rest"] != graft["host"]:
        place = take_tree_slot(forest)
    if graft["rest"] != 0 and graft["rest"] != graft["host"]:
        register_tree(forest, graft["from"], graft["rest"], graft["rest_state"])
    register_tree(forest, place, graft["host"], graft["host_state"])
    free_tree(forest, old_block)
    if other_block != 0:
        free_tree(forest, other_block)
    outcome["joint"], outcome["closes"], outcome["tree"] = memory.id_of(joints, made), 0, place


@kernel
def take_tree_slot(forest: Any) -> int:
    trees = layout.trees_of(forest)
    t = memory.take_row(memory.pool_of(forest, layout.TREES), trees)
    trees[t]["mark"] = 0
    return t


@kernel
def free_tree_slot(forest: Any, tree_index: int) -> None:
    """Free the table row of a tree; the caller frees its block."""
    from_pool = memory.pool_of(forest, layout.TREES)
    trees = layout.trees_of(forest)
    trees[tree_index]["generation"] += 1
    trees[tree_index]["next"] = from_pool["free"]
    from_pool["free"] = tree_index
    from_pool["used"] -= 1
