"""Numbers of a world by names: `torso.z`, `elbow.q`. What is not there now is not there in the mask either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]

OF_BODIES: dict[str, Callable[[Any, Any], float]] = {
    **{axis: lambda pose, _, k=k: pose.position[k] for k, axis in enumerate("xyz")},  # type: ignore[misc]
    **{f"v{axis}": lambda _, twist, k=k: twist[3 + k] for k, axis in enumerate("xyz")},  # type: ignore[misc]
    **{f"w{axis}": lambda _, twist, k=k: twist[k] for k, axis in enumerate("xyz")},  # type: ignore[misc]
    "ahead": lambda pose, _: pose.rotation[2, 0],  # how far its x axis points up
    "aside": lambda pose, _: pose.rotation[2, 1],
    "up": lambda pose, _: pose.rotation[2, 2],
}
OF_JOINTS = ("q", "v")


class _Name(NamedTuple):
    thing: str
    number: str
    of_joint: bool


class Reading:
    """Reads numbers of bodies (x y z, vx vy vz, wx wy wz, ahead, aside, up) and of joints (q, v) by name."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._parsed = [self._parse(name) for name in self.names]

    @staticmethod
    def _parse(name: str) -> _Name:
        thing, _, number = name.rpartition(".")
        if not thing or (number not in OF_BODIES and number not in OF_JOINTS):
            known = ", ".join([*OF_BODIES, *OF_JOINTS])
            raise ValueError(f"reading: {name!r} must be the name of a body or joint, a dot, and one of {known}")
        return _Name(thing, number, number in OF_JOINTS)

    def __len__(self) -> int:
        return len(self.names)

    def read(self, world: World) -> tuple[Array, np.ndarray[Any, np.dtype[np.int8]]]:
        """The numbers, and of each 1 if what it is of is there, else 0: then the number is 0, too."""
        forest = world.forest
        bodies = {name: id for id, name in world._names.items()}
        joints = {name: id for id, name in world._joints.items() if forest.has_joint(id)}
        values, present = np.zeros(len(self.names)), np.zeros(len(self.names), np.int8)
        seen: dict[str, tuple[Any, Any]] = {}
        for k, (thing, number, of_joint) in enumerate(self._parsed):
            if of_joint:
                id = joints.get(thing)
                if id is None or forest.closes_loop(id):  # what closes a loop has no coordinates of its own
                    continue
                part = forest.position(id) if number == "q" else forest.velocity(id)
                if len(part) != 1:
                    raise ValueError(f"reading: joint {thing!r} has {len(part)} numbers for {number!r}, not one")
                values[k] = part[0]
            elif thing in bodies:
                if thing not in seen:
                    seen[thing] = forest.pose(bodies[thing]), forest.twist(bodies[thing])
                values[k] = OF_BODIES[number](*seen[thing])
            else:
                continue
            present[k] = 1
        return values, present
