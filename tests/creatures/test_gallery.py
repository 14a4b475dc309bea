"""Handmade creatures, and what is shown of creatures."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tools import creature_sheets

from kinemorph import cli
from kinemorph.creatures import HANDMADE, ROOMY, Counting, Genotype, Root, Settings, develop, handmade
from kinemorph.creatures.gallery import FOLDER

PARTS = {"segments": 16, "spider": 9, "quadruped": 10, "worm": 8, "hand": 14}


@pytest.mark.parametrize("name", list(HANDMADE))
def test_handmade_creatures_grow_whole(name: str) -> None:
    creature = develop(handmade(name), ROOMY)
    assert creature.rejected == ""
    assert len(creature.parts) == PARTS[name]
    assert all(effect.source > 0 for effect in creature.brain.effects)


def test_handmade_creatures_are_all_that_lie_in_their_folder() -> None:
    assert sorted(p.stem for p in FOLDER.iterdir()) == sorted(HANDMADE)
    with pytest.raises(ValueError, match=r"there is no handmade creature 'dragon'; there are segments"):
        handmade("dragon")


def test_a_trunk_that_repeats_itself_grows_the_same_by_uses_and_by_cycles() -> None:
    """Figure 4.1: no limit is met in both, so that the two ways to count agree."""
    genotype = handmade("segments")
    by_cycles = Settings(most_parts=48, counting=Counting.CYCLES)
    assert develop(genotype, by_cycles).rows.tobytes() == develop(genotype, Settings(most_parts=48)).rows.tobytes()


def test_the_worm_bends_in_a_wave() -> None:
    """Phases grow along the body: each segment adds to what its parent says."""
    brain = develop(handmade("worm"), ROOMY).brain
    values = brain.respond(np.zeros((60, len(brain.senses))))
    waves = values[:, [k for k, n in enumerate(brain.neurons) if n.function.name == "WAVE"]]
    assert waves.shape[1] == 7
    late = waves[30:]
    assert np.abs(late).max() <= 1.0
    apart = [np.corrcoef(late[:, 0], late[:, k])[0, 1] for k in range(1, 4)]
    assert apart[0] > apart[1] > apart[2]


def test_the_hand_stays_where_it_is_fixed() -> None:
    s = Settings(forms=ROOMY.forms, most_parts=48, root=Root.FIXED)
    creature = develop(handmade("hand"), s)
    assert creature.model.nq == creature.model.nv == 15


def test_sheets_show_every_creature(tmp_path: Path) -> None:
    made = [develop(handmade(name), ROOMY) for name in ("worm", "spider")]
    file = creature_sheets.sheet([*made, *creature_sheets.random_creatures(1)], tmp_path / "sheet.png", 2, (40, 30))
    assert file.read_bytes()[16:24] == bytes([0, 0, 0, 80, 0, 0, 0, 60])


def test_the_command_makes_and_shows_a_creature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["kinemorph", "creature", *arguments])
        cli.main()
        return capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    assert "one.json" in run("random", "--seed", "1", "--out", "one.json")
    genotype = Genotype.from_json((tmp_path / "one.json").read_text())
    assert develop(genotype).rejected == ""
    assert genotype.key in run("show", "one.json", "--out", "here", "--seconds", "0.2")
    for name in ("one.png", "one.html", "one_brain.png"):
        assert (tmp_path / "here" / name).stat().st_size > 2000
    with pytest.raises(SystemExit) as left:
        run("show", "none.json")
    assert left.value.code == 2
    assert capsys.readouterr().err == "kinemorph: none.json: there is no such file\n"
