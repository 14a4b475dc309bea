"""Which islands are solved directly: those in which something carries many times its own mass, and calm new ones once.

Gauss-Seidel hands a load down by one body a pass, and what is soft enough for that sinks: a tall stack topples, and
a heavy body goes through a light one. Who rests on whom is read from the normals of contacts, whether they press or
not, so that an impact changes nothing; and what tumbles is not taken for a stack. It is decided anew when other shapes
touch, and every now and then.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_of
from kinemorph.collision.shapes.shape_rows import contacts_of, pairs_of, shapes_of
from kinemorph.contact.islands import MASK, island_of, tree_index
from kinemorph.contact.layout import (
    WEDGED,
    contact_constraints,
    islands_of,
    slices_of,
    supports_of,
)
from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.layout import links_of
from kinemorph.spatial.rows import load3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import dot
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of

HEAVY = 8.0  # times its own mass: an island becomes direct above that,
BURDENED = 0.1  # or above this, if it rests as worlds of impulses mean it: light bodies that are swept rock for ever;
LIGHT_LOAD_SHARE = 0.5  # and stays so above a share of it
CRUSHING = 50.0  # times its own mass: above it an island becomes direct though something in it is faster than this:
CALM = 0.5  # m/s
CARRYING_COSINE = 0.3  # cosine of the angle to the vertical, above which a normal carries
ESTIMATE_PERIOD_BITS = 6  # it is looked at anew every 2⁶ steps, whatever happens
MOST_LOAD_PASSES = 100


@kernel
def mass_of(tree: Any) -> float:
    links = links_of(tree)
    total = 0.0
    for i in range(tree["n"]):
        total += links[i]["mass"]
    return total


@kernel
def stands_by_itself(trees: Any, t: int) -> bool:
    """Whether a tree is held by the base: it carries as the ground does."""
    tree = tree_of(trees[t])
    return links_of(tree)[0]["kind"] != FREE


@kernel(inline=False)
def mark_due(solver: Any, trees: Any, step: int) -> bool:
    """Decide for islands in which nothing is new; whether any others are left, whose `direct` is then -1."""
    spans, islands = slices_of(solver), islands_of(solver)
    some = False
    for i in range(solver["island_count"]):
        island = islands[i]
        first = spans[island["first_tree"]]
        island["direct"] = 0
        if island["first_tree"] == island["last_tree"]:
            first["direct"] &= WEDGED
            continue
        now = island["pairs"] + ((step >> ESTIMATE_PERIOD_BITS) & 0xFFFFF) * (MASK + 1)
        if now == first["pairs"]:
            island["direct"] = first["direct"] & 1
            continue
        island["direct"], some = -1, True
        t = island["first_tree"]
        while t >= 0:
            span = spans[t]
            span["mass"], span["load"] = mass_of(tree_of(trees[t])), 0.0
            span["level"], span["below"] = -1, 0
            t = span["next"]
        first["pairs"] = now
    return some


@kernel(inline=False)
def list_rests(solver: Any, forest: Any, collisions: Any) -> int:
    """Who rests on whom in the islands that are due. Returns the number of rows."""
    spans, islands = slices_of(solver), islands_of(solver)
    bodies = bodies_of(forest)
    trees = trees_of(forest)
    shapes, pairs = shapes_of(collisions), pairs_of(collisions)
    contacts = contacts_of(collisions)
    rests = supports_of(solver)
    now = half_of(collisions["step"], collisions["contact_room"])
    g = (forest["gx"], forest["gy"], forest["gz"])
    least = CARRYING_COSINE * sqrt(dot(g, g))
    count = 0
    for k in range(collisions["n_pairs"]):
        pair = pairs[k]
        i = island_of(spans, bodies, shapes, pair) if pair["count"] > 0 else -1
        if i < 0 or islands[i]["direct"] >= 0:
            continue
        up = -dot(g, load3(contacts[now + pair["first"]]["normal"]))
        if abs(up) <= least:
            continue
        a, b = tree_index(bodies, shapes[pair["a"]]["link"]), tree_index(bodies, shapes[pair["b"]]["link"])
        below, above = (a, b) if up > 0.0 else (b, a)
        if below >= 0 and stands_by_itself(trees, below):
            below = -1
        if above < 0 or above == below or stands_by_itself(trees, above):
            continue
        rests[count]["below"], rests[count]["above"], rests[count]["share"] = below, above, 0.0
        count += 1
    return count


@kernel(inline=False)
def find_levels(solver: Any, count: int) -> None:
    """The longest way up from the ground to each tree, and on how many it rests."""
    spans, rests = slices_of(solver), supports_of(solver)
    for _ in range(MOST_LOAD_PASSES):
        changed = False
        for k in range(count):
            below, above = rests[k]["below"], spans[rests[k]["above"]]
            level = spans[below]["level"] + 1 if below >= 0 else 0
            if (below < 0 or level > 0) and level > above["level"]:
                above["level"] = level
                changed = True
        if not changed:
            break
    for k in range(count):
        below = rests[k]["below"]
        if below < 0 or spans[below]["level"] >= 0:
            spans[rests[k]["above"]]["below"] += 1


@kernel(inline=False)
def hand_down(solver: Any, count: int) -> None:
    """What each tree carries: those above it share their masses and loads among all that they rest on."""
    spans, rests = slices_of(solver), supports_of(solver)
    for _ in range(MOST_LOAD_PASSES):
        changed = False
        for i in range(count):
            rest = rests[count - 1 - i]  # trees that were added later are higher up, most often
            if rest["below"] < 0 or spans[rest["below"]]["level"] < 0:
                continue
            above = spans[rest["above"]]
            share = (above["mass"] + above["load"]) / above["below"]
            if share - rest["share"] > 1e-6 * share:
                spans[rest["below"]]["load"] += share - rest["share"]
                rest["share"] = share
                changed = True
        if not changed:
            break


@kernel
def is_new(solver: Any, island: Any) -> bool:
    """Whether nothing is known of what the contacts of an island carry: sweeps would take many steps to find it."""
    touches = contact_constraints(solver)[island["first_touch"] :]
    for i in range(island["touch_count"]):
        if touches[i]["kept"][0] > 0.0:
            return False
    return island["touch_count"] > 0


@kernel(inline=False)
def decide(solver: Any, island: Any, slow: float) -> None:
    """Set `direct` of an island and of its trees. One that may calm down is looked at again in the next step."""
    spans = slices_of(solver)
    was, heaviest, fastest = 0, 0.0, 0.0
    t = island["first_tree"]
    while t >= 0:
        span = spans[t]
        was |= span["direct"] & 1
        fastest = max(fastest, span["speed"])
        if span["mass"] > 0.0:
            heaviest = max(heaviest, span["load"] / span["mass"])
        t = span["next"]
    heavy = BURDENED if fastest < slow else HEAVY
    least = LIGHT_LOAD_SHARE * heavy if was != 0 else heavy if fastest < CALM else CRUSHING
    direct = 1 if heaviest > least else 0
    new = 1 if fastest < CALM and is_new(solver, island) else 0
    if direct == 0 and (new != 0 or heaviest > (BURDENED if slow > 0.0 else HEAVY)):
        spans[island["first_tree"]]["pairs"] = -1
    island["direct"] = max(direct, new)
    t = island["first_tree"]
    while t >= 0:
        spans[t]["direct"] = direct | (spans[t]["direct"] & WEDGED)
        t = spans[t]["next"]


@kernel
def choose(solver: Any, forest: Any, collisions: Any, slow: float) -> None:
    """Set `direct` of each island. In worlds of impulses what is slower than `slow` rests, and is not to sway."""
    trees = trees_of(forest)
    islands = islands_of(solver)
    if not mark_due(solver, trees, collisions["step"]):
        return
    count = list_rests(solver, forest, collisions)
    find_levels(solver, count)
    hand_down(solver, count)
    for i in range(solver["island_count"]):
        if islands[i]["direct"] < 0:
            decide(solver, islands[i], slow)
