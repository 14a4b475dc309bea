"""Collision filter: which bodies and shapes pass through each other."""

from __future__ import annotations

from itertools import product

from kinemorph.contact.layout import WOKEN_BY_FORCE
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_bits
from kinemorph.world.body import Body
from kinemorph.world.control.surfaces import shapes_and_neighbours
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input


@checked_on_failure
class CollisionFilter(Part):
    """`world.collision_filter`: which bodies and shapes pass through each other."""

    __slots__ = ()

    def ignore(self, a: Body | int, b: Body | int) -> None:
        """Let two bodies, or shapes by their ids, pass through each other until `collide_with`."""
        world = self.world
        self._let_pass(*shapes_and_neighbours(world, a), *shapes_and_neighbours(world, b), True)

    def collide_with(self, a: Body | int, b: Body | int) -> None:
        """Let two bodies or shapes meet again."""
        world = self.world
        self._let_pass(*shapes_and_neighbours(world, a), *shapes_and_neighbours(world, b), False)

    @an_input
    def _let_pass(
        self, a: tuple[int, ...], of_a: tuple[int, ...], b: tuple[int, ...], of_b: tuple[int, ...], passing: bool
    ) -> None:  # fmt: skip
        world = self.world
        if set(a) & set(b):
            raise ValueError(
                "collision_filter: ignore and collide_with take two bodies, or two shapes, not the same one twice"
            )
        world.sleep._wake(*of_a, *of_b, why=WOKEN_BY_FORCE)
        for one, other in product(dict.fromkeys(a), dict.fromkeys(b)):
            (world.collisions.ignore if passing else world.collisions.heed)(one, other)

    def set_groups(self, what: Body | int, *, group: int | None = None, mask: int | None = None) -> None:
        """Another group or mask for all shapes of a body, or for one shape by its id: what they are, what they meet.

        What touched them wakes: they may not meet any more.
        """
        group = None if group is None else check_bits("set_groups: group", group)
        mask = None if mask is None else check_bits("set_groups: mask", mask)
        self._set_groups(*shapes_and_neighbours(self.world, what), group, mask)

    @an_input
    def _set_groups(
        self, shapes: tuple[int, ...], bodies: tuple[int, ...], group: int | None, mask: int | None
    ) -> None:  # fmt: skip
        world = self.world
        world.sleep._wake(*bodies, why=WOKEN_BY_FORCE)
        for shape in shapes:
            row = world.shapes.rows[world.shapes.row_of(shape)]
            now = int(row["group"]), int(row["mask"])
            world.shapes.regroup(
                shape, group=now[0] if group is None else group, mask=now[1] if mask is None else mask
            )  # fmt: skip

    @property
    def ignored(self) -> list[tuple[Body | None, Body | None]]:
        """The pairs of bodies (None: the ground) of which some shapes pass through each other.

        Those that `ignore` names, exclusions of models, what loops tie, and parts of a figure that were in each other
        when it came in.
        """
        world = self.world
        links, forms = world.shapes.rows["link"], world.shapes.rows["form"]
        known = world.collisions.broad_phase.all_ignored  # of shapes that were removed since, too
        pairs = [(int(links[a]), int(links[b])) for a, b in known if forms[a] and forms[b]]
        return [(world._body_at(a), world._body_at(b)) for a, b in dict.fromkeys(pairs)]
