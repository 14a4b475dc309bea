"""A marble on a board with 6 sloped ridges, 6 sprung trapdoors and 17 driven gearwheels (Fontijne 3.11.2).

The board leans back a little, so that the marble stays on it. A ridge leads it to a trapdoor, which a spring holds up;
its weight opens the door, and it falls onto gearwheels that hand it down to the next ridge, which leads the other way.
Motors keep the wheels at one speed. The world's axes are those of the board: x across, y into it, z up along it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.scenes.pictures.picture_sheets import View, draw_views
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest.forest import Edit
from kinemorph.world.body import Body
from kinemorph.world.control.drives import Motor
from kinemorph.world.world import World

FLOORS = (3, 3, 3, 3, 3, 2)  # wheels below the trapdoor of each ridge, from the top
MARBLE, GLASS = 0.05, 2500.0  # m, kg/m³
LEAN = math.radians(6.0)  # of the board
RIDGE, FALL = 0.75, math.radians(6.0)  # m, rad: a ridge's length and slope
DOOR, SPRING, DAMPER, WIDEST = 0.22, 0.9, 0.04, 1.25  # m, N m/rad, N m s/rad, rad, of a trapdoor
HUB, TEETH, TOOTH, DEEP = 0.1, 6, 0.045, 0.09  # m, number, m, m: of a wheel, and how deep it is
OVER, DOWN = 0.23, 0.19  # m, from one wheel to the next
TURNS, TORQUE = 0.5, 4.0  # rad/s, N m, of the motors
STOREY = 0.46  # m, from a ridge's end to the middle of the first wheel below, and from the last one to the next ridge
MARBLE_RUN_SECONDS = 50.0
G = 9.81  # m/s²
MARBLE_RUN_DT = 2e-3  # s
WOOD = Material(friction=0.5, restitution=0.1)
SMOOTH = Material(friction=0.0, restitution=0.0, priority=1)
WORKS, BALL = 2, 4  # groups: wheels and doors meet nothing but the marble
TIMBER, BRASS, STEEL = (0.76, 0.60, 0.40, 1.0), (0.84, 0.68, 0.30, 1.0), (0.50, 0.56, 0.64, 1.0)


@dataclass
class Run:
    """The marble, the doors from the top, and the wheels in the order in which it meets them."""

    world: World
    marble: Body = field(init=False)
    doors: list[Edit] = field(default_factory=list)
    flaps: list[Body] = field(default_factory=list)
    wheels: list[Body] = field(default_factory=list)
    motors: list[Motor] = field(default_factory=list)
    widest: list[float] = field(default_factory=list)  # rad, how far each door has been open
    met: dict[str, float] = field(default_factory=dict)  # s, when it first touched a door or a wheel
    bottom: float = 0.0  # m, below which it has run through

    def look(self, world: World) -> None:
        """What the marble touches, and how far doors are open."""
        for touch in world.contacts(self.marble) if self.marble.alive else ():  # a viewer may have removed it
            if touch.other is not None:
                self.met.setdefault(touch.other.name, world.time)
        for i, flap in enumerate(self.flaps):
            if not flap.alive:
                continue
            self.widest[i] = max(self.widest[i], math.acos(min(1.0, float(flap.pose.rotation[2, 2]))))


def wheel(name: str) -> Model:
    """A gearwheel about the y axis: a hub and teeth."""
    b = Builder(name)
    lying = Pose.turn((1, 0, 0), 0.5 * math.pi)
    shapes = [Shape.cylinder(HUB, DEEP, lying, colour=BRASS, material=WOOD, group=WORKS, mask=BALL)]
    for k in range(TEETH):
        at = Pose.turn((0, 1, 0), 2.0 * math.pi * k / TEETH) @ Pose((0.0, 0.0, HUB + 0.4 * TOOTH))
        shapes.append(Shape.box((0.024, DEEP, 1.2 * TOOTH), at, colour=STEEL, material=WOOD, group=WORKS, mask=BALL))
    inertia = Inertia.cylinder(2.0, HUB, DEEP).moved(lying)
    b.link(name, None, Joint.revolute("y", name=f"axle of {name}"), inertia=inertia, shapes=shapes)
    return b.build()


def run(**settings: Any) -> Run:
    """The board, with the marble at its top."""
    pull = (0.0, G * math.sin(LEAN), -G * math.cos(LEAN))
    world = World(**{"gravity": pull, "dt": MARBLE_RUN_DT, "sleep": False, "material": WOOD, **settings})
    world.add_ground()
    scene = Run(world)
    height = sum(_storey(count) for count in FLOORS) + 0.4
    middle = Pose((-0.1, 0.074, 0.5 * height + 0.15))
    world.add_ground(Shape.box((1.9, 0.04, height + 0.3), middle, colour=(0.97, 0.96, 0.92, 1.0)), SMOOTH)
    for side in (-1.05, 0.85):  # of a tray at the foot
        world.add_ground(Shape.box((0.03, 0.11, 0.2), Pose((side, 0.0, 0.1)), colour=TIMBER), WOOD)
    x, z, way = -0.4, height, 1.0
    for floor, count in enumerate(FLOORS):
        x, z = _ridge(scene, floor, x, z, way)
        way = -way
        for k in range(count):
            at = (x - 0.02 * way + way * OVER * k, 0.0, z - STOREY - DOWN * k)
            _wheel(scene, at, way, 0.5 * k)
        x, z = x + way * (OVER * (count - 1) + HUB), z - STOREY - DOWN * (count - 1) - 0.28
    start = Pose((-0.3, 0.0, height + MARBLE + 0.01))
    shape = Shape.sphere(MARBLE, colour=(0.16, 0.42, 0.72, 1.0), group=BALL)
    scene.marble = world.add(shape, at=start, density=GLASS, name="marble")
    scene.bottom = z + 0.05
    world.every(0.02, scene.look, name="what the marble meets")
    return scene


def _storey(count: int) -> float:
    """m, from a ridge's beginning to the next one's."""
    return RIDGE * math.sin(FALL) + STOREY + DOWN * (count - 1) + 0.28


def _ridge(scene: Run, floor: int, x: float, z: float, way: float) -> tuple[float, float]:
    """A ridge that begins at x, z, with a door at its end and a wall behind that; returns where the marble drops."""
    world = scene.world
    turn = Pose.turn((0, 1, 0), way * FALL)  # x points along, z out of it
    begin = Pose((x, 0.0, z), turn.rotation)
    world.add_ground(
        Shape.box((RIDGE, 0.11, 0.03), begin @ Pose((way * 0.5 * RIDGE, 0.0, -0.015)), colour=TIMBER), WOOD
    )
    world.add_ground(Shape.box((0.03, 0.11, 0.2), begin @ Pose((-way * 0.015, 0.0, 0.07)), colour=TIMBER), WOOD)
    hinge = begin @ Pose((way * (RIDGE + 0.008), 0.0, -0.01))
    flap = Shape.box((DOOR, 0.1, 0.02), colour=(0.72, 0.30, 0.26, 1.0), group=WORKS, mask=BALL)
    door = world.add(flap, at=hinge @ Pose((way * 0.5 * DOOR, 0.0, 0.0)), density=300.0, name=f"door {floor}")
    weight = 300.0 * math.prod(flap.size) * G * 0.5 * DOOR  # N m
    joint = Joint.revolute(
        (0.0, way, 0.0), stiffness=SPRING, damping=DAMPER, rest=-weight / SPRING - 0.1, lower=0.0, upper=WIDEST
    )
    scene.doors.append(world.connect(None, door, joint, hinge))
    scene.flaps.append(door)
    scene.widest.append(0.0)
    end = hinge @ Pose((way * DOOR, 0.0, 0.0))
    side = end.position[0] + way * (2.0 * MARBLE - 0.02)
    wall = Shape.box((0.03, 0.11, 0.5), Pose((side + way * 0.015, 0.0, end.position[2] - 0.05)), colour=TIMBER)
    world.add_ground(wall, WOOD)
    return float(side - way * 1.1 * MARBLE), float(end.position[2])


def _wheel(scene: Run, at: tuple[float, float, float], way: float, phase: float) -> None:
    name = f"wheel {len(scene.wheels)}"
    figure = scene.world.add(wheel(name), at=at, q=[phase])
    scene.wheels.append(figure[name])
    scene.motors.append(scene.world.motor(figure.joint(f"axle of {name}"), way * TURNS, TORQUE))


def draw_marble_run(folder: Path, scene: Run) -> tuple[Path, Path]:
    """Let the marble run: its way, a door and wheels, and a replay that is eight times as fast."""
    recording = film_run(scene.world, MARBLE_RUN_SECONDS, "marble run", rate=15.0)
    trace = tuple(0.2 * k for k in range(190))
    top = max(float(shape.pose.position[2]) for shape in recording.base_shapes) + 0.2
    views = [
        View(trace, (0.35, -1.5, 0.1), (-0.95, 0.0, 0.0), (0.75, 0.0, top), "marble"),
        View((1.52, 0.4, 0.9, 1.2, 1.38, 1.64), (0.35, -1.5, 0.2), (-0.5, 0.0, 6.4), (0.75, 0.0, 7.5), "marble"),
        View(4.6, (0.35, -1.5, 0.2), (-0.2, 0.0, 6.2), (0.75, 0.0, 7.2)),
    ]
    return draw_views(recording, folder, "marble_run", views, size=(270, 620), columns=3, speed=8.0)


def show_marble_run(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = run(**settings)
    pictures, film = draw_marble_run(out, scene)
    say(f"[bold]a marble[/], {len(scene.flaps)} trapdoors and {len(scene.wheels)} gearwheels; it meets")
    for name, t in scene.met.items():
        say(f"  {t:6.2f} s  {name}")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
