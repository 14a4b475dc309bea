"""A swing that breaks while a person sits on it (N&Y section VII-B).

The hands hold the rods of the swing by spherical joints, and each thigh slides on the plate by a prismatic joint, cut
when the thigh leaves the plate. Person and swing are one tree that hangs on a hinge: 25 coordinates. When the hinge
breaks they fly as one, with a free joint: 30, as N&Y count; without the plate there are 28.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kinemorph.constraint.closure import project
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.motion.simulate import simulate
from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.scenes.pictures.log_pictures import LoggedMotion, draw_log
from kinemorph.scenes.robots.figure import SIMPLE, both, human, pose
from kinemorph.spatial.pose import Pose
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut
from kinemorph.structure.report import ModelEdit

TOP, SEAT = 3.0, 0.55  # m: heights of the hinge and of the hips
PLATE = 0.16  # m: from the middle of the plate to its edges
BACK, FRONT = -0.08, 0.42  # m: how far the thighs can slide on it
SITTING = both(upper_arm=(0.15, -0.35, 0.0), forearm=1.4, thigh=(0.0, -1.5, 0.0), shank=1.1)
RELAXED = both(upper_arm=(0.15, -0.2, 0.0), forearm=1.4, thigh=(0.0, -1.2, 0.0), shank=0.6)
STIFF = {"arm": 60.0, "forearm": 60.0, "thigh": 200.0, "shank": 60.0}  # N m/rad
APPLIED_FORCE = 2.2  # rad/s: the swing starts forward
BREAK = 0.55  # s
VIEW = (0.5, -1.5, 0.25)  # from the scene to the camera


def sitting() -> tuple[Model, State]:
    """Swing and person, not yet connected, at rest."""
    b = human(SIMPLE, stiffness=STIFF, rest=RELAXED)
    b.name = "swing that breaks"
    model = b.build()
    q = pose(model, SITTING)
    data = Data(model)
    kinematics(model, data, q)
    x, y, _ = pose_of(model, data, "left palm").position  # the rods are where the hands are
    length = TOP - SEAT + 0.09
    rods = [Pose((0.0, side * y, -0.5 * length)) for side in (1.0, -1.0)]
    plate = Pose((0.0, 0.0, -length))
    inertia = Inertia.box(4.0, (2.0 * PLATE, 2.0 * y, 0.03), plate.position)
    shapes = [Shape.box((2.0 * PLATE, 2.0 * y + 0.04, 0.03), plate)]
    for rod in rods:
        inertia = inertia + Inertia.cylinder(1.0, 0.015, length, rod.position)
        shapes.append(Shape.cylinder(0.015, length, rod))
    b.link("swing", None, Joint.revolute((0, -1, 0), name="hinge"), (x, 0.0, TOP), inertia, shapes)
    b.base(Shape.cylinder(0.03, 1.6, Pose.turn((1, 0, 0), 0.5 * math.pi, (x, 0.0, TOP))))
    model = b.build()
    q = pose(model, SITTING)
    q[2] = SEAT
    return model, State(q, np.zeros(model.nv))


def seated() -> tuple[Model, State]:
    """The person holds on and sits, and the swing moves forward with it."""
    model, state = sitting()
    for place, joint, how in (
        ("left palm", Joint.spherical(name="left hand"), "tree"),
        ("right palm", Joint.spherical(name="right hand"), "loop"),
        ("left thigh", Joint.prismatic("x", name="left seat"), "loop"),
        ("right thigh", Joint.prismatic("x", name="right seat"), "loop"),
    ):
        data = Data(model)
        kinematics(model, data, state.q)
        x = pose_of(model, data, place).position
        report = connect(model, state, "swing", place, joint, at=Pose(x), how=how)
        model, state = report.model, report.state
    v = np.zeros(model.nv)
    v[model.v_slice("hinge")] = APPLIED_FORCE
    return model, State(*project(model, Data(model), state.q, v))


def ride(method: str = "adaptive") -> LoggedMotion:
    """Swing, break, and fly until the hips are down to 0.25 m."""
    model, state = seated()
    data = Data(model)
    kinematics(model, data, state.q)
    events = [Event.at(BREAK, lambda model, state: cut(model, state, "hinge", name="flying"), "the hinge breaks")]
    for side in ("left", "right"):
        thigh = f"{side} thigh"
        hips = (pose_of(model, data, "swing").inverse() @ pose_of(model, data, thigh)).position
        events += _leaving(thigh, f"{side} seat", float(hips[0]))
    events.append(Event.height("pelvis", 0.25, name="lands", ends=True))
    log = simulate(model, state, 3.0, events, method=method)
    free = [int(s.frames["mobility"][-1]) for s in log.stretches]
    return LoggedMotion(log, free)


def _leaving(thigh: str, seat: str, start: float) -> list[Event]:
    """A thigh passes the edge of the plate in front or behind, unless it has left already."""

    def leave(model: Model, state: State) -> ModelEdit:
        return cut(model, state, seat)

    def sits(model: Model, state: State) -> bool:
        return seat in model.loop_names

    return [
        Event.height(
            thigh, start + edge, leave, seen_from="swing", normal=(1, 0, 0), direction=direction,
            name=f"the {thigh} leaves the plate", only=sits,
        )
        for edge, direction in ((FRONT, 1), (BACK, -1))
    ]  # fmt: skip


def show_swing_breaks(out: Path, say: Callable[[str], None]) -> None:
    result = ride()
    result.tell(say)
    times = (0.0, 0.3, 0.55, 0.7, 1.0, 1.35)
    plot, pictures, film = draw_log(
        result.log, out, "swing_breaks", "a swing breaks", times, direction=VIEW, size=(300, 280)
    )
    say(f"\nlook at [bold]{plot}[/], [bold]{pictures}[/] and [bold]{film}[/]")
