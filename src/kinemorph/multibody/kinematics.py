"""Outward passes: where the links are and how they move."""

from typing import Any

from kinemorph._jit import kernel
from kinemorph.multibody.joints import REVOLUTE, bias, column, pose, turn
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec
from kinemorph.spatial.rows import get, load3, load3_at, load9, store3, store3_at, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, scale


@kernel
def place(l: Any, P: Any, d: Any, dof_rows: Any, q: Any) -> tuple[Mat3, Vec3]:
    """Pose and motion subspace of one link, from its parent's row P (SPW eq. 8). Returns world_R_link and r."""
    R_parent = load9(P["R"])
    if l["kind"] == REVOLUTE:
        R = mul(R_parent, turn(l, get(q, l["iq"])))
        r = mul_vec(R_parent, load3(l["p"]))
        store3(dof_rows[l["iv"]]["S"], mul_vec(R, load3(l["axis"])))
    else:
        E, t = pose(l, q)
        R = mul(R_parent, E)
        r = mul_vec(R_parent, t)
        for k in range(l["nv"]):
            w, v = column(l, q, k)
            S = dof_rows[l["iv"] + k]["S"]
            store3(S, mul_vec(R, w))
            store3_at(S, 3, mul_vec(R, v))
    store9(d["R"], R)
    store3(d["r"], r)
    store3(d["p"], add(load3(P["p"]), r))
    return R, r


@kernel
def move(
    l: Any, P: Any, d: Any, dof_rows: Any, q: Any, v: Any, R: Mat3, r: Vec3
) -> tuple[Vec3, Vec3, Vec3]:
    """Velocity of one link that has been placed. Returns its angular velocity and its bias acceleration."""
    w_parent = load3(P["w"])
    wr = cross(w_parent, r)
    vel = add(load3(P["v"]), wr)
    bv = cross(w_parent, wr)
    if l["kind"] == REVOLUTE:
        wj = scale(load3(dof_rows[l["iv"]]["S"]), get(v, l["iv"]))
        bw = cross(w_parent, wj)
    else:
        wj = (0.0, 0.0, 0.0)
        vj = (0.0, 0.0, 0.0)
        for k in range(l["iv"], l["iv"] + l["nv"]):
            wj = axpy(wj, get(v, k), load3(dof_rows[k]["S"]))
            vj = axpy(vj, get(v, k), load3_at(dof_rows[k]["S"], 3))
        own_bw, own_bv = bias(l, q, v)
        bw = add(cross(w_parent, wj), mul_vec(R, own_bw))
        # Coriolis counts the relative velocity twice
        bv = add(axpy(bv, 2.0, cross(w_parent, vj)), mul_vec(R, own_bv))
        vel = add(vel, vj)
    w = add(w_parent, wj)
    store3(d["w"], w)
    store3(d["v"], vel)
    return w, bw, bv
