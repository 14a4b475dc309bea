"""A bridge of planks that hang between two towers, and breaks link by link under what comes down on it.

Planks are joined by hinges, the last one to the other tower: a loop through the world. Each hinge breaks where it bears
more than it holds (`Event.load`), whether it belongs to the tree or closes the loop. First the bridge hangs by itself,
then a weight lies on it, then a heavier one falls.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kinemorph.scenes.files.scene import Scene, load_scene, read_scene
from kinemorph.scenes.pictures.film_pictures import draw_film, film_run

_TABLE = read_scene("chain_bridge")[1]
_HINGES = [joint.name for joint in _TABLE.joint if joint.name is not None]
_PLANKS = [body.name for body in _TABLE.body if body.name.startswith("plank")]
COUNT = len(_PLANKS)
STRENGTH = _TABLE.joint[0].strength  # N, of a hinge


class Bridge:
    """Planks in a world, and when which hinge broke."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.world = scene, scene.world
        self.strength = scene.table.joint[0].strength
        self.planks = [self.world[name] for name in _PLANKS]
        self.hinges = {name: self.world.joint_id(name) for name in _HINGES}

    @property
    def broken(self) -> list[tuple[float, str, float]]:
        """s, which, and N that it bore."""
        return self.scene.broken


def bridge(strength: float = STRENGTH, **settings: Any) -> Bridge:
    """The bridge between its towers, with a light weight on its middle."""
    hinges = {name: {"strength": strength} for name in _HINGES}
    return Bridge(load_scene("chain_bridge", {"world": settings, "joint": hinges}))


def draw_chain_bridge(folder: Path, **settings: Any) -> tuple[Path, Path]:
    """A strip of pictures, and a replay."""
    recording = film_run(bridge(**settings).world, 4.0, "chain bridge")
    times = (0.0, 1.4, 1.8, 1.95, 2.1, 2.4, 3.8)
    return draw_film(recording, folder, "chain_bridge", times, direction=(0.4, -1.6, 0.35), size=(520, 260))


def show_chain_bridge(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = bridge(**settings)
    scene.world.run(4.0)
    say(f"[bold]{COUNT} planks[/], {len(scene.hinges)} hinges that hold {STRENGTH:g} N each")
    for t, name, force in scene.broken:
        say(f"  {t:.3f} s  {name} bears {force:.0f} N, and breaks")
    pictures, film = draw_chain_bridge(out, **settings)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
