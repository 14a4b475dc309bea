"""Single support, corrected: heights and speeds of feet miss the first touch of a heel and the last one of the toes.

A foot that bears alone has the centre of pressure of the whole body below its sole. Where it is not there, next to
frames on both feet, the other foot must bear as well: it stands a little longer, or stood a little earlier.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinemorph.mocap.body.body import Foot
from kinemorph.mocap.body.inertias import OTHER, SIDES
from kinemorph.mocap.contact import Contacts
from kinemorph.mocap.link_motion import Places
from kinemorph.mocap.smooth import Motion
from kinemorph.mocap.support import centre_of_pressure
from kinemorph.motion.parallel import batch
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import rotate_all

STRIKE = 0.2  # where a foot in front bears first, a share of its length from the heel
LONGEST_EXTENSION = 0.05  # s by which a contact is made longer at most


def pressure_centres(model: Model, motion: Motion, contacts: Contacts) -> Array:
    """Where the force of the ground on the whole body goes through the floor (frames, 3); NaN where nothing presses."""
    tau = batch.rnea(model, motion.q, motion.v, motion.a)
    origin, turn = motion.q[:, :3], motion.q[:, 3:7]
    wrench = np.concatenate([rotate_all(turn, tau[:, :3]), rotate_all(turn, tau[:, 3:6])], axis=1)
    centre, _ = centre_of_pressure(wrench, origin, contacts.floor(origin))
    centre[wrench[:, 5] <= 0.0] = np.nan
    return centre


def extend_contacts(
    contacts: Contacts, model: Model, motion: Motion, places: Places, soles: Mapping[str, Foot], dt: float
) -> Contacts:
    """The contacts, extended until in single support the centre of pressure lies below the sole.

    A foot that has taken over bears beyond where it struck, and one that will hand over no farther than its end.
    """
    most = round(LONGEST_EXTENSION / dt)
    if not most or "double" not in contacts.kinds:
        return contacts
    centre = pressure_centres(model, motion, contacts)
    corners = {
        side: np.einsum("fij,cj->fci", places.R[:, i], soles[side].corners) + places.p[:, i, None]
        for i, side in enumerate(SIDES)
    }
    every = [{side: flags.copy() for side, flags in x.items()} for x in (contacts.feet, contacts.heels, contacts.balls)]
    phases = contacts.phases
    for before, alone, after in zip(phases, phases[1:], phases[2:], strict=False):
        if alone.kind not in SIDES:
            continue
        other = OTHER[alone.kind]
        count = min(most, (alone.end - alone.start) // 3)
        first = np.arange(alone.start, alone.start + count)
        last = np.arange(alone.end - 1, alone.end - 1 - count, -1)
        for neighbour, frames, taken, edge in (
            (before, first, STRIKE, alone.start - 1), (after, last, 0.0, alone.end),
        ):  # fmt: skip
            if neighbour.kind == "double":
                way = (corners[alone.kind][frames] - corners[other][frames]).mean(axis=1) * [1.0, 1.0, 0.0]
                sole = np.einsum("fci,fi->fc", corners[alone.kind][frames], way)
                near, far = sole.min(axis=1), sole.max(axis=1)
                short = (centre[frames] * way).sum(axis=1) < near + taken * (far - near)
                helped = frames[np.logical_and.accumulate(short)]
                for flags in every:  # as in the frame beside them
                    flags[other][helped] = flags[other][edge]
    feet, heels, balls = every
    return Contacts(feet, heels, balls, contacts.level, contacts.slope)
