"""A train of wagons that couple at speed and uncouple in motion, on a track without friction.

The engine is pushed for a while, meets wagons that stand, and couples to each when their buffers touch: the buffers
spring back a little, and the coupling takes the rest of the speed between them. Later the last wagons are uncoupled
while all of them move. Nothing acts along the track but the push, so momentum is known at all times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from kinemorph.geometry.material import Material
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.model import Model
from kinemorph.scenes.filming import draw_film, film_run
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest import Change
from kinemorph.world.body import Body
from kinemorph.world.drives import Push
from kinemorph.world.events import Moment
from kinemorph.world.world import World

LENGTH, WIDTH, HEIGHT, CLEAR = 2.0, 1.0, 0.8, 0.3  # m, of a wagon's box, and how far that is above the track
MASSES = (4000.0, 1500.0, 2500.0, 1000.0)  # kg, of the engine and three wagons
PLACES = (0.0, 4.0, 7.0, 10.0)  # m, where they stand
FORCE, PUSHED = 8000.0, 1.0  # N, s
UNCOUPLE = 6.0  # s
STEEL = Material(friction=0.0, restitution=0.3)
RAIL = Material(friction=0.0, restitution=0.0, priority=1)


def wagon(name: str, mass: float, colour: tuple[float, float, float, float]) -> Model:
    """A box on four skids, with buffers in line with the centre of mass, so that it neither nods nor yaws."""
    b = Builder(name)
    body = Shape.box((LENGTH, WIDTH, HEIGHT), Pose((0.0, 0.0, CLEAR + 0.5 * HEIGHT)), colour=colour)
    skids = [
        Shape.box((0.3, 0.1, CLEAR), Pose((x, y, 0.5 * CLEAR)), material=STEEL)
        for x in (-0.35 * LENGTH, 0.35 * LENGTH)
        for y in (-0.4 * WIDTH, 0.4 * WIDTH)
    ]
    buffers = [
        Shape.sphere(0.1, Pose((x, 0.0, CLEAR + 0.5 * HEIGHT)), material=STEEL)
        for x in (-0.5 * LENGTH - 0.1, 0.5 * LENGTH + 0.1)
    ]
    inertia = Inertia.box(mass, (LENGTH, WIDTH, HEIGHT)).moved(Pose((0.0, 0.0, CLEAR + 0.5 * HEIGHT)))
    b.link(name, None, Joint.free(), inertia=inertia, shapes=[body, *skids, *buffers])
    return b.build()


@dataclass
class Train:
    """Wagons in a world, and what coupled them."""

    world: World
    wagons: list[Body] = field(default_factory=list)
    couplings: dict[str, Change] = field(default_factory=dict)  # by the name of the second wagon
    jumps: list[float] = field(default_factory=list)  # N s: momentum along the track that an edit has changed
    push: Push | None = None

    def momentum(self) -> float:
        """N s, of all wagons along the track."""
        return float(self.world.forest.momentum()[3])

    def couple(self, world: World, moment: Moment) -> None:
        """Buffers touch: the wagons are one from now on."""
        assert moment.body is not None
        assert moment.other is not None
        a, b = moment.body, moment.other
        before = self.momentum()
        at = (0.5 * (a.position[0] + b.position[0]), 0.0, CLEAR + 0.5 * HEIGHT)
        self.couplings[b.name] = world.connect(a, b, Joint.fixed(name=f"coupling of {b.name}"), at)
        self.jumps.append(self.momentum() - before)

    def uncouple(self, world: World, moment: Moment) -> None:
        """The last two wagons go their own way, and the engine is pushed back."""
        before = self.momentum()
        world.cut(self.couplings["wagon 2"])
        self.jumps.append(self.momentum() - before)
        assert self.push is not None
        self.push.force = (-FORCE, 0.0, 0.0)

    def coast(self, world: World, moment: Moment) -> None:
        """The engine pushes no more."""
        assert self.push is not None
        self.push.force = (0.0, 0.0, 0.0)


def train(**settings: Any) -> Train:
    """An engine that is about to be pushed, and three wagons that stand on its track."""
    world = World(**{"dt": 2e-3, "sleep": False, "material": STEEL, **settings})
    world.add_ground(material=RAIL)
    scene = Train(world)
    colours = ((0.75, 0.2, 0.15, 1.0), (0.3, 0.5, 0.7, 1.0), (0.35, 0.6, 0.4, 1.0), (0.8, 0.65, 0.3, 1.0))
    names = ("engine", "wagon 1", "wagon 2", "wagon 3")
    for name, mass, x, colour in zip(names, MASSES, PLACES, colours, strict=True):
        scene.wagons.append(world.add(wagon(name, mass, colour), at=(x, 0.0, 0.0))[name])
    for one, other in pairwise(names):
        world.when(Event.contact(one, other, times=1, name=f"{one} meets {other}"), scene.couple)
    scene.push = world.push(scene.wagons[0], (FORCE, 0.0, 0.0))
    world.when(Event.at(PUSHED, name="coasts"), scene.coast)
    world.when(Event.at(UNCOUPLE, name="uncouples"), scene.uncouple)
    return scene


def draw(folder: Path, **settings: Any) -> tuple[Path, Path]:
    """A strip of pictures, and a replay."""
    recording = film_run(train(**settings).world, 9.0, "train")
    times = (0.0, 1.6, 3.0, 5.0, 6.0, 8.0)
    return draw_film(recording, folder, "train", times, direction=(0.1, -1.6, 0.3), size=(900, 120))


def demo(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = train(**settings)
    scene.world.run(9.0)
    for name, change in scene.couplings.items():
        lost = f"{change.energy_lost:.1f} J lost"
        say(f"{name} is coupled: {change.impulse[3]:+.2f} N s in the coupling, {lost}")
    worst = max(map(abs, scene.jumps))
    say(f"momentum along the track: no edit changes it by more than {worst:.1e} of {FORCE * PUSHED:g} N s")
    say(", ".join(f"{body.name} {body.velocity[0]:.4f} m/s" for body in scene.wagons))
    pictures, film = draw(out, **settings)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
