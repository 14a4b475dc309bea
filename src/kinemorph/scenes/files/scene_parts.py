"""From the tables of a scene file to bodies, figures, ground and joints of a world."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from msgspec.structs import replace

from kinemorph._files import ModelWarning, quoted
from kinemorph._toml import Toml, nearest_name, path_inside_folder
from kinemorph.geometry.ground import HalfSpace
from kinemorph.geometry.mass import WATER_DENSITY, MassProperties, inertia_of
from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.io import model_formats
from kinemorph.mocap.body.figure import human
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import AXES, Joint
from kinemorph.multibody.model.model import Model
from kinemorph.scenes.files import scene_tables
from kinemorph.scenes.robots import catalog
from kinemorph.spatial.pose import Pose
from kinemorph.world.body import Body, Figure
from kinemorph.world.world import World

KINDS = ("box", "sphere", "cylinder", "capsule", "cone", "mesh")
OF_JOINTS = ("lower", "upper", "velocity_limit", "effort_limit", "damping", "stiffness", "friction", "armature", "rest")
THE_WORLD = "world"  # what a joint is on that is on no body


class Parts:
    """Makes what the tables of one file say; an error names the place."""

    def __init__(self, toml: Toml, materials: tuple[scene_tables.MaterialTable, ...]) -> None:
        self.toml = toml
        self.materials: dict[str, Material] = {}
        self._next: dict[str, int] = {}  # of names with {} in them the next number
        for k, table in enumerate(materials):
            if table.name in self.materials:
                raise toml.error(f"material[{k}].name", f"there is a material {table.name!r} already")
            numbers = {name: getattr(table, name) for name in table.__struct_fields__ if name != "name"}
            self.materials[table.name] = Material(**numbers)

    def material(self, place: str, name: str | None) -> Material | None:
        """A material by its name; None if there is no name."""
        if name is None or name in self.materials:
            return None if name is None else self.materials[name]
        raise self.toml.error(f"{place}.material", nearest_name(name, list(self.materials), "material"))

    # --------------------------------------------------------------------------------------------------- geometry

    def pose(self, place: str, table: scene_tables.Placed) -> Pose:
        """Where something is."""
        return self.turned(place, table.turn, table.at)

    def turned(self, place: str, turn: scene_tables.TurnTable | None, at: Any) -> Pose:
        """A pose of a rotation, if there is one, and a place."""
        if turn is None:
            return Pose(at)
        ways = [name for name in ("degrees", "radians", "quaternion", "rpy") if getattr(turn, name) is not None]
        if len(ways) != 1:
            raise self.toml.error(f"{place}.turn", "give one of degrees, radians, quaternion and rpy")
        axis = AXES[turn.axis] if isinstance(turn.axis, str) else turn.axis
        with self.toml.at(f"{place}.turn"):
            if turn.quaternion is not None:
                return Pose(at, Pose.quaternion(turn.quaternion).rotation)  # made a rotation twice: digits may be few
            if turn.rpy is not None:
                return Pose.rpy(*turn.rpy, position=at)
            angle = math.radians(turn.degrees) if turn.degrees is not None else turn.radians
            return Pose.turn(axis, angle or 0.0, at)

    def shape(self, place: str, table: scene_tables.ShapeTable, pose: Pose | None = None) -> Shape:
        """A solid, where its table says, or at a pose."""
        given = [name for name in KINDS if getattr(table, name) is not None]
        if len(given) != 1:
            said = f"{' and '.join(given)} are" if given else "there is"
            raise self.toml.error(
                place, f"{said} {'too many' if given else 'no shape'}: give one of {', '.join(KINDS)}"
            )
        colour = None if table.colour is None else (*table.colour, 1.0)[:4]
        material = self.material(place, table.material)
        more = {"material": material, "colour": colour, "group": table.group, "mask": table.mask}
        pose = self.pose(place, table) if pose is None else pose
        size: Any = getattr(table, given[0])
        with self.toml.at(f"{place}.{given[0]}"):
            if given[0] == "mesh":
                return Shape.mesh(path_inside_folder(self.toml, f"{place}.mesh", size), table.scale, pose, **more)
            make: Any = getattr(Shape, given[0])
            return (
                make(*size, pose, **more) if given[0] in ("cylinder", "capsule", "cone") else make(size, pose, **more)
            )

    # ----------------------------------------------------------------------------------------------------- ground

    def ground(self, world: World, place: str, table: scene_tables.GroundTable) -> None:
        """Ground that never moves."""
        material = self.material(place, table.material)
        with self.toml.at(place):
            if any(getattr(table, name) is not None for name in KINDS):
                world.add_ground(self.shape(place, table))
            else:
                world.add_ground(HalfSpace(table.normal, table.offset), material)

    # ----------------------------------------------------------------------------------------------------- bodies

    def bodies(self, world: World, place: str, table: scene_tables.BodyTable, taken: dict[str, Body]) -> None:
        """A body, or a row of them, into a world and among those that are taken, by name."""
        if table.row is not None and math.prod(table.row.count) + len(taken) > scene_tables.MOST_BODIES:
            raise self.toml.error(f"{place}.row.count", f"these would be more than {scene_tables.MOST_BODIES} bodies")
        if table.row is not None and "{}" not in table.name:
            raise self.toml.error(f"{place}.name", "bodies in a row need a name with {} in it, for a number")
        for one in _in_row(table):
            name = self._numbered(one.name, taken)
            if name in taken or name in (THE_WORLD, "ground"):  # as in `contact ball ground`
                raise self.toml.error(f"{place}.name", f"there is a body {name!r} already; names are for one each")
            taken[name] = self._body(world, place, one, name)

    def _numbered(self, name: str, taken: dict[str, Body]) -> str:
        """A name with {} in it as the first one that is not taken."""
        if "{}" not in name:
            return name
        k = self._next.get(name, 0)
        while name.replace("{}", str(k)) in taken:
            k += 1
        self._next[name] = k + 1
        return name.replace("{}", str(k))

    def _body(self, world: World, place: str, table: scene_tables.BodyTable, name: str) -> Body:
        if table.density is not None and table.mass is not None:
            raise self.toml.error(place, "give its density or its mass, not both")
        pose = self.pose(place, table)
        if not table.shapes and table.inertia is None and table.mass is None:
            shape = self.shape(place, table, Pose())
            twist = (*table.spin, *table.velocity)
            with self.toml.at(place):
                body: Body = world.add(shape, at=pose, twist=twist, density=table.density or WATER_DENSITY, name=name)
            return body
        model = self._model(place, table, name)
        turn = pose.rotation.T
        with self.toml.at(place):
            return world.add(model, at=pose, v=np.r_[turn @ table.spin, turn @ table.velocity])[name]

    def _model(self, place: str, table: scene_tables.BodyTable, name: str) -> Model:
        """A free link of several shapes, or of a mass that is given."""
        if table.shapes and any(getattr(table, kind) is not None for kind in KINDS):
            raise self.toml.error(f"{place}.shapes", "give one shape, or several in shapes, not both")
        shapes = [
            self.shape(
                f"{place}.shapes[{k}]",
                replace(shape, colour=shape.colour or table.colour, material=shape.material or table.material),
            )
            for k, shape in enumerate(table.shapes)
        ]
        shapes = shapes or [self.shape(place, table, Pose())]
        solids = [self.shape(f"{place}.inertia", table.inertia)] if table.inertia is not None else shapes
        with self.toml.at(place):
            mass: MassProperties = inertia_of(solids[0], table.density or WATER_DENSITY)
            for solid in solids[1:]:
                mass = mass + inertia_of(solid, table.density or WATER_DENSITY)
            mass = mass if table.mass is None else mass.with_mass(table.mass)
            builder = Builder(name)
            builder.link(name, None, Joint.free(), inertia=Inertia(mass.mass, mass.com, mass.matrix), shapes=shapes)
            return builder.build()

    # ---------------------------------------------------------------------------------------------------- figures

    def figure(self, world: World, place: str, table: scene_tables.FigureTable) -> Figure:
        """A model in a world."""
        if table.name in {figure.name for figure in world.figures}:
            raise self.toml.error(f"{place}.name", f"there is a figure {table.name!r} already; names are for one each")
        model = self._figure_model(place, table)
        material = self.material(place, table.material)
        with self.toml.at(place), warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            figure: Figure = world.add(
                model, at=self.pose(place, table), q=table.q, v=table.v, material=material, name=table.name
            )
        for name, told in table.control.items():
            if name not in figure.control:
                raise self.toml.error(f"{place}.control", nearest_name(name, list(figure.control), "actuator"))
            figure.control[name] = told
        return figure

    def _figure_model(self, place: str, table: scene_tables.FigureTable) -> Model:
        given = [name for name in ("file", "robot", "human") if getattr(table, name) is not None]
        if len(given) != 1:
            raise self.toml.error(place, "give one of file, robot and human")
        with self.toml.at(f"{place}.{given[0]}"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            if table.file is not None:
                file, folder = path_inside_folder(self.toml, f"{place}.file", table.file), self.toml.file.parent
                return model_formats.load(file, table.floating, table.ignore, mesh_root=folder)
            if table.human is not None:
                return human(table.human.mass, table.human.height)
            name = table.robot or ""
            if catalog.is_file_name(name):
                raise ValueError("a robot is one that is known by name; yours is a file, in the folder of the scene")
            return catalog.robot(name, bool(table.floating))

    # ----------------------------------------------------------------------------------------------------- joints

    def joint(self, place: str, table: scene_tables.JointTable) -> Joint:
        """A joint as users write it."""
        more: dict[str, Any] = {name: getattr(table, name) for name in ("axis", "axis2", "pitch", *OF_JOINTS)}
        with self.toml.at(place):
            return Joint(
                JointKind[table.kind.upper()], name=table.name, **{k: v for k, v in more.items() if v is not None}
            )


def _in_row(table: scene_tables.BodyTable) -> Iterator[scene_tables.BodyTable]:
    """The bodies of a row, one by one."""
    if table.row is None:
        yield table
        return
    row = table.row
    for k, index in enumerate(product(*map(range, row.count))):
        at = tuple(
            x + (i - 0.5 * (count - 1)) * step for x, i, count, step in zip(table.at, index, row.count, row.step)
        )
        colour = row.colours[k % len(row.colours)] if row.colours else table.colour
        yield replace(table, at=at, colour=colour, row=None)


def body_of(world: World, name: str) -> Body:
    """A body by its name, or by figure/name."""
    figure, slash, link = name.partition("/")
    return world.figure(figure)[link] if slash else world[name]


def joint_of(world: World, name: str) -> int:
    """The id of a joint by its name, or by figure/name. Those on which bodies float do not count."""
    figure, slash, joint = name.partition("/")
    if slash:
        return world.figure(figure).joint(joint)
    found = [id for id, other in world.registry.joint_names.items() if other == name and _holds(world, id)]
    if len(found) != 1:
        raise KeyError(f"there is no joint {quoted(name)}" + (f" alone, but {len(found)} of them" if found else ""))
    return found[0]


def _holds(world: World, joint: int) -> bool:
    """Whether a joint is there, and not one on which a body floats."""
    forest = world.forest
    if not forest.has_joint(joint):
        return False
    return forest.closes_loop(joint) or bool(forest._carried(joint)[1]["kind"] != JointKind.FREE)


def body_names(world: World) -> Counter[str]:
    """All names by which bodies can be asked for, and how many each stands for."""
    names = Counter(world.registry.body_names.values())
    names.update(f"{figure.name}/{body.name}" for figure in world.figures for body in figure)
    return names


def joint_names(world: World) -> Counter[str]:
    """All names by which joints can be asked for, likewise."""
    names = Counter(name for id, name in world.registry.joint_names.items() if _holds(world, id))
    names.update(f"{figure.name}/{joint}" for figure in world.figures for joint in figure.joints)
    return names
