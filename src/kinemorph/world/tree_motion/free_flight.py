"""Motion of free rigid bodies in a step, which conserves angular momentum exactly.

The whitened velocity of a free body is [Lᵀ w, √m v_c] (`multibody.algorithms.free_body`), so L z is its angular
momentum in link axes. Impulses change it; then the body turns, and its momentum, constant in the world, is transformed
to the new axes. An explicit gyroscopic force -w × I w would add energy instead.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms import free_body
from kinemorph.multibody.layout import links_of
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.quaternion import conjugate, exp, multiply, normalized, rotate
from kinemorph.spatial.rows import load3, load3_at, load4_at, load6, load9, store3, store3_at, store4_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.triangle import tri_tvec, tri_vec
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub

SLOW_CONTACT_TURN_ANGLE = 0.02  # rad in a step: below it a body in contact gains no energy to speak of
SPIN_ITERATIONS = 3  # of the fixed-point iteration for the mean spin of a flight
LARGEST_PART_ANGLE = 0.2  # rad, largest turn in one part of the integration
LARGEST_TURN_ANGLE = 20.0  # rad in a step: faster bodies keep their momentum, but their rotation is cut off here


@kernel(inline=False)
def update_body_row(tree: Any, q: Any, v: Any) -> None:
    """Pose and velocity of a free body from q and v into its link data."""
    free_body.place_and_move_free_body(tree, free_body.free_body_of(tree), free_body.free_body_link(tree), q, v)


@kernel(inline=False)
def whiten_body_state(tree: Any, v: Any, tau: Any, z: Any, za: Any, offset: int) -> None:
    """z and za of a free body, from its velocity, gravity and applied wrench tau, after `see_body`."""
    lone, d = free_body.free_body_of(tree), free_body.free_body_link(tree)
    R = load9(d["R"])
    turn, push = free_body.whiten_free_body(lone, R, load3(v), load3_at(v, 3))
    store3_at(z, offset, turn)
    store3_at(z, offset + 3, push)
    n, f = load3(tau), load3_at(tau, 3)
    n = sub(n, cross(load3(lone["c"]), f))
    store3_at(za, offset, tri_vec(load6(lone["K"]), n))
    pull = scale(load3(lone["g"]), lone["mass"] * lone["light"])
    store3_at(za, offset + 3, axpy(pull, lone["light"], mul_vec(R, f)))


@kernel
def compute_spin_after_turn(lone: Any, momentum: Vec3, turn: Any) -> Vec3:
    """Angular velocity in the new link axes, of an angular momentum in the old ones, after a rotation by `turn`."""
    K = load6(lone["K"])
    return tri_tvec(K, tri_vec(K, rotate(conjugate(turn), momentum)))


@kernel
def limit_spin_energy(lone: Any, w: Vec3, turn: Vec3) -> Vec3:
    """Scale w down to the rotational energy of the whitened spin `turn`. Contacts have rotated the body about an axis
    other than w, and conserved momentum alone would let it gain energy."""
    new = tri_tvec(load6(lone["L"]), w)
    before, after = dot(turn, turn), dot(new, new)
    return scale(w, sqrt(before / after)) if after > before else w


@kernel
def integrate_free_rotation(lone: Any, momentum: Vec3, w: Vec3, dt: float) -> tuple[Any, Vec3]:
    """Torque-free rotation in a step: the quaternion of the turn, and the angular velocity after it, in the new axes.

    Momentum is conserved exactly and energy to second order, since the body turns with the mean of its angular
    velocities before and after. A large turn is made in several parts.
    """
    far = min(sqrt(dot(w, w)) * dt, LARGEST_TURN_ANGLE)
    parts = 1 + int(far / LARGEST_PART_ANGLE) if far > LARGEST_PART_ANGLE else 1
    h = dt / parts
    turn = (1.0, 0.0, 0.0, 0.0)
    for n in range(parts):
        start, before = w, turn
        for _ in range(SPIN_ITERATIONS):
            part = exp(scale(add(start, w), 0.5 * h))
            turn = part if n == 0 else multiply(before, part)
            w = compute_spin_after_turn(lone, momentum, turn)
    return turn, w


@kernel(inline=False)
def advance_free_body(tree: Any, z: Any, moved: Any, offset: int, touched: bool, dt: float, q: Any, v: Any) -> None:
    """Position and velocity of a free body after a step, from z; `moved` is its whitened displacement if `touched`."""
    lone, d = free_body.free_body_of(tree), free_body.free_body_link(tree)
    R, c = load9(d["R"]), load3(lone["c"])
    momentum = tri_vec(load6(lone["L"]), load3_at(z, offset))
    speed = scale(load3_at(z, offset + 3), lone["light"])  # of the centre of mass, world
    if touched:
        phi = tri_tvec(load6(lone["K"]), load3_at(moved, offset))
        shift = scale(load3_at(moved, offset + 3), lone["light"])
        turn = exp(phi)
        w = compute_spin_after_turn(lone, momentum, turn)
        if dot(phi, phi) > SLOW_CONTACT_TURN_ANGLE * SLOW_CONTACT_TURN_ANGLE:
            w = limit_spin_energy(lone, w, load3_at(z, offset))
    else:
        turn, w = integrate_free_rotation(lone, momentum, load3(v), dt)
        if dot(w, w) * dt * dt > LARGEST_TURN_ANGLE * LARGEST_TURN_ANGLE:
            w = limit_spin_energy(lone, w, load3_at(z, offset))
        before = add(load3_at(v, 3), cross(load3(v), c))
        shift = scale(add(mul_vec(R, before), speed), 0.5 * dt)
    store_free_body(tree, lone, R, turn, shift, w, speed, q, v)


@kernel
def store_free_body(
    tree: Any, lone: Any, R: Mat3, turn: Any, shift: Vec3, w: Vec3, speed: Vec3, q: Any, v: Any
) -> None:
    """Write q and v: rotated by `turn`, centre of mass moved by `shift` (m), its velocity `speed`, w in link axes."""
    c = load3(lone["c"])
    # the body turns about its centre of mass, which moves the origin of the link
    step = add(shift, mul_vec(R, sub(c, rotate(turn, c))))
    if lone["askew"] != 0:
        step = tmul_vec(load9(links_of(tree)[0]["R"]), step)
    store3(q, add(load3(q), step))
    store4_at(q, 3, normalized(multiply(load4_at(q, 3), turn)))
    store3(v, w)
    inside = rotate(conjugate(turn), tmul_vec(R, speed))
    store3_at(v, 3, sub(inside, cross(w, c)))
