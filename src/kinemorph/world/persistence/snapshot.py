"""Snapshots: a world as bytes, and back. See `docs/snapshot_format.md` for the format.

magic (8)  version (4)  zero (4)  length of the content (8)  SHA-256 of the content (32)  content (`codec`)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from kinemorph._files import FileError
from kinemorph.world.persistence.codec import LARGEST_ENCODED_BYTES, Reader, Writer
from kinemorph.world.persistence.kept_classes import KEPT, LAYOUTS
from kinemorph.world.persistence.validation import check_world

SNAPSHOT_MAGIC = b"kmworld\n"
SNAPSHOT_VERSION = 5  # raise it when older readers would misread a snapshot
SNAPSHOT_HEAD_BYTES = 56  # bytes before the content
SNAPSHOT = "snapshot of a world"
REFUSALS = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, MemoryError,
    msgspec.MsgspecError,
)  # fmt: skip


def sealed(magic: bytes, version: int, content: bytes) -> bytes:
    """A content with a head that says what and how long it is, and by which it is known to be whole."""
    head = magic + version.to_bytes(4, "little") + bytes(4) + len(content).to_bytes(8, "little")
    return head + hashlib.sha256(content).digest() + content


def opened(magic: bytes, version: int, what: str, data: bytes) -> memoryview:
    """The content of what was sealed; FileError if it is anything else, or not whole."""
    view = memoryview(data)
    if bytes(view[:8]) != magic:
        raise FileError(f"this is no {what}: it begins with {bytes(view[:8])!r}")
    if len(view) < SNAPSHOT_HEAD_BYTES:
        raise FileError(f"this {what} has {len(view)} bytes, fewer than its head: it was cut")
    found = int.from_bytes(view[8:12], "little")
    if found != version:
        raise FileError(f"this is a {what} of version {found}; this reads version {version}")
    length = int.from_bytes(view[16:24], "little")
    if length != len(view) - SNAPSHOT_HEAD_BYTES or length > LARGEST_ENCODED_BYTES:
        raise FileError(
            f"this {what} should have {length} bytes and has {len(view) - SNAPSHOT_HEAD_BYTES}: it was cut, or grew"
        )
    if any(view[12:16]) or hashlib.sha256(view[SNAPSHOT_HEAD_BYTES:]).digest() != bytes(view[24:SNAPSHOT_HEAD_BYTES]):
        raise FileError(f"this {what} is damaged: its checksum is another")
    return view[SNAPSHOT_HEAD_BYTES:]


def packed(value: Any) -> bytes:
    """Any value of those that can be kept."""
    return Writer(KEPT, LAYOUTS).write(value)


def unpacked(content: bytes | memoryview, what: str) -> Any:
    """A value from untrusted bytes; FileError names the fault in one sentence."""
    with refusing(what):
        return Reader(KEPT, LAYOUTS).read(content)


def save_world(state: tuple[Any, ...]) -> bytes:
    """A snapshot of the state of a world."""
    return sealed(SNAPSHOT_MAGIC, SNAPSHOT_VERSION, packed(state))


def load_world(data: bytes) -> tuple[Any, ...]:
    """The state of a world from a snapshot: all of it checked, with tables of its own."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a snapshot is bytes, not {type(data).__name__}; see World.save")
    state = unpacked(opened(SNAPSHOT_MAGIC, SNAPSHOT_VERSION, SNAPSHOT, bytes(data)), SNAPSHOT)
    with refusing(SNAPSHOT):
        check_world(state)
    checked: tuple[Any, ...] = state
    return checked


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Whatever goes wrong here with what a file holds is a FileError, in a sentence."""
    try:
        yield
    except REFUSALS as error:
        raise FileError(f"this {what} cannot be: {_sentence(error)}") from None


def _sentence(error: BaseException) -> str:
    """What an error says, in one line."""
    text = str(error.args[0]) if error.args else type(error).__name__
    return " ".join(text.split())[:300] or type(error).__name__
