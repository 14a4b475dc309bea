"""Warnings, once for a model, of joint limits, dry friction and gears that a rollout ignores though they matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._files import warn_of_model
from kinemorph.jit.api import entry, rows_at
from kinemorph.multibody.checks import Matrix
from kinemorph.multibody.model.model import Model

Array = np.ndarray[Any, Any]

LIMIT_SLACK = 1e-6  # share by which a limit may be passed: numbers in files are rounded


POSITION, SPEED, EFFORT = 1, 2, 4  # bits of what was passed
GEARS = "mimics"
NAMES = {POSITION: "position limits", SPEED: "speed limits", EFFORT: "effort limits"}

LIMIT = np.dtype(
    [
        ("entry", "i8"),  # of q, -1 where a position has no limits
        ("low", "f8"),  # rad or m, with some slack, like the others
        ("high", "f8"),
        ("velocity_limit", "f8"),  # rad/s or m/s
        ("effort_limit", "f8"),  # N m or N
        ("passed", "i8"),  # bits of what was passed
    ]
)


@entry
def _mark_exceeded_limits(address: int, count: int, q: Matrix, v: Matrix, tau: Matrix) -> int:
    """Mark the limits that states and joint forces have passed. Returns the bits of all."""
    limits = rows_at(address, count, LIMIT)
    every = 0
    for k in range(limits.shape[0]):
        l = limits[k]
        passed = 0
        if l["entry"] >= 0:
            for i in range(q.shape[0]):
                x = q[i, l["entry"]]
                if x < l["low"] or x > l["high"]:
                    passed |= POSITION
        for i in range(v.shape[0]):
            if abs(v[i, k]) > l["velocity_limit"]:
                passed |= SPEED
        for i in range(tau.shape[0]):
            if abs(tau[i, k]) > l["effort_limit"]:
                passed |= EFFORT
        l["passed"] = passed
        every |= passed
    return every


def warn_ignored(model: Model, q: Array, v: Array, tau: Array, stops: bool = False) -> None:
    """Warn of limits that a motion has passed, of dry friction that has not acted and of joints that have not followed
    others, each once for a model.

    q and v are states (…, n), tau the applied joint forces. With `stops`, limits of positions have acted.
    """
    if model.catalog.mimics and GEARS not in model.told:
        _warn_of_open_gears(model, q.reshape(-1, model.nq))
    limits = vars(model).get("_limits")
    if limits is None:
        limits = vars(model)["_limits"] = _limits_of(model)
        rough = model.dofs["friction"] > 0.0
        if rough.any():
            _warn_once(model, "dry friction", rough)
    if not len(limits):
        return
    nq, nv = model.nq, model.nv
    address = limits.ctypes.data
    every = _mark_exceeded_limits(address, len(limits), q.reshape(-1, nq), v.reshape(-1, nv), tau.reshape(-1, nv))
    if every:
        for bit, what in NAMES.items():
            if every & bit and not (stops and bit == POSITION):
                _warn_once(model, what, limits["passed"] & bit != 0)


def _warn_of_open_gears(model: Model, q: Array) -> None:
    """Warn of joints that should have followed others, and have not."""
    link = {name: i for i, name in enumerate(model.joint_names)}
    for m in model.mimics:
        own, source = link[m.joint], link[m.source]
        wanted = m.multiplier * q[:, model.links[source]["iq"]] + m.offset
        off = np.abs(q[:, model.links[own]["iq"]] - wanted)
        if (off > LIMIT_SLACK * (1.0 + np.abs(wanted))).any():
            model.told.add(GEARS)
            warn_of_model(
                f"model {model.name!r}: joint {m.joint!r} does not follow {m.source!r} as its mimic says; begin with "
                "q, v = km.follow(model, q, v)"
            )
            return


def _limits_of(model: Model) -> np.ndarray[Any, Any]:
    """What there is to look at in a model, found once; nothing if it has no limits at all."""
    dofs, limits = model.dofs, np.zeros(model.nv, LIMIT)
    limits["entry"] = -1
    for l in model.links[model.links["nq"] == model.links["nv"]]:
        limits["entry"][l["iv"] : l["iv"] + l["nv"]] = np.arange(l["iq"], l["iq"] + l["nq"])
    low, high = dofs["lower"], dofs["upper"]
    limits["entry"][~(np.isfinite(low) | np.isfinite(high))] = -1
    limits["low"], limits["high"] = low - LIMIT_SLACK * (1.0 + np.abs(low)), high + LIMIT_SLACK * (1.0 + np.abs(high))
    for field in ("velocity_limit", "effort_limit"):
        limits[field] = dofs[field] * (1.0 + LIMIT_SLACK)
    some = (limits["entry"] >= 0) | np.isfinite(limits["velocity_limit"]) | np.isfinite(limits["effort_limit"])
    return limits if some.any() else limits[:0]


def _warn_once(model: Model, what: str, which: Array) -> None:
    if what in model.told:
        return
    model.told.add(what)
    names = list(dict.fromkeys(model.joint_names[i] for i in model.dofs["link"][which].tolist()))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    warn_of_model(
        f"model {model.name!r}: {what} of joint {', '.join(map(repr, names[:3]))}{more} would have acted, but "
        "rollouts and simulations of a model do not honour them"
    )
