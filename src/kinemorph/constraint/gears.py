"""Gears: joints that follow others (mimics, `joint` equalities), a_own = ratio a_source.

Accelerations are linear in joint forces, also with loops. So the response to a unit force of each gear, opposite at its
two joints, is computed by forward dynamics, and a matrix of the size of the number of gears gives their forces: O(gears
(n + m³)).
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.layout import GEAR

DEPENDENT_GEAR_SHARE = 1e-10  # share of a diagonal entry below which its pivot is dependent


@kernel
def gear_error(gear: Any, a: Any) -> float:
    """Acceleration of the following joint minus that which the gear demands."""
    return a[gear["own"]] - gear["ratio"] * a[gear["source"]]


@kernel
def add_gear_force(gear: Any, force: float, tau: Any) -> None:
    """Add the force of a gear to the joint forces of its two joints."""
    tau[gear["own"]] += force
    tau[gear["source"]] -= gear["ratio"] * force


@kernel
def follow_gears(tree: Any, q: Any, v: Any) -> None:
    """Set q and v of all joints that follow others, sources first."""
    gears = rows_at(tree["gears"], tree["gear_count"], GEAR)
    for k in range(tree["gear_count"]):
        gear = gears[k]
        q[gear["own_q"]] = gear["ratio"] * q[gear["source_q"]] + gear["offset"]
        v[gear["own"]] = gear["ratio"] * v[gear["source"]]


@kernel
def solve_gears(G: Any, b: Any, least: Any, count: int) -> None:
    """Solve G x = b in place, by LDLᵀ; gears that depend on others get zero force."""
    for k in range(count):
        pivot = G[k * count + k]
        if pivot <= least[k]:
            for i in range(k, count):
                G[i * count + k] = 0.0
            continue
        for i in range(k + 1, count):
            factor = G[i * count + k] / pivot
            for j in range(k + 1, i + 1):
                G[i * count + j] -= factor * G[j * count + k]
        for i in range(k + 1, count):
            G[i * count + k] /= pivot
    for k in range(count):
        for j in range(k):
            b[k] -= G[k * count + j] * b[j]
    for k in range(count):
        pivot = G[k * count + k]
        b[k] = b[k] / pivot if pivot > least[k] else 0.0
    for k in range(count - 1, -1, -1):
        for i in range(k + 1, count):
            b[k] -= G[i * count + k] * b[i]
