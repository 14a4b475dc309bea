"""The panel beside the picture of a viewer: time, the body that is chosen, what to show, and plots."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kinemorph._escaping import in_html, plain
from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.joint import Joint
from kinemorph.view.live.overlays import MARKS
from kinemorph.view.live.scene_meshes import Colours
from kinemorph.world.layout import Stage
from kinemorph.world.queries.statistics import Statistics

if TYPE_CHECKING:
    from kinemorph.view.live.viewer import Viewer

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
JOINTS: dict[str, Callable[[], Joint]] = {
    "fixed": Joint.fixed,
    "ball": Joint.spherical,
    "hinge about x": lambda: Joint.revolute("x"),
    "hinge about y": lambda: Joint.revolute("y"),
    "hinge about z": lambda: Joint.revolute("z"),
}
SOLIDS: dict[str, Callable[[float], Shape]] = {
    "box": lambda s: Shape.box((s, s, s)),
    "ball": lambda s: Shape.sphere(0.5 * s),
    "capsule": lambda s: Shape.capsule(0.25 * s, s),
    "cylinder": lambda s: Shape.cylinder(0.5 * s, s),
    "cone": lambda s: Shape.cone(0.5 * s, s),
}
COLOURS: dict[str, Colours] = {"their own": "own", "by islands and sleep": "islands", "by trees": "trees"}
NO_BODY_CHOSEN = "Click on a body; drag it to pull it. Shift-click chooses a second one."
REFRESH_PERIOD = 0.2  # s between two looks at numbers
CURVE_POINTS = 300  # of each curve


class Panel:
    """Buttons, keys and numbers. Whatever they ask for is done by the viewer's own thread."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer, self.gui = viewer, viewer.server.gui
        self.plotting = False
        self._fresh = 0.0
        self._curves: deque[tuple[float, ...]] = deque(maxlen=CURVE_POINTS)
        self._stages: dict[str, float] = {}
        self.last = ""  # what was told last
        self._lay_time()
        self._lay_body()
        self._lay_looks()
        self._lay_plots()

    # ------------------------------------------------------------------------------------------------------- furniture

    def _row(self, label: str, actions: dict[str, tuple[str, Callable[[], None]]], hint: str = "") -> Any:
        """Buttons beside each other, and keys that do the same: of each label its key, and what it does."""
        group = self.gui.add_button_group(label, (*actions,), hint=hint or None)

        async def pressed(event: Any) -> None:
            self.viewer.ask(actions[event.target.value][1])

        group.on_click(pressed)
        for name, (key, action) in actions.items():
            if key:
                self.gui.add_command(name, hotkey=key).on_trigger(self._asks(action))
        return group

    def _lay_time(self) -> None:
        v = self.viewer
        self.gui.configure_theme(show_logo=False, show_share_button=False)
        self.gui.set_panel_label("kinemorph")
        self.state = self.gui.add_html("")
        with self.gui.add_folder("time"):
            keys = "P or space pauses, O steps, I goes a step back, also across what was joined and cut, R starts again"
            self._row("run", {"pause": ("P", v.pause), "step": ("O", v.step), "back": ("I", v.back)}, keys)
            self._row("start", {"reset": ("R", v.reset), "close": ("", self._close)}, "R starts again")
            self.gui.add_command("pause or play", hotkey="space").on_trigger(self._asks(v.pause))
            speed = self.gui.add_dropdown("speed", SPEEDS, initial_value=_nearest(v.speed))
            self.past = self.gui.add_slider("history", 0, 1, 1, 0, hint="steps since the start")

        async def scrubbed(event: Any) -> None:
            if event.client is not None:  # else the panel itself has moved its slider
                step = int(self.past.value)
                v.ask(lambda: v.go_to(step))

        self._hear(speed, lambda value: self._set_speed(float(value)))
        self.past.on_update(scrubbed)

    def _lay_body(self) -> None:
        with self.gui.add_folder("body"):
            self.body = self.gui.add_html(_lines(NO_BODY_CHOSEN))
            self.joint = self.gui.add_dropdown("joint", (*JOINTS,))
            edits = {"connect": ("C", self._connect), "cut": ("X", self._cut), "re-root": ("T", self._reroot)}
            self._row(
                "change",
                edits,
                "C joins the first body to the second, or to the base; X cuts the joint that carries it, or one that "
                "closes a loop on it; T makes it the root of its tree, which floats then; nothing jumps",
            )
            self.solid = self.gui.add_dropdown("shape", (*SOLIDS,))
            come = {"add": ("N", self._add), "remove": ("delete", self._remove)}
            self._row("bodies", come, "N adds a shape above the body that is chosen, delete removes that one")

    def _lay_looks(self) -> None:
        v = self.viewer
        with self.gui.add_folder("show", expand_by_default=False):
            self.boxes: dict[str, Any] = {}
            for name in MARKS:  # first what all engines show, and last what only bodies in trees have
                box = self.boxes[name] = self.gui.add_checkbox(name, name in v.wanted)
                self._hear(box, partial(v.mark, name))
                if name == "names":
                    colours = self.gui.add_dropdown("colours", (*COLOURS,))
                    solid = self.gui.add_checkbox("collision shapes", False)

        for control in (colours, solid):
            self._hear(control, lambda _: v.stage.look(COLOURS[colours.value], bool(solid.value)))

    def _lay_plots(self) -> None:
        self._plots: list[Any] = []
        with self.gui.add_folder("plots", expand_by_default=False) as folder:
            box = self.gui.add_checkbox("live", False, hint="energies, contacts, and where the time of a step goes")

        self._hear(box, lambda on: self._set_plotting(bool(on), folder))

    def _hear(self, control: Any, action: Callable[[Any], None]) -> None:
        """Have the viewer's thread do something with each new value of a control."""

        async def heard(_: Any) -> None:
            value = control.value
            self.viewer.ask(lambda: action(value))

        control.on_update(heard)

    def _asks(self, action: Callable[[], None]) -> Any:
        async def asked(_: Any) -> None:
            self.viewer.ask(action)

        return asked

    # --------------------------------------------------------------------------------------------------------- actions

    def _set_speed(self, speed: float) -> None:
        self.viewer.speed = speed
        self.viewer._reset_clock()

    def _close(self) -> None:
        self.viewer.open = False

    def _connect(self) -> None:
        v = self.viewer
        first = v.first()
        second = v.world.body(v.selected[1]) if len(v.selected) > 1 else None
        change = v.world.connect(second, first, JOINTS[self.joint.value]())
        self.tell(f"{first.name} is joined to {second.name if second else 'the base'}; {change.energy_lost:.3g} J lost")

    def _cut(self) -> None:
        v = self.viewer
        body = v.first()
        joints = v.joints_of(body)
        if not joints:
            raise ValueError(f"{body.name!r} floats, and no loop is closed on it: there is nothing to cut")
        v.world.cut(joints[0])
        self.tell(f"{body.name} is cut off")

    def _reroot(self) -> None:
        body, world = self.viewer.first(), self.viewer.world
        held = world.queries.tree_of(body).links[0]["kind"] != JointKind.FREE
        world.reroot(body)
        self.tell(f"{body.name} is the root of its tree{', which is not held by the base any more' if held else ''}")

    def _remove(self) -> None:
        body = self.viewer.first()
        self.viewer.world.remove(body)
        self.viewer.selected = []
        self.tell(f"{body.name} is gone")

    def _add(self) -> None:
        v = self.viewer
        size = 5.0 * v.marks.size
        if v.selected:
            place = v.first().position
        else:
            poses = v.stage.poses[:, :3]
            place = np.array([*poses[:, :2].mean(axis=0), poses[:, 2].max()]) if len(poses) else np.zeros(3)
        names = {*v.world.registry.body_names.values()}
        kind = self.solid.value
        name = next(f"{kind} {k}" for k in range(1, len(names) + 2) if f"{kind} {k}" not in names)
        body = v.world.add(SOLIDS[kind](size), at=place + [0.0, 0.0, 3.0 * size], name=name)
        v.selected = [body.id]
        self.tell(f"{name} is new")

    def tell(self, words: str) -> None:
        """Say something on the page, which shows it as text."""
        words = plain(words)
        for client in self.viewer.server.get_clients().values():
            client.add_notification("kinemorph", words, auto_close_seconds=4.0)
        self.last = words

    # --------------------------------------------------------------------------------------------------------- numbers

    def measured(self, found: Statistics) -> None:
        """Store the stage times of the last steps, from `World.queries.profile`."""
        self._stages = found.stage_times

    def refresh(self) -> None:
        """Numbers of now, some times a second."""
        now = time.monotonic()
        v = self.viewer
        if now - self._fresh < REFRESH_PERIOD and not v.paused:
            return
        self._fresh = now
        world, history = v.world, v.history
        trees = len(world.forest.trees)
        count = len(v.stage.ids)
        bodies = f"{count} bod{'y' if count == 1 else 'ies'} in {trees} tree{'s' * (trees != 1)}"
        self.state.content = _lines(f"<b>{world.time:.3f} s</b>, {'paused' if v.paused else 'running'}, {bodies}")
        self.past.min, self.past.max = history.first, max(history.last, history.first + 1)
        self.past.value = history.now
        self.body.content = self._about(v.selected[0]) if v.selected else _lines(NO_BODY_CHOSEN)
        if self.plotting:
            self._plot()

    def _about(self, id: int) -> str:
        v = self.viewer
        body = v.world.body(id)
        touches = v.world.contacts(body)
        x, w, u = body.position, body.angular_velocity, body.velocity
        force = float(np.linalg.norm(sum((t.force for t in touches), np.zeros(3))))
        lines = [
            f"<b>{in_html(body.name)}</b>, {body.mass:.4g} kg{', asleep' if body.asleep else ''}",
            f"position {_three(x)} m",
            f"velocity {_three(u)} m/s",
            f"turns {_three(w)} rad/s",
            f"{len(touches)} contact{'s' * (len(touches) != 1)}, {force:.3g} N",
        ]
        if len(v.selected) > 1:
            lines.append(f"second: <b>{in_html(v.world.body(v.selected[1]).name)}</b>")
        return _lines(*lines)

    # ----------------------------------------------------------------------------------------------------------- plots

    def _set_plotting(self, on: bool, folder: Any) -> None:
        self.plotting = on
        for plot in self._plots:
            plot.remove()
        self._plots = []
        self._curves.clear()
        if on:
            with folder:
                for title, names in PLOTS.items():
                    self._plots.append(self._empty_plot(title, names))

    def _empty_plot(self, title: str, names: tuple[str, ...]) -> Any:
        none = tuple(np.zeros(2) for _ in range(len(names) + 1))
        hues = ("#3b6fb0", "#d9772b", "#3f9a50", "#a33b5a", "#7a5fb0", "#222222")
        series = ({"label": "s"}, *({"label": n, "stroke": h, "width": 2} for n, h in zip(names, hues, strict=False)))
        return self.gui.add_uplot(none, series, title=title, scales={"x": {"time": False, "auto": True}}, aspect=1.6)

    def _plot(self) -> None:
        world = self.viewer.world
        kinetic, potential = world.forest.kinetic_energy(), world.forest.potential_energy()
        found = world.queries.statistics
        row = (kinetic, potential, kinetic + potential, found.pairs, found.contacts, found.islands)
        self._curves.append((world.time, *row, *(1e6 * self._stages.get(name, 0.0) for name in STAGES)))
        table = np.array(self._curves).T
        order = np.argsort(table[0], kind="stable")
        first = 1
        for plot, names in zip(self._plots, PLOTS.values(), strict=True):
            plot.data = (table[0][order], *(table[first + k][order] for k in range(len(names))))
            first += len(names)


STAGES = tuple(stage.name.lower() for stage in Stage)
PLOTS = {
    "energy [J]": ("kinetic", "potential", "total"),
    "counts": ("pairs", "contacts", "islands"),
    "a step [µs]": STAGES,
}


def _lines(*lines: str) -> str:
    """Lines of HTML for the panel."""
    return f'<div style="padding: 0.2em 0.5em; font-size: 0.875em; overflow-wrap: anywhere">{"<br>".join(lines)}</div>'


def _three(x: Any) -> str:
    return ", ".join(f"{value:.3f}" for value in x)


def _nearest(speed: float) -> str:
    return min(SPEEDS, key=lambda text: abs(float(text) - speed))
