"""World poses and boxes of shapes, from the poses of links."""

from typing import Any

from kinemorph.collision.shapes.shape_rows import mounts_of, shape_poses_of, shapes_of
from kinemorph.geometry.ground import BOUNDS
from kinemorph.jit.api import kernel, rows_at
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import Vec3, add


@kernel(inline=False)
def place_shapes(collisions: Any, links: Any) -> None:
    """Place all shapes that are not on the base. `links` are rows with R and p: the base first, then link 0 and on."""
    shapes = shapes_of(collisions)
    for i in range(collisions["n"]):
        if shapes[i]["form"] != 0 and shapes[i]["link"] >= 0:
            link = links[shapes[i]["link"] + 1]
            place_shape(collisions, i, load9(link["R"]), load3(link["p"]))


@kernel
def place_shape(collisions: Any, row: int, R: Mat3, p: Vec3) -> None:
    """Write the pose of shape `row`, and its box, for its link at R and p in the world."""
    mount = mounts_of(collisions)[row]
    place = shape_poses_of(collisions)[row]
    p = add(mul_vec(R, load3(mount["p"])), p)
    R = mul(R, load9(mount["R"]))
    store9(place["R"], R)
    store3(place["p"], p)
    # The other half of the margin is in the box of the other shape.
    grow = 0.5 * (collisions["margin"] + collisions["keep_within"]) + place["sweep"]
    low, high = world_box(mount, R, p)
    box = rows_at(collisions["boxes"], collisions["n"], BOUNDS)[row]
    store3(box["low"], (low[0] - grow, low[1] - grow, low[2] - grow))
    store3(box["high"], (high[0] + grow, high[1] + grow, high[2] + grow))


@kernel
def world_box(mount: Any, R: Mat3, p: Vec3) -> tuple[Vec3, Vec3]:
    """Lowest and highest corner of a box around a shape at R and p: the bounds of its own rotated box."""
    a = load3(mount["low"])
    b = load3(mount["high"])
    r = mount["pad"]
    x0, x1 = _project_box(R[0], R[1], R[2], a, b)
    y0, y1 = _project_box(R[3], R[4], R[5], a, b)
    z0, z1 = _project_box(R[6], R[7], R[8], a, b)
    low = (p[0] + x0 - r, p[1] + y0 - r, p[2] + z0 - r)
    return low, (p[0] + x1 + r, p[1] + y1 + r, p[2] + z1 + r)


@kernel
def _project_box(x: float, y: float, z: float, low_corner: Vec3, high_corner: Vec3) -> tuple[float, float]:
    """The least and the largest product of a direction with a point of a box."""
    low = (
        min(x * low_corner[0], x * high_corner[0])
        + min(y * low_corner[1], y * high_corner[1])
        + min(z * low_corner[2], z * high_corner[2])
    )
    return low, max(x * low_corner[0], x * high_corner[0]) + max(y * low_corner[1], y * high_corner[1]) + max(
        z * low_corner[2], z * high_corner[2]
    )
