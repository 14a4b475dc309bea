"""State of a grafted tree: entries of the joints are moved or inverted, and those of the new joint are computed."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms import inversion
from kinemorph.multibody.algorithms.joints import bias_acceleration
from kinemorph.multibody.layout import LINK_DATA, TREE, link_data_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import add, axpy, cross, sub
from kinemorph.structure.edit.graft import I4
from kinemorph.structure.forest.layout import FRAME, JUMP, REST, TAU, A, Q, V, host_of, source_of
from kinemorph.structure.forest.memory import clear_words


@kernel(inline=False)
def fill_graft_state(graft: Any) -> None:
    """Fill the states of the tree that stays and of the host, after `fill_graft_rows`.

    The motion of the links must be up to date in the rows of the source and of the new parent (`accelerate_links`). In
    vector jump the new joint gets its whole velocity, as if it had been at rest.
    """
    source = source_of(graft)
    n, start, length = source["n"], graft["stay_count"], graft["length"]
    links, order = links_of(source), rows_at(graft["order"], n, I4)
    if length > 1:
        invert_chain_joints(graft, source, links, order)
    tree = rows_at(graft["rest"] if start > 0 else graft["host"], 1, TREE)[0]
    state = graft["rest_state"]
    off = 0
    for s in range(n):
        if s == start:
            tree, state = host_of(graft), graft["host_state"]
            off = graft["n0"] - start
            continue
        inverted = start < s < start + length
        l = links[order[s - 1] if inverted else order[s]]
        row = links_of(tree)[s + off]
        origin = graft["turned"] if inverted else graft["state"]
        for j in range(JUMP if graft["velocities"] == 0 else JUMP + 1):
            old = rows_at(origin + 8 * source["nq"] * j, source["nq"], F8)
            new = rows_at(state + 8 * tree["nq"] * j, tree["nq"], F8)
            position = j == Q or j == REST
            count = l["nq"] if position else l["nv"]
            i = l["iq"] if position else l["iv"]
            to = row["iq"] if position else row["iv"]
            for k in range(count):
                new[to + k] = old[i + k]
    if graft["velocities"] == 0:
        clear_jumps(graft)
    set_new_joint_state(graft, source)


@kernel
def clear_jumps(graft: Any) -> None:
    """Set all jumps to zero: without an impact there are none."""
    host = host_of(graft)
    clear_words(graft["host_state"] + 8 * host["nq"] * JUMP, 8 * host["nv"])
    if graft["stay_count"] > 0:
        rest = rows_at(graft["rest"], 1, TREE)[0]
        clear_words(graft["rest_state"] + 8 * rest["nq"] * JUMP, 8 * rest["nv"])


@kernel
def invert_chain_joints(graft: Any, source: Any, links: Any, order: Any) -> None:
    """Invert the state of the joints on the chain, at their old entries."""
    nq, nv, x, y = source["nq"], source["nv"], graft["state"], graft["turned"]
    start = graft["stay_count"]
    q = rows_at(x + 8 * nq * Q, nq, F8)
    v = rows_at(x + 8 * nq * V, nv, F8)
    a = rows_at(x + 8 * nq * A, nv, F8)
    tau = rows_at(x + 8 * nq * TAU, nv, F8)
    to_q = rows_at(y + 8 * nq * Q, nq, F8)
    to_v = rows_at(y + 8 * nq * V, nv, F8)
    to_a = rows_at(y + 8 * nq * A, nv, F8)
    to_tau = rows_at(y + 8 * nq * TAU, nv, F8)
    rest, to_rest = rows_at(x + 8 * nq * REST, nq, F8), rows_at(y + 8 * nq * REST, nq, F8)
    jump, to_jump = rows_at(x + 8 * nq * JUMP, nv, F8), rows_at(y + 8 * nq * JUMP, nv, F8)
    for c in range(start, start + graft["length"] - 1):
        l = links[order[c]]
        inversion.invert_position(l, rest, to_rest)
        if graft["velocities"] != 0:
            inversion.invert_state(l, q, jump, a, to_q, to_jump, to_a)
        inversion.invert_state(l, q, v, a, to_q, to_v, to_a)
        inversion.invert_force(l, q, tau, to_tau)


@kernel
def set_new_joint_state(graft: Any, source: Any) -> None:
    """Compute q, v and a of the new joint from the relative motion of its link and its new parent."""
    host = host_of(graft)
    nq, nv, state, top = host["nq"], host["nv"], graft["host_state"], graft["top"]
    joint = links_of(host)[graft["n0"]]
    data = link_data_of(source)[top + 1]
    P = rows_at(graft["parent_row"], 1, LINK_DATA)[0]
    s = rows_at(graft["shifts"], source["n"], FRAME)[top]
    q = rows_at(state + 8 * nq * Q, nq, F8)
    v = rows_at(state + 8 * nq * V, nv, F8)
    a = rows_at(state + 8 * nq * A, nv, F8)
    jump = rows_at(state + 8 * nq * JUMP, nv, F8)
    R_old = load9(data["R"])
    R = mul(R_old, load9(s["R"]))
    r = mul_vec(R_old, load3(s["p"]))
    x = add(load3(data["p"]), r)
    R_parent = load9(P["R"])
    E = mul(R_parent, load9(joint["R"]))
    origin = add(load3(P["p"]), mul_vec(R_parent, load3(joint["p"])))
    inversion.extract_position(joint, mul(transpose(E), R), tmul_vec(E, sub(x, origin)), q)  # SPW eq. 22
    w = load3(data["w"])
    wp = load3(P["w"])
    rp = sub(x, load3(P["p"]))
    dw = sub(w, wp)
    du = sub(add(load3(data["v"]), cross(w, r)), add(load3(P["v"]), cross(wp, rp)))
    inversion.extract_velocity(joint, q, tmul_vec(R, dw), tmul_vec(R, du), v)
    al = load3(data["al"])
    alp = load3(P["al"])
    # both accelerations contain minus gravity, which drops out of the difference
    acc = add(load3(data["a"]), add(cross(al, r), cross(w, cross(w, r))))
    accp = add(load3(P["a"]), add(cross(alp, rp), cross(wp, cross(wp, rp))))
    dal = sub(sub(al, alp), cross(wp, dw))
    dacc = axpy(sub(acc, accp), -2.0, cross(wp, du))
    bw, bv = bias_acceleration(joint, q, v)
    inversion.extract_velocity(joint, q, sub(tmul_vec(R, dal), bw), sub(tmul_vec(R, dacc), bv), a)
    tau, rest = rows_at(state + 8 * nq * TAU, nv, F8), rows_at(state + 8 * nq * REST, nq, F8)
    slack = rows_at(graft["slack"], 7, F8)
    for k in range(joint["nv"]):
        jump[joint["iv"] + k] = v[joint["iv"] + k]
        tau[joint["iv"] + k] = 0.0
    for k in range(joint["nq"]):
        rest[joint["iq"] + k] = slack[k]
