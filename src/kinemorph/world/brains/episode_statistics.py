"""Episode statistics of bodies with a brain, at the start of each step: speeds, overlap, energy, swing of joints.

Their only effect on the simulation is to stop a run, when all bodies are still, or when the work of steps exceeds its
budget, so that no episode takes forever. Callers judge the figures.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.brain.layout import EFFECT
from kinemorph.collision.shapes.shape_poses import world_box
from kinemorph.collision.shapes.shape_rows import (
    mounts_of,
    pairs_of,
    shape_poses_of,
    shapes_of,
)
from kinemorph.contact.layout import contact_constraint_room, drives_of, slices_of
from kinemorph.contact.rows.drive_rows import find_dof
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import dofs_of, link_data_of, links_of
from kinemorph.multibody.model.declared import declared_position, declared_velocity
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec, sym_vec, tmul_vec
from kinemorph.spatial.rows import load3, load6, load9, store3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import (
    IN_USE,
    TREES,
    Q,
    V,
    bodies_of,
    tree_of,
    trees_of,
)
from kinemorph.structure.forest.memory import pool_of
from kinemorph.structure.forest.poses import body_frame
from kinemorph.world.brains.instance_rows import MIND, WINDOW, minds_of
from kinemorph.world.brains.target_poses import body_slot, find_target
from kinemorph.world.layout import WORLD, WORLD_KIND, Status, collisions_of, forest_of, solver_of

DONE, WRONG_ROW = int(Status.DONE), int(Status.WRONG_ROW)
NO_GAP = 1e30  # m: no gap
WATCHED_BIT = 2  # of `known` in a MINDS row
STILL_SPEED = 0.05  # m/s: a slower centre of mass counts as still


@kernel
def sum_tree_motion(tree: Any, v: Any) -> tuple[float, Vec3, float, float]:
    """Mass, first moment, kinetic energy and largest speed of a link's centre of mass, from the link data of a tree."""
    links, rows = links_of(tree), link_data_of(tree)
    dofs = dofs_of(tree)
    mass, kinetic, fastest, moment = 0.0, 0.0, 0.0, (0.0, 0.0, 0.0)
    for i in range(tree["n"]):
        link, d = links[i], rows[i + 1]
        m = link["mass"]
        if m <= 0.0:
            continue
        R, w, u = load9(d["R"]), load3(d["w"]), load3(d["v"])
        h = mul_vec(R, load3(link["h"]))
        f = axpy(cross(w, h), m, u)  # momentum, and its moment about the link's origin
        n = add(mul_vec(R, sym_vec(load6(link["I"]), tmul_vec(R, w))), cross(h, u))
        kinetic += 0.5 * (dot(w, n) + dot(u, f))
        fastest = max(fastest, dot(f, f) / (m * m))
        mass += m
        moment = add(moment, axpy(h, m, load3(d["p"])))
    for k in range(tree["nv"]):
        kinetic += 0.5 * dofs[k]["armature"] * v[k] * v[k]
    return mass, moment, kinetic, sqrt(fastest)


@kernel
def record_trees(solver: Any, forest: Any, brains: Any, moved: bool) -> None:
    """Energy of the world, and centre and speed of trees with a brain; `moved`: link data of awake trees is current."""
    trees, spans = trees_of(forest), slices_of(solver)
    minds = rows_at(brains["minds"], brains["mind_room"], MIND)
    bodies = bodies_of(forest)
    g = (forest["gx"], forest["gy"], forest["gz"])
    total = 0.0
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] != IN_USE:
            continue
        if not moved or spans[t]["asleep"] != 0:
            update_slot_motion(trees[t])
        tree = tree_of(trees[t])
        v = rows_at(trees[t]["state"] + 8 * tree["nq"] * V, tree["nv"], F8)
        mass, moment, kinetic, speed = sum_tree_motion(tree, v)
        total += kinetic - dot(g, moment)
        for i in range(brains["mind_count"]):
            at = body_slot(forest, minds[i]["body"])
            if at < 0 or bodies[at]["tree"] != t:
                continue
            life = minds[i]["life"]
            life["speed"], life["fastest"] = speed, max(life["fastest"], speed)
            if mass > 0.0:
                store3(life["centre"], scale(moment, 1.0 / mass))
            life["top"] = max(life["top"], life["centre"][2])
    if moved:
        brains["energy"] = total
    if brains["known"] == 0:
        brains["known"], brains["start"], brains["energy"] = 1, total, total


