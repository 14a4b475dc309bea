"""The compass walker: two legs, no motors, a gentle slope. It changes its root at every step (SPW section 8).

Each heel strike is a cut of the old foot followed by a connection of the new one: the leg that swung becomes the top of
the tree, and the impact comes out of `connect`. Angles are from the vertical, as in SPW Table 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.motion.log import Log
from kinemorph.motion.simulate import simulate
from kinemorph.multibody.algorithms.crba import crba
from kinemorph.multibody.algorithms.energy_momentum import momentum
from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.pose import Pose
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut
from kinemorph.structure.report import ModelEdit
from kinemorph.view.pictures.picture import picture, save_png
from kinemorph.view.pictures.plots import empty_figure
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.replay import replay

HIP_MASS, LEG_MASS, LENGTH, MIDDLE, SLOPE = 2.0, 1.0, 1.0, 0.5, 0.0524  # SPW Table 1
TABLE_1 = np.array([-0.3236, 0.5424, -1.4939, -0.3117])  # just before a heel strike: q_st, q_sw, and their rates
FOOT = Pose((0.0, 0.0, -LENGTH))  # in the frame of a leg that hangs on the hip
AXIS = (0.0, -1.0, 0.0)  # a leg that falls forward turns in the negative sense, as in the paper
FALLEN_ANGLE = 0.5 * np.pi  # rad: a standing leg that leans as far as this lies
LONGEST_STEP_TIME = 3.0  # s a step
WALKER_DT = 1e-3


@dataclass(frozen=True)
class Step:
    """One step: its path, and the heel strike that ends it."""

    model: Model
    t: Any
    q: Any
    v: Any
    kinetic: Any
    potential: Any
    strike: ModelEdit
    length: float  # m


@dataclass
class Walk:
    log: Log
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
    b.frame("foot a", "a")
    b.frame("foot b", "b", FOOT)
    b.base(Shape.box((40.0, 0.8, 0.04), Pose.turn((0, 1, 0), SLOPE, (15.0, 0.0, -15.0 * np.tan(SLOPE) - 0.04))))
    return b.build(), State(TABLE_1[:2], TABLE_1[2:])


def feet(model: Model, state: State) -> tuple[Any, Any]:
    """Where the standing foot is, and the swinging one."""
    data = Data(model)
    kinematics(model, data, state.q, state.v)
    standing, swinging = (pose_of(model, data, f"foot {leg}").position for leg in model.names)
    return standing, swinging


def steps_down(model: Model, state: State) -> bool:
    """A foot on the ground is a step only ahead of the other one: scuffing is ignored (SPW assumption B2)."""
    standing, swinging = feet(model, state)
    return bool(swinging[0] - standing[0] > 0.05 * LENGTH)


def strike(model: Model, state: State) -> ModelEdit:
    """The swinging foot has landed: it holds from now on, and the other leg lets go."""
    foot = feet(model, state)[1]
    flying = cut(model, state, 0)
    ground = Joint.revolute(AXIS, name="ground")
    return connect(flying.model, flying.state, -1, f"foot {model.names[1]}", ground, at=Pose(foot), on=Pose())


def strike_by_momentum(model: Model, state: State, after: Model, q: Any) -> Any:
    """The rates after a strike by SPW eq. 23, where `after` at q is the walker on its other leg.

    Angular momentum is kept about the foot that lands by the whole walker, and about the hip by the leg that leaves.
    """
    data = Data(model)
    axis = np.array(AXIS)
    total = axis @ momentum(model, data, state.q, state.v, about=feet(model, state)[1])[:3]
    kinematics(model, data, state.q, state.v)
    hip, leg, d = pose_of(model, data, 1).position, model.links[0], data.links[0]
    R = d["R"].reshape(3, 3)
    I = np.zeros((3, 3))
    I[np.triu_indices(3)] = leg["I"]
    I = R @ (I + np.triu(I, 1).T) @ R.T
    h = R @ leg["h"]
    p = leg["mass"] * d["v"] + np.cross(d["w"], h)
    own = axis @ (I @ d["w"] + np.cross(h, d["v"]) + np.cross(d["p"] - hip, p))
    return np.linalg.solve(crba(after, Data(after), q), [total, own])


def walk(count: int, disturb: Any = (0.0, 0.0, 0.0, 0.0), log_dt: float = 0.01) -> Walk:
    """Steps from SPW Table 1, disturbed if asked. The table is the state before a strike, so that comes first."""
    report = strike(*compass())
    nudge = np.asarray(disturb, dtype=float)
    return _walk(report.model, State(report.state.q + nudge[:2], report.state.v + nudge[2:]), count, log_dt)


def _walk(model: Model, state: State, count: int, log_dt: float = 0.01) -> Walk:
    normal = (np.sin(SLOPE), 0.0, np.cos(SLOPE))
    first, second = model.names[1], model.names[0]  # the leg that swings makes the first step
    last = (first, second)[(count - 1) % 2]
    events = [
        Event.height(
            f"foot {leg}", 0.0, strike, normal=normal, only=steps_down, name=f"step on {leg}",
            ends=(count + 1) // 2 if leg == last else 0,
        )
        for leg in (first, second)
    ]  # fmt: skip
    events += [Event.position("ground", angle, name="fall", ends=True) for angle in (-FALLEN_ANGLE, FALLEN_ANGLE)]
    log = simulate(model, state, LONGEST_STEP_TIME * count, events, dt=WALKER_DT, log_dt=log_dt)
    strikes = [h for h in log.happenings if h.changed]
    result = Walk(log)
    for before, after, h in zip(log.stretches, log.stretches[1:], strikes, strict=False):
        assert h.report is not None
        length = float(np.linalg.norm(after.model.links[0]["p"] - before.model.links[0]["p"]))
        kinetic, potential = before.frames["kinetic"], before.frames["potential"]
        result.steps.append(Step(before.model, before.t, before.q, before.v, kinetic, potential, h.report, length))
    if len(result.steps) < count:
        raise ArithmeticError(f"the walker has fallen after {len(result.steps)} steps, at t = {log.t[-1]:.3f} s")
    return result


def return_map(count: int = 60) -> tuple[Any, Any]:
    """The fixed point of the map from one start of a step to the next, and its derivative.

    At a heel strike the two angles depend on each other, so three numbers describe it: q_st and both rates.
    """
    state = walk(count).steps[-1].strike.state
    fixed = np.array([state.q[0], *state.v])
    columns = []
    for k in range(3):
        ends = [_next(fixed + sign * 1e-5 * np.eye(3)[k]) for sign in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / 2e-5)
    return fixed, np.array(columns).T


def _next(start: Any) -> Any:
    """The start of the step after one that starts so; both feet are on the slope."""
    model, _ = compass()
    swing = -2.0 * (start[0] + SLOPE)  # the absolute angles are symmetric about the slope's normal
    state = _walk(model, State(np.array([start[0], swing]), start[1:]), 1).steps[0].strike.state
    return np.array([state.q[0], *state.v])


def basin(starts: int = 12, size: float = 0.06, count: int = 40, seed: int = 0) -> list[Any]:
    """Random disturbances of the rates, and the period of the gait that each start finds: NaN if it falls."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(starts):
        nudge = np.array([0.0, 0.0, *rng.uniform(-size, size, 2)])
        try:
            found.append((nudge, float(walk(count, nudge, log_dt=0.1).periods[-1])))
        except ArithmeticError:
            found.append((nudge, float("nan")))
    return found


