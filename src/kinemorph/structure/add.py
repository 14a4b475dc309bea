"""Add the trees of one model to another, remove a subtree, or extract a subtree as a model of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.checks import Array, check_state, checked_copies
from kinemorph.multibody.layout import copy_rows
from kinemorph.multibody.model.catalog import Catalog, Mimic
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.products import times
from kinemorph.structure.edit.model_edit import Links, edit_model, thread_edit_rows
from kinemorph.structure.edit.request import Request
from kinemorph.structure.report import ModelEdit

WORLD_ORIGIN = Pose()


@checked_first
def add(
    model: Model,
    state: State,
    other: Model,
    other_state: State | None = None,
    at: Pose | Iterable[float] = WORLD_ORIGIN,
    prefix: str = "",
) -> ModelEdit:
    """Add all trees and loops of another model to this one; the other model's base stands at `at` in the world.

    If `other_state` is not given, the other model is neutral and at rest. Names must not be taken; `prefix` is put
    before the names of the other model. Gravity is that of `model`.
    """
    check_state(model, state)
    if not isinstance(other, Model):
        raise TypeError(f"model {model.name!r}: only a kinemorph.Model can be added, not {repr_of(other)}")
    theirs = State(neutral(other), np.zeros(other.nv)) if other_state is None else other_state
    check_state(other, theirs)
    other = placed_model(other, at if isinstance(at, Pose) else Pose(at))
    catalog = _join_catalogs(model, other, prefix)
    links, dofs = np.concatenate([model.links, other.links]), np.concatenate([model.dofs, other.dofs])
    new, new_dofs = links[model.n :], dofs[model.nv :]
    new["parent"][new["parent"] >= 0] += model.n
    for field, more in (("iq", model.nq), ("iv", model.nv)):
        new[field] += more
    new["body"] += len(model.catalog.names)
    new["joint"] += len(model.catalog.joints)
    new_dofs["link"] += model.n
    new_dofs["parent"][new_dofs["parent"] >= 0] += model.nv
    bodies = np.concatenate([model.bodies, other.bodies])
    bodies["link"][len(model.bodies) :][other.bodies["link"] >= 0] += model.n
    loops = np.concatenate([model.loop_rows, other.loop_rows])
    for row in loops[len(model.loop_rows) :]:
        row["joint"] += len(model.catalog.joints)
        for side in "ab":
            if row[side] >= 0:
                row[side] += model.n
    rest = np.concatenate([model.rest, other.rest])
    both = Model.known(model.name, links, dofs, rest, model.gravity, bodies, loops, catalog, model.dependence)
    return ModelEdit(both, _join_states(model, state, other, theirs), model, jump=np.zeros(both.nv))


def placed_model(model: Model, place: Pose) -> Model:
    """The same model with its base, and everything mounted on the base, at `place` in the world."""
    if not place.position.any() and np.array_equal(place.rotation, np.eye(3)):
        return model
    links, loops, c = copy_rows(model.links), copy_rows(model.loop_rows), model.catalog
    for i in np.flatnonzero(links["parent"] < 0).tolist():
        row = links[i]
        row["p"] = place.apply(row["p"])
        for field in ("R", "Rc", "Rs"):
            row[field] = times(place.rotation, row[field].reshape(3, 3)).ravel()
    for row in loops:
        for side in "ab":
            if row[side] < 0:
                on = place @ Pose.known(row["p" + side].copy(), row["R" + side].reshape(3, 3).copy())
                row["R" + side], row["p" + side] = on.rotation.ravel(), on.position
    frames = {name: (body, place @ at if body < 0 else at) for name, (body, at) in c.frames.items()}
    held = []
    for element, a, at_a, b, at_b in c.elements:
        held.append((element, a, place @ at_a if a < 0 else at_a, b, place @ at_b if b < 0 else at_b))
    floors = tuple(replace(floor, pose=place @ floor.pose) for floor in c.equipment.floors)
    catalog = replace(
        c,
        frames=frames,
        base_shapes=tuple(shape.moved(place) for shape in c.base_shapes),
        elements=tuple(held),
        equipment=replace(c.equipment, floors=floors),
    )
    return model._like(links=links, loop_rows=loops, catalog=catalog)


def _join_states(model: Model, state: State, other: Model, theirs: State) -> State:
    """Both states, one after the other; a vector that only one of them has is zero in the part of the other."""
    parts: dict[str, Array | None] = {}
    for name in ("q", "v", "a", "tau"):
        given = [getattr(state, name), getattr(theirs, name)]
        if given[0] is None and given[1] is None:
            parts[name] = None
            continue
        sizes = (model.nv, other.nv)
        values = [np.zeros(size) if x is None else x for x, size in zip(given, sizes, strict=True)]
        parts[name] = np.concatenate(
            [checked_copies(m, **{name: x})[0] for m, x in zip((model, other), values, strict=True)]
        )
    return State(parts["q"], parts["v"], parts["a"], parts["tau"], state.time)  # type: ignore[arg-type]


def _join_catalogs(model: Model, other: Model, prefix: str) -> Catalog:
    """Names, shapes and frames of both models; raises ValueError if a name is taken."""
    ours, theirs, bodies = model.catalog, other.catalog, len(model.catalog.names)
    frames = {name: at for name, at in ours.frames.items() if name in model.frames}
    for taken, new, what in (
        (model.names, other.names, "link"),
        ((*model.joint_names, *model.loop_names), (*other.joint_names, *other.loop_names), "joint"),
        (frames, theirs.frames, "frame"),
    ):
        both = {*taken}.intersection([prefix + name for name in new])
        if both:
            raise ValueError(
                f"model {model.name!r} has a {what} {min(both)!r} already; give the names of the other model a prefix"
            )
    for name, (body, pose) in theirs.frames.items():
        frames[prefix + name] = body + bodies if body >= 0 else -1, pose
    mimics = tuple(Mimic(prefix + m.joint, prefix + m.source, m.multiplier, m.offset) for m in theirs.mimics)
    loops = {i + len(ours.joints): joint for i, joint in theirs.loops.items()}
    held = []
    for element, a, at_a, b, at_b in theirs.elements:
        held.append((element, a + bodies if a >= 0 else -1, at_a, b + bodies if b >= 0 else -1, at_b))
    return replace(
        ours,
        names=(*ours.names, *(prefix + name for name in theirs.names)),
        joints=(*ours.joints, *(prefix + name for name in theirs.joints)),
        shapes=(*ours.shapes, *theirs.shapes),
        frames=frames,
        mimics=(*ours.mimics, *mimics),
        base_shapes=(*ours.base_shapes, *theirs.base_shapes),
        loops={**ours.loops, **loops},
        elements=(*ours.elements, *held),
        equipment=ours.equipment.joined(theirs.equipment, prefix, bodies),
    )


@checked_first
def remove(model: Model, state: State, link: str | int) -> ModelEdit:
    """Remove a link with the subtree that it carries and the loops on it. All other bodies keep their motion."""
    check_state(model, state)
    index, _ = model.place(link)
    if link is None or index < 0:
        raise IndexError(f"model {model.name!r} has links 0 to {model.n - 1}, not {link}")
    return edit_model(model, state, Request.remove(thread_edit_rows()), Links(b=index))


@checked_first
def submodel(model: Model, link: str | int) -> Model:
    """A link and the subtree that it carries, with the loops inside, as a model; its joint stands on the base."""
    if not isinstance(model, Model):
        raise TypeError(f"submodel takes a kinemorph.Model, not {repr_of(model)}")
    top, _ = model.place(link)
    if link is None or top < 0:
        raise IndexError(f"model {model.name!r} has links 0 to {model.n - 1}, not {link}")
    parents = model.links["parent"]
    inside = np.zeros(model.n + 1, dtype=bool)  # the last is the base
    inside[top] = True
    for i in range(top + 1, model.n):
        inside[i] = inside[parents[i]]
    chosen = np.flatnonzero(inside)
    where = np.full(model.n + 1, -1)
    where[chosen] = np.arange(len(chosen))
    links = model.links[chosen]
    entries = [np.arange(l["iq"], l["iq"] + l["nq"]) for l in links]
    rates = [np.arange(l["iv"], l["iv"] + l["nv"]) for l in links]
    links["parent"] = where[links["parent"]]
    links["iq"], links["iv"] = (np.cumsum(links[n]) - links[n] for n in ("nq", "nv"))
    picked = np.concatenate([*rates, np.zeros(0, dtype=int)]).astype(int)
    dofs = model.dofs[picked]
    to = np.full(model.nv + 1, -1)
    to[picked] = np.arange(len(picked))
    dofs["link"], dofs["parent"] = where[dofs["link"]], to[dofs["parent"]]
    bodies = model.bodies.copy()
    bodies["link"] = np.where(bodies["link"] >= 0, where[bodies["link"]], -1)
    both = (model.loop_rows["a"] >= 0) & (model.loop_rows["b"] >= 0)
    loops = model.loop_rows[both & inside[model.loop_rows["a"]] & inside[model.loop_rows["b"]]]
    for side in "ab":
        loops[side] = where[loops[side]]
    name = model.names[top]
    rest = model.rest[np.concatenate([*entries, np.zeros(0, dtype=int)]).astype(int)]
    catalog = replace(model.catalog, base_shapes=(), equipment=replace(model.catalog.equipment, floors=()))
    return Model.known(name, links, dofs, rest, model.gravity, bodies, loops, catalog, model.dependence)
