"""Values as bytes, and back, without pickle: a text that says what there is, and the arrays that it speaks of.

A value is None, a bool, an int, a float, a text, a tuple, list, dict or set of values, an array of rows, or an object
of one of the classes in `kept`. The text is JSON: plain values as they are, others as lists that begin with what they
are.

    ["f", "inf"]  ["t", ...]  ["l", ...]  ["d", [key, value], ...]  ["s", ...]  ["a", number of an array]
    ["o", number of a thing]

Things are objects, each with the name of its class and its state; one that is used twice is written once. They speak of
things before them alone. Arrays follow the text, one after the other, each from a multiple of eight bytes on; the text
has the layout and the shape of each, and of each layout the number that `kind_of` makes of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kinemorph.multibody.layout import layout_hash
from kinemorph.structure.forest.validation import require

LARGEST_ENCODED_BYTES = 2**31  # bytes of what is read
ROOM, ROOM_PER_BYTE = 2**28, 64  # bytes that all tables of a value may take: so many, and so many for each byte of it
PLAIN = {"f8": np.float64, "i8": np.int64, "i4": np.int32, "u1": np.uint8, "f4": np.float32}
DEEPEST_VALUE = 50  # values in values


def _accept(state: Any) -> None:
    """The check of what `make` checks itself."""


def _no_room(state: Any) -> int:
    """The room of what takes no more memory than its state."""
    return 0


class Kept(NamedTuple):
    """How objects of a class become a value, and come back from an untrusted one.

    `check` refuses a state that cannot be. `room` is how many bytes `make` will take because a number in the state says
    so: a short file can ask for any amount, so the reader bounds the sum over all objects before anything is made.
    """

    kind: type
    take: Callable[[Any], Any]
    make: Callable[[Any], Any]
    check: Callable[[Any], None] = _accept
    room: Callable[[Any], int] = _no_room


class Text(msgspec.Struct, forbid_unknown_fields=True):
    layouts: dict[str, int]
    arrays: list[tuple[str, list[int]]]
    things: list[tuple[str, Any]]
    value: Any


class Writer:
    """Collects the arrays and things of a value."""

    def __init__(self, kept: Mapping[str, Kept], layouts: Mapping[str, Any]) -> None:
        self.kept = {kept.kind: (name, kept) for name, kept in kept.items()}
        self.names = {layout: name for name, layout in layouts.items()}
        self.text = Text({}, [], [], None)
        self.content: list[bytes] = []
        self.known: dict[int, int] = {}
        self.alive: list[Any] = []  # objects with a number: their ids must not be reused

    def write(self, value: Any) -> bytes:
        self.text.value = self.value(value)
        head = msgspec.json.encode(self.text)
        return b"".join([len(head).to_bytes(8, "little"), head, b" " * (-len(head) % 8), *self.content])

    def value(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else ["f", str(float(value))]
        if isinstance(value, int | np.integer):  # ids are numbers that know what they are of
            return int(value)
        if type(value) is tuple:
            return ["t", *map(self.value, value)]
        if type(value) is list:
            return ["l", *map(self.value, value)]
        if type(value) is set:
            return ["s", *map(self.value, sorted(value))]
        if type(value) is dict:
            return ["d", *([self.value(k), self.value(v)] for k, v in value.items())]
        if isinstance(value, np.ndarray):
            return ["a", self.array(value)]
        return ["o", self.thing(value)]

    def array(self, array: np.ndarray[Any, Any]) -> int:
        name = self.layout(array.dtype)
        content = np.ascontiguousarray(array).tobytes()
        self.content += [content, bytes(-len(content) % 8)]
        self.text.arrays.append((name, list(array.shape)))
        return len(self.text.arrays) - 1

    def layout(self, dtype: Any) -> str:
        if dtype.names is None:
            name = f"{dtype.kind}{dtype.itemsize}"
            if name not in PLAIN:
                raise TypeError(f"an array of {dtype} cannot be kept")
            return name
        if dtype not in self.names:
            raise TypeError(f"rows of {dtype.names} cannot be kept: their layout is in none of the modules of layouts")
        name = self.names[dtype]
        self.text.layouts[name] = layout_hash(name, dtype)
        return name

    def thing(self, one: Any) -> int:
        if id(one) not in self.known:
            if type(one) not in self.kept:
                raise TypeError(f"{one!r} cannot be kept: it is no number, text, array or {_listed(self.kept)}")
            name, kept = self.kept[type(one)]
            state = self.value(kept.take(one))
            self.text.things.append((name, state))
            self.known[id(one)] = len(self.text.things) - 1
            self.alive.append(one)
        return self.known[id(one)]


class Reader:
    """A value from bytes. Any fault of the bytes raises ValueError."""

    def __init__(self, kept: Mapping[str, Kept], layouts: Mapping[str, Any]) -> None:
        self.kept, self.layouts = kept, layouts
        self.arrays: list[Any] = []
        self.spoken_of: set[int] = set()  # arrays: each belongs in one place
        self.things: list[Any] = []
        self.room = self.allowed = 0  # bytes of tables so far, and at most

    def read(self, content: bytes | memoryview) -> Any:
        size = int.from_bytes(content[:8], "little")
        require(8 <= 8 + size <= len(content) <= LARGEST_ENCODED_BYTES, "its text is longer than all of it")
        self.allowed = ROOM + ROOM_PER_BYTE * len(content)
        text = msgspec.json.decode(bytes(content[8 : 8 + size]), type=Text)
        for name, kind in text.layouts.items():
            require(name in self.layouts and kind == layout_hash(name, self.layouts[name]), _other_layout(name))
        at = 8 + size + -size % 8
        for name, shape in text.arrays:
            at = self.array(content, at, name, shape, text.layouts)
        require(at == len(content), f"it has {len(content) - at} bytes more than it should")
        for name, state in text.things:
            require(name in self.kept, f"it has a thing of an unknown kind, {name[:40]!r}")
            self.things.append(self.thing(self.kept[name], self.value(state)))
        return self.value(text.value)

    def thing(self, kept: Kept, state: Any) -> Any:
        kept.check(state)
        self.room += kept.room(state)
        require(self.room <= self.allowed, f"its tables would take {self.room} bytes, and {self.allowed} are allowed")
        return kept.make(state)

    def array(self, content: Any, at: int, name: str, shape: list[int], layouts: Mapping[str, int]) -> int:
        require(name in PLAIN or name in layouts, _other_layout(name))
        dtype = np.dtype(PLAIN[name]) if name in PLAIN else self.layouts[name]
        fits = 1 <= len(shape) <= 3 and all(0 <= n <= LARGEST_ENCODED_BYTES for n in shape)
        require(fits, f"an array has the shape {shape[:4]}")
        count = math.prod(shape)
        size = count * dtype.itemsize
        require(at + size <= len(content), "an array is longer than what is left")
        self.arrays.append(np.frombuffer(content, dtype, count, at).reshape(shape).copy())
        return at + size + -size % 8

    def value(self, value: Any, depth: int = 0) -> Any:
        require(depth < DEEPEST_VALUE, "there are values in values in values")
        if not isinstance(value, list):
            require(not isinstance(value, dict), "there is a value of no kind")
            return value
        require(value and isinstance(value[0], str), "there is a value of no kind")
        kind, rest = value[0], value[1:]
        if kind == "f":
            require(rest in (["inf"], ["-inf"], ["nan"]), f"{rest[:1]} is no number")
            return float(rest[0])
        if kind in ("a", "o"):
            known = self.arrays if kind == "a" else self.things
            number: Any = rest[0] if len(rest) == 1 else None
            require(type(number) is int and 0 <= number < len(known), "it speaks of what is not there")
            if kind == "a":
                require(number not in self.spoken_of, f"array {number} is in two places")
                self.spoken_of.add(number)
            return known[number]
        if kind == "d":
            require(all(isinstance(pair, list) and len(pair) == 2 for pair in rest), "there is a dict of no pairs")
            return {self.value(k, depth + 1): self.value(v, depth + 1) for k, v in rest}
        require(kind in ("t", "l", "s"), f"there is a value of an unknown kind, {kind[:40]!r}")
        parts = [self.value(part, depth + 1) for part in rest]
        return tuple(parts) if kind == "t" else set(parts) if kind == "s" else parts


def _other_layout(name: str) -> str:
    return f"rows of {name[:40]!r} have another layout in this version"


def _listed(kept: Mapping[type, Any]) -> str:
    return ", ".join(sorted(kind.__name__ for kind in kept))
