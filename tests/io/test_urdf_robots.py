"""Every robot of example-robot-data, against Pinocchio's own reading of the same file."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.robots import EMPTY, ROBOTS, load

from kinemorph._files import FileError, ModelWarning
from kinemorph.io.urdf.load_urdf import load_urdf
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.model import Model

if not ROBOTS:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)
pin = pytest.importorskip("pinocchio")

both = pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
every = pytest.mark.parametrize("name", [name for name in ROBOTS if name != EMPTY])

# What no real machine is like, in the files of real machines.
NO_BODY_HAS_IT = {
    "alex_description/alex_psyonic_hands",
    "allegro_hand_description/allegro_left_hand",
    "allegro_hand_description/allegro_right_hand",
    "anymal_b_simple_description/anymal",
    "anymal_b_simple_description/anymal-kinova",
    "anymal_c_simple_description/anymal",
    "b1_description/b1",
    "b1_description/b1-z1",
    "go1_description/go1",
    "hyq_description/hyq_no_sensors",
    "pr2_description/pr2",
    "romeo_description/romeo_laas_small",
    "romeo_description/romeo_small",
    "tiago_description/tiago",
    "tiago_description/tiago_dual",
    "tiago_description/tiago_no_hand",
}
MOVES_NO_MASS = {"romeo_description/romeo", "romeo_description/romeo_laas_small"}
MIMICS_NOBODY = {"alex_description/alex_psyonic_hands"}
MESHES_ELSEWHERE = {"romeo_description/romeo_laas_small"}


@cache
def ours(name: str, floating: bool) -> Model:
    return load(name, floating)


@cache
def theirs(name: str, floating: bool) -> Any:
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    return pin.buildModelFromUrdf(str(ROBOTS[name]), *root)


def home(model: Model) -> list[np.ndarray]:
    """World poses of the links when all joints are at zero: a walk over the rows, one matrix a link."""
    poses: list[np.ndarray] = []
    for row in model.links:
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = row["R"].reshape(3, 3), row["p"]
        poses.append(X if row["parent"] < 0 else poses[row["parent"]] @ X)
    return poses


def test_there_are_many_robots():
    assert len(ROBOTS) >= 60


@every
@both
def test_mass_and_degrees_of_freedom_agree(name, floating):
    model, other = ours(name, floating), theirs(name, floating)
    assert model.nv == other.nv
    assert model.mass == pytest.approx(sum(inertia.mass for inertia in other.inertias[1:]), rel=1e-12)


@every
@both
def test_joints_and_links_have_the_names_of_the_file(name, floating):
    model, other = ours(name, floating), theirs(name, floating)
    assert set(model.joint_names) == set(other.names[1:])
    links = {frame.name for frame in other.frames if frame.type == pin.FrameType.BODY}
    assert links <= set(model.frames)
    assert set(model.names) <= links


@every
def test_limits_and_passive_forces_agree(name):
    model, other = ours(name, False), theirs(name, False)
    for i, joint in enumerate(model.joint_names):
        k = other.joints[other.getJointId(joint)].idx_v
        dof = model.dofs[model.links[i]["iv"]]
        assert dof["velocity_limit"] == other.velocityLimit[k]
        assert dof["effort_limit"] == other.effortLimit[k]
        assert dof["damping"] == other.damping[k]
        assert dof["friction"] == other.friction[k]
        j = other.joints[other.getJointId(joint)]
        if j.nq == 1:  # a continuous joint has a cosine and a sine there, without limits
            assert dof["lower"] == other.lowerPositionLimit[j.idx_q]
            assert dof["upper"] == other.upperPositionLimit[j.idx_q]
        else:
            assert (dof["lower"], dof["upper"]) == (-np.inf, np.inf)


@every
@both
def test_link_frames_are_where_pinocchio_has_them(name, floating):
    model, other = ours(name, floating), theirs(name, floating)
    data = other.createData()
    pin.framesForwardKinematics(other, data, pin.neutral(other))
    poses = home(model)
    for frame, placement in zip(other.frames, data.oMf):
        if frame.type != pin.FrameType.BODY:
            continue
        link, at = model.frames[frame.name]
        pose = at.matrix() if link < 0 else poses[link] @ at.matrix()
        np.testing.assert_allclose(pose, placement.homogeneous, atol=1e-9)


@every
def test_merged_inertias_agree(name):
    model, other = ours(name, True), theirs(name, True)
    for i, joint in enumerate(model.joint_names):
        row, inertia = model.links[i], other.inertias[other.getJointId(joint)]
        size = abs(inertia.matrix()).max() + 1e-12
        assert row["mass"] == pytest.approx(inertia.mass, rel=1e-12, abs=1e-15)
        np.testing.assert_allclose(row["h"], inertia.mass * inertia.lever, atol=1e-12 * size)
        about_origin = inertia.matrix()[3:, 3:]
        np.testing.assert_allclose(row["I"], about_origin[np.triu_indices(3)], atol=1e-10 * size)


@every
def test_unmerged_links_are_the_same_robot(name):
    merged, whole = ours(name, True), load(name, True, merge_fixed=False)
    assert whole.nv == merged.nv
    assert whole.mass == pytest.approx(merged.mass, rel=1e-12)
    assert set(whole.names) <= set(merged.frames)
    assert set(whole.joint_names) >= set(merged.joint_names)
    merged_poses, poses = home(merged), home(whole)
    for i, link in enumerate(whole.names):
        carrier, at = merged.frames[link]
        np.testing.assert_allclose(poses[i], merged_poses[carrier] @ at.matrix(), atol=1e-9)
    assert sum(map(len, whole.shapes)) == sum(map(len, merged.shapes))


@every
def test_the_axis_of_every_joint_has_length_one(name):
    rows = ours(name, False).links
    moving = rows[np.isin(rows["kind"], (JointKind.REVOLUTE, JointKind.PRISMATIC))]
    np.testing.assert_allclose(np.linalg.norm(moving["axis"], axis=1), 1.0, atol=1e-15)


@every
def test_each_kind_of_oddity_warns_once_and_strict_refuses_it(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_urdf(ROBOTS[name])
    messages = [str(w.message) for w in caught]
    assert all(w.category is ModelWarning and w.filename == __file__ for w in caught)
    assert all(re.match(rf"{re.escape(str(ROBOTS[name]))}:\d+: <\w+", m) for m in messages)
    expected = {
        "no body has it": NO_BODY_HAS_IT,
        "moves no mass": MOVES_NO_MASS,
        "no joint of this name": MIMICS_NOBODY,
        "no such file on this machine": MESHES_ELSEWHERE,
    }
    assert len(messages) == sum(name in robots for robots in expected.values())
    for complaint, robots in expected.items():
        assert sum(complaint in m for m in messages) == (name in robots)
    if messages:
        with pytest.raises(FileError, match="strict=True"):
            load_urdf(ROBOTS[name], strict=True)


@both
def test_a_file_without_links_is_an_empty_model(floating):
    with pytest.warns(ModelWarning, match=r"ur3\.urdf:6: <robot>: there are no <link> elements; the model is empty"):
        model = load_urdf(ROBOTS[EMPTY], floating)
    assert (model.n, model.nq, model.nv, model.mass, model.name) == (0, 0, 0, 0.0, "ur3")


@every
def test_every_mesh_is_found(name):
    model = ours(name, False)
    meshes = [s.path for shapes in (*model.shapes, model.base_shapes) for s in shapes if s.path is not None]
    assert all(path.is_file() for path in meshes)
