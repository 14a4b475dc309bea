"""Names that are taken, whoever asks for them; and quaternions that are no rotations, wherever they come in."""

import numpy as np
import pytest
from tests.strategies import random_pose

import kinemorph as km

NAN = float("nan")


def looped(rng: np.random.Generator) -> tuple[km.Model, km.State]:
    """A random floating tree with a loop to a body that floats by itself."""
    n = int(rng.integers(3, 7))
    b = km.Builder("looped")
    for i in range(n):
        above = f"link {rng.integers(i)}" if i else None
        joint = km.Joint.revolute(rng.normal(size=3), name=f"joint {i}") if i else km.Joint.free(name="joint 0")
        b.link(f"link {i}", above, joint, random_pose(rng), km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    b.link("other", None, km.Joint.free(name="afloat"), random_pose(rng), km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    model = b.build()
    state = km.State(km.random_configuration(model, rng), rng.normal(size=model.nv))
    loop = km.Joint.spherical(name="loop")
    report = km.connect(model, state, f"link {n - 1}", "other", loop, (0.1, 0.2, 0.3), how="loop")
    return report.model, report.state


def test_a_cut_does_not_take_a_name_that_is_taken() -> None:
    b = km.Builder("two")
    for name in ("l0", "l1", "l2"):
        b.link(name, None if name == "l0" else "l0", km.Joint.revolute("y"), (1, 0, 0), km.Inertia.sphere(1.0, 0.1))
    model = b.build()
    state = km.State(km.neutral(model), np.zeros(3))
    with pytest.raises(ValueError, match="there is already a joint 'l0'"):
        km.cut(model, state, "l2", name="l0")
    assert km.cut(model, state, "l2", name="l2").joint == "l2"
    with pytest.raises(TypeError, match="cut: name is 5, and must be a string"):
        km.cut(model, state, "l2", name=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
def test_no_edit_takes_a_name_twice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, state = looped(rng)
    names = (*model.joint_names, *model.loop_names)
    hinge = int(rng.integers(1, model.n - 1))
    for taken in names:
        joint = km.Joint.free(name=taken)
        edits = {
            "cut": lambda taken=taken: km.cut(model, state, hinge, name=taken),
            "reroot": lambda joint=joint: km.reroot(model, state, 1, joint),
            "connect": lambda taken=taken: km.connect(
                model, state, 0, "other", km.Joint.spherical(name=taken), (0, 0, 0), how="loop"
            ),
        }
        gone = {"cut": names[hinge], "reroot": names[0]}
        for what, edit in edits.items():
            if taken == gone.get(what):
                found = edit().model
                both = (*found.joint_names, *found.loop_names)
                assert len(set(both)) == len(both)
                continue
            with pytest.raises(ValueError, match="already"):
                edit()
    with pytest.raises(ValueError, match="already"):
        km.add(model, state, model)


NO_ROTATIONS = [(0, 0, 0, 0), (NAN, 0, 0, 1), (np.inf, 0, 0, 0), (1e-200, 0, 0, 0), (1e200, 1e200, 0, 0)]


def balls() -> km.Model:
    b = km.Builder("balls")
    b.link("a", None, km.Joint.free(), (0, 0, 1), km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    b.link("b", "a", km.Joint.spherical(name="ball"), (0.3, 0, 0), km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    return b.build()


@pytest.mark.parametrize("at", [3, 7])
@pytest.mark.parametrize("wxyz", NO_ROTATIONS, ids=str)
def test_quaternions_that_are_no_rotations_never_get_in(wxyz: tuple[float, ...], at: int) -> None:
    model = balls()
    q = km.neutral(model)
    q[at : at + 4] = wxyz
    world, forest = km.World(), km.Forest()
    planted = forest.add(model)
    figure = world.add(model, name="figure")
    before, kept = world.hash(), forest.state(int(planted.trees[0])).q
    tiny = wxyz in ((1e-200, 0, 0, 0), (1e200, 1e200, 0, 0))  # their length is a number, and is made one
    for what, put in {
        "set_state": lambda: forest.set_state(int(planted.trees[0]), q=q, v=np.ones(model.nv)),
        "set_joint": lambda: world.placement.set_joint("ball", wxyz),
        "pose": lambda: setattr(figure["a"], "pose", km.Pose.quaternion(wxyz)),
    }.items():
        if tiny:
            put()
            continue
        with pytest.raises(ValueError, match=r"quaternion|not finite"):
            put()
        assert world.hash() == before, what
        np.testing.assert_array_equal(forest.state(int(planted.trees[0])).q, kept)
    for add in (lambda: km.Forest().add(model, q=q), lambda: km.World().add(model, q=q)):
        try:
            add()
        except (ValueError, ArithmeticError) as error:
            assert any(word in str(error) for word in ("quaternion", "not finite", "nan", "inf")), error  # noqa: PT017
        else:
            assert tiny
    poses = [body.pose for body in world.bodies] + [forest.pose(int(id)) for id in planted.bodies]
    for pose in poses:
        np.testing.assert_allclose(pose.rotation @ pose.rotation.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_quaternions_of_any_length_are_made_rotations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = balls()
    q = km.random_configuration(model, rng)
    long = q.copy()
    long[3:7] *= 10.0 ** rng.uniform(-3, 3)
    long[7:] *= -(10.0 ** rng.uniform(-3, 3))
    forest = km.Forest()
    tree = int(forest.add(model, long).trees[0])
    for _ in range(2):
        found = forest.state(tree).q
        np.testing.assert_allclose(found[:7], q[:7], atol=1e-14)
        np.testing.assert_allclose(found[7:], -q[7:], atol=1e-14)
        forest.set_state(tree, q=long)
    forest.set_state(tree, q=found)
    np.testing.assert_array_equal(forest.state(tree).q, found)  # those of length one keep their bits
    with pytest.raises(ValueError, match="v: expected 9 numbers"):
        forest.set_state(tree, q=q, v=[1.0])
    np.testing.assert_array_equal(forest.state(tree).q, found)  # nothing by halves
