"""A demolition ball on a chain swings into one wall of bricks, or into two behind each other (Fontijne 3.11.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.multibody.model.joint import Joint
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.scenes.pictures.picture_sheets import View, draw_views
from kinemorph.scenes.thesis.brick_wall import BRICK, CLAY, fallen, lay
from kinemorph.spatial.pose import Pose
from kinemorph.world.body import Body
from kinemorph.world.control.events import EventRecord
from kinemorph.world.world import World

LINKS, LINK, WIRE = 12, 0.2, 0.025  # of the chain: how many, how long, and how thick (m)
BALL, STEEL = 0.2, 2500.0  # m, kg/m³
HOOK, REACH = 3.1, 2.4  # m, how high the chain hangs, and how far from the mast
DRAWN = math.radians(75.0)  # from straight down, as it is let go
BEHIND = 0.6  # m, from the middle of the first wall to that of the second
DEMOLITION_SECONDS = 4.0
G = 9.81  # m/s²
DEMOLITION_DT = 1e-3  # s
IRON = Material(friction=0.4, restitution=0.1)


@dataclass
class Demolition:
    """The ball on its chain, the walls, and how fast the ball was when it met the first brick."""

    world: World
    ball: Body = field(init=False)
    chain: list[Body] = field(default_factory=list)
    walls: list[list[Body]] = field(default_factory=list)
    starts: list[list[Any]] = field(default_factory=list)
    hit: tuple[float, float] = (math.inf, 0.0)  # s, m/s
    fast: float = 0.0  # m/s, of the ball until it hits

    def watch(self, world: World) -> None:
        """How fast the ball is, before each step."""
        if self.ball.alive:  # a user of the viewer may have removed it
            self.fast = float(np.linalg.norm(self.ball.velocity))

    def meet(self, world: World, moment: EventRecord) -> None:
        """It touches something for the first time, which has slowed it already."""
        if self.hit[0] == math.inf:
            self.hit = moment.time, self.fast

    def energy(self) -> float:
        """J, of all there is."""
        return self.world.forest.kinetic_energy() + self.world.forest.potential_energy()

    def fallen(self) -> list[int]:
        """Of each wall, how many bricks are far from where they were."""
        return [fallen(bricks, starts) for bricks, starts in zip(self.walls, self.starts, strict=True)]


def crane(hook: Any) -> list[Shape]:
    """What the chain hangs on: a mast beside the wall, and a boom."""
    x, y, z = hook
    yellow = (0.88, 0.70, 0.20, 1.0)
    mast = Shape.box((0.16, 0.16, z + 0.1), Pose((x, y + REACH, 0.5 * z + 0.05)), colour=yellow)
    return [mast, Shape.box((0.12, REACH + 0.3, 0.12), Pose((x, y + 0.5 * REACH, z + 0.1)), colour=yellow)]


def demolition(walls: int = 1, **settings: Any) -> Demolition:
    """The ball is drawn back along a straight chain, and let go."""
    world = World(**{"dt": DEMOLITION_DT, "material": CLAY, **settings})
    world.add_ground()
    scene = Demolition(world)
    scene.walls = [lay(world, BEHIND * i) for i in range(walls)]
    scene.starts = [[brick.position for brick in bricks] for bricks in scene.walls]
    hook = np.array([-0.5 * BRICK[0] - BALL, 0.0, HOOK])  # straight down, the ball would just touch the wall
    for shape in crane(hook):
        world.add_ground(shape)
    turn = Pose.turn((0, 1, 0), DRAWN)
    down = -turn.rotation[:, 2]
    carrier: Body | None = None
    for i in range(LINKS):
        colour = (0.30, 0.31, 0.34, 1.0) if i % 2 else (0.46, 0.47, 0.50, 1.0)
        shape = Shape.capsule(WIRE, LINK - 1.2 * WIRE, colour=colour)
        at = Pose(hook + (i + 0.5) * LINK * down, turn.rotation)
        link = world.add(shape, at=at, density=7800.0, material=IRON, name=f"link {i}")
        world.connect(carrier, link, Joint.spherical(damping=0.02), hook + i * LINK * down)
        scene.chain.append(link)
        carrier = link
    end = hook + LINKS * LINK * down
    ball = Shape.sphere(BALL, colour=(0.20, 0.20, 0.23, 1.0))
    scene.ball = world.add(ball, at=Pose(end + BALL * down, turn.rotation), density=STEEL, material=IRON, name="ball")
    world.connect(carrier, scene.ball, Joint.fixed(), end)
    world.when(Event.contact(scene.ball, name="the ball meets a brick"), scene.meet)
    world.every(world.dt, scene.watch, name="speed of the ball")
    return scene


def double(**settings: Any) -> Demolition:
    """The same in front of two walls."""
    return demolition(2, **settings)


def draw_demolition(folder: Path, scene: Demolition) -> tuple[Path, Path]:
    """Let it swing: six pictures, and a replay."""
    name = "demolition" if len(scene.walls) == 1 else "double_demolition"
    recording = film_run(scene.world, DEMOLITION_SECONDS, name.replace("_", " "))
    t = scene.hit[0] if math.isfinite(scene.hit[0]) else 0.0
    low, high = (-1.6, -1.6, 0.0), (2.0, 2.0, 2.8)
    times = (0.0, t - 0.25, t + 0.05, t + 0.2, t + 0.45, DEMOLITION_SECONDS)
    views = [View(when, (1.0, -1.0, 0.4), low, high) for when in times]
    return draw_views(recording, folder, name, views, size=(330, 250), columns=3)


def show_demolition(out: Path, say: Callable[[str], None], walls: int = 1, **settings: Any) -> None:
    scene = demolition(walls, **settings)
    pictures, film = draw_demolition(out, scene)
    when, fast = scene.hit
    weight = f"{scene.ball.mass:.0f} kg"
    say(f"[bold]a ball of {weight}[/] on a chain of {LINKS} links is at {fast:.2f} m/s after {when:.3f} s")
    for i, count in enumerate(scene.fallen()):
        say(f"wall {i + 1}: {count} of {len(scene.walls[i])} bricks are farther than a brick from where they were")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")


def show_two(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    """The same with two walls."""
    show_demolition(out, say, walls=2, **settings)
