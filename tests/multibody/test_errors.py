"""Bad input gets one clear sentence; odd but good input gets the same result as plain input; nothing is modified."""

from math import inf, nan

import numpy as np
import pytest
from tests.strategies import KINDS, build_tree, random_state

import kinemorph as km
from kinemorph.scenes.commands.known_tree import every_joint, state

BALL = km.Inertia.sphere(1.0, 0.1)

# Every public function of a state: how to call it, and the arrays it takes.
CALLS = {
    "integrate": (lambda m, d, x: km.integrate(m, x["q"], x["v"], 0.1), "q v"),
    "difference": (lambda m, d, x: km.difference(m, x["q0"], x["q1"]), "q0 q1"),
    "kinematics": (lambda m, d, x: (km.kinematics(m, d, x["q"], x["v"], x["a"]), d.links["a"].copy())[1], "q v a"),
    "rnea": (lambda m, d, x: km.rnea(m, d, x["q"], x["v"], x["a"], x["external"]), "q v a external"),
    "aba": (lambda m, d, x: km.aba(m, d, x["q"], x["v"], x["tau"], x["external"]), "q v tau external"),
    "crba": (lambda m, d, x: km.crba(m, d, x["q"]).copy(), "q"),
    "jacobian": (lambda m, d, x: km.jacobian(m, d, x["q"], "tool"), "q"),
    "jacobian_drift": (lambda m, d, x: km.jacobian_drift(m, d, x["q"], x["v"], "tool"), "q v"),
    "impulse_response": (
        lambda m, d, x: km.impulse_response(m, d, x["q"], "tool", (1, 2, 3), joints=x["joints"]),
        "q joints",
    ),
    "collision_matrix": (lambda m, d, x: km.collision_matrix(m, d, x["q"], "tool"), "q"),
    "com": (lambda m, d, x: km.com(m, d, x["q"]), "q"),
    "com_velocity": (lambda m, d, x: km.com_velocity(m, d, x["q"], x["v"]), "q v"),
    "momentum": (lambda m, d, x: km.momentum(m, d, x["q"], x["v"]), "q v"),
    "energy": (lambda m, d, x: np.array(km.energy(m, d, x["q"], x["v"])), "q v"),
    "step": (lambda m, d, x: np.concatenate(km.step(m, d, x["q"], x["v"], x["tau"])), "q v tau"),
    "rollout_adaptive": (lambda m, d, x: km.rollout_adaptive(m, d, x["q"], x["v"], [0, 1e-3], x["tau"]).q, "q v tau"),
}
every_array = pytest.mark.parametrize(
    ("name", "array"), [(name, array) for name, (_, arrays) in CALLS.items() for array in arrays.split()]
)
every_call = pytest.mark.parametrize("name", CALLS)


def chain():
    """Seven links in a chain, a tool at its end, and numbers for all that functions take."""
    rng = np.random.default_rng(0)
    kind = km.JointKind
    kinds = (kind.FREE, kind.REVOLUTE, kind.SPHERICAL, kind.SCREW, kind.PLANAR, kind.FIXED, kind.UNIVERSAL)
    model, q, v, a, tau, external = random_state(rng, build_tree(rng, kinds, range(-1, len(kinds) - 1)))
    other = km.random_configuration(model, rng)
    return model, {"q": q, "v": v, "a": a, "tau": tau, "joints": tau, "external": external, "q0": q, "q1": other}


def refused(name, array, value, model, arguments):
    """The sentence with which a call refuses a value of one of its arrays."""
    call, _ = CALLS[name]
    with pytest.raises((ValueError, TypeError)) as error:
        call(model, km.Data(model), arguments | {array: value})
    return str(error.value)


# ------------------------------------------------------------------------------------------------- state arrays


@every_array
def test_wrong_sizes_are_refused(name, array):
    model, arguments = chain()
    good = arguments[array]
    for bad in (good[:-1], np.concatenate([good, good[:1]])):
        sentence = refused(name, array, bad, model, arguments)
        assert f"{array} has shape {bad.shape}, expected" in sentence
        assert repr(model.name) in sentence


@every_array
def test_wrong_dimensions_are_refused(name, array):
    model, arguments = chain()
    good = arguments[array]
    for bad in (good[None], good.reshape(1, -1, 1), np.float64(1.0), 1.0, *([None] if array == "q" else [])):
        sentence = refused(name, array, bad, model, arguments)
        assert f"{array} has shape {np.shape(bad)}, expected" in sentence


@every_array
@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_no_entry_may_be_nan_or_infinite(name, array, bad):
    model, arguments = chain()
    good = arguments[array]
    for index in np.ndindex(good.shape):
        value = good.copy()
        value[index] = bad
        sentence = refused(name, array, value, model, arguments)
        where = index[0] if len(index) == 1 else index
        assert f"{array}[{where}] is {bad}" in sentence
        assert "(joint '" in sentence or "(link '" in sentence


