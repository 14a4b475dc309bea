"""What swings or spins: forces as they are in the middle of a step.

Forces that velocities make, -ω × I ω and its like in a tree, are quadratic in them. Taken at the start of a step they
add energy, the more the faster something spins, and a top on a ball joint would explode. In the middle of the step,
where the velocity is the mean of those before and after, they do no work at all. Weight goes along: seen from what
spins, it turns by a sizeable angle in a step. A tree that swings freely then keeps its energy to second order.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.aba import articulated_body
from kinemorph.multibody.algorithms.configuration import advance
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.checks import NO_FORCES, finite
from kinemorph.multibody.layout import link_data_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.quaternion import conjugate, multiply, rotate
from kinemorph.spatial.rows import load3, load3_at, load4_at, store3_at
from kinemorph.spatial.vec3 import add, cross, dot, sub

FAST = 0.1  # rad in a step: what turns no faster, and touches something, gains nothing worth the work;
SMOOTH = 1e-6  # and what swings freely, only if it hardly moves: a swing is not to change its ways at each turn
MOST_GYROSCOPIC_ROUNDS = 16
SETTLED_VELOCITY_SHARE = 1e-7  # share of its velocities by which a tree's mean velocities may still change;
LARGEST_RESIDUAL = 1e-3  # more than this after all rounds: it turns further in a step than can be followed
START, MIDDLE, NONE = 0, 1, 2  # where forces that velocities make are taken


@kernel
def turns_fast(tree: Any, dt: float, most: float) -> bool:
    """Whether a link turns by more than that in a step, rad, as its row says."""
    rows = link_data_of(tree)
    for i in range(1, tree["n"] + 1):
        w = load3(rows[i]["w"])
        if dot(w, w) * dt * dt > most * most:
            return True
    return False


@kernel(inline=False)
def take_in_the_middle(solver: Any, start: int, tree: Any, q: Any, v: Any, total: Any, a: Any, dt: float) -> int:
    """Accelerations where the tree is, and moves as it does, in the middle of the step, by repetition.

    What turns so far in a step that there is no end to that has none of the forces that velocities make: its joints go
    on as they do, and whatever energy that would add is taken away (`world.tree_motion.energy_correction`). The rows
    of the tree are those of the start of the step when it is done. The solver's vectors have room for nq numbers from
    `start` on, which no other thread uses.
    """
    nq, nv = tree["nq"], tree["nv"]
    # vectors that are of use in a solve only
    at = 8 * start
    place, middle, other = (
        rows_at(solver["g"] + at, nq, F8),
        rows_at(solver["x"] + at, nv, F8),
        rows_at(solver["za"] + at, nv, F8),
    )
    for k in range(nv):
        middle[k] = v[k] + 0.5 * dt * a[k]
    change = size = 0.0
    for _ in range(MOST_GYROSCOPIC_ROUNDS):
        for k in range(nv):
            other[k] = 0.5 * (v[k] + middle[k])  # on the way to the middle
        advance(tree, q, other, 0.5 * dt, place)
        articulated_body(tree, place, middle, total, NO_FORCES, a)
        change = size = 0.0
        for k in range(nv):
            new = v[k] + 0.5 * dt * a[k]
            change, size = max(change, abs(new - middle[k])), max(size, abs(new))
            middle[k] = new
        if not change > SETTLED_VELOCITY_SHARE * size:
            break
    where = MIDDLE if finite(a) and change <= LARGEST_RESIDUAL * size else NONE
    link = links_of(tree)[0]
    k, j = link["iv"] + 3, link["iv"]
    if where == NONE:
        for i in range(nv):
            middle[i] = 0.0
        articulated_body(tree, q, middle, total, NO_FORCES, a)
    elif link["kind"] == FREE:  # its linear velocity is in a frame that turns: to the axes of the start
        true = add(load3_at(a, k), cross(load3_at(middle, j), load3_at(middle, k)))
        store3_at(a, k, rotate(multiply(conjugate(load4_at(q, link["iq"] + 3)), load4_at(place, link["iq"] + 3)), true))
    if link["kind"] == FREE:
        store3_at(a, k, sub(load3_at(a, k), cross(load3_at(v, j), load3_at(v, k))))  # `set_in_motion` adds that
    articulated_body(tree, q, v, total, NO_FORCES, other)
    return where
