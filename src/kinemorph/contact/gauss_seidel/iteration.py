"""Projected Gauss-Seidel over the constraint rows of an island, with soft contacts and a relax pass (as Box2D 3).

The biased pass corrects overlap softly (ω, ζ), at most at the parting speed of the header. After the positions have
moved, the relax pass solves without bias and with friction, so that overlap correction adds no energy. A speculative
contact (separation > 0) may close its gap within the substep, and no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.contact.gauss_seidel.friction import sliding_impulses, sticking_impulses
from kinemorph.contact.gauss_seidel.row_products import (
    add_small,
    add_twelve,
    apply_contact_impulses,
    apply_normal_impulse,
    apply_row_impulse,
    contact_velocities,
    contact_velocity,
    dot_small,
    dot_twelve,
    fits_registers,
    is_small,
    lane_products,
    load_row,
    load_small,
    load_twelve,
    row_velocity,
    store_small,
    store_twelve,
)
from kinemorph.contact.layout import (
    DofConstraintKind,
    contact_constraints,
    displacement_of,
    dof_constraints,
    whitened_rows,
    z_of,
)
from kinemorph.jit.api import kernel
from kinemorph.spatial.lanes.four import columns, fma, lane

UPPER, DRIVEN, FAST = int(DofConstraintKind.UPPER), int(DofConstraintKind.DRIVEN), int(DofConstraintKind.FAST)


@kernel
def first_half_count(island: Any) -> int:
    """Number of contacts in the first half of an island, if an iteration alternates between two halves; else 0.

    Contacts of one pair are adjacent and depend on each other's result. Alternating with contacts of other bodies lets
    the processor overlap their computations; an island of one tree has no other bodies.
    """
    return (island["contact_count"] + 1) >> 1 if island["first_tree"] != island["last_tree"] else 0


@kernel
def visit_order(index: int, half: int) -> int:
    """Index of the k-th contact of an iteration."""
    return (index >> 1) + half * (index & 1) if half > 0 else index


@kernel
def soft_coefficients(solver: Any) -> tuple[float, float, float]:
    """Bias rate β (1/s), mass scale and impulse scale of soft contacts, from ζ and ω h of the header."""
    x = solver["stiffness"]  # ω h
    a1 = 2.0 * solver["damping"] + x
    a2 = x * a1
    return x / (solver["h"] * a1), a2 / (1.0 + a2), 1.0 / (1.0 + a2)


@kernel
def solve_biased_normal(
    contact: Any, v: float, gap: float, h: float, push: float, soft: tuple[float, float, float]
) -> float:
    """Change of the normal impulse in the biased pass, from the separation (m) and the normal velocity (m/s)."""
    beta, mass, less = soft
    contact["separation"] = gap
    keep, give, start = 1.0, contact["effective_mass"], gap / h
    if not gap > 0.0:
        keep, give, start = 1.0 - less, mass * contact["effective_mass"], max(beta * gap, -push)
    p = max(0.0, fma(-give, v, fma(-give, start, keep * contact["normal_impulse"])))
    d = p - contact["normal_impulse"]
    contact["normal_impulse"] = p
    if p > 0.0:
        contact["acted"] = 1
    return d


@kernel
def solve_contacts_biased(solver: Any, island: Any, first: bool, soft: tuple[float, float, float]) -> None:
    """The biased pass over the contacts of an island: normal impulses only."""
    contacts = contact_constraints(solver)[island["first_contact"] :]
    Y, z = whitened_rows(solver), z_of(solver)
    moved = displacement_of(solver)
    h, push = solver["h"], solver["parting_speed"]
    half = first_half_count(island)
    for k in range(island["contact_count"]):
        contact = contacts[visit_order(k, half)]
        if fits_registers(contact):
            x, y = load_twelve(contact, z), load_row(contact, 0, Y)
            gap = contact["initial_separation"]
            if not first:
                gap += dot_twelve(y, load_twelve(contact, moved))
            d = solve_biased_normal(contact, dot_twelve(y, x), gap, h, push, soft)
            store_twelve(contact, z, add_twelve(x, y, d))
        elif contact["length1"] == 0 and is_small(contact["length2"]):
            o, l = contact["offset2"], contact["length2"]
            a, b = load_small(z, o, l), load_small(Y, contact["y"], l)
            gap = contact["initial_separation"]
            if not first:
                gap += dot_small(b, load_small(moved, o, l))
            store_small(z, o, l, add_small(a, b, solve_biased_normal(contact, dot_small(b, a), gap, h, push, soft)))
        else:
            gap = contact["initial_separation"]
            if not first:
                gap += contact_velocity(contact, 0, Y, moved)
            d = solve_biased_normal(contact, contact_velocity(contact, 0, Y, z), gap, h, push, soft)
            apply_normal_impulse(contact, Y, z, d)


@kernel
def relax_contact(contact: Any, v: float, v1: float, v2: float) -> tuple[float, float, float]:
    """Changes of the three impulses of a contact in the relax pass, from its three velocities.

    Friction is as in `solve_friction`, but the slip by the normal impulse is added last, which shortens the dependency.
    """
    v1, v2 = v1 + contact["surface_velocity1"], v2 + contact["surface_velocity2"]
    p = max(0.0, fma(-contact["effective_mass"], v, contact["normal_impulse"]))
    d = p - contact["normal_impulse"]
    p1, p2 = sticking_impulses(contact, v1, v2)
    c1, c2 = contact["normal_coupling1"], contact["normal_coupling2"]
    p1 = fma(-fma(contact["tangent_mass11"], c1, contact["tangent_mass12"] * c2), d, p1)
    p2 = fma(-fma(contact["tangent_mass12"], c1, contact["tangent_mass22"] * c2), d, p2)
    most = contact["friction"] * p
    if p1 * p1 + p2 * p2 > most * most:
        p1, p2 = sliding_impulses(contact, fma(c1, d, v1), fma(c2, d, v2), most)
    d1, d2 = p1 - contact["tangent_impulse1"], p2 - contact["tangent_impulse2"]
    contact["normal_impulse"], contact["tangent_impulse1"], contact["tangent_impulse2"] = p, p1, p2
    contact["total_normal_impulse"] += p
    contact["total_tangent_impulse1"] += p1
    contact["total_tangent_impulse2"] += p2
    return d, d1, d2


@kernel
def relax_contacts(solver: Any, island: Any) -> None:
    """The relax pass over the contacts of an island: no bias, with friction; adds impulses to the step's totals."""
    contacts = contact_constraints(solver)[island["first_contact"] :]
    Y, z = whitened_rows(solver), z_of(solver)
    moved = displacement_of(solver)
    h = solver["h"]
    half = first_half_count(island)
    for k in range(island["contact_count"]):
        contact = contacts[visit_order(k, half)]
        bounces = contact["restitution"] > 0.0 or contact["fast"] != 0
        if bounces and contact["separation"] > 0.0 and contact["normal_impulse"] == 0.0:  # it has no impact yet
            if contact["tangent_impulse1"] != 0.0 or contact["tangent_impulse2"] != 0.0:
                apply_contact_impulses(contact, Y, z, 0.0, -contact["tangent_impulse1"], -contact["tangent_impulse2"])
                contact["tangent_impulse1"] = contact["tangent_impulse2"] = 0.0
        elif fits_registers(contact):
            x = load_twelve(contact, z)
            y = load_row(contact, 0, Y)
            y1 = load_row(contact, 1, Y)
            y2 = load_row(contact, 2, Y)
            v = dot_twelve(y, x)
            if contact["separation"] > 0.0:
                v += (contact["initial_separation"] + dot_twelve(y, load_twelve(contact, moved))) / h
            d, d1, d2 = relax_contact(contact, v, dot_twelve(y1, x), dot_twelve(y2, x))
            store_twelve(contact, z, add_twelve(add_twelve(add_twelve(x, y, d), y1, d1), y2, d2))
        elif contact["length1"] == 0 and is_small(contact["length2"]):
            o, l, at = contact["offset2"], contact["length2"], contact["y"]
            a = load_small(z, o, l)
            b = load_small(Y, at, l)
            b1 = load_small(Y, at + l, l)
            b2 = load_small(Y, at + 2 * l, l)
            v = dot_small(b, a)
            if contact["separation"] > 0.0:
                v += (contact["initial_separation"] + dot_small(b, load_small(moved, o, l))) / h
            d, d1, d2 = relax_contact(contact, v, dot_small(b1, a), dot_small(b2, a))
            store_small(z, o, l, add_small(add_small(add_small(a, b, d), b1, d1), b2, d2))
        else:
            v, v1, v2 = contact_velocities(contact, Y, z)
            if contact["separation"] > 0.0:
                v += (contact["initial_separation"] + contact_velocity(contact, 0, Y, moved)) / h
            d, d1, d2 = relax_contact(contact, v, v1, v2)
            apply_contact_impulses(contact, Y, z, d, d1, d2)


