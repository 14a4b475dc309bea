"""Brains: each function by its formula, all neurons at once, and what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.brain.oracle import Slow

from kinemorph.brain import Acted, Brain, Effect, Function, Neuron, Sense, Sensed
from kinemorph.brain.brain import run_updates
from kinemorph.brain.layout import NEURON

pytestmark = pytest.mark.quick

SENSES = tuple(Sense(Sensed.PLACE, "part0", axis) for axis in range(3))


def slow(brain: Brain, sensed: Any) -> Any:
    oracle = Slow(brain)
    return np.array([oracle.step(row) for row in sensed.tolist()])


@pytest.mark.parametrize("function", list(Function), ids=lambda f: f.name)
def test_function_is_its_formula(function: Function) -> None:
    rng = np.random.default_rng(int(function))
    sensed = np.concatenate([
        rng.normal(size=(60, 3)), 10.0 ** rng.uniform(-6, 4, size=(60, 3)) * rng.choice([-1, 1], size=(60, 3)),
        rng.choice([0.0, -0.0, 1.0, -1.0, 24.0, 25.0, 30.0], size=(60, 3)),
    ])  # fmt: skip
    for weights in ((1.0, 1.0, 1.0), (0.7, -3.0, 2.0), (0.0, 0.0, 0.0)):
        brain = Brain([Neuron(function, (3, 4, 5), weights)], SENSES)
        np.testing.assert_allclose(brain.respond(sensed), slow(brain, sensed), rtol=1e-9, atol=1e-9)


def test_all_neurons_update_at_once_from_old_values() -> None:
    chain = Brain([Neuron(Function.ADD, (k + 1, 0, 0)) for k in range(6)])  # each reads the one before it
    back = Brain([Neuron(Function.ADD, (k + 3 if k < 5 else 1, 0, 0)) for k in range(6)])  # and the one after it
    values = chain.respond(np.zeros((8, 0)))
    assert (values == np.array([[i >= k for k in range(6)] for i in range(8)], float)).all()
    assert (back.respond(np.zeros((8, 0))) == values[:, ::-1]).all()


def test_delay_takes_one_pass_to_twenty_five() -> None:
    sensed = np.arange(1.0, 61.0)[:, None] / 10.0
    for asked, ago in ((0.0, 1), (0.9, 1), (1.0, 2), (-3.0, 4), (24.0, 25), (1e3, 25)):
        brain = Brain([Neuron(Function.DELAY, (3, 1, 0), (1.0, asked, 0.0))], SENSES[:1])
        values = brain.respond(sensed)[:, 0]
        assert (values[:ago] == 0.0).all()
        assert (values[ago:] == sensed[:-ago, 0]).all()


@pytest.mark.parametrize("rate", [10.0, 25.0, 200.0])
def test_oscillators_keep_their_frequency_at_any_rate(rate: float) -> None:
    for function in (Function.WAVE, Function.SAW, Function.SQUARE, Function.TRIANGLE):
        brain = Brain([Neuron(function, (1, 0, 1), (2.0, 0.0, 1.5))], rate=rate)
        values = brain.respond(np.zeros((int(10 * rate), 0)))[:, 0]
        spectrum = np.abs(np.fft.rfft(values))
        assert np.argmax(spectrum) == 20  # 2 Hz, in ten seconds
        assert np.abs(values).max() <= 1.5
        assert np.abs(values).max() > 1.3


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_random_brains_agree_with_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    smooth = [f for f in Function if f not in (Function.LESS, Function.GREATER, Function.SIGN, Function.IF)]
    smooth = [f for f in smooth if f not in (Function.SUM_THRESHOLD, Function.SQUARE, Function.SAW, Function.MEMORY)]
    smooth = [f for f in smooth if f not in (Function.DIVIDE, Function.DIFFERENTIATE)]  # no jumps: rounding stays small
    neurons = [
        Neuron(Function(rng.choice(smooth)), tuple(map(int, rng.integers(0, n + 5, 3))), tuple(rng.normal(size=3)))
        for _ in range(n)
    ]
    brain, sensed = Brain(neurons, SENSES), rng.normal(size=(30, 3))
    oracle, values = Slow(brain), brain.respond(sensed)
    for read, value in zip(sensed.tolist(), values, strict=True):
        np.testing.assert_allclose(value, oracle.step(read), rtol=1e-9, atol=1e-9)
        oracle.values = value.tolist()  # what differs by rounding does not grow


def test_what_is_no_number_becomes_zero_and_is_counted() -> None:
    rows = np.zeros(3, NEURON)
    rows["function"], rows["ring"] = Function.INTEGRATE, -1
    rows["state"] = np.nan, np.inf, 1.0
    values = np.empty((2, 3))
    assert run_updates(rows, np.zeros(0), np.zeros(5), np.zeros((2, 0)), values, 0.04) == 1
    assert values[:, [0, 2]].tolist() == [[0.0, 1.0]] * 2
    assert np.isfinite(values).all()
    assert np.isfinite(rows["state"]).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_values_stay_within_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    neurons = [
        Neuron(Function(int(f)), tuple(map(int, rng.integers(0, 35, 3))), tuple(10.0 ** rng.uniform(-6, 6, 3)))
        for f in rng.permutation(30)
    ]
    values = Brain(neurons, SENSES).respond(1e6 * rng.normal(size=(50, 3)))
    assert (np.abs(values) <= 10.0).all()


def test_brain_is_what_it_was_made_of_and_copies_are_equal() -> None:
    brain = Brain(
        [Neuron(Function.WAVE, (1, 0, 3), (1.5, 0.0, 1.0))], [Sense(Sensed.ANGLE, "leg", mirrored=True)],
        [Effect(Acted.TORQUE, "leg", 0, 2, 1.0, 3.0)],
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(brain)) == brain
    assert copy.deepcopy(brain) is brain
    assert hash(copy.copy(brain)) == hash(brain)
    neurons, senses, effects = brain.rows
    assert neurons["sources"].tolist() == [[1, 0, 3]]
    assert senses["gain"] == -1.0
    assert effects["effort_limit"] == 3.0
    with pytest.raises(AttributeError, match="does not change"):
        brain.rate = 3.0


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ({"neurons": [Neuron(Function.ADD, (2, 3, 0))]}, "neuron 0: there is no source 3"),
        ({"neurons": [Neuron(Function.ADD, (-1, 0, 0))]}, "no source -1"),
        ({"neurons": [Neuron(Function.ADD, (0, 0))]}, "not three sources"),
        ({"neurons": [Neuron(99, (0, 0, 0))]}, "no function 99"),
        ({"neurons": [Neuron(Function.ADD, weights=(np.nan, 0.0, 0.0))]}, "weight is nan"),
        ({"neurons": [Neuron(Function.ADD, weights=(1e7, 0.0, 0.0))]}, "weight is 10000000.0"),
        ({"neurons": [3]}, "is 3, not a Neuron"),
        ({"neurons": [Neuron(Function.ADD)] * 5000}, "5000 neurons are more than 4096"),
        ({"senses": [Sense(Sensed.UP, "x", 3)]}, "axis 3 is not from 0 to 2"),
        ({"senses": [Sense(9, "x")]}, "cannot be sensed"),
        ({"senses": [Sense(Sensed.UP, 5)]}, "the name of a link"),
        ({"effects": [Effect(Acted.TORQUE, "x", source=2)]}, "no source 2"),
        ({"effects": [Effect(Acted.TORQUE, "x", effort_limit=-1.0)]}, "must not be negative"),
        ({"effects": [Effect(Acted.TARGET, "x", low=1.0, high=0.0)]}, "low 1.0 above high 0.0"),
        ({"effects": [Effect(Acted.TORQUE, "x", dof=7)]}, "degree of freedom"),
        ({"effects": [Effect(8, "x")]}, "there is no 8 to do"),
        ({"rate": 0.0}, "must be positive"),
        ({"rate": np.inf}, "rate is inf"),
    ],
)
def test_malformed_brains_are_refused(parts: dict[str, Any], what: str) -> None:
    with pytest.raises((ValueError, TypeError), match=what):
        Brain(**parts)


def test_respond_takes_finite_numbers_for_all_senses() -> None:
    brain = Brain([Neuron(Function.ADD)], SENSES)
    for bad in (np.zeros((3, 2)), np.full((3, 3), np.nan), np.zeros(3)):
        with pytest.raises(ValueError, match="each of 3 senses"):
            brain.respond(bad)
