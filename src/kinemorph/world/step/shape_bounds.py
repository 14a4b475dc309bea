"""Poses of the shapes in a step, and bounds of their motion, by which the broad phase enlarges their boxes."""

from __future__ import annotations

from typing import Any

from kinemorph.collision.shapes.shape_poses import place_shape, world_box
from kinemorph.collision.shapes.shape_rows import mounts_of, shape_poses_of, shapes_of
from kinemorph.contact.layout import TREE_SLICE, slices_of
from kinemorph.geometry.ground import BOUNDS
from kinemorph.jit.api import kernel, rows_at
from kinemorph.jit.atomic import raise_float
from kinemorph.jit.prefetch import prefetch_to_write
from kinemorph.multibody.layout import link_data_of
from kinemorph.spatial.mat3 import mul, mul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import add, cross, dot, scale
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of
from kinemorph.structure.forest.poses import body_frame
from kinemorph.world.layout import ContactModel
from kinemorph.world.threads.thread_rows import workers_of

PREFETCH_SHAPES, BOX_SIZE = 8, BOUNDS.itemsize  # shapes ahead whose boxes are prefetched
BY_STEPS = int(ContactModel.STEPS)
_FIELDS: Any = TREE_SLICE.fields
SPAN_SIZE, SPEED_OFFSET = TREE_SLICE.itemsize, int(_FIELDS["speed"][1])


@kernel(inline=False)
def predict_shape_poses(world: Any, solver: Any, forest: Any, collisions: Any, first: int, stop: int) -> None:
    """Poses of shapes `first` to before `stop`, of awake bodies, and how far each may move in a step: `sweep`, m.

    Several threads may handle shapes of one tree, so its largest speed is raised atomically. A shape that has left its
    box in this step keeps the larger sweep: contacts also push bodies that neither move nor have weight.
    """
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    spans = slices_of(solver)
    shapes = shapes_of(collisions)
    places = shape_poses_of(collisions)
    mounts = mounts_of(collisions)
    dt = world["dt"]
    fall = dt * sqrt(forest["gx"] ** 2 + forest["gy"] ** 2 + forest["gz"] ** 2)
    travel_time = dt if world["model"] == BY_STEPS else 0.0  # impulse model: contacts are those of the present poses
    repeated = world["reach"] > 0.0
    alone = world["crew"] == 0
    singles = not alone and workers_of(world)["one_shape_per_body"] != 0
    for i in range(first, stop):
        prefetch_to_write(collisions["boxes"] + min(i + PREFETCH_SHAPES, collisions["n"] - 1) * BOX_SIZE)
        if shapes[i]["form"] == 0 or shapes[i]["link"] < 0:
            continue
        slot = bodies[shapes[i]["link"]]
        span = spans[slot["tree"]]
        if span["asleep"] != 0:
            continue
        tree = tree_of(trees[slot["tree"]])
        data = link_data_of(tree)[slot["link"] + 1]
        R, p = body_frame(slot, data)
        omega = load3(data["w"])
        arm = add(mul_vec(R, load3(mounts[i]["p"])), add(p, scale(load3(data["p"]), -1.0)))
        v = add(load3(data["v"]), cross(omega, arm))
        speed = sqrt(dot(v, v)) + sqrt(dot(omega, omega)) * mounts[i]["reach"]
        if speed > span["speed"]:
            if alone or (singles and span["jointed"] == 0):
                span["speed"] = speed
            else:
                raise_float(solver["slices"] + slot["tree"] * SPAN_SIZE + SPEED_OFFSET, speed)
        sweep = dt * (speed + fall)
        places[i]["sweep"] = max(sweep, places[i]["sweep"]) if repeated else sweep
        store3(places[i]["travel"], scale(v, travel_time))
        place_shape(collisions, i, R, p)


@kernel(inline=False)
def check_shape_boxes(solver: Any, forest: Any, collisions: Any) -> bool:
    """Update the poses of the shapes of all awake bodies. Returns whether each is still in its predicted box.

    Those that are not get a sweep twice as large, for the next prediction.
    """
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    spans = slices_of(solver)
    shapes, mounts = shapes_of(collisions), mounts_of(collisions)
    places, boxes = shape_poses_of(collisions), rows_at(collisions["boxes"], collisions["n"], BOUNDS)
    grow = 0.5 * (collisions["margin"] + collisions["keep_within"])
    good = True
    for i in range(collisions["n"]):
        if shapes[i]["form"] == 0 or shapes[i]["link"] < 0:
            continue
        slot = bodies[shapes[i]["link"]]
        if spans[slot["tree"]]["asleep"] != 0:
            continue
        tree = tree_of(trees[slot["tree"]])
        data = link_data_of(tree)[slot["link"] + 1]
        R, p = body_frame(slot, data)
        p = add(mul_vec(R, load3(mounts[i]["p"])), p)
        R = mul(R, load9(mounts[i]["R"]))
        store9(places[i]["R"], R)
        store3(places[i]["p"], p)
        low, high = world_box(mounts[i], R, p)
        a, b = load3(boxes[i]["low"]), load3(boxes[i]["high"])
        out = max(a[0] - low[0], a[1] - low[1], a[2] - low[2], high[0] - b[0], high[1] - b[1], high[2] - b[2]) + grow
        if out > 0.0:
            places[i]["sweep"] = 2.0 * (places[i]["sweep"] + out + grow)
            good = False
    return good
