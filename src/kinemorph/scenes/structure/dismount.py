"""The gymnast of the high bar lets go and lands on a mat: structure that is cut, flight, and contact.

The model is that of `high_bar`, in a world: the hands hold the bar by hinges that are cut, one after the other. In the
air only gravity acts; on the mat the springs of the joints give way, with dampers that the bar did not need.
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
from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.joint import Joint
from kinemorph.scenes.pictures.film_pictures import draw_film, film_run
from kinemorph.scenes.structure.high_bar import LEFT, RIGHT, VIEW, gymnast
from kinemorph.spatial.pose import Pose
from kinemorph.structure.forest.forest import Edit
from kinemorph.world.body import Figure
from kinemorph.world.control.events import EventRecord
from kinemorph.world.world import World

DISMOUNT_DT = 1e-3  # s
LANDING_DAMPING = 3.0  # N m s/rad, of all joints, from the landing on
MAT, PLACE = (7.0, 6.0, 0.2), (-1.0, 1.0, 0.1)  # m, its size and its middle
FOAM = Material(friction=1.0, restitution=0.0)
BODY, BAR = 2, 4  # groups: limbs do not meet each other, nor the bar


@dataclass
class Dismount:
    """A gymnast on the bar of a world, and what happened."""

    world: World
    figure: Figure
    hands: dict[str, Edit] = field(default_factory=dict)
    told: list[tuple[float, str]] = field(default_factory=list)

    def let_go(self, world: World, moment: EventRecord) -> None:
        """A hand lets go of the bar."""
        world.cut(self.hands[moment.name].joint)
        self.told.append((moment.time, moment.name))

    def land(self, world: World, moment: EventRecord) -> None:
        """Something touches the mat for the first time: from now on the joints are damped."""
        name = moment.other.name if moment.other is not None else "nothing"
        self.told.append((moment.time, f"lands on the {name}"))
        for joint in self.figure.joints[1:]:
            id = self.figure.joint(joint)
            for dof in range(len(world.forest.velocity(id))):
                world.servo(id, stiffness=0.0, damping=LANDING_DAMPING, dof=dof)

    def centre(self) -> Any:
        """Where the centre of mass is."""
        return sum(body.mass * self.world.queries.centre_of_mass(body) for body in self.figure) / self.mass

    @property
    def mass(self) -> float:
        """kg"""
        return sum(body.mass for body in self.figure)


def dismount(**settings: Any) -> Dismount:
    """The gymnast on the bar, swinging, with a mat in front of it."""
    model, state = gymnast()
    world = World(**{"dt": DISMOUNT_DT, "material": FOAM, **settings})
    mat = world.add(Shape.box(MAT, colour=(0.25, 0.45, 0.7, 1.0)), at=PLACE, name="mat")
    world.connect(None, mat, Joint.fixed())
    figure = world.add(model, q=state.q, v=state.v)
    for body in figure:
        world.collision_filter.set_groups(body, group=BODY, mask=~BODY & ~BAR & 0xFFFFFFFF)
    for shape in world.registry.ground_shapes:
        world.collision_filter.set_groups(shape, group=BAR, mask=0)
    scene = Dismount(world, figure)
    data = Data(model)
    kinematics(model, data, state.q)
    for side, when in (("right", RIGHT), ("left", LEFT)):
        palm = pose_of(model, data, f"{side} palm").position
        hand = Joint.revolute("y", name=f"{side} hand")
        name = f"the {side} hand lets go"
        scene.hands[name] = world.connect(None, figure[f"{side} forearm"], hand, Pose(palm), how="loop")
        world.when(Event.at(when, name=name), scene.let_go)
    world.when(Event.contact("mat", times=1, name="lands"), scene.land)
    return scene


def show_dismount(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = dismount(**settings)
    scene.world.run(6.0)
    for t, what in scene.told:
        say(f"  {t:.3f} s  {what}")
    low = min(float(touch.distance) for touch in scene.world.contacts())
    speed = max(float(np.linalg.norm(body.velocity)) for body in scene.figure)
    say(f"at {scene.world.time:g} s it lies on the mat: {1e3 * speed:.2f} mm/s, {1e6 * max(0.0, -low):.0f} µm deep")
    recording = film_run(dismount(**settings).world, 5.0, "dismount")
    times = (0.0, 0.6, 1.05, 1.4, 1.7, 1.95, 2.2, 4.0)
    pictures, film = draw_film(recording, out, "dismount", times, direction=VIEW, size=(240, 300), beside="mat")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
