"""The compass walker: two legs, no motors, a gentle slope. It changes its root at every step (SPW section 8).

Each heel strike is a cut of the old foot followed by a connection of the new one: the leg that swung becomes the top of
the tree, and the impact comes out of `connect`. Angles are from the vertical, as in SPW Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.integrators import rollout, step
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import kinematics, pose_of
from kinemorph.multibody.model import Data, Model
from kinemorph.multibody.totals import energy
from kinemorph.spatial.pose import Pose
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut
from kinemorph.structure.report import Report, State

HIP_MASS, LEG_MASS, LENGTH, MIDDLE, SLOPE = 2.0, 1.0, 1.0, 0.5, 0.0524  # SPW Table 1
TABLE_1 = np.array([-0.3236, 0.5424, -1.4939, -0.3117])  # just before a heel strike: q_st, q_sw, and their rates
FOOT = Pose((0.0, 0.0, -LENGTH))  # in the frame of a leg that hangs on the hip
AXIS = (0.0, -1.0, 0.0)  # a leg that falls forward turns in the negative sense, as in the paper
EXACT = 1e-11  # s, how well the time of a heel strike is known
DT = 1e-3


@dataclass(frozen=True)
class Step:
    """One step: its path, and the heel strike that ends it."""

    model: Model
    t: Any
    q: Any
    v: Any
    strike: Report
    length: float  # m


@dataclass
class Walk:
    steps: list[Step] = field(default_factory=list)

    @property
    def periods(self) -> Any:
        return np.array([s.t[-1] - s.t[0] for s in self.steps])


def compass() -> tuple[Model, State]:
    """The walker just before a heel strike, standing on leg "a", with leg "b" about to touch down."""
    b = Builder("compass walker")
    bar = Shape.capsule(0.02, LENGTH - 0.04, Pose((0.0, 0.0, 0.5 * LENGTH)))
    stance = Inertia.point(LEG_MASS, (0.0, 0.0, MIDDLE)) + Inertia.point(HIP_MASS, (0.0, 0.0, LENGTH))
    hip = Shape.sphere(0.07, Pose((0.0, 0.0, LENGTH)))
    b.link("a", joint=Joint.revolute(AXIS, name="ground"), inertia=stance, shapes=[bar, hip])
    swing = Inertia.point(LEG_MASS, (0.0, 0.0, -MIDDLE))
    b.link("b", "a", Joint.revolute(AXIS, name="hip"), (0.0, 0.0, LENGTH), swing, bar.moved(FOOT))
    return b.build(), State(TABLE_1[:2], TABLE_1[2:])


def legs(model: Model) -> tuple[str, str]:
    """The leg that stands and the one that swings."""
    return model.names[0], model.names[1]


def clearance(model: Model, data: Data, q: Any, v: Any) -> float:
    """Height of the swinging foot above the slope through the standing one, if it is in front; else a safe number.

    Scuffing is ignored (SPW assumption B2): a foot touches down only ahead of the other, going down.
    """
    kinematics(model, data, q, v)
    foot = pose_of(model, data, 1) @ FOOT
    ground = pose_of(model, data, 0).position
    x, _, z = foot.position - ground
    return float(z + x * np.tan(SLOPE)) if x > 0.05 * LENGTH else 1.0


def strike(model: Model, state: State) -> Report:
    """The swinging foot has landed: it holds from now on, and the other leg lets go."""
    data = Data(model)
    kinematics(model, data, state.q, state.v)
    foot = (pose_of(model, data, 1) @ FOOT).position
    flying = cut(model, state, 0)
    swinging = int(flying.link_map[1])
    return connect(
        flying.model, flying.state, -1, swinging, Joint.revolute(AXIS, name="ground"), at=Pose(foot), on=FOOT
    )  # fmt: skip


def touch_down(model: Model, data: Data, q: Any, v: Any, most: float = 3.0) -> tuple[Any, Any, Any]:
    """Path until the next heel strike, its last state at the strike, to EXACT seconds."""
    path = rollout(model, data, q, v, dt=DT, steps=round(most / DT))
    heights = np.array([clearance(model, data, *s) for s in zip(path.q, path.v, strict=True)])
    hit = np.flatnonzero((heights[1:] <= 0.0) & (heights[:-1] > 0.0))
    if not hit.size or np.abs(path.q[: hit[0], 0]).max() > 0.5 * np.pi:
        raise ArithmeticError(f"no heel strike within {most} s: the walker has fallen")
    i = int(hit[0])
    low, high = 0.0, DT
    while high - low > EXACT:
        middle = 0.5 * (low + high)
        state = step(model, data, path.q[i], path.v[i], dt=middle)
        low, high = (middle, high) if clearance(model, data, *state) > 0.0 else (low, middle)
    q_end, v_end = step(model, data, path.q[i], path.v[i], dt=high)
    t = np.append(path.t[: i + 1], path.t[i] + high)
    return t, np.vstack([path.q[: i + 1], q_end]), np.vstack([path.v[: i + 1], v_end])


def walk(count: int, disturb: Any = (0.0, 0.0, 0.0, 0.0)) -> Walk:
    """Steps from SPW Table 1, disturbed if asked. The table is the state before a strike, so that comes first."""
    model, state = compass()
    nudge = np.asarray(disturb, dtype=float)
    report = strike(model, State(state.q, state.v))
    now = State(report.state.q + nudge[:2], report.state.v + nudge[2:])
    result, time = Walk(), 0.0
    model = report.tree
    for _ in range(count):
        data = Data(model)
        t, q, v = touch_down(model, data, now.q, now.v)
        before = pose_of(model, data, 0).position
        report = strike(model, State(q[-1], v[-1]))
        after = Data(report.tree)
        kinematics(report.tree, after, report.state.q, report.state.v)
        length = float(np.linalg.norm(pose_of(report.tree, after, 0).position - before))
        result.steps.append(Step(model, time + t, q, v, report, length))
        model, now, time = report.tree, report.state, time + t[-1]
    return result


def return_map(count: int = 60) -> tuple[Any, Any]:
    """The fixed point of the map from one start of a step to the next, and the eigenvalues of its derivative.

    At a heel strike the two angles depend on each other, so three numbers describe it: q_st and both rates.
    """
    fixed = _start(walk(count).steps[-1])
    columns = []
    for k in range(3):
        ends = []
        for sign in (1.0, -1.0):
            start = fixed.copy()
            start[k] += sign * 1e-5
            ends.append(_next(start))
        columns.append((ends[0] - ends[1]) / 2e-5)
    return fixed, np.linalg.eigvals(np.array(columns).T)


def _start(last: Step) -> Any:
    """q_st and the two rates after a strike."""
    state = last.strike.state
    return np.array([state.q[0], state.v[0], state.v[1]])


def _next(start: Any) -> Any:
    """The start of the step after one that starts so; both feet are on the slope."""
    model, _ = compass()
    swing = -2.0 * (start[0] + SLOPE)  # the absolute angles are symmetric about the slope's normal
    _, q, v = touch_down(model, Data(model), np.array([start[0], swing]), start[1:])
    report = strike(model, State(q[-1], v[-1]))
    return np.array([report.state.q[0], report.state.v[0], report.state.v[1]])


def angles(result: Walk, leg: str) -> tuple[Any, Any, Any]:
    """Time, absolute angle and rate of one leg, whichever role it has."""
    t, q, v = [], [], []
    for s in result.steps:
        stands = s.model.names[0] == leg
        t.append(s.t)
        q.append(s.q[:, 0] if stands else s.q.sum(axis=1))
        v.append(s.v[:, 0] if stands else s.v.sum(axis=1))
    return np.concatenate(t), np.concatenate(q), np.concatenate(v)


def energies(result: Walk) -> list[tuple[Any, Any]]:
    """Kinetic and potential energy along each step."""
    lines = []
    for s in result.steps:
        data = Data(s.model)
        both = [energy(s.model, data, *state) for state in zip(s.q, s.v, strict=True)]
        lines.append((np.array([e.kinetic for e in both]), np.array([e.potential for e in both])))
    return lines


def draw(result: Walk, folder: Path) -> Path:
    """SPW Figs. 10 and 11 as one PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for s in result.steps:
        for stands, colour, label in ((True, "C0", "standing"), (False, "C1", "swinging")):
            q = s.q[:, 0] if stands else s.q.sum(axis=1)
            v = s.v[:, 0] if stands else s.v.sum(axis=1)
            left.plot(q, v, color=colour, linewidth=1.0, label=label if s is result.steps[0] else None)
    left.set(xlabel="angle from the vertical [rad]", ylabel="rate [rad/s]", title="phase portrait (SPW Fig. 10)")
    left.legend(frameon=False)
    for kinetic, potential in energies(result)[:2]:
        right.plot(kinetic, potential, linewidth=1.4)
    right.set(xlabel="kinetic energy [J]", ylabel="potential energy [J]", title="energies of two steps (SPW Fig. 11)")
    for axis in (left, right):
        axis.grid(color="0.92")
    file = folder / "walker.png"
    figure.savefig(file, dpi=130)
    return file
