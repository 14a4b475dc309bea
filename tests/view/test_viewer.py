"""The live viewer, in a real browser, and what it must not do."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from tests.browser import still, visit

import kinemorph as km
from kinemorph.scenes.structure.gripper import arm
from kinemorph.view.live.overlays import MARKS
from kinemorph.view.live.panel import NO_BODY_CHOSEN, _lines
from kinemorph.view.live.viewer import Viewer

ROOT = Path(__file__).parents[2]

MIDDLE = 480, 320  # of the page


def one_box() -> km.World:
    world = km.World()
    world.add_ground()
    world.add(km.Shape.box((0.5, 0.5, 0.5), colour=(0.8, 0.1, 0.1, 1.0)), at=(0, 0, 0.25), name="box")
    return world


def pump(v: Viewer, done: Any = None, seconds: float = 30.0) -> None:
    """Let the viewer run, until something has come true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (done is not None and done()):
        v.advance()
        v.sync(until=time.monotonic() + 0.05)
    assert done is None or done()


def test_what_is_done_in_the_browser_is_done_in_the_world(tmp_path: Path) -> None:
    """One test, as it takes long to start a browser that computes what a graphics card would."""
    world = one_box()
    box = world["box"]
    with (
        km.viewer(world, open_browser=False, direction=(0.3, -1.0, 0.25)) as v,
        visit(v.url, tmp_path / "profile") as opened,
    ):
        page = opened.page
        page.locator("canvas").first.wait_for(timeout=60_000)
        assert page.title() == "kinemorph"
        pump(v, lambda: len(v.server.get_clients()) == 1, 60.0)
        page.add_style_tag(content=".mantine-Notifications-root { display: none !important }")
        before = world.time
        pump(v, lambda: world.time > before + 0.1)

        # keys and buttons
        page.mouse.click(300, 60)  # the page listens to keys now
        page.keyboard.press("p")
        pump(v, lambda: v.paused)
        steps, here = v.history.now, world.hash()
        page.get_by_role("button", name="step").click()
        pump(v, lambda: v.history.now == steps + 1)
        assert world.hash() != here
        page.keyboard.press("i")
        pump(v, lambda: v.history.now == steps)
        assert world.hash() == here

        # it shows the box
        image = still(page)
        red = (image[:, :600, 0] > 0.4) & (image[:, :600, 0] > image[:, :600, 1] + 0.2)
        assert red.sum() > 3000
        assert image[:, :600].std() > 0.02

        # a click chooses
        page.mouse.click(*MIDDLE)
        pump(v, lambda: v.selected == [box.id])
        pump(v, seconds=0.5)
        page.get_by_text("125 kg").wait_for(timeout=20_000)

        # what is joined and cut there is joined and cut here
        page.keyboard.press("c")
        pump(v, lambda: len(v.joints_of(box)) == 1)
        assert v.panel.last.startswith("box is joined to the base")
        page.get_by_role("button", name="cut").click()
        pump(v, lambda: not v.joints_of(box))
        assert v.panel.last == "box is cut off"
        page.keyboard.press("x")
        pump(v, lambda: "nothing to cut" in v.panel.last)
        page.get_by_role("button", name="add").click()
        pump(v, lambda: len(world.bodies) == 2)
        page.keyboard.press("Delete")
        pump(v, lambda: len(world.bodies) == 1)

        # what is dragged moves
        page.keyboard.press("p")
        pump(v, lambda: not v.paused)
        page.mouse.move(*MIDDLE)
        pump(v, seconds=2.0)  # it sees what the mouse is above
        page.mouse.down()
        for k in range(1, 9):
            page.mouse.move(MIDDLE[0], MIDDLE[1] - 20 * k)
            pump(v, seconds=0.15)
        pump(v, lambda: box.position[2] > 0.31)
        page.mouse.up()
        pump(v, lambda: v._grip is None)
        pump(v, lambda: box.position[2] < 0.28)

        # to the start
        page.keyboard.press("p")
        page.keyboard.press("r")
        pump(v, lambda: v.history.now == 0)
        requests, errors = list(opened.requests), list(opened.errors)
    home = v.url.rpartition("/")[0]
    assert {urlsplit(re.sub(r"^blob:", "", url)).netloc for url in requests if not url.startswith("data:")} == {
        home[7:]
    }
    assert [error for error in errors if "passive event listener" not in error] == []  # viser's own, of its wheel


# --------------------------------------------------------------------------------------------------- without a browser


