"""Forward and inverse dynamics, the mass matrix and its factors, on random trees with every kind of joint.

Errors are relative to the largest entry of what is expected.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.naive import dynamics as naive
from tests.strategies import (
    KINDS,
    TREE_SHAPES,
    State,
    build_tree,
    copy_into,
    random_inertia,
    random_joint,
    random_pose,
    random_state,
    random_tree,
    states,
)  # fmt: skip

import kinemorph as km

pytestmark = pytest.mark.quick

few = settings(max_examples=50)
SIZES = [1, 2, 3, 5, 9, 20, 60, 200]
every_size = pytest.mark.parametrize("n", SIZES)
every_shape = pytest.mark.parametrize("shape", TREE_SHAPES)


def close(result, expected, tolerance):
    """Equal up to `tolerance` times the largest entry."""
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * size)


def tree_state(n, shape, roots=1, kinds=KINDS):
    rng = np.random.default_rng(1000 * n + roots)
    return random_state(rng, random_tree(rng, n, kinds, shape, roots, armature=0.2))


def small_state(seed=0) -> State:
    """Three links, for tests that run without the JIT as well."""
    rng = np.random.default_rng(seed)
    kinds = (km.JointKind.FREE, km.JointKind.REVOLUTE, km.JointKind.UNIVERSAL)
    return random_state(rng, build_tree(rng, kinds, (-1, 0, 0), armature=0.2))


# -------------------------------------------------------------------------------------------- forward, inverse


@every_size
@every_shape
@pytest.mark.parametrize("roots", [1, 3])
def test_aba_inverts_rnea(n, shape, roots):
    model, q, v, a, _, external = tree_state(n, shape, roots)
    data = km.Data(model)
    tau = km.rnea(model, data, q, v, a, external)
    close(km.aba(model, data, q, v, tau, external), a, 1e-9)


@every_size
@every_shape
def test_rnea_inverts_aba(n, shape):
    model, q, v, _, tau, external = tree_state(n, shape)
    data = km.Data(model)
    a = km.aba(model, data, q, v, tau, external)
    close(km.rnea(model, data, q, v, a, external), tau, 1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_aba_inverts_rnea_on_chains_of_one_kind(kind, rng):
    model, q, v, a, _, external = random_state(rng, random_tree(rng, 30, [kind], "chain"))
    data = km.Data(model)
    tau = km.rnea(model, data, q, v, a, external)
    close(km.aba(model, data, q, v, tau, external), a, 1e-9)


@few
@given(states())
def test_rnea_is_that_of_the_book(state):
    model, q, v, a, _, external = state
    expected = naive.inverse_dynamics(model, q, v, a, external)
    close(km.rnea(model, km.Data(model), q, v, a, external), expected, 1e-12)


@few
@given(states())
def test_aba_is_that_of_the_book(state):
    model, q, v, _, tau, external = state
    expected = naive.forward_dynamics(model, q, v, tau, external)
    close(km.aba(model, km.Data(model), q, v, tau, external), expected, 1e-10)


@few
@given(states())
def test_rnea_is_mass_matrix_times_acceleration_plus_bias(state):
    model, q, v, a, _, _ = state
    data = km.Data(model)
    bias = km.rnea(model, data, q, v, np.zeros(model.nv))
    close(km.crba(model, data, q) @ a + bias, km.rnea(model, data, q, v, a), 1e-13)


@pytest.mark.lane
def test_small_tree_agrees_with_the_book():
    model, q, v, a, tau, external = small_state()
    data = km.Data(model)
    close(km.rnea(model, data, q, v, a, external), naive.inverse_dynamics(model, q, v, a, external), 1e-13)
    close(km.aba(model, data, q, v, tau, external), naive.forward_dynamics(model, q, v, tau, external), 1e-13)
    close(km.crba(model, data, q), naive.mass_matrix(model, q), 1e-13)


@pytest.mark.lane
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_a_pair_of_links_with_every_kind_of_joint_agrees_with_the_book(kind, rng):
    model, q, v, a, _, external = random_state(rng, build_tree(rng, [km.JointKind.REVOLUTE, kind], [-1, 0]))
    data = km.Data(model)
    tau = naive.inverse_dynamics(model, q, v, a, external)
    close(km.rnea(model, data, q, v, a, external), tau, 1e-13)
    close(km.aba(model, data, q, v, tau, external), a, 1e-12)
    close(km.crba(model, data, q), naive.mass_matrix(model, q), 1e-13)


def test_dynamics_do_not_depend_on_what_data_was_used_for_before():
    model, q, v, a, tau, external = tree_state(9, "random")
    used, other = km.Data(model), random_state(np.random.default_rng(9), model)
    for f in (km.rnea, km.aba):
        f(model, used, other.q, other.v, other.a, other.external)
    km.crba(model, used, other.q)
    assert (km.aba(model, used, q, v, tau) == km.aba(model, km.Data(model), q, v, tau)).all()
    assert (km.rnea(model, used, q, v, a, external) == km.rnea(model, km.Data(model), q, v, a, external)).all()
    assert (km.crba(model, used, q) == km.crba(model, km.Data(model), q)).all()


# ------------------------------------------------------------------------------------------------- mass matrix


@few
@given(states())
def test_crba_is_the_sum_of_all_links(state):
    model, q, *_ = state
    close(km.crba(model, km.Data(model), q), naive.mass_matrix(model, q), 1e-13)


@every_size
@every_shape
def test_mass_matrix_is_symmetric_and_positive_definite(n, shape):
    model, q, *_ = tree_state(n, shape)
    M = km.crba(model, km.Data(model), q)
    assert (M == M.T).all()
    assert (np.linalg.eigvalsh(M) > 0.0).all()


def test_armature_is_added_to_the_diagonal(rng):
    bare = random_tree(rng, 9)
    armature = rng.uniform(0.1, 1.0, bare.nv)
    builder = km.Builder(gravity=bare.gravity)
    copy_into(builder, bare, armature=armature)
    model = builder.build()
    q, (a, v) = km.random_configuration(bare, rng), rng.normal(size=(2, bare.nv))
    close(km.crba(model, km.Data(model), q) - km.crba(bare, km.Data(bare), q), np.diag(armature), 1e-13)
    change = km.rnea(model, km.Data(model), q, v, a) - km.rnea(bare, km.Data(bare), q, v, a)
    close(change, armature * a, 1e-12)


@every_size
@every_shape
def test_ltl_reconstructs_and_solves(n, shape):
    model, q, _, _, b, _ = tree_state(n, shape, roots=2)
    M = km.crba(model, km.Data(model), q).copy()
    L = km.ltl(model, M)
    assert (np.triu(L, 1) == 0.0).all()
    close(L.T @ L, M, 1e-13)
    close(M @ km.ltl_solve(model, L, b), b, 1e-9)


@few
@given(states())
def test_ltl_fills_in_nothing_between_branches(state):
    model, q, *_ = state
    L = km.ltl(model, km.crba(model, km.Data(model), q))
    related = np.zeros((model.nv, model.nv), bool)
    for k in range(model.nv):
        j = k
        while j >= 0:
            related[k, j] = True
            j = model.dofs["parent"][j]
    assert (L[~related] == 0.0).all()


def test_ltl_solves_for_many_columns_at_once(rng):
    model, q, *_ = tree_state(9, "random")
    M = km.crba(model, km.Data(model), q).copy()
    B = rng.normal(size=(model.nv, 4))
    X = km.ltl_solve(model, km.ltl(model, M), B)
    assert X.shape == B.shape
    close(X, np.linalg.solve(M, B), 1e-11)


@pytest.mark.lane
def test_ltl_of_a_small_tree():
    model, q, _, _, b, _ = small_state()
    M = km.crba(model, km.Data(model), q).copy()
    L = km.ltl(model, M)
    close(L.T @ L, M, 1e-14)
    close(km.ltl_solve(model, L, b), np.linalg.solve(M, b), 1e-13)


def test_ltl_refuses_a_matrix_that_is_not_positive_definite():
    model, q, *_ = tree_state(5, "random")
    with pytest.raises(ValueError, match="not positive definite"):
        km.ltl(model, -km.crba(model, km.Data(model), q))


# -------------------------------------------------------------------------------------------- forces, gravity


@few
@given(states(most=8))
def test_external_forces_enter_as_transposed_jacobian_times_force(state):
    model, q, v, a, tau, external = state
    data = km.Data(model)
    lifted = sum((km.jacobian(model, data, q, i).T @ external[i] for i in range(model.n)), np.zeros(model.nv))
    close(km.rnea(model, data, q, v, a) - lifted, km.rnea(model, data, q, v, a, external), 1e-12)
    close(km.aba(model, data, q, v, tau + lifted), km.aba(model, data, q, v, tau, external), 1e-10)


@few
@given(states(most=8))
def test_gravity_is_a_force_at_every_centre_of_mass(state):
    model, q, v, a, _, _ = state
    weightless = model.with_gravity((0, 0, 0))
    data = km.Data(model)
    km.kinematics(model, data, q)
    weights = np.zeros((model.n, 6))
    for i, l in enumerate(model.links):
        h = data.links[i]["R"].reshape(3, 3) @ l["h"]
        weights[i] = [*np.cross(h, model.gravity), *(l["mass"] * model.gravity)]
    expected = km.rnea(weightless, km.Data(weightless), q, v, a, weights)
    close(km.rnea(model, data, q, v, a), expected, 1e-12)


def test_a_falling_tree_without_joint_forces_falls_as_one(rng):
    for shape in TREE_SHAPES:
        tree = random_tree(rng, 12, [k for k in KINDS if k is not km.JointKind.FREE], shape)
        builder = km.Builder(gravity=tree.gravity)
        builder.link("hull", joint=km.Joint.free(), inertia=random_inertia(rng))
        copy_into(builder, tree, "hull")
        model = builder.build()
        data, q = km.Data(model), km.random_configuration(model, rng)
        a = km.aba(model, data, q, np.zeros(model.nv), np.zeros(model.nv))
        km.kinematics(model, data, q)
        close(km.pose_of(model, data, "hull").rotation @ a[3:6], model.gravity, 1e-12)
        close(np.delete(a, [3, 4, 5]), 0.0, 1e-11)


# ------------------------------------------------------------------------------------------------- invariance


@every_shape
@pytest.mark.parametrize("seed", range(3))
def test_moving_the_whole_world_changes_no_joint_acceleration(shape, seed):
    rng = np.random.default_rng(seed)
    model, q, v, _, tau, external = random_state(rng, random_tree(rng, 12, shape=shape, roots=2))
    moved = random_pose(rng)
    builder = km.Builder(gravity=moved.rotation @ model.gravity)
    copy_into(builder, model, placed=moved)
    other = builder.build()
    assert other.names == model.names
    turned = np.hstack([external[:, :3] @ moved.rotation.T, external[:, 3:] @ moved.rotation.T])
    close(km.aba(other, km.Data(other), q, v, tau, turned), km.aba(model, km.Data(model), q, v, tau, external), 1e-10)
    close(km.rnea(other, km.Data(other), q, v, tau, turned), km.rnea(model, km.Data(model), q, v, tau, external), 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_floating_tree_does_not_feel_a_constant_velocity(seed):
    rng = np.random.default_rng(seed)
    kinds = [km.JointKind.FREE, *rng.choice(KINDS, 10)]
    parents = [-1, *(int(rng.integers(i)) for i in range(1, 11))]
    model, q, v, _, tau, external = random_state(rng, build_tree(rng, kinds, parents))
    data = km.Data(model)
    km.kinematics(model, data, q)
    R = data.links[0]["R"].reshape(3, 3)
    u = rng.normal(size=3) * 10.0
    boosted = v.copy()
    boosted[3:6] += R.T @ u
    before, after = km.aba(model, data, q, v, tau, external), km.aba(model, data, q, boosted, tau, external)
    # v is in the link's axes, which turn: the same acceleration of the origin has other components
    before[3:6] -= np.cross(v[:3], R.T @ u)
    close(after, before, 1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_two_trees_in_one_model_do_not_feel_each_other(seed):
    rng = np.random.default_rng(seed)
    a, b = (random_tree(rng, 6).with_gravity((0, 0, -9.81)) for _ in range(2))
    builder = km.Builder()
    copy_into(builder, a, prefix="a")
    copy_into(builder, b, prefix="b")
    both = builder.build()
    s, t = random_state(rng, a), random_state(rng, b)
    q, v, tau = (np.concatenate([getattr(s, x), getattr(t, x)]) for x in ("q", "v", "tau"))
    expected = np.concatenate([km.aba(m, km.Data(m), *x[1:3], x.tau) for m, x in ((a, s), (b, t))])
    close(km.aba(both, km.Data(both), q, v, tau), expected, 1e-11)
    M = km.crba(both, km.Data(both), q)
    assert (M[: a.nv, a.nv :] == 0.0).all()


def test_links_may_come_in_any_order(rng):
    tree = random_tree(rng, 10)
    state = random_state(rng, tree)
    builder = km.Builder(gravity=tree.gravity)
    copy_into(builder, tree, backwards=True)  # children before parents
    other = builder.build()
    assert set(other.names) == set(tree.names)
    assert (other.links["parent"] < np.arange(other.n)).all()
    order = [tree.names.index(name) for name in other.names]
    pick_q, pick_v = (np.concatenate([np.r_[s(i)] for i in order]).astype(int) for s in (tree.q_slice, tree.v_slice))
    q, v, tau = state.q[pick_q], state.v[pick_v], state.tau[pick_v]
    expected = km.aba(tree, km.Data(tree), state.q, state.v, state.tau)
    close(km.aba(other, km.Data(other), q, v, tau), expected[pick_v], 1e-11)


# ------------------------------------------------------------------------------------------------ known answers


@pytest.mark.lane
def test_a_pendulum_swings_as_in_the_textbook():
    builder = km.Builder()
    builder.link("bob", joint=km.Joint.revolute("y"), inertia=km.Inertia.point(2.0, (0, 0, -0.5)))
    model = builder.build()
    for angle in (0.0, 0.3, 2.0, -3.0):
        a = km.aba(model, km.Data(model), np.array([angle]), np.array([1.7]), np.zeros(1))
        close(a, [-9.81 / 0.5 * np.sin(angle)], 1e-14)


@pytest.mark.lane
def test_a_free_box_obeys_newton_and_euler(rng):
    builder = km.Builder()
    inertia = np.array([0.2, 0.3, 0.4])
    builder.link("box", joint=km.Joint.free(), inertia=km.Inertia(3.0, matrix=inertia))
    model = builder.build()
    q, v, tau = km.random_configuration(model, rng), rng.normal(size=6), rng.normal(size=6)
    R = km.Pose.quaternion(q[3:]).rotation
    w, u = v[:3], v[3:]
    angular = (tau[:3] - np.cross(w, inertia * w)) / inertia
    linear = tau[3:] / 3.0 + R.T @ model.gravity - np.cross(w, u)
    close(km.aba(model, km.Data(model), q, v, tau), [*angular, *linear], 1e-14)


@pytest.mark.lane
def test_links_on_fixed_joints_are_part_of_what_carries_them(rng):
    parts = [random_inertia(rng) for _ in range(3)]
    places = [random_pose(rng), random_pose(rng)]
    welded = parts[0] + parts[1].moved(places[0]) + parts[2].moved(places[0] @ places[1])
    joint = random_joint(rng, km.JointKind.SCREW)
    one, three = km.Builder(), km.Builder()
    one.link("a", joint=joint, inertia=welded)
    three.link("a", joint=joint, inertia=parts[0])
    three.link("b", "a", at=places[0], inertia=parts[1])
    three.link("c", "b", at=places[1], inertia=parts[2])
    state = np.array([0.4]), np.array([2.0]), np.array([1.0])
    expected, found = (km.aba(m, km.Data(m), *state) for m in (one.build(), three.build()))
    close(found, expected, 1e-13)


def test_far_from_the_origin_dynamics_lose_no_digits(rng):
    """Fields are taken at links, not at the world's origin, so that a large world costs nothing."""
    tree = random_tree(rng, 8, [k for k in KINDS if k is not km.JointKind.FREE])
    builder = km.Builder(gravity=tree.gravity)
    copy_into(builder, tree, placed=km.Pose((1e6, -1e6, 1e6)))
    far = builder.build()
    _, q, v, _, tau, _ = random_state(rng, tree)
    close(km.aba(far, km.Data(far), q, v, tau), km.aba(tree, km.Data(tree), q, v, tau), 1e-12)
    close(km.crba(far, km.Data(far), q), km.crba(tree, km.Data(tree), q), 1e-12)


