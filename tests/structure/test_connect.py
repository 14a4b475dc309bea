"""Connecting and cutting: momentum stays, energy never rises, and a cut undoes a connection but for the jump."""

import numpy as np
import pytest
from tests.structure.checks import poses, same, twists

import kinemorph as km
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut

pytestmark = pytest.mark.quick

JOINTS = [
    km.Joint.fixed(), km.Joint.revolute((0.3, 1.0, 0.2)), km.Joint.prismatic("x"), km.Joint.screw("y", 0.2),
    km.Joint.cylindrical("z"), km.Joint.universal("x", "y"), km.Joint.planar("z"), km.Joint.spherical(),
    km.Joint.free(),
]  # fmt: skip


def two_chains() -> km.Model:
    """Two floating chains of three links in one model."""
    b = km.Builder("two chains")
    for side, y in (("left", 0.0), ("right", 3.0)):
        for i in range(3):
            body = km.Inertia.box(1.0 + 0.3 * i, (0.2, 0.1, 0.5), (0.0, 0.02, -0.25))
            joint = km.Joint.free() if i == 0 else (km.Joint.spherical() if i == 1 else km.Joint.revolute("y"))
            at = (0.0, y, 0.0) if i == 0 else (0.0, 0.0, -0.5)
            shape = km.Shape.box((0.2, 0.1, 0.5), km.Pose((0, 0, -0.25)))
            b.link(f"{side}{i}", None if i == 0 else f"{side}{i - 1}", joint, at, body, shape)
    return b.build()


def moving(model: km.Model, seed: int = 0) -> km.State:
    rng = np.random.default_rng(seed)
    return km.State(km.random_configuration(model, rng), rng.normal(size=model.nv))


@pytest.mark.lane
@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: j.kind.name)
@pytest.mark.parametrize("link", ["right0", "right1", "right2"])
def test_connecting_two_chains(joint: km.Joint, link: str) -> None:
    model = two_chains()
    state = moving(model)
    report = connect(model, state, "left2", link, joint, at=(0.1, 1.0, -0.5))
    new, after = report.model, report.state
    assert new.nv == model.nv - 6 + joint.nv  # fewer coordinates, no constraint
    same(poses(new, after), poses(model, state))
    before, now = km.Data(model), km.Data(new)
    np.testing.assert_allclose(
        km.momentum(new, now, after.q, after.v), km.momentum(model, before, state.q, state.v), atol=1e-10
    )
    energies = km.energy(model, before, state.q, state.v), km.energy(new, now, after.q, after.v)
    assert report.energy_lost >= -1e-10
    assert energies[0].kinetic - energies[1].kinetic == pytest.approx(report.energy_lost, abs=1e-9)
    if joint.nv == 6:  # a free joint asks for nothing
        assert report.energy_lost == pytest.approx(0.0, abs=1e-10)
        same(twists(new, after), twists(model, state))
    assert report.momentum_error < 1e-10


def test_a_connection_to_the_base_agrees_with_a_dense_solution() -> None:
    """The struck point stops, and the impulse is what stops it: N&Y eqs. 25-38 against M and J."""
    model = two_chains()
    state = moving(model, 3)
    data = km.Data(model)
    km.kinematics(model, data, state.q, state.v)
    point = km.pose_of(model, data, "left2").apply([0.0, 0.0, -0.5])
    report = connect(model, state, -1, "left2", km.Joint.spherical(), at=point)
    J = km.jacobian(model, data, state.q, "left2", (0.0, 0.0, -0.5))[3:]
    M = km.crba(model, data, state.q)
    K = J @ np.linalg.solve(M, J.T)
    np.testing.assert_allclose(report.impulse[3:], -np.linalg.solve(K, J @ state.v), atol=1e-10)
    np.testing.assert_allclose(report.impulse[:3], 0.0, atol=1e-10)
    now = km.Data(report.model)
    km.kinematics(report.model, now, report.state.q, report.state.v)
    speed = km.jacobian(report.model, now, report.state.q, "left2", (0.0, 0.0, -0.5))[3:] @ report.state.v
    np.testing.assert_allclose(speed, 0.0, atol=1e-11)


