"""Adding models to models, and taking parts of them away."""

import numpy as np
import pytest
from tests.strategies import random_pose, random_tree
from tests.structure.checks import poses, same, twists, valid
from tests.structure.test_connect import moving, two_chains

import kinemorph as km
from kinemorph.scenes.robots import mechanisms

pytestmark = pytest.mark.quick


def pendulum() -> km.Model:
    b = km.Builder("pendulum")
    b.link("arm", joint=km.Joint.revolute("y"), inertia=km.Inertia.box(1.0, (0.1, 0.1, 1.0), (0, 0, -0.5)))
    b.frame("tip", "arm", (0, 0, -1))
    b.frame("nail", None, (0, 0, 0))
    return b.build()


@pytest.mark.lane
def test_what_is_added_stands_where_it_is_put() -> None:
    model, other = two_chains(), pendulum()
    state, theirs = moving(model, 1), km.State(np.array([0.4]), np.array([2.0]))
    at = km.Pose.turn((1, 2, 0), 0.7, (5.0, 1.0, 2.0))
    report = km.add(model, state, other, theirs, at)
    both = report.model
    valid(both)
    assert both.names == (*model.names, "arm")
    found, own = poses(both, report.state), poses(other, theirs)
    same({name: found[name] for name in model.names}, poses(model, state), 0.0)
    np.testing.assert_allclose(found["arm"], at.matrix() @ own["arm"], atol=1e-15)
    data = km.Data(both)
    km.kinematics(both, data, report.state.q)
    np.testing.assert_allclose(
        km.pose_of(both, data, "tip").position, at.apply(km.Pose.turn((0, 1, 0), 0.4).apply([0, 0, -1])), atol=1e-15
    )
    np.testing.assert_allclose(km.pose_of(both, data, "nail").position, at.position)
    np.testing.assert_array_equal(report.link_map, np.arange(model.n))
    np.testing.assert_array_equal(report.v_map, np.arange(model.nv))
    a = km.aba(both, data, report.state.q, report.state.v, np.zeros(both.nv))
    old = km.aba(model, km.Data(model), state.q, state.v, np.zeros(model.nv))
    np.testing.assert_allclose(a[: model.nv], old, atol=1e-12)


@pytest.mark.lane
def test_names_that_are_taken_need_a_prefix() -> None:
    model = pendulum()
    state = km.State(np.zeros(1), np.zeros(1))
    with pytest.raises(ValueError, match="has a link 'arm' already; give the names of the other model a prefix"):
        km.add(model, state, model)
    twice = km.add(model, state, model, at=(1, 0, 0), prefix="b/").model
    assert twice.names == ("arm", "b/arm")
    assert "b/tip" in twice.frames
    with pytest.raises(ValueError, match="has a link 'b/arm' already"):
        km.add(twice, km.State(np.zeros(2), np.zeros(2)), model, prefix="b/")


def test_loops_come_along() -> None:
    model, q = mechanisms.four_bar()
    state = km.State(q, np.zeros(model.nv))
    at = km.Pose.turn((0, 0, 1), 1.0, (3, 0, 0))
    both = km.add(model, state, model, state, at, prefix="b ")
    assert len(both.model.loops) == 2 * len(model.loops)
    assert both.loop_error < 1e-12
    a = km.forward_dynamics(both.model, km.Data(both.model), both.state.q, both.state.v, np.zeros(both.model.nv))
    one = km.forward_dynamics(model, km.Data(model), q, np.zeros(model.nv), np.zeros(model.nv))
    np.testing.assert_allclose(a, np.concatenate([one, one]), atol=1e-9)


@pytest.mark.lane
@pytest.mark.parametrize("link", ["left0", "left1", "left2", "right0"])
def test_what_is_left_moves_as_before(link: str) -> None:
    model = two_chains()
    state = moving(model, 2)
    report = km.remove(model, state, link)
    valid(report.model)
    gone = {name for name in model.names if name[:-1] == link[:-1] and name >= link}
    assert set(report.model.names) == set(model.names) - gone
    for before, after in ((poses, poses), (twists, twists)):
        old, new = before(model, state), after(report.model, report.state)
        same({name: old[name] for name in new}, new, 1e-13)
    assert [report.link_map[model.link(name)] for name in gone] == [-1] * len(gone)
    assert (report.v_map[model.v_slice(model.link(link))] == -1).all()


@pytest.mark.lane
def test_what_was_removed_can_be_added_again() -> None:
    model = two_chains()
    state = moving(model, 4)
    part = km.submodel(model, "left1")
    assert part.names == ("left1", "left2")
    valid(part)
    less = km.remove(model, state, "left1")
    again = km.add(less.model, less.state, part)
    valid(again.model)
    assert set(again.model.names) == set(model.names)
    tied = km.connect(again.model, again.state, "left0", "left2", km.Joint.spherical(name="new"), (0, 0, 0), "loop")
    assert tied.model.loop_names == ("new",)


def test_a_part_moves_as_it_would_on_the_base() -> None:
    rng = np.random.default_rng(3)
    model = random_tree(rng, 12)
    part = km.submodel(model, 3)
    rows = [model.link(name) for name in part.names]
    q = km.random_configuration(model, rng)
    own = np.concatenate([q[model.q_slice(i)] for i in rows])
    full, alone = km.Data(model), km.Data(part)
    km.kinematics(model, full, q)
    km.kinematics(part, alone, own)
    top = km.pose_of(model, full, 3)
    at = km.pose_of(part, alone, 0)
    for i, name in zip(rows, part.names, strict=True):
        np.testing.assert_allclose(
            (top.inverse() @ km.pose_of(model, full, i)).matrix(),
            (at.inverse() @ km.pose_of(part, alone, name)).matrix(),
            atol=1e-13,
        )
    assert part.mass == pytest.approx(model.links["mass"][rows].sum())


