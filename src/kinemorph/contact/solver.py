"""Solver: the owner of the tables and the settings of the constraint solver."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from kinemorph.contact import layout
from kinemorph.multibody.tables import Pattern, Tables

VECTORS = "z", "za", "displacement", "g", "z0", "x"
ROW_TABLES = "order", "supports", "cost_rows", "skyline", "Y"
STEP_TABLES = (*VECTORS, "row_of", "low", "start", "undo", "stages", "islands", "roots", *ROW_TABLES)  # of one step
COUNTED_TABLES = {
    "contacts": "contact_count",
    "dof_constraints": "dof_constraint_count",
    "torsional_constraints": "torsional_count",
}
ROWS_IN_USE = {**dict.fromkeys(STEP_TABLES), **COUNTED_TABLES}  # rows that last
# ω h: at twice as much contacts never rest, at half they sink four times as far
CONTACT_STIFFNESS = 2.0 * math.pi * 0.25
CONTACT_DAMPING_RATIO = 10.0  # ζ
PARTING_SPEED = 3.0  # m/s
BOUNCE_SPEED = 0.05  # m/s
DIRECT_WORK_LIMIT = 5_000_000  # some milliseconds
FRICTION_ROUNDS, SETTLED_SHARE, STILL_SHARE = 4, 1e-4, 1e-7
F8, I4, I8 = np.dtype(np.float64), np.dtype(np.int32), np.dtype(np.int64)


class Solver:
    """Constraint rows, the vectors that they act on, and the impulses stored for the next step."""

    __slots__ = ("_tables", "header")

    def __init__(self, tables: Tables | None = None) -> None:
        """Use `tables`, as made by `first_tables`, or else a copy of the initial ones."""
        self._tables = _pattern().tables()[0] if tables is None else tables
        self.header = self._tables.header

    @classmethod
    def first_tables(cls) -> Tables:
        """All tables in their initial state."""
        return cls(Tables(layout.SOLVER, ROWS_IN_USE))._fill()

    def _fill(self) -> Tables:
        h = self.header
        h["kind"] = layout.SOLVER_KIND
        h["stiffness"] = CONTACT_STIFFNESS
        h["damping"] = CONTACT_DAMPING_RATIO
        h["parting_speed"] = PARTING_SPEED
        h["bounce_speed"] = BOUNCE_SPEED
        h["direct_work"] = DIRECT_WORK_LIMIT
        h["friction_rounds"] = FRICTION_ROUNDS
        h["settled_share"] = SETTLED_SHARE
        h["still"] = STILL_SHARE
        self._make_slices(16)
        self._make_vectors(96)
        self._make_contacts(64)
        self._make_dof_constraints(16)
        self._make("skyline", "skyline_room", 1024, F8)
        self._make("Y", "Y_room", 4096, F8)
        self._make("materials", "material_room", 16, layout.MATERIAL)
        self._make_wrenches(4)
        self._make("drives", "drive_room", 16, layout.DRIVE)
        self._make("warm_joints", "joint_room", 16, layout.STORED_JOINT_IMPULSE)
        self._make("applied_forces", "applied_force_room", 16, layout.APPLIED_FORCE)
        self._make("pair_materials", "pair_material_room", 4, layout.PAIR_MATERIAL)
        self._tables.make("impulses", 6 * 64, F8)
        self._tables.make("moments", 6 * 64, F8)
        h["impulse_room"] = 2 * 64
        return self._tables

    @property
    def address(self) -> int:
        return self._tables.address

    def _make(self, name: str, room_name: str, room: int, dtype: Any, keep: bool = False) -> None:
        self._tables.make(name, room, dtype, keep=keep)
        self.header[room_name] = room

    def _make_slices(self, room: int) -> None:
        self._make("slices", "slice_room", room, layout.TREE_SLICE, keep=True)
        self._tables.make("islands", room, layout.ISLAND)
        self._tables.make("roots", room, layout.FREE_ROOT)

    def _make_contacts(self, room: int) -> None:
        self._make("contacts", "contact_room", room, layout.CONTACT_CONSTRAINT, keep=True)
        self._tables.make("order", room, I4)
        self._tables.make("supports", room, layout.SUPPORT)
        self._tables.make("torsional_constraints", room, layout.TORSIONAL_CONSTRAINT, keep=True)
        self._make_cost_rows()

    def _make_dof_constraints(self, room: int) -> None:
        self._make("dof_constraints", "dof_constraint_room", room, layout.DOF_CONSTRAINT)
        self._make_cost_rows()

    def _make_cost_rows(self) -> None:
        self._tables.make(
            "cost_rows", int(self.header["contact_room"][0] + self.header["dof_constraint_room"][0]), layout.COST_ROW
        )

    def _make_wrenches(self, room: int) -> None:
        self._tables.make("wrenches", 6 * room, F8, keep=True)
        self.header["wrench_room"] = room

    def _make_vectors(self, room: int) -> None:
        for name in VECTORS:
            self._tables.make(name, room, F8)
        for name in ("row_of", "low"):
            self._tables.make(name, room, I4)
        self._tables.make("start", room, I8)
        self._tables.make("undo", 3 * room, F8)
        self._tables.make("stages", 26 * room, F8)
        self.header["z_room"] = room

    def __getitem__(self, name: str) -> Any:
        """A table by its field of the header, such as "slices", "contacts" or "dof_constraints"."""
        return self._tables[name]

    @property
    def contact_constraints(self) -> Any:
        """The contact constraints of the last step. A view, valid until the next step."""
        return self._tables["contacts"][: int(self.header["contact_count"][0])]

    @property
    def torsional_constraints(self) -> Any:
        """The torsional constraints of the last step, likewise."""
        return self._tables["torsional_constraints"][: int(self.header["torsional_count"][0])]

    @property
    def dof_constraints(self) -> Any:
        """The rows of limits, dry friction and motors of the last step."""
        return self._tables["dof_constraints"][: int(self.header["dof_constraint_count"][0])]

    def grow(self) -> None:
        """Double the tables that are full. The step then fills them again."""
        h = self.header[0]
        full = int(h["full"])
        if full & layout.FULL_Z and h["nz"] > h["z_room"]:
            self._make_vectors(2 * int(h["nz"]))
        if full & layout.FULL_CONTACTS:
            self._make_contacts(2 * int(h["contact_room"]))
        if full & layout.FULL_DOF_CONSTRAINTS:
            self._make_dof_constraints(2 * int(h["dof_constraint_room"]))
        if full & layout.FULL_Y:
            self._make("Y", "Y_room", 2 * int(h["Y_room"]), F8)
        if full & layout.FULL_SKYLINE:
            self._make("skyline", "skyline_room", 2 * int(h["skyline_used"]), F8)
        h["full"] = 0

    def follow(self, trees: int, shapes: int, contacts: int, joints: int, loops: int) -> None:
        """Make room for the slices of `trees`, the materials of `shapes`, the constraints of `contacts`, the stored
        impulses of `joints` and the wrenches of `loops`."""
        h = self.header[0]
        if joints > h["joint_room"]:
            self._make("warm_joints", "joint_room", 2 * joints, layout.STORED_JOINT_IMPULSE, keep=True)
        if loops > h["wrench_room"]:
            self._make_wrenches(2 * loops)
        if trees > h["slice_room"]:
            self._make_slices(2 * trees)
            if 6 * trees > h["z_room"]:  # free bodies, or more
                self._make_vectors(12 * trees)
        if shapes > h["material_room"]:
            self._make("materials", "material_room", 2 * shapes, layout.MATERIAL, keep=True)
        half = int(h["impulse_room"]) // 2
        if contacts > half:
            for name in ("impulses", "moments"):
                old = self._tables[name].reshape(2, half, 3)
                new = self._tables.make(name, 6 * contacts, F8).reshape(2, contacts, 3)
                new[:, :half] = old
            self.header["impulse_room"] = 2 * contacts
        if contacts > h["contact_room"]:
            self._make_contacts(contacts)

    def make_room(self, name: str, room_name: str, need: int) -> None:
        """Make room for `need` rows in a table, and keep its rows."""
        room = int(self.header[room_name][0])
        if need > room:
            self._make(name, room_name, max(need, 2 * room), self._tables[name].dtype, keep=True)

    def claim(self, name: str, owner: str) -> int:
        """The first unused row (`owner` is -1) of drives, applied forces or pair materials; a full table grows."""
        what = name[:-1]
        h = self.header[0]
        count = int(h[f"{what}_count"])
        free = np.flatnonzero(self._tables[name][owner][:count] < 0)
        if len(free):
            return int(free[0])
        self.make_room(name, f"{what}_room", count + 1)
        self._tables[name][owner][count] = -1
        h[f"{what}_count"] = count + 1
        return count

    def __getstate__(self) -> Tables:
        # addresses in the scratch of the last step
        for name in ("loop_projections", "loop_projection_count", "element_constraints", "element_count"):
            self.header[name] = 0
        return self._tables

    def __setstate__(self, tables: Tables) -> None:
        self._tables, self.header = tables, tables.header


@functools.cache
def _pattern() -> Pattern:
    return Pattern(Solver.first_tables())
