"""Journals: what was done to a world, and when, in a file from which it can be lived through again and compared.

A journal begins with a snapshot. Then come, with the number of the step that they were before, inputs: calls of a
world's parts that change it, by name, with their arguments; and checks, every so many steps: digests of the world and
of each body.
An input whose arguments cannot be written, such as a whole model, is a snapshot of the world after it.

The file is a row of chunks, each sealed by itself, so that what a process leaves that is killed can be read up to its
last whole chunk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from kinemorph._files import FileError, read_bytes
from kinemorph.geometry.shapes import Shape
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_whole, repr_of
from kinemorph.world.ids import Id
from kinemorph.world.part import Part
from kinemorph.world.persistence.codec import LARGEST_ENCODED_BYTES
from kinemorph.world.persistence.digest import bodies_of, digest_of
from kinemorph.world.persistence.snapshot import SNAPSHOT_HEAD_BYTES, opened, packed, sealed, unpacked

if TYPE_CHECKING:
    from kinemorph.world.world import World

JOURNAL_MAGIC = b"kmjourn\n"
JOURNAL_VERSION = 3  # raise it when calls that are inputs have other names or arguments
JOURNAL_CHUNK_BYTES = 1 << 20  # bytes of notes that make a chunk,
MOST_APART = 1_000_000  # steps between two checks
JOURNAL_CHUNK_TIME = 5.0  # s, and the time after which one is written in any case
Method = TypeVar("Method", bound=Callable[..., Any])


class Note(NamedTuple):
    """One line of a journal: before which step, what, and what belongs to it."""

    step: int
    what: str  # "start", "input", "check", "end" or "error"
    more: tuple[Any, ...]


class DivergenceError(ArithmeticError):
    """A rerun of a journal gave other states than it has: first at `step` and `time`, and in `body`."""

    def __init__(self, message: str, step: int = 0, time: float = 0.0, body: str = "") -> None:
        super().__init__(message, step, time, body)
        self.step, self.time, self.body = step, time, body

    def __str__(self) -> str:
        return str(self.args[0])


def an_input(method: Method) -> Method:
    """Make a method of a part an input: journals write it, whether it worked or not, and observers hear of it."""
    name = method.__name__

    @wraps(method)
    def call(part: Any, *args: Any, **named: Any) -> Any:
        world = part.world
        world._check_thread()
        if not world.observers or world._in_input:
            return method(part, *args, **named)
        written = plain(args), plain(named)  # before: what is removed has no handle afterwards
        world._in_input, worked = True, False
        try:
            result = method(part, *args, **named)
            worked = True
        finally:
            world._in_input = False
            for observer in world.observers:
                observer.heard(name, *written, worked)
        return result

    call.is_input = True  # type: ignore[attr-defined]
    return cast(Method, call)


def plain(value: Any) -> Any:
    """Arguments as they are written: handles as ids, changes as their joints, arrays as they are now."""
    if isinstance(value, tuple) and hasattr(value, "joint"):
        return int(value.joint)
    if hasattr(value, "birth"):
        return int(value.id)
    if isinstance(value, Id):
        return int(value)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return tuple(plain(one) for one in value)
    return value.copy() if isinstance(value, np.ndarray) else value


def names_a_file(value: Any) -> bool:
    """Whether there is a shape in a value whose mesh is in a file: elsewhere there may be another, or none."""
    if isinstance(value, dict):
        return any(map(names_a_file, value.values()))
    if isinstance(value, tuple | list | set):
        return any(map(names_a_file, value))
    return isinstance(value, Shape) and value.path is not None


def moving_digest(world: World) -> str:
    """The digest of a world without its controllers, which are not called when a journal is rerun."""
    world.__getstate__()  # which brings all tables up to date
    return digest_of(world, waiting=False)


# ---------------------------------------------------------------------------------------------------------- writing


def a_path(what: str, path: Any) -> Path:
    """The path of a file."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{what}: the path of a file is a string or a Path, not {repr_of(path)}")
    return Path(path)


class ChunkFile:
    """A file of sealed chunks, written one by one."""

    def __init__(self, path: str | os.PathLike[str], magic: bytes, version: int) -> None:
        self.path, self.magic, self.version = Path(path), magic, version
        self._file = self.path.open("wb")

    def write(self, value: Any) -> None:
        self._file.write(sealed(self.magic, self.version, packed(value)))
        self._file.flush()

    def close(self) -> None:
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()


