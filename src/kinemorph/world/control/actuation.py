"""What a user of a world may set going: motors, servos, forces, couplings, materials, and who passes through whom."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.contact.layout import BY_FORCE, DRIVE, Driven
from kinemorph.contact.material_table import lay_materials
from kinemorph.geometry.material import Material
from kinemorph.jit.api import rows_at
from kinemorph.multibody.layout import DOF, JointKind
from kinemorph.multibody.model.equipment import Actuator
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import bits, finite, flag, largest, shown, whole
from kinemorph.spatial.pose import Pose, vector
from kinemorph.spatial.products import times
from kinemorph.structure.forest.forest import Change
from kinemorph.structure.forest.layout import BODIES, JOINTS
from kinemorph.structure.forest.memory import INDEX
from kinemorph.world.argument_checks import a_material
from kinemorph.world.body import Body
from kinemorph.world.control.drive_parameters import PLACES, tell_drive
from kinemorph.world.control.drives import (
    LARGEST_GAIN,
    Controls,
    Coupling,
    Drive,
    JointForce,
    Motor,
    Push,
    Servo,
    drives_well,
    row_of,
)
from kinemorph.world.ids import Id, ShapeId
from kinemorph.world.persistence.journal import an_input

if TYPE_CHECKING:
    from kinemorph.collision.collisions import Collisions
    from kinemorph.collision.shapes.shape_table import ShapeTable
    from kinemorph.contact.solver import Solver
    from kinemorph.structure.forest.forest import Forest
    from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
ZERO = (0.0, 0.0, 0.0)
OWNERS = {"drives": "joint", "pushes": "body"}  # tables, and what their rows act on
MATERIAL_NUMBERS = ("friction", "restitution", "rolling", "torsion", "tangential")  # fields of MATERIAL, in order
NUMBERS = {"position", "speed", "stiffness", "damping", "force", "torque", "least", "most", "ratio", "told"}


@checked_on_failure
class Acting:
    """The part of a `World` that acts on single joints, bodies and surfaces."""

    forest: Forest
    collisions: Collisions
    shapes: ShapeTable
    solver: Solver
    _mounted: dict[int, list[int]]
    _address: int

    if TYPE_CHECKING:

        def _wake(self, *bodies: int, why: int = ...) -> None: ...
        def _wake_tree(self, tree: int, why: int = ...) -> None: ...
        def _id(self, body: Body | int) -> int: ...
        def _neighbours(self, bodies: list[int]) -> list[int]: ...

    # ---------------------------------------------------------------------------------------------------------- joints

    @an_input
    def motor(self, joint: Change | int | str, speed: float = 0.0, most: float = math.inf, *, dof: int = 0) -> Motor:
        """Have a joint keep a speed (rad/s or m/s), with a force of at most `most` (N m or N).

        `dof` is which degree of freedom, of a joint that has several.
        """
        numbers = {"speed": finite("motor: speed", speed), "damping": math.inf, **_ends("motor", most)}
        return Motor(self._world, self._drive("motor", joint, dof, Driven.ROW, numbers))

    @an_input
    def servo(
        self, joint: Change | int | str, position: float = 0.0, *, stiffness: float, damping: float, speed: float = 0.0,
        most: float = math.inf, dof: int = 0,
    ) -> Servo:  # fmt: skip
        """Pull a joint to a position, as a spring and a damper do, with a force of at most `most` (N m or N).

        The force is that at the end of the step, so that no stiffness and no damping is too large for it. Without a
        largest force it is a spring and a damper in the joint.
        """
        numbers = {
            "position": finite("servo: position", position), "speed": finite("servo: speed", speed),
            "stiffness": finite("servo: stiffness", stiffness, 0.0, LARGEST_GAIN),
            "damping": finite("servo: damping", damping, 0.0, LARGEST_GAIN), **_ends("servo", most),
        }  # fmt: skip
        id, _, l = self._joint("servo", joint)
        if l["kind"] == JointKind.SPHERICAL and stiffness > 0.0:
            raise ValueError(f"servo: joint {id} is a ball, whose position is not one number; give it a stiffness of 0")
        return Servo(self._world, self._drive("servo", joint, dof, Driven.ROW, numbers))

    @an_input
    def drive(self, joint: Change | int | str, force: float, *, dof: int = 0) -> JointForce:
        """A constant force (N) or torque (N m) in a joint until it is withdrawn; the joint's effort bounds it."""
        numbers = {"force": finite("drive: force", force)}
        return JointForce(self._world, self._drive("drive", joint, dof, Driven.FORCE, numbers))

    @an_input
    def couple(
        self, joint: Change | int | str, source: Change | int | str, ratio: float = 1.0, position: float = 0.0
    ) -> Coupling:  # fmt: skip
        """Keep a joint at `ratio` times where another one of the same tree is, plus `position`, as gears do."""
        numbers = {"ratio": finite("couple: ratio", ratio), "position": finite("couple: position", position)}
        trees = set()
        for each in (joint, source):
            id, _, l = self._joint("couple", each)
            trees.add(self.forest._carried(id)[0])
            if l["nv"] != 1:
                raise ValueError(f"couple: joint {id} has {int(l['nv'])} degrees of freedom, and gears have one")
        if len(trees) > 1:
            raise ValueError("couple: both joints must be of one tree; connect their bodies first")
        id = self._world.joint_id(source)
        if id == self._world.joint_id(joint):
            raise ValueError(f"couple: joint {id} cannot follow itself")
        row = self._drive("couple", joint, 0, Driven.COUPLED, numbers)
        self.solver["drives"][row]["source"] = id
        return Coupling(self._world, row)

    @an_input
    def set_numbers(self, table: str, row: int, numbers: dict[str, Any]) -> None:
        """Change the numbers of a drive or a push, as its handle does."""
        if table not in OWNERS or not 0 <= row < len(self.solver[table]) or not numbers.keys() <= NUMBERS:
            raise ValueError(f"world: there is no row {row} of {table} with {', '.join(numbers)}")
        if table == "drives" and all(self._told(row, name, value) for name, value in numbers.items()):
            return
        one = self.solver[table][row]
        self._wake_owner(table, one)  # which refuses what is gone
        for name, value in numbers.items():
            one[name] = value

    def _told(self, row: int, name: str, value: Any) -> bool:
        """Whether a drive was told a number the short way."""
        return name in PLACES and tell_drive(self._address, row, PLACES[name], float(value))

    @an_input
    def withdraw(self, table: str, row: int) -> None:
        """End a drive or a push, as its handle does."""
        if table not in OWNERS or not 0 <= row < len(self.solver[table]):
            raise ValueError(f"world: there is no row {row} of {table}")
        one = self.solver[table][row]
        self._wake_owner(table, one)
        one[OWNERS[table]] = -1
        one["generation"] += 1

    def _wake_owner(self, table: str, one: Any) -> None:
        what = int(one[OWNERS[table]])
        if table == "drives":
            self._wake_joint(what)
        else:
            self._wake(what, why=BY_FORCE)

    def _wake_joint(self, joint: int) -> None:
        tree = int(self.forest._tables[JOINTS][self.forest._find(JOINTS, joint, "joint")]["tree"])
        if tree >= 0:
            self._wake_tree(tree, BY_FORCE)
        else:  # it closes a loop
            self._wake(*self.forest.sides(joint), why=BY_FORCE)

    @property
    def drives(self) -> list[Drive]:
        """All that acts in joints now."""
        table = self.solver["drives"][: int(self.solver.header["drive_count"][0])]
        kinds = {Driven.FORCE: JointForce, Driven.COUPLED: Coupling}
        found = []
        for i in np.flatnonzero(table["joint"] >= 0).tolist():
            row = table[i]
            plain = Motor if row["damping"] == math.inf else Servo
            drive: Drive = kinds.get(Driven(int(row["kind"])), plain)(self._world, i)
            if drive.alive:
                found.append(drive)
        return found

    @property
    def _world(self) -> World:
        return self  # type: ignore[return-value]

    def _joint(self, what: str, joint: Change | int | str) -> tuple[int, Any, Any]:
        """The id of a joint of a tree, the rows of its degrees of freedom, and that of the link that it carries."""
        id = self._world.joint_id(joint)
        if self.forest.closes_loop(id):
            return self._joint_of_loop(what, id)
        t, l = self.forest._carried(id)
        tree = self.forest._tree(t)
        if l["kind"] == JointKind.FREE:
            raise ValueError(f"{what}: joint {id} is free; use `push` on the body that it carries")
        if l["nv"] == 0:
            raise ValueError(f"{what}: joint {id} is fixed, and does not move")
        return id, rows_at(int(tree["dofs"]), int(tree["nv"]), DOF)[l["iv"] : l["iv"] + l["nv"]], l

    def _joint_of_loop(self, what: str, id: int) -> tuple[int, Any, Any]:
        """The same of a joint that closes a loop; its LOOP row is there in place of a link."""
        k = int(self.forest._tables[JOINTS][self.forest._find(JOINTS, id, "joint")]["loop"])
        loop = self.forest._ties[k]
        if what not in ("motor", "servo"):
            raise ValueError(f"{what}: joint {id} closes a loop, and takes a motor or a servo only")
        if loop["nv"] == 0 or loop["kind"] == JointKind.FREE:
            raise ValueError(f"{what}: joint {id} closes a loop, and is fixed or free: there is nothing to drive")
        return id, self.forest._drives[6 * k : 6 * k + int(loop["nv"])], loop

    def _drive(self, what: str, joint: Change | int | str, dof: int, kind: int, numbers: dict[str, float]) -> int:
        """A row for a drive, in a joint that is there."""
        id, dofs, _ = self._joint(what, joint)
        if whole(f"{what}: dof", dof) >= len(dofs):
            raise ValueError(f"{what}: joint {id} has {len(dofs)} degrees of freedom, and none {dof}")
        if dofs[dof]["effort"] == 0.0 and kind != Driven.COUPLED:
            raise ValueError(f"{what}: joint {id} has an effort limit of 0, so nothing may drive it; raise the limit")
        self._wake_joint(id)
        return self._write(id, dof, kind, numbers)

    def _write(self, joint: int, dof: int, kind: int, numbers: dict[str, float]) -> int:
        """The row of a new drive."""
        i = self.solver.claim("drives", "joint")
        row = np.zeros((), DRIVE)
        row["generation"] = self.solver["drives"]["generation"][i]
        row["joint"], row["dof"], row["kind"], row["least"], row["most"] = joint, dof, kind, -math.inf, math.inf
        for name, value in numbers.items():
            row[name] = value
        self.solver["drives"][i] = row
        return i

    def _fit(self, model: Model, joints: list[int]) -> Controls:
        """The actuators and mimics of a model that has come in."""
        if not model.catalog.equipment.actuators and not model.catalog.mimics:
            return Controls(self._world, (), ())
        where = dict(zip(model.joint_names, joints, strict=True))
        acting, handles = [], []
        for a in model.actuators if model.catalog.equipment.actuators else ():
            if drives_well(a):
                acting.append(a)
                handles.append([self._fit_one(where[a.joint], k, a, gear) for k, gear in enumerate(a.gear)])
        for m in model.mimics if model.catalog.mimics else ():
            self.couple(where[m.joint], where[m.source], m.multiplier, m.offset)
        return Controls(self._world, acting, handles)

    def _fit_one(self, joint: int, dof: int, actuator: Actuator, gear: float) -> Drive:
        numbers = row_of(actuator, gear)
        kind = Driven(int(numbers.pop("kind")))
        i = self._write(joint, dof, kind, numbers)
        return JointForce(self._world, i) if kind == Driven.FORCE else Servo(self._world, i)

    # ---------------------------------------------------------------------------------------------------------- bodies

    @an_input
    def push(
        self, body: Body | int, force: Iterable[float] = ZERO, torque: Iterable[float] = ZERO, *,
        at: Iterable[float] | None = None, lasting: bool = True, turning: bool = False,
    ) -> Push:  # fmt: skip
        """A force (N) and a torque (N m) on a body, until it is withdrawn, or for one step if it is not `lasting`.

        The force acts at `at` (m, a point in the world now, which then moves with the body), or at the body's centre of
        mass. Both are in world axes, or in the body's own if they are `turning` with it.
        """
        id = self._id(body)
        lasting, turning = flag("push: lasting", lasting), flag("push: turning", turning)
        f, n = vector(force, 3, "push: force"), vector(torque, 3, "push: torque")
        pose = self.forest.pose(id)
        point = self._centre(id) if at is None else vector(at, 3, "push: at")
        local = times(pose.rotation.T, point - pose.position)
        self._wake(id, why=BY_FORCE)
        i = self.solver.claim("pushes", "body")
        row = self.solver["pushes"][i]
        row["body"], row["lasting"], row["turning"] = id, lasting, turning
        row["force"], row["torque"], row["at"] = f, n, local
        return Push(self._world, i)

    def apply_impulse(
        self, body: Body | int, impulse: Iterable[float] = ZERO, moment: Iterable[float] = ZERO, *,
        at: Iterable[float] | None = None,
    ) -> None:  # fmt: skip
        """An impulse (N s) and an impulsive moment (N m s) on a body, world axes, at `at` or at its centre of mass.

        Given within the next step, together with what contacts, loops and limits then answer: exact in momentum.
        """
        p, m = vector(impulse, 3, "apply_impulse: impulse"), vector(moment, 3, "apply_impulse: moment")
        dt = self._world.dt
        with np.errstate(over="ignore"):
            force, torque = p / dt, m / dt
        for what, given, made in (("impulse", p, force), ("moment", m, torque)):
            if not np.isfinite(made).all():
                raise ValueError(f"apply_impulse: {what} {given.tolist()} is too large for a step of {dt:g} s")
        self.push(body, force, torque, at=at, lasting=False)

    def _centre(self, body: int) -> Any:
        """The centre of mass of a body in the world."""
        slot = self.forest._tables[BODIES][body & INDEX]
        l = self.forest._links(int(slot["tree"]))[slot["link"]]
        on_link = Pose.known(slot["p"], slot["R"].reshape(3, 3))
        link = self.forest.pose(body) @ on_link.inverse()
        return link.apply(l["h"] / l["mass"] if l["mass"] > 0.0 else l["h"])

    # -------------------------------------------------------------------------------------------------------- surfaces

    def set_material(self, what: Body | int, material: Material) -> None:
        """Another material for all shapes of a body, or for one shape by its id, such as `add_ground` returns."""
        a_material("set_material", material)
        self._cover(*self._shapes_of(what), material)

    @an_input
    def _cover(self, shapes: tuple[int, ...], bodies: tuple[int, ...], material: Material) -> None:
        self._wake(*bodies, why=BY_FORCE)
        rows = np.array([self.shapes.row_of(shape) for shape in shapes], np.int64).reshape(-1, 1)
        self._lay(rows, laid([material]))

    def _shapes_of(self, what: Body | int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids of all shapes of a body, or of one that is given by its id, and of all bodies that it concerns."""
        if isinstance(what, Body):
            shapes = self._mounted.get(self._id(what) & INDEX, [])
            return tuple(shapes), (what.id, *self._neighbours([what.id]))
        row = self._shape_row(what)
        link = int(self.shapes.rows["link"][row])
        return (int(what),), (*self._touching(row), *([self._body_id(link)] if link >= 0 else []))

    def _shape_row(self, shape: int) -> int:
        """The row of a shape of this world, by its id."""
        if isinstance(shape, Id):
            shape.check(self._world, ShapeId)
        return self.shapes.row_of(shape)

    def _body_id(self, index: int) -> int:
        return self.forest._id(BODIES, index)

    def _touching(self, row: int) -> list[int]:
        """Bodies that touched a shape in the last step."""
        links, pairs, found = self.shapes.rows["link"], self.collisions.pairs, set()
        for pair in pairs[self.collisions.lasting]:
            if pair["count"] and row in (pair["a"], pair["b"]):
                found |= {int(links[pair[side]]) for side in "ab"}
        return [self._body_id(i) for i in sorted(found) if i >= 0]

    def _lay(self, ids: Any, numbers: Any) -> None:
        """Write the materials of shapes; `numbers` of each end with what `laid` says."""
        if lay_materials(self.solver.address, ids, numbers):
            surfaces = self.solver["materials"]["surface"][: self.shapes.count]
            self.solver.header["conveys"] = bool(surfaces.any())

    @an_input
    def agree(self, a: int, b: int, material: Material) -> None:
        """A material for two shapes, by their ids, where they touch each other, whatever their own ones are."""
        a_material("agree", material)
        one, other = sorted((self._shape_row(a), self._shape_row(b)))
        if one == other:
            raise ValueError(f"agree: a and b are one shape, {shown(a)}, and must be two that can touch each other")
        table = self.solver["agreements"][: int(self.solver.header["agreement_count"][0])]
        same = np.flatnonzero((table["a"] == one) & (table["b"] == other))
        i = int(same[0]) if len(same) else self.solver.claim("agreements", "a")
        row = self.solver["agreements"][i]
        if not len(same):
            self.solver["materials"]["pairs"][[one, other]] += 1
        row["a"], row["b"] = one, other
        for name, value in _numbers(material).items():
            row[name] = value
        self.solver.header[0]["rough"] |= bool(row["rolling"] > 0.0 or row["torsion"] > 0.0)

    def _disagree(self, row: int) -> None:
        """Forget what was agreed on for a row of the shapes, which another one has now."""
        materials, count = self.solver["materials"], int(self.solver.header["agreement_count"][0])
        table = self.solver["agreements"][:count]
        for i in np.flatnonzero((table["a"] == row) | (table["b"] == row)).tolist():
            materials["pairs"][[int(table[i]["a"]), int(table[i]["b"])]] -= 1
            table[i]["a"] = table[i]["b"] = -1
        materials["pairs"][row] = 0

    def _agree_by_name(self, model: Model, named: dict[str, int]) -> list[str]:
        """The materials of a model's pairs. Returns those that do not act, since the shapes do not meet."""
        idle, rows = [], self.shapes.rows
        for pair in model.pair_materials:
            if pair.a in named and pair.b in named:
                one, other = (rows[self.shapes.row_of(named[name])] for name in (pair.a, pair.b))
                if int(one["group"]) & int(other["mask"]) and int(other["group"]) & int(one["mask"]):
                    self.agree(named[pair.a], named[pair.b], pair.material)
                    continue
            idle.append(f"{pair.a} and {pair.b}")
        return idle

    def ignore(self, a: Body | int, b: Body | int) -> None:
        """Let two bodies, or shapes by their ids, pass through each other until `heed`."""
        self._let_pass(*self._shapes_of(a), *self._shapes_of(b), True)

    def heed(self, a: Body | int, b: Body | int) -> None:
        """Let two bodies or shapes meet again."""
        self._let_pass(*self._shapes_of(a), *self._shapes_of(b), False)

    @an_input
    def _let_pass(
        self, a: tuple[int, ...], of_a: tuple[int, ...], b: tuple[int, ...], of_b: tuple[int, ...], passing: bool
    ) -> None:  # fmt: skip
        if set(a) & set(b):
            raise ValueError("world: ignore and heed take two bodies, or two shapes, not the same one twice")
        self._wake(*of_a, *of_b, why=BY_FORCE)
        for one, other in product(dict.fromkeys(a), dict.fromkeys(b)):
            (self.collisions.ignore if passing else self.collisions.heed)(one, other)

    def regroup(self, what: Body | int, *, group: int | None = None, mask: int | None = None) -> None:
        """Another group or mask for all shapes of a body, or for one shape by its id: what they are, what they meet.

        What touched them wakes: they may not meet any more.
        """
        group = None if group is None else bits("regroup: group", group)
        mask = None if mask is None else bits("regroup: mask", mask)
        self._regroup(*self._shapes_of(what), group, mask)

    @an_input
    def _regroup(
        self, shapes: tuple[int, ...], bodies: tuple[int, ...], group: int | None, mask: int | None
    ) -> None:  # fmt: skip
        self._wake(*bodies, why=BY_FORCE)
        for shape in shapes:
            row = self.shapes.rows[self.shapes.row_of(shape)]
            now = int(row["group"]), int(row["mask"])
            self.shapes.regroup(
                shape, group=now[0] if group is None else group, mask=now[1] if mask is None else mask
            )  # fmt: skip


def _ends(what: str, most: float) -> dict[str, float]:
    size = largest(f"{what}: most", most)
    return {"least": -size, "most": size}


def _numbers(material: Material) -> dict[str, float]:
    """What a material does at a contact: its `directions` say which of its frictions act."""
    return {
        "friction": material.friction if material.directions > 1 else 0.0,
        "restitution": material.restitution,
        "tangential": material.tangential,
        "rolling": material.rolling if material.directions > 4 else 0.0,
        "torsion": material.torsional if material.directions > 3 else 0.0,
    }


def laid(materials: list[Material]) -> Array:
    """What `lay_materials` writes of materials."""
    rows = [(_LAID.get(id(material)) or _laid(material))[1] for material in materials]
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


def _laid(material: Material) -> tuple[Material, Array]:
    numbers = _numbers(material)
    row = (*(numbers[name] for name in MATERIAL_NUMBERS), float(material.priority), *material.surface)
    said = material, np.array([row], np.float64)
    if len(_LAID) >= MOST_LAID:
        _LAID.clear()
    _LAID[id(material)] = said
    return said


_LAID: dict[int, tuple[Material, Array]] = {}  # by identity: to compare all fields takes time
MOST_LAID = 64
