"""A tower of bricks that are glued to each other, until a ball hits it: glue breaks where it bears too much.

Two bricks a course, across those below. Each is glued to both below it by fixed joints, twice as many as a tree needs:
the others close loops. What a joint bears is measured in every step (`Event.load`), and where it is more than the glue
holds, the joint is cut; if a loop is left that holds the brick, its joint carries it from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.multibody.joint import Joint
from kinemorph.scenes.filming import draw_film, film_run
from kinemorph.structure.forest import Change
from kinemorph.world.body import Body
from kinemorph.world.events import Moment
from kinemorph.world.world import World

BRICK = (0.4, 0.2, 0.15)  # m
COURSES = 8
STRENGTH = 5e3  # N, of the glue between two bricks
BALL, SPEED, AIM = 0.15, 12.0, 0.9  # m, m/s, m: radius, how fast it is, and how high it hits
DT = 1e-3  # s
CLAY = Material(friction=0.6, restitution=0.0)


@dataclass
class Tower:
    """Bricks in a world, and when which glue broke."""

    world: World
    ball: Body
    strength: float  # N, of the glue between two bricks
    bricks: list[Body] = field(default_factory=list)
    glue: dict[str, Change] = field(default_factory=dict)
    first: tuple[float, str] = (-1.0, "")  # s: what bore most when something last bore too much
    broken: list[tuple[float, str, float]] = field(default_factory=list)  # s, which, and N that it bore

    def watch(self, name: str) -> None:
        """Have it give way if it bears too much."""
        self.world.when(Event.load(self.glue[name].joint, self.strength, times=1, name=name), self.give_way)

    def give_way(self, world: World, moment: Moment) -> None:
        """Glue bears more than it holds. What bears most breaks first, which may be a relief for the others."""
        if self.first[0] != moment.time:
            loads = {watch.event.name: watch.value for watch in world.watches if watch.event.name in self.glue}
            self.first = moment.time, max(loads, key=lambda name: loads[name])
        if moment.name != self.first[1]:
            self.watch(moment.name)
            return
        world.cut(self.glue[moment.name])
        self.broken.append((moment.time, moment.name, moment.value))

    @property
    def parts(self) -> int:
        """How many pieces the tower is in."""
        return len({self.world.forest.tree_of(brick.id) for brick in self.bricks})


def tower(speed: float = SPEED, strength: float = STRENGTH, **settings: Any) -> Tower:
    """The tower, and the ball on its way."""
    world = World(**{"dt": DT, "material": CLAY, **settings})
    world.add_ground()
    colours = ((0.72, 0.36, 0.26, 1.0), (0.80, 0.62, 0.42, 1.0))
    x, y, z = BRICK
    ball = Shape.sphere(BALL, colour=(0.2, 0.2, 0.22, 1.0))
    at = (-1.5, 0.05, AIM)
    scene = Tower(world, world.add(ball, at, twist=(0, 0, 0, speed, 0, 0), density=7800.0, name="ball"), strength)
    below: list[Body] = []
    for i in range(COURSES):
        size = (x, y, z) if i % 2 else (y, x, z)
        row: list[Body] = []
        for side in (-1.0, 1.0):
            offset = side * 0.5 * y
            place = (0.0, offset, (i + 0.5) * z) if i % 2 else (offset, 0.0, (i + 0.5) * z)
            shape = Shape.box(size, colour=colours[i % 2])
            row.append(world.add(shape, at=place, density=1800.0, name=f"brick {len(scene.bricks) + len(row)}"))
        for brick in row:
            for support in below:
                name = f"glue of {support.name} and {brick.name}"
                middle = 0.5 * (support.position + brick.position)
                scene.glue[name] = world.connect(support, brick, Joint.fixed(name=name), middle)
        scene.bricks += row
        below = row
    for name in scene.glue:
        scene.watch(name)
    return scene


def draw(folder: Path, **settings: Any) -> tuple[Path, Path]:
    """A strip of pictures, and a replay."""
    recording = film_run(tower(**settings).world, 2.5, "glued tower")
    times = (0.0, 0.12, 0.2, 0.35, 0.6, 2.0)
    return draw_film(recording, folder, "glued_tower", times, direction=(0.5, -1.5, 0.4), size=(260, 280))


def demo(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = tower(**settings)
    scene.world.run(3.0)
    say(f"[bold]{len(scene.bricks)} bricks[/], {len(scene.glue)} joints of glue that hold {STRENGTH:g} N")
    for t, name, force in scene.broken:
        say(f"  {t:.3f} s  {name} bears {force:.0f} N, and breaks")
    say(f"the tower is in {scene.parts} pieces")
    pictures, film = draw(out, **settings)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
