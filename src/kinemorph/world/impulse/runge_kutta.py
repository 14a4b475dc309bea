"""Motion of articulated trees between collisions: fourth-order Runge-Kutta with step doubling (Fontijne 3.8.2).

For trees on which only gravity and joint forces act; in the timestep model, for those that spin fast. Free rigid bodies
need none: they fall in closed form, and rotate with their momentum (`world.tree_motion.free_flight`).
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.motion.integrators import (
    Q_FULL,
    Q_NEXT,
    REST,
    V_FULL,
    V_NEXT,
    WORK_ROWS,
    extrapolate_halved_step,
    rk4_step,
)
from kinemorph.motion.stepping import copy
from kinemorph.multibody.checks import NO_FORCES, finite
from kinemorph.multibody.layout import dofs_of
from kinemorph.multibody.system import F8
from kinemorph.structure.forest import layout
from kinemorph.structure.forest.layout import q_of, rest_of, tau_of, v_of

STEP_ERROR = 1e-8  # rad or m for q, times 1 + |v| for v: largest error of one step
MOST_ADAPTIVE_STEPS = 200  # in a part; a tree that needs more is stiff, and gets implicit forces instead
STEP_SAFETY_FACTOR, LARGEST_STEP_GROWTH, SMALLEST_STEP_GROWTH = 0.9, 2.0, 0.2
STAGE_ROWS = WORK_ROWS + 1  # the last one holds the joint forces
SCRATCH_PER_DOF = 26  # scratch numbers per entry of z: 18 nq + nv, where nq is at most 4/3 nv
OF_TAU, OF_REST = layout.TAU, layout.REST


@kernel
def set_explicit_forces(tree: Any, tau: Any, to: Any) -> None:
    """Joint forces clamped to the efforts, into `to`; `implicit` of each degree of freedom becomes 0."""
    dofs = dofs_of(tree)
    for k in range(tree["nv"]):
        dofs[k]["implicit"] = 0.0
        to[k] = min(max(tau[k], -dofs[k]["effort_limit"]), dofs[k]["effort_limit"])


@kernel(inline=False)
def integrate_adaptively(solver: Any, slot: Any, tree: Any, offset: int, dt: float) -> bool:
    """Integrate a tree over dt. False if that takes too many steps or is not finite; then its state is unchanged, its
    link data not.

    The tree's `offset` in z gives its slice of the scratch memory.
    """
    nq, nv = tree["nq"], tree["nv"]
    stages = solver["stages"] + 8 * SCRATCH_PER_DOF * offset
    q, v = q_of(slot, tree), v_of(slot, tree)
    work = rows_at(stages, STAGE_ROWS * nq, F8).reshape((STAGE_ROWS, nq))
    copy(rest_of(slot, tree), work[REST], nq)
    set_explicit_forces(tree, tau_of(slot, tree), work[WORK_ROWS])
    kept = rows_at(stages + 8 * STAGE_ROWS * nq, nq + nv, F8)
    copy(q, kept, nq)
    copy(v, kept[nq:], nv)
    left = h = dt
    for _ in range(MOST_ADAPTIVE_STEPS):
        h = min(h, left)
        for at in (Q_FULL, Q_NEXT):
            copy(q, work[at], nq)
            copy(v, work[at + V_FULL - Q_FULL], nv)
        rk4_step(tree, work[Q_FULL], work[V_FULL], h, work[WORK_ROWS], NO_FORCES, work)
        rk4_step(tree, work[Q_NEXT], work[V_NEXT], 0.5 * h, work[WORK_ROWS], NO_FORCES, work)
        rk4_step(tree, work[Q_NEXT], work[V_NEXT], 0.5 * h, work[WORK_ROWS], NO_FORCES, work)
        _, error = extrapolate_halved_step(tree, STEP_ERROR, 0.0, work)
        if error <= 1.0:
            copy(work[Q_NEXT], q, nq)
            copy(work[V_NEXT], v, nv)
            left -= h
            if not left > 0.0:
                break
        growth = LARGEST_STEP_GROWTH
        if error > 0.0:
            growth = min(max(STEP_SAFETY_FACTOR * error**-0.2, SMALLEST_STEP_GROWTH), growth)
        h *= growth
    if left > 0.0 or not (finite(q) and finite(v)):
        copy(kept, q, nq)
        copy(kept[nq:], v, nv)
        return False
    return True
