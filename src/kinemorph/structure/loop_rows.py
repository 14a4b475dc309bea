"""Constraint rows of loops: J_C, its drift J̇_C v, and how far apart the two sides are (N&Y eqs. 9 to 12).

A row is a unit wrench (n, f) at the point x where the joint is, on link b, and its opposite on link a. Its product with
the relative twist of the two links at x is the velocity that the joint forbids. In the predecessor's axes the wrenches
are constant (but one of a universal joint), so the relative acceleration as the predecessor sees it is all there is to
the drift.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.checks import BAD_SIZE, NOT_FINITE, OK, Array, Vector, as_arrays, complain, finite
from kinemorph.multibody.inversion import TURN, extract_position, rotation_about
from kinemorph.multibody.jacobian import last_dof
from kinemorph.multibody.joints import FIXED, FREE, PRISMATIC, SCREW, SPHERICAL, UNIVERSAL
from kinemorph.multibody.kinematics import accelerate_all, place_all
from kinemorph.multibody.layout import DOF, DOF_DATA, LINK_DATA, TREE
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.quaternion import from_matrix, log
from kinemorph.spatial.rows import load3, load3_at, load9, store3
from kinemorph.spatial.scalar import atan2, sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.loops import CHAIN, F8, I8, LOOP, ROW, ClosedData, Mechanism

NO_CROSSING = 1e-9  # sine of an angle below which the axis of a rotation is noise


@kernel
def frames(loop: Any, rows: Any) -> tuple[Mat3, Vec3, Mat3, Vec3]:
    """World poses of the joint's predecessor and successor frames."""
    da = rows[loop["a"] + 1]
    db = rows[loop["b"] + 1]
    Ra, Rb = load9(da["R"]), load9(db["R"])
    xa = add(load3(da["p"]), mul_vec(Ra, load3(loop["pa"])))
    xb = add(load3(db["p"]), mul_vec(Rb, load3(loop["pb"])))
    return mul(Ra, load9(loop["Ra"])), xa, mul(Rb, load9(loop["Rb"])), xb


@kernel(inline=False)
def orient(chain: Any) -> None:
    """The unit wrenches of all rows in the world, from the poses of the links."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    wrenches = rows_at(chain["rows"], chain["m"], ROW)
    for i in range(chain["count"]):
        loop = loops[i]
        R, _, Rb, x = frames(loop, rows)
        store3(loop["x"], x)
        for j in range(loop["m"]):
            w = wrenches[loop["first"] + j]
            store3(w["n"], mul_vec(R, load3_at(loop["T"], 6 * j)))
            store3(w["f"], mul_vec(R, load3_at(loop["T"], 6 * j + 3)))
        if loop["kind"] == UNIVERSAL:  # the normal of an axis on a and one on b
            normal = cross(mul_vec(R, load3(loop["axis"])), mul_vec(Rb, load3(loop["axis2"])))
            store3(wrenches[loop["first"]]["n"], scale(normal, 1.0 / loop["slant"]))


@kernel(inline=False)
def errors(chain: Any) -> float:
    """How far the two sides of each loop are apart along its rows, into their c. Returns the largest."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    wrenches = rows_at(chain["rows"], chain["m"], ROW)
    largest = 0.0
    for i in range(chain["count"]):
        loop = loops[i]
        Ra, xa, Rb, xb = frames(loop, rows)
        R = mul(transpose(Ra), Rb)
        p = tmul_vec(Ra, sub(xb, xa))
        phi = misalignment(loop, R, p)
        for j in range(loop["m"]):
            c = dot(load3_at(loop["T"], 6 * j), phi) + dot(load3_at(loop["T"], 6 * j + 3), p)
            wrenches[loop["first"] + j]["c"] = c
        if loop["kind"] == UNIVERSAL:  # the two axes keep their angle
            slip = dot(load3(loop["axis"]), mul_vec(R, load3(loop["axis2"])))
            wrenches[loop["first"]]["c"] = (loop["cosine"] - slip) / loop["slant"]
        for j in range(loop["first"], loop["first"] + loop["m"]):
            largest = max(largest, abs(wrenches[j]["c"]))
    return largest


