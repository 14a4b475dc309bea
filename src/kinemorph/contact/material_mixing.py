"""Combination of the materials of two shapes."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.spatial.scalar import sqrt


@kernel
def mix_materials(materials: Any, agreed: Any, shape_a: int, shape_b: int) -> tuple[float, float, float, float]:
    """Friction, restitution, rolling and torsion of two shapes.

    Those of their pair material, if there is one; else those of the material of higher priority; else the geometric
    mean of their frictions, and the maximum of all others.
    """
    one, other = materials[shape_a], materials[shape_b]
    if one["pairs"] > 0 and other["pairs"] > 0:
        first, second = min(shape_a, shape_b), max(shape_a, shape_b)
        for k in range(agreed.shape[0]):
            m = agreed[k]
            if m["a"] == first and m["b"] == second:
                return m["friction"], m["restitution"], m["rolling"], m["torsion"]
    if one["priority"] > other["priority"]:
        return one["friction"], one["restitution"], one["rolling"], one["torsion"]
    if one["priority"] < other["priority"]:
        return other["friction"], other["restitution"], other["rolling"], other["torsion"]
    return (
        sqrt(one["friction"] * other["friction"]),
        max(one["restitution"], other["restitution"]),
        max(one["rolling"], other["rolling"]),
        max(one["torsion"], other["torsion"]),
    )


@kernel
def mix_tangential_restitution(materials: Any, agreed: Any, shape_a: int, shape_b: int) -> float:
    """Tangential restitution of two shapes, by the same rules."""
    one, other = materials[shape_a], materials[shape_b]
    if one["pairs"] > 0 and other["pairs"] > 0:
        first, second = min(shape_a, shape_b), max(shape_a, shape_b)
        for k in range(agreed.shape[0]):
            if agreed[k]["a"] == first and agreed[k]["b"] == second:
                return agreed[k]["tangential"]
    if one["priority"] != other["priority"]:
        return one["tangential"] if one["priority"] > other["priority"] else other["tangential"]
    return max(one["tangential"], other["tangential"])
