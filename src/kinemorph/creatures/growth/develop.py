"""Develop: grown parts become a model that worlds take, and a brain, once they are asked for (Fontijne 4.4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from kinemorph.brain import Acted, Brain
from kinemorph.collision.shapes.shape_table import BoxOwner, LateShape, Mounts
from kinemorph.creatures.genotype.genotype import Form, Genotype
from kinemorph.creatures.growth.birth_checks import REASONS, Reason, reason_against
from kinemorph.creatures.growth.grow import grow_from_genotype, growth_row
from kinemorph.creatures.growth.joints import fill_model
from kinemorph.creatures.growth.shape_rows import mount_boxes
from kinemorph.creatures.growth.solids import FORMS
from kinemorph.creatures.growth.wiring import brain_of_parts, link_names
from kinemorph.creatures.settings import DEFAULT, Root, Settings
from kinemorph.geometry.boxes import box_pattern
from kinemorph.geometry.convex_parts import NODE as BOX_NODE
from kinemorph.geometry.polyhedron import BOX_ROWS
from kinemorph.geometry.shapes import Colour, Shape, ShapeKind
from kinemorph.multibody.layout import BODY, DOF, LINK, TREE
from kinemorph.multibody.model.catalog import Catalog
from kinemorph.multibody.model.equipment import Actuator, Equipment
from kinemorph.multibody.model.loops import NO_LOOPS
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.tables import in_one_piece
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose, Vector

GRAVITY = np.array([0.0, 0.0, -9.81])
GRAVITY.flags.writeable = False
UPRIGHT = np.eye(3)
APART = Equipment(apart=True)  # parts may grow into each other a little, but not pass through each other
UPRIGHT.flags.writeable = False
INTEGER, NUMBER = np.dtype(np.int64), np.dtype(np.float64)
BOX, SPHERE, CAPSULE, CONE = (FORMS.index(form) for form in (Form.BOX, Form.SPHERE, Form.CAPSULE, Form.CONE))
ABOVE = 1e-3  # m
COLOURS: tuple[Colour, ...] = (
    (0.87, 0.50, 0.29, 1.0), (0.33, 0.53, 0.76, 1.0), (0.45, 0.68, 0.45, 1.0), (0.76, 0.40, 0.48, 1.0),
    (0.56, 0.48, 0.73, 1.0), (0.85, 0.74, 0.40, 1.0),
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A grown part. Its link is called `name`; its frame is at its joint, or, of the root, in its middle."""

    name: str
    node: int
    parent: int  # part that carries it, -1 for the root
    depth: int  # joints from the root
    mirrored: bool
    scale: float  # accumulated
    form: Form
    size: tuple[float, float, float]  # m, half extents
    pose: Pose  # of its middle in the root's frame, joints at zero
    mass: float  # kg
    strength: float  # N m, of each degree of freedom of its joint
    links: tuple[str, ...]  # that its degrees of freedom move; the last one is its own


