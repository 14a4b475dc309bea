"""Conditions of a scene file: `when = "contact hand brick"` becomes an event of a world."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from kinemorph._files import quoted
from kinemorph._toml import nearest_name
from kinemorph.motion.events import Event

GROUND, ANYTHING = "ground", ""  # in place of the second body


class Kind(NamedTuple):
    """A kind of event: what its words are, and how it is made of them and of more settings."""

    words: tuple[str, ...]  # body, other (a body, the ground, or nothing), joint, number
    make: Callable[..., Event]


KINDS = {
    "contact": Kind(("body", "other"), Event.contact),
    "parts": Kind(("body", "other"), partial(Event.contact, direction=-1)),
    "impact": Kind(("body", "other", "number"), Event.impact),  # N s
    "falls": Kind(("body", "number"), partial(Event.height, direction=-1)),  # m
    "rises": Kind(("body", "number"), partial(Event.height, direction=1)),  # m
    "near": Kind(("body", "body", "number"), partial(Event.distance, direction=-1)),  # m
    "apart": Kind(("body", "body", "number"), partial(Event.distance, direction=1)),  # m
    "above": Kind(("joint", "number"), partial(Event.position, direction=1)),  # rad or m
    "below": Kind(("joint", "number"), partial(Event.position, direction=-1)),
    "faster": Kind(("joint", "number"), partial(Event.velocity, direction=1)),  # rad/s or m/s
    "slower": Kind(("joint", "number"), partial(Event.velocity, direction=-1)),
    "limit": Kind(("joint",), Event.limit),
    "load": Kind(("joint", "number"), Event.load),  # N
    "moment": Kind(("joint", "number"), partial(Event.load, moment=True)),  # N m
    "sleeps": Kind(("body",), Event.sleep),
    "wakes": Kind(("body",), partial(Event.sleep, direction=-1)),
}


class Condition(NamedTuple):
    """A `when`, taken apart: its kind, and its words, numbers as numbers."""

    kind: str
    words: tuple[str | float, ...]

    @property
    def named(self) -> list[tuple[str, str]]:
        """The bodies and joints of the condition: pairs of "body" or "joint" and a name."""
        pairs = zip(KINDS[self.kind].words, self.words, strict=False)
        return [
            ("joint" if role == "joint" else "body", str(word))
            for role, word in pairs
            if role != "number" and not (role == "other" and word in (GROUND, ANYTHING))
        ]

    def event(self, body: Callable[[str], Any], joint: Callable[[str], Any], **more: Any) -> Event:
        """The event, with bodies and joints as these functions find them."""
        found: list[Any] = []
        for role, word in zip(KINDS[self.kind].words, self.words, strict=False):
            if role == "number" or (role == "other" and word in (GROUND, ANYTHING)):
                found.append(None if word == ANYTHING else word)
            else:
                found.append((joint if role == "joint" else body)(str(word)))
        return KINDS[self.kind].make(*found, **more)


def condition(text: str) -> Condition:
    """A `when` taken apart, or ValueError. Names with blanks in them are in quotes."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{quoted(text)} cannot be read ({error}); put names with blanks into single quotes") from None
    if not words or words[0] not in KINDS:
        raise ValueError(nearest_name(words[0] if words else "", list(KINDS), "event"))
    kind, given = words[0], words[1:]
    roles = KINDS[kind].words
    least = sum(role != "other" for role in roles)
    if "other" in roles and len(given) == least and "number" in roles:
        given = [given[0], ANYTHING, given[1]]
    if not least <= len([word for word in given if word]) <= len(roles) or len(given) > len(roles):
        raise ValueError(f"{quoted(text)}: {kind!r} takes {', '.join(roles)} (names with blanks in single quotes)")
    return Condition(kind, tuple(_number(word, text) if role == "number" else word for role, word in zip(roles, given)))


def _number(word: str, text: str) -> float:
    try:
        number = float(word)
    except ValueError:
        raise ValueError(f"{quoted(text)}: {quoted(word)} is no number") from None
    if not math.isfinite(number) or abs(number) > 1e12:
        raise ValueError(f"{quoted(text)}: {quoted(word)} is not finite, or larger than 1e12")
    return number