@kernel
def prepare_drive(constraint: Any, h: float) -> None:
    """Set start, keep and give of a drive: an implicit spring and damper, with x and v at the end of the substep."""
    mass, target = constraint["effective_mass"], constraint["target"]
    start, keep, gain = target * mass, 1.0, mass
    if constraint["damping"] != np.inf:
        k = h * (constraint["damping"] + h * constraint["stiffness"])
        share = 1.0 / (mass + k)
        force = constraint["force"] + constraint["stiffness"] * constraint["separation"]
        force += constraint["damping"] * target
        start, keep, gain = h * force * (mass * share), k * share, k * (mass * share)
    constraint["start"], constraint["keep"], constraint["velocity_gain"] = start, keep, gain
    constraint["low"], constraint["high"] = constraint["smallest_force"] * h, constraint["largest_force"] * h


@kernel
def prepare_limit(
    constraint: Any, gap: float, h: float, push: float, soft: tuple[float, float, float], biased: bool
) -> None:
    """Set start, keep and give of a limit with a known gap (rad or m), as for a contact."""
    beta, mass, less = soft
    if biased:
        constraint["separation"] = gap
    constraint["keep"], constraint["velocity_gain"] = 1.0, constraint["effective_mass"]
    if constraint["separation"] > 0.0:
        constraint["start"] = -gap / h * constraint["effective_mass"]
    elif biased:
        constraint["start"] = -mass * max(beta * gap, -push) * constraint["effective_mass"]  # m/s, and rad/s here
        constraint["keep"], constraint["velocity_gain"] = 1.0 - less, mass * constraint["effective_mass"]
    else:
        constraint["start"] = 0.0
    constraint["low"], constraint["high"] = 0.0, np.inf


