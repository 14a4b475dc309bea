"""Edit a model: copy the trees that the edit concerns into a forest, edit them there, and export a new model."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kinemorph.multibody.checks import BAD_SIZE, NOT_FINITE, Array, raise_for_status
from kinemorph.multibody.layout import DOF, LINK, copy_rows
from kinemorph.multibody.model.catalog import Catalog
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import LOOP
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.structure.edit.refusals import EntityNames, raise_refusal, warn_lossy_joint
from kinemorph.structure.edit.request import Request
from kinemorph.structure.edit.to_model import MODEL_EXPORT, export_model, export_velocities, measure_export
from kinemorph.structure.forest.forest import Forest
from kinemorph.structure.forest.layout import CONNECT, JOINTS, JUMP, REST, TAU, A, Q, V
from kinemorph.structure.forest.memory import ID_INDEX_MASK, clear_forest
from kinemorph.structure.report import ModelEdit


class _ThreadForest(threading.local):
    """A forest for each thread, reused for all its edits."""

    forest: Forest | None = None


_thread_local = _ThreadForest()


def thread_forest() -> Forest:
    """The forest of this thread in which models are edited."""
    if _thread_local.forest is None:
        _thread_local.forest = Forest()
    return _thread_local.forest


def thread_edit_rows() -> Any:
    """The EDIT row of this thread."""
    return thread_forest()._edits


class Links(NamedTuple):
    """The links of a model that an edit names, -1 for the base or none."""

    a: int = -1
    b: int = -1
    root: int = -1  # root of the part that is cut off
    cut: int = -1  # the link whose joint is cut


def edit_model(model: Model, state: State, request: Request, links: Links, name: str = "") -> ModelEdit:
    """Perform one edit of a model in a state. A new joint is called `name`."""
    numbers = _state_vectors(model, state)
    forest = thread_forest()
    clear_forest(forest.address)
    forest._header[0]["dependence"] = model.dependence
    first = links.cut if links.cut >= 0 else links.a
    here, chosen, planted = forest._plant(model, numbers, first, links.b)
    if here is None:
        given = {"q": state.q, "v": state.v, "a": state.a, "tau": state.tau}
        raise_for_status(model, NOT_FINITE, **{what: x for what, x in given.items() if x is not None})
    row, n = request.row, model.n
    row["a"], row["b"], row["root"] = (int(here[i]) if i >= 0 else -1 for i in (links.a, links.b, links.root))
    if links.cut >= 0:
        row["joint"] = here[n + links.cut]
    status = forest._apply(request)
    outcome = forest._outcomes[0]
    if status:
        raise_refusal(_names_in_model(model, here), outcome, request.joint, int(row["a"]), int(row["b"]), name)
    if outcome["lossy"] >= 0:
        warn_lossy_joint(_names_in_model(model, here), outcome)
    if outcome["closes"]:
        return _with_new_loop(forest, model, state, request, links, name, numbers, chosen)
    return _export_edited_model(forest, model, state, request, name, numbers, here, chosen, planted)


def _state_vectors(model: Model, state: State) -> Array:
    """The state as the six vectors of a forest's tree."""
    numbers = np.zeros((6, model.nq))
    nv = model.nv
    for which, size, what in ((Q, model.nq, "q"), (V, nv, "v"), (A, nv, "a"), (TAU, nv, "tau")):
        values = getattr(state, what)
        if values is not None:
            if np.iscomplexobj(values):
                raise TypeError(f"model {model.name!r}: {what} has complex numbers")
            numbers[which, :size] = (
                values if np.shape(values) == (size,) else raise_for_status(model, BAD_SIZE, **{what: values})
            )
    numbers[REST] = model.rest
    return numbers


def _names_in_model(model: Model, here: Any) -> EntityNames:
    """Names of the model for the forest's bodies and joints, for error texts."""
    n = model.n

    def body(i: int) -> str:
        return f"link {model.names[int(np.flatnonzero(here[:n] == i)[0])]!r}" if i >= 0 else "the base"

    def joint(i: int) -> str:
        return repr((*model.joint_names, *model.loop_names)[int(np.flatnonzero(here[n:] == i)[0])])

    return EntityNames(f"model {model.name!r}", body, joint)


