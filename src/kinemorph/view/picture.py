"""Pictures of a model, without a window and without a graphics card."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinemorph.geometry.mesh import Mesh, mesh_of
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.log import Log
from kinemorph.multibody.data import Data
from kinemorph.multibody.kinematics import kinematics, pose_of
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.view.captions import captioned
from kinemorph.view.raster import Camera, Image, Solid, draw
from kinemorph.view.recording import Recording, recording_of, seen

PALE = np.array([0.93, 0.94, 0.96])
PALETTE = ((0.33, 0.53, 0.76), (0.87, 0.50, 0.29), (0.45, 0.68, 0.45), (0.76, 0.40, 0.48), (0.56, 0.48, 0.73))


def solids_of(model: Model, q: npt.ArrayLike, fade: float = 0.0) -> list[Solid]:
    """The shapes of a model at a configuration, as triangles in the world; `fade` from 0 to 1 pales them."""
    data = Data(model)
    kinematics(model, data, q)
    solids = []
    bodies = (-1, *model.links["body"].tolist())  # they keep their colours when the structure changes
    for i, (body, shapes) in enumerate(zip(bodies, (model.base_shapes, *model.shapes), strict=True), start=-1):
        for shape in seen(shapes):
            mesh = mesh_of(shape)
            place = pose_of(model, data, i) @ shape.pose
            solids.append(Solid(place.apply(mesh.vertices), mesh.faces, _colours(shape, mesh, body, fade)))
    return solids


def recorded_solids(recording: Recording, t: float) -> list[Solid]:
    """The bodies of a recording at a time, and what stands still, as triangles in the world."""
    if not len(recording.t):
        raise ValueError(f"recording {recording.name!r} has no frames to draw")
    frame = recording.poses[max(0, int(np.searchsorted(recording.t, t + 1e-9, side="right")) - 1)]
    solids = []
    for i, shapes in enumerate((recording.base_shapes, *(body.shapes for body in recording.bodies)), start=-1):
        if i >= 0 and np.isnan(frame[i, 0]):
            continue
        place = Pose.quaternion(frame[i, 3:], frame[i, :3]) if i >= 0 else Pose()
        for shape in seen(shapes):
            mesh = recording.mesh_of(shape)
            points = (place @ shape.pose).apply(mesh.vertices)
            solids.append(Solid(points, mesh.faces, _colours(shape, mesh, i, 0.0)))
    return solids


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
    Of a recording, or the log of a simulation, q is a time, and what stands still is not what the camera looks at.
    """
    if isinstance(model, Recording | Log):
        model = recording_of(model)
        solids = recorded_solids(model, float(np.asarray(q)))
        moving = solids[len(seen(model.base_shapes)) :] or solids
        if not solids:
            raise ValueError(f"recording {model.name!r} has no shapes to draw")
        points = np.concatenate([s.vertices for s in moving])
        camera = Camera.framing(points, direction, size[0] / size[1])
        image = draw(solids, camera, *size, ground=None)
    else:
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
    """One colour a face: the file's, else the shape's, else the body's."""
    plain = np.array(shape.colour[:3] if shape.colour else PALETTE[body % len(PALETTE)])
    colours = np.broadcast_to(plain, (len(mesh.faces), 3))
    if mesh.colours is not None and not shape.colour:
        own = mesh.colours[:, :3]
        colours = np.where(np.isnan(own), colours, own)
    return colours + fade * (PALE - colours)
