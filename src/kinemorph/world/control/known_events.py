"""Events and timers of a snapshot are those that its world has known: which is which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

# events that are over and in no snapshot, such as those that each episode of a long training registers anew
MOST_FINISHED_EVENTS = 4096


class Numbered(Protocol):
    """What a world has given a number that no other one of its kind gets."""

    _number: int
    _saved: bool  # whether a snapshot may have it


Known = TypeVar("Known", bound=Numbered)


def next_number(known: dict[int, Any]) -> int:
    """A number that none has had."""
    return 1 + max(known, default=-1)


def learn(known: dict[int, Known], one: Known, waiting: Sequence[Known]) -> None:
    """Know one more; of many that are over, and in no snapshot, the older half is forgotten."""
    known[one._number] = one
    if len(known) > MOST_FINISHED_EVENTS:
        here = {other._number for other in waiting} | {one._number}
        over = sorted(n for n, other in known.items() if n not in here and not other._saved)
        for n in over[: len(over) // 2] if len(over) > MOST_FINISHED_EVENTS // 2 else ():
            del known[n]


def lasting(known: dict[int, Known], waiting: Sequence[Known]) -> dict[int, Known]:
    """What a copy has to know: those that wait, and those that a snapshot may bring back."""
    here = {one._number for one in waiting}
    return {n: one for n, one in known.items() if n in here or one._saved}


def known_again(kept: Sequence[Known], known: dict[int, Known], likeness: Callable[[Known], Any]) -> list[Known]:
    """Of each that a snapshot has the one that the world has known: by its number, if they are alike.

    Numbers of another world say nothing: then it is one that is alike, in the order of their numbers, and if there is
    none, the kept one itself, which the world knows from now on.
    """
    found: dict[int, Known] = {}
    taken: set[int] = set()
    for k, one in enumerate(kept):
        old = known.get(one._number)
        if old is not None and likeness(old) == likeness(one):
            found[k] = old
            taken.add(old._number)
    for k, one in enumerate(kept):
        if k in found:
            continue
        alike = [old for n, old in sorted(known.items()) if n not in taken and likeness(old) == likeness(one)]
        if not alike:
            if one._number in known:
                one._number = next_number(known)
            known[one._number] = one
        found[k] = alike[0] if alike else one
        taken.add(found[k]._number)
    return [found[k] for k in range(len(kept))]
