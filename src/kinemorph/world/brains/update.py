"""Update of brains in a step: senses, one pass over the neurons, effects; in kernels only.

Senses read the state at the start of the step. Effects set the parameters of drives, which stay until the next pass.
Trees with a brain never fall asleep.
"""

from __future__ import annotations

from typing import Any

from kinemorph.brain import layout
from kinemorph.brain.functions import clamp, update_neurons
from kinemorph.contact.layout import drives_of, slices_of
from kinemorph.contact.rows.drive_rows import find_dof
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.joints import SPHERICAL
from kinemorph.multibody.layout import links_of
from kinemorph.multibody.model.declared import declared_position, declared_velocity
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, dot, scale, sub
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import Q, V, bodies_of, tree_of, trees_of
from kinemorph.world.brains.grasping import update_grasps
from kinemorph.world.brains.instance_rows import MIND, minds_of
from kinemorph.world.brains.target_poses import body_slot, find_target
from kinemorph.world.control.event_functions import ANYTHING, TIME_TOLERANCE_SHARE, locate_point, sum_pair_impulses
from kinemorph.world.layout import WORLD, WORLD_KIND, Status, collisions_of, forest_of, solver_of

ANGLE, SPEED, TOUCH, UP, DIRECTION, DISTANCE, PLACE = (int(x) for x in layout.Sensed)
TORQUE, TARGET, SERVO, GRASP = (int(x) for x in layout.Acted)
DONE, WRONG_ROW = int(Status.DONE), int(Status.WRONG_ROW)
ZERO: Vec3 = (0.0, 0.0, 0.0)


@kernel(inline=False)
def read_joint(forest: Any, sense: Any) -> float:
    """Position or speed of a degree of freedom of a joint in its declared sense; 0 if it is gone or closes a loop."""
    t, k, _ = find_dof(forest, sense["id"], sense["axis"])
    if t < 0:
        return 0.0
    slot = trees_of(forest)[t]
    tree = tree_of(slot)
    link = links_of(tree)[k]
    q = rows_at(slot["state"] + 8 * tree["nq"] * Q, tree["nq"], F8)
    if sense["what"] == SPEED:
        return declared_velocity(link, q, rows_at(slot["state"] + 8 * tree["nq"] * V, tree["nv"], F8), sense["axis"])
    if link["kind"] == SPHERICAL:  # 2 sin(θ/2) times the axis
        w = declared_position(link, q, 0)
        return (2.0 if w >= 0.0 else -2.0) * declared_position(link, q, 1 + sense["axis"])
    return declared_position(link, q, sense["axis"])


@kernel
def component(v: Vec3, axis: int) -> float:
    return v[0] if axis == 0 else v[1] if axis == 1 else v[2]


@kernel
def read_body(
    solver: Any, forest: Any, collisions: Any, mind: Any, sense: Any, dt: float, aims: bool, aim: Vec3
) -> float:
    """Value of a sense of a body or of the target; 0 if that has been removed."""
    what, axis = sense["what"], sense["axis"]
    if what == PLACE:
        return component(aim, axis) if aims else 0.0
    body = body_slot(forest, sense["id"])
    if body < 0:
        return 0.0
    if what == TOUCH:
        return sum_pair_impulses(solver, collisions, body, ANYTHING)[1] / (dt * mind["weight"])
    R, at = locate_point(forest, body, ZERO)
    if what == UP:
        return component(tmul_vec(R, (0.0, 0.0, 1.0)), axis)
    if not aims:
        return 0.0
    way = sub(aim, at)
    length = sqrt(dot(way, way))
    if what == DISTANCE:
        return length
    return component(tmul_vec(R, scale(way, 1.0 / length)), axis) if length > 1e-9 else 0.0


@kernel(inline=False)
def update_sleeping_targets(solver: Any, forest: Any, mind: Any, senses: Any) -> None:
    """Update the link data of sleeping trees that a brain senses; that of awake trees is current within a step."""
    bodies, slices = bodies_of(forest), slices_of(solver)
    trees = trees_of(forest)
    at = body_slot(forest, mind["target"])
    if at >= 0 and slices[bodies[at]["tree"]]["asleep"] != 0:
        update_slot_motion(trees[bodies[at]["tree"]])
    for i in range(mind["senses"], mind["senses"] + mind["sense_count"]):
        if senses[i]["what"] >= UP:
            at = body_slot(forest, senses[i]["id"])
            if at >= 0 and slices[bodies[at]["tree"]]["asleep"] != 0:
                update_slot_motion(trees[bodies[at]["tree"]])


@kernel
def read_senses(world: Any, solver: Any, forest: Any, collisions: Any, minds: Any, mind: Any) -> None:
    """Write the signals of all senses of a brain instance: gain times value."""
    senses = rows_at(minds["senses"], minds["sense_room"], layout.SENSE)
    signals = rows_at(minds["signals"], minds["signal_room"], F8)
    first = mind["signals"] + layout.FIRST_NEURON_SIGNAL + mind["neuron_count"]
    if mind["blank"] != 0:
        for k in range(mind["sense_count"]):
            signals[first + k] = 0.0
        return
    update_sleeping_targets(solver, forest, mind, senses)
    aims, aim = find_target(forest, mind)
    for k in range(mind["sense_count"]):
        sense = senses[mind["senses"] + k]
        if sense["what"] <= SPEED:
            x = read_joint(forest, sense)
        else:
            x = read_body(solver, forest, collisions, mind, sense, world["dt"], aims, aim)
        signals[first + k] = sense["gain"] * x


