"""Parts of a world: `world.queries`, `world.drives`, ... Each groups calls under a name, and has no state of its own.

A part is made when it is asked for, and holds its world: so a world goes with its last handle, and copies and snapshots
know nothing of parts. `forward` puts a call of a part on the world itself, with the same signature.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar, cast

from kinemorph.spatial.arguments.annotated import checks_itself

if TYPE_CHECKING:
    from kinemorph.world.world import World


class Part:
    """A group of calls of one world."""

    __slots__ = ("world",)
    inputs: ClassVar[dict[str, tuple[type[Part], Callable[..., Any]]]] = {}  # by name, for journals

    def __init__(self, world: World) -> None:
        self.world = world

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, found in vars(cls).items():
            if hasattr(found, "is_input"):
                assert name not in Part.inputs, f"two inputs are called {name}"
                Part.inputs[name] = cls, found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and type(other) is type(self) and other.world is self.world

    def __hash__(self) -> int:
        return hash((type(self), id(self.world)))

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.world!r}"


Kind = TypeVar("Kind", bound=Part)
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class PartOf(property):
    """The attribute of `World` that is a part of that kind."""

    def __init__(self, kind: type[Part]) -> None:
        super().__init__(kind, doc=kind.__doc__)  # a class as the getter: no Python in between
        self.kind = kind


def part_of(kind: type[Kind]) -> Kind:
    """The attribute of `World` that is a part of that kind, as instances have it."""
    return cast(Kind, PartOf(kind))


def forward(
    kind: type[Kind], method: Callable[Concatenate[Kind, Arguments], Result]
) -> Callable[Concatenate[Any, Arguments], Result]:
    """A method of the world that calls this one of its part of that kind."""

    @wraps(method)
    def call(world: World, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        return method(kind(world), *args, **named)

    return checks_itself(call)  # the part's own method does
