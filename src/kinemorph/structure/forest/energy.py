"""Sums over all or some bodies of a forest: mass, momentum, kinetic energy, and elastic energy of springs."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.constraint.loop_springs import loop_spring_forces
from kinemorph.constraint.loops import joint_frames
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.inversion import extract_position
from kinemorph.multibody.checks import Vector
from kinemorph.multibody.layout import dofs_of, link_data_of, links_of
from kinemorph.multibody.model.elements import elements_of
from kinemorph.multibody.model.springs import fill_spring_stretch
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec, sym_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load6, load9, store3
from kinemorph.spatial.vec3 import add, axpy, cross, dot, sub
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.elements import (
    drop_stale_elements,
    element_body,
    link_data_of_both,
    update_slot_motion,
    wrench_of_element,
)
from kinemorph.structure.forest.layout import bodies_of, loop_slots_of, loops_of, q_of, rest_of, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import claim_scratch, clear_words, pool_of

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Marks = np.ndarray[tuple[int], np.dtype[np.uint8]]


@kernel(inline=False)
def sum_links(slot: Any, chosen: Marks, sums: Any) -> None:
    """Add the links of a tree whose bodies are chosen to the sums, with the armatures of their joints."""
    update_slot_motion(slot)
    tree = tree_of(slot)
    links, rows = links_of(tree), link_data_of(tree)
    dofs, v = dofs_of(tree), v_of(slot, tree)
    for i in range(tree["n"]):
        link, d = links[i], rows[i + 1]
        if chosen[link["body"]] == 0:
            continue
        R, p, w, u = load9(d["R"]), load3(d["p"]), load3(d["w"]), load3(d["v"])
        h = mul_vec(R, load3(link["h"]))
        f = axpy(cross(w, h), link["mass"], u)  # momentum, and its moment about the link's origin
        n = add(mul_vec(R, sym_vec(load6(link["I"]), tmul_vec(R, w))), cross(h, u))
        sums["mass"] += link["mass"]
        sums["kinetic"] += 0.5 * (dot(w, n) + dot(u, f))
        store3(sums["moment"], add(load3(sums["moment"]), axpy(h, link["mass"], p)))
        store3(sums["angular"], add(load3(sums["angular"]), add(n, cross(p, f))))
        store3(sums["linear"], add(load3(sums["linear"]), f))
        for k in range(link["iv"], link["iv"] + link["nv"]):
            sums["kinetic"] += 0.5 * dofs[k]["armature"] * v[k] * v[k]


@entry
def sum_forest(address: int, chosen: Marks, sums: Records) -> int:
    """Sum mass, momentum and kinetic energy of the chosen bodies (a mark per index) into a row of SUMS. A status."""
    forest = rows_at(address, 1, layout.FOREST)[0]
    if forest["kind"] != layout.FOREST_KIND or forest["busy"] != 0:
        return layout.NO_FOREST
    trees = trees_of(forest)
    for t in range(pool_of(forest, layout.TREES)["count"]):
        if trees[t]["next"] == layout.IN_USE:
            sum_links(trees[t], chosen, sums[0])
    return layout.DONE


@kernel
def are_both_chosen(chosen: Marks, body_a: int, body_b: int) -> bool:
    """Whether both bodies are chosen; the base, which is below 0, always is."""
    return (body_a < 0 or chosen[body_a] != 0) and (body_b < 0 or chosen[body_b] != 0)


@kernel(inline=False)
def joint_spring_energy(slot: Any, memory: int) -> float:
    """Elastic energy (J) of a tree's joints; the memory gets the stretch of each degree of freedom."""
    tree = tree_of(slot)
    dofs, out = dofs_of(tree), rows_at(memory, tree["nv"], F8)
    fill_spring_stretch(tree, rest_of(slot, tree), q_of(slot, tree), out)
    energy = 0.0
    for k in range(tree["nv"]):
        energy += 0.5 * dofs[k]["stiffness"] * out[k] * out[k]
    return energy