@pytest.mark.lane
@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: j.kind.name)
def test_a_cut_undoes_a_connection_but_for_the_jump(joint: km.Joint) -> None:
    model = two_chains()
    state = moving(model, 1)
    joined = connect(model, state, "left1", "right1", joint, at=(0.0, 1.5, 0.0))
    parted = cut(joined.model, joined.state, int(joined.link_map[model.link("right1")]))
    assert parted.model.nv == model.nv
    same(poses(parted.model, parted.state), poses(model, state))
    same(twists(parted.model, parted.state), twists(joined.model, joined.state))
    assert parted.model.mass == pytest.approx(model.mass)


def test_a_cut_changes_no_velocity_and_the_parts_fall_as_they_should() -> None:
    model = two_chains()
    state = moving(model, 2)
    report = cut(model, state, "left1")
    same(twists(report.model, report.state), twists(model, state))
    assert report.model.nv == model.nv + 3
    assert (report.v_map[model.v_slice("left1")] == -1).all()
    data = km.Data(report.model)
    a = km.aba(report.model, data, report.state.q, report.state.v, np.zeros(report.model.nv))
    km.kinematics(report.model, data, report.state.q, report.state.v, a)
    com = report.model.links[report.model.link("left0")]["h"] / report.model.links[report.model.link("left0")]["mass"]
    d = data.links[report.model.link("left0")]
    r = d["R"].reshape(3, 3) @ com
    fall = d["a"] + model.gravity + np.cross(d["al"], r) + np.cross(d["w"], np.cross(d["w"], r))
    np.testing.assert_allclose(fall, model.gravity, atol=1e-10)  # left0 alone now falls freely


def test_shapes_stay_where_they_are() -> None:
    model = two_chains()
    state = moving(model, 4)
    report = connect(model, state, "left0", "right2", km.Joint.revolute("x"), at=(0.3, 0.0, 0.2))

    def corners(m: km.Model, s: km.State) -> dict[str, np.ndarray]:
        data = km.Data(m)
        km.kinematics(m, data, s.q, s.v)
        return {n: (km.pose_of(m, data, i) @ m.shapes[i][0].pose).matrix() for i, n in enumerate(m.names)}

    same(corners(report.model, report.state), corners(model, state))


def test_the_connected_chains_move_as_a_model_built_that_way() -> None:
    """After connecting, a second of motion keeps energy and momentum: the joint really is a joint."""
    model = two_chains().with_gravity((0.0, 0.0, 0.0))
    state = moving(model, 5)
    report = connect(model, state, "left2", "right2", km.Joint.spherical(), at=(0.0, 1.0, -1.0))
    data = km.Data(report.model)
    path = km.rollout(report.model, data, report.state.q, report.state.v, dt=5e-4, steps=2000, every=2000)
    start, end = (km.energy(report.model, data, path.q[i], path.v[i]).total for i in (0, -1))
    assert end == pytest.approx(start, rel=1e-7)
    p0, p1 = (km.momentum(report.model, data, path.q[i], path.v[i]) for i in (0, -1))
    np.testing.assert_allclose(p1, p0, atol=1e-7)


@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: j.kind.name)
def test_a_loop_and_a_tree_move_in_the_same_way(joint: km.Joint) -> None:
    model = two_chains()
    state = moving(model, 6)
    ends = []
    for how in ("tree", "loop"):
        report = connect(model, state, "left2", "right1", joint, at=(0.1, 1.0, -0.5), how=how)
        assert len(report.model.loops) == (how == "loop")
        path = km.rollout(
            report.model, km.Data(report.model), report.state.q, report.state.v, dt=2e-4, steps=5000, every=5000
        )
        ends.append((report, poses(report.model, km.State(path.q[-1], path.v[-1]))))
    (tree, after), (loop, also) = ends
    same(after, also, 1e-8)
    np.testing.assert_allclose(tree.impulse, loop.impulse, atol=1e-9)
    assert tree.energy_lost == pytest.approx(loop.energy_lost, abs=1e-9)


def test_what_cannot_be_is_refused() -> None:
    model = two_chains()
    state = moving(model)
    with pytest.raises(ValueError, match="cannot be connected to itself"):
        connect(model, state, "left0", "left0", km.Joint.fixed(), (0, 0, 0))
    with pytest.raises(ValueError, match="close a loop"):
        connect(model, state, "left0", "left2", km.Joint.fixed(), (0, 0, 0), how="tree")
    with pytest.raises(KeyError, match="no link 'nobody'"):
        connect(model, state, "left0", "nobody", km.Joint.fixed(), (0, 0, 0))
    with pytest.raises(IndexError, match="not 9"):
        cut(model, state, 9)
