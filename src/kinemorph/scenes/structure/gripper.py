"""An arm that takes a brick when it touches it, carries it over, and drops it.

Three motors with a largest torque follow angles that a controller gives them a hundred times a second. Where the hand
touches the brick, a joint connects them: the arm's tree grows by one body while it moves. Cutting that joint lets go.
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
from kinemorph.motion.events import Event
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.scenes.pictures.film_pictures import draw_film, film_run
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest.forest import Edit
from kinemorph.world.body import Body, Figure
from kinemorph.world.control.drives import Servo
from kinemorph.world.control.events import EventRecord
from kinemorph.world.world import World

UPPER, FORE, HEIGHT = 0.6, 0.5, 0.7  # m: both parts of the arm, and how high its shoulder is
HAND = 0.06  # m, from the wrist to the palm
BRICK = (0.2, 0.1, 0.1)  # m
FROM, TO, DROP = (0.7, 0.0), (0.0, 0.7), 0.12  # m: where the brick is, where it shall be, and from how high it drops
TORQUE, STIFF, DAMP = 150.0, 4000.0, 200.0  # N m, N m/rad, N m s/rad
DT, RATE = 1e-3, 0.01  # s: of the world, and of the controller
CLAY = Material(friction=0.8, restitution=0.0)

# (s, x, y, z): where the palm shall be when; in between it goes evenly. It would go on below the top of the brick.
PATH = np.array(
    [
        (0.0, *FROM, 0.45),
        (1.0, *FROM, 0.095),
        (1.2, *FROM, 0.095),
        (2.2, *FROM, 0.45),
        (4.2, *TO, 0.45),
        (5.2, *TO, BRICK[2] + DROP),
        (6.5, *TO, BRICK[2] + DROP),
        (7.5, *TO, 0.45),
    ]
)
LET_GO = 6.0  # s


def arm() -> Model:
    """A column that turns, an arm of two parts, and a hand that hangs down from it as a wrist lets it."""
    b = Builder("arm")

    def bar(mass: float, length: float) -> tuple[Inertia, Shape]:
        along = Pose.turn((0, 1, 0), 0.5 * math.pi, (0.5 * length, 0.0, 0.0))
        return Inertia.cylinder(mass, 0.04, length).moved(along), Shape.capsule(0.04, length - 0.08, along, mask=0)

    column = Shape.cylinder(0.08, HEIGHT, Pose((0.0, 0.0, -0.5 * HEIGHT)), mask=0)
    inertia = Inertia.cylinder(20.0, 0.08, HEIGHT, (0.0, 0.0, -0.5 * HEIGHT))
    b.link("column", None, Joint.revolute("z", name="turn"), (0.0, 0.0, HEIGHT), inertia, column)
    b.link("upper arm", "column", Joint.revolute("y", name="shoulder"), (0.0, 0.0, 0.0), *bar(6.0, UPPER))
    b.link("forearm", "upper arm", Joint.revolute("y", name="elbow"), (UPPER, 0.0, 0.0), *bar(3.0, FORE))
    palm = Shape.box((0.1, 0.1, 0.02), Pose((0.0, 0.0, -HAND + 0.01)), colour=(0.9, 0.7, 0.2, 1.0))
    palm_inertia = Inertia.box(1.0, (0.1, 0.1, HAND), (0.0, 0.0, -0.5 * HAND))
    b.link("hand", "forearm", Joint.revolute("y", name="wrist"), (FORE, 0.0, 0.0), palm_inertia, palm)
    return b.build()


def arm_angles(palm: Any) -> Any:
    """The angles of turn, shoulder, elbow and wrist with which the palm is at a place, looking down, elbow up."""
    x, y, z = palm
    out, up = math.hypot(x, y), z + HAND - HEIGHT
    reach = math.hypot(out, up)
    inner = math.acos((UPPER**2 + reach**2 - FORE**2) / (2.0 * UPPER * reach))
    elbow = math.pi - math.acos((UPPER**2 + FORE**2 - reach**2) / (2.0 * UPPER * FORE))
    shoulder = -(math.atan2(up, out) + inner)  # about y, which points from z to x: down is positive
    return np.array([math.atan2(y, x), shoulder, elbow, -shoulder - elbow])


@dataclass
class Gripper:
    """An arm and a brick in a world."""

    world: World
    figure: Figure
    brick: Body
    servos: list[Servo] = field(default_factory=list)
    grip: Edit | None = None
    brick_height: float = 0.0  # m, from which it dropped
    told: list[tuple[float, str]] = field(default_factory=list)

    def guide(self, world: World) -> None:
        """The controller: where the joints shall be now."""
        now = [np.interp(world.time, PATH[:, 0], PATH[:, k]) for k in (1, 2, 3)]
        soon = [np.interp(world.time + RATE, PATH[:, 0], PATH[:, k]) for k in (1, 2, 3)]
        targets = arm_angles(now)
        rates = (arm_angles(soon) - targets) / RATE
        for servo, target, rate in zip(self.servos, targets, rates, strict=True):
            if servo.alive:  # its joint may have been cut, by a user of the viewer
                servo.position, servo.speed = float(target), float(rate)

    def take(self, world: World, moment: EventRecord) -> None:
        """The hand has touched the brick: it holds it."""
        self.grip = world.connect(self.figure["hand"], self.brick, Joint.fixed(name="grip"))
        self.told.append((moment.time, "takes the brick"))

    def drop(self, world: World, moment: EventRecord) -> None:
        """It lets go."""
        if self.grip is not None and self.grip.joint in world.forest.joints:
            world.cut(self.grip)
            self.brick_height = float(self.brick.position[2])
        self.told.append((moment.time, "drops it"))

    def land(self, world: World, moment: EventRecord) -> None:
        self.told.append((moment.time, "the brick lands"))


def gripper(**settings: Any) -> Gripper:
    """The arm above the brick."""
    world = World(**{"dt": DT, "material": CLAY, **settings})
    world.add_ground()
    start = arm_angles(PATH[0, 1:])
    figure = world.add(arm(), q=start)
    brick = world.add(Shape.box(BRICK), at=(*FROM, 0.5 * BRICK[2]), density=2000.0, name="brick")
    scene = Gripper(world, figure, brick)
    for name, at in zip(("turn", "shoulder", "elbow", "wrist"), start, strict=True):
        joint = figure.joint(name)
        scene.servos.append(world.servo(joint, float(at), stiffness=STIFF, damping=DAMP, effort_limit=TORQUE))
    world.every(RATE, scene.guide, "guide")
    world.when(Event.contact("hand", "brick", times=1, name="the hand touches the brick"), scene.take)
    world.when(Event.at(LET_GO, name="drop"), scene.drop)
    world.when(Event.contact("brick", "ground", name="the brick lands"), scene.land)
    return scene


def show_gripper(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = gripper(**settings)
    scene.world.run(8.0)
    for t, what in scene.told:
        say(f"  {t:.3f} s  {what}")
    say(f"the brick is at {scene.brick.position.round(4).tolist()}, and {'sleeps' if scene.brick.asleep else 'moves'}")
    recording = film_run(gripper(**settings).world, 7.5, "gripper")
    times = (0.0, 1.0, 2.2, 3.2, 5.2, 6.1, 6.3, 7.5)
    pictures, film = draw_film(recording, out, "gripper", times, direction=(1.2, -0.9, 0.6), size=(240, 260))
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
