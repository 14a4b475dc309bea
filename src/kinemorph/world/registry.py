"""What there is in a world, by its ids: names, births, shapes on bodies, figures and their models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.figures import FigureRecord

if TYPE_CHECKING:
    from kinemorph.multibody.model.model import Model

GROUND_KEY = -1  # stands for the ground among indices of bodies


@checked_on_failure
class Registry:
    """What there is in a world, by its ids. It is for reading: only edits of the world write it.

    A birth is a number that a body shares with no other body of its world, ever: an id may come to another body after
    `restore`.
    """

    __slots__ = (
        "births", "body_names", "figure_records", "joint_names", "last_birth", "loop_exclusions", "models", "mounted",
    )  # fmt: skip

    def __init__(
        self, body_names: dict[int, str], joint_names: dict[int, str], mounted: dict[int, list[int]],
        loop_exclusions: dict[int, list[tuple[int, int]]], births: dict[int, int],
        figures: dict[int, tuple[Any, ...]], before: Registry | None = None,
    ) -> None:  # fmt: skip
        """`before` is the registry that this one replaces, when its world is restored."""
        self.body_names = body_names  # of all bodies, by id
        self.joint_names = joint_names  # of joints that have a name, by id
        self.mounted = mounted  # ids of shapes, by the index of their body
        self.loop_exclusions = loop_exclusions  # pairs of shapes that do not collide, by the joint of the loop
        self.births = births  # of all bodies, by id
        self.figure_records = {key: FigureRecord(*figures[key]) for key in figures}  # by the birth of their first body
        self.models: dict[int, Model] = {}  # of figures added here, likewise
        self.last_birth = 0
        if before is not None:
            self.models, self.last_birth = before.models, before.last_birth
        if births:
            self.last_birth = max(self.last_birth, *births.values())

    def shapes_of(self, body: int) -> list[int]:
        """Ids of the shapes that are fixed to a body, by its id."""
        return [*self.mounted.get(body & ID_INDEX_MASK, ())]

    @property
    def ground_shapes(self) -> list[int]:
        """Ids of the shapes that are fixed to the ground."""
        return [*self.mounted.get(GROUND_KEY, ())]

    def plain_figures(self) -> dict[int, tuple[Any, ...]]:
        """Records of figures as snapshots hold them."""
        return {key: tuple(one) for key, one in self.figure_records.items()}

    def __repr__(self) -> str:
        return f"Registry of {len(self.body_names)} bodies and {len(self.figure_records)} figures"
