"""Connect, cut, re-root and remove in a forest, each wholly in kernels: an EDIT row in, an OUTCOME row out."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.energy_momentum import SUMS
from kinemorph.multibody.joints import FREE
from kinemorph.multibody.kinematics import place_all
from kinemorph.multibody.layout import DOF, LINK, LINK_DATA, TREE
from kinemorph.multibody.loops import LOOP
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import IDENTITY
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.structure.edit.carrier import carrier, swap_roles
from kinemorph.structure.edit.enroll import (
    forget_joint,
    link_loop,
    unlink_loop,
)
from kinemorph.structure.edit.hang import (
    after_impact,
    begin_graft,
    drop_tree,
    fits,
    forget_tree,
    hang,
)
from kinemorph.structure.edit.impact import SUMS_SIZE, add_up, extent, hold, seen, strike, take_hold
from kinemorph.structure.forest_islands import collect, next_side, stand
from kinemorph.structure.forest_layout import (
    AS_LOOP,
    AS_TREE,
    AT_POINT,
    AT_POSE,
    BODIES,
    BODY_SLOT,
    CLOSES,
    CONNECT,
    CUT,
    DONE,
    FOREST,
    FOREST_KIND,
    FRAME,
    FULL,
    GRAFT,
    ITSELF,
    JOINT_SLOT,
    JOINTS,
    JUMP,
    LIMITED,
    LOOP_SLOT,
    LOOPS,
    MOVES,
    NO_FOREST,
    NO_PLACE,
    NOT_CARRIED,
    NOT_FINITE,
    NOT_SAID,
    NOWHERE,
    OFF,
    OPEN,
    REROOT,
    STALE_A,
    STALE_B,
    STALE_JOINT,
    STALE_ROOT,
    TREE_SLOT,
    UNFIT,
    Q,
    V,
)
from kinemorph.structure.forest_memory import DOF_SIZE, claim, find, give_back, has_room, id_of, pool_of, take

LARGEST = 1.7976931348623157e308
LOOP_SIZE = LOOP.itemsize
FITS = 1e-6  # rad or m: how far beyond a limit a new joint may be

Records = np.ndarray[tuple[int], np.dtype[np.void]]


# --------------------------------------------------------------------------------------------------------- connect


@kernel
def floats(forest: Any, t: int) -> bool:
    """Whether the joint of a tree's top is free, and nothing acts on it that would be lost with it."""
    if t < 0:
        return False
    tree = rows_at(rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)[t]["address"], 1, TREE)[0]
    if rows_at(tree["links"], 1, LINK)[0]["kind"] != FREE:
        return False
    dofs = rows_at(tree["dofs"], 6, DOF)
    for k in range(6):
        acts = dofs[k]["armature"] != 0.0 or dofs[k]["damping"] != 0.0 or dofs[k]["stiffness"] != 0.0
        if acts or dofs[k]["friction"] != 0.0 or dofs[k]["lower"] > -np.inf or dofs[k]["upper"] < np.inf:
            return False
    return True


@kernel
def floating_end(forest: Any, ta: int, tb: int) -> int:
    """A floating tree that one of the bodies is in and the other is not, that of b if possible; else -1."""
    if ta == tb:
        return -1
    if floats(forest, tb):
        return tb
    return ta if floats(forest, ta) else -1


@kernel
def row_of(forest: Any, t: int, other: int, link: int) -> int:
    """Address of the LINK_DATA of a link of tree t; of the base, as another tree has it, if t is -1."""
    tree = rows_at(
        rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)[t if t >= 0 else other]["address"], 1, TREE
    )[0]
    return tree["rows"] + (link + 1) * ROW_SIZE


ROW_SIZE = LINK_DATA.itemsize


@kernel
def within_limits(loop: Any, dofs: Any, position: Any) -> bool:
    if loop["nq"] != loop["nv"]:
        return True
    for k in range(loop["nv"]):
        if position[k] < dofs[k]["lower"] - FITS or position[k] > dofs[k]["upper"] + FITS:
            return False
    return True


