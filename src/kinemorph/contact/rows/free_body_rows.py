"""Constraint rows of contacts on free rigid bodies: the normal and both tangents at once, in SIMD lanes.

A unit force d at x has y = [L⁻¹ Rᵀ (x - x_c) × d, d / √m] on such a body (`multibody.algorithms.free_body`). Three
vectors are stored as one `Vec3` of lanes. The solve needs the products of the three rows: each with itself, and each
with the next one in cyclic order.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.free_body import free_body_link, free_body_of
from kinemorph.spatial.lanes.four import columns, splat, store_from, store_pair, three, turned
from kinemorph.spatial.mat3 import Mat3, mul_vec
from kinemorph.spatial.rows import load3, load6, load9
from kinemorph.spatial.triangle import tri_vec
from kinemorph.spatial.vec3 import Scalar, Vec3, add, cross, dot, scale, sub

LoneBody: TypeAlias = tuple[Mat3, Vec3, float]  # L⁻¹ Rᵀ, m: the centre of mass in the world, and 1 / √m
NO_BODY: LoneBody = ((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0)


@kernel
def lone_body_of(tree: Any) -> LoneBody:
    """L⁻¹ Rᵀ, centre of mass (m, world) and 1 / √m of a free body."""
    lone, d = free_body_of(tree), free_body_link(tree)
    R, K = load9(d["R"]), load6(lone["K"])
    x, y, z = tri_vec(K, (R[0], R[1], R[2])), tri_vec(K, (R[3], R[4], R[5])), tri_vec(K, (R[6], R[7], R[8]))
    W = (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    return W, add(load3(d["p"]), mul_vec(R, load3(lone["c"]))), lone["light"]


@kernel
def stack_vectors(a: Vec3, b: Vec3, c: Vec3) -> Vec3:
    """Three vectors as one vector of lanes."""
    return three(a[0], b[0], c[0]), three(a[1], b[1], c[1]), three(a[2], b[2], c[2])


@kernel
def write_lone_rows(
    body: LoneBody, x: Vec3, forces: Vec3, sign: float, Y: Any, y: int, stride: int
) -> tuple[Scalar, Scalar]:
    """Write three rows of a free body, of orthonormal forces at x. Returns the products of each row with itself, and
    with the next one in cyclic order."""
    W, centre, light = body
    turns, applied_forces = mul_vec(W, cross(scale(sub(x, centre), sign), forces)), scale(forces, sign * light)
    write_six(turns, applied_forces, Y, y, stride)
    return dot(turns, turns) + splat(light * light), dot(turns, rotate_lanes(turns))


@kernel
def write_six(turns: Vec3, applied_forces: Vec3, Y: Any, y: int, stride: int) -> None:
    """Write six numbers, angular and linear, into each of three rows."""
    starts = columns(turns[0], turns[1], turns[2], applied_forces[0])
    ends = columns(applied_forces[1], applied_forces[2], applied_forces[1], applied_forces[2])
    for i in range(3):
        store_from(Y, y + i * stride, starts[i])
        store_pair(Y, y + i * stride + 4, ends[i])


@kernel
def rotate_lanes(a: Vec3) -> Vec3:
    """Rotate the lanes: the place of each vector gets the next one in cyclic order."""
    return turned(a[0]), turned(a[1]), turned(a[2])