def mechanism() -> km.World:
    """Bodies that touch, hinges with limits, a loop."""
    world = one_box()
    b = km.Builder("arm")
    rod, shape = km.Inertia.rod(1.0, (0, 0, 0), (0, 0, 0.4)), km.Shape.capsule(0.05, 0.3, km.Pose((0, 0, 0.2)))
    b.link("lower", None, km.Joint.revolute("y", lower=-1.0, upper=1.0), (1, 0, 0), rod, shape)
    b.link("upper", "lower", km.Joint.revolute("y"), (0, 0, 0.4), rod, shape)
    b.link("slide", "upper", km.Joint.prismatic("z", lower=0.0, upper=0.3), (0, 0, 0.5), rod, shape)
    world.add(b.build())
    rod_ends = [world.add(km.Shape.sphere(0.1), at=(2 + 0.3 * i, 0, 1)) for i in range(3)]
    for a, c in ((0, 1), (1, 2), (2, 0)):
        world.connect(rod_ends[a], rod_ends[c], km.Joint.spherical(), at=(2 + 0.15 * (a + c), 0, 1))
    world.run(0.1)
    return world


def test_all_marks_can_be_drawn_and_cleared() -> None:
    world = mechanism()
    with km.viewer(world, open_browser=False) as v:
        for name in MARKS:
            v.mark(name)
        assert all(box.value for box in v.panel.boxes.values())
        laid = [each.label for each in sorted(v.panel.gui._gui_input_handle_from_uuid.values(), key=lambda e: e.order)]
        asked = [*MARKS][:9] + ["colours", "collision shapes"] + [*MARKS][9:]  # islands, sleep and trees are colours
        assert [label for label in laid if label in asked] == asked
        assert asked[8] == "names"
        for colours in ("own", "trees", "islands"):
            v.stage.look(colours, colours == "trees")  # type: ignore[arg-type]
            v.advance()
            v._draw()
        drawn = {*v.marks._handles, *v.marks._words}
        assert {
            "contact points",
            "contact normals",
            "contact forces",
            "joints",
            "joints, axes",
            "joint limits",
        } <= drawn
        assert {
            "joint limits, now",
            "centres of mass",
            "inertia",
            "bounds",
            "names",
            "loop residuals",
            "roots",
        } <= drawn
        words = {label.text: label.position for label in v.marks._words["names"]}
        assert len(v.marks._words["names"]) == len(world.bodies)
        assert np.allclose(words["lower"], world["lower"].pose.apply((0, 0, 0.2)))  # in its middle
        sides = {tuple(np.round(s, 3)) for s in v.marks._handles["inertia"].batched_scales}
        assert (0.5, 0.5, 0.5) in sides  # an even box is its own
        for name in MARKS:
            v.mark(name, on=False)
        assert not any(box.value for box in v.panel.boxes.values())
        assert not v.marks._handles
        assert not v.marks._words
        with pytest.raises(ValueError, match="there is no mark 'auras'"):
            v.mark("auras")


def test_bodies_are_clear_while_something_is_shown_in_them() -> None:
    """Else nobody would see a centre of mass."""
    with km.viewer(mechanism(), open_browser=False) as v:
        for name, clear in (("contact forces", False), ("centres of mass", True), ("names", False)):
            v.mark(name)
            v._draw()
            assert {batch.handle.opacity is not None for batch in v.stage._batches} == {clear}, name
            v.mark(name, on=False)
        v._draw()
        assert {batch.handle.opacity for batch in v.stage._batches} == {None}


def test_level_ground_is_a_grid_and_what_stands_on_it_a_body_of_its_own() -> None:
    world = one_box()
    with km.viewer(world, open_browser=False) as v:
        v._draw()
        (grid,) = v.stage._ground
        assert grid.position[2] == pytest.approx(0.0, abs=2e-3)
        assert grid.infinite_grid
        step = world.add_ground(km.Shape.box((1, 1, 0.2), km.Pose((3, 0, 0.1))))
        v._draw()
        assert len(v.stage._ground) == 2
        world.structure.remove_ground(step)
        v._draw()
        assert len(v.stage._ground) == 1


def test_the_camera_sees_what_stands_near_and_not_what_is_far() -> None:
    world = one_box()
    for x in (0.2, 20.0):
        world.add_ground(km.Shape.box((0.8, 0.1, 0.1), km.Pose((x, 0, 0.8))))
    with km.viewer(world, open_browser=False) as v:
        points = v.stage.around()
        assert (points.min(axis=0), points.max(axis=0)) == (
            pytest.approx((-0.25, -0.25, 0.0), abs=1e-4),
            pytest.approx((0.6, 0.25, 0.85), abs=1e-4),
        )
        assert v.stage.corners().max(axis=0) == pytest.approx((0.25, 0.25, 0.5), abs=1e-4)


