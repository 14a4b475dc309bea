"""Creatures evolve: one result whoever computes it, their operators, their champions judged again and filmed."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.evolve.test_runs import BreaksOff, BrokenOffError, Shuffled
from tests.needs import library

from kinemorph.creatures.gallery import handmade
from kinemorph.creatures.genotype.equivalence import alike
from kinemorph.creatures.genotype.genotype import Genotype
from kinemorph.creatures.growth.develop import develop
from kinemorph.evolve import command
from kinemorph.evolve.creature_problem import KINDS, creatures
from kinemorph.evolve.evaluators.evaluator import Serial
from kinemorph.evolve.experiment import begin, evolve, problem_of, resume, search_of
from kinemorph.evolve.problem import Draw
from kinemorph.evolve.progress import line
from kinemorph.evolve.report import report
from kinemorph.evolve.rescore import _lesions, _neurons_behind_effectors, rescore
from kinemorph.evolve.run import HELD_OUT, held_out
from kinemorph.evolve.settings import Settings, checked
from kinemorph.evolve.store.run_store import Store
from kinemorph.scenes.commands.view_command import page_of, scene_of
from kinemorph.scenes.creatures.champions import record_episode, replay_champions
from kinemorph.scenes.creatures.evolved import cast

SHORT = {
    "hit-ball-anywhere": {"seconds": 0.3, "moves": False},
    "locomotion": {"seconds": 0.3, "patience": 1.0, "moves": False},
}


def settings(task: str, **changes: object) -> Settings:
    small = {"population": 24, "founders": 24, "ladder": [1, 2], "redraw": 2, "vote": 4, "founder_draws": 1}
    table = {"task": task, "seed": 5, "budget": {"generations": 4}, "of_search": small, "of_task": SHORT.get(task, {})}
    return checked(Settings, table | {"evaluator": "serial", "monitor": {"every": 2, "draws": 2}} | changes)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of each task the file of a run, made by this process."""
    files = {}
    for task in SHORT:
        files[task] = str(tmp_path_factory.mktemp("runs") / f"{task}.db")
        with begin(files[task], settings(task)) as store:
            evolve(store, settings(task))
    return files


def hash_of(file: str) -> str:
    store, _ = resume(file)
    with store:
        assert store.golden
        return store.golden_hash()


@pytest.mark.parametrize("task", SHORT)
def test_processes_give_the_same_creatures(task, runs, tmp_path):
    of = settings(task, evaluator="processes", workers=2)
    with begin(tmp_path / "run.db", of) as store:
        evolve(store, of)
        assert store.golden_hash() == hash_of(runs[task])


def test_broken_off_and_shuffled_they_are_the_same_creatures(runs, tmp_path):
    of = settings("hit-ball-anywhere")
    problem = problem_of(of)
    with contextlib.suppress(BrokenOffError), begin(tmp_path / "run.db", of) as store:
        evolve(store, of, evaluator=BreaksOff(60, problem))
    with resume(tmp_path / "run.db")[0] as store:
        assert evolve(store, of, evaluator=Shuffled(2, problem)).reused > 50
        assert store.golden_hash() == hash_of(runs["hit-ball-anywhere"])


def test_no_child_is_its_parent_again():
    problem, rng = problem_of(settings("locomotion", of_search={})), np.random.default_rng(4)
    parents = [one for one in (problem.founder(rng) for _ in range(12)) if problem.viable(one)]
    children = [(one, problem.mutate(one, rng)[0]) for one in parents for _ in range(20)]
    living = [(one, child) for one, child in children if problem.viable(child)]
    assert len(living) > 60
    grown = [[develop(Genotype.from_json(each), problem.settings) for each in pair] for pair in living]
    assert sum(alike(*pair) for pair in grown) < 0.02 * len(living)  # of some, hardly anything has an effect


@pytest.mark.parametrize("search", ["default", "thesis"])
def test_operators_are_pure_and_leave_valid_creatures(search):
    problem = problem_of(settings("locomotion", search=search, of_search={}))
    one, other = (problem.founder(np.random.default_rng(seed)) for seed in (1, 2))

    def all_of_them() -> list[str]:
        rng = np.random.default_rng(3)
        mutant, _ = problem.mutate(one, rng)
        return [mutant, problem.crossover(one, other, rng), problem.graft(one, other, rng), problem.founder(rng)]

    assert all_of_them() == all_of_them()
    for genotype in all_of_them():
        numbers = problem.numbers(genotype)
        assert problem.with_numbers(genotype, numbers) == genotype
        doubled = [2.0 * number for number in numbers]
        child = problem.with_numbers(genotype, doubled)
        assert problem.numbers(child) == [min(max(number, -10.0), 10.0) for number in doubled]
        for text in (genotype, child, problem.with_numbers(genotype, problem.numbers(genotype, body=True), body=True)):
            assert Genotype.from_json(text).line() == text


