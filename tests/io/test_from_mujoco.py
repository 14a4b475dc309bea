"""Models from MuJoCo's compiled ones: the same machine, in all that MuJoCo can be asked."""

import mujoco
import numpy as np
import pytest
from tests.mujoco_twin import assert_equal, compiled, gymnasium_files, needs_gymnasium, without_what_is_ignored

import kinemorph as km

MACHINE = """
<mujoco model="machine">
  <compiler angle="radian"/>
  <option gravity="0.3 -0.2 -9.81"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" friction="0.7 0.01 0.002" condim="6"/>
    <site name="corner" pos="1 2 3" euler="0.1 0.2 0.3"/>
    <body name="torso" pos="0.1 0.2 1" euler="0.3 0.2 0.1">
      <freejoint name="root"/>
      <geom type="capsule" fromto="0 0 -0.2 0 0.1 0.3" size="0.1"/>
      <geom type="box" size="0.1 0.2 0.05" pos="0.2 0 0" euler="0 0.4 0" contype="0" conaffinity="0" group="1"/>
      <body name="arm" pos="0 0.3 0.1" euler="0.2 0 0.5">
        <joint name="shoulder_x" axis="1 0 0" pos="0 0.05 0" damping="0.3" range="-1 2" ref="0.2"/>
        <joint name="shoulder_y" axis="0 1 0.2" pos="0.02 0 0.1" stiffness="7" springref="0.4" ref="0.1"
          armature="0.2"/>
        <geom type="cylinder" size="0.05 0.2" density="700"/>
        <site name="elbow" pos="0 0 0.2"/>
        <body name="plate" pos="0 0 0.25" quat="1 0.2 0 0">
          <geom type="ellipsoid" size="0.1 0.05 0.02" mass="0.4"/>
          <body name="hand" pos="0.1 0 0">
            <joint name="wrist" type="ball" pos="0 0.02 -0.03" stiffness="2" damping="0.1" armature="0.01"/>
            <geom size="0.06"/>
          </body>
        </body>
      </body>
      <body name="leg" pos="0 -0.3 -0.1">
        <joint name="slide" type="slide" axis="1 1 0" frictionloss="0.4" range="-0.1 0.4" limited="true"
          actuatorfrcrange="-3 3"/>
        <joint name="knee" axis="0 0 1" pos="0.1 0 0"/>
        <inertial pos="0.01 0.02 0.03" mass="2" fullinertia="0.03 0.04 0.05 0.001 -0.002 0.003"/>
      </body>
    </body>
    <body name="door" pos="2 0 0">
      <joint name="hinge" axis="0 0 1"/>
      <geom type="box" size="0.4 0.02 1"/>
    </body>
  </worldbody>
  <contact>
    <exclude body1="torso" body2="hand"/>
  </contact>
  <equality>
    <connect name="tie" body1="hand" body2="leg" anchor="0.1 0.2 0.3"/>
    <weld name="glue" body1="leg" body2="door" anchor="0.1 0 0"/>
    <joint name="gear" joint1="knee" joint2="shoulder_x" polycoef="0.3 2 0 0 0"/>
    <joint name="lock" joint1="hinge" polycoef="0.4 0 0 0 0"/>
  </equality>
  <actuator>
    <motor name="push" joint="slide" gear="3" ctrlrange="-1 1"/>
    <position name="turn" joint="shoulder_y" kp="20" kv="2" gear="0.5" forcerange="-5 5"/>
    <velocity name="spin" joint="knee" kv="4"/>
    <motor name="twist" joint="wrist" gear="1 2 3"/>
  </actuator>
  <keyframe>
    <key name="home" time="2" qpos="1 2 3 0.5 0.5 0.5 0.5 0.1 0.2 1 0 0 0 0.3 0.4 0.5" ctrl="0.1 0.2 0.3 0.4"
      qvel="1 2 3 4 5 6 7 8 9 10 11 12 13 14"/>
  </keyframe>
</mujoco>
"""


