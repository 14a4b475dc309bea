"""Names, shapes and frames of bodies and joints, by id: changes of structure do not touch them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.model.elements import ForceElement
from kinemorph.multibody.model.equipment import NO_EQUIPMENT, Equipment
from kinemorph.multibody.model.joint import Joint
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose


@checked_first
@dataclass(frozen=True)
class Mimic:
    """A joint that follows another one: q = multiplier * q(source) + offset. See `kinemorph.follow`."""

    joint: str
    source: str
    multiplier: float
    offset: float


PlacedElement = tuple[ForceElement, int, Pose, int, Pose]  # an element, and body and pose of each end


@dataclass(frozen=True, eq=False)
class Catalog:
    """Names, shapes and frames of the bodies and joints of a model, by their ids. Immutable.

    Poses are in the body's own frame, the one that it was made with: a link's frame sits on the joint that carries it
    and moves when another joint does, the body's own frame stays.
    """

    names: tuple[str, ...]  # of bodies
    joints: tuple[str, ...]  # of joints, those that close loops as well
    shapes: tuple[tuple[Shape, ...], ...]  # of bodies
    frames: Mapping[str, tuple[int, Pose]]  # named places: a body (-1 for the base) and where on it
    mimics: tuple[Mimic, ...]  # for joints as they were made
    base_shapes: tuple[Shape, ...]
    loops: Mapping[int, Joint]  # joints that close or have closed loops, as they were written
    elements: tuple[PlacedElement, ...] = ()  # force elements between bodies
    equipment: Equipment = NO_EQUIPMENT  # drives, floors and named states, for worlds and users

    @staticmethod
    def later(
        names: tuple[str, ...], shapes: Callable[[], tuple[tuple[Shape, ...], ...]], equipment: Equipment
    ) -> Catalog:
        """A catalog of bodies whose joints have the same names, and whose shapes are made at first access."""
        made = object.__new__(Catalog)
        vars(made).update(_EMPTY_FIELDS, names=names, joints=names, equipment=equipment, _shapes=shapes)
        return made

    def __getattr__(self, name: str) -> Any:
        make = vars(self).get("_shapes")
        if name != "shapes" or make is None:
            raise AttributeError(f"a catalog has no {name}")
        return vars(self).setdefault("shapes", make())

    def __getstate__(self) -> dict[str, Any]:
        shapes = self.shapes
        return {name: value for name, value in vars(self).items() if name != "_shapes"} | {"shapes": shapes}

    def with_joint(self, name: str, loop: Joint | None = None) -> Catalog:
        """The same catalog with one more joint, whose id is the next one."""
        loops = self.loops if loop is None else {**self.loops, len(self.joints): loop}
        other = object.__new__(Catalog)  # `replace` would take four times as long, in every connect
        vars(other).update(vars(self), joints=(*self.joints, name), loops=loops)
        return other


_EMPTY_FIELDS = vars(Catalog((), (), (), {}, (), (), {})).copy()
del _EMPTY_FIELDS["shapes"]
