"""Names for bodies and joints of MuJoCo models: names may be missing there, here every link and joint has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any


def body_names(given: Sequence[str]) -> list[str]:
    """Names of bodies, the world first: an unnamed one is named after its number."""
    taken = set(given)
    return ["world", *(name or new_name(f"body{i}", taken) for i, name in enumerate(given[1:], 1))]


def joint_names(given: Sequence[str], bodies: Sequence[str]) -> list[str]:
    """Names of joints; `bodies` are the names of their bodies, in the same order.

    An unnamed joint is named after its body; if the body has several, with its number among them.
    """
    taken, count, seen = set(given), Counter(bodies), Counter[str]()
    names = []
    for name, body in zip(given, bodies, strict=True):
        if not name:
            name = new_name(body if count[body] == 1 else f"{body}:{seen[body]}", taken)
        seen[body] += 1
        names.append(name)
    return names


def new_name(wanted: str, taken: set[str]) -> str:
    """The wanted name, or the next free one; it is marked as taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}#{count}"
    taken.add(name)
    return name


def decode_names(names: bytes, starts: Iterable[int]) -> list[str]:
    """Decode names from a compiled model's buffer."""
    return [names[start : names.index(b"\0", start)].decode() for start in starts]


def compiled_names(peer: Any) -> tuple[list[str], list[str]]:
    """Names of the bodies and of the joints of an MjModel."""
    bodies = body_names(decode_names(peer.names, peer.name_bodyadr.tolist()))
    own = [bodies[i] for i in peer.jnt_bodyid.tolist()]
    return bodies, joint_names(decode_names(peer.names, peer.name_jntadr.tolist()), own)
