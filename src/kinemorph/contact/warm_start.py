"""Warm-start cache of contacts: their impulses as world vectors, from which the next step starts.

They refer to shapes, and so remain valid when the structure of trees changes.
"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.contact_table import half_start
from kinemorph.collision.shapes.shape_rows import contacts_of
from kinemorph.contact.layout import contact_constraints, stored_impulses
from kinemorph.contact.rows.contact_rows import world_vector
from kinemorph.jit.api import kernel
from kinemorph.spatial.rows import load3_at, store3_at


@kernel(inline=False)
def carry_over_impulses(solver: Any, collisions: Any, good: bool, first: int, stop: int) -> None:
    """Copy the previous impulses of the contacts from `first` to before `stop`; zero after a failed step."""
    contacts = contacts_of(collisions)
    impulses = stored_impulses(solver)
    now = half_start(collisions["step"], collisions["contact_room"])
    for k in range(first, stop):
        before = contacts[now + k]["before"]
        p = (0.0, 0.0, 0.0)
        if good and before >= 0:
            p = load3_at(impulses, 3 * (collisions["contact_room"] - now + before))
        store3_at(impulses, 3 * (now + k), p)


@kernel(inline=False)
def store_contact_impulses(solver: Any, collisions: Any, first: int, stop: int) -> None:
    """Store the impulses (N s, world) of the contact constraints from `first` to before `stop`."""
    constraints = contact_constraints(solver)
    impulses = stored_impulses(solver)
    now = half_start(collisions["step"], collisions["contact_room"])
    for i in range(first, stop):
        contact = constraints[i]
        p = world_vector(contact, contact["normal_impulse"], contact["tangent_impulse1"], contact["tangent_impulse2"])
        store3_at(impulses, 3 * (now + contact["contact"]), p)
