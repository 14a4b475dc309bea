"""Force elements and springs in loop joints: their forces are the slopes of their energy, and nothing else moves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.strategies import random_tree

import kinemorph as km
from kinemorph.scenes.robots import mechanisms

G = 9.81


def power(model: km.Model, data: km.Data, external: np.ndarray, q: np.ndarray, v: np.ndarray) -> float:
    """Of forces on links."""
    km.kinematics(model, data, q, v)
    return float((external[:, :3] * data.links["w"]).sum() + (external[:, 3:] * data.links["v"]).sum())


def elements(model: km.Model, rng: np.random.Generator) -> list[km.ForceElement]:
    last = model.n - 1
    poses = [km.Pose.turn(rng.normal(size=3), rng.uniform(0, 0.6), rng.normal(size=3)) for _ in range(4)]
    return [
        km.ForceElement.spring(0, last, 20.0, 0.7, at_a=(0.1, 0.2, 0.3), at_b=(-0.3, 0.1, 0.0)),
        km.ForceElement.spring(None, last, 15.0, 0.1, at_a=(1.0, 0.0, 0.0), tension=3.0),
        km.ForceElement.tension(last, None, -4.0, at_a=(0.0, 0.2, 0.0)),
        km.ForceElement.bushing(0, last, (3, 4, 5, 60, 70, 80), at_a=poses[0], at_b=poses[1]),
        km.ForceElement.bushing(None, 0, 2.0, at_a=poses[2], at_b=poses[3]),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_forces_are_the_slope_of_the_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 5).with_dofs(stiffness=0.0, damping=0.0)
    for element in elements(tree, rng):
        model = tree.with_elements([element])
        data = km.Data(model)
        q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
        h = 1e-6
        rate = sum(s * km.energy(model, data, km.integrate(model, q, v, s * h), v).elastic for s in (1, -1)) / (2 * h)
        tau, external = km.passive_forces(model, data, q, v)
        assert not tau.any()
        assert power(model, data, external, q, v) == pytest.approx(-rate, abs=2e-7 * (1.0 + abs(rate)))


@pytest.mark.parametrize("seed", range(3))
def test_dampers_only_take_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 5).with_dofs(stiffness=0.0, damping=0.0)
    for element in (
        km.ForceElement.damper(None, tree.n - 1, 3.0, at_a=(0.1, 0.2, 0.3)),
        km.ForceElement.bushing(None, tree.n - 1, 0.0, (1, 2, 3, 4, 5, 6), at_b=(0.0, 0.3, 0.0)),
    ):
        model = tree.with_elements([element])
        data = km.Data(model)
        q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
        _, external = km.passive_forces(model, data, q, v)
        assert power(model, data, external, q, v) <= 0.0
        assert np.abs(external).max() > 0.0


def test_a_weight_on_a_spring_swings_as_it_should() -> None:
    b = km.Builder("weight")
    b.link("ball", joint=km.Joint.free(), inertia=km.Inertia.sphere(2.0, 0.1))
    b.element(km.ForceElement.spring(None, "ball", 50.0, 1.0, damping=0.4, name="spring"))
    model = b.build()
    still = 1.0 + 2.0 * G / 50.0
    start = km.State([0, 0, -still - 0.1, 1, 0, 0, 0], np.zeros(6))
    log = km.simulate(model, start, 2.0, log_dt=0.1)
    decay, rate = 0.1, np.sqrt(25.0 - 0.01)
    expected = -still - 0.1 * np.exp(-decay * log.t) * (np.cos(rate * log.t) + decay / rate * np.sin(rate * log.t))
    np.testing.assert_allclose(log.q[:, 2], expected, atol=1e-9)
    assert model.elements[0].name == "spring"


def chain() -> km.Builder:
    b = km.Builder("chain")
    parent = None
    for i in range(4):
        joint = km.Joint.free() if parent is None else km.Joint.revolute("y")
        b.link(f"link{i}", parent, joint, (0, 0, -0.5) if parent else (0, 0, 0), km.Inertia.box(1.0, (0.1, 0.2, 0.5)))
        parent = f"link{i}"
    return b


def test_energy_stays_with_springs_of_all_kinds() -> None:
    rng = np.random.default_rng(4)
    tree = chain().build()
    slack = km.ForceElement.bushing(0, 3, (3, 4, 5, 60, 70, 80), at_a=(0, 0, -1.5))
    lines, isotropic = elements(tree, rng)[:3], elements(tree, rng)[4]  # others jump where they have turned half round
    model = tree.with_elements([*lines, slack, isotropic])
    log = km.simulate(model, km.State(km.neutral(model), rng.normal(size=model.nv)), 0.5, dt=2e-4)
    assert log.drift < 1e-7
    assert np.ptp(log.elastic) > 1e-3


def test_elements_follow_their_bodies_through_changes() -> None:
    b = chain()
    b.element(km.ForceElement.spring("link0", "link3", 30.0, 0.4, at_a=(0.1, 0, 0), at_b=(0, 0, -0.3), damping=0.2))
    model = b.build()
    rng = np.random.default_rng(1)
    start = km.State(km.random_configuration(model, 2), rng.normal(size=model.nv))
    changed = km.reroot(model, start, "link2")
    ends = []
    for m, s in ((model, start), (changed.model, changed.state)):
        log = km.simulate(m, s, 0.5, method="adaptive", tolerance=1e-11)
        data = km.Data(log.model)
        km.kinematics(log.model, data, log.state.q)
        ends.append([km.pose_of(log.model, data, f"link{i}").matrix() for i in range(4)])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)


def test_springs_and_dampers_act_in_the_joint_of_a_loop() -> None:
    scene = mechanisms.four_bar()
    plain = scene.model
    loop = plain.loops[0]
    data = km.Data(plain)
    at = float(km.loop_positions(plain, data, scene.q)[0])
    joint = km.Joint.revolute(loop.joint.axis, stiffness=5.0, damping=0.3, rest=at + 0.2)
    sprung = plain.with_loops([km.Loop(loop.a, loop.b, joint, loop.at_a, loop.at_b, loop.name)])
    assert km.energy(sprung, km.Data(sprung), scene.q, np.zeros(3)).elastic == pytest.approx(0.5 * 5.0 * 0.04)
    # the same spring as an actuator in the loop's joint
    external = km.loop_actuation(plain, data, scene.q, [5.0 * 0.2])
    expected = km.forward_dynamics(plain, data, scene.q, np.zeros(3), np.zeros(3), external)
    data = km.Data(sprung)
    _, pushed = km.passive_forces(sprung, data, scene.q, np.zeros(3))
    found = km.forward_dynamics(sprung, data, scene.q, np.zeros(3), np.zeros(3), pushed)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    log = km.simulate(sprung, km.State(scene.q, np.zeros(3)), 1.0)
    assert (np.diff(log.total) < 1e-9).all()
    undamped = plain.with_loops(
        [km.Loop(loop.a, loop.b, km.Joint.revolute(loop.joint.axis, stiffness=5.0), loop.at_a, loop.at_b, "pin")]
    )
    assert km.simulate(undamped, km.State(scene.q, np.zeros(3)), 1.0).drift < 1e-6


def test_elements_that_make_no_sense_are_refused() -> None:
    model = km.Builder("one")
    model.link("arm", joint=km.Joint.revolute(), inertia=km.Inertia.sphere(1.0, 0.1))
    one = model.build()
    for make, message in (
        (lambda: km.ForceElement.spring(None, "arm", -1.0, 0.0, name="s"), "force element 's': stiffness -1.0 must be"),
        (lambda: km.ForceElement.spring(None, "arm", 1.0, np.nan), "length nan must be finite"),
        (lambda: km.ForceElement.tension(None, "arm", np.inf), "inf N is not finite"),
        (lambda: km.ForceElement.bushing(None, "arm", (1, 2, 3)), "one number or six"),
        (lambda: one.with_elements([km.ForceElement.damper("arm", "arm", 1.0)]), "both ends are on link 'arm'"),
        (lambda: one.with_elements([km.ForceElement.damper(None, "leg", 1.0)]), "has no link 'leg'"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match=r"must be kinemorph\.ForceElement objects"):
        one.with_elements([3])
    sprung = one.with_elements([km.ForceElement.spring(None, "arm", 1.0, 0.5, at_a=(1, 0, 0))])
    with pytest.raises(ValueError, match="which batches do not know"):
        km.batch.rollout(sprung, [[0.0]], [[0.0]])


def test_elements_are_written_as_the_links_are_called_now() -> None:
    b = km.Builder("three")
    for name, x in (("a", 0.0), ("b", 1.0), ("c", 2.0)):
        joint = km.Joint.revolute("y") if x else km.Joint.free()
        b.link(name, chr(ord(name) - 1) if x else None, joint, (x > 0, 0, 0), km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    by_index = km.ForceElement.spring(2, 0, 10.0, 0.3, at_a=(0, 0, 0.1), at_b=(0, 0.2, 0), name="s")
    model = b.build().with_elements([by_index, km.ForceElement.damper("a", None, 2.0, at_b=(0, 0, 3))])
    rng = np.random.default_rng(0)
    state = km.State(km.random_configuration(model, rng), rng.normal(size=model.nv))

    def energy(model: km.Model, state: km.State) -> float:
        return km.energy(model, km.Data(model), state.q, state.v).elastic

    assert [(e.a, e.b) for e in model.elements] == [("c", "a"), ("a", None)]
    turned = km.reroot(model, state, "c")
    for other in (turned.model, km.add(model, state, model, prefix="other ").model):
        again = other.with_elements(other.elements)
        np.testing.assert_allclose(again.element_rows["pa"], other.element_rows["pa"], atol=1e-14)
        assert again.element_rows[["a", "b"]].tolist() == other.element_rows[["a", "b"]].tolist()
    assert abs(energy(turned.model, turned.state) - energy(model, state)) < 1e-12
    less = km.remove(model, state, "c").model
    assert [(e.a, e.b) for e in less.elements] == [("a", None)]
    assert len(less.with_elements(less.elements).element_rows) == 1
    assert not km.submodel(model, "b").elements
    assert not km.submodel(model, "b").passive
