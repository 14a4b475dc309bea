"""The gallery's scenes do what they show."""

import numpy as np
import pytest
from tests.naive import dynamics

import kinemorph as km
from kinemorph.scenes.commands.doctor_command import CHECK_TOLERANCE, self_check
from kinemorph.scenes.commands.known_tree import ACCELERATIONS, every_joint, state
from kinemorph.scenes.robots.catalog import FAMOUS, robot
from kinemorph.scenes.robots.swing import swing


def test_the_stored_accelerations_are_the_slow_oracle_s() -> None:
    model = every_joint()
    assert set(model.links["kind"]) == set(km.JointKind)
    slow = dynamics.forward_dynamics(model, *state(model))
    np.testing.assert_allclose(ACCELERATIONS, slow, rtol=1e-12)


def test_the_self_check_passes_and_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(self_check().values()) < CHECK_TOLERANCE
    monkeypatch.setattr("kinemorph.scenes.commands.doctor_command.ACCELERATIONS", (*ACCELERATIONS[:-1], 0.0))
    assert self_check()["forward dynamics against the stored oracle"] > CHECK_TOLERANCE


def test_a_swinging_robot_keeps_its_energy() -> None:
    result = swing("ur5", seconds=2.0)
    assert result.drift < 1e-8
    assert np.ptp(result.trajectory.q, axis=0).max() > 1.0  # it does move


@pytest.mark.parametrize("name", FAMOUS)
def test_famous_robots_load(name: str) -> None:
    assert robot(name, floating=True).links[0]["kind"] == km.JointKind.FREE
