"""Balls that bounce, with restitution from 0 to 1 in six steps (Fontijne 3.11.2): spheres, and polyhedra like spheres.

A sphere that drops from a height comes up again to e² of it. A polyhedron does not, even without a loss: it meets the
ground beside its centre of mass, so that a part of what it had as height goes into spin, and comes back another time.
All of them fly sideways a little, so that a picture shows their way; nothing rubs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.kept_mesh import keep_mesh
from kinemorph.geometry.mass import inertia_of
from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.scenes.bounce import shapes
from kinemorph.scenes.filming import film_run
from kinemorph.scenes.views import View, draw_views
from kinemorph.spatial.pose import Pose
from kinemorph.world.body import Body
from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
STEPS = 6  # of restitution, from 0 to 1
RADIUS, DROP, DRIFT = 0.1, 1.5, 1.5  # m, m from the ground to the lowest point, m/s sideways
LANE = 0.4  # m from ball to ball
FAR = 12.0  # m from the spheres to the polyhedra
G = 9.81  # m/s²
DT = 1e-3  # s
COLOURS = ((0.29, 0.29, 0.34), (0.33, 0.40, 0.62), (0.27, 0.55, 0.72), (0.30, 0.66, 0.53), (0.68, 0.68, 0.33),
           (0.88, 0.58, 0.27), (0.80, 0.30, 0.28))  # fmt: skip


@lru_cache
def faceted() -> Path:
    """The file of a polyhedron of 42 vertices, all on a sphere of radius 1: the thesis's ball."""
    core = shapes()["sphere"].parts[0]
    return keep_mesh(2.0 * core.points, core.triangles)


def rough(**more: Any) -> Shape:
    """That polyhedron as a shape."""
    return Shape.mesh(faceted(), (RADIUS, RADIUS, RADIUS), **more)


@lru_cache
def faceted_inertia() -> float:
    """m², its inertia by kg, about any axis: it is as regular as an icosahedron."""
    mass = inertia_of(rough())
    return float(np.trace(mass.matrix) / (3.0 * mass.mass))


@dataclass
class Balls:
    """Balls in a world, a material each."""

    world: World
    restitutions: tuple[float, ...]
    spheres: list[Body] = field(default_factory=list)
    polyhedra: list[Body] = field(default_factory=list)
    heights: list[list[float]] = field(default_factory=list)  # m, of all centres: spheres, then polyhedra, step by step
    energies: list[list[float]] = field(default_factory=list)  # J/kg, likewise: height, flight and spin

    def watch(self, seconds: float) -> None:
        """Run for so long, and note heights and energies in every step."""
        end = self.world.time + seconds
        both = [*self.spheres, *self.polyhedra]
        inertias = [0.4 * RADIUS**2] * len(self.spheres) + [faceted_inertia()] * len(self.polyhedra)
        while self.world.time < end - 0.5 * self.world.dt:
            self.world.step()
            self.heights.append([float(ball.position[2]) for ball in both])
            self.energies.append([_energy(ball, inertia) for ball, inertia in zip(both, inertias, strict=True)])

    def rises(self) -> Array:
        """(2, 7), of spheres and polyhedra: how high they came after their first bounce, by how far they had fallen."""
        paths = np.array(self.heights).T
        found = []
        for path in paths:
            low = int(np.argmax(np.diff(path) > 0.0))  # where it first goes up: 0 if it never does
            top = low + int(np.argmax(np.r_[np.diff(path[low:]) < 0.0, True]))
            found.append((path[top] - path[low]) / DROP if low else 0.0)
        return np.array(found).reshape(2, -1)


def _energy(ball: Body, inertia: float) -> float:
    v, w = ball.velocity, ball.angular_velocity
    return float(G * ball.position[2] + 0.5 * (v @ v) + 0.5 * inertia * (w @ w))


def balls(**settings: Any) -> Balls:
    """Two rows of seven balls above the ground: spheres and, turned at random, polyhedra."""
    smooth = Material(friction=0.0, restitution=0.0)
    world = World(**{"dt": DT, "sleep": False, "material": smooth, **settings})
    world.add_ground(material=smooth)
    scene = Balls(world, tuple(i / STEPS for i in range(STEPS + 1)))
    rng = np.random.default_rng(7)
    for i, e in enumerate(scene.restitutions):
        y = (i - 0.5 * STEPS) * LANE
        stuff, colour = Material(friction=0.0, restitution=e), (*COLOURS[i], 1.0)
        twist = (0.0, 0.0, 0.0, DRIFT, 0.0, 0.0)
        ball = Shape.sphere(RADIUS, colour=colour)
        at = (0.0, y, DROP + RADIUS)
        scene.spheres.append(world.add(ball, at=at, twist=twist, material=stuff, name=f"sphere {e:.2f}"))
        turn = Pose.quaternion(rng.normal(size=4)).rotation
        place = Pose((FAR, y, DROP + RADIUS), turn)
        body = world.add(rough(colour=colour), at=place, twist=twist, material=stuff, name=f"polyhedron {e:.2f}")
        scene.polyhedra.append(body)
    return scene


def draw(folder: Path, **settings: Any) -> tuple[Path, Path]:
    """The ways of all balls, as under a stroboscope, and a replay."""
    recording = film_run(balls(**settings).world, 6.0, "bouncing balls")
    times = tuple(k / 20.0 for k in range(46))
    views = [View(times, (-0.35, -1.5, 0.35), (x, -0.7, 0.1), (x + 3.3, 0.7, 1.6)) for x in (0.0, FAR)]
    return draw_views(recording, folder, "bouncing_balls", views, size=(520, 215))


def demo(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = balls(**settings)
    scene.watch(2.0)
    say(f"[bold]{STEPS + 1} spheres and {STEPS + 1} polyhedra[/] drop from {DROP:g} m; they come up again to")
    for e, sphere, other in zip(scene.restitutions, *scene.rises(), strict=True):
        say(f"  restitution {e:.3f}: {sphere:.4f} of it, where e² is {e * e:.4f}; the polyhedron to {other:.4f}")
    pictures, film = draw(out, **settings)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
