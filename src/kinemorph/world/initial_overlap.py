"""Overlaps of a body with others when it is added to a world.

Parts of a figure that are in each other are drawn so, and do not meet.

Files of robots have links whose shapes reach into others but one joint farther on: a thigh into the body, a finger into
the wrist, a shoulder into the base on which the robot stands. To push these apart, a joint would have to leave its
limits. So they pass through each other, as a link and the one that carries it do, and a warning names them;
`world.collision_filter.ignored` lists them, and its `collide_with` has them meet again. All else that is deep in each
other, as what floats is in the base, is pushed apart, and named as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph._files import warn_of_model
from kinemorph.collision.queries.two_shapes import Pair
from kinemorph.collision.shapes.shape_rows import Form
from kinemorph.collision.shapes.shape_table import SHAPE_ROW_MASK
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest.layout import BODIES

if TYPE_CHECKING:
    from kinemorph.world.world import World

GROUND = int(Form.GROUND)
NESTED = 1e-3  # m: parts that are in each other by no more are pushed apart, as others are;
SHARE = 0.01  # or by no more than this of the smaller one's extent
DEEP_OVERLAP_SHARE = 0.1  # share of the smaller one's extent: what overlaps by more was hardly meant to
ON_BASE = -1  # in place of a tree
SHOWN_PAIRS = 4  # pairs that a warning names


def candidates(world: World, rows: Any) -> list[tuple[int, int]]:
    """Rows of shapes, of some, that are of one tree, or one on the base on which the tree of the other stands; whose
    boxes overlap, and that would meet."""
    shapes, boxes = world.shapes.rows[rows], world.collisions.boxes[rows]
    low, high, link, carrier = boxes["low"], boxes["high"], shapes["link"], shapes["carrier"]
    tree = np.where(link >= 0, world.forest._tables[BODIES]["tree"][link], ON_BASE)
    stands = np.array([t >= 0 and int(world.forest._links(t)[0]["kind"]) != FREE for t in tree.tolist()])
    group, mask = shapes["group"], shapes["mask"]
    found = []
    for i in range(len(rows) - 1):
        rest = slice(i + 1, None)
        near = ((low[rest] <= high[i]) & (high[rest] >= low[i])).all(axis=1)
        near &= (
            (tree[rest] == tree[i]) & (link[rest] != link[i]) & (carrier[rest] != link[i]) & (link[rest] != carrier[i])
        ) | ((tree[rest] == ON_BASE) & stands[i]) | (stands[rest] & (tree[i] == ON_BASE))  # fmt: skip
        near &= ((group[rest] & mask[i]) != 0) & ((group[i] & mask[rest]) != 0)
        found += [(int(rows[i]), int(rows[i + 1 + k])) for k in np.flatnonzero(near).tolist()]
    return found


def depth_of(world: World, a: int, b: int) -> float:
    """m, how deep two shapes, by their rows, are in each other."""
    poses = [Pose.known(place["p"], place["R"].reshape(3, 3)) for place in world.collisions.places[[a, b]]]
    solids = [world.shapes.body(world.shapes.id_at(row)) for row in (a, b)]
    return -Pair(*solids).distance(*poses).distance


def let_nested_pass(world: World, model: Model, shapes: list[int]) -> None:
    """Have the shapes of a new figure pass through each other that are in each other where it comes in."""
    rows = np.array([id & SHAPE_ROW_MASK for id in shapes], np.int64)
    rows = rows[world.shapes.rows["form"][rows] != GROUND]
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
        warn_of_model(
            f"world: model {model.name!r} comes in with links in each other ({listed(deepest)}), which pass through "
            "each other from now on; see world.collision_filter.ignored, and collide_with there to push them apart"
        )


def tell_overlaps(world: World, newcomers: list[int]) -> None:
    """Warn of what new shapes, by their rows, are deep in, as the step that was made found it at its start."""
    pairs = world.collisions.pairs
    pairs = pairs[(pairs["count"] > 0) & (pairs["distance"] < 0.0)]
    if not len(pairs):
        return
    pairs = pairs[np.isin(pairs["a"], newcomers) | np.isin(pairs["b"], newcomers)]
    if not len(pairs):
        return
    boxes = world.collisions.boxes
    extent = (boxes["high"] - boxes["low"]).max(axis=1)
    deep = pairs[-pairs["distance"] > DEEP_OVERLAP_SHARE * np.minimum(extent[pairs["a"]], extent[pairs["b"]])]
    deepest: dict[tuple[str, str], float] = {}
    for a, b, distance in zip(*(deep[name].tolist() for name in ("a", "b", "distance")), strict=True):
        names = world._shape_owner(a), world._shape_owner(b)
        deepest[names] = max(-distance, deepest.get(names, 0.0))
    if deepest:
        warn_of_model(
            f"world: at {world.time - world.dt:.6g} s there are bodies deep in each other ({listed(deepest)}), which "
            "are pushed apart; start them apart, or let them pass with world.collision_filter.ignore"
        )


def listed(deepest: dict[tuple[str, str], float]) -> str:
    """The deepest of some pairs, and how many there are beside."""
    worst = sorted(deepest.items(), key=lambda one: -one[1])
    told = ", ".join(f"{a!r} and {b!r} by {1e3 * depth:.3g} mm" for (a, b), depth in worst[:SHOWN_PAIRS])
    return told + (f", and {len(worst) - SHOWN_PAIRS} pairs more" if worst[SHOWN_PAIRS:] else "")
