"""A tower of bricks that are glued to each other, until a ball hits it: glue breaks where it bears too much.

Two bricks a course, across those below. Each is glued to both below it by fixed joints, twice as many as a tree needs:
the others close loops. What a joint bears is measured in every step (`Event.load`), and where it is more than the glue
holds, the joint is cut; if a loop is left that holds the brick, its joint carries it from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kinemorph.scenes.files.scene import Scene, read_scene
from kinemorph.scenes.pictures.film_pictures import draw_film, film_run

_TABLE = read_scene("glued_tower")[1]
BALL, SPEED = _TABLE.body[0].sphere or 0.0, _TABLE.body[0].velocity[0]  # m, m/s: radius, and how fast it is
BRICK = _TABLE.body[-1].box or (0.0, 0.0, 0.0)  # m
STRENGTH = _TABLE.joint[0].strength  # N, of the glue between two bricks


class Tower(Scene):
    """Bricks in a world, and when which glue broke."""

    def __init__(self, changes: Mapping[str, Any]) -> None:
        super().__init__("glued_tower", changes)
        self.strength = self.table.joint[0].strength
        self.ball = self.world["ball"]
        self.bricks = [self.world[body.name] for body in _TABLE.body[1:]]
        self.glue = [joint.name for joint in _TABLE.joint]

    @property
    def parts(self) -> int:
        """How many pieces the tower is in."""
        return len({self.world.forest.tree_of(brick.id) for brick in self.bricks})


def tower(speed: float = SPEED, strength: float = STRENGTH, **settings: Any) -> Tower:
    """The tower, and the ball on its way."""
    ball, glue = {"velocity": [speed, 0.0, 0.0]}, {"strength": strength}
    return Tower({"world": settings, "body": {"ball": ball}, "default": {"joint": glue}})


def show_glued_tower(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = tower(**settings)
    scene.world.run(3.0)
    say(f"[bold]{len(scene.bricks)} bricks[/], {len(scene.glue)} joints of glue that hold {STRENGTH:g} N")
    for t, name, force in scene.broken:
        say(f"  {t:.3f} s  {name} bears {force:.0f} N, and breaks")
    say(f"the tower is in {scene.parts} pieces")
    recording = film_run(tower(**settings).world, 2.5, "glued tower")
    times = (0.0, 0.12, 0.2, 0.35, 0.6, 2.0)
    pictures, film = draw_film(recording, out, "glued_tower", times, direction=(0.5, -1.5, 0.4), size=(260, 280))
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
