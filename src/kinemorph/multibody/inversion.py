"""Joints seen from the other side, and joint coordinates read off a motion: what re-rooting needs (SPW 6.2.2).

Here a joint's motion is taken without its tree transform: pose and twist of the link's frame against the joint frame.
"""

from typing import Any

from kinemorph._jit import kernel
from kinemorph.multibody.joints import (
    CYLINDRICAL,
    FREE,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SCREW,
    SPHERICAL,
    UNIVERSAL,
    axis_rotation,
    column,
)  # fmt: skip
from kinemorph.spatial.mat3 import IDENTITY, Mat3, mul, mul_vec, tmul_vec
from kinemorph.spatial.quaternion import conjugate, from_matrix, rotate, to_matrix
from kinemorph.spatial.rows import get, load3, load3_at, load4_at, put, store3, store3_at, store4_at
from kinemorph.spatial.scalar import atan2, sincos
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross, dot, neg, scale

TURN = 6.283185307179586


@kernel
def joint_pose(l: Any, q: Any) -> tuple[Mat3, Vec3]:
    """Pose of the link's frame in the joint frame."""
    kind = l["kind"]
    k = l["iq"]
    a = load3(l["axis"])
    zero = (0.0, 0.0, 0.0)
    if kind == REVOLUTE:
        return axis_rotation(a, get(q, k)), zero
    if kind == PRISMATIC:
        return IDENTITY, scale(a, get(q, k))
    if kind == SCREW:
        return axis_rotation(a, get(q, k)), scale(a, l["pitch"] * get(q, k))
    if kind == CYLINDRICAL:
        return axis_rotation(a, get(q, k)), scale(a, get(q, k + 1))
    if kind == UNIVERSAL:
        return mul(axis_rotation(a, get(q, k)), axis_rotation(load3(l["axis2"]), get(q, k + 1))), zero
    if kind == PLANAR:
        e = load3(l["axis2"])
        return axis_rotation(a, get(q, k + 2)), axpy(scale(e, get(q, k)), get(q, k + 1), cross(a, e))
    if kind == SPHERICAL:
        return to_matrix(load4_at(q, k)), zero
    if kind == FREE:
        return to_matrix(load4_at(q, k + 3)), load3_at(q, k)
    return IDENTITY, zero


@kernel
def invert_axes(l: Any, out: Any) -> None:
    """Make row `out` the joint of `l` as the link sees its parent: a universal joint swaps its axes."""
    if l["kind"] == UNIVERSAL:
        first = load3(l["axis"])
        store3(out["axis"], load3(l["axis2"]))
        store3(out["axis2"], first)
    else:
        store3(out["axis"], load3(l["axis"]))
        store3(out["axis2"], load3(l["axis2"]))
    out["kind"] = l["kind"]
    out["pitch"] = l["pitch"]


@kernel
def invert_state(l: Any, q: Any, v: Any, a: Any, q_out: Any, v_out: Any, a_out: Any) -> None:
    """Position, velocity and acceleration of the inverted joint, at the same places in the output arrays.

    The motion of the parent as seen from the link: its pose is the inverse, its twist the opposite, in the parent's
    axes. Signs alone do not do for joints that turn what they move along.
    """
    kind = l["kind"]
    k = l["iq"]
    j = l["iv"]
    invert_position(l, q, q_out)
    if kind == UNIVERSAL:
        for i in range(2):
            put(v_out, j + i, -get(v, j + 1 - i))
            put(a_out, j + i, -get(a, j + 1 - i))
    elif kind == PLANAR:
        s, c = sincos(get(q, k + 2))
        x, y = get(q, k), get(q, k + 1)
        dx, dy, w = get(v, j), get(v, j + 1), get(v, j + 2)
        ddx, ddy, dw = get(a, j), get(a, j + 1), get(a, j + 2)
        # X = -(c x + s y), Y = s x - c y, so X' = -(c x' + s y') + w Y and Y' = s x' - c y' - w X
        X, Y = -(c * x + s * y), s * x - c * y
        dX, dY = -(c * dx + s * dy) + w * Y, s * dx - c * dy - w * X
        put(v_out, j, dX)
        put(v_out, j + 1, dY)
        put(v_out, j + 2, -w)
        put(a_out, j, -(c * ddx + s * ddy) + w * (s * dx - c * dy) + dw * Y + w * dY)
        put(a_out, j + 1, s * ddx - c * ddy + w * (c * dx + s * dy) - dw * X - w * dX)
        put(a_out, j + 2, -dw)
    elif kind == SPHERICAL:
        x = load4_at(q, k)
        store3_at(v_out, j, neg(rotate(x, load3_at(v, j))))
        store3_at(a_out, j, neg(rotate(x, load3_at(a, j))))
    elif kind == FREE:
        x = load4_at(q, k + 3)
        p = load3_at(q, k)
        invert_twist(x, p, v, v_out, j)
        invert_twist(x, p, a, a_out, j)  # the terms with v x v cancel
    else:
        for i in range(l["nv"]):
            put(v_out, j + i, -get(v, j + i))
            put(a_out, j + i, -get(a, j + i))


