"""MJCF files: read as MuJoCo compiles them. Its compiled models are the oracle, read by `from_mujoco`."""

import mujoco
import numpy as np
import pytest
from tests.io.test_from_mujoco import MACHINE
from tests.mujoco_twin import assert_equal, compiled, gymnasium_files, needs_gymnasium, without_what_is_ignored

import kinemorph as km

pytestmark = pytest.mark.quick


def assert_same(ours: km.Model, theirs: km.Model, tolerance: float = 1e-12) -> None:
    """Two models are one, up to rounding."""
    assert (ours.names, ours.joint_names, ours.loop_names) == (theirs.names, theirs.joint_names, theirs.loop_names)
    assert ours.gravity == pytest.approx(theirs.gravity, abs=tolerance)
    for mine, other in ((ours.links, theirs.links), (ours.dofs, theirs.dofs), (ours.loop_rows, theirs.loop_rows)):
        for field in mine.dtype.names or ():
            if field != "T":  # of loops: any orthonormal rows will do
                np.testing.assert_allclose(mine[field], other[field], tolerance, tolerance, err_msg=field)
    np.testing.assert_allclose(ours.rest, theirs.rest, atol=tolerance)
    assert list(ours.frames) == list(theirs.frames)
    for name, (link, pose) in ours.frames.items():
        assert link == theirs.frames[name][0]
        np.testing.assert_allclose(pose.matrix(), theirs.frames[name][1].matrix(), atol=tolerance)
    assert [repr(m) for m in ours.mimics] == [repr(m) for m in theirs.mimics]
    assert ours.exclusions == theirs.exclusions
    assert ours.pair_materials == theirs.pair_materials
    for a, b in zip(ours.actuators, theirs.actuators, strict=True):
        assert (a.name, a.joint) == (b.name, b.joint)
        for field in ("gain", "bias", "gear", "control", "force"):
            assert getattr(a, field) == pytest.approx(getattr(b, field), rel=1e-9, abs=tolerance)
    assert list(ours.keyframes) == list(theirs.keyframes)
    for name, key in ours.keyframes.items():
        np.testing.assert_allclose(key.state.q, theirs.keyframes[name].state.q, atol=tolerance)
        np.testing.assert_allclose(key.state.v, theirs.keyframes[name].state.v, atol=tolerance)
    for floor, other in zip(ours.floors, theirs.floors, strict=True):
        assert (floor.name, floor.material, floor.group, floor.mask) == (
            other.name, other.material, other.group, other.mask
        )  # fmt: skip
        np.testing.assert_allclose(floor.pose.position, other.pose.position, atol=tolerance)
        np.testing.assert_allclose(floor.pose.rotation[:, 2], other.pose.rotation[:, 2], atol=tolerance)
    _assert_same_shapes(ours, theirs)


def _assert_same_shapes(ours: km.Model, theirs: km.Model) -> None:
    for mine, other in zip((ours.base_shapes, *ours.shapes), (theirs.base_shapes, *theirs.shapes), strict=True):
        for a, b in zip(mine, other, strict=True):
            kept = ("kind", "name", "role", "material", "group", "mask")
            assert [getattr(a, field) for field in kept] == [getattr(b, field) for field in kept]
            corners = [s.pose.apply(km.mesh_of(s).vertices) for s in (a, b)]
            spans = [np.array([c.min(axis=0), c.max(axis=0)]) for c in corners]
            round_shape = a.kind in (km.ShapeKind.CAPSULE, km.ShapeKind.CYLINDER)  # any turn about z will do
            if a.path is None:  # MuJoCo moves the frame of a mesh to its middle
                np.testing.assert_allclose(a.pose.position, b.pose.position, atol=1e-6)
            np.testing.assert_allclose(*spans, atol=0.02 if round_shape else 1e-6)


def test_machine_is_read_as_mujoco_compiles_it(rng):
    ours = km.parse_mjcf(MACHINE)
    peer = compiled(MACHINE)
    assert_same(ours, km.from_mujoco(peer))
    assert_equal(ours, peer, rng, 1e-12)