@kernel
def misalignment(loop: Any, R: Mat3, p: Vec3) -> Vec3:
    """A rotation vector that says how far R is from what the joint allows; only what its rows see matters."""
    kind = loop["kind"]
    if kind == SPHERICAL or kind == FREE or kind == UNIVERSAL:
        return (0.0, 0.0, 0.0)
    if kind == FIXED or kind == PRISMATIC:
        return log(from_matrix(R))
    a = load3(loop["axis"])
    turned = mul_vec(R, a)
    normal = cross(a, turned)
    sine, cosine = sqrt(dot(normal, normal)), dot(a, turned)
    if sine > NO_CROSSING:
        phi = scale(normal, atan2(sine, cosine) / sine)
    elif cosine > 0.0:
        phi = normal
    else:  # upside down: any way back is as long as any other
        phi = scale(load3(loop["T"]), 0.5 * TURN)
    if kind == SCREW:
        angle = rotation_about(a, R)
        if loop["pitch"] != 0.0:  # how far it has advanced tells the turns
            angle = angle + TURN * round((dot(a, p) / loop["pitch"] - angle) / TURN)
        phi = axpy(phi, angle, a)
    return phi


@kernel(inline=False)
def drifts(chain: Any) -> None:
    """Relative accelerations along the rows, into their c, from the motion of the links as it is in their rows.

    After `accelerate_all` without joint accelerations that is J̇_C v; after forward dynamics of the tree, what the
    loops must cancel. Gravity's share is the same on both sides.
    """
    tree = rows_at(chain["tree"], 1, TREE)[0]
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    wrenches = rows_at(chain["rows"], chain["m"], ROW)
    for i in range(chain["count"]):
        loop = loops[i]
        da = rows[loop["a"] + 1]
        db = rows[loop["b"] + 1]
        va, aa = motion_at(da, load3(loop["x"]))
        vb, ab = motion_at(db, load3(loop["x"]))
        wa = load3(da["w"])
        w = sub(load3(db["w"]), wa)
        al = sub(sub(load3(db["al"]), load3(da["al"])), cross(wa, w))
        a = axpy(sub(ab, aa), -2.0, cross(wa, sub(vb, va)))
        for j in range(loop["first"], loop["first"] + loop["m"]):
            wrenches[j]["c"] = dot(load3(wrenches[j]["n"]), al) + dot(load3(wrenches[j]["f"]), a)
        if loop["kind"] == UNIVERSAL:  # its first row turns with the axis on b
            Ra, _, Rb, _ = frames(loop, rows)
            first = mul_vec(Ra, load3(loop["axis"]))
            turning = cross(first, cross(w, mul_vec(Rb, load3(loop["axis2"]))))
            wrenches[loop["first"]]["c"] += dot(w, turning) / loop["slant"]


@kernel
def motion_at(d: Any, x: Vec3) -> tuple[Vec3, Vec3]:
    """Velocity and acceleration of the point of a link that is at x."""
    r = sub(x, load3(d["p"]))
    w = load3(d["w"])
    wr = cross(w, r)
    return add(load3(d["v"]), wr), add(add(load3(d["a"]), cross(load3(d["al"]), r)), cross(w, wr))


@kernel(inline=False)
def fill_rows(chain: Any) -> None:
    """J_C (N&Y eq. 11), after `orient`: where a row's two ways to the base meet, both sides cancel."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    nv = tree["nv"]
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    dofs = rows_at(tree["dofs"], nv, DOF)
    dof_rows = rows_at(tree["dof_rows"], nv, DOF_DATA)
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    wrenches = rows_at(chain["rows"], chain["m"], ROW)
    J = rows_at(chain["J"], chain["m"] * nv, F8)
    for i in range(chain["count"]):
        loop = loops[i]
        x = load3(loop["x"])
        ka, kb = last_dof(tree, loop["a"]), last_dof(tree, loop["b"])
        while ka != kb:
            k = max(ka, kb)
            w = load3(dof_rows[k]["S"])
            u = add(load3_at(dof_rows[k]["S"], 3), cross(w, sub(x, load3(rows[dofs[k]["link"] + 1]["p"]))))
            sign = 1.0 if k == kb else -1.0
            for j in range(loop["first"], loop["first"] + loop["m"]):
                J[j * nv + k] = sign * (dot(load3(wrenches[j]["n"]), w) + dot(load3(wrenches[j]["f"]), u))
            if k == kb:
                kb = dofs[k]["parent"]
            else:
                ka = dofs[k]["parent"]


@kernel(inline=False)
def relative_velocities(chain: Any, v: Any) -> None:
    """J_C v into the rows' c, after `fill_rows`."""
    nv = rows_at(chain["tree"], 1, TREE)[0]["nv"]
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    wrenches = rows_at(chain["rows"], chain["m"], ROW)
    path = rows_at(chain["path"], chain["total"], I8)
    J = rows_at(chain["J"], chain["m"] * nv, F8)
    for i in range(chain["count"]):
        loop = loops[i]
        for j in range(loop["first"], loop["first"] + loop["m"]):
            total = 0.0
            for e in range(loop["path"], loop["path"] + loop["length"]):
                total += J[j * nv + path[e]] * v[path[e]]
            wrenches[j]["c"] = total


