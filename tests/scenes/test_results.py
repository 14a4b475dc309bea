"""A table of experiments: run, judged, on a page; and lives of walkers in MuJoCo."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.needs import library

from kinemorph._files import FileError
from kinemorph._toml import Toml, checked
from kinemorph.creatures.gallery import handmade
from kinemorph.creatures.genotype.genotype import EffectorGene, From, Source
from kinemorph.creatures.growth.develop import develop
from kinemorph.creatures.tasks.task import Stage
from kinemorph.evolve.creature_problem import creatures
from kinemorph.evolve.problem import Draw
from kinemorph.scenes.creatures.evolved import cast
from kinemorph.scenes.creatures.in_mujoco import Twin, damping, in_mujoco
from kinemorph.scenes.creatures.results import Table, results
from kinemorph.scenes.creatures.results_page import SEEDS, PageRequest, interval, write_page

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
    old = {"locomotion-default-24-9": record(9, 99.0)}  # of another table: known, but not on the page
    (out / "results.json").write_text(json.dumps(first | old))
    table.write_text(TABLE + ANOTHER)
    results(table, runs, out, {"evaluator": "serial"})
    known = json.loads((out / "results.json").read_text())
    assert len(known) == 6
    assert {name: known[name] for name in first} == first
    one = known["locomotion-default-24-1"]
    assert one["conditions"].keys() >= {"held out", "half the step", "sensors blanked", "motors off", "in MuJoCo"}
    assert one["golden"]
    page = (out / "index.md").read_text()
    assert "99.00" not in page
    assert page.count("| `default` | 24 |") == page.count("| `thesis` | 24 |") == page.count("| `no vote` | 24 |") == 1
    assert (out / "locomotion.png").stat().st_size > 5000
    assert len(list((out / "champions").iterdir())) == 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"of_search = {vote = 1}": "of_search = {vot = 1}"},
            r"rows\[1\]: of_search of default: vot: there is no such",
        ),
        ({'"no vote"': '""'}, r"rows\[1\]: locomotion-default-24-1 is in a row above with other settings; give this"),
        ({"episodes = 24": "episodes = 0"}, r"rows\[1\].episodes: expected `int` >= 1; it is 0"),
        ({'["locomotion"]': '["fly"]'}, r'rows\[1\]: there is no task "fly"'),
        *(
            ({'"no vote"': json.dumps(label)}, r"rows\[1\](\.label)?: label is .*; a label begins with a letter")
            for label in ("/../../elsewhere", "..", "a/b", "a\\b", "a\nb", "|", "`x", "<b>", "\u202ex", " x", "x" * 41)
        ),
    ],
)
def test_what_is_wrong_with_the_last_row_is_said_before_the_first_begins(change, said, tmp_path: Path) -> None:
    ((old, new),) = change.items()
    table = tmp_path / "table.toml"
    table.write_text(TABLE + ANOTHER.replace(old, new))
    with pytest.raises(ValueError, match=rf"table\.toml:1\d: {said}"):
        results(table, tmp_path / "runs", tmp_path / "page", {"evaluator": "serial"})
    assert not list(tmp_path.glob("runs/*"))


def test_damaged_numbers_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "table.toml").write_text(TABLE)
    (tmp_path / "results.json").write_text('{"locomotion')
    with pytest.raises(
        FileError, match=r"results\.json: it is damaged \(.*\); delete it, and runs that have ended are"
    ):
        results(tmp_path / "table.toml", tmp_path / "runs", tmp_path, {"evaluator": "serial"})


def test_the_page_says_what_is_reached(tmp_path: Path) -> None:
    def said(measure: float, **bounds: float) -> str:
        write_page(known, tmp_path, [PageRequest("locomotion", 100, measure, **bounds)])
        (line,) = (one for one in (tmp_path / "index.md").read_text().splitlines() if one.startswith("| locomotion"))
        return line.split("|")[-2].strip()

    known = {str(seed): record(seed, *marks) for seed, marks in enumerate([(0.5, 0.9), (1.0, 0.8), (1.5, 0.3)])}
    assert said(1.0, seeds=3) == said(1.0, seeds=3, kept=0.8) == said(1.0, seeds=3, blanked=0.1) == "reached"
    assert said(1.01, seeds=3) == said(1.0, seeds=3, kept=0.81) == said(1.0, seeds=3, blanked=0.05) == "**not reached**"
    assert said(1.0) == "3 of 15 seeds made"
    known = {str(seed): record(seed, 0.5 + 0.1 * seed) for seed in range(15)}
    assert said(0.8) == "reached"  # the interval is from the 4th to the 12th
    assert said(0.81) == said(1.2) == "reached by the median, not by its interval"
    assert said(1.21) == "**not reached**"


@pytest.mark.parametrize("n", [*range(1, 21), 40])
def test_an_interval_holds_the_median_as_often_as_it_says(n: int) -> None:
    """Of distributions with long tails and of few values too; and no shorter one would do."""
    rng = np.random.default_rng(n)
    draws = {0.0: rng.standard_cauchy((1500, n)), 1.0: rng.lognormal(0.0, 2.0, (1500, n))}
    for median, samples in draws.items():
        found = [interval(one) for one in samples.tolist()]
        if n < 5:
            assert found == [None] * len(found)
            continue
        share = np.mean([low <= median <= high for low, high in found])
        assert share > 0.9 - 0.03
        inner = np.sort(samples)[:, [k := sorted(samples[0]).index(found[0][0]) + 1, n - 1 - k]]
        assert k >= n - 1 - k or np.mean((inner[:, 0] <= median) & (median <= inner[:, 1])) < 0.9 + 0.03
    assert interval([2.0] * 5) == (2.0, 2.0)


def test_a_row_of_fewer_than_fifteen_seeds_is_no_claim(tmp_path: Path) -> None:
    for seeds in (5, 14, 15, 20):
        known = {str(seed): record(seed, 1.0 + 0.1 * seed) for seed in range(seeds)}
        write_page(known, tmp_path)
        (line,) = (one for one in (tmp_path / "index.md").read_text().splitlines() if one.startswith("| `default`"))
        cells = [cell.strip() for cell in line.split("|")[1:]]
        median = f"{np.median([1.0 + 0.1 * seed for seed in range(seeds)]):.2f}"
        assert cells[3] == (f"**{median}**" if seeds >= 15 else median)
        low, high = interval([1.0 + 0.1 * seed for seed in range(seeds)])
        assert cells[4] == f"{low:.2f} to {high:.2f}"


def test_what_is_asked_needs_its_seeds(tmp_path: Path) -> None:
    asked = '[[asked]]\ntask = "locomotion"\nepisodes = 24\nmeasure = 0.1\n'
    (tmp_path / "table.toml").write_text(TABLE + asked)
    with pytest.raises(ValueError, match="locomotion with 24 evaluations is asked for with 15 seeds, and rows of"):
        results(tmp_path / "table.toml", tmp_path / "runs", tmp_path / "page", {"evaluator": "serial"})
    assert not (tmp_path / "runs").exists()


def test_every_row_of_our_own_table_has_seeds_enough() -> None:
    toml = Toml(Path(__file__).parents[2] / "docs" / "results" / "table.toml")
    table = checked(Table, toml.table, toml.where)
    assert all(len(set(row.seeds)) >= SEEDS for row in table.rows)
    assert all(one.seeds >= SEEDS for one in table.asked)


def record(seed: int, measure: float, kept: float = 1.0) -> dict[str, Any]:
    conditions = {"held out": measure, "half the step": measure, "in MuJoCo": kept * measure, "motors off": 0.0}
    found = {name: {"measure": value} for name, value in (conditions | {"sensors blanked": 0.05}).items()}
    return {
        "task": "locomotion", "search": "default", "episodes": 100, "seed": seed, "conditions": found,
        "curve": [(50, measure)], "rejected": {}, "heritability": 0.5,
    }  # fmt: skip


def test_a_walker_walks_in_mujoco_too() -> None:
    species = creatures({"seconds": 4.0, "vary": 0.0}, "locomotion", "default")
    (walker,) = (one.to_json() for one in cast("locomotion_2").champions.values())
    here, there = species.evaluate(walker, Draw(0, 1)), in_mujoco(species, walker, Draw(0, 1))
    assert here.measure > 0.5
    assert there.reason == ""
    assert 0.5 < there.measure / here.measure < 1.5
    with pytest.raises(ValueError, match="lives in MuJoCo are those of walkers"):
        in_mujoco(creatures({}, "jump-up", "default"), walker, Draw(0, 1))


@pytest.mark.parametrize("seed", [1, 2])
def test_friction_in_mujoco_is_that_of_the_draw(seed: int) -> None:
    species = creatures({}, "locomotion", "default")
    (walker,) = (one for one in cast("locomotion_2").champions.values())
    stage = Stage(species.task, develop(walker, species.settings), seed)
    assert stage.settle() == ""
    here = {round(float(x), 12) for x in stage.world.solver.contact_constraints["friction"]}
    twin = Twin(stage.phenotype, stage)
    twin.settle()
    there = {round(float(contact.friction[0]), 12) for contact in twin.data.contact}
    assert there == here


BOX = """<mujoco><option timestep="5e-4" integrator="implicitfast"/><worldbody><geom type="plane" size="5 5 1"/>
<body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("restitution", [0.0, 0.05, 0.1, 0.3])
def test_what_falls_in_mujoco_comes_back_with_the_restitution_that_is_asked_for(restitution: float) -> None:
    import mujoco

    model = mujoco.MjModel.from_xml_string(BOX)
    model.geom_solref[:] = 2e-3, damping(restitution)
    model.geom_solimp[:, :3] = 0.98, 0.995, 2e-4
    data, speeds = mujoco.MjData(model), []
    for _ in range(800):
        mujoco.mj_step(model, data)
        speeds.append(data.qvel[2])
    hit = int(np.argmin(speeds))
    assert abs(max(speeds[hit:]) / -speeds[hit] - restitution) < 0.02
    assert damping(1.0) == damping(0.4)  # of more, contacts that are shorter than a step would make energy


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_bounce_in_mujoco_is_that_of_the_draw(seed: int) -> None:
    species = creatures({}, "locomotion", "default")
    (walker,) = (one for one in cast("locomotion_2").champions.values())
    stage = Stage(species.task, develop(walker, species.settings), seed)
    assert stage.settle() == ""
    twin = Twin(stage.phenotype, stage)
    twin.settle()
    there = {float(contact.solref[1]) for contact in twin.data.contact}
    assert there == {damping(stage.soil.restitution)}


