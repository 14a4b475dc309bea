"""The kind of a file, by its content or else by the end of its name, and the command that reads it.

A command that is given a file of another kind says so by this, instead of what its parser stumbles over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from kinemorph._files import FileError, PathLike, require_file
from kinemorph._toml import table_of

HEAD_BYTES = 1 << 16  # bytes that are looked at
TEXT_BYTES = 1 << 20  # bytes of a TOML or JSON file that is looked at; kinds of larger ones go by their name
_OPENING = re.compile(rb"<(?:([A-Za-z_][\w:.-]*)|\?|!--|!DOCTYPE)")
_CLOSINGS = {b"<?": b"?>", b"<!--": b"-->", b"<!DOCTYPE": b">"}  # of what is no element


class FileKind(Enum):
    """A kind of file: what it is called, and what reads it."""

    URDF = "a URDF model", "kinemorph view and kinemorph convert read it"
    SDF = "an SDF model", "kinemorph view and kinemorph convert read it"
    MJCF = "an MJCF model", "kinemorph view and kinemorph convert read it"
    XACRO = "a xacro file", "expand it first: xacro in.xacro > out.urdf"
    SCENE = "a scene file", "kinemorph run and kinemorph view read it"
    SEARCH = "a file with settings of a search", "kinemorph evolve reads it"
    TABLE_OF_RUNS = "a table of experiments", "kinemorph results reads it"
    GENOTYPE = "a genotype", "kinemorph creature show, kinemorph view and kinemorph convert read it"
    MOTION = "a BVH motion", "kinemorph mocap reads it, and km.mocap.body_of makes a model of it"
    MARKERS = "a C3D file of markers", "km.load_c3d reads it; kinemorph mocap reads joint angles, from a BVH file"
    RECORDING = "a recording", "kinemorph view and kinemorph convert read it"
    SNAPSHOT = "a snapshot of a world", "kinemorph view and km.World.load read it"
    JOURNAL = "a journal of a world", "kinemorph view and km.World.rerun read it"
    RUN = "a run of evolution", "kinemorph replay, report, rescore, view and evolve --resume read it"
    TABLE = "a table of numbers", "km.load_table reads it"
    MESH = "a mesh", "km.load_mesh reads it"
    GLB = "a GLB scene", "kinemorph writes such files, and does not read them"
    PAGE = "a page", "open it in a browser"
    PICTURE = "a picture or a film", "kinemorph writes such files, and does not read them"
    WHEEL = "a Python package", "pip installs it"

    def __init__(self, what: str, reader: str) -> None:
        self.what, self.reader = what, reader


MODELS = FileKind.URDF, FileKind.SDF, FileKind.MJCF
_BEGINNINGS = {
    b"kmworld\n": FileKind.SNAPSHOT,
    b"kmjourn\n": FileKind.JOURNAL,
    b"kmfilms\n": FileKind.RECORDING,
    b"SQLite format 3\x00": FileKind.RUN,
    b"\x89HDF\r\n\x1a\n": FileKind.TABLE,
    b"glTF": FileKind.GLB,
    b"\x89PNG": FileKind.PICTURE,
    b"GIF8": FileKind.PICTURE,
    b"\xff\xd8\xff": FileKind.PICTURE,
    b"HIERARCHY": FileKind.MOTION,
}
_ELEMENTS = {
    "mujoco": FileKind.MJCF, "robot": FileKind.URDF, "sdf": FileKind.SDF, "html": FileKind.PAGE,
    "COLLADA": FileKind.MESH,
}  # fmt: skip
_ENDS = {
    ".bvh": FileKind.MOTION, ".c3d": FileKind.MARKERS, ".npz": FileKind.RECORDING, ".film": FileKind.RECORDING,
    ".csv": FileKind.TABLE, ".h5": FileKind.TABLE, ".hdf5": FileKind.TABLE, ".stl": FileKind.MESH,
    ".obj": FileKind.MESH, ".dae": FileKind.MESH, ".msh": FileKind.MESH, ".glb": FileKind.GLB, ".gltf": FileKind.GLB,
    ".html": FileKind.PAGE, ".htm": FileKind.PAGE, ".png": FileKind.PICTURE, ".jpg": FileKind.PICTURE,
    ".gif": FileKind.PICTURE, ".webp": FileKind.PICTURE, ".mp4": FileKind.PICTURE, ".xacro": FileKind.XACRO,
    ".whl": FileKind.WHEEL, ".urdf": FileKind.URDF, ".sdf": FileKind.SDF, ".mjcf": FileKind.MJCF,
    ".world": FileKind.SNAPSHOT, ".db": FileKind.RUN,
}  # fmt: skip


def kind_of(path: PathLike) -> FileKind | None:
    """The kind of a file that is there; None for one that nothing is known of."""
    path = Path(path)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    end = path.suffix.lower()
    if end in (".xacro", ".whl"):
        return _ENDS[end]
    return _of_content(head, path) or _ENDS.get(end)


def expect_kind(path: PathLike, *kinds: FileKind, wanted: str) -> None:
    """Raise unless a file is of one of some kinds, or of no known kind: then its parser says what is wrong.

    `wanted` is what these kinds are called together.
    """
    require_file(path)
    kind = kind_of(path)
    if kind is not None and kind not in kinds:
        raise FileError(f"{path}: this is {kind.what}, not {wanted}; {kind.reader}")


def expect_kind_of_all(paths: Iterable[PathLike], *kinds: FileKind, wanted: str) -> None:
    """The same of several files."""
    for path in paths:
        expect_kind(path, *kinds, wanted=wanted)


def _of_content(head: bytes, path: Path) -> FileKind | None:
    for begin, kind in _BEGINNINGS.items():
        if head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n" if kind is FileKind.MOTION else b"").startswith(begin):
            return kind
    if head[:4] == b"PK\x03\x04":
        return FileKind.RECORDING if b".npy" in head else None
    if len(head) >= 512 and head[0] and head[1] == 0x50 and path.suffix.lower() not in (".stl", ".obj", ".txt"):
        return FileKind.MARKERS if b"\x00" in head[2:512] else None
    if head[4:8] == b"ftyp" or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return FileKind.PICTURE
    if b"\x00" in head:
        return None
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] == b"<":
        name = _first_element(text)
        return _ELEMENTS.get(name) if name else FileKind.PAGE if text[:9].lower() == b"<!doctype" else None
    return _of_settings(path)


def _first_element(text: bytes) -> str:
    """The name of the first element of XML; empty if there is none. It goes through the text once, whatever it is."""
    at = 0
    while found := _OPENING.search(text, at):
        if found[1]:
            return found[1].decode()
        closing = _CLOSINGS[found[0]]
        end = text.find(closing, found.end())
        if end < 0:
            break
        at = end + len(closing)
    return ""


def _of_settings(path: Path) -> FileKind | None:
    """Of text that is TOML or JSON, by the names in it."""
    end = path.suffix.lower()
    if end not in (".toml", ".json") or path.stat().st_size > TEXT_BYTES:
        return None
    try:
        text = path.read_text("utf-8")
        table = table_of(text) if end == ".toml" else json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(table, dict):
        return None
    if end == ".json":
        return FileKind.GENOTYPE if "nodes" in table else None
    for name, kind in (("rows", FileKind.TABLE_OF_RUNS), ("task", FileKind.SEARCH)):
        if name in table:
            return kind
    scene = {"world", "ground", "body", "figure", "joint", "change", "event"} & table.keys()
    return FileKind.SCENE if scene else None
