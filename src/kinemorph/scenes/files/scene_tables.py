"""The tables of a scene file, with units, and the limits on what a file may ask for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MOST_BODIES = 20_000  # of a scene, all its rows counted
LARGEST_SCENE_LENGTH = 1e6  # m
MOST_TABLES = 20_000  # tables of one kind

Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"\A[^\x00-\x1f\x7f/]+\Z")]  # no control characters
Reference = Annotated[str, Meta(min_length=1, max_length=200)]
Sentence = Annotated[str, Meta(max_length=1000)]
Coordinate = Annotated[float, Meta(ge=-LARGEST_SCENE_LENGTH, le=LARGEST_SCENE_LENGTH)]
Point = tuple[Coordinate, Coordinate, Coordinate]
Length = Annotated[float, Meta(ge=1e-6, le=1e4)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Rate = Annotated[float, Meta(ge=-1e5, le=1e5)]  # m/s or rad/s
Rates = tuple[Rate, Rate, Rate]
Force = Annotated[float, Meta(ge=-1e12, le=1e12)]  # N or N m
Forces = tuple[Force, Force, Force]
LargestForce = Annotated[float, Meta(ge=0.0, le=1e12)]
Gain = Annotated[float, Meta(ge=0.0, le=1e12)]
Angle = Annotated[float, Meta(ge=-1e6, le=1e6)]
Time = Annotated[float, Meta(ge=0.0, le=1e6)]
Colour = Annotated[tuple[Share, ...], Meta(min_length=3, max_length=4)]
Bits = Annotated[int, Meta(ge=0, le=0xFFFFFFFF)]
Axis = Literal["x", "y", "z"] | Point
Mass = Annotated[float, Meta(ge=1e-9, le=1e9)]
Density = Annotated[float, Meta(ge=1e-6, le=1e6)]
Path = Annotated[str, Meta(min_length=1, max_length=500)]
Dof = Annotated[int, Meta(ge=0, le=5)]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a scene file: no other settings than those that it names."""


class WorldTable(Table, frozen=True, kw_only=True):
    """How time goes on: see `km.World`."""

    gravity: Point = (0.0, 0.0, -9.81)  # m/s²
    dt: Annotated[float, Meta(gt=0.0, le=0.1)] = 2e-3  # s
    sleep: bool = True
    material: Reference | None = None  # of shapes without one of their own
    substeps: Annotated[int, Meta(ge=1, le=100)] | None = None
    sweeps: bool = False
    contact: Literal["timestep", "impulse"] = "timestep"
    epsilon: Length | None = None  # m
    handling: Annotated[str, Meta(max_length=40)] | None = None
    boost: Annotated[float, Meta(ge=0.0, le=1e3)] | None = None


class MaterialTable(Table, frozen=True, kw_only=True):
    """How a surface rubs and bounces: see `km.Material`."""

    name: Name
    friction: Annotated[float, Meta(ge=0.0, le=1e3)] = 1.0
    torsional: Annotated[float, Meta(ge=0.0, le=1e3)] = 0.005  # m
    rolling: Annotated[float, Meta(ge=0.0, le=1e3)] = 0.0001  # m
    restitution: Share = 0.0
    directions: Literal[1, 3, 4, 6] = 3
    margin: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0  # m
    priority: Annotated[int, Meta(ge=-100, le=100)] = 0
    tangential: Annotated[float, Meta(ge=-1.0, le=1.0)] = 0.0
    surface: Rates = (0.0, 0.0, 0.0)  # m/s


class TurnTable(Table, frozen=True, kw_only=True):
    """A rotation: about an axis by degrees or radians, or a quaternion w x y z, or roll, pitch and yaw (rad)."""

    axis: Axis = "z"
    degrees: Angle | None = None
    radians: Angle | None = None
    quaternion: tuple[Coordinate, Coordinate, Coordinate, Coordinate] | None = None
    rpy: tuple[Angle, Angle, Angle] | None = None


class Placed(Table, frozen=True, kw_only=True):
    """Where something is."""

    at: Point = (0.0, 0.0, 0.0)  # m
    turn: TurnTable | None = None


class ShapeTable(Placed, frozen=True, kw_only=True):
    """A solid: one of box, sphere, cylinder, capsule, cone (along z) and mesh."""

    box: tuple[Length, Length, Length] | None = None  # m, edges
    sphere: Length | None = None  # m, radius
    cylinder: tuple[Length, Length] | None = None  # m, radius and length
    capsule: tuple[Length, Length] | None = None  # m, radius and length of the straight part
    cone: tuple[Length, Length] | None = None  # m, radius of the base and length; the tip is on top
    mesh: Path | None = None  # a file in the folder of the scene: STL, OBJ, DAE
    scale: tuple[Length, Length, Length] = (1.0, 1.0, 1.0)  # of the mesh
    material: Reference | None = None
    colour: Colour | None = None
    group: Bits = 1
    mask: Bits = 0xFFFFFFFF


