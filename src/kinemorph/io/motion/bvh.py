"""BVH: recorded motion of a skeleton. `docs/bvh.md` says what is read and by which rules."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kinemorph._files import FileError, ModelWarning, PathLike, caller_level, quoted, read_bytes, write_whole
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_whole, repr_of
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import about, multiply_all, rotate_all

LARGEST_BVH_BYTES = 1 << 28  # bytes: an hour of 31 joints at 120 Hz is 330 MB, a minute 5 MB
MOST_JOINTS = 2000
LONGEST_NAME = 200
SHORTEST_FRAME_TIME = 1e-6  # s from one frame to the next
LARGEST_BVH_NUMBER = 1e9  # of a number; files in millimetres of a walk around the earth are read

CHANNELS = {f"{axis}{what}".lower(): f"{axis}{what}" for what in ("position", "rotation") for axis in "XYZ"}


@dataclass(frozen=True)
class BvhJoint:
    """A joint: the frame that its rotation turns stands at `offset` in its parent's frame, in the file's unit."""

    name: str
    parent: int  # index of a joint, -1 for the root
    offset: tuple[float, float, float]
    channels: tuple[str, ...]  # in the file's order, such as ("Zrotation", "Xrotation", "Yrotation")
    ends: tuple[tuple[float, float, float], ...] = ()  # its end sites


@checked_first
@dataclass(frozen=True, eq=False)
class Bvh:
    """A skeleton and its motion, as the file has them: degrees, the file's unit of length, the file's axes.

    `frames` has a row for each frame and a column for each channel, joint by joint. Joints come parents first.
    """

    joints: tuple[BvhJoint, ...]
    frames: Array
    dt: float  # s between frames
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "frames", np.asarray(self.frames, dtype=np.float64))
        width = sum(len(joint.channels) for joint in self.joints)
        if self.frames.ndim != 2 or self.frames.shape[1] != width:
            raise ValueError(f"BVH {self.name!r}: frames have shape {self.frames.shape}, expected (frames, {width})")
        if not (math.isfinite(self.dt) and self.dt > 0.0):
            raise ValueError(f"BVH {self.name!r}: the time between frames is {self.dt} s; it must be positive")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(joint.parent for joint in self.joints)

    @property
    def t(self) -> Array:
        """The time of each frame (s); the first is 0."""
        return self.dt * np.arange(len(self.frames), dtype=np.float64)

    def columns(self, joint: int) -> slice:
        """The columns of a joint's channels in `frames`."""
        k = check_whole("Bvh.columns: joint", joint, 0, len(self.joints) - 1)
        first = sum(len(j.channels) for j in self.joints[:k])
        return slice(first, first + len(self.joints[k].channels))

    def joint(self, name: str) -> int:
        """The index of a joint."""
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(f"BVH {self.name!r} has no joint {name!r}; it has {', '.join(self.names)}") from None

    def local(self) -> tuple[Array, Array]:
        """Of each frame and joint its rotation (quaternion w x y z) and its position in its parent's frame.

        Rotations apply in the order of their channels, each about an axis that the ones before have turned. A position
        channel is the position: it takes the place of that component of the offset.
        """
        count = len(self.frames)
        rotations = np.zeros((count, len(self.joints), 4))
        rotations[..., 0] = 1.0
        positions = np.tile([joint.offset for joint in self.joints], (count, 1, 1)).reshape(count, -1, 3)
        column = 0
        for k, joint in enumerate(self.joints):
            for channel in joint.channels:
                axis, values = "XYZ".index(channel[0]), self.frames[:, column]
                if channel.endswith("position"):
                    positions[:, k, axis] = values
                else:
                    rotations[:, k] = multiply_all(rotations[:, k], about(axis, np.radians(values)))
                column += 1
        return rotations, positions

    def world(self) -> tuple[Array, Array]:
        """Of each frame and joint its orientation (quaternion w x y z) and position in the file's world."""
        rotations, positions = self.local()
        for k, joint in enumerate(self.joints):
            if joint.parent >= 0:
                above = rotations[:, joint.parent]
                positions[:, k] = positions[:, joint.parent] + rotate_all(above, positions[:, k])
                rotations[:, k] = multiply_all(above, rotations[:, k])
        return rotations, positions

    def __repr__(self) -> str:
        count = len(self.frames)
        return f"Bvh {self.name!r}: {len(self.joints)} joints, {count} frames at {1.0 / self.dt:.4g} Hz"


