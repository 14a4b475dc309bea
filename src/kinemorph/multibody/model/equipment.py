"""Equipment of a model for simulations: floors, actuators, collision exclusions, pair materials, named states.

Dynamics functions ignore all of it; a world uses it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from kinemorph.geometry.ground import Ground, HalfSpace
from kinemorph.geometry.material import ALL_GROUPS_MASK, Material
from kinemorph.geometry.shapes import Colour
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import as_number
from kinemorph.spatial.pose import Pose

NO_RANGE = (-math.inf, math.inf)


@checked_first
@dataclass(frozen=True, eq=False)
class Floor:
    """Ground in the world, with its frame at `pose`."""

    ground: Ground = field(default_factory=HalfSpace)
    pose: Pose = field(default_factory=Pose)
    material: Material | None = None
    group: int = 1
    mask: int = ALL_GROUPS_MASK
    colour: Colour | None = None
    name: str = ""


@checked_first
@dataclass(frozen=True)
class PairMaterial:
    """The material of one pair of shapes, by their names; they collide whatever their groups and masks say."""

    a: str
    b: str
    material: Material


@checked_first
@dataclass(frozen=True)
class Actuator:
    """A drive of a joint. From a control u it makes the force f = gain u + bias₀ + bias₁ x + bias₂ ẋ.

    x is gear · q, and the joint gets gear times f; a spherical joint has a gear for each entry of v, and no x. Both u
    and f stay in their ranges. `motor`, `position` and `velocity` make the usual ones.
    """

    name: str
    joint: str
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    gear: tuple[float, ...] = (1.0,)
    control: tuple[float, float] = NO_RANGE
    force: tuple[float, float] = NO_RANGE

    def __post_init__(self) -> None:
        numbers = (self.gain, *self.bias, *self.gear)
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"actuator {self.name!r}: {numbers} must be finite")
        for what, (low, high) in (("control", self.control), ("force", self.force)):
            if not low <= high:
                raise ValueError(f"actuator {self.name!r}: {what} from {low} to {high} leaves no room")
        if len(self.gear) != 1 and any(self.bias):
            raise ValueError(f"actuator {self.name!r}: a joint of several degrees of freedom has no x for a bias")

    @staticmethod
    def motor(name: str, joint: str, gear: float = 1.0, **more: tuple[float, float]) -> Actuator:
        """The control is the force (N or N m)."""
        return Actuator(name, joint, 1.0, (0.0, 0.0, 0.0), (gear,), **more)

    @staticmethod
    def position(
        name: str, joint: str, stiffness: float, damping: float = 0.0, gear: float = 1.0, **more: tuple[float, float]
    ) -> Actuator:
        """A spring to the position that is the control, with a damper."""
        return Actuator(name, joint, stiffness, (0.0, -as_number(stiffness), -as_number(damping)), (gear,), **more)

    @staticmethod
    def velocity(name: str, joint: str, damping: float, gear: float = 1.0, **more: tuple[float, float]) -> Actuator:
        """A damper to the velocity that is the control."""
        return Actuator(name, joint, damping, (0.0, 0.0, -as_number(damping)), (gear,), **more)

    def turned(self) -> Actuator:
        """The same drive for the inverted joint."""
        return replace(self, gear=tuple(-g for g in self.gear))


@checked_first
@dataclass(frozen=True, eq=False)
class Keyframe:
    """A named state with the controls of the actuators, in the model's order of both."""

    state: State
    control: tuple[float, ...] = ()


@checked_first
@dataclass(frozen=True, eq=False)
class Equipment:
    """All equipment of a model. Exclusions are pairs of bodies by id, -1 for the base.

    Parts of a model that overlap when it is added to a world do not collide with each other there; with `apart` they
    are pushed apart.
    """

    floors: tuple[Floor, ...] = ()
    exclusions: tuple[tuple[int, int], ...] = ()
    pair_materials: tuple[PairMaterial, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    keyframes: Mapping[str, Keyframe] = field(default_factory=dict)
    apart: bool = False

    def check(self, model: str, joints: Mapping[str, int], nq: int, nv: int) -> None:
        """Raise if something does not fit the model; `joints` are the numbers of degrees of freedom by name."""
        names: set[str] = set()
        for a in self.actuators:
            if a.name in names:
                raise ValueError(f"model {model!r}: there are two actuators {a.name!r}")
            names.add(a.name)
            if a.joint not in joints:
                raise ValueError(f"model {model!r}: actuator {a.name!r} drives a joint {a.joint!r} that is not there")
            if len(a.gear) != joints[a.joint]:
                raise ValueError(
                    f"model {model!r}: actuator {a.name!r} has {len(a.gear)} gears for joint {a.joint!r}, which has "
                    f"{joints[a.joint]} degrees of freedom"
                )
        for name, key in self.keyframes.items():
            if key.state.q.shape != (nq,) or key.state.v.shape != (nv,):
                raise ValueError(
                    f"model {model!r}: keyframe {name!r} has q of {key.state.q.shape} and v of {key.state.v.shape}, "
                    f"expected ({nq},) and ({nv},)"
                )
            if not (np.isfinite(key.state.q).all() and np.isfinite(key.state.v).all()):
                raise ValueError(f"model {model!r}: keyframe {name!r} is not finite")

    def joined(self, other: Equipment, prefix: str, bodies: int) -> Equipment:
        """This equipment with that of a model that is added with a prefix, whose ids follow those of `bodies`."""
        shifted = ((a + bodies if a >= 0 else -1, b + bodies if b >= 0 else -1) for a, b in other.exclusions)
        drives = (replace(a, name=prefix + a.name, joint=prefix + a.joint) for a in other.actuators)
        return Equipment(
            (*self.floors, *other.floors),
            (*self.exclusions, *shifted),
            (*self.pair_materials, *other.pair_materials),
            (*self.actuators, *drives),
            self.keyframes,  # they are of one model, not of two; Model.keyframes leaves them out
            self.apart and other.apart,
        )


NO_EQUIPMENT = Equipment()
