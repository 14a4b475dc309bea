"""The direct solve of an island: velocities of least cost, by Newton's method with exact line search (as MuJoCo).

    ½ |z - z*|² + Σ costs of the rows,    z* = z + dt za

The cost is convex, and quadratic except where rows open, close, stick or slip, so Newton's method factors few matrices,
and none at rest, where the previous velocities are the solution. The friction limits come from the normal impulses
of the previous round, so that slip causes no lift.

Positions move with these velocities, which include overlap correction. Then the biases of touching contacts are
removed, with their impulses as estimates, and velocities are solved again, so that the correction adds no energy.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.basis import slice_product
from kinemorph.contact import layout
from kinemorph.contact.gauss_seidel.restitution import is_dissipative
from kinemorph.contact.newton import constraint_cost
from kinemorph.contact.newton.skyline_cholesky import add_contact_block, add_outer_product, factor, substitute
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.system import F8

MOST_NEWTON_STEPS, MOST_SEARCH_STEPS = 40, 12
FULL_WEIGHT_ROUNDS = 2  # rounds with full updates of friction limits; later ones have half
RESIDUAL_TOLERANCE = 1e-8  # residual, as a share of velocities, that one more solution with the same matrix removes
ENERGY_ROUNDING = 1e-6  # of the energy of an island
LESS_LOAD_WEIGHT = 1e-3  # weight of the decreasing load of a stiff drive in the convergence test: little speed error
SLACK_SPEED = 1e-6  # m/s: touching contacts that move no faster need no second solve


@kernel(inline=False)
def start_direct_solve(solver: Any, island: Any) -> None:
    """Fill the cost rows and their velocities, with biases and surface velocities, and z*.

    Velocities that are negligible beside the change by forces in a step are set to zero: they cause no Newton step, and
    would otherwise oscillate about the rest state without end.
    """
    first, stop = island["offset"], island["offset"] + island["nz"]
    Y, z = layout.whitened_rows(solver), layout.z_of(solver)
    za, z0 = layout.za_of(solver), layout.z0_of(solver)
    costs = layout.cost_rows(island)
    dt = solver["h"] * solver["substeps"]
    forces = speed = 0.0
    for k in range(first, stop):
        forces += dt * dt * za[k] * za[k]
        speed += z[k] * z[k]
    keep = 0.0 if speed <= solver["still"] * solver["still"] * forces else 1.0
    for k in range(first, stop):
        z[k] *= keep
        z0[k] = z[k] + dt * za[k]
    constraint_cost.fill_contact_costs(solver, island)
    constraint_cost.fill_dof_costs(solver, island)
    for i in range(island["cost_row_count"]):
        cost = costs[i]
        vn, v1, v2 = constraint_cost.cost_row_velocities(cost, Y, z)
        cost["normal_velocity"] = vn + cost["bias"]
        cost["tangent_velocity1"] += v1
        cost["tangent_velocity2"] += v2
        cost["normal_velocity_step"] = cost["tangent_velocity_step1"] = cost["tangent_velocity_step2"] = 0.0


@kernel(inline=False)
def evaluate_residual(solver: Any, island: Any) -> float:
    """Impulses p of all cost rows, and the gradient of the cost, g ← z - z* - Σ Y p. Returns |g|²."""
    first, stop = island["offset"], island["offset"] + island["nz"]
    Y, z, z0, r = layout.whitened_rows(solver), layout.z_of(solver), layout.z0_of(solver), layout.g_of(solver)
    costs = layout.cost_rows(island)
    for k in range(first, stop):
        r[k] = z[k] - z0[k]
    for i in range(island["cost_row_count"]):
        g = costs[i]
        g["normal_impulse"], g["tangent_impulse1"], g["tangent_impulse2"] = constraint_cost.cost_row_impulses(g, 0.0)
        if g["normal_impulse"] != 0.0 or g["tangent_impulse1"] != 0.0 or g["tangent_impulse2"] != 0.0:
            constraint_cost.apply_cost_row(g, Y, r, -1.0)
    size = 0.0
    for k in range(first, stop):
        size += r[k] * r[k]
    return size


@kernel(inline=False)
def factor_hessian(solver: Any, island: Any) -> None:
    """The Hessian H at the velocities of the cost rows, and its Cholesky factor."""
    first, n = island["offset"], island["nz"]
    Y = layout.whitened_rows(solver)
    E = rows_at(solver["skyline"], solver["skyline_room"], F8)[island["skyline"] :]
    row_of, low = layout.skyline_rows_of(solver)[first:], layout.first_columns_of(solver)[first:]
    at = layout.column_starts_of(solver)[first:]
    costs = layout.cost_rows(island)
    for k in range(n):
        for j in range(at[k] + low[k], at[k] + k):
            E[j] = 0.0
        E[at[k] + k] = 1.0
    for i in range(island["cost_row_count"]):
        cost = costs[i]
        gn, g11, g12, g22 = constraint_cost.cost_row_slopes(cost, 0.0)
        l1, l2 = cost["length1"], cost["length2"]
        r1 = row_of[cost["offset1"] - first] if l1 > 0 else 0
        r2 = row_of[cost["offset2"] - first] if l2 > 0 else 0
        if cost["tangents"] == 2 and cost["tangent_limit"] > 0.0:
            add_contact_block(E, at, r1, l1, r2, l2, Y, cost["normal_row"], gn, g11, g12, g22)
        elif cost["normal"] != 0:
            if gn > 0.0:
                add_outer_product(E, at, r1, l1, r2, l2, Y, cost["normal_row"], gn)
        elif g11 > 0.0:
            add_outer_product(E, at, r1, l1, r2, l2, Y, cost["tangent_row"], g11)
    factor(E, at, low, n)


@kernel(inline=False)
def newton_direction(solver: Any, island: Any) -> None:
    """g ← -H⁻¹ g, and the changes of the rows' velocities by that step."""
    first, n = island["offset"], island["nz"]
    Y, r, x = layout.whitened_rows(solver), layout.g_of(solver), layout.x_of(solver)[first:]
    E = rows_at(solver["skyline"], solver["skyline_room"], F8)[island["skyline"] :]
    row_of, low = layout.skyline_rows_of(solver)[first:], layout.first_columns_of(solver)[first:]
    at = layout.column_starts_of(solver)[first:]
    costs = layout.cost_rows(island)
    for k in range(n):
        x[row_of[k]] = -r[first + k]
    substitute(E, at, low, n, x)
    for k in range(n):
        r[first + k] = x[row_of[k]]
    for i in range(island["cost_row_count"]):
        cost = costs[i]
        cost["normal_velocity_step"], cost["tangent_velocity_step1"], cost["tangent_velocity_step2"] = (
            constraint_cost.cost_row_velocities(cost, Y, r)
        )


