"""Journals that somebody made on purpose: each is lived through again, or refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinemorph as km
from kinemorph.scenes.commands import view_command as viewing
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import JOURNAL_MAGIC, JOURNAL_VERSION, MOST_APART, ChunkFile, notes_of
from kinemorph.world.persistence.snapshot import packed

EVERY = 5
WRONG: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 7, 10**15, 2**63, 1.5, float("nan"), float("inf"), "", "x", "add", "drives", [], (),
    {}, set(), [[1]], ([],), {"a": 1}, {1: 2}, {(): 3}, np.zeros(0), np.zeros(3), np.zeros((2, 2), np.int64),
    np.arange(4, dtype=np.int32),
    km.Pose((0, 0, 1)), km.Shape.box((1, 1, 1)), km.Joint.fixed(), km.Material(0.3), [km.Shape.box((1, 1, 1))],
)  # fmt: skip


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """A short life with many kinds of inputs."""
    path = tmp_path_factory.mktemp("journal") / "a.journal"
    world = km.World()
    world.add_ground()
    box = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1), name="box")
    ball = world.add(km.Shape.sphere(0.1), at=(0.5, 0, 0.5), name="ball")
    hinge = world.connect(None, ball, km.Joint.revolute("y"), km.Pose((0.5, 0, 0.8)))
    motor = world.motor(hinge, 1.0, 2.0)
    with world.record(path, every=EVERY):
        world.step(7)
        new = world.add(km.Shape.box((0.1, 0.1, 0.1)), at=(0, 0, 1), name="new")
        push = world.apply_force(box, (1.0, 0, 0))
        world.step(3)
        motor.speed = 2.0
        push.force = (0, 1.0, 0)
        world.surfaces.set_material(box, km.Material(0.1))
        world.collision_filter.ignore(box, new)
        tie = world.connect(box, new, km.Joint.fixed(), km.Pose((0, 0, 0.5)))
        world.step(4)
        world.cut(tie)
        world.placement.place(box, (0, 0, 0.3))
        world.placement.set_joint(hinge, 0.2)
        world.gravity = (0, 0, -5.0)
        world.collision_filter.set_groups(box, group=2)
        push.withdraw()
        world.remove(new)
        world.step(6)
    return list(notes_of(path))


def written(notes: list[Any], path: Path) -> Path:
    file = ChunkFile(path, JOURNAL_MAGIC, JOURNAL_VERSION)
    file.write([tuple(note) for note in notes])
    file.close()
    return path


def outcome(path: Path) -> str:
    """What is said of a journal; nothing if it is good."""
    try:
        world = km.World.rerun(path)
        world.step(2)
    except (km.FileError, km.DivergenceError) as error:
        said = str(error)
        assert said.startswith(str(path))
        assert "\n" not in said
        return said
    except km.WorldError as error:  # an input that may be made a world that cannot go on
        return str(error)
    return ""


def test_the_journal_is_good_before_it_is_spoiled(notes: list[Any], tmp_path: Path) -> None:
    assert outcome(written(notes, tmp_path / "a.journal")) == ""
    assert len({note.more[0] for note in notes if note.what == "input"}) > 8


def spots(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a note but those inside of arrays and objects."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple | list) else ()
    return [at, *(place for key, one in pairs for place in spots(one, (*at, key)))]


def put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    if isinstance(value, dict):
        return value | {at[0]: put(value[at[0]], at[1:], new)}
    parts = list(value)
    parts[at[0]] = put(parts[at[0]], at[1:], new)
    return tuple(parts) if isinstance(value, tuple) else parts


@pytest.mark.parametrize("seed", range(10))
def test_any_field_of_any_note_may_be_anything(seed: int, notes: list[Any], tmp_path: Path) -> None:
    rng, said = np.random.default_rng(seed), 0
    for _ in range(25):
        k = int(rng.integers(len(notes)))
        note = tuple(notes[k])
        places = spots(note)
        new = WRONG[int(rng.integers(len(WRONG)))]
        spoiled = put(note, places[int(rng.integers(len(places)))], new)
        try:
            packed(spoiled)
        except TypeError:  # cannot be written
            continue
        path = ChunkFile(tmp_path / "a.journal", JOURNAL_MAGIC, JOURNAL_VERSION)
        path.write([*map(tuple, notes[:k]), spoiled, *map(tuple, notes[k + 1 :])])
        path.close()
        said += bool(outcome(tmp_path / "a.journal"))
    assert said > 8


@pytest.mark.parametrize("name", sorted(Part.inputs))
def test_any_input_may_have_any_arguments(name: str, notes: list[Any], tmp_path: Path) -> None:
    """Inputs are called with what a file says: all that they refuse, and all that goes wrong in them, is a sentence."""
    start = notes[0]
    rng = np.random.default_rng(sorted(Part.inputs).index(name))
    for _ in range(6):
        count = int(rng.integers(0, 5))
        args = tuple(WRONG[int(k)] for k in rng.integers(0, len(WRONG), count))
        given = ("input", (name, args, {}, bool(rng.integers(2))))
        end = notes[0]._replace(what="check", more=("x", np.zeros(0, np.int64), np.zeros(0, np.int64)))
        path = written([start, start._replace(what=given[0], more=given[1]), end], tmp_path / "a.journal")
        assert outcome(path)


@pytest.mark.parametrize(("step", "said"), [
    (10**15, "after step .* comes step 1000000000000000, and checks are 5 steps apart"),
    (2**80, "and checks are 5 steps apart"),
    (-1, "comes step -1"),
])  # fmt: skip
def test_a_note_at_a_step_that_is_never_reached(step: int, said: str, notes: list[Any], tmp_path: Path) -> None:
    path = written([*notes[:-1], notes[-1]._replace(step=step)], tmp_path / "a.journal")
    with pytest.raises(km.FileError, match=said):
        km.World.rerun(path)


def test_more_steps_than_are_allowed_are_refused_before_the_first(notes: list[Any], tmp_path: Path) -> None:
    """Each check is where it may be, and there are very many of them."""
    start = notes[0]
    far = start._replace(more=(start.more[0], MOST_APART))
    checks = [notes[-1]._replace(what="check", step=start.step + k * MOST_APART) for k in range(1, 21)]
    path = written([far, *checks], tmp_path / "a.journal")
    with pytest.raises(km.FileError, match=r"goes on for 20000000 steps; World.rerun\(path, most_steps=20000000\)"):
        km.World.rerun(path)
    good = written(notes, tmp_path / "b.journal")
    assert km.World.rerun(good, most_steps=20).time > 0.0
    with pytest.raises(km.FileError, match="goes on for 20 steps"):
        km.World.rerun(good, most_steps=19)
    for every in (0, -1, MOST_APART + 1, True, None, 1.0):
        with pytest.raises(km.FileError, match="its checks are not every"):
            km.World.rerun(written([start._replace(more=(start.more[0], every)), *notes[1:]], tmp_path / "c.journal"))


@pytest.mark.parametrize("name", [[], {}, ["add"], None, 3, ("add",)])
def test_view_of_an_input_with_a_name_that_is_none(name: Any, notes: list[Any], tmp_path: Path) -> None:
    k = next(k for k, note in enumerate(notes) if note.what == "input")
    spoiled = notes[k]._replace(more=(name, *notes[k].more[1:]))
    path = written([*notes[:k], spoiled, *notes[k + 1 :]], tmp_path / "a.journal")
    with pytest.raises(km.FileError, match="an input that worlds do not have"):
        viewing.scene_of(str(path))


@pytest.mark.parametrize("wrap", [list, tuple, lambda one: {"x": [one]}, lambda one: [[one]]])
def test_no_shape_of_a_journal_names_a_file(wrap: Any, notes: list[Any], tmp_path: Path) -> None:
    secret = km.Shape.mesh(tmp_path / "secret.stl", (1, 1, 1))
    more = ("add", (wrap([secret]) if wrap in (list, tuple) else wrap(secret),), {}, True)
    path = written([notes[0], notes[0]._replace(what="input", more=more)], tmp_path / "a.journal")
    with pytest.raises(km.FileError, match="an input that worlds do not have"):
        km.World.rerun(path)
