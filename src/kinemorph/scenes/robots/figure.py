"""The human figure of the scenes: `km.human`, with Winter's masses, in a builder that takes a bar or a swing."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kinemorph.mocap.body.anthropometry import table_of
from kinemorph.mocap.body.figure import HEIGHT, MASS, SIMPLE, Posture, assemble, both, pose, upright
from kinemorph.multibody.model.builder import Builder

__all__ = ["HEIGHT", "MASS", "SIMPLE", "both", "human", "pose"]


def human(
    welded: Collection[str] = (), stiffness: Mapping[str, float] | float = 0.0, rest: Posture | None = None
) -> Builder:
    """A builder with the figure in it; see `km.human`. SIMPLE leaves 16 joint degrees of freedom."""
    return assemble(upright(), table_of("Winter"), MASS, HEIGHT, welded, None, stiffness, rest)
