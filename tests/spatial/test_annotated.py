"""Arguments beside their annotations: what fits, what does not, and what is said of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence  # noqa: F401  (annotations below are texts)
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal  # noqa: F401

import numpy as np
import numpy.typing as npt  # noqa: F401  (an annotation below)
import pytest

from kinemorph.spatial.arguments.annotated import checked_first, checked_on_failure
from kinemorph.spatial.pose import Pose

if TYPE_CHECKING:
    from kinemorph import Joint  # noqa: F401

Array = np.ndarray[Any, np.dtype[np.float64]]
Rows = np.ndarray[Any, Any]
PathLike = str | os.PathLike[str]
Place = Pose | Iterable[float]
Action = Callable[[int], None]
GOOD = {
    "number": ("float", (0.5, 3, np.nan, np.float32(1), np.array(2.0), -np.inf)),
    "whole": ("int", (3, -5, np.int64(7))),
    "truth": ("bool", (True, np.True_)),
    "word": ("str", ("", "\0", "word")),
    "data": ("bytes", (b"", bytearray(3))),
    "maybe": ("float | None", (None, 0.5)),
    "array": ("npt.ArrayLike", ([1, 2], np.ones((2, 2)), 3, [], range(3), np.ones(3, np.float32))),
    "matrix": ("Array", (np.ones((2, 2)), [[1.0]])),
    "rows": ("Rows", (np.zeros(2, [("a", "f8")]), np.zeros(3))),
    "place": ("Place", (Pose(), (1, 2, 3), np.ones(3), (x for x in "ab"))),
    "pair": ("tuple[int, int]", ((1, 2), [3, 4], np.array([1, 2]))),
    "names": ("Sequence[str]", ((), ["a"], {"a"})),
    "path": ("PathLike", ("x", Path("x"))),
    "either": ("Path | str", ("x", Path("x"))),
    "table": ("Mapping[str, float]", ({}, {"a": 1.0})),
    "how": ("Literal['own', 'tree']", ("own",)),
    "action": ("Action", (print, int)),
    "kind": ("type[Pose]", (Pose,)),
    "later": ("Joint", ()),
    "any": ("Any", (object(),)),
    "quoted": ("'Pose | str'", (Pose(), "x")),
    "unknown": ("NobodyKnowsThis", (object(), 5)),
}
BAD = {
    "number": (None, "1", True, 1j, [1], 10**400, np.ones(1), object()),
    "whole": (0.5, True, "1", None, 2**63, float("nan"), 1.0),
    "truth": (1, 0, None, "yes"),
    "word": (b"x", None, 5, ["a"]),
    "data": ("x", 5),
    "maybe": ("x", [0.5]),
    "array": (None, "abc", [1, [2]], 1j, [None], object(), {1: 2}, np.ones(2, complex), np.array(["a"])),
    "matrix": (None, "abc", np.zeros(2, [("a", "f8")])),
    "rows": (None, "abc"),
    "place": (None, "abc", 5, ["a"], np.ones((2, 2)), {1.0: 2}),
    "pair": (5, (1,), (1, 2, 3), (0.5, 1), "ab"),
    "names": ("abc", [1], 5),
    "path": (5, None, b"x", "\0", "\ud800"),
    "either": (5, None, b"x", "a\0b"),
    "table": ([], {1: 1.0}, {"a": "b"}, None),
    "how": ("word", 5, []),
    "action": (5, None, "print"),
    "kind": (Pose(), 5),
    "later": (5, "revolute", None),
    "any": (),
    "quoted": (5, None),
    "unknown": (),
}
CASES = [(name, said) for name, (said, _) in GOOD.items()]


def _function(said: str, body: str) -> Any:
    scope = dict(globals())
    exec(f"def place_at(what: {said}, more: int = 0) -> Any:\n    {body}\n", scope)
    function = scope["place_at"]
    function.__annotations__ = {"what": said, "more": "int", "return": "Any"}
    return function


@pytest.mark.parametrize(("name", "said"), CASES)
def test_what_fits_passes_and_what_does_not_is_named(name, said):
    first = checked_first(_function(said, "return 1"))
    failing = checked_on_failure(_function(said, "return what.no_such_thing"))
    for value in GOOD[name][1]:
        assert first(value) == first(what=value, more=3) == 1
        spent = isinstance(value, Iterator)  # what it gave cannot be looked at again, so it is named in any case
        with pytest.raises(TypeError if spent else AttributeError, match="give a list" if spent else "no_such_thing"):
            failing(value)
    for value in BAD[name]:
        for call in (first, failing):
            with pytest.raises(
                TypeError,
                match=r"^place_at: what is .*, and must be (a|T|'|[0-9]|bytes)",
            ):
                call(value)
            with pytest.raises(TypeError, match=r"^place_at: what is"):
                call(what=value)


def test_the_second_argument_is_named_too():
    for call in (checked_first(_function("int", "return 1")), checked_on_failure(_function("int", "return [][9]"))):
        with pytest.raises(TypeError, match="place_at: more is 'x', and must be a whole number"):
            call(1, more="x")


def test_sentences_of_the_package_stay():
    """Pose refuses by itself: the decorator says nothing else."""

    @checked_on_failure
    def made(what: int) -> Pose:
        return Pose.turn((0, 0, 0), what)

    with pytest.raises(ValueError, match="the axis is zero"):
        made("x")


def test_good_arguments_leave_errors_of_others_alone():
    @checked_on_failure
    def call(action: Action) -> None:
        action(1)

    def broken(_):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        call(broken)


@checked_first
class Thing:
    """All kinds of methods."""

    def __init__(self, size: float = 1.0) -> None:
        self.size = size

    def grown(self, by: float, *more: int, **named: bool) -> float:
        return self.size + by

    @staticmethod
    def of(text: str) -> str:
        return text

    @classmethod
    def made(cls, size: float) -> Thing:
        return cls(size)

    @property
    def half(self) -> float:
        return 0.5 * self.size

    @half.setter
    def half(self, value: float) -> None:
        self.size = 2.0 * value


def test_methods_of_a_class():
    thing = Thing.made(2.0)
    assert (thing.half, thing.grown(1.0, 2, 3, good=True), Thing.of("x")) == (1.0, 3.0, "x")
    thing.half = 3.0
    assert thing.size == 6.0
    for call, words in (
        (lambda: Thing("x"), "Thing: size is 'x'"),
        (lambda: Thing.made(None), "Thing.made: size is None"),
        (lambda: Thing.of(5), "Thing.of: text is 5"),
        (lambda: thing.grown("x"), "Thing.grown: by is 'x'"),
        (lambda: thing.grown(1.0, 0.5), "Thing.grown: more is 0.5"),
        (lambda: thing.grown(1.0, good="yes"), "Thing.grown: good is 'yes'"),
        (lambda: setattr(thing, "half", "x"), "Thing.half: value is 'x'"),
    ):
        with pytest.raises(TypeError, match=words):
            call()