class GroundTable(ShapeTable, frozen=True, kw_only=True):
    """Ground: the half-space below a plane, if it is no solid that stands."""

    normal: Point = (0.0, 0.0, 1.0)
    offset: Coordinate = 0.0  # m, along the normal


class RowTable(Table, frozen=True, kw_only=True):
    """So many of a body along x, y and z, apart by a step, their middle where the body would be."""

    count: tuple[
        Annotated[int, Meta(ge=1, le=1000)], Annotated[int, Meta(ge=1, le=1000)], Annotated[int, Meta(ge=1, le=1000)]
    ]
    step: Point  # m
    colours: Annotated[tuple[Colour, ...], Meta(max_length=100)] = ()  # one after the other


class BodyTable(ShapeTable, frozen=True, kw_only=True):
    """A free body of a shape, or of several `shapes`. In the name of a row, {} is a number."""

    name: Name
    shapes: Annotated[tuple[ShapeTable, ...], Meta(max_length=1000)] = ()
    density: Density | None = None  # kg/m³; that of water if there is no mass either
    mass: Mass | None = None  # kg
    inertia: ShapeTable | None = None  # a solid whose mass is spread as the body's; else as its shapes say
    velocity: Rates = (0.0, 0.0, 0.0)  # m/s
    spin: Rates = (0.0, 0.0, 0.0)  # rad/s, world axes
    row: RowTable | None = None


class HumanTable(Table, frozen=True, kw_only=True):
    """The human figure of `km.human`."""

    mass: Annotated[float, Meta(ge=1.0, le=1000.0)] = 70.0  # kg
    height: Annotated[float, Meta(ge=0.3, le=3.0)] = 1.75  # m


class FigureTable(Placed, frozen=True, kw_only=True):
    """A model: a file in the folder of the scene (URDF, SDF, MJCF), a robot that is known by name, or a human."""

    name: Name
    file: Path | None = None
    robot: Reference | None = None
    human: HumanTable | None = None
    floating: bool | None = None
    ignore: Annotated[tuple[Reference, ...], Meta(max_length=100)] = ()
    material: Reference | None = None
    q: Annotated[tuple[Coordinate, ...], Meta(max_length=10_000)] | None = None
    v: Annotated[tuple[Coordinate, ...], Meta(max_length=10_000)] | None = None
    control: dict[str, Coordinate] = {}  # what actuators are told, by their names


Numbers = Force | Annotated[tuple[Force, ...], Meta(max_length=6)]


class JointTable(Placed, frozen=True, kw_only=True):
    """A joint between two bodies, or "world" and a body. Between bodies of one tree it closes a loop."""

    between: tuple[Reference, Reference]
    name: Name | None = None
    kind: Literal[
        "fixed", "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free"
    ] = "fixed"
    at: Literal["middle"] | Point | None = None  # type: ignore[assignment]  # m, in the world; else where the second is
    axis: Axis | None = None
    axis2: Axis | None = None
    pitch: Coordinate | None = None  # m/rad
    lower: Numbers | None = None  # rad or m
    upper: Numbers | None = None
    velocity_limit: Numbers | None = None
    effort_limit: Numbers | None = None
    damping: Numbers | None = None
    stiffness: Numbers | None = None
    friction: Numbers | None = None
    armature: Numbers | None = None
    rest: Numbers | None = None
    how: Literal["auto", "loop"] = "auto"
    strength: LargestForce = 0.0  # N, with which it breaks; 0: it holds anything


class Acting(Table, frozen=True, kw_only=True):
    """Something that acts, with a name by which a change can set or end it."""

    name: Name | None = None


class MotorTable(Acting, frozen=True, kw_only=True):
    """Keeps the speed of a joint: see `World.motor`."""

    joint: Reference
    speed: Rate = 0.0
    effort_limit: LargestForce | None = None
    dof: Dof = 0


class ServoTable(Acting, frozen=True, kw_only=True):
    """Pulls a joint to a position, or along a path of times and positions: see `World.servo`."""

    joint: Reference
    position: Angle = 0.0
    stiffness: Gain
    damping: Gain
    speed: Rate = 0.0
    effort_limit: LargestForce | None = None
    dof: Dof = 0
    path: Annotated[tuple[tuple[Time, Angle], ...], Meta(min_length=2, max_length=10_000)] | None = None  # s, rad or m


