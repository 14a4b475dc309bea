"""Inverted joints (their two sides swapped), and joint coordinates from relative motion, for edits (SPW 6.2.2).

A joint's motion is taken without its tree transform: pose and twist of the link's frame in the joint frame.
"""

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms import joints
from kinemorph.spatial.mat3 import Mat3, mul_vec, tmul_vec
from kinemorph.spatial.quaternion import conjugate, from_matrix, rotate
from kinemorph.spatial.rows import get, load3, load3_at, load4_at, put, store3, store3_at, store4_at
from kinemorph.spatial.scalar import atan2, sincos
from kinemorph.spatial.vec3 import Scalar, Vec3, add, axpy, cross, dot

TWO_PI = 6.283185307179586


@kernel
def invert_axes(link: Any, out: Any) -> None:
    """Set row `out` to the inverted joint of `link`: a universal joint swaps its axes."""
    if link["kind"] == joints.UNIVERSAL:
        first = load3(link["axis"])
        store3(out["axis"], load3(link["axis2"]))
        store3(out["axis2"], first)
    else:
        store3(out["axis"], load3(link["axis"]))
        store3(out["axis2"], load3(link["axis2"]))
    out["kind"] = link["kind"]
    out["pitch"] = link["pitch"]


@kernel
def invert_state(link: Any, q: Any, v: Any, a: Any, q_out: Any, v_out: Any, a_out: Any) -> None:
    """Position, velocity and acceleration of the inverted joint, at the same entries of the output arrays.

    The motion of the parent in the link's frame: its pose is the inverse, its twist the opposite, in the parent's axes.
    For joints whose axes turn with the link this is more than a change of signs.
    """
    kind = link["kind"]
    i = link["iq"]
    j = link["iv"]
    invert_position(link, q, q_out)
    for k in range(link["nv"]):
        put(v_out, j + k, inverse_velocity(kind, q, i, v, j, k))
        if kind != joints.PLANAR:  # the terms with v x v of a free joint cancel
            put(a_out, j + k, inverse_velocity(kind, q, i, a, j, k))
    if kind == joints.PLANAR:
        s, c = sincos(get(q, i + 2))
        dx, dy, w = get(v, j), get(v, j + 1), get(v, j + 2)
        ddx, ddy, dw = get(a, j), get(a, j + 1), get(a, j + 2)
        # the derivative of dX = -(c x' + s y') + w Y and dY = s x' - c y' - w X
        X, Y = inverse_position(kind, q, i, 0), inverse_position(kind, q, i, 1)
        dX, dY = inverse_velocity(kind, q, i, v, j, 0), inverse_velocity(kind, q, i, v, j, 1)
        put(a_out, j, -(c * ddx + s * ddy) + w * (s * dx - c * dy) + dw * Y + w * dY)
        put(a_out, j + 1, s * ddx - c * ddy + w * (c * dx + s * dy) - dw * X - w * dX)
        put(a_out, j + 2, -dw)


@kernel
def invert_position(link: Any, q: Any, q_out: Any) -> None:
    """Position of the inverted joint, at the same entries of the output array."""
    i = link["iq"]
    for k in range(link["nq"]):
        put(q_out, i + k, inverse_position(link["kind"], q, i, k))


@kernel
def vector_component(x: Vec3, index: int) -> Scalar:
    return x[0] if index == 0 else x[1] if index == 1 else x[2]


@kernel
def inverse_position(kind: int, q: Any, first: int, index: int) -> Scalar:
    """One entry of the position of the inverted joint; that of the joint begins at entry `first`."""
    if kind == joints.UNIVERSAL:
        return -get(q, first + 1 - index)
    if kind == joints.PLANAR and index < 2:
        s, c = sincos(get(q, first + 2))
        x, y = get(q, first), get(q, first + 1)
        return -(c * x + s * y) if index == 0 else s * x - c * y
    if kind == joints.SPHERICAL:
        return get(q, first) if index == 0 else -get(q, first + index)
    if kind == joints.FREE:
        if index == 3:
            return get(q, first + 3)
        if index < 3:
            return -vector_component(rotate(conjugate(load4_at(q, first + 3)), load3_at(q, first)), index)
    return -get(q, first + index)


@kernel
def inverse_velocity(kind: int, q: Any, first: int, v: Any, j: int, index: int) -> Scalar:
    """One entry of the velocity of the inverted joint; position and velocity of the joint begin at `first` and j."""
    if kind == joints.UNIVERSAL:
        return -get(v, j + 1 - index)
    if kind == joints.PLANAR and index < 2:  # X = -(c x + s y), Y = s x - c y
        s, c = sincos(get(q, first + 2))
        dx, dy, w = get(v, j), get(v, j + 1), get(v, j + 2)
        if index == 0:
            return -(c * dx + s * dy) + w * inverse_position(kind, q, first, 1)
        return s * dx - c * dy - w * inverse_position(kind, q, first, 0)
    if kind == joints.SPHERICAL:
        return -vector_component(rotate(load4_at(q, first), load3_at(v, j)), index)
    if kind == joints.FREE:
        x = load4_at(q, first + 3)
        w = rotate(x, load3_at(v, j))
        if index < 3:
            return -vector_component(w, index)
        return -vector_component(add(rotate(x, load3_at(v, j + 3)), cross(load3_at(q, first), w)), index - 3)
    return -get(v, j + index)