@kernel(inline=False)
def connect(forest: Any, edit: Any, outcome: Any) -> int:
    """Join body b to body a by a joint: the impact, and then the tree or the loop that comes of it."""
    trees, bodies = (
        rows_at(forest["trees"], forest["tree_room"], TREE_SLOT),
        rows_at(forest["bodies"], forest["body_room"], BODY_SLOT),
    )
    pool = pool_of(forest, BODIES)
    a = find(pool, bodies, edit["a"])
    b = find(pool, bodies, edit["b"])
    if a < 0 and edit["a"] != -1:
        return STALE_A
    if b < 0 and edit["b"] != -1:
        return STALE_B
    outcome["body"] = b
    if a == b:
        return ITSELF
    ta, la = (bodies[a]["tree"], bodies[a]["link"]) if a >= 0 else (-1, -1)
    tb, lb = (bodies[b]["tree"], bodies[b]["link"]) if b >= 0 else (-1, -1)
    end = -1 if edit["how"] == AS_LOOP else floating_end(forest, ta, tb)
    if end < 0 and edit["how"] == AS_TREE:
        return CLOSES
    if end < 0 and edit["unfit"] != 0:
        return UNFIT
    at, sums = claim(forest, LOOP_SIZE), claim(forest, 2 * SUMS_SIZE)
    if sums == 0 or not (has_room(forest, LOOPS, 1) and has_room(forest, JOINTS, 1)):
        return FULL
    collect(forest, ta if ta >= 0 else tb, tb if ta >= 0 and tb != ta else -1)
    before = rows_at(sums, 2, SUMS)
    add_up(forest, 0, before[1], before[0])  # which also says where the bodies are
    extent(forest, outcome)
    if not (outcome["reach"] <= LARGEST and before[0]["kinetic"] <= LARGEST):
        return NOT_FINITE
    rows_at(at, 1, LOOP)[0] = rows_at(edit["row"], 1, LOOP)[0]
    loop = rows_at(at, 1, LOOP)[0]
    da = rows_at(row_of(forest, ta, tb, la), 1, LINK_DATA)[0]
    db = rows_at(row_of(forest, tb, ta, lb), 1, LINK_DATA)[0]
    take_hold(loop, edit, da, db, bodies[b if b >= 0 else a])
    stand(loop, trees[ta]["place"] if ta >= 0 else 0, la, trees[tb]["place"] if tb >= 0 else 0, lb)
    velocities = strike(forest, at, before[0], outcome)
    if velocities == 0:
        return FULL
    dofs = rows_at(edit["dofs"], loop["nv"], DOF)
    outcome["kind"] = loop["kind"]
    if not (abs(outcome["energy_lost"]) <= LARGEST):
        return NOT_FINITE
    if not fits(outcome["gap"], outcome["reach"]):
        return OFF
    if not within_limits(loop, dofs, outcome["position"]):
        return LIMITED
    if end >= 0:
        return hang_through(forest, loop, dofs, end, 0, ta, tb, velocities, -1, outcome)
    joint = take(pool_of(forest, JOINTS), rows_at(forest["joints"], forest["joint_room"], JOINT_SLOT))
    link_loop(forest, loop, dofs, a, b, joint)
    outcome["joint"], outcome["closes"] = id_of(rows_at(forest["joints"], forest["joint_room"], JOINT_SLOT), joint), 1
    adopt_velocities(forest, velocities, -1, -1)
    return DONE


