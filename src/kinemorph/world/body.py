"""Handles: a body or a figure of a world, which stays the same thing while the structure changes around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose, vector
from kinemorph.spatial.products import times
from kinemorph.spatial.quaternion import from_matrix
from kinemorph.world.ids import BodyId, JointId

if TYPE_CHECKING:
    from kinemorph.world.control.drives import Controls
    from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]


@checked_on_failure
class Body:
    """One body of a world. What it says is of now; once the body is removed, it is refused."""

    __slots__ = ("birth", "id", "name", "world")

    def __init__(self, world: World, id: int, name: str, birth: int | None = None) -> None:
        self.world, self.id, self.name = world, BodyId(id), name
        # an id may come to another body, after `restore`
        self.birth = world.registry.births[id] if birth is None else birth

    @property
    def alive(self) -> bool:
        """Whether it is still in its world."""
        return self.world.registry.births.get(self.id) == self.birth

    @property
    def pose(self) -> Pose:
        """Where the body's own frame is in the world."""
        return self.world.forest.pose(self.world._id(self))

    @pose.setter
    def pose(self, pose: Pose) -> None:
        if not isinstance(pose, Pose):
            raise TypeError(
                f"{self!r}: pose must be a kinemorph.Pose, not {repr_of(pose)}; position is for three numbers"
            )
        self.world.placement.place(self, pose)

    @property
    def position(self) -> Array:
        """m, the origin of its own frame."""
        return self.pose.position

    @position.setter
    def position(self, position: Iterable[float]) -> None:
        self.world.placement.place(self, vector(position, 3, "position"))

    @property
    def twist(self) -> Array:
        """Angular velocity, and velocity of the origin of its own frame (6), world axes."""
        return self.world.forest.twist(self.world._id(self))

    @twist.setter
    def twist(self, twist: Iterable[float]) -> None:
        self.world.placement.place(self, twist=vector(twist, 6, "twist"))

    @property
    def velocity(self) -> Array:
        """m/s, of the origin of its own frame, world axes."""
        return self.twist[3:]

    @velocity.setter
    def velocity(self, velocity: Iterable[float]) -> None:
        self.world.placement.place(self, twist=np.r_[self.twist[:3], vector(velocity, 3, "velocity")])

    @property
    def angular_velocity(self) -> Array:
        """rad/s, world axes."""
        return self.twist[:3]

    @angular_velocity.setter
    def angular_velocity(self, velocity: Iterable[float]) -> None:
        self.world.placement.place(self, twist=np.r_[vector(velocity, 3, "angular_velocity"), self.twist[3:]])

    @property
    def mass(self) -> float:
        """kg"""
        return float(self.world.queries.link_of(self)["mass"])

    @property
    def asleep(self) -> bool:
        """Whether it does not move until something wakes it."""
        return self.world.sleep.is_asleep(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and (other.world, other.id, other.birth) == (self.world, self.id, self.birth)

    def __hash__(self) -> int:
        return hash(self.id)

    def __index__(self) -> int:
        return int(self.id)

    def __repr__(self) -> str:
        return f"Body {self.name!r}"


@checked_on_failure
class Figure:
    """The bodies and joints of a model that has come into a world, by their names in the model."""

    __slots__ = ("_homes", "_joints", "_known", "_made", "_model", "control", "name", "world")

    def __init__(
        self, world: World, name: str, model: Model | None, bodies: list[tuple[str, int, int]], joints: dict[str, int],
        control: Controls, homes: list[tuple[int, tuple[float, ...]]],
    ) -> None:  # fmt: skip
        self.world, self.name, self._model = world, name, model
        self.control = control  # what its actuators are told, by their names
        self._known = bodies  # name, id and birth of each
        self._made: dict[str, Body] | None = None  # their handles, made at the first query
        self._joints = joints
        self._homes = homes  # joints by which a body floats, and the places that they count from

    @property
    def _bodies(self) -> dict[str, Body]:
        if self._made is None:
            self._made = {name: Body(self.world, id, name, birth) for name, id, birth in self._known}
        return self._made

    @property
    def model(self) -> Model:
        """What came in. Snapshots and copies of a world do not keep it."""
        if self._model is None:
            raise AttributeError(f"{self!r}: the model is not kept in snapshots and copies; ask the bodies and joints")
        return self._model

    @property
    def joints(self) -> list[str]:
        """The names of its joints, those of the tree and then those of loops; some may have been cut since."""
        return list(self._joints)

    def __getitem__(self, name: str) -> Body:
        """The body that was a link of this name."""
        if not isinstance(name, str) or name not in self._bodies:
            raise KeyError(self._absent(name))
        return self._bodies[name]

    def _absent(self, name: object) -> str:
        """Why there is no body of this name, and which one to ask for."""
        model = self._model
        if model is not None and isinstance(name, str) and name not in model.names and name in model.frames:
            link, _ = model.frames[name]
            if link >= 0:
                return f"{self!r}: {repr_of(name)} is part of {model.names[link]!r}, which it is fixed to; take that"
        return f"{self!r} has no body {repr_of(name)}, but {', '.join(self._bodies)}"

    def __iter__(self) -> Iterator[Body]:
        return iter(self._bodies.values())

    def __len__(self) -> int:
        return len(self._known)

    def joint(self, name: str) -> int:
        """The id of the joint of this name, of the tree or of a loop, for `world.cut`, `motor`, `servo` and others."""
        if not isinstance(name, str) or name not in self._joints:
            raise KeyError(f"{self!r} has no joint {repr_of(name)}, but {', '.join(self._joints)}")
        return JointId.of(self.world, self._joints[name])

    def position(self, joint: str) -> Array:
        """Where a joint is: its part of q, as it was declared, whichever of its two links it carries by now.

        The free joint of a figure that floated says where its body is, also while the figure is held elsewhere.
        """
        id = self.joint(joint)
        held = self._held(joint, id)
        if held is None:
            return self.world.forest.position(id)
        body, home = held
        pose = home.inverse() @ body.pose
        R: Any = tuple(pose.rotation.ravel().tolist())
        return np.array((*pose.position.tolist(), *from_matrix(R)))

    def velocity(self, joint: str) -> Array:
        """How fast a joint moves: its part of v, likewise."""
        id = self.joint(joint)
        held = self._held(joint, id)
        if held is None:
            return self.world.forest.velocity(id)
        body, _ = held
        R, twist = body.pose.rotation, body.twist
        return np.r_[times(R.T, twist[:3]), times(R.T, twist[3:])]

    def _held(self, joint: str, id: int) -> tuple[Body, Pose] | None:
        """The body of a free joint that gave way to another one, and the place that it counts from; else None."""
        if not self._homes or self.world.forest.has_joint(id):
            return None
        names = list(self._joints)
        for i, numbers in self._homes:
            body = Body(self.world, self._known[i][1], self._known[i][0], self._known[i][2])
            if names[i] == joint and body.alive:
                return body, Pose.known(np.array(numbers[9:]), np.array(numbers[:9]).reshape(3, 3))
        return None

    def __repr__(self) -> str:
        return f"Figure {self.name!r} of {len(self)} bodies"