@kernel
def invert_position(l: Any, q: Any, q_out: Any) -> None:
    """Position alone of the inverted joint, at the same places in the output array."""
    kind = l["kind"]
    k = l["iq"]
    if kind == UNIVERSAL:
        for i in range(2):
            put(q_out, k + i, -get(q, k + 1 - i))
    elif kind == PLANAR:
        s, c = sincos(get(q, k + 2))
        x, y = get(q, k), get(q, k + 1)
        put(q_out, k, -(c * x + s * y))
        put(q_out, k + 1, s * x - c * y)
        put(q_out, k + 2, -get(q, k + 2))
    elif kind == SPHERICAL:
        store4_at(q_out, k, conjugate(load4_at(q, k)))
    elif kind == FREE:
        x = load4_at(q, k + 3)
        store3_at(q_out, k, neg(rotate(conjugate(x), load3_at(q, k))))
        store4_at(q_out, k + 3, conjugate(x))
    else:
        for i in range(l["nq"]):
            put(q_out, k + i, -get(q, k + i))


@kernel
def invert_twist(x: Any, p: Vec3, v: Any, out: Any, j: int) -> None:
    w = rotate(x, load3_at(v, j))
    u = add(rotate(x, load3_at(v, j + 3)), cross(p, w))
    store3_at(out, j, neg(w))
    store3_at(out, j + 3, neg(u))


@kernel
def invert_force(l: Any, q: Any, tau: Any, out: Any) -> None:
    """Forces of the inverted joint: the same power, so what multiplies its velocity, which is linear in the old one."""
    kind = l["kind"]
    k = l["iq"]
    j = l["iv"]
    if kind == UNIVERSAL:
        put(out, j, -get(tau, j + 1))
        put(out, j + 1, -get(tau, j))
    elif kind == PLANAR:
        # v' = L v with L = [[-c, -s, Y], [s, -c, -X], [0, 0, -1]], and tau = Lᵀ tau'
        s, c = sincos(get(q, k + 2))
        x, y = get(q, k), get(q, k + 1)
        X, Y = -(c * x + s * y), s * x - c * y
        fx, fy = get(tau, j), get(tau, j + 1)
        gx, gy = -c * fx - s * fy, s * fx - c * fy
        put(out, j, gx)
        put(out, j + 1, gy)
        put(out, j + 2, Y * gx - X * gy - get(tau, j + 2))
    elif kind == SPHERICAL:
        store3_at(out, j, neg(rotate(load4_at(q, k), load3_at(tau, j))))
    elif kind == FREE:  # a wrench in the link's frame becomes minus the same wrench in the joint's
        x = load4_at(q, k + 3)
        f = rotate(x, load3_at(tau, j + 3))
        store3_at(out, j, neg(add(rotate(x, load3_at(tau, j)), cross(load3_at(q, k), f))))
        store3_at(out, j + 3, neg(f))
    else:
        for i in range(l["nv"]):
            put(out, j + i, -get(tau, j + i))


@kernel
def extract_position(l: Any, R: Mat3, p: Vec3, q: Any) -> None:
    """The q at which the joint puts its link at (R, p); the nearest in a simple sense if it cannot."""
    kind = l["kind"]
    k = l["iq"]
    a = load3(l["axis"])
    if kind == FREE:
        store3_at(q, k, p)
        store4_at(q, k + 3, from_matrix(R))
    elif kind == SPHERICAL:
        store4_at(q, k, from_matrix(R))
    elif kind == PRISMATIC:
        put(q, k, dot(a, p))
    elif kind == UNIVERSAL:
        b = load3(l["axis2"])
        put(q, k, angle_about(a, b, mul_vec(R, b)))
        put(q, k + 1, -angle_about(b, a, tmul_vec(R, a)))
    elif kind == PLANAR:
        e = load3(l["axis2"])
        put(q, k, dot(e, p))
        put(q, k + 1, dot(cross(a, e), p))
        put(q, k + 2, rotation_about(a, R))
    elif kind == CYLINDRICAL:
        put(q, k, rotation_about(a, R))
        put(q, k + 1, dot(a, p))
    elif kind == REVOLUTE:
        put(q, k, rotation_about(a, R))
    elif kind == SCREW:
        angle = rotation_about(a, R)
        if l["pitch"] != 0.0:  # how far it has advanced tells the turns
            turns = (dot(a, p) / l["pitch"] - angle) / TURN
            angle = angle + TURN * round(turns)
        put(q, k, angle)


@kernel
def rotation_about(a: Vec3, R: Mat3) -> Scalar:
    """Angle of a rotation about a known axis."""
    sine = 0.5 * dot(a, (R[7] - R[5], R[2] - R[6], R[3] - R[1]))
    cosine = 0.5 * (R[0] + R[4] + R[8] - 1.0)
    return atan2(sine, cosine)


@kernel
def angle_about(a: Vec3, start: Vec3, end: Vec3) -> Scalar:
    """Angle about a that turns one vector into another of the same inclination to a."""
    s = axpy(start, -dot(a, start), a)
    e = axpy(end, -dot(a, end), a)
    return atan2(dot(a, cross(s, e)), dot(s, e))


@kernel
def extract_velocity(l: Any, q: Any, w: Vec3, u: Vec3, v: Any) -> None:
    """The v at which the joint moves its link with the twist (w, u), link frame; the nearest one if it cannot."""
    k = l["iv"]
    if l["kind"] == UNIVERSAL:  # the only joint with columns that are not orthogonal
        s, _ = column(l, q, 0)
        b = load3(l["axis2"])
        sb = dot(s, b)
        sw = dot(s, w)
        bw = dot(b, w)
        d = 1.0 - sb * sb
        put(v, k, (sw - sb * bw) / d)
        put(v, k + 1, (bw - sb * sw) / d)
    else:
        for i in range(l["nv"]):
            sw, su = column(l, q, i)
            put(v, k + i, (dot(sw, w) + dot(su, u)) / (dot(sw, sw) + dot(su, su)))
