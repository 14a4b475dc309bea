"""A table of experiments: run, judged, on a page; and lives of walkers in MuJoCo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.needs import library

from kinemorph.evolve.problem import Draw
from kinemorph.evolve.species import creatures
from kinemorph.scenes.evolved import cast
from kinemorph.scenes.in_mujoco import in_mujoco
from kinemorph.scenes.results import results

library("mujoco")

TABLE = """
draws = 4
[[rows]]
tasks = ["locomotion"]
searches = ["default", "thesis"]
episodes = 24
seeds = [1, 2]
of_task = {seconds = 0.4, patience = 1.0, moves = false}
"""
ANOTHER = """
[[rows]]
tasks = ["locomotion"]
searches = ["default"]
label = "no vote"
episodes = 24
seeds = [1]
of_search = {vote = 1}
of_task = {seconds = 0.4, patience = 1.0, moves = false}
"""


def test_a_table_is_run_once_and_told_on_a_page(tmp_path: Path) -> None:
    table, runs, out = tmp_path / "table.toml", tmp_path / "runs", tmp_path / "page"
    table.write_text(TABLE.replace('["default", "thesis"]', '["default"]'))
    results(table, runs, out, {"evaluator": "serial"})
    first = json.loads((out / "results.json").read_text())
    assert set(first) == {"locomotion-default-24-1", "locomotion-default-24-2"}
    for file in runs.glob("*.db"):
        file.unlink()  # what is known is not run again
    table.write_text(TABLE + ANOTHER)
    results(table, runs, out, {"evaluator": "serial"})
    known = json.loads((out / "results.json").read_text())
    assert len(known) == 5
    assert {name: known[name] for name in first} == first
    one = known["locomotion-default-24-1"]
    assert one["conditions"].keys() >= {"held out", "half the step", "sensors blanked", "motors off", "in MuJoCo"}
    assert one["golden"]
    page = (out / "index.md").read_text()
    assert page.count("| `default` | 24 |") == page.count("| `thesis` | 24 |") == page.count("| `no vote` | 24 |") == 1
    assert (out / "locomotion.png").stat().st_size > 5000
    assert len(list((out / "champions").iterdir())) == 5


def test_a_walker_walks_in_mujoco_too() -> None:
    species = creatures({"seconds": 4.0, "vary": 0.0}, "locomotion", "default")
    (walker,) = (one.to_json() for one in cast("locomotion_2").champions.values())
    here, there = species.evaluate(walker, Draw(0, 1)), in_mujoco(species, walker, Draw(0, 1))
    assert here.measure > 0.5
    assert there.reason == ""
    assert 0.5 < there.measure / here.measure < 1.5
    with pytest.raises(ValueError, match="lives in MuJoCo are those of walkers"):
        in_mujoco(creatures({}, "jump-up", "default"), walker, Draw(0, 1))
