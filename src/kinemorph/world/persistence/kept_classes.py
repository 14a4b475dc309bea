"""The classes that a snapshot may hold, and how each is restored from an untrusted state.

Those with tables are kept as they are copied and pickled: by their own `__getstate__`, so that there is one list of
what they have. Geometry is kept as what it is made from, and made again, with the same checks that a user's has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.brain import layout as brain_layout
from kinemorph.collision import validation
from kinemorph.collision.broad import hash_rows
from kinemorph.collision.broad.broad_phase import BroadPhase
from kinemorph.collision.broad.hash_tables import HashTables
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.narrow import part_pairs
from kinemorph.collision.shapes import shape_rows
from kinemorph.collision.shapes.shape_table import ShapeTable
from kinemorph.contact import layout as contact_layout
from kinemorph.contact.solver import Solver
from kinemorph.geometry import ground as ground_layout
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.convexity import check_closed, check_convex
from kinemorph.geometry.ground import HalfSpace, HeightField, Terrain
from kinemorph.geometry.material import Material
from kinemorph.geometry.meshes.faults import check_mesh
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.geometry.polyhedron import Polyhedron, assemble_polyhedron, core_of
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.motion import events as event_layout
from kinemorph.multibody import layout
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import elements, loops
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.tables import Tables
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest import copying
from kinemorph.structure.forest import layout as forest_layout
from kinemorph.structure.forest.forest import Forest
from kinemorph.structure.forest.validation import check_forest, require
from kinemorph.world import layout as world_layout
from kinemorph.world.brains import instance_rows
from kinemorph.world.brains.brain_instances import BrainInstances, check_instances
from kinemorph.world.control.events import EventMonitors
from kinemorph.world.control.timers import Timers
from kinemorph.world.persistence import validation as world_validation
from kinemorph.world.persistence.codec import Kept

_MODULES = (
    layout, loops, elements, forest_layout, copying, ground_layout, part_pairs, hash_rows, shape_rows,
    contact_layout, event_layout, world_layout, brain_layout, instance_rows,
)  # fmt: skip
LAYOUTS: dict[str, Any] = {
    name: value
    for module in _MODULES
    for name, value in vars(module).items()
    if isinstance(value, np.dtype) and value.names is not None
}  # rows of all kinds, by the names that modules of layouts give them
KEPT_CONVEX_ERROR = 1e-3  # how far, in sizes, a vertex of a kept hull may be from where a convex body has it


def with_state(kind: Any, check: Any, *room: Any) -> Kept:
    """A class that is kept by its own `__getstate__`."""

    def make(state: Any) -> Any:
        made = kind.__new__(kind)
        made.__setstate__(state)
        return made

    return Kept(kind, kind.__getstate__, make, check, *room)


# --------------------------------------------------------------------------------------------------------- geometry


def _take_polyhedron(core: Polyhedron) -> Any:
    loops = core.loops
    corners = np.concatenate(loops).astype(np.int32) if loops else np.zeros(0, np.int32)
    return core.points.copy(), np.array([len(loop) for loop in loops], np.int32), corners, core.discs


def _make_polyhedron(state: Any) -> Polyhedron:
    points, counts, corners, discs = state
    _numbers(points, np.float64, 3)
    _numbers(counts, np.int32)
    _numbers(corners, np.int32)
    require(len(points) >= 1 and (counts >= 0).all() and counts.sum() == len(corners), "a polyhedron has no such faces")
    loops = np.split(corners, np.cumsum(counts)[:-1]) if len(counts) else []
    if loops:
        check_closed(points, loops)
    else:
        require(len(points) <= 2 and len(np.unique(points, axis=0)) == len(points), "a polyhedron has no faces")
    core = assemble_polyhedron(points, loops)
    if loops:
        check_convex(core, KEPT_CONVEX_ERROR)
    return core if discs is None else _make_round(core, discs)


def _make_round(core: Polyhedron, discs: Any) -> Polyhedron:
    """A core that stands for a round solid: it is the one that a shape of this size has."""
    require(isinstance(discs, tuple) and len(discs) == 2 and all(isinstance(r, float) for r in discs), "discs are none")
    low, high = discs
    size = low, 2.0 * float(core.points[:, 2].max())
    require(all(0.0 < x < np.inf for x in size) and high in (0.0, low), "discs are none")
    true, _ = core_of((Shape.cylinder if high else Shape.cone)(*size))
    require(np.array_equal(true.points, core.points) and true.discs == discs, "a round core is none")
    return true


def _make_parts(state: Any) -> Parts:
    parts, radii, inner, solid = state
    _numbers(radii, np.float64)
    if solid is not None:
        check_mesh(solid, "parts")
    return Parts(parts, radii, inner, solid)


def _take_half_space(ground: HalfSpace) -> Any:
    return ground._header["normal"][0].tolist(), float(ground._header["offset"][0])


def _make_half_space(state: Any) -> HalfSpace:
    normal, offset = state
    made = HalfSpace(normal, offset)  # which checks them, and may change the normal in its last bit
    require(abs(np.linalg.norm(normal) - 1.0) < 1e-9, f"the normal {normal} of a half-space has not length 1")
    again, (which, kind, rows, header) = made.__reduce__()
    return again(which, kind, rows, header | {"normal": np.array(normal)})


def _take_field(field: HeightField) -> Any:
    return field.heights, -2.0 * float(field._header["x0"][0]), -2.0 * float(field._header["y0"][0])


def _make_field(state: Any) -> HeightField:
    heights, width, depth = state
    require(isinstance(heights, np.ndarray) and heights.dtype == np.float64, "heights are no numbers")
    return HeightField(heights, (width, depth))


def _make_mesh(state: Any) -> Mesh:
    vertices, faces = state
    _numbers(vertices, np.float64, 3)
    require(isinstance(faces, np.ndarray) and faces.dtype == np.int32 and faces.shape[1:] == (3,), "faces are none")
    return Mesh(vertices, faces)


def _make_terrain(state: Any) -> Terrain:
    (mesh,) = state
    return Terrain(mesh)


def _numbers(array: Any, dtype: Any, columns: int = 0) -> None:
    require(isinstance(array, np.ndarray) and array.dtype == dtype, "there are no numbers where there should be")
    fits = array.ndim == (2 if columns else 1) and array.shape[1:] == ((columns,) if columns else ())
    require(fits, "numbers misfit")
    require(dtype is not np.float64 or np.isfinite(array).all(), "there is a number that is not finite")


def _take_pose(pose: Pose) -> Any:
    return np.concatenate([pose.position, pose.rotation.ravel()])


def _make_pose(state: Any) -> Pose:
    _numbers(state, np.float64)
    require(len(state) == 12, "a pose has twelve numbers")
    position, rotation = state[:3].copy(), state[3:].reshape(3, 3).copy()
    Pose(position, rotation)  # which checks them, and may change the last bits
    return Pose.known(position, rotation)


def _take_shape(shape: Shape) -> Any:
    path = None if shape.path is None else str(shape.path)
    named = str(shape.kind), shape.size, shape.pose, str(shape.role), shape.colour, path, shape.name
    return *named, shape.material, shape.group, shape.mask, shape.parts


def _make_shape(state: Any) -> Shape:
    kind, size, pose, role, colour, path, name, material, group, mask, parts = state
    fits = isinstance(size, tuple) and all(isinstance(x, float) and np.isfinite(x) and x for x in size)
    require(fits, "a size is none")
    fits = isinstance(pose, Pose) and isinstance(name, str) and isinstance(material, Material | None)
    require(fits, "a shape is none")
    require(all(isinstance(bits, int) and 0 <= bits <= 0xFFFFFFFF for bits in (group, mask)), "groups are 32 bits")
    require(isinstance(path, str | None) and isinstance(colour, tuple | None), "a shape is none")
    require(isinstance(parts, Parts | None), "a shape is made of no parts")
    require(colour is None or (len(colour) == 4 and all(isinstance(c, float) for c in colour)), "a colour is none")
    kinds = {"sphere": 1, "box": 3, "cylinder": 2, "capsule": 2, "cone": 2, "mesh": 3}
    require(kinds.get(kind) == len(size), f"a shape of kind {kind} has not {len(size)} sizes")
    where = None if path is None else Path(path)
    return Shape(ShapeKind(kind), size, pose, Role(role), colour, where, name, material, group, mask, parts)


def _take_material(material: Material) -> Any:
    return tuple(vars(material).values())


def _make_material(state: Any) -> Material:
    *numbers, surface = tuple(state)
    require(isinstance(surface, tuple) and len(surface) == 3, "a material has a surface velocity")
    require(all(type(x) in (int, float) for x in (*numbers, *surface)), "a material has numbers")
    return Material(*state)


def _take_joint(joint: Joint) -> Any:
    def plain(value: Any) -> Any:
        return np.asarray(value, float) if not isinstance(value, str | float | int | None) else value

    return int(joint.kind), {name: plain(v) for name, v in vars(joint).items() if name in _JOINT_FIELDS}


def _make_joint(state: Any) -> Joint:
    kind, fields = state
    require(set(fields) <= _JOINT_FIELDS, "a joint has other fields")
    return Joint(JointKind(kind), **fields)


def _make_monitors(state: Any) -> EventMonitors:
    world_validation.check_monitors(state)
    return EventMonitors.of(state)


def _make_timers(state: Any) -> Timers:
    world_validation.check_timers(state)
    return Timers.of(state)


_JOINT_FIELDS = set(Joint.__dataclass_fields__) - {"kind"}

KEPT: dict[str, Kept] = {
    "forest": with_state(Forest, check_forest),
    "tables": with_state(Tables, world_validation.check_tables, world_validation.room_of_tables),
    "solver": with_state(Solver, world_validation.check_solver),
    "minds": with_state(BrainInstances, check_instances),
    "shapes": with_state(ShapeTable, validation.check_shapes),
    "hash": with_state(HashTables, validation.check_hash, validation.hash_bytes),
    "broad phase": with_state(BroadPhase, validation.check_broad_phase),
    "collisions": with_state(Collisions, validation.check_collisions, validation.collision_bytes),
    "polyhedron": Kept(Polyhedron, _take_polyhedron, _make_polyhedron),
    "parts": Kept(Parts, lambda body: (list(body.parts), body.radii, body.inner, body.solid), _make_parts),
    "half-space": Kept(HalfSpace, _take_half_space, _make_half_space),
    "height field": Kept(HeightField, _take_field, _make_field),
    "terrain": Kept(Terrain, lambda ground: (ground.mesh,), _make_terrain),
    "mesh": Kept(Mesh, lambda mesh: (mesh.vertices, mesh.faces), _make_mesh),
    "shape": Kept(Shape, _take_shape, _make_shape),
    "pose": Kept(Pose, _take_pose, _make_pose),
    "material": Kept(Material, _take_material, _make_material),
    "events": Kept(EventMonitors, EventMonitors.plain, _make_monitors),
    "timers": Kept(Timers, Timers.plain, _make_timers),
    "joint": Kept(Joint, _take_joint, _make_joint),
}
