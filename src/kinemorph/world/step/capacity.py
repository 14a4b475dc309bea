"""Capacity of the solver's tables, compared with the number of trees, shapes, joints and loops of a world."""

from __future__ import annotations

from kinemorph.jit.api import entry, rows_at
from kinemorph.structure.forest.layout import JOINTS, LOOPS, TREES
from kinemorph.structure.forest.memory import pool_of
from kinemorph.world.layout import WORLD, collisions_of, forest_of, solver_of


@entry
def has_capacity(address: int, shapes: int) -> bool:
    """Whether the solver has a slice for each tree, a material for each shape, a wrench for each loop, and so on.

    `Solver.follow` enlarges the tables.
    """
    world = rows_at(address, 1, WORLD)[0]
    forest, solver = forest_of(world), solver_of(world)
    collisions = collisions_of(world)
    trees = pool_of(forest, TREES)["count"]
    joints = pool_of(forest, JOINTS)["count"]
    loops = pool_of(forest, LOOPS)["count"]
    enough = trees <= solver["slice_room"] and shapes <= solver["material_room"] and loops <= solver["wrench_room"]
    enough = enough and joints <= solver["joint_room"]
    return enough and collisions["contact_room"] <= solver["impulse_room"] // 2
