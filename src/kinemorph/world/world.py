"""World: the one thing that lives and changes. Bodies, figures and ground, in contact, with structure that changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kinemorph.collision.collisions import Collisions
from kinemorph.collision.shape_rows import NOBODY
from kinemorph.collision.shape_table import ShapeTable
from kinemorph.contact.solver import Solver
from kinemorph.geometry.ground import Ground, HalfSpace
from kinemorph.geometry.mass import WATER, inertia_of
from kinemorph.geometry.shapes import Role, Shape
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.configuration import neutral
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest import Change, Forest
from kinemorph.structure.forest_layout import BODIES, TREES
from kinemorph.structure.forest_memory import INDEX
from kinemorph.world.layout import WORLD, WORLD_KIND, Status
from kinemorph.world.step import run_steps

NO_FORCES = np.zeros((0, 6))
MARGIN = 5e-4  # m, beyond what bodies may move in a step
KEEP_WITHIN = 3e-4  # m
FRICTION = 0.8
SLOW, PATIENCE = 0.05, 0.5  # m/s, s
LONGEST_SUBSTEP = 1.25e-3  # s


class World:
    """Bodies that move and touch. Steps have a length `dt`, and substeps of at most 1.25 ms."""

    def __init__(
        self, gravity: Iterable[float] = (0.0, 0.0, -9.81), dt: float = 2e-3, substeps: int = 0, sleep: bool = True
    ) -> None:
        if not 0.0 < dt <= 0.1:
            raise ValueError(f"world: dt {dt} must be positive, and at most 0.1 s")
        self.forest = Forest(gravity)
        self.shapes = ShapeTable()
        self.collisions = Collisions(self.shapes, margin=MARGIN, keep_within=KEEP_WITHIN)
        self.solver = Solver()
        self._header = np.zeros(1, WORLD)
        h = self._header[0]
        h["kind"], h["dt"], h["slow"], h["patience"] = WORLD_KIND, dt, SLOW, PATIENCE if sleep else np.inf
        h["forest"], h["collisions"], h["solver"] = self.forest.address, self.collisions.lend(), self.solver.address
        self._address = int(self._header.ctypes.data)
        self._known = -1
        self.solver.header["substeps"] = substeps or int(np.ceil(dt / LONGEST_SUBSTEP - 1e-9))
        self.solver.header["h"] = dt / self.solver.header["substeps"][0]

    @property
    def time(self) -> float:
        return float(self._header[0]["time"])

    @property
    def dt(self) -> float:
        return float(self._header[0]["dt"])

    def add_ground(self, ground: Ground | None = None, *, friction: float = FRICTION, restitution: float = 0.0) -> int:
        """Ground that never moves: the plane z = 0 if nothing else is given. Returns the id of its shape."""
        return self._add_shape(HalfSpace() if ground is None else ground, -1, None, friction, restitution)

    def add(
        self,
        what: Model | Shape,
        at: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        *,
        density: float = WATER,
        velocity: Iterable[float] | None = None,
        friction: float = FRICTION,
        restitution: float = 0.0,
    ) -> Any:
        """A free body of one shape, or a model. Returns the id of the body, or those of the model's bodies."""
        pose = at if isinstance(at, Pose) else Pose(at)
        model = what if isinstance(what, Model) else free_body(what, density)
        q = neutral(model)
        v = np.zeros(model.nv)
        if model.links["kind"][0] == JointKind.FREE:
            q[:7] = np.r_[pose.position, Rotation.from_matrix(pose.rotation).as_quat(scalar_first=True)]
        if velocity is not None:
            w = np.asarray(velocity, float)
            v[:3], v[3:6] = pose.rotation.T @ w[:3], pose.rotation.T @ w[3:]
        planted = self.forest.add(model, q, v)
        for i, body in enumerate(planted.bodies.tolist()):
            for shape in model.shapes[i]:
                if shape.role is not Role.VISUAL:
                    self._add_shape(shape, body & INDEX, shape.pose, friction, restitution)
        self._follow_structure()
        return int(planted.bodies[0]) if isinstance(what, Shape) else planted

    def add_model(self, model: Model, q: Any, v: Any, friction: float = FRICTION, restitution: float = 0.0) -> Any:
        """A model in a state."""
        planted = self.forest.add(model, q, v)
        self.planted = planted
        for i, body in enumerate(planted.bodies.tolist()):
            for shape in model.shapes[i]:
                if shape.role is not Role.VISUAL:
                    self._add_shape(shape, body & INDEX, None, friction, restitution)
        self._follow_structure()
        return planted

    def q(self, model: Model) -> Any:
        return np.concatenate([self.forest.state(t).q for t in self.planted.trees])

    def _add_shape(self, shape: Any, link: int, pose: Pose | None, friction: float, restitution: float) -> int:
        id = self.shapes.add(shape, link) if pose is None else self.shapes.add(shape, link)
        self._follow_tables()
        row = self.solver["materials"][self.shapes.row_of(id)]
        row["friction"], row["restitution"] = friction, restitution
        return id

    def _follow_tables(self) -> None:
        trees = int(self.forest._pools[TREES]["count"])
        self.solver.follow(trees, self.shapes.count, int(self.collisions.header["contact_room"][0]))

    def _follow_structure(self) -> None:
        """Which body carries which: neighbours in a tree do not meet."""
        bodies = self.forest._tables[BODIES]
        rows = self.shapes.rows[: self.shapes.count]
        for row in rows[(rows["form"] != 0) & (rows["link"] >= 0)]:
            slot = bodies[row["link"]]
            links = self.forest._links(int(slot["tree"]))
            parent = int(links[slot["link"]]["parent"])
            row["carrier"] = links[parent]["body"] if parent >= 0 else NOBODY

    # --------------------------------------------------------------------------------------------------------- time

    def run(self, seconds: float) -> None:
        """Go on for so long, in whole steps."""
        self.step(round(seconds / self.dt))

    def step(self, count: int = 1) -> None:
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
                tree = int(self._header[0]["tree"])
                raise ArithmeticError(f"world: {Status(status).name} at {self.time:.6g} s, tree {tree}")
            status, count = run_steps(self._address, count, NO_FORCES)

    # --------------------------------------------------------------------------------------------------------- edits

    def connect(self, a: int, b: int, joint: Joint, at: Pose | None = None, how: str = "auto") -> Change:
        """Join body b to body a, where both are now."""
        change = self.forest.connect(a, b, joint, self.forest.pose(b) if at is None else at, how)
        self._follow_structure()
        return change

    def cut(self, joint: int) -> Change:
        change = self.forest.cut(joint)
        self._follow_structure()
        return change

    def pose(self, body: int) -> Pose:
        return self.forest.pose(body)


def free_body(shape: Shape, density: float) -> Model:
    """A model of one free link with a shape, whose mass it has."""
    mass = inertia_of(shape, density)
    builder = Builder("body")
    builder.link("body", None, Joint.free(), inertia=Inertia(mass.mass, mass.com, mass.matrix), shapes=[shape])
    return builder.build()
