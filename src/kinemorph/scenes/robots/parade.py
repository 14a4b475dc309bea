"""All classic mechanisms side by side, each moving by itself: how mobile they are, how closed their loops stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.constraint.energy import energy
from kinemorph.constraint.generalized import generalized
from kinemorph.motion.rollout import Trajectory, rollout
from kinemorph.multibody.checks import Array
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.scenes.robots import catalog, mechanisms
from kinemorph.scenes.robots.mechanisms import Scene
from kinemorph.spatial.pose import Pose
from kinemorph.structure.add import add
from kinemorph.view.pictures.picture import picture, solids_of
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.replay import replay

PARADE_DT = 1e-3


@dataclass(frozen=True)
class Part:
    """A mechanism in motion, and where it stands in the parade."""

    name: str
    model: Model
    path: Trajectory
    mobility: int
    drift: float  # change of the total energy, a share of the largest kinetic energy; dampers take some of it
    place: Pose


def parade(seconds: float = 4.0) -> list[Part]:
    """Cranks start with a push; what stands has springs at its motors, slack where it starts, and sinks into them."""
    table, corner = Pose.turn((0, 0, 1), -1.1, (3.5, 2.2, -0.4)), Pose.turn((0, 0, 1), -0.4, (1.6, -1.6, 0.1))
    cast: list[tuple[str, Scene, dict[Any, float], dict[str, float], Pose]] = [
        ("four-bar", mechanisms.four_bar(), {"crank": -4.0}, {}, Pose((0.0, 0.0, 0.35))),
        ("slider-crank", mechanisms.slider_crank(), {"crank": -9.0}, {}, Pose((1.5, 0.0, 0.35))),
        ("Bennett's linkage", mechanisms.bennett(), {"bar0": 3.0}, {}, Pose((3.3, -0.2, 0.4))),
        ("Stewart platform", mechanisms.stewart(), {}, {"piston": 900.0}, Pose((0.4, 1.8, 0.0))),
        ("delta robot", mechanisms.delta(), {}, {"arm": 40.0}, Pose((2.0, 1.8, 0.9))),
        ("two arms with a box", mechanisms.two_arms(), {}, {"left": 120.0, "right": 120.0}, table),
        ("N&Y's free flyer", mechanisms.free_flyer(), {3: 1.0, "link1": -2.0}, {}, corner),
    ]
    parts = [_run(name, scene, push, springs, place, seconds) for name, scene, push, springs, place in cast]
    if catalog.folder() is not None:
        hung = mechanisms.hung_cassie()
        light = hung.model.with_dofs(damping=0.05 * hung.model.dofs["damping"], **catalog.UNSTOPPED)
        parts.append(_run("Cassie", Scene(light, hung.q), {}, {}, Pose.turn((0, 0, 1), -0.5, (5.2, 0.6, 0.0)), seconds))
    return parts


def _run(
    name: str, scene: Scene, push: dict[Any, float], springs: dict[str, float], place: Pose, seconds: float
) -> Part:
    model = _sprung(scene, springs) if springs else scene.model
    data = Data(model)
    coordinates = generalized(model, data, scene.q, keep=push)
    v = coordinates.W @ [*push.values()] if push else np.zeros(model.nv)
    path = rollout(model, data, scene.q, v, dt=PARADE_DT, steps=round(seconds / PARADE_DT), every=20)
    energies = [energy(model, data, *state) for state in zip(path.q, path.v, strict=True)]
    totals = np.array([e.total for e in energies])
    drift = float(np.abs(totals - totals[0]).max() / max(e.kinetic for e in energies))
    return Part(name, model, path, coordinates.mobility, drift, place)


def matrices_of_the_paper() -> dict[str, Array]:
    """J_C, H, W and S of N&Y section VII-A (eqs. 45 to 48), rows and columns as there: linear before angular."""
    model, q = mechanisms.free_flyer()
    found = generalized(model, Data(model), q, actuated=["link1", "link1v"], keep=[3, "link1"])
    order = [3, 4, 5, 0, 1, 2, 6, 7]  # θ_1 to θ_8 among ours
    rows = [found.dependent.index(k) for k in order if k not in found.independent]
    J = found.J[order[:6]][:, order]
    return {"J_C (eq. 45)": J, "H (eq. 46)": found.H[rows], "W (eq. 47)": found.W[order[:7]], "S (eq. 48)": found.S}


def _sprung(scene: Scene, springs: dict[str, float]) -> Model:
    """Springs (N/m, N m/rad) at joints whose names start with the given words, slack at the start."""
    model = scene.model
    dofs = model.dofs.copy()
    for row in dofs:
        joint = model.joint_names[row["link"]]
        row["stiffness"] = sum(k for word, k in springs.items() if joint.startswith(word))
    return Model(
        model.name, model.links, dofs, model.names, model.joint_names, scene.q, model.gravity, model.shapes,
        model.frames, loops=model.loops,
    )  # fmt: skip


def together(parts: list[Part]) -> Model:
    """One model of all mechanisms, each in its place, without loops. Its q is theirs, one after the other."""
    model, state = Builder("parade").build(lenient=True), State(np.zeros(0), np.zeros(0))
    for part in parts:
        report = add(model, state, part.model.with_loops([]), at=part.place, prefix=f"{part.name}: ")
        model, state = report.model, report.state
    return model


def _above(part: Part, frame: int) -> Array:
    """A point above a mechanism, where its name is."""
    points = np.concatenate([part.place.apply(s.vertices) for s in solids_of(part.model, part.path.q[frame])])
    low, high = points.min(axis=0), points.max(axis=0)
    return np.array([*(0.5 * (low + high)[:2]), high[2] + 0.12])


def draw_parade(parts: list[Part], folder: Path) -> tuple[Path, Path]:
    """A picture as a PNG file, paler is earlier, and a replay as an HTML file."""
    folder.mkdir(parents=True, exist_ok=True)
    shot, film = folder / "mechanisms.png", folder / "mechanisms.html"
    model = together(parts)
    motion: Array = np.concatenate([part.path.q for part in parts], axis=1)
    early = [motion[i] for i in (0, 4, 8)]
    names = {part.name: _above(part, 12) for part in parts}
    picture(model, motion[12], shot, ghosts=early, direction=(0.25, -1.0, 0.35), size=(1500, 720), names=names)
    recording = Recording("classic mechanisms")
    for t, q in zip(parts[0].path.t, motion, strict=True):
        recording.add(model, q, float(t))
    replay(recording, film, direction=(0.25, -1.0, 0.35))
    return shot, film


def show_parade(out: Path, say: Callable[[Any], None]) -> None:
    from rich.table import Table

    parts = parade()
    table = Table(title=f"closed chains: {parts[0].path.t[-1]:g} s at {1e3 * PARADE_DT:g} ms")
    for heading in ("mechanism", "loops", "nv", "rows", "mobility", "open by", "energy drift"):
        table.add_column(heading, justify="left" if heading == "mechanism" else "right")
    for part in parts:
        model = part.model
        numbers = (len(model.loops), model.nv, model.m, part.mobility)
        drift = "damped" if model.dofs["damping"].any() else f"{part.drift:.0e}"
        table.add_row(part.name, *map(str, numbers), f"{part.path.loop_error:.0e}", drift)
    say(table)
    if catalog.folder() is None:
        say("Cassie's legs are left out, for its files are not here: pip install example-robot-data")
    for name, matrix in matrices_of_the_paper().items():
        say(f"N&Y section VII-A: {name}\n{matrix + 0.0}")
    shot, film = draw_parade(parts, out)
    say(f"\nlook at [bold]{shot}[/], paler is earlier, and at [bold]{film}[/], in any browser")
