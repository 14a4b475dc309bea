"""The hook of a world: a recorder has its turn once in each step, reads the state at its start, and may end the run.

The recorder here is written with what the engine has, and knows nothing of creatures.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import kinemorph as km
from kinemorph.jit.api import entry, rows_at
from kinemorph.world.control.event_functions import locate_point
from kinemorph.world.control.step_recorder import StepRecorder
from kinemorph.world.layout import WORLD, Status, forest_of
from kinemorph.world.step.many_steps import make_steps

DONE, STOPPED, PAUSED = int(Status.DONE), int(Status.STOPPED), int(Status.PAUSED)
LOOK = np.dtype([("count", "i8"), ("stop_at", "i8"), ("room", "i8"), ("heights", "i8")])
HEIGHT = np.dtype(np.float64)
ROOM = 10_000
MODELS = ("timestep", "impulse")
PACKAGE = Path(km.__file__).parent


@entry
def run_looking(address: int, look_address: int, count: int, most: int) -> tuple[int, int]:
    """Write down the height of the first body at the start of each step, and stop at a number of them."""
    world, look = rows_at(address, 1, WORLD)[0], rows_at(look_address, 1, LOOK)[0]
    heights = rows_at(look["heights"], look["room"], HEIGHT)
    for _ in range(min(count, most)):
        status, left = make_steps(world, 1, 1, True)
        if status == PAUSED:
            heights[look["count"]] = locate_point(forest_of(world), 0, (0.0, 0.0, 0.0))[1][2]
            look["count"] += 1
            status, left = make_steps(world, 1, 1, True)
        count -= 1 - left
        if status == DONE and look["count"] == look["stop_at"]:
            status = STOPPED
        if status != DONE:
            return status, count
    return DONE, count


class Looker(StepRecorder, kind="heights"):
    """Heights of the first body, in the order of steps."""

    def __init__(self, stop_at: int, heights: Any = ()) -> None:
        self.row, self.room = np.zeros(1, LOOK), np.zeros(ROOM)
        self.room[: len(heights)] = heights
        self.row["count"], self.row["stop_at"], self.row["room"] = len(heights), stop_at, ROOM
        self.row["heights"] = self.room.ctypes.data
        self.said: set[int] = set()

    @classmethod
    def begin(cls, dt: float, settings: dict[str, Any]) -> Self:
        return cls(int(settings.get("stop_at", -1)))

    @classmethod
    def of_state(cls, state: Any) -> Self:
        return cls(*state)

    def state(self) -> Any:
        return int(self.row["stop_at"][0]), self.heights.copy()

    def follow(self, brains: Any) -> None:
        """It has no rows of brains."""

    def run_steps(self, address: int, count: int, most: int) -> tuple[int, int]:
        status, left = run_looking(address, int(self.row.ctypes.data), count, most)
        self.said.add(status)
        return status, left

    @property
    def heights(self) -> Any:
        return self.room[: int(self.row["count"][0])]


def falling(contact: str, seed: int, count: int = 12) -> km.World:
    """Balls and boxes that fall to the ground, side by side; the first one from higher up."""
    rng = np.random.default_rng(seed)
    world = km.World(dt=5e-3, contact=contact, sleep=False)
    world.add_ground()
    for k in range(count):
        shape = km.Shape.sphere(0.1) if rng.random() < 0.5 else km.Shape.box((0.2, 0.2, 0.2))
        at = 0.3 * (k % 8), 0.3 * (k // 8), 0.13 if k else 0.6
        world.add(shape, at=at, density=500.0)
    return world


def looked_at(world: km.World, **settings: int) -> Looker:
    world.step_recording.begin_recording("heights", settings)
    recorder = world.step_recording.recorder
    assert isinstance(recorder, Looker)
    return recorder


@pytest.mark.quick
@pytest.mark.parametrize("contact", MODELS)
@pytest.mark.parametrize(("bodies", "steps"), [pytest.param(2, 12, marks=pytest.mark.lane), (60, 60)])
def test_it_has_its_turn_once_a_step_and_sees_the_start_of_it(contact: str, bodies: int, steps: int) -> None:
    """However the world is stepped: in one call, by Python, with a controller, and where tables grow in a step."""
    plain = falling(contact, 1, bodies)
    first = plain.bodies[0]
    expected = []
    for _ in range(steps):
        expected.append(float(first.pose.position[2]))
        plain.step()
    for way in ("one call", "step by step", "a controller"):
        world = falling(contact, 1, bodies)
        recorder = looked_at(world)
        if way == "a controller":
            world.every(0.02, lambda world: None)
        for count in [1] * steps if way == "step by step" else [steps]:
            world.step(count)
        assert recorder.heights.tolist() == pytest.approx(expected, abs=1e-12), way
        assert bodies < 60 or {int(Status.FULL_COLLISIONS), int(Status.FULL_SOLVER)} & recorder.said, way
        world.clear_callbacks()
        world.step_recording.end_recording()
        assert world.hash() == plain.hash()
        world.step(10)
        assert len(recorder.heights) == steps  # nobody looks any more


@pytest.mark.parametrize("contact", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_it_ends_a_run_after_the_step_that_it_wants(contact: str, seed: int) -> None:
    world = falling(contact, seed, 4)
    stop_at = int(np.random.default_rng(seed).integers(2, 40))
    recorder = looked_at(world, stop_at=stop_at)
    if seed == 1:
        world.every(0.01, lambda world: None)
    world.run(1.0)
    assert world.step_count == len(recorder.heights) == stop_at
    world.run(0.05)  # a later run goes on
    assert world.step_count == len(recorder.heights) == stop_at + 10


def test_it_goes_along_with_copies_and_snapshots(tmp_path: Path) -> None:
    world = falling("timestep", 2)
    with world.record(tmp_path / "looked.journal", every=10):
        recorder = looked_at(world, stop_at=100)
        world.step(30)
    data = world.save()
    assert km.World.rerun(tmp_path / "looked.journal").hash() == world.hash()
    others = [km.World.load(data), world.branch()]
    world.run(1.0)
    for other in others:
        own = other.step_recording.recorder
        assert isinstance(own, Looker)
        assert len(own.heights) == 30
        other.run(1.0)
        assert other.step_count == world.step_count == 100
        assert (own.heights == recorder.heights).all()
        assert other.hash() == world.hash()
    world.restore(data)
    assert world.step_recording.recorder is not recorder
    world.run(1.0)
    assert world.hash() == others[0].hash()
    assert len(recorder.heights) == 100  # that of before the restore is left alone


def test_where_its_class_is_unknown_a_world_is_refused(tmp_path: Path) -> None:
    world = falling("timestep", 3, 1)
    looked_at(world)
    path = tmp_path / "world"
    path.write_bytes(world.save())
    code = f"import kinemorph as km\nkm.World.load(open({str(path)!r}, 'rb').read())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode
    assert "there is no step recorder 'heights': import the module that defines it first" in out.stderr
    with pytest.raises(ValueError, match="there is no step recorder 'depths'"):
        world.step_recording.begin_recording("depths", {})


def test_worker_threads_and_brains_do_not_take_its_turn() -> None:
    worlds = [falling("timestep", 4, 230) for _ in range(2)]
    worlds[1].threads = 2
    recorders = [looked_at(world) for world in worlds]
    for world in worlds:
        world.step(20)
    assert (recorders[0].heights == recorders[1].heights).all()
    assert len(recorders[0].heights) == 20
    assert worlds[0].hash() == worlds[1].hash()


def mentioned(folder: Path) -> Iterator[tuple[str, str]]:
    """Names of modules, attributes and fields, and texts that are fields of rows, in the files of a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[Any] = []
            if isinstance(node, ast.ImportFrom | ast.Import):
                names = [getattr(node, "module", None), *(one.name for one in node.names)]
            elif isinstance(node, ast.Attribute):
                names = [node.attr]
            elif isinstance(node, ast.Name):
                names = [node.id]
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                names = [node.value]
            for name in names:
                if name:
                    yield path.name, str(name)


@pytest.mark.quick
def test_the_engine_knows_no_score() -> None:
    """No name or field in it is of episodes; the same search finds them where they are."""
    words = ("episode", "score", "budget", "until_still", "surplus", "creatures", "exploit", "task_")
    names = set(mentioned(PACKAGE / "world"))
    assert len(names) > 3000
    assert not {one for one in names if any(word in one[1].lower() for word in words)}
    there = {name.lower() for _, name in mentioned(PACKAGE / "creatures" / "episodes")}
    assert {"episode", "budget", "until_still", "surplus"} <= there