class DriveTable(Acting, frozen=True, kw_only=True):
    """A constant force or torque in a joint: see `World.drives.force`."""

    joint: Reference
    force: Force
    dof: Dof = 0


class CoupleTable(Acting, frozen=True, kw_only=True):
    """Keeps a joint at a multiple of another one: see `World.drives.couple`."""

    joint: Reference
    source: Reference
    ratio: Rate = 1.0
    position: Angle = 0.0


class PushTable(Acting, frozen=True, kw_only=True):
    """A constant force and torque on a body: see `World.apply_force`."""

    body: Reference
    force: Forces = (0.0, 0.0, 0.0)
    torque: Forces = (0.0, 0.0, 0.0)
    at: Point | None = None
    turning: bool = False


class SpringTable(Table, frozen=True, kw_only=True):
    """A spring and a damper between points of two bodies, or of "world" and a body: see `World.structure.tie`."""

    between: tuple[Reference, Reference]
    stiffness: Gain = 0.0  # N/m
    length: Annotated[float, Meta(ge=0.0, le=LARGEST_SCENE_LENGTH)] = 0.0  # m, at which it is slack
    damping: Gain = 0.0  # N s/m
    tension: Force = 0.0  # N
    at_a: Point = (0.0, 0.0, 0.0)  # m, in the frame of the first
    at_b: Point = (0.0, 0.0, 0.0)  # m, in the frame of the second


class SetTable(Table, frozen=True, kw_only=True):
    """Other numbers for something that acts, by its name."""

    name: Name
    speed: Rate | None = None
    position: Angle | None = None
    stiffness: Gain | None = None
    damping: Gain | None = None
    effort_limit: LargestForce | None = None
    ratio: Rate | None = None
    force: Numbers | None = None  # one in a joint, three on a body
    torque: Forces | None = None


class ChangeTable(Table, frozen=True, kw_only=True):
    """A change at a time or at an event. Its actions are made in the order of the settings here."""

    name: Name | None = None
    at: Time | None = None  # s
    when: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    times: Annotated[int, Meta(ge=1, le=1_000_000)] = 1  # how often at most
    cut: Reference | None = None
    remove: Reference | None = None
    add: BodyTable | None = None
    connect: JointTable | None = None
    reroot: Reference | None = None
    set: SetTable | None = None
    stop: Name | None = None  # something that acts
    ends: bool = False  # the run


class RecordTable(Table, frozen=True, kw_only=True):
    """The recording of a run."""

    rate: Annotated[float, Meta(ge=0.1, le=1000.0)] = 60.0  # frames a second


class CameraTable(Table, frozen=True, kw_only=True):
    """From where pictures and the replay look."""

    direction: Point = (1.0, -1.3, 0.55)
    follow: Reference | None = None
    size: tuple[Annotated[int, Meta(ge=16, le=4096)], Annotated[int, Meta(ge=16, le=4096)]] = (360, 270)  # of a picture


class SceneTable(Table, frozen=True, kw_only=True):
    """A scene file."""

    name: Name | None = None
    about: Sentence = ""
    seconds: Annotated[float, Meta(ge=0.0, le=86400.0)] = 5.0
    world: WorldTable = WorldTable()
    material: Annotated[tuple[MaterialTable, ...], Meta(max_length=1000)] = ()
    ground: Annotated[tuple[GroundTable, ...], Meta(max_length=MOST_TABLES)] = ()
    body: Annotated[tuple[BodyTable, ...], Meta(max_length=MOST_TABLES)] = ()
    figure: Annotated[tuple[FigureTable, ...], Meta(max_length=1000)] = ()
    joint: Annotated[tuple[JointTable, ...], Meta(max_length=MOST_TABLES)] = ()
    motor: Annotated[tuple[MotorTable, ...], Meta(max_length=MOST_TABLES)] = ()
    servo: Annotated[tuple[ServoTable, ...], Meta(max_length=MOST_TABLES)] = ()
    drive: Annotated[tuple[DriveTable, ...], Meta(max_length=MOST_TABLES)] = ()
    couple: Annotated[tuple[CoupleTable, ...], Meta(max_length=MOST_TABLES)] = ()
    push: Annotated[tuple[PushTable, ...], Meta(max_length=MOST_TABLES)] = ()
    spring: Annotated[tuple[SpringTable, ...], Meta(max_length=MOST_TABLES)] = ()
    change: Annotated[tuple[ChangeTable, ...], Meta(max_length=MOST_TABLES)] = ()
    record: RecordTable = RecordTable()
    camera: CameraTable = CameraTable()
