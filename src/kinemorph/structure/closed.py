"""Forward dynamics of closed chains: M a + h = tau + J_Cᵀ λ with J_C a = - J̇_C v.

The tree moves first as if no loop were there. What the loops must cancel then follows from G = J_C M⁻¹ J_Cᵀ, and G from
the articulated inertias that the tree's dynamics leave behind: each row's pair of unit wrenches goes inward along two
branches, and what the joints there take of it, u = D sᵀ Y, gives G = Z Zᵀ with a row of Z for each row. The λ enter the
last pass outward through the same u, so that nothing of size nv is ever factored: O(n + m² depth + m³).

Rows may depend on each other: redundant loops, planar mechanisms, singular configurations. G is factored with pivots,
each compared with the size of its row before cancellation, and rows that depend on others bear no force.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.aba import articulated_body, respond
from kinemorph.multibody.checks import (
    BAD_SIZE,
    NO_FORCES,
    NOT_FINITE,
    OK,
    Array,
    Matrix,
    Vector,
    as_arrays,
    complain,
    finite,
)
from kinemorph.multibody.layout import DOF_DATA, LINK, LINK_DATA, TREE
from kinemorph.spatial.inertia import shift_force
from kinemorph.spatial.rows import load3, load3_at, store3
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, neg, sub
from kinemorph.structure.loop_rows import check, drifts, errors, orient
from kinemorph.structure.loops import CHAIN, F8, I8, LOOP, ROW, ClosedData, Mechanism

UNSURE = 30.0  # 1/rad or 1/m: how much rows turn, at most, when a loop opens
MOST_UNSURE = 1e-3  # but rows at a larger angle to the others always count


@kernel
def inward(
    l: Any, d: Any, dof_rows: Any, n: Vec3, f: Vec3, x: Vec3, n0: float, f0: float, Z: Any, at: int
) -> tuple[Vec3, Vec3, float]:
    """A wrench on a link passes its joint: what the joint takes goes to Z. Returns what is left for the parent.

    The third is the size that the entries of Z could have: n0 and f0 are the squares of the wrench where it started, x.
    """
    lever = sub(x, load3(d["p"]))
    n0 = n0 + dot(lever, lever) * f0
    size = 0.0
    for k in range(l["iv"], l["iv"] + l["nv"]):
        e = dof_rows[k]
        w = load3(e["S"])
        v = load3_at(e["S"], 3)
        D = e["D"][0]
        u = D * (dot(w, n) + dot(v, f))
        size += D * D * (dot(w, w) * n0 + dot(v, v) * f0)
        Z[at + k] = u
        n = axpy(n, -u, load3(e["U"]))
        f = axpy(f, -u, load3_at(e["U"], 3))
    return shift_force(load3(d["r"]), n, f), f, size


@kernel
def seen_from(d: Any, x: Vec3, n: Vec3, f: Vec3) -> Vec3:
    """The moment about a link's origin of a wrench at x."""
    return add(n, cross(sub(x, load3(d["p"])), f))