@kernel(inline=False)
def adopt_velocities(forest: Any, velocities: int, but: int, also: int) -> None:
    """All trees that were collected, but for two that have been made anew, move as after the impact."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    t = forest["first_tree"]
    while t >= 0:
        if t != but and t != also:
            tree = rows_at(trees[t]["address"], 1, TREE)[0]
            v, jump = (
                rows_at(trees[t]["state"] + 8 * tree["nq"] * V, tree["nv"], F8),
                rows_at(trees[t]["state"] + 8 * tree["nq"] * JUMP, tree["nv"], F8),
            )
            after = rows_at(after_impact(forest, velocities, t, V), tree["nv"], F8)
            jumps = rows_at(after_impact(forest, velocities, t, JUMP), tree["nv"], F8)
            for k in range(v.shape[0]):
                v[k] = after[k]
                jump[k] = jumps[k]
        t = trees[t]["follows"]


@kernel(inline=False)
def hang_through(
    forest: Any, loop: Any, drives: Any, t: int, end: int, ta: int, tb: int, velocities: int, made: int, outcome: Any
) -> int:
    """Let the joint of a loop carry what link `end` of tree t carries, in place of the joint that does now.

    One side of the loop is in that part, the other is not; trees ta and tb are those of its two sides, -1 for the base.
    If the joint's successor is the one that is not, the joint is used the other way round.
    """
    at = begin_graft(forest, t)
    if at == 0:
        return FULL
    graft = rows_at(at, 1, GRAFT)[0]
    joint, dofs = rows_at(graft["joint"], 1, LINK)[0], rows_at(graft["dofs"], 6, DOF)
    slack = rows_at(graft["slack"], 7, F8)
    carrier(loop, drives, joint, dofs, slack)
    shifts = rows_at(graft["shifts"], rows_at(graft["source"], 1, TREE)[0]["n"], FRAME)
    graft["velocities"], graft["made"], graft["end"] = velocities, made, end
    if tb == t and carries(forest, t, end, loop["b"]):
        graft["top"], graft["parent"], other = loop["b"], loop["a"], ta
        store9(joint["R"], load9(loop["Ra"]))
        store3(joint["p"], load3(loop["pa"]))
        store9(shifts[loop["b"]]["R"], load9(loop["Rb"]))
        store3(shifts[loop["b"]]["p"], load3(loop["pb"]))
    else:
        swap_roles(joint, dofs, slack)
        graft["top"], graft["parent"], other = loop["a"], loop["b"], tb
        store9(joint["R"], load9(loop["Rb"]))
        store3(joint["p"], load3(loop["pb"]))
        store9(shifts[loop["a"]]["R"], load9(loop["Ra"]))
        store3(shifts[loop["a"]]["p"], load3(loop["pa"]))
    if graft["parent"] >= 0 and other != t:
        graft["to"] = other
        graft["keep"] = ta if velocities != 0 else other
    status = hang(forest, graft, outcome)
    if status == DONE and velocities != 0:
        adopt_velocities(forest, velocities, t, graft["to"])
    return status


@kernel
def carries(forest: Any, t: int, link: int, other: int) -> bool:
    """Whether a link of a tree is another one of it, or carries it."""
    tree = rows_at(rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)[t]["address"], 1, TREE)[0]
    links = rows_at(tree["links"], tree["n"], LINK)
    while other > link:
        other = links[other]["parent"]
    return other == link


# ------------------------------------------------------------------------------------------- cut, re-root and remove


@kernel(inline=False)
def cut(forest: Any, edit: Any, outcome: Any) -> int:
    """A joint is gone: a loop is open, or what the joint carried hangs on by a loop that still holds it, or is free."""
    joints, bodies = (
        rows_at(forest["joints"], forest["joint_room"], JOINT_SLOT),
        rows_at(forest["bodies"], forest["body_room"], BODY_SLOT),
    )
    j = find(pool_of(forest, JOINTS), joints, edit["joint"])
    if j < 0:
        return STALE_JOINT
    if joints[j]["loop"] >= 0:
        unlink_loop(forest, joints[j]["loop"])
        forget_joint(forest, j)
        return DONE
    t, link = joints[j]["tree"], joints[j]["link"]
    k = holder(forest, t, link)
    if k >= 0:
        loop, ties = (
            rows_at(forest["loops"], forest["loop_room"], LOOP_SLOT)[k],
            rows_at(forest["ties"], forest["loop_room"], LOOP),
        )
        at = claim(forest, LOOP_SIZE)
        if at == 0:
            return FULL
        row = rows_at(at, 1, LOOP)[0]
        rows_at(at, 1, LOOP)[0] = ties[k]
        a, b = loop["a"], loop["b"]
        row["a"], row["b"] = bodies[a]["link"] if a >= 0 else -1, bodies[b]["link"] if b >= 0 else -1
        ta, tb = bodies[a]["tree"] if a >= 0 else -1, bodies[b]["tree"] if b >= 0 else -1
        outcome["loop"] = loop["joint"]
        status = hang_through(
            forest,
            row,
            rows_at(forest["drives"] + 6 * k * DOF_SIZE, 6, DOF),
            t,
            link,
            ta,
            tb,
            0,
            loop["joint"],
            outcome,
        )
        return OPEN if status == OFF or status == MOVES else status
    top = link
    if edit["root"] != -1:
        root = find(pool_of(forest, BODIES), bodies, edit["root"])
        if root < 0:
            return STALE_ROOT
        top = bodies[root]["link"]
        if bodies[root]["tree"] != t or not carries(forest, t, link, top):
            return NOT_CARRIED
    return set_free(forest, edit, t, top, link, 0, outcome)


@kernel(inline=False)
def set_free(forest: Any, edit: Any, t: int, top: int, end: int, light: int, outcome: Any) -> int:
    """What link `end` carries gets a free joint on the base, at the home of the body of link `top`."""
    at = begin_graft(forest, t)
    if at == 0:
        return FULL
    graft = rows_at(at, 1, GRAFT)[0]
    source = rows_at(graft["source"], 1, TREE)[0]
    links, shifts = rows_at(source["links"], source["n"], LINK), rows_at(graft["shifts"], source["n"], FRAME)
    graft["top"], graft["end"], graft["light"] = top, end, light
    row = rows_at(edit["row"], 1, LOOP)[0]
    joint = rows_at(graft["joint"], 1, LINK)[0]
    carrier(
        row, rows_at(edit["dofs"], row["nv"], DOF), joint, rows_at(graft["dofs"], 6, DOF),
        rows_at(graft["slack"], 7, F8),
    )  # fmt: skip
    store9(joint["R"], IDENTITY)
    store3(joint["p"], (0.0, 0.0, 0.0))
    own = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)[links[top]["body"]]
    store9(shifts[top]["R"], load9(own["R"]))
    store3(shifts[top]["p"], load3(own["p"]))
    return hang(forest, graft, outcome)


@kernel(inline=False)
def holder(forest: Any, t: int, link: int) -> int:
    """The loop that holds what a link carries to the rest with the fewest degrees of freedom, -1 if there is none."""
    slot = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)[t]
    if slot["sides"] == 0:
        return -1
    bodies, loops, ties = (
        rows_at(forest["bodies"], forest["body_room"], BODY_SLOT),
        rows_at(forest["loops"], forest["loop_room"], LOOP_SLOT),
        rows_at(forest["ties"], forest["loop_room"], LOOP),
    )
    tree = rows_at(slot["address"], 1, TREE)[0]
    links = rows_at(tree["links"], tree["n"], LINK)
    best, found = 6, -1
    for i in range(link, tree["n"]):
        side = bodies[links[i]["body"]]["side"]
        if side < 0 or not carries(forest, t, link, i):
            continue
        while side >= 0:
            k = side >> 1
            other = loops[k]["a"] if side & 1 else loops[k]["b"]
            inside = other >= 0 and bodies[other]["tree"] == t and carries(forest, t, link, bodies[other]["link"])
            if not inside and (ties[k]["nv"] < best or (ties[k]["nv"] == best and k < found)):
                best, found = ties[k]["nv"], k
            side = next_side(loops, side)
    return found


@kernel(inline=False)
def reroot(forest: Any, edit: Any, outcome: Any) -> int:
    """Another body's link becomes the top of its tree, carried by a new joint on the base."""
    bodies = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)
    b = find(pool_of(forest, BODIES), bodies, edit["b"])
    if b < 0:
        return STALE_B
    outcome["body"] = b
    t, top = bodies[b]["tree"], bodies[b]["link"]
    row = rows_at(edit["row"], 1, LOOP)[0]
    if row["kind"] != FREE and edit["placed"] == NOWHERE:
        return NO_PLACE
    at = begin_graft(forest, t)
    if at == 0:
        return FULL
    graft = rows_at(at, 1, GRAFT)[0]
    source = rows_at(graft["source"], 1, TREE)[0]
    graft["top"], graft["end"] = top, 0
    joint, dofs = rows_at(graft["joint"], 1, LINK)[0], rows_at(graft["dofs"], 6, DOF)
    carrier(row, rows_at(edit["dofs"], row["nv"], DOF), joint, dofs, rows_at(graft["slack"], 7, F8))
    shift = rows_at(graft["shifts"], source["n"], FRAME)[top]
    place_root(forest, edit, t, bodies[b], joint, shift)
    return hang(forest, graft, outcome)


