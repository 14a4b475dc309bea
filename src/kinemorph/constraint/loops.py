"""Constraint rows of loops: J_C, its drift J̇_C v, and the position errors (N&Y eqs. 9 to 12).

A row is a unit wrench (n, f) at the joint's point x on link b, and its opposite on link a. Its product with the
relative twist of the two links at x is the velocity that the joint forbids. In the predecessor's axes the wrenches are
constant (but one of a universal joint), so the drift is the relative acceleration in those axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.inversion import TWO_PI, extract_position, rotation_about
from kinemorph.multibody.algorithms.joints import FIXED, FREE, PRISMATIC, SCREW, SPHERICAL, UNIVERSAL
from kinemorph.multibody.algorithms.kinematics import accelerate_links, place_links
from kinemorph.multibody.checks import NOT_FINITE, OK, Array, Matrix, Vector, fault_of_positions, fault_of_state, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import LINK_DATA, TREE, dof_data_of, dofs_of, link_data_of
from kinemorph.multibody.loop_layout import last_dof, system_loops_of
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.system import I8, constraint_rows_of, system_of, tree_addresses_of
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.quaternion import from_matrix, log
from kinemorph.spatial.rows import load3, load3_at, load9, store3
from kinemorph.spatial.scalar import atan2, sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub

PARALLEL_AXES_SINE = 1e-9  # sine of an angle below which the axis of a rotation is rounding


ROW_SIZE = LINK_DATA.itemsize


@kernel
def link_row_at(system: Any, tree_index: int, link: int) -> int:
    """Address of the LINK_DATA of a link of tree t; link -1 is the base."""
    tree = rows_at(tree_addresses_of(system)[tree_index], 1, TREE)[0]
    return tree["rows"] + (link + 1) * ROW_SIZE


@kernel
def joint_frames(loop: Any, da: Any, db: Any) -> tuple[Mat3, Vec3, Mat3, Vec3]:
    """World poses of the joint's predecessor and successor frames, from the rows of its two links."""
    Ra, Rb = load9(da["R"]), load9(db["R"])
    xa = add(load3(da["p"]), mul_vec(Ra, load3(loop["pa"])))
    xb = add(load3(db["p"]), mul_vec(Rb, load3(loop["pb"])))
    return mul(Ra, load9(loop["Ra"])), xa, mul(Rb, load9(loop["Rb"])), xb


@kernel(inline=False)
def orient_rows(system: Any) -> None:
    """Compute the unit wrenches of all rows in the world, from the poses of the links."""
    loops = system_loops_of(system)
    rows = constraint_rows_of(system)
    for i in range(system["count"]):
        loop = loops[i]
        da = rows_at(link_row_at(system, loop["tree_a"], loop["a"]), 1, LINK_DATA)[0]
        db = rows_at(link_row_at(system, loop["tree_b"], loop["b"]), 1, LINK_DATA)[0]
        R, _, Rb, x = joint_frames(loop, da, db)
        for j in range(loop["m"]):
            row = rows[loop["first"] + j]
            store3(row["x"], x)
            store3(row["n"], mul_vec(R, load3_at(loop["T"], 6 * j)))
            store3(row["f"], mul_vec(R, load3_at(loop["T"], 6 * j + 3)))
        if loop["kind"] == UNIVERSAL:  # the normal of an axis on a and one on b
            normal = cross(mul_vec(R, load3(loop["axis"])), mul_vec(Rb, load3(loop["axis2"])))
            store3(rows[loop["first"]]["n"], scale(normal, 1.0 / loop["slant"]))


@kernel(inline=False)
def fill_errors(system: Any) -> float:
    """Compute the position errors of the loops along their rows, into the rows' c. Returns the largest."""
    loops = system_loops_of(system)
    rows = constraint_rows_of(system)
    largest = 0.0
    for i in range(system["count"]):
        loop = loops[i]
        da = rows_at(link_row_at(system, loop["tree_a"], loop["a"]), 1, LINK_DATA)[0]
        db = rows_at(link_row_at(system, loop["tree_b"], loop["b"]), 1, LINK_DATA)[0]
        Ra, xa, Rb, xb = joint_frames(loop, da, db)
        R = mul(transpose(Ra), Rb)
        p = tmul_vec(Ra, sub(xb, xa))
        phi = misalignment(loop, R, p)
        for j in range(loop["m"]):
            c = dot(load3_at(loop["T"], 6 * j), phi) + dot(load3_at(loop["T"], 6 * j + 3), p)
            rows[loop["first"] + j]["c"] = c
        if loop["kind"] == UNIVERSAL:  # the two axes keep their angle
            slip = dot(load3(loop["axis"]), mul_vec(R, load3(loop["axis2"])))
            rows[loop["first"]]["c"] = (loop["cosine"] - slip) / loop["slant"]
        for j in range(loop["first"], loop["first"] + loop["m"]):
            largest = max(largest, abs(rows[j]["c"]))
    return largest


