"""A real robot with its motors off and no friction: let go from a pose, it swings and keeps its energy."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinemorph._escaping import in_terminal
from kinemorph.constraint.closure import close
from kinemorph.constraint.energy import Energy, energy
from kinemorph.jit.api import compile_count
from kinemorph.motion.rollout import Trajectory, rollout
from kinemorph.multibody.algorithms.aba import aba
from kinemorph.multibody.algorithms.configuration import integrate, neutral
from kinemorph.multibody.algorithms.crba import crba
from kinemorph.multibody.algorithms.rnea import rnea
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.model import Model
from kinemorph.scenes.robots.catalog import UNSTOPPED, robot
from kinemorph.view.pictures.picture import picture
from kinemorph.view.pictures.plots import plot_over_time
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.replay import replay


@dataclass(frozen=True)
class Swing:
    """The results of a swing."""

    model: Model
    trajectory: Trajectory
    energies: list[Energy]
    seconds: float  # of computing, kernels compiled

    @property
    def drift(self) -> float:
        """Largest change of the total energy, relative to the largest kinetic energy."""
        totals = np.array([e.total for e in self.energies])
        return float(np.abs(totals - totals[0]).max() / max(e.kinetic for e in self.energies))


def swing(name: str = "arm", seconds: float = 4.0, dt: float = 1e-3) -> Swing:
    """Let a robot go with its arms out."""
    model = robot(name).with_dofs(damping=0.0, **UNSTOPPED)
    data = Data(model)
    q = integrate(model, neutral(model), 0.6 * np.sin(np.arange(model.nv)))  # any pose will do that is not at rest
    if model.m:
        q = close(model, data, q)
    v = np.zeros(model.nv)
    steps = round(seconds / dt)
    rollout(model, data, q, v, dt=dt, steps=1)  # compiles
    start = time.perf_counter()
    path = rollout(model, data, q, v, dt=dt, steps=steps, every=10)
    taken = time.perf_counter() - start
    return Swing(model, path, [energy(model, data, *state) for state in zip(path.q, path.v, strict=True)], taken)


def timings(model: Model, repetitions: int = 2000) -> dict[str, float]:
    """µs of one call from Python of the three main algorithms, best of several rounds."""
    data = Data(model)
    q, v = neutral(model), np.zeros(model.nv)
    calls: dict[str, Callable[[], object]] = {
        "aba": lambda: aba(model, data, q, v, v),
        "rnea": lambda: rnea(model, data, q, v, v),
        "crba": lambda: crba(model, data, q),
    }
    each = repetitions // 5
    return {name: 1e6 * min(timeit.repeat(call, call, number=each)) / each for name, call in calls.items()}


def draw_swing(result: Swing, folder: Path) -> tuple[Path, Path, Path]:
    """A picture of the motion and a plot of its energies as PNG files, and a replay as an HTML file."""
    folder.mkdir(parents=True, exist_ok=True)
    shot, plot, film = (folder / name for name in ("swing.png", "swing_energy.png", "swing.html"))
    path = result.trajectory
    count = len(path.t)
    frames = [int(count * f) for f in (0.0, 0.06, 0.1, 0.13)]
    picture(result.model, path.q[frames[-1]], shot, ghosts=[path.q[i] for i in frames[:-1]])
    energies = {
        name: np.array([getattr(e, name) for e in result.energies]) for name in ("kinetic", "potential", "total")
    }
    panels = {
        "energy [J]": energies,
        "total energy - start [J]": {"drift": energies["total"] - energies["total"][0]},
        "joint position [rad, m]": {n: path.q[:, i] for i, n in enumerate(result.model.joint_names[:8])},
    }
    plot_over_time(plot, path.t, panels, f"{result.model.name} with its motors off")
    replay(Recording.from_trajectory(result.model, path), film)
    return shot, plot, film


def show_swing(out: Path, say: Callable[[str], None], robot: str = "arm") -> None:
    start = time.perf_counter()
    result = swing(robot)
    ready = time.perf_counter() - start
    compiled = compile_count()
    say(f"[bold]{in_terminal(result.model)}[/]")
    say(f"first result after {ready:.1f} s ({compiled.compiled} kernels compiled, {compiled.loaded} from the cache)")
    span = float(result.trajectory.t[-1])
    say(f"{span:g} s of motion at 1 ms (RK4) in {result.seconds:.3f} s: {span / result.seconds:.0f} times real time")
    first, last = result.energies[0], result.energies[-1]
    say(f"energy at the start {first.total:.6f} J, at the end {last.total:.6f} J: drift {result.drift:.1e}")
    each = ", ".join(f"{name} {us:.1f} µs" for name, us in timings(result.model).items())
    say(f"one call from Python: {each}")
    shot, plot, film = draw_swing(result, out)
    say("\nlook at")
    say(f"  [bold]{in_terminal(shot)}[/]  the robot falling, paler is earlier")
    say(f"  [bold]{in_terminal(plot)}[/]  its energies")
    say(f"  [bold]{in_terminal(film)}[/]  the motion, in any browser")
