"""What a ray meets in a world, and which shapes another one would overlap: as things are now, without a step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kinemorph.collision.ground.rays import TREE_STACK, cast_at_ground
from kinemorph.collision.queries.core_rays import LARGEST_RAY_LENGTH, as_triple
from kinemorph.collision.queries.core_rays import cast_at_core as cast_core
from kinemorph.collision.queries.two_shapes import Pair
from kinemorph.collision.shapes.shape_poses import world_box
from kinemorph.collision.shapes.shape_rows import POSE, Form, mounts_of, shapes_of
from kinemorph.collision.shapes.shape_table import ShapeTable, Solid
from kinemorph.geometry.convex_parts import NODE
from kinemorph.geometry.ground import GROUND
from kinemorph.geometry.polyhedron import core_row_of
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.layout import link_data_of
from kinemorph.spatial.arguments.checks import as_floats, check_bits, check_finite, check_limit, repr_of
from kinemorph.spatial.mat3 import mul, mul_vec, tmul_vec
from kinemorph.spatial.pose import Pose, vector
from kinemorph.spatial.rows import load3, load9, store3, store3_at, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot, sub
from kinemorph.structure.forest.elements import update_slot_motion
from kinemorph.structure.forest.layout import IN_USE, TREES, bodies_of, tree_of, trees_of
from kinemorph.structure.forest.memory import ID_INDEX_MASK, pool_of
from kinemorph.world.ids import ShapeId
from kinemorph.world.layout import WORLD, collisions_of, forest_of

if TYPE_CHECKING:
    from kinemorph.world.body import Body
    from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
Rows = np.ndarray[tuple[int], np.dtype[np.int64]]
CONVEX, GROUND_FORM = int(Form.CONVEX), int(Form.GROUND)
NO_HIT = -1


@dataclass(frozen=True, eq=False)
class RayHit:
    """The first point of a shape on a ray."""

    distance: float  # m, along the ray
    point: tuple[float, float, float]  # m, world
    normal: tuple[float, float, float]  # unit, outwards
    body: Body | None  # None: the ground, and what else does not move
    shape: int  # its id


@entry
def place_now(address: int, poses: Any, boxes: Any) -> None:
    """Where all shapes are now, and boxes around them (n, 6); what the steps know of places stays as it is."""
    world = rows_at(address, 1, WORLD)[0]
    forest, collisions = forest_of(world), collisions_of(world)
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    shapes, mounts = shapes_of(collisions), mounts_of(collisions)
    for t in range(pool_of(forest, TREES)["count"]):
        if trees[t]["next"] == IN_USE:
            update_slot_motion(trees[t])
    for i in range(poses.shape[0]):
        R, p = load9(mounts[i]["R"]), load3(mounts[i]["p"])
        if shapes[i]["form"] != 0 and shapes[i]["link"] >= 0:
            slot = bodies[shapes[i]["link"]]
            tree = tree_of(trees[slot["tree"]])
            data = link_data_of(tree)[slot["link"] + 1]
            own = mul(load9(data["R"]), load9(slot["R"]))
            p = add(add(load3(data["p"]), mul_vec(load9(data["R"]), load3(slot["p"]))), mul_vec(own, p))
            R = mul(own, R)
        store9(poses[i]["R"], R)
        store3(poses[i]["p"], p)
        low, high = world_box(mounts[i], R, p)
        store3_at(boxes[i], 0, low)
        store3_at(boxes[i], 3, high)


@kernel(inline=False)
def meet_parts(shape: Any, origin: Vec3, direction: Vec3, longest: float) -> tuple[float, Vec3]:
    """The first part of a concave body on a ray, in the body's frame."""
    nodes = rows_at(shape["nodes"], shape["n_nodes"], NODE)
    best, normal = np.inf, direction
    i = 0
    while i < shape["n_nodes"]:
        node = nodes[i]
        if misses(load3(node["centre"]), node["radius_bound"], origin, direction, min(best, longest)):
            i = node["skip"]
            continue
        if node["part"] >= 0:
            t, n = cast_core(core_row_of(node), node["radius"], origin, direction, min(best, longest))
            if t < best:
                best, normal = t, n
        i += 1
    return best, normal


@kernel
def misses(centre: Vec3, radius: float, origin: Vec3, direction: Vec3, longest: float) -> bool:
    """Whether a ray does not come into a ball."""
    r = sub(centre, origin)
    along = dot(r, direction)
    near = min(max(along, 0.0), longest)
    off = axpy(r, -near, direction)
    return dot(off, off) > radius * radius


