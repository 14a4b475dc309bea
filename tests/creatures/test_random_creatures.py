"""A few of the creatures that `kinemorph creature trial` makes by the hundred thousand."""

from __future__ import annotations

import pytest

from kinemorph.scenes.creatures import creature_trial


def test_random_creatures_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    counted = creature_trial.trial(150)
    assert counted.total() == 150
    assert counted["FAILED"] == 0
    assert counted["lived"] > 15
    assert capsys.readouterr().out.startswith("150 in ")


def test_what_must_not_be_is_told_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason that nobody knows, of the first creature that is rejected."""
    bad = next(number for number in range(50) if creature_trial.live(number, seconds=0.1).reason)
    monkeypatch.setattr(creature_trial, "KNOWN", set())
    said: list[str] = []
    assert creature_trial.trial(1, first=bad, seconds=0.1, say=said.append) == {"FAILED": 1}
    assert f"creature {bad} of seed 0" in said[0]
    assert "nobody knows the reason" in said[0]
