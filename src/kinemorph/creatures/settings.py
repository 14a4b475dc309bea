"""Settings: within what ranges creatures are drawn and mutated, and how they grow from their genotypes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Any

from kinemorph.brain import Acted
from kinemorph.creatures.genotype import FUNCTIONS, MOST_NEURONS, MOST_NODES, Form, From


class Counting(StrEnum):
    """What the replication limit of a node counts."""

    USES = "uses"  # parts made of the node in the whole creature (Fontijne)
    CYCLES = "cycles"  # parts made of the node on the way from the root to here (Sims)


class Root(StrEnum):
    """How the root of a creature is carried."""

    FREE = "free"
    FIXED = "fixed"


@dataclass(frozen=True)
class Settings:
    """What a search may draw, and how genotypes become bodies. The defaults are those that evolved best so far."""

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
        for name in ("size", "reach", "scale", "part_scale"):
            low, high = getattr(self, name)
            if not 0.0 < low <= high < math.inf:
                raise ValueError(f"creature settings: {name} {(low, high)} must be positive, finite and in order")
        for name in (
            "weight",
            "stride",
            "density",
            "strength",
            "whole_strength",
            "softness",
            "joint_armature",
            "rate",
            "extent",
            "least_half",
        ):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ValueError(f"creature settings: {name} {getattr(self, name)} must be positive and finite")
        if not (self.forms and self.functions and self.sources):
            raise ValueError("creature settings: there must be a form, a function and a source to choose from")
        for name, most in (("most_nodes", MOST_NODES), ("most_neurons", MOST_NEURONS), ("most_replication", 64)):
            if not 1 <= getattr(self, name) <= most:
                raise ValueError(f"creature settings: {name} {getattr(self, name)} must be from 1 to {most}")
        for name in ("most_connections", "most_parts", "most_wires", "least_parts"):
            if getattr(self, name) < 1:
                raise ValueError(f"creature settings: {name} {getattr(self, name)} must be at least 1")
        unknown = [name for name in self.functions if name not in FUNCTIONS]
        if unknown:
            raise ValueError(f"creature settings: there is no function {unknown[0]!r}")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Asked for with every creature that grows."""
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_hash"}  # elsewhere it is another


DEFAULT = Settings()