def points(s: Step) -> dict[str, tuple[float, float]]:
    """Kinetic and potential energy (J) at SPW's points of interest: A, where a step starts, B, where its potential
    energy is largest, and C, where the ground is hit."""
    at = {"A": 0, "B": int(np.argmax(s.potential)), "C": -1}
    return {name: (float(s.kinetic[k]), float(s.potential[k])) for name, k in at.items()}


def plot_energies(result: Walk, axes: Any) -> None:
    """SPW Fig. 11: of the last two steps, with their points of interest."""
    for prime, s in zip(("", "′"), result.steps[-2:]):
        (curve,) = axes.plot(s.kinetic, s.potential, linewidth=1.4)
        for name, place in points(s).items():
            axes.plot(*place, "o", color=curve.get_color(), markersize=5.0)
            aside = (-9, -14) if prime else (7, 2)  # of points: the second step lies below the first
            axes.annotate(f"{name}{prime}", place, aside, textcoords="offset points", ha="center")
    axes.set(xlabel="kinetic energy [J]", ylabel="potential energy [J]", title="energies of two steps (SPW Fig. 11)")
    axes.margins(0.08)


def draw_walker(result: Walk, folder: Path) -> tuple[Path, Path, Path]:
    """SPW Figs. 10 and 11 as one PNG file, a strip of the first two steps, and a replay of the walk."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = empty_figure(11.0, 4.6)
    left, right = figure.subplots(1, 2)
    for s in result.steps:
        for stands, colour, label in ((True, "C0", "standing"), (False, "C1", "swinging")):
            q = s.q[:, 0] if stands else s.q.sum(axis=1)
            v = s.v[:, 0] if stands else s.v.sum(axis=1)
            left.plot(q, v, color=colour, linewidth=1.0, label=label if s is result.steps[0] else None)
    left.set(xlabel="angle from the vertical [rad]", ylabel="rate [rad/s]", title="phase portrait (SPW Fig. 10)")
    left.legend(frameon=False)
    plot_energies(result, right)
    for axis in (left, right):
        axis.grid(color="0.92")
    plot, pictures, film = folder / "walker.png", folder / "walker_strip.png", folder / "walker.html"
    figure.savefig(plot, dpi=130)
    recording, direction = Recording.from_log(result.log), (0.3, -1.6, 0.35)
    moments = np.linspace(0.0, sum(result.periods[:2]), 8)
    save_png(pictures, np.hstack([picture(recording, t, direction=direction, size=(240, 300)) for t in moments]))
    replay(recording, film, follow="a", direction=direction)
    return plot, pictures, film


def show_walker(out: Path, say: Callable[[str], None]) -> None:
    result = walk(200)
    last, period = result.steps[-1], result.periods[-1]
    say(f"[bold]{last.model}[/]: {len(result.steps)} steps down a slope of {SLOPE} rad")
    say(f"step period {period:.5f} s, step length {last.length:.5f} m; energy drift {result.log.drift:.0e} J")
    say(f"each heel strike cuts one foot, connects the other, and costs {last.strike.energy_lost:.3f} J;")
    rates = strike_by_momentum(last.model, result.log.happenings[-1].before, last.strike.model, last.strike.state.q)
    say(f"  SPW eq. 23 gives the same rates to {np.abs(rates - last.strike.state.v).max():.0e} rad/s")
    _, derivative = return_map()
    eigenvalues = np.linalg.eigvals(derivative)
    say(f"return map: slope {derivative[0, 0]:.3f} (stance angle), eigenvalues {np.round(eigenvalues, 3)},")
    say(f"  the largest {np.abs(eigenvalues).max():.3f}: below 1, so the gait is stable")
    found = basin(6)
    good = sum(abs(other - period) < 1e-5 for _, other in found)
    say(f"{good} of {len(found)} disturbed starts find the same gait")
    plot, pictures, film = draw_walker(walk(20), out)
    told = f"[bold]{plot}[/] (limit cycle, potential against kinetic energy), [bold]{pictures}[/] and [bold]{film}[/]"
    say(f"\nlook at {told}")
