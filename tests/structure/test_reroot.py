"""Re-rooting (SPW): bodies stay where they are and move as they did, twice is there and back, maps are right."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.strategies import random_tree

import kinemorph as km
from kinemorph.scenes.commands.known_tree import every_joint
from kinemorph.scenes.robots.catalog import robot
from kinemorph.structure.reroot import reroot

pytestmark = pytest.mark.quick


def close(x: np.ndarray, y: np.ndarray, tolerance: float) -> None:
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    assert np.abs(x - y).max(initial=0.0) <= tolerance * (1.0 + np.abs(y).max(initial=0.0))


def floating(model: km.Model, rng: np.random.Generator) -> km.State:
    """A state in which the joint of the top does nothing, so that losing it changes nothing."""
    q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
    tau = rng.normal(size=model.nv)
    tau[model.v_slice(0)] = 0.0
    return km.State(q, v, km.aba(model, km.Data(model), q, v, tau), tau)


def bodies(model: km.Model, state: km.State) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Pose, twist and acceleration of every body by name."""
    data = km.Data(model)
    km.kinematics(model, data, state.q, state.v, state.a)
    return {
        name: (
            km.pose_of(model, data, name).matrix(),
            km.velocity_of(model, data, name),
            km.acceleration_of(model, data, name),
        )
        for name in model.names
    }


def floating_tree(rng: np.random.Generator, size: int) -> km.Model:
    """A random tree of every kind of joint whose only top is free."""
    inner = random_tree(rng, size)
    b = km.Builder("floating")
    b.link("top", joint=km.Joint.free(), inertia=km.Inertia.box(1.0, (0.1, 0.2, 0.3), (0.1, 0.0, 0.2)))
    for i, l in enumerate(inner.links):
        joint = km.Joint(
            km.JointKind(l["kind"]),
            axis=l["axis"],
            axis2=l["axis2"],
            pitch=float(l["pitch"]),
            damping=0.1 * i,
            lower=-9.0 - i,
        )
        at = km.Pose(l["p"], l["R"].reshape(3, 3))
        parent = inner.names[l["parent"]] if l["parent"] >= 0 else "top"
        b.link(
            inner.names[i], parent, joint, at, km.Inertia.box(1.0 + i % 3, (0.1, 0.2, 0.3), (0.0, 0.1, 0.05 * i % 1))
        )
    return b.build()


MODELS = {"every joint": every_joint, "anymal": lambda: robot("anymal", True), "human": lambda: robot("human", True)}