@pytest.mark.parametrize("name", ["crba", "jacobian", "collision_matrix", "impulse_response"])
def test_no_entry_may_be_nan_though_nothing_depends_on_it(name):
    rng = np.random.default_rng(0)
    kinds = (km.JointKind.REVOLUTE, km.JointKind.PRISMATIC, km.JointKind.FREE)
    model, q, *_ = random_state(rng, build_tree(rng, kinds, (-1, -1, -1)))
    for k in range(model.nq):
        bad = np.where(np.arange(model.nq) == k, nan, q)
        assert f"q[{k}] is nan" in refused(name, "q", bad, model, {"joints": np.zeros(model.nv)})


def test_the_sentence_names_the_joint_or_the_link():
    model, arguments = chain()
    places = {"q": model.q_slice, "v": model.v_slice, "a": model.v_slice}
    for array, entries in places.items():
        for i, joint in enumerate(model.joint_names):
            for k in range(entries(i).start, entries(i).stop):
                bad = arguments[array].copy()
                bad[k] = nan
                assert f"{array}[{k}] is nan (joint {joint!r})" in refused("rnea", array, bad, model, arguments)
    bad = arguments["external"].copy()
    bad[3, 2] = nan
    sentence = refused("aba", "external", bad, model, arguments)
    assert f"external[(3, 2)] is nan (link {model.names[3]!r})" in sentence


NOT_NUMBERS = {"text": "text", "texts": ["a", "b"], "dict": {"a": 1}, "complex": 1j * np.ones(3)}


@every_array
@pytest.mark.parametrize("bad", NOT_NUMBERS)
def test_what_is_not_numbers_is_refused(name, array, bad):
    model, arguments = chain()
    assert refused(name, array, NOT_NUMBERS[bad], model, arguments)


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def unaligned(x):
    return np.frombuffer(b"\0" + x.tobytes(), np.float64, offset=1, count=x.size).reshape(x.shape)


def the_same_result(name, array, given, model, arguments):
    call, _ = CALLS[name]
    expected = call(model, km.Data(model), arguments | {array: np.array(given, np.float64)})
    assert np.array_equal(call(model, km.Data(model), arguments | {array: given}), expected)


FORMS = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "fortran": np.asfortranarray,
    "every other": lambda x: np.repeat(x, 2, axis=0)[::2],
    "column": lambda x: np.stack([x, x], axis=-1)[..., 0],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "read-only": read_only,
    "swapped": lambda x: x.astype(">f8"),
    "unaligned": unaligned,
    "subclass": lambda x: x.view(np.recarray),
}


@every_array
@pytest.mark.parametrize("form", FORMS)
def test_other_forms_of_the_same_numbers_give_the_same_result(name, array, form):
    model, arguments = chain()
    the_same_result(name, array, FORMS[form](arguments[array]), model, arguments)


@every_array
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint16, bool])
def test_other_types_of_numbers_are_converted(name, array, dtype):
    model, arguments = chain()
    whole = dict.fromkeys(("q", "q0", "q1"), km.neutral(model))  # its quaternions are unit in every type
    given = whole.get(array, np.abs(arguments[array])).astype(dtype)
    the_same_result(name, array, given, model, arguments)


@every_call
def test_no_array_is_modified(name):
    model, arguments = chain()
    call, _ = CALLS[name]
    for form in (np.array, np.asfortranarray, read_only):
        given = {array: form(value) for array, value in arguments.items()}
        call(model, km.Data(model), given)
        for array, value in arguments.items():
            assert np.array_equal(given[array], value)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("integrate", "difference")])
def test_data_of_another_model_is_refused(name):
    model, arguments = chain()
    call, _ = CALLS[name]
    other = model.with_gravity((0, 0, -1.6))
    with pytest.raises(ValueError, match="this Data belongs to another model") as error:
        call(model, km.Data(other), arguments)
    assert repr(model.name) in str(error.value)
    assert "km.Data(model)" in str(error.value)


@pytest.mark.lane
def test_a_few_refusals_without_the_jit():
    model, arguments = chain()
    data = km.Data(model)
    q, v, a = arguments["q"], arguments["v"], arguments["a"]
    with pytest.raises(ValueError, match=r"q has shape \(3,\), expected"):
        km.rnea(model, data, q[:3], v, a)
    with pytest.raises(ValueError, match=r"v\[0\] is nan \(joint 'link0'\)"):
        km.rnea(model, data, q, v * nan, a)
    with pytest.raises(ValueError, match="another model"):
        km.crba(model, km.Data(model.with_gravity((0, 0, 0))), q)


# ------------------------------------------------------------------------------------------------------- places


