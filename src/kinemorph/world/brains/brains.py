"""Brains of a world: attached to figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from kinemorph.brain.brain import Brain, Effect, Sense
from kinemorph.contact.layout import WOKEN_BY_FORCE
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.structure.forest.forest import Edit
from kinemorph.world.body import Body, Figure
from kinemorph.world.brains.attach import ATTACHED, attach_brain
from kinemorph.world.brains.brain_instances import BrainInstance, InstanceMemory, target_fields
from kinemorph.world.brains.instance_rows import HELD, NO_TARGET, RELEASED
from kinemorph.world.brains.update import set_brain_asleep
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input

Array = np.ndarray[Any, np.dtype[np.float64]]
FIELDS = {"target", "point", "blank", "asleep"}


@checked_on_failure
class Brains(Part):
    """`world.brains`: brains in figures. To iterate over it gives the handles of all brain instances that are alive."""

    __slots__ = ()

    @an_input
    def attach(self, figure: Figure, brain: Brain, target: Body | Iterable[float] | None = None) -> BrainInstance:
        """Attach a brain to a figure: from now on it runs within the steps of this world, at its own rate.

        Senses and effects name links of the figure's model: a body, or the joint that carries it. The instance lives
        as long as the first body of the figure.
        """
        world = self.world
        if not isinstance(figure, Figure) or figure.world is not world:
            raise TypeError(
                f"attach: it takes a figure of this world, such as world.add(model) gives, not {repr_of(figure)}"
            )
        if not isinstance(brain, Brain):
            raise TypeError(f"attach: it takes a kinemorph.Brain, not {repr_of(brain)}")
        aim, point = target_fields(world, target)
        neurons, senses, effects = brain.rows
        room = InstanceMemory(len(neurons), len(senses), len(effects), brain.ring_count)
        alone = world._brain_instances.count == 0
        links, members = self._places_of(figure, brain)
        world.solver.make_room("drives", "drive_room", int(world.solver.header["drive_count"][0]) + len(effects))
        world._brain_instances.room = room  # the header learns of it before the tables are moved there
        wrong = attach_brain(
            world._address, links, members, neurons, senses, effects, room.addresses, 1.0 / brain.rate, aim, point
        )  # fmt: skip
        if wrong != ATTACHED:
            self._refuse((*brain.senses, *brain.effects)[wrong], figure)
        row = world._brain_instances.add(room, alone)
        if not alone:
            world._lend_brains()
        if world._recorder is not None:
            world._recorder.follow(world._brain_instances)
        return BrainInstance(world, row)

    def _places_of(self, figure: Figure, brain: Brain) -> tuple[Any, Any]:
        """Of the links that a brain knows: body, birth and joint (n, 3), by their ids; and all bodies of its figure."""
        world = self.world
        names, bodies, births = zip(*figure._known, strict=True)
        every = list(zip(bodies, births, figure._joints.values(), strict=False))  # joints of loops come last
        if names == brain.links:  # as those of creatures are
            found = every
        else:
            links = dict(zip(names, every, strict=True))
            found = [links.get(name, (-1, -1, -1)) for name in brain.links]
        for name, (id, birth, _) in zip(brain.links, found, strict=True):
            if world.registry.births.get(id) != birth:
                try:
                    world._id(figure[name])  # which says what is wrong
                except KeyError as error:
                    raise KeyError(f"attach: {_whose(brain, name)}: {error.args[0]}") from None
        return np.array(found, np.int64).reshape(-1, 3), np.array(bodies, np.int64)

    def _refuse(self, one: Sense | Effect, figure: Figure) -> NoReturn:
        """Say what is wrong with the joint of a sense or an effect."""
        carried = dict(zip((name for name, *_ in figure._known), figure._joints.values(), strict=False))
        drives, dof = isinstance(one, Effect), one.dof if isinstance(one, Effect) else one.axis
        what = f"attach: {_called(one)}"
        _, dofs, _ = self.world.drives._joint(what, carried[one.link])  # which refuses those that cannot move
        if not 0 <= dof < len(dofs):
            raise ValueError(f"{what}: its joint has {len(dofs)} degrees of freedom, and none {dof}")
        if drives and dofs[dof]["effort_limit"] == 0.0:
            raise ValueError(f"{what}: its joint has an effort limit of 0; raise the limit")
        raise ValueError(f"{what}: its joint is a ball, whose position is not one number")

    def __iter__(self) -> Iterator[BrainInstance]:
        """All brain instances that are alive."""
        return iter(self._handles())

    def __len__(self) -> int:
        return len(self._handles())

    def _handles(self) -> list[BrainInstance]:
        world = self.world
        rows = np.flatnonzero(world._brain_instances["minds"]["body"] >= 0).tolist()
        return [one for one in (BrainInstance(world, row) for row in rows) if one.alive]

    @an_input
    def set_instance(self, row: int, fields: dict[str, Any]) -> None:
        """Change fields of a brain instance, as its handle does."""
        world = self.world
        if not 0 <= row < world._brain_instances.count or not set(fields) <= FIELDS:
            raise ValueError(f"world: there is no mind {row} with {', '.join(fields)}")
        aim = fields.get("target", NO_TARGET)
        if aim not in (-1, NO_TARGET) and not (type(aim) is int and world.forest.has_body(aim)):
            raise ValueError(f"world: mind {row} cannot have target {repr_of(aim)}: there is no such body")
        one = world._brain_instances["minds"][row]
        for name, value in fields.items():
            if name == "asleep":
                set_brain_asleep(world._address, row, bool(value))
            else:
                one[name] = value
        if one["body"] >= 0 and world.forest.has_body(int(one["body"])):
            world.sleep._wake(int(one["body"]), why=WOKEN_BY_FORCE)

    @an_input
    def set_grasp(self, row: int, body: Body | int, joint: Edit | int) -> None:
        """Let a grasp by a body begin with a joint that holds something already."""
        world = self.world
        id, held = world._id(body), world.joint_id(joint)
        rows = world._brain_instances.part("effects", row) if 0 <= row < world._brain_instances.count else ()
        found = [effect for effect in rows if effect["body"] == id]
        if not found:
            raise ValueError(f"world: mind {row} has no grasp by {world.registry.body_names[id]!r} that could hold it")
        found[0]["held"], found[0]["looped"] = held, world.forest.closes_loop(held)

    # --------------------------------------------------------------------------------------------------------- grasps

    def _follow_grasps(self) -> None:
        """A grasp has changed the structure, or wants room to."""
        world = self.world
        h = world._brain_instances.header[0]
        trees, _, joints, loops = world.forest._pools["count"].tolist()
        contacts = int(world.collisions.header["contact_room"][0])
        world.solver.follow(trees + 1, world.shapes.count, contacts, joints + 1, loops + 1)
        changed = int(h["changed"])
        h["changed"] = 0
        if not changed:
            return
        for joint in [joint for joint in world.registry.loop_exclusions if not world.forest.has_joint(joint)]:
            for one, other in world.registry.loop_exclusions.pop(joint):
                world.collisions.heed(one, other)
        for joint in world._brain_instances["effects"]["held"].tolist():
            known = joint < 0 or joint in world.registry.loop_exclusions or not world.forest.has_joint(joint)
            if not known and world.forest.closes_loop(joint):
                world.structure._exclude_loop_sides(joint)
        world._monitors.follow()
        for bit, what in ((HELD, "grasp"), (RELEASED, "let go")):
            if changed & bit:
                for observer in world.observers:
                    observer.saw(what)


def _called(one: Sense | Effect) -> str:
    return f"{'sense' if isinstance(one, Sense) else 'effect'} {one.what.name} of {one.link!r}"


def _whose(brain: Brain, link: str) -> str:
    """The first sense or effect of a link."""
    both: tuple[Sense | Effect, ...] = (*brain.senses, *brain.effects)
    return next(_called(one) for one in both if one.link == link)
