"""The live viewer: a world in a browser while it runs, to be stopped, stepped, taken back, pulled at, joined and cut.

The simulation owns the world. What a browser asks for is put in a queue, and done in `sync`, by the thread that calls
it: no lock, and no half-made step. What the browser gets are copies.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from threading import Event
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Array, Pose
from kinemorph.view.body_poses import solid_shape
from kinemorph.view.colours import add_grid, add_sky_light
from kinemorph.view.live.history import History
from kinemorph.view.live.mouse_spring import mouse_spring_force
from kinemorph.view.live.overlays import INSIDE, MARKS, Marks
from kinemorph.view.live.panel import Panel
from kinemorph.view.live.scene_meshes import SceneMeshes
from kinemorph.view.live.server import browser_page, start_server, stop_server
from kinemorph.view.pictures.raster import Camera
from kinemorph.view.recordings.recording import SOIL
from kinemorph.world.body import Body
from kinemorph.world.control.drives import AppliedForce
from kinemorph.world.world import World

VIEWER_FIELD_OF_VIEW = 35.0  # vertical field of view, degrees
CAMERA_ROOM = 1.8  # times as large as what is there, is what the camera sees at first
IDLE_POLL_PERIOD = 0.02  # s between two looks at the queue while nothing moves
LARGEST_DELAY = 0.1  # s that a viewer may be behind the clock before it gives up catching up
AT_ONCE = partial(print, flush=True)  # flushed, for programs that read the address from a pipe
REFUSALS = (ValueError, KeyError, TypeError, ArithmeticError, RuntimeError)


@checked_first
def viewer(
    world: World, *, port: int = 0, open_browser: bool = True, rate: float = 30.0, speed: float = 1.0,
    paused: bool = False, direction: tuple[float, float, float] = (1.0, -1.3, 0.55),
) -> Viewer:  # fmt: skip
    """A viewer of a world that your own loop moves.

    >>> with viewer(world) as v:  # doctest: +SKIP
    ...     while v.open:
    ...         world.step(8)
    ...         v.sync()

    `sync` shows the world, does what the browser asks for, holds while it is paused, and keeps it from going faster
    than `speed` times real time. The page is at `v.url`, on this machine alone, and at a free port if none is given.
    That address has a secret token in it, without which the page is refused.
    """
    return Viewer(world, port, open_browser, rate, speed, paused, direction)


@checked_first
def view(
    world: World, *, seconds: float = math.inf, port: int = 0, open_browser: bool = True, speed: float = 1.0,
    paused: bool = False, say: Callable[[str], None] = AT_ONCE,
) -> None:  # fmt: skip
    """Show a world in a browser and let it run, until the page's button "close", Ctrl-C, or so many seconds.

    It begins when the first browser has connected. P pauses, O makes one step, I goes one back, R starts again;
    [the manual](viewer.md) has all keys and buttons. `say` is called with the address of the page.
    """
    end = time.monotonic() + seconds
    with viewer(world, port=port, open_browser=open_browser, speed=speed, paused=paused) as v:
        say(f"look at {v.url} (P pauses, O steps, I steps back, R starts again, Ctrl-C ends)")
        try:
            while not v.server.get_clients() and time.monotonic() < end:
                time.sleep(IDLE_POLL_PERIOD)
            v._reset_clock()
            while v.open and time.monotonic() < end:
                v.advance()
                v.sync(until=end)
        except KeyboardInterrupt:
            say("closed")


@checked_first
class Viewer:
    """A world in a browser: see `viewer`."""

    def __init__(
        self, world: World, port: int, open_browser: bool, rate: float, speed: float, paused: bool,
        direction: tuple[float, float, float],
    ) -> None:  # fmt: skip
        for what, value in (("rate", rate), ("speed", speed)):
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"viewer: {what} {value} must be positive")
        self.world, self.rate, self.speed, self.paused = world, rate, speed, paused
        self.open = False
        self.wanted: set[str] = set()  # names of marks
        self.selected: list[int] = []  # ids of bodies: the first, and the second
        self._port, self._browse, self._direction = port, open_browser, direction
        self._asked: deque[Callable[[], None]] = deque()
        self._rung = Event()
        self._single = False  # one step, and then pause
        self._drawn = -math.inf
        self._clock = (0.0, 0.0)  # real time and the world's, from which they are compared
        self._shown = ExitStack()
        self._grip: tuple[int, Array, Array] | None = None  # body that is pulled, where on it, and to which point
        self._depth = 0.0  # m, of that before the camera
        self._push: AppliedForce | None = None
        self._each = 0.0  # s that a step takes, about
        self._owed = 0.0  # of a step, that frames were too short so far

    def __enter__(self) -> Viewer:
        self.server, self.url = start_server("viewers", self._port)
        self.history = History(self.world)
        self.stage = SceneMeshes(self.server.scene, self.world, self._listen)
        self.open = True
        self.stage.draw()
        self._furnish()
        self.panel = Panel(self)
        self._draw()
        self._reset_clock()
        if self._browse and has_screen():
            self._shown.enter_context(browser_page(self.url))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.open = False
        self._let_go()
        self.history.close()
        self._shown.close()
        stop_server(self.server)

    # ------------------------------------------------------------------------------------------------------------ time

    def sync(self, until: float = math.inf) -> None:
        """Show the world, do what was asked for, and hold while it is paused, or `until` a time of the clock."""
        self._let_go()
        self.history.keep()
        self._single = False
        self._answer()
        ahead = (self.world.time - self._clock[1]) / self.speed - (time.monotonic() - self._clock[0])
        if ahead < -LARGEST_DELAY or ahead > 1.0:
            self._reset_clock()
        elif ahead > 0.0 and not self.paused:
            self._wait(min(ahead, until - time.monotonic()))
        if self.paused or time.monotonic() - self._drawn >= 0.8 / self.rate:  # what stays is drawn as it is
            self._draw()
        while self.paused and not self._single and self.open and time.monotonic() < until:
            self._rung.wait(IDLE_POLL_PERIOD)
            if self._answer():
                self._draw()
            self._reset_clock()
        self._pull(self.speed / self.rate)

    def advance(self) -> None:
        """The steps of one frame: one, if single steps are made; no more than the processor does in a tenth second."""
        if self.paused and not self._single:
            return
        wanted = 1.0 if self._single else self.speed / (self.rate * self.world.dt) + self._owed
        count = max(1, round(wanted))
        self._owed = wanted - count if wanted > 0.5 else 0.0
        if self._each:
            count = max(1, min(count, int(LARGEST_DELAY / self._each)))
        start = time.perf_counter()
        try:
            if self._grip is None:
                self._make(count)
            for _ in range(count if self._grip is not None else 0):  # a spring that is asked often may be stiff
                self._pull(self.world.dt)
                self._make(1)
        except ArithmeticError as error:
            self.paused = True
            self.panel.tell(str(error))
        self._each = (time.perf_counter() - start) / count

    def _make(self, count: int) -> None:
        if self.panel.plotting:
            self.panel.measured(self.world.queries.profile(count))
        else:
            self.world.step(count)

    def pause(self) -> None:
        """Pause, or go on."""
        self.paused = not self.paused
        self._reset_clock()

    def step(self) -> None:
        """One step, and pause."""
        self.paused = self._single = True

    def back(self) -> None:
        """One step back, and pause."""
        self.paused = True
        self.history.go_to(self.history.now - 1)

    def go_to(self, step: int) -> None:
        """To a step that was, and pause."""
        if not 0 <= step <= self.history.last:
            raise ValueError(f"viewer: step is {step}, and must be from 0 to {self.history.last}, the last that was")
        self.paused = True
        self.history.go_to(step)

    def reset(self) -> None:
        """Back to the start."""
        self.history.reset()
        self._reset_clock()

    def _reset_clock(self) -> None:
        self._clock = time.monotonic(), self.world.time

    def _wait(self, seconds: float) -> None:
        """Wait, and answer meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            if self._rung.wait(left):
                self._answer()

    # ----------------------------------------------------------------------------------------------------------- asking

    def ask(self, what: Callable[[], None]) -> None:
        """Have something done by the thread that owns the world, at its next `sync`."""
        self._asked.append(what)
        self._rung.set()

    def _answer(self) -> bool:
        """Do what was asked for; whether there was anything. What the world refuses is told on the page."""
        self._rung.clear()
        done = False
        while self._asked:
            try:
                self._asked.popleft()()
            except REFUSALS as error:
                self.panel.tell(str(error.args[0] if isinstance(error, KeyError) and error.args else error))
            done = True
        if done:
            self.history.keep()
        return done

    def _furnish(self) -> None:
        """Light, a grid where there is no ground, a camera that sees all, and the size of marks."""
        scene, server, world = self.server.scene, self.server, self.world
        points = self.stage.around()
        size = self.stage.size
        add_sky_light(scene)
        shapes = [solid_shape(world, id, {}) for id in world.registry.ground_shapes]
        if not any(shape.colour == SOIL for shape in shapes):
            add_grid(scene, "/grid", min(0.0, float(points[:, 2].min())), size)
        self.marks = Marks(scene, 0.04 * size / max(1.0, len(self.stage.ids)) ** (1.0 / 3.0))
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        around = middle + CAMERA_ROOM * (points - middle)  # things will move
        camera = Camera.framing(around, self._direction, 1.0, VIEWER_FIELD_OF_VIEW)  # the panel is on the right
        server.initial_camera.position, server.initial_camera.look_at = camera.eye, camera.target
        server.initial_camera.fov = math.radians(VIEWER_FIELD_OF_VIEW)
        server.initial_camera.near, server.initial_camera.far = 1e-3 * size, 1e3 * size

    def mark(self, name: str, on: bool = True) -> None:
        """Show one of `MARKS`, or hide it."""
        if name not in MARKS:
            raise ValueError(f"viewer: there is no mark {name!r}; there are {', '.join(MARKS)}")
        if on:
            self.wanted.add(name)
        else:
            self.wanted.discard(name)
            self.marks.clear(name)
        if self.panel.boxes[name].value != on:  # said by a program, not by a click
            self.panel.boxes[name].value = on

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        self.selected = [id for id in self.selected if id in self.world.registry.births]
        self.stage.picked = self.selected
        self.stage.clear = not self.wanted.isdisjoint(INSIDE)
        with self.server.atomic():
            self.stage.draw(self.history.changes)
            for name in MARKS:
                if name in self.wanted:
                    MARKS[name](self.world, self.marks)
        self.panel.refresh()

    # ------------------------------------------------------------------------------------------------------------ mouse

    def _listen(self, mesh: Any, ids: npt.NDArray[np.int64]) -> None:
        """Let a mesh hear the mouse. `ids` are of the bodies of its instances.

        viser does not always know which instance is meant (over the outline of what the mouse was above before), so
        what is dragged is what a ray of the world meets.
        """

        async def clicked(event: Any) -> None:
            known, second = event.instance_index, event.modifier == "shift"
            ray = np.array(event.ray_origin), np.array(event.ray_direction)
            self.ask(lambda: self._choose(None if known is None else int(ids[known]), ray, second))

        async def dragged(event: Any) -> None:
            if event.phase == "end":
                self.ask(self._drop)
                return
            ray, forward = _camera_ray(event.client.camera, event.end_screen_pos)
            self.ask(lambda: self._grab(ray, forward, event.phase == "start"))

        mesh.on_click(clicked)
        mesh.on_click(clicked, modifier="shift")
        mesh.on_drag("left")(dragged)

    def _choose(self, id: int | None, ray: tuple[Array, Array], second: bool) -> None:
        if id is None:
            sight = self.world.queries.cast_ray(*ray)
            id = sight.body.id if sight is not None and sight.body is not None else None
        if id is not None:
            self.select(id, second)

    def select(self, id: int, second: bool = False) -> None:
        """Choose a body; or the second one, to be joined to the first."""
        self.selected = [*self.selected[:1], id] if second and self.selected else [id]

    def _grab(self, ray: tuple[Array, Array], forward: Array, first: bool) -> None:
        """Hold what a ray meets, or lead it: in the plane across the camera that it was taken in."""
        eye, along = ray
        if first:
            sight = self.world.queries.cast_ray(eye, along)
            if sight is None or sight.body is None:
                return
            self.select(sight.body.id)
            point = np.array(sight.point)
            self._depth = float((point - eye) @ forward)
            self._grip = sight.body.id, sight.body.pose.inverse().apply(point), point
        elif self._grip is not None:
            self._grip = *self._grip[:2], eye + along * (self._depth / float(along @ forward))

    def _drop(self) -> None:
        self._grip = None

    def _let_go(self) -> None:
        if self._push is not None and self._push.alive:
            self._push.withdraw()
        self._push = None

    def _pull(self, dt: float) -> None:
        """Pull at the body that the mouse holds, for a time dt (s)."""
        self._let_go()
        if self._grip is None:
            return
        id, local, target = self._grip
        if id not in self.world.registry.births:
            self._grip = None
            return
        body = self.world.body(id)
        point = body.pose.apply(local)
        self._push = self.world.apply_force(id, mouse_spring_force(body, point, target, dt), at=point)

    # ---------------------------------------------------------------------------------------------------- structure

    def first(self) -> Body:
        """The body that is chosen."""
        if not self.selected:
            raise ValueError("choose a body first: click on it")
        return self.world.body(self.selected[0])

    def joints_of(self, body: Body) -> list[int]:
        """The joint that carries a body, unless it floats, and those of loops on it."""
        return self.world.queries.joints_of(body)


def _camera_ray(camera: Any, at: tuple[float, float]) -> tuple[tuple[Array, Array], Array]:
    """From a camera's eye through a place on its picture, (0, 0) to (1, 1) from the upper left; and where it looks."""
    turn = Pose.quaternion(camera.wxyz).rotation  # x to the right, y down, z forward
    half = math.tan(0.5 * camera.fov)
    x, y = half * camera.aspect * (2.0 * at[0] - 1.0), half * (2.0 * at[1] - 1.0)
    along = turn @ np.array([x, y, 1.0])
    return (np.array(camera.position), along / np.linalg.norm(along)), turn[:, 2]


def has_screen() -> bool:
    """Whether there is a screen to open a browser on."""
    usual = sys.platform in ("darwin", "win32")
    return usual or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