@checked_first
def load_bvh(path: PathLike, *, strict: bool = False) -> Bvh:
    """The skeleton and motion of a BVH file. `strict`: what else would be a `ModelWarning` is a `FileError`."""
    return _parse(read_bytes(path, LARGEST_BVH_BYTES), str(path), Path(path).stem, strict)


@checked_first
def parse_bvh(text: str | bytes, *, source: str = "BVH text", strict: bool = False) -> Bvh:
    """The same from a text; `source` names it in errors."""
    return _parse(bytes(text) if not isinstance(text, str) else text.encode(errors="surrogatepass"), source, "", strict)


@checked_first
def save_bvh(bvh: Bvh, path: PathLike, digits: int = 8) -> None:
    """Write a BVH file. Read again it is the same to so many decimals."""
    check_whole("save_bvh: digits", digits, 0, 17)
    text = format_bvh(bvh, digits)
    for joint, found in zip(bvh.joints, parse_bvh(text, source=f"save_bvh: {path}").joints, strict=True):
        if joint.name != found.name:
            raise ValueError(
                f"{path}: joint {repr_of(joint.name)} would be read as {repr_of(found.name)}; give it another name"
            )
    write_whole(path, text.encode())


def format_bvh(bvh: Bvh, digits: int = 8) -> str:
    """The text of a BVH file."""
    children: list[list[int]] = [[] for _ in bvh.joints]
    for k, joint in enumerate(bvh.joints):
        if joint.parent >= 0:
            children[joint.parent].append(k)
    lines, order = ["HIERARCHY"], []
    waiting: list[tuple[int, int]] = [(0, 0)] if bvh.joints else []  # joints to open, -1 for a brace to close
    while waiting:
        k, depth = waiting.pop()
        tab = "  " * depth
        if k < 0:
            lines.append(f"{tab}}}")
            continue
        joint = bvh.joints[k]
        order.append(k)
        lines += [f"{tab}{'ROOT' if joint.parent < 0 else 'JOINT'} {joint.name}", f"{tab}{{"]
        lines.append(f"{tab}  OFFSET {_numbers(joint.offset, digits)}")
        lines.append(f"{tab}  CHANNELS {' '.join([str(len(joint.channels)), *joint.channels])}")
        for end in joint.ends:
            lines += [f"{tab}  End Site", f"{tab}  {{", f"{tab}    OFFSET {_numbers(end, digits)}", f"{tab}  }}"]
        waiting.append((-1, depth))
        waiting += [(child, depth + 1) for child in reversed(children[k])]
    if order != list(range(len(bvh.joints))):
        raise ValueError(f"BVH {bvh.name!r}: its joints must come as a file has them, each before what hangs on it")
    lines += ["MOTION", f"Frames: {len(bvh.frames)}", f"Frame Time: {bvh.dt:.10g}"]
    row = " ".join([f"%.{digits}f"] * bvh.frames.shape[1])
    lines += [row % tuple(frame) for frame in bvh.frames.tolist()]
    return "\n".join(lines) + "\n"


def _numbers(values: tuple[float, ...], digits: int) -> str:
    return " ".join(f"{x:.{digits}f}" for x in values)


class _Line(NamedTuple):
    number: int
    words: list[str]