def chunks_of(path: str | os.PathLike[str], magic: bytes, version: int, what: str) -> Iterator[Any]:
    """The chunks of a file, up to the last one that is whole; a file that does not begin with one is a FileError."""
    content = memoryview(read_bytes(a_path(what, path), LARGEST_ENCODED_BYTES))
    at = 0
    while at < len(content):
        size = SNAPSHOT_HEAD_BYTES + int.from_bytes(content[at + 16 : at + 24], "little")
        if at and (at + size > len(content) or at + SNAPSHOT_HEAD_BYTES > len(content)):
            return  # the process was killed here
        try:
            inside = opened(magic, version, what, bytes(content[at : at + size]))
            value = unpacked(inside, what)
        except FileError as error:
            raise FileError(f"{path}: {error}") from None
        yield value
        at += size
    if not at:
        raise FileError(f"{path}: this is no {what}: it is empty")


@checked_on_failure
class Journal:
    """Writes down what is done to a world, from when it is entered until it is left: see `World.record`."""

    def __init__(self, world: Any, path: str | os.PathLike[str], every: int) -> None:
        self.world, self.every = world, check_whole("journal: every", every, 1, MOST_APART)
        self.path = a_path("journal", path)
        self._notes: list[tuple[int, str, Any]] = []
        self._size, self._written = 0, time.monotonic()
        self._file: ChunkFile | None = None

    def __enter__(self) -> Journal:
        self._file = ChunkFile(self.path, JOURNAL_MAGIC, JOURNAL_VERSION)
        self._note("start", (self.world.save(), self.every))
        self._flush()
        self.world.observers.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.world.observers.remove(self)
        if kind is None or isinstance(error, ArithmeticError):
            self._note("end", self._digests())
        self._flush()
        assert self._file is not None
        self._file.close()

    def due(self, step: int) -> int:
        """The next step after this one at which it wants to look."""
        return step - step % self.every + self.every

    def look(self) -> None:
        self._note("check", self._digests())

    def heard(self, name: str, args: Any, named: Any, worked: bool) -> None:
        """Record an input of the world; a refused one may still have woken bodies."""
        try:
            packed((args, named))
            written = not names_a_file((args, named))
        except TypeError:
            written = False
        if written:
            self._note("input", (name, args, named, worked))
        else:
            self._note("start", (self.world.save(), self.every))

    def saw(self, what: str) -> None:
        """The world did something by itself, as it will again."""

    def _digests(self) -> tuple[Any, ...]:
        return (moving_digest(self.world), *bodies_of(self.world))

    def _note(self, what: str, more: tuple[Any, ...]) -> None:
        if what == "start":
            snapshot, every = more
            more = (np.frombuffer(snapshot, np.uint8), every)
        self._notes.append((self.world.step_count, what, more))
        self._size += 100 + sum(part.nbytes for part in more if isinstance(part, np.ndarray))
        if self._size > JOURNAL_CHUNK_BYTES or time.monotonic() - self._written > JOURNAL_CHUNK_TIME:
            self._flush()

    def _flush(self) -> None:
        if self._notes and self._file is not None:
            self._file.write(list(self._notes))
            self._notes, self._size, self._written = [], 0, time.monotonic()


# ---------------------------------------------------------------------------------------------------------- reading


def notes_of(path: str | os.PathLike[str]) -> Iterator[Note]:
    """All notes of a journal, checked for what they are."""
    for chunk in chunks_of(path, JOURNAL_MAGIC, JOURNAL_VERSION, "journal of a world"):
        if not isinstance(chunk, list):
            raise FileError(f"{path}: a chunk of it has no notes")
        for note in chunk:
            good = isinstance(note, tuple) and len(note) == 3 and type(note[0]) is int and isinstance(note[2], tuple)
            if not good or not isinstance(note[1], str) or note[1] not in ("start", "input", "check", "end"):
                raise FileError(f"{path}: there is a note in it that is none")
            yield Note(*note)


