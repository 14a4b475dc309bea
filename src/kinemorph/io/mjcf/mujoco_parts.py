"""Bodies, joints and what else MuJoCo knows, as plain parts: MJCF files and compiled models are both read to these.

Frames are MuJoCo's: a body's frame is where the file draws it, its joints turn about anchors in that frame, and all
joints are where the file draws them when our q is zero, whatever number MuJoCo calls that (`ref`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from kinemorph._files import quoted
from kinemorph._xml import Element
from kinemorph.geometry.shapes import Shape
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.equipment import Actuator, Floor, PairMaterial
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.spatial.pose import Pose, Vector

ORIGIN = np.zeros(3)
SENSOR = "a model has no sensors: it is left out"
UNBOUNDED_RANGE = 1e10  # MuJoCo's ranges have two ends: this far is none


@dataclass
class JointPart:
    """A joint of a body. Limits and the spring's rest are counted from where the file draws it."""

    where: Element
    name: str
    kind: JointKind
    anchor: Vector
    axis: Vector
    ref: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    effort_limit: float = np.inf
    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0

    def made(self) -> Joint:
        single = self.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        return Joint(
            self.kind, self.axis if single else "z", lower=self.lower, upper=self.upper, effort_limit=self.effort_limit,
            stiffness=self.stiffness, damping=self.damping, friction=self.friction, armature=self.armature,
            rest=self.rest if single and self.rest else None, name=self.name,
        )  # fmt: skip


@dataclass
class BodyPart:
    """A body: where it is on its parent, by number, and what is on it. The first one is the world."""

    where: Element
    name: str
    parent: int
    pose: Pose
    inertia: Inertia | None = None
    joints: list[JointPart] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)


@dataclass
class SitePart:
    where: Element
    name: str
    body: int
    pose: Pose


@dataclass
class LoopPart:
    """Two bodies that are held together."""

    where: Element
    name: str
    a: int
    b: int
    kind: JointKind
    at_a: Pose
    at_b: Pose


@dataclass
class CouplingPart:
    """A joint that follows another one, or stays where it is told if there is no other."""

    where: Element
    name: str
    joint: str
    source: str | None
    multiplier: float
    offset: float


@dataclass
class KeyPart:
    where: Element
    name: str
    time: float
    qpos: Vector | None
    qvel: Vector | None
    control: tuple[float, ...] | None


@dataclass
class Parts:
    """All of a model."""

    where: Element
    name: str
    gravity: Vector
    bodies: list[BodyPart] = field(default_factory=list)
    sites: list[SitePart] = field(default_factory=list)
    loops: list[LoopPart] = field(default_factory=list)
    couplings: list[CouplingPart] = field(default_factory=list)
    actuators: list[tuple[Element, Actuator]] = field(default_factory=list)
    keys: list[KeyPart] = field(default_factory=list)
    floors: list[Floor] = field(default_factory=list)
    exclusions: list[tuple[int, int]] = field(default_factory=list)
    pair_materials: list[PairMaterial] = field(default_factory=list)

    def joints(self) -> Iterable[JointPart]:
        return (joint for body in self.bodies for joint in body.joints)


def range_ends(low: float, high: float, ref: float = 0.0) -> tuple[float, float]:
    """A range, counted from a reference; an end that is far enough away is none."""
    return (low - ref if low > -UNBOUNDED_RANGE else -np.inf), (high - ref if high < UNBOUNDED_RANGE else np.inf)


class Unsupported:
    """Features that are not supported: refused, or left out with a warning if their kind is in `ignore`."""

    def __init__(self, ignore: Iterable[str], warned: FileWarnings, known: Collection[str]) -> None:
        self.ignore = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        self.warned = warned
        for kind in self.ignore:
            if kind not in known:
                raise ValueError(
                    f"ignore: there is no {quoted(kind)} to leave out; there is {', '.join(sorted(known))}"
                )

    def found(self, kind: str, where: Element, what: str) -> None:
        """Say that something of a kind is there: an error, unless that kind is to be left out."""
        if kind not in self.ignore:
            raise where.error(f'{what}; ignore=("{kind}",) leaves it out')
        self.warned.add(f"ignored {kind}", where, f"{what}; it is left out")


KINDS = (
    "actuator", "adhesion", "alignfree", "attach", "equality", "flex", "fluid", "gravcomp", "hfield", "limit", "mocap",
    "pair", "plugin", "plastic", "polynomial", "sdf", "surfacevel", "tendon", "armature", "shell",
)  # fmt: skip