BALL = '<geom size="0.1"/>'
TREES = {
    "degrees": f'<worldbody><body euler="30 20 10"><joint range="-45 60" ref="10" springref="20" stiffness="1"/>{BALL}'
    "</body></worldbody>",
    "fixed euler axes": '<compiler eulerseq="ZYX"/><worldbody><body euler="30 20 10"><joint/>'
    '<geom type="box" size="0.1 0.2 0.3" euler="5 6 7"/></body></worldbody>',
    "ways to turn": '<worldbody><body axisangle="1 2 3 40"><joint/><geom type="box" size="0.1 0.2 0.3" zaxis="1 1 0"/>'
    '<geom type="box" size="0.1 0.2 0.3" xyaxes="1 0.1 0 0.3 1 0" pos="1 0 0"/><site name="s" zaxis="0 0 -1"/></body>'
    "</worldbody>",
    "between two ends": '<worldbody><body><joint/><geom type="capsule" fromto="0 0 0 0.3 0.4 0.1" size="0.05"/>'
    '<geom type="box" fromto="0 0 0 0 0 -1" size="0.1"/><geom type="ellipsoid" fromto="1 0 0 1 1 0" size="0.2"/>'
    '<geom type="cylinder" fromto="0 0 1 0 0 0" size="0.1"/><site name="s" type="capsule" fromto="0 0 0 1 0 0"'
    ' size="0.1"/></body></worldbody>',
    "classes": '<default><joint damping="1"/><geom density="500"/><default class="a"><joint damping="2" type="slide"/>'
    '<geom type="box" size="0.1 0.1 0.1"/><default class="b"><geom size="0.2 0.3 0.4"/></default></default></default>'
    f'<worldbody><body childclass="a"><joint/><geom/><body pos="1 0 0"><joint class="main"/><geom class="b"/>'
    f'<body childclass="b"><joint/><geom/></body></body></body><body><joint/>{BALL}</body></worldbody>',
    "frames": '<default><default class="c"><geom size="0.3"/></default></default><worldbody>'
    '<frame pos="1 0 0" euler="0 90 0"><body name="b"><frame pos="0 1 0" euler="90 0 0" childclass="c">'
    '<joint name="j" axis="1 0 0" pos="0 0 0.1"/><geom/><site name="s" pos="1 2 3"/>'
    f'<frame euler="0 0 30"><body name="inner" pos="1 0 0"><joint name="k"/>{BALL}</body></frame></frame></body>'
    "</frame></worldbody>",
    "replicas": '<worldbody><replicate count="12" offset="0.1 0 0" euler="0 0 30" prefix="A" sep="-">'
    f'<body name="b" pos="1 0 0"><joint name="j"/>{BALL}'
    '<replicate count="2" offset="0 0 1"><geom name="g" size="0.1"/></replicate></body>'
    "</replicate></worldbody>",
    "masses": '<worldbody><body><joint/><geom size="0.1" mass="2"/><geom type="box" size="0.1 0.2 0.3" density="0"/>'
    '<geom type="capsule" size="0.1 0.2" pos="1 0 0" mass="0.5"/><geom size="0.2" mass="0"/></body></worldbody>',
    "shells": '<worldbody><body><joint/><geom size="0.1" shellinertia="true"/><geom type="box" size="0.1 0.2 0.3"'
    ' shellinertia="true" pos="1 0 0"/><geom type="cylinder" size="0.1 0.3" shellinertia="true" pos="0 1 0"/>'
    '<geom type="capsule" size="0.1 0.3" shellinertia="true" pos="0 0 1" density="3"/></body></worldbody>',
    "written inertia": '<worldbody><body><joint/><inertial pos="1 2 3" mass="2" diaginertia="0.1 0.2 0.25"'
    f' euler="10 20 30"/>{BALL}</body></worldbody>',
    "inertia of geoms": '<compiler inertiafromgeom="true" inertiagrouprange="1 2"/><worldbody><body><joint/>'
    '<inertial pos="1 2 3" mass="2" diaginertia="0.1 0.2 0.25"/><geom size="0.1" group="1"/><geom size="0.5"/></body>'
    "</worldbody>",
    "bounds": '<compiler boundmass="0.5" boundinertia="0.01"/><worldbody><body><joint/><geom size="0.01"/></body>'
    "</worldbody>",
    "balance": '<compiler balanceinertia="true"/><worldbody><body><joint/><inertial pos="0 0 0" mass="1"'
    ' diaginertia="0.1 0.1 0.5" quat="1 2 3 4"/></body></worldbody>',
    "no limits by themselves": '<compiler autolimits="false"/><worldbody><body><joint limited="true" range="-1 1"/>'
    f"{BALL}</body></worldbody>",
    "limits that are not meant": f'<worldbody><body><joint limited="false" range="-1 1"/>{BALL}</body></worldbody>',
    "flags": '<option><flag gravity="disable" damper="disable" limit="disable"/></option><worldbody><body>'
    f'<joint damping="3" range="-1 1" stiffness="2"/>{BALL}</body></worldbody>',
    "springs by time": '<worldbody><body><joint springdamper="0.5 0.8"/><geom size="0.1" pos="1 0 0"/><body>'
    '<joint type="slide" springdamper="1 1"/><geom size="0.2"/></body></body></worldbody>',
    "servos": '<default><position kp="30"/><default class="c"><motor ctrlrange="-2 2" gear="4"/></default></default>'
    f'<worldbody><body><joint name="j" range="-90 30" ref="12"/>{BALL}</body></worldbody><actuator>'
    '<position joint="j" kv="2"/><position joint="j" kp="5" dampratio="0.7" gear="2"/>'
    '<position joint="j" inheritrange="0.5"/><motor joint="j" class="c"/><velocity joint="j" kv="3"/>'
    '<general joint="j" gainprm="2" biastype="affine" biasprm="1 2 3" gear="0.5" forcerange="-1 1"/></actuator>',
    "pairs": '<worldbody><geom name="a" size="0.1" friction="0.3" condim="4"/><body><joint/><geom name="b" size="0.1"'
    ' contype="0" conaffinity="0"/></body></worldbody><contact><pair geom1="a" geom2="b"/>'
    '<pair geom1="b" geom2="a" friction="0.5 0.5 0.1 0.2 0.2" condim="6" margin="0.01"/></contact>',
    "welds": f'<worldbody><site name="w" pos="1 1 1"/><body name="a" pos="1 0 0"><joint/>{BALL}<site name="s"'
    f' euler="10 0 0"/></body><body name="b"><joint axis="0 1 0"/>{BALL}</body></worldbody><equality>'
    '<weld body1="a" body2="b" relpose="1 2 3 1 0.5 0 0" anchor="0.1 0 0"/><weld body1="b"/>'
    '<connect site1="s" site2="w"/><weld site1="w" site2="s"/><connect body1="a" anchor="1 0 0"/></equality>',
    "keys": f'<worldbody><body pos="1 2 3" euler="10 20 30"><freejoint/>{BALL}<body><joint type="ball"/>{BALL}</body>'
    '</body></worldbody><keyframe><key name="k" qpos="1 2 3 1 2 3 4 1 1 0 0" qvel="1 2 3 4 5 6 7 8 9"/>'
    '<key time="3"/></keyframe>',
    "many groups": '<worldbody><geom size="0.1" contype="2" conaffinity="1"/><geom type="plane" size="1 1 1"'
    ' contype="4" conaffinity="3"/><body><joint/><geom size="0.1" contype="1" conaffinity="0"/>'
    '<geom size="0.1" group="3"/></body></worldbody>',
    "a ball after hinges": '<worldbody><body name="a"><joint name="i" axis="1 0 0" armature="1"/><joint name="s"'
    ' type="slide"/><joint name="j" pos="0 0.1 0.2" armature="1"/><joint name="k" type="ball" pos="0.3 0 0.1"/>'
    '<geom type="box" size="0.1 0.2 0.3" pos="1 0 0"/></body></worldbody>',
    "hands of the world": '<worldbody><body name="still" pos="1 0 0"><geom type="plane" size="1 1 1" pos="0 0 1"'
    f' euler="10 0 0"/><geom size="0.2"/><site name="s"/><body name="b"><joint/>{BALL}</body></body></worldbody>',
}