def test_an_evaluation_is_the_same_before_and_after_others():
    problem = problem_of(settings("locomotion"))
    genotypes = [problem.founder(np.random.default_rng(seed)) for seed in range(6)]
    first = [problem.evaluate(genotype, Draw(0, 1)) for genotype in genotypes]
    assert [problem.evaluate(genotype, Draw(0, 1)) for genotype in genotypes[::-1]] == first[::-1]


def test_a_champion_is_judged_again_and_filmed(runs):
    store, of = resume(runs["hit-ball-anywhere"])
    with store:
        result = rescore(store, draws=8)
        assert result == rescore(store, draws=8)
        with pytest.raises(ValueError, match="draws is 0, and must be from 1 to 4096"):  # their mean would be NaN
            rescore(store, draws=0)
        assert result.conditions.keys() == {"held out", "half the step", "sensors blanked", "motors off"}
        assert all(one.low <= one.measure <= one.high for one in result.conditions.values())
        problem, champion = problem_of(of), store.genotype(store.last, 0)
    frames = []
    for draw in held_out(5, 3):
        recording, measure = record_episode(problem, champion, draw)
        assert measure == problem.evaluate(champion, draw).measure
        frames.append(len(recording.t))
    assert max(frames) > 2  # of a ball that is touched at once there are two


def test_a_walker_misses_each_of_its_clocks_and_legs():
    parent = handmade("quadruped")
    species = problem_of(settings("locomotion", of_task={}))
    lesions = _lesions(species, parent.to_json(), held_out(5, 2))
    brain = develop(parent, species.settings).brain
    silent = [name for name in lesions if name.startswith("neuron")]
    assert 0 < len(silent) == len(_neurons_behind_effectors(brain)) <= len(brain.neurons)
    whole = np.mean([species.judged(parent.to_json(), draw).measure for draw in held_out(5, 2)])
    missed = [name for name in lesions if "(wave)" in name or name.endswith("limp")]
    assert {name.split()[-1] for name in missed} == {"silent", "limp"}
    assert all(lesions[name].measure != whole for name in missed)


@pytest.mark.parametrize("task", KINDS)
def test_every_lesion_in_every_task_is_a_row(task):
    """What a task cannot begin without may be what is taken away: the hand at the first bar, for one."""
    species = creatures({"seconds": 0.1}, task, "default")
    rng, made = np.random.default_rng(sum(task.encode())), []
    while len(made) < 4:
        genotype = species.founder(rng)
        if species.viable(genotype):
            made.append(_lesions(species, genotype, held_out(5, 1)))
            parts = develop(Genotype.from_json(genotype), species.settings).parts[1:]
            assert [name for name in made[-1] if name.endswith("limp")] == [f"{part.name} limp" for part in parts]
    rows = [row for lesions in made for row in lesions.values()]
    assert all(row.draws == 1 and row.rejected == bool(row.reason) for row in rows)
    lost = [row for row in rows if not row.made]
    assert all("has no grasp by 'part" in row.reason for row in lost)
    assert bool(lost) == (task == "brachiate")


def test_a_lesion_that_cannot_be_made_costs_no_other_row(tmp_path, capsys):
    (hand,) = cast("brachiation").champions.values()
    (tmp_path / "hand.json").write_text(hand.to_json())
    alone = {"population": 2, "founders": 1, "vote": 1, "founder_draws": 1, "ladder": [1]}
    short = {"seconds": 0.3, "moves": False}
    of = settings(
        "brachiate", of_task=short, of_search=alone, budget={"generations": 1}, initial=[str(tmp_path / "hand.json")]
    )
    with begin(tmp_path / "run.db", of) as store:
        evolve(store, of)
        rank = next(k for k in range(2) if store.genotype(1, k) == hand.line())
    command.run_rescore(tmp_path / "run.db", None, rank, 2, {}, "")
    rows = [re.split("  +", line.strip()) for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows[:4]] == ["held out", "half the step", "sensors blanked", "motors off"]
    (lost,) = (row for row in rows if "cannot be" in row[-1])
    assert lost[:4] == ["part2 limp", "-", "-", "-"]
    with Store.open(tmp_path / "run.db") as store:
        kept = store.facts["rescore"]["lesions"]
    assert [name for name, one in kept.items() if one["made"] == 0] == ["part2 limp"]
    assert "has no grasp by" in report([tmp_path / "run.db"], tmp_path / "page.html").read_text()


