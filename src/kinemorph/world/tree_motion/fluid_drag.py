"""Drag of a fluid around all bodies: a pressure on each quarter of the faces of their boxes (Sims 1994).

The force on a quarter of area A whose middle moves along the outer normal with a speed v > 0 is -½ ρ C A v². It acts
implicitly, with the speed after the step, v / (1 + dt ½ ρ C A v / m), so that drag cannot reverse the motion.

"""

from __future__ import annotations

from typing import Any

from kinemorph.collision.shapes.shape_rows import mounts_of, shapes_of
from kinemorph.contact.layout import slices_of, za_of
from kinemorph.contact.rows.dof_rows import add_link_wrench
from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.free_body import free_body_of, whiten_free_body_wrench
from kinemorph.multibody.layout import link_data_of, links_of
from kinemorph.spatial.mat3 import mul, mul_vec
from kinemorph.spatial.rows import load3, load3_at, load9, store3_at
from kinemorph.spatial.vec3 import Vec3, add, cross, dot, scale, sub
from kinemorph.structure.forest.layout import bodies_of, tree_of, trees_of


@kernel
def box_side(size: Vec3, axis: int) -> float:
    return size[0] if axis == 0 else size[1] if axis == 1 else size[2]


@kernel
def compute_drag_wrench(
    mount: Any, R: Any, arm: Vec3, v: Vec3, w: Vec3, mass: float, k: float, dt: float
) -> tuple[Vec3, Vec3]:
    """Drag moment (N m, about the link's origin) and force (N) on a box, world axes; R and `arm`: the box's pose."""
    low, high, pad = load3(mount["low"]), load3(mount["high"]), mount["pad"]
    size = add(sub(high, low), (2.0 * pad, 2.0 * pad, 2.0 * pad))
    middle = scale(add(low, high), 0.5)
    moment = force = (0.0, 0.0, 0.0)
    for axis in range(3):
        n = (R[axis], R[3 + axis], R[6 + axis])
        area = size[1] * size[2] if axis == 0 else size[0] * size[2] if axis == 1 else size[0] * size[1]
        b, c = (1, 2) if axis == 0 else (2, 0) if axis == 1 else (0, 1)
        across = scale((R[b], R[3 + b], R[6 + b]), 0.25 * box_side(size, b))
        along = scale((R[c], R[3 + c], R[6 + c]), 0.25 * box_side(size, c))
        for part in range(8):  # both faces, in quarters
            out = scale(n, 1.0 if part < 4 else -1.0)
            r = add(add(arm, mul_vec(R, middle)), scale(out, 0.5 * box_side(size, axis)))
            r = add(r, add(scale(across, 1.0 if part & 1 else -1.0), scale(along, 1.0 if part & 2 else -1.0)))
            speed = dot(out, add(v, cross(w, r)))
            if speed > 0.0:
                f = scale(out, -0.25 * k * area * speed * speed / (1.0 + dt * k * area * speed / mass))
                force, moment = add(force, f), add(moment, cross(r, f))
    return moment, force


@kernel(inline=False)
def apply_fluid_drag(world: Any, solver: Any, forest: Any, collisions: Any) -> None:
    """Add the drag of all shapes of awake bodies to the whitened accelerations za."""
    slices, trees = slices_of(solver), trees_of(forest)
    bodies, za = bodies_of(forest), za_of(solver)
    shapes, mounts = shapes_of(collisions), mounts_of(collisions)
    k = 0.5 * world["fluid"] * world["drag"]
    for i in range(collisions["n"]):
        if shapes[i]["form"] == 0 or shapes[i]["link"] < 0:
            continue
        slot = bodies[shapes[i]["link"]]
        o = slices[slot["tree"]]["offset"]
        if o < 0:
            continue
        tree = tree_of(trees[slot["tree"]])
        data = link_data_of(tree)[slot["link"] + 1]
        mass = links_of(tree)[slot["link"]]["mass"]
        if mass <= 0.0:
            continue
        L = load9(data["R"])
        own = mul(L, load9(slot["R"]))
        arm = add(mul_vec(L, load3(slot["p"])), mul_vec(own, load3(mounts[i]["p"])))
        R = mul(own, load9(mounts[i]["R"]))
        n, f = compute_drag_wrench(mounts[i], R, arm, load3(data["v"]), load3(data["w"]), mass, k, world["dt"])
        if tree["free_body"] == 0:
            add_link_wrench(tree, slot["link"], n, f, za, o)
            continue
        lone = free_body_of(tree)
        turn, push = whiten_free_body_wrench(lone, L, sub(n, cross(mul_vec(L, load3(lone["c"])), f)), f)
        store3_at(za, o, add(load3_at(za, o), turn))
        store3_at(za, o + 3, add(load3_at(za, o + 3), push))
