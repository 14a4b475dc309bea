"""Recordings as files: arrays of times, poses and triangles, and a JSON text that says what they are."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from kinemorph._files import FileError, PathLike, quoted
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.spatial.pose import Pose
from kinemorph.view.recordings.archive import Array, read_arrays, write_arrays
from kinemorph.view.recordings.recording import Body, Chapter, Recording

RECORDING_FORMAT = "kinemorph recording"
RECORDING_VERSION = 1  # raise it when older readers would misread a file
UNIT = 1e-6  # how far from 1 the length of a quaternion may be
SIZES = {
    ShapeKind.SPHERE: 1, ShapeKind.BOX: 3, ShapeKind.CYLINDER: 2, ShapeKind.CAPSULE: 2, ShapeKind.CONE: 2,
    ShapeKind.MESH: 3,
}  # fmt: skip


class _Shape(msgspec.Struct, frozen=True):
    kind: ShapeKind
    size: tuple[float, ...]
    position: tuple[float, ...]
    rotation: tuple[float, ...]  # the rows of the matrix
    role: Role
    colour: tuple[float, float, float, float] | None
    path: str | None
    name: str


class _Body(msgspec.Struct, frozen=True):
    name: str
    shapes: list[_Shape]


class _Chapter(msgspec.Struct, frozen=True):
    t: float
    what: str
    parents: dict[str, str | None]
    frame: int


class _Text(msgspec.Struct, frozen=True):
    """The data beside the arrays. `meshes[i]` is the path of the mesh with arrays vertices_i, faces_i and colours_i."""

    format: str
    version: int
    name: str
    bodies: list[_Body]
    base: list[_Shape]
    chapters: list[_Chapter] = msgspec.field(name="events")
    meshes: list[str]


class _Stamp(msgspec.Struct, frozen=True):
    """The fields that every version of the format has."""

    format: str
    version: int


def save_recording(recording: Recording, path: PathLike) -> None:
    """Write a recording into one file, whole or not at all."""
    text = _Text(
        RECORDING_FORMAT,
        RECORDING_VERSION,
        recording.name,
        [_Body(b.name, [_pack(s) for s in b.shapes]) for b in recording.bodies],
        [_pack(s) for s in recording.base_shapes],
        [_Chapter(e.t, e.what, dict(e.parents), e.frame) for e in recording.chapters],
        [str(p) for p in recording.meshes],
    )
    arrays: dict[str, Array] = {"text": np.frombuffer(msgspec.json.encode(text), np.uint8)}
    arrays |= {"t": recording.t, "poses": recording.poses}
    for i, mesh in enumerate(recording.meshes.values()):
        arrays |= {f"vertices_{i}": mesh.vertices, f"faces_{i}": mesh.faces}
        if mesh.colours is not None:
            arrays[f"colours_{i}"] = mesh.colours
    write_arrays(path, arrays)


def load(path: PathLike) -> Recording:
    """A recording from a file, that of a film too. Any fault of the file raises FileError."""
    from kinemorph.view.recordings.film import FILM_MAGIC, load_film  # late: films are recordings of worlds

    if _begins_with(path, FILM_MAGIC):
        return load_film(path)
    arrays = read_arrays(path)
    try:
        return _recording(arrays)
    except KeyError as error:
        raise FileError(f"{path}: there is no {error.args[0]} in it") from None
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        raise FileError(f"{path}: {error}") from None


def _begins_with(path: PathLike, magic: bytes) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError:
        return False  # `read_arrays` says what is wrong


def _recording(arrays: dict[str, Array]) -> Recording:
    raw = arrays["text"].tobytes()
    stamp = msgspec.json.decode(raw, type=_Stamp)
    if stamp.format != RECORDING_FORMAT or stamp.version != RECORDING_VERSION:
        raise FileError(
            f"it is a {quoted(stamp.format)} of version {stamp.version}; this reads a {quoted(RECORDING_FORMAT)} "
            f"of version {RECORDING_VERSION}"
        )
    text = msgspec.json.decode(raw, type=_Text)
    recording = Recording(text.name)
    recording.meshes = {Path(p): _mesh(arrays, i) for i, p in enumerate(text.meshes)}
    for body in text.bodies:
        recording.add_body(Body(body.name, tuple(_unpack(s) for s in body.shapes)))
    for shape in text.base:
        recording.add_base_shape(_unpack(shape))
    t, poses, there = _frames(arrays, len(text.bodies))
    frames = ((float(at), np.flatnonzero(here), pose[here]) for at, here, pose in zip(t, there, poses, strict=True))
    late = recording.add_frames(frames, [Chapter(e.t, e.what, e.parents, e.frame) for e in text.chapters])
    if late is not None:
        raise FileError(f"chapter {quoted(late.what)} comes after frame {late.frame}; there are {len(t)} frames")
    return recording


def _frames(arrays: dict[str, Array], bodies: int) -> tuple[Array, Array, Array]:
    """Times, poses, and which of them are there at all."""
    t, poses = arrays["t"], arrays["poses"]
    if t.dtype != np.float64 or poses.dtype != np.float64 or t.ndim != 1 or poses.shape != (len(t), bodies, 7):
        raise FileError(f"it has {bodies} bodies, {t.shape} times and {poses.shape} poses, which do not fit")
    there = np.asarray(np.isfinite(poses).all(axis=2))
    unit = np.abs(np.linalg.norm(poses[there][:, 3:], axis=1) - 1.0) < UNIT
    if not (there | np.isnan(poses).all(axis=2)).all() or not unit.all():
        raise FileError("there is a pose in it that is not one")
    return t, poses, there


def _mesh(arrays: dict[str, Array], i: int) -> Mesh:
    vertices, faces, colours = arrays[f"vertices_{i}"], arrays[f"faces_{i}"], arrays.get(f"colours_{i}")
    good = vertices.dtype == np.float64 and vertices.shape[1:] == (3,) and np.isfinite(vertices).all()
    good = good and faces.dtype == np.int32 and faces.shape[1:] == (3,) and faces.size > 0
    good = good and faces.min() >= 0 and faces.max() < len(vertices)
    good = good and (colours is None or (colours.dtype.kind == "f" and colours.shape == (len(faces), 4)))
    if not good:
        raise FileError(f"mesh {i} is none: vertices {vertices.shape}, faces {faces.shape}")
    return Mesh(vertices, faces, colours)


def _pack(s: Shape) -> _Shape:
    rotation, position = tuple(s.pose.rotation.ravel().tolist()), tuple(s.pose.position.tolist())
    return _Shape(s.kind, s.size, position, rotation, s.role, s.colour, str(s.path) if s.path else None, s.name)


def _unpack(s: _Shape) -> Shape:
    sizes = np.array(s.size)
    limits = np.abs(sizes) if s.kind is ShapeKind.MESH else sizes  # a mesh may be mirrored
    if len(s.size) != SIZES[s.kind] or not ((limits > 0.0) & (limits < np.inf)).all() or len(s.rotation) != 9:
        raise FileError(f"shape {quoted(s.name)}: a {s.kind} of size {s.size} is none")
    pose = Pose(s.position, np.reshape(s.rotation, (3, 3)))
    return Shape(s.kind, s.size, pose, s.role, s.colour, Path(s.path) if s.path else None, s.name)
