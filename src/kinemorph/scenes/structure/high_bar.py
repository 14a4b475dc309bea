"""High bar (N&Y section VII-B): a gymnast of 16 joint degrees of freedom lets go of the bar, one hand after the other.

Each hand is on the bar by a revolute joint that closes a loop, as in the paper: 24 coordinates with both hands, 23 with
one, 22 in the air. There are no motors; springs in the joints keep the posture, and nothing is damped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kinemorph.constraint.generalized import mobility
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.motion.simulate import simulate
from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.scenes.pictures.log_pictures import LoggedMotion, draw_log
from kinemorph.scenes.robots.figure import SIMPLE, both, human, pose
from kinemorph.spatial.pose import Pose
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut
from kinemorph.structure.report import ModelEdit

BAR = (0.0, 0.0, 2.7)  # m
STIFF = {"arm": 80.0, "forearm": 80.0, "thigh": 200.0, "shank": 100.0}  # N m/rad
POSTURE = both(upper_arm=(0.0, -math.pi + 0.2, 0.5), forearm=0.2, thigh=(0.0, -0.15, 0.0), shank=0.2)
START, SPIN = -2.0, 2.0  # rad and rad/s about the bar; 0 is hanging, the gymnast swings forward
RIGHT, LEFT = 1.05, 1.40  # s: when the hands let go
VIEW = (0.55, -1.5, 0.3)  # from the scene to the camera


def gymnast() -> tuple[Model, State]:
    """In the air below the bar, its hands where the bar is, turning about it as one piece."""
    b = human(SIMPLE, stiffness=STIFF, rest=POSTURE)
    b.name = "high bar"
    b.base(Shape.cylinder(0.016, 2.4, Pose.turn((1, 0, 0), 0.5 * math.pi, BAR)))
    posts = [Pose((0.0, side * 1.2, 0.5 * BAR[2])) for side in (-1.0, 1.0)]
    b.base([Shape.cylinder(0.035, BAR[2], post) for post in posts])
    model = b.build()
    q = pose(model, POSTURE)
    data = Data(model)
    kinematics(model, data, q)
    palms = [pose_of(model, data, f"{side} palm").position for side in ("left", "right")]
    body = Pose.turn((0, 1, 0), START, BAR) @ Pose(-0.5 * (palms[0] + palms[1]))
    q[:3], q[3:7] = body.position, (math.cos(0.5 * START), 0.0, math.sin(0.5 * START), 0.0)
    v = np.zeros(model.nv)
    spin = np.array([0.0, -SPIN, 0.0])
    v[:3], v[3:6] = body.rotation.T @ spin, body.rotation.T @ np.cross(spin, body.position - BAR)
    return model, State(q, v)


def grip(model: Model, state: State) -> ModelEdit:
    """Both hands take the bar."""
    for side in ("left", "right"):
        data = Data(model)
        kinematics(model, data, state.q)
        x = pose_of(model, data, f"{side} palm").position
        hand = Joint.revolute("y", name=f"{side} hand")
        report = connect(model, state, -1, f"{side} palm", hand, at=Pose(x), how="loop")
        model, state = report.model, report.state
    return report


def swing(method: str = "adaptive") -> LoggedMotion:
    """Swing with both hands, with one, and fly until the hips are as low as a metre."""
    held = grip(*gymnast())
    events = [
        Event.at(RIGHT, lambda model, state: cut(model, state, "right hand"), "the right hand lets go"),
        Event.at(LEFT, lambda model, state: cut(model, state, "left hand"), "the left hand lets go"),
        Event.height("pelvis", 1.0, name="lands", ends=True, only=lambda model, state: not model.loops),
    ]
    log = simulate(held.model, held.state, 4.0, events, method=method)
    free = [mobility(s.model, Data(s.model), s.q[-1]) for s in log.stretches]
    return LoggedMotion(log, free)


def draw_high_bar(flight: LoggedMotion, folder: Path) -> tuple[Path, Path, Path]:
    """Energies, loops and coordinates over time, a strip of pictures, and a replay."""
    times = (0.0, 0.5, 0.8, 1.05, 1.25, 1.4, 1.7, 2.1)
    title = "high bar: one hand lets go, then the other"
    return draw_log(flight.log, folder, "high_bar", title, times, direction=VIEW, size=(240, 300))


def show_high_bar(out: Path, say: Callable[[str], None]) -> None:
    flight = swing()
    flight.tell(say)
    plot, pictures, film = draw_high_bar(flight, out)
    say(f"\nlook at [bold]{plot}[/], [bold]{pictures}[/] and [bold]{film}[/]")
