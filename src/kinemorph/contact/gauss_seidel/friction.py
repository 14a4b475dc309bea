"""Coulomb friction of one contact in an iteration: the tangential impulses for a slip velocity, within the disc μ p."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.spatial.lanes.four import fma
from kinemorph.spatial.scalar import sqrt


@kernel
def solve_friction(contact: Any, v1: float, v2: float, most: float) -> tuple[float, float]:
    """Tangential impulses for a slip velocity: sticking inside a disc of radius `most`, else opposite to the slip."""
    p1, p2 = sticking_impulses(contact, v1, v2)
    return sliding_impulses(contact, v1, v2, most) if p1 * p1 + p2 * p2 > most * most else (p1, p2)


@kernel
def sticking_impulses(contact: Any, v1: float, v2: float) -> tuple[float, float]:
    """Tangential impulses that stop the slip."""
    p1 = fma(-contact["tangent_mass12"], v2, fma(-contact["tangent_mass11"], v1, contact["tangent_impulse1"]))
    return p1, fma(-contact["tangent_mass22"], v2, fma(-contact["tangent_mass12"], v1, contact["tangent_impulse2"]))


@kernel
def sliding_impulses(contact: Any, v1: float, v2: float, most: float) -> tuple[float, float]:
    """Tangential impulses opposite to the slip, clamped to a disc of radius `most`.

    Scaling by the inverse 2 x 2 matrix and clamping would converge to a force that is not opposite to the slip.
    """
    p1 = fma(-contact["least_tangent_mass"], v1, contact["tangent_impulse1"])
    p2 = fma(-contact["least_tangent_mass"], v2, contact["tangent_impulse2"])
    size = p1 * p1 + p2 * p2
    ratio = most / sqrt(size) if size > most * most else 1.0
    return ratio * p1, ratio * p2
