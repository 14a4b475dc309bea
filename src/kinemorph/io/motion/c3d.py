"""C3D: trajectories of markers and readings of force plates, through ezc3d (the extra `io`)."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinemorph._extras import require_module
from kinemorph._files import FileError, PathLike, read_bytes, write_whole
from kinemorph.io.motion.c3d_check import check_c3d
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_positive, repr_of
from kinemorph.spatial.pose import Array

LARGEST_TABLE_BYTES = 1 << 30  # bytes
MOST_MARKERS, MOST_FRAMES, LONGEST_NAME = 255, 65535, 255  # what the counts of a file can say; bytes of a name
MOST_NAME_BYTES = 32_700  # of all names, each as long as the longest
UNITS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "in": 0.0254}


@checked_first
@dataclass(frozen=True, eq=False)
class Markers:
    """Where markers were: `positions` (frames, markers, 3) in m, in the file's axes, NaN where one was not seen."""

    names: tuple[str, ...]
    positions: Array
    rate: float  # Hz

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", check_positive("Markers: rate", self.rate))
        object.__setattr__(self, "names", tuple(self.names))
        shape = np.shape(self.positions)
        if len(shape) != 3 or shape[1:] != (len(self.names), 3):
            raise ValueError(
                f"Markers: positions have shape {shape}, expected (frames, {len(self.names)}, 3) for {len(self.names)} "
                "names"
            )

    @property
    def t(self) -> Array:
        return np.arange(len(self.positions), dtype=np.float64) / self.rate

    def marker(self, name: str) -> Array:
        """(frames, 3) m, of one marker."""
        if name not in self.names:
            raise KeyError(f"there is no marker {name!r}; there are {', '.join(self.names)}")
        return self.positions[:, self.names.index(name)]

    def __repr__(self) -> str:
        return f"Markers: {len(self.names)} markers, {len(self.positions)} frames at {self.rate:g} Hz"


@checked_first
def load_c3d(path: PathLike) -> Markers:
    """The markers of a C3D file."""
    path = Path(path)
    check_c3d(read_bytes(path, LARGEST_TABLE_BYTES), str(path))
    library = require_module("ezc3d", "io", "C3D files")
    try:
        content = library.c3d(str(path))
        point = content["parameters"]["POINT"]
        names = [str(name) for name in point["LABELS"]["value"]]
        points = np.asarray(content["data"]["points"], dtype=np.float64)
        rate = float(point["RATE"]["value"][0])
        units = str((point.get("UNITS", {}).get("value") or ["mm"])[0]).strip().lower()
    except (OSError, RuntimeError, ValueError, KeyError, IndexError, MemoryError) as error:
        why = (str(error).splitlines() or ["it is damaged"])[0][:200]
        raise FileError(f"{path}: this is not a C3D file that can be read: {why}") from None
    if units not in UNITS:
        raise FileError(f"{path}: its unit of length is {units!r}; known are {', '.join(UNITS)}")
    if not (math.isfinite(rate) and rate > 0.0):
        raise FileError(f"{path}: its rate is {rate} Hz; it must be positive")
    count = min(len(names), points.shape[1])
    positions = UNITS[units] * np.moveaxis(points[:3, :count], 0, 2).swapaxes(0, 1)
    return Markers(tuple(names[:count]), np.ascontiguousarray(positions), rate)


@checked_first
def save_c3d(markers: Markers, path: PathLike) -> None:
    """Write markers into a C3D file, in millimetres, as is usual."""
    _check_limits(markers, f"save_c3d: {path}")
    content = require_module("ezc3d", "io", "C3D files").c3d()
    content["parameters"]["POINT"]["UNITS"]["value"] = ["mm"]
    content["parameters"]["POINT"]["RATE"]["value"] = [markers.rate]
    content["parameters"]["POINT"]["LABELS"]["value"] = list(markers.names)
    points = np.ones((4, len(markers.names), len(markers.positions)))
    points[:3] = 1e3 * np.moveaxis(markers.positions, 2, 0).swapaxes(1, 2)
    content["data"]["points"] = points
    with tempfile.TemporaryDirectory() as folder:  # the library says nothing where it cannot write
        whole = Path(folder) / "whole.c3d"
        content.write(str(whole))
        write_whole(path, whole.read_bytes())


def _check_limits(markers: Markers, where: str) -> None:
    """Raise for what a file cannot hold, and would be read back as something else."""
    names, frames = markers.names, len(markers.positions)
    if len(names) > MOST_MARKERS or not 1 <= frames <= MOST_FRAMES:
        raise ValueError(
            f"{where}: {len(names)} markers in {frames} frames; a C3D file has up to {MOST_MARKERS} markers "
            f"and from 1 to {MOST_FRAMES} frames"
        )
    for name in names:
        encoded = name.encode("utf-8", "replace")
        kept = encoded.decode() == name == name.rstrip(" ") and "\0" not in name
        if not kept or len(encoded) > LONGEST_NAME or names == ("",):
            raise ValueError(
                f"{where}: the name of a marker is {repr_of(name)}, and must be up to {LONGEST_NAME} bytes of UTF-8 "
                "without a zero byte or a blank at the end"
            )
    longest = max((len(name.encode()) for name in names), default=0)
    if longest * len(names) > MOST_NAME_BYTES:
        raise ValueError(
            f"{where}: {len(names)} names of up to {longest} bytes are more than the {MOST_NAME_BYTES} bytes that a "
            "C3D file has for them; give shorter names"
        )
    with np.errstate(over="ignore"):
        rate, positions = np.float32(markers.rate), np.asarray(1e3 * markers.positions, dtype=np.float32)
    if not 0.0 < rate < np.inf:
        raise ValueError(f"{where}: rate is {markers.rate}, which is no number of 32 bits")
    if np.isinf(positions).any():
        raise ValueError(f"{where}: positions have {np.nanmax(np.abs(markers.positions)):g} m, and end at 3.4e35 m")
