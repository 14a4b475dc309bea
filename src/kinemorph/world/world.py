"""World: the one thing that lives and changes. Bodies, figures and ground that touch, while their structure changes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._files import ModelWarning
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.shape_rows import NOBODY
from kinemorph.collision.shape_table import ShapeTable, Solid
from kinemorph.contact.solver import Solver
from kinemorph.geometry.ground import Ground, HalfSpace
from kinemorph.geometry.mass import WATER, inertia_of
from kinemorph.geometry.material import EVERYTHING, Material
from kinemorph.geometry.shapes import Role, Shape
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.checks import checked
from kinemorph.multibody.configuration import neutral
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose, vector
from kinemorph.spatial.quaternion import from_matrix
from kinemorph.structure.add import stood
from kinemorph.structure.forest import Change, Forest
from kinemorph.structure.forest_layout import BODIES, IN_USE, TREES
from kinemorph.structure.forest_memory import INDEX
from kinemorph.world.body import Body, Figure
from kinemorph.world.contact import Touch
from kinemorph.world.journal import an_input
from kinemorph.world.keeping import Keeping
from kinemorph.world.layout import WORLD, WORLD_KIND, Phase, Status
from kinemorph.world.step import run_steps

Array = np.ndarray[Any, np.dtype[np.float64]]
NO_FORCES = np.zeros((0, 6))
MARGIN = 5e-4  # m, beyond what bodies may move in a step
KEEP_WITHIN = 3e-4  # m: a pair that has moved by less keeps its contact points
SLOW, PATIENCE = 0.05, 0.5  # m/s, s
LONGEST_SUBSTEP = 1.25e-3  # s
PLAIN = Material(friction=0.8)


class WorldError(ArithmeticError):
    """A step that could not be made: `time` is when, `body` the first one that is bad. The world is as before it."""

    def __init__(self, message: str, time: float = 0.0, body: str = "") -> None:
        super().__init__(message, time, body)
        self.time, self.body = time, body

    def __str__(self) -> str:
        return str(self.args[0])


class World(Keeping):
    """Bodies that move and touch, on ground and each other, and may be joined and cut apart at any time.

    `dt` (s) is the length of a step; contacts are solved in substeps of at most 1.25 ms. What does not move for half a
    second falls asleep, unless `sleep` is False. `material` is for shapes that have none of their own.
    """

    def __init__(
        self,
        gravity: Iterable[float] = (0.0, 0.0, -9.81),
        dt: float = 2e-3,
        *,
        sleep: bool = True,
        material: Material = PLAIN,
        substeps: int | None = None,
    ) -> None:
        if not 0.0 < dt <= 0.1:
            raise ValueError(f"world: dt {dt} must be positive, and at most 0.1 s")
        if substeps is not None and not 1 <= substeps <= 100:
            raise ValueError(f"world: substeps {substeps} must be from 1 to 100")
        collisions = Collisions(ShapeTable(), margin=MARGIN, keep_within=KEEP_WITHIN)
        header = np.zeros(1, WORLD)
        h = header[0]
        h["kind"], h["dt"], h["slow"], h["patience"] = WORLD_KIND, dt, SLOW, PATIENCE if sleep else math.inf
        self._hold(Forest(gravity), collisions, Solver(), header, material, {}, {}, {})
        n = substeps or math.ceil(dt / LONGEST_SUBSTEP - 1e-9)
        self.solver.header["substeps"], self.solver.header["h"] = n, dt / n

    def _hold(
        self, forest: Forest, collisions: Collisions, solver: Solver, header: Any, material: Material,
        names: dict[int, str], mounted: dict[int, list[int]], births: dict[int, int],
    ) -> None:  # fmt: skip
        """Take all parts over, and write the addresses that they have here."""
        self.forest, self.collisions, self.shapes, self.solver = forest, collisions, collisions.shapes, solver
        self.material = material
        self._names = names  # of bodies, by id
        self._mounted = mounted  # shapes, by the index of their body
        self._births = births  # of each body a number that no other one has had, by id: handles know theirs
        self._born = max([getattr(self, "_born", 0), *births.values()])
        self._header = header
        self._address = int(header.ctypes.data)
        self._watchers = getattr(self, "_watchers", [])
        self._within = False  # an input, so that what it calls is none of its own
        self._known = -1  # revision of the table of shapes that all tables have followed
        h = header[0]
        h["forest"], h["collisions"], h["solver"] = forest.address, collisions.lend(), solver.address

    # ------------------------------------------------------------------------------------------------ coming and going

    @an_input
    def add_ground(self, ground: Ground | None = None, material: Material | None = None) -> int:
        """Ground that never moves: the plane z = 0 if nothing else is given. Returns the id of its shape."""
        return self._add_shape(HalfSpace() if ground is None else ground, -1, material, 1, EVERYTHING)

    @an_input
    def add(
        self,
        what: Model | Shape,
        at: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        *,
        twist: Iterable[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        density: float = WATER,
        material: Material | None = None,
        q: npt.ArrayLike | None = None,
        v: npt.ArrayLike | None = None,
        name: str = "",
    ) -> Any:
        """A free body of one shape, of a density (kg/m³), or all of a model. Returns a `Body`, or a `Figure`.

        `at` is where its own frame stands, or the base of a model, in the world; with `twist` (angular, linear, world
        axes) a body moves. A model may come in a state q, v instead; if it floats, `at` is before q.
        """
        pose = at if isinstance(at, Pose) else Pose(at)
        if isinstance(what, Shape):
            model = free_body(what, density, name or "body")
            w = vector(twist, 6, "world: twist")
            rates = np.r_[pose.rotation.T @ w[:3], pose.rotation.T @ w[3:]]
            return next(iter(self._plant(model, free_position(pose), rates, material)))
        if not isinstance(what, Model):
            raise TypeError(f"world: add takes a kinemorph.Shape or a kinemorph.Model, not {what!r}")
        start = neutral(what) if q is None else checked(what, q=q)[0]
        floating = what.links["kind"] == JointKind.FREE
        if (floating & (what.links["parent"] < 0)).any() and (what.links["parent"] < 0).sum() == 1:
            start[:7] = free_position(pose @ Pose.quaternion(start[3:7], start[:3]))
            pose = Pose()
        return self._plant(stood(what, pose), start, v, material)

    def _plant(self, model: Model, q: Any, v: Any, material: Material | None) -> Figure:
        if len(model.loop_rows):
            raise ValueError(f"world: model {model.name!r} has loops, which worlds do not hold together yet; cut them")
        if model.catalog.elements:
            raise ValueError(f"world: model {model.name!r} has force elements, which do not act in worlds yet")
        warn_idle(model)
        planted = self.forest.add(model, q, v)
        bodies = planted.bodies.tolist()
        for i, body in enumerate(bodies):
            self._names[body] = model.names[i]
            self._born += 1
            self._births[body] = self._born
            for shape in model.shapes[i]:
                if shape.role is not Role.VISUAL:
                    self._add_shape(shape, body & INDEX, shape.material or material, shape.group, shape.mask)
        for shape in model.base_shapes:
            if shape.role is not Role.VISUAL:
                self._add_shape(shape, -1, shape.material or material, shape.group, shape.mask)
        for floor in model.floors:
            self._add_shape(floor.ground, -1, floor.material or material, floor.group, floor.mask, floor.pose)
        for a, b in model.exclusions:
            for one, other in product(*(self._mounted.get(bodies[i] & INDEX if i >= 0 else -1, []) for i in (a, b))):
                self.collisions.ignore(one, other)
        self._follow_structure([self.forest.tree_of(body) for body in bodies])
        return Figure(self, model, bodies, planted.joints.tolist())

    def _add_shape(
        self, shape: Solid, body: int, material: Material | None, group: int, mask: int, pose: Pose | None = None
    ) -> int:  # fmt: skip
        id = self.shapes.add(shape, body, pose, group=group, mask=mask)
        self._mounted.setdefault(body, []).append(id)
        self._follow_tables()
        material = material or self.material
        if material.directions > 3:
            warnings.warn("world: friction against spinning and rolling does not act in worlds yet", ModelWarning, 4)
        row = self.solver["materials"][self.shapes.row_of(id)]
        row["friction"] = material.friction if material.directions > 1 else 0.0
        row["restitution"] = material.restitution
        row["rolling"] = material.rolling if material.directions > 4 else 0.0
        row["torsion"] = material.torsional if material.directions > 3 else 0.0
        row["surface"] = 0.0
        return id

    @an_input
    def remove(self, body: Body | int) -> Change:
        """A body and all that it carries is gone, with the joints on it. What rested on them wakes."""
        before = self.forest.members(self.forest.tree_of(self._id(body))).tolist()
        self._wake(*before, *self._neighbours(before))
        change = self.forest.remove(self._id(body))
        for member in before:
            slot = self.forest._tables[BODIES][member & INDEX]
            if slot["next"] != IN_USE or slot["generation"] != member >> 32:
                for shape in self._mounted.pop(member & INDEX, []):
                    self.shapes.remove(shape)
                del self._names[member], self._births[member]
        return change

    # ------------------------------------------------------------------------------------------------------- structure

    @an_input
    def connect(
        self, a: Body | int | None, b: Body | int, joint: Joint, at: Pose | Iterable[float] | None = None
    ) -> Change:  # fmt: skip
        """Join body b to body a (None: the world), where both are now, by a joint at `at` in the world.

        Without `at` it is where b is. Bodies of one tree cannot be joined yet: that would close a loop.
        """
        first, second = -1 if a is None else self._id(a), self._id(b)
        place = self.forest.pose(second) if at is None else at if isinstance(at, Pose) else Pose(at)
        both = [body for body in (first, second) if body >= 0]
        self._wake(*both, *self._neighbours(both))
        change = self.forest.connect(first, second, joint, place, "tree")
        self._follow_structure([self.forest.tree_of(second)])
        self._wake(second)
        return change

    @an_input
    def cut(self, joint: Change | int) -> Change:
        """Cut a joint, of a tree or of a loop: the one that `connect` made, or one of a figure by its id."""
        id = joint.joint if isinstance(joint, Change) else joint
        sides = self.forest.sides(id)
        self._wake(*sides, *self._neighbours(sides))
        change = self.forest.cut(id)
        self._follow_structure([self.forest.tree_of(body) for body in sides])
        self._wake(*sides)
        return change

    @an_input
    def reroot(self, body: Body | int, joint: Joint | None = None, at: Pose | None = None) -> Change:
        """Make a body the top of its tree, carried by a new joint on the base, free if none is given. Nothing moves."""
        change = self.forest.reroot(self._id(body), joint, at)
        self._follow_structure([self.forest.tree_of(self._id(body))])
        return change

    def _follow_structure(self, trees: list[int]) -> None:
        """Which body carries which: neighbours in a tree do not meet."""
        for tree in set(trees):
            links = self.forest._links(tree & INDEX)
            for link in links:
                carrier = int(links[link["parent"]]["body"]) if link["parent"] >= 0 else NOBODY
                for shape in self._mounted.get(int(link["body"]), []):
                    self.shapes.rows["carrier"][self.shapes.row_of(shape)] = carrier
        self._follow_tables()

    # ------------------------------------------------------------------------------------------------------------ time

    @property
    def time(self) -> float:
        """s, since it was made."""
        return float(self._header[0]["time"])

    @property
    def dt(self) -> float:
        """s, length of a step."""
        return float(self._header[0]["dt"])

    def run(self, seconds: float) -> None:
        """Go on for so long, in whole steps."""
        if not 0.0 <= seconds < math.inf:
            raise ValueError(f"world: run takes seconds, not {seconds}")
        self.step(round(seconds / self.dt))

    def step(self, count: int = 1) -> None:
        """Make so many steps. One that cannot be made raises `WorldError`, and the world stays where it was."""
        while self._watchers and count > 0:
            now = int(self._header[0]["steps"])
            part = min(count, min(watcher.due(now) for watcher in self._watchers) - now)
            self._make_steps(part)
            count -= part
            for watcher in self._watchers:
                if watcher.due(now) == now + part:
                    watcher.look()
        self._make_steps(count)

    def _make_steps(self, count: int) -> None:
        if self._known != self.shapes.revision:
            self.collisions.lend()
            self._follow_tables()
            self._known = self.shapes.revision
        status, count = run_steps(self._address, count, NO_FORCES)
        while status != Status.DONE:
            if status == Status.FULL_SOLVER:
                self.solver.grow()
            elif status == Status.FULL_COLLISIONS:
                self.collisions.grow()
                self._follow_tables()
            else:
                self._complain(Status(status))
            status, count = run_steps(self._address, count, NO_FORCES)

    def _complain(self, status: Status) -> None:
        t = int(self._header[0]["tree"])
        body = ""
        if t >= 0:
            first = self.forest._links(t)[0]["body"]
            body = self._names.get(self.forest._id(BODIES, int(first)), "")
        what = f"the tree of body {body!r}" if body else "something"
        raise WorldError(
            f"world: at {self.time:.6g} s the motion of {what} is not finite any more ({status.name.lower()}); "
            "the world is as it was before that step",
            self.time,
            body,
        )

    def _follow_tables(self) -> None:
        trees = int(self.forest._pools[TREES]["count"])
        self.solver.follow(trees, self.shapes.count, int(self.collisions.header["contact_room"][0]))

    # ----------------------------------------------------------------------------------------------------------- sleep

    @an_input
    def wake(self, body: Body | int) -> None:
        """Wake a body, and all that touches it."""
        self._wake(self._id(body))

    def _wake(self, *bodies: int) -> None:
        self._follow_tables()
        spans = self.solver["spans"]
        for body in bodies:
            span = spans[self.forest.tree_of(body) & INDEX]
            span["asleep"], span["still"] = 0, 0.0

    def _neighbours(self, bodies: list[int]) -> list[int]:
        """Bodies that touched one of these in the last step."""
        indices = {body & INDEX for body in bodies}
        found = set()
        rows = self.shapes.rows
        for pair in self.collisions.pairs:
            one, other = rows[pair["a"]], rows[pair["b"]]
            a, b = int(one["link"]), int(other["link"])
            there = one["form"] and other["form"]  # else it was removed since
            if there and pair["count"] and (a in indices) != (b in indices):
                found.add(b if a in indices else a)
        return [self.forest._id(BODIES, i) for i in sorted(found) if i >= 0]

    def is_asleep(self, body: Body | int) -> bool:
        """Whether a body does not move until something wakes it."""
        return bool(self.solver["spans"][self.forest.tree_of(self._id(body)) & INDEX]["asleep"])

    # ------------------------------------------------------------------------------------------------- what there is

    def _id(self, body: Body | int) -> int:
        if isinstance(body, Body):
            if body.world is not self:
                raise ValueError(f"{body!r} is of another world")
            if self._births.get(body.id) != body.birth:
                raise KeyError(f"world: there is no body {body.name!r} (any more)")
            return body.id
        return body

    @property
    def bodies(self) -> list[Body]:
        """All bodies."""
        return [Body(self, id, self._names[id]) for id in self.forest.bodies.tolist()]

    def body(self, id: int) -> Body:
        """The body of an id."""
        return Body(self, id, self._names[id])

    def link_of(self, body: int) -> Any:
        """The LINK row of a body."""
        slot = self.forest._tables[BODIES][self.forest._find(BODIES, body, "body")]
        return self.forest._links(int(slot["tree"]))[slot["link"]]

    def contacts(self, body: Body | int | None = None) -> list[Touch]:
        """The points where bodies touched in the last step, or those of one body, as it sees them."""
        wanted = None if body is None else self._id(body)
        found = []
        rows, pairs = self.collisions.contacts, self.collisions.pairs
        for t in self.solver.touches:
            k = rows[t["contact"]]
            pair = pairs[k["pair"]]
            if not (self.shapes.rows["form"][pair["a"]] and self.shapes.rows["form"][pair["b"]]):
                continue  # one of them was removed since
            a, b = (self._body_at(int(self.shapes.rows["link"][pair[side]])) for side in "ab")
            push = t["sum"] * t["normal"] + t["sum1"] * t["t1"] + t["sum2"] * t["t2"]
            shapes = self.shapes.id_at(int(pair["a"])), self.shapes.id_at(int(pair["b"]))
            point = 0.5 * (k["x1"] + k["x2"])
            sign = 1.0
            if wanted is not None and (b is None or b.id != wanted):
                if a is None or a.id != wanted:
                    continue
                a, b, sign, shapes = b, a, -1.0, shapes[::-1]
            if wanted is None and b is None:
                a, b, sign, shapes = b, a, -1.0, shapes[::-1]
            impulse = sign * push
            normal = sign * k["normal"]
            found.append(
                Touch(b, a, shapes[1], shapes[0], point, normal, float(k["distance"]), impulse / self.dt, impulse)
            )
        return found

    def _body_at(self, index: int) -> Body | None:
        return None if index < 0 else self.body(self.forest._id(BODIES, index))

    # ---------------------------------------------------------------------------------------------------------- copies

    def __getstate__(self) -> tuple[Any, ...]:
        if self._header[0]["phase"] != Phase.MOVE:
            raise RuntimeError("this world is in the middle of a step and cannot be copied now")
        self.collisions.lend()
        self._follow_tables()
        header = self._header.copy()
        for name in ("forest", "collisions", "solver"):
            header[name] = 0
        return (
            self.forest, self.collisions, self.solver, header, self.material, self._names, self._mounted, self._births,
        )  # fmt: skip

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[3].dtype != WORLD:
            raise ValueError("a world that another version of kinemorph has pickled cannot be read")
        self._hold(*state)

    def __repr__(self) -> str:
        return f"World at {self.time:.6g} s: {len(self.forest.bodies)} bodies, {len(self.shapes)} shapes"


def free_body(shape: Shape, density: float, name: str) -> Model:
    """A model of one free link with a shape, whose mass it has."""
    mass = inertia_of(shape, density)
    builder = Builder(name)
    builder.link(name, None, Joint.free(), inertia=Inertia(mass.mass, mass.com, mass.matrix), shapes=[shape])
    return builder.build()


def warn_idle(model: Model) -> None:
    """Tell, once for a model and by name, what it has that does not act in worlds yet."""
    dofs = model.dofs
    several = np.isin(model.links["kind"], (JointKind.SPHERICAL, JointKind.FREE))[dofs["link"]]
    bounded = np.isfinite(dofs["lower"]) | np.isfinite(dofs["upper"]) | (dofs["friction"] > 0.0)
    idle = {
        "speed limits": np.isfinite(dofs["speed"]),
        "effort limits": np.isfinite(dofs["effort"]),
        "limits and dry friction of balls and free joints": several & bounded,
    }
    found = {what: [model.joint_names[i] for i in dofs["link"][which]] for what, which in idle.items() if which.any()}
    found |= {"actuators": [a.name for a in model.actuators], "mimics": [m.joint for m in model.mimics]}
    found |= {"materials of pairs": [f"{p.a} and {p.b}" for p in model.pair_materials]}
    for what, names in found.items():
        if names and f"{what} in worlds" not in model.told:
            model.told.add(f"{what} in worlds")
            shown = ", ".join(map(repr, dict.fromkeys(names[:3]))) + (", ..." if names[3:] else "")
            text = f"world: model {model.name!r} has {what} ({shown}), which do not act in worlds yet"
            warnings.warn(text, ModelWarning, stacklevel=4)


def free_position(pose: Pose) -> Array:
    """q of a free joint: position and quaternion."""
    R: Any = tuple(pose.rotation.ravel().tolist())
    return np.r_[pose.position, from_matrix(R)]