def _with_new_loop(
    forest: Forest, model: Model, state: State, request: Request, links: Links, name: str, numbers: Array, chosen: Any
) -> ModelEdit:  # fmt: skip
    """The model with one more loop: its trees stay, only their velocities change."""
    catalog, new = catalog_with_joint(model, name, request.joint)
    export_velocities(forest.address, model.address, chosen, numbers.ravel())
    loops = copy_rows(model.loop_rows, 1)
    made = int(forest._tables[JOINTS][int(forest._outcomes[0]["joint"]) & ID_INDEX_MASK]["loop"])
    loops[-1:].view(np.uint8)[:] = forest._ties[made : made + 1].view(np.uint8)
    row = loops[-1]
    row["a"], row["b"], row["joint"] = links.a, links.b, new
    changed = model._like(loop_rows=loops, catalog=catalog)
    return _make_report(forest, model, changed, state, name, numbers, True)


def _export_edited_model(
    forest: Forest, model: Model, state: State, request: Request, name: str, numbers: Array, here: Any, chosen: Any,
    planted: Any,
) -> ModelEdit:  # fmt: skip
    """Export the new model from the forest, and make the report."""
    outcome = forest._outcomes[0]
    catalog, new = model.catalog, -1
    was_loop = int(outcome["loop"])
    if outcome["joint"] >= 0 and was_loop < 0:
        catalog, new = catalog_with_joint(model, name, None)
    elif was_loop >= 0:
        name = model.loop_names[int(np.flatnonzero(here[2 * model.n :] == was_loop)[0])]
    harvests = np.zeros(1, MODEL_EXPORT)
    row = harvests[0]
    row["model"], row["numbers"], row["new"] = model.address, numbers.ctypes.data, new
    row["trees"], row["bodies"], row["loops"] = planted["trees"], planted["bodies"], planted["loops"]
    row["joints"] = planted["bodies"] + planted["loops"]
    row["n"], row["nq"] = model.n - planted["bodies"], model.nq - planted["nq"]
    row["nv"] = model.nv - planted["nv"]
    loop_count = len(model.loop_rows) - int(planted["loops"]) + measure_export(forest.address, harvests)
    n, nq, nv = int(row["n"]), int(row["nq"]), int(row["nv"])
    links, dofs, after = np.empty(n, LINK), np.empty(nv, DOF), np.empty((6, nq))
    bodies, loops = copy_rows(model.bodies), np.empty(loop_count, LOOP)
    while export_model(
        forest.address, harvests, model.loop_rows, chosen, here, links, dofs, after.ravel(), bodies, loops
    ):
        forest._grow()
    if catalog.mimics:
        gone = set(model.joint_names) - {catalog.joints[i] for i in links["joint"].tolist() if i != new}
        kept = tuple(m for m in catalog.mimics if m.joint not in gone and m.source not in gone)
        catalog = replace(catalog, mimics=kept)
    changed = Model.known(
        model.name, links, dofs, after[REST], model.gravity, bodies, loops, catalog, model.dependence
    )  # fmt: skip
    struck = int(request.row["what"]) == CONNECT
    return _make_report(forest, model, changed, state, name, after, struck)


def _make_report(
    forest: Forest, model: Model, changed: Model, state: State, name: str, numbers: Array, struck: bool
) -> ModelEdit:  # fmt: skip
    """Make the report. After an impact there are no accelerations, because they were infinite for an instant."""
    outcome, rates = forest._outcomes[0], numbers[:, : changed.nv]
    a, tau = None if state.a is None or struck else rates[A], None if state.tau is None else rates[TAU]
    return ModelEdit(
        changed, State(numbers[Q], rates[V], a, tau, state.time), model, name, outcome["impulse"].copy(), rates[JUMP],
        float(outcome["energy_lost"]), float(outcome["pose_error"]), float(outcome["twist_error"]),
        float(outcome["momentum_error"]),
    )  # fmt: skip


def catalog_with_joint(model: Model, name: str, loop: Joint | None) -> tuple[Catalog, int]:
    """The model's catalog with one more joint, and that joint's id, which no joint of the model has."""
    catalog = model.catalog
    if len(catalog.joints) < 2 * (model.n + len(model.loop_rows)) + 16:
        return catalog.with_joint(name, loop), len(catalog.joints)
    used = {*model.links["joint"].tolist(), *model.loop_rows["joint"].tolist()}
    new = next(i for i in range(len(catalog.joints)) if i not in used)
    joints = (*catalog.joints[:new], name, *catalog.joints[new + 1 :])
    loops = {i: joint for i, joint in catalog.loops.items() if i in used}
    return replace(catalog, joints=joints, loops=loops if loop is None else {**loops, new: loop}), new
