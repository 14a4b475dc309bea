"""Mass properties against formulas, trimesh and MuJoCo; meshes that are no solids are found out."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.geometry.samples import FACES, TETRAHEDRON, binary_stl

import kinemorph as km
from kinemorph.geometry.mass import MassProperties, inertia_of, mass_properties
from kinemorph.geometry.meshes.faults import FaultKind, mesh_faults, turn_shells_out
from kinemorph.geometry.meshes.mesh import Mesh, mesh_of
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.geometry.shapes import Shape
from kinemorph.spatial.pose import Pose

pytestmark = pytest.mark.quick


def mesh_from(peer) -> Mesh:
    """A mesh of trimesh's, with numbers that MuJoCo's float32 can hold."""
    return Mesh(np.array(peer.vertices, np.float32).astype(float), np.array(peer.faces, np.int32))


def joined(*meshes: Mesh) -> Mesh:
    offsets = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    faces = np.vstack([mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=False)])
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), faces.astype(np.int32))


def box_mesh(size=(1.0, 1.0, 1.0), at=(0.0, 0.0, 0.0)) -> Mesh:
    mesh = mesh_of(Shape.box(size))
    return Mesh(mesh.vertices + at, mesh.faces)


def flipped(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.faces[:, ::-1].copy())


def same(a: MassProperties, b: MassProperties, rel: float = 1e-12) -> None:
    size = b.moments[-1]
    assert a.volume == pytest.approx(b.volume, rel=rel)
    assert a.mass == pytest.approx(b.mass, rel=rel)
    np.testing.assert_allclose(a.com, b.com, atol=rel * np.sqrt(size / b.mass) + rel * np.abs(b.com).max())
    np.testing.assert_allclose(a.matrix, b.matrix, rtol=rel, atol=rel * size)


TORUS = mesh_from(trimesh.creation.torus(1.0, 0.3, 24, 16))
SAMPLES = {
    "torus": TORUS,
    "ball": mesh_from(trimesh.creation.icosphere(3, 0.7).apply_translation((0.3, -0.2, 0.1))),
    "cylinder": mesh_from(trimesh.creation.cylinder(0.4, 2.0).apply_translation((1.0, 2.0, 3.0))),
    "cone": mesh_from(trimesh.creation.cone(0.4, 2.0)),
    "two boxes": joined(box_mesh(at=(-1.0, 0.0, 0.0)), box_mesh((0.5, 1.0, 2.0), at=(2.0, 0.25, 0.0))),
    "hollow box": joined(box_mesh((2.0, 2.0, 2.0)), flipped(box_mesh(at=(0.25, 0.0, 0.0)))),
    "hull": mesh_from(trimesh.convex.convex_hull(np.random.default_rng(0).normal(size=(60, 3)))),
}


# ---------------------------------------------------------------------------------------------------------- formulas


def test_box():
    same(mass_properties(Polyhedron.box((1.0, 2.0, 3.0)), 500.0), inertia_of(Shape.box((1.0, 2.0, 3.0)), 500.0))


def test_tetrahedron():
    # At the corner of a unit cube, about the corner: ∫ x² = 1/60 and ∫ xy = 1/120.
    m = mass_properties(Mesh(TETRAHEDRON, FACES), 6.0)
    c = np.full(3, 0.25)
    about_corner = m.matrix + m.mass * (c @ c * np.eye(3) - np.outer(c, c))
    assert m.mass == pytest.approx(1.0)
    np.testing.assert_allclose(m.com, c)
    np.testing.assert_allclose(about_corner, 6.0 * (np.eye(3) * (2 / 60 + 1 / 120) - 1 / 120))


@pytest.mark.parametrize("sides", [3, 4, 12])
def test_prism_and_cone(sides):
    # Second moments of a regular n-gon: area r²/12 (2 + cos 2π/n) about either axis in its plane.
    r, l, t = 0.5, 2.0, 2.0 * np.pi / sides
    area = 0.5 * sides * r * r * np.sin(t)
    k = r * r / 12.0 * (2.0 + np.cos(t))
    side = k + l * l / 12.0
    prism = MassProperties(area * l, area * l, np.zeros(3), area * l * np.diag([side, side, 2.0 * k]))
    same(mass_properties(Polyhedron.prism(r, l, sides), 1.0), prism)
    # A cone is made of slices that shrink linearly: its centre is at a quarter of its height.
    volume, side = area * l / 3.0, 0.6 * k + 3.0 / 80.0 * l * l
    cone = MassProperties(volume, volume, np.array([0.0, 0.0, -l / 4.0]), volume * np.diag([side, side, 1.2 * k]))
    same(mass_properties(Polyhedron.cone(r, l, sides), 1.0), cone)


def test_torus_of_polygons():
    # Pappus: a polygon that turns about z, in n steps, sweeps area times n sin(2π/n) times the middle's distance.
    n, m, R, r = 200, 150, 1.0, 0.3
    turn, round_ = 2.0 * np.pi * np.arange(n) / n, 2.0 * np.pi * np.arange(m) / m
    rho, z = R + r * np.cos(round_), r * np.sin(round_)
    points = np.stack([np.outer(np.cos(turn), rho), np.outer(np.sin(turn), rho), np.tile(z, (n, 1))], axis=-1)
    a = np.arange(n)[:, None] * m + np.arange(m)
    b, c = np.roll(a, -1, axis=0), np.roll(a, -1, axis=1)
    d = np.roll(b, -1, axis=1)
    faces = np.vstack([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, d), (a, d, c))])
    got = mass_properties(Mesh(points.reshape(-1, 3), faces.astype(np.int32)), 1.0)
    assert got.volume == pytest.approx(2.0 * np.pi**2 * R * r * r, rel=2e-3)
    assert got.matrix[2, 2] == pytest.approx(got.mass * (R * R + 0.75 * r * r), rel=2e-3)
    assert got.matrix[0, 0] == pytest.approx(got.mass * (0.5 * R * R + 0.625 * r * r), rel=2e-3)
    np.testing.assert_allclose(got.com, np.zeros(3), atol=1e-14)


@pytest.mark.parametrize(
    "shape",
    [
        Shape.sphere(0.7),
        Shape.cylinder(0.4, 1.5),
        Shape.capsule(0.4, 1.5),
        Shape.capsule(0.4, 1e-3),
        Shape.cone(0.4, 1.5),
    ],
)
def test_round_shapes_are_close_to_their_tessellation(shape):
    exact, polygons = inertia_of(shape), mass_properties(mesh_of(shape))
    assert 0.96 * exact.volume < polygons.volume < exact.volume
    np.testing.assert_allclose(polygons.matrix / polygons.mass, exact.matrix / exact.mass, rtol=0.02, atol=1e-12)
    np.testing.assert_allclose(polygons.com, exact.com, atol=1e-12)


def test_capsule_is_a_cylinder_and_two_half_balls():
    r, l = 0.4, 1.5
    profile = r * np.sin(np.linspace(0.0, np.pi / 2.0, 2001))
    heights = l / 2.0 + r * np.cos(np.linspace(0.0, np.pi / 2.0, 2001))
    rho2 = lambda z: np.where(np.abs(z) < l / 2.0, r * r, np.interp(np.abs(z), heights[::-1], profile[::-1]) ** 2)  # noqa: E731
    z = np.linspace(-l / 2.0 - r, l / 2.0 + r, 400001)
    slices = np.pi * rho2(z) * (z[1] - z[0])
    m = inertia_of(Shape.capsule(r, l), 1.0)
    assert m.volume == pytest.approx(slices.sum(), rel=1e-5)
    assert m.matrix[2, 2] == pytest.approx((slices * rho2(z) / 2.0).sum(), rel=1e-5)
    assert m.matrix[0, 0] == pytest.approx((slices * (rho2(z) / 4.0 + z * z)).sum(), rel=1e-5)


# ------------------------------------------------------------------------------------------------------------- peers


@pytest.mark.parametrize("name", SAMPLES)
def test_agrees_with_trimesh(name):
    mesh = SAMPLES[name]
    peer = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    peer.density = 700.0
    expected = MassProperties(peer.volume, peer.mass, peer.center_mass, peer.moment_inertia)
    same(mass_properties(mesh, 700.0), expected, rel=1e-10)


@pytest.mark.parametrize("name", SAMPLES)
def test_agrees_with_mujoco(name):
    mesh = SAMPLES[name]
    spec = mujoco.MjSpec()
    asset = spec.add_mesh(name="mesh", inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_EXACT)
    asset.uservert, asset.userface = mesh.vertices.ravel(), mesh.faces.ravel()
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh", density=700.0)
    model = spec.compile()
    got, mass, moments = mass_properties(mesh, 700.0), model.body_mass[1], model.body_inertia[1]
    assert got.mass == pytest.approx(mass, rel=1e-9)
    np.testing.assert_allclose(got.com, model.body_ipos[1], atol=1e-9)
    np.testing.assert_allclose(got.moments, np.sort(moments), rtol=1e-9)
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.body_iquat[1])
    matrix = R.reshape(3, 3) @ np.diag(moments) @ R.reshape(3, 3).T
    # MuJoCo's iteration leaves its axes up to 1e-7 rad off.
    np.testing.assert_allclose(got.matrix, matrix, atol=1e-6 * moments.max())


# ----------------------------------------------------------------------------------------------------------- frames


@given(st.integers(0, 2**32 - 1), st.floats(-4.0, 4.0), st.floats(0.0, 6.0))
@settings(max_examples=25, deadline=None)
def test_moving_and_scaling(seed, scale, far):
    rng = np.random.default_rng(seed)
    core = Polyhedron.hull(rng.normal(size=(20, 3)))
    pose = Pose.quaternion(rng.normal(size=4), 10.0**far * rng.normal(size=3))
    m, s = mass_properties(core, 2.0), 10.0**scale
    same(mass_properties(core.moved(pose), 2.0), m.moved(pose), rel=1e-13 * 10.0**far + 1e-12)
    big = mass_properties(core.scaled(s), 2.0)
    assert big.mass == pytest.approx(s**3 * m.mass)
    np.testing.assert_allclose(big.matrix, s**5 * m.matrix, rtol=1e-9, atol=1e-12 * s**5)


def test_digits_survive_far_from_the_origin():
    # Coordinates of 1e5 m are exact multiples of 2⁻³² here, so all that could be lost is lost in the integrals.
    near, far = box_mesh((1.0, 2.0, 4.0)), box_mesh((1.0, 2.0, 4.0), at=(65536.0, -32768.0, 131072.0))
    np.testing.assert_allclose(mass_properties(far).matrix, mass_properties(near).matrix, rtol=1e-13, atol=1e-10)


@pytest.mark.parametrize("name", SAMPLES)
def test_principal_frame(name):
    m = mass_properties(SAMPLES[name])
    R = m.principal.rotation
    np.testing.assert_allclose(R @ np.diag(m.moments) @ R.T, m.matrix, atol=1e-12 * m.moments[-1])
    assert np.linalg.det(R) == pytest.approx(1.0)
    np.testing.assert_array_equal(m.principal.position, m.com)
    assert (np.diff(m.moments) >= 0.0).all()
    assert m.moments[0] + m.moments[1] >= m.moments[2]


def test_principal_axes_of_a_turned_box():
    pose = Pose.rpy(0.4, 0.3, -0.2, (1.0, 2.0, 3.0))
    m = inertia_of(Shape.box((3.0, 2.0, 1.0), pose))
    np.testing.assert_allclose(np.abs(pose.rotation.T @ m.principal.rotation), np.eye(3), atol=1e-12)


def test_sum_of_halves_is_the_whole():
    left, right = box_mesh((1.0, 2.0, 3.0), (-0.5, 0.0, 0.0)), box_mesh((1.0, 2.0, 3.0), (0.5, 0.0, 0.0))
    same(mass_properties(left) + mass_properties(right), inertia_of(Shape.box((2.0, 2.0, 3.0))))


def test_with_mass():
    m = inertia_of(Shape.sphere(2.0)).with_mass(5.0)
    assert m.mass == 5.0
    assert m.matrix[0, 0] == pytest.approx(0.4 * 5.0 * 4.0)
    with pytest.raises(ValueError, match="-1"):
        m.with_mass(-1.0)


def test_a_link_takes_them():
    pose = Pose.rpy(0.4, 0.3, -0.2, (1.0, 2.0, 3.0))
    m = inertia_of(Shape.cylinder(0.3, 2.0, pose))
    expected = km.Inertia.cylinder(m.mass, 0.3, 2.0).moved(pose)
    got = km.Inertia(m.mass, m.com, m.matrix)
    np.testing.assert_allclose(got.com, expected.com)
    np.testing.assert_allclose(got.matrix, expected.matrix, atol=1e-12)


def test_mesh_shapes(tmp_path):
    path = tmp_path / "a.stl"
    path.write_bytes(binary_stl(TETRAHEDRON[FACES]))
    m = inertia_of(Shape.mesh(path, (2.0, 2.0, 2.0), Pose((1.0, 0.0, 0.0))), 6.0)
    assert m.mass == pytest.approx(8.0)
    np.testing.assert_allclose(m.com, (1.5, 0.5, 0.5))
    path.write_bytes(binary_stl(TETRAHEDRON[FACES[:3]]))
    with pytest.raises(ValueError, match=r"a\.stl: .*open: 3 of 6 edges.*its hull"):
        inertia_of(Shape.mesh(path))


# ----------------------------------------------------------------------------------------------------------- faults


def kinds(mesh):
    return [fault.kind for fault in mesh_faults(mesh)]


@pytest.mark.parametrize("name", SAMPLES)
def test_sound_meshes_have_no_faults(name):
    assert kinds(SAMPLES[name]) == []


def test_a_hole_is_named():
    mesh = box_mesh()
    open_mesh = Mesh(mesh.vertices, mesh.faces[1:])
    (fault,) = mesh_faults(open_mesh)
    assert fault.kind is FaultKind.OPEN
    assert {tuple(sorted(edge)) for edge in fault.where.tolist()} == {(0, 2), (2, 3), (0, 3)}
    assert str(fault).startswith("open: 3 of 18 edges have one face only")
    with pytest.raises(ValueError, match=r"not the surface of a solid: open: 3 of 18 edges.*between vertices 0 and 2"):
        mass_properties(open_mesh)


def test_one_turned_face_is_named():
    mesh = box_mesh()
    faces = mesh.faces.copy()
    faces[4] = faces[4, ::-1]
    with pytest.raises(ValueError, match="turned: 3 of 18 edges have faces that disagree"):
        mass_properties(Mesh(mesh.vertices, faces))


def test_an_inside_out_mesh_is_named_and_turned_on_request():
    mesh = flipped(TORUS)
    with pytest.raises(ValueError, match=r"inside out: all faces of 1 of 1 shells look inwards.*turn=True"):
        mass_properties(mesh)
    same(mass_properties(mesh, turn=True), mass_properties(TORUS))
    assert turn_shells_out(TORUS) is TORUS


def test_one_shell_inside_out():
    mixed = joined(box_mesh(), flipped(box_mesh(at=(3.0, 0.0, 0.0))))
    (fault,) = mesh_faults(mixed)
    assert fault.kind is FaultKind.INSIDE_OUT
    assert fault.where.tolist() == list(range(12, 24))
    assert mass_properties(mixed, 1.0, turn=True).volume == pytest.approx(2.0)
    assert mass_properties(SAMPLES["hollow box"], 1.0, turn=True).volume == pytest.approx(7.0)


def test_boxes_that_share_an_edge_touch():
    mesh = joined(box_mesh(), box_mesh(at=(1.0, 1.0, 0.0)))
    (fault,) = mesh_faults(mesh)
    assert fault.kind is FaultKind.TOUCHING
    assert len(fault.where) == 1
    assert mass_properties(mesh, 1.0).volume == pytest.approx(2.0)


def test_faces_without_area_are_named_and_harmless():
    mesh = box_mesh()
    middle = 0.5 * (mesh.vertices[0] + mesh.vertices[1])
    extra = [[0, 8, 1], [0, 1, 8], [5, 5, 7]]
    odd = Mesh(np.vstack([mesh.vertices, middle]), np.vstack([mesh.faces, extra]).astype(np.int32))
    faults = {fault.kind: fault for fault in mesh_faults(odd)}
    assert set(faults) == {FaultKind.DEGENERATE, FaultKind.TOUCHING}
    assert faults[FaultKind.DEGENERATE].where.tolist() == [12, 13, 14]
    same(mass_properties(odd), mass_properties(mesh))


def test_vertices_in_the_same_place_are_one():
    mesh = box_mesh()
    loose = Mesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(36, dtype=np.int32).reshape(-1, 3))
    assert kinds(loose) == []
    same(mass_properties(loose), mass_properties(mesh))


def test_what_has_no_volume_is_refused():
    flat = Mesh(TETRAHEDRON * (1.0, 1.0, 0.0) + (0.0, 0.0, 1.0), FACES)
    with pytest.raises(ValueError, match="it is flat"):
        mass_properties(flat)
    sheet = Mesh(TETRAHEDRON, np.array([[0, 1, 2], [0, 2, 1]], np.int32))
    with pytest.raises(ValueError, match="it is flat"):
        mass_properties(sheet)
    line = Mesh(TETRAHEDRON, np.array([[0, 1, 1]], np.int32))
    with pytest.raises(ValueError, match="it is flat"):
        mass_properties(line)
    for core in (Polyhedron.point(), Polyhedron.segment(1.0), Polyhedron.polygon(TETRAHEDRON[:3])):
        with pytest.raises(ValueError, match="has no volume"):
            mass_properties(core)


@pytest.mark.parametrize("density", [0.0, -1.0, np.nan, np.inf])
def test_density_must_be_positive(density):
    with pytest.raises(ValueError, match="density"):
        mass_properties(box_mesh(), density)
    with pytest.raises(ValueError, match="density"):
        inertia_of(Shape.sphere(1.0), density)


def test_what_is_no_mesh_is_refused():
    box = mesh_of(Shape.box((1.0, 1.0, 1.0)))
    for call in (mass_properties, mesh_faults):
        with pytest.raises(ValueError, match="the mesh has no faces"):
            call(Mesh(box.vertices, box.faces[:0]))
        with pytest.raises(ValueError, match=r"vertex 0 is at .*not finite"):
            call(Mesh(box.vertices * np.nan, box.faces))
        with pytest.raises(ValueError, match=r"face 0 has the vertices .*, but there are only 3"):
            call(Mesh(box.vertices[:3], box.faces + 3))
