"""Shapes and parents of the bodies of a world, for films and viewers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.ground import Ground, HalfSpace
from kinemorph.geometry.meshes.mesh import Mesh, load_mesh
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.spatial.pose import Array, Pose
from kinemorph.view.recordings.recording import SAME_SHAPE_POSE, SOIL, shapes_to_show
from kinemorph.world.world import World

Meshes = dict[Path, Mesh]  # by the paths that shapes have; of hulls and ground, names that are no files

PLATE = 20.0, 0.02  # m, width and thickness of what stands for half of space


def visible_shapes(world: World, id: int, meshes: Meshes) -> tuple[Shape, ...]:
    """The shapes to draw of a body: the visual shapes of its model if it has any, else its collision shapes."""
    known = world.registry
    birth = known.births[id]
    for key, record in known.figure_records.items():
        model = known.models.get(key)
        if model is None or not any(born == birth for _, _, born in record.bodies):
            continue
        shapes = shapes_to_show(model._own_shapes[[born for _, _, born in record.bodies].index(birth)])
        if any(shape.role is Role.VISUAL for shape in shapes):
            for shape in shapes:
                _load(shape, meshes)
            return tuple(shapes)
        break
    return solid_shapes(world, id, meshes)


def base_shapes(world: World, meshes: Meshes, solid: bool = False) -> dict[tuple[int, int], Shape]:
    """Static shapes, by stable keys: the visual shapes of the bases of figures, else their collision shapes."""
    found = {(id, -1): solid_shape(world, id, meshes) for id in world.registry.ground_shapes}
    for key, model in () if solid else world.registry.models.items():
        looks = [shape for shape in model.base_shapes if shape.role is Role.VISUAL]
        bodily = [shape for shape in model.base_shapes if shape.role is Role.COLLISION]
        hidden = [each for each in found if looks and any(_is_shape_of_model(world.shapes[each[0]], s) for s in bodily)]
        if bodily and not hidden:  # it was removed, or its shapes cannot be told apart
            continue
        for each in hidden:
            del found[each]
        for k, shape in enumerate(looks):
            _load(shape, meshes)
            found[key, k] = shape
    return {each: replace(s, role=Role.BOTH) if s.role is Role.COLLISION else s for each, s in found.items()}


def _is_shape_of_model(solid: object, shape: Shape) -> bool:
    """Whether something that collides is a shape of a model, where that says."""
    return (
        isinstance(solid, Shape)
        and (solid.kind, solid.size, solid.path) == (shape.kind, shape.size, shape.path)
        and bool(np.abs(solid.pose.matrix() - shape.pose.matrix()).max() < SAME_SHAPE_POSE)
    )


def _load(shape: Shape, meshes: Meshes) -> None:
    if shape.path is not None and shape.path not in meshes:
        meshes[shape.path] = load_mesh(shape.path)


def solid_shapes(world: World, id: int, meshes: Meshes) -> tuple[Shape, ...]:
    """The collision shapes of a body, in its own frame."""
    return tuple(solid_shape(world, shape, meshes) for shape in world.registry.shapes_of(id))


def solid_shape(world: World, id: int, meshes: Meshes) -> Shape:
    """A collision shape as one to draw, in the frame of its body: hulls and ground become meshes."""
    shapes = world.shapes
    row, solid = shapes.row_of(id), shapes[id]
    at = Pose.known(shapes.mounts["p"][row].copy(), shapes.mounts["R"][row].reshape(3, 3).copy())
    if isinstance(solid, Shape) and solid.kind is not ShapeKind.MESH:
        return replace(solid, pose=at)
    if isinstance(solid, HalfSpace):
        width, thick = PLATE
        normal, offset = solid._header["normal"][0], float(solid._header["offset"][0])
        plate = _turned_to(normal, normal * (offset - 0.5 * thick))
        return Shape.box((width, width, thick), at @ plate, role=Role.BOTH, colour=SOIL)
    colour = solid.colour if isinstance(solid, Shape) else None
    name = Path(f"shape {id}")
    meshes[name] = _mesh(shapes.body(id))
    return Shape.mesh(name, pose=at, colour=SOIL if isinstance(solid, Ground) else colour)


def parents_of_bodies(world: World) -> dict[int, int | None]:
    """Of each body, by id, the one that carries it; None is the base."""
    found: dict[int, int | None] = {}
    for tree in world.queries.trees():
        members = tree.bodies.tolist()
        for id, parent in zip(members, tree.links["parent"].tolist(), strict=True):
            found[id] = None if parent < 0 else members[parent]
    return found


def _turned_to(normal: Array, position: Array) -> Pose:
    """A frame whose z is a normal."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, normal)
    x /= np.linalg.norm(x)
    return Pose(position, np.column_stack([x, np.cross(normal, x), normal]))


def _mesh(body: Parts | Ground) -> Mesh:
    """The surface of what a shape is made of."""
    if isinstance(body, Ground):
        mesh: Mesh = body.mesh  # type: ignore[attr-defined]
        return mesh
    return body.surface


def name_of(world: World, id: Any) -> str:
    """The name of a body, by its id; None, or less than 0, is the base."""
    return "the base" if id is None or id < 0 else world.registry.body_names.get(id, "a body")
