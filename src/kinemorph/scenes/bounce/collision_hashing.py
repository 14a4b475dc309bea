"""The same objects twice, without and with hashing (Fontijne, animations 3 and 4): how many pairs V-Clip looks at.

Both worlds begin alike and stay alike; on the left the distances of all pairs are computed, on the right those of pairs
that the hash reports. In the second half the objects are hidden, and the lines between closest points are left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kinemorph.scenes.bounce.drawing import BLACK, Sight, camera_around, draw_moment, sight_of_moment, solids, sticks
from kinemorph.scenes.bounce.replay import cast
from kinemorph.scenes.bounce.simulation import Bounce
from kinemorph.scenes.pictures.picture_sheets import arrange_pictures
from kinemorph.view.pictures.picture import save_png
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.overlays import Lines
from kinemorph.view.replays.replay import replay

FEW, MANY = 8, 25  # objects of animations 3 and 4
HASHING_DT = 0.01  # s
FRAME_RATE = 25.0  # frames a second
HASHING_SECONDS = 12.0
HASHING_SEED = 5


@dataclass
class Twins:
    """Two worlds that go on alike, and how many pairs each has looked at."""

    count: int
    worlds: tuple[Bounce, Bounce] = field(init=False)
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        plain, hashed = (
            Bounce(self.count, None, HASHING_DT, HASHING_SEED, hashing=hashing) for hashing in (False, True)
        )
        self.worlds = plain, hashed

    def go_on(self) -> tuple[Sight, Sight]:
        """Until the next frame: what is seen on the left and on the right."""
        for world in self.worlds:
            world.advance(world.steps + round(1.0 / (FRAME_RATE * HASHING_DT)))
        self.pairs.append((self.worlds[0].numbers["pairs"], self.worlds[1].numbers["pairs"]))
        apart = 0.75 * self.worlds[0].side
        return sight_of_moment(self.worlds[0], (-apart, 0.0, 0.0)), sight_of_moment(self.worlds[1], (apart, 0.0, 0.0))


def draw_collision_hashing(folder: Path, scene: Twins) -> tuple[Path, Path]:
    """Go on: two moments, with and without the objects, and a replay."""
    folder.mkdir(parents=True, exist_ok=True)
    count = scene.count
    recording = Recording(f"{count} objects without and with hashing")
    for world, side in zip(scene.worlds, ("left ", "right "), strict=True):
        cast(recording, world, side)
    lines, images = [], []
    total = round(HASHING_SECONDS * FRAME_RATE)
    for k in range(total):
        both = scene.go_on()
        shown = 2 * count if k < total // 2 else 0
        poses = np.concatenate([s.poses for s in both])[:shown]
        recording.add_poses(k / FRAME_RATE, np.arange(shown), poses)
        lines.append(np.concatenate([s.lines for s in both]))
        if k in (10, total - 40):
            things = [solid for world, s in zip(scene.worlds, both, strict=True) for solid in solids(world, s)]
            wires = sticks(lines[-1], 0.012 * scene.worlds[0].side / 6.0, BLACK)
            things = [*things, *wires] if k < total // 2 else wires
            images.append(draw_moment(things, camera_around(*both), (0.15, -1.3, 0.35), (520, 230)))
    name = f"collision_hashing_{count}"
    pictures, page = folder / f"{name}.png", folder / f"{name}.html"
    save_png(pictures, arrange_pictures(images, 1))
    replay(
        recording, page, rate=FRAME_RATE, direction=(0.15, -1.3, 0.35), overlays=[Lines("closest", BLACK, lines, 2.0)]
    )
    return pictures, page


def show_collision_hashing(out: Path, say: Callable[[str], None], count: int = FEW) -> None:
    scene = Twins(count)
    pictures, page = draw_collision_hashing(out, scene)
    every, hashed = np.mean(scene.pairs, axis=0)
    say(f"[bold]{count} objects[/]: {every:.1f} pairs a step without hashing, {hashed:.1f} with it")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{page}[/]")


def show_many(out: Path, say: Callable[[str], None]) -> None:
    """The same with as many as in animation 4."""
    show_collision_hashing(out, say, MANY)