@pytest.mark.parametrize("dt", [1e-3, 2e-3, 5e-3])
def test_frames_are_as_long_as_they_should_be_whatever_the_step(dt: float) -> None:
    world = km.World(dt=dt)
    world.add(km.Shape.sphere(0.1))
    with km.viewer(world, open_browser=False, rate=30.0) as v:
        for _ in range(30):
            v._each = 0.0  # as on a machine that is fast enough
            v.advance()
        assert world.time == pytest.approx(1.0, abs=dt)


def test_structure_changes_appear_as_they_happen() -> None:
    world = mechanism()
    with km.viewer(world, open_browser=False) as v:
        meshes = len(v.stage._batches)
        count = len(v.stage.ids)
        ball = world.add(km.Shape.capsule(0.1, 0.7), at=(0, 0, 3), name="ball")
        v._draw()
        assert (len(v.stage._batches), len(v.stage.ids)) == (meshes + 1, count + 1)
        tints = v.stage._tints()
        assert ball.id not in tints
        world.connect(world["box"], ball, km.Joint.fixed())
        assert {ball.id, world["box"].id} <= v.stage._tints().keys()  # they are in one tree now
        world.remove(ball)
        v._draw()
        assert (len(v.stage._batches), len(v.stage.ids)) == (meshes, count)


def test_what_the_world_refuses_is_told() -> None:
    world = one_box()
    with km.viewer(world, open_browser=False, paused=True) as v:
        for action in (v.panel._connect, v.panel._cut, v.panel._reroot, v.panel._remove):
            v.ask(action)
            v.sync(until=time.monotonic())
            assert v.panel.last == "choose a body first: click on it"
        v.select(world["box"].id)
        v.ask(v.panel._cut)
        v.sync(until=time.monotonic())
        assert v.panel.last == "'box' floats, and no loop is closed on it: there is nothing to cut"
    with pytest.raises(ValueError, match="speed -1 must be positive"):
        km.viewer(world, speed=-1)
    assert not world.observers


def test_it_tells_when_another_root_lets_a_tree_go() -> None:
    world = km.World()
    figure = world.add(arm())
    with km.viewer(world, open_browser=False) as v:
        for name, words in (
            ("forearm", "forearm is the root of its tree, which is not held by the base any more"),
            ("column", "column is the root of its tree"),
        ):
            v.select(figure[name].id)
            v.panel._reroot()
            assert v.panel.last == words


def test_a_single_step_is_shown_once_it_is_made() -> None:
    """The page showed the step before: the next frame was not due yet, and while it is paused none came."""
    world = one_box()
    with km.viewer(world, open_browser=False, paused=True, rate=1e-3) as v:  # no frame is ever due
        for _ in range(3):
            v.ask(v.step)
            v.sync()
            v.advance()
            v.sync(until=time.monotonic())
            assert v.panel.state.content.startswith(_lines(f"<b>{world.time:.3f} s</b>, paused").removesuffix("</div>"))
            assert np.array_equal(v.stage.poses[0, :3], world.bodies[0].position)
        assert world.time == pytest.approx(3 * world.dt)


def test_nothing_is_told_of_a_body_that_is_gone() -> None:
    world = one_box()
    with km.viewer(world, open_browser=False, paused=True) as v:
        v.select(world.bodies[0].id)
        v.sync(until=time.monotonic())
        assert f"{world.bodies[0].mass:.4g} kg" in v.panel.body.content
        v.ask(v.panel._remove)
        v.sync(until=time.monotonic() + 0.1)
        assert v.panel.body.content == _lines(NO_BODY_CHOSEN)


def test_a_loop_of_ones_own_is_held_while_it_is_paused() -> None:
    world = one_box()
    with km.viewer(world, open_browser=False, speed=100.0) as v:
        world.step(10)
        v.ask(v.pause)
        v.ask(lambda: v.ask(v.back))
        v.sync(until=time.monotonic() + 0.2)
        assert (v.paused, v.history.now) == (True, 9)
        v.ask(v.step)
        v.sync()  # comes back: one turn of the loop is allowed
        world.step(1)
        v.ask(v.pause)
        v.sync()
        assert v.history.now == 10
    assert not v.open


