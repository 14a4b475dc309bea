"""Joint forces of the actuators of a model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinemorph.multibody.checks import Array, checked_copies
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import as_floats


@checked_on_failure
def actuator_forces(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, control: npt.ArrayLike) -> Array:
    """Joint forces (nv) of the model's actuators, from one control for each, in the model's order."""
    q64, v64 = checked_copies(model, q=q, v=v)
    u = as_floats(control)
    if u.shape != (len(model.actuators),):
        raise ValueError(f"model {model.name!r}: control has shape {u.shape}, expected ({len(model.actuators)},)")
    if not np.isfinite(u).all():
        which = int(np.argmax(~np.isfinite(u)))
        raise ValueError(f"model {model.name!r}: control[{which}] ({model.actuators[which].name!r}) is {u[which]}")
    tau = np.zeros(model.nv)
    for a, told in zip(model.actuators, u.tolist(), strict=True):
        force = a.gain * min(max(told, a.control[0]), a.control[1]) + a.bias[0]
        at = model.v_slice(a.joint)
        if len(a.gear) == 1:
            x, speed = q64[model.q_slice(a.joint)][0], v64[at][0]
            force += a.gear[0] * (a.bias[1] * x + a.bias[2] * speed)
        tau[at] += min(max(force, a.force[0]), a.force[1]) * np.array(a.gear)
    # the joint's own limit is on the sum of all drives
    return np.clip(tau, -model.dofs["effort_limit"], model.dofs["effort_limit"])
