"""Force elements, energies and supports in a live forest: as the model says, whatever has been changed since."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from tests.strategies import Rng, random_inertia, random_joint, random_pose
from tests.structure.test_forest import stone

import kinemorph as km

pytestmark = [pytest.mark.lane, pytest.mark.quick]


def sprung(rng: Rng) -> km.Model:
    """Three trees with springs in joints, a loop with a spring between two of them, and elements between all."""
    b = km.Builder("sprung", gravity=rng.normal(size=3) * 5.0)
    for t in range(3):
        for i in range(1 + t):
            joint = km.Joint.free() if i == 0 else km.Joint.revolute("y", stiffness=3.0, damping=0.2)
            b.link(f"{t}.{i}", f"{t}.{i - 1}" if i else None, joint, random_pose(rng, 0.5), random_inertia(rng))
    b.loop("1.1", "2.2", km.Joint.spherical(stiffness=2.0), name="tie")
    return b.build().with_elements(
        [
            km.ForceElement.spring("0.0", "2.1", 20.0, 0.3, at_a=rng.normal(size=3), damping=2.0, name="between"),
            km.ForceElement.tension(None, "1.1", 5.0, at_a=(1, 2, 3), at_b=(0.1, 0.2, 0.0)),
            km.ForceElement.bushing(
                "1.0", "2.2", 7.0, 0.3, at_a=random_pose(rng, 0.2), at_b=random_pose(rng, 0.2), name="rubber"
            ),
            km.ForceElement.damper("0.0", None, 3.0, at_a=(0.1, 0, 0)),
        ]
    )


def planted(rng: Rng) -> tuple[km.Model, km.State, km.Forest, list[int]]:
    model = sprung(rng)
    data = km.Data(model)
    q, v = km.project(
        model, data, km.close(model, data, km.random_configuration(model, rng)), rng.normal(size=model.nv)
    )
    forest = km.Forest(model.gravity)
    ids = forest.add(model, q, v)
    return model, km.State(q, v), forest, ids.bodies.tolist()


def expected(model: km.Model, state: km.State) -> np.ndarray:
    """Accelerations with the forces of elements alone."""
    alone = model.with_loops([km.Loop(x.a, x.b, km.Joint.spherical(), x.at_a, x.at_b, x.name) for x in model.loops])
    _, pushes = km.passive_forces(alone, km.Data(alone), state.q, state.v)
    return km.forward_dynamics(alone, km.Data(alone), state.q, state.v, np.zeros(model.nv), pushes)


def found(forest: km.Forest) -> np.ndarray:
    forest.forward_dynamics()
    return np.concatenate([forest.state(t).a for t in forest.trees])


@pytest.mark.parametrize("seed", range(3))
def test_elements_act_as_in_the_model(seed: int) -> None:
    model, state, forest, _ = planted(np.random.default_rng(seed))
    a = expected(model, state)
    np.testing.assert_allclose(found(forest), a, atol=1e-10 * (1.0 + np.abs(a).max()))
    np.testing.assert_allclose(found(forest), a, atol=1e-10 * (1.0 + np.abs(a).max()))  # and again
    energy = km.energy(model, km.Data(model), state.q, state.v)
    assert forest.kinetic_energy() == pytest.approx(energy.kinetic, rel=1e-12)
    assert forest.potential_energy() == pytest.approx(energy.potential + energy.elastic, rel=1e-10)
    for twin in (copy.copy(forest), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(found(twin), found(forest))
        assert twin.potential_energy() == forest.potential_energy()


def test_elements_stay_with_their_bodies_through_changes() -> None:
    rng = np.random.default_rng(5)
    model, state, forest, ids = planted(rng)
    potential = forest.potential_energy()
    for name in ("2.2", "1.1"):
        report = km.reroot(model, state, name)
        model, state = report.model, report.state
        forest.reroot(ids[[f"{t}.{i}" for t in range(3) for i in range(1 + t)].index(name)])
    assert forest.potential_energy() == pytest.approx(potential, rel=1e-9)
    a = expected(model, state)
    np.testing.assert_allclose(found(forest), a, atol=1e-8 * (1.0 + np.abs(a).max()))
    forest.remove(ids[0])
    kept = [e for e in model.elements if e.name in ("", "rubber") and e.b is not None]
    less = model.with_elements([e for e in kept if "0.0" not in (e.a, e.b)])
    a = expected(less, state)[6:]
    np.testing.assert_allclose(found(forest), a, atol=1e-8 * (1.0 + np.abs(a).max()))
    assert forest.header["element_count"] == 2
    ids = forest.add(stone()).bodies.tolist()  # takes the place of the body that is gone, and none of its elements
    forest.forward_dynamics()
    np.testing.assert_allclose(forest.state(forest.tree_of(ids[0])).a[3:], [*model.gravity], atol=1e-12)  # type: ignore[index]


def test_a_cut_may_be_asked_to_leave_nothing_without_support(rng: np.random.Generator) -> None:
    b = km.Builder("hanging")
    for i in range(3):
        b.link(f"l{i}", f"l{i - 1}" if i else None, km.Joint.revolute("y"), (0, 0, -0.3), random_inertia(rng))
    forest = km.Forest()
    ids = forest.add(b.build()).bodies.tolist()
    pebble = int(forest.add(stone(), [0, 0, -1.5, 1, 0, 0, 0]).bodies[0])
    with pytest.raises(ValueError, match=rf"is the last that supports body {ids[1]}, and allow_free is False"):
        forest.cut(forest.joint_of(ids[1]), allow_free=False)
    grip = forest.connect(ids[2], pebble, km.Joint.spherical(), (0, 0, -1.2), "loop")
    with pytest.raises(ValueError, match=rf"supports body {pebble}, "):
        forest.cut(grip.joint, allow_free=False)
    more = forest.connect(-1, pebble, random_joint(rng, km.JointKind.SPHERICAL), (0, 0, -1.4), "loop")
    forest.cut(grip.joint, allow_free=False)  # the other one holds it
    forest.connect(ids[2], pebble, km.Joint.spherical(), (0, 0, -1.2), "loop")
    forest.cut(forest.joint_of(ids[0]), allow_free=False)  # the loops hold all of it
    assert len(forest.trees) == 1
    with pytest.raises(ValueError, match="is the last that supports"):
        forest.cut(more.joint, allow_free=False)
    with pytest.raises(KeyError, match="no joint"):
        forest.cut(grip.joint, allow_free=False)
    floating = int(forest.add(stone()).bodies[0])
    with pytest.raises(ValueError, match="allow_free is False"):
        forest.cut(forest.joint_of(floating), allow_free=False)


def test_one_thread_at_a_time() -> None:
    forest = km.Forest()
    ids = forest.add(stone()).bodies.tolist() + forest.add(stone()).bodies.tolist()
    heard: list[str] = []

    def use() -> None:
        for call in (
            lambda: forest.connect(ids[0], ids[1], km.Joint.fixed(), (0, 0, 0)),
            lambda: forest.add(stone()),
            lambda: forest.cut(forest.joints[0]),
            lambda: forest.remove(ids[0]),
            lambda: forest.reroot(ids[0]),
            forest.forward_dynamics,
            forest.kinematics,
            forest.kinetic_energy,
            lambda: forest.pose(ids[0]),
            lambda: forest.state(forest.tree_of(ids[0])),
            lambda: forest.set_state(forest.tree_of(ids[0]), v=np.zeros(6)),
            lambda: copy.copy(forest),
        ):
            try:
                call()  # type: ignore[no-untyped-call]
            except RuntimeError as error:
                heard.append(str(error))

    with forest.claimed():
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert len(heard) == 12
    assert all("this forest is in use by another thread" in sentence for sentence in heard)
    assert len(forest.trees) == 2
    forest.connect(ids[0], ids[1], km.Joint.fixed(), (0, 0, 0))
