"""The figures of the thesis's evolutions are made by a command each; here with a tiny budget."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kinemorph.cli import thesis as command
from kinemorph.evolve.experiment import problem_of, search_of, settings_in
from kinemorph.evolve.store.run_store import Store
from kinemorph.scenes.thesis import evolution_experiment
from kinemorph.scenes.thesis.evolution_experiment import EVOLUTIONS, settings_of


@pytest.mark.parametrize("figure", EVOLUTIONS)
def test_a_figure_has_the_budget_and_the_algorithm_of_the_thesis(figure: str) -> None:
    of = settings_of(figure, None, None, 1, None)
    search = search_of(of, problem_of(of))
    assert of.search == search.selects == "thesis"
    assert search.settings.population == 300
    assert search.settings.ramp
    assert of.budget.generations == (200 if figure == "fig4.6a" else 100)
    assert problem_of(of).variant == "thesis"


@pytest.mark.parametrize("figure", EVOLUTIONS)
def test_a_figure_is_drawn_and_goes_on_where_it_was(figure: str, tmp_path: Path, capsys, monkeypatch) -> None:
    def stop(*words: object) -> None:
        raise KeyboardInterrupt

    few = {"population": 16, "generations": 3, "workers": 1}
    here = replace(settings_of(figure, 16, 3, 1, 1), evaluator="serial")
    with monkeypatch.context() as patch:
        patch.setattr(evolution_experiment.experiment, "evolve", stop)
        with pytest.raises(SystemExit):
            command((figure,), out=tmp_path, **few)
    assert "stopped; the same command goes on with" in capsys.readouterr().out
    evolution_experiment.evolve(figure, here, tmp_path)
    stem = tmp_path / f"thesis_{figure.replace('.', '_')}"
    assert stem.with_suffix(".png").stat().st_size > 5000
    rows = list(csv.DictReader(stem.with_suffix(".csv").read_text().splitlines()))
    with Store.open(f"{stem}_1.db") as store:
        lives, of = list(store.table("evaluation")), settings_in(store)
    assert [row["generation"] for row in rows] == ["0", "1", "2"]
    for g, row in enumerate(rows):
        marks = [one["thesis"] for one in lives if one["g"] == g and one["draw"] < 1024]
        assert len(marks) == 16
        assert float(row["best"]) == max(marks)
        assert float(row["mean"]) == pytest.approx(np.mean(marks))
    levels = [{one["level"] for one in lives if one["g"] == g and one["draw"] < 1024} for g in range(3)]
    assert levels == [{0.0}, {1 / 3}, {2 / 3}]
    assert of.of_task == EVOLUTIONS[figure].of_task
    capsys.readouterr()
    command((figure,), out=tmp_path, **few)  # it is there: drawn again, not run again
    assert "generation 0, " in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"_1\.db: this run was begun with other settings; delete it, or name another"):
        command((figure,), out=tmp_path, **few | {"generations": 4})


@pytest.mark.parametrize(
    ("figures", "options", "said"),
    [
        (("fig4.6",), {}, 'there is no figure "fig4.6" here; there are fig4.6a, fig4.6b, fig4.7'),
        (("fig4.7", "4.6a"), {}, 'there is no figure "4.6a" here'),
        ((), {"population": 3}, "--population, --generations, --seed and --workers are for figures of evolutions"),
        (("fig4.7",), {"generations": -1}, "generations is -1, and must be at least 1"),
        (("fig4.6a",), {"population": 0}, "population: expected `int` >= 1; it is 0"),
        (("fig4.7",), {"generations": 0}, "generations is 0, and must be at least 1"),
        (("fig4.7",), {"workers": 0}, "workers is 0; at least one must do the work"),
    ],
)
def test_what_cannot_be_made_is_said_before_anything_is_computed(figures, options, said, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        command(figures, out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
