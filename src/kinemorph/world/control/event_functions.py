"""Event functions of a world after a step, and detection of their sign changes.

Rows are EVENTs of `motion.events`, where `a` and `b` are indices of bodies, GROUND or ANYTHING, or `b` is the index of
a joint. An event occurs at the end of the step in which its function changes sign. Contacts of sleeping bodies count as
unchanged, although the solver has no rows for them.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import contacts_of, memories_of, pairs_of, shapes_of
from kinemorph.contact.layout import DofConstraintKind, contact_constraint_room, dof_constraint_room, slices_of
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.motion import events as event_layout
from kinemorph.multibody.layout import link_data_of, links_of
from kinemorph.multibody.model.declared import declared_position, declared_velocity
from kinemorph.spatial.mat3 import mul, mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, dot, sub
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import bodies_of, joints_of, q_of, tree_of, trees_of, v_of
from kinemorph.world.layout import WORLD, WORLD_KIND, Status, collisions_of, forest_of, solver_of
from kinemorph.world.step.joint_loads import finish_joint_loads, project_loop_force

GROUND, ANYTHING = -1, -2
LOWER, UPPER = int(DofConstraintKind.LOWER), int(DofConstraintKind.UPPER)
TIME_TOLERANCE_SHARE = 1e-6  # of a step: a time that is nearer has been reached
WRONG_ROW = int(Status.WRONG_ROW)


@kernel(inline=False)
def locate_point(forest: Any, body: int, p: Vec3) -> tuple[Any, Vec3]:
    """World axes of a body's frame and world position of its point p, from current link data."""
    if body < 0:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), p
    slot = bodies_of(forest)[body]
    tree = tree_of(trees_of(forest)[slot["tree"]])
    data = link_data_of(tree)[slot["link"] + 1]
    R = mul(load9(data["R"]), load9(slot["R"]))
    at = add(load3(data["p"]), mul_vec(load9(data["R"]), load3(slot["p"])))
    return R, add(at, mul_vec(R, p))


@kernel(inline=False)
def measure_distance(forest: Any, event: Any) -> float:
    """Distance of two points of bodies, m, or its component along a direction of the first body."""
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    if event["a"] >= 0:
        update_slot_motion(trees[bodies[event["a"]]["tree"]])
    if event["b"] >= 0:
        update_slot_motion(trees[bodies[event["b"]]["tree"]])
    R, x = locate_point(forest, event["a"], load3(event["pa"]))
    d = sub(locate_point(forest, event["b"], load3(event["pb"]))[1], x)
    return sqrt(dot(d, d)) if event["kind"] == event_layout.DISTANCE else dot(load3(event["n"]), tmul_vec(R, d))


@kernel
def is_asleep(slices: Any, bodies: Any, body: int) -> bool:
    """Whether a body sleeps; static bodies count as asleep."""
    return body < 0 or slices[bodies[body]["tree"]]["asleep"] != 0


@kernel(inline=False)
def sum_pair_impulses(solver: Any, collisions: Any, a: int, b: int) -> tuple[bool, float]:
    """Whether two bodies were in contact in this step, and the sum of their normal impulses, N s."""
    constraints = contact_constraint_room(solver)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    contacts = contacts_of(collisions)
    now = half_start(collisions["step"], collisions["contact_room"])
    touching, total = False, 0.0
    for i in range(solver["contact_count"]):
        pair = pairs[contacts[now + constraints[i]["contact"]]["pair"]]
        x, y = shapes[pair["a"]]["link"], shapes[pair["b"]]["link"]
        if (x == a and (y == b or b == ANYTHING)) or (y == a and (x == b or b == ANYTHING)):
            # a pure bounce is a contact too
            touching |= constraints[i]["acted"] != 0 or constraints[i]["total_normal_impulse"] > 0.0
            total += constraints[i]["total_normal_impulse"]
    if solver["gap"] > 0.0:  # the impulse model: a step has parts
        memories = memories_of(collisions)
        for k in range(collisions["n_pairs"]):
            x, y = shapes[pairs[k]["a"]]["link"], shapes[pairs[k]["b"]]["link"]
            if (x == a and (y == b or b == ANYTHING)) or (y == a and (x == b or b == ANYTHING)):
                touching |= memories[pairs[k]["row"]]["struck"] > 0.0
                total += memories[pairs[k]["row"]]["struck"]
    return touching, total