class _Reader:
    """The lines of a file, and errors that name them."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.lines = self._words(text)
        self.line = _Line(1, [])

    @staticmethod
    def _words(text: str) -> Iterator[_Line]:
        for number, line in enumerate(text.split("\n"), 1):
            words = line.replace("{", " { ").replace("}", " } ").split()
            if words:
                yield _Line(number, words)

    def error(self, message: str, line: int | None = None) -> FileError:
        return FileError(f"{self.source}, line {line or self.line.number}: {message}")

    def next(self, expected: str) -> list[str]:
        try:
            self.line = next(self.lines)
        except StopIteration:
            raise self.error(f"the file ends here; expected {expected}") from None
        return self.line.words

    def brace(self) -> None:
        words = self.next("{")
        if words != ["{"]:
            raise self.error(f"expected {{, not {quoted(' '.join(words))}")

    def floats(self, words: list[str], count: int, what: str) -> tuple[float, ...]:
        if len(words) != count:
            raise self.error(f"{what} needs {count} numbers, here are {len(words)}")
        return tuple(self.number(word, what) for word in words)

    def number(self, word: str, what: str, line: int | None = None) -> float:
        try:
            value = float(word) if "_" not in word else math.nan
        except ValueError:
            raise self.error(f"{what}: {quoted(word)} is not a number", line) from None
        if not abs(value) <= LARGEST_BVH_NUMBER:
            raise self.error(f"{what}: {quoted(word)} is not a number that makes sense here", line)
        return value


_MOTION = re.compile(rb"^[ \t]*MOTION[ \t\r]*$", re.MULTILINE | re.IGNORECASE)


def _parse(content: bytes, source: str, name: str, strict: bool) -> Bvh:
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in content:  # lines of old Macintoshes
        content = content.replace(b"\r", b"\n")
    found = _MOTION.search(content)
    head, body = (content, b"") if found is None else (content[: found.start()], content[found.end() :])
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if content[1:2] == b"P" and not content.lstrip().startswith(b"HIERARCHY"):
            raise FileError(
                f"{source}: this is not a BVH file but one of markers (C3D); km.load_c3d reads it"
            ) from None
        line = head[: error.start].count(b"\n") + 1
        raise FileError(f"{source}, line {line}: this is not UTF-8 text") from None
    reader = _Reader(text, source)
    joints = _hierarchy(reader)
    if found is None:
        raise reader.error("the file ends here; expected MOTION")
    frames, dt = _motion(reader, body, head.count(b"\n") + 1, sum(len(j.channels) for j in joints), strict)
    return Bvh(joints, frames, dt, name)


def _hierarchy(reader: _Reader) -> tuple[BvhJoint, ...]:
    words = reader.next("HIERARCHY")
    if [word.upper() for word in words] != ["HIERARCHY"]:
        raise reader.error(f"this is not a BVH file: it begins with {quoted(' '.join(words))}, not with HIERARCHY")
    words = reader.next("ROOT")
    if words[0].upper() != "ROOT":
        raise reader.error(f"expected ROOT and a name, not {quoted(' '.join(words))}")
    joints: list[BvhJoint] = []
    open_joints = [_open(reader, words, -1, joints)]
    while open_joints:
        words = reader.next("JOINT, End Site or }")
        here, key = open_joints[-1], words[0].upper()
        if words == ["}"]:
            open_joints.pop()
        elif key == "JOINT":
            open_joints.append(_open(reader, words, here, joints))
        elif key == "END":
            end = _end(reader)
            joint = joints[here]
            joints[here] = BvhJoint(joint.name, joint.parent, joint.offset, joint.channels, (*joint.ends, end))
        else:
            raise reader.error(f"joint {quoted(joints[here].name)}: {quoted(' '.join(words))} does not belong here")
    for line in reader.lines:
        word = line.words[0].upper()
        what = "a second ROOT: a file holds one skeleton" if word == "ROOT" else f"{quoted(' '.join(line.words))}"
        raise reader.error(f"after the skeleton comes MOTION, not {what}", line.number)
    return tuple(joints)


def _open(reader: _Reader, words: list[str], parent: int, joints: list[BvhJoint]) -> int:
    """A joint as far as its children; returns its index."""
    same_line = words[-1] == "{"
    name = " ".join(words[1:-1] if same_line else words[1:])
    where = f"joint {quoted(name)}"
    if not name:
        raise reader.error(f"{words[0]} needs a name")
    if len(name) > LONGEST_NAME:
        raise reader.error(f"{where}: the name has {len(name)} letters, the limit is {LONGEST_NAME}")
    if any(joint.name == name for joint in joints):
        raise reader.error(f"{where}: there is already a joint of this name")
    if len(joints) == MOST_JOINTS:
        raise reader.error(f"{where}: there are more than {MOST_JOINTS} joints")
    if not same_line:
        reader.brace()
    offset: tuple[float, ...] | None = None
    channels: tuple[str, ...] | None = None
    while offset is None or channels is None:
        words = reader.next("OFFSET and CHANNELS")
        key = words[0].upper()
        if key == "OFFSET" and offset is None:
            offset = reader.floats(words[1:], 3, f"{where}: OFFSET")
        elif key == "CHANNELS" and channels is None:
            channels = _channels(reader, words[1:], where)
        else:
            missing = "OFFSET" if offset is None else "CHANNELS"
            raise reader.error(f"{where}: expected {missing}, not {quoted(' '.join(words))}")
    x, y, z = offset
    joints.append(BvhJoint(name, parent, (x, y, z), channels))
    return len(joints) - 1


def _channels(reader: _Reader, words: list[str], where: str) -> tuple[str, ...]:
    found: list[str] = []
    for word in words[1:]:
        channel = CHANNELS.get(word.lower())
        if channel is None:
            raise reader.error(
                f"{where}: there is no channel {quoted(word)}; use one of {', '.join(CHANNELS.values())}"
            )
        if channel in found:
            raise reader.error(f"{where}: the channel {channel} is there twice")
        found.append(channel)
    if not words or words[0] != str(len(found)):
        count = quoted(words[0]) if words else "no number"
        raise reader.error(f"{where}: CHANNELS says {count} and names {len(found)}")
    return tuple(found)


def _end(reader: _Reader) -> tuple[float, float, float]:
    if reader.line.words[-1] != "{":
        reader.brace()
    words = reader.next("OFFSET")
    if words[0].upper() != "OFFSET":
        raise reader.error(f"End Site: expected OFFSET, not {quoted(' '.join(words))}")
    x, y, z = reader.floats(words[1:], 3, "End Site: OFFSET")
    words = reader.next("}")
    if words != ["}"]:
        raise reader.error(f"End Site: expected }}, not {quoted(' '.join(words))}")
    return x, y, z


_HEAD = re.compile(
    rb"\s*Frames(?:\s*:\s*|\s+)(\S+)[ \t\r]*\n\s*Frame\s+Time(?:\s*:\s*|\s+)(\S+)[ \t\r]*(?:\n|$)", re.IGNORECASE
)


def _motion(reader: _Reader, body: bytes, first: int, width: int, strict: bool) -> tuple[Array, float]:
    """The frames, and the time between them. `first` is the number of the line with MOTION."""
    found = _HEAD.match(body)
    if found is None:
        raise reader.error('after MOTION come the lines "Frames: 100" and "Frame Time: 0.01"', first + 1)
    line = first + body[: found.start(1)].count(b"\n")
    declared, dt = found.group(1).decode("latin-1"), found.group(2).decode("latin-1")
    if not (declared.isascii() and declared.isdigit() and len(declared) < 12):
        raise reader.error(f"Frames: {quoted(declared)} is not a number of frames", line)
    seconds = reader.number(dt, "Frame Time", line + 1)
    if seconds < SHORTEST_FRAME_TIME:
        raise reader.error(
            f"Frame Time: {quoted(dt)} must be positive, and no less than {SHORTEST_FRAME_TIME:g} s", line + 1
        )
    numbers = body[found.end() :]
    start = first + body[: found.end()].count(b"\n")
    frames = _frames(reader, numbers, start, width)
    if len(frames) != int(declared):
        message = f"{int(declared)} frames are declared, and {len(frames)} are there: all of these are taken"
        if strict:
            raise reader.error(f"{message} (refused because strict=True)", line)
        warnings.warn(str(reader.error(message, line)), ModelWarning, stacklevel=caller_level())
    return frames, seconds


def _frames(reader: _Reader, text: bytes, start: int, width: int) -> Array:
    """All numbers, a row for each frame; `start` is the number of the first line."""
    words = text.split()
    if width == 0:
        if words:
            raise reader.error("there are numbers, but the skeleton has no channels", start)
        return np.zeros((0, 0))
    try:
        values = np.array(list(map(float, words)), dtype=np.float64)
        good = b"_" not in text and bool((np.abs(values) <= LARGEST_BVH_NUMBER).all())
    except ValueError:
        good = False
    if good and len(values) % width == 0 and _one_frame_a_line(text, width):
        return values.reshape(-1, width)
    # Something is wrong, and here is time to say where.
    for number, line in enumerate(text.split(b"\n"), start):
        row = line.decode("latin-1").split()
        for c, word in enumerate(row, 1):
            reader.number(word, f"number {c} of a frame", number)
        if row and len(row) != width:
            raise reader.error(f"a frame has {len(row)} numbers; the skeleton has {width} channels", number)
    raise reader.error("the frames cannot be read", start)


def _one_frame_a_line(text: bytes, width: int) -> bool:
    counts = {len(line.split()) for line in text.split(b"\n")}
    return counts <= {0, width}