@kernel(inline=False)
def search_line(solver: Any, island: Any) -> float:
    """Line search: the share x of the step g with least cost, where the monotone slope is zero."""
    first, stop = island["offset"], island["offset"] + island["nz"]
    z, z0, d = layout.z_of(solver), layout.z0_of(solver), layout.g_of(solver)
    costs = layout.cost_rows(island)
    begin = size = 0.0
    for k in range(first, stop):
        begin += d[k] * (z[k] - z0[k])
        size += d[k] * d[k]
    down = begin
    for i in range(island["cost_row_count"]):
        g = costs[i]
        down -= (
            g["normal_impulse"] * g["normal_velocity_step"]
            + g["tangent_impulse1"] * g["tangent_velocity_step1"]
            + g["tangent_impulse2"] * g["tangent_velocity_step2"]
        )
    left, right, x = 0.0, 1e9, 1.0
    for _ in range(MOST_SEARCH_STEPS):
        slope, curve = begin + x * size, size
        for i in range(island["cost_row_count"]):
            g = costs[i]
            pn, p1, p2 = constraint_cost.cost_row_impulses(g, x)
            gn, g11, g12, g22 = constraint_cost.cost_row_slopes(g, x)
            dn, d1, d2 = g["normal_velocity_step"], g["tangent_velocity_step1"], g["tangent_velocity_step2"]
            slope -= pn * dn + p1 * d1 + p2 * d2
            curve += gn * dn * dn + g11 * d1 * d1 + 2.0 * g12 * d1 * d2 + g22 * d2 * d2
        if abs(slope) <= -1e-3 * down:
            break
        if slope < 0.0:
            left = x
        else:
            right = x
        x -= slope / curve
        if not left < x < right:
            x = 0.5 * (left + right) if right < 1e9 else 2.0 * left
    return x