@kernel
def misalignment(loop: Any, R: Mat3, p: Vec3) -> Vec3:
    """Rotation vector from the nearest rotation that the joint allows to R; only its part along the rows matters."""
    kind = loop["kind"]
    if kind == SPHERICAL or kind == FREE or kind == UNIVERSAL:
        return (0.0, 0.0, 0.0)
    if kind == FIXED or kind == PRISMATIC:
        return log(from_matrix(R))
    a = load3(loop["axis"])
    turned = mul_vec(R, a)
    normal = cross(a, turned)
    sine, cosine = sqrt(dot(normal, normal)), dot(a, turned)
    if sine > PARALLEL_AXES_SINE:
        phi = scale(normal, atan2(sine, cosine) / sine)
    elif cosine > 0.0:
        phi = normal
    else:  # opposite axes: all rotation axes are equally short
        phi = scale(load3(loop["T"]), 0.5 * TWO_PI)
    if kind == SCREW:
        angle = rotation_about(a, R)
        if loop["pitch"] != 0.0:  # the advance gives the number of turns
            angle = angle + TWO_PI * round((dot(a, p) / loop["pitch"] - angle) / TWO_PI)
        phi = axpy(phi, angle, a)
    return phi


@kernel(inline=False)
def fill_drifts(system: Any) -> None:
    """Compute relative accelerations along the rows, into the rows' c, from the motion in the rows of links.

    After `accelerate_links` without joint accelerations that is J̇_C v; after forward dynamics of the tree, the part
    that the loop forces must cancel. Gravity is the same on both sides.
    """
    loops = system_loops_of(system)
    rows = constraint_rows_of(system)
    for i in range(system["count"]):
        loop = loops[i]
        if loop["m"] == 0:
            continue
        da = rows_at(link_row_at(system, loop["tree_a"], loop["a"]), 1, LINK_DATA)[0]
        db = rows_at(link_row_at(system, loop["tree_b"], loop["b"]), 1, LINK_DATA)[0]
        x = load3(rows[loop["first"]]["x"])
        va, aa = point_motion(da, x)
        vb, ab = point_motion(db, x)
        wa = load3(da["w"])
        w = sub(load3(db["w"]), wa)
        al = sub(sub(load3(db["al"]), load3(da["al"])), cross(wa, w))
        a = axpy(sub(ab, aa), -2.0, cross(wa, sub(vb, va)))
        for j in range(loop["first"], loop["first"] + loop["m"]):
            rows[j]["c"] = dot(load3(rows[j]["n"]), al) + dot(load3(rows[j]["f"]), a)
        if loop["kind"] == UNIVERSAL:  # its first row turns with the axis on b
            Ra, _, Rb, _ = joint_frames(loop, da, db)
            first = mul_vec(Ra, load3(loop["axis"]))
            turning = cross(first, cross(w, mul_vec(Rb, load3(loop["axis2"]))))
            rows[loop["first"]]["c"] += dot(w, turning) / loop["slant"]


@kernel
def point_motion(data: Any, x: Vec3) -> tuple[Vec3, Vec3]:
    """Velocity and acceleration of the point of a link at world point x."""
    r = sub(x, load3(data["p"]))
    w = load3(data["w"])
    wr = cross(w, r)
    return add(load3(data["v"]), wr), add(add(load3(data["a"]), cross(load3(data["al"]), r)), cross(w, wr))


@kernel(inline=False)
def fill_relative_velocities(system: Any) -> float:
    """Compute J_C v into the rows' c, for oriented rows, from the velocities of links. Returns the largest."""
    rows = constraint_rows_of(system)
    largest = 0.0
    for j in range(system["m"]):
        row = rows[j]
        da = rows_at(link_row_at(system, row["tree_a"], row["a"]), 1, LINK_DATA)[0]
        db = rows_at(link_row_at(system, row["tree_b"], row["b"]), 1, LINK_DATA)[0]
        x = load3(row["x"])
        w = sub(load3(db["w"]), load3(da["w"]))
        ua = add(load3(da["v"]), cross(load3(da["w"]), sub(x, load3(da["p"]))))
        ub = add(load3(db["v"]), cross(load3(db["w"]), sub(x, load3(db["p"]))))
        row["c"] = dot(load3(row["n"]), w) + dot(load3(row["f"]), sub(ub, ua))
        largest = max(largest, abs(row["c"]))
    return largest


