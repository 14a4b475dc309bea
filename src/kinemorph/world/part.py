"""Parts of a world: `world.queries`, `world.drives`, ... Each groups calls under a name, and has no state of its own.

A part is made when it is asked for, and holds its world: so a world goes with its last handle, and copies and snapshots
know nothing of parts. `forward` puts a call of a part on the world itself, with the same signature.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

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


class PartOf(Generic[Kind]):
    """The attribute of `World` that is a part of that kind."""

    def __init__(self, kind: type[Kind]) -> None:
        self.kind, self.__doc__ = kind, kind.__doc__

    @overload
    def __get__(self, world: None, owner: type) -> Self: ...
    @overload
    def __get__(self, world: World, owner: type) -> Kind: ...
    def __get__(self, world: World | None, owner: type) -> Kind | Self:
        return self if world is None else self.kind(world)

    def forward(
        self, method: Callable[Concatenate[Kind, Arguments], Result]
    ) -> Callable[Concatenate[Any, Arguments], Result]:
        """A method of the world that calls this one of the part."""
        kind = self.kind

        @wraps(method)
        def call(world: World, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
            return method(kind(world), *args, **named)

        call._checks_itself = True  # type: ignore[attr-defined]  # the part's own method does
        return call