PLACED = {
    "pose_of": lambda m, d, q, place: km.pose_of(m, d, place),
    "velocity_of": lambda m, d, q, place: km.velocity_of(m, d, place),
    "acceleration_of": lambda m, d, q, place: km.acceleration_of(m, d, place),
    "jacobian": lambda m, d, q, place: km.jacobian(m, d, q, place),
    "jacobian_drift": lambda m, d, q, place: km.jacobian_drift(m, d, q, np.zeros(m.nv), place),
    "impulse_response": lambda m, d, q, place: km.impulse_response(m, d, q, place, (1, 2, 3)),
    "collision_matrix": lambda m, d, q, place: km.collision_matrix(m, d, q, place),
}
every_placed = pytest.mark.parametrize("call", PLACED.values(), ids=PLACED)


@pytest.mark.lane
@every_placed
def test_unknown_places_are_refused(call):
    model, arguments = chain()
    data = km.Data(model)
    with pytest.raises(KeyError, match="has no link 'nowhere'; it has link0, link1"):
        call(model, data, arguments["q"], "nowhere")
    for index in (-2, model.n, 10**12):
        with pytest.raises(IndexError, match=f"has links 0 to {model.n - 1} .* not {index}"):
            call(model, data, arguments["q"], index)


@every_placed
def test_places_of_another_model_are_refused(call):
    model, arguments = chain()
    with pytest.raises(ValueError, match="another model"):
        call(model, km.Data(model.with_gravity((0, 0, 0))), arguments["q"], 0)


