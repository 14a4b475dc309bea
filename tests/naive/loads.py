"""Loads of heaps the slow way: equilibrium of dense shares, levels by recursion, and which islands become direct."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

Array = np.ndarray
Support = tuple[int, int]  # supporting body, -1 for the ground, and supported body


def levels(count: int, supports: list[Support]) -> list[int]:
    """Bodies on the longest way from each one down to the ground; -1 if no way leads there. Without cycles."""

    @cache
    def level(body: int) -> int:
        below = [0 if b < 0 else level(b) + 1 for b, a in supports if a == body and (b < 0 or level(b) >= 0)]
        return max(below, default=-1)

    return [level(body) for body in range(count)]


def loads(masses: Array, supports: list[Support]) -> Array:
    """What each body carries: all divide their mass and load equally among supports that lead to the ground.

    The shares S of bodies in what others weigh are those of equilibrium: load = S (mass + load).
    """
    n, level = len(masses), levels(len(masses), supports)
    grounded = [(b, a) for b, a in supports if b < 0 or level[b] >= 0]
    shares = np.zeros((n, n))
    for below, above in grounded:
        if below >= 0:
            shares[below, above] += 1.0 / sum(a == above for _, a in grounded)
    return np.linalg.solve(np.eye(n) - shares, shares @ masses)


@dataclass
class Choice:
    """One island and what is kept of it from step to step."""

    direct: bool = False
    pairs: object = None  # those that touched at the last decision, and the period of that
    answer: bool = field(default=False)  # of this step

    def step(self, now: object, ratio: float, fastest: float, warm: bool, slow: float) -> None:
        """`ratio`: largest load over mass; `warm`: whether contacts have stored impulses; `slow`: m/s."""
        if now == self.pairs:
            self.answer = self.direct
            return
        self.pairs = now
        heavy = 0.1 if fastest < slow else 8.0
        calm = fastest < 0.5
        limit = 0.5 * heavy if self.direct else heavy if calm else 50.0
        self.direct = ratio > limit
        fresh = calm and not warm
        self.answer = self.direct or fresh
        if not self.direct and (fresh or ratio > (0.1 if slow > 0.0 else 8.0)):
            self.pairs = None  # it is examined again in the next step
