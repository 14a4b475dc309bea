"""Free roots: the whitened response of a free root joint to a wrench at its origin, and its velocity.

Every row on a free-floating tree ends at its root, where each of six degrees of freedom would wait for the previous
one. The response is linear in the wrench, so its matrix is computed once for all rows of a step. It is block
triangular: the three rotations come first, and depend on the moment alone.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.whiten import store_velocity_pair
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.layout import LINK_DATA, dof_data_of, links_of
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, scale


@kernel
def has_free_root(tree: Any) -> bool:
    """Whether the root joint of a tree is free."""
    return links_of(tree)[0]["kind"] == FREE


@kernel
def fill_free_root(tree: Any, root: Any) -> None:
    """Compute the response matrices of a tree with a free root.

    Degree of freedom k has u_k = D_k s_kᵀ (w - Σ_j<k U_j u_j) for a wrench w: each row follows from the earlier ones.
    """
    e = dof_data_of(tree)
    for k in range(3):
        s, row = load3(e[k]["S"]), load3(e[k]["S"])
        for j in range(k):
            row = axpy(row, -dot(s, load3(e[j]["U"])), load3_at(root["turn"], 3 * j))
        store3_at(root["turn"], 3 * k, scale(row, e[k]["D"][0]))
    for k in range(3):
        s, row, push = load3_at(e[3 + k]["S"], 3), load3_at(e[3 + k]["S"], 3), (0.0, 0.0, 0.0)
        for j in range(3):
            push = axpy(push, -dot(s, load3_at(e[j]["U"], 3)), load3_at(root["turn"], 3 * j))
        for j in range(k):
            taken = -dot(s, load3_at(e[3 + j]["U"], 3))
            row = axpy(row, taken, load3_at(root["go"], 3 * j))
            push = axpy(push, taken, load3_at(root["swing"], 3 * j))
        store3_at(root["go"], 3 * k, scale(row, e[3 + k]["D"][0]))
        store3_at(root["swing"], 3 * k, scale(push, e[3 + k]["D"][0]))


@kernel
def root_response(root: Any, n: Vec3, f: Vec3) -> tuple[Vec3, Vec3]:
    """Angular and linear part of y at the root, for a wrench at its origin, or for several in lanes."""
    return mul_vec(load9(root["turn"]), n), add(mul_vec(load9(root["swing"]), n), mul_vec(load9(root["go"]), f))


@kernel
def root_velocity(root: Any, z: Any) -> tuple[Vec3, Vec3]:
    """Angular (rad/s) and linear (m/s) velocity of the root, world axes, from its whitened velocity z (transpose)."""
    turning, going = load3(z), load3_at(z, 3)
    w = add(tmul_vec(load9(root["turn"]), turning), tmul_vec(load9(root["swing"]), going))
    return w, tmul_vec(load9(root["go"]), going)


@kernel
def unwhiten_root(tree: Any, root: Any, z: Any, v: Any, z2: Any, v2: Any) -> None:
    """Unwhiten the root of z and z2 into v and v2, and set the first link's data for `unwhiten_velocity_pair`."""
    data = rows_at(tree["rows"], 2, LINK_DATA)[1]
    R = load9(data["R"])
    w, u = root_velocity(root, z)
    w2, u2 = root_velocity(root, z2)
    store_velocity_pair(data, w, u, w2, u2)
    store3(v, tmul_vec(R, w))
    store3_at(v, 3, tmul_vec(R, u))
    store3(v2, tmul_vec(R, w2))
    store3_at(v2, 3, tmul_vec(R, u2))
