"""The compass walker on ground that it touches: feet with friction, and no joint that holds them.

The same legs as in `walker`, in a world, in the plane of a joint that keeps them from falling sideways. A heel strike
is an impact of the contact solver, without restitution; the other foot lifts by itself. Where legs have no knees the
foot that swings is below the slope until the legs have passed each other. So it has a mask, with which it meets nothing
from the strike of the other foot until it comes down to the slope ahead of that. (Were the mask switched on earlier,
contact would slow the foot in the step before it arrives, as it does with all that is fast, and that splits the impact
in two, of which the first finds the other foot still standing.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.geometry.ground import HalfSpace
from kinemorph.geometry.material import ALL_GROUPS_MASK, Material
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.events import Event
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.scenes.pictures.film_pictures import draw_film, film_run
from kinemorph.scenes.structure.walker import AXIS, HIP_MASS, LEG_MASS, LENGTH, MIDDLE, SLOPE, compass, strike
from kinemorph.spatial.pose import Pose
from kinemorph.world.control.events import EventRecord
from kinemorph.world.world import World

FOOT_RADIUS = 1e-3  # m, radius: nearly the point that the walker of the paper stands on
STEP_HIP_ANGLE = 0.1  # rad, of the hip: a foot that comes to the slope farther ahead than this makes a step
GROUND_WALKER_DT = 2.5e-4  # s
RUBBER = Material(friction=1.0, restitution=0.0)
NORMAL = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])


def legs() -> Model:
    """Two legs that hang on a hip, which moves in the plane y = 0. The hip's mass is on leg "a"."""
    b = Builder("compass walker")
    bar = Shape.capsule(0.02, LENGTH - 0.04, Pose((0.0, 0.0, -0.5 * LENGTH)), mask=0)  # nothing meets it
    hip = Shape.sphere(0.07, mask=0)
    foot = Shape.sphere(FOOT_RADIUS, Pose((0.0, 0.0, FOOT_RADIUS - LENGTH)), material=RUBBER, name="foot")
    leg = Inertia.point(LEG_MASS, (0.0, 0.0, -MIDDLE))
    b.link(
        "a", None, Joint.planar(AXIS, "x", name="plane"), inertia=leg + Inertia.point(HIP_MASS), shapes=[bar, hip, foot]
    )
    b.link("b", "a", Joint.revolute(AXIS, name="hip"), inertia=leg, shapes=[bar, foot])
    return b.build()


@dataclass
class GroundWalk:
    """A walker in a world, and where and when its feet have landed."""

    world: World
    times: list[float] = field(default_factory=list)
    places: list[Any] = field(default_factory=list)

    def shape_of(self, leg: str) -> int:
        """The shape of a leg's foot."""
        return self.world.registry.shapes_of(self.world[leg].id)[-1]

    def foot(self, leg: str) -> Any:
        """Where the end of a leg is."""
        return self.world[leg].pose.apply((0.0, 0.0, -LENGTH))

    def ahead(self, world: World, moment: EventRecord) -> bool:
        """Whether the foot that has come down to the slope is ahead of the other one."""
        assert moment.body is not None
        angle = float(world.forest.position(world.joint_id("hip"))[0])
        return (angle if moment.body.name == "b" else -angle) > STEP_HIP_ANGLE

    def meet(self, world: World, moment: EventRecord) -> None:
        """It meets the ground from now on."""
        assert moment.body is not None
        world.collision_filter.set_groups(self.shape_of(moment.body.name), mask=ALL_GROUPS_MASK)

    def land(self, world: World, moment: EventRecord) -> None:
        """A foot has landed: the other one leaves, and may pass through the slope for a while."""
        assert moment.body is not None
        leg = moment.body.name
        other = self.shape_of("b" if leg == "a" else "a")
        if world.shapes.rows["mask"][world.shapes.row_of(other)]:  # it has stood until now
            world.collision_filter.set_groups(other, mask=0)
            self.times.append(moment.time)
            self.places.append(self.foot(leg))

    @property
    def periods(self) -> Any:
        """s, from one landing to the next."""
        return np.diff(self.times)

    @property
    def lengths(self) -> Any:
        """m, of the steps."""
        return np.linalg.norm(np.diff(self.places, axis=0), axis=1)


def walker(disturb: Any = (0.0, 0.0), **settings: Any) -> GroundWalk:
    """The walker just after a heel strike, standing on leg "b", its rates disturbed if asked."""
    start = strike(*compass()).state
    world = World(**{"dt": GROUND_WALKER_DT, "sleep": False, "material": RUBBER, **settings})
    world.add_ground(HalfSpace(NORMAL, 0.0))
    q_b, q_a = start.q[0], start.q.sum()  # from the vertical, about -y
    v_b, v_a = start.v[0] + disturb[0], start.v.sum() + disturb[0] + disturb[1]
    # the hip is above the foot of b, which stands at the origin
    hip = np.array([-np.sin(q_b), np.cos(q_b)]) * LENGTH
    speed = np.array([-np.cos(q_b), -np.sin(q_b)]) * LENGTH * v_b
    walk = GroundWalk(world)
    world.add(legs(), q=[*hip, q_a, q_b - q_a], v=[*speed, v_a, v_b - v_a])
    world.collision_filter.set_groups(walk.shape_of("a"), mask=0)
    for leg in ("a", "b"):
        world.when(Event.contact(leg, "ground", name=f"step on {leg}"), walk.land)
        down = Event.height(leg, point=(0.0, 0.0, -LENGTH), normal=NORMAL, only=walk.ahead, name=f"{leg} comes down")
        world.when(down, walk.meet)
    return walk


def show_walker_on_ground(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    walk = walker(**settings)
    walk.world.run(30.0)
    say(f"[bold]{len(walk.times)} steps[/] on ground with friction, in {walk.world.time:g} s")
    say(f"step period {walk.periods[-1]:.5f} s, step length {walk.lengths[-1]:.5f} m")
    say("  (held by joints, as `demo walk` has it: 0.73438 s and 0.53558 m)")
    recording = film_run(walker(**settings).world, 4.4, "walker on ground")
    times = np.arange(8) * 0.16
    pictures, film = draw_film(
        recording, out, "walker_on_ground", times.tolist(), direction=(0.3, -1.6, 0.35), size=(200, 260), follow="a"
    )  # fmt: skip
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
