"""Joints that break: one that bears more than it holds is cut, and what bears most goes first."""

from __future__ import annotations

from collections.abc import Mapping

from kinemorph.motion.events import Event
from kinemorph.scenes.files.scene_parts import joint_of
from kinemorph.world.control.events import EventRecord
from kinemorph.world.world import World


class Breaking:
    """Joints of a world by their names, what each holds (N), and when which broke."""

    def __init__(self, strengths: Mapping[str, float]) -> None:
        self.strengths = dict(strengths)
        self.first = (-1.0, "")  # s: what bore most when something last bore too much
        self.broken: list[tuple[float, str, float]] = []  # s, which, and N that it bore

    def watch(self, world: World, name: str) -> None:
        """Have a joint give way if it bears too much."""
        world.when(Event.load(joint_of(world, name), self.strengths[name], times=1, name=name), self.give_way)

    def give_way(self, world: World, moment: EventRecord) -> None:
        """A joint bears more than it holds. What bears most breaks first, which may be a relief for the others."""
        if self.first[0] != moment.time:
            loads = {
                watch.event.name: watch.value / self.strengths[watch.event.name]
                for watch in world.monitors
                if watch.event.name in self.strengths
            }
            self.first = moment.time, max(loads, key=lambda name: loads[name])
        if moment.name != self.first[1]:
            self.watch(world, moment.name)
            return
        world.cut(joint_of(world, moment.name))
        self.broken.append((moment.time, moment.name, moment.value))
