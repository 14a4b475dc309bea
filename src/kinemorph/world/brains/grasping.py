"""Grasps: a body is connected to a body that it touches by a fixed joint, which is cut to let go; in kernels only.

A floating body is attached to the tree of the grasping body; if only the grasping body floats, it is attached to the
other tree; if neither floats, a loop connects them. A body cannot grasp its own tree. Python is informed only if a loop
is made or cut, since the shapes of its two bodies do not collide, or if there are listeners.
"""

from __future__ import annotations

from typing import Any

from kinemorph.brain.layout import EFFECT, Acted
from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import STATIC_CARRIER, contacts_of, memories_of, pairs_of, shapes_of
from kinemorph.contact.layout import WOKEN_BY_EDIT, WOKEN_BY_LOSS, contact_constraint_room, slices_of
from kinemorph.contact.rows.drive_rows import joint_slot
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.layout import links_of
from kinemorph.spatial.rows import store3, store9
from kinemorph.structure.edit.apply_edit import perform_edit
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import DONE as EDITED
from kinemorph.structure.forest.memory import ID_INDEX_MASK, id_of, pool_of
from kinemorph.world.brains.instance_rows import HELD, LOOPED, MIND, RELEASED
from kinemorph.world.brains.target_poses import body_slot
from kinemorph.world.control.event_functions import locate_point
from kinemorph.world.layout import Status

GRASP = int(Acted.GRASP)
DONE, FULL_FOREST, CHANGED = int(Status.DONE), int(Status.FULL_FOREST), int(Status.CHANGED)
NO_CONTACT = -2  # no body and no ground is touched


@kernel
def keep_hardest_press(
    forest: Any, shapes: Any, pair: Any, body: int, pressed: float, most: float, found: int
) -> tuple[float, int]:
    """The largest impulse (N s) on a body so far and the other body, with one more pair of shapes considered."""
    bodies = layout.bodies_of(forest)
    one, other = shapes[pair["a"]], shapes[pair["b"]]
    if pressed <= most or one["form"] == 0 or other["form"] == 0:
        return most, found
    x, y = one["link"], other["link"]
    if x != body and y != body:
        return most, found
    partner = y if x == body else x
    if partner >= 0 and (bodies[partner]["next"] != layout.IN_USE or bodies[partner]["tree"] == bodies[body]["tree"]):
        return most, found
    return pressed, partner


@kernel(inline=False)
def find_touched_body(solver: Any, forest: Any, collisions: Any, body: int) -> int:
    """Index of the body of another tree with the largest contact impulse on this one, -1: the ground, or NO_CONTACT."""
    constraints = contact_constraint_room(solver)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    contacts = contacts_of(collisions)
    now = half_start(collisions["step"], collisions["contact_room"])
    most, found = 0.0, NO_CONTACT
    for i in range(solver["contact_count"]):
        pair = pairs[contacts[now + constraints[i]["contact"]]["pair"]]
        most, found = keep_hardest_press(
            forest, shapes, pair, body, constraints[i]["total_normal_impulse"], most, found
        )
    if solver["gap"] > 0.0:  # the impulse model
        memories = memories_of(collisions)
        for k in range(collisions["n_pairs"]):
            most, found = keep_hardest_press(
                forest, shapes, pairs[k], body, memories[pairs[k]["row"]]["struck"], most, found
            )
    return found


@kernel
def has_shape(shapes: Any, body: int) -> bool:
    """Whether a body has a shape; a link without mass and shape is part of a joint."""
    for i in range(shapes.shape[0]):
        if shapes[i]["form"] != 0 and shapes[i]["link"] == body:
            return True
    return False


@kernel(inline=False)
def update_changed_tree(solver: Any, forest: Any, collisions: Any, tree_index: int) -> None:
    """After an edit of a tree: wake it, and update the `carrier` of its shapes."""
    tree_slice = slices_of(solver)[tree_index]
    if tree_slice["asleep"] != 0:
        tree_slice["woken_by"] = WOKEN_BY_EDIT
    tree_slice["asleep"], tree_slice["still"] = 0, 0.0
    bodies = layout.bodies_of(forest)
    tree = layout.tree_of(layout.trees_of(forest)[tree_index])
    links, shapes = links_of(tree), shapes_of(collisions)
    for i in range(collisions["n"]):
        if shapes[i]["form"] == 0 or shapes[i]["link"] < 0 or bodies[shapes[i]["link"]]["tree"] != tree_index:
            continue
        parent = links[bodies[shapes[i]["link"]]["link"]]["parent"]
        while parent >= 0 and links[parent]["mass"] == 0.0 and not has_shape(shapes, links[parent]["body"]):
            parent = links[parent]["parent"]
        shapes[i]["carrier"] = links[parent]["body"] if parent >= 0 else STATIC_CARRIER


@kernel(inline=False)
def clear_lost_wakers(solver: Any, forest: Any) -> None:
    """Clear `woken_by` where it names a tree that an edit has removed, since a new tree may get its index."""
    slices = slices_of(solver)
    trees, count = layout.trees_of(forest), pool_of(forest, layout.TREES)["count"]
    for t in range(count):
        waker = slices[t]["woken_by"] - 1
        if waker >= 0 and trees[waker]["next"] != layout.IN_USE:
            slices[t]["woken_by"] = WOKEN_BY_LOSS


@kernel(inline=False)
def inherit_waker(solver: Any, whole: int, part: int) -> None:
    """Copy `woken_by` of a tree to a part that was cut off, whose index an earlier tree may have had."""
    slices = slices_of(solver)
    slices[part]["woken_by"] = slices[whole]["woken_by"]


