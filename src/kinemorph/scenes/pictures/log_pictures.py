"""Results of a logged simulation: a plot, a strip of pictures, and a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kinemorph.motion.log import Log
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Array
from kinemorph.view.pictures.picture import save_png, solids_of
from kinemorph.view.pictures.plots import plot_log
from kinemorph.view.pictures.raster import Camera, draw
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.replay import replay


class LoggedMotion(NamedTuple):
    """A log, and the mobility in each of its stretches."""

    log: Log
    mobility: list[int]

    @property
    def coordinates(self) -> list[int]:
        """How many each stretch has."""
        return [stretch.coordinates for stretch in self.log.stretches]

    def tell(self, say: Callable[[str], None]) -> None:
        """Say which model it is of, what happened, and how well energy and loops were kept."""
        log = self.log
        say(f"[bold]{log.stretches[0].model}[/]")
        say(f"coordinates {', '.join(map(str, self.coordinates))}; of these free to move {self.mobility}")
        for h in log.happenings:
            say(f"  {h.t:.3f} s  {h.name}" + (f", energy lost {h.lost:.1e} J" if h.changed else ""))
        worst = f"{log.loop_error.max():.1e} m"
        say(f"energy {log.total[0]:.3f} J, drift between events {log.drift:.1e} J; loops open {worst}")


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
    moments = [solids_of(*_at_time(log, t)) for t in times]
    points = np.concatenate([s.vertices for solids in moments for s in solids])
    camera, ground = Camera.framing(points, direction, size[0] / size[1]), float(points[:, 2].min())
    images = [draw(solids, camera, *size, ground=ground) for solids in moments]
    save_png(pictures, np.concatenate(images, axis=1))
    return plot, pictures, film


def _at_time(log: Log, t: float) -> tuple[Model, Array]:
    """The model and the configuration of the last frame that is not later than t."""
    stretch = next((s for s in reversed(log.stretches) if s.t[0] <= t), log.stretches[0])
    return stretch.model, stretch.q[max(int(np.searchsorted(stretch.t, t, side="right")) - 1, 0)]
