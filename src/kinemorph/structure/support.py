"""Support of bodies: which body is no longer tied to the base when a joint is cut, and which joint moves no mass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kinemorph.jit.api import rows_at
from kinemorph.multibody.algorithms.joints import FREE
from kinemorph.multibody.layout import DOF
from kinemorph.structure.forest.layout import BODIES, JOINTS, LOOPS
from kinemorph.structure.forest.memory import ID_INDEX_MASK

if TYPE_CHECKING:
    from kinemorph.structure.forest.tables import ForestTables

BodyPair = tuple[int, int]  # two bodies that a joint ties; -1 is the base


def first_unsupported_body(
    carried: Mapping[int, BodyPair], closed: Mapping[int, BodyPair], joint: int, part: list[int]
) -> int:
    """The first body that loses its last support when a joint is cut, -1 if there is none.

    `carried` are the joints of trees without the free ones, `closed` those of loops, and `part` the subtree of the
    joint, its first body first. A part of a floating tree loses its support if the joint is its only tie to the rest.
    """
    ties = {**carried, **closed}
    others = [pair for j, pair in ties.items() if j != joint]
    lost = sorted(_supported_bodies(ties.values()) - _supported_bodies(others))
    if lost or not part:
        return lost[0] if lost else -1
    inside = set(part)
    return -1 if any((a in inside) != (b in inside) for a, b in closed.values()) else part[0]


def _supported_bodies(ties: Iterable[BodyPair]) -> set[int]:
    """The bodies that joints and loops tie to the base, directly or through others."""
    found, listed = {-1}, list(ties)
    while more := {x for tie in listed for x in tie if found.intersection(tie)} - found:
        found |= more
    return found


def first_unsupported_in_forest(forest: ForestTables, joint: int) -> int:
    """The index of a body of a forest that loses its last support when a joint (by index) is cut, -1 if there is none.

    Only the trees that loops couple to the joint's own tree are searched.
    """
    joints, bodies, loops = (forest._tables[which] for which in (JOINTS, BODIES, LOOPS))
    row = joints[joint]
    sides = loops[row["loop"]] if row["loop"] >= 0 else None
    waiting = [int(row["tree"])] if sides is None else [int(bodies[sides[s]]["tree"]) for s in "ab" if sides[s] >= 0]
    carried: dict[int, BodyPair] = {}
    closed: dict[int, BodyPair] = {}
    seen = set(waiting)
    part: list[int] = []
    while waiting:
        t = waiting.pop()
        links = forest._links(t)
        for i, link in enumerate(links):
            body, parent = int(link["body"]), int(links[link["parent"]]["body"]) if link["parent"] >= 0 else -1
            if link["kind"] != FREE:
                carried[int(link["joint"])] = body, parent
            if sides is None and t == row["tree"] and (i == row["link"] or parent in part):
                part.append(body)
            side = int(bodies[body]["side"])
            while side >= 0:
                loop = loops[side >> 1]
                ends = int(loop["a"]), int(loop["b"])
                if forest._ties[side >> 1]["nv"] < 6:
                    closed[int(loop["joint"])] = ends
                more = {int(bodies[end]["tree"]) for end in ends if end >= 0} - seen
                seen |= more
                waiting += more
                side = int(loop["next_b"] if side & 1 else loop["next_a"])
    return first_unsupported_body(carried, closed, joint, part)


def find_massless_body(forest: ForestTables, tree: int) -> int:
    """The id of the first body of a tree whose joint moves no mass, neither its own nor that of its subtree; else -1.

    A cut may leave such a body: if a body has several joints, all its links but the last are without mass.
    """
    row, links = forest._tree(tree & ID_INDEX_MASK), forest._links(tree & ID_INDEX_MASK)
    armature = rows_at(int(row["dofs"]), int(row["nv"]), DOF)["armature"]
    carried = links["mass"].copy()
    for i in range(len(links) - 1, 0, -1):
        carried[links[i]["parent"]] += carried[i]
    for link, mass in zip(links, carried.tolist(), strict=True):
        if mass == 0.0 and link["nv"] > 0 and not armature[link["iv"] : link["iv"] + link["nv"]].all():
            return forest._id(BODIES, int(link["body"]))
    return -1
