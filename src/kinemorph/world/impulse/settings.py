"""Settings of the contact model "impulse": names, ranges, and the header fields that kernels read.

- `epsilon` (m): width of the collision envelope; pairs that are nearer collide when they approach each other.
- `handling` (Fontijne 3.10): "all contact points" of a pair touch, or only its "closest point", as in his figure 3.11a.
- `boost`: the largest restitution e_max of micro-collisions (Fontijne eq. 3.38; 2 to 5 there). Without it, resting
  bodies are carried by contacts that do not bounce, in place of endless small collisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from kinemorph.contact.impulse.collisions import IMPACTS
from kinemorph.contact.solver import Solver
from kinemorph.spatial.arguments.checks import check_finite, check_text, repr_of
from kinemorph.spatial.pose import vector
from kinemorph.spatial.products import length
from kinemorph.world.layout import ContactModel

DEFAULT_ENVELOPE = 1e-3  # m
HANDLINGS = "all contact points", "closest point"
UNREACHABLE_SPEED = 1e300  # m/s, the solver's bounce threshold: collisions alone bounce
CLOSEST_POINT_SHARE = 0.05  # of the envelope: points closer than this to the closest distance count as closest
SETTINGS = np.dtype([*IMPACTS.descr, ("within", "f8")])

NO_SETTINGS = np.zeros((), SETTINGS)


def make_settings(
    gravity: Iterable[float], contact: str, epsilon: float | None, handling: str | None, boost: float | None
) -> Any:
    """Check the arguments and return a row of settings; for "timestep" it is zero."""
    check_text("world: contact", contact)
    if contact == "timestep":
        given = {"epsilon": epsilon, "handling": handling, "boost": boost}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"world: {name} {repr_of(value)} is of the contact model 'impulse'; give contact='impulse'"
                )
        return NO_SETTINGS
    if contact != "impulse":
        raise ValueError(f"world: there is no contact model {contact!r}; there are 'timestep' and 'impulse'")
    row = np.zeros((), SETTINGS)
    width = DEFAULT_ENVELOPE if epsilon is None else check_finite("world: epsilon", epsilon, 1e-6, 1.0)
    if handling is not None and check_text("world: handling", handling) not in HANDLINGS:
        raise ValueError(f"world: handling {handling!r} must be one of {', '.join(map(repr, HANDLINGS))}")
    if boost is not None:
        check_finite("world: boost", boost, 1.0, 10.0)
    row["epsilon"], row["boost"], row["within"] = width, boost or 0.0, math.inf
    if handling == HANDLINGS[1]:
        row["within"] = 0.0 if boost else CLOSEST_POINT_SHARE * width
    row["slow"] = compute_slow_speed(gravity, width)
    return row


def compute_slow_speed(gravity: Iterable[float], width: float) -> float:
    """Speed after a fall through the envelope, m/s: slower collisions are those of resting bodies."""
    return math.sqrt(2.0 * length(vector(gravity, 3, "world: gravity")) * width)


def write_settings(header: Any, solver: Solver, row: Any) -> None:
    """Write the settings to the headers of the world and the solver."""
    world = header[0]
    world["model"] = ContactModel.IMPULSE
    world["within"] = row["within"]
    world["fresh"] = 1
    world["longest_part"] = math.inf
    for name in IMPACTS.names or ():
        world["impacts"][name] = row[name]
    solver.header["gap"], solver.header["bounce_speed"] = 0.5 * row["epsilon"], UNREACHABLE_SPEED
