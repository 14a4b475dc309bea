"""Kernels that record an episode at the start of each step: speeds, overlap, energy, swing of joints.

Their only effect on the simulation is to stop a run, when all bodies are still, or when the work of steps exceeds its
budget, so that no episode takes forever. Callers judge the figures.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from kinemorph.brain.layout import EFFECT
from kinemorph.collision.shapes.shape_poses import world_box
from kinemorph.collision.shapes.shape_rows import mounts_of, pairs_of, shape_poses_of, shapes_of
from kinemorph.contact.layout import contact_constraint_room, drives_of, slices_of
from kinemorph.contact.rows.drive_rows import find_dof
from kinemorph.creatures.episodes import layout
from kinemorph.creatures.exploits import LARGEST_SPEED, SPIN
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import dofs_of, link_data_of, links_of
from kinemorph.multibody.model.declared import declared_position, declared_velocity
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec, sym_vec, tmul_vec
from kinemorph.spatial.rows import load3, load6, load9, store3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import IN_USE, TREES, Q, V, bodies_of, tree_of, trees_of
from kinemorph.structure.forest.memory import clear_words, pool_of
from kinemorph.structure.forest.poses import body_frame
from kinemorph.world.brains.instance_rows import MIND, minds_of
from kinemorph.world.brains.target_poses import body_slot, find_target
from kinemorph.world.layout import WORLD, WORLD_KIND, Phase, Status, collisions_of, forest_of, solver_of
from kinemorph.world.step.many_steps import make_steps

DONE, STOPPED, PAUSED = int(Status.DONE), int(Status.STOPPED), int(Status.PAUSED)
WRONG_ROW, MOVE = int(Status.WRONG_ROW), int(Phase.MOVE)
NO_GAP = 1e30  # m: no gap
RECORDED = 2  # `known` of an EPISODE
STILL_SPEED = 0.05  # m/s: a slower centre of mass counts as still
CAP_SHARE = 0.9  # share of a cap from which on it is ridden
BRAIN_RECORD_SIZE, WINDOW_SIZE = layout.BRAIN_RECORD.itemsize, layout.WINDOW.itemsize
FAST, FAST_SPIN = CAP_SHARE * LARGEST_SPEED, CAP_SHARE * SPIN


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
def record_trees(solver: Any, forest: Any, brains: Any, episode: Any, moved: bool) -> None:
    """Energy of the world, and centre and speed of trees with a brain; `moved`: link data of awake trees is current."""
    trees, spans = trees_of(forest), slices_of(solver)
    minds, records = rows_at(brains["minds"], brains["mind_room"], MIND), layout.brain_records_of(episode)
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
            record = records[i]
            record["speed"], record["fastest"] = speed, max(record["fastest"], speed)
            if mass > 0.0:
                store3(record["centre"], scale(moment, 1.0 / mass))
            record["top"] = max(record["top"], record["centre"][2])
    if moved:
        episode["energy"] = total
    if episode["known"] == 0:
        episode["known"], episode["start"], episode["energy"] = 1, total, total


@kernel
def record_joint(solver: Any, forest: Any, episode: Any, e: Any, window: Any) -> float:
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
        episode["done"] += work
        episode["effort"] += abs(work)
    window["q"], window["known"] = q, 1
    window["sum"] += q
    window["square_sum"] += q * q
    window["count"] += 1
    if window["count"] >= episode["window"]:
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
def record_shapes(forest: Any, collisions: Any, mind: Any, record: Any, tree_index: int, placed: bool) -> None:
    """Record the lowest point of the bodies of a brain's tree and their distance from its target; `placed`: the poses
    of shapes are current."""
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
    record["lowest"], record["gap"] = lowest, gap
    record["highest"] = max(record["highest"], lowest)
    record["smallest_gap"] = min(record["smallest_gap"], gap)


@kernel
def record_overlap(forest: Any, collisions: Any, record: Any, tree_index: int) -> None:
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
            record["depth"] = max(record["depth"], -pair["distance"] / size)


@kernel
def record_brain(world: Any, episode: Any, mind: Any, record: Any, tree_index: int) -> None:
    """Record one brain instance, within a step."""
    solver, forest, collisions, brains = solver_of(world), forest_of(world), collisions_of(world), minds_of(world)
    effects, windows = rows_at(brains["effects"], brains["effect_room"], EFFECT), layout.windows_of(episode)
    spin = 0.0
    for k in range(mind["effects"], mind["effects"] + mind["effect_count"]):
        spin = max(spin, record_joint(solver, forest, episode, effects[k], windows[k]))
    record_shapes(forest, collisions, mind, record, tree_index, True)
    record_overlap(forest, collisions, record, tree_index)
    record["steps"] += 1
    record["gap_sum"] += record["gap"]
    record["spin"] = max(record["spin"], spin)
    record["riding"] += record["speed"] > FAST or spin > FAST_SPIN
    record["still"] = record["still"] + world["dt"] if record["speed"] < STILL_SPEED else 0.0


@kernel(inline=False)
def sum_surface_work(solver: Any) -> float:
    """Work of moving surfaces (conveyors) in the last step, J.

    The impulse p on shape b does the work p (v_b - v_a) on both bodies and dissipates p (v_b - v_a + w), where w is the
    relative velocity of the surfaces. The difference, -p w, is the work of the surfaces.
    """
    touches, work = contact_constraint_room(solver), 0.0
    for i in range(solver["contact_count"]):
        contact = touches[i]
        work -= (
            contact["total_tangent_impulse1"] * contact["surface_velocity1"]
            + contact["total_tangent_impulse2"] * contact["surface_velocity2"]
        )
    return work


@kernel(inline=False)
def record_step(world: Any, episode: Any) -> None:
    """Record all brain instances within a step, once link data is current; decide whether to stop."""
    solver, forest, brains = solver_of(world), forest_of(world), minds_of(world)
    episode["work"] += 1 + solver["substeps"] * (solver["contact_count"] + solver["dof_constraint_count"])
    record_trees(solver, forest, brains, episode, True)
    minds, bodies = rows_at(brains["minds"], brains["mind_room"], MIND), bodies_of(forest)
    records = layout.brain_records_of(episode)
    still = np.inf
    for i in range(brains["mind_count"]):
        at = body_slot(forest, minds[i]["body"])
        if at >= 0:
            record_brain(world, episode, minds[i], records[i], bodies[at]["tree"])
            still = min(still, records[i]["still"])
    if episode["known"] == RECORDED and solver["any_moving_surface"] != 0:
        episode["conveyed"] += sum_surface_work(solver)
    episode["known"] = RECORDED
    gain = episode["energy"] - episode["start"] - episode["done"] - episode["conveyed"]
    episode["surplus"] = max(episode["surplus"], gain)
    episode["stops_run"] = episode["work"] > episode["budget"] or episode["until_still"] <= still < np.inf


@kernel(inline=False)
def record_present(world: Any, episode: Any) -> None:
    """Update positions to the present state; all else is that of the last step."""
    brains, forest = minds_of(world), forest_of(world)
    solver, collisions = solver_of(world), collisions_of(world)
    minds, bodies = rows_at(brains["minds"], brains["mind_room"], MIND), bodies_of(forest)
    records = layout.brain_records_of(episode)
    record_trees(solver, forest, brains, episode, False)
    for i in range(brains["mind_count"]):
        at = body_slot(forest, minds[i]["body"])
        if at >= 0:
            record_shapes(forest, collisions, minds[i], records[i], bodies[at]["tree"], False)


@kernel(inline=False)
def make_recorded_steps(world: Any, episode: Any, count: int, most: int) -> tuple[int, int]:
    """`make_steps`, each recorded. Returns a Status and the number of steps left."""
    for _ in range(min(count, most)):
        if world["phase"] == MOVE:
            episode["stops_run"] = 0
        status, left = make_steps(world, 1, 1, True)
        if status == PAUSED:
            record_step(world, episode)
            status, left = make_steps(world, 1, 1, True)
        count -= 1 - left
        if status == DONE and episode["stops_run"] != 0:
            status = STOPPED
        if status != DONE:
            return status, count
    return DONE, count


@entry(nogil=True)
def run_recorded_steps(address: int, episode_address: int, count: int, most: int) -> tuple[int, int]:
    """`make_recorded_steps` for Python."""
    world, episode = rows_at(address, 1, WORLD)[0], rows_at(episode_address, 1, layout.EPISODE)[0]
    if world["kind"] != WORLD_KIND or episode["kind"] != layout.EPISODE_KIND:
        return WRONG_ROW, count
    return make_recorded_steps(world, episode, count, most)


@entry
def refresh_record(address: int, episode_address: int) -> int:
    """`record_present` for Python."""
    world, episode = rows_at(address, 1, WORLD)[0], rows_at(episode_address, 1, layout.EPISODE)[0]
    if world["kind"] != WORLD_KIND or episode["kind"] != layout.EPISODE_KIND:
        return WRONG_ROW
    record_present(world, episode)
    return DONE


@kernel(inline=False)
def reset_record(episode: Any, budget: int, until_still: float) -> None:
    """Forget all that has been recorded; `budget` limits work from now on, `until_still` is in s."""
    episode["budget"], episode["until_still"] = budget, until_still
    episode["work"] = episode["known"] = episode["stops_run"] = 0
    episode["start"] = episode["energy"] = episode["done"] = 0.0
    episode["effort"] = episode["conveyed"] = episode["surplus"] = 0.0
    records = layout.brain_records_of(episode)
    for i in range(episode["brain_room"]):
        generation, first, count = records[i]["generation"], records[i]["effects"], records[i]["effect_count"]
        clear_words(episode["brains"] + i * BRAIN_RECORD_SIZE, BRAIN_RECORD_SIZE)
        records[i]["generation"], records[i]["effects"], records[i]["effect_count"] = generation, first, count
        initialize_record(records[i])
    clear_words(episode["windows"], episode["window_room"] * WINDOW_SIZE)


@kernel
def initialize_record(record: Any) -> None:
    """Initialize the record of a brain instance whose other fields are zero."""
    record["highest"] = record["top"] = -inf
    record["smallest_gap"] = inf