def test_integrating_a_whole_tree_moves_each_joint_alone(rng):
    model, q, v, *_ = random_state(rng, random_tree(rng, 18))
    moved = km.integrate(model, q, v, 0.3)
    for i in range(model.n):
        builder = km.Builder()
        builder.link("one", joint=km.Joint(km.JointKind(model.links["kind"][i])), inertia=km.Inertia.sphere(1, 1))
        alone = km.integrate(builder.build(), q[model.q_slice(i)], v[model.v_slice(i)], 0.3)
        assert (moved[model.q_slice(i)] == alone).all()


def test_mass_blocks_are_the_mass_matrix_without_its_zeros():
    b = km.Builder("three trees")
    ball = km.Inertia.sphere(1.0, 0.2, (0.1, 0.2, 0.3))
    b.link("a", joint=km.Joint.free(), inertia=ball)
    b.link("a2", "a", km.Joint.revolute("x"), inertia=ball)
    b.link("stand", inertia=ball)
    b.link("b", joint=km.Joint.spherical(), inertia=ball)
    model = b.build()
    q = km.random_configuration(model, 1)
    blocks = km.mass_blocks(model, km.Data(model), q)
    assert [len(block) for block in blocks] == [7, 0, 3]
    M = km.crba(model, km.Data(model), q)
    np.testing.assert_array_equal(M[:7, :7], blocks[0])
    np.testing.assert_array_equal(M[7:, 7:], blocks[2])
    assert not M[:7, 7:].any()


def test_data_of_many_bodies_is_small_until_somebody_asks_for_the_mass_matrix():
    b = km.Builder("many")
    for i in range(300):
        b.link(f"body{i}", joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
    model = b.build()
    data = km.Data(model)
    assert data._memory.nbytes < 2_000_000
    assert data._M is None
    assert sum(block.size for block in km.mass_blocks(model, data, km.neutral(model))) == 300 * 36
    assert data._M is None
