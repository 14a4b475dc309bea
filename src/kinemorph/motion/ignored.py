"""What a model says of its joints and rollouts do not honour: told once, by name, when it would have mattered."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from kinemorph._files import ModelWarning
from kinemorph.multibody.model import Model

Array = np.ndarray[Any, Any]

SLACK = 1e-6  # share by which a limit may be passed: numbers in files are rounded


class _Limits(NamedTuple):
    """What there is to look at in a model, found once."""

    entries: Array  # entries of q that have limits,
    rates: Array  # those of v that go with them,
    low: Array  # and the limits, with some slack
    high: Array
    speed: Array | None
    effort: Array | None
    rough: Array  # entries of v with dry friction


def warn_ignored(model: Model, q: Array, v: Array, tau: Array) -> None:
    """Warn of limits that a motion has passed and of dry friction that has not acted, each once for a model.

    q and v are states (…, n), tau the applied joint forces.
    """
    limits = vars(model).get("_limits")
    if limits is None:
        limits = vars(model)["_limits"] = _limits_of(model)
    if limits.rough.size:
        _tell(model, "dry friction", limits.rough)
    if limits.entries.size:
        states = q.reshape(-1, model.nq)[:, limits.entries]
        outside = ((states < limits.low) | (states > limits.high)).any(axis=0)
        if outside.any():
            _tell(model, "position limits", limits.rates[outside])
    for what, numbers, most in (("speed limits", v, limits.speed), ("effort limits", tau, limits.effort)):
        if most is not None:
            passed = (np.abs(numbers.reshape(-1, model.nv)) > most).any(axis=0)
            if passed.any():
                _tell(model, what, np.flatnonzero(passed))


def _limits_of(model: Model) -> _Limits:
    dofs, links = model.dofs, model.links[model.links["nq"] == model.links["nv"]]
    rates = np.array([k for l in links for k in range(l["iv"], l["iv"] + l["nv"])], dtype=np.intp)
    entries = np.array([k for l in links for k in range(l["iq"], l["iq"] + l["nq"])], dtype=np.intp)
    low, high = dofs["lower"][rates], dofs["upper"][rates]
    limited = np.isfinite(low) | np.isfinite(high)
    low, high = low[limited], high[limited]
    speed, effort = (
        dofs[field] * (1.0 + SLACK) if np.isfinite(dofs[field]).any() else None for field in ("speed", "effort")
    )
    return _Limits(
        entries[limited], rates[limited], low - SLACK * (1.0 + np.abs(low)), high + SLACK * (1.0 + np.abs(high)),
        speed, effort, np.flatnonzero(dofs["friction"] > 0.0),
    )  # fmt: skip


def _tell(model: Model, what: str, which: Array) -> None:
    if what in model.told:
        return
    model.told.add(what)
    names = list(dict.fromkeys(model.joint_names[i] for i in model.dofs["link"][which].tolist()))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    warnings.warn(
        f"model {model.name!r}: {what} of joint {', '.join(map(repr, names[:3]))}{more} would have acted, but "
        "rollouts and simulations of a model do not honour them",
        ModelWarning,
        stacklevel=4,
    )
