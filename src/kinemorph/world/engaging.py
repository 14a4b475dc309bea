"""A brain comes into a world: where its senses and effects are, and the drives by which it acts, in one call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.brain.layout import Acted, Sensed
from kinemorph.contact.drives import found_degree
from kinemorph.contact.layout import DRIVE, SOLVER, Driven
from kinemorph.multibody.joints import FREE, SPHERICAL
from kinemorph.multibody.layout import DOF, LINK, TREE
from kinemorph.structure.forest_layout import FOREST, TREE_SLOT
from kinemorph.world.layout import WORLD, WORLD_KIND

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]
GIVE = 0.25  # rad or m: so far from its target a servo has all of its force
DAMPING = 0.08  # s, of its stiffness
SENSED_SPEED = int(Sensed.SPEED)
TORQUE, TARGET, SPEED, GRASP = (int(x) for x in Acted)
ROW, FORCE = int(Driven.ROW), int(Driven.FORCE)
FITS = -1


@kernel(inline=False)
def has_degree(forest: Any, joint: int, dof: int, what: int) -> bool:
    """Whether a joint has a degree of freedom, and an effect that does `what` (-1: it is a sense) may drive it."""
    t, k, j = found_degree(forest, joint, dof)
    if t < 0:
        return False
    tree = rows_at(rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)[t]["address"], 1, TREE)[0]
    l = rows_at(tree["links"], tree["n"], LINK)[k]
    if l["kind"] == FREE or (what == TARGET and l["kind"] == SPHERICAL):
        return False
    return what < 0 or rows_at(tree["dofs"], tree["nv"], DOF)[l["iv"] + j]["effort"] != 0.0


@kernel(inline=False)
def claim_drive(s: Any) -> int:
    """The first row of drives that is free; there is room."""
    drives = rows_at(s["drives"], s["drive_room"], DRIVE)
    for i in range(s["drive_count"]):
        if drives[i]["joint"] < 0:
            return i
    s["drive_count"] += 1
    return s["drive_count"] - 1


@kernel(inline=False)
def put_drive(d: Any, joint: int, effect: Any) -> None:
    """What an effect drives a joint by, before its first pass."""
    most, what = effect["most"], effect["what"]
    d["joint"], d["dof"], d["kind"], d["next"] = joint, effect["drive"], ROW, 0
    d["position"] = d["speed"] = d["stiffness"] = d["damping"] = d["force"] = 0.0
    d["least"], d["most"], d["source"] = -most, most, 0
    d["ratio"] = d["told"] = d["applied"] = 0.0
    if what == TORQUE:
        d["kind"], d["least"], d["most"] = FORCE, -math.inf, math.inf
    elif what == SPEED:
        d["damping"] = math.inf
    else:
        d["stiffness"] = most / GIVE
        d["damping"] = DAMPING * d["stiffness"]
        d["position"] = 0.5 * (effect["low"] + effect["high"])


@entry
def engage(address: int, bodies: Ids, joints: Ids, senses: Records, effects: Records) -> int:
    """Give senses and effects, of links by number, the ids of their bodies and joints, and drives.

    There is room for all drives. Returns FITS, or the number of the first sense or effect, counted on from the senses,
    that its joint does not have: then nothing has changed.
    """
    w = rows_at(address, 1, WORLD)[0]
    if w["kind"] != WORLD_KIND:
        return 0
    forest, s = rows_at(w["forest"], 1, FOREST)[0], rows_at(w["solver"], 1, SOLVER)[0]
    for i in range(senses.shape[0]):
        one = senses[i]
        if one["what"] <= SENSED_SPEED and not has_degree(forest, joints[one["id"]], one["axis"], -1):
            return i
    for i in range(effects.shape[0]):
        e = effects[i]
        if e["what"] != GRASP and not has_degree(forest, joints[e["body"]], e["drive"], e["what"]):
            return senses.shape[0] + i
    for i in range(senses.shape[0]):
        one = senses[i]
        one["id"] = joints[one["id"]] if one["what"] <= SENSED_SPEED else bodies[one["id"]]
    for i in range(effects.shape[0]):
        e = effects[i]
        e["held"] = -1
        if e["what"] == GRASP:
            e["body"], e["drive"] = bodies[e["body"]], -1
            continue
        row = claim_drive(s)
        d = rows_at(s["drives"], s["drive_room"], DRIVE)[row]
        put_drive(d, joints[e["body"]], e)
        e["drive"], e["generation"], e["body"] = row, d["generation"], -1
    return FITS