@kernel
def advance_along(solver: Any, island: Any, share: float) -> None:
    """z ← z + share g, and the same for the velocities of the cost rows."""
    z, d = layout.z_of(solver), layout.g_of(solver)
    costs = layout.cost_rows(island)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        z[k] += share * d[k]
    for i in range(island["cost_row_count"]):
        cost = costs[i]
        cost["normal_velocity"] += share * cost["normal_velocity_step"]
        cost["tangent_velocity1"] += share * cost["tangent_velocity_step1"]
        cost["tangent_velocity2"] += share * cost["tangent_velocity_step2"]


@kernel(inline=False)
def held_by_drives(solver: Any, island: Any) -> float:
    """Square of the velocity change by the previous impulses of stiff drives, a scale of residuals without gravity."""
    Y, total = layout.whitened_rows(solver), 0.0
    costs = layout.cost_rows(island)
    for i in range(island["contact_count"], island["cost_row_count"]):
        cost = costs[i]
        if cost["driven"] != 0 and cost["kept_share"] > 0.0:
            size = slice_product(Y, cost["tangent_row"], Y, cost["tangent_row"], cost["length2"])
            total += cost["before"] * cost["before"] * size
    return total


@kernel(inline=False)
def minimize_cost(solver: Any, island: Any) -> int:
    """Newton's method from the present velocities. Returns the number of steps.

    It is 0 if the residual is small beside the change by forces in a step.
    """
    first, stop = island["offset"], island["offset"] + island["nz"]
    z0, za = layout.z0_of(solver), layout.za_of(solver)
    dt = solver["h"] * solver["substeps"]
    forces = scale = 0.0
    for k in range(first, stop):
        forces += dt * dt * za[k] * za[k]
        scale += z0[k] * z0[k]
    scale += forces + held_by_drives(solver, island)
    if evaluate_residual(solver, island) <= solver["still"] * solver["still"] * forces:
        return 0
    for n in range(MOST_NEWTON_STEPS):
        factor_hessian(solver, island)
        newton_direction(solver, island)
        advance_along(solver, island, search_line(solver, island))
        if evaluate_residual(solver, island) <= RESIDUAL_TOLERANCE * RESIDUAL_TOLERANCE * scale:
            newton_direction(solver, island)
            advance_along(solver, island, 1.0)
            evaluate_residual(solver, island)
            return n + 1
    return MOST_NEWTON_STEPS


