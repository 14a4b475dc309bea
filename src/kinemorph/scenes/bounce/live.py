"""Bounce in a browser while it runs (Fontijne 2.6): the objects, and what both collision algorithms know of them."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinemorph.scenes.bounce.drawing import BLACK, BLUE, GREY, RED, frames
from kinemorph.scenes.bounce.replay import COLOURS, closest_features, mesh_of, native_tiles
from kinemorph.scenes.bounce.simulation import Bounce
from kinemorph.spatial.pose import Array
from kinemorph.view.colours import add_sky_light
from kinemorph.view.live.server import browser_page, start_server, stop_server
from kinemorph.view.live.viewer import has_screen
from kinemorph.view.pictures.raster import Camera

FRAME_RATE = 25.0  # frames a second
VIEWER_FIELD_OF_VIEW = 35.0  # degrees, vertical field of view
IDLE_POLL_PERIOD = 0.02  # s between two looks while nothing moves
NOWHERE = np.zeros((1, 2, 3), np.float32)  # there must be something
LINES = {
    "closest points": (BLACK, 1.5, True),
    "closest features": (RED, 4.0, True),
    "boxes": (GREY, 1.0, False),
    "tiles": (BLUE, 1.0, False),
}  # what can be shown: its colour, how thick (pixels), and whether it is at first
AT_ONCE = partial(print, flush=True)


def show_live(
    world: Bounce, seconds: float = math.inf, port: int = 0, browser: bool = True, paused: bool = False,
    say: Callable[[str], None] = AT_ONCE,
) -> None:  # fmt: skip
    """Let it run in a browser until the page's button "close", Ctrl-C, or so many seconds."""
    end = time.monotonic() + seconds
    server, url = start_server("viewers", port)
    try:
        live = Live(world, server, paused)
        say(f"look at {url} (Ctrl-C ends)")
        with browser_page(url) if browser and has_screen() else contextlib.nullcontext():
            while not server.get_clients() and time.monotonic() < end:
                time.sleep(IDLE_POLL_PERIOD)
            while live.open and time.monotonic() < end:
                start = time.monotonic()
                live.go_on()
                time.sleep(max(0.0, min(1.0 / FRAME_RATE, end - start) - (time.monotonic() - start)))
    except KeyboardInterrupt:
        say("closed")
    finally:
        stop_server(server)


class Live:
    """The page of a bounce: objects, lines, numbers, and buttons."""

    def __init__(self, world: Bounce, server: Any, paused: bool) -> None:
        self.world, self.server, self.paused, self.open = world, server, paused, True
        dt = float(world._state["dt"][0])
        self.each = max(1, round(1.0 / FRAME_RATE / dt)) if dt > 0.0 else 1  # steps of a frame
        self.wanted = {name for name, (_, _, shown) in LINES.items() if shown}
        self._furnish()
        self._panel()
        self.draw()

    def _furnish(self) -> None:
        scene, world = self.server.scene, self.world
        add_sky_light(scene)
        half = 0.5 * np.array(world.sides)
        walls = frames(np.stack([-half, half])[None]).astype(np.float32)
        self._add_lines(scene, "world", walls, BLACK, 1.0, True)
        self.rows = [np.flatnonzero(world.which == which) for which in range(len(world.bodies))]
        self.meshes = []
        for which, rows in enumerate(self.rows):
            mesh = mesh_of(world.bodies[which])
            colour = np.round(255.0 * np.array(COLOURS[which % len(COLOURS)])).astype(np.uint8)
            poses = world.poses[rows]
            self.meshes.append(
                scene.add_batched_meshes_simple(
                    f"/objects/{which}", mesh.vertices.astype(np.float32), mesh.faces, poses[:, 3:], poses[:, :3],
                    batched_colors=tuple(colour.tolist()), lod="off",
                ) if len(rows) else None
            )  # fmt: skip
        self.lines = {
            name: self._add_lines(scene, name, NOWHERE, colour, width, shown)
            for name, (colour, width, shown) in LINES.items()
        }
        corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * half
        camera = Camera.framing(corners, (1.0, -1.3, 0.55), 1.0, VIEWER_FIELD_OF_VIEW)
        self.server.initial_camera.position, self.server.initial_camera.look_at = camera.eye, camera.target
        self.server.initial_camera.fov = math.radians(VIEWER_FIELD_OF_VIEW)

    def _add_lines(self, scene: Any, name: str, points: Any, colour: Any, width: float, shown: bool) -> Any:
        rgb = tuple(round(255 * c) for c in colour)
        return scene.add_line_segments(
            f"/{name}", points, rgb, thickness=width, thickness_units="screen", visible=shown
        )  # fmt: skip

    def _panel(self) -> None:
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False)
        gui.set_panel_label("bounce")
        self.told = gui.add_markdown("")
        for name, action in (("pause or play", self.pause), ("step", self.step), ("close", self.close)):
            gui.add_button(name).on_click(lambda _, action=action: action())
        with gui.add_folder("show"):
            for name in LINES:
                box = gui.add_checkbox(name, name in self.wanted)
                box.on_update(lambda event, name=name: self.mark(name, event.target.value))

    # --- what buttons do ---

    def pause(self) -> None:
        """Pause, or go on."""
        self.paused = not self.paused

    def step(self) -> None:
        """One step, and pause: made by the thread that owns the world."""
        self.paused, self._one = True, True

    _one = False

    def close(self) -> None:
        """Let the page be the last one."""
        self.open = False

    def mark(self, name: str, on: bool) -> None:
        """Show one of `LINES`, or hide it."""
        (self.wanted.add if on else self.wanted.discard)(name)
        self.lines[name].visible = on

    # --- frames ---

    def go_on(self) -> None:
        """The steps of a frame, and its picture."""
        steps = 1 if self._one else 0 if self.paused else self.each
        self._one = False
        self.world.advance(self.world.steps + steps)
        self.draw()

    def draw(self) -> None:
        """Everything as it is now."""
        world = self.world
        poses, now = world.poses, self._segments()
        numbers = world.numbers
        with self.server.atomic():
            for mesh, rows in zip(self.meshes, self.rows, strict=True):
                if mesh is not None:
                    mesh.batched_positions, mesh.batched_wxyzs = poses[rows, :3], poses[rows, 3:]
            for name, segments in now.items():
                self.lines[name].points = segments.astype(np.float32) if len(segments) else NOWHERE
        self.told.content = (
            f"step {world.steps}, {world.count} objects, {numbers['pairs']} pairs, {numbers['bounces']} bounces"
        )

    def _segments(self) -> dict[str, Array]:
        """The lines that are wanted, (m, 2, 3) each."""
        world, found = self.world, {}
        ij, _, contacts = world.close()
        if "closest points" in self.wanted:
            found["closest points"] = np.stack([contacts["x1"], contacts["x2"]], axis=1)
        if "closest features" in self.wanted:
            found["closest features"] = closest_features(world, ij, contacts)
        if "boxes" in self.wanted:
            found["boxes"] = frames(np.stack([world.lows, world.highs], axis=1))
        if "tiles" in self.wanted:
            found["tiles"] = frames(native_tiles(world))
        return found