@pytest.mark.parametrize("text", TREES.values(), ids=TREES.keys())
def test_reads_what_mujoco_reads(text, rng):
    peer = compiled(f"<mujoco>{text}</mujoco>")
    ours = km.parse_mjcf(f"<mujoco>{text}</mujoco>", source="MuJoCo Model")
    assert_same(ours, km.from_mujoco(peer, name="model"))
    assert_equal(ours, peer, rng)


@pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")
def test_total_mass_can_be_set(capfd, rng):
    text = f'<mujoco><compiler settotalmass="7"/><worldbody><body><joint/>{BALL}</body></worldbody></mujoco>'
    ours = km.parse_mjcf(text)
    assert ours.mass == pytest.approx(7.0)
    assert_equal(ours, compiled(text), rng)
    capfd.readouterr()  # MuJoCo says that this will go away


# ---------------------------------------------------------------------------------------------------------- meshes

# a body with a hollow, so that the four rules differ
HOLLOW = km.Mesh(
    np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0], [1, 1, 0], [1, 3, 0], [0, 3, 0]] + [
        [0, 0, 1], [2, 0, 1], [2, 1, 1], [1, 1, 1], [1, 3, 1], [0, 3, 1]], dtype=np.float64) / 4.0,
    np.array(
        [[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 5, 4], [6, 7, 8], [6, 8, 9], [6, 9, 10], [6, 10, 11]]
        + [f for i in range(6) for f in ([i, (i + 1) % 6, (i + 1) % 6 + 6], [i, (i + 1) % 6 + 6, i + 6])],
        dtype=np.int32,
    ),
)  # fmt: skip


