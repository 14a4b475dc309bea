"""Bounce as a replay: the objects, their boxes, the tiles that they cover, and the closest features of all pairs."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph.collision.narrow.features import E, V
from kinemorph.collision.narrow.manifold import NO_FEATURES, contact_features
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.geometry.shapes import Shape
from kinemorph.scenes.bounce.simulation import Bounce
from kinemorph.spatial.pose import Array, rotation_of_quaternion
from kinemorph.view.pictures.picture import picture
from kinemorph.view.recordings.recording import Body, Recording
from kinemorph.view.replays.overlays import Boxes, Lines
from kinemorph.view.replays.replay import replay

COLOURS = ((0.36, 0.52, 0.82), (0.90, 0.55, 0.32), (0.46, 0.70, 0.47), (0.80, 0.44, 0.52), (0.60, 0.52, 0.78),
           (0.84, 0.72, 0.36))  # fmt: skip
FRAME_RATE = 25.0  # frames a second


def record(world: Bounce, steps: int, file: Path | str) -> Path:
    """Step a world of the six shapes, and write what it does as an HTML file that plays offline; its end as a PNG."""
    recording = Recording(f"bounce, {world.count} objects")
    cast(recording, world)
    dt = float(world._state["dt"][0])
    every = max(1, round(1.0 / FRAME_RATE / dt)) if dt > 0.0 else 1
    boxes, tiles, lines, features = [], [], [], []
    rows = np.arange(world.count)
    for _ in range(0, steps, every):
        world.advance(world.steps + every)
        recording.add_poses(world.steps * (dt or 1.0 / FRAME_RATE), rows, world.poses)
        boxes.append(np.stack([world.lows, world.highs], axis=1))
        tiles.append(native_tiles(world))
        ij, _, contacts = world.close()
        lines.append(np.stack([contacts["x1"], contacts["x2"]], axis=1))
        features.append(closest_features(world, ij, contacts))
    picture(recording, float(recording.t[-1]), Path(file).with_suffix(".png"))
    overlays: list[Lines | Boxes] = [
        Lines("closest", (0.05, 0.05, 0.08), lines, 1.5),
        Lines("features", (0.95, 0.10, 0.10), features, 4.0),
        Boxes("boxes", (0.45, 0.47, 0.52), boxes, shown=False),
        Boxes("tiles", (0.10, 0.55, 0.75), tiles, shown=False),
    ]
    return replay(recording, file, rate=FRAME_RATE, overlays=overlays)


def cast(recording: Recording, world: Bounce, called: str = "") -> None:
    """Add the objects of a world to a recording, under their numbers."""
    for i, which in enumerate(world.which.tolist()):
        name = Path(f"{called}shape {which}")
        recording.meshes[name] = mesh_of(world.bodies[which])
        colour = COLOURS[which % len(COLOURS)]
        recording.add_body(Body(f"{called}{i}", (Shape.mesh(name, colour=(*colour, 1.0)),)))


def mesh_of(body: Parts) -> Mesh:
    """All convex parts as triangles."""
    vertices, faces, n = [], [], 0
    for part in body.parts:
        vertices.append(part.points)
        faces.append(part.triangles + n)
        n += len(part.points)
    return Mesh(np.concatenate(vertices), np.concatenate(faces).astype(np.int32))


def native_tiles(world: Bounce) -> Array:
    """The tiles that some object covers at its own level: their lowest and highest corners, (m, 2, 3)."""
    broad = world.collisions.broad_phase
    found: set[tuple[float, tuple[int, ...]]] = set()
    for box in broad.boxes[broad.ids]:
        if box["level"] >= 0:
            first, last = (np.floor(box[corner] * box["scale"]).astype(int) for corner in ("low", "high"))
            spans = (range(a, b + 1) for a, b in zip(first, last, strict=True))
            found.update((1.0 / float(box["scale"]), xyz) for xyz in product(*spans))
    size = np.array([s for s, _ in found]).reshape(-1, 1)
    low = size * np.array([xyz for _, xyz in found], dtype=np.float64).reshape(-1, 3)
    return np.stack([low, low + size], axis=1)


def closest_features(world: Bounce, ij: Any, contacts: Any) -> Array:
    """The edges, faces and vertices where objects are closest, as segments in the world."""
    found = []
    turns = [rotation_of_quaternion(*q) for q in world.objects["q"]]
    for (i, j), contact in zip(ij.tolist(), contacts, strict=True):
        if contact["id"] == NO_FEATURES:
            continue
        k1, i1, k2, i2 = contact_features(int(contact["id"]))
        for k, part, kind, index in ((i, contact["part1"], k1, i1), (j, contact["part2"], k2, i2)):
            segments = feature(world.core(k, int(part)), kind, index)
            found.append(segments @ turns[k].T + world.objects["x"][k])
    return np.concatenate(found) if found else np.zeros((0, 2, 3))


def feature(core: Polyhedron, kind: int, index: int) -> Array:
    """An edge, the edges of a face, or a small cross at a vertex: (m, 2, 3) in the frame of the core."""
    if kind == V:
        arm = 0.02 * core.radius_bound * np.eye(3)
        return np.stack([core.points[index] - arm, core.points[index] + arm], axis=1)
    if kind == E:
        edge = core.edges[index]
        return core.points[[[edge["tail"], edge["head"]]]]
    loop = core.points[core.loops[index]]
    return np.stack([loop, np.roll(loop, -1, axis=0)], axis=1)
