"""Pictures of a model, without a window and without a graphics card."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinemorph.geometry.meshes.mesh import Mesh, mesh_of
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.log import Log
from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose
from kinemorph.view.pictures.captions import captioned
from kinemorph.view.pictures.raster import Camera, Image, Solid, checked_size, draw
from kinemorph.view.recordings.recording import (
    SOIL,
    Recording,
    level_ground,
    recording_of,
    shapes_to_show,
    standing_shapes,
)

PALE = np.array([0.93, 0.94, 0.96])
PALETTE = ((0.33, 0.53, 0.76), (0.87, 0.50, 0.29), (0.45, 0.68, 0.45), (0.76, 0.40, 0.48), (0.56, 0.48, 0.73))


def solids_of(model: Model, q: npt.ArrayLike, fade: float = 0.0) -> list[Solid]:
    """The shapes of a model at a configuration, as triangles in the world; `fade` from 0 to 1 pales them."""
    data = Data(model)
    kinematics(model, data, q)
    solids = []
    bodies = (-1, *model.links["body"].tolist())  # they keep their colours when the structure changes
    for i, (body, shapes) in enumerate(zip(bodies, (model.base_shapes, *model.shapes), strict=True), start=-1):
        for shape in shapes_to_show(shapes):
            mesh = mesh_of(shape)
            place = pose_of(model, data, i) @ shape.pose
            solids.append(Solid(place.apply(mesh.vertices), mesh.faces, _colours(shape, mesh, body, fade)))
    return solids


def recorded_solids(recording: Recording, t: float) -> tuple[list[Solid], list[Solid]]:
    """Standing shapes, but for level ground, and bodies of a recording at a time, as triangles in the world."""
    still = [recorded_solid(recording, shape) for shape in standing_shapes(recording)]
    return still, [solid for solids in body_solids(recording, t).values() for solid in solids]


def body_solids(recording: Recording, t: float) -> dict[str, list[Solid]]:
    """Each body of a recording, by name, in the last frame that is not later than t; empty where it is absent."""
    if not len(recording.t):
        raise ValueError(f"recording {recording.name!r} has no frames to draw")
    frame = recording.poses[max(0, int(np.searchsorted(recording.t, t + 1e-9, side="right")) - 1)]
    solids: dict[str, list[Solid]] = {}
    for i, (body, pose) in enumerate(zip(recording.bodies, frame, strict=True)):
        shapes = [] if np.isnan(pose[0]) else shapes_to_show(body.shapes)
        place = Pose.quaternion(pose[3:], pose[:3]) if shapes else Pose()
        solids[body.name] = [recorded_solid(recording, shape, i, place) for shape in shapes]
    return solids


def recorded_solid(recording: Recording, shape: Shape, body: int = -1, place: Pose | None = None) -> Solid:
    """A shape of a body of a recording, or one that stands, as triangles in the world."""
    mesh = recording.mesh_of(shape)
    pose = shape.pose if place is None else place @ shape.pose
    return Solid(pose.apply(mesh.vertices), mesh.faces, _colours(shape, mesh, body, 0.0))


@checked_first
def picture(
    model: Model | Recording | Log,
    q: npt.ArrayLike,
    file: Path | str | None = None,
    *,
    ghosts: Sequence[npt.ArrayLike] = (),
    direction: Iterable[float] = (1.0, -1.3, 0.55),
    size: tuple[int, int] = (960, 720),
    names: Mapping[str, Iterable[float]] | None = None,
) -> Image:
    """Draw a model at configuration q, with pale `ghosts` at others, into an array and, if given, a PNG file.

    `names` are written at points of the world: {"elbow": (0, 0, 0.5)}.
    Of a recording, or the log of a simulation, q is a time, and the camera looks at what moves and what is close to it.
    """
    checked_size("picture: size", size)
    if file is not None and Path(file).suffix.lower() != ".png":
        raise ValueError(f"picture: file is {repr_of(str(file))}, and must end in .png")
    if isinstance(model, Recording | Log):
        model = recording_of(model)
        still, moving = recorded_solids(model, float(np.asarray(q)))
        if not still and not moving:
            raise ValueError(f"recording {model.name!r} has no shapes to draw")
        camera = Camera.framing(camera_points(still, moving), direction, size[0] / size[1])
        image = draw([*still, *moving], camera, *size, ground=level_ground(model))
    else:
        ghosts = list(ghosts)
        pale = [s for k, g in enumerate(ghosts) for s in solids_of(model, g, 0.35 + 0.45 * (1.0 - k / len(ghosts)))]
        solids = solids_of(model, q)
        if not solids:
            raise ValueError(f"model {model.name!r} has no shapes to draw")
        points = np.concatenate([s.vertices for s in pale + solids])
        camera = Camera.framing(points, direction, size[0] / size[1])
        image = draw(solids, camera, *size, ground=float(points[:, 2].min()), behind=pale)
    if names:
        image = captioned(image, camera, names)
    if file is not None:
        save_png(file, image)
    return image


def camera_points(still: Sequence[Solid], moving: Sequence[Solid]) -> npt.NDArray[np.float64]:
    """Points that a camera is to see: of what moves, and of what stands no farther from it than half its size."""
    points = np.concatenate([s.vertices for s in moving or still])
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.5 * float(np.linalg.norm(high - low))
    close = [s.vertices for s in still if (s.vertices > low - room).all() and (s.vertices < high + room).all()]
    return np.concatenate([points, *close])


def save_png(file: Path | str, image: Image) -> None:
    """Write an (height, width, 3) array of bytes as PNG."""
    Path(file).write_bytes(png_of(image))


def png_of(image: Image) -> bytes:
    """The bytes of a PNG file."""
    height, width, _ = image.shape
    plain = np.asarray(image, np.uint8).reshape(height, -1)
    beside, above = plain.copy(), plain.copy()  # what differs from the pixel to the left, and from that above
    beside[:, 3:] -= plain[:, :-3]
    above[1:] -= plain[:-1]
    ways = np.stack([plain, beside, above])
    best = np.abs(ways.view(np.int8).astype(np.int16)).sum(axis=2).argmin(axis=0)  # what is small packs well
    rows = np.column_stack([best.astype(np.uint8), ways[best, np.arange(height)]])  # each row starts with its filter

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, colour
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + chunk(b"IEND", b"")
    )


def _colours(shape: Shape, mesh: Mesh, body: int, fade: float) -> npt.NDArray[np.float64]:
    """One colour a face: the file's, else the shape's, else the body's; what stands is as ground is."""
    plain = np.array((shape.colour or (SOIL if body < 0 else PALETTE[body % len(PALETTE)]))[:3])
    colours = np.broadcast_to(plain, (len(mesh.faces), 3))
    if mesh.colours is not None and not shape.colour:
        own = mesh.colours[:, :3]
        colours = np.where(np.isnan(own), colours, own)
    return colours + fade * (PALE - colours)
