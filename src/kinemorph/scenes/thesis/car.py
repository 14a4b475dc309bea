"""A car: a chassis on four wheels that hang on damped springs, and a driver that keeps the wheels from slipping.

Each wheel turns on a strut that slides up and down in the chassis (Fontijne 3.11.2); those in front can be steered.
The motors of the wheels get a target speed a hundred times a second: that at which the car goes, and a little more or
less, so that no wheel spins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Role, Shape
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.products import inner
from kinemorph.world.body import Body, Figure
from kinemorph.world.control.drives import Motor, Servo
from kinemorph.world.world import World

CHASSIS, CABIN = (1.1, 0.42, 0.14), (0.5, 0.36, 0.14)  # m
BODY, STRUT, KNUCKLE, WHEEL = 30.0, 0.5, 0.3, 2.0  # kg
RADIUS, WIDTH = 0.16, 0.1  # m, of a wheel
BASE, TRACK, CLEAR = 0.76, 0.62, 0.2  # m: between axles, between wheels, and from the ground to the chassis' middle
STIFFNESS, DAMPING, TRAVEL = 9000.0, 350.0, 0.07  # N/m, N s/m, m, of a strut
TORQUE, SLIP = 14.0, 0.4  # N m, and m/s that a rim may be faster or slower than the road below
LOCK = 0.35  # rad, how far front wheels turn
GRIP = 2000.0  # N m/rad, how firmly they are held: where the road rises, it turns them from ahead of their knuckles
DRIVER_PERIOD = 0.01  # s, from one decision of the driver to the next
START_DEPTH = 1e-4  # m below what stands, as it is put there
G = 9.81  # m/s²
RUBBER = Material(friction=1.0, restitution=0.0)
CORNERS = {"front left": (1, 1), "front right": (1, -1), "rear left": (-1, 1), "rear right": (-1, -1)}


def car(colour: tuple[float, float, float] = (0.78, 0.20, 0.17)) -> Model:
    """The car, which stands on the plane z = 0 and looks along x; where that is, its springs just bear it."""
    b = Builder("car")
    shell = Shape.box(CHASSIS, Pose((0.0, 0.0, CLEAR)), colour=(*colour, 1.0), material=RUBBER)
    top = CLEAR + 0.5 * (CHASSIS[2] + CABIN[2])
    cabin = Shape.box(CABIN, Pose((-0.1, 0.0, top)), colour=(0.85, 0.88, 0.92, 1.0), material=RUBBER)
    inertia = Inertia.box(BODY, CHASSIS).moved(Pose((0.0, 0.0, CLEAR)))
    b.link("chassis", None, Joint.free(), inertia=inertia, shapes=[shell, cabin])
    slack = -0.25 * BODY * G / STIFFNESS
    upright = Pose.turn((1, 0, 0), 0.5 * np.pi)
    tyre = Shape.cylinder(RADIUS, WIDTH, upright, colour=(0.16, 0.16, 0.18, 1.0), material=RUBBER)
    hub = Shape.box((1.3 * RADIUS, WIDTH + 0.012, 0.05), role=Role.VISUAL, colour=(0.80, 0.80, 0.78, 1.0))
    for name, (x, y) in CORNERS.items():
        spring = Joint.prismatic(
            "z", stiffness=STIFFNESS, damping=DAMPING, rest=slack, lower=-TRAVEL, upper=TRAVEL, name=f"{name} spring"
        )
        at = (0.5 * BASE * x, 0.5 * TRACK * y, RADIUS)
        carrier = f"{name} strut"
        b.link(carrier, "chassis", spring, at, Inertia.sphere(STRUT, 0.05))
        if x > 0:
            knuckle = Joint.revolute("z", lower=-LOCK, upper=LOCK, name=f"{name} knuckle")
            b.link(f"{name} knuckle", carrier, knuckle, inertia=Inertia.sphere(KNUCKLE, 0.05))
            carrier = f"{name} knuckle"
        axle = Joint.revolute("y", name=f"{name} axle")
        rolls = Inertia.cylinder(WHEEL, RADIUS, WIDTH).moved(upright)
        b.link(f"{name} wheel", carrier, axle, inertia=rolls, shapes=[tyre, hub])
    return b.build()


def straight_on(pose: Pose) -> float:
    """The bend (rad) of a driver that never steers."""
    return 0.0


@dataclass
class Driver:
    """A controller for a speed of `speed(pose)` m/s and a turn by `bend(pose)` rad, with bounded slip of the wheels."""

    figure: Figure
    speed: Callable[[Pose], float]
    bend: Callable[[Pose], float]
    motors: list[Motor] = field(default_factory=list)
    steering: list[Servo] = field(default_factory=list)

    @property
    def chassis(self) -> Body:
        return self.figure["chassis"]

    @property
    def pace(self) -> float:
        """m/s, along where it looks."""
        return inner(self.chassis.pose.rotation[:, 0], self.chassis.velocity)

    def spring(self, name: str) -> float:
        """m, how far a wheel is pushed into the chassis."""
        return float(self.figure.position(f"{name} spring")[0])

    def decide(self, world: World) -> None:
        """Tell the wheels a speed towards the one that is wanted, no farther off than they may slip.

        Front wheels turn by as much as the car should.
        """
        if not self.chassis.alive:  # removed by a user of the viewer
            return
        pose = self.chassis.pose
        now = inner(pose.rotation[:, 0], self.chassis.velocity)
        wanted = min(max(self.speed(pose), now - SLIP), now + SLIP)
        for motor in filter(attrgetter("alive"), self.motors):
            motor.speed = wanted / RADIUS
        bend = min(max(self.bend(pose), -LOCK), LOCK)
        for servo in filter(attrgetter("alive"), self.steering):
            servo.position = bend


def drive(
    world: World,
    at: Pose | Iterable[float],
    speed: Callable[[Pose], float],
    bend: Callable[[Pose], float] = straight_on,
) -> Driver:
    """A car in a world, with a driver in it. Its springs, which do not go far, keep wheels and chassis apart."""
    place = at if isinstance(at, Pose) else Pose(at)
    figure = world.add(car(), at=place @ Pose((0.0, 0.0, START_DEPTH)))
    for name in CORNERS:
        world.collision_filter.ignore(figure["chassis"], figure[f"{name} wheel"])
    motors = [world.motor(figure.joint(f"{name} axle"), 0.0, TORQUE) for name in CORNERS]
    fronts = [figure.joint(f"{name} knuckle") for name, (x, _) in CORNERS.items() if x > 0]
    steering = [world.servo(joint, stiffness=GRIP, damping=0.02 * GRIP) for joint in fronts]
    driver = Driver(figure, speed, bend, motors, steering)
    world.every(DRIVER_PERIOD, driver.decide, name="driver")
    return driver
