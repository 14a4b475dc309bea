"""Re-root a whole motion: the same edit at every frame (SPW section 7.1), with one model for all frames.

The model that `reroot` makes does not depend on the state: the rows of links are the same at every frame, and only
positions, velocities, accelerations and joint forces are transformed. So one model serves all frames, which are edited
one after the other in the forest of this thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinemorph.multibody.checks import NOT_FINITE, Array, raise_for_status
from kinemorph.multibody.layout import DOF, LINK, copy_rows
from kinemorph.multibody.model.loops import LOOP
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.structure.edit.model_edit import thread_edit_rows, thread_forest
from kinemorph.structure.edit.request import Request
from kinemorph.structure.edit.to_model import MODEL_EXPORT, export_model, measure_export
from kinemorph.structure.forest.layout import ON_LINK, REST, TAU, A, Q, V
from kinemorph.structure.forest.memory import clear_forest
from kinemorph.structure.reroot import reroot


class Rerooted(NamedTuple):
    """A motion with another root: rows of q, v, a and tau of `model`, frame by frame."""

    model: Model
    q: Array
    v: Array
    a: Array
    tau: Array
    pose_error: float  # m and rad: largest difference of a body's pose before and after
    twist_error: float  # m/s and rad/s


def reroot_motion(model: Model, q: Array, v: Array, a: Array, link: str | int, tau: Array | None = None) -> Rerooted:
    """Make a link the root of a model's one tree, on a free joint, in all frames of a motion: `reroot` of each.

    `q`, `v`, `a` and `tau` have a row for each frame. Bodies keep their poses, velocities and accelerations, and joints
    their forces.
    """
    frames = len(q)
    given = {"q": (q, model.nq), "v": (v, model.nv), "a": (a, model.nv), "tau": (tau, model.nv)}
    for name, (values, width) in given.items():
        if values is not None and np.shape(values) != (frames, width):
            raise ValueError(f"model {model.name!r}: {name} has shape {np.shape(values)}, expected {(frames, width)}")
        if values is not None and not np.isfinite(values).all():
            at = tuple(int(x) for x in np.argwhere(~np.isfinite(values))[0])
            raise ValueError(f"model {model.name!r}: {name}[{at[0]}, {at[1]}] is {np.asarray(values)[at]}")
    if len(model.loop_rows) or int((model.links["parent"] < 0).sum()) != 1:
        raise ValueError(f"model {model.name!r}: a motion is re-rooted in a model of one tree without loops")
    if not frames:
        empty = reroot(model, State(model.rest.copy(), np.zeros(model.nv)), link).model
        return Rerooted(empty, q, v, a, np.zeros((0, model.nv)), 0.0, 0.0)
    first = reroot(model, State(q[0], v[0], a[0], None if tau is None else tau[0]), link)
    return _reroot_frames(model, first.model, model.place(link)[0], q, v, a, tau)


def _reroot_frames(model: Model, changed: Model, top: int, q: Array, v: Array, a: Array, tau: Array | None) -> Rerooted:
    """The states of all frames, each by the edit that `reroot` makes, without a new model for each frame."""
    forest, frames = thread_forest(), len(q)
    numbers, after = np.zeros((6, model.nq)), np.empty((6, changed.nq))
    numbers[REST] = model.rest
    request = Request.reroot(thread_edit_rows(), None, None, None, ON_LINK)
    links, dofs = np.empty(changed.n, LINK), np.empty(changed.nv, DOF)
    bodies, loops, harvests = copy_rows(model.bodies), np.empty(0, LOOP), np.zeros(1, MODEL_EXPORT)
    new_q, (new_v, new_a, new_tau) = np.empty((frames, changed.nq)), np.empty((3, frames, changed.nv))
    worst_pose = worst_twist = 0.0
    for k in range(frames):
        numbers[Q], numbers[V, : model.nv], numbers[A, : model.nv] = q[k], v[k], a[k]
        if tau is not None:
            numbers[TAU, : model.nv] = tau[k]
        clear_forest(forest.address)
        forest._header[0]["dependence"] = model.dependence
        here, chosen, planted = forest._plant(model, numbers, -1, top)
        if here is None:
            raise_for_status(model, NOT_FINITE, q=q[k], v=v[k], a=a[k])
        request.row["a"], request.row["b"], request.row["root"] = -1, int(here[top]), -1
        if forest._apply(request):
            raise ArithmeticError(f"model {model.name!r}: frame {k} cannot be re-rooted at {model.names[top]!r}")
        row = harvests[0]
        row["model"], row["numbers"], row["new"] = model.address, numbers.ctypes.data, changed.links[0]["joint"]
        row["trees"], row["bodies"], row["loops"] = planted["trees"], planted["bodies"], 0
        row["joints"] = planted["bodies"]
        row["n"] = row["nq"] = row["nv"] = 0
        measure_export(forest.address, harvests)
        while export_model(
            forest.address, harvests, model.loop_rows, chosen, here, links, dofs, after.ravel(), bodies, loops
        ):
            forest._grow()
        new_q[k], new_v[k], new_a[k] = after[Q], after[V, : changed.nv], after[A, : changed.nv]
        new_tau[k] = after[TAU, : changed.nv]
        outcome = forest._outcomes[0]
        worst_pose = max(worst_pose, float(outcome["pose_error"]))
        worst_twist = max(worst_twist, float(outcome["twist_error"]))
    return Rerooted(changed, new_q, new_v, new_a, new_tau, worst_pose, worst_twist)