def test_plots_get_energies_counts_and_times() -> None:
    world = mechanism()
    with km.viewer(world, open_browser=False) as v:
        v.panel._set_plotting(True, v.panel.gui.add_folder("here"))
        for _ in range(3):
            v.advance()
            v.panel._fresh = 0.0
            v.panel.refresh()
        energy, counts, step = (plot.data for plot in v.panel._plots)
        assert len(energy[0]) == 3
        assert np.allclose(energy[3], energy[1] + energy[2])
        assert energy[1][-1] == pytest.approx(world.forest.kinetic_energy())
        assert counts[2][-1] == world.queries.statistics.contacts > 0
        assert sum(float(column[-1]) for column in step[1:]) > 0.0


# ---------------------------------------------------------------------------------------------------- who listens where


def family(pid: int) -> list[int]:
    """A process and all that come from it."""
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text().split():
                    found += family(int(child))
    return found


def listening(pid: int) -> set[str]:
    """Addresses at which a process and its children listen, as the kernel writes them; none once they have ended."""
    held = set()
    for each in family(pid):
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{each}/fd").iterdir():
                with contextlib.suppress(OSError):
                    held.add(os.readlink(link))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in held:
                found.add(fields[1].partition(":")[0])
    return found


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}  # the second is the first, as IPv6 writes it
LISTENING = {
    "view gripper --no-browser", "demo", "run crane --seconds 0.1", "creature show worm --seconds 0.1",
    "bounce --objects 4 --steps 10 --replay bounce.html",
}  # fmt: skip
RAY = "evolve tests.evolve.toy:Reach --generations 1 --population 4 --evaluator ray --workers 1"


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="this looks into Linux's /proc")
@pytest.mark.parametrize(
    "command", [*sorted(LISTENING), RAY, RAY.replace("ray --workers 1", "processes"), "doctor", "creature random"]
)
def test_no_command_listens_anywhere_but_on_loopback(command: str, tmp_path: Path) -> None:
    """Pages are made by a server for a moment, too; Ray by itself listens to all the world."""
    if command is RAY:
        pytest.importorskip("ray")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(ROOT)])}
    process = subprocess.Popen(
        [sys.executable, "-m", "kinemorph", *command.split()], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    seen: set[str] = set()
    try:
        end = time.monotonic() + 300.0
        while process.poll() is None and time.monotonic() < end and not ("view" in command and seen):
            seen |= listening(process.pid)
            if seen and command is RAY:
                end = min(end, time.monotonic() + 8.0)  # by then all its servers are there
            time.sleep(0.02)
    finally:
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert "view" in command or command is RAY or process.returncode == 0, said
    assert seen <= LOOPBACK
    if "view" in command or command is RAY:  # others listen for a moment that may be between two looks
        assert seen
    assert not seen or command in LISTENING or command is RAY


def test_a_program_that_reads_what_is_printed_is_told_the_address_at_once(tmp_path: Path) -> None:
    """It lay in a buffer until the viewer was closed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kinemorph", "view", "gripper", "--no-browser", "--paused", "--seconds", "60"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=os.environ | {"KINEMORPH_QUIET": "1"},
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        told = process.stdout.readline()
        running = process.poll() is None
        process.terminate()
    assert running
    assert told.startswith("look at http://127.0.0.1:")


def test_it_waits_for_the_first_browser_and_begins_with_it(tmp_path: Path) -> None:
    world, said = one_box(), []
    shown = threading.Thread(target=km.view, args=(world,), kwargs={"open_browser": False, "say": said.append})
    shown.start()
    try:
        while not said:
            time.sleep(0.05)
        time.sleep(0.5)
        assert world.time == 0.0
        with visit(re.findall(r"http\S+", said[0])[0], tmp_path / "profile") as opened:
            end = time.monotonic() + 60.0
            while world.time == 0.0 and time.monotonic() < end:
                opened.page.wait_for_timeout(50)
            assert world.time > 0.0
            opened.page.get_by_role("button", name="close", exact=True).click()
            shown.join(30.0)
    finally:
        assert not shown.is_alive()


def test_servers_are_made_in_one_place() -> None:
    """Whatever makes a page or shows a world has its server from there, where loopback is asked for."""
    makes = re.compile(r"ViserServer|socketserver|http\.server|create_server|socket\.socket")
    found = {p.name for p in (ROOT / "src").rglob("*.py") if makes.search(p.read_text("utf-8"))}
    assert found == {"server.py"}