@kernel(inline=False)
def is_at_limit(solver: Any, tree: int, first: int, count: int) -> bool:
    """Whether a limit of one of `count` degrees of freedom of a tree, from `first` on, has acted in this step."""
    dof_rows = dof_constraint_room(solver)
    for i in range(solver["dof_constraint_count"]):
        constraint = dof_rows[i]
        limit = constraint["kind"] == LOWER or constraint["kind"] == UPPER
        acts = limit and constraint["acted"] != 0 and constraint["tree"] == tree
        if acts and first <= constraint["dof"] < first + count:
            return True
    return False


@kernel(inline=False)
def measure_joint(solver: Any, forest: Any, event: Any) -> float:
    """Value of an event function of a tree joint: position, velocity, or whether a limit acts (1 or -1)."""
    slot = joints_of(forest)[event["b"]]
    t = trees_of(forest)[slot["tree"]]
    tree = tree_of(t)
    link = links_of(tree)[slot["link"]]
    if event["kind"] == event_layout.POSITION or event["kind"] == event_layout.VELOCITY:
        q = q_of(t, tree)
        if event["kind"] == event_layout.POSITION:
            return declared_position(link, q, event["index"])
        return declared_velocity(link, q, v_of(t, tree), event["index"])
    if slices_of(solver)[slot["tree"]]["asleep"] != 0:
        return float(event["side"])
    return 1.0 if is_at_limit(solver, slot["tree"], link["iv"], link["nv"]) else -1.0


@kernel(inline=False)
def measure_events(world: Any, solver: Any, forest: Any, collisions: Any) -> None:
    """Evaluate the functions of all EVENT rows, except CALL (in Python) and LOAD (`finish_joint_loads`)."""
    events = rows_at(world["events"], world["event_count"], event_layout.EVENT)
    slices = slices_of(solver)
    bodies = bodies_of(forest)
    for i in range(world["event_count"]):
        event = events[i]
        kind = event["kind"]
        if event["awake"] == 0 or kind == event_layout.CALL or kind == event_layout.LOAD:
            continue
        g = world["time"] + TIME_TOLERANCE_SHARE * world["dt"]
        if kind == event_layout.ALONG or kind == event_layout.DISTANCE:
            g = measure_distance(forest, event)
        elif kind == event_layout.POSITION or kind == event_layout.VELOCITY or kind == event_layout.LIMIT:
            g = measure_joint(solver, forest, event)
        elif kind == event_layout.FORCE or kind == event_layout.MOMENT:
            g = project_loop_force(solver, forest, event)
        elif kind == event_layout.SLEEP:
            g = 1.0 if is_asleep(slices, bodies, event["a"]) else -1.0
        elif kind == event_layout.CONTACT or kind == event_layout.IMPULSE:
            touching, total = sum_pair_impulses(solver, collisions, event["a"], event["b"])
            g = total
            if kind == event_layout.CONTACT:
                g = 1.0 if touching else -1.0
                if is_asleep(slices, bodies, event["a"]) and is_asleep(slices, bodies, event["b"]):
                    g = float(event["side"])
        event["g"] = g - event["level"]


@kernel(inline=False)
def check_event_rows(world: Any, solver: Any, forest: Any, collisions: Any) -> bool:
    """Evaluate all events. Returns whether one has occurred; if none has, each row stores its present sign."""
    finish_joint_loads(world, solver, forest)
    measure_events(world, solver, forest, collisions)
    events = rows_at(world["events"], world["event_count"], event_layout.EVENT)
    happened = False
    for i in range(world["event_count"]):
        happened |= event_layout.has_crossed(events[i])
    if not happened:
        for i in range(world["event_count"]):
            if events[i]["awake"] != 0:
                event_layout.update_event_side(events[i])
    return happened


@entry
def measure_events_now(address: int) -> int:
    """Evaluate the functions of all events at the present state of the world at an address."""
    world = rows_at(address, 1, WORLD)[0]
    if world["kind"] != WORLD_KIND:
        return WRONG_ROW
    measure_events(world, solver_of(world), forest_of(world), collisions_of(world))
    return 0
