"""One step of a world, wholly in kernels.

    forces, ABA ─> places of shapes ─> pairs, contacts ─> rows ─ solve ─> velocities and positions

A kernel that runs out of room says so; Python makes a larger table and calls again, and the step goes on where it was:
until the new state is written, at the very end, nothing of the old one has changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.collision.collide import find_pairs
from kinemorph.collision.contact_table import half_of
from kinemorph.collision.dispatch import find_contacts
from kinemorph.collision.shape_places import place_shape
from kinemorph.collision.shape_rows import BAD_BOX, COLLISIONS, FULL, MOUNT, PLACE, SHAPE
from kinemorph.constraint.passive import joint_forces
from kinemorph.constraint.whiten import unwhiten_velocity, whiten_velocity
from kinemorph.contact.bounds import fill_bounds
from kinemorph.contact.layout import FULL_Z, SOLVER, SPAN, TOUCH
from kinemorph.contact.rows import fill_touches
from kinemorph.contact.solve import solve
from kinemorph.multibody.aba import articulated_body
from kinemorph.multibody.checks import finite
from kinemorph.multibody.configuration import advance
from kinemorph.multibody.joints import FREE
from kinemorph.multibody.layout import LINK, LINK_DATA, TREE
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec
from kinemorph.spatial.quaternion import conjugate, multiply, rotate
from kinemorph.spatial.rows import load3, load3_at, load4_at, load9, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import add, axpy, cross, dot, scale
from kinemorph.structure.forest_layout import (
    BODY_SLOT,
    FOREST,
    IN_USE,
    REST,
    TAU,
    TREE_SLOT,
    TREES,
    A,
    Q,
    V,
)
from kinemorph.structure.forest_memory import pool_of
from kinemorph.world.layout import WORLD, WORLD_KIND, Phase, Status

MOVE, COLLIDE, FILL = int(Phase.MOVE), int(Phase.COLLIDE), int(Phase.FILL)
DONE, FULL_SOLVER, FULL_COLLISIONS = int(Status.DONE), int(Status.FULL_SOLVER), int(Status.FULL_COLLISIONS)
NOT_FINITE, WRONG_ROW, NO_BOX = int(Status.NOT_FINITE), int(Status.WRONG_ROW), int(Status.BAD_BOX)


@kernel(inline=False)
def lay_out(s: Any, forest: Any) -> bool:
    """Give each tree its span of the vectors. False if they are too short."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    spans = rows_at(s["spans"], s["span_room"], SPAN)
    count = pool_of(forest, TREES)["count"]
    if count > s["span_room"]:
        s["full"] |= FULL_Z
        return False
    nz = 0
    for t in range(count):
        spans[t]["touched"] = 0
        spans[t]["offset"] = -1
        if trees[t]["next"] == IN_USE:
            spans[t]["offset"] = nz
            nz += rows_at(trees[t]["address"], 1, TREE)[0]["nv"]
    s["nz"] = nz
    if nz > s["z_room"]:
        s["full"] |= FULL_Z
        return False
    return True


@kernel(inline=False)
def set_in_motion(w: Any, s: Any, forest: Any, none: Any) -> bool:
    """Accelerations of all trees without contacts, and with them whitened velocities and accelerations."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    spans = rows_at(s["spans"], s["span_room"], SPAN)
    z, za = rows_at(s["z"], s["nz"], F8), rows_at(s["za"], s["nz"], F8)
    z0 = rows_at(s["z0"], s["nz"], F8)
    for t in range(pool_of(forest, TREES)["count"]):
        o = spans[t]["offset"]
        if o < 0:
            continue
        tree, state = rows_at(trees[t]["address"], 1, TREE)[0], trees[t]["state"]
        nq, nv = tree["nq"], tree["nv"]
        q, v = rows_at(state + 8 * nq * Q, nq, F8), rows_at(state + 8 * nq * V, nv, F8)
        tau, a = rows_at(state + 8 * nq * TAU, nv, F8), rows_at(state + 8 * nq * A, nv, F8)
        total = z0[o : o + nv]
        joint_forces(tree, rows_at(state + 8 * nq * REST, nq, F8), q, v, tau, total)
        articulated_body(tree, q, v, total, none, a)
        if not finite(a):
            w["tree"] = t
            return False
        for k in range(nv):
            total[k] = a[k]
        l = rows_at(tree["links"], tree["n"], LINK)[0]
        if l["kind"] == FREE:  # its velocity is in a frame that turns: -ω x v is no force
            k = l["iv"] + 3
            store3_at(total, k, add(load3_at(total, k), cross(load3_at(v, l["iv"]), load3_at(v, k))))
        whiten_velocity(tree, total, za[o : o + nv])
        whiten_velocity(tree, v, z[o : o + nv])
    return True


@kernel(inline=False)
def place_bodies(w: Any, forest: Any, c: Any) -> None:
    """Where the shapes of all bodies are, and how far they may come in a step."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    bodies = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)
    shapes = rows_at(c["shapes"], c["n"], SHAPE)
    places = rows_at(c["places"], c["n"], PLACE)
    mounts = rows_at(c["mounts"], c["n"], MOUNT)
    dt = w["dt"]
    fall = dt * sqrt(forest["gx"] ** 2 + forest["gy"] ** 2 + forest["gz"] ** 2)
    for i in range(c["n"]):
        if shapes[i]["form"] == 0 or shapes[i]["link"] < 0:
            continue
        slot = bodies[shapes[i]["link"]]
        tree = rows_at(trees[slot["tree"]]["address"], 1, TREE)[0]
        d = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)[slot["link"] + 1]
        R, p = load9(d["R"]), load3(d["p"])
        if slot["moved"] != 0:
            p = add(p, mul_vec(R, load3(slot["p"])))
            R = mul(R, load9(slot["R"]))
        omega = load3(d["w"])
        arm = add(mul_vec(R, load3(mounts[i]["p"])), add(p, scale(load3(d["p"]), -1.0)))
        v = add(load3(d["v"]), cross(omega, arm))
        places[i]["sweep"] = dt * (sqrt(dot(v, v)) + sqrt(dot(omega, omega)) * mounts[i]["reach"] + fall)
        place_shape(c, i, R, p)