@pytest.mark.parametrize("bad", [(1, 2), (1, 2, nan), (1, 2, inf), ("a", 2, 3), 5.0, None], ids=str)
def test_bad_points_impulses_and_centres_are_refused(bad):
    model, arguments = chain()
    data, q, v = km.Data(model), arguments["q"], arguments["v"]
    for call in (
        lambda: km.jacobian(model, data, q, 0, bad),
        lambda: km.jacobian_drift(model, data, q, v, 0, bad),
        lambda: km.collision_matrix(model, data, q, 0, bad),
        lambda: km.impulse_response(model, data, q, 0, (1, 2, 3), bad),
        lambda: km.impulse_response(model, data, q, 0, bad),
        lambda: km.momentum(model, data, q, v, bad),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()


def test_unknown_names_are_listed_with_those_that_exist():
    model, _ = chain()
    with pytest.raises(KeyError, match="'random tree' has no joint 'elbow'; it has link0, link1"):
        model.joint("elbow")
    with pytest.raises(KeyError, match="has no link 'hand'"):
        model.link("hand")
    with pytest.raises(KeyError, match="has no joint 'elbow'"):
        model.q_slice("elbow")
    with pytest.raises(KeyError, match="has no joint 'elbow'"):
        model.v_slice("elbow")


def test_ltl_refuses_wrong_shapes_and_what_is_not_positive_definite():
    model, arguments = chain()
    M = km.crba(model, km.Data(model), arguments["q"]).copy()
    L = km.ltl(model, M)
    with pytest.raises(ValueError, match="M has shape"):
        km.ltl(model, M[1:])
    for bad in (-M, M * nan, np.zeros_like(M)):
        with pytest.raises(ValueError, match="not positive definite"):
            km.ltl(model, bad)
    with pytest.raises(ValueError, match=r"L has shape .* expected"):
        km.ltl_solve(model, L[1:], arguments["v"])
    with pytest.raises(ValueError, match=r"b \(3,\), expected"):
        km.ltl_solve(model, L, np.ones(3))


@pytest.mark.parametrize("h", [nan, inf])
def test_a_step_that_is_not_finite_is_refused(h):
    model, arguments = chain()
    with pytest.raises(ValueError, match=f"'random tree': h is {h}"):
        km.integrate(model, arguments["q"], arguments["v"], h)


def test_a_result_that_overflows_is_an_error():
    model, arguments = chain()
    with pytest.raises(ArithmeticError, match="not finite although all arguments are"):
        km.rnea(model, km.Data(model), arguments["q"], arguments["v"] * 1e200, arguments["a"])


def test_a_joint_that_moves_too_little_mass_is_an_error():
    builder = km.Builder()
    builder.link("bead", joint=km.Joint.revolute("x"), inertia=km.Inertia.point(1.0, (1, 0, 0)))  # on its own axis
    with pytest.raises(ValueError, match="link 'bead': its joint moves no mass"):
        builder.build()
    model = builder.build(lenient=True)
    with pytest.raises(ArithmeticError, match="joint 'bead' moves no mass"):
        km.aba(model, km.Data(model), [0.0], [0.0], [1.0])


def test_a_free_rod_is_refused_where_it_is_made():
    rod = km.Inertia.rod(1.0, (0, 0, 0), (0.3, -0.2, -1))
    builder = km.Builder()
    builder.link("rod", joint=km.Joint.free(), inertia=rod)
    with pytest.raises(ValueError, match="link 'rod': its joint moves no mass at all, in one of its directions"):
        builder.build()
    hinged = km.Builder()
    hinged.link("rod", joint=km.Joint.revolute("y"), inertia=rod)
    assert hinged.build().nv == 1


def test_a_joint_without_inertia_at_zero_only_is_fine():
    builder = km.Builder()
    builder.link("knob", joint=km.Joint.revolute("x"))
    builder.link("bead", "knob", km.Joint.revolute("y"), inertia=km.Inertia.point(1.0, (1, 0, 0)))
    model = builder.build()  # at zero the bead is on the axis of the knob
    assert np.isfinite(km.aba(model, km.Data(model), [0.0, 0.5], [0.0, 0.0], [1.0, 0.0])).all()


def test_a_zero_quaternion_is_named_by_crba_and_kinematics():
    model = every_joint()
    q = km.neutral(model)
    q[3:7] = 0.0
    for call in (km.crba, km.kinematics):
        with pytest.raises(ValueError, match=r"q\[3:7\] \(joint 'free'\) is a quaternion of length 0"):
            call(model, km.Data(model), q)


# ------------------------------------------------------------------------------------------------------ builder


@pytest.mark.lane
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: km.Inertia(nan), "mass nan must be finite and not negative"),
        (lambda: km.Inertia(inf), "mass inf must be finite"),
        (lambda: km.Inertia(-1.0), "mass -1.0 must be finite and not negative"),
        (lambda: km.Inertia(1.0, (0, 0)), "com: expected 3 numbers"),
        (lambda: km.Inertia(1.0, (0, 0, nan)), "com: .* not finite"),
        (lambda: km.Inertia(1.0, matrix=np.eye(2)), "finite 3x3 matrix"),
        (lambda: km.Inertia(1.0, matrix=[1.0, 1.0, nan]), "finite 3x3 matrix"),
        (lambda: km.Inertia(1.0, matrix=[[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: km.Inertia(1.0, matrix=[1.0, 1.0, -1.0]), "not positive definite .principal moment -1"),
        (lambda: km.Inertia(1.0, matrix=[[1, 2, 0], [2, 1, 0], [0, 0, 2]]), "not positive definite"),
        (lambda: km.Inertia(1.0, matrix=[1.0, 1.0, 2.5]), r"triangle inequality .*1 \+ 1 < 2.5"),
        (lambda: km.Inertia.box(1.0, (1, 2)), "Inertia.box: size: expected 3 numbers"),
        (lambda: km.Inertia.rod(1.0, (0, 0), (0, 0, 1)), "Inertia.rod: start"),
        (lambda: km.Inertia.sphere(-1.0, 1.0), "mass -1.0"),
        (lambda: km.Inertia.cylinder(nan, 1.0, 1.0), "mass nan"),
    ],
)
def test_inertias_that_no_body_has_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def build_one(name, joint):
    builder = km.Builder()
    builder.link(name, joint=joint, inertia=BALL)
    return builder.build()


@pytest.mark.lane
@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (lambda: km.Joint.revolute((0, 0, 0)), "axis: .* has no direction"),
        (lambda: km.Joint.revolute((0, 0, nan)), "axis: .* not finite"),
        (lambda: km.Joint.revolute((0, 1)), "axis: expected 3 numbers"),
        (lambda: km.Joint.revolute("w"), "axis: 'w' is not 'x', 'y', 'z'"),
        (lambda: km.Joint.universal("x", "x"), "its axes x and x are parallel"),
        (lambda: km.Joint.universal("x", (-1, 0, 0)), "are parallel"),
        (lambda: km.Joint.planar("z", "z"), "parallel to the normal"),
        (lambda: km.Joint.screw("x", nan), "pitch nan is not finite"),
        (lambda: km.Joint.screw("x", inf), "pitch inf is not finite"),
        (lambda: km.Joint.revolute(lower=1.0, upper=-1.0), "lower 1 and upper -1 leave no room"),
        (lambda: km.Joint.universal(lower=(0, 1), upper=(1, 0)), "lower 1 and upper 0 leave no room"),
        (lambda: km.Joint.revolute(lower=nan), "lower: nan is not a number"),
        (lambda: km.Joint.revolute(upper=nan), "upper: nan is not a number"),
        (lambda: km.Joint.revolute(lower=(0, 0)), r"lower: expected one number or 1, got \(0, 0\)"),
        (lambda: km.Joint.revolute(velocity_limit=-1.0), "velocity_limit: -1 is negative"),
        (lambda: km.Joint.revolute(effort_limit=-1.0), "effort_limit: -1 is negative"),
        (lambda: km.Joint.revolute(damping=-1.0), "damping: -1 is negative"),
        (lambda: km.Joint.revolute(stiffness=-1.0), "stiffness: -1 is negative"),
        (lambda: km.Joint.revolute(friction=nan), "friction: nan is not a number"),
        (lambda: km.Joint.revolute(armature=-0.1), "armature: -0.1 is negative"),
        (lambda: km.Joint.revolute(armature=inf), "armature: inf is infinite"),
        (lambda: km.Joint.revolute(damping=inf), "damping: inf is infinite"),
        (lambda: km.Joint.universal(damping=(1, 2, 3)), "damping: expected one number or 2"),
        (lambda: km.Joint.revolute(rest=nan), "rest: .* not finite"),
        (lambda: km.Joint.revolute(rest=(1, 2)), "rest: expected 1 numbers"),
    ],
)
def test_bad_joints_are_refused_where_they_are_made(joint, message):
    with pytest.raises(ValueError, match=f"^(revolute|universal|planar|screw) joint: .*{message}"):
        joint()