def written(folder, suffix):
    path = folder / f"hollow{suffix}"
    if suffix == ".obj":
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in HOLLOW.vertices.tolist()]
        path.write_text("\n".join(lines + [f"f {a} {b} {c}" for a, b, c in (HOLLOW.faces + 1).tolist()]))
    elif suffix == ".msh":
        head = np.array([len(HOLLOW.vertices), 0, 0, len(HOLLOW.faces)], "<i4")
        path.write_bytes(
            head.tobytes() + HOLLOW.vertices.astype("<f4").tobytes() + HOLLOW.faces.astype("<i4").tobytes()
        )
    else:
        from kinemorph.geometry.meshes.kept_mesh import keep_mesh

        path.write_bytes(keep_mesh(HOLLOW.vertices, HOLLOW.faces).read_bytes())
    return path


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".msh"])
@pytest.mark.parametrize("rule", ["legacy", "convex", "exact", "shell"])
def test_mesh_weighs_what_it_weighs_in_mujoco(tmp_path, rng, suffix, rule):
    (tmp_path / "meshes").mkdir()
    written(tmp_path / "meshes", suffix)
    path = tmp_path / "mesh.xml"
    path.write_text(f"""
    <mujoco>
      <compiler meshdir="meshes"/>
      <asset><mesh file="hollow{suffix}" inertia="{rule}" scale="0.3 -0.5 0.4" refpos="0.1 0.2 0.3"
        refquat="1 0.2 0.3 0.4"/></asset>
      <worldbody><body><freejoint/><geom type="mesh" mesh="hollow" pos="0.3 0 0" euler="10 20 30"/></body></worldbody>
    </mujoco>
    """)
    ours, peer = km.load_mjcf(path), mujoco.MjModel.from_xml_path(str(path))
    _assert_same_shapes(ours, km.from_mujoco(peer))
    assert_equal(ours, peer, rng)


