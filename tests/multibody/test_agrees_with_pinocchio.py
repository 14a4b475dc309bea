"""The same numbers as Pinocchio: 1e-9 of the largest entry, for every robot of example-robot-data, fixed and floating."""

import warnings

import numpy as np
import pytest

from kinemorph import (
    JointKind, aba, com, com_velocity, crba, difference, energy, integrate, jacobian, jacobian_drift, kinematics,
    momentum, pose_of, rnea,
)  # fmt: skip
from tests.robots import EMPTY, ROBOTS
from tests.strategies import random_state

pin = pytest.importorskip("pinocchio")
from tests.pinocchio_model import ANGULAR_FIRST, Twin, random_peer  # noqa: E402

TOLERANCE = 1e-9


def close(result, expected, tolerance=TOLERANCE):
    """Equal up to `tolerance` times the largest entry."""
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * size)


def robot_twin(name, floating):
    if name == EMPTY:
        pytest.skip("Pinocchio's parser refuses this file: it is empty")
    path = str(ROBOTS[name])
    return Twin(pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path))


def random_twin(seed):
    pin.seed(seed)
    return Twin(random_peer(np.random.default_rng(seed), 14, armature=seed % 2 == 1))


robots = pytest.mark.parametrize("name", ROBOTS)
fixed_and_floating = pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
random_twins = pytest.mark.parametrize("seed", range(8))