@entry
def cast_rays(
    address: int, poses: Any, origins: Any, directions: Any, longest: float, mask: int, but: int, lengths: Any,
    normals: Any, met: Rows, stack: Any,
) -> None:  # fmt: skip
    """Of each ray, with a unit direction: how far it goes, the normal there, and the row of the shape that it meets.

    Shapes of body `but`, or whose group is not in the mask, are not seen.
    """
    world = rows_at(address, 1, WORLD)[0]
    collisions = collisions_of(world)
    shapes, mounts = shapes_of(collisions), mounts_of(collisions)
    for k in range(lengths.shape[0]):
        o, d = load3(origins[k]), load3(directions[k])
        lengths[k], met[k] = np.inf, NO_HIT
        for i in range(poses.shape[0]):
            shape = shapes[i]
            if shape["form"] == 0 or (shape["group"] & mask) == 0 or (but >= 0 and shape["link"] == but):
                continue
            end = min(lengths[k], longest)
            p = load3(poses[i]["p"])
            if shape["form"] != GROUND_FORM and misses(p, mounts[i]["reach"], o, d, end):
                continue
            R = load9(poses[i]["R"])
            inside, along = tmul_vec(R, sub(o, p)), tmul_vec(R, d)
            if shape["form"] == GROUND_FORM:
                s, n = cast_at_ground(rows_at(shape["ground"], 1, GROUND)[0], inside, along, end, stack)
            elif shape["form"] == CONVEX:
                s, n = cast_core(core_row_of(shape), shape["radius"], inside, along, end)
            else:
                s, n = meet_parts(shape, inside, along, end)
            if s < lengths[k] and s <= longest:
                lengths[k], met[k] = s, i
                store3_at(normals[k], 0, mul_vec(R, n))


def many(what: str, vectors: npt.ArrayLike) -> Array:
    """Vectors, or one, as rows."""
    try:
        return np.array(as_floats(vectors), ndmin=2)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be n x 3 numbers, not {repr_of(vectors)}") from None


class RayCaster:
    """Casts rays among the shapes of a world, where these are now."""

    __slots__ = ("_poses", "_world", "boxes")

    def __init__(self, world: World) -> None:
        world._check_thread()
        world._follow_shapes()
        count = world.shapes.count
        self._world = world
        self._poses, self.boxes = np.zeros(count, POSE), np.zeros((count, 6))
        place_now(world._address, self._poses, self.boxes)

    def cast(
        self, origins: npt.ArrayLike, directions: npt.ArrayLike, longest: float, mask: int, but: int | None
    ) -> tuple[Array, Array, Any]:  # fmt: skip
        """Distances (inf: nothing there), normals and rows of shapes, for rays (n, 3)."""
        o, d = (many(f"cast_rays: {name}", x) for name, x in (("origins", origins), ("directions", directions)))
        mask = check_bits("cast_rays: mask", mask)
        if o.ndim != 2 or o.shape[1:] != (3,) or d.shape != o.shape:
            raise ValueError(f"cast_rays: origins and directions must be n x 3, not {o.shape} and {d.shape}")
        size = np.abs(d).max(axis=1, initial=0.0)
        bad = ~(np.isfinite(d).all(axis=1) & (np.abs(o) < LARGEST_RAY_LENGTH).all(axis=1) & (size > 0.0))
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise ValueError(f"cast_rays: ray {k}, from {o[k].tolist()} along {d[k].tolist()}, is none")
        longest = check_limit("cast_rays: longest", longest)
        d /= size[:, np.newaxis]
        d /= np.linalg.norm(d, axis=1)[:, np.newaxis]
        t, normals, met = np.empty(len(o)), np.zeros_like(o), np.empty(len(o), np.int64)
        body = NO_HIT if but is None else but & ID_INDEX_MASK
        cast_rays(
            self._world._address, self._poses, o, d, longest, mask, body, t, normals, met, np.zeros(TREE_STACK)
        )  # fmt: skip
        return t, normals, met

    def first(
        self, origin: Iterable[float], direction: Iterable[float], longest: float, mask: int, but: int | None
    ) -> RayHit | None:
        """What one ray meets."""
        world = self._world
        o, d = vector(origin, 3, "cast_ray: origin"), vector(direction, 3, "cast_ray: direction")
        t, normals, met = self.cast(o, d, longest, mask, but)
        if t[0] == math.inf:
            return None
        way = d / np.abs(d).max()
        point = o + t[0] * way / np.linalg.norm(way)
        row = int(met[0])
        body = world._body_at(int(world.shapes.rows["link"][row]))
        return RayHit(
            float(t[0]), as_triple(point), as_triple(normals[0]), body, ShapeId.of(world, world.shapes.id_at(row))
        )

    def near(self, solid: Solid, pose: Pose | None, margin: float, mask: int) -> list[int]:
        """Ids of the shapes that are no farther than `margin` from another one, which is not in the world."""
        check_finite("overlaps: margin", margin, 0.0)
        mask = check_bits("overlaps: mask", mask)
        here, shapes = pose or Pose(), self._world.shapes
        alone = ShapeTable()
        alone.add(solid, 0)
        centre, reach = here.apply(alone.mounts[0]["p"]), alone.mounts[0]["reach"] + margin
        off = np.maximum(np.maximum(self.boxes[:, :3] - centre, centre - self.boxes[:, 3:]), 0.0)
        rows = shapes.rows[: len(self._poses)]
        seen = (rows["form"] != 0) & ((rows["group"] & np.uint32(mask)) != 0)
        found = []
        with np.errstate(over="ignore"):  # farther away than there are numbers
            close = np.linalg.norm(off, axis=1) <= reach
        for row in np.flatnonzero(seen & close).tolist():
            id, there = shapes.id_at(row), self._poses[row]
            pair = Pair(solid, shapes.body(id))
            if pair.distance(here, Pose.known(there["p"], there["R"].reshape(3, 3))).distance <= margin:
                found.append(id)
        return found