@pytest.mark.lane
@pytest.mark.parametrize(
    ("at", "message"),
    [((0, 0), "expected 3 numbers"), ((0, 0, nan), "not finite"), ((inf, 0, 0), "not finite"), ("abc", "expected 3")],
)
def test_bad_placements_are_refused(at, message):
    with pytest.raises(ValueError, match=f"^link 'elbow': .*{message}"):
        km.Builder().link("elbow", at=at, inertia=BALL)
    with pytest.raises(ValueError, match=message):
        km.Builder().frame("tip", None, at)


@pytest.mark.lane
def test_names_must_differ():
    builder = km.Builder("arm")
    builder.link("upper", joint=km.Joint.revolute(name="shoulder"), inertia=BALL)
    builder.frame("tip", "upper")
    with pytest.raises(ValueError, match="link 'upper': there is already a link of this name"):
        builder.link("upper", inertia=BALL)
    with pytest.raises(ValueError, match="link 'lower': there is already a joint 'shoulder'"):
        builder.link("lower", joint=km.Joint.revolute(name="shoulder"), inertia=BALL)
    with pytest.raises(ValueError, match="frame 'tip': there is already a frame of this name"):
        builder.frame("tip", "upper")
    with pytest.raises(ValueError, match="model 'arm': a link needs a name"):
        builder.link("", inertia=BALL)


@pytest.mark.lane
def test_a_refused_link_leaves_the_builder_as_it_was():
    builder = km.Builder()
    with pytest.raises(ValueError, match="has no direction"):
        builder.link("arm", joint=km.Joint.revolute((0, 0, 0)), inertia=BALL)
    builder.link("arm", joint=km.Joint.revolute(), inertia=BALL)
    assert builder.build().names == ("arm",)


@pytest.mark.lane
def test_parents_must_exist():
    builder = km.Builder()
    builder.link("hand", "arm", km.Joint.revolute(), inertia=BALL)
    with pytest.raises(ValueError, match="link 'hand': there is no parent 'arm'"):
        builder.build()
    builder.link("arm", None, km.Joint.revolute(), inertia=BALL)
    assert builder.build().names == ("arm", "hand")


@pytest.mark.lane
def test_cycles_are_refused():
    builder = km.Builder()
    builder.link("a", "b", inertia=BALL)
    builder.link("b", "c", inertia=BALL)
    builder.link("c", "a", inertia=BALL)
    builder.link("apart", inertia=BALL)
    with pytest.raises(ValueError, match="link 'a': it is its own ancestor"):
        builder.build()
    alone = km.Builder()
    alone.link("a", "a", inertia=BALL)
    with pytest.raises(ValueError, match="its own ancestor"):
        alone.build()


@pytest.mark.lane
def test_frames_and_mimics_must_refer_to_what_exists():
    builder = km.Builder()
    builder.link("arm", joint=km.Joint.revolute(name="shoulder"), inertia=BALL)
    builder.frame("tip", "hand")
    with pytest.raises(ValueError, match="frame 'tip': there is no link 'hand'"):
        builder.build()
    other = km.Builder()
    other.link("arm", joint=km.Joint.revolute(name="shoulder"), inertia=BALL)
    other.mimic("shoulder", "elbow")
    with pytest.raises(ValueError, match="mimic of joint 'shoulder': there is no joint 'elbow'"):
        other.build()


@pytest.mark.lane
def test_an_empty_model_is_refused():
    with pytest.raises(ValueError, match="model 'nothing' has no links"):
        km.Builder("nothing").build()
    assert km.Builder("nothing").build(lenient=True).n == 0


@pytest.mark.lane
def test_a_joint_that_moves_no_mass_is_refused():
    builder = km.Builder()
    builder.link("arm", joint=km.Joint.revolute(), inertia=BALL)
    builder.link("ghost", "arm", km.Joint.revolute())
    builder.link("tip", "ghost")
    with pytest.raises(ValueError, match="link 'ghost': its joint moves no mass at all"):
        builder.build()
    assert builder.massless() == ["ghost"]
    assert builder.build(lenient=True).n == 3


@pytest.mark.lane
def test_mass_further_out_or_an_armature_is_enough():
    builder = km.Builder()
    builder.link("carrier", joint=km.Joint.revolute("x"))
    builder.link("load", "carrier", km.Joint.revolute("y"), inertia=BALL)
    builder.link("rotor", joint=km.Joint.revolute("z", armature=0.1))
    assert builder.build().nv == 3


