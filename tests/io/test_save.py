"""Models as files, and back: MJCF through MuJoCo and through our own reader, URDF and SDF."""

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.test_from_mujoco import MACHINE
from tests.io.test_mjcf import assert_same
from tests.mujoco_twin import assert_equal, gymnasium_files, needs_gymnasium
from tests.robots import ROBOTS
from tests.strategies import random_tree, seeds

import kinemorph as km
from kinemorph.multibody.layout import JointKind
from kinemorph.scenes.robots.catalog import cassie

FIELDS = ("parent", "kind", "iq", "iv", "R", "p", "mass", "h", "I")
PLAIN = [JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SPHERICAL, JointKind.FIXED]


def assert_same_tree(ours: km.Model, theirs: km.Model, tolerance: float, but: tuple[str, ...] = ()) -> None:
    """The same rows, up to rounding, as far as their joints use them."""
    assert (ours.names, ours.joint_names) == (theirs.names, theirs.joint_names)
    for field in FIELDS:
        np.testing.assert_allclose(ours.links[field], theirs.links[field], atol=tolerance, err_msg=field)
    for kinds, field in (
        ((JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SCREW, JointKind.UNIVERSAL), "axis"),
        ((JointKind.UNIVERSAL,), "axis2"),
        ((JointKind.SCREW,), "pitch"),
    ):
        used = np.isin(ours.links["kind"], kinds)
        np.testing.assert_allclose(ours.links[field][used], theirs.links[field][used], atol=tolerance, err_msg=field)
    for field in ours.dofs.dtype.names or ():
        if field not in but:
            np.testing.assert_allclose(ours.dofs[field], theirs.dofs[field], atol=tolerance, err_msg=field)


def assert_moves_alike(ours: km.Model, theirs: km.Model, rng: np.random.Generator, tolerance: float = 1e-12) -> None:
    """Mass matrix, gravity and accelerations, where q and v mean the same."""
    q, v = km.random_configuration(ours, rng), rng.normal(size=ours.nv)
    tau = rng.normal(size=ours.nv)
    one, two = km.Data(ours), km.Data(theirs)
    M = km.crba(ours, one, q).copy()
    np.testing.assert_allclose(km.crba(theirs, two, q), M, atol=tolerance * np.abs(M).max(initial=1.0))
    forces = km.rnea(ours, one, q, v, tau)
    np.testing.assert_allclose(
        km.rnea(theirs, two, q, v, tau), forces, atol=tolerance * np.abs(forces).max(initial=1.0)
    )
    for name in ours.names:
        km.kinematics(ours, one, q)
        km.kinematics(theirs, two, q)
        poses = [km.pose_of(m, d, name).matrix() for m, d in ((ours, one), (theirs, two))]
        np.testing.assert_allclose(*poses, atol=tolerance * 10)


@settings(max_examples=25)
@given(seeds(), st.integers(1, 8))
def test_tree_through_mujoco_is_the_same_model(tmp_path_factory, seed, n):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n, kinds=PLAIN)
    path = km.save_mjcf(tree, tmp_path_factory.mktemp("mjcf") / "tree.xml")
    back = km.from_mujoco(mujoco.MjModel.from_xml_path(str(path)), merge_fixed=False)
    assert_same_tree(back, tree, 1e-12)
    assert_same(km.load_mjcf(path, merge_fixed=False), back)


@settings(max_examples=15)
@given(seeds(), st.integers(1, 6))
def test_every_kind_of_joint_but_a_screw_is_written_as_mjcf(tmp_path_factory, seed, n):
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in JointKind if kind not in (JointKind.SCREW, JointKind.FREE)]
    tree = random_tree(rng, n, kinds=kinds)
    path = km.save_mjcf(tree, tmp_path_factory.mktemp("mjcf") / "tree.xml")
    back = km.from_mujoco(mujoco.MjModel.from_xml_path(str(path)), merge_fixed=False)
    assert_moves_alike(tree, back, rng)
    assert_moves_alike(tree, km.load_mjcf(path, merge_fixed=False), rng)


