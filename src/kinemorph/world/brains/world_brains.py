"""The part of a `World` that gives minds to figures, and watches them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from kinemorph.brain.brain import Brain, Effect, Sense
from kinemorph.contact.layout import BY_FORCE
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import finite, shown
from kinemorph.spatial.pose import vector
from kinemorph.structure.forest.forest import Change
from kinemorph.structure.forest.memory import INDEX
from kinemorph.world.body import Body, Figure
from kinemorph.world.brains.attach import LIMITS_FIT, engage
from kinemorph.world.brains.brain_instances import WINDOW_LENGTH, Mind, MindRoom, Minds, target_fields
from kinemorph.world.brains.episode_statistics import see_lives
from kinemorph.world.brains.instance_rows import HELD, NO_TARGET, RELEASED
from kinemorph.world.brains.statistics_reset import watch_from_now
from kinemorph.world.brains.update import tell_mind
from kinemorph.world.control.actuation import Acting
from kinemorph.world.impulse.settings import slowest
from kinemorph.world.persistence.journal import an_input

if TYPE_CHECKING:
    from kinemorph.world.control.events import Watches

Array = np.ndarray[Any, np.dtype[np.float64]]
G = 9.81  # m/s²
TOIL = ("start", "energy", "done", "effort", "conveyed", "surplus", "work", "budget")
FIELDS = {"target", "point", "blank", "asleep"}


@checked_on_failure
class Thinking(Acting):
    """What a world does with brains."""

    _minds: Minds
    _header: Any
    _address: int
    _parted: dict[int, list[tuple[int, int]]]
    _births: dict[int, int]
    _onlookers: list[Any]
    _watches: Watches

    if TYPE_CHECKING:

        def _part(self, loop: int) -> None: ...
        def _follow_shapes(self) -> None: ...
        def _wake_tree(self, tree: int, why: int = ...) -> None: ...

    @an_input
    def think(self, figure: Figure, brain: Brain, target: Body | Iterable[float] | None = None) -> Mind:
        """Give a figure a mind: from now on its brain runs within the steps of this world, at its own rate.

        Senses and effects name links of the figure's model: a body, or the joint that carries it. The mind is in the
        first body of the figure.
        """
        if not isinstance(figure, Figure) or figure.world is not self:
            raise TypeError(
                f"think: it takes a figure of this world, such as world.add(model) gives, not {shown(figure)}"
            )
        if not isinstance(brain, Brain):
            raise TypeError(f"think: it takes a kinemorph.Brain, not {shown(brain)}")
        aim, point = target_fields(self._world, target)
        neurons, senses, effects = brain.rows
        room = MindRoom(len(neurons), len(senses), len(effects), brain.ring_count)
        alone = self._minds.count == 0
        links, members = self._places_of(figure, brain)
        self.solver.make_room("drives", "drive_room", int(self.solver.header["drive_count"][0]) + len(effects))
        self._minds.room = room  # the header learns of it before the tables are moved there
        wrong = engage(
            self._address, links, members, neurons, senses, effects, room.addresses, 1.0 / brain.rate, aim, point
        )  # fmt: skip
        if wrong != LIMITS_FIT:
            self._refuse((*brain.senses, *brain.effects)[wrong], figure)
        row = self._minds.add(room, alone)
        if not alone:
            self._lend_minds()
        return Mind(self._world, row)

    def _places_of(self, figure: Figure, brain: Brain) -> tuple[Any, Any]:
        """Of the links that a brain knows: body, birth and joint (n, 3), by their ids; and all bodies of its figure."""
        names, bodies, births = zip(*figure._known, strict=True)
        every = list(zip(bodies, births, figure._joints.values(), strict=False))  # joints of loops come last
        if names == brain.links:  # as those of creatures are
            found = every
        else:
            links = dict(zip(names, every, strict=True))
            found = [links.get(name, (-1, -1, -1)) for name in brain.links]
        for name, (id, birth, _) in zip(brain.links, found, strict=True):
            if self._births.get(id) != birth:
                try:
                    self._id(figure[name])  # which says what is wrong
                except KeyError as error:
                    raise KeyError(f"think: {_whose(brain, name)}: {error.args[0]}") from None
        return np.array(found, np.int64).reshape(-1, 3), np.array(bodies, np.int64)

    def _refuse(self, one: Sense | Effect, figure: Figure) -> NoReturn:
        """Say what is wrong with the joint of a sense or an effect."""
        carried = dict(zip((name for name, *_ in figure._known), figure._joints.values(), strict=False))
        drives, dof = isinstance(one, Effect), one.dof if isinstance(one, Effect) else one.axis
        what = f"think: {_called(one)}"
        _, dofs, _ = self._joint(what, carried[one.link])  # which refuses those that cannot move
        if not 0 <= dof < len(dofs):
            raise ValueError(f"{what}: its joint has {len(dofs)} degrees of freedom, and none {dof}")
        if drives and dofs[dof]["effort"] == 0.0:
            raise ValueError(f"{what}: its joint has an effort limit of 0; raise the limit")
        raise ValueError(f"{what}: its joint is a ball, whose position is not one number")

    def _lend_minds(self) -> None:
        h = self._header[0]
        h["minds"], h["mind_count"] = self._minds.address, self._minds.count

    @property
    def minds(self) -> list[Mind]:
        """All minds that go on thinking."""
        found = [Mind(self._world, row) for row in np.flatnonzero(self._minds["minds"]["body"] >= 0).tolist()]
        return [mind for mind in found if mind.alive]

    @an_input
    def set_mind(self, row: int, fields: dict[str, Any]) -> None:
        """Change what a mind is told, as its handle does."""
        if not 0 <= row < self._minds.count or not set(fields) <= FIELDS:
            raise ValueError(f"world: there is no mind {row} with {', '.join(fields)}")
        aim = fields.get("target", NO_TARGET)
        if aim not in (-1, NO_TARGET) and not (type(aim) is int and self.forest.has_body(aim)):
            raise ValueError(f"world: mind {row} cannot have target {shown(aim)}: there is no such body")
        one = self._minds["minds"][row]
        for name, value in fields.items():
            if name == "asleep":
                tell_mind(self._address, row, bool(value))
            else:
                one[name] = value
        if one["body"] >= 0 and self.forest.has_body(int(one["body"])):
            self._wake(int(one["body"]), why=BY_FORCE)

    @an_input
    def set_hold(self, row: int, body: Body | int, joint: Change | int) -> None:
        """Let a mind's grasp by a body begin with a joint that holds it already."""
        id, held = self._id(body), self._world.joint_id(joint)
        found = [e for e in self._minds.part("effects", row) if e["body"] == id] if 0 <= row < self._minds.count else []
        if not found:
            raise ValueError(f"world: mind {row} has no grasp by {self._world._names[id]!r} that could hold it")
        found[0]["held"], found[0]["looped"] = held, self.forest.closes_loop(held)

    @an_input
    def watch_minds(self, budget: int = 1 << 62, until_still: float = math.inf) -> None:
        """Watch the lives of all minds from now on, at the end of every step: `mind.life` and `world.toil` say what.

        A run stops when steps have taken more work than `budget`, in rows of the solver times substeps, or when all
        minds have hardly moved for `until_still` seconds.
        """
        if not until_still > 0.0 or not 0 <= budget <= 1 << 62:
            raise ValueError(f"watch_minds: {budget} and {until_still} are not a budget and a time")
        window = round(WINDOW_LENGTH / self._world.dt)
        watch_from_now(self._address, int(budget), float(until_still), window)
        self._follow_shapes()
        see_lives(self._address)

    @property
    def toil(self) -> dict[str, float]:
        """Of all minds since `watch_minds`: energy of the world now and at the start, work of effects (all J), ...

        `conveyed` is the work of surfaces that move along themselves, and `surplus` the most that came from nowhere.
        """
        h = self._minds.header[0]
        return {name: float(h[name]) for name in TOIL}

    @an_input
    def immerse(self, density: float = 1000.0, drag: float = 1.0) -> None:
        """Let all bodies be in a fluid of a density (kg/m³), which resists each face that moves against it.

        The force on a quarter of a face of a shape's box is ½ density drag area v², v the speed of its middle along
        the normal.
        """
        fluid, shape = finite("immerse: density", density, 0.0, 1e6), finite("immerse: drag", drag, 0.0, 1e3)
        self._header[0]["fluid"], self._header[0]["drag"] = fluid, shape
        self._wake_all()

    def _wake_all(self) -> None:
        """Something acts otherwise on everything."""
        for tree in self.forest.trees.tolist():
            self._wake_tree(tree & INDEX, BY_FORCE)

    @property
    def gravity(self) -> Array:
        """m/s², world axes. It can be set at any time, and then acts from the next step on; everything wakes."""
        return self.forest.gravity

    @gravity.setter
    def gravity(self, value: Iterable[float]) -> None:
        self._pull(vector(value, 3, "world: gravity"))

    @an_input
    def _pull(self, gravity: Array) -> None:
        impacts = self._header[0]["impacts"]
        self.forest.gravity = gravity
        if impacts["epsilon"] > 0.0:  # it is the contact model "impulse"
            impacts["slow"] = slowest(gravity, float(impacts["epsilon"]))
        self._wake_all()

    # --------------------------------------------------------------------------------------------------------- grasps

    def _follow_grasps(self) -> None:
        """A grasp has changed the structure, or wants room to."""
        h = self._minds.header[0]
        trees, _, joints, loops = self.forest._pools["count"].tolist()
        contacts = int(self.collisions.header["contact_room"][0])
        self.solver.follow(trees + 1, self.shapes.count, contacts, joints + 1, loops + 1)
        changed = int(h["changed"])
        h["changed"] = 0
        if not changed:
            return
        for joint in [joint for joint in self._parted if not self.forest.has_joint(joint)]:
            for one, other in self._parted.pop(joint):
                self.collisions.heed(one, other)
        for joint in self._minds["effects"]["held"].tolist():
            known = joint < 0 or joint in self._parted or not self.forest.has_joint(joint)
            if not known and self.forest.closes_loop(joint):
                self._part(joint)
        self._watches.follow()
        for bit, what in ((HELD, "grasp"), (RELEASED, "let go")):
            if changed & bit:
                for onlooker in self._onlookers:
                    onlooker.saw(what)


def _called(one: Sense | Effect) -> str:
    return f"{'sense' if isinstance(one, Sense) else 'effect'} {one.what.name} of {one.link!r}"


def _whose(brain: Brain, link: str) -> str:
    """The first sense or effect of a link."""
    both: tuple[Sense | Effect, ...] = (*brain.senses, *brain.effects)
    return next(_called(one) for one in both if one.link == link)
