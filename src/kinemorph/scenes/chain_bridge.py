"""A bridge of planks that hang between two towers, and breaks link by link under what comes down on it.

Planks are joined by hinges, the last one to the other tower: a loop through the world. Each hinge breaks where it bears
more than it holds (`Event.load`), whether it belongs to the tree or closes the loop. First the bridge hangs by itself,
then a weight lies on it, then a heavier one falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.multibody.joint import Joint
from kinemorph.scenes.filming import draw_film, film_run
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest import Change
from kinemorph.world.body import Body
from kinemorph.world.events import Moment
from kinemorph.world.world import World

COUNT, LENGTH, WIDTH, THICK = 10, 0.4, 0.8, 0.05  # of the planks: how many, and m
BEND = 0.08  # rad, from one plank to the next, as the bridge is built
HEIGHT = 1.6  # m, of its ends
STRENGTH, DAMPING = 4000.0, 5.0  # N, N m s/rad, of a hinge
LIGHT, HEAVY = 20.0, 120.0  # kg
DT = 1e-3  # s
WOOD = Material(friction=0.7, restitution=0.0)


@dataclass
class Bridge:
    """Planks in a world, and when which hinge broke."""

    world: World
    strength: float  # N, of a hinge
    planks: list[Body] = field(default_factory=list)
    hinges: dict[str, Change] = field(default_factory=dict)
    first: tuple[float, str] = (-1.0, "")  # s: what bore most when something last bore too much
    broken: list[tuple[float, str, float]] = field(default_factory=list)  # s, which, and N that it bore

    def watch(self, name: str) -> None:
        """Have it give way if it bears too much."""
        self.world.when(Event.load(self.hinges[name].joint, self.strength, times=1, name=name), self.give_way)

    def give_way(self, world: World, moment: Moment) -> None:
        """A hinge bears more than it holds. What bears most breaks first, which may be a relief for the others."""
        if self.first[0] != moment.time:
            loads = {watch.event.name: watch.value for watch in world.watches if watch.event.name in self.hinges}
            self.first = moment.time, max(loads, key=lambda name: loads[name])
        if moment.name != self.first[1]:
            self.watch(moment.name)
            return
        world.cut(self.hinges[moment.name])
        self.broken.append((moment.time, moment.name, moment.value))

    def drop(self, world: World, moment: Moment) -> None:
        """The heavy weight comes."""
        size = (HEAVY / 2000.0) ** (1.0 / 3.0)
        shape = Shape.box((size, size, size), colour=(0.25, 0.25, 0.28, 1.0))
        world.add(shape, at=(0.55, 0.0, HEIGHT + 0.6), density=2000.0, name="heavy")


def bridge(strength: float = STRENGTH, **settings: Any) -> Bridge:
    """The bridge between its towers, with a light weight on its middle."""
    world = World(**{"dt": DT, "material": WOOD, **settings})
    world.add_ground()
    scene = Bridge(world, strength)
    angles = BEND * (np.arange(COUNT) - 0.5 * (COUNT - 1))
    steps = LENGTH * np.column_stack([np.cos(angles), np.zeros(COUNT), np.sin(angles)])
    ends = np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])
    ends += (-0.5 * ends[-1, 0], 0.0, HEIGHT)
    for i, angle in enumerate(angles):
        shape = Shape.box((LENGTH - 0.02, WIDTH, THICK), colour=(0.62, 0.45, 0.28, 1.0))
        place = Pose.turn((0, 1, 0), -float(angle), 0.5 * (ends[i] + ends[i + 1]))
        plank = world.add(shape, at=place, density=600.0, name=f"plank {i}")
        carrier = scene.planks[-1] if i else None
        scene.planks.append(plank)
        scene.hinges[f"hinge {i}"] = world.connect(carrier, plank, Joint.revolute("y", damping=DAMPING), ends[i])
    name = f"hinge {COUNT}"
    scene.hinges[name] = world.connect(None, plank, Joint.revolute("y"), ends[-1])
    for x, way in ((ends[0, 0], -1.0), (ends[-1, 0], 1.0)):
        tower = world.add(
            Shape.box((0.3, 1.2, HEIGHT)), at=(x + way * 0.2, 0.0, 0.5 * HEIGHT), name=f"tower {way:+.0f}"
        )
        world.connect(None, tower, Joint.fixed())
    for name in scene.hinges:
        scene.watch(name)
    size = (LIGHT / 500.0) ** (1.0 / 3.0)
    low = float(ends[COUNT // 2, 2])
    world.add(Shape.box((size, size, size)), at=(0.0, 0.0, low + 0.5 * size + 0.03), density=500.0, name="light")
    world.when(Event.at(1.5, name="the heavy weight comes"), scene.drop)
    return scene


def draw(folder: Path, **settings: Any) -> tuple[Path, Path]:
    """A strip of pictures, and a replay."""
    recording = film_run(bridge(**settings).world, 4.0, "chain bridge")
    times = (0.0, 1.4, 1.8, 1.95, 2.1, 2.4, 3.8)
    return draw_film(recording, folder, "chain_bridge", times, direction=(0.4, -1.6, 0.35), size=(520, 260))


def demo(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = bridge(**settings)
    scene.world.run(4.0)
    say(f"[bold]{COUNT} planks[/], {len(scene.hinges)} hinges that hold {STRENGTH:g} N each")
    for t, name, force in scene.broken:
        say(f"  {t:.3f} s  {name} bears {force:.0f} N, and breaks")
    pictures, film = draw(out, **settings)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
