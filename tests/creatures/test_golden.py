"""Determinism: fifty creatures are worth the same bits in all tasks. See `tests/creatures/golden.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
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


def test_scores_do_not_depend_on_how_wide_numpy_computes() -> None:
    """NumPy has its own exp, sin and the like for processors with AVX-512, whose last bits are others."""
    features: dict[str, bool] = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    dispatched: list[str] = np._core._multiarray_umath.__cpu_dispatch__  # type: ignore[attr-defined]
    narrow = os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(name for name in dispatched if features[name])}
    code = "from tests.creatures.golden import *; print([scores(one, k) for k, one in enumerate(creatures()[:12])])"
    wide, thin = (
        subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout
        for env in (None, narrow)
    )
    assert wide == thin
