"""Gyroscopic forces of trees by the implicit midpoint rule.

Velocity-dependent forces, -ω × I ω and its like in a tree, are quadratic in the velocities. Evaluated at the start of a
step they add energy, and a fast top on a ball joint would explode. At the midpoint, where the velocity is the mean of
those before and after, they do no work. Gravity is evaluated there as well: in the axes of a spinning link it turns by
a sizeable angle in a step. A freely swinging tree then keeps its energy to second order.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.aba import articulated_body
from kinemorph.multibody.algorithms.configuration import advance_configuration
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.checks import NO_FORCES, finite
from kinemorph.multibody.layout import link_data_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.quaternion import conjugate, multiply, rotate
from kinemorph.spatial.rows import load3, load3_at, load4_at, store3_at
from kinemorph.spatial.vec3 import add, cross, dot, sub

FAST_TURN_ANGLE = 0.1  # rad in a step: below it a tree in contact gains no energy to speak of;
# a free tree uses the rule at all but tiny speeds, so as not to switch where a swing turns back
SMALLEST_SWING_ANGLE = 1e-6
MOST_GYROSCOPIC_ROUNDS = 16
SETTLED_VELOCITY_SHARE = 1e-7  # of the velocities: the midpoint velocities have converged;
LARGEST_RESIDUAL = 1e-3  # more after all rounds: the iteration has not converged
AT_START, AT_MIDPOINT, LEFT_OUT = 0, 1, 2  # where velocity-dependent forces are evaluated; NONE: nowhere


@kernel
def has_fast_rotation(tree: Any, dt: float, most: float) -> bool:
    """Whether a link turns by more than `most` in a step, rad, according to its link data."""
    rows = link_data_of(tree)
    for i in range(1, tree["n"] + 1):
        w = load3(rows[i]["w"])
        if dot(w, w) * dt * dt > most * most:
            return True
    return False


@kernel(inline=False)
def accelerate_at_midpoint(solver: Any, start: int, tree: Any, q: Any, v: Any, total: Any, a: Any, dt: float) -> int:
    """Accelerations a of a tree at the position and velocity of the middle of the step, by fixed-point iteration.

    If it does not converge, velocity-dependent forces are left out, and `world.tree_motion.energy_correction` removes
    the energy that this adds. Returns MIDDLE or NONE; a free root's acceleration is in the axes of the start. The link
    data is that of the start of the step again at the end. Scratch: nq numbers of the solver's vectors from `start` on,
    which no other thread uses.
    """
    nq, nv = tree["nq"], tree["nv"]
    # these vectors are used in a solve only
    at = 8 * start
    place = rows_at(solver["g"] + at, nq, F8)
    middle = rows_at(solver["x"] + at, nv, F8)
    scratch = rows_at(solver["za"] + at, nv, F8)
    for k in range(nv):
        middle[k] = v[k] + 0.5 * dt * a[k]
    change = size = 0.0
    for _ in range(MOST_GYROSCOPIC_ROUNDS):
        for k in range(nv):
            scratch[k] = 0.5 * (v[k] + middle[k])  # mean velocity of the first half
        advance_configuration(tree, q, scratch, 0.5 * dt, place)
        articulated_body(tree, place, middle, total, NO_FORCES, a)
        change = size = 0.0
        for k in range(nv):
            new = v[k] + 0.5 * dt * a[k]
            change, size = max(change, abs(new - middle[k])), max(size, abs(new))
            middle[k] = new
        if not change > SETTLED_VELOCITY_SHARE * size:
            break
    where = AT_MIDPOINT if finite(a) and change <= LARGEST_RESIDUAL * size else LEFT_OUT
    link = links_of(tree)[0]
    k, j = link["iv"] + 3, link["iv"]
    if where == LEFT_OUT:
        for i in range(nv):
            middle[i] = 0.0
        articulated_body(tree, q, middle, total, NO_FORCES, a)
    elif link["kind"] == FREE:  # its linear velocity is in body axes: to the axes of the start
        true = add(load3_at(a, k), cross(load3_at(middle, j), load3_at(middle, k)))
        store3_at(a, k, rotate(multiply(conjugate(load4_at(q, link["iq"] + 3)), load4_at(place, link["iq"] + 3)), true))
    if link["kind"] == FREE:
        store3_at(a, k, sub(load3_at(a, k), cross(load3_at(v, j), load3_at(v, k))))  # `set_in_motion` adds that
    articulated_body(tree, q, v, total, NO_FORCES, scratch)
    return where