@kernel(inline=False)
def respond_rows(chain: Any) -> None:
    """Z and the sizes of all rows, after `orient` and with the articulated inertias in the tree's rows."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    nv = tree["nv"]
    links = rows_at(tree["links"], tree["n"], LINK)
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    dof_rows = rows_at(tree["dof_rows"], nv, DOF_DATA)
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    wrenches = rows_at(chain["rows"], chain["m"], ROW)
    Z = rows_at(chain["Z"], chain["m"] * nv, F8)
    for i in range(chain["count"]):
        loop = loops[i]
        x = load3(loop["x"])
        for j in range(loop["first"], loop["first"] + loop["m"]):
            n, f = load3(wrenches[j]["n"]), load3(wrenches[j]["f"])
            nn, ff = dot(n, n), dot(f, f)
            a, b = loop["a"], loop["b"]
            nb, fb = seen_from(rows[b + 1], x, n, f), f
            na, fa = neg(seen_from(rows[a + 1], x, n, f)), neg(f)
            size = 0.0
            while a != b:  # the deeper of the two steps inward until they meet
                if b > a:
                    nb, fb, s = inward(links[b], rows[b + 1], dof_rows, nb, fb, x, nn, ff, Z, j * nv)
                    b = links[b]["parent"]
                else:
                    na, fa, s = inward(links[a], rows[a + 1], dof_rows, na, fa, x, nn, ff, Z, j * nv)
                    a = links[a]["parent"]
                size += s
            nb, fb = add(nb, na), add(fb, fa)
            while b >= 0:
                nb, fb, s = inward(links[b], rows[b + 1], dof_rows, nb, fb, x, nn, ff, Z, j * nv)
                b = links[b]["parent"]
            wrenches[j]["scale"] = size


@kernel(inline=False)
def multiply_rows(chain: Any) -> None:
    """G = Z Zᵀ by the degrees of freedom on the ways of each loop."""
    nv = rows_at(chain["tree"], 1, TREE)[0]["nv"]
    m = chain["m"]
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    path = rows_at(chain["path"], chain["total"], I8)
    Z = rows_at(chain["Z"], m * nv, F8)
    G = rows_at(chain["G"], m * m, F8)
    for i in range(chain["count"]):
        loop = loops[i]
        for r in range(loop["first"], loop["first"] + loop["m"]):
            for c in range(r + 1):
                total = 0.0
                for e in range(loop["path"], loop["path"] + loop["length"]):
                    total += Z[r * nv + path[e]] * Z[c * nv + path[e]]
                G[r * m + c] = total
                G[c * m + r] = total


@kernel
def dependence(chain: Any, error: float) -> float:
    """Squared sine below which a row depends on others, when loops are open by `error`: rows are no surer than that.

    A mechanism with redundant loops would else freeze as soon as rounding, or a stage of RK4, moves it off its path.
    """
    sine = min(UNSURE * error, MOST_UNSURE)
    return max(chain["tolerance"], sine * sine)


@kernel(inline=False)
def factor_rows(chain: Any, tolerance: float, damping: float) -> None:
    """Cholesky factor F of G with pivots (Higham 2002, 10.3). Rows that depend on those before them come last.

    `damping` is added to the diagonal, as a share of each row's size.
    """
    m = chain["m"]
    wrenches = rows_at(chain["rows"], m, ROW)
    G = rows_at(chain["G"], m * m, F8)
    F = rows_at(chain["F"], m * m, F8)
    order = rows_at(chain["order"], m, I8)
    for i in range(m):
        order[i] = i
        # what is left of the diagonal, until the row is eliminated
        F[i * m + i] = G[i * m + i] + damping * wrenches[i]["scale"]
    rank = m
    for k in range(m):
        best = k
        share = -1.0
        for j in range(k, m):
            i = order[j]
            left = F[i * m + i] / wrenches[i]["scale"] if wrenches[i]["scale"] > 0.0 else 0.0
            if left > share:
                share, best = left, j
        if not share > tolerance:
            rank = k
            break
        p = order[best]
        order[best] = order[k]
        order[k] = p
        pivot = sqrt(F[p * m + p])
        F[p * m + p] = pivot
        for j in range(k + 1, m):
            i = order[j]
            x = G[i * m + p]
            for l in range(k):
                x -= F[i * m + order[l]] * F[p * m + order[l]]
            x /= pivot
            F[i * m + p] = x
            F[i * m + i] -= x * x
    chain["rank"] = rank


@kernel(inline=False)
def solve_rows(chain: Any) -> None:
    """λ with G λ = - c for the independent rows; the others get none."""
    m = chain["m"]
    rank = chain["rank"]
    wrenches = rows_at(chain["rows"], m, ROW)
    F = rows_at(chain["F"], m * m, F8)
    order = rows_at(chain["order"], m, I8)
    for k in range(rank, m):
        wrenches[order[k]]["force"] = 0.0
    for k in range(rank):
        i = order[k]
        x = -wrenches[i]["c"]
        for l in range(k):
            x -= F[i * m + order[l]] * wrenches[order[l]]["force"]
        wrenches[i]["force"] = x / F[i * m + i]
    for k in range(rank - 1, -1, -1):
        i = order[k]
        x = wrenches[i]["force"]
        for l in range(k + 1, rank):
            x -= F[order[l] * m + i] * wrenches[order[l]]["force"]
        wrenches[i]["force"] = x / F[i * m + i]


@kernel(inline=False)
def apply_rows(chain: Any) -> None:
    """Add what the joints take of the loops' wrenches to what they have: u ← u + Zᵀ λ."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    nv = tree["nv"]
    dof_rows = rows_at(tree["dof_rows"], nv, DOF_DATA)
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    wrenches = rows_at(chain["rows"], chain["m"], ROW)
    path = rows_at(chain["path"], chain["total"], I8)
    Z = rows_at(chain["Z"], chain["m"] * nv, F8)
    for i in range(chain["count"]):
        loop = loops[i]
        for j in range(loop["first"], loop["first"] + loop["m"]):
            force = wrenches[j]["force"]
            if force != 0.0:
                for e in range(loop["path"], loop["path"] + loop["length"]):
                    dof_rows[path[e]]["u"][0] += force * Z[j * nv + path[e]]


