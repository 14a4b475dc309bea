"""Drives: what acts in joints of a world. Motors, servos, constant forces and couplings, as rows of the solver."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.contact.layout import DRIVE, WOKEN_BY_FORCE, DriveKind
from kinemorph.jit.api import rows_at
from kinemorph.multibody.layout import DOF, JointKind
from kinemorph.multibody.model.equipment import Actuator
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_finite, check_limit, check_whole
from kinemorph.structure.forest.forest import Edit
from kinemorph.structure.forest.layout import JOINTS
from kinemorph.world.control.drive_parameters import PLACES, tell_drive
from kinemorph.world.control.drives import (
    LARGEST_GAIN,
    Controls,
    Coupling,
    Drive,
    JointForce,
    Motor,
    Servo,
    drives_well,
    row_of,
)
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input

if TYPE_CHECKING:
    from kinemorph.world.world import World

OWNERS = {"drives": "joint", "applied_forces": "body"}  # tables, and what their rows act on
NUMBERS = {
    "position", "speed", "stiffness", "damping", "force", "torque", "smallest_force", "largest_force", "ratio", "told",
}  # fmt: skip


@checked_on_failure
class Drives(Part):
    """`world.drives`: what acts in joints. To iterate over it gives the handles of all drives that act now."""

    __slots__ = ()

    @an_input
    def motor(
        self, joint: Edit | int | str, speed: float = 0.0, effort_limit: float = math.inf, *, dof: int = 0
    ) -> Motor:
        """Have a joint keep a speed (rad/s or m/s), with a force of at most `effort_limit` (N m or N).

        `dof` is which degree of freedom, of a joint that has several.
        """
        numbers = {"speed": check_finite("motor: speed", speed), "damping": math.inf, **_ends("motor", effort_limit)}
        return Motor(self.world, self._drive("motor", joint, dof, DriveKind.ROW, numbers))

    @an_input
    def servo(
        self, joint: Edit | int | str, position: float = 0.0, *, stiffness: float, damping: float, speed: float = 0.0,
        effort_limit: float = math.inf, dof: int = 0,
    ) -> Servo:  # fmt: skip
        """Pull a joint to a position, as a spring and a damper do, with a force of at most `effort_limit` (N m or N).

        The force is that at the end of the step, so that no stiffness and no damping is too large for it. Without a
        largest force it is a spring and a damper in the joint.
        """
        numbers = {
            "position": check_finite("servo: position", position), "speed": check_finite("servo: speed", speed),
            "stiffness": check_finite("servo: stiffness", stiffness, 0.0, LARGEST_GAIN),
            "damping": check_finite("servo: damping", damping, 0.0, LARGEST_GAIN), **_ends("servo", effort_limit),
        }  # fmt: skip
        id, _, l = self._joint("servo", joint)
        if l["kind"] == JointKind.SPHERICAL and stiffness > 0.0:
            raise ValueError(f"servo: joint {id} is a ball, whose position is not one number; give it a stiffness of 0")
        return Servo(self.world, self._drive("servo", joint, dof, DriveKind.ROW, numbers))

    @an_input
    def force(self, joint: Edit | int | str, force: float, *, dof: int = 0) -> JointForce:
        """A constant force (N) or torque (N m) in a joint until it is withdrawn; the joint's effort bounds it."""
        numbers = {"force": check_finite("drives.force: force", force)}
        return JointForce(self.world, self._drive("drives.force", joint, dof, DriveKind.FORCE, numbers))

    @an_input
    def couple(
        self, joint: Edit | int | str, source: Edit | int | str, ratio: float = 1.0, position: float = 0.0
    ) -> Coupling:  # fmt: skip
        """Keep a joint at `ratio` times where another one of the same tree is, plus `position`, as gears do."""
        world = self.world
        numbers = {
            "ratio": check_finite("couple: ratio", ratio),
            "position": check_finite("couple: position", position),
        }
        trees = set()
        for each in (joint, source):
            id, _, l = self._joint("couple", each)
            trees.add(world.forest._carried(id)[0])
            if l["nv"] != 1:
                raise ValueError(f"couple: joint {id} has {int(l['nv'])} degrees of freedom, and gears have one")
        if len(trees) > 1:
            raise ValueError("couple: both joints must be of one tree; connect their bodies first")
        id = world.joint_id(source)
        if id == world.joint_id(joint):
            raise ValueError(f"couple: joint {id} cannot follow itself")
        row = self._drive("couple", joint, 0, DriveKind.COUPLED, numbers)
        world.solver["drives"][row]["source"] = id
        return Coupling(world, row)

    @an_input
    def set_numbers(self, table: str, row: int, numbers: dict[str, Any]) -> None:
        """Change the numbers of a drive or an applied force, as its handle does."""
        world = self.world
        if table not in OWNERS or not 0 <= row < len(world.solver[table]) or not numbers.keys() <= NUMBERS:
            raise ValueError(f"world: there is no row {row} of {table} with {', '.join(numbers)}")
        if table == "drives" and all(self._set_in_kernel(row, name, value) for name, value in numbers.items()):
            return
        one = world.solver[table][row]
        self._wake_owner(table, one)  # this refuses a row whose joint or body is gone
        for name, value in numbers.items():
            one[name] = value

    def _set_in_kernel(self, row: int, name: str, value: Any) -> bool:
        """Whether a kernel could write the number, which is the fast way."""
        return name in PLACES and tell_drive(self.world._address, row, PLACES[name], float(value))

    @an_input
    def withdraw(self, table: str, row: int) -> None:
        """End a drive or an applied force, as its handle does."""
        world = self.world
        if table not in OWNERS or not 0 <= row < len(world.solver[table]):
            raise ValueError(f"world: there is no row {row} of {table}")
        one = world.solver[table][row]
        self._wake_owner(table, one)
        one[OWNERS[table]] = -1
        one["generation"] += 1

    def _wake_owner(self, table: str, one: Any) -> None:
        what = int(one[OWNERS[table]])
        if table == "drives":
            self._wake_joint(what)
        else:
            self.world.sleep._wake(what, why=WOKEN_BY_FORCE)

    def _wake_joint(self, joint: int) -> None:
        world = self.world
        tree = int(world.forest._tables[JOINTS][world.forest._find(JOINTS, joint, "joint")]["tree"])
        if tree >= 0:
            world.sleep._wake_tree(tree, WOKEN_BY_FORCE)
        else:  # it closes a loop
            world.sleep._wake(*world.forest.sides(joint), why=WOKEN_BY_FORCE)

    def __iter__(self) -> Iterator[Drive]:
        """All drives that act now."""
        return iter(self._handles())

    def __len__(self) -> int:
        return len(self._handles())

    def _handles(self) -> list[Drive]:
        world = self.world
        table = world.solver["drives"][: int(world.solver.header["drive_count"][0])]
        kinds = {DriveKind.FORCE: JointForce, DriveKind.COUPLED: Coupling}
        found = []
        for i in np.flatnonzero(table["joint"] >= 0).tolist():
            row = table[i]
            plain = Motor if row["damping"] == math.inf else Servo
            drive: Drive = kinds.get(DriveKind(int(row["kind"])), plain)(world, i)
            if drive.alive:
                found.append(drive)
        return found

    def _joint(self, what: str, joint: Edit | int | str) -> tuple[int, Any, Any]:
        """The id of a joint of a tree, the rows of its degrees of freedom, and that of the link that it carries."""
        world = self.world
        id = world.joint_id(joint)
        if world.forest.closes_loop(id):
            return self._joint_of_loop(what, id)
        t, l = world.forest._carried(id)
        tree = world.forest._tree(t)
        if l["kind"] == JointKind.FREE:
            raise ValueError(f"{what}: joint {id} is free; use `apply_force` on the body that it carries")
        if l["nv"] == 0:
            raise ValueError(f"{what}: joint {id} is fixed, and does not move")
        return id, rows_at(int(tree["dofs"]), int(tree["nv"]), DOF)[l["iv"] : l["iv"] + l["nv"]], l

    def _joint_of_loop(self, what: str, id: int) -> tuple[int, Any, Any]:
        """The same of a joint that closes a loop; its LOOP row is there in place of a link."""
        world = self.world
        k = int(world.forest._tables[JOINTS][world.forest._find(JOINTS, id, "joint")]["loop"])
        loop = world.forest._ties[k]
        if what not in ("motor", "servo"):
            raise ValueError(f"{what}: joint {id} closes a loop, and takes a motor or a servo only")
        if loop["nv"] == 0 or loop["kind"] == JointKind.FREE:
            raise ValueError(f"{what}: joint {id} closes a loop, and is fixed or free: there is nothing to drive")
        return id, world.forest._drives[6 * k : 6 * k + int(loop["nv"])], loop

    def _drive(self, what: str, joint: Edit | int | str, dof: int, kind: int, numbers: dict[str, float]) -> int:
        """A row for a drive, in a joint that is there."""
        id, dofs, _ = self._joint(what, joint)
        if check_whole(f"{what}: dof", dof) >= len(dofs):
            raise ValueError(f"{what}: joint {id} has {len(dofs)} degrees of freedom, and none {dof}")
        if dofs[dof]["effort_limit"] == 0.0 and kind != DriveKind.COUPLED:
            raise ValueError(f"{what}: joint {id} has an effort limit of 0, so nothing may drive it; raise the limit")
        self._wake_joint(id)
        return self._write(id, dof, kind, numbers)

    def _write(self, joint: int, dof: int, kind: int, numbers: dict[str, float]) -> int:
        """The row of a new drive."""
        world = self.world
        i = world.solver.claim("drives", "joint")
        row = np.zeros((), DRIVE)
        row["generation"] = world.solver["drives"]["generation"][i]
        row["joint"], row["dof"], row["kind"] = joint, dof, kind
        row["smallest_force"], row["largest_force"] = -math.inf, math.inf
        for name, value in numbers.items():
            row[name] = value
        world.solver["drives"][i] = row
        return i

    def _fit_one(self, joint: int, dof: int, actuator: Actuator, gear: float) -> Drive:
        world = self.world
        numbers = row_of(actuator, gear)
        kind = DriveKind(int(numbers.pop("kind")))
        i = self._write(joint, dof, kind, numbers)
        return JointForce(world, i) if kind == DriveKind.FORCE else Servo(world, i)


def _ends(what: str, effort_limit: float) -> dict[str, float]:
    size = check_limit(f"{what}: effort_limit", effort_limit)
    return {"smallest_force": -size, "largest_force": size}


def fit_actuators(world: World, model: Model, joints: list[int]) -> Controls:
    """The actuators and mimics of a model that was added."""
    if not model.catalog.equipment.actuators and not model.catalog.mimics:
        return Controls(world, (), ())
    where, drives = dict(zip(model.joint_names, joints, strict=True)), world.drives
    acting, handles = [], []
    for a in model.actuators if model.catalog.equipment.actuators else ():
        if drives_well(a):
            acting.append(a)
            handles.append([drives._fit_one(where[a.joint], k, a, gear) for k, gear in enumerate(a.gear)])
    for m in model.mimics if model.catalog.mimics else ():
        drives.couple(where[m.joint], where[m.source], m.multiplier, m.offset)
    return Controls(world, acting, handles)
