"""Choice of directly solved islands by load: a tree supports many times its own mass, or an island is new and slow.

Gauss-Seidel propagates a load by one body per iteration, so that a tall stack topples and a heavy body sinks through a
light one. Supports are read from the directions of contact normals, not from impulses, so that impacts do not matter;
fast islands need a larger load, so that tumbling bodies do not count as a stack. The choice is repeated when the
touching pairs change, and every 2⁶ steps.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import contacts_of, pairs_of, shapes_of
from kinemorph.contact.islands import HASH_MASK, island_of, tree_index
from kinemorph.contact.layout import WEDGED, contact_constraints, islands_of, slices_of, supports_of
from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.layout import links_of
from kinemorph.spatial.rows import load3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import dot
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of

HEAVY_LOAD_RATIO = 8.0  # load over own mass, above which an island becomes direct
# the same for islands at rest in impulse worlds, where iteration makes light bodies rock without end
RESTING_LOAD_RATIO = 0.1
LIGHT_LOAD_SHARE = 0.5  # share of these ratios above which an island stays direct
CRUSHING_LOAD_RATIO = 50.0  # load over own mass, above which an island with trees faster than 0.5 m/s becomes direct
CALM_SPEED = 0.5  # m/s, that speed
CARRYING_COSINE = 0.3  # cosine of the angle to the vertical, above which a normal supports
ESTIMATE_PERIOD_BITS = 6  # the choice is repeated every 2⁶ steps
MOST_LOAD_PASSES = 100


@kernel
def tree_mass(tree: Any) -> float:
    links = links_of(tree)
    total = 0.0
    for i in range(tree["n"]):
        total += links[i]["mass"]
    return total


@kernel
def is_fixed_to_base(trees: Any, tree_index: int) -> bool:
    """Whether a tree is fixed to the base: it supports as the ground does."""
    tree = tree_of(trees[tree_index])
    return links_of(tree)[0]["kind"] != FREE


@kernel(inline=False)
def find_due_islands(solver: Any, trees: Any, step: int) -> bool:
    """Keep the choice of islands whose pairs are unchanged; set `direct` of the others to -1. True if there are any."""
    slices, islands = slices_of(solver), islands_of(solver)
    some = False
    for i in range(solver["island_count"]):
        island = islands[i]
        first = slices[island["first_tree"]]
        island["direct"] = 0
        if island["first_tree"] == island["last_tree"]:
            first["direct"] &= WEDGED
            continue
        now = island["pairs"] + ((step >> ESTIMATE_PERIOD_BITS) & 0xFFFFF) * (HASH_MASK + 1)
        if now == first["pairs"]:
            island["direct"] = first["direct"] & 1
            continue
        island["direct"], some = -1, True
        t = island["first_tree"]
        while t >= 0:
            tree_slice = slices[t]
            tree_slice["mass"], tree_slice["load"] = tree_mass(tree_of(trees[t])), 0.0
            tree_slice["level"], tree_slice["below"] = -1, 0
            t = tree_slice["next"]
        first["pairs"] = now
    return some


@kernel(inline=False)
def list_supports(solver: Any, forest: Any, collisions: Any) -> int:
    """List the supports between trees in the islands that are due. Returns their number."""
    slices, islands = slices_of(solver), islands_of(solver)
    bodies = bodies_of(forest)
    trees = trees_of(forest)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    contacts = contacts_of(collisions)
    rests = supports_of(solver)
    now = half_start(collisions["step"], collisions["contact_room"])
    g = (forest["gx"], forest["gy"], forest["gz"])
    least = CARRYING_COSINE * sqrt(dot(g, g))
    count = 0
    for k in range(collisions["n_pairs"]):
        pair = pairs[k]
        i = island_of(slices, bodies, shapes, pair) if pair["count"] > 0 else -1
        if i < 0 or islands[i]["direct"] >= 0:
            continue
        up = -dot(g, load3(contacts[now + pair["first"]]["normal"]))
        if abs(up) <= least:
            continue
        a, b = tree_index(bodies, shapes[pair["a"]]["link"]), tree_index(bodies, shapes[pair["b"]]["link"])
        below, above = (a, b) if up > 0.0 else (b, a)
        if below >= 0 and is_fixed_to_base(trees, below):
            below = -1
        if above < 0 or above == below or is_fixed_to_base(trees, above):
            continue
        rests[count]["below"], rests[count]["above"], rests[count]["share"] = below, above, 0.0
        count += 1
    return count


@kernel(inline=False)
def find_levels(solver: Any, count: int) -> None:
    """Longest path from the ground up to each tree, and the number of its supports."""
    slices, rests = slices_of(solver), supports_of(solver)
    for _ in range(MOST_LOAD_PASSES):
        changed = False
        for k in range(count):
            below, above = rests[k]["below"], slices[rests[k]["above"]]
            level = slices[below]["level"] + 1 if below >= 0 else 0
            if (below < 0 or level > 0) and level > above["level"]:
                above["level"] = level
                changed = True
        if not changed:
            break
    for k in range(count):
        below = rests[k]["below"]
        if below < 0 or slices[below]["level"] >= 0:
            slices[rests[k]["above"]]["below"] += 1


@kernel(inline=False)
def distribute_loads(solver: Any, count: int) -> None:
    """Load (kg) of each tree: every tree divides its mass and load equally among its supports."""
    slices, rests = slices_of(solver), supports_of(solver)
    for _ in range(MOST_LOAD_PASSES):
        changed = False
        for i in range(count):
            rest = rests[count - 1 - i]  # later trees are usually higher
            if rest["below"] < 0 or slices[rest["below"]]["level"] < 0:
                continue
            above = slices[rest["above"]]
            share = (above["mass"] + above["load"]) / above["below"]
            if share - rest["share"] > 1e-6 * share:
                slices[rest["below"]]["load"] += share - rest["share"]
                rest["share"] = share
                changed = True
        if not changed:
            break


@kernel
def lacks_stored_impulses(solver: Any, island: Any) -> bool:
    """Whether an island has contacts without stored impulses: iteration would need many steps to find them."""
    constraints = contact_constraints(solver)[island["first_contact"] :]
    for i in range(island["contact_count"]):
        if constraints[i]["kept"][0] > 0.0:
            return False
    return island["contact_count"] > 0


@kernel(inline=False)
def choose_island_solver(solver: Any, island: Any, slow: float) -> None:
    """Set `direct` of an island and of its trees. An island that may slow down is examined again in the next step."""
    slices = slices_of(solver)
    was, heaviest, fastest = 0, 0.0, 0.0
    t = island["first_tree"]
    while t >= 0:
        tree_slice = slices[t]
        was |= tree_slice["direct"] & 1
        fastest = max(fastest, tree_slice["speed"])
        if tree_slice["mass"] > 0.0:
            heaviest = max(heaviest, tree_slice["load"] / tree_slice["mass"])
        t = tree_slice["next"]
    heavy = RESTING_LOAD_RATIO if fastest < slow else HEAVY_LOAD_RATIO
    least = LIGHT_LOAD_SHARE * heavy if was != 0 else heavy if fastest < CALM_SPEED else CRUSHING_LOAD_RATIO
    direct = 1 if heaviest > least else 0
    new = 1 if fastest < CALM_SPEED and lacks_stored_impulses(solver, island) else 0
    if direct == 0 and (new != 0 or heaviest > (RESTING_LOAD_RATIO if slow > 0.0 else HEAVY_LOAD_RATIO)):
        slices[island["first_tree"]]["pairs"] = -1
    island["direct"] = max(direct, new)
    t = island["first_tree"]
    while t >= 0:
        slices[t]["direct"] = direct | (slices[t]["direct"] & WEDGED)
        t = slices[t]["next"]


@kernel
def choose_loaded_islands(solver: Any, forest: Any, collisions: Any, slow: float) -> None:
    """Set `direct` of each island. In impulse worlds, islands slower than `slow` (m/s) count as resting."""
    trees = trees_of(forest)
    islands = islands_of(solver)
    if not find_due_islands(solver, trees, collisions["step"]):
        return
    count = list_supports(solver, forest, collisions)
    find_levels(solver, count)
    distribute_loads(solver, count)
    for i in range(solver["island_count"]):
        if islands[i]["direct"] < 0:
            choose_island_solver(solver, islands[i], slow)
