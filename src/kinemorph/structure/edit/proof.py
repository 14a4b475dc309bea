"""Verify that an edit has moved no body, and find inverted joints whose forces no longer act as before."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.joints import FREE, PLANAR, SPHERICAL
from kinemorph.multibody.algorithms.kinematics import move, place
from kinemorph.multibody.layout import (
    LINK_DATA,
    TREE,
    dof_data_of,
    dofs_of,
    link_data_of,
    links_of,
)
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul, mul_vec
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import cross, sub
from kinemorph.structure.edit.graft import I4
from kinemorph.structure.forest.layout import FRAME, Q, V

MOTION_ERROR = 1e-6  # allowed deviation of a link from its joint's motion, in m, rad and per second, at unit size
COORDINATE_ERROR = 1e-6  # increase of the allowance per m, or m/s, of the largest coordinate: rounding


@kernel
def acts(dof: Any) -> bool:
    return dof["armature"] != 0.0 or dof["damping"] != 0.0 or dof["stiffness"] != 0.0


@kernel
def alike(x: Any, y: Any) -> bool:
    return x["armature"] == y["armature"] and x["damping"] == y["damping"] and x["stiffness"] == y["stiffness"]


@kernel
def has_bounds_of_its_own(x: Any) -> bool:
    """Whether friction or a speed limit bounds it. Several such bounds are a box, which does not turn with axes."""
    return x["friction"] > 0.0 or 0.0 < x["speed"] < np.inf


@kernel(inline=False)
def first_lossy(graft: Any) -> int:
    """The first joint that is inverted and whose numbers mean something else then, -1 if there is none.

    The axes of an inverted ball turn with the other body, so its three numbers must be equal, and none may have bounds
    of its own. A distance along axes that turn is another coordinate, so nothing may act along it or limit it.
    """
    source = rows_at(graft["source"], 1, TREE)[0]
    links, dofs = links_of(source), dofs_of(source)
    order = rows_at(graft["order"], source["n"], I4)
    for c in range(graft["stay"], graft["stay"] + graft["length"] - 1):
        l = links[order[c]]
        kind = l["kind"]
        k = l["iv"]
        if (kind == SPHERICAL or kind == FREE) and not (alike(dofs[k], dofs[k + 1]) and alike(dofs[k], dofs[k + 2])):
            return l["joint"]
        for j in range(k + 3 if kind == FREE else k, k + 6 if kind == FREE else k + 2 if kind == PLANAR else k):
            if acts(dofs[j]) or dofs[j]["lower"] > -np.inf or dofs[j]["upper"] < np.inf:
                return l["joint"]
        several = kind == SPHERICAL or kind == FREE or kind == PLANAR
        for j in range(k, k + l["nv"] if several else k):
            if (kind != PLANAR or j < k + 2) and has_bounds_of_its_own(dofs[j]):
                return l["joint"]
    return -1


@kernel
def larger(x: float, y: float) -> float:
    """The larger of two numbers; NaN counts as larger than any number."""
    return x if x >= y or x != x else y


@kernel
def fits(error: float, size: float) -> bool:
    """Whether an error of a position (m, rad) is small, where the largest coordinate is `size` (m)."""
    return error < MOTION_ERROR * (1.0 + COORDINATE_ERROR * size)


@kernel
def keeps_up(outcome: Any) -> bool:
    """Whether the error of velocities is small, for the largest speed and coordinate of the bodies."""
    speed = outcome["speed"]
    return outcome["twist_error"] < MOTION_ERROR * (1.0 + speed + COORDINATE_ERROR * outcome["reach"] * speed)


@kernel(inline=False)
def settle(tree: Any, state: int) -> None:
    """Compute poses and velocities of the links of a new tree."""
    links = links_of(tree)
    rows, dof_rows = link_data_of(tree), dof_data_of(tree)
    q, v = rows_at(state + 8 * tree["nq"] * Q, tree["nq"], F8), rows_at(state + 8 * tree["nq"] * V, tree["nv"], F8)
    for i in range(tree["n"]):
        l = links[i]
        P, d = rows[l["parent"] + 1], rows[i + 1]
        R, r = place(l, P, d, dof_rows, q)
        move(l, P, d, dof_rows, q, v, R, r)


@kernel(inline=False)
def compare(graft: Any, outcome: Any) -> None:
    """Measure the largest differences of poses and velocities of bodies before and after, and their sizes."""
    source = rows_at(graft["source"], 1, TREE)[0]
    n, start = source["n"], graft["stay"]
    before, order = rows_at(source["rows"], n + 1, LINK_DATA), rows_at(graft["order"], n, I4)
    shifts = rows_at(graft["shifts"], n, FRAME)
    pose = twist = reach = speed = 0.0
    tree = rows_at(graft["rest"] if start > 0 else graft["host"], 1, TREE)[0]
    off = 1
    for s in range(n):
        if s == start:
            tree, off = rows_at(graft["host"], 1, TREE)[0], graft["n0"] - start + 1
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
            pose = larger(pose, abs(R[k] - E[k]))
        for k in range(3):
            pose = larger(pose, abs(off_p[k]))
            twist = larger(larger(twist, abs(w[k] - wb[k])), abs(off_v[k]))
            reach = larger(reach, abs(x[k]))
            speed = larger(larger(speed, abs(u[k])), abs(wb[k]))
    outcome["pose_error"], outcome["twist_error"] = pose, twist
    outcome["reach"], outcome["speed"] = reach, speed
