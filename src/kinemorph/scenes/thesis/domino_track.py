"""150 dominos that fall through a tunnel, up and down stairs, up a tower and off a diving board (Fontijne 3.11.2).

The last of those on the board falls half a metre onto the dominos below, and knocks the rest of the row over. The board
is a plank on a hinge with a spring and a damper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from colorsys import hsv_to_rgb
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.model.joint import Joint
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.scenes.pictures.picture_sheets import View, draw_views
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.products import times
from kinemorph.world.body import Body
from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
THICK, WIDE, HIGH = 0.03, 0.1, 0.2  # m, of a domino
DOMINO_DENSITY = 600.0  # kg/m³
DOMINO_SPACING = 0.075  # m, from one to the next
RISE, TREAD = 0.04, 0.3  # m: how high a step is, and how wide
BOARD, SPRING, DAMPER = 0.22, 25.0, 0.15  # m, N m/rad, N m s/rad, of the diving board
AWAY = 0.165  # m, from the board's end to where the row goes on below
LEAN, SPIN = 0.1, 2.0  # rad, rad/s: the first one, as it is let go
START_DEPTH = 1e-4  # m below what stands, as it is put there
DOMINO_SECONDS = 11.0
DOMINO_DT = 2e-3  # s
IVORY = Material(friction=0.5, restitution=0.0)
STONE, GLASS = (0.66, 0.68, 0.72, 1.0), (0.52, 0.62, 0.72, 1.0)
TILTED = 0.9  # the cosine of how far one that has fallen is turned, at least


@dataclass
class Dominos:
    """Dominos in the order in which they should fall, and when they did."""

    world: World
    dominos: list[Body] = field(default_factory=list)
    starts: list[Any] = field(default_factory=list)
    board: Body = field(init=False)
    falls: dict[int, float] = field(default_factory=dict)  # s, by number

    def look(self, world: World) -> None:
        """Which have fallen since the last look."""
        for i, domino in enumerate(self.dominos):
            if i not in self.falls and domino.alive and domino.pose.rotation[2, 2] < TILTED:
                self.falls[i] = world.time


@dataclass
class _Row:
    """Sets one domino after the other along a path, in a frame that moves and turns with it."""

    scene: Dominos
    place: Array = field(default_factory=lambda: np.zeros(3))
    heading: float = 0.0  # rad

    def ahead(self, distance: float) -> Array:
        return self.place + distance * np.array([math.cos(self.heading), math.sin(self.heading), 0.0])

    def pose(self, along: float, up: float) -> Pose:
        """A frame that looks ahead, so far along and up from here."""
        return Pose.turn((0, 0, 1), self.heading, (*self.ahead(along)[:2], up))

    def domino(self, lean: float = 0.0, spin: float = 0.0) -> None:
        """Set one here, which may lean and turn over its front edge, and go on."""
        x, z = -0.5 * THICK, 0.5 * HIGH
        over = Pose.turn((0, 1, 0), lean) @ Pose((x, 0.0, z))
        at = self.pose(0.5 * THICK, float(self.place[2]) + START_DEPTH) @ over
        speed = spin * np.cross((0.0, 1.0, 0.0), over.position)
        count = len(self.scene.dominos)
        colour = (*hsv_to_rgb(0.75 * count / 150.0, 0.62, 0.86), 1.0)  # red, yellow, green, blue
        turn = Pose.turn((0, 0, 1), self.heading).rotation
        twist = np.r_[times(turn, np.array((0.0, spin, 0.0))), times(turn, speed)]
        shape = Shape.box((THICK, WIDE, HIGH), colour=colour)
        body = self.scene.world.add(shape, at=at, twist=twist, density=DOMINO_DENSITY, name=f"domino {count}")
        self.scene.dominos.append(body)
        self.scene.starts.append(body.position)
        self.place = self.ahead(DOMINO_SPACING)

    def straight(self, count: int) -> None:
        for _ in range(count):
            self.domino()

    def curve(self, count: int, angle: float) -> None:
        for _ in range(count):
            self.heading += 0.5 * angle / count
            self.domino()
            self.heading += 0.5 * angle / count

    def tunnel(self, count: int) -> None:
        """Walls and a roof over so many."""
        length = count * DOMINO_SPACING
        middle = 0.5 * length - 0.5 * DOMINO_SPACING
        for side in (-0.11, 0.11):
            beside = self.pose(middle, 0.13) @ Pose((0.0, side, 0.0))
            self.scene.world.add_ground(Shape.box((length, 0.02, 0.26), beside, colour=GLASS))
        roof = Shape.box((length, 0.24, 0.02), self.pose(middle, 0.27), colour=GLASS)
        self.scene.world.add_ground(roof)
        self.straight(count)

    def block(self, count: int) -> None:
        """Stone below so many, up to where they stand, and set them on it."""
        length, top = count * DOMINO_SPACING, float(self.place[2])
        at = self.pose(0.5 * length - 0.5 * DOMINO_SPACING, 0.5 * top)
        self.scene.world.add_ground(Shape.box((length, TREAD, top), at, colour=STONE))
        self.straight(count)

    def stairs(self, count: int, rise: float) -> None:
        """So many steps up, or down, one domino on each."""
        for _ in range(count):
            self.place = self.place + (0.0, 0.0, rise)
            if self.place[2] > 0.5 * RISE:
                self.block(1)
            else:
                self.straight(1)

    def dive(self, count: int) -> None:
        """A board beyond the edge with so many on it; then go on below its end."""
        top = float(self.place[2]) - 0.015
        world, edge = self.scene.world, 0.005 - 0.5 * DOMINO_SPACING
        plank = Shape.box((BOARD, WIDE + 0.04, 0.03), colour=(0.82, 0.62, 0.36, 1.0))
        middle = self.pose(edge + 0.5 * BOARD, top)
        self.scene.board = world.add(plank, at=middle, density=DOMINO_DENSITY, name="board")
        arms = [k * DOMINO_SPACING - edge for k in range(count)]  # m, from the hinge to those on it
        load = 9.81 * DOMINO_DENSITY * (math.prod(plank.size) * 0.5 * BOARD + THICK * WIDE * HIGH * sum(arms))
        hinge = Joint.revolute("y", stiffness=SPRING, damping=DAMPER, rest=-load / SPRING)
        world.connect(None, self.scene.board, hinge, self.pose(edge, top))
        self.straight(count)
        self.place = np.array([*self.ahead(edge + BOARD - count * DOMINO_SPACING + AWAY)[:2], 0.0])


def dominos(**settings: Any) -> Dominos:
    """The track, with its first domino about to fall."""
    world = World(**{"dt": DOMINO_DT, "material": IVORY, **settings})
    world.add_ground()
    scene = Dominos(world)
    row = _Row(scene)
    row.domino(LEAN, SPIN)
    row.straight(6)
    row.tunnel(14)
    row.straight(4)
    row.curve(12, 0.5 * math.pi)
    row.straight(5)
    row.stairs(8, RISE)
    row.block(5)
    row.stairs(8, -RISE)
    row.straight(5)
    row.curve(12, 0.5 * math.pi)
    row.straight(5)
    row.stairs(12, RISE)
    row.block(4)
    row.dive(3)
    row.straight(22)
    row.curve(12, 0.5 * math.pi)
    row.straight(12)
    world.every(0.02, scene.look, name="falls")
    return scene


def draw_domino_track(folder: Path, scene: Dominos) -> tuple[Path, Path]:
    """Let them fall: six pictures, and a replay."""
    recording = film_run(scene.world, DOMINO_SECONDS, "dominos")
    low, high = (-1.9, 0.0, 0.0), (2.4, 3.5, 0.5)
    whole = (0.7, -1.1, 0.9)
    views = [
        View(0.0, whole, low, high),
        View(1.15, (0.7, -1.2, 0.5), (0.2, -0.3, 0.0), (1.9, 0.3, 0.3)),
        View(3.45, (1.2, -0.5, 0.5), (2.1, 0.7, 0.0), (2.7, 2.6, 0.5)),
        View(6.3, (0.7, -1.2, 0.5), (-0.2, 3.2, 0.0), (1.5, 3.7, 0.7)),
        View(6.96, (0.5, -1.2, 0.4), (-0.6, 3.3, 0.0), (0.6, 3.6, 0.7)),
        View(DOMINO_SECONDS, whole, low, high),
    ]
    return draw_views(recording, folder, "domino_track", views, size=(380, 260), columns=2)


def show_domino_track(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = dominos(**settings)
    pictures, film = draw_domino_track(out, scene)
    say(f"[bold]{len(scene.dominos)} dominos[/], of which {len(scene.falls)} have fallen after {DOMINO_SECONDS:g} s")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