@checked_first
class Phenotype:
    """A grown creature: `rejected` says why it must not live, and is empty if it may."""

    def __init__(self, genotype: Genotype, settings: Settings) -> None:
        if not isinstance(genotype, Genotype):
            raise TypeError(f"develop: it takes a kinemorph.creatures.Genotype, not {repr_of(genotype)}")
        self.genotype, self.settings = genotype, settings
        self._growth = growth_row(settings)
        # The second are PART rows, see `layout.py`.
        self._nodes, self.rows, self._bounds = grow_from_genotype(genotype, settings)
        self._reason = reason_against(self.rows, self._growth, self._bounds)
        neurons = [len(node.neurons) for node in genotype.nodes]
        if not self._reason and sum(neurons[k] for k in self.rows["node"].tolist()) > settings.most_wires:
            self._reason = Reason.NEURONS

    @property
    def rejected(self) -> str:
        """Why the creature is rejected at birth; empty if it is not."""
        return REASONS[Reason(self._reason)]

    @cached_property
    def model(self) -> Model:
        """One tree; its links are "part0", "part1", ..., with "part1:0" for a joint's degrees before the last one."""
        parts, fixed = self.rows, self.settings.root is Root.FIXED
        dofs = parts["dof"].tolist()
        count, boxes = sum(dofs), len(parts)
        (header, links, bodies, rates, rest, rows, _, whole, numbers), (address, _, _, _, _, at, nodes_at, *_) = (
            in_one_piece(
                (1, TREE), (1 + count, LINK), (1 + count, BODY), (count + (0 if fixed else 6), DOF),
                (count + (0 if fixed else 7), NUMBER), (boxes, BOX_ROWS), (boxes, BOX_NODE), ((boxes, 10), INTEGER),
                ((boxes, 20), NUMBER),
            )
        )  # fmt: skip
        fill_model(self._nodes, parts, self._growth, header, links, rates, bodies, rest)
        names = [""] * len(links)
        for i, (link, dof) in enumerate(zip(parts["link"].tolist(), dofs, strict=True)):
            names[link - max(dof, 1) + 1 : link + 1] = link_names(i, dof)
        catalog = Catalog.later(tuple(names), partial(_shapes, parts), APART)  # which does not hold what holds it
        model = Model.known("creature", links, rates, rest, GRAVITY.copy(), bodies, NO_LOOPS, catalog, header=header)
        model.address, model.names, model.joint_names = address, catalog.names, catalog.names  # known already
        if mount_boxes(parts, box_pattern(), at, nodes_at, whole, numbers):
            rows.flags.writeable = False
            every = range(boxes)
            model.mounts = Mounts(
                [LateShape(catalog, k) for k in every], [BoxOwner(rows, k) for k in every], whole, numbers
            )
        return model

    @property
    def bounds(self) -> tuple[Vector, Vector]:
        """The corners of the box around it, m, in the frame of its root, joints at zero; round parts count as boxes."""
        return self._bounds[0].copy(), self._bounds[1].copy()

    @cached_property
    def length(self) -> float:
        """m, the longest side of that box."""
        return float((self._bounds[1] - self._bounds[0]).max())

    @property
    def height(self) -> float:
        """m, of that box."""
        return float(self._bounds[1, 2] - self._bounds[0, 2])

    @property
    def lowest(self) -> float:
        """m, where it ends below the root."""
        return float(self._bounds[0, 2])

    @property
    def lift(self) -> float:
        """How high the root must be, m, for the lowest point to be a millimetre above the ground, joints at zero."""
        return ABOVE - self.lowest

    @cached_property
    def mass(self) -> float:
        """kg"""
        return float(self.rows["mass"].sum())

    @cached_property
    def moment(self) -> Vector:
        """kg m: its mass times where its centre is, in the frame of its root, joints at zero."""
        found: Vector = np.einsum("i,ij->j", self.rows["mass"], self.rows["p"])
        return found

    @cached_property
    def brain(self) -> Brain:
        """Neurons of all parts and of the central brain, wired."""
        names = self.model.names  # which shares out the strength
        return brain_of_parts(self.genotype, self.settings, self._nodes, self.rows, names)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts, each after the one that carries it."""
        _ = self.model
        return tuple(_part(i, row) for i, row in enumerate(self.rows))

    @cached_property
    def driven_model(self) -> Model:
        """The model with an actuator for each joint, as other programs want it; a brain needs none."""
        s, drives = self.settings, []
        for part in self.parts[1:]:
            for name in part.links:
                stiffness, force = part.strength / s.softness, (-part.strength, part.strength)
                if s.acted is Acted.TORQUE:
                    drives.append(Actuator.motor(name, name, force=force))
                elif s.acted is Acted.SPEED:
                    drives.append(Actuator.velocity(name, name, s.lag * stiffness, force=force))
                else:
                    drives.append(Actuator.position(name, name, stiffness, s.lag * stiffness, force=force))
        return self.model.with_equipment(actuators=tuple(drives))

    def __reduce__(self) -> Any:
        return Phenotype, (self.genotype, self.settings)

    def __repr__(self) -> str:
        why = f", rejected: {self.rejected}" if self._reason else ""
        return f"Phenotype of {len(self.rows)} parts and {int(self.rows['dof'].sum())} degrees of freedom{why}"


@checked_first
def develop(genotype: Genotype, settings: Settings = DEFAULT) -> Phenotype:
    """Grow a creature from its genotype. `rejected` of what comes out says whether, and why, it must not live."""
    return Phenotype(genotype, settings)


def _shapes(rows: Any) -> tuple[tuple[Shape, ...], ...]:
    """The shapes of all links, of PART rows."""
    shapes: list[tuple[Shape, ...]] = [()] * (1 + sum(rows["dof"].tolist()))
    columns = zip(*(rows[name].tolist() for name in ("link", "form", "half", "node", "rise")), strict=True)
    for link, form, half, node, rise in columns:
        at = Pose.known(np.array((0.0, 0.0, rise)), UPRIGHT)
        shapes[link] = (_shape(form, half, at, COLOURS[node % len(COLOURS)]),)
    return tuple(shapes)


def _shape(form: int, half: list[float], at: Pose, colour: Colour) -> Shape:
    """The shape of a solid of a form, by its number, which stands at `at` in its link."""
    x, y, z = half
    if form == BOX:
        return Shape.known(ShapeKind.BOX, (2.0 * x, 2.0 * y, 2.0 * z), at, colour)
    if form == SPHERE:
        return Shape.known(ShapeKind.SPHERE, (x,), at, colour)
    if form == CAPSULE:
        return Shape.known(ShapeKind.CAPSULE, (x, 2.0 * (z - x)), at, colour)
    if form == CONE:
        return Shape.known(ShapeKind.CONE, (x, 2.0 * z), at, colour)
    return Shape.known(ShapeKind.CYLINDER, (x, 2.0 * z), at, colour)


def _part(i: int, row: Any) -> Part:
    dof = int(row["dof"])
    x, y, z = row["half"].tolist()
    return Part(
        f"part{i}", int(row["node"]), int(row["parent"]), int(row["depth"]), bool(row["mirrored"]), float(row["scale"]),
        FORMS[row["form"]], (x, y, z), Pose.known(row["p"].copy(), row["R"].reshape(3, 3).copy()), float(row["mass"]),
        float(row["strength"]), link_names(i, dof) if dof else (),
    )  # fmt: skip