@kernel
def prepare_dof_constraints(
    solver: Any, island: Any, biased: bool, first: bool, soft: tuple[float, float, float]
) -> None:
    """Coefficients of all dof rows for the next pass, p ← start + keep p - give v, clamped to [low, high].

    Only limits have a bias. The expensive terms are computed here, because in the pass each row waits for the previous.
    """
    dof_rows = dof_constraints(solver)[island["first_dof_constraint"] :]
    Y, moved = whitened_rows(solver), displacement_of(solver)
    for i in range(island["dof_constraint_count"]):
        constraint = dof_rows[i]
        if constraint["kind"] <= UPPER:
            gap = constraint["initial_separation"]
            if not first:
                gap += row_velocity(Y, constraint["y"], moved, constraint["offset"], constraint["length"])
            prepare_limit(constraint, gap, solver["h"], solver["parting_speed"], soft, biased)
        elif biased and constraint["kind"] == DRIVEN:
            if not first:
                constraint["separation"] = constraint["initial_separation"] - row_velocity(
                    Y, constraint["y"], moved, constraint["offset"], constraint["length"]
                )
            prepare_drive(constraint, solver["h"])
        elif first:
            fast = constraint["kind"] == FAST
            mass, most = constraint["effective_mass"], constraint["largest_force"] * solver["h"]
            constraint["start"] = -constraint["target"] * mass if fast else 0.0
            constraint["keep"], constraint["velocity_gain"] = 1.0, mass
            constraint["low"], constraint["high"] = (0.0, np.inf) if fast else (-most, most)