@kernel(inline=False)
def fill_jacobian(system: Any, J: Any) -> None:
    """J_C of one tree (N&Y eq. 11), for oriented rows: where a row's two paths to the base meet, both sides cancel."""
    tree = rows_at(rows_at(system["trees"], 1, I8)[0], 1, TREE)[0]
    links = link_data_of(tree)
    dofs = dofs_of(tree)
    dof_rows = dof_data_of(tree)
    rows = constraint_rows_of(system)
    for j in range(system["m"]):
        n, f, x = load3(rows[j]["n"]), load3(rows[j]["f"]), load3(rows[j]["x"])
        for sign, link in ((1.0, rows[j]["b"]), (-1.0, rows[j]["a"])):
            k = last_dof(tree, link)
            while k >= 0:
                w = load3(dof_rows[k]["S"])
                u = add(load3_at(dof_rows[k]["S"], 3), cross(w, sub(x, load3(links[dofs[k]["link"] + 1]["p"]))))
                J[j, k] += sign * (dot(n, w) + dot(f, u))
                k = dofs[k]["parent"]


@kernel
def are_rows_finite(system: Any) -> bool:
    """Whether all rows are finite: a quaternion of length zero makes them NaN."""
    rows = constraint_rows_of(system)
    good = True
    for j in range(system["m"]):
        n, x = load3(rows[j]["n"]), load3(rows[j]["x"])  # in axes of a, at a place on b
        good &= abs(n[0] + x[0] + x[1] + x[2]) <= checks.LARGEST_FLOAT
    return good


_ERRORS, _JACOBIAN, _DRIFT = range(3)


@entry
def _fill_rows(address: int, q: Vector, v: Vector, zero: Vector, what: int, J: Matrix) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_state(tree, q, v)
    if fault != OK:
        return fault
    if what == _DRIFT:
        accelerate_links(tree, q, v, zero)
    else:
        place_links(tree, q)
    if tree["system"] == 0:
        return OK
    system = system_of(tree)
    orient_rows(system)
    if not are_rows_finite(system):
        return NOT_FINITE
    if what == _ERRORS:
        fill_errors(system)
    elif what == _JACOBIAN:
        fill_jacobian(system, J)
    else:
        fill_drifts(system)
    return OK


@entry
def _fill_positions(address: int, q: Vector, q_loops: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_positions(tree, q)
    if fault != OK:
        return fault
    place_links(tree, q)
    if tree["system"] == 0:
        return OK
    system = system_of(tree)
    loops = system_loops_of(system)
    for i in range(system["count"]):
        loop = loops[i]
        da = rows_at(link_row_at(system, loop["tree_a"], loop["a"]), 1, LINK_DATA)[0]
        db = rows_at(link_row_at(system, loop["tree_b"], loop["b"]), 1, LINK_DATA)[0]
        Ra, xa, Rb, xb = joint_frames(loop, da, db)
        extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(xb, xa)), q_loops)
    return OK if finite(q_loops) else NOT_FINITE


_NO_MATRIX = np.zeros((0, 0))


def _run_fill_rows(
    model: Model, data: Data, what: int, q: npt.ArrayLike, v: npt.ArrayLike | None = None, J: Array = _NO_MATRIX
) -> None:  # fmt: skip
    checks.check_data(model, data)
    zero = np.zeros(model.nv)
    v = zero if v is None else v
    q64, v64 = checks.as_arrays(model, q=q, v=v)
    status = _fill_rows(data.address, q64, v64, zero, what, J)
    if status:
        checks.raise_for_status(model, status, q=q, v=v)


@checked_on_failure
def loop_errors(model: Model, data: Data, q: npt.ArrayLike) -> Array:
    """Position errors of the loops (m entries): rotations in rad and distances in m along the rows."""
    _run_fill_rows(model, data, _ERRORS, q)
    return data.rows["c"].copy()


@checked_on_failure
def loop_jacobian(model: Model, data: Data, q: npt.ArrayLike) -> Array:
    """J_C (m x nv): a motion that keeps all loops closed has J_C v = 0."""
    checks.check_data(model, data)
    J = np.zeros((model.m, model.nv))
    _run_fill_rows(model, data, _JACOBIAN, q, J=J)
    return J


@checked_on_failure
def loop_drift(model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """J̇_C v (m): loops stay closed if J_C a = - J̇_C v."""
    _run_fill_rows(model, data, _DRIFT, q, v)
    drift = data.rows["c"].copy()
    if not np.isfinite(drift).all():
        checks.raise_for_status(model, NOT_FINITE, q=q, v=v)
    return drift


@checked_on_failure
def loop_positions(model: Model, data: Data, q: npt.ArrayLike) -> Array:
    """Positions of the loops' joints, one after the other, each written as that of a joint of the tree."""
    checks.check_data(model, data)
    (q64,) = checks.as_arrays(model, q=q)
    found = np.zeros(model.loop_nq)
    status = _fill_positions(data.address, q64, found)
    if status:
        checks.raise_for_status(model, status, q=q)
    return found