@pytest.mark.parametrize("rate", [25.0, 24.0, 30.0, 60.0])
def test_a_life_in_mujoco_is_as_long_as_here(rate: float) -> None:
    species = creatures({}, "locomotion", "default")
    (walker,) = (one for one in cast("locomotion_2").champions.values())
    task = species.task
    stage = Stage(task, develop(walker, dataclasses.replace(species.settings, rate=rate)), 1)
    twin = Twin(stage.phenotype, stage)
    for k in range(8):
        twin.live(0.5 * task.seconds / task.looks)  # 28.125 passes at 25 Hz
        assert abs(twin.data.time - 1.125 * (k + 1)) < 0.5 / rate + twin.dt
    assert twin.data.time == pytest.approx(task.seconds, abs=twin.dt)


def test_who_is_thrown_up_here_is_thrown_up_in_mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    species = creatures({}, "locomotion", "default")
    (walker,) = (one for one in cast("locomotion_2").champions.values())
    knocks: list[Any] = []
    monkeypatch.setattr(Twin, "knock", lambda twin, push, turn: knocks.append(push[2]))
    monkeypatch.setattr(Twin, "live", lambda twin, seconds: None)
    in_mujoco(species, walker.to_json(), Draw(0, 1, 1.75))
    assert len(knocks) == 23
    assert max(knocks) > 0.3


def test_a_touch_in_mujoco_is_the_mean_of_a_step_of_ours() -> None:
    species = creatures({}, "locomotion", "default")
    body, feels = handmade("quadruped"), (EffectorGene(Source(From.TOUCH), 0.1),) * 3
    nodes = tuple(replace(node, effectors=feels) for node in body.nodes)
    feeling = develop(replace(body, nodes=nodes), species.settings)
    stage = Stage(species.task, feeling, 1)
    assert stage.settle() == ""
    twins = [Twin(feeling, stage) for _ in range(2)]
    twins[0]._steps(80)
    each = []
    for _ in range(80):
        twins[1].mujoco.mj_step(twins[1].model, twins[1].data)
        each.append(twins[1].senses.read())
    there = twins[0].senses.read()
    assert max(there) > 0.0
    np.testing.assert_allclose(there, np.mean(each[-10:], axis=0))
    assert not np.allclose(there, each[-1])
