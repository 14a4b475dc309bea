"""What a step of a world has filled in, as dense arrays, beside the mechanics of its trees at the start of that step.

Rows are those of the solve; they say nothing of bodies but where they are in z. Mechanics come from the constants of
links and from Featherstone's equations (`tests.naive.dynamics`).
"""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from tests.contact.reach import ELEMENT_CONSTRAINT, LINK, LOOP_PROJECTION, DofConstraintKind, rows_at
from tests.naive.dynamics import Tree, joint_motion, mass_matrix
from tests.naive.spatial import skew

from kinemorph.multibody.layout import DOF, TREE, JointKind
from kinemorph.multibody.model.loops import LOOP
from kinemorph.structure.forest.layout import BODY_SLOT, IN_USE, LOOP_SLOT, TREE_SLOT
from kinemorph.world.world import World

Array = np.ndarray


class Mechanism(NamedTuple):
    """One tree as it was: constants, positions, velocities, and where it begins among all velocities."""

    model: Any
    q: Array
    v: Array
    first: int
    M: Array
    poses: Tree


class Side(NamedTuple):
    """A body: its tree, -1 for the base, its link there, and whether it is awake."""

    tree: int
    link: int


def trees_of(world: World) -> dict[int, Mechanism]:
    """By the index of the tree. Dampers and springs in joints act implicitly and add to the mass matrix."""
    header, found, first = world.forest.header, {}, 0
    slots = rows_at(int(header["trees"]), int(header["tree_room"]), TREE_SLOT)
    for id in world.forest.trees.tolist():
        t = id & 0xFFFFFFFF
        tree = rows_at(int(slots[t]["address"]), 1, TREE)[0]
        n, nv = int(tree["n"]), int(tree["nv"])
        links, dofs = rows_at(int(tree["links"]), n, LINK).copy(), rows_at(int(tree["dofs"]), nv, DOF).copy()
        state = world.forest.state(id)
        model = SimpleNamespace(n=n, nv=nv, links=links, dofs=dofs)
        M = mass_matrix(model, state.q) + np.diag(world.dt * (dofs["damping"] + world.dt * dofs["stiffness"]))
        found[t] = Mechanism(model, state.q, state.v, first, M, Tree(model, state.q))
        first += nv
    return found