def test_shapes_and_elements_come_along(rng: np.random.Generator) -> None:
    model, other = two_chains(), two_chains()
    other = other.with_elements(
        [km.ForceElement.spring("left0", None, 10.0, 0.1), km.ForceElement.damper("left0", "right0", 1.0)]
    )
    at = random_pose(rng)
    both = km.add(model, moving(model), other, at=at, prefix="more ").model
    assert len(both.element_rows) == 2
    np.testing.assert_allclose(both.element_rows[0]["pb"], at.position)
    assert both.shapes[both.link("more left1")][0].kind == model.shapes[1][0].kind


def test_wrong_types_get_a_sentence() -> None:
    model = pendulum()
    state = km.State(np.zeros(1), np.zeros(1))
    for call, sentence in (
        (lambda: km.add(model, state, "arm"), "add: other is 'arm', and must be a Model"),
        (lambda: km.add("model", state, model), "add: model is 'model', and must be a Model"),
        (lambda: km.remove(model, None, "arm"), "remove: state is None, and must be a State"),
        (lambda: km.submodel(None, "arm"), "submodel: model is None, and must be a Model"),
        (lambda: km.connect(model, state, "arm", None, "ball", (0, 0, 0)), "joint is 'ball', and must be a Joint"),
        (lambda: km.connect(model, 3, "arm", None, km.Joint.fixed(), (0, 0, 0)), "state is 3, and must be a State"),
        (lambda: km.cut(model, state, None), "joint is None, and must be a string or a whole number"),
        (lambda: km.cut(None, state, "arm"), "cut: model is None, and must be a Model"),
        (lambda: km.reroot(model, state, "arm", "free"), "joint is 'free', and must be a Joint"),
    ):
        with pytest.raises(TypeError, match=sentence):
            call()
    for call in (lambda: km.reroot(model, state, None), lambda: km.remove(model, state, None)):
        with pytest.raises(TypeError, match="link is None, and must be a string or a whole number"):
            call()


def test_masses_may_differ_by_eleven_orders_of_magnitude() -> None:
    """1000 t on a slide of 10 mg: the ship keeps what it has along the slide, and half of its energy is lost."""
    b = km.Builder("ratio", gravity=(0, 0, 0))
    b.link("speck", joint=km.Joint.prismatic((1, 0, 1)), inertia=km.Inertia.sphere(1e-5, 0.01))
    b.link("ship", joint=km.Joint.free(), inertia=km.Inertia.sphere(1e6, 1.0))
    model = b.build()
    v = np.zeros(model.nv)
    v[model.v_slice("ship")] = [0, 0, 0, 1, 0, 0]
    for how in ("tree", "loop"):
        report = km.connect(model, km.State(km.neutral(model), v), "speck", "ship", km.Joint.fixed(), (0, 0, 0), how)
        assert report.energy_lost == pytest.approx(0.5e6 - 0.25 * 1e12 / (1e6 + 1e-5), rel=1e-12)


def test_tolerances_go_with_the_size_of_the_world(rng: np.random.Generator) -> None:
    model = two_chains()
    for far in (1e6, 1e9):
        state = moving(model, 3)
        state.q[:3] += far
        state.q[model.q_slice("right0")][:3] += far
        assert km.reroot(model, state, "left2").pose_error < 1e-14 * far
        data = km.Data(model)
        km.kinematics(model, data, state.q)
        at = km.pose_of(model, data, "left1").position
        assert km.connect(model, state, "left1", "right2", km.Joint.spherical(), at).energy_lost > 0.0


def test_a_body_without_inertia_about_an_axis_does_not_come_free() -> None:
    """A thin rod swings; loose in space it has no equation of motion about its own axis."""
    b = km.Builder("pendulum")
    b.link("rod", joint=km.Joint.revolute("y"), inertia=km.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1)))
    model = b.build()
    state = km.State(np.array([0.3]), np.array([1.0]))
    with pytest.raises(ValueError, match="link 'rod' has no inertia in a direction in which a free joint would let it"):
        km.cut(model, state, "rod")
    with pytest.raises(ValueError, match="link 'rod' has no inertia in a direction"):
        km.reroot(model, state, "rod")


def test_constant_forces_in_joints_whose_axes_turn_are_named() -> None:
    b = km.Builder("ball")
    b.link("a", joint=km.Joint.free(), inertia=km.Inertia.box(1.0, (0.3, 0.2, 0.1)))
    b.link("b", "a", km.Joint.spherical(name="ball"), (0.3, 0, 0), km.Inertia.box(1.0, (0.2, 0.2, 0.3)))
    b.link("c", "b", km.Joint.revolute("z", name="hinge"), (0.3, 0, 0), km.Inertia.box(1.0, (0.2, 0.2, 0.3)))
    model = b.build()
    tau = np.zeros(model.nv)
    tau[model.v_slice("ball")] = (0.0, 0.1, 0.0)
    tau[model.v_slice("hinge")] = 0.2
    state = km.State(km.neutral(model), np.zeros(model.nv), tau=tau)
    assert km.reroot(model, state, "c").misled == ("ball",)
    assert km.reroot(model, km.State(state.q, state.v), "c").misled == ()
    assert km.reroot(model, state, "a").misled == ()