@pytest.mark.parametrize("name", MODELS)
def test_bodies_keep_pose_twist_and_acceleration(name: str, rng: np.random.Generator) -> None:
    model = MODELS[name]()
    state = floating(model, rng)
    before = bodies(model, state)
    for link in model.names[:: max(1, model.n // 9)]:
        report = reroot(model, state, link)
        after = bodies(report.model, report.state)
        assert report.model.names[0] == link
        assert report.pose_error < 1e-12
        for body in model.names:
            for x, y in zip(after[body], before[body], strict=True):  # A2 and A3
                close(x, y, 1e-10)


@pytest.mark.lane
@pytest.mark.filterwarnings("ignore:.*changes sides")  # joints with limits and dampers that mean something else then
@pytest.mark.parametrize("size", [1, 3, 10, 40])
def test_random_trees_accelerate_as_before(size: int) -> None:
    """With its torques carried over, the re-rooted tree has the accelerations that are carried over."""
    for seed in range(4):
        rng = np.random.default_rng(100 * size + seed)
        model = floating_tree(rng, size)
        state = floating(model, rng)
        report = reroot(model, state, int(rng.integers(model.n)))
        new, data = report.state, km.Data(report.model)
        close(km.aba(report.model, data, new.q, new.v, new.tau), new.a, 1e-8)
        old = km.Data(model)
        close(km.momentum(report.model, data, new.q, new.v), km.momentum(model, old, state.q, state.v), 1e-11)
        now, then = km.energy(report.model, data, new.q, new.v), km.energy(model, old, state.q, state.v)
        close(np.array(now), np.array(then), 1e-11)


@pytest.mark.lane
@pytest.mark.filterwarnings("ignore:.*changes sides")  # joints with limits and dampers that mean something else then
def test_there_and_back_is_the_same_model(rng: np.random.Generator) -> None:
    """A1: op(op(x)) = x, link by link and joint by joint."""
    model = every_joint().with_dofs(lower=-np.arange(19.0), upper=1.0 + np.arange(19.0), damping=np.arange(19.0))
    state = floating(model, rng)
    base = km.Pose(model.links[0]["p"], model.links[0]["R"].reshape(3, 3))
    for link in model.names[1:]:
        there = reroot(model, state, link)
        back = reroot(there.model, there.state, model.names[0], at=base)
        for name in model.names:
            i, j = model.link(name), back.model.link(name)
            old, new = model.links[i], back.model.links[j]
            for field in ("kind", "R", "p", "Rc", "Rs", "axis", "axis2", "pitch", "mass", "h", "I"):
                close(new[field], old[field], 1e-12)
            if i:
                assert back.model.names[new["parent"]] == model.names[old["parent"]]
                assert back.model.joint_names[j] == model.joint_names[i]
                close(back.state.q[back.model.q_slice(j)], state.q[model.q_slice(i)], 1e-12)
                dofs, again = model.dofs[model.v_slice(i)], back.model.dofs[back.model.v_slice(j)]
                kept = slice(2, 3) if name == "planar" else slice(None)  # distances of a planar joint lose their limits
                for field in ("damping", "lower", "upper"):
                    close(again[field][kept], dofs[field][kept], 0.0)
            close(back.state.v[back.model.v_slice(j)], state.v[model.v_slice(i)], 1e-11)
            close(back.state.tau[back.model.v_slice(j)], state.tau[model.v_slice(i)], 1e-11)


@pytest.mark.lane
def test_mass_matrix_is_congruent(rng: np.random.Generator) -> None:
    """M' = Lᵀ M L for the map L that takes new velocities to old ones."""
    model = every_joint()
    state = floating(model, rng)
    base = km.Pose(model.links[0]["p"], model.links[0]["R"].reshape(3, 3))
    report = reroot(model, state, "spherical")
    new, data = report.model, km.Data(report.model)
    columns = []
    for e in np.eye(new.nv):
        back = reroot(new, km.State(report.state.q, e), model.names[0], at=base)
        order = [back.model.v_slice(back.model.link(name)) for name in model.names]
        columns.append(np.concatenate([back.state.v[s] for s in order]))
    L = np.array(columns).T
    close(km.crba(new, data, report.state.q), L.T @ km.crba(model, km.Data(model), state.q) @ L, 1e-11)


@pytest.mark.lane
def test_maps_follow_the_joints(rng: np.random.Generator) -> None:
    model = every_joint()
    state = floating(model, rng)
    report = reroot(model, state, "spherical")
    assert [report.model.names[i] for i in report.link_map] == list(model.names)
    for i, joint in enumerate(model.joint_names):
        entries = report.v_map[model.v_slice(i)]
        if i == 0:
            assert (entries == -1).all()  # the joint of the old top is gone
        else:
            s = report.model.v_slice(joint)
            assert sorted(entries) == list(range(s.start, s.stop))
    angles = model.v_slice("universal")  # an inverted universal joint swaps its angles
    np.testing.assert_array_equal(report.state.v[report.v_map[angles]], -state.v[angles])
    np.testing.assert_array_equal(report.model.dofs["damping"][report.v_map[angles]], model.dofs["damping"][angles])


@pytest.mark.parametrize(
    "joint", [km.Joint.revolute("y"), km.Joint.spherical(), km.Joint.fixed()], ids=lambda j: j.kind.name
)
def test_a_top_that_is_not_free(joint: km.Joint) -> None:
    """A pendulum that is at rest may be held anywhere else; then it swings about that place."""
    b = km.Builder("pendulum")
    rod = km.Inertia.box(1.0, (0.1, 0.1, 1.0), (0, 0, -0.5))
    b.link("upper", joint=km.Joint.revolute("y"), inertia=rod)
    b.link("lower", "upper", km.Joint.revolute("y"), (0, 0, -1), rod)
    model = b.build()
    report = reroot(model, km.State(np.array([0.4, -0.9]), np.zeros(2)), "lower", joint, at=(0.3, 0.0, -1.2))
    new = report.model
    assert report.pose_error < 1e-14
    if joint.nv:
        a = km.aba(new, km.Data(new), report.state.q, report.state.v, np.zeros(new.nv))
        km.kinematics(new, data := km.Data(new), report.state.q, report.state.v, a)
        close(km.acceleration_of(new, data, 0)[3:], np.zeros(3), 1e-12)  # the held point does not move


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    model = every_joint()
    state = floating(model, np.random.default_rng(1))
    before = state.q.copy(), model.links.copy()
    with pytest.raises(ValueError, match="moves as a revolute joint there does not allow"):
        reroot(model, state, "screw", km.Joint.revolute("z"), at=(0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="needs a place"):
        reroot(model, state, "screw", km.Joint.spherical())
    with pytest.raises(ValueError, match="cannot hold link 'screw'"):
        reroot(
            model, km.State(state.q, 0.0 * state.v), "screw", km.Joint.prismatic("z"), at=(9.0, 0.0, 0.0), on=km.Pose()
        )
    with pytest.raises(KeyError, match="no link 'nobody'"):
        reroot(model, state, "nobody")
    assert np.array_equal(state.q, before[0])
    assert (model.links == before[1]).all()


@pytest.mark.parametrize(
    ("joint", "same"),
    [
        (km.Joint.spherical(damping=0.3, stiffness=2.0, armature=0.1), True),
        (km.Joint.spherical(damping=(0.3, 0.3, 0.2)), False),
        (km.Joint.planar("z", damping=(0.0, 0.0, 0.5)), True),
        (km.Joint.planar("z", damping=(0.5, 0.5, 0.0)), False),
        (km.Joint.planar("z", lower=-1.0, upper=1.0), False),
        (km.Joint.universal("x", "y", damping=(0.1, 0.4)), True),
    ],
)
def test_joints_that_act_differently_from_their_other_side_are_named(joint: km.Joint, same: bool) -> None:
    b = km.Builder("two")
    b.link("a", joint=km.Joint.free(), inertia=km.Inertia.box(1.0, (0.3, 0.2, 0.1)))
    b.link("b", "a", replace(joint, name="between"), (0.3, 0.0, 0.0), km.Inertia.box(1.0, (0.2, 0.2, 0.3)))
    model = b.build()
    state = km.State(km.neutral(model), np.linspace(-1.0, 1.0, model.nv))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = reroot(model, state, "b")
    assert ["'between'" in str(w.message) for w in caught] == ([] if same else [True])
    if same:  # and then it moves as before
        ends = []
        for m, start in ((model, state), (report.model, report.state)):
            path = km.rollout(m, km.Data(m), start.q, start.v, dt=2.5e-4, steps=1200)
            ends.append(bodies(m, km.State(path.q[-1], path.v[-1], np.zeros(m.nv))))
        for name in ("a", "b"):
            close(ends[0][name][0], ends[1][name][0], 1e-9)
            close(ends[0][name][1], ends[1][name][1], 1e-9)


def test_a_simulation_warns_of_constant_forces_along_axes_that_turn() -> None:
    b = km.Builder("two")
    b.link("a", joint=km.Joint.free(), inertia=km.Inertia.box(1.0, (0.3, 0.2, 0.1)))
    b.link("b", "a", km.Joint.spherical(name="ball"), (0.3, 0.0, 0.0), km.Inertia.box(1.0, (0.2, 0.2, 0.3)))
    model = b.build()
    tau = np.zeros(model.nv)
    tau[model.v_slice("ball")] = (0.0, 0.1, 0.0)
    state = km.State(km.neutral(model), np.zeros(model.nv))
    change = km.Event.at(0.1, lambda m, s: km.reroot(m, s, "b"))
    with pytest.warns(km.ModelWarning, match="joint 'ball' changed sides at t = 0.1 s, so its constant forces"):
        km.simulate(model, state, 0.2, [change], forces=tau)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        km.simulate(model, state, 0.2, [change], forces=lambda m, s: np.zeros(m.nv))
