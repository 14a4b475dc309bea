"""The figures of a world: what came in as one model, by name, also in a world that was loaded, restored or branched.

A record is plain values, kept with the world: the bodies and joints of a model under the names that it gave them, and
its actuators with the drives that do their work. The model itself is not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinemorph.contact.layout import DriveKind
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.equipment import Actuator
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest.validation import require
from kinemorph.world.body import Figure
from kinemorph.world.control.drives import Controls, Drive, JointForce, Servo

if TYPE_CHECKING:
    from kinemorph.world.world import World


class FigureRecord(NamedTuple):
    """What is kept of a figure."""

    name: str
    bodies: list[tuple[str, int, int]]  # name, id and birth of each
    joints: list[tuple[str, int]]  # name and id, those of the tree and then those of loops
    actuators: list[tuple[Any, ...]]  # fields of each
    drives: list[list[tuple[int, int]]]  # row and generation of the drives of each actuator
    homes: list[tuple[int, tuple[float, ...]]]  # joints that let a body float, and where these stand: R and p


def homes_of(model: Model) -> list[tuple[int, tuple[float, ...]]]:
    """Of each root that floats its index, which is that of its joint, too, and the place that its joint counts from."""
    links = model.links
    afloat = np.flatnonzero((links["parent"] < 0) & (links["kind"] == JointKind.FREE)).tolist()
    return [(i, (*links["R"][i].tolist(), *links["p"][i].tolist())) for i in afloat]


def record_of(
    name: str, bodies: list[tuple[str, int, int]], joints: list[tuple[str, int]], control: Controls,
    homes: list[tuple[int, tuple[float, ...]]],
) -> FigureRecord:  # fmt: skip
    """What is kept of a figure that has just come in."""
    actuators = [tuple(vars(a).values()) for a in control._actuators.values()]
    drives = [[(drive.row, drive._generation) for drive in handles] for handles in control._handles.values()]
    return FigureRecord(name, bodies, joints, actuators, drives, homes)


def figure_of(world: World, record: FigureRecord, model: Model | None) -> Figure:
    """The handle of a figure."""
    actuators = [Actuator(*fields) for fields in record.actuators]
    handles = [[drive_of(world, *drive) for drive in drives] for drives in record.drives]
    control = Controls(world, actuators, handles)
    return Figure(world, record.name, model, record.bodies, dict(record.joints), control, record.homes)


def drive_of(world: World, row: int, generation: int) -> Drive:
    """The handle of a drive of an actuator, which may be gone."""
    kind = JointForce if world.solver["drives"][row]["kind"] == DriveKind.FORCE else Servo
    handle = kind(world, row)
    handle._generation = generation
    return handle


def is_left(record: FigureRecord, births: dict[int, int]) -> bool:
    """Whether any body of a figure is still there."""
    return any(births.get(id) == birth for _, id, birth in record.bodies)


def check_figures(figures: Any, drives: int) -> None:
    """Raise ValueError unless these are records of figures, with drives among so many rows."""
    require(isinstance(figures, dict) and all(type(key) is int for key in figures), "figures are none")
    for one in figures.values():
        require(isinstance(one, tuple) and len(one) == 6 and type(one[0]) is str, "a figure is none")
        record = FigureRecord(*one)
        require(all(isinstance(part, list) for part in record[1:]), "a figure is none")
        require(all(_fits(each, str, int, int) for each in record.bodies), "a figure has no bodies")
        require(all(_fits(each, str, int) for each in record.joints), "a figure has no joints")
        require(len(record.actuators) == len(record.drives), "a figure has other actuators")
        for home in record.homes:
            require(_fits(home, int, tuple), "a figure floats nowhere")
            require(0 <= home[0] < min(len(record.bodies), len(record.joints)), "what floats is no body of its figure")
            require(len(home[1]) == 12 and all(type(x) is float for x in home[1]), "a figure floats nowhere")
            Pose(home[1][9:], np.array(home[1][:9]).reshape(3, 3))
        for fields, rows in zip(record.actuators, record.drives, strict=True):
            require(_fits(fields, str, str, float, tuple, tuple, tuple, tuple), "an actuator is none")
            require(all(type(x) is float for part in fields[3:] for x in part), "an actuator has no numbers")
            require([len(part) for part in (fields[3], *fields[5:])] == [3, 2, 2], "an actuator has no numbers")
            Actuator(*fields)
            require(isinstance(rows, list) and len(rows) == len(fields[4]), "an actuator has no drives")
            require(all(_fits(row, int, int) and 0 <= row[0] < drives for row in rows), "an actuator has no drives")


def _fits(value: Any, *kinds: type) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == len(kinds)
        and all(type(x) is kind for x, kind in zip(value, kinds, strict=True))
    )
