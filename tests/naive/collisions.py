"""Collisions of the impulse model the slow way: dense rows, one pair after another, the law from its definition.

Velocities are whitened, as in `tests.naive.contact`; nothing is shared with `kinemorph.contact.impulse`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from tests.naive.contact import Array

MOST_ROUNDS = 30


def parts_of_law(u: Array, K: Array) -> tuple[Array, Array]:
    """p_I, which stops the normal velocity by a normal impulse, and d = p_II - p_I, where p_II stops all that it can.

    Where K is singular, d is the one with the least tangential impulse.
    """
    p1 = np.array([-u[0] / K[0, 0], 0.0, 0.0])
    slip = (u + K @ p1)[1:]
    # an impulse along the tangents, with the normal impulse that leaves the normal velocity alone
    lift = np.vstack([-K[0, 1:] / K[0, 0], np.eye(2)])
    values, axes = np.linalg.eigh((K @ lift)[1:])
    moves = values > 1e-9 * np.trace(K[1:, 1:])
    return p1, lift @ (axes[:, moves] @ ((axes[:, moves].T @ -slip) / values[moves]))


def law(u: Array, K: Array, e: float, tangential: float, friction: float) -> Array:
    """Impulse of Chatterjee and Ruina: p = (1 + e) p_I + κ d; κ is the largest share, up to 1 + e_t, in the cone."""
    if u[0] >= 0.0 or K[0, 0] <= 0.0:
        return np.zeros(3)
    p1, d = parts_of_law(u, K)

    def within(share: float) -> bool:
        p = (1.0 + e) * p1 + share * d
        return math.hypot(p[1], p[2]) <= friction * p[0]

    low, high = 0.0, 1.0 + tangential
    if within(high):
        return (1.0 + e) * p1 + high * d
    for _ in range(100):  # by bisection
        middle = 0.5 * (low + high)
        low, high = (middle, high) if within(middle) else (low, middle)
    return (1.0 + e) * p1 + low * d


@dataclass
class Point:
    """An approaching or parting contact: three rows, what it is made of, and its pair."""

    y: Array  # (3, n): normal, two tangents
    gap: float
    friction: float
    restitution: float
    surface: Array
    normal: Array
    tangent: Array
    pair: int
    total: Array = field(default_factory=lambda: np.zeros(3))


@dataclass
class Limit:
    """The row of a joint limit, and how far it is."""

    y: Array
    gap: float


@dataclass
class Impacts:
    """Settings: the collision envelope (m), the speed (m/s) of micro-collisions, and their largest restitution."""

    epsilon: float
    slow: float
    boost: float
    half_gap: float
    turn: int


class Collisions:
    """One island, whose points are in the order of their pairs."""

    def __init__(
        self, z: Array, points: list[Point], limits: list[Limit], tangential: list[float], settings: Impacts
    ) -> None:
        self.z, self.points, self.limits, self.tangential, self.settings = (
            z.copy(),
            points,
            limits,
            tangential,
            settings,
        )
        self.count, self.struck = 0, np.zeros(len(tangential))
        self.rounds = 0

    def solve(self) -> None:
        pairs = sorted({point.pair for point in self.points})
        for turn in range(MOST_ROUNDS):
            self.rounds, any_of_them = turn + 1, False
            for pair in pairs if (turn + self.settings.turn) % 2 == 0 else pairs[::-1]:
                p = self.collide([point for point in self.points if point.pair == pair], self.tangential[pair])
                if p > 0.0:
                    any_of_them, self.count = True, self.count + 1
                    self.struck[pair] += p
            if not (self.stop_limits() or any_of_them):
                return

    def speed(self, point: Point) -> float:
        return float(point.y[0] @ self.z)

    def collides(self, point: Point) -> bool:
        near = point.gap + self.settings.half_gap <= self.settings.epsilon
        return near and self.speed(point) < (0.0 if self.settings.boost > 0.0 else -self.settings.slow)

    def collide(self, points: list[Point], tangential: float) -> float:
        """All points with the frame of the fastest one as one; micro-collisions of a boosted model one by one."""
        points = [point for point in points if self.collides(point)]
        if not points:
            return 0.0
        lead = min(points, key=self.speed)
        weights, e = [(lead, 1.0)], lead.restitution
        if self.settings.boost > 0.0:
            speed = float(np.linalg.norm(lead.y @ self.z))
            if speed < self.settings.slow:
                depth = 1.0 - (lead.gap + self.settings.half_gap) / self.settings.epsilon
                e += (self.settings.boost - e) * min(max(depth, 0.0), 1.0)
        else:
            same = [p for p in points if np.allclose([p.normal, p.tangent], [lead.normal, lead.tangent], atol=1e-9)]
            speeds = np.array([-self.speed(p) for p in same])
            weights = list(zip(same, speeds / speeds.sum(), strict=True))
        rows = sum((w * point.y for point, w in weights), np.zeros_like(lead.y))
        p = law(rows @ self.z + np.array([0.0, *lead.surface]), rows @ rows.T, e, tangential, lead.friction)
        self.z += p @ rows
        for point, w in weights:
            point.total = point.total + w * p
        return float(p[0])

    def stop_limits(self) -> bool:
        """Joints that move beyond a limit stop there. Whether any of them did so by more than 1 mm/s or mrad/s."""
        found = False
        for limit in self.limits:
            v = float(limit.y @ self.z)
            if limit.gap < 1e-3 and v < 0.0:
                self.z -= limit.y * v / (limit.y @ limit.y)
                found |= v < -1e-3
        return found