def test_vertices_without_faces_are_a_hull(rng):
    text = """<mujoco><asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1.5  0.1 0.1 0.1" scale="2 1 1"/></asset>
    <worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
    assert_equal(km.parse_mjcf(text), compiled(text), rng)


@pytest.mark.parametrize("more", ["", 'scale="1 0.7 -2"', 'refpos="0.1 0.2 0.3" refquat="1 2 3 4"'])
def test_flat_sides_of_a_hull_are_cut_as_mujoco_cuts_them(more, rng):
    """Single precision bends them, and so decides which of two diagonals lies outside: 1e-7 of the inertia."""
    box = np.stack(np.meshgrid([-0.1, 0.1], [-0.2, 0.2], [-0.3, 0.3]), -1).reshape(-1, 3)
    for _ in range(10):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        vertices = " ".join(f"{x:.9g}" for x in (box @ turn + rng.normal(size=3)).ravel())
        text = f'''<mujoco><asset><mesh name="m" vertex="{vertices}" {more}/></asset><worldbody><body name="b"><joint/>
          <joint type="slide"/><joint axis="0 1 0"/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'''
        ours, theirs = km.parse_mjcf(text), km.from_mujoco(compiled(text))
        np.testing.assert_allclose(ours.links["I"], theirs.links["I"], rtol=1e-12, atol=1e-12)


def _obj(points, polygons, more=""):
    """The text of an OBJ file; what is among the polygons as text stays."""
    lines = [p if isinstance(p, str) else "f " + " ".join(str(i + 1) for i in p) for p in polygons]
    return "\n".join([f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in points] + lines) + "\n" + more


def _of_obj(folder, text, rule="legacy", geom='type="mesh"', compiler=""):
    """A body whose mass is that of an OBJ file, read by both."""
    (folder / "thing.obj").write_text(text)
    path = folder / "thing.xml"
    path.write_text(f"""<mujoco><compiler {compiler}/><asset><mesh file="thing.obj" inertia="{rule}"/></asset>
    <worldbody><body><freejoint/><geom {geom} mesh="thing" pos="0.1 0.2 0.3" euler="20 30 40"/></body></worldbody>
    </mujoco>""")
    return km.load_mjcf(path), mujoco.MjModel.from_xml_path(str(path))


WEDGE = [[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]]
SIDES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


@pytest.mark.parametrize("word", ["o", "g"])
@pytest.mark.parametrize("rule", ["legacy", "convex", "exact"])
def test_first_object_of_a_file_is_weighed(tmp_path, rng, word, rule):
    """As in MuJoCo; a hull has the points of all objects."""
    away = [[x + 3, y, z + 1] for x, y, z in WEDGE]
    second = [[i + 4 for i in side] for side in SIDES]
    text = _obj(WEDGE + away, [f"{word} empty", f"{word} first", *SIDES, f"{word} second", *second])
    ours, peer = _of_obj(tmp_path, text, rule)
    assert_equal(ours, peer, rng)
    if rule == "legacy":
        assert ours.mass == pytest.approx(1000.0)
        whole = km.load_mesh(tmp_path / "thing.obj")  # what URDF and SDF have of it, and pictures
        assert whole.volume == pytest.approx(2.0)


def test_polygons_are_cut_as_mujoco_cuts_them(tmp_path, rng):
    """Bent and hollow ones of three to nine corners, near the origin and off it, in all planes."""
    from kinemorph.geometry.meshes.first_object import read_first

    points, polygons = list(WEDGE), list(SIDES)
    for _ in range(300):
        n = int(rng.integers(3, 10))
        angle = np.sort(rng.uniform(0.0, 2.0 * np.pi, n))
        radius = rng.uniform(0.2, 1.5, n) if rng.random() < 0.7 else np.ones(n)
        corners = np.stack([radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=n) * rng.choice([0, 0.3])])
        corners = corners[rng.permutation(3)].T + rng.normal(size=3) * rng.choice([0, 3])
        if rng.random() < 0.2:
            corners = np.round(2.0 * corners) / 2.0  # corners in one place or in a row, and equal diagonals
        polygons.append(list(range(len(points), len(points) + n)))
        points += corners.tolist()
    ours, peer = _of_obj(tmp_path, _obj(points, polygons))
    assert peer.nmeshvert == len(points)
    faces = read_first(tmp_path / "thing.obj")[1]
    assert sorted(faces.tolist()) == sorted(peer.mesh_face.tolist())
    assert_equal(ours, peer, rng)


@pytest.mark.parametrize("bounds", ["false", "true"])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
def test_primitives_are_fitted_to_meshes(tmp_path, rng, kind, bounds):
    """By their inertia or by their bounds, along the main axes of the mesh."""
    text = _obj([*WEDGE, [0.1, 0.1, 9.0]], SIDES)  # bounds have points that no face has
    ours, peer = _of_obj(tmp_path, text, "legacy", f'type="{kind}" fitscale="1.3"', f'fitaabb="{bounds}"')
    _assert_same_shapes(ours, km.from_mujoco(peer))
    assert_equal(ours, peer, rng)


def test_geom_with_a_mesh_and_no_type_is_a_sphere(tmp_path, rng):
    """So it is in MuJoCo."""
    ours, peer = _of_obj(tmp_path, _obj(WEDGE, SIDES), "legacy", "")
    assert ours.shapes[0][0].kind is km.ShapeKind.SPHERE
    assert_equal(ours, peer, rng)


@pytest.mark.parametrize("turn", [3e-7, 3e-6])
@pytest.mark.parametrize("beside", [3e-7, 3e-6])
@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_limits_of_mujocos_compiler_are_kept(turn, beside, size, rng):
    """A frame of inertia near the body's is the body's, and meshes are turned to their axes up to a limit."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-2, 2) for z in (-3, 3)]) * size
    corners[0, 0] += beside * size * 1e3
    corners[3, 1] += beside * size * 1e2
    vertex = " ".join(repr(x) for x in corners.ravel().tolist())
    text = f"""<mujoco><compiler angle="radian"/><asset><mesh name="m" vertex="{vertex}"/></asset><worldbody>
    <body><freejoint/><geom type="mesh" mesh="m"/></body>
    <body pos="9 0 0"><freejoint/><geom type="mesh" mesh="m"/><geom size="{size}" pos="{9 * size} {size} 0"/></body>
    <body pos="0 9 0"><freejoint/><geom type="box" size="1 2 3" euler="{turn} 0 0" pos="{beside} 0 0"/></body>
    <body pos="0 0 9"><freejoint/><inertial pos="0 {beside} 0" mass="1" fullinertia="3 2.5 2 {turn} 0 0"/></body>
    </worldbody></mujoco>"""
    assert_equal(km.parse_mjcf(text), compiled(text), rng)