@kernel(inline=False)
def outward(tree: Any, a: Any) -> None:
    """The last pass of the articulated-body algorithm once more."""
    links = rows_at(tree["links"], tree["n"], LINK)
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], DOF_DATA)
    for i in range(tree["n"]):
        l = links[i]
        d = rows[i + 1]
        P = rows[l["parent"] + 1]
        al = load3(P["al"])
        acc = add(add(load3(P["a"]), cross(al, load3(d["r"]))), load3(d["bv"]))
        al, acc = respond(l, dof_rows, add(al, load3(d["bw"])), acc, a)
        store3(d["al"], al)
        store3(d["a"], acc)


@kernel(inline=False)
def closed_body(chain: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    """a from q, v, tau and the external forces on links, with the loops closed; λ in the rows."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    articulated_body(tree, q, v, tau, external, a)
    orient(chain)
    respond_rows(chain)
    multiply_rows(chain)
    factor_rows(chain, dependence(chain, errors(chain)), 0.0)
    drifts(chain)
    solve_rows(chain)
    apply_rows(chain)
    outward(tree, a)


@entry
def _closed(handle: int, q: Vector, v: Vector, tau: Vector, external: Matrix, a: Vector) -> int:
    chain = rows_at(handle, 1, CHAIN)[0]
    tree = rows_at(chain["tree"], 1, TREE)[0]
    nv = tree["nv"]
    if q.shape[0] != tree["nq"] or v.shape[0] != nv or tau.shape[0] != nv or a.shape[0] != nv:
        return BAD_SIZE
    if external.shape[0] > 0 and (external.shape[0] != tree["n"] or external.shape[1] != 6):
        return BAD_SIZE
    if not (finite(q) and finite(v) and finite(tau) and finite(external.reshape(external.size))):
        return NOT_FINITE
    closed_body(chain, q, v, tau, external, a)
    return OK if finite(a) else NOT_FINITE


def closed_dynamics(
    mechanism: Mechanism,
    data: ClosedData,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    external: npt.ArrayLike = NO_FORCES,
) -> Array:
    """Accelerations a that joint forces tau (and external forces) cause while all loops stay closed.

    q and v must keep the loops closed (see `close` and `project`). Afterwards `data.wrenches` are the forces and
    moments at the loops and `data.rank` is the number of independent constraints.
    """
    if data.mechanism is not mechanism:
        check(mechanism, data)
    a = np.empty(data.tree.nv)
    try:
        status = _closed(data.handle, q, v, tau, external, a)
    except TypeError:
        q64, v64, tau64, external64 = as_arrays(mechanism.model, q=q, v=v, tau=tau, external=external)
        status = _closed(data.handle, q64, v64, tau64, external64, a)
    if status:
        complain(mechanism.model, status, q=q, v=v, tau=tau, external=external)
    return a