@kernel(inline=False)
def chosen_joint_spring_energy(slot: Any, chosen: Marks, memory: int) -> float:
    """Elastic energy (J) of the joints between chosen bodies."""
    joint_spring_energy(slot, memory)
    tree = tree_of(slot)
    links, dofs = links_of(tree), dofs_of(tree)
    out = rows_at(memory, tree["nv"], F8)
    energy = 0.0
    for i in range(tree["n"]):
        link = links[i]
        if are_both_chosen(chosen, link["body"], links[link["parent"]]["body"] if link["parent"] >= 0 else -1):
            for k in range(link["iv"], link["iv"] + link["nv"]):
                energy += 0.5 * dofs[k]["stiffness"] * out[k] * out[k]
    return energy


@kernel
def update_body_motion(forest: Any, body: int) -> None:
    """Compute the motion of the links of a body's tree, unless it is the base."""
    if body >= 0:
        update_slot_motion(trees_of(forest)[bodies_of(forest)[body]["tree"]])


@kernel(inline=False)
def element_energy(forest: Any, chosen: Marks) -> float:
    """Elastic energy (J) of the force elements between chosen bodies."""
    drop_stale_elements(forest)
    elements = elements_of(forest)
    energy = 0.0
    for i in range(forest["element_count"]):
        a, b = element_body(forest, i, 0), element_body(forest, i, 1)
        if not are_both_chosen(chosen, a, b):
            continue
        update_body_motion(forest, a)
        update_body_motion(forest, b)
        energy += wrench_of_element(forest, elements[i], a, b)[3]
    return energy


@kernel(inline=False)
def loop_spring_energy(forest: Any, index: int, memory: int) -> float:
    """Elastic energy (J) of the joint of a loop; the memory has room for 13 numbers."""
    slot = loop_slots_of(forest)[index]
    loop, a, b = loops_of(forest)[index], slot["a"], slot["b"]
    update_body_motion(forest, a)
    update_body_motion(forest, b)
    da, db = link_data_of_both(forest, a, b)
    Ra, xa, Rb, xb = joint_frames(loop, da, db)
    clear_words(memory, 104)
    q, v = rows_at(memory, 7, F8), rows_at(memory + 56, 6, F8)
    loop["iq"] = loop["iv"] = 0  # each system counts in its own way
    extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(xb, xa)), q)
    return loop_spring_forces(loop, q, v)


@entry
def sum_elastic_energy(address: int, chosen: Marks, energy: Vector) -> int:
    """Sum the elastic energy (J) of joints, loops and force elements between chosen bodies, or between these and the
    base, into the first entry. Returns a status."""
    forest = rows_at(address, 1, layout.FOREST)[0]
    if forest["kind"] != layout.FOREST_KIND:
        return layout.NO_FOREST
    trees = trees_of(forest)
    loops, ties = loop_slots_of(forest), loops_of(forest)
    forest["scratch_used"] = forest["need"] = 0
    most = 13
    for t in range(pool_of(forest, layout.TREES)["count"]):
        if trees[t]["next"] == layout.IN_USE:
            most = max(most, tree_of(trees[t])["nv"])
    memory = claim_scratch(forest, 8 * most)
    if memory == 0:
        return layout.FULL
    energy[0] = element_energy(forest, chosen)
    for t in range(pool_of(forest, layout.TREES)["count"]):
        if trees[t]["next"] == layout.IN_USE and tree_of(trees[t])["springs"] != 0:
            energy[0] += chosen_joint_spring_energy(trees[t], chosen, memory)
    for k in range(pool_of(forest, layout.LOOPS)["count"]):
        used = loops[k]["next"] == layout.IN_USE and ties[k]["passive"] != 0
        if used and are_both_chosen(chosen, loops[k]["a"], loops[k]["b"]):
            energy[0] += loop_spring_energy(forest, k, memory)
    return layout.DONE