@kernel
def record_joint(solver: Any, forest: Any, minds: Any, e: Any, window: Any) -> float:
    """Record work (J) and swing of the joint of an effect in this step. Returns its speed, rad/s or m/s."""
    drives = drives_of(solver)
    if e["drive"] < 0 or drives[e["drive"]]["generation"] != e["generation"]:
        return 0.0
    drive = drives[e["drive"]]
    t, k, _ = find_dof(forest, drive["joint"], drive["dof"])
    if t < 0:
        return 0.0
    slot = trees_of(forest)[t]
    tree = tree_of(slot)
    link = links_of(tree)[k]
    if link["nq"] != link["nv"]:
        return 0.0
    rows = rows_at(slot["state"] + 8 * tree["nq"] * Q, tree["nq"], F8)
    q = declared_position(link, rows, drive["dof"])
    if window["known"] != 0:
        work = drive["applied"] * (q - window["q"])
        minds["done"] += work
        minds["effort"] += abs(work)
    window["q"], window["known"] = q, 1
    window["sum"] += q
    window["square_sum"] += q * q
    window["count"] += 1
    if window["count"] >= minds["window"]:
        n = float(window["count"])
        mean = window["sum"] / n
        window["largest_deviation"] = max(
            window["largest_deviation"], sqrt(max(0.0, window["square_sum"] / n - mean * mean))
        )
        window["sum"] = window["square_sum"] = 0.0
        window["count"] = 0
    v = rows_at(slot["state"] + 8 * tree["nq"] * V, tree["nv"], F8)
    return abs(declared_velocity(link, rows, v, drive["dof"]))


@kernel
def distance_to_box(mount: Any, R: Any, p: Vec3, aim: Vec3) -> float:
    """Distance of a point from a shape, m: from the box around its core, less its radius."""
    x = tmul_vec(R, sub(aim, p))
    low, high = load3(mount["low"]), load3(mount["high"])
    a = max(low[0] - x[0], x[0] - high[0], 0.0)
    b = max(low[1] - x[1], x[1] - high[1], 0.0)
    c = max(low[2] - x[2], x[2] - high[2], 0.0)
    return max(0.0, sqrt(a * a + b * b + c * c) - mount["pad"])


@kernel
def record_shapes(forest: Any, collisions: Any, mind: Any, tree_index: int, placed: bool) -> None:
    """Record the lowest point of the bodies of a brain's tree and their distance from its target; `placed`: the poses
    of shapes are current."""
    life = mind["life"]
    bodies = bodies_of(forest)
    tree = tree_of(trees_of(forest)[tree_index])
    rows = link_data_of(tree)
    shapes, mounts = shapes_of(collisions), mounts_of(collisions)
    places = shape_poses_of(collisions)
    aims, aim = find_target(forest, mind)
    lowest, gap = np.inf, NO_GAP
    target = body_slot(forest, mind["target"])
    for i in range(collisions["n"]):
        link = shapes[i]["link"]
        if shapes[i]["form"] == 0 or link < 0 or bodies[link]["tree"] != tree_index or link == target:
            continue
        if placed:
            R, p = load9(places[i]["R"]), load3(places[i]["p"])
        else:
            R, p = body_frame(bodies[link], rows[bodies[link]["link"] + 1])
            p = add(mul_vec(R, load3(mounts[i]["p"])), p)
            R = mul(R, load9(mounts[i]["R"]))
        lowest = min(lowest, world_box(mounts[i], R, p)[0][2])
        if aims:
            gap = min(gap, distance_to_box(mounts[i], R, p, aim))
    life["lowest"], life["gap"] = lowest, gap
    life["highest"] = max(life["highest"], lowest)
    life["smallest_gap"] = min(life["smallest_gap"], gap)


@kernel
def record_overlap(forest: Any, collisions: Any, life: Any, tree_index: int) -> None:
    """Record the largest overlap of a shape of a tree, as a share of the smaller shape's mean extent."""
    bodies = bodies_of(forest)
    shapes, mounts = shapes_of(collisions), mounts_of(collisions)
    pairs = pairs_of(collisions)
    for k in range(collisions["n_pairs"]):
        pair = pairs[k]
        if pair["count"] == 0 or pair["distance"] >= 0.0:
            continue
        size, own = np.inf, False
        for side in range(2):
            i = pair["a"] if side == 0 else pair["b"]
            link = shapes[i]["link"]
            if shapes[i]["form"] != 0 and link >= 0 and bodies[link]["next"] == IN_USE:
                own |= bodies[link]["tree"] == tree_index
                e = sub(load3(mounts[i]["high"]), load3(mounts[i]["low"]))
                size = min(size, (e[0] + e[1] + e[2]) / 3.0 + 2.0 * mounts[i]["pad"])
        if own:
            life["depth"] = max(life["depth"], -pair["distance"] / size)


