"""Joints at their limits: impacts with restitution, and forces that hold joints which are pushed there (an LCP).

The impact is Newton's at all limits that are reached at that moment, with one restitution e: impulses that only push
back, and velocities J v⁺ ≥ -e J v⁻, of which one or the other is zero at each limit. The energy changes by
-½ (1 - e) / (1 + e) pᵀ G p, never upwards. Then forces follow from the same problem for accelerations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinemorph._files import warn_of_model
from kinemorph.motion.events import DEAD, EVENT, HELD, STOP
from kinemorph.motion.limit_forces import HOLD, SIDE_CHANGE_ANGLE, gaps, probe, stop_workspace_size
from kinemorph.multibody.checks import Array
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model

AT_STOP_DISTANCE = 1e-9  # rad or m: from a limit, a joint is at it,
BEYOND = 1e-6  # and so is one that is beyond it by less: numbers in files are rounded, and the time of an event is, too
REST = 1e-9  # rad/s or m/s, as a share of 1 + |v|: slower than this a joint is at rest
TURNS = 8  # of impacts that follow from each other at one instant
SLIGHT = 1e-12  # forces and accelerations, as a share of the largest one


class Outcome(NamedTuple):
    """Velocities after joints have come to their limits, which limits took an impulse, and which ones bear a force."""

    v: Array
    struck: list[int]
    held: list[int]


class Stops:
    """The limits of all joints of a model, as EVENT rows, and those that bear a force."""

    def __init__(self, model: Model, limited: bool = True) -> None:
        found = []
        for link, l in enumerate(model.links):
            if not limited or l["kind"] == int(JointKind.FREE):
                continue
            for entry in range(int(l["nv"])):
                dof = model.dofs[int(l["iv"]) + entry]
                for sign, level in ((1.0, float(dof["lower"])), (-1.0, float(dof["upper"]))):
                    if np.isfinite(level):
                        found.append((link, entry, sign, level))
        self.model = model
        self.rows = np.zeros(len(found), EVENT)
        for row, (link, entry, sign, level) in zip(self.rows, found, strict=True):
            row["kind"], row["direction"], row["awake"], row["dead"] = STOP, -1, 1, DEAD
            row["b"], row["index"], row["level"], row["n"][0] = link, entry, level, sign
        self.holds = np.zeros(0, HOLD)
        self.room: Array = np.zeros(1)

    def name(self, i: int) -> str:
        row = self.rows[i]
        link, which = int(row["b"]), "lower" if row["n"][0] > 0.0 else "upper"
        several = self.model.links[link]["nv"] > 1
        part = f"entry {int(row['index'])} of " if several else ""
        return f"{part}{self.model.joint_names[link]} at its {which} limit"

    def touched(self, data: Data, q: Array) -> list[int]:
        """The limits that joints are at. One that is beyond a limit does not feel it before it has come back: from the
        start, or a ball joint that has turned by more than π, where its rotation vector changes sides."""
        if not len(self.rows):
            return []
        gaps(data.address, self.rows.ctypes.data, len(self.rows), q)
        g = self.rows["g"]
        beyond = np.where(self.rows["side"] > 0, SIDE_CHANGE_ANGLE, BEYOND)  # one that was within has just come there
        away = np.abs(g) > np.where(g > 0.0, AT_STOP_DISTANCE, beyond)
        self.rows["side"][away] = np.sign(g[away])
        return np.flatnonzero(~away).tolist()

    def warn_beyond(self) -> None:
        """Say which joints are beyond their limits, once for a model."""
        names = list(dict.fromkeys(self.model.joint_names[r["b"]] for r in self.rows if r["side"] < 0))
        if names and "outside" not in self.model.told:
            self.model.told.add("outside")
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            warn_of_model(
                f"model {self.model.name!r}: joint {', '.join(map(repr, names[:3]))}{more} is outside of its limits"
                ", which do not act on it before it has come back; begin within them, or give limits=False"
            )

    def hold(self, which: list[int], first: int) -> None:
        """Hold joints at some limits from now on; their events are rows of a table that has theirs from `first` on."""
        self.holds = self._holds(which)
        self.holds["row"] += first
        self.room = np.zeros(stop_workspace_size(len(which), self.model.nv) + 1)
        self.rows["kind"] = STOP
        self.rows["kind"][which] = HELD

    def _holds(self, which: list[int]) -> np.ndarray[Any, Any]:
        holds, rows = np.zeros(len(which), HOLD), self.rows[which]
        for name, source in (("link", "b"), ("entry", "index"), ("level", "level")):
            holds[name] = rows[source]
        holds["sign"], holds["row"] = rows["n"][:, 0], which
        return holds

    def settle(
        self, data: Data, q: Array, v: Array, forces: tuple[Array, Array], work: Array, e: float, dt: float,
        free: list[int],
    ) -> Outcome:  # fmt: skip
        """What happens to joints at their limits. Bounces that would be over within dt seconds do not begin; the
        limits in `free` have just let go."""
        touched = self.touched(data, q)
        if not touched:
            return Outcome(v, [], [])
        seen = _LimitStates(self, data, q, forces, work, touched)
        leaves = np.isin(touched, free)
        struck: set[int] = set()
        push: Array = np.zeros(len(touched))
        for again in range(TURNS):
            slow = REST * (1.0 + float(np.abs(v).max()))
            speed, change = seen.at(v)
            slight = 0.5 * dt * np.abs(change)  # with more than this, a joint is away for longer than dt
            hits = speed < -slow
            if again and not hits.any():
                break
            if hits.any():
                soon = again == TURNS - 1 or bool((e * -speed[hits] < slight[hits]).all())
                p = solve_complementarity(seen.G, (1.0 if soon else 1.0 + e) * speed)
                v = v + p @ seen.R
                struck.update(np.flatnonzero(p).tolist())
                speed, change = seen.at(v)
            push = _limit_forces(seen.G, speed, change, slow, dt, leaves)
            held = np.flatnonzero(push)
            if (np.abs(speed[held]) > slow).any():  # they would be back at once: what is left of their speed goes now
                v = v - np.linalg.lstsq(seen.G[np.ix_(held, held)], speed[held], rcond=1e-11)[0] @ seen.R[held]
                struck.update(held[speed[held] > slow].tolist())
        return Outcome(v, [touched[k] for k in sorted(struck)], [touched[k] for k in np.flatnonzero(push)])


def _limit_forces(G: Array, speed: Array, change: Array, slow: float, dt: float, leaves: Any) -> Array:
    """Forces at limits that joints are at: at those where they rest, and where they would be back within dt seconds."""
    push, still = np.zeros(len(change)), (np.abs(speed) <= slow) & ~leaves
    for _ in range(len(change) + 1):
        push[still] = solve_complementarity(G[np.ix_(still, still)], change[still])
        rate = change + G @ push
        back = ~still & (rate < -SLIGHT * np.abs(change).max()) & (np.abs(speed) < np.maximum(-0.5 * dt * rate, slow))
        if not back.any():
            break
        still |= back
    return push


class _LimitStates:
    """Limits that joints are at, and what forces in them do there."""

    def __init__(
        self, stops: Stops, data: Data, q: Array, forces: tuple[Array, Array], work: Array, touched: list[int]
    ) -> None:
        self.data, self.q, self.forces, self.work = data, q, forces, work
        self.holds, self.nv = stops._holds(touched), stops.model.nv
        count = len(touched)
        self.room: Array = np.zeros(stop_workspace_size(count, self.nv) + 1)
        start = (2 + count) * self.nv
        self.at(np.zeros(self.nv))
        self.R = self.room[2 * self.nv : start].reshape(count, self.nv).copy()
        G = self.room[start : start + count**2].reshape(count, count)
        self.G = 0.5 * (G + G.T)

    def at(self, v: Array) -> tuple[Array, Array]:
        """How fast joints leave their limits, and how this changes if nothing holds them."""
        found = np.zeros((2, len(self.holds)))
        tau, external = self.forces
        probe(
            self.data.address, self.holds.ctypes.data, len(self.holds), self.q, v, tau, external, self.work,
            self.room, found,
        )  # fmt: skip
        return found[0], found[1]


def solve_complementarity(G: Array, c: Array) -> Array:
    """x ≥ 0 with G x + c ≥ 0, of which one or the other is zero in each entry; G is symmetric and never negative.

    It is the least |A x + b|² with G = Aᵀ A and c = Aᵀ b, so Lawson and Hanson's method for it ends, whatever the rank.
    """
    size, count = float(np.abs(c).max(initial=0.0)), len(c)
    x = np.zeros(count)
    if not (c < -SLIGHT * max(size, 1.0)).any():
        return x
    active = np.zeros(count, dtype=bool)
    for _ in range(10 * count + 10):
        w = -(G @ x + c)
        w[active] = -np.inf
        k = int(np.argmax(w))
        if not w[k] > SLIGHT * max(size, 1.0) * 10.0:
            break
        active[k] = True
        while True:
            s = np.zeros(count)
            s[active] = np.linalg.lstsq(G[np.ix_(active, active)], -c[active], rcond=1e-11)[0]
            if (s[active] > 0.0).all():
                x = s
                break
            bad = active & (s <= 0.0)
            share = float(np.min(x[bad] / np.maximum(x[bad] - s[bad], 1e-300)))
            x = x + share * (s - x)
            out = active & (x <= 1e-14 * max(float(np.abs(s).max()), 1e-300))
            active[out if out.any() else bad] = False
            x[~active] = 0.0
            if not active.any():
                break
    return x