def test_mesh_is_opened_only_if_it_is_weighed(tmp_path):
    text = """<mujoco><asset><mesh file="missing.stl"/></asset><worldbody><body><joint/>{}
    <geom type="mesh" mesh="missing"/></body></worldbody></mujoco>"""
    model = km.parse_mjcf(text.format('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'), folder=tmp_path)
    assert model.mass == 1.0
    with pytest.raises(km.FileError, match=r"^MJCF text:1: <mesh>: .*missing\.stl: there is no such file"):
        km.parse_mjcf(text.format(""), folder=tmp_path)


# -------------------------------------------------------------------------------------------------------- includes


def test_included_files_are_read_into_their_places(tmp_path, rng):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(
        '<mujocoinclude><body name="arm" pos="0 0 1"><joint/><geom size="0.1"/><include file="parts/hand.xml"/></body>'
        "</mujocoinclude>"
    )
    (tmp_path / "parts" / "hand.xml").write_text('<any><geom size="0.2" pos="1 0 0"/></any>')
    path = tmp_path / "robot.xml"
    path.write_text('<mujoco><worldbody><include file="parts/arm.xml"/></worldbody></mujoco>')
    assert_equal(km.load_mjcf(path), mujoco.MjModel.from_xml_path(str(path)), rng)


def test_included_files_may_name_what_lies_beside_them(tmp_path, rng):
    (tmp_path / "parts" / "solids").mkdir(parents=True)
    (tmp_path / "parts" / "arm.xml").write_text(
        '<any><body name="arm"><joint/><geom type="mesh" mesh="wedge"/><include file="hand.xml"/></body></any>'
    )
    (tmp_path / "parts" / "hand.xml").write_text('<any><geom size="0.2" pos="1 0 0"/></any>')
    (tmp_path / "parts" / "assets.xml").write_text('<any><mesh name="wedge" file="solids/wedge.obj"/></any>')
    corners = "v 0 0 0\nv 1 0 0\nv 2 2 1\nv 0 1 0\nv 0 0 1\n"  # the quad below is not flat
    (tmp_path / "parts" / "solids" / "wedge.obj").write_text(
        f"{corners}f 4 3 2 1\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n"
    )
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><asset><include file="parts/assets.xml"/></asset>'
        '<worldbody><include file="parts/arm.xml"/></worldbody></mujoco>'
    )
    assert_equal(km.load_mjcf(path), mujoco.MjModel.from_xml_path(str(path)), rng)