@kernel(inline=False)
def make_grasp(world: Any, solver: Any, forest: Any, collisions: Any, minds: Any, e: Any, body: int) -> int:
    """Connect a body to the body or ground on which it presses hardest, if any. Returns a Status."""
    partner = find_touched_body(solver, forest, collisions, body)
    if partner == NO_CONTACT:
        return DONE
    bodies = layout.bodies_of(forest)
    trees = layout.trees_of(forest)
    update_slot_motion(trees[bodies[body]["tree"]])
    R, p = locate_point(forest, body, (0.0, 0.0, 0.0))
    edits, outcomes = rows_at(minds["edits"], 1, layout.EDIT), rows_at(minds["outcomes"], 1, layout.OUTCOME)
    edit = edits[0]
    edit["what"], edit["how"], edit["placed"] = layout.CONNECT, layout.AUTO, layout.AT_POSE
    edit["held"], edit["cannot_close"] = layout.NOT_GIVEN, 0
    edit["row"] = edit["dofs"] = minds["fixed"]  # a fixed joint has no degrees of freedom
    store9(edit["at_R"], R)
    store3(edit["at_p"], p)
    edit["a"] = e["body"] if partner >= 0 else -1
    edit["b"] = id_of(bodies, partner) if partner >= 0 else e["body"]
    status = perform_edit(world["forest"], edits, outcomes)
    if status == layout.FULL:
        return FULL_FOREST
    if status != EDITED:
        return DONE  # the edit is not possible now; the next pass tries again
    e["held"], e["looped"] = outcomes[0]["joint"], outcomes[0]["closes"]
    minds["changed"] |= HELD | (LOOPED if e["looped"] != 0 else 0)
    clear_lost_wakers(solver, forest)
    update_changed_tree(solver, forest, collisions, bodies[body]["tree"])
    if partner >= 0:
        update_changed_tree(solver, forest, collisions, bodies[partner]["tree"])
    return DONE


@kernel(inline=False)
def release_grasp(world: Any, solver: Any, forest: Any, collisions: Any, minds: Any, e: Any) -> int:
    """Cut the joint of a grasp. Returns a Status."""
    bodies = layout.bodies_of(forest)
    joint = layout.joints_of(forest)[e["held"] & ID_INDEX_MASK]
    a, b, whole = -1, -1, -1
    if joint["loop"] >= 0:
        loop = layout.loop_slots_of(forest)[joint["loop"]]
        a, b = loop["a"], loop["b"]
    else:
        whole = int(joint["tree"])
        slot = layout.trees_of(forest)[whole]
        tree = layout.tree_of(slot)
        links = links_of(tree)
        b = links[joint["link"]]["body"]
        parent = links[joint["link"]]["parent"]
        a = links[parent]["body"] if parent >= 0 else -1
    edits, outcomes = rows_at(minds["edits"], 1, layout.EDIT), rows_at(minds["outcomes"], 1, layout.OUTCOME)
    edit = edits[0]
    edit["what"], edit["joint"], edit["root"] = layout.CUT, e["held"], -1
    edit["placed"], edit["held"] = layout.NO_POSITION, layout.NOT_GIVEN
    edit["row"], edit["dofs"] = minds["free"], minds["free_dofs"]
    status = perform_edit(world["forest"], edits, outcomes)
    if status == layout.FULL:
        return FULL_FOREST
    if status != EDITED:
        return DONE
    e["held"] = -1
    minds["changed"] |= RELEASED | (LOOPED if e["looped"] != 0 else 0)
    if whole >= 0 and outcomes[0]["kind"] == FREE:  # the part is a tree of its own
        inherit_waker(solver, whole, outcomes[0]["tree"])
    if a >= 0:
        update_changed_tree(solver, forest, collisions, bodies[a]["tree"])
    if b >= 0:
        update_changed_tree(solver, forest, collisions, bodies[b]["tree"])
    return DONE


@kernel
def has_room_for_grasp(solver: Any, forest: Any) -> bool:
    """Whether the solver's tables have room for one more tree, joint and loop."""
    trees, joints, loops = pool_of(forest, layout.TREES), pool_of(forest, layout.JOINTS), pool_of(forest, layout.LOOPS)
    return (
        trees["count"] < solver["slice_room"]
        and joints["count"] < solver["joint_room"]
        and loops["count"] < solver["wrench_room"]
    )


@kernel(inline=False)
def update_grasps(world: Any, solver: Any, forest: Any, collisions: Any, brains: Any) -> int:
    """Make and release the grasps that effects have asked for. Returns a Status; a repeated call resumes."""
    minds = rows_at(brains["minds"], brains["mind_room"], MIND)
    effects = rows_at(brains["effects"], brains["effect_room"], EFFECT)
    for i in range(brains["mind_count"]):
        mind = minds[i]
        if mind["body"] < 0 or brains["grasps_pending"] == 0:
            continue
        for k in range(mind["effects"], mind["effects"] + mind["effect_count"]):
            e = effects[k]
            if e["what"] != GRASP:
                continue
            if e["held"] >= 0 and joint_slot(forest, e["held"]) < 0:
                e["held"] = -1  # cut by an edit or an event
            body = body_slot(forest, e["body"])
            if body < 0:
                continue
            status = DONE
            if not has_room_for_grasp(solver, forest):
                return CHANGED  # Python enlarges the tables
            if e["wants"] != 0 and e["held"] < 0:
                status = make_grasp(world, solver, forest, collisions, brains, e, body)
            elif e["wants"] == 0 and e["held"] >= 0:
                status = release_grasp(world, solver, forest, collisions, brains, e)
            if status != DONE:
                return status
    brains["grasps_pending"] = 0
    if brains["has_listeners"] != 0 or brains["changed"] & LOOPED != 0:
        return CHANGED if brains["changed"] != 0 else DONE
    brains["changed"] = 0
    return DONE
