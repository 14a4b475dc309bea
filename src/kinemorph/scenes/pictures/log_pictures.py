"""Results of a logged simulation: a plot, a strip of pictures, and a replay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kinemorph.motion.log import Log
from kinemorph.view.pictures.plots import plot_log
from kinemorph.view.pictures.strip import strip
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.replay import replay


def draw_log(
    log: Log,
    folder: Path,
    name: str,
    title: str,
    times: Sequence[float],
    *,
    direction: Sequence[float],
    size: tuple[int, int],
    marker: float = 0.04,
) -> tuple[Path, Path, Path]:
    """Energies, loops and coordinates over time, a strip of pictures at some times, and a replay: files in a folder.

    `marker` is the radius of the balls that stand for joints of loops (m).
    """
    folder.mkdir(parents=True, exist_ok=True)
    plot, pictures, film = (folder / file for file in (f"{name}.png", f"{name}_strip.png", f"{name}.html"))
    plot_log(plot, log, title)
    replay(Recording.from_log(log, marker=marker), film, direction=direction)
    strip(log, times, pictures, direction=direction, size=size)
    return plot, pictures, film