@pytest.mark.lane
@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, nan), (0, 0, -inf), "down"], ids=str)
def test_bad_gravity_is_refused(gravity):
    with pytest.raises(ValueError, match="model 'moon': gravity"):
        km.Builder("moon", gravity)
    builder = km.Builder("moon")
    builder.link("arm", joint=km.Joint.revolute(), inertia=BALL)
    with pytest.raises(ValueError, match="model 'moon': gravity"):
        builder.build().with_gravity(gravity)


@pytest.mark.lane
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_axes_of_any_length_are_made_unit(kind):
    builder = km.Builder()
    for scale in (1e-9, 1.0, 1e200):
        builder.link(f"{scale}", joint=km.Joint(kind, (scale, 0, scale), (0, scale, scale)), inertia=BALL)
    model = builder.build()
    np.testing.assert_allclose(np.linalg.norm(model.links["axis"], axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(model.links["axis2"], axis=1), 1.0, rtol=1e-15)


@pytest.mark.lane
def test_a_model_cannot_be_written_to():
    model, _ = chain()
    for array in (model.links, model.dofs, model.rest, model.gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


# ------------------------------------------------------------------------------------------------------- mimics


@pytest.mark.lane
def test_follow_sets_mimic_joints():
    builder = km.Builder()
    for name in ("a", "b", "c"):
        builder.link(name, joint=km.Joint.revolute(), inertia=BALL)
    builder.mimic("c", "a", -2.0, 0.5)
    model = builder.build()
    q = np.array([0.1, 0.2, 9.0])
    np.testing.assert_allclose(km.follow(model, q), [0.1, 0.2, 0.5 - 2.0 * 0.1], rtol=1e-15)
    assert (q == [0.1, 0.2, 9.0]).all()
    with pytest.raises(ValueError, match=r"q has shape \(2,\), expected \(3,\)"):
        km.follow(model, [1.0, 2.0])


# ---------------------------------------------------------------------------------------------- rests and mimics


def two_joints(first, second, *mimics):
    builder = km.Builder()
    builder.link("a", joint=first, inertia=BALL)
    builder.link("b", joint=second, inertia=BALL)
    builder.link("c", joint=km.Joint.revolute(), inertia=BALL)
    for mimic in mimics:
        builder.mimic(*mimic)
    return builder.build()


@pytest.mark.parametrize("limits", [{"lower": inf}, {"upper": -inf}], ids=str)
def test_limits_that_leave_no_room_are_refused(limits):
    with pytest.raises(ValueError, match="leave no room"):
        km.Joint.revolute(**limits)
    model = every_joint()
    with pytest.raises(ValueError, match="leave no room"):
        model.with_dofs(**limits)


@pytest.mark.parametrize("rest", [(0, 0, 0, 0), (2, 0, 0, 0)], ids=str)
def test_rest_is_a_unit_quaternion(rest):
    try:
        model = build_one("ball", km.Joint.spherical(rest=rest))
    except ValueError as error:
        assert "spherical joint: rest" in str(error)  # noqa: PT017
    else:
        np.testing.assert_allclose(np.linalg.norm(model.rest), 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    ("first", "second", "mimic"),
    [
        (km.Joint.revolute(), km.Joint.revolute(), ("a", "b", nan)),
        (km.Joint.revolute(), km.Joint.revolute(), ("a", "b", 1.0, inf)),
        (km.Joint.revolute(), km.Joint.revolute(), ("a", "a", 2.0)),
        (km.Joint.universal(), km.Joint.planar(), ("a", "b")),
        (km.Joint.spherical(), km.Joint.spherical(), ("a", "b", 2.0)),
        (km.Joint.fixed(), km.Joint.revolute(), ("a", "b")),
    ],
    ids=["nan", "inf", "itself", "sizes", "quaternions", "fixed"],
)
def test_mimics_that_make_no_sense_are_refused(first, second, mimic):
    with pytest.raises(ValueError, match="mimic of joint 'a'"):
        two_joints(first, second, mimic)


def test_mimics_of_mimics_are_followed():
    model = two_joints(km.Joint.revolute(), km.Joint.revolute(), ("a", "b", 2.0), ("b", "c", 3.0))
    assert km.follow(model, [0.0, 0.0, 1.0]).tolist() == [6.0, 3.0, 1.0]


def test_frames_and_links_do_not_share_names():
    builder = km.Builder()
    builder.link("hand", joint=km.Joint.revolute(), inertia=BALL)
    builder.frame("hand", "hand", (1, 0, 0))  # where on the link its name means
    assert builder.build().frames["hand"][1].position.tolist() == [1, 0, 0]
    builder.link("arm", joint=km.Joint.revolute(), inertia=BALL)
    builder.frame("arm", "hand")
    with pytest.raises(ValueError, match="frame 'arm'"):
        builder.build()


def test_ltl_solve_refuses_nan():
    model = two_joints(km.Joint.revolute(), km.Joint.revolute())
    L = km.ltl(model, km.crba(model, km.Data(model), np.zeros(3)))
    with pytest.raises(ValueError, match="nan"):
        km.ltl_solve(model, L, [nan, 0.0, 0.0])


def test_quaternions_need_not_be_unit_but_not_zero():
    model = every_joint()
    q, v, tau = state(model)
    data = km.Data(model)
    scaled = q.copy()
    for l in model.links[model.links["nq"] > model.links["nv"]]:
        scaled[l["iq"] + l["nq"] - 4 : l["iq"] + l["nq"]] *= 3.0
    np.testing.assert_allclose(km.aba(model, data, scaled, v, tau), km.aba(model, data, q, v, tau), rtol=1e-11)
    np.testing.assert_allclose(km.integrate(model, scaled, v, 0.1), km.integrate(model, q, v, 0.1), atol=1e-14)
    scaled[3:7] = 0.0
    with pytest.raises(ValueError, match=r"q\[3:7\] \(joint 'free'\) is a quaternion of length 0"):
        km.aba(model, data, scaled, v, tau)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"damping": -1.0}, "damping: -1 is negative"),
        ({"stiffness": inf}, "stiffness: inf is infinite"),
        ({"lower": 1.0, "upper": 0.0}, "lower 1 and upper 0 leave no room"),
        ({"armature": nan}, "armature: nan is not a number"),
        ({"effort_limit": -2.0}, "effort_limit: -2 is negative"),
    ],
    ids=str,
)
def test_other_numbers_of_joints_are_checked_like_the_first(fields, message):
    with pytest.raises(ValueError, match=f"model 'every joint': .*{message}"):
        every_joint().with_dofs(**fields)


