"""Rows of trees for reading: links, where they are, degrees of freedom, positions and velocities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kinemorph.jit.api import rows_at
from kinemorph.multibody.layout import DOF, LINK_DATA, JointKind
from kinemorph.structure.forest.forest import Forest
from kinemorph.structure.forest.layout import BODIES, JOINTS, LOOPS, Q, V
from kinemorph.structure.forest.memory import ID_INDEX_MASK

Array = np.ndarray[Any, np.dtype[np.float64]]
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


class TreeRows(NamedTuple):
    """One tree, parents before children. Its rows are those of the world: read them before its next step or change."""

    id: int
    bodies: Ids  # ids, one for each link
    links: Any  # LINK rows: what each link is; `parent` is an index among these
    frames: Any  # LINK_DATA rows: where each link is, R and p
    dofs: Any  # DOF rows, from `iv` of a link on
    q: Array
    v: Array


def rows_of_trees(forest: Forest, trees: Iterable[int]) -> list[TreeRows]:
    """Of each tree, by its id, the rows of its links, with frames that are up to date."""
    forest.kinematics()
    found = []
    for id in trees:
        t = id & ID_INDEX_MASK
        tree, links = forest._tree(t), forest._links(t)
        frames = rows_at(int(tree["rows"]), int(tree["n"]) + 1, LINK_DATA)[1:]
        dofs = rows_at(int(tree["dofs"]), int(tree["nv"]), DOF)
        bodies = forest._ids_at(BODIES, links["body"])
        found.append(TreeRows(id, bodies, links, frames, dofs, forest._vector(t, Q), forest._vector(t, V)))
    return found


def joints_of(forest: Forest, body: int) -> list[int]:
    """Ids of the joint that carries a body, unless it floats, and of those of loops on it."""
    table, slot = forest._tables[JOINTS], forest._tables[BODIES][body & ID_INDEX_MASK]
    floats = forest._links(int(slot["tree"]))[slot["link"]]["kind"] == JointKind.FREE
    found: list[int] = []
    for joint in forest.joints.tolist():
        row = table[joint & ID_INDEX_MASK]
        if row["loop"] >= 0:
            if body in forest.sides(joint):
                found.append(joint)
        elif row["tree"] == slot["tree"] and row["link"] == slot["link"] and not floats:
            found.insert(0, joint)
    return found


def loop_points(forest: Forest, joint: int) -> tuple[Array, Array]:
    """The two points in the world that the joint of a loop holds together."""
    if not forest.closes_loop(joint):
        raise ValueError(f"loop_points: joint {joint} closes no loop")
    forest.kinematics()
    k = int(forest._tables[JOINTS][joint & ID_INDEX_MASK]["loop"])
    row, slot = forest._ties[k], forest._tables[LOOPS][k]
    ends = []
    for body, at in ((int(slot["a"]), row["pa"]), (int(slot["b"]), row["pb"])):
        if body < 0:
            ends.append(np.array(at))
            continue
        place = forest._tables[BODIES][body]
        tree = forest._tree(int(place["tree"]))
        frame = rows_at(int(tree["rows"]), int(tree["n"]) + 1, LINK_DATA)[int(place["link"]) + 1]
        ends.append(frame["p"] + frame["R"].reshape(3, 3) @ at)
    return ends[0], ends[1]