@kernel(inline=False)
def place_root(forest: Any, edit: Any, t: int, body: Any, joint: Any, shift: Any) -> None:
    """The new joint's frame in the world, and where on its link it holds that."""
    slot = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)[t]
    tree = rows_at(slot["address"], 1, TREE)[0]
    free = joint["kind"] == FREE
    store9(joint["R"], load9(edit["at_R"]) if edit["placed"] == AT_POSE or not free else IDENTITY)
    store3(joint["p"], load3(edit["at_p"]) if edit["placed"] == AT_POSE or not free else (0.0, 0.0, 0.0))
    if edit["held"] == NOT_SAID and free and edit["placed"] != AT_POINT:
        store9(shift["R"], load9(body["R"]))
        store3(shift["p"], load3(body["p"]))
        return
    if edit["held"] == NOT_SAID:
        place_all(tree, rows_at(slot["state"] + 8 * tree["nq"] * Q, tree["nq"], F8))
    d = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)[body["link"] + 1]
    if edit["held"] == NOT_SAID and free:  # a point of the link, with the link's axes
        _, p = seen(d, IDENTITY, load3(edit["at_p"]))
        store9(shift["R"], IDENTITY)
        store3(shift["p"], p)
        return
    R, p = hold(edit, d, body, load9(edit["at_R"]), load3(edit["at_p"]))
    store9(shift["R"], R)
    store3(shift["p"], p)


