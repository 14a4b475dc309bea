"""Replay: a recording as one HTML file, which plays in any browser, offline, and shows the tree change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kinemorph._files import write_whole
from kinemorph.geometry.shapes import Shape
from kinemorph.motion.log import Log
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_positive, repr_of
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import rotate_all
from kinemorph.view.colours import (
    Piece,
    add_batch,
    add_grid,
    add_ground,
    add_sky_light,
    as_bytes,
    default_colour,
    depth_colour,
    given_colour,
    pieces,
)
from kinemorph.view.live.server import running_server
from kinemorph.view.pictures.raster import Camera
from kinemorph.view.recordings.recording import (
    SOIL,
    Chapter,
    Recording,
    depths,
    level_ground,
    recording_of,
    shapes_to_show,
    standing_shapes,
)
from kinemorph.view.replays.overlays import Overlay, Show
from kinemorph.view.replays.page import complete_page, describe_chapter, has_tree_changes

PAUSE = 1.0  # s at the end, before the player starts again
REPLAY_FIELD_OF_VIEW = 30.0  # vertical field of view, degrees
LARGEST_FRAME_RATE = 1e5  # frames a second: no recording has more
IDENTITY = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


@checked_first
def replay(
    recording: Recording | Log,
    file: Path | str,
    *,
    rate: float = 30.0,
    follow: str | None = None,
    direction: Sequence[float] = (1.0, -1.3, 0.55),
    overlays: Sequence[Overlay] = (),
    speed: float = 1.0,
    colours: Literal["own", "tree"] = "own",
) -> Path:
    """Write a recording, or the log of a simulation, as an HTML file that plays by itself: no server, no request.

    Bodies with colours keep them, unless `colours` is "tree"; else each tree's root is orange, and links are the paler
    the farther from it they are; a body that is never joined to another one has a colour of its own. At a chapter the
    colours change, and a label says what happened. At most `rate` frames a second are kept. The camera looks along
    minus `direction`; with `follow`, a body's name, it goes along with that body over the ground. `overlays` are drawn
    over the bodies; the page's scene tree shows and hides them. It plays `speed` times as fast as it was; times in
    labels are those that were.
    """
    if colours not in ("own", "tree"):
        raise ValueError(f"colours {colours!r} must be 'own' or 'tree'")
    recording = recording_of(recording)
    if not len(recording.t):
        raise ValueError(f"recording {recording.name!r} has no frames to replay")
    rate, speed = check_positive("replay: rate", rate), check_positive("replay: speed", speed)
    overlays = list(overlays)
    for overlay in overlays:
        if not hasattr(overlay, "frames"):
            raise TypeError(f"replay: overlays has {repr_of(overlay)}, and must be a list of overlays")
        if len(overlay.frames) != len(recording.t):
            raise ValueError(f"overlay {overlay.name!r} has {len(overlay.frames)} frames, not {len(recording.t)}")
    kept = _kept_frames(recording.t, rate / speed)
    t, poses = recording.t[kept], recording.poses[kept]
    shift = _camera_shift(recording, poses, follow)
    batches = _batches(recording, poses, colours == "tree")
    if not batches:
        raise ValueError(f"recording {recording.name!r} has no shapes to draw")
    with running_server("replays") as server:
        scene = _Scene(server, recording, batches, shift, direction)
        scene.overlays = [overlay.draw(server.scene, kept.tolist(), shift) for overlay in overlays]
        stream = None
        now = start = float(t[0])
        for at, step in _stream(t, recording.chapters):
            if at > start:  # all that comes earlier is the scene as it is when the page opens
                stream = stream or server.get_scene_serializer()
                stream.insert_sleep((at - now) / speed)
                now = at
            if isinstance(step, Chapter):
                scene.happen(step)
            else:
                scene.show(step)
        stream = stream or server.get_scene_serializer()
        if now > start:  # a single frame is a still picture, which needs no player
            stream.insert_sleep(PAUSE)
        page = stream.as_html()
    write_whole(file, complete_page(page, recording, scene.tinted, overlays, speed).encode())
    return Path(file)


def _stream(t: Array, chapters: Sequence[Chapter]) -> list[tuple[float, int | Chapter]]:
    """Frames, by number, and chapters in the order of their times; what is at or before the first frame is at its time.

    Of a frame and a chapter at one time the chapter comes first: thinning has kept the frame after it.
    """
    steps: list[tuple[float, int | Chapter]] = [(max(e.t, float(t[0])), e) for e in chapters]
    steps += [(time, k) for k, time in enumerate(t.tolist())]
    return sorted(steps, key=lambda step: step[0])  # stable


class _Scene:
    """The objects of the page, and their updates at frames and chapters."""

    def __init__(
        self, server: Any, recording: Recording, batches: list[_Batch], shift: Array, direction: Sequence[float]
    ) -> None:
        self.shift = shift
        self.overlays: list[Show] = []
        self.start = recording.t[0]
        self.deepest = max((d for e in recording.chapters for d in depths(e.parents).values()), default=0)
        pairs = [pair for e in recording.chapters for pair in e.parents.items() if pair[1] is not None]
        self.joined = {name for pair in pairs for name in pair}
        self.tinted = any(t and name in self.joined for b in batches for name, t in zip(b.names, b.tinted, strict=True))
        self.earlier = {id(after): before for before, after in pairwise(recording.chapters)}
        points, floor, solid = _seen_points(batches, shift, level_ground(recording))
        low, high = points.min(axis=0), points.max(axis=0)
        size = float(np.linalg.norm(high - low))
        scene = server.scene
        self.world = scene.add_frame("/world", show_axes=False)
        if not any(b.ground for b in batches):  # two grounds in one place would flicker
            add_grid(scene, "/world/ground", floor, size, solid)
        add_sky_light(scene)
        for i, b in enumerate(batches):
            for k in range(len(b.names) if b.ground else 0):
                add_ground(scene, f"/world/ground_{i}_{k}", b.piece, b.poses[0, k], tuple(b.colours[k].tolist()))
        self.batches = [b for b in batches if not b.ground]
        self.meshes = [
            add_batch(scene, f"/world/shape_{i}", b.piece, b.shape, b.poses[0], b.colours, b.there[0])
            for i, b in enumerate(self.batches)
        ]
        top = (*(0.5 * (low + high)[:2]).tolist(), float(high[2] + 0.06 * size))
        shown = has_tree_changes(recording)
        self.label = scene.add_label(
            "/chapter", " ", position=top, anchor="bottom-center", font_screen_scale=1.5, visible=shown
        )
        sky = (*top[:2], top[2] + 0.08 * size)  # leaves room for the label
        camera = Camera.framing(np.vstack([points, sky]), direction, 1.4, REPLAY_FIELD_OF_VIEW)
        server.initial_camera.position, server.initial_camera.look_at = camera.eye, camera.target
        server.initial_camera.fov = math.radians(REPLAY_FIELD_OF_VIEW)
        server.initial_camera.near, server.initial_camera.far = 1e-3 * size, 1e3 * size

    def show(self, k: int) -> None:
        """Show frame k. A body that has not moved costs nothing: viser sends only differences."""
        self.world.position = -self.shift[k]
        for batch, mesh in zip(self.batches, self.meshes, strict=True):
            mesh.batched_positions = batch.poses[k, :, :3]
            mesh.batched_wxyzs = batch.poses[k, :, 3:]
            mesh.batched_scales = batch.there[k]  # an absent body has no size
        for overlay in self.overlays:
            overlay(k)

    def happen(self, chapter: Chapter) -> None:
        """Colours and label from a chapter on."""
        depth = depths(chapter.parents)
        for batch, mesh in zip(self.batches, self.meshes, strict=True):
            colours = batch.colours.copy()
            for row, name in enumerate(batch.names):
                if batch.tinted[row] and name in depth and name in self.joined:
                    colours[row] = as_bytes(depth_colour(depth[name], self.deepest))
            mesh.batched_colors = colours
        roots = [r for r in chapter.roots if r in self.joined]
        self.label.text = (
            f"{chapter.t - self.start:.2f} s   {describe_chapter(chapter, self.earlier.get(id(chapter)), roots)}"
        )


@dataclass(frozen=True)
class _Batch:
    """All uses of one mesh: a scene draws them, and a file holds them, as one."""

    shape: Shape
    piece: Piece
    names: list[str | None]  # of the body of each use, None for the base
    colours: npt.NDArray[np.uint8]  # (n, 3), their own
    tinted: list[bool]  # which of them take the colours of the tree
    poses: Array  # (frames, n, 7)
    there: Array  # (frames, n): 1, or 0 where the body is absent
    bounds: Array  # (2, 3) of the mesh
    ground: bool  # whether it is ground that has an end

    def corners(self) -> Array:
        """(frames, n, 8, 3): of the box around each use; NaN where it is absent."""
        box = np.array([self.bounds[[i, j, k], [0, 1, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        p = self.poses[:, :, None]
        points: Array = p[..., :3] + rotate_all(p[..., 3:], box)
        return np.where(self.there[:, :, None, None] > 0.0, points, np.nan)


def _batches(recording: Recording, poses: Array, tree: bool) -> list[_Batch]:
    uses: list[tuple[int, str | None, Shape]] = [(-1, None, s) for s in standing_shapes(recording)]
    uses += [(i, body.name, s) for i, body in enumerate(recording.bodies) for s in shapes_to_show(body.shapes)]
    groups: dict[object, list[tuple[int, str | None, Shape]]] = {}
    for use in uses:
        groups.setdefault((use[2].kind, use[2].size, use[2].path, _is_ground(use[1], use[2])), []).append(use)
    world = np.concatenate([poses, np.broadcast_to(IDENTITY, (len(poses), 1, 7))], axis=1)  # the base is row -1
    batches = []
    for group in groups.values():
        of, names, shapes = ([*column] for column in zip(*group, strict=True))
        there = ~np.isnan(world[:, of, 0])
        carrier = np.where(there[:, :, None], world[:, of], IDENTITY)
        placed = _placed(carrier, shapes)
        mesh = recording.mesh_of(shapes[0])
        for piece in pieces(mesh):
            own = [given_colour(s, piece) for s in shapes]
            plain = np.array([as_bytes(c or default_colour(i)) for c, i in zip(own, of, strict=True)], np.uint8)
            tinted = [tree or c is None for c in own]
            batches.append(
                _Batch(
                    shapes[0], piece, names, plain, tinted, placed, there.astype(np.float64), mesh.bounds,
                    _is_ground(names[0], shapes[0]),
                )
            )  # fmt: skip
    return batches


def _is_ground(body: str | None, shape: Shape) -> bool:
    return body is None and shape.colour == SOIL


def _seen_points(batches: list[_Batch], shift: Array, level: float | None) -> tuple[Array, float, bool]:
    """Points for the camera to see, how high the ground is, and whether it is solid.

    What stands in the world is seen by the camera only if there is nothing else: a floor may be far bigger than what
    happens on it. Ground is where level ground is; else at zero, if all stays above that. What goes deeper has a grid
    of lines alone, below where it starts.
    """
    corners = [b.corners() - shift[:, None, None] for b in batches]
    bodies = [c[:, [name is not None for name in b.names]] for b, c in zip(batches, corners, strict=True)]
    everything, moving = (np.concatenate(c, axis=1) for c in (corners, bodies))
    start = float(np.nanmin(everything[0, :, :, 2], initial=np.inf))
    everything, moving = everything.reshape(-1, 3), moving.reshape(-1, 3)
    moving = moving[~np.isnan(moving[:, 0])]
    points = moving if len(moving) else everything
    if level is not None:
        return points, level, True
    low, size = float(np.nanmin(everything[:, 2])), float(np.linalg.norm(np.ptp(points, axis=0)))
    if -0.02 * size <= low < 2.0 * size:
        return points, min(0.0, low), True
    if low >= 2.0 * size:  # far above the ground
        return points, low, True
    return points, start if math.isfinite(start) else low, False


def _placed(poses: Array, shapes: list[Shape]) -> Array:
    """Poses of shapes (frames, n, 7) on bodies at given poses."""
    from scipy.spatial.transform import Rotation  # late: it takes longer to import than the rest of kinemorph

    out = np.empty_like(poses)
    for i, shape in enumerate(shapes):
        turn = Rotation.from_quat(poses[:, i, 3:], scalar_first=True)
        out[:, i, :3] = poses[:, i, :3] + turn.apply(shape.pose.position)
        out[:, i, 3:] = (turn * Rotation.from_matrix(shape.pose.rotation)).as_quat(canonical=True, scalar_first=True)
    return out


def _kept_frames(t: Array, rate: float) -> npt.NDArray[np.intp]:
    """Which frames to keep: at most `rate` a second, the first and the last among them."""
    # At or after each frame; not a list of all ticks, for a file may say that it lasted for ages.
    first_tick = np.ceil((t - t[0]) * min(rate, LARGEST_FRAME_RATE) - 1e-9)
    kept = np.flatnonzero(first_tick[:-1] < first_tick[1:])
    return np.unique([0, *kept, len(t) - 1])


def _camera_shift(recording: Recording, poses: Array, follow: str | None) -> Array:
    """How far the camera has gone along, (frames, 3): over the ground, never up or down."""
    shift = np.zeros((len(poses), 3))
    if follow is not None:
        names = [b.name for b in recording.bodies]
        if follow not in names:
            raise ValueError(
                f"recording {recording.name!r} has no body {follow!r} to follow; it has {', '.join(names)}"
            )
        path = poses[:, names.index(follow), :2]
        there = np.flatnonzero(~np.isnan(path[:, 0]))
        for axis in (0, 1):
            shift[:, axis] = np.interp(np.arange(len(poses)), there, path[there, axis]) - path[there[0], axis]
    return shift