def test_what_mujoco_forgives_is_forgiven():
    """A quaternion of zeros in a keyframe turns nothing, which is said; a colour that is empty is none."""
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1" rgba=""/></body></worldbody>
    <keyframe><key name="home" qpos="1 2 3 0 0 0 0"/></keyframe></mujoco>"""
    with pytest.warns(km.ModelWarning, match="quaternion of length 0 at 3, which is no rotation; nothing is turned"):
        model = km.parse_mjcf(text)
    peer = compiled(text)
    assert model.keyframes["home"].state.q.tolist() == peer.key_qpos[0].tolist() == [1, 2, 3, 1, 0, 0, 0]


@pytest.mark.parametrize("link", [False, True])
def test_files_outside_the_root_are_refused(tmp_path, link):
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    secret = tmp_path / "secret.xml"
    secret.write_text("<mujoco/>")
    name = "../../secret.xml"
    if link:
        (inside / "innocent.xml").symlink_to(secret)
        name = "innocent.xml"
    (inside / "robot.xml").write_text(f'<mujoco>\n<include file="{name}"/></mujoco>')
    with pytest.raises(km.FileError, match=r"robot\.xml:2: <include>: file=.*: this is outside the folders") as found:
        km.load_mjcf(inside / "robot.xml")
    assert "as root" in str(found.value)
    assert km.load_mjcf(inside / "robot.xml", root=tmp_path).n == 0


def test_file_includes_itself_once_only(tmp_path):
    (tmp_path / "robot.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    (tmp_path / "part.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    with pytest.raises(km.FileError, match=r"part\.xml:1: <include>: .*included already"):
        km.load_mjcf(tmp_path / "robot.xml")


# ------------------------------------------------------------------------------------------------------- real files


@needs_gymnasium
@pytest.mark.parametrize("path", gymnasium_files(), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")
def test_gymnasium_files_are_read_as_mujoco_compiles_them(path, rng, capfd):
    ignore = ("fluid",) if path.stem == "swimmer" else ()
    ours, peer = km.load_mjcf(path, ignore=ignore), mujoco.MjModel.from_xml_path(str(path))
    theirs = km.from_mujoco(peer, ignore=ignore)
    assert_same(ours, theirs, 1e-9)
    without_what_is_ignored(peer)
    assert_equal(ours, peer, rng)
    capfd.readouterr()
