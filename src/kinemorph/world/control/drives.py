"""Handles of what a user has set going in a world: motors, servos, joint forces, couplings and applied forces.

Their numbers are in tables of the solver, so that a copy of the world has them too; a handle only says which row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinemorph.contact.layout import DriveKind
from kinemorph.multibody.model.equipment import Actuator
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import as_number, check_finite, check_limit, repr_of
from kinemorph.spatial.pose import vector
from kinemorph.structure.forest.layout import BODIES, IN_USE, JOINTS
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.ids import JointId

if TYPE_CHECKING:
    from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
LARGEST_GAIN = 1e15  # larger gains than this are a mistake


class Number:
    """A number of a row that a handle can read and change while the world runs."""

    def __init__(self, least: float = -math.inf, most: float = math.inf) -> None:
        self.least, self.most = least, most

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, handle: Any, owner: type) -> float:
        return float(handle._row()[self.name])

    def __set__(self, handle: Any, value: float) -> None:
        number = value if type(value) is float else as_number(value)
        if not (math.isfinite(number) and self.least <= number <= self.most):
            check_finite(f"{handle!r}: {self.name}", value, self.least, self.most)  # which says why
        handle._set(**{self.name: number})


@checked_on_failure
class Handle:
    """One row of a table: it is there until it is withdrawn, or what it acts on is gone."""

    __slots__ = ("_drives", "_generation", "row", "world")
    table, owner, word = "drives", "joint", "drive"

    def __init__(self, world: World, row: int) -> None:
        self.world, self.row, self._drives = world, row, world.drives
        self._generation = int(world.solver[self.table][row]["generation"])

    @property
    def alive(self) -> bool:
        """Whether it acts."""
        row = self.world.solver[self.table][self.row]
        return bool(row["generation"] == self._generation) and is_there(self.world, self.owner, int(row[self.owner]))

    def withdraw(self) -> None:
        """End it. What it held wakes; one that is gone already stays so."""
        if self.alive:
            self._drives.withdraw(self.table, self.row)

    def on(self, world: World) -> Self:
        """The same one in a copy of its world."""
        if type(world) is not type(self.world) or self.row >= len(world.solver[self.table]):
            raise ValueError(f"{self!r}: {repr_of(world)} is no copy of its world")
        other = type(self)(world, self.row)
        other._generation = self._generation
        return other

    def _row(self) -> Any:
        if not self.alive:
            raise KeyError(f"{self.word} {self.row} is gone: withdrawn, or the {self.owner} it was on")
        return self.world.solver[self.table][self.row]

    def _set(self, **numbers: Any) -> None:
        """Change numbers of its row, and wake what it acts on."""
        world = self.world
        if world.solver[self.table]["generation"][self.row] != self._generation:
            self._row()  # which says that it is gone
        try:
            self._drives.set_numbers(self.table, self.row, numbers)
        except KeyError:
            self._row()
            raise

    def __repr__(self) -> str:
        row = self.world.solver[self.table][self.row]
        where = f"on {self.owner} {int(row[self.owner])}" if self.alive else "that is gone"
        return f"{type(self).__name__} {where}"


def is_there(world: World, what: str, id: int) -> bool:
    """Whether a joint or a body is there."""
    if id < 0:
        return False
    slot = world.forest._tables[JOINTS if what == "joint" else BODIES][id & ID_INDEX_MASK]
    return bool(slot["next"] == IN_USE and slot["generation"] == id >> 32)


class Drive(Handle):
    """What acts in one degree of freedom of a joint."""

    __slots__ = ()

    @property
    def joint(self) -> int:
        """The id of its joint."""
        return JointId.of(self.world, int(self._row()["joint"]))

    @property
    def applied(self) -> float:
        """N m or N, the mean force that it had in the last step."""
        return float(self._row()["applied"])


@checked_on_failure
class Motor(Drive):
    """Holds a speed, as far as its largest force goes."""

    __slots__ = ()
    word = "motor"
    speed = Number()

    @property
    def effort_limit(self) -> float:
        """N m or N, its largest force, either way."""
        return float(self._row()["largest_force"])

    @effort_limit.setter
    def effort_limit(self, value: float) -> None:
        limit = check_limit(f"{self!r}: effort_limit", value)
        self._set(largest_force=limit, smallest_force=-limit)


class Servo(Motor):
    """A spring to a position and a damper to a speed, as far as its largest force goes; stable for all gains."""

    __slots__ = ()
    word = "servo"
    position = Number()
    speed = Number()
    stiffness = Number(0.0, LARGEST_GAIN)
    damping = Number(0.0, LARGEST_GAIN)


class JointForce(Drive):
    """A constant force or torque in a joint."""

    __slots__ = ()
    word = "joint force"
    force = Number()


class Coupling(Drive):
    """Keeps one joint at a multiple of another one: x = ratio times that of the source + position."""

    __slots__ = ()
    word = "coupling"
    ratio = Number()
    position = Number()


@checked_on_failure
class AppliedForce(Handle):
    """A force and a torque on a body, at a point that moves with it."""

    __slots__ = ()
    table, owner, word = "applied_forces", "body", "applied force"

    @property
    def force(self) -> Array:
        """N, in world axes, or in the body's if it turns with that."""
        return np.array(self._row()["force"])

    @force.setter
    def force(self, value: Iterable[float]) -> None:
        self._set(force=vector(value, 3, f"{self!r}: force"))

    @property
    def torque(self) -> Array:
        """N m, likewise."""
        return np.array(self._row()["torque"])

    @torque.setter
    def torque(self, value: Iterable[float]) -> None:
        self._set(torque=vector(value, 3, f"{self!r}: torque"))


