"""Moving pictures of a recording, drawn without a graphics card: GIF and WebP by Pillow, MP4 by ffmpeg where it is."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from kinemorph._extras import require_module
from kinemorph._files import FileError, can_hold, write_whole
from kinemorph.motion.log import Log
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_finite, check_positive
from kinemorph.view.pictures.picture import recorded_solids
from kinemorph.view.pictures.raster import Camera, Image, checked_size, draw
from kinemorph.view.recordings.recording import Recording, level_ground, recording_of

KINDS = {".gif": 100.0, ".webp": 100.0, ".mp4": 1000.0}  # frames a second at most: players know no less than 10 ms
MOST_FRAMES = 100_000
SLOWEST_RATE = 1e-3  # frames a second; GIF and WebP count the milliseconds of a frame in 16 and 24 bits


@checked_first
def animate(
    recording: Recording | Log,
    file: Path | str,
    *,
    rate: float = 20.0,
    speed: float = 1.0,
    direction: Sequence[float] = (1.0, -1.3, 0.55),
    size: tuple[int, int] = (480, 360),
) -> Path:
    """Write a recording, or the log of a simulation, as a moving picture: .gif, .webp or .mp4, as the name ends.

    It has `rate` frames a second, and is `speed` times as fast as it was. MP4 needs the program ffmpeg.
    """
    path = Path(file)
    if path.suffix.lower() not in KINDS:
        raise ValueError(f"{path}: moving pictures end in {', '.join(KINDS)}")
    rate = check_finite("animate: rate", rate, SLOWEST_RATE, KINDS[path.suffix.lower()])
    speed = check_positive("animate: speed", speed)
    checked_size("animate: size", size)
    film = recording_of(recording)
    if not len(film.t):
        raise ValueError(f"recording {film.name!r} has no frames to draw")
    count = float(film.t[-1] - film.t[0]) * (rate / speed)
    if not count < MOST_FRAMES:
        raise ValueError(
            f"animate: rate {rate:g} and speed {speed:g} make {count:.3g} pictures, and {MOST_FRAMES} are the most"
        )
    can_hold(path.parent)
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}")
    program = shutil.which("ffmpeg")
    if path.suffix.lower() == ".mp4":
        if program is None:
            raise FileNotFoundError(f"{path}: MP4 needs the program ffmpeg, which is not here; .gif and .webp do not")
        _film(path, program, images(film, rate / speed, direction, size), rate, size)
        return path
    picture = require_module("PIL.Image", "view", "moving pictures")
    frames = [picture.fromarray(image) for image in images(film, rate / speed, direction, size)]
    pause = round(1000.0 / rate)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=pause, loop=0)
    return path


def images(recording: Recording, rate: float, direction: Sequence[float], size: tuple[int, int]) -> Iterator[Image]:
    """Pictures at even times, so many a second, all seen by one camera that sees all that moves."""
    t = recording.t
    times = np.arange(t[0], t[-1] + 0.5 / rate, 1.0 / rate)
    level = level_ground(recording)
    moments = [times[k] for k in np.linspace(0, len(times) - 1, min(len(times), 24)).astype(int)]
    drawn = [recorded_solids(recording, float(at)) for at in moments]
    points = [s.vertices for still, bodies in drawn for s in bodies or still]
    if not points:
        raise ValueError(f"recording {recording.name!r} has no shapes to draw")
    camera = Camera.framing(np.concatenate(points), direction, size[0] / size[1])
    for at in times:
        still, bodies = recorded_solids(recording, float(at))
        yield draw([*still, *bodies], camera, *size, ground=level)


def _film(path: Path, program: str, frames: Iterator[Image], rate: float, size: tuple[int, int]) -> None:
    """Hand frames to ffmpeg, one after the other; the file is there whole, or as it was before."""
    waiting = itertools.chain([next(frames)], frames)  # what cannot be drawn is told before anything is begun
    handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".mp4")
    os.close(handle)
    command = [
        program, "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r",
        f"{rate:.12g}", "-i", "-", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags",
        "+faststart", unfinished,
    ]  # fmt: skip
    try:
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said)
            assert process.stdin is not None
            with suppress(BrokenPipeError), process:  # it has said why it takes no more
                for frame in waiting:
                    process.stdin.write(np.ascontiguousarray(frame).tobytes())
            said.seek(0)
            why = said.read(300).decode(errors="replace").strip()
        if process.returncode:
            raise OSError(f"{path}: ffmpeg could not make it: {why}")
        write_whole(path, Path(unfinished).read_bytes())
    finally:
        os.unlink(unfinished)