def test_what_is_no_model_and_no_data_is_named():
    model = every_joint()
    q, v, tau = state(model)
    for call in (km.aba, km.rnea, km.forward_dynamics):
        with pytest.raises(TypeError, match=r"must be a kinemorph\.Data, not None"):
            call(model, None, q, v, tau)
        with pytest.raises(TypeError, match=r"must be a kinemorph\.Model, not None"):
            call(None, km.Data(model), q, v, tau)
    with pytest.raises(TypeError, match=r"Data belongs to a kinemorph\.Model, not to 'arm'"):
        km.Data("arm")


def test_a_link_has_a_text_for_a_name():
    with pytest.raises(ValueError, match="a link needs a name, a text, not 5"):
        km.Builder().link(5, inertia=BALL)


def test_indices_of_joints_and_links_are_checked():
    model = every_joint()
    assert model.q_slice(np.int64(0)) == model.q_slice(0)
    for bad in (-1, model.n):
        with pytest.raises(IndexError, match=f"not {bad}"):
            model.v_slice(bad)
    data = km.Data(model)
    km.kinematics(model, data, km.neutral(model))
    with pytest.raises(TypeError):
        km.pose_of(model, data, 0.5)


def test_arguments_of_the_wrong_kind_are_named():
    builder = km.Builder()
    with pytest.raises(TypeError, match=r"link 'x': joint must be a kinemorph\.Joint, not 'revolute'"):
        builder.link("x", joint="revolute")
    with pytest.raises(TypeError, match=r"link 'x': inertia must be a kinemorph\.Inertia, not 3\.0"):
        builder.link("x", joint=km.Joint.revolute(), inertia=3.0)
    with pytest.raises(ValueError, match=r"Pose\.rpy"):
        km.Pose.rpy(inf, 0.0, 0.0)
    empty = km.Builder()
    empty.link("x")
    model = empty.build()
    with pytest.raises(ValueError, match="no mass"):
        km.com(model, km.Data(model), [])
    assert len(km.rollout(model, km.Data(model), [], [], steps=np.int32(3)).t) == 4


# ------------------------------------------------------------------------------------------ what is no model, no name


PLAIN = np.zeros(1)
WITHOUT_DATA = {
    "integrate": lambda m: km.integrate(m, PLAIN, PLAIN),
    "difference": lambda m: km.difference(m, PLAIN, PLAIN),
    "neutral": lambda m: km.neutral(m),
    "random_configuration": lambda m: km.random_configuration(m),
    "follow": lambda m: km.follow(m, PLAIN),
    "ltl": lambda m: km.ltl(m, np.eye(1)),
    "ltl_solve": lambda m: km.ltl_solve(m, np.eye(1), PLAIN),
    "batch.aba": lambda m: km.batch.aba(m, [PLAIN], [PLAIN], [PLAIN]),
    "batch.rollout": lambda m: km.batch.rollout(m, [PLAIN], [PLAIN]),
    "Recording.add": lambda m: km.Recording("film").add(m, PLAIN, 0.0),
}


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_what_is_no_model_is_refused_by_a_sentence(name: str) -> None:
    model, _ = swing()
    WITHOUT_DATA[name](model.with_dofs(damping=1.0))
    for other in (None, "model", km.Data(model), km.State(PLAIN, PLAIN)):
        with pytest.raises(TypeError, match=r"must be a (kinemorph\.)?Model"):
            WITHOUT_DATA[name](other)


