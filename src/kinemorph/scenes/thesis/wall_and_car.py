"""A car drives down a slope and into a wall of 34 bricks (Fontijne 3.11.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.scenes.pictures.picture_sheets import View, draw_views
from kinemorph.scenes.thesis.brick_wall import BRICK, fallen, lay
from kinemorph.scenes.thesis.car import RUBBER, Driver, drive
from kinemorph.spatial.pose import Pose
from kinemorph.world.body import Body
from kinemorph.world.control.events import EventRecord
from kinemorph.world.world import World

SLOPE, LENGTH, WIDTH = math.radians(16.0), 10.0, 1.6  # rad, m, m: of the ramp
FLAT_LENGTH = 2.4  # m, from its foot to the wall
WANTED_SPEED = 10.0  # m/s that the driver wants
SETTLING_TIME = 0.75  # s, in which the wall settles
WALL_AND_CAR_SECONDS = 7.0
WALL_AND_CAR_DT = 2e-3  # s


@dataclass
class Crash:
    """The car, the wall, and when they met."""

    world: World
    driver: Driver = field(init=False)
    bricks: list[Body] = field(default_factory=list)
    starts: list[Any] = field(default_factory=list)
    hit: tuple[float, float] = (math.inf, 0.0)  # s, m/s: when, and how fast the car was until then
    pace: float = 0.0  # m/s, of the car at the last decision of its driver

    def speed(self, pose: Pose) -> float:
        """m/s: the driver waits, goes, and brakes when it is too late."""
        self.pace = self.driver.pace
        return WANTED_SPEED if SETTLING_TIME < self.world.time < self.hit[0] else 0.0

    def meet(self, world: World, moment: EventRecord) -> None:
        """The first brick is touched, which has slowed the car already."""
        if self.hit[0] == math.inf:
            self.hit = moment.time, self.pace


def crash(**settings: Any) -> Crash:
    """The car at the top of the ramp, and the wall beyond its foot."""
    world = World(**{"dt": WALL_AND_CAR_DT, "material": RUBBER, **settings})
    world.add_ground()
    foot = Pose.turn((0, 1, 0), SLOPE, (-FLAT_LENGTH, 0.0, 0.0))
    ramp = Shape.box((LENGTH, WIDTH, 0.1), foot @ Pose((-0.5 * LENGTH, 0.0, -0.05)), colour=(0.60, 0.62, 0.66, 1.0))
    world.add_ground(ramp)
    scene = Crash(world)
    scene.bricks = lay(world)
    scene.starts = [brick.position for brick in scene.bricks]
    scene.driver = drive(world, foot @ Pose((-LENGTH + 1.0, 0.0, 0.0)), scene.speed)
    for brick in scene.bricks:
        world.when(Event.contact(scene.driver.chassis, brick, times=1, name=f"meets {brick.name}"), scene.meet)
    return scene


def draw_wall_and_car(folder: Path, scene: Crash) -> tuple[Path, Path]:
    """Let it crash: six pictures, and a replay."""
    recording = film_run(scene.world, WALL_AND_CAR_SECONDS, "car and wall")
    t = scene.hit[0] if math.isfinite(scene.hit[0]) else 0.0
    low, high = (-1.6, -1.6, 0.0), (2.8, 1.6, 0.9)
    views = [View(t - 0.7, (0.9, -1.1, 0.4), (-8.0, -1.2, 0.0), (0.2, 1.2, 2.2))]
    views += [View(t + more, (1.0, -0.8, 0.5), low, high) for more in (0.06, 0.18, 0.36, 0.7, 3.0)]
    return draw_views(recording, folder, "wall_and_car", views, size=(340, 230), columns=3)


def show_wall_and_car(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = crash(**settings)
    pictures, film = draw_wall_and_car(out, scene)
    when, fast = scene.hit
    say(f"[bold]a car[/] at {fast:.2f} m/s meets the wall after {when:.3f} s")
    down = fallen(scene.bricks, scene.starts)
    say(f"{down} of {len(scene.bricks)} bricks of {BRICK[1]:g} m are farther than a brick from where they were")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
