"""Determinism: fifty creatures are worth the same bits in all tasks. See `tests/creatures/golden.py`."""

from __future__ import annotations

import json

import pytest
from tests.creatures.golden import FILE, creatures, scores
from tests.world.golden import machine


def test_fifty_creatures_have_their_golden_scores() -> None:
    golden = json.loads(FILE.read_text())
    if golden["machine"] != machine():
        pytest.skip(f"the scores are of {golden['machine']}, and this is {machine()}")
    for number, genotype in enumerate(creatures()):
        assert scores(genotype, number) == golden["scores"][number], (
            f"creature {number} is worth something else; if that is meant, run python -m tests.creatures.golden"
        )