def swing() -> tuple[km.Model, km.Data]:
    b = km.Builder("swing")
    b.link("seat", joint=km.Joint.revolute("y"), inertia=km.Inertia.sphere(1.0, 0.1, (0, 0, -1)))
    model = b.build()
    return model, km.Data(model)


def test_inverse_dynamics_and_loop_jacobian_refuse_what_is_no_model() -> None:
    _, data = swing()
    for call in (
        lambda: km.inverse_dynamics(None, data, PLAIN, PLAIN, PLAIN),
        lambda: km.loop_jacobian(3, data, PLAIN),
    ):
        with pytest.raises(TypeError, match=r"must be a kinemorph\.Model"):
            call()


def test_names_are_texts() -> None:
    hinge = km.Joint.revolute("x")
    for call in (
        lambda: km.Joint.revolute("x", name=5),
        lambda: km.Loop("a", "b", hinge, name=5),
        lambda: km.ForceElement.damper("a", "b", 1.0, name=5),
        lambda: km.Builder().frame(5, None),
    ):
        with pytest.raises((TypeError, ValueError), match=r"name.* (a text|a string)"):
            call()


def test_a_builder_refuses_what_is_no_shape_and_no_element() -> None:
    b = km.Builder()
    for call in (lambda: b.link("a", shapes="box"), lambda: b.base([3]), lambda: b.element("spring")):
        with pytest.raises(TypeError, match="kinemorph"):
            call()


def test_a_state_without_positions_is_refused() -> None:
    for q, v in ((None, PLAIN), (PLAIN, None)):
        with pytest.raises(TypeError, match="needs q and v"):
            km.State(q, v)


@pytest.mark.parametrize("bad", [-1.0, nan, inf])
def test_bodies_have_no_negative_size(bad: float) -> None:
    for call in (
        lambda: km.Inertia.sphere(1.0, bad),
        lambda: km.Inertia.box(1.0, (1.0, bad, 1.0)),
        lambda: km.Inertia.cylinder(1.0, 0.1, bad),
        lambda: km.Inertia.cylinder(1.0, bad, 0.1),
    ):
        with pytest.raises(ValueError, match="finite"):
            call()


def test_dependence_is_never_zero() -> None:
    model, _ = swing()
    with pytest.raises(ValueError, match="dependence 0"):
        model.with_loops([], dependence=0.0)


@pytest.mark.parametrize("joint", [km.Joint.free(), km.Joint.spherical()], ids=["free", "spherical"])
def test_a_quaternion_of_length_zero_is_blamed_wherever_it_comes_in(joint: km.Joint) -> None:
    b = km.Builder("odd")
    b.link("stone", joint=joint, inertia=km.Inertia.box(1.0, (0.1, 0.2, 0.3), (0.1, 0, 0)))
    b.loop("stone", None, km.Joint.spherical(), (0, 0, 1), (0, 0, 1))
    closed = b.build()
    model = closed.with_loops([])
    data, tied = km.Data(model), km.Data(closed)
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for call in (
        lambda: km.jacobian(model, data, q, "stone"),
        lambda: km.difference(model, q, km.neutral(model)),
        lambda: km.difference(model, km.neutral(model), q),
        lambda: km.rollout(model, data, q, v, steps=2),
        lambda: km.step(model, data, q, v, method="euler"),
        lambda: km.rollout_adaptive(model, data, q, v, [0.0, 0.1]),
        lambda: km.simulate(model, km.State(q, v), 0.01),
        lambda: km.loop_errors(closed, tied, q),
        lambda: km.loop_jacobian(closed, tied, q),
        lambda: km.loop_drift(closed, tied, q, v),
        lambda: km.batch.aba(model, [km.neutral(model), q], [v, v], [v, v]),
        lambda: km.batch.rollout(model, [q], [v], steps=2),
    ):
        with pytest.raises((ValueError, km.SimulationError), match=r"'stone'\) is a quaternion of length 0"):
            call()


def test_the_joint_that_moves_no_mass_is_blamed_and_not_those_that_carry_it() -> None:
    b = km.Builder("hand")
    b.link("arm", joint=km.Joint.free(), inertia=BALL)
    b.link("palm", "arm", km.Joint.revolute("x"), (0, 0, 1), BALL)
    b.link("thumb", "palm", km.Joint.revolute("y"), (0, 0, 1))
    b.link("finger", "palm", km.Joint.revolute("y"), (0, 1, 1), BALL)
    model = b.build(lenient=True)
    zero = np.zeros(model.nv)
    with pytest.raises(ArithmeticError, match="joint 'thumb' moves no mass"):
        km.aba(model, km.Data(model), km.neutral(model), zero, zero)