@checked_on_failure
class Controls:
    """What the actuators of a figure are told, by their names: `figure.control["hip"] = 0.4`."""

    __slots__ = ("_actuators", "_handles", "world")

    def __init__(self, world: World, actuators: Sequence[Actuator], handles: Sequence[list[Drive]]) -> None:
        self.world = world
        self._actuators = {a.name: a for a in actuators}
        self._handles = dict(zip(self._actuators, handles, strict=True))

    def _known(self, name: str) -> Actuator:
        if not isinstance(name, str) or name not in self._actuators:
            raise KeyError(
                f"there is no actuator {repr_of(name)}, but {', '.join(map(repr, self._actuators)) or 'none at all'}"
            )
        return self._actuators[name]

    def __getitem__(self, name: str) -> float:
        self._known(name)
        return float(self._handles[name][0]._row()["told"])

    def __setitem__(self, name: str, told: float) -> None:
        actuator = self._known(name)
        u = check_finite(f"control of actuator {name!r}", told)
        for handle, gear in zip(self._handles[name], actuator.gear, strict=True):
            if handle.alive:  # else its joint was cut
                handle._set(told=u, force=force_of(actuator, u, gear))

    def force(self, name: str) -> float:
        """N m or N, the mean force of an actuator at its joint in the last step."""
        self._known(name)
        return self._handles[name][0].applied

    def __iter__(self) -> Iterator[str]:
        return iter(self._actuators)

    def __len__(self) -> int:
        return len(self._actuators)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}: {self[name]:g}" for name, h in self._handles.items() if h[0].alive)
        return f"Controls({told})"


def force_of(a: Actuator, u: float, gear: float) -> float:
    """The force of an actuator at its joint, where that is at zero and does not move."""
    f = a.gain * min(max(u, a.control[0]), a.control[1]) + a.bias[0]
    if not any(a.bias[1:]):
        f = min(max(f, a.force[0]), a.force[1])
    return gear * f


def row_of(a: Actuator, gear: float) -> dict[str, float]:
    """The numbers of a drive that does what an actuator does."""
    if not any(a.bias[1:]):
        return {"kind": DriveKind.FORCE, "force": force_of(a, 0.0, gear)}
    least, most = sorted(gear * f for f in a.force) if gear != 0.0 else (0.0, 0.0)
    return {
        "kind": DriveKind.ROW, "stiffness": -gear * gear * a.bias[1], "damping": -gear * gear * a.bias[2],
        "force": force_of(a, 0.0, gear), "smallest_force": least, "largest_force": most,
    }  # fmt: skip


def drives_well(a: Actuator) -> bool:
    """Whether an actuator pulls back what it moves: one that pushes on has no place in a row."""
    return a.bias[1] <= 0.0 and a.bias[2] <= 0.0
