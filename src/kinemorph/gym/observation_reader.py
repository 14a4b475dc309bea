"""Numbers of a world by names: `torso.z`, `elbow.q`. What is not there now is not there in the mask either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinemorph.multibody.model.declared import joint_signs
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Array
from kinemorph.structure.forest.layout import IN_USE, JOINTS, Q, V
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.world import World

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


@checked_first
class Reading:
    """Reads numbers of bodies (x y z, vx vy vz, wx wy wz, ahead, aside, up) and of joints (q, v) by name."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        parsed = [self._parse(name) for name in self.names]
        self._bodies = [(k, name.thing, OF_BODIES[name.number]) for k, name in enumerate(parsed) if not name.of_joint]
        of_joints = [(k, name) for k, name in enumerate(parsed) if name.of_joint]
        self._joints = [name.thing for _, name in of_joints]
        self._places = np.array([k for k, _ in of_joints], np.intp)
        self._rates = np.array([name.number == "v" for _, name in of_joints], np.bool_)

    @staticmethod
    def _parse(name: str) -> _Name:
        thing, _, number = name.rpartition(".")
        if not thing or (number not in OF_BODIES and number not in OF_JOINTS):
            known = ", ".join([*OF_BODIES, *OF_JOINTS])
            raise ValueError(f"reading: {name!r} must be the name of a body or joint, a dot, and one of {known}")
        return _Name(thing, number, number in OF_JOINTS)

    def __len__(self) -> int:
        return len(self.names)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names,)  # what is looked up by them is made anew

    def check(self, world: World) -> None:
        """Refuse the name of two bodies or of two joints, and of a joint that is there and has not one coordinate.

        A joint of such a kind that appears later is not there in the mask, for there is no one number to read.
        """
        bodies = Counter(world.registry.body_names.values())
        joints = Counter(name for id, name in world.registry.joint_names.items() if world.forest.has_joint(id))
        twice = [f"body {name!r}" for _, name, _ in self._bodies if bodies[name] > 1]
        if twice := twice + [f"joint {name!r}" for name in self._joints if joints[name] > 1]:
            raise ValueError(f"reading: {twice[0]} is there more than once; give each of them a name of its own")
        for name in dict.fromkeys(self._joints):
            for id, other in world.registry.joint_names.items():
                if name != other or not world.forest.has_joint(id) or world.forest.closes_loop(id):
                    continue
                count = len(world.forest.velocity(id))
                if count != 1:
                    raise ValueError(
                        f"reading: joint {name!r} has {count} degrees of freedom, and q and v are of joints with one; "
                        "read the body that it carries"
                    )

    def read(self, world: World) -> tuple[Array, np.ndarray[Any, np.dtype[np.int8]]]:
        """The numbers, and of each 1 if what it is of is there, else 0: then the number is 0, too."""
        values, present = np.zeros(len(self.names)), np.zeros(len(self.names), np.int8)
        ids = {name: id for id, name in world.registry.body_names.items()}
        seen: dict[str, tuple[Any, Any]] = {}
        for k, thing, number in self._bodies:
            if thing in ids:
                if thing not in seen:
                    seen[thing] = world.forest.pose(ids[thing]), world.forest.twist(ids[thing])
                values[k], present[k] = number(*seen[thing]), 1
        if self._joints:
            self._read_joints(world, values, present)
        return values, present

    def _read_joints(self, world: World, values: Array, present: np.ndarray[Any, np.dtype[np.int8]]) -> None:
        """All joints of a tree at once. What closes a loop has no coordinates of its own."""
        forest = world.forest
        known = {name: id for id, name in world.registry.joint_names.items()}
        ids = np.array([known.get(name, -1) for name in self._joints], np.int64)
        slots = forest._tables[JOINTS][np.where(ids >= 0, ids & ID_INDEX_MASK, 0)]
        alive = (ids >= 0) & (slots["next"] == IN_USE) & (slots["generation"] == ids >> 32) & (slots["tree"] >= 0)
        for tree in np.unique(slots["tree"][alive]).tolist():
            here = np.flatnonzero(alive & (slots["tree"] == tree))
            links = forest._links(tree)[slots["link"][here]]
            for rate, first, size, which in ((False, "iq", "nq", Q), (True, "iv", "nv", V)):
                some = (self._rates[here] == rate) & (links[size] == 1)  # see `check`
                at = self._places[here[some]]
                values[at] = joint_signs(links[some]) * forest._vector(tree, which)[links[first][some]]
                present[at] = 1