def live_again(path: str | os.PathLike[str], load: Callable[[bytes], Any], most: int) -> Any:
    """Make the world of a journal again, input by input, and compare; `DivergenceError` says where it differs."""
    _check_length(path, check_whole("rerun: most_steps", most))
    world: World | None = None
    good = 0  # the last step up to which all is as it was
    for note in notes_of(path):
        if world is None and note.what != "start":
            raise FileError(f"{path}: it does not begin with a world")
        if world is not None and (note.what != "start" or note.step >= world.step_count):
            _catch_up(world, note.step, path)
        if note.what == "start":
            world = _begin(world, note, path, load)
        elif note.what == "input":
            assert world is not None
            _repeat(world, note, path)
        else:
            assert world is not None
            _compare(world, note, path, good)
            good = note.step
    if world is None:
        raise FileError(f"{path}: it has no notes")
    return world


def _check_length(path: Any, most: int) -> None:
    """Refuse a journal that asks for more steps than it may, before the first of them."""
    at, every, total = 0, 0, 0
    for note in notes_of(path):
        gap = note.step - at
        if note.step < 0 or (every and gap > every):
            raise FileError(f"{path}: after step {at} comes step {note.step}, and checks are {every} steps apart")
        total += max(gap, 0) if every else 0
        if note.what == "start":
            every = note.more[1] if len(note.more) == 2 else 0
            if type(every) is not int or not 1 <= every <= MOST_APART:
                raise FileError(f"{path}: its checks are not every 1 to {MOST_APART} steps")
        at = note.step
    if total > most:
        raise FileError(f"{path}: it goes on for {total} steps; World.rerun(path, most_steps={total}) makes them all")


def _begin(world: World | None, note: Note, path: Any, load: Callable[[bytes], World]) -> World:
    if len(note.more) != 2 or not isinstance(note.more[0], np.ndarray):
        raise FileError(f"{path}: it does not begin with a world")
    try:
        begun = load(note.more[0].tobytes())
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    if (at := begun.step_count) != note.step:
        raise FileError(f"{path}: its world is at step {at} where it says {note.step}")
    begun.clear_callbacks()  # what its controllers and actions did is written down
    return begun


def _catch_up(world: World, step: int, path: Any) -> None:
    left = step - world.step_count
    if left < 0:
        raise FileError(f"{path}: it goes back in time, to step {step}")
    world.step(left)


def _repeat(world: World, note: Note, path: Any) -> None:
    name, args, named, worked = note.more if len(note.more) == 4 else ("", (), {}, True)
    good = isinstance(args, tuple) and isinstance(named, dict) and all(isinstance(key, str) for key in named)
    if not isinstance(name, str) or name not in Part.inputs or not good or names_a_file((args, named)):
        raise FileError(f"{path}: at step {note.step} there is an input that worlds do not have, {name!r:.40}")
    fault: Exception | None = None
    part, method = Part.inputs[name]
    try:
        method(part(world), *args, **named)
    except Exception as error:  # whatever arguments of any kind lead to
        fault = error
    if worked is not (fault is None):
        what = f"does not work as it did: {fault}" if fault else "works, and did not"
        text = f"{path}: at step {note.step} ({world.time:.6g} s) {name} {what}"
        raise DivergenceError(text, note.step, world.time) from fault


def _compare(world: World, note: Note, path: Any, good: int) -> None:
    whole, ids, digests = cast(tuple[Any, Any, Any], note.more if len(note.more) == 3 else ("", None, None))
    arrays = isinstance(whole, str) and isinstance(ids, np.ndarray) and isinstance(digests, np.ndarray)
    if not (arrays and ids.ndim == 1 and ids.shape == digests.shape and ids.dtype.kind == digests.dtype.kind == "i"):
        raise FileError(f"{path}: at step {note.step} there is a check that is none")
    if whole == moving_digest(world):
        return
    own_ids, own = bodies_of(world)
    then, now = dict(zip(ids.tolist(), digests.tolist(), strict=True)), dict(zip(own_ids.tolist(), own, strict=True))
    other = [id for id in sorted(set(then) | set(now)) if then.get(id) != now.get(id)]
    body = world.registry.body_names.get(other[0], f"number {other[0]}") if other else ""
    more = f"body {body!r} moves otherwise (and {len(other) - 1} more)"
    what = more if other else "no body, but contacts or sleep differ"
    raise DivergenceError(
        f"{path}: by step {note.step} ({world.time:.6g} s) {what}; up to step {good} all was the same",
        note.step, world.time, body,
    )  # fmt: skip