@kernel
def invert_force(link: Any, q: Any, tau: Any, out: Any) -> None:
    """Forces of the inverted joint, of equal power: its velocity is linear in that of the joint."""
    for k in range(link["nv"]):
        put(out, link["iv"] + k, inverse_force(link["kind"], q, link["iq"], tau, link["iv"], k))


@kernel
def inverse_force(kind: int, q: Any, first: int, tau: Any, j: int, index: int) -> Scalar:
    """One entry of the forces of the inverted joint; position and forces of the joint begin at `first` and j."""
    if kind == joints.UNIVERSAL:
        return -get(tau, j + 1 - index)
    if kind == joints.PLANAR:
        # v' = L v with L = [[-c, -s, Y], [s, -c, -X], [0, 0, -1]], and tau = Lᵀ tau'
        s, c = sincos(get(q, first + 2))
        fx, fy = get(tau, j), get(tau, j + 1)
        gx, gy = -c * fx - s * fy, s * fx - c * fy
        if index == 2:
            return inverse_position(kind, q, first, 1) * gx - inverse_position(kind, q, first, 0) * gy - get(tau, j + 2)
        return gx if index == 0 else gy
    if kind == joints.SPHERICAL:
        return -vector_component(rotate(load4_at(q, first), load3_at(tau, j)), index)
    if kind == joints.FREE:  # a wrench in the link's frame becomes minus the same wrench in the joint's
        x = load4_at(q, first + 3)
        f = rotate(x, load3_at(tau, j + 3))
        if index >= 3:
            return -vector_component(f, index - 3)
        return -vector_component(add(rotate(x, load3_at(tau, j)), cross(load3_at(q, first), f)), index)
    return -get(tau, j + index)


@kernel
def extract_position(link: Any, R: Mat3, p: Vec3, q: Any) -> None:
    """The q at which the joint puts its link at (R, p); an approximation if there is none."""
    kind = link["kind"]
    k = link["iq"]
    a = load3(link["axis"])
    if kind == joints.FREE:
        store3_at(q, k, p)
        store4_at(q, k + 3, from_matrix(R))
    elif kind == joints.SPHERICAL:
        store4_at(q, k, from_matrix(R))
    elif kind == joints.PRISMATIC:
        put(q, k, dot(a, p))
    elif kind == joints.UNIVERSAL:
        b = load3(link["axis2"])
        put(q, k, angle_about(a, b, mul_vec(R, b)))
        put(q, k + 1, -angle_about(b, a, tmul_vec(R, a)))
    elif kind == joints.PLANAR:
        e = load3(link["axis2"])
        put(q, k, dot(e, p))
        put(q, k + 1, dot(cross(a, e), p))
        put(q, k + 2, rotation_about(a, R))
    elif kind == joints.CYLINDRICAL:
        put(q, k, rotation_about(a, R))
        put(q, k + 1, dot(a, p))
    elif kind == joints.REVOLUTE:
        put(q, k, rotation_about(a, R))
    elif kind == joints.SCREW:
        angle = rotation_about(a, R)
        if link["pitch"] != 0.0:  # the advance gives the number of turns
            turns = (dot(a, p) / link["pitch"] - angle) / TWO_PI
            angle = angle + TWO_PI * round(turns)
        put(q, k, angle)


@kernel
def rotation_about(a: Vec3, R: Mat3) -> Scalar:
    """Angle (rad) of a rotation R about axis a."""
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
def extract_velocity(link: Any, q: Any, w: Vec3, u: Vec3, v: Any) -> None:
    """The v at which the joint moves its link with the twist (w, u), link frame; the nearest if there is none."""
    k = link["iv"]
    if link["kind"] == joints.UNIVERSAL:  # the only joint with columns that are not orthogonal
        s, _ = joints.subspace_column(link, q, 0)
        b = load3(link["axis2"])
        sb = dot(s, b)
        sw = dot(s, w)
        bw = dot(b, w)
        d = 1.0 - sb * sb
        put(v, k, (sw - sb * bw) / d)
        put(v, k + 1, (bw - sb * sw) / d)
    else:
        for i in range(link["nv"]):
            sw, su = joints.subspace_column(link, q, i)
            put(v, k + i, (dot(sw, w) + dot(su, u)) / (dot(sw, sw) + dot(su, su)))