@kernel(inline=False)
def keep_impulses(s: Any, c: Any) -> None:
    """The impulses of contacts as world vectors: the next step starts from them, whatever the structure is by then."""
    touches = rows_at(s["touches"], s["touch_count"], TOUCH)
    impulses = rows_at(s["impulses"], 3 * s["impulse_room"], F8)
    now = half_of(c["step"], c["contact_room"])
    for k in range(3 * now, 3 * (now + c["n_contacts"])):
        impulses[k] = 0.0
    for i in range(s["touch_count"]):
        t = touches[i]
        p = scale(load3(t["normal"]), t["pn"])
        p = axpy(axpy(p, t["p1"], load3(t["t1"])), t["p2"], load3(t["t2"]))
        store3_at(impulses, 3 * (now + t["contact"]), p)


@kernel(inline=False)
def advance_trees(w: Any, s: Any, forest: Any) -> bool:
    """Velocities and positions after the step. False if some are not finite, and then nothing has changed."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    spans = rows_at(s["spans"], s["span_room"], SPAN)
    nz, dt = s["nz"], w["dt"]
    z, moved, g = rows_at(s["z"], nz, F8), rows_at(s["moved"], nz, F8), rows_at(s["g"], nz, F8)
    if not (finite(z) and finite(moved)):
        w["tree"] = -1
        return False
    count = pool_of(forest, TREES)["count"]
    for t in range(count):
        o = spans[t]["offset"]
        if o < 0:
            continue
        tree, state = rows_at(trees[t]["address"], 1, TREE)[0], trees[t]["state"]
        nq, nv = tree["nq"], tree["nv"]
        q, v = rows_at(state + 8 * nq * Q, nq, F8), rows_at(state + 8 * nq * V, nv, F8)
        step = g[o : o + nv]
        if spans[t]["touched"] == 0:  # nothing acted but smooth forces: the mean of both velocities is exact in flight
            unwhiten_velocity(tree, z[o : o + nv], moved[o : o + nv])
            for k in range(nv):
                step[k] = v[k] + 0.5 * (moved[o + k] - v[k])
                v[k] = moved[o + k]
            h = dt
        else:
            unwhiten_velocity(tree, moved[o : o + nv], step)
            unwhiten_velocity(tree, z[o : o + nv], v)
            h = 1.0
        l = rows_at(tree["links"], tree["n"], LINK)[0]
        free = l["kind"] == FREE
        before = load4_at(q, l["iq"] + 3) if free else (1.0, 0.0, 0.0, 0.0)
        advance(tree, q, step, h, q)
        if free:  # into the frame that has turned
            k = l["iv"] + 3
            turn = multiply(conjugate(load4_at(q, l["iq"] + 3)), before)
            store3_at(v, k, rotate(turn, load3_at(v, k)))
    return True


@kernel(inline=False)
def make_step(w: Any, none: Any) -> int:
    """One step. Returns a Status."""
    forest = rows_at(w["forest"], 1, FOREST)[0]
    c = rows_at(w["collisions"], 1, COLLISIONS)[0]
    s = rows_at(w["solver"], 1, SOLVER)[0]
    if w["phase"] == MOVE:
        if not lay_out(s, forest):
            return FULL_SOLVER
        if not set_in_motion(w, s, forest, none):
            return NOT_FINITE
        place_bodies(w, forest, c)
        w["phase"] = COLLIDE
    if w["phase"] == COLLIDE:
        if c["goes_on"] == 0:
            status = find_pairs(c)
            if status == BAD_BOX:
                w["phase"] = MOVE
                return NO_BOX
            if status == FULL:
                return FULL_COLLISIONS
        if find_contacts(c) == FULL:
            return FULL_COLLISIONS
        w["phase"] = FILL
    s["Y_used"] = 0
    if not (fill_bounds(s, forest) and fill_touches(s, forest, c)):
        return FULL_SOLVER
    w["phase"] = MOVE
    solve(s)
    keep_impulses(s, c)
    if not advance_trees(w, s, forest):
        return NOT_FINITE
    w["steps"] += 1
    w["time"] += w["dt"]
    return DONE


@entry(nogil=True)
def run_steps(address: int, count: int, none: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> tuple[int, int]:
    """So many steps. Returns a Status, and how many steps are left to do."""
    w = rows_at(address, 1, WORLD)[0]
    if w["kind"] != WORLD_KIND:
        return WRONG_ROW, count
    while count > 0:
        status = make_step(w, none)
        if status != DONE:
            return status, count
        count -= 1
    return DONE, 0