class FilledWorld:
    """A world, one step later: its rows, and the mechanics that they came from."""

    def __init__(self, world: World) -> None:
        self.world, self.trees = world, trees_of(world)
        self.nv = sum(t.model.nv for t in self.trees.values())
        self.inverse = scipy.linalg.block_diag(*(np.linalg.inv(t.M) for t in self.trees.values()))
        self.v = np.concatenate([t.v for t in self.trees.values()])
        header = world.forest.header
        self.bodies = rows_at(int(header["bodies"]), int(header["body_room"]), BODY_SLOT).copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what overlaps at first is said
            world.step()
        self.solver = world.solver
        h = self.solver.header[0]
        self.nz = int(h["nz"])
        self.contacts = world.collisions.contacts.copy()
        self.pairs = world.collisions.pairs.copy()
        self.shapes, self.places = world.shapes.rows, world.collisions.places.copy()
        self.Y = self.solver["Y"]
        self.touches, self.bounds, self.twists = (
            self.solver.contact_constraints,
            self.solver.dof_constraints,
            self.solver.torsional_constraints,
        )
        self.holds = (
            rows_at(int(h["loop_projections"]), int(h["loop_projection_count"]), LOOP_PROJECTION)
            if h["loop_projection_count"]
            else ()
        )
        self.pulls = (
            rows_at(int(h["element_constraints"]), int(h["element_count"]), ELEMENT_CONSTRAINT)
            if h["element_count"]
            else ()
        )

    # -------------------------------------------------------------------------------------------------------- rows

    def rows_of(self, t: Any, y: int, count: int) -> Array:
        """So many dense rows with the two slices of z of a contact."""
        l1, l2 = int(t["length1"]), int(t["length2"])
        numbers = self.Y[y : y + count * (l1 + l2)].reshape(count, l1 + l2)
        dense = np.zeros((count, self.nz))
        dense[:, t["offset1"] : t["offset1"] + l1] += numbers[:, :l1]
        dense[:, t["offset2"] : t["offset2"] + l2] += numbers[:, l1:]
        return dense

    def bound_row(self, b: Any) -> Array:
        dense = np.zeros(self.nz)
        dense[b["offset"] : b["offset"] + b["length"]] = self.Y[b["y"] : b["y"] + b["length"]]
        return dense

    # --------------------------------------------------------------------------------------------------- Jacobians

    def side(self, body: int) -> Side:
        return Side(int(self.bodies[body]["tree"]), int(self.bodies[body]["link"])) if body >= 0 else Side(-1, -1)

    def sides(self, touch: Any) -> tuple[Side, Side]:
        pair = self.pairs[self.contacts[touch["contact"]]["pair"]]
        return self.side(int(self.shapes["link"][pair["a"]])), self.side(int(self.shapes["link"][pair["b"]]))

    def jacobian(self, side: Side, x: Array) -> Array:
        """6 x nv, world axes: angular velocity of a body, and velocity of its point at x."""
        J = np.zeros((6, self.nv))
        if side.tree >= 0:
            tree = self.trees[side.tree]
            own = tree.poses.jacobians()[side.link]
            R, p = tree.poses.R[side.link], tree.poses.p[side.link]
            turned = np.kron(np.eye(2), R) @ own
            turned[3:] -= skew(x - p) @ turned[:3]
            J[:, tree.first : tree.first + tree.model.nv] = turned
        return J

    def contact_jacobian(self, touch: Any) -> tuple[Array, Array]:
        """How the two sides of a contact part along its three directions, and turn about them: 3 x nv each."""
        a, b = self.sides(touch)
        contact = self.contacts[touch["contact"]]
        x = 0.5 * (contact["x1"] + contact["x2"])
        J = self.jacobian(b, x) - self.jacobian(a, x)
        axes = np.array([touch["normal"], touch["tangent1"], touch["tangent2"]])
        return axes @ J[3:], axes @ J[:3]

    def bound_jacobian(self, b: Any) -> Array:
        """Of a limit, a largest speed, dry friction or a drive in one degree of freedom; drives count as declared."""
        tree, k = self.trees[int(b["tree"])], int(b["dof"])
        row = np.zeros(self.nv)
        link = tree.model.links[tree.model.dofs["link"][k]]
        sign = {DofConstraintKind.UPPER: -1.0, DofConstraintKind.FAST: -np.sign(tree.v[k])}.get(
            DofConstraintKind(int(b["kind"])), 1.0
        )
        if b["kind"] == DofConstraintKind.DRIVEN and link["turned"]:
            sign = -1.0
        row[tree.first + k] = sign
        return row

    def loop_jacobian(self) -> Array:
        """All that the joints of loops forbid: rows across their motion subspaces, in the successor's axes."""
        header = self.world.forest.header
        count = int(header["loop_room"])
        slots = rows_at(int(header["loops"]), count, LOOP_SLOT)
        ties = rows_at(int(header["ties"]), count, LOOP)
        found = [np.zeros((0, self.nv))]
        for slot, loop in zip(slots, ties, strict=True):
            if slot["next"] != IN_USE or (slot["a"] < 0 and slot["b"] < 0):
                continue
            a, b = self.side(int(slot["a"])), self.side(int(slot["b"]))
            R, x = self.frame(b, loop["Rb"].reshape(3, 3), loop["pb"])
            Ra, xa = self.frame(a, loop["Ra"].reshape(3, 3), loop["pa"])
            relative = np.kron(np.eye(2), R.T) @ (self.jacobian(b, x) - self.jacobian(a, x))
            S = self.loop_subspace(loop, Ra, xa, R, x)
            found.append(scipy.linalg.null_space(S.T).T @ relative)
        return np.concatenate(found)

    def frame(self, side: Side, R: Array, p: Array) -> tuple[Array, Array]:
        """A frame on a body in the world."""
        if side.tree < 0:
            return R, p
        poses = self.trees[side.tree].poses
        return poses.R[side.link] @ R, poses.p[side.link] + poses.R[side.link] @ p

    def loop_subspace(self, loop: Any, Ra: Array, xa: Array, R: Array, x: Array) -> Array:
        """6 x nv of a loop joint where it is, in its successor's axes; only of joints whose subspace is constant."""
        own = loop.copy()
        own["iq"] = own["iv"] = 0
        q = np.zeros(7)
        q[int(loop["nq"]) - 4 if loop["nq"] >= 4 else 0] = 1.0 if loop["nq"] >= 4 else 0.0
        return joint_motion(own, q)[2]


def eased(found: FilledWorld, t: Any, A: Array) -> tuple[float, float]:
    """What a normal impulse feels, and the gap: overlap that could only be pushed apart fast counts for less.

    So it is along a normal that runs through what holds a tree, where it weighs more than it has mass, and where a
    contact moves more than ten times as far along the surface as out of it.
    """
    inverse, gap = 1.0 / A[0, 0], float(found.contacts[t["contact"]]["distance"])
    sides = [side for side in found.sides(t) if side.tree >= 0]
    trees = [found.trees[side.tree].model for side in sides]
    if all(model.n == 1 and model.links["kind"][0] == JointKind.FREE for model in trees):
        return inverse, gap
    joined = len(sides) == 2 and sides[0].tree == sides[1].tree
    floats = any(model.links["kind"][0] == JointKind.FREE for model in trees)
    held = 0.0 if floats and not joined else max(float(model.links["mass"].sum()) for model in trees)
    reach = float(found.solver.header["parting_speed"][0]) * found.world.dt
    if held > 0.0 and inverse > held:
        gap = max(gap, -reach * math.sqrt(held / inverse))
        inverse = 0.0 if inverse > 1e5 * held else inverse
    aside = inverse * math.hypot(A[0, 1], A[0, 2])
    return inverse, max(gap, -reach * 10.0 / aside) if aside > 10.0 else gap
