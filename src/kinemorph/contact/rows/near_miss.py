"""Fly-by filter: contacts of fast bodies that pass each other are disabled, unless other contacts deflect them."""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import contacts_of
from kinemorph.contact.gauss_seidel.row_products import contact_velocity
from kinemorph.contact.layout import FLIES_BY, contact_constraints, whitened_rows, z_of, za_of
from kinemorph.jit.api import kernel

LEFT_OUT_GAP = 1e9  # m: the separation of a disabled contact
DEFLECTION_FACTOR = 2.0  # upper bound of a body's deflection over the displacement that its other contacts remove


@kernel(inline=False)
def drop_fly_by_contacts(solver: Any, collisions: Any) -> None:
    """Disable contacts whose bodies pass each other by more than their other contacts may deflect them."""
    constraints = contact_constraints(solver)
    contacts = contacts_of(collisions)
    now = half_start(collisions["step"], collisions["contact_room"])
    for i in range(solver["contact_count"]):
        contact = constraints[i]
        if contact["fast"] == FLIES_BY and contacts[now + contact["contact"]][
            "passes"
        ] > DEFLECTION_FACTOR * largest_deflection(solver, constraints, contact):
            contact["initial_separation"] = contact["separation"] = LEFT_OUT_GAP


@kernel(inline=False)
def largest_deflection(solver: Any, constraints: Any, contact: Any) -> float:
    """Displacement (m) in this step that other contacts may remove from the bodies of a fly-by contact."""
    Y, z, za = whitened_rows(solver), z_of(solver), za_of(solver)
    dt = solver["h"] * solver["substeps"]
    taken = 0.0
    for j in range(solver["contact_count"]):
        u = constraints[j]
        shared = (u["tree1"] >= 0 and (u["tree1"] == contact["tree1"] or u["tree1"] == contact["tree2"])) or (
            u["tree2"] >= 0 and (u["tree2"] == contact["tree1"] or u["tree2"] == contact["tree2"])
        )
        if shared and u["fast"] != FLIES_BY:
            ahead = u["initial_separation"] + dt * (contact_velocity(u, 0, Y, z) + dt * contact_velocity(u, 0, Y, za))
            taken += max(0.0, -ahead) * (1.0 + u["friction"])
    return taken