def test_links_without_mass_are_joints_of_one_body_as_far_as_mujoco_lets_them(tmp_path, rng):
    hinges, ball = [km.Joint.revolute(axis, armature=0.1) for axis in "xyzxyzx"], km.Joint.spherical()

    def row(*joints):
        b, parent = km.Builder("row"), None
        for k, joint in enumerate(joints):
            inertia = km.Inertia.box(2.0, (0.1, 0.2, 0.3), (1, 0, 0)) if k == len(joints) - 1 else None
            parent = b.link(f"l{k}", parent, joint, at=(0.1, 0.2 * k, 0.3), inertia=inertia)
        return b.build()

    turns = row(hinges[0], hinges[1], ball)
    peer = mujoco.MjModel.from_xml_path(str(km.save_mjcf(turns, tmp_path / "turns.xml")))
    assert (peer.nbody, peer.njnt) == (2, 3)
    assert_equal(turns, peer, rng)
    for joints, name in (((ball, hinges[0]), "l0"), (hinges, "l5")):
        with pytest.raises(ValueError, match=f"link '{name}' .* it moves without mass, which MuJoCo refuses"):
            km.save_mjcf(row(*joints), tmp_path / "refused.xml")


@pytest.mark.parametrize("through", ["mujoco", "own"])
def test_machine_comes_back_whole(tmp_path, through):
    model = km.parse_mjcf(MACHINE)
    path = km.save_mjcf(model, tmp_path / "machine.xml")
    back = km.load_mjcf(path) if through == "own" else km.from_mujoco(mujoco.MjModel.from_xml_path(str(path)))
    joints = [m.joint for m in model.mimics]
    assert joints == [m.joint for m in back.mimics]
    assert back.loop_names == model.loop_names
    np.testing.assert_allclose(back.loop_rows["pa"], model.loop_rows["pa"], atol=1e-12)
    np.testing.assert_allclose(back.loop_rows["pb"], model.loop_rows["pb"], atol=1e-12)
    plain = model.with_loops(())
    sites = {name for name in back.frames if name not in model.frames}
    assert all(name.endswith((":a", ":b")) for name in sites)  # the ends of loops
    assert_same_tree(back, plain, 1e-12)
    assert [a.name for a in back.actuators] == [a.name for a in model.actuators]
    for a, b in zip(back.actuators, model.actuators, strict=True):
        assert (a.gain, a.gear, a.control, a.force) == (b.gain, b.gear, b.control, b.force)
        assert a.bias == pytest.approx(b.bias)
    assert back.exclusions == model.exclusions
    assert back.keyframes["home"].state.q == pytest.approx(model.keyframes["home"].state.q, abs=1e-12)
    assert back.keyframes["home"].state.v == pytest.approx(model.keyframes["home"].state.v, abs=1e-12)
    assert back.floors[0].material == model.floors[0].material
    for mine, theirs in zip((*model.shapes, model.base_shapes), (*back.shapes, back.base_shapes), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert (a.kind, a.role, a.name, a.material, a.group, a.mask) == (
                b.kind, b.role, b.name, b.material, b.group, b.mask
            )  # fmt: skip
            assert a.size == pytest.approx(b.size)


@needs_gymnasium
@pytest.mark.parametrize("path", gymnasium_files()[:5], ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")
def test_gymnasium_files_come_back(path, tmp_path, rng):
    model = km.load_mjcf(path)
    back = km.load_mjcf(km.save_mjcf(model, tmp_path / "back.xml"))
    assert (back.names, back.joint_names) == (model.names, model.joint_names)
    assert_moves_alike(model, back, rng, 1e-11)


@pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")
@pytest.mark.parametrize("name", ["panda_description/panda", "go2_description/go2", "human_description/human"])
def test_robot_from_urdf_moves_alike_in_mujoco(name, tmp_path, rng):
    model = km.load_urdf(ROBOTS[name], floating=True)
    path = km.save_mjcf(model, tmp_path / "robot.xml")
    assert_equal(model, mujoco.MjModel.from_xml_path(str(path)), rng)


def test_hinge_that_closes_a_loop_is_two_points_that_are_held(tmp_path, rng):
    b = km.Builder("bars")
    rod = km.Inertia.box(1.0, (0.1, 0.1, 1.0))
    b.link("a", joint=km.Joint.revolute("y"), inertia=rod)
    b.link("b", "a", km.Joint.revolute("y"), at=(0, 0, 1), inertia=rod)
    b.loop(None, "b", km.Joint.revolute("y"), (1, 0, 0), (1, 0, -1), "closing")
    model = b.build()
    back = km.from_mujoco(mujoco.MjModel.from_xml_path(str(km.save_mjcf(model, tmp_path / "bars.xml"))))
    assert back.loop_names == ("closing", "closing:axis")
    held = [km.loop_jacobian(m, km.Data(m), np.zeros(2)) for m in (model, back)]
    assert np.linalg.matrix_rank(np.concatenate(held), tol=1e-9) == np.linalg.matrix_rank(held[0], tol=1e-9)


def one_joint(joint: km.Joint, parent: bool = False) -> km.Model:
    b = km.Builder("model")
    if parent:
        b.link("top", joint=km.Joint.revolute(), inertia=km.Inertia.box(1.0, (1, 1, 1)))
    b.link("part", "top" if parent else None, joint, inertia=km.Inertia.box(1.0, (1, 1, 1)))
    return b.build()


REFUSED = [
    (km.save_mjcf, one_joint(km.Joint.screw(pitch=0.1)), "joint 'part' .* screw"),
    (km.save_mjcf, one_joint(km.Joint.free(), True), "joint 'part' .* only what hangs on the world is free"),
    (km.save_mjcf, one_joint(km.Joint.spherical(damping=(1, 2, 3))), "joint 'part' .* damping must be the same"),
    (km.save_mjcf, one_joint(km.Joint.spherical(upper=1.0)), "joint 'part' .* cone"),
    (km.save_urdf, one_joint(km.Joint.screw(pitch=0.1)), "joint 'part' .* screw"),
    (km.save_urdf, one_joint(km.Joint.spherical()), "joint 'part' .* spherical"),
    (km.save_urdf, one_joint(km.Joint.planar("z", (1, 1, 0))), "joint 'part' .* normal alone"),
    (km.save_sdf, one_joint(km.Joint.planar()), "joint 'part' .* no planar joint"),
    (km.save_sdf, one_joint(km.Joint.cylindrical()), "joint 'part' .* no cylindrical joint"),
    (km.save_urdf, one_joint(km.Joint.revolute()).with_loops([km.Loop(None, "part", km.Joint.fixed(), name="ring")]),
     "loop 'ring' .* URDF: a URDF is a tree"),
    (km.save_sdf, one_joint(km.Joint.revolute()).with_loops([km.Loop(None, "part", km.Joint.fixed(), (1, 0, 0))]),
     "loop 'loop0' .* open where all joints are at zero"),
]  # fmt: skip


@pytest.mark.parametrize(("save", "model", "words"), REFUSED)
def test_what_cannot_be_written_is_refused_by_name(save, model, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        save(model, tmp_path / "model.xml")
    assert not (tmp_path / "model.xml").exists()


def test_what_has_no_place_is_said(tmp_path):
    model = one_joint(km.Joint.revolute(velocity_limit=3.0, armature=0.2))
    with pytest.warns(km.ModelWarning, match="MJCF has no limits of speed: left out of 'part'"):
        km.save_mjcf(model, tmp_path / "model.xml")
    with pytest.warns(km.ModelWarning, match="URDF has no armature"):
        km.save_urdf(model, tmp_path / "model.urdf")


FULL = """<mujoco>
<option gravity="0 0 -1.62"/>
<worldbody>
  <geom type="plane" size="1 1 1"/>
  <body name="a"><joint name="j"/><geom size="0.1" friction="0.5" contype="2"/></body>
  <body name="b"><freejoint/><geom size="0.1"/></body>
</worldbody>
<actuator><motor joint="j"/></actuator>
<contact><exclude body1="a" body2="b"/></contact>
<keyframe><key name="k" qpos="1 0 0 0 1 0 0 0"/></keyframe>
</mujoco>"""


@pytest.mark.parametrize("save", [km.save_urdf, km.save_sdf])
def test_all_that_only_mjcf_has_is_said(tmp_path, save):
    model = km.parse_mjcf(FULL).with_dofs(damping=0.1)
    with pytest.warns(km.ModelWarning) as found:
        save(model, tmp_path / "model")
    said = " ".join(str(warning.message) for warning in found)
    for words in (
        "actuators", "keyframes", "floors", "bodies that do not meet", "other gravity than 9.81", "materials of shapes",
        "groups of shapes: left out of 'a'", "damping of free joints: left out of 'b'",
    ):  # fmt: skip
        assert f"has no {words}" in said


# ------------------------------------------------------------------------------------------------------ URDF and SDF


@settings(max_examples=20)
@given(seeds(), st.integers(1, 7))
@pytest.mark.filterwarnings("ignore:.* has no other gravity:kinemorph.ModelWarning")
def test_tree_comes_back_from_urdf(tmp_path_factory, seed, n):
    rng = np.random.default_rng(seed)
    kinds = [JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.FIXED, JointKind.FREE]
    tree = random_tree(rng, n, kinds=kinds)
    path = km.save_urdf(tree, tmp_path_factory.mktemp("urdf") / "tree.urdf")
    back = km.load_urdf(path, merge_fixed=False, gravity=tree.gravity)
    # frames become links without mass, in no particular place among the others
    order = [back.names.index(name) for name in tree.names]
    np.testing.assert_allclose(back.links["I"][order], tree.links["I"], atol=1e-12)
    merged = km.load_urdf(path, gravity=tree.gravity)
    np.testing.assert_allclose(merged.frames["tool"][1].matrix()[3], [0, 0, 0, 1])
    assert_moves_alike(tree, back, rng, 1e-11)


@settings(max_examples=10)
@given(seeds())
@pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")
def test_joints_of_two_directions_are_two_joints_of_urdf(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 4, kinds=[JointKind.UNIVERSAL, JointKind.CYLINDRICAL, JointKind.REVOLUTE])
    path = km.save_urdf(tree, tmp_path_factory.mktemp("urdf") / "tree.urdf")
    assert_moves_alike(tree, km.load_urdf(path, gravity=tree.gravity), rng, 1e-11)


@settings(max_examples=20)
@given(seeds(), st.integers(1, 7))
@pytest.mark.filterwarnings("ignore:.* has no other gravity:kinemorph.ModelWarning")
def test_tree_comes_back_from_sdf(tmp_path_factory, seed, n):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n, kinds=[*PLAIN, JointKind.UNIVERSAL, JointKind.SCREW])
    path = km.save_sdf(tree, tmp_path_factory.mktemp("sdf") / "tree.sdf")
    back = km.load_sdf(path, merge_fixed=False, gravity=tree.gravity)
    assert back.names == ("base", *tree.names)  # a link for the frame that stands in the world
    links = back.links[1:].copy()
    links["parent"] -= 1
    np.testing.assert_array_equal(np.maximum(links["parent"], -1), tree.links["parent"])
    for field in FIELDS[1:]:
        np.testing.assert_allclose(links[field], tree.links[field], atol=1e-11, err_msg=field)
    for field in back.dofs.dtype.names or ():
        if field not in ("link", "parent"):
            np.testing.assert_allclose(back.dofs[field], tree.dofs[field], atol=1e-11, err_msg=field)
    assert_moves_alike(tree, back, rng, 1e-11)
    merged = km.load_sdf(path)
    np.testing.assert_allclose(merged.frames["stand"][1].matrix(), tree.frames["stand"][1].matrix(), atol=1e-11)


def test_robot_with_loops_comes_back_from_sdf(tmp_path, rng):
    robot = cassie()
    with pytest.warns(km.ModelWarning, match=r"SDF has no"):
        path = km.save_sdf(robot.with_dofs(armature=0.1), tmp_path / "cassie.sdf")
    back = km.load_sdf(path)
    assert set(back.loop_names) == set(robot.loop_names)
    assert (back.nv, back.m) == (robot.nv, robot.m)
    assert_moves_alike(robot, back, rng, 1e-10)


@pytest.mark.parametrize(
    "joint",
    [
        km.Joint.revolute("y", stiffness=3.0, damping=0.2, rest=0.3), km.Joint.prismatic("x", stiffness=3.0, rest=0.1),
        km.Joint.screw("y", 0.1), km.Joint.spherical(), km.Joint.fixed(),
    ],
    ids=lambda joint: joint.kind.name.lower(),
)  # fmt: skip
def test_loop_that_holds_the_world_comes_back_from_sdf(tmp_path, rng, joint):
    b, rod = km.Builder("bars"), km.Inertia.box(1.0, (0.1, 0.1, 1.0))
    b.link("a", None, km.Joint.free(name="root_joint"), inertia=rod)
    b.link("b", "a", km.Joint.spherical(), at=(0, 0, 1), inertia=rod)
    b.loop("b", None, joint, (1, 0, 0), (1, 0, 1), "closing")
    b.frame("mark", None, (1, 2, 3))
    model = b.build()
    back = km.load_sdf(km.save_sdf(model, tmp_path / "bars.sdf"))
    np.testing.assert_allclose(back.frames["mark"][1].position, [1, 2, 3])
    v = 0.3 * rng.normal(size=model.nv)
    q, v = km.project(model, km.Data(model), km.integrate(model, km.neutral(model), v, 0.3), v)
    tau = rng.normal(size=model.nv)
    ours, theirs = (
        km.forward_dynamics(m, km.Data(m), q, v, tau + km.passive_forces(m, km.Data(m), q, v)[0]) for m in (model, back)
    )
    np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9)


def test_limits_and_what_acts_in_joints_come_back(tmp_path):
    joint = km.Joint.revolute(
        "y", lower=-1.0, upper=2.0, velocity_limit=3.0, effort_limit=4.0, damping=0.5, friction=0.25
    )
    model = one_joint(joint)
    for save, load in ((km.save_urdf, km.load_urdf), (km.save_sdf, km.load_sdf)):
        assert_same_tree(load(save(model, tmp_path / "model.xml")), model, 0.0)
    one_sided = one_joint(km.Joint.prismatic("y", lower=-1.0))
    for save, load in ((km.save_urdf, km.load_urdf), (km.save_sdf, km.load_sdf), (km.save_mjcf, km.load_mjcf)):
        assert_same_tree(load(save(one_sided, tmp_path / "model.xml")), one_sided, 1e-15)


def test_floating_robot_is_written_without_its_free_joint(tmp_path):
    model = km.load_urdf(ROBOTS["go2_description/go2"], floating=True)
    path = km.save_urdf(model, tmp_path / "go2.urdf")
    back = km.load_urdf(path, floating=True)
    assert_same_tree(back, model, 1e-11)
    assert set(model.frames) <= set(back.frames)


def test_long_chain_comes_back(tmp_path):
    b = km.Builder("chain")
    for i in range(600):  # the bodies of MJCF lie in each other
        inertia = km.Inertia.box(1.0, (0.1, 0.1, 0.3))
        b.link(f"l{i}", f"l{i - 1}" if i else None, km.Joint.revolute("y"), (0, 0, 0.3), inertia)
    chain = b.build()
    assert_same_tree(km.load_mjcf(km.save_mjcf(chain, tmp_path / "chain.xml")), chain, 1e-12)


def test_meshes_come_along(tmp_path):
    folder = tmp_path / "somewhere"
    folder.mkdir()
    box = km.mesh_of(km.Shape.box((1, 2, 3)))
    lines = [f"v {x} {y} {z}" for x, y, z in box.vertices] + [f"f {a} {b} {c}" for a, b, c in box.faces + 1]
    (folder / "box.obj").write_text("\n".join(lines))
    b = km.Builder("model")
    shape = km.Shape.mesh(folder / "box.obj", (0.1, 0.1, 0.2), km.Pose((1, 0, 0)), name="box")
    b.link("part", joint=km.Joint.revolute(), inertia=km.Inertia.box(1.0, (1, 1, 1)), shapes=shape)
    for save, load in ((km.save_urdf, km.load_urdf), (km.save_sdf, km.load_sdf), (km.save_mjcf, km.load_mjcf)):
        out = tmp_path / save.__name__ / "model.xml"
        found = load(save(b.build(), out)).shapes[0][-1]
        assert found.path == out.parent / "model_meshes" / "box.obj"
        assert (found.size, found.pose.position.tolist()) == ((0.1, 0.1, 0.2), [1.0, 0.0, 0.0])
        assert km.mesh_of(found).bounds == pytest.approx(km.mesh_of(shape).bounds)


def test_shapes_of_one_name_are_written_under_two(tmp_path):
    """What is seen and what collides often have one name, as in URDF files, and so have shapes of different links."""
    b = km.Builder("names")
    rod = km.Inertia.box(1.0, (0.1, 0.1, 1.0))
    shapes = [km.Shape.sphere(0.1, role=role, name="ball") for role in (km.Role.VISUAL, km.Role.COLLISION)]
    b.link("one", joint=km.Joint.revolute("y"), inertia=rod, shapes=shapes)
    b.link("two", "one", km.Joint.revolute("y"), inertia=rod, shapes=[*shapes, *shapes])
    model = b.build()
    for write, load in ((km.save_mjcf, km.load_mjcf), (km.save_sdf, km.load_sdf), (km.save_urdf, km.load_urdf)):
        again = load(write(model, tmp_path / f"names.{write.__name__[5:]}"))
        names = [shape.name for link in range(2) for shape in again.shapes[link]]
        assert len(names) == 6
        different = {km.save_mjcf: 6, km.save_sdf: 2, km.save_urdf: 1}[write]  # in the model, in a link, not at all
        assert len(set(names)) == different
    mujoco.MjModel.from_xml_path(str(tmp_path / "names.mjcf"))


@pytest.mark.parametrize("name", ["cone.urdf", "cone.sdf", "cone.xml"])
def test_a_cone_is_written_as_the_mesh_of_a_pyramid(name, tmp_path):
    b = km.Builder("hat")
    cone = km.Shape.cone(0.2, 0.3, km.Pose((0.0, 0.1, 0.0)))
    b.link("hat", None, km.Joint.revolute("z"), inertia=km.Inertia.sphere(1.0, 0.1), shapes=[cone])
    save = {"urdf": km.save_urdf, "sdf": km.save_sdf, "xml": km.save_mjcf}[name.split(".")[1]]
    load = {"urdf": km.load_urdf, "sdf": km.load_sdf, "xml": km.load_mjcf}[name.split(".")[1]]
    save(b.build(), tmp_path / name)
    (shape, *_) = load(tmp_path / name).shapes[-1]
    assert shape.kind == "mesh"
    assert km.mesh_of(shape).volume == pytest.approx(np.pi * 0.2**2 * 0.3 / 3.0, rel=0.01)