@pytest.fixture(scope="module")
def peer():
    return compiled(MACHINE)


@pytest.fixture(scope="module")
def machine(peer):
    return km.from_mujoco(peer)


def test_machine_moves_as_in_mujoco(peer, machine, rng):
    assert_equal(machine, peer, rng, 1e-12)


def test_bodies_that_do_not_move_can_stay_links(peer, rng):
    model = km.from_mujoco(peer, merge_fixed=False)
    assert "plate" in model.names
    assert_equal(model, peer, rng, 1e-12)


def test_several_joints_of_a_body_are_links_in_a_row(machine):
    assert machine.names[1:3] == ("arm:shoulder_x", "arm")
    assert machine.joint_names[1:3] == ("shoulder_x", "shoulder_y")


def test_limits_and_rests_count_from_the_drawn_pose(machine):
    assert machine.limits("shoulder_x") == (pytest.approx([-1.2]), pytest.approx([1.8]))
    assert machine.rest[machine.q_slice("shoulder_y")] == pytest.approx([0.3])
    assert machine.dofs[machine.v_slice("slide")]["effort_limit"] == 3.0
    assert machine.dofs[machine.v_slice("slide")]["friction"] == 0.4


def test_equalities_forbid_what_mujoco_forbids(machine, peer):
    q = km.neutral(machine)  # where they are closed: else the two sides of a row act at two places
    to, theirs, data = km.convert.mujoco(machine, peer), mujoco.MjData(peer), km.Data(machine)
    theirs.qpos = to.q(q)
    mujoco.mj_forward(peer, theirs)
    J = theirs.efc_J.reshape(-1, peer.nv)[theirs.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    J = J @ np.array([to.v(q, unit) for unit in np.eye(machine.nv)]).T
    held = km.loop_jacobian(machine, data, q)
    assert machine.loop_names == ("tie", "glue", "lock")
    for rows, count in ((slice(0, 3), 3), (slice(3, 9), 6)):  # of the same space, in other axes
        both = np.concatenate([J[rows], held[rows]])
        assert np.linalg.matrix_rank(both, tol=1e-9) == np.linalg.matrix_rank(J[rows], tol=1e-9) == count
    assert np.abs(km.loop_errors(machine, data, q)[:9]).max() < 1e-12


def test_joint_equalities_are_mimics_and_locks(machine):
    (mimic,) = machine.mimics
    assert (mimic.joint, mimic.source, mimic.multiplier, mimic.offset) == ("knee", "shoulder_x", 2.0, 0.3)
    q = km.neutral(machine)
    q[machine.q_slice("hinge")] = 0.4
    assert np.abs(km.loop_errors(machine, km.Data(machine), q)[9:]).max() < 1e-12


def test_actuators_push_as_in_mujoco(machine, peer, rng):
    to, theirs = km.convert.mujoco(machine, peer), mujoco.MjData(peer)
    for _ in range(5):
        q, v, u = km.random_configuration(machine, rng), rng.normal(size=machine.nv), 2.0 * rng.normal(size=4)
        theirs.qpos, theirs.qvel, theirs.ctrl = to.q(q), to.v(q, v), u
        mujoco.mj_forward(peer, theirs)
        assert to.tau(q, km.actuator_forces(machine, q, v, u)) == pytest.approx(theirs.qfrc_actuator, abs=1e-12)


def test_keyframe_is_the_same_state(machine, peer):
    key = machine.keyframes["home"]
    to = km.convert.mujoco(machine, peer)
    assert to.q(key.state.q) == pytest.approx(peer.key_qpos[0], abs=1e-12)
    assert to.v(key.state.q, key.state.v) == pytest.approx(peer.key_qvel[0], abs=1e-12)
    assert (key.state.time, key.control) == (2.0, (0.1, 0.2, 0.3, 0.4))


def test_floor_and_exclusions_are_kept(machine):
    (floor,) = machine.floors
    assert (floor.name, floor.material) == ("floor", km.Material(0.7, 0.01, 0.002, directions=6))
    assert machine.exclusions == ((machine.link("torso"), machine.link("hand")),)


def test_shapes_keep_sizes_roles_and_materials(machine):
    capsule, box = machine.shapes[machine.link("torso")]
    assert capsule.size == pytest.approx((0.1, np.hypot(0.1, 0.5)))
    assert (capsule.role, box.role, box.size) == (km.Role.BOTH, km.Role.VISUAL, (0.2, 0.4, 0.1))


@pytest.mark.parametrize(("first", "second"), [((1, 0), (0, 1)), ((3, 4), (4, 2)), ((2, 1), (1, 2)), ((1, 0), (1, 0))])
def test_shapes_meet_as_in_mujoco(first, second):
    from kinemorph.io.mjcf.mujoco_build import filters

    for bits in ([first, second, (1, 1), (0, 0)], [first, second]):
        sorts = filters(bits)
        for (t, a), (group, mask) in zip(bits, sorts, strict=True):
            for (other_t, other_a), (other_group, other_mask) in zip(bits, sorts, strict=True):
                if (t, a) != (0, 0) and (other_t, other_a) != (0, 0):
                    theirs = bool(t & other_a or other_t & a)
                    assert bool(mask & other_group and other_mask & group) is theirs


HINGE = '<body name="b"><joint name="j"/><geom size="1"/></body>'


@pytest.mark.parametrize(
    ("body", "more", "kind", "words"),
    [
        (HINGE, '<tendon><fixed name="t" stiffness="3"><joint joint="j" coef="1"/></fixed></tendon>', "tendon", "'t'"),
        (HINGE, '<actuator><muscle name="m" joint="j" lengthrange="0 1"/></actuator>', "actuator", "'m'"),
        (HINGE, '<option viscosity="1"/>', "fluid", "model"),
        (HINGE.replace("<body", '<body gravcomp="1"'), "", "gravcomp", "body 'b'"),
        ('<body name="b" mocap="true"><geom size="1"/></body>', "", "mocap", "body 'b'"),
        (HINGE.replace("<joint", '<joint type="ball" range="0 30"'), "", "limit", "joint 'j'"),
        (HINGE.replace("<joint", '<joint damping="1 2"'), "", "polynomial", "joint 'j'"),
        (HINGE.replace("<joint", '<joint type="free" armature="1"'), "", "armature", "joint 'j'"),
    ],
)
def test_what_cannot_be_had_is_named_or_left_out(body, more, kind, words):
    peer = compiled(f"<mujoco><worldbody>{body}</worldbody>{more}</mujoco>")
    with pytest.raises(km.FileError, match=words) as found:
        km.from_mujoco(peer)
    assert f'ignore=("{kind}",)' in str(found.value)
    with pytest.warns(km.ModelWarning, match=words):
        km.from_mujoco(peer, ignore=(kind,))


def test_unknown_kinds_to_ignore_are_refused(peer):
    with pytest.raises(ValueError, match="tendons"):
        km.from_mujoco(peer, ignore=("tendons",))


def test_names_that_are_missing_are_made():
    peer = compiled("""
    <mujoco><worldbody>
      <body><joint/><joint axis="1 0 0"/><geom size="1"/><site name="body1"/></body>
      <body name="b"><joint/><geom size="1"/></body>
    </worldbody></mujoco>
    """)
    model = km.from_mujoco(peer)
    assert model.names == ("body1:body1:0", "body1", "b")
    assert model.joint_names == ("body1:0", "body1:1", "b")
    assert "body1#2" in model.frames
    assert km.convert.mujoco(model, peer).nv == 3


@needs_gymnasium
@pytest.mark.parametrize("path", gymnasium_files(), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")
def test_gymnasium_files_move_as_in_mujoco(path, rng):
    peer = mujoco.MjModel.from_xml_path(str(path))
    model = km.from_mujoco(peer, ignore=("fluid",) if path.stem == "swimmer" else ())
    without_what_is_ignored(peer)
    assert_equal(model, peer, rng)