@kernel(inline=False)
def apply_effects(solver: Any, minds: Any, mind: Any) -> None:
    """Set the drives and grasps of all effects of a brain instance until its next pass; to nothing if it is asleep."""
    effects, drives = rows_at(minds["effects"], minds["effect_room"], layout.EFFECT), drives_of(solver)
    signals = rows_at(minds["signals"], minds["signal_room"], F8)
    idle = mind["asleep"] != 0
    for i in range(mind["effects"], mind["effects"] + mind["effect_count"]):
        e = effects[i]
        x = 0.0 if idle else clamp(e["weight"] * signals[mind["signals"] + e["source"]], -1.0, 1.0)
        if e["what"] == GRASP:
            e["wants"] = 1 if x > 0.0 else 0
            minds["grasps_pending"] |= e["wants"] != 0 or e["held"] >= 0
            continue
        if e["drive"] < 0 or drives[e["drive"]]["generation"] != e["generation"]:
            continue  # the joint has been removed
        drive = drives[e["drive"]]
        if e["what"] == TORQUE:
            drive["force"] = e["effort_limit"] * x
            continue
        drive["largest_force"] = 0.0 if idle else e["effort_limit"]
        drive["smallest_force"] = -drive["largest_force"]
        told = e["low"] + 0.5 * (x + 1.0) * (e["high"] - e["low"])
        if e["what"] == TARGET:
            drive["position"] = told
        else:
            drive["speed"] = told


@kernel(inline=False)
def remove_brain(solver: Any, minds: Any, mind: Any) -> None:
    """Remove a brain instance whose body has been removed, with its drives."""
    effects, drives = rows_at(minds["effects"], minds["effect_room"], layout.EFFECT), drives_of(solver)
    for i in range(mind["effects"], mind["effects"] + mind["effect_count"]):
        e = effects[i]
        if e["drive"] >= 0 and drives[e["drive"]]["generation"] == e["generation"]:
            drives[e["drive"]]["joint"] = -1
            drives[e["drive"]]["generation"] += 1
    mind["body"] = -1
    mind["generation"] += 1


@kernel(inline=False)
def update_all_neurons(minds: Any, mind: Any) -> None:
    """One pass over the neurons of a brain instance."""
    a, n = mind["signals"], mind["neuron_count"]
    neurons = rows_at(minds["neurons"], minds["neuron_room"], layout.NEURON)[mind["neurons"] : mind["neurons"] + n]
    end = a + layout.FIRST_NEURON_SIGNAL + n + mind["sense_count"]
    signals = rows_at(minds["signals"], minds["signal_room"], F8)[a:end]
    fresh = rows_at(minds["fresh"], minds["signal_room"], F8)[a : a + n]
    rings = rows_at(minds["rings"], minds["ring_room"], F8)
    rings = rings[mind["rings"] : mind["rings"] + layout.LONGEST_DELAY_PASSES * mind["ring_count"]]
    signals[layout.ONE_SIGNAL] = 1.0
    mind["lost"] += update_neurons(neurons, signals, fresh, rings, mind["period"], mind["ticks"])


@kernel(inline=False)
def prepare_brains(world: Any) -> int:
    """Before a step: make and release grasps, remove instances without a body, keep trees awake. Returns a Status."""
    brains = minds_of(world)
    solver, forest = solver_of(world), forest_of(world)
    if brains["grasps_pending"] != 0 or brains["changed"] != 0:
        status = update_grasps(world, solver, forest, collisions_of(world), brains)
        if status != DONE:
            return status
    minds, slices = rows_at(brains["minds"], brains["mind_room"], MIND), slices_of(solver)
    bodies = bodies_of(forest)
    for i in range(brains["mind_count"]):
        if minds[i]["body"] >= 0:
            at = body_slot(forest, minds[i]["body"])
            if at < 0:
                remove_brain(solver, brains, minds[i])
            else:
                slices[bodies[at]["tree"]]["still"] = 0.0
    return DONE


@kernel(inline=False)
def update_brains(world: Any, solver: Any, forest: Any, collisions: Any) -> None:
    """Within a step, once link data is current: update the brains that are due."""
    brains = minds_of(world)
    minds = rows_at(brains["minds"], brains["mind_room"], MIND)
    now = world["time"] + TIME_TOLERANCE_SHARE * world["dt"]
    for i in range(brains["mind_count"]):
        mind = minds[i]
        if mind["body"] < 0 or mind["asleep"] != 0 or now < mind["start"] + mind["ticks"] * mind["period"]:
            continue
        read_senses(world, solver, forest, collisions, brains, mind)
        update_all_neurons(brains, mind)
        apply_effects(solver, brains, mind)
        mind["ticks"] += 1


@entry
def set_brain_asleep(address: int, row: int, asleep: bool) -> int:
    """Put a brain instance to sleep, or wake it."""
    world = rows_at(address, 1, WORLD)[0]
    if world["kind"] != WORLD_KIND:
        return WRONG_ROW
    minds = minds_of(world)
    change_brain_sleep(world, minds, rows_at(minds["minds"], minds["mind_room"], MIND)[row], asleep)
    return DONE


@kernel(inline=False)
def change_brain_sleep(world: Any, minds: Any, mind: Any, asleep: bool) -> None:
    """`set_brain_asleep` for kernels: effects stop or follow the signals again; waking restarts the clock of passes."""
    if mind["asleep"] != 0 and not asleep:
        mind["start"], mind["ticks"] = world["time"], 0
    mind["asleep"] = 1 if asleep else 0
    apply_effects(solver_of(world), minds, mind)
