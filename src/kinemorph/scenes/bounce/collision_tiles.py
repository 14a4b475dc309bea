"""The hierarchical hash at work (Fontijne, animation 2): pairs come and go, then boxes are shown, then tiles.

V-Clip looks at a pair only while the boxes of both share a tile: lines between closest points appear and vanish as
objects come near and part.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from kinemorph.scenes.bounce import drawing
from kinemorph.scenes.bounce.replay import cast, native_tiles
from kinemorph.scenes.bounce.simulation import Bounce
from kinemorph.scenes.pictures.picture_sheets import arrange_pictures
from kinemorph.view.pictures.picture import save_png
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.overlays import Boxes, Lines
from kinemorph.view.replays.replay import replay

COUNT, SIDE = 6, 5.0  # objects, m
TILES_DT = 0.01  # s
FRAME_RATE = 25.0  # frames a second
PLAIN, BOXED, TILED = 7.0, 5.0, 6.0  # s of each part
TILES_SEED = 3


def world(seed: int = TILES_SEED) -> Bounce:
    """Six objects of three sizes: six shapes."""
    return Bounce(COUNT, SIDE, TILES_DT, seed)


def draw_collision_tiles(folder: Path, bounce: Bounce) -> tuple[Path, Path, list[int]]:
    """Go on for all parts: four moments, a replay, and how many pairs V-Clip has looked at in each frame."""
    folder.mkdir(parents=True, exist_ok=True)
    recording = Recording("boxes and tiles")
    cast(recording, bounce)
    seen: list[drawing.Sight] = []
    tiles, images = [], []
    first, last = round(PLAIN * FRAME_RATE), round((PLAIN + BOXED) * FRAME_RATE)
    for k in range(round((PLAIN + BOXED + TILED) * FRAME_RATE)):
        bounce.advance(bounce.steps + round(1.0 / (FRAME_RATE * TILES_DT)))
        now = drawing.sight_of_moment(bounce)
        recording.add_poses(k / FRAME_RATE, np.arange(COUNT), now.poses)
        seen.append(now)
        tiles.append(native_tiles(bounce) if k >= last - 20 else np.zeros((0, 2, 3)))
        if k in (60, first - 20, last - 20, last + 90):
            things = drawing.solids(bounce, now) + drawing.sticks(now.lines, 0.02, drawing.BLACK)
            things += drawing.sticks(drawing.frames(now.boxes), 0.012, drawing.GREY) if k >= first - 20 else []
            things += drawing.sticks(drawing.frames(tiles[-1]), 0.012, drawing.BLUE) if k >= last - 20 else []
            points = np.concatenate([drawing.camera_around(*seen), drawing.frames(tiles[-1]).reshape(-1, 3)])
            images.append(drawing.draw_moment(things, points, (1.0, -1.3, 0.55), (300, 260)))
    pictures, page = folder / "collision_tiles.png", folder / "collision_tiles.html"
    save_png(pictures, arrange_pictures(images, 4))
    none = np.zeros((0, 2, 3))
    replay(
        recording, page, rate=FRAME_RATE,
        overlays=[
            Lines("closest", drawing.BLACK, [s.lines for s in seen], 2.0),
            Boxes("boxes", drawing.GREY, [s.boxes if k >= first else none for k, s in enumerate(seen)]),
            Boxes("tiles", drawing.BLUE, tiles),
        ],
    )  # fmt: skip
    return pictures, page, [len(s.lines) for s in seen]


def show_collision_tiles(out: Path, say: Callable[[str], None]) -> None:
    pictures, page, pairs = draw_collision_tiles(out, world())
    say(f"[bold]{COUNT} objects[/]: V-Clip looks at {min(pairs)} to {max(pairs)} pairs of {COUNT * (COUNT - 1) // 2}")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{page}[/]")
