"""An analysis as a table, as plots, and as a replay in which arrows are forces and the support is the root."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinemorph._escaping import in_plot
from kinemorph._files import PathLike
from kinemorph.io.motion.tables import save_table
from kinemorph.mocap.analysis import Analysis
from kinemorph.mocap.body.inertias import SIDES
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Array
from kinemorph.view.pictures.plots import empty_figure, plot_over_time
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.overlays import Lines
from kinemorph.view.replays.replay import replay as write_page

LEGS = {"hip": "thigh", "knee": "shank", "ankle": "foot"}
FORCE_ARROW_LENGTH = 0.5  # m of arrow for a force as large as the weight
CAMERA_FOLLOW_DISTANCE = 8.0  # m: the camera follows a body that goes farther
GREEN, YELLOW = (0.10, 0.60, 0.25), (0.95, 0.70, 0.10)


def columns(analysis: Analysis) -> dict[str, npt.ArrayLike]:
    """Everything over time, by name: support, forces, pressure, and of each joint moments and power, by method."""
    found: dict[str, npt.ArrayLike] = {
        "time": analysis.t, "support": analysis.contacts.kinds, "reliable": analysis.reliable.astype(int),
        "unexplained": analysis.unexplained,
    }  # fmt: skip
    for method in analysis.loads:
        tag = "" if method == analysis.method else f" ({method})"
        for side in SIDES:
            for axis, force, point in zip("xyz", analysis.force(side, method).T, analysis.pressure(side, method).T):
                found[f"{side} force {axis} [N]{tag}"] = force
                found[f"{side} pressure {axis} [m]{tag}"] = point
        for joint in analysis.joints:
            for axis, moment in zip("xyz", analysis.moment(joint, method).T):
                found[f"{joint} moment {axis} [N m]{tag}"] = moment
            found[f"{joint} power [W]{tag}"] = analysis.power(joint, method)
    return found


@checked_first
def save(analysis: Analysis, path: PathLike) -> None:
    """Write everything into a .csv file, or an HDF5 file (.h5; the extra `io`)."""
    about = {
        "name": analysis.model.name, "mass [kg]": analysis.body.mass, "height [m]": analysis.body.height,
        "cutoff [Hz]": "none" if analysis.cutoff is None else str(analysis.cutoff), "method": analysis.method,
        "hips moved forward and up [m]": str(dict(analysis.body.hips)),
    }  # fmt: skip
    save_table(path, columns(analysis), about)


@checked_first
def plot(analysis: Analysis, path: PathLike) -> None:
    """Vertical forces, and the moments that extend hip, knee and ankle, over time, by all methods."""
    panels: dict[str, dict[str, npt.ArrayLike]] = {}
    for joint, bone in {"": "", **LEGS}.items():
        panels[f"{joint} extension [N m/kg]" if joint else "vertical force / weight"] = {
            f"{side}{'' if method == analysis.method else f', {method}'}": np.where(
                analysis.reliable, _curve(analysis, side, bone, method), np.nan
            )
            for method in analysis.loads for side in SIDES
        }  # fmt: skip
    marks = [float(analysis.t[phase.start]) for phase in analysis.contacts.phases[1:]]
    plot_over_time(Path(path), analysis.t, panels, analysis.model.name, marks)


@checked_first
def plot_stances(analysis: Analysis, path: PathLike, title: str = "") -> None:
    """All whole stances over one another, from contact to toe-off: force and moments of the leg that stands.

    Lines are of the first method, bands reach over all methods.
    """
    figure = empty_figure(11.0, 3.4)
    axes = figure.subplots(1, 4)
    colours = {"left": "tab:blue", "right": "tab:orange"}
    for axis, name in zip(axes, ("vertical force / weight", *(f"{joint} extension [N m/kg]" for joint in LEGS))):
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("stance [%]")
        axis.grid(color="0.92")
        axis.spines[["top", "right"]].set_visible(False)
    for side, stance in analysis.stances():
        frames = slice(stance.start, stance.end)
        share = np.linspace(0.0, 100.0, stance.end - stance.start)
        for axis, bone in zip(axes, ("", *LEGS.values())):
            every = np.array([_curve(analysis, side, bone, method)[frames] for method in analysis.loads])
            low, high = every.min(axis=0), every.max(axis=0)
            axis.fill_between(share, low, high, color=colours[side], alpha=0.15, linewidth=0.0)
            axis.plot(share, every[0], color=colours[side], linewidth=1.3, label=side)
    for side, colour in colours.items():
        axes[0].plot([], [], color=colour, label=side)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].legend(handles[-2:], labels[-2:], frameon=False, fontsize=8)
    figure.suptitle(in_plot(title or analysis.model.name))
    figure.savefig(Path(path), dpi=130)


def _curve(analysis: Analysis, side: str, bone: str, method: str) -> Array:
    """The moment that extends a joint; without one, the vertical force."""
    if bone:
        return analysis.extension(side, bone, method)
    return analysis.force(side, method)[:, 2] / analysis.weight


@checked_first
def recording_of(analysis: Analysis) -> Recording:
    """The motion, with an event and another root at every change of support: what stands is orange."""
    recording = Recording(analysis.model.name)
    support = analysis.support
    for phase in analysis.contacts.phases:
        frames = np.arange(phase.start, phase.end)
        if phase.kind == "flight":
            model, q = analysis.model, analysis.motion.q[frames]
        else:
            stance = support.stances["right" if phase.kind == "right" else "left"]
            model, q = stance.seen.model, stance.seen.q[np.searchsorted(stance.frames, frames)]
        what = "flight" if phase.kind == "flight" else f"{phase.kind} support"
        recording.chapter(float(analysis.t[phase.start]), what, model)
        for k, row in zip(frames, q, strict=True):
            recording.add(model, row, float(analysis.t[k]))
    return recording


def arrows(analysis: Analysis) -> list[Lines]:
    """Forces of the ground, as lines from the centre of pressure."""
    found = []
    for side, colour in zip(SIDES, (GREEN, YELLOW)):
        points, forces = analysis.pressure(side), analysis.force(side) * (FORCE_ARROW_LENGTH / analysis.weight)
        frames = []
        for point, force in zip(points, forces):
            if np.isfinite(point).all():
                frames.append(arrow(point, point + force))
            else:
                frames.append(np.zeros((0, 2, 3)))
        found.append(Lines(f"{side} force", colour, frames, width=4.0))
    return found


def arrow(start: Array, end: Array) -> Array:
    """A shaft and two barbs (3, 2, 3)."""
    way = end - start
    side = np.cross(way, [0.0, 1.0, 0.0])
    side = side / max(float(np.linalg.norm(side)), 1e-9) * 0.06 * np.linalg.norm(way)
    neck = end - 0.14 * way
    return np.array([[start, end], [end, neck + side], [end, neck - side]])


@checked_first
def replay(analysis: Analysis, path: PathLike, rate: float = 30.0) -> None:
    """One HTML page with the motion, arrows for the forces of the ground, and the root of support in orange."""
    reach = float(np.linalg.norm(np.ptp(analysis.motion.q[:, :2], axis=0)))
    follow = analysis.model.names[0] if reach > CAMERA_FOLLOW_DISTANCE else None
    write_page(
        recording_of(analysis), Path(path), rate=rate, follow=follow, direction=(0.6, -2.0, 0.5),
        overlays=arrows(analysis),
    )  # fmt: skip
