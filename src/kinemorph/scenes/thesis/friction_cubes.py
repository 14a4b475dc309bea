"""Seven cubes on a slope, from one without friction to one that has just enough to stay (Fontijne 3.11.2).

Each cube lies on a lane of its own material. On a slope of angle a, one with friction mu slides with the acceleration
g (sin a - mu cos a), and one with tan a or more stays where it is; a slightly steeper slope lets that one go, too.
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
from kinemorph.spatial.pose import Pose
from kinemorph.world.body import Body
from kinemorph.world.world import World

SLOPE = math.radians(22.0)  # of the lanes
COUNT, CUBE = 7, 0.3  # how many, and m
STICKING_FRICTION_FACTOR = 1.002  # times the tangent of the slope: the friction of the cube that stays
LENGTH, WIDTH, THICK = 3.2, 0.5, 0.1  # m, of a lane
START_DEPTH = 1e-4  # m below what stands, as it is put there
G = 9.81  # m/s²
FRICTION_CUBES_DT = 2e-3  # s
COLOURS = ((0.30, 0.47, 0.75), (0.27, 0.60, 0.72), (0.32, 0.66, 0.50), (0.58, 0.68, 0.33), (0.85, 0.67, 0.27),
           (0.86, 0.47, 0.25), (0.76, 0.28, 0.26))  # fmt: skip


@dataclass
class Cubes:
    """Cubes on their lanes."""

    world: World
    slope: float  # rad
    frictions: tuple[float, ...]
    cubes: list[Body] = field(default_factory=list)
    starts: list[Any] = field(default_factory=list)  # m, where they were put

    def slid(self) -> list[float]:
        """m, how far each has come down its lane."""
        down = (math.cos(self.slope), 0.0, -math.sin(self.slope))
        return [float(np.dot(cube.position - start, down)) for cube, start in zip(self.cubes, self.starts, strict=True)]

    def expected(self, seconds: float) -> list[float]:
        """m, how far they come in so long, by Coulomb's law."""
        s, c = math.sin(self.slope), math.cos(self.slope)
        return [0.5 * G * max(0.0, s - mu * c) * seconds**2 for mu in self.frictions]


def cubes(slope: float = SLOPE, **settings: Any) -> Cubes:
    """Seven lanes, and a cube at the top of each. The frictions are those for the usual slope, whatever this one is."""
    world = World(**{"dt": FRICTION_CUBES_DT, "sleep": False, **settings})
    world.add_ground(material=Material(friction=0.5))
    scene = Cubes(
        world, slope, tuple(STICKING_FRICTION_FACTOR * math.tan(SLOPE) * i / (COUNT - 1) for i in range(COUNT))
    )
    lane = Pose.turn((0, 1, 0), slope, (0.0, 0.0, 0.0))  # x points down, z out of the slope
    for i, mu in enumerate(scene.frictions):
        y = (i - 0.5 * (COUNT - 1)) * 1.15 * WIDTH
        stuff = Material(friction=mu)
        foot = Pose((0.5 * LENGTH * math.cos(slope), y, 0.0), lane.rotation)
        place = foot @ Pose((-0.5 * LENGTH, 0.0, -0.5 * THICK))
        pale = tuple(0.62 + 0.3 * c for c in COLOURS[i])
        world.add_ground(Shape.box((LENGTH, WIDTH, THICK), place, colour=(*pale, 1.0)), stuff)
        start = foot @ Pose((-LENGTH + 0.8 * CUBE, 0.0, 0.5 * CUBE + START_DEPTH))
        cube = Shape.box((CUBE, CUBE, CUBE), colour=(*COLOURS[i], 1.0))
        scene.cubes.append(world.add(cube, at=start, density=500.0, material=stuff, name=f"friction {mu:.3f}"))
        scene.starts.append(np.array(start.position))
    return scene


def draw_friction_cubes(folder: Path, **settings: Any) -> tuple[Path, Path]:
    """The cubes at four times, and a replay."""
    recording = film_run(cubes(**settings).world, 4.0, "friction cubes")
    low, high = (-1.4, -1.9, 0.0), (2.8, 1.9, 1.0)
    views = [View(t, (0.8, 1.1, 0.62), low, high) for t in (0.0, 0.8, 1.3, 1.7)]
    return draw_views(recording, folder, "friction_cubes", views, size=(420, 260), columns=2)


def show_friction_cubes(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = cubes(**settings)
    scene.world.run(1.0)
    say(f"[bold]{COUNT} cubes[/] on a slope of {math.degrees(SLOPE):g} degrees, whose tangent is {math.tan(SLOPE):.4f}")
    for mu, way, known in zip(scene.frictions, scene.slid(), scene.expected(1.0), strict=True):
        say(f"  friction {mu:.4f}: {way:.4f} m in a second, by Coulomb's law {known:.4f} m")
    scene.world.run(2.0)
    settled = scene.slid()[-1]
    scene.world.run(7.0)
    say(f"from 3 s on, the last one comes {1e3 * (scene.slid()[-1] - settled):.4f} mm in 7 s")
    steeper = cubes(SLOPE + math.radians(0.5), **settings)
    steeper.world.run(5.0)
    say(f"half a degree steeper, it comes {100.0 * steeper.slid()[-1]:.1f} cm in 5 s")
    pictures, film = draw_friction_cubes(out, **settings)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