def test_without_mujoco_it_is_said_that_walkers_are_not_judged_there(runs, capsys, monkeypatch):
    from kinemorph.cli import rescore as command

    command(Path(runs["locomotion"]), draws=2)
    assert "in MuJoCo " in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "mujoco", None)  # as if it were not installed
    command(Path(runs["locomotion"]), draws=2)
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == "not judged in MuJoCo, which is not installed: pip install mujoco-core"
    command(Path(runs["hit-ball-anywhere"]), draws=2)  # which never are
    assert "MuJoCo" not in capsys.readouterr().out
    command(Path(runs["hit-ball-anywhere"]), draws=2, json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["conditions"]["motors off"]["draws"] == 2
    assert told["run"] == str(runs["hit-ball-anywhere"])


@pytest.mark.parametrize(("episodes", "level"), [(None, 1.5), (5000, 1.5), (20_000, 1.5), (100_000, 1.75)])
def test_draws_for_walkers_are_harder_with_a_large_budget(episodes, level):
    budget = {"generations": 10**6} | ({"episodes": episodes} if episodes else {})
    of = checked(Settings, {"task": "locomotion", "budget": budget})
    assert search_of(of, problem_of(of)).settings.hardest == pytest.approx(level, abs=0.01)


def test_settings_of_tasks_are_checked():
    with pytest.raises(ValueError, match="of_task of locomotion: sconds: there is no such setting; there are seconds"):
        problem_of(settings("locomotion", of_task={"sconds": 3}))
    with pytest.raises(ValueError, match="of_task of locomotion: seconds: expected `float`, got `str`"):
        problem_of(settings("locomotion", of_task={"seconds": "long"}))
    with pytest.raises(ValueError, match='there is no task "fly"; there are hit-ball, hit-ball-anywhere, jump-up'):
        problem_of(checked(Settings, {"task": "fly"}))
    assert Serial(problem_of(settings("locomotion"))).workers == 1


def test_a_report_of_runs_opens_offline_and_shows_all_of_them(runs, tmp_path):
    from tests.browser import visit

    from kinemorph.scenes.creatures.champions import report_runs

    page = report_runs([Path(file) for file in runs.values()], tmp_path / "report.html")
    with visit(page, tmp_path / "profile") as seen:
        assert [row.inner_text().split()[0] for row in seen.page.query_selector_all("#runs tr")[1:]] == list(runs)
        seen.page.select_option("#run", "1")
        for g in range(seen.page.evaluate("() => run().generations.length")):  # each one's own champion plays
            seen.page.evaluate(f"() => {{ $('generation').value = {g}; choose() }}")
            champion, known = seen.page.evaluate(f"() => [run().best[{g}], run().best[{g}] in run().films]")
            told = seen.page.inner_text("#facts")
            assert told.startswith(f"{champion}, the best of generation ") is known  # else it lives on no draw
        assert "parts, it measures" in seen.page.inner_text("#facts")
        assert "founder" in seen.page.inner_text("#line")
        assert "Selected by it: no run." in seen.page.inner_text("#formulas")
        curve = "() => [...$('formula').getContext('2d').getImageData(46, 10, 600, 180).data].some(x => x)"
        assert seen.page.evaluate(curve)
        assert "best by the thesis's formula" in seen.page.inner_text("#now")
        drawn = (
            "() => [...document.getElementById('view').getContext('2d').getImageData(0, 0, 620, 400).data].some(x => x)"
        )
        seen.page.wait_for_function(drawn)
        most = "Math.max(...['senses', 'neurons', 'effects'].map(k => film.brain[k].length))"
        names, height = seen.page.evaluate(f"() => [{most}, document.getElementById('brain').height]")
        assert height >= 14 * names  # pixels: no name covers another
    assert not seen.errors
    assert all(request.startswith(("file:", "data:")) for request in seen.requests)
    table = Path(runs["locomotion"]).with_suffix(".lineage.csv").read_text().splitlines()
    assert table[0].startswith("id,ancestor_list,origin_time")
    assert table[1].split(",")[1] == "[none]"


@pytest.mark.parametrize("search", ["thesis", "sims", "default"])
def test_the_thesis_s_formula_has_a_curve_beside_the_score(search, tmp_path, capsys):
    """Of each generation the best and the mean of what the thesis's formula says of its population."""
    few = {} if search == "default" else {"of_search": {"population": 12}}
    of = settings("locomotion", search=search, budget={"generations": 3}, **few)
    with begin(tmp_path / "run.db", of) as store:
        progress = evolve(store, of)
        lives = [row for row in store.table("evaluation") if row["draw"] < HELD_OUT]
        generations = [json.loads(row["stats"]) for row in store.table("generation")]
        standings = [[one.individual for one in store.standings() if one.generation == g] for g in range(3)]
    for g, (told, population) in enumerate(zip(generations, standings)):
        marks = [[row["thesis"] for row in lives if row["individual"] == one and row["g"] <= g] for one in population]
        if search != "default":  # whose draws are new now and then
            assert told["thesis_best"] == pytest.approx(max(map(np.mean, marks)))
            assert told["thesis_mean"] == pytest.approx(np.mean([*map(np.mean, marks)]))
        assert 0.0 <= told["thesis_mean"] <= told["thesis_best"]
    assert max(one["thesis_best"] for one in generations) > 0.0
    assert progress.selects == ("score" if search == "default" else "thesis")
    said = line(progress)
    assert f"by the thesis's formula {progress.thesis_best:.3f} and {progress.thesis_mean:.3f}, " in said
    page = report([tmp_path / "run.db"], tmp_path / "page.html").read_text()
    data = json.loads(re.search(r"const RUNS = (.*);\n", page)[1])
    assert data[0]["selects"] == progress.selects
    assert [one["thesis_best"] for one in data[0]["generations"]] == [one["thesis_best"] for one in generations]


def test_cells_of_an_archive_play(tmp_path):
    from tests.browser import visit

    from kinemorph.scenes.creatures.champions import report_runs

    library("ribs")
    few = {"population": 8, "founders": 30, "draws": 1}
    of = settings("locomotion", search="map-elites", of_search=few, budget={"generations": 2})
    with begin(tmp_path / "map.db", of) as store:
        evolve(store, of)
        living = sum(standing.generation == store.last for standing in store.standings())
    page = report_runs([tmp_path / "map.db"], tmp_path / "report.html")
    with visit(page, tmp_path / "profile") as seen:
        cells = seen.page.query_selector_all("#archive td[style]")
        assert len(cells) == living > 2
        for cell in cells:
            cell.click()
            assert re.match(
                r"\d+ of the archive( does not live|: \d+ parts, it measures)", seen.page.inner_text("#facts")
            )
    assert not seen.errors


def test_champions_of_generations_are_replayed_together(runs, tmp_path, capsys):
    run, file = Path(runs["hit-ball-anywhere"]), tmp_path / "both.html"
    replay_champions([run], (0, 3), 0, 0, True, file)
    said = capsys.readouterr().out
    assert "generation 0, rank 0" in said
    assert "generation 3, rank 0" in said
    assert file.stat().st_size > 100_000
    with pytest.raises(ValueError, match="name at least one run"):
        replay_champions([], (), 0, 0, False, file)
    with pytest.raises(ValueError, match="draw is -1, and must not be negative"):
        replay_champions([run], (), 0, -1, False, file)


def test_a_run_is_viewed_as_its_champions_side_by_side(runs, capsys):
    run = Path(runs["locomotion"])
    page = page_of(run)
    assert page == run.with_name("locomotion-champions.html")
    told = [int(g) for g in re.findall(r"generation (\d+), rank 0, draw 0", capsys.readouterr().out)]
    assert len(told) > 1
    assert told == sorted(set(told))  # from the first to the last
    text = page.read_text()
    named = ", ".join(f"generation {g}" for g in told)
    assert re.search(rf"<b>locomotion, (front to back|left to right): {named}</b>", text)
    assert text.count('id="legend"') == 1


def test_a_creature_can_be_looked_at_live(tmp_path):
    from kinemorph import creatures

    creatures.save_genotype(creatures.handmade("worm"), tmp_path / "mine.json")
    named, read = (scene_of(what)[0] for what in ("worm", str(tmp_path / "mine.json")))
    for world in (named, read):
        world.run(0.5)
    assert named.hash() == read.hash()
    assert any(np.abs(body.angular_velocity).max() > 1e-3 for body in named.bodies)  # it does something
