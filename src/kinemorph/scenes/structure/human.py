"""A human figure of 40 joint degrees of freedom floats through ten random changes of its structure, and loses nothing.

17 links, 12 spherical and 4 revolute joints, no gravity and no support: connecting, cutting and re-rooting
keep mass and momentum, and energy is lost only where a connection is an impact.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinemorph.motion.events import Event
from kinemorph.motion.log import Log
from kinemorph.motion.simulate import simulate
from kinemorph.multibody.algorithms.energy_momentum import momentum
from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.scenes.pictures.log_pictures import draw_log
from kinemorph.scenes.robots.figure import both, human, pose
from kinemorph.spatial.pose import Pose
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut
from kinemorph.structure.report import ModelEdit
from kinemorph.structure.reroot import reroot

POSTURE = both(upper_arm=(0.9, -0.4, 0.0), forearm=0.6, thigh=(0.35, -0.5, 0.0), shank=0.7, foot=(0.0, 0.2, 0.0))
STIFF = 25.0  # N m/rad
CHANGES = ("connect", "reroot", "cut", "connect", "cut", "reroot", "connect", "cut", "reroot", "connect")
CHANGE_PERIOD = 0.35  # s between changes
VIEW = (1.4, -0.7, 0.3)  # from the scene to the camera


def floating(seed: int = 0) -> tuple[Model, State]:
    """The figure in the air, turning slowly, its limbs moving."""
    b = human(stiffness=STIFF, rest=POSTURE)
    b.name, b.gravity = "human", np.zeros(3)
    model = b.build()
    rng = np.random.default_rng(seed)
    v = 0.6 * rng.normal(size=model.nv)
    v[:6] = (0.3, 0.2, 0.8, 0.0, 0.0, 0.0)
    return model, State(pose(model, POSTURE), v)


class Changes:
    """Random changes, the same ones for the same seed. `told` says what they were."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.told: list[str] = []

    def event(self, what: str, t: float) -> Event:
        return Event.at(t, getattr(self, what), name=what)

    def connect(self, model: Model, state: State) -> ModelEdit:
        """Two links that no joint connects, at a point near their middle: the pose of this moment counts."""
        names = sorted(model.names)  # so that nothing depends on the order of links
        while True:
            a, b = (names[k] for k in self.rng.choice(model.n, 2, replace=False).tolist())
            i, k = model.link(a), model.link(b)
            if model.links[i]["parent"] != k and model.links[k]["parent"] != i:
                break
        data = Data(model)
        kinematics(model, data, state.q)
        middle = 0.5 * (pose_of(model, data, a).position + pose_of(model, data, b).position)
        at = middle + 0.05 * self.rng.normal(size=3)
        kind = (Joint.spherical, Joint.revolute, Joint.universal, Joint.cylindrical)[self.rng.integers(4)]
        self.told.append(f"connect {a} and {b} ({kind.__name__})")
        return connect(model, state, a, b, kind(), at=Pose(at))

    def cut(self, model: Model, state: State) -> ModelEdit:
        """Any joint that holds something."""
        joints = [name for name, l in zip(model.joint_names, model.links, strict=True) if l["kind"] != JointKind.FREE]
        joint = str(self.rng.choice(sorted([*joints, *model.loop_names])))
        self.told.append(f"cut {joint}")
        return cut(model, state, joint)

    def reroot(self, model: Model, state: State) -> ModelEdit:
        """Any link becomes the top of its tree."""
        link = str(self.rng.choice(sorted(model.names)))
        self.told.append(f"re-root at {link}")
        return reroot(model, state, link)


class Journey(NamedTuple):
    log: Log
    told: list[str]
    momentum: Any  # (frames, 6), about the world's origin


def journey(seed: int = 0, method: str = "adaptive", dt: float = 1e-3) -> Journey:
    """Ten random changes while time runs."""
    model, state = floating(seed)
    changes = Changes(seed)
    events = [changes.event(what, CHANGE_PERIOD * (i + 1)) for i, what in enumerate(CHANGES)]
    log = simulate(model, state, CHANGE_PERIOD * (len(events) + 1), events, method=method, dt=dt)
    total = []
    for s in log.stretches:
        data = Data(s.model)
        total += [momentum(s.model, data, q, v) for q, v in zip(s.q, s.v, strict=True)]
    return Journey(log, changes.told, np.array(total))


def show_human(out: Path, say: Callable[[str], None]) -> None:
    result = journey()
    log = result.log
    say(f"[bold]{log.stretches[0].model}[/]: {len(result.told)} changes")
    for told, h, s in zip(result.told, log.happenings, log.stretches[1:], strict=True):
        free = int(s.frames["mobility"][0])
        say(f"  {h.t:.2f} s  {told}: {s.coordinates} coordinates, {free} free to move, {h.lost:.3f} J lost")
    drift = np.abs(result.momentum - result.momentum[0]).max()
    say(f"momentum kept to {drift:.1e} N m s, energy between events to {log.drift:.1e} J of {log.total[0]:.1f} J,")
    say(f"  loops closed to {log.loop_error.max():.1e}; mass {log.model.mass:.6f} kg")
    times = (0.0, 0.7, 1.4, 2.1, 2.8, 3.8)
    title = "ten random changes of a human figure"
    plot, pictures, film = draw_log(log, out, "human", title, times, direction=VIEW, size=(260, 300), marker=0.035)
    say(f"\nlook at [bold]{plot}[/], [bold]{pictures}[/] and [bold]{film}[/]")
