"""Parts of a figure that are in each other when it comes into a world: they are drawn so, and do not meet.

Files of robots have links whose shapes reach into others but one joint farther on: a thigh into the body, a finger into
the wrist. To push these apart, a joint would have to leave its limits. So they pass through each other, as a link and
the one that carries it do, and a warning names them; `world.ignored` lists them, and `world.heed` has them meet again.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph._files import ModelWarning
from kinemorph.collision.shape_table import ROWS
from kinemorph.collision.two_shapes import Pair
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose

if TYPE_CHECKING:
    from kinemorph.world.changing import Changing

NESTED = 1e-3  # m: parts that are in each other by no more are pushed apart, as others are;
SHARE = 0.01  # or by no more than this of the smaller one's extent
SHOWN = 4  # pairs that a warning names


def candidates(world: Changing, rows: Any) -> list[tuple[int, int]]:
    """Rows of shapes whose boxes overlap, and that would meet, of some rows of shapes on bodies."""
    shapes, boxes = world.shapes.rows[rows], world.collisions.boxes[rows]
    low, high, link, carrier = boxes["low"], boxes["high"], shapes["link"], shapes["carrier"]
    group, mask = shapes["group"], shapes["mask"]
    found = []
    for i in range(len(rows) - 1):
        rest = slice(i + 1, None)
        near = ((low[rest] <= high[i]) & (high[rest] >= low[i])).all(axis=1)
        near &= (link[rest] != link[i]) & (carrier[rest] != link[i]) & (link[rest] != carrier[i])
        near &= ((group[rest] & mask[i]) != 0) & ((group[i] & mask[rest]) != 0)
        found += [(int(rows[i]), int(rows[i + 1 + k])) for k in np.flatnonzero(near).tolist()]
    return found


def depth_of(world: Changing, a: int, b: int) -> float:
    """m, how deep two shapes, by their rows, are in each other."""
    poses = [Pose.known(place["p"], place["R"].reshape(3, 3)) for place in world.collisions.places[[a, b]]]
    solids = [world.shapes.body(world.shapes.id_at(row)) for row in (a, b)]
    return -Pair(*solids).distance(*poses).distance


def let_nested_pass(world: Changing, model: Model, shapes: list[int]) -> None:
    """Have the shapes of a new figure pass through each other that are in each other where it comes in."""
    rows = np.array([id & ROWS for id in shapes if world.shapes.link(id) >= 0], np.int64)
    ignored, boxes = world.collisions.broad_phase.ignored, world.collisions.boxes
    deepest: dict[tuple[str, str], float] = {}
    for a, b in candidates(world, rows):
        if ignored(a, b):
            continue
        extent = min(float((boxes["high"][row] - boxes["low"][row]).max()) for row in (a, b))
        depth = depth_of(world, a, b)
        if depth > min(NESTED, SHARE * extent):
            world.collisions.ignore(world.shapes.id_at(a), world.shapes.id_at(b))
            names = world._shape_owner(a), world._shape_owner(b)
            deepest[names] = max(depth, deepest.get(names, 0.0))
    if deepest and "nested" not in model.told:
        model.told.add("nested")
        worst = sorted(deepest.items(), key=lambda one: -one[1])
        told = ", ".join(f"{a!r} and {b!r} by {1e3 * depth:.1f} mm" for (a, b), depth in worst[:SHOWN])
        more = f", and {len(worst) - SHOWN} pairs more" if worst[SHOWN:] else ""
        warnings.warn(
            f"world: model {model.name!r} comes in with links in each other ({told}{more}), which pass through each "
            "other from now on; see world.ignored, and world.heed if they shall be pushed apart",
            ModelWarning,
            stacklevel=6,
        )
