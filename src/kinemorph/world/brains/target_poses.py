"""Rows of bodies by their ids, and the positions of the targets of brain instances."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.spatial.rows import load3
from kinemorph.spatial.vec3 import Vec3
from kinemorph.structure.forest.layout import IN_USE, bodies_of
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.brains.instance_rows import NO_TARGET
from kinemorph.world.control.event_functions import locate_point

ZERO: Vec3 = (0.0, 0.0, 0.0)


@kernel
def body_slot(forest: Any, id: int) -> int:
    """The row of a body by its id, -1 if it has been removed."""
    i = id & ID_INDEX_MASK
    if id < 0 or i >= forest["body_room"]:
        return -1
    slot = bodies_of(forest)[i]
    return i if slot["next"] == IN_USE and slot["generation"] == id >> 32 else -1


@kernel
def find_target(forest: Any, mind: Any) -> tuple[bool, Vec3]:
    """Whether a brain instance has a target, and its position in the world, m."""
    if mind["target"] == NO_TARGET:
        return False, ZERO
    if mind["target"] < 0:
        return True, load3(mind["point"])
    body = body_slot(forest, mind["target"])
    return (True, locate_point(forest, body, ZERO)[1]) if body >= 0 else (False, ZERO)
