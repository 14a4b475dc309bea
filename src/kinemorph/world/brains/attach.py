"""Attaching a brain to a figure: senses and effects are resolved to bodies and joints, and drives are made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kinemorph.brain.layout import EFFECT, NEURON, ONE_SIGNAL, SENSE, Acted, Sensed
from kinemorph.contact.layout import WOKEN_BY_EDIT, DriveKind, drives_of, slices_of
from kinemorph.contact.rows.drive_rows import find_dof
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL
from kinemorph.multibody.layout import dofs_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.rows import store3
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of
from kinemorph.structure.forest.memory import ID_INDEX_MASK, address_of, copy_words
from kinemorph.world.brains.instance_rows import MIND, minds_of
from kinemorph.world.brains.target_poses import body_slot
from kinemorph.world.layout import WORLD, WORLD_KIND, forest_of, solver_of

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]
Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]
NEURON_SIZE, SENSE_SIZE, EFFECT_SIZE = NEURON.itemsize, SENSE.itemsize, EFFECT.itemsize
G = 9.81  # m/s²
FULL_FORCE_ERROR = 0.25  # rad or m: the position error at which a servo reaches its largest force
DRIVE_DAMPING_TIME = 0.08  # s: damping of a servo is its stiffness times this
SENSED_SPEED = int(Sensed.SPEED)
TORQUE, TARGET, SPEED, GRASP = (int(x) for x in Acted)
ROW, FORCE = int(DriveKind.ROW), int(DriveKind.FORCE)
ATTACHED = -1
BODY, JOINT = 0, 2  # columns of links: their ids


@kernel(inline=False)
def has_degree_of_freedom(forest: Any, joint: int, dof: int, what: int) -> bool:
    """Whether a joint has a degree of freedom, and an effect of kind `what` (-1: a sense) may drive it."""
    t, k, j = find_dof(forest, joint, dof)
    if t < 0:
        return False
    tree = tree_of(trees_of(forest)[t])
    link = links_of(tree)[k]
    if link["kind"] == FREE or (what == TARGET and link["kind"] == SPHERICAL):
        return False
    return what < 0 or dofs_of(tree)[link["iv"] + j]["effort_limit"] != 0.0


@kernel(inline=False)
def claim_drive_row(solver: Any) -> int:
    """Claim the first free row of drives. The caller has made room."""
    drives = drives_of(solver)
    for i in range(solver["drive_count"]):
        if drives[i]["joint"] < 0:
            return i
    solver["drive_count"] += 1
    return solver["drive_count"] - 1


@kernel(inline=False)
def initialize_drive(drive: Any, joint: int, effect: Any) -> None:
    """Initialize the drive by which an effect acts on a joint: a given force, a motor or a servo."""
    most, what = effect["effort_limit"], effect["what"]
    drive["joint"], drive["dof"], drive["kind"], drive["next"] = joint, effect["drive"], ROW, 0
    drive["position"] = drive["speed"] = drive["stiffness"] = drive["damping"] = drive["force"] = 0.0
    drive["smallest_force"], drive["largest_force"], drive["source"] = -most, most, 0
    drive["ratio"] = drive["told"] = drive["applied"] = 0.0
    if what == TORQUE:
        drive["kind"], drive["smallest_force"], drive["largest_force"] = FORCE, -math.inf, math.inf
    elif what == SPEED:
        drive["damping"] = math.inf
    else:
        drive["stiffness"] = most / FULL_FORCE_ERROR
        drive["damping"] = DRIVE_DAMPING_TIME * drive["stiffness"]
        drive["position"] = 0.5 * (effect["low"] + effect["high"])


@entry
def attach_brain(
    address: int, links: Table, members: Ids, brain_neurons: Records, brain_senses: Records, brain_effects: Records,
    room: Ids, period: float, target: int, point: tuple[float, float, float],
) -> int:  # fmt: skip
    """Attach a brain to a figure of these members: copy its rows to those of a new brain instance, and wake the figure.

    Senses and effects name links by number; they get the ids of bodies and joints from the columns of `links`, and
    effects get drives, for which there is room. `room` has the addresses and sizes of the instance's rows; those of the
    first instance become the tables of all. Returns LIMITS_FIT, or the number of the first sense or effect (counted on
    from the senses) whose degree of freedom does not exist; then no drive has been made.
    """
    world = rows_at(address, 1, WORLD)[0]
    if world["kind"] != WORLD_KIND:
        return 0
    forest, solver = forest_of(world), solver_of(world)
    neurons, senses = rows_at(room[2], room[9], NEURON), rows_at(room[3], room[10], SENSE)
    effects, signals = rows_at(room[4], room[11], EFFECT), rows_at(room[5], room[12], F8)
    copy_words(address_of(brain_neurons), address_of(neurons), neurons.shape[0] * NEURON_SIZE)
    copy_words(address_of(brain_senses), address_of(senses), senses.shape[0] * SENSE_SIZE)
    copy_words(address_of(brain_effects), address_of(effects), effects.shape[0] * EFFECT_SIZE)
    for i in range(senses.shape[0]):
        one = senses[i]
        if one["what"] <= SENSED_SPEED and not has_degree_of_freedom(forest, links[one["id"], JOINT], one["axis"], -1):
            return i
    for i in range(effects.shape[0]):
        e = effects[i]
        if e["what"] != GRASP and not has_degree_of_freedom(forest, links[e["body"], JOINT], e["drive"], e["what"]):
            return senses.shape[0] + i
    for i in range(senses.shape[0]):
        one = senses[i]
        one["id"] = links[one["id"], JOINT] if one["what"] <= SENSED_SPEED else links[one["id"], BODY]
    for i in range(effects.shape[0]):
        e = effects[i]
        e["held"] = -1
        if e["what"] == GRASP:
            e["body"], e["drive"] = links[e["body"], BODY], -1
            continue
        row = claim_drive_row(solver)
        drive = drives_of(solver)[row]
        initialize_drive(drive, links[e["body"], JOINT], e)
        e["drive"], e["generation"], e["body"] = row, drive["generation"], -1
    mind = rows_at(room[0], 1, MIND)[0]
    initialize_brain(mind, members, G * max(wake_and_sum_mass(solver, forest, members), 1e-9), neurons, senses, effects)
    mind["start"], mind["period"], mind["target"] = world["time"], period, target
    store3(mind["point"], point)
    signals[ONE_SIGNAL] = 1.0
    minds = minds_of(world)
    if minds["mind_count"] == 0:
        adopt_tables(minds, room)
        world["mind_count"] = 1
    return ATTACHED


@kernel(inline=False)
def adopt_tables(minds: Any, room: Any) -> None:
    """Make the rows of the first brain instance the tables of all instances."""
    minds["minds"], minds["fresh"], minds["neurons"], minds["senses"] = room[0], room[1], room[2], room[3]
    minds["effects"], minds["signals"], minds["rings"] = room[4], room[5], room[6]
    minds["mind_room"] = minds["mind_count"] = 1
    minds["neuron_room"], minds["sense_room"], minds["effect_room"] = room[9], room[10], room[11]
    minds["signal_room"], minds["ring_room"] = room[12], room[13]


@kernel(inline=False)
def initialize_brain(mind: Any, members: Any, weight: float, neurons: Any, senses: Any, effects: Any) -> None:
    """Initialize a brain instance, except its times and its target; `weight` is that of the figure, N."""
    mind["body"], mind["weight"] = members[0], weight
    mind["neuron_count"], mind["sense_count"] = neurons.shape[0], senses.shape[0]
    mind["effect_count"] = effects.shape[0]
    for i in range(neurons.shape[0]):
        mind["ring_count"] = max(mind["ring_count"], neurons[i]["ring"] + 1)


@kernel(inline=False)
def wake_and_sum_mass(solver: Any, forest: Any, members: Any) -> float:
    """Total mass of bodies, kg; also wakes their trees."""
    bodies = bodies_of(forest)
    trees, slices = trees_of(forest), slices_of(solver)
    total = 0.0
    for i in range(members.shape[0]):
        at = body_slot(forest, members[i])
        t = bodies[at]["tree"] if at >= 0 else -1
        known = t < 0
        for k in range(i):
            before = body_slot(forest, members[k])
            known |= before >= 0 and bodies[before]["tree"] == t
        if known:
            continue
        tree = tree_of(trees[t])
        links, mass = links_of(tree), 0.0
        for l in range(tree["n"]):
            for k in range(members.shape[0]):
                mass += links[l]["mass"] if links[l]["body"] == members[k] & ID_INDEX_MASK else 0.0
        total += mass
        if slices[t]["asleep"] != 0:
            slices[t]["asleep"], slices[t]["woken_by"] = 0, WOKEN_BY_EDIT
        slices[t]["still"] = 0.0
    return total
