"""A bridge of planks that hang between two towers, and breaks link by link under what comes down on it.

Planks are joined by hinges, the last one to the other tower: a loop through the world. Each hinge breaks where it bears
more than it holds (`Event.load`), whether it belongs to the tree or closes the loop. First the bridge hangs by itself,
then a weight lies on it, then a heavier one falls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kinemorph.scenes.files.scene import Scene, read_scene
from kinemorph.scenes.pictures.film_pictures import draw_film, film_run

_TABLE = read_scene("chain_bridge")[1]
_HINGES = [joint.name for joint in _TABLE.joint if joint.name is not None]
_PLANKS = [body.name for body in _TABLE.body if body.name.startswith("plank")]
COUNT = len(_PLANKS)
STRENGTH = _TABLE.joint[0].strength  # N, of a hinge


class Bridge(Scene):
    """Planks in a world, and when which hinge broke."""

    def __init__(self, changes: Mapping[str, Any]) -> None:
        super().__init__("chain_bridge", changes)
        self.strength = self.table.joint[0].strength
        self.planks = [self.world[name] for name in _PLANKS]
        self.hinges = {name: self.world.joint_id(name) for name in _HINGES}


def bridge(strength: float = STRENGTH, **settings: Any) -> Bridge:
    """The bridge between its towers, with a light weight on its middle."""
    hinges = {name: {"strength": strength} for name in _HINGES}
    return Bridge({"world": settings, "joint": hinges})


def show_chain_bridge(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = bridge(**settings)
    recording = film_run(scene.world, 4.0, "chain bridge")
    say(f"[bold]{COUNT} planks[/], {len(scene.hinges)} hinges that hold {STRENGTH:g} N each")
    for t, name, force in scene.broken:
        say(f"  {t:.3f} s  {name} bears {force:.0f} N, and breaks")
    times = (0.0, 1.4, 1.8, 1.95, 2.1, 2.4, 3.8)
    pictures, film = draw_film(recording, out, "chain_bridge", times, direction=(0.4, -1.6, 0.35), size=(520, 260))
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
