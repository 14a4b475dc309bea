"""Verify that an edit has moved no body, and find inverted joints whose forces no longer act as before."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.joints import FREE, PLANAR, SPHERICAL
from kinemorph.multibody.algorithms.kinematics import move_link, place_link
from kinemorph.multibody.layout import LINK_DATA, TREE, dof_data_of, dofs_of, link_data_of, links_of
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import cross, sub
from kinemorph.structure.edit.graft import I4
from kinemorph.structure.forest.layout import FRAME, Q, V, host_of, source_of

MOTION_ERROR = 1e-6  # allowed deviation of a link from its joint's motion, in m, rad and per second, at unit size
COORDINATE_ERROR = 1e-6  # increase of the allowance per m, or m/s, of the largest coordinate: rounding


@kernel
def has_passive_force(dof: Any) -> bool:
    return dof["armature"] != 0.0 or dof["damping"] != 0.0 or dof["stiffness"] != 0.0


@kernel
def has_same_forces(x: Any, y: Any) -> bool:
    return x["armature"] == y["armature"] and x["damping"] == y["damping"] and x["stiffness"] == y["stiffness"]


@kernel
def has_separate_bounds(x: Any) -> bool:
    """Whether friction or a speed limit bounds it. Several such bounds are a box, which does not turn with axes."""
    return x["friction"] > 0.0 or 0.0 < x["velocity_limit"] < np.inf


@kernel(inline=False)
def find_lossy_joint(graft: Any) -> int:
    """The first joint that is inverted and whose numbers mean something else then, -1 if there is none.

    The axes of an inverted ball turn with the other body, so its three numbers must be equal, and none may have bounds
    of its own. A distance along axes that turn is another coordinate, so nothing may act along it or limit it.
    """
    source = source_of(graft)
    links, dofs = links_of(source), dofs_of(source)
    order = rows_at(graft["order"], source["n"], I4)
    for c in range(graft["stay_count"], graft["stay_count"] + graft["length"] - 1):
        l = links[order[c]]
        kind = l["kind"]
        k = l["iv"]
        if (kind == SPHERICAL or kind == FREE) and not (
            has_same_forces(dofs[k], dofs[k + 1]) and has_same_forces(dofs[k], dofs[k + 2])
        ):
            return l["joint"]
        for j in range(k + 3 if kind == FREE else k, k + 6 if kind == FREE else k + 2 if kind == PLANAR else k):
            if has_passive_force(dofs[j]) or dofs[j]["lower"] > -np.inf or dofs[j]["upper"] < np.inf:
                return l["joint"]
        several = kind == SPHERICAL or kind == FREE or kind == PLANAR
        for j in range(k, k + l["nv"] if several else k):
            if (kind != PLANAR or j < k + 2) and has_separate_bounds(dofs[j]):
                return l["joint"]
    return -1


@kernel
def max_or_nan(x: float, y: float) -> float:
    """The larger of two numbers; NaN counts as larger than any number."""
    return x if x >= y or x != x else y


@kernel
def is_position_error_small(error: float, size: float) -> bool:
    """Whether an error of a position (m, rad) is small, where the largest coordinate is `size` (m)."""
    return error < MOTION_ERROR * (1.0 + COORDINATE_ERROR * size)


@kernel
def is_velocity_error_small(outcome: Any) -> bool:
    """Whether the error of velocities is small, for the largest speed and coordinate of the bodies."""
    speed = outcome["speed"]
    return outcome["twist_error"] < MOTION_ERROR * (1.0 + speed + COORDINATE_ERROR * outcome["reach"] * speed)


@kernel(inline=False)
def update_tree_motion(tree: Any, state: int) -> None:
    """Compute poses and velocities of the links of a new tree."""
    links = links_of(tree)
    rows, dof_rows = link_data_of(tree), dof_data_of(tree)
    q, v = rows_at(state + 8 * tree["nq"] * Q, tree["nq"], F8), rows_at(state + 8 * tree["nq"] * V, tree["nv"], F8)
    for i in range(tree["n"]):
        l = links[i]
        P, d = rows[l["parent"] + 1], rows[i + 1]
        R, r = place_link(l, P, d, dof_rows, q)
        move_link(l, P, d, dof_rows, q, v, R, r)


@kernel(inline=False)
def measure_motion_errors(graft: Any, outcome: Any) -> None:
    """Measure the largest differences of poses and velocities of bodies before and after, and their sizes."""
    source = source_of(graft)
    n, start = source["n"], graft["stay_count"]
    before, order = rows_at(source["rows"], n + 1, LINK_DATA), rows_at(graft["order"], n, I4)
    shifts = rows_at(graft["shifts"], n, FRAME)
    pose = twist = reach = speed = 0.0
    tree = rows_at(graft["rest"] if start > 0 else graft["host"], 1, TREE)[0]
    off = 1
    for s in range(n):
        if s == start:
            tree, off = host_of(graft), graft["n0"] - start + 1
        data = link_data_of(tree)[s + off]
        b = before[order[s] + 1]
        E, x, u = load9(b["R"]), load3(b["p"]), load3(b["v"])
        off_p, off_v = sub(load3(data["p"]), x), sub(load3(data["v"]), u)
        if start <= s < start + graft["length"]:  # where its frame has moved
            shift = shifts[order[s]]
            lever = mul_vec(E, load3(shift["p"]))
            E = mul(E, load9(shift["R"]))
            off_p, off_v = sub(off_p, lever), sub(off_v, cross(load3(b["w"]), lever))
        R, w, wb = load9(data["R"]), load3(data["w"]), load3(b["w"])
        for k in range(9):
            pose = max_or_nan(pose, abs(R[k] - E[k]))
        for k in range(3):
            pose = max_or_nan(pose, abs(off_p[k]))
            twist = max_or_nan(max_or_nan(twist, abs(w[k] - wb[k])), abs(off_v[k]))
            reach = max_or_nan(reach, abs(x[k]))
            speed = max_or_nan(max_or_nan(speed, abs(u[k])), abs(wb[k]))
    outcome["pose_error"], outcome["twist_error"] = pose, twist
    outcome["reach"], outcome["speed"] = reach, speed