@kernel
def clamped_impulse(constraint: Any, v: float) -> float:
    """New impulse of a dof row, from its velocity (which includes its present impulse)."""
    p = fma(-constraint["velocity_gain"], v, fma(constraint["keep"], constraint["p"], constraint["start"]))
    return min(max(p, constraint["low"]), constraint["high"])


@kernel
def set_impulse(constraint: Any, p: float) -> None:
    """Store the impulse of a dof row, and mark the row as acting if the impulse exceeds rounding."""
    constraint["p"] = p
    if abs(p) > constraint["rounding_impulse"]:
        constraint["acted"] = 1


@kernel
def solve_dof_constraints(solver: Any, island: Any, limits: bool) -> None:
    """One iteration over drives, dry friction, speed limits and limits, or `limits` alone, as prepared."""
    dof_rows = dof_constraints(solver)[island["first_dof_constraint"] :]
    Y, z = whitened_rows(solver), z_of(solver)
    i = 0
    while i < island["dof_constraint_count"]:
        constraint = dof_rows[i]
        if constraint["group"] != 0 and not limits:
            solve_four(constraint, dof_rows[i + 1], dof_rows[i + 2], dof_rows[i + 3], Y, z)
            i += 4
            continue
        if not limits or constraint["kind"] <= UPPER:
            p = clamped_impulse(
                constraint, row_velocity(Y, constraint["y"], z, constraint["offset"], constraint["length"])
            )
            apply_row_impulse(Y, constraint["y"], z, constraint["offset"], constraint["length"], p - constraint["p"])
            set_impulse(constraint, p)
        i += 1


# -------------------------------------------------------------- four dof rows of a small tree, all of the same length


@kernel
def group_dof_constraints(solver: Any, island: Any) -> None:
    """Find the dof rows that can be solved four at a time, and the products of their rows."""
    dof_rows = dof_constraints(solver)[island["first_dof_constraint"] :]
    Y, i = whitened_rows(solver), 0
    while i < island["dof_constraint_count"]:
        a = dof_rows[i]
        a["group"] = 1 if i + 4 <= island["dof_constraint_count"] and is_small(a["length"]) else 0
        for j in range(1, 4 if a["group"] != 0 else 1):
            if dof_rows[i + j]["offset"] != a["offset"] or dof_rows[i + j]["length"] != a["length"]:
                a["group"] = 0
        for j in range(1, 4 if a["group"] != 0 else 1):
            for k in range(j):
                dof_rows[i + j]["group_products"][k] = row_velocity(
                    Y, dof_rows[i + j]["y"], Y, dof_rows[i + k]["y"], a["length"]
                )
        i += 4 if a["group"] != 0 else 1


@kernel
def solve_four(row1: Any, constraint: Any, row3: Any, row4: Any, Y: Any, z: Any) -> None:
    """Solve four dof rows in order. Their velocities are computed at once, then corrected for the impulses of earlier
    rows through the products of the rows, which gives the result of four separate steps."""
    o, l = row1["offset"], row1["length"]
    x, A, B = load_small(z, o, l), load_small(Y, row1["y"], l), load_small(Y, constraint["y"], l)
    C, D = load_small(Y, row3["y"], l), load_small(Y, row4["y"], l)
    first, second, third, fourth = columns(
        lane_products(A, x), lane_products(B, x), lane_products(C, x), lane_products(D, x)
    )
    v = (first + third) + (second + fourth)
    pa = clamped_impulse(row1, lane(v, 0))
    da = pa - row1["p"]
    pb = clamped_impulse(constraint, fma(constraint["group_products"][0], da, lane(v, 1)))
    db = pb - constraint["p"]
    pc = clamped_impulse(row3, fma(row3["group_products"][1], db, fma(row3["group_products"][0], da, lane(v, 2))))
    dc = pc - row3["p"]
    last = fma(row4["group_products"][1], db, fma(row4["group_products"][0], da, lane(v, 3)))
    pd = clamped_impulse(row4, fma(row4["group_products"][2], dc, last))
    store_small(z, o, l, add_small(add_small(add_small(add_small(x, A, da), B, db), C, dc), D, pd - row4["p"]))
    set_impulse(row1, pa)
    set_impulse(constraint, pb)
    set_impulse(row3, pc)
    set_impulse(row4, pd)
