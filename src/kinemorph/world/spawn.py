"""What comes into a world: the models of single shapes, the states that models come in, and what is said of both."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from kinemorph._files import warn_of_model
from kinemorph.constraint.closure import LoopError, project
from kinemorph.constraint.loops import loop_errors
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.mass import WATER_DENSITY, inertia_of
from kinemorph.geometry.polyhedron import Polyhedron, hollow_of
from kinemorph.geometry.shapes import Role, Shape
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.convert.mujoco_names import new_name
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import JointKind, copy_rows
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.checks import check_positive
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.quaternion import from_matrix
from kinemorph.structure.add import add
from kinemorph.world.control.drives import drives_well

Array = np.ndarray[Any, np.dtype[np.float64]]
HOLLOW = 0.05  # sizes: how far a mesh may be below its hull without a word
FREE = int(JointKind.FREE)
AJAR = 1e-3  # rad or m: a loop of a new model that is open by no more is closed


def floats(model: Model) -> bool:
    """Whether a model is one tree that hangs on nothing, so that its base stands where its free joint says."""
    if model.kinds[:1] != (FREE,) or model.parents.count(-1) > 1:
        return False
    elements, loops = model.catalog.elements, model.loop_rows
    if not elements and not len(loops):
        return True
    tied = any(a < 0 or b < 0 for _, a, _, b, _ in elements)
    return not (tied or (len(loops) and any((loops[side] < 0).any() for side in "ab")))


def base_moves(model: Model, place: Pose) -> bool:
    """Whether a model has ground of its own, which goes where its base goes."""
    stands = bool(model.base_shapes or model.catalog.equipment.floors)
    return stands and bool(place.position.any() or not np.array_equal(place.rotation, np.eye(3)))


def on_one_stand(model: Model) -> Model:
    """The same model, but for trees on the base with joints that follow each other, as those of a hand that is fixed.

    Gears are between joints of one tree, so these hang on one link without mass.
    """
    if not model.catalog.mimics:
        return model
    roots = np.arange(model.n)
    for i, parent in enumerate(model.parents):
        roots[i] = roots[parent] if parent >= 0 else i
    link = {name: i for i, name in enumerate(model.joint_names)}
    pairs = [{int(roots[link[m.joint]]), int(roots[link[m.source]])} for m in model.mimics]
    apart = sorted(set().union(*(pair for pair in pairs if len(pair) > 1)))
    if not apart:
        return model
    stand = Builder(model.name, model.gravity)
    stand.link(new_name("stand", {*model.names, *model.joint_names, *model.frames}), None, Joint.fixed())
    below = stand.build()
    both = add(below, State(neutral(below), np.zeros(0)), model).model
    links = copy_rows(both.links)
    links["parent"][np.array(apart) + 1] = 0
    return both._like(links=links)


def free_body(shape: Shape | Parts | Polyhedron, density: float | None, mass: float | None, name: str) -> Model:
    """A model of one free link with the mass of a shape; and with the shape, if models may have such."""
    if density is not None and mass is not None:
        raise ValueError(f"add: give a density or a mass, not both: {density} kg/m³ and {mass} kg")
    thick = WATER_DENSITY if density is None else check_positive("add: density", density)
    heavy = None if mass is None else check_positive("add: mass", mass)
    lasts = isinstance(shape, Shape) and shape.path is None and _has_hash(shape)  # files may change
    return (_made_again if lasts else _made)(shape, thick, heavy, name)


def _has_hash(shape: Shape) -> bool:
    """Whether no list is in it."""
    return isinstance(shape.size, tuple) and isinstance(shape.colour, tuple | None)


def _made(shape: Shape | Parts | Polyhedron, density: float, mass: float | None, name: str) -> Model:
    solid = inertia_of(shape, density)
    if mass is not None:
        solid = solid.with_mass(mass)
    builder, shapes = Builder(name), [shape] if isinstance(shape, Shape) else []
    builder.link(name, None, Joint.free(), inertia=Inertia(solid.mass, solid.com, solid.matrix), shapes=shapes)
    return builder.build()


_made_again = lru_cache(maxsize=64)(_made)  # one shape may come many times, in as many worlds


def closed_state(model: Model, q: Any, v: Any) -> tuple[Array, Array]:
    """The nearest state in which the loops of a model are closed, if they nearly are."""
    data = Data(model)
    error = np.abs(loop_errors(model, data, q))
    worst = [float(error[l["first"] : l["first"] + l["m"]].max(initial=0.0)) for l in model.loop_rows]
    if not max(worst) <= AJAR:
        k = int(np.argmax(worst))
        text = f"world: model {model.name!r}: loop {model.loop_names[k]!r} is open by {worst[k]:.3g} (rad or m)"
        raise LoopError(f"{text}; give a q in which it is closed, see kinemorph.close", model.loop_names[k], worst[k])
    return project(model, data, q, v)


def warn_idle(model: Model) -> None:
    """Tell, once for a model and by name, what it has that acts otherwise in worlds than it looks, or not yet."""
    if model.mounts is not None:  # shapes as they touch, on joints that nothing is to be said of
        return
    if any([shape.path is not None for shapes in model.shapes for shape in shapes]):
        warn_hollow(model)
    for i in [i for i, kind in enumerate(model.kinds) if kind == FREE]:
        dofs = model.dofs[model.links[i]["iv"] :][:6]
        if any(map(math.isfinite, (*dofs["lower"].tolist(), *dofs["upper"].tolist()))):
            tell(model, "limits of free joints", [model.joint_names[i]])
    if model.catalog.equipment.actuators:
        tell(model, "actuators that push on what they move", [a.name for a in model.actuators if not drives_well(a)])


def warn_hollow(model: Model) -> None:
    """Tell of moving meshes that are not as they look: what touches is their hull."""
    names = [
        f"{shape.path.name} of {link}"
        for link, shapes in zip(model.names, model.shapes, strict=True)
        for shape in shapes
        if shape.path is not None and shape.parts is None and shape.role is not Role.VISUAL
        if hollow_of(shape) > HOLLOW
    ]
    cut = "`model.with_parts()`, or `kinemorph.decompose(shape)`, cuts them into convex parts"
    tell(model, "concave meshes", names, f"touch as their convex hulls: {cut}")


def tell(model: Model, what: str, names: list[str], but: str = "do not act in worlds yet") -> None:
    if names and f"{what} in worlds" not in model.told:
        model.told.add(f"{what} in worlds")
        shown = ", ".join(map(repr, dict.fromkeys(names[:3]))) + (", ..." if names[3:] else "")
        text = f"world: model {model.name!r} has {what} ({shown}), which {but}"
        warn_of_model(text)


def free_position(pose: Pose) -> Array:
    """q of a free joint: position and quaternion."""
    R: Any = tuple(pose.rotation.ravel().tolist())
    return np.array((*pose.position.tolist(), *from_matrix(R)))
