"""Springs and dampers in the joints that close loops.

A loop's joint has no entry in q: its position follows from its two links, and the force of its spring and damper is a
wrench F on them with Sᵀ F = tau; any such wrench does, because the loop forces make up the difference. Angles are those
nearest to zero, so such a spring does not count turns.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.loops import joint_frames
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.inversion import extract_position, extract_velocity
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL, UNIVERSAL, subspace_column
from kinemorph.multibody.layout import link_data_of
from kinemorph.multibody.loop_layout import system_loops_of
from kinemorph.multibody.model.elements import add_wrench_pair, point_velocity
from kinemorph.multibody.model.springs import spherical_spring_moment, translation_spring_force
from kinemorph.multibody.system import F8, system_of
from kinemorph.spatial.mat3 import mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load3_at, load4_at
from kinemorph.spatial.vec3 import Vec3, axpy, dot, sub


@kernel(inline=False)
def add_loop_spring_wrenches(tree: Any, total: Any) -> float:
    """Add the wrenches of springs and dampers of loop joints to those on links. Returns their elastic energy."""
    system = system_of(tree)
    rows = link_data_of(tree)
    loops = system_loops_of(system)
    q = rows_at(system["q"], system["nq_loops"], F8)
    v = rows_at(system["v"], system["nv_loops"], F8)
    energy = 0.0
    for i in range(system["count"]):
        loop = loops[i]
        if loop["passive"] == 0:
            continue
        da, db = rows[loop["a"] + 1], rows[loop["b"] + 1]
        Ra, xa, Rb, x = joint_frames(loop, da, db)
        extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(x, xa)), q)
        w = sub(load3(db["w"]), load3(da["w"]))
        u = sub(point_velocity(db, x), point_velocity(da, x))
        extract_velocity(loop, q, tmul_vec(Rb, w), tmul_vec(Rb, u), v)
        energy += loop_spring_forces(loop, q, v)
        n, f = joint_force_wrench(loop, q, v)
        add_wrench_pair(rows, total, loop["a"], loop["b"], x, mul_vec(Rb, n), mul_vec(Rb, f))
    return energy


@kernel(inline=False)
def loop_spring_forces(loop: Any, q: Any, v: Any) -> float:
    """Replace a joint's velocities by the forces of its springs and dampers. Returns the elastic energy."""
    iq, iv, k = loop["iq"], loop["iv"], loop["stiffness"]
    energy = 0.0
    if loop["kind"] == SPHERICAL or loop["kind"] == FREE:
        at = iq + loop["nq"] - 4
        back = load4_at(loop["rest"], loop["nq"] - 4)
        pull, energy = spherical_spring_moment(back, load4_at(q, at), load3(k))
        for j in range(3):
            v[iv + j] = -pull[j] - loop["damping"][j] * v[iv + j]
        if loop["kind"] == FREE:
            force, more = translation_spring_force(
                load3(loop["rest"]), back, load3_at(q, iq), load4_at(q, at), load3_at(k, 3)
            )
            energy += more
            for j in range(3):
                v[iv + 3 + j] = -force[j] - loop["damping"][3 + j] * v[iv + 3 + j]
        return energy
    for j in range(loop["nv"]):
        stretch = q[iq + j] - loop["rest"][j]
        energy += 0.5 * k[j] * stretch * stretch
        v[iv + j] = -k[j] * stretch - loop["damping"][j] * v[iv + j]
    return energy


@kernel
def joint_force_wrench(loop: Any, q: Any, tau: Any) -> tuple[Vec3, Vec3]:
    """The wrench S (SᵀS)⁻¹ tau in the successor's frame."""
    iv = loop["iv"]
    n = f = (0.0, 0.0, 0.0)
    if loop["kind"] == UNIVERSAL:  # the only joint with columns that are not orthogonal
        s, _ = subspace_column(loop, q, 0)
        b = load3(loop["axis2"])
        sb = dot(s, b)
        d = 1.0 - sb * sb
        n = axpy(n, (tau[iv] - sb * tau[iv + 1]) / d, s)
        return axpy(n, (tau[iv + 1] - sb * tau[iv]) / d, b), f
    for j in range(loop["nv"]):
        w, u = subspace_column(loop, q, j)
        share = tau[iv + j] / (dot(w, w) + dot(u, u))
        n = axpy(n, share, w)
        f = axpy(f, share, u)
    return n, f
