"""How far joints of the human figure move."""

from __future__ import annotations

import numpy as np
import pytest

import kinemorph as km
from kinemorph.mocap.body.figure import SIMPLE, both, pose
from kinemorph.mocap.ranges import BALLS, HINGES, range_of
from kinemorph.mocap.synthetic_walk import Gait, posture
from kinemorph.spatial.quaternion_arrays import normalize_all


def rotation_vectors(q: np.ndarray) -> np.ndarray:
    q = normalize_all(q)
    q = q * np.where(q[..., :1] < 0.0, -1.0, 1.0)
    n = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    return np.where(n > 1e-12, 2.0 * np.arctan2(n, q[..., :1]) / np.maximum(n, 1e-300), 2.0) * q[..., 1:]


def beyond(model: km.Model, q: np.ndarray) -> dict[str, float]:
    """How far joints are beyond their limits (rad), by name."""
    found = {}
    for i, name in enumerate(model.names):
        part = np.atleast_2d(q)[:, model.q_slice(i)]
        if part.shape[1] in (1, 4):
            x = part if part.shape[1] == 1 else rotation_vectors(part)
            low, high = model.limits(i)
            found[name] = float(np.maximum(low - x, x - high).max())
    return found


def test_every_joint_of_a_figure_has_limits_and_welded_parts_none() -> None:
    model = km.human()
    assert np.isfinite(model.lower[6:]).all()
    assert np.isfinite(model.upper[6:]).all()
    assert not np.isfinite(km.human(limits=False).upper).any()
    simple = km.human(welded=SIMPLE)
    assert np.isfinite(simple.upper[simple.v_slice("left shank")]).all()
    assert not np.isfinite(simple.upper[simple.v_slice("left upper arm")]).any()  # alone it goes over the head


def test_sides_are_mirror_images() -> None:
    """A posture is as far within the limits of one side as its mirror image is within those of the other."""
    rng = np.random.default_rng(5)
    mirror = np.array([-1.0, 1.0, -1.0])
    for part in ("upper arm", "hand", "thigh", "foot", "clavicle"):
        x = rng.uniform(-1.0, 1.0, 3)
        (l0, h0), (l1, h1) = range_of(f"left {part}"), range_of(f"right {part}")
        inside, other = np.minimum(x - l0, h0 - x), np.minimum(mirror * x - l1, h1 - mirror * x)
        np.testing.assert_allclose(inside, other, atol=1e-12)


def test_ranges_lie_within_half_a_turn_where_rotation_vectors_change_sides() -> None:
    for part, each in BALLS.items():
        assert np.linalg.norm(np.abs(each).max(axis=1)) < 180.0, part
    parts = {n.removeprefix("left ").removeprefix("right ") for n in km.human().names}
    assert set(BALLS) | set(HINGES) == parts - {"pelvis"}


@pytest.mark.parametrize(
    ("bent", "straight"),
    [
        ({"shank": 1.0}, {"shank": -0.3}),  # a heel comes to the seat; not the other way
        ({"forearm": 1.5}, {"forearm": -0.3}),
        ({"thigh": (0.0, -1.8, 0.0)}, {"thigh": (0.0, 0.9, 0.0)}),  # a knee comes up in front, and less behind
        ({"thigh": (0.6, 0.0, 0.0)}, {"thigh": (-0.7, 0.0, 0.0)}),  # legs apart, less across
        ({"foot": (0.0, 0.8, 0.0)}, {"foot": (0.0, -0.5, 0.0)}),  # on tiptoe
        ({"upper_arm": (1.5, 0.0, 0.0)}, {"upper_arm": (-1.0, 0.0, 0.0)}),  # arms apart, not through the chest
        ({"upper_arm": (0.0, -1.8, 0.0)}, {"upper_arm": (0.0, 1.3, 0.0)}),  # arms to the front, less to the back
    ],
)
def test_limits_bend_people_the_right_way(bent: dict, straight: dict) -> None:
    model = km.human()
    assert max(beyond(model, pose(model, both(**bent))).values()) <= 0.0
    assert max(beyond(model, pose(model, both(**straight))).values()) > 0.05


def test_the_walk_stays_within_them() -> None:
    model = km.human()
    t = np.arange(0.0, 4.0, 0.01)
    assert max(beyond(model, posture(model, t, Gait())).values()) <= 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_a_limp_figure_does_not_bend_its_knees_the_wrong_way(seed: int) -> None:
    """Tumbling in the air, limbs flailing: in a simulation exactly, with all of its energy accounted for."""
    model = km.human()
    v = np.random.default_rng(seed).normal(size=model.nv) * 3.0
    log = km.simulate(model, km.State(km.neutral(model), v), 0.3, restitution=0.2 * seed)
    assert log.happenings
    assert max(max(beyond(model, s.q).values()) for s in log.stretches) < 1e-7
    np.testing.assert_allclose(log.total + log.lost, log.total[0], atol=1e-4 * log.kinetic[0])
    assert min(h.lost for h in log.happenings) > -1e-7
