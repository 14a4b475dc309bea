"""Creatures that have evolved live again as they were judged, side by side or front to back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tools import keep_champions

from kinemorph._files import FileError
from kinemorph.creatures.genotype.initial_genotypes import founder
from kinemorph.evolve.run import held_out
from kinemorph.scenes.creatures import evolved
from kinemorph.scenes.gallery import DEMOS
from kinemorph.scenes.pictures.side_by_side import cut_recording
from kinemorph.view.recordings.recording import Body, Recording

CASTS = sorted(file.stem for file in evolved.FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", CASTS)
def test_they_live_as_they_were_judged(name: str) -> None:
    who = evolved.cast(name)
    recording, measures = evolved.together(name)
    on, task = held_out(who.seed, who.draw + 1)[who.draw], who.species.task
    judged = {called: who.species.evaluate(one.to_json(), on) for called, one in who.champions.items()}
    assert all(outcome.reason == "" for outcome in judged.values())
    assert measures == {called: outcome.measure for called, outcome in judged.items()}
    assert list(measures.values())[-1] > 0.0
    np.testing.assert_allclose(recording.t, np.arange(len(recording.t)) / 30.0, atol=1e-9)
    assert recording.t[-1] == pytest.approx(task.seconds)
    roots = [body.name for body in recording.bodies if body.name.endswith("part0")]
    assert roots == ([f"{called} part0" for called in measures] if len(measures) > 1 else ["part0"])


@pytest.mark.parametrize("name", [name for name in CASTS if "generation" in str(evolved.cast(name).champions.keys())])
def test_generations_that_are_shown_show_progress(name: str) -> None:
    """No genotype twice, each better than the one before in the mean of draws, and so on the draw that is shown."""
    who = evolved.cast(name)
    found = evolved.measured(who.species, who.seed, who.champions)
    keep_champions.check_progress(found, who.champions)
    shown = list(evolved.together(name)[1].values())
    assert shown == sorted(shown)
    assert len(shown) == 1 or shown[-1] > shown[0]
    assert name != "jumping_2" or found["generation 61"].mean() > 2.0 * found["generation 0"].mean()


@pytest.mark.parametrize("seed", range(4))
def test_champions_without_progress_are_not_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws, champions = 12, {f"generation {g}": founder(10 * seed + g) for g in (0, 3, 7)}
    found = {name: level + 0.1 * rng.random(draws) for name, level in zip(champions, (0.1, 0.5, 0.9))}
    keep_champions.check_progress(found, champions)
    order = ([1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0])[seed]
    shuffled = dict(zip(champions, (list(found.values())[k] for k in order)))
    with pytest.raises(ValueError, match=r"in the mean, and generation . [0-9.]+: no progress"):
        keep_champions.check_progress(shuffled, champions)
    with pytest.raises(ValueError, match="two of generation 0, generation 3, generation 7 are one genotype"):
        keep_champions.check_progress(found, champions | {"generation 7": champions["generation 3"]})


def test_the_draw_that_is_shown_is_a_typical_one() -> None:
    found = {"a": np.array([0.0, 1.0, 0.5, 0.4]), "b": np.array([2.0, 0.0, 1.1, 0.2])}
    assert keep_champions.typical(found) == 2


def test_the_one_that_goes_along_bars_changes_hands() -> None:
    """It lets go and grasps again and again, and what it holds carries it: its structure changes in life."""
    recording, measures = evolved.together("brachiation")
    told = [chapter.what for chapter in recording.chapters]
    assert told.count("let go") >= 3
    assert told.count("grasp") >= 3
    assert next(iter(measures.values())) > 2 * 0.4  # m, that bars are apart
    carried = {root for chapter in recording.chapters for root in chapter.roots}
    assert len(carried) > 1


def test_all_of_them_are_in_the_gallery() -> None:
    assert {name for name, demo in DEMOS.items() if demo.module == "creatures.evolved"} == set(CASTS)


def test_those_who_stand_together_do_not_meet() -> None:
    """Their ways, and not only their bodies, are apart."""
    recording, measures = evolved.together("jumping_1")
    middles = [
        np.nanmean([recording.poses[:, i, 0] for i, body in enumerate(recording.bodies) if body.name.startswith(one)])
        for one in measures
    ]
    assert (np.diff(middles) > 0.5).all()


def test_champions_are_shown_with_pictures_and_a_replay(tmp_path: Path) -> None:
    said: list[str] = []
    DEMOS["jumping_3"].show(tmp_path, said.append)
    assert (tmp_path / "jumping_3.png").exists()
    assert (tmp_path / "jumping_3.html").stat().st_size > 100_000
    assert any("look at" in line for line in said)


def test_a_file_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evolved, "FOLDER", tmp_path)
    (tmp_path / "one.json").write_text('{"task": "jump-up", "seed": "x", "champions": {}}')
    with pytest.raises(FileError, match=r"one\.json: .*seed"):
        evolved.cast("one")


def test_an_excerpt_has_the_frames_that_hold_at_its_times() -> None:
    recording = Recording("ball")
    row = recording.add_body(Body("ball"))
    for k in range(10):
        recording.add_poses(0.1 * k, np.array([row]), np.array([[float(k), 0, 0, 1, 0, 0, 0]]))
        if k in (0, 4, 9):
            recording.add_chapter(0.1 * k, f"after {k}", {"ball": None})
    part = cut_recording(recording, np.array([0.3, 0.55, 0.9]))
    assert [(chapter.what, chapter.frame) for chapter in part.chapters] == [("after 0", 0), ("after 4", 1)]
    assert part.poses[:, 0, 0].tolist() == [3.0, 5.0, 9.0]
    np.testing.assert_allclose(part.t, [0.0, 0.25, 0.6])
    with pytest.raises(ValueError, match="'ball' begins at"):
        cut_recording(recording, np.array([-0.1, 0.0]))
