"""Two objects turn about each other while V-Clip follows their closest features (Fontijne, animation 1).

First as wires, so that all edges are seen, then as solids. The closest features are red, and a line joins the closest
points; nothing is searched anew from one moment to the next, features walk over the surfaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kinemorph.scenes.bounce import drawing
from kinemorph.scenes.bounce.replay import cast, closest_features
from kinemorph.scenes.bounce.simulation import Bounce, scaled, shapes
from kinemorph.scenes.pictures.picture_sheets import arrange_pictures
from kinemorph.view.pictures.picture import save_png
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.overlays import Lines
from kinemorph.view.replays.replay import replay

SIDE, SIZE = 3.2, 1.3  # m: of the world, and of the objects
FEATURES_DT = 0.01  # s
FRAME_RATE = 25.0  # frames a second
HALF = 15.0  # s as wires, and as many as solids
FEATURES_SEED = 4


@dataclass
class Pursuit:
    """Two objects, and what was followed."""

    world: Bounce
    distances: list[float] = field(default_factory=list)  # m, frame by frame
    walked: int = 0  # steps of V-Clip
    updates: int = 0

    def go_on(self) -> drawing.Sight:
        """Until the next frame."""
        self.world.advance(self.world.steps + round(1.0 / (FRAME_RATE * FEATURES_DT)))
        _, _, contacts = self.world.close()
        self.distances.append(float(contacts["distance"][0]) if len(contacts) else np.nan)
        self.walked, self.updates = self.world.numbers["walked"], self.world.numbers["updates"]
        return drawing.sight_of_moment(self.world)


def pursuit(seed: int = FEATURES_SEED) -> Pursuit:
    """A ball of 42 vertices and a tube, close to each other; all pairs are looked at, and there is one."""
    bodies = [scaled(shapes()[name], SIZE) for name in ("sphere", "tube")]
    return Pursuit(Bounce(2, SIDE, FEATURES_DT, seed, bodies=bodies, hashing=False))


def draw_collision_features(folder: Path, scene: Pursuit) -> tuple[Path, Path]:
    """Go on for both halves: four moments, two of wires and two of solids, and a replay."""
    folder.mkdir(parents=True, exist_ok=True)
    recording = Recording("closest features")
    cast(recording, scene.world)
    lines, features, edges, images = [], [], [], []
    count = round(2.0 * HALF * FRAME_RATE)
    for k in range(count):
        now = scene.go_on()
        solid = k >= count // 2
        recording.add_poses(k / FRAME_RATE, np.arange(2 if solid else 0), now.poses[: 2 if solid else 0])
        ij, _, contacts = scene.world.close()
        lines.append(now.lines)
        features.append(closest_features(scene.world, ij, contacts))
        edges.append(np.zeros((0, 2, 3)) if solid else drawing.wires(scene.world))
        if k in (60, 191, count // 2 + 60, 641):
            things = drawing.solids(scene.world, now) if solid else drawing.sticks(edges[-1], 0.006, drawing.GREY)
            things += drawing.sticks(now.lines, 0.01, drawing.BLACK) + drawing.sticks(features[-1], 0.03, drawing.RED)
            images.append(drawing.draw_moment(things, drawing.camera_around(now), (1.0, -1.3, 0.55), (300, 260)))
    pictures, film = folder / "collision_features.png", folder / "collision_features.html"
    save_png(pictures, arrange_pictures(images, 4))
    replay(
        recording, film, rate=FRAME_RATE,
        overlays=[
            Lines("wires", drawing.GREY, edges, 1.5),
            Lines("closest", drawing.BLACK, lines, 1.5),
            Lines("features", drawing.RED, features, 5.0),
        ],
    )  # fmt: skip
    return pictures, film


def show_collision_features(out: Path, say: Callable[[str], None]) -> None:
    scene = pursuit()
    pictures, film = draw_collision_features(out, scene)
    say(f"[bold]two objects[/], {scene.updates} updates, {scene.walked / scene.updates:.3f} V-Clip steps in each")
    say(f"from {min(scene.distances):.3f} to {max(scene.distances):.3f} m apart; a negative one is a depth")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
