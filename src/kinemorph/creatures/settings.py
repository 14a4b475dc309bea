"""Settings: within what ranges creatures are drawn and mutated, and how they grow from their genotypes."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from kinemorph.brain import Acted
from kinemorph.brain.brain import LARGEST_BRAIN_RATE, MOST_BRAIN_ROWS
from kinemorph.creatures.genotype.genotype import (
    FUNCTIONS,
    LARGEST,
    LARGEST_GENE_WEIGHT,
    LEAST_SCALE,
    MOST_CONNECTIONS,
    MOST_NEURONS,
    MOST_NODES,
    MOST_REPLICATION,
    MOST_SCALE,
    SMALLEST,
    WIDEST_ANGLE,
    Form,
    From,
)
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.annotations import check_fields
from kinemorph.spatial.arguments.checks import repr_of

LARGEST_PART_COUNT = MOST_BRAIN_ROWS // 4  # three effectors a part, and a grasp


class Counting(StrEnum):
    """The count that the replication limit of a node applies to."""

    USES = "uses"  # parts made of the node in the whole creature (Fontijne)
    CYCLES = "cycles"  # parts made of the node on the way from the root to here (Sims)


class Root(StrEnum):
    """How the root of a creature is carried."""

    FREE = "free"
    FIXED = "fixed"


# What members may be: nothing that a genotype cannot have, and nothing of which numbers would become infinite.
CHOICES: dict[str, Any] = {"counting": Counting, "root": Root, "acted": Acted}
RANGES = {
    "size": (SMALLEST, LARGEST), "reach": (1e-6, WIDEST_ANGLE), "scale": (LEAST_SCALE, MOST_SCALE),
    "part_scale": (1e-3, 1e3),
}  # fmt: skip
NUMBERS = {
    "weight": (1e-6, LARGEST_GENE_WEIGHT), "stride": (1e-9, 1e3), "density": (1e-6, 1e6), "strength": (1e-9, 1e12),
    "whole_strength": (1e-9, 1e12), "softness": (1e-9, 1e9), "lag": (0.0, 1e9), "joint_damping": (0.0, 1e6),
    "joint_armature": (1e-12, 1e6), "rate": (1e-6, LARGEST_BRAIN_RATE), "overlap": (0.0, 1e6),
    "least_half": (1e-9, 1e6), "extent": (1e-9, 1e9),
}  # fmt: skip
COUNTS = {
    "most_nodes": (1, MOST_NODES), "most_connections": (1, MOST_CONNECTIONS), "most_neurons": (1, MOST_NEURONS),
    "most_replication": (1, MOST_REPLICATION), "most_parts": (1, LARGEST_PART_COUNT),
    "most_depth": (0, LARGEST_PART_COUNT), "most_wires": (1, MOST_BRAIN_ROWS - MOST_NEURONS),
    "least_parts": (1, LARGEST_PART_COUNT),
}  # fmt: skip


@checked_on_failure
@dataclass(frozen=True)
class Settings:
    """Ranges of random draws, and rules of growth. The defaults are those that evolved best so far."""

    # ranges of random draws and of mutations
    forms: tuple[Form, ...] = (Form.BOX,)
    functions: tuple[str, ...] = tuple(FUNCTIONS)
    sources: tuple[From, ...] = tuple(From)
    size: tuple[float, float] = (0.03, 0.25)  # half extents, m
    reach: tuple[float, float] = (0.05, 1.57)  # of a joint to each side, rad
    scale: tuple[float, float] = (0.5, 1.4)
    weight: float = 10.0  # largest, of neurons and effectors
    stride: float = 1.0  # how far mutations of numbers go, by how far they usually do
    most_nodes: int = 6
    most_connections: int = 12
    most_neurons: int = 8  # of a node, and of the central brain
    most_replication: int = 6

    # growth
    counting: Counting = Counting.USES
    most_parts: int = 12
    most_depth: int = 12
    most_wires: int = 1024  # neurons of a grown creature
    part_scale: tuple[float, float] = (0.4, 1.6)  # of accumulated scales
    root: Root = Root.FREE
    density: float = 500.0  # kg/m³

    # joints and drives
    acted: Acted = Acted.TARGET
    strength: float = 2e4  # N m of a cross-section A (m²): strength A^1.5
    whole_strength: float = 2.0  # sum of all torques, in units of weight times length
    softness: float = 0.25  # rad: stiffness of a drive to a target is its torque by this
    lag: float = 0.08  # s: damping of such a drive by its stiffness
    joint_damping: float = 0.01  # s: damping of a joint by its torque
    joint_armature: float = 0.002  # s²: armature of a joint by its torque; joints of three axes need it
    rate: float = 25.0  # Hz, of the brain
    grasps: bool = False  # whether parts without children may hold what they touch, by the last effector of their node

    # what is rejected at birth
    least_parts: int = 2
    overlap: float = 0.05  # depth of two parts that are not joined, by the largest extent of the smaller one
    least_half: float = 0.01  # m, of half extents
    extent: float = 3.0  # m, of the whole creature

    def __post_init__(self) -> None:
        for name, kind in CHOICES.items():
            object.__setattr__(self, name, _choice(name, kind, getattr(self, name)))
        for name, kind in (("forms", Form), ("sources", From)):
            object.__setattr__(self, name, tuple(_choice(name, kind, one) for one in getattr(self, name)))
        if not all(map(len, (self.forms, self.functions, self.sources))):
            raise ValueError("creature settings: there must be a form, a function and a source to choose from")
        unknown = [name for name in self.functions if name not in FUNCTIONS]
        if unknown:
            raise ValueError(f"creature settings: there is no function {unknown[0]!r}")
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            pair = isinstance(value, tuple) and len(value) == 2
            if not (pair and all(map(_is_number, value)) and low <= value[0] <= value[1] <= high):
                raise ValueError(
                    f"creature settings: {name} {repr_of(value)} must be two numbers in order, from {low:g} to {high:g}"
                )
        check_members("creature settings", self, NUMBERS, COUNTS)
        if not isinstance(self.grasps, bool | np.bool_):
            raise ValueError(f"creature settings: grasps {repr_of(self.grasps)} must be True or False")
        check_fields(self)

    def striding(self, stride: float) -> Settings:
        """The same with another stride: every child has its own, and all else is known to be right."""
        other = copy(self)
        object.__setattr__(other, "stride", stride)
        check_members("creature settings", other, {"stride": NUMBERS["stride"]}, {})
        return other

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Asked for with every creature that grows."""
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_hash"}  # elsewhere it is another


def _choice(name: str, kind: Any, value: Any) -> Any:
    """One of an enumeration, as it is or by its value."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(one.value) for one in kind)
        raise ValueError(f"creature settings: {name} {repr_of(value)} must be one of {known}") from None


def check_members(
    what: str, one: Any, numbers: dict[str, tuple[float, float]], counts: dict[str, tuple[int, int]]
) -> None:
    """Raise ValueError unless members are numbers, or whole ones, within their bounds."""
    for name, (low, high) in numbers.items():
        value = getattr(one, name)
        if not (_is_number(value) and low <= value <= high):
            raise ValueError(f"{what}: {name} {repr_of(value)} must be a number from {low:g} to {high:g}")
    for name, (least, most) in counts.items():
        value = getattr(one, name)
        if not (_is_number(value) and isinstance(value, int | np.integer) and least <= value <= most):
            raise ValueError(f"{what}: {name} {repr_of(value)} must be a whole number from {least} to {most}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


DEFAULT = Settings()