@kernel(inline=False)
def remove(forest: Any, edit: Any, outcome: Any) -> int:
    """A body and all that it carries is gone, with the loops on it."""
    bodies = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)
    b = find(pool_of(forest, BODIES), bodies, edit["b"])
    if b < 0:
        return STALE_B
    t, link = bodies[b]["tree"], bodies[b]["link"]
    if link > 0:
        status = set_free(forest, edit, t, link, link, 1, outcome)
        if status != DONE:
            return status
        t = outcome["tree"]
        outcome["joint"] = -1
    fell(forest, t)
    return DONE


@kernel(inline=False)
def fell(forest: Any, t: int) -> None:
    """A whole tree is gone, with its bodies, its joints and the loops on them."""
    slot, bodies, loops = (
        rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)[t],
        rows_at(forest["bodies"], forest["body_room"], BODY_SLOT),
        rows_at(forest["loops"], forest["loop_room"], LOOP_SLOT),
    )
    block = slot["address"]
    tree = rows_at(block, 1, TREE)[0]
    links = rows_at(tree["links"], tree["n"], LINK)
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


@kernel
def clear_outcome(outcome: Any) -> None:
    outcome["status"], outcome["closes"], outcome["kind"] = DONE, 0, 0
    outcome["joint"] = outcome["body"] = outcome["loop"] = outcome["lossy"] = outcome["tree"] = -1
    outcome["energy_lost"] = outcome["momentum_error"] = outcome["pose_error"] = outcome["twist_error"] = 0.0
    outcome["loop_error"] = outcome["gap"] = outcome["reach"] = outcome["speed"] = 0.0
    for k in range(6):
        outcome["impulse"][k] = 0.0


@kernel(inline=False)
def perform(forest: Any, edit: Any, outcome: Any) -> None:
    """One change of structure. If its status is not DONE, nothing has changed."""
    clear_outcome(outcome)
    forest["scratch_used"], forest["need"] = 0, 0
    if edit["what"] == CONNECT:
        outcome["status"] = connect(forest, edit, outcome)
    elif edit["what"] == CUT:
        outcome["status"] = cut(forest, edit, outcome)
    elif edit["what"] == REROOT:
        outcome["status"] = reroot(forest, edit, outcome)
    else:
        outcome["status"] = remove(forest, edit, outcome)


@entry
def perform_edit(address: int, edits: Records, outcomes: Records) -> int:
    """The edit of the first row, into the first outcome. Returns its status."""
    forest = rows_at(address, 1, FOREST)[0]
    if forest["kind"] != FOREST_KIND or forest["busy"] != 0:
        return NO_FOREST
    perform(forest, edits[0], outcomes[0])
    return outcomes[0]["status"]
