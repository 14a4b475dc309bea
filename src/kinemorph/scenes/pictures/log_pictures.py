"""Results of a logged simulation: a plot, a strip of pictures, and a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kinemorph.motion.log import Log
from kinemorph.view.pictures.plots import plot_log
from kinemorph.view.pictures.strip import strip
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
    strip(log, times, pictures, direction=direction, size=size)
    return plot, pictures, film
