"""How lone bodies move in a step: their momentum is what stays, and their spin follows from how they turn.

A lone body's whitened velocity is [Lᵀ w, √m v_c] (`multibody.algorithms.free_body`), so L z is its angular momentum in
link axes. In a step the momentum changes by impulses alone; then the body turns, and the momentum, which stays in the
world, is seen from the new axes. Nothing gains energy from being spun fast, as with -w × I w as a force it would.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.free_body import go, link_of, lone_of, whitened
from kinemorph.multibody.layout import links_of
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.quaternion import conjugate, exp, multiply, normalized, rotate
from kinemorph.spatial.rows import load3, load3_at, load4_at, load6, load9, store3, store3_at, store4_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.triangle import tri_tvec, tri_vec
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub

SLOW_TURN_ANGLE = 0.02  # rad in a step: what turns no further in contact gains nothing worth the work
SPIN_ITERATIONS = 3  # of the fixed-point iteration for the mean spin of a flight
PART = 0.2  # rad, in which it comes to its end
LARGEST_TURN = 20.0  # rad in a step: what turns further has its momentum, but is not followed


@kernel(inline=False)
def see_body(tree: Any, q: Any, v: Any) -> None:
    """Pose and velocity of a lone body into its row."""
    go(tree, lone_of(tree), link_of(tree), q, v)


@kernel(inline=False)
def whiten_flight(tree: Any, v: Any, tau: Any, z: Any, za: Any, o: int) -> None:
    """Velocity of a lone body and what gravity and applied forces do to it, whitened, after `see_body`."""
    lone, d = lone_of(tree), link_of(tree)
    R = load9(d["R"])
    turn, push = whitened(lone, R, load3(v), load3_at(v, 3))
    store3_at(z, o, turn)
    store3_at(z, o + 3, push)
    n, f = load3(tau), load3_at(tau, 3)
    n = sub(n, cross(load3(lone["c"]), f))
    store3_at(za, o, tri_vec(load6(lone["K"]), n))
    pull = scale(load3(lone["g"]), lone["mass"] * lone["light"])
    store3_at(za, o + 3, axpy(pull, lone["light"], mul_vec(R, f)))


@kernel
def spin_after(lone: Any, momentum: Vec3, turn: Any) -> Vec3:
    """The angular velocity, in the new link axes, of a momentum in the old ones, after a turn by a quaternion."""
    K = load6(lone["K"])
    return tri_tvec(K, tri_vec(K, rotate(conjugate(turn), momentum)))


@kernel
def no_faster(lone: Any, w: Vec3, turn: Vec3) -> Vec3:
    """A spin, or one that is slower, with no more energy than a whitened one: contacts have turned the body otherwise
    than it spins, and its momentum alone would let it gain some."""
    new = tri_tvec(load6(lone["L"]), w)
    before, after = dot(turn, turn), dot(new, new)
    return scale(w, sqrt(before / after)) if after > before else w


@kernel
def turn_freely(lone: Any, momentum: Vec3, w: Vec3, dt: float) -> tuple[Any, Vec3]:
    """How a body turns in a step in which nothing but smooth forces acts, and its spin after it, in the new axes.

    Momentum stays exactly, and energy to second order, for it turns with the mean of the spins before and after; what
    turns far does so in several parts.
    """
    far = min(sqrt(dot(w, w)) * dt, LARGEST_TURN)
    parts = 1 + int(far / PART) if far > PART else 1
    h = dt / parts
    turn = (1.0, 0.0, 0.0, 0.0)
    for n in range(parts):
        start, before = w, turn
        for _ in range(SPIN_ITERATIONS):
            part = exp(scale(add(start, w), 0.5 * h))
            turn = part if n == 0 else multiply(before, part)
            w = spin_after(lone, momentum, turn)
    return turn, w


@kernel(inline=False)
def fly_on(tree: Any, z: Any, moved: Any, o: int, touched: bool, dt: float, q: Any, v: Any) -> None:
    """Position and velocity of a lone body after a step; `moved` is its displacement if an impulse has acted."""
    lone, d = lone_of(tree), link_of(tree)
    R, c = load9(d["R"]), load3(lone["c"])
    momentum = tri_vec(load6(lone["L"]), load3_at(z, o))
    speed = scale(load3_at(z, o + 3), lone["light"])  # of the centre of mass, world
    if touched:
        phi = tri_tvec(load6(lone["K"]), load3_at(moved, o))
        shift = scale(load3_at(moved, o + 3), lone["light"])
        turn = exp(phi)
        w = spin_after(lone, momentum, turn)
        if dot(phi, phi) > SLOW_TURN_ANGLE * SLOW_TURN_ANGLE:
            w = no_faster(lone, w, load3_at(z, o))
    else:
        turn, w = turn_freely(lone, momentum, load3(v), dt)
        if dot(w, w) * dt * dt > LARGEST_TURN * LARGEST_TURN:
            w = no_faster(lone, w, load3_at(z, o))
        before = add(load3_at(v, 3), cross(load3(v), c))
        shift = scale(add(mul_vec(R, before), speed), 0.5 * dt)
    put_body(tree, lone, R, turn, shift, w, speed, q, v)


@kernel
def put_body(tree: Any, lone: Any, R: Mat3, turn: Any, shift: Vec3, w: Vec3, speed: Vec3, q: Any, v: Any) -> None:
    """Write a new state: turned, its centre of mass shifted in the world, with a spin in link axes and a speed."""
    c = load3(lone["c"])
    # the origin of the link goes with the centre of mass, which it turns about
    step = add(shift, mul_vec(R, sub(c, rotate(turn, c))))
    if lone["askew"] != 0:
        step = tmul_vec(load9(links_of(tree)[0]["R"]), step)
    store3(q, add(load3(q), step))
    store4_at(q, 3, normalized(multiply(load4_at(q, 3), turn)))
    store3(v, w)
    inside = rotate(conjugate(turn), tmul_vec(R, speed))
    store3_at(v, 3, sub(inside, cross(w, c)))
