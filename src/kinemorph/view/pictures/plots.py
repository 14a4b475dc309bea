"""Plots over time. Matplotlib is imported when the first one is drawn: it comes with the extra `view`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._escaping import in_plot
from kinemorph._extras import require_module
from kinemorph.motion.log import Log

LONGEST_LEGEND_NAME = 26  # letters of a name in a legend
LONGEST_AXIS_LINE = 26  # letters of a line beside an axis: a panel is not higher
Curves = Mapping[str, npt.ArrayLike]


def empty_figure(width: float, height: float) -> Any:
    """An empty figure of some inches that is drawn without a window."""
    require_module("matplotlib", "view", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def plot_over_time(
    file: Path | str, t: npt.ArrayLike, panels: Mapping[str, Curves], title: str = "", marks: Sequence[float] = ()
) -> None:
    """Draw panels one above the other into a PNG file: {"energy [J]": {"kinetic": ..., "potential": ...}, ...}.

    `marks` are times with a vertical line, such as events.
    """
    over_time(t, panels, title, marks).savefig(file, dpi=130)


def over_time(t: npt.ArrayLike, panels: Mapping[str, Curves], title: str = "", marks: Sequence[float] = ()) -> Any:
    """The figure of `plot_over_time`."""
    figure = empty_figure(9.0, 1.2 + 2.6 * len(panels))
    axes = np.atleast_1d(figure.subplots(len(panels), 1, sharex=True))
    for axis, (label, curves) in zip(axes, panels.items(), strict=True):
        for name, values in curves.items():
            axis.plot(t, values, label=_shorten_name(name), linewidth=1.4)
        for mark in marks:
            axis.axvline(mark, color="0.6", linewidth=0.8, linestyle=":")
        axis.set_ylabel(fill(in_plot(label), LONGEST_AXIS_LINE))
        axis.grid(color="0.92")
        axis.spines[["top", "right"]].set_visible(False)
        if len(curves) <= 8:  # beside the panel: names are long, and panels are wide enough
            axis.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(in_plot(title))
    return figure


def _shorten_name(name: str) -> str:
    return in_plot(name if len(name) <= LONGEST_LEGEND_NAME else f"{name[: LONGEST_LEGEND_NAME - 1]}…")


def plot_log(file: Path | str, log: Log, title: str = "") -> None:
    """Draw what a simulation logs: energies, what events cost, how far loops are open, and how many coordinates."""
    total = log.total + log.lost
    energies = {"kinetic": log.kinetic, "potential": log.potential, "total": log.total, "lost at events": log.lost}
    if log.elastic.any():
        energies["elastic"] = log.elastic
    panels: dict[str, Curves] = {
        "energy [J]": energies,
        "total + lost - start [J]": {"drift": total - total[0]},
        "count": {"coordinates": log.coordinates, "mobility": log.mobility},
    }
    if log.loop_error.any():
        panels["open loops [m, rad]"] = {"error": log.loop_error, "speed, per s": log.loop_speed}
    plot_over_time(file, log.t, panels, title, [h.t for h in log.happenings if h.changed])