@entry
def _rows(handle: int, q: Vector, v: Vector, zero: Vector, what: int) -> int:
    chain = rows_at(handle, 1, CHAIN)[0]
    tree = rows_at(chain["tree"], 1, TREE)[0]
    if q.shape[0] != tree["nq"] or v.shape[0] != tree["nv"]:
        return BAD_SIZE
    if not (finite(q) and finite(v)):
        return NOT_FINITE
    if what == 2:
        accelerate_all(tree, q, v, zero)
    else:
        place_all(tree, q)
    orient(chain)
    if what == 0:
        errors(chain)
    elif what == 1:
        fill_rows(chain)
    else:
        drifts(chain)
    return OK


@entry
def _positions(handle: int, q: Vector, q_loops: Vector) -> None:
    chain = rows_at(handle, 1, CHAIN)[0]
    tree = rows_at(chain["tree"], 1, TREE)[0]
    place_all(tree, q)
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    for i in range(chain["count"]):
        Ra, xa, Rb, xb = frames(loops[i], rows)
        extract_position(loops[i], mul(transpose(Ra), Rb), tmul_vec(Ra, sub(xb, xa)), q_loops)


_ERRORS, _JACOBIAN, _DRIFT = range(3)


def _call(mechanism: Mechanism, data: ClosedData, what: int, q: npt.ArrayLike, v: npt.ArrayLike | None = None) -> None:
    check(mechanism, data)
    model = mechanism.model
    zero = np.zeros(model.nv)
    v = zero if v is None else v
    q64, v64 = as_arrays(model, q=q, v=v)
    status = _rows(data.handle, q64, v64, zero, what)
    if status:
        complain(model, status, q=q, v=v)


def check(mechanism: Mechanism, data: ClosedData) -> None:
    """Refuse data of another mechanism."""
    if data.mechanism is not mechanism:
        raise ValueError("this ClosedData belongs to another mechanism; make a new one: ClosedData(mechanism)")


def loop_errors(mechanism: Mechanism, data: ClosedData, q: npt.ArrayLike) -> Array:
    """How far apart the two sides of the loops are (m): rotations in rad and distances in m along the rows."""
    _call(mechanism, data, _ERRORS, q)
    return data.rows["c"].copy()


def loop_jacobian(mechanism: Mechanism, data: ClosedData, q: npt.ArrayLike) -> Array:
    """J_C (m x nv): a motion that keeps all loops closed has J_C v = 0. It is `data.J`: copy it to keep it."""
    _call(mechanism, data, _JACOBIAN, q)
    return data.J


def loop_drift(mechanism: Mechanism, data: ClosedData, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """J̇_C v (m): loops stay closed if J_C a = - J̇_C v."""
    _call(mechanism, data, _DRIFT, q, v)
    return data.rows["c"].copy()


def loop_positions(mechanism: Mechanism, data: ClosedData, q: npt.ArrayLike) -> Array:
    """Positions of the loops' joints, one after the other, each written as that of a joint of the tree."""
    check(mechanism, data)
    (q64,) = as_arrays(mechanism.model, q=q)
    found = np.zeros(mechanism.loop_nq)
    _positions(data.handle, q64, found)
    return found
