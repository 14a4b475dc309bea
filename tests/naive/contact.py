"""A contact solve the slow way: dense rows, one law at a time, no registers, no lanes, no tables.

Velocities are whitened: a row's velocity is y @ z, an impulse p makes z ← z + y p, and y @ y is the inverse mass that
it feels. The laws are written as what holds after the impulse has acted, and solved for the impulse; nothing is shared
with `kinemorph.contact`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

Array = np.ndarray


# ----------------------------------------------------------------------------------------------------- single laws


def project_to_disc(p: Array, radius: float) -> Array:
    """The point of a disc about the origin that is next to p."""
    size = math.hypot(*p)
    return p if size <= radius else p * (radius / size)


def friction_impulse(A: Array, v: Array, p: Array, radius: float) -> Array:
    """New tangential impulses: those that stop the slip if the disc allows it, else one projected step against it.

    The length of the step is one over the largest eigenvalue of A. Where A is singular, slip is possible along one
    direction alone, and the same step stops it.
    """
    largest = np.linalg.eigvalsh(A)[-1]
    middle = 0.5 * np.trace(A)
    if largest <= 0.0:
        return project_to_disc(p, radius)
    regular = np.linalg.det(A) > 1e-12 * middle * middle
    sticks = p - (np.linalg.solve(A, v) if regular else v / largest)
    return sticks if math.hypot(*sticks) <= radius else project_to_disc(p - v / largest, radius)


@dataclass(frozen=True)
class Softness:
    """A contact as a damped spring with a frequency ω and a damping ratio ζ, implicit over a substep h."""

    radians: float  # ω h
    ratio: float  # ζ
    h: float
    push: float  # m/s, the largest speed of pushing out

    @property
    def a1(self) -> float:
        return 2.0 * self.ratio + self.radians

    @property
    def mass(self) -> float:
        return self.radians * self.a1 / (1.0 + self.radians * self.a1)

    @property
    def impulse(self) -> float:
        return 1.0 / (1.0 + self.radians * self.a1)

    @property
    def rate(self) -> float:
        """β, 1/s"""
        return self.radians / self.h / self.a1

    def normal(self, p: float, v: float, gap: float, inverse_mass: float) -> float:
        """The new impulse of one that pushes only."""
        if gap > 0.0:  # it may close the gap, and no more
            return max(0.0, p - (v + gap / self.h) / inverse_mass)
        parting = max(self.rate * gap, -self.push)
        return max(0.0, p - self.mass * (v + parting) / inverse_mass - self.impulse * p)


def drive_impulse(p: float, v: float, inverse_mass: float, h: float, drive: Bound) -> float:
    """The impulse with which a drive has, at the end of a substep, the force that it has there.

    v' = v + (p' - p) / m and s' = s - h v' in p' = h (force + stiffness s' + damping (target - v')).
    """
    if math.isinf(drive.damping):
        free = p + (drive.target - v) / inverse_mass
    else:
        k, c = drive.stiffness, drive.damping
        # p' (1 + h (c + h k) / m) = h (force + k s + c target) - h (c + h k) (v - p / m)
        steady = h * (drive.force + k * drive.gap + c * drive.target)
        free = (steady - h * (c + h * k) * (v - p * inverse_mass)) / (1.0 + h * (c + h * k) * inverse_mass)
    return min(max(free, drive.low * h), drive.high * h)


# --------------------------------------------------------------------------------------------- the rows of an island


@dataclass
class Contact:
    """Three rows: normal and two tangents."""

    y: Array
    gap0: float
    friction: float = 0.0
    surface: Array = field(default_factory=lambda: np.zeros(2))
    restitution: float = 0.0
    p: Array = field(default_factory=lambda: np.zeros(3))
    total: Array = field(default_factory=lambda: np.zeros(3))
    approach: float = 0.0
    last: float = 0.0
    same_tree: bool = False
    fast: bool = False
    gap: float = 0.0
    pair: int = 0

    @property
    def inverse_mass(self) -> float:
        return float(self.y[0] @ self.y[0])


@dataclass
class Bound:
    """One row: a limit, dry friction, a largest speed or a drive."""

    y: Array
    kind: str  # "limit", "dry", "fast", "drive"
    gap0: float = 0.0
    low: float = -math.inf  # N or N m
    high: float = math.inf
    target: float = 0.0
    force: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    p: float = 0.0
    total: float = 0.0
    gap: float = 0.0

    @property
    def inverse_mass(self) -> float:
        return float(self.y @ self.y)


@dataclass
class Moment:
    """Torsional and rolling friction at a contact: three rows, about its normal and its tangents."""

    y: Array
    contact: int
    torsion: float
    rolling: float
    p: Array = field(default_factory=lambda: np.zeros(3))
    total: Array = field(default_factory=lambda: np.zeros(3))


class Island:
    """All rows of an island, and one Gauss-Seidel iteration after the other."""

    def __init__(
        self,
        z: Array,
        za: Array,
        h: float,
        substeps: int,
        soft: Softness,
        contacts: list[Contact],
        bounds: list[Bound],
        moments: list[Moment],
        trees: int,
    ) -> None:
        self.z, self.za, self.h, self.substeps, self.soft = z.copy(), za, h, substeps, soft
        self.contacts, self.bounds, self.moments = contacts, bounds, moments
        self.moved = np.zeros_like(z)
        self.trees = trees

    def turns(self) -> list[Contact]:
        """Contacts in the order of an iteration: with several trees, its two halves in turn."""
        half = (len(self.contacts) + 1) // 2
        if self.trees == 1:
            return self.contacts
        first, second = self.contacts[:half], self.contacts[half:]
        return [c for pair in zip_longest(first, second) for c in pair if c is not None]

    # ------------------------------------------------------------------------------------------------- iterations

    def biased(self) -> None:
        """Normal impulses with the bias that pushes overlap out."""
        for c in self.turns():
            c.gap = c.gap0 + float(c.y[0] @ self.moved)
            p = self.soft.normal(c.p[0], float(c.y[0] @ self.z), c.gap, c.inverse_mass)
            self.z += c.y[0] * (p - c.p[0])
            c.p[0] = p

    def relax(self) -> None:
        """Normal impulses without a bias, each followed by its friction; the sums of impulses."""
        for c in self.turns():
            if (c.restitution > 0.0 or c.fast) and c.gap > 0.0 and c.p[0] == 0.0:  # it has met nothing yet
                self.z -= c.p[1:] @ c.y[1:]
                c.p[1:] = 0.0
                continue
            v = float(c.y[0] @ self.z)
            if c.gap > 0.0:
                v += (c.gap0 + float(c.y[0] @ self.moved)) / self.h
            p = max(0.0, c.p[0] - v / c.inverse_mass)
            self.z += c.y[0] * (p - c.p[0])
            c.p[0] = p
            rows = c.y[1:]
            new = friction_impulse(rows @ rows.T, rows @ self.z + c.surface, c.p[1:], c.friction * p)
            self.z += (new - c.p[1:]) @ rows
            c.p[1:] = new
            c.total += c.p

    def bounded(self, biased: bool) -> None:
        """Limits, dry friction, largest speeds and drives; a bias for limits alone."""
        for b in self.bounds:
            self.bound(b, biased)

    def measure_gaps(self, biased: bool) -> None:
        """Gaps of limits and drives, as bodies have moved so far; those of drives stay for a whole substep."""
        for b in self.bounds:
            way = float(b.y @ self.moved)
            if b.kind == "limit" and biased:
                b.gap = b.gap0 + way
            elif b.kind == "drive" and biased:
                b.gap = b.gap0 - way

    def bound(self, b: Bound, biased: bool) -> None:
        v, p = float(b.y @ self.z), b.p
        if b.kind == "limit":
            if b.gap > 0.0:
                way = b.gap if biased else b.gap0 + float(b.y @ self.moved)
                new = max(0.0, p - (v + way / self.h) / b.inverse_mass)
            else:
                new = self.soft.normal(p, v, b.gap, b.inverse_mass) if biased else max(0.0, p - v / b.inverse_mass)
        elif b.kind == "dry":
            new = min(max(p - v / b.inverse_mass, b.low * self.h), b.high * self.h)
        elif b.kind == "fast":
            new = max(0.0, p - (v + b.target) / b.inverse_mass)
        else:
            new = drive_impulse(p, v, b.inverse_mass, self.h, b)
        self.z += b.y * (new - p)
        b.p = new

    def resist(self) -> None:
        """Torsional and rolling friction, with the normal impulses that there are."""
        for m in self.moments:
            press = self.contacts[m.contact].p[0]
            if m.torsion > 0.0:
                y = m.y[0]
                most = m.torsion * press
                new = min(max(m.p[0] - float(y @ self.z) / float(y @ y), -most), most)
                self.z += y * (new - m.p[0])
                m.p[0] = new
            if m.rolling > 0.0:
                rows = m.y[1:]
                both = friction_impulse(rows @ rows.T, rows @ self.z, m.p[1:], m.rolling * press)
                self.z += (both - m.p[1:]) @ rows
                m.p[1:] = both
            m.total += m.p

    # --------------------------------------------------------------------------------------------------- substeps

    def kept(self) -> Array:
        """What all impulses but those of drives do."""
        g = np.zeros_like(self.z)
        for c in self.contacts:
            g += c.p @ c.y if c.p[0] > 0.0 else 0.0
        for b in self.bounds:
            g += b.y * b.p if b.kind != "drive" else 0.0
        for m in self.moments:
            if self.contacts[m.contact].p[0] > 0.0:
                g += m.p @ m.y
            else:
                m.p[:] = 0.0
        return g

    def driven(self) -> Array:
        return sum((b.y * b.p for b in self.bounds if b.kind == "drive"), np.zeros_like(self.z))

    def scale_kept(self, share: float) -> None:
        for c in self.contacts:
            c.p *= share
        for b in self.bounds:
            b.p *= share if b.kind != "drive" else 1.0
        for m in self.moments:
            m.p *= share

    def begin(self, g: Array) -> Array:
        """Forces, then what is kept of impulses, no more than makes the energy least. Returns velocities without it."""
        z0 = self.z + self.h * self.za
        free = z0 + self.driven()
        share = -float(free @ g) / float(g @ g) if g.any() else 1.0
        if share < 0.99:
            self.scale_kept(max(0.0, share))
            g = g * max(0.0, share)
        self.z = free + g
        return z0

    def only_takes(self) -> bool:
        return not any(c.surface.any() for c in self.contacts) and not any(b.kind == "drive" for b in self.bounds)

    def guard(self, z0: Array) -> Array:
        """No more energy than without the impulses of this substep. Returns what they do."""
        g = self.z - z0
        if g @ g > -2.0 * (z0 @ g) and self.only_takes():
            share = max(0.0, -2.0 * float(z0 @ g) / float(g @ g))
            for c in self.contacts:
                c.total += (share - 1.0) * c.p
            self.scale_kept(share)
            g = share * g
            self.z = z0 + g
        return g

    def solve(self, extra: int = 0) -> None:
        """All substeps; with `extra` iterations of contacts in each pass."""
        g = self.kept()
        strained = bool(self.bounds) and any(c.same_tree and c.gap0 < 0.0 for c in self.contacts)
        for _ in range(self.substeps):
            z0 = self.begin(g)
            self.measure_gaps(True)
            self.bounded(True)
            for _ in range(1 + extra):
                self.biased()
            if strained:
                for b in self.bounds:
                    if b.kind == "limit":
                        self.bound(b, True)
            self.moved = self.moved + self.h * self.z
            self.measure_gaps(False)
            self.bounded(False)
            before = [c.total.copy() for c in self.contacts]
            for _ in range(1 + extra):
                for c, total in zip(self.contacts, before, strict=True):
                    c.total = total.copy()
                self.relax()
            self.resist()
            g = self.guard(z0)
            for b in self.bounds:
                b.total += b.p
            g = g - self.driven()

    # ----------------------------------------------------------------------------------------------------- bounces

    def meet(self) -> None:
        """The speed that a contact has where its gap closes: v² - 2 a s."""
        for c in self.contacts:
            v, a = float(c.y[0] @ self.z), float(c.y[0] @ self.za)
            if c.restitution > 0.0 and v < 0.0:
                c.approach = -math.sqrt(max(v * v - 2.0 * a * max(c.gap0, 0.0), 0.0))

    def bounce(self, threshold: float, start: Array, iterations: int = 60, even: float = 1e-7) -> None:
        """Contacts that pressed part with a share of their speed; then no more energy than at the start."""
        plain = self.z.copy()
        for n in range(iterations):
            change = 0.0
            for c in self.contacts:
                if not (c.approach < -threshold and c.total[0] > 0.0):
                    continue
                v = float(c.y[0] @ self.z)
                p = max(0.0, c.last - (v + c.restitution * c.approach) / c.inverse_mass)
                change = max(change, abs(p - c.last) / (-c.approach / c.inverse_mass))
                self.z += c.y[0] * (p - c.last)
                c.total[0] += p - c.last
                c.last = p
                rows = c.y[1:]
                if c.friction > 0.0:
                    slip = rows @ self.z + c.surface
                    new = friction_impulse(rows @ rows.T, slip, c.total[1:], c.friction * c.total[0])
                    self.z += (new - c.total[1:]) @ rows
                    c.total[1:] = new
            if n >= 1 and change <= even:
                break
        if self.only_takes():
            self.z = plain + self.share_of_energy(plain, self.z, start) * (self.z - plain)

    def share_of_energy(self, plain: Array, bounced: Array, start: Array) -> float:
        """The largest share of a bounce with no more energy than at the start and what forces have done."""
        most = float(start @ start + 2.0 * self.za @ self.moved)
        d = bounced - plain
        if bounced @ bounced <= most:
            return 1.0
        if plain @ plain >= most:
            return 0.0
        roots = np.roots([d @ d, 2.0 * plain @ d, plain @ plain - most])
        return float(max(roots.real))


# ---------------------------------------------------------------------------------------------------- direct solve


@dataclass
class Law:
    """A row, or three, of the direct solve: what impulse answers what velocity; a projection onto a convex set."""

    y: Array  # (1, n): a normal, or one direction; (3, n): a normal and two tangents
    K: float
    normal: bool
    tangents: int
    q: Array  # impulses at no velocity: normal, tangents
    offset: Array  # m/s, is added to the velocities
    radius: float = 0.0
    low: float = 0.0
    high: float = 0.0
    drive: bool = False

    def impulses(self, z: Array) -> Array:
        """One for each row of y."""
        pushes = self.q - self.K * (self.y @ z + self.offset)
        if self.drive:
            return np.clip(pushes, self.low, self.high)
        parts = [np.maximum(pushes[:1], 0.0)] if self.normal else []
        if self.tangents:
            parts.append(project_to_disc(pushes[1 if self.normal else 0 :], self.radius))
        return np.concatenate(parts)


def cost_slope(z: Array, free: Array, laws: list[Law]) -> Array:
    """The gradient of ½ |z - z*|² and the costs of all laws."""
    return z - free - sum((law.impulses(z) @ law.y for law in laws), np.zeros_like(z))


def cost_hessian(z: Array, laws: list[Law], step: float = 1e-6) -> Array:
    """Its second derivative, by differences of the laws."""
    H = np.eye(len(z))
    for law in laws:
        G = np.zeros((len(law.y), len(law.y)))
        reach = step / law.K
        for k in range(len(law.y)):
            shift = np.zeros(len(law.y))
            shift[k] = reach * max(1.0, float(np.abs(law.q).max()))
            up, down = (moved_law(law, s).impulses(z) for s in (shift, -shift))
            G[:, k] = -(up - down) / (2.0 * shift[k])
        H += law.y.T @ G @ law.y
    return H


def moved_law(law: Law, shift: Array) -> Law:
    return Law(
        law.y, law.K, law.normal, law.tangents, law.q, law.offset + shift, law.radius, law.low, law.high, law.drive
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------- islands


def components(members: list[int], ties: list[tuple[int, int]]) -> list[set[int]]:
    """What hangs together, by search from each member that has not been found."""
    near: dict[int, set[int]] = {m: set() for m in members}
    for a, b in ties:
        near[a].add(b)
        near[b].add(a)
    found: list[set[int]] = []
    seen: set[int] = set()
    for m in members:
        if m in seen:
            continue
        group, left = set(), [m]
        while left:
            one = left.pop()
            if one not in group:
                group.add(one)
                left += near[one]
        seen |= group
        found.append(group)
    return found
