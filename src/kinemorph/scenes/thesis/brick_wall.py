"""A wall of 34 bricks that stands for three minutes (Fontijne 3.11.1), and the bricks for those that do not.

The thesis measures the unrest of a wall: ten times a second, how far each brick has moved and turned since the last
time, all of it added up. A wall that stands has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from kinemorph.scenes.files.scene import load_scene, read_scene
from kinemorph.scenes.files.scene_parts import Parts
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.scenes.pictures.picture_sheets import View, draw_views
from kinemorph.scenes.pictures.side_by_side import place_side_by_side
from kinemorph.world.body import Body
from kinemorph.world.impulse.settings import HANDLINGS
from kinemorph.world.world import World

_TOML, _TABLE = read_scene("wall")
BRICK = _TABLE.body[0].box or (0.0, 0.0, 0.0)  # m: thickness, length, height
SETTLE, SECONDS = 1.0, 180.0  # s
WALL_SPACING = 4.2  # m between walls that are compared
STIRRED = 20.0  # s, for which the wall is shown with boosted micro-collisions
BOOST = 3.0  # e_max, "usually chosen somewhere between 2 and 5" (Fontijne 3.4.4)
CLAY = Parts(_TOML, _TABLE.material).materials["clay"]


def lay(world: World, x: float = 0.0) -> list[Body]:
    """A wall across the x axis, whose bricks bond: those of the scene file."""
    parts, taken = Parts(_TOML, _TABLE.material), {body.name: body for body in world.bodies}
    before = len(taken)
    for k, course in enumerate(_TABLE.body):
        parts.bodies(world, f"body[{k}]", replace(course, at=(x, *course.at[1:])), taken)
    return list(taken.values())[before:]


@dataclass
class Wall:
    """Bricks in a world, and their unrest."""

    world: World
    bricks: list[Body] = field(default_factory=list)
    moved: float = 0.0  # m, sum over bricks and tenths of a second
    turned: float = 0.0  # rad, likewise
    last: dict[int, Any] = field(default_factory=dict)

    def look(self, world: World) -> None:
        """How far bricks have come since the last look."""
        self.bricks = [brick for brick in self.bricks if brick.alive]  # a user of the viewer may have removed one
        poses = {int(brick.id): brick.pose for brick in self.bricks}
        for now, before in ((now, self.last[id]) for id, now in poses.items() if id in self.last):
            self.moved += float(np.linalg.norm(now.position - before.position))
            off = now.rotation - before.rotation  # its norm is √8 times the sine of half the angle
            self.turned += 2.0 * math.asin(min(1.0, float(np.linalg.norm(off)) / math.sqrt(8.0)))
        self.last = poses


def brick_wall(**settings: Any) -> Wall:
    """The wall; after it has settled, its unrest is measured. No brick may sleep, if nothing else is said."""
    world = load_scene("wall", {"world": settings}).world
    scene = Wall(world, world.bodies)
    world.every(0.1, scene.look, name="unrest", start=SETTLE)
    return scene


def fallen(bricks: list[Body], starts: list[Any]) -> int:
    """How many bricks have come far from where they were: more than their height."""
    return sum(bool(np.linalg.norm(brick.position - at) > BRICK[2]) for brick, at in zip(bricks, starts, strict=True))


def draw_brick_wall(folder: Path, scene: Wall) -> tuple[Path, Path]:
    """Let it stand: pictures of the wall at first and after three minutes, and a replay that is ten times as fast."""
    recording = film_run(scene.world, SECONDS, "brick wall", rate=2.5)
    views = [View(t, (1.0, -0.75, 0.45), (-0.3, -1.7, 0.0), (0.3, 1.7, 0.75)) for t in (0.0, SECONDS)]
    return draw_views(recording, folder, "brick_wall", views, size=(440, 260), columns=2, speed=10.0)


def compare(
    out: Path, say: Callable[[str], None], kinds: Mapping[str, Mapping[str, Any]], name: str, seconds: float,
    speed: float,
) -> None:  # fmt: skip
    """Walls under several settings of the world, each under what it is called, side by side (Fontijne's bwstab)."""
    recordings = {}
    for called, settings in kinds.items():
        scene = brick_wall(**settings)
        recordings[called] = film_run(scene.world, seconds, called, rate=25.0 / speed)
        say(f"[bold]{called}[/]: in {seconds - SETTLE:g} s bricks move by {1e3 * scene.moved:.3f} mm,")
        say(f"and turn by {scene.turned:.1e} rad, all added up")
    aside = 0.5 * (len(kinds) - 1) * WALL_SPACING
    both = place_side_by_side(recordings, (0.0, WALL_SPACING, 0.0), name)
    low, high = (-0.3, -1.7, 0.0), (0.3, 1.7 + 2.0 * aside, 0.75)
    views = [View(t, (1.0, -0.35, 0.45), low, high) for t in (0.0, seconds)]
    pictures, film = draw_views(both, out, name, views, size=(560, 200), speed=speed)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")


def show_handlings(out: Path, say: Callable[[str], None], epsilon: float = 2e-3, **settings: Any) -> None:
    """Both ways to treat contact by impulses, side by side."""
    kinds = {
        handling: {**settings, "contact": "impulse", "epsilon": epsilon, "handling": handling}
        for handling in HANDLINGS[::-1]
    }
    compare(out, say, kinds, "wall_handlings", SECONDS, 10.0)


def show_boost(out: Path, say: Callable[[str], None], epsilon: float = 2e-3, **settings: Any) -> None:
    """What the thesis rests on, ever new collisions of a boosted restitution, beside contacts that carry."""
    common = {**settings, "contact": "impulse", "epsilon": epsilon, "handling": HANDLINGS[1]}
    kinds = {f"e_max {BOOST:g}": {**common, "boost": BOOST}, "carried": common}
    compare(out, say, kinds, "wall_boost", STIRRED, 1.0)


def show_brick_wall(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = brick_wall(**settings)
    starts = [brick.position for brick in scene.bricks]
    pictures, film = draw_brick_wall(out, scene)
    say(f"[bold]{len(scene.bricks)} bricks[/], none of which may sleep, stand for {SECONDS:g} s")
    say(
        f"from {SETTLE:g} s on they move by {1e3 * scene.moved:.3f} mm and turn by {scene.turned:.1e} rad, all added up"
    )
    say("the thesis had, at best, sums of 0.464 and 0.226 in 5 s, of bricks whose size it does not tell")
    most = max(float(np.linalg.norm(b.position - at)) for b, at in zip(scene.bricks, starts, strict=True))
    say(f"no brick ends farther than {1e3 * most:.3f} mm from where it was laid")
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")
