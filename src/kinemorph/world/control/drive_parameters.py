"""A number of a drive that Python sets while a world runs: drivers do so many times a second."""

from __future__ import annotations

from kinemorph.contact.layout import DRIVE, WOKEN_BY_FORCE, drives_of, slices_of
from kinemorph.contact.rows.drive_rows import joint_slot
from kinemorph.jit.api import entry, rows_at
from kinemorph.multibody.system import F8
from kinemorph.structure.forest.layout import joints_of
from kinemorph.world.layout import WORLD, WORLD_KIND, forest_of, solver_of

DRIVE_NUMBERS = DRIVE.itemsize // 8
PLACES = {name: offset // 8 for name, (kind, offset, *_) in (DRIVE.fields or {}).items() if kind == F8}


@entry
def tell_drive(address: int, row: int, place: int, value: float) -> bool:
    """Give a drive another number, and wake its tree. False if the joint is gone, or closes a loop."""
    world = rows_at(address, 1, WORLD)[0]
    if world["kind"] != WORLD_KIND:
        return False
    forest, solver = forest_of(world), solver_of(world)
    if row < 0 or row >= solver["drive_count"]:
        return False
    joint = drives_of(solver)[row]["joint"]
    at = joint_slot(forest, joint) if joint >= 0 else -1
    if at < 0:
        return False
    tree = joints_of(forest)[at]["tree"]
    if tree < 0 or tree >= solver["slice_room"]:
        return False
    rows_at(solver["drives"], solver["drive_room"] * DRIVE_NUMBERS, F8)[row * DRIVE_NUMBERS + place] = value
    tree_slice = slices_of(solver)[tree]
    if tree_slice["asleep"] != 0:
        tree_slice["woken_by"] = WOKEN_BY_FORCE
        tree_slice["asleep"] = 0
    tree_slice["still"] = 0.0
    return True