@kernel(inline=False)
def update_estimates(solver: Any, island: Any, slack: bool, weight: float) -> bool:
    """Update the estimates q from the impulses, and the friction limits. True if the change is within tolerance.

    With `slack` the normals of touching contacts are updated too, which makes them rigid. The limits have a weight,
    because strongly coupled friction and normals would alternate between two states. A stiff drive's load decreases
    within the step and increases only from step to step, so that a blocked motor does not gain force meanwhile.
    """
    costs = layout.cost_rows(island)
    largest = change = 0.0
    for i in range(island["cost_row_count"]):
        cost = costs[i]
        largest = max(largest, cost["normal_impulse"])
        if slack and cost["touching"] != 0:
            change = max(change, abs(cost["normal_impulse"] - cost["qn"]))
            cost["qn"] = cost["normal_impulse"]
        if cost["tangents"] == 0 or cost["driven"] != 0:
            largest = max(largest, abs(cost["tangent_impulse1"]))
            if cost["driven"] != 0 and cost["kept_share"] > 0.0 and abs(cost["tangent_impulse1"]) < abs(cost["before"]):
                new = cost["tangent_impulse1"] - cost["before"]
                change = max(change, LESS_LOAD_WEIGHT * abs(new))
                cost["q1"], cost["before"] = cost["q1"] + cost["kept_share"] * new, cost["tangent_impulse1"]
            continue
        change = max(
            change, max(abs(cost["tangent_impulse1"] - cost["q1"]), abs(cost["tangent_impulse2"] - cost["q2"]))
        )
        if cost["friction"] > 0.0:
            most = cost["friction"] * cost["normal_impulse"]
            change = max(change, abs(most - cost["tangent_limit"]))
            cost["tangent_limit"] += weight * (most - cost["tangent_limit"])
        else:
            largest = max(largest, abs(cost["tangent_impulse1"]))
        constraint_cost.clamp_friction_estimate(cost, cost["tangent_impulse1"], cost["tangent_impulse2"])
    return change <= solver["settled_share"] * largest


@kernel(inline=False)
def iterate_friction(solver: Any, island: Any, slack: bool) -> bool:
    """Alternate Newton solves and updates of the friction limits until they agree. False if Newton did not converge."""
    steps = 0
    for n in range(solver["friction_rounds"]):
        steps = minimize_cost(solver, island)
        island["newton_steps"] += steps
        if update_estimates(solver, island, slack, 1.0 if n < FULL_WEIGHT_ROUNDS else 0.5):
            break
    return steps < MOST_NEWTON_STEPS


@kernel(inline=False)
def remove_bias(island: Any) -> bool:
    """Remove the bias of touching contacts and take their impulses as estimates. True if velocities may change."""
    costs = layout.cost_rows(island)
    changes = False
    for i in range(island["cost_row_count"]):
        cost = costs[i]
        if cost["touching"] != 0:
            cost["normal_velocity"] -= cost["bias"]
            cost["bias"], cost["qn"] = 0.0, cost["normal_impulse"]
            if cost["normal_impulse"] > 0.0 and abs(cost["normal_velocity"]) > SLACK_SPEED:
                changes = True
    return changes


@kernel
def has_gained_no_energy(solver: Any, island: Any) -> bool:
    """Whether an island has no more energy than without constraint rows, or has drives or moving surfaces."""
    z, z0 = layout.z_of(solver), layout.z0_of(solver)
    now = before = 0.0
    for k in range(island["offset"], island["offset"] + island["nz"]):
        now += z[k] * z[k]
        before += z0[k] * z0[k]
    return now <= (1.0 + ENERGY_ROUNDING) * before or not is_dissipative(solver, island)


@kernel(inline=False)
def solve_directly(solver: Any, island: Any) -> bool:
    """Solve an island: z ← velocities after the step, `moved` ← displacement in the step, both whitened.

    False if that failed, with no change: a jam of masses that differ by a factor of a million may exceed the precision
    of 64-bit numbers.
    """
    z, moved = layout.z_of(solver), layout.displacement_of(solver)
    z0, za = layout.z0_of(solver), layout.za_of(solver)
    dt = solver["h"] * solver["substeps"]
    island["newton_steps"] = 0
    start_direct_solve(solver, island)
    good = iterate_friction(solver, island, False)
    for k in range(island["offset"], island["offset"] + island["nz"]):
        moved[k] = dt * z[k]
    if good and remove_bias(island):
        good = iterate_friction(solver, island, True)
    if not (good and has_gained_no_energy(solver, island)):
        for k in range(island["offset"], island["offset"] + island["nz"]):
            z[k] = z0[k] - dt * za[k]
        return False
    constraint_cost.store_solution(solver, island)
    return True
