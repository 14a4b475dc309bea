"""A master that dies, whenever it does."""

from __future__ import annotations

import numpy as np
from tests.evolve.killed_master import kill_again_and_again
from tests.evolve.test_runs import golden, settings
from tests.needs import linux


@linux
def test_a_master_that_is_killed_at_random_moments_is_resumed_to_the_same_end(tmp_path):
    of = settings(of_task={"trap": "slow"}, evaluator="processes", workers=2)
    whole = golden(tmp_path / "whole.db", of)
    assert kill_again_and_again(tmp_path, of, 4, np.random.default_rng(3)) == (4, whole)