@kernel
def record_brain(world: Any, solver: Any, forest: Any, collisions: Any, minds: Any, mind: Any, tree_index: int) -> None:
    """Record the statistics of one brain instance, within a step."""
    life = mind["life"]
    effects, windows = (
        rows_at(minds["effects"], minds["effect_room"], EFFECT),
        rows_at(minds["windows"], minds["effect_room"], WINDOW),
    )
    spin = 0.0
    for k in range(mind["effects"], mind["effects"] + mind["effect_count"]):
        spin = max(spin, record_joint(solver, forest, minds, effects[k], windows[k]))
    record_shapes(forest, collisions, mind, tree_index, True)
    record_overlap(forest, collisions, life, tree_index)
    life["steps"] += 1
    life["gap_sum"] += life["gap"]
    life["spin"] = max(life["spin"], spin)
    life["riding"] += life["speed"] > minds["fast"] or spin > minds["fast_spin"]
    life["still"] = life["still"] + world["dt"] if life["speed"] < STILL_SPEED else 0.0


@kernel(inline=False)
def sum_surface_work(solver: Any) -> float:
    """Work of moving surfaces (conveyors) in the last step, J.

    The impulse p on shape b does the work p (v_b - v_a) on both bodies and dissipates p (v_b - v_a + w), where w is the
    relative velocity of the surfaces. The difference, -p w, is the work of the surfaces.
    """
    touches, work = contact_constraint_room(solver), 0.0
    for i in range(solver["touch_count"]):
        contact = touches[i]
        work -= (
            contact["total_tangent_impulse1"] * contact["surface_velocity1"]
            + contact["total_tangent_impulse2"] * contact["surface_velocity2"]
        )
    return work


@kernel
def record_statistics(world: Any, solver: Any, forest: Any, collisions: Any, brains: Any) -> None:
    """Record the statistics of all brain instances within a step, once link data is current; decide whether to stop."""
    brains["work"] += 1 + solver["substeps"] * (solver["touch_count"] + solver["bound_count"])
    if brains["watched"] == 0:
        brains["stops_run"] = brains["work"] > brains["budget"]
        return
    record_trees(solver, forest, brains, True)
    minds, bodies = rows_at(brains["minds"], brains["mind_room"], MIND), bodies_of(forest)
    still = np.inf
    for i in range(brains["mind_count"]):
        at = body_slot(forest, minds[i]["body"])
        if at >= 0:
            record_brain(world, solver, forest, collisions, brains, minds[i], bodies[at]["tree"])
            still = min(still, minds[i]["life"]["still"])
    if brains["known"] == WATCHED_BIT and solver["any_moving_surface"] != 0:
        brains["conveyed"] += sum_surface_work(solver)
    brains["known"] = WATCHED_BIT
    brains["surplus"] = max(brains["surplus"], brains["energy"] - brains["start"] - brains["done"] - brains["conveyed"])
    brains["stops_run"] = brains["work"] > brains["budget"] or brains["until_still"] <= still < np.inf


@entry
def refresh_statistics(address: int) -> int:
    """Update the positions in the statistics to the present state; all else is that of the last step."""
    world = rows_at(address, 1, WORLD)[0]
    if world["kind"] != WORLD_KIND:
        return WRONG_ROW
    record_present_state(world)
    return DONE


@kernel(inline=False)
def record_present_state(world: Any) -> None:
    """`refresh_statistics` for kernels."""
    brains, forest = minds_of(world), forest_of(world)
    solver, collisions = solver_of(world), collisions_of(world)
    minds, bodies = rows_at(brains["minds"], brains["mind_room"], MIND), bodies_of(forest)
    record_trees(solver, forest, brains, False)
    for i in range(brains["mind_count"]):
        at = body_slot(forest, minds[i]["body"])
        if at >= 0:
            record_shapes(forest, collisions, minds[i], bodies[at]["tree"], False)
