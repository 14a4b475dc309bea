"""The spring between the mouse and a body.

It would move the whole tree, critically damped, and bears the weight of the body and of what this carries; the rest
pulls it down a little. But what answers first may be much lighter, such as a hand, or the rim of a ball that begins to
spin: that must not be thrown back farther than it came within the time that a force lasts. So it may be the stiffer the
more often it is asked.
"""

from __future__ import annotations

import numpy as np

from kinemorph.multibody.model.inertia import moments_of
from kinemorph.spatial.pose import Array
from kinemorph.world.body import Body
from kinemorph.world.world import World

MOUSE_SPRING_RATE = 9.0  # 1/s, how stiff it is at most
LARGEST_PULL_FACTOR = 40.0  # times the weight on earth of what is pulled
ROD = 1e-3  # times its mass and its lever squared: the least inertia of a body, as rods have none about their axes


def mouse_spring_force(body: Body, point: Array, target: Array, dt: float) -> Array:
    """The force (N) at a point of a body that leads it to a target, if it lasts for a time dt (s)."""
    velocity = body.velocity + np.cross(body.angular_velocity, point - body.position)
    (mass, carried), light = masses(body), least_mass(body, point)
    spring = min(mass * MOUSE_SPRING_RATE**2, 0.25 * light / dt**2)
    damper = min(2.0 * mass * MOUSE_SPRING_RATE, 0.5 * light / dt)
    force = spring * (target - point) - damper * velocity - carried * body.world.gravity
    most = LARGEST_PULL_FACTOR * mass * 9.81
    return force * min(1.0, most / max(float(np.linalg.norm(force)), 1e-12))


def masses(body: Body) -> tuple[float, float]:
    """The mass (kg) of the tree of a body, and of the body with all that it carries."""
    tree = body.world.queries.tree_of(body)
    links, carried = tree.links, {tree.bodies.tolist().index(body.id)}
    for k, link in enumerate(links):  # parents come first
        if int(link["parent"]) in carried:
            carried.add(k)
    return float(links["mass"].sum()), float(links["mass"][[*carried]].sum())


def least_mass(body: Body, point: Array) -> float:
    """How heavy (kg) a point of a body is to a force in the direction that it gives way most, if it is not joined."""
    world: World = body.world
    link = world.queries.link_of(body)
    mass = float(link["mass"])
    if mass <= 0.0:
        return 0.0
    _, _, inertia = moments_of(link)
    turn = body.pose.rotation @ world.queries.link_frame(body).rotation.T  # world_R_link
    arm = turn.T @ (point - world.queries.centre_of_mass(body))
    moments, axes = np.linalg.eigh(inertia)
    moments = np.maximum(moments, max(ROD * mass * float(arm @ arm), 1e-300))
    across = np.cross(axes.T, arm)  # where the point goes when it turns about each axis
    return 1.0 / (1.0 / mass + float(np.linalg.eigvalsh((across.T / moments) @ across)[-1]))
