"""Which kernels a first call is expected to need."""

import importlib

import numpy as np
import pytest

from kinemorph.jit import api
from kinemorph.jit.arguments import numba_types
from kinemorph.jit.cache import usual_kernels
from kinemorph.jit.cache.keys import reachable, used_kernels
from kinemorph.jit.cache.usual_kernels import expected, next_after

pytestmark = pytest.mark.skipif(api.switched_off, reason="kernels are plain functions")


def test_the_list_knows_the_kernels_of_today():
    """It is a guess, and may lag behind; if it knows nothing, first calls take twice as long."""
    lost = []
    for name in usual_kernels._uses():
        module, _, function = name.rpartition(".")
        if not hasattr(importlib.import_module(f"kinemorph.{module}"), function):
            lost.append(name)
    assert len(usual_kernels._uses()) > 300
    assert len(lost) < 60, f"python -m benchmarks.usual writes it anew; lost: {lost}"


def test_a_step_is_expected_to_need_a_part_of_what_it_reaches():
    from kinemorph.world.step.many_steps import run_steps

    likely = expected(run_steps)
    assert likely[run_steps] == 1.0
    assert set(likely) < set(reachable(run_steps))
    assert 0.2 * len(reachable(run_steps)) < sum(likely.values()) < 0.8 * len(reachable(run_steps))


def test_what_only_unlikely_kernels_call_is_unlikely(monkeypatch):
    from kinemorph.world.step.many_steps import run_steps

    monkeypatch.setattr(usual_kernels, "_share", lambda kernel, root: 0.25 if kernel in used_kernels(root) else 1.0)
    assert {likely for kernel, likely in expected(run_steps).items() if kernel is not run_steps} == {0.25}


def test_without_a_list_all_that_is_reached_is_expected(monkeypatch):
    from kinemorph.world.step.many_steps import run_steps

    monkeypatch.setattr(usual_kernels, "_uses", dict)
    assert set(expected(run_steps)) == set(reachable(run_steps))


def test_what_a_program_calls_next_is_guessed_from_what_it_has_called():
    from kinemorph.collision.broad.hash_update import rebuild_tables
    from kinemorph.multibody.algorithms.aba import _aba

    assert "kinemorph.world.step.many_steps.run_steps" in next_after(rebuild_tables)
    assert "kinemorph.world.step.many_steps.run_steps" not in next_after(_aba)


def test_annotations_say_what_an_entry_will_be_compiled_for():
    from kinemorph.world.step.many_steps import run_steps

    @api.entry
    def unsaid(x: float, rows) -> float:
        return x

    @api.entry
    def said(count: int, table: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> int:
        return count

    number, table = api.types.int64, api.types.Array(api.types.float64, 2, "C")
    assert numba_types(run_steps.py_func, api.types) == (number, number, number)
    assert numba_types(said.py_func, api.types) == (number, table)
    assert numba_types(unsaid.py_func, api.types) is None
