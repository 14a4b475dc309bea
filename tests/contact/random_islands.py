"""Islands of random rows, once as the tables of a Solver and once dense (`tests.naive.contact`).

Rows need no bodies: in whitened coordinates any vectors are rows of some mechanism. Trees differ in how many entries
of z they have, because kernels take six, small multiples of four and all other lengths by different ways.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.contact.reach import FLIES_BY, SAME_TREE, DofConstraintKind, Solver
from tests.naive.contact import Array, Bound, Contact, Island, Moment, Softness
from tests.strategies import Rng

FREE, SMALL, LONG = 6, (4, 8, 12, 16), (3, 7, 20, 22)
FAMILIES = {
    "free bodies": [6, 6, 6, 6],
    "one free body": [6],
    "small trees": [4, 8, 12, 16],
    "one small tree": [12],
    "long trees": [20, 7, 3],
    "one long tree": [22],
    "mixed": [6, 8, 20, 6, 3, 16],
}
KINDS = {
    "lower": DofConstraintKind.LOWER,
    "upper": DofConstraintKind.UPPER,
    "dry": DofConstraintKind.DRY,
    "drive": DofConstraintKind.DRIVEN,
}


class RandomIsland:
    """One island of random rows."""

    def __init__(
        self,
        rng: Rng,
        widths: list[int],
        contacts: int,
        bounds: int = 0,
        *,
        drives: bool = True,
        moments: bool = False,
        surfaces: bool = True,
        bouncing: bool = False,
        warm: bool = True,
        spread: float = 1.0,
    ) -> None:
        self.rng, self.widths, self.spread = rng, widths, spread
        self.offsets = np.concatenate([[0], np.cumsum(widths)[:-1]]).tolist()
        self.nz = sum(widths)
        self.h, self.substeps = 1.25e-3, 4
        self.soft = Softness(0.5 * math.pi, 10.0, self.h, 3.0)
        self.z, self.za = rng.normal(size=self.nz), 10.0 * rng.normal(size=self.nz)
        self.sides: list[tuple[int, int]] = []  # trees of a contact; -1 for what does not move
        self.contacts: list[Contact] = []
        for _ in range(contacts):
            self.contacts.append(self._contact(surfaces, bouncing, warm))
        self.bounds: list[Bound] = []
        self.owners: list[int] = []
        for _ in range(bounds):
            self._bound(drives, warm)
        self.moments: list[Moment] = []
        if moments:
            for i, (a, b) in enumerate(self.sides):
                if rng.random() < 0.7:
                    one = Moment(self._rows(a, b), i, *(rng.random(2) * (rng.random(2) < 0.8)))
                    one.p[:] = 0.1 * rng.normal(size=3) if warm else 0.0
                    self.moments.append(one)

    def _rows(self, a: int, b: int) -> Array:
        """Three random rows between two trees; or within one, if both are the same."""
        y = np.zeros((3, self.nz))
        for tree in {a, b} - {-1}:
            o, n = self.offsets[tree], self.widths[tree]
            y[:, o : o + n] = self.rng.normal(size=(3, n)) * 10.0 ** self.rng.uniform(-0.5, 0.5) * self.spread
        if self.rng.random() < 0.1:
            y[2] = 0.7 * y[1]  # slip along one direction alone
        return y

    def _contact(self, surfaces: bool, bouncing: bool, warm: bool) -> Contact:
        rng, n = self.rng, len(self.widths)
        b = int(rng.integers(n))
        a = int(rng.integers(-1, n))
        self.sides.append((a, b))
        gap = float(rng.choice([1e-3, 5e-3, -1e-3, -2e-2, 0.0]) * rng.random())
        one = Contact(self._rows(a, b), gap, float(rng.choice([0.0, 0.1, 0.5, 3.0])), same_tree=a == b)
        if surfaces and rng.random() < 0.3:
            one.surface = rng.normal(size=2)
        if bouncing and rng.random() < 0.7:
            one.restitution = float(rng.random())
        one.fast = bool(rng.random() < 0.1)
        if warm and rng.random() < 0.6:
            one.p = rng.normal(size=3) * 0.05
            one.p[0] = abs(one.p[0])
        return one

    def _bound(self, drives: bool, warm: bool) -> None:
        rng = self.rng
        tree = int(rng.integers(len(self.widths))) if rng.random() < 0.5 or not self.owners else self.owners[-1]
        self.owners.append(tree)
        y = np.zeros(self.nz)
        o, n = self.offsets[tree], self.widths[tree]
        y[o : o + n] = rng.normal(size=n)
        kind = str(rng.choice(["limit", "dry", "fast", "drive"] if drives else ["limit", "dry", "fast"]))
        b = Bound(y, kind, p=0.05 * rng.normal() if warm else 0.0)
        if kind == "limit":
            b.gap0, b.p = float(rng.choice([1e-2, -1e-2, 0.0]) * rng.random()), abs(b.p)
        elif kind == "dry":
            b.high = float(10.0 ** rng.uniform(-1, 2))
            b.low = -b.high
        elif kind == "fast":
            b.target, b.p = float(rng.random()), abs(b.p)
        else:
            b.low, b.high = -float(10.0 ** rng.uniform(0, 3)), float(10.0 ** rng.uniform(0, 3))
            b.target, b.force, b.gap0 = float(rng.normal()), float(rng.normal()), float(0.1 * rng.normal())
            b.stiffness, b.damping = float(10.0 ** rng.uniform(0, 5)), float(10.0 ** rng.uniform(-1, 3))
            if rng.random() < 0.3:
                b.damping, b.stiffness, b.force = math.inf, 0.0, 0.0
        self.bounds.append(b)

    # ----------------------------------------------------------------------------------------------------- both forms

    def dense(self) -> Island:
        return Island(
            self.z, self.za, self.h, self.substeps, self.soft, self.contacts, self.bounds, self.moments,
            len(self.widths),
        )  # fmt: skip

    def solver(self) -> Solver:
        """The same as tables. The numbers of rows are side by side, and nothing is left of what was there before."""
        solver = Solver()
        h, island = solver.header[0], solver["islands"][0]
        h["h"], h["substeps"], h["nz"], h["island_count"] = self.h, self.substeps, self.nz, 1
        h["parting_speed"], h["stiffness"], h["damping"] = self.soft.push, self.soft.radians, self.soft.ratio
        h["contact_count"], h["dof_constraint_count"], h["torsional_count"] = (
            len(self.contacts),
            len(self.bounds),
            len(self.moments),
        )
        h["drive_count"] = sum(b.kind == "drive" for b in self.bounds)
        h["bouncing"] = any(c.restitution > 0.0 for c in self.contacts)
        island["nz"], island["contact_count"], island["dof_constraint_count"] = (
            self.nz,
            len(self.contacts),
            len(self.bounds),
        )
        island["torsional_count"], island["driven"] = len(self.moments), h["drive_count"]
        island["first_tree"], island["last_tree"] = 0, len(self.widths) - 1
        for i, (o, n) in enumerate(zip(self.offsets, self.widths, strict=True)):
            span = solver["slices"][i]
            span["offset"], span["width"], span["next"] = o, n, i + 1 if i + 1 < len(self.widths) else -1
            span["jointed"], span["mass"] = n != FREE, 1.0 + i
        island["mass"] = sum(1.0 + i for i in range(len(self.widths)))
        solver["z"][: self.nz], solver["za"][: self.nz] = self.z, self.za
        solver["Y"][:] = np.nan
        used = 0
        for i, c in enumerate(self.contacts):
            used = self._put_contact(solver, i, c, used)
        for i, b in enumerate(self.bounds):
            used = self._put_bound(solver, i, b, used)
        for i, m in enumerate(self.moments):
            row = solver["torsional_constraints"][i]
            row["contact_constraint"], row["axes"] = m.contact, (m.torsion > 0.0) + 2 * (m.rolling > 0.0)
            row["torsion"], row["rolling"], row["y"] = m.torsion, m.rolling, used
            used = self._put_rows(solver, self.sides[m.contact], m.y, used)
            put_products(row, m.y)
            row["normal_impulse"], row["tangent_impulse1"], row["tangent_impulse2"] = m.p
        h["Y_used"] = used
        return solver

    def _put_rows(self, solver: Solver, sides: tuple[int, int], y: Array, used: int) -> int:
        a, b = sides
        own = [tree for tree in ((a, b) if a != b else (b,)) if tree >= 0]
        flat = np.hstack([y[:, self.offsets[t] : self.offsets[t] + self.widths[t]] for t in own]).ravel()
        solver["Y"][used : used + flat.size] = flat
        return used + flat.size

    def _put_contact(self, solver: Solver, i: int, c: Contact, used: int) -> int:
        row, (a, b) = solver["contacts"][i], self.sides[i]
        row["y"], row["tree1"], row["tree2"] = used, SAME_TREE if a == b else a, b
        row["offset2"], row["length2"] = self.offsets[b], self.widths[b]
        if a >= 0 and a != b:
            row["offset1"], row["length1"] = self.offsets[a], self.widths[a]
        row["initial_separation"] = row["separation"] = c.gap0
        put_products(row, c.y)
        row["friction"], row["restitution"], (row["surface_velocity1"], row["surface_velocity2"]) = (
            c.friction,
            c.restitution,
            c.surface,
        )
        row["normal_impulse"], row["tangent_impulse1"], row["tangent_impulse2"] = c.p
        row["kept"] = c.p
        row["fast"] = FLIES_BY if c.fast else 0
        return self._put_rows(solver, (a, b), c.y, used)

    def _put_bound(self, solver: Solver, i: int, b: Bound, used: int) -> int:
        row, tree = solver["dof_constraints"][i], self.owners[i]
        o, n = self.offsets[tree], self.widths[tree]
        row["tree"], row["offset"], row["length"], row["y"], row["dof"] = tree, o, n, used, n - 1
        row["initial_separation"] = row["separation"] = b.gap0
        row["effective_mass"], row["p"] = 1.0 / b.inverse_mass, b.p
        row["largest_force"], row["smallest_force"], row["target"] = b.high, b.low, b.target
        row["force"], row["stiffness"], row["damping"] = b.force, b.stiffness, b.damping
        row["kind"] = {"limit": i % 2, "dry": 2, "drive": 3, "fast": 4}[b.kind]
        solver["Y"][used : used + n] = b.y[o : o + n]
        return used + n


def put_products(row: Any, y: Array) -> None:
    """What a contact, or its moments, feel: the products of three rows, by their definition."""
    A = y @ y.T
    row["effective_mass"] = 1.0 / A[0, 0]
    if "normal_coupling1" in row.dtype.names:
        row["normal_coupling1"], row["normal_coupling2"] = A[0, 1], A[0, 2]
    largest = np.linalg.eigvalsh(A[1:, 1:])[-1]
    row["least_tangent_mass"] = 1.0 / largest
    if np.linalg.det(A[1:, 1:]) > 1e-12 * (0.5 * np.trace(A[1:, 1:])) ** 2:
        B = np.linalg.inv(A[1:, 1:])
        row["tangent_mass11"], row["tangent_mass12"], row["tangent_mass22"] = B[0, 0], B[0, 1], B[1, 1]
    else:
        row["tangent_mass11"], row["tangent_mass12"], row["tangent_mass22"] = (
            row["least_tangent_mass"],
            0.0,
            row["least_tangent_mass"],
        )


def impulses_of(solver: Solver) -> tuple[Array, Array, Array]:
    """Of contacts (n, 3), bounds and moments (n, 3): those of a substep."""
    t, w = solver.contact_constraints, solver.torsional_constraints
    return (
        np.stack([t["normal_impulse"], t["tangent_impulse1"], t["tangent_impulse2"]], axis=1),
        solver.dof_constraints["p"].copy(),
        np.stack([w["normal_impulse"], w["tangent_impulse1"], w["tangent_impulse2"]], axis=1),
    )


def sums_of(solver: Solver) -> tuple[Array, Array]:
    """Of contacts (n, 3) and bounds: those of the step."""
    t = solver.contact_constraints
    return np.stack(
        [t["total_normal_impulse"], t["total_tangent_impulse1"], t["total_tangent_impulse2"]], axis=1
    ), solver.dof_constraints["total_impulse"].copy()


def dense_impulses(island: Island) -> tuple[Array, Array, Array]:
    return (
        np.array([c.p for c in island.contacts]).reshape(-1, 3),
        np.array([b.p for b in island.bounds]),
        np.array([m.p for m in island.moments]).reshape(-1, 3),
    )
