"""Which files are recordings, and what they can be written as."""

from __future__ import annotations

from pathlib import Path

from kinemorph._extras import require_view_extra
from kinemorph._files import quoted
from kinemorph.view.pictures.moving_pictures import KINDS, animate
from kinemorph.view.recordings.film import FILM_MAGIC as FILM
from kinemorph.view.recordings.glb import save_glb
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.replay import replay

ZIP = b"PK\x03\x04"  # what a recording (.npz) begins with


def is_recording(path: Path) -> bool:
    """Whether a file says of itself that it is a recording, or a film of a world."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(8).startswith((ZIP, FILM))


def save_as(recording: Recording, path: Path) -> Path:
    """Write a recording as the kind of file that the end of its name says: a page, a moving picture, or GLB."""
    end = path.suffix.lower()
    if end == ".html":
        require_view_extra("pages")
        return replay(recording, path)
    if end in KINDS:
        return animate(recording, path)
    if end == ".glb":
        save_glb(recording, path)
        return path
    kinds = ", ".join((".html", *KINDS, ".glb"))
    raise ValueError(f"{path}: recordings are not written as files that end in {quoted(path.suffix)}; use {kinds}")
