"""Forward dynamics with loops: M a + h = tau + J_Cᵀ λ with J_C a = - J̇_C v.

The trees are accelerated first without loops. The loop forces then follow from G = J_C M⁻¹ J_Cᵀ = Y Yᵀ
(`constraint.whiten`, `constraint.solve`), and the λ enter the last pass outward through the same y, so that no matrix
of size nv is ever factored: O(n + m² depth + m³).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.constraint.gears import DEPENDENT_GEAR_SHARE, add_gear_force, gear_error, solve_gears
from kinemorph.constraint.loops import fill_drifts, fill_errors, orient_rows
from kinemorph.constraint.solve import factor_rows, multiply_rows, raise_dependence, solve_rows
from kinemorph.constraint.whiten import apply_row_forces, whiten
from kinemorph.jit.api import entry, for_lanes, generic, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.aba import articulated_body, outward
from kinemorph.multibody.checks import NO_FORCES, NOT_FINITE, OK, Array, Matrix, Vector, fault_of_dynamics, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import GEAR, TREE
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.system import F8, system_of
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.lanes.four import LANE_COUNT


@kernel(inline=False)
def solve_loop_forces(system: Any) -> None:
    """Solve for the loop forces λ after forward dynamics of the trees, and add them to field u of each joint."""
    orient_rows(system)
    whiten(system)
    multiply_rows(system)
    fill_errors(system)
    raise_dependence(system, system["dependence"])
    factor_rows(system, 0.0)
    fill_drifts(system)
    solve_rows(system)
    apply_row_forces(system)


@kernel(inline=False)
def constrain_accelerations(tree: Any, a: Any) -> None:
    """Correct the accelerations of a tree by its loop forces."""
    solve_loop_forces(system_of(tree))
    outward(tree, a)


@generic
def apply_loop_constraints(tree: Any, a: Any) -> None:
    """Apply loop forces if a tree has loops."""
    if tree["system"] != 0:
        constrain_accelerations(tree, a)


@for_lanes(apply_loop_constraints)
def _apply_loop_constraints_lanes(tree: Any, a: Any) -> None:
    """Batches have no loops."""


@kernel
def accelerate_with_loops(tree: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    """a from q, v, tau and the external wrenches on links, with all loops closed, without gears."""
    articulated_body(tree, q, v, tau, external, a)
    apply_loop_constraints(tree, a)


@kernel(inline=False)
def accelerate_with_gears(tree: Any, q: Any, v: Any, tau: Any, pushes: Any, a: Any) -> None:
    """The same after `accelerate_with_loops`, with gear forces. The wrenches on links are in one flat array."""
    count, nv, external = tree["gear_count"], tree["nv"], pushes.reshape((pushes.shape[0] // 6, 6))
    gears = rows_at(tree["gears"], count, GEAR)
    room = rows_at(tree["gear_room"], (2 + count) * nv + count * (count + 2), F8)
    forces, free, responses = room[:nv], room[nv : 2 * nv], room[2 * nv : (2 + count) * nv]
    for i in range(nv):
        free[i], forces[i] = a[i], tau[i]
    for k in range(count):
        add_gear_force(gears[k], 1.0, forces)
        accelerate_with_loops(tree, q, v, forces, external, a)
        for i in range(nv):
            responses[k * nv + i], forces[i] = a[i] - free[i], tau[i]
    solve_gear_forces(gears, free, responses, room[(2 + count) * nv :], forces)
    accelerate_with_loops(tree, q, v, forces, external, a)


@kernel
def solve_gear_forces(gears: Any, free: Any, responses: Any, room: Any, forces: Any) -> None:
    """Add the gear forces to joint forces, from accelerations without gears and the response to each gear."""
    count, nv = gears.shape[0], free.shape[0]
    G, b, least = room[: count * count], room[count * count : count * (count + 1)], room[count * (count + 1) :]
    for k in range(count):
        b[k] = -gear_error(gears[k], free)
        for i in range(count):
            G[i * count + k] = gear_error(gears[i], responses[k * nv : (k + 1) * nv])
        least[k] = DEPENDENT_GEAR_SHARE * G[k * count + k]
    solve_gears(G, b, least, count)
    for k in range(count):
        add_gear_force(gears[k], b[k], forces)


@kernel(inline=False)
def accelerate_lanes_with_gears(tree: Any, q: Any, v: Any, tau: Any, pushes: Any, a: Any) -> None:
    """`accelerate_with_gears` of several states: forward dynamics in lanes, the gears one state after the other."""
    count, nv, external = tree["gear_count"], tree["nv"], pushes.reshape((0, 6, LANE_COUNT))
    gears, size = rows_at(tree["gears"], count, GEAR), (2 + count) * nv
    room = rows_at(tree["gear_room"], LANE_COUNT * (size + count * (count + 2)), F8)
    motions = room[: LANE_COUNT * size].reshape((size, LANE_COUNT))
    forces, free, responses = motions[:nv], motions[nv : 2 * nv], motions[2 * nv :]
    for j in range(nv):
        for i in range(LANE_COUNT):
            free[j, i], forces[j, i] = a[j, i], tau[j, i]
    for k in range(count):
        for i in range(LANE_COUNT):
            add_gear_force(gears[k], 1.0, forces[:, i])
        accelerate_with_loops(tree, q, v, forces, external, a)
        for j in range(nv):
            for i in range(LANE_COUNT):
                responses[k * nv + j, i], forces[j, i] = a[j, i] - free[j, i], tau[j, i]
    for i in range(LANE_COUNT):
        solve_gear_forces(gears, free[:, i], responses[:, i], room[LANE_COUNT * size :], forces[:, i])
    accelerate_with_loops(tree, q, v, forces, external, a)


@generic
def apply_gear_constraints(tree: Any, q: Any, v: Any, tau: Any, pushes: Any, a: Any) -> None:
    """Apply gear forces if a tree has gears."""
    if tree["gears"] != 0:
        accelerate_with_gears(tree, q, v, tau, pushes, a)


@for_lanes(apply_gear_constraints)
def _apply_gear_constraints_lanes(tree: Any, q: Any, v: Any, tau: Any, pushes: Any, a: Any) -> None:
    """The same for batches, which have no wrenches on links."""
    if tree["gears"] != 0:
        accelerate_lanes_with_gears(tree, q, v, tau, pushes, a)


@kernel
def constrained_body(tree: Any, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    """a from q, v, tau and the external wrenches on links, with all loops closed and all gears engaged."""
    accelerate_with_loops(tree, q, v, tau, external, a)
    # flat, because kernels take two dimensions for lanes
    apply_gear_constraints(tree, q, v, tau, external.reshape(external.size), a)


@entry
def _forward(address: int, q: Vector, v: Vector, tau: Vector, external: Matrix, a: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_dynamics(tree, q, v, tau, external, a)
    if fault != OK:
        return fault
    constrained_body(tree, q, v, tau, external, a)
    return OK if finite(a) else NOT_FINITE


@checked_on_failure
def forward_dynamics(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    external: npt.ArrayLike = NO_FORCES,
) -> Array:
    """Accelerations a from joint forces tau (and external forces), with all loops closed and all joints that follow
    others (`Model.mimics`) in step.

    q and v must satisfy the loops (see `close` and `project`) and the mimics (see `follow`). Afterwards `data.wrenches`
    are the forces and moments at the loops and `data.rank` is the number of their independent constraints. Without
    loops and mimics this is `aba`.
    """
    if getattr(data, "model", None) is not model:
        checks.check_data(model, data)
    a = np.empty(data.nv)
    try:
        status = _forward(data.address, q, v, tau, external, a)
    except (TypeError, ValueError):
        q64, v64, tau64, external64 = checks.as_arrays(model, q=q, v=v, tau=tau, external=external)
        status = _forward(data.address, q64, v64, tau64, external64, a)
    if status:
        checks.raise_for_status(model, status, q=q, v=v, tau=tau, external=external)
    return a


@checked_on_failure
def loop_forces(model: Model, data: Data, wrenches: npt.ArrayLike | None = None) -> Array:
    """Wrenches at the loops (`data.wrenches` if not given) as external forces on all links (n x 6).

    They take the place of the loops: `aba` with them gives the same accelerations. After any dynamics of the loops.
    """
    checks.check_data(model, data)
    given = data.wrenches if wrenches is None else np.asarray(wrenches, dtype=np.float64)
    if given.shape != (len(model.loop_rows), 6) or not np.isfinite(given).all():
        raise ValueError(
            f"model {model.name!r}: wrenches must be finite, a moment and a force for each loop, of shape "
            f"{(len(model.loop_rows), 6)}; they have shape {given.shape}"
        )
    forces = np.zeros((model.n, 6))
    for wrench, loop in zip(given, model.loop_rows, strict=True):
        if not loop["m"]:
            continue
        x = data.rows[loop["first"]]["x"]
        for link, sign in ((int(loop["b"]), 1.0), (int(loop["a"]), -1.0)):
            if link >= 0:
                forces[link, :3] += sign * (wrench[:3] + np.cross(x - data.links[link]["p"], wrench[3:]))
                forces[link, 3:] += sign * wrench[3:]
    return forces
