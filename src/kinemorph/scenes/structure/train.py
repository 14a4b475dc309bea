"""A train of wagons that couple at speed and uncouple in motion, on a track without friction.

The engine is pushed for a while, meets wagons that stand, and couples to each when their buffers touch: the buffers
spring back a little, and the coupling takes the rest of the speed between them. Later the last wagons are uncoupled
while all of them move. Nothing acts along the track but the push, so momentum is known at all times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kinemorph.scenes.files.scene import Scene, read_scene
from kinemorph.scenes.pictures.film_pictures import draw_film, film_run
from kinemorph.structure.forest.forest import Edit

_TABLE = read_scene("train")[1]
_TIMES = {change.name: change.at or 0.0 for change in _TABLE.change}
MASSES = tuple(body.mass or 0.0 for body in _TABLE.body)  # kg, of the engine and three wagons
FORCE, PUSHED, UNCOUPLE = _TABLE.push[0].force[0], _TIMES["coasts"], _TIMES["uncouples"]  # N, s, s
RESTITUTION = _TABLE.material[0].restitution  # of the buffers


class Train(Scene):
    """Wagons in a world, and what coupled them."""

    def __init__(self, changes: Mapping[str, Any]) -> None:
        super().__init__("train", changes)
        self.wagons = [self.world[body.name] for body in _TABLE.body]

    @property
    def couplings(self) -> dict[str, Edit]:
        """The report of each coupling, by the name of the second wagon."""
        made = [h for h in self.happened if h.what == "connect"]
        return {h.name.partition(" meets ")[2]: h.change for h in made if h.change is not None}

    @property
    def jumps(self) -> list[float]:
        """N s: momentum that an edit has changed."""
        return [h.change.momentum_error for h in self.happened if h.change is not None]

    def momentum(self) -> float:
        """N s, of all wagons along the track."""
        return float(self.world.forest.momentum()[3])


def train(**settings: Any) -> Train:
    """An engine that is about to be pushed, and three wagons that stand on its track."""
    return Train({"world": settings})


def show_train(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = train(**settings)
    recording = film_run(scene.world, 9.0, "train")
    for name, change in scene.couplings.items():
        lost = f"{change.energy_lost:.1f} J lost"
        say(f"{name} is coupled: {change.impulse[3]:+.2f} N s in the coupling, {lost}")
    worst = max(map(abs, scene.jumps))
    say(f"momentum along the track: no edit changes it by more than {worst:.1e} of {FORCE * PUSHED:g} N s")
    say(", ".join(f"{body.name} {body.velocity[0]:.4f} m/s" for body in scene.wagons))
    times = (0.0, 1.6, 3.0, 5.0, 6.0, 8.0)
    pictures, film = draw_film(recording, out, "train", times, direction=(0.1, -1.6, 0.3), size=(900, 120))
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
