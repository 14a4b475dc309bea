"""Whether a C3D file is whole, before ezc3d reads it: that library trusts every length in a file, and may never return.

A file has blocks of 512 bytes: a header, parameters (a chain of groups and their entries) and frames.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from kinemorph._files import FileError

BLOCK_BYTES = 512
C3D_MAGIC = 0x50
DEC = 85
PROCESSORS = {84: "<", DEC: "<", 86: ">"}  # Intel, DEC, SGI
SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}  # bytes of text, bytes, integers, reals
MOST_DIMENSIONS = 7  # dimensions of a parameter
NEEDED = ("USED", "FRAMES", "SCALE", "RATE", "DATA_START")  # of POINT
NUMBERS = ("USED", "FRAMES", "RATE", "DATA_START", "RATIO", "GEN_SCALE")  # of any group
ROTATION = 17  # numbers of a rotation: a matrix, and how sure it is
MOST_COUNTED_FRAMES = 2**16 - 1  # frames that the parameter can count
MOST_EVENTS = 18  # that a header has room for


@dataclass
class _Parameter:
    kind: int
    shape: list[int]
    data: bytes


def check_c3d(content: bytes, source: str) -> None:
    """Raise if a length or a place in the file leads out of it."""
    if len(content) < 2 * BLOCK_BYTES or content[1] != C3D_MAGIC or content[0] == 0:
        raise FileError(f"{source}: this is not a C3D file")
    start = (content[0] - 1) * BLOCK_BYTES
    if start + 4 > len(content) or content[start + 3] not in PROCESSORS:
        raise FileError(f"{source}: this is not a C3D file: its parameters are not where it says")
    order = PROCESSORS[content[start + 3]]
    end = start + content[start + 2] * BLOCK_BYTES
    if content[start + 2] == 0 or end > len(content):
        raise FileError(f"{source}: its {content[start + 2]} blocks of parameters are not all there")
    found = _parameters(content[:end], start + 4, order, source)
    _check_header(content, order, source)
    _check_frames(content, found, order, content[start + 3] == DEC, source)


def _parameters(content: bytes, at: int, order: str, source: str) -> dict[str, _Parameter]:
    """All parameters, by group and name."""
    groups: dict[int, str] = {}
    found: dict[tuple[int, str], _Parameter] = {}
    while True:
        where = f"{source}: the parameter at byte {at}"
        if at + 2 > len(content):
            raise FileError(f"{where} is cut off")
        length, number = abs(struct.unpack_from("b", content, at)[0]), struct.unpack_from("b", content, at + 1)[0]
        if not length or not number:
            break
        if at + length + 5 > len(content):
            raise FileError(f"{where} is cut off")
        name = content[at + 2 : at + 2 + length].decode("latin-1").upper()
        if not (name.isascii() and name.isprintable()):
            raise FileError(f"{where} has a name that is none")
        here = at + 2 + length
        (step,) = struct.unpack_from(f"{order}h", content, here)
        if number < 0:
            if number in groups:
                raise FileError(f"{where}: there is already a group of this number")
            groups[number] = name
            stop = here + 3 + content[here + 2]
        else:
            parameter, stop = _parameter(content, here + 2, where)
            if (number, name) in found:
                raise FileError(f"{where}: there is already a parameter of this name")
            found[number, name] = parameter
        if step and here + step < stop:
            raise FileError(f"{where} says that it has {step} bytes, and has {stop - here}")
        if not step:
            break
        at = here + step
    for number, name in found:
        if -number not in groups:
            raise FileError(f"{source}: the parameter {name} is in group {number}, which is not there")
    return {f"{groups[-number]}:{name}": parameter for (number, name), parameter in found.items()}


def _parameter(content: bytes, at: int, where: str) -> tuple[_Parameter, int]:
    """A parameter, and the byte at which it ends."""
    if at + 2 > len(content):
        raise FileError(f"{where} is cut off")
    kind, dimensions = struct.unpack_from("b", content, at)[0], content[at + 1]
    if kind not in SIZES or dimensions > MOST_DIMENSIONS or (kind < 0 and not dimensions):
        raise FileError(f"{where} is of no known kind")
    shape = list(content[at + 2 : at + 2 + dimensions])
    first = at + 2 + dimensions
    stop = first + SIZES[kind] * math.prod(shape)
    if len(shape) < dimensions or stop + 1 > len(content) or stop + 1 + content[stop] > len(content):
        raise FileError(f"{where} is cut off")
    return _Parameter(kind, shape, content[first:stop]), stop + 1 + content[stop]


def _check_header(content: bytes, order: str, source: str) -> None:
    (events,) = struct.unpack_from(f"{order}h", content, 300)
    if not 0 <= events <= MOST_EVENTS:
        raise FileError(f"{source}: its header has {events} events; {MOST_EVENTS} are the most")


def _check_frames(content: bytes, found: dict[str, _Parameter], order: str, dec: bool, source: str) -> None:
    """Raise if the frames are not all there."""
    points, analog, first, last = struct.unpack_from(f"{order}4H", content, 2)
    scale = _real(content[12:16], order, dec)
    (block,) = struct.unpack_from(f"{order}H", content, 16)
    for name in NEEDED:
        if f"POINT:{name}" not in found:
            raise FileError(f"{source}: its parameter POINT:{name} is missing")
    numbers = {}
    for name, parameter in found.items():
        if name == "POINT:SCALE" or name.partition(":")[2] in NUMBERS:
            if parameter.kind not in (2, 4) or not parameter.data:
                raise FileError(f"{source}: its parameter {name} is no number")
            whole = struct.unpack_from(f"{order}H", parameter.data)[0]
            numbers[name] = float(whole) if parameter.kind == 2 else _real(parameter.data[:4], order, dec)
            if not math.isfinite(numbers[name]):
                raise FileError(f"{source}: its parameter {name} is not finite")
    for name in ("LABELS", "UNITS"):
        text = found.get(f"POINT:{name}")
        if text is not None and (text.kind != -1 or len(text.shape) > 2):
            raise FileError(f"{source}: its parameter POINT:{name} is no text")
    if not math.isfinite(scale) or numbers["POINT:USED"] != points:
        raise FileError(
            f"{source}: its header tells of {points} points, and its parameters of {numbers['POINT:USED']:g}"
        )
    if last < first or block < 1 or (block - 1) * BLOCK_BYTES > len(content):
        raise FileError(f"{source}: frames {first} to {last} from block {block} on are no frames")
    size = (4 * points + analog) * (4 if scale < 0.0 else 2)
    # Longer files say it elsewhere.
    declared = numbers["POINT:FRAMES"] if numbers["POINT:FRAMES"] < MOST_COUNTED_FRAMES else 0.0
    frames = max(last - first + 1, int(declared))
    if (block - 1) * BLOCK_BYTES + frames * size > len(content):
        raise FileError(f"{source}: its {frames} frames of {size} bytes are not all there")
    used, ratio = numbers.get("ROTATION:USED", 0.0), numbers.get("ROTATION:RATIO", 0.0)
    turns = max(used, ratio, used * ratio)  # a ratio alone makes the library count for long
    if (numbers.get("ROTATION:DATA_START", 1.0) - 1.0) * BLOCK_BYTES + 4.0 * ROTATION * turns * frames > len(content):
        raise FileError(f"{source}: its {turns:g} rotations a frame are not all there")


def _real(data: bytes, order: str, dec: bool) -> float:
    """A number of four bytes; those of DEC have their halves swapped, and are four times as large."""
    if dec:
        return float(struct.unpack("<f", data[2:] + data[:2])[0]) / 4.0
    return float(struct.unpack(f"{order}f", data)[0])
