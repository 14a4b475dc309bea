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

from kinemorph.geometry.mass import inertia_of
from kinemorph.scenes.files.scene import load_scene, read_scene
from kinemorph.scenes.files.scene_parts import Parts
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.scenes.pictures.picture_sheets import View, draw_views
from kinemorph.world.body import Body
from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
_TOML, _TABLE = read_scene("bouncing")
_SPHERE, _OTHER = _TABLE.body[:2]
STEPS = len(_TABLE.body) // 2 - 1  # of restitution, from 0 to 1
RADIUS = _SPHERE.sphere or 0.0  # m
DROP, FAR = _SPHERE.at[2] - RADIUS, _OTHER.at[0]  # m: from the ground to the lowest point, and to the polyhedra
G = 9.81  # m/s²


@lru_cache
def faceted_inertia() -> float:
    """m², of a polyhedron by kg, about any axis: it is as regular as an icosahedron."""
    mass = inertia_of(Parts(_TOML, _TABLE.material).shape("body[1]", _OTHER))
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
    world = load_scene("bouncing", {"world": settings}).world
    spheres, polyhedra = (
        [body for body in world.bodies if body.name.startswith(kind)] for kind in ("sphere", "polyhedron")
    )
    return Balls(world, tuple(i / STEPS for i in range(STEPS + 1)), spheres, polyhedra)


def draw_bouncing_balls(folder: Path, **settings: Any) -> tuple[Path, Path]:
    """The ways of all balls, as under a stroboscope, and a replay."""
    recording = film_run(balls(**settings).world, 6.0, "bouncing balls")
    times = tuple(k / 20.0 for k in range(46))
    views = [View(times, (-0.35, -1.5, 0.35), (x, -0.7, 0.1), (x + 3.3, 0.7, 1.6)) for x in (0.0, FAR)]
    return draw_views(recording, folder, "bouncing_balls", views, size=(520, 215))


def show_bouncing_balls(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = balls(**settings)
    scene.watch(2.0)
    say(f"[bold]{STEPS + 1} spheres and {STEPS + 1} polyhedra[/] drop from {DROP:g} m; they come up again to")
    for e, sphere, other in zip(scene.restitutions, *scene.rises(), strict=True):
        say(f"  restitution {e:.3f}: {sphere:.4f} of it, where e² is {e * e:.4f}; the polyhedron to {other:.4f}")
    pictures, film = draw_bouncing_balls(out, **settings)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
