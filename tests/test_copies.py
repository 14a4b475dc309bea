"""Copies are copies: every public object, copied, pickled, in another process or thread, answers as the first one."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.copies import SAMPLES, answer, arm, fail, same, work

import kinemorph as km

PATIENCE = 300.0  # s: longer than this is a hang
STARTS = [m for m in ("spawn", "forkserver", "fork") if m in multiprocessing.get_all_start_methods()]
EXCEPTIONS = [name for name in SAMPLES if issubclass(getattr(km, name), Exception) and name != "ModelWarning"]


def test_every_public_class_has_a_sample() -> None:
    classes = {name for name in km.__all__ if inspect.isclass(getattr(km, name))}
    assert classes - set(SAMPLES) == set()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle", "old pickle"])
def test_a_copy_answers_the_same(name: str, how: str) -> None:
    one = SAMPLES[name]()
    copies = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda x: pickle.loads(pickle.dumps(x)),
        "old pickle": lambda x: pickle.loads(pickle.dumps(x, 2)),
    }
    other = copies[how](one)
    assert type(other) is type(one)
    del one  # what the copy needs it must own
    assert same(answer(name, other), answer(name, SAMPLES[name]())) or name == "Model"
    if name == "Model":
        assert same(answer(name, other)[:4], answer(name, arm())[:4])


@pytest.mark.parametrize("start", STARTS)
def test_objects_travel_to_a_pool_and_back(start: str) -> None:
    samples = {name: make() for name, make in SAMPLES.items()}
    with multiprocessing.get_context(start).Pool(1) as pool:
        results = pool.map_async(work, samples.items()).get(PATIENCE)
    for (name, one), (said, back) in zip(samples.items(), results, strict=True):
        assert same(said, answer(name, copy.deepcopy(one))), name
        assert type(back) is type(one)


@pytest.mark.parametrize("start", STARTS)
def test_objects_travel_to_an_executor(start: str) -> None:
    samples = {name: make() for name, make in SAMPLES.items()}
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(start)) as pool:
        futures = {name: pool.submit(work, (name, one)) for name, one in samples.items()}
        for name, future in futures.items():
            said, _ = future.result(PATIENCE)
            assert same(said, answer(name, copy.deepcopy(samples[name]))), name


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions_come_back_from_a_pool(name: str) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool, pytest.raises(getattr(km, name)) as caught:
        pool.apply_async(fail, (name,)).get(PATIENCE)
    assert str(caught.value) == str(SAMPLES[name]())


def test_threads_use_copies_side_by_side() -> None:
    for name, make in SAMPLES.items():
        one = make()
        expected = answer(name, copy.deepcopy(one))
        copies = [copy.deepcopy(one) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            for said in pool.map(lambda other, name=name: answer(name, other), copies):
                assert same(said, expected), name


# --------------------------------------------------------------------------------------------------- addresses


def test_a_copy_of_data_writes_into_rows_of_its_own() -> None:
    model = arm()
    data = km.Data(model)
    M = km.crba(model, data, [0.1, 0.2, 0.3]).copy()
    for other in (copy.copy(data), copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        km.crba(model, other, [1.0, -1.0, 0.5])
        km.forward_dynamics(model, other, [1.0, -1.0, 0.5], np.ones(3), np.zeros(3))
        assert np.array_equal(data.M, M)
        assert not np.array_equal(other.M, M)
        assert other.address != data.address
        assert not data.wrenches.any()


def test_data_of_one_model_is_refused_by_another_in_any_process() -> None:
    model, twin = arm(), arm()
    assert model.revision != twin.revision
    again = pickle.loads(pickle.dumps(model))
    assert again.revision == model.revision  # it is the same model
    km.crba(again, km.Data(model), np.zeros(3))
    with pytest.raises(ValueError, match="belongs to another model"):
        km.crba(twin, km.Data(model), np.zeros(3))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        theirs = pool.apply_async(arm).get(PATIENCE)
    with pytest.raises(ValueError, match="belongs to another model"):
        km.crba(model, km.Data(theirs), np.zeros(3))


def test_a_model_is_its_own_copy() -> None:
    model = arm()
    assert copy.copy(model) is model
    assert copy.deepcopy(model) is model


def test_entries_refuse_rows_of_another_kind() -> None:
    from kinemorph.multibody.algorithms.aba import _aba
    from kinemorph.multibody.checks import UNUSABLE

    model = arm()
    data = km.Data(model)
    q, a, none = np.zeros(3), np.zeros(3), np.zeros((0, 6))
    assert _aba(data.address, q, q, q, none, a) == 0
    for address in (model.address, int(data.header["system"])):
        assert _aba(address, q, q, q, none, a) == UNUSABLE


def test_one_data_in_two_threads_is_refused_not_wrong() -> None:
    model = arm().with_loops([]).with_elements([])
    data = km.Data(model)
    expected = km.rollout(model, km.Data(model), np.zeros(3), np.ones(3), steps=2000).q
    outcomes: list[Any] = []

    def run() -> None:
        for _ in range(20):
            try:
                outcomes.append(
                    np.array_equal(km.rollout(model, data, np.zeros(3), np.ones(3), steps=2000).q, expected)
                )
            except RuntimeError as error:
                outcomes.append("in use by another thread" in str(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 80
    assert all(outcomes)
    with data.claimed(), pytest.raises(RuntimeError, match="in use by another thread"):
        km.aba(model, data, np.zeros(3), np.zeros(3), np.zeros(3))
    with data.claimed(), pytest.raises(RuntimeError, match="cannot be copied now"):
        copy.copy(data)


def test_a_copy_that_goes_on_leaves_the_first_one_where_it_is() -> None:
    for how in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        run = SAMPLES["Simulation"]()
        time, frames = run.time, len(run.log.t)
        how(run).run(0.02)
        assert (run.time, len(run.log.t)) == (time, frames)
        builder = SAMPLES["Builder"]()
        how(builder).link("more", joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
        assert builder.build().names == ("ball",)


def test_a_simulation_runs_in_one_thread_at_a_time() -> None:
    run = SAMPLES["Simulation"]()
    refused: list[str] = []

    def again(model: km.Model, state: km.State) -> None:
        for use in (lambda: run.run(0.01), lambda: copy.copy(run), lambda: pickle.dumps(run)):
            with pytest.raises(RuntimeError) as caught:
                use()
            refused.append(str(caught.value))

    run = km.Simulation(run.model, run.state, [km.Event.at(0.035, again)])
    run.run(0.01)
    assert len(refused) == 3
    assert all("running" in text for text in refused)
    run.run(0.01)  # and it goes on


def test_data_in_use_is_neither_copied_nor_pickled_nor_given_other_forces() -> None:
    model = arm().with_loops([])  # it has a spring between links
    data = km.Data(model)
    force = np.ones((3, 6))
    expected = km.rollout(model, km.Data(model), Q3, Q3, steps=5, external=force).q
    with data.claimed():
        data.pushed_by(force)
        given = int(data.header["given"])
        for use in (
            lambda: copy.copy(data),
            lambda: pickle.dumps(data),
            lambda: km.rollout(model, data, Q3, Q3, steps=5),
            lambda: km.rollout_adaptive(model, data, Q3, Q3, [0.0, 0.1]),
        ):
            with pytest.raises(RuntimeError, match="in use by another thread"):
                use()
        assert int(data.header["given"]) == given  # whoever is refused leaves no traces
    assert np.array_equal(km.rollout(model, data, Q3, Q3, steps=5, external=force).q, expected)


Q3 = np.array([0.1, 0.2, 0.3])


def _many(model: km.Model) -> Any:
    states = np.linspace(-1.0, 1.0, 3 * 64).reshape(64, 3)
    return km.batch.aba(model, states, states, states, workers=2)


@pytest.mark.skipif("fork" not in STARTS, reason="there is no fork")
def test_a_forked_process_has_threads_of_its_own_for_batches() -> None:
    model = arm()
    expected = _many(model)  # the threads of this process exist now
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert np.array_equal(pool.apply_async(_many, (model,)).get(PATIENCE), expected)
