"""A car drives over two obstacles and through a looping (Fontijne 3.11.2), with all of gravity.

The looping is wound on a cylinder whose axis is a little askew: a car that only goes straight follows the shortest way,
which is a helix there, and comes out beside where it went in. So the car does not have to be steered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.scenes.pictures.picture_sheets import View, draw_views
from kinemorph.scenes.thesis.car import Driver, drive
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.products import inner
from kinemorph.view.recordings.recording import Recording
from kinemorph.world.world import World

SLOW, FAST = 3.0, 9.0  # m/s, over the obstacles and into the looping
HUMPS = (2.5, 3.3)  # m, where there is one below the left wheels, and one below the right ones
TABLE = 5.5  # m, where the ramp of the second obstacle begins
LOOPING, RADIUS, PIECES = 16.0, 1.3, 64  # m, m: where it begins, and of how many straight pieces it is
LANE, SHIFT, THICK = 1.05, 1.25, 0.05  # m: width, how far beside its entry one comes out, and thickness
STOP = 22.0  # m, where the driver brakes
ASKEW = math.atan2(SHIFT, 2.0 * math.pi * RADIUS)  # rad, between the car's way and a circle of the cylinder
AXIS = np.array([math.sin(ASKEW), math.cos(ASKEW), 0.0])
ALONG = np.array([math.cos(ASKEW), -math.sin(ASKEW), 0.0])
KEEN = 0.4  # rad/m, of the driver on the middle
CAR_TRACK_SECONDS = 9.0
CAR_TRACK_DT = 1e-3  # s
ASPHALT = Material(friction=1.0, restitution=0.0)
GREY, WOOD = (0.55, 0.57, 0.62, 1.0), (0.72, 0.58, 0.40, 1.0)


@dataclass
class Track:
    """The car on its track, and what its driver sees."""

    world: World
    fast: float  # m/s, into the looping
    driver: Driver = field(init=False)

    def speed(self, pose: Pose) -> float:
        """m/s: how fast to go where the car is."""
        x = pose.position[0]
        return SLOW if x < TABLE + 1.5 else self.fast if x < STOP else 0.0

    def bend(self, pose: Pose) -> float:
        """rad, to the left: back to the middle of the way, which has one angle with the cylinder's axis everywhere."""
        off = math.sin(ASKEW) - inner(pose.rotation[:, 0], AXIS)
        return off - min(max(KEEN * self.aside(pose), -0.15), 0.15)

    def aside(self, pose: Pose) -> float:
        """m, how far to the left of its way it is."""
        x, y, z = pose.position.tolist()
        if abs(x - LOOPING) > RADIUS + 0.2 or z < 0.1:
            return float(y - (SHIFT * math.cos(ASKEW) if y > 0.5 * SHIFT else 0.0))
        from_entry = np.array([x - LOOPING, y, 0.0])
        turn = math.atan2(inner(from_entry, ALONG), RADIUS - z) % (2.0 * math.pi)
        return inner(from_entry, AXIS) - SHIFT * turn / (2.0 * math.pi)


def humps() -> list[Shape]:
    """Low ends of cylinders that lie across, first below the wheels on one side, then below the others."""
    lying = Pose.turn((1, 0, 0), 0.5 * math.pi).rotation
    return [
        Shape.cylinder(0.3, 0.5, Pose((x, y, -0.22), lying), colour=WOOD)
        for x, y in ((HUMPS[0], 0.31), (HUMPS[1], -0.31))
    ]


def table() -> list[Shape]:
    """A ramp up to a table, from which the car drops."""
    rise, run = 0.16, 0.9
    slope = math.atan2(rise, run)
    middle = Pose.turn((0, 1, 0), -slope, (TABLE + 0.5 * run, 0.0, 0.5 * rise)) @ Pose((0.0, 0.0, -0.03))
    ramp = Shape.box((math.hypot(rise, run), 1.1, 0.06), middle, colour=WOOD)
    top = Shape.box((0.8, 1.1, rise), Pose((TABLE + run + 0.4, 0.0, 0.5 * rise)), colour=WOOD)
    return [ramp, top]


def looping() -> list[Shape]:
    """Straight pieces on a helix around a cylinder above the ground."""
    up = np.array([0.0, 0.0, 1.0])
    pieces = []
    step = 2.0 * math.pi / PIECES
    for i in range(PIECES):
        turn = (i + 0.5) * step
        ahead = math.cos(turn) * ALONG + math.sin(turn) * up
        inward = -math.sin(turn) * ALONG + math.cos(turn) * up
        surface = np.array([LOOPING, 0.0, RADIUS]) - RADIUS * math.cos(0.5 * step) * inward
        middle = surface + SHIFT * turn / (2.0 * math.pi) * AXIS - 0.5 * THICK * inward
        pose = Pose(middle, np.column_stack([ahead, np.cross(inward, ahead), inward]))
        length = 2.0 * (RADIUS + THICK) * math.sin(0.5 * step)
        shade = 0.08 * (i % 2)
        pieces.append(Shape.box((length, LANE, THICK), pose, colour=(0.36 + shade, 0.50 + shade, 0.66 + shade, 1.0)))
    return pieces


def track(fast: float = FAST, **settings: Any) -> Track:
    """The car at the start of the track."""
    world = World(**{"dt": CAR_TRACK_DT, "sleep": False, "material": ASPHALT, **settings})
    world.add_ground()
    for shape in (*humps(), *table(), *looping()):
        world.add_ground(shape)
    scene = Track(world, fast)
    scene.driver = drive(world, (0.0, 0.0, 0.0), scene.speed, scene.bend)
    return scene


def _passes(recording: Recording, x: float) -> float:
    """s, when the car first comes to a place."""
    (chassis,) = (i for i, body in enumerate(recording.bodies) if body.name == "chassis")
    return float(recording.t[np.argmax(recording.poses[:, chassis, 0] >= x)])


def draw_car_track(folder: Path, scene: Track) -> tuple[Path, Path]:
    """Drive: the car on the obstacles and in the looping, and a replay."""
    recording = film_run(scene.world, CAR_TRACK_SECONDS, "car track")
    enters = _passes(recording, 16.0)
    through = tuple(enters + 0.105 * k for k in range(9))
    views = [
        View(_passes(recording, 2.8), (-0.7, -1.3, 0.5), (2.1, -0.4, 0.0), (3.9, 0.4, 0.4)),
        View(_passes(recording, 7.0), (-0.7, -1.3, 0.5), (5.6, -0.5, 0.0), (8.0, 0.5, 0.4)),
        View(through, (-0.8, -1.5, 0.35), (14.6, -0.5, 0.0), (17.6, 1.4, 2.6)),
        View((enters + 0.12, enters + 0.45), (-1.3, -0.45, 0.25), (15.0, -0.5, 0.1), (17.6, 1.4, 2.6)),
    ]
    return draw_views(recording, folder, "car_track", views, size=(440, 300), columns=2, follow="chassis")


def show_car_track(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = track(**settings)
    inverted = []
    scene.world.every(0.01, lambda world: inverted.append(scene.driver.chassis.pose.rotation[2, 2]))
    pictures, film = draw_car_track(out, scene)
    x, y, _ = scene.driver.chassis.position
    say(f"[bold]a car[/] of {sum(body.mass for body in scene.driver.figure):g} kg")
    say(f"upside down for {0.01 * sum(up < -0.5 for up in inverted):.2f} s, it comes to rest at {x:.2f}, {y:.2f} m")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
