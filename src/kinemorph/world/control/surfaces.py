"""Surfaces: the materials of shapes, and of pairs of shapes that touch each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph.contact.layout import WOKEN_BY_FORCE
from kinemorph.contact.material_table import write_materials
from kinemorph.geometry.material import Material
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.structure.forest.layout import BODIES
from kinemorph.world.argument_checks import a_material
from kinemorph.world.body import Body
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input

if TYPE_CHECKING:
    from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
MATERIAL_NUMBERS = ("friction", "restitution", "rolling", "torsion", "tangential")  # fields of MATERIAL, in order


@checked_on_failure
class Surfaces(Part):
    """`world.surfaces`: the materials of shapes, and of pairs of shapes that touch each other."""

    __slots__ = ()

    def set_material(self, what: Body | int, material: Material) -> None:
        """Another material for all shapes of a body, or for one shape by its id, such as `add_ground` returns."""
        a_material("set_material", material)
        self._set_material(*shapes_and_neighbours(self.world, what), material)

    @an_input
    def _set_material(self, shapes: tuple[int, ...], bodies: tuple[int, ...], material: Material) -> None:
        world = self.world
        world.sleep._wake(*bodies, why=WOKEN_BY_FORCE)
        rows = np.array([world.shapes.row_of(shape) for shape in shapes], np.int64).reshape(-1, 1)
        self._write_materials(rows, laid([material]))

    def _write_materials(self, ids: Any, numbers: Any) -> None:
        """Write the materials of shapes; `numbers` of each end with what `laid` says."""
        world = self.world
        if write_materials(world.solver.address, ids, numbers):
            surfaces = world.solver["materials"]["surface"][: world.shapes.count]
            world.solver.header["any_moving_surface"] = bool(surfaces.any())

    @an_input
    def set_pair_material(self, a: int, b: int, material: Material) -> None:
        """A material for two shapes, by their ids, where they touch each other, whatever their own ones are."""
        world = self.world
        a_material("set_pair_material", material)
        one, other = sorted((world._shape_row(a), world._shape_row(b)))
        if one == other:
            raise ValueError(
                f"set_pair_material: a and b are one shape, {repr_of(a)}, and must be two that can touch each other"
            )
        table = world.solver["pair_materials"][: int(world.solver.header["pair_material_count"][0])]
        same = np.flatnonzero((table["a"] == one) & (table["b"] == other))
        i = int(same[0]) if len(same) else world.solver.claim("pair_materials", "a")
        row = world.solver["pair_materials"][i]
        if not len(same):
            world.solver["materials"]["pairs"][[one, other]] += 1
        row["a"], row["b"] = one, other
        for name, value in _numbers(material).items():
            row[name] = value
        world.solver.header[0]["rough"] |= bool(row["rolling"] > 0.0 or row["torsion"] > 0.0)

    def _forget_pairs(self, row: int) -> None:
        """Forget what was agreed on for a row of the shapes, which another one has now."""
        world = self.world
        materials, count = world.solver["materials"], int(world.solver.header["pair_material_count"][0])
        table = world.solver["pair_materials"][:count]
        for i in np.flatnonzero((table["a"] == row) | (table["b"] == row)).tolist():
            materials["pairs"][[int(table[i]["a"]), int(table[i]["b"])]] -= 1
            table[i]["a"] = table[i]["b"] = -1
        materials["pairs"][row] = 0

    def _set_pairs_by_name(self, model: Model, named: dict[str, int]) -> list[str]:
        """The materials of a model's pairs. Returns those that do not act, since the shapes do not meet."""
        world = self.world
        idle, rows = [], world.shapes.rows
        for pair in model.pair_materials:
            if pair.a in named and pair.b in named:
                one, other = (rows[world.shapes.row_of(named[name])] for name in (pair.a, pair.b))
                if int(one["group"]) & int(other["mask"]) and int(other["group"]) & int(one["mask"]):
                    self.set_pair_material(named[pair.a], named[pair.b], pair.material)
                    continue
            idle.append(f"{pair.a} and {pair.b}")
        return idle


def shapes_and_neighbours(world: World, what: Body | int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids of all shapes of a body, or of one that is given by its id, and of all bodies that it concerns."""
    if isinstance(what, Body):
        shapes = world.registry.shapes_of(world._id(what))
        return tuple(shapes), (what.id, *world.sleep._neighbours([what.id]))
    row = world._shape_row(what)
    link = int(world.shapes.rows["link"][row])
    own = [world.forest._id(BODIES, link)] if link >= 0 else []
    return (int(what),), (*world.sleep._touching(row), *own)


def _numbers(material: Material) -> dict[str, float]:
    """What a material does at a contact: its `directions` say which of its frictions act."""
    return {
        "friction": material.friction if material.directions > 1 else 0.0,
        "restitution": material.restitution,
        "tangential": material.tangential,
        "rolling": material.rolling if material.directions > 4 else 0.0,
        "torsion": material.torsional if material.directions > 3 else 0.0,
    }


def laid(materials: list[Material]) -> Array:
    """What `write_materials` writes of materials."""
    rows = [(_LAID.get(id(material)) or _laid(material))[1] for material in materials]
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


def _laid(material: Material) -> tuple[Material, Array]:
    numbers = _numbers(material)
    row = (*(numbers[name] for name in MATERIAL_NUMBERS), float(material.priority), *material.surface)
    said = material, np.array([row], np.float64)
    if len(_LAID) >= MOST_LAID:
        _LAID.clear()
    _LAID[id(material)] = said
    return said


_LAID: dict[int, tuple[Material, Array]] = {}  # by identity: to compare all fields takes time
MOST_LAID = 64
