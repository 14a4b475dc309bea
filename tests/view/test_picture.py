"""Pictures show what is there, where it is."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import kinemorph as km
from kinemorph.view.pictures.raster import Camera, Solid, draw


def ball(colour: tuple[float, float, float], at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Solid:
    mesh = km.mesh_of(km.Shape.sphere(0.5))
    return Solid(mesh.vertices + np.array(at), mesh.faces, np.broadcast_to(colour, (len(mesh.faces), 3)))


def test_a_ball_is_round_centred_and_lit_from_above() -> None:
    image = draw([ball((1.0, 0.0, 0.0))], Camera((0.0, -4.0, 0.0), (0.0, 0.0, 0.0)), 200, 200).astype(float)
    red = image[:, :, 0] > 2.0 * image[:, :, 2]
    y, x = np.nonzero(red)
    radius = 100.0 / np.tan(np.radians(15.0)) * 0.5 / np.sqrt(4.0**2 - 0.5**2)  # of the outline, in pixels
    assert abs(x.mean() - 99.5) < 1.0
    assert abs(y.mean() - 99.5) < 1.0
    assert abs(red.sum() / (np.pi * radius**2) - 1.0) < 0.02
    assert image[70, 110, 0] > image[130, 90, 0] + 30.0


def test_the_nearer_solid_hides_the_farther() -> None:
    camera = Camera((0.0, -6.0, 0.0), (0.0, 0.0, 0.0))
    near, far = ball((1.0, 0.0, 0.0), (0.0, -1.0, 0.0)), ball((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    for order in ([near, far], [far, near]):
        r, _, b = draw(order, camera, 120, 120)[60, 60]
        assert r > 2 * b


def test_a_picture_moves_with_q_and_is_a_png(tmp_path: Path) -> None:
    b = km.Builder("lamp")
    shape = km.Shape.box((0.1, 0.1, 1.0), km.Pose((0, 0, 0.5)), colour=(0.2, 0.7, 0.3, 1.0))
    b.link("arm", joint=km.Joint.revolute("y"), inertia=km.Inertia.sphere(1.0, 0.1), shapes=shape)
    b.base(km.Shape.cylinder(0.3, 0.05))
    model = b.build()
    up = km.picture(model, [0.0], tmp_path / "up.png", size=(120, 90))
    bent = km.picture(model, [1.0], size=(120, 90))
    assert np.array_equal((255 * imread(tmp_path / "up.png")[:, :, :3]).round().astype(np.uint8), up)
    assert np.abs(up.astype(int) - bent.astype(int)).max() > 60
    ghostly = km.picture(model, [1.0], ghosts=[[0.0]], size=(120, 90))
    assert ghostly.shape == (90, 120, 3)


def test_a_model_without_shapes_says_so() -> None:
    b = km.Builder("bare")
    b.link("x", joint=km.Joint.revolute(), inertia=km.Inertia.sphere(1.0, 0.1))
    with pytest.raises(ValueError, match="'bare' has no shapes"):
        km.picture(b.build(), [0.0])


def test_a_solid_throws_a_shadow_on_another_and_the_ground_hides_what_is_below() -> None:
    mesh = km.mesh_of(km.Shape.box((4.0, 4.0, 0.2)))
    table = Solid(mesh.vertices + (0.0, 0.0, -0.1), mesh.faces, np.ones((len(mesh.faces), 3)) * 0.8)
    camera = Camera((0.0, -3.0, 9.0), (0.0, 0.0, 0.0))
    alone = draw([table], camera, 160, 160).astype(int)
    shaded = draw([table, ball((0.8, 0.8, 0.8), (0.0, 0.0, 1.0))], camera, 160, 160).astype(int)
    darker = alone.sum(axis=2) - shaded.sum(axis=2) > 60
    away = np.array([-0.45, 0.35, 0.0]) / 0.82  # where the light throws what is 1 m above
    (x, y, _), *_ = camera.project(away[None], 160, 160)
    assert darker[int(y), int(x)]
    assert not darker[int(y), 160 - int(x)]
    sunk = ball((1.0, 0.0, 0.0), (0.0, 0.0, -0.6))
    np.testing.assert_array_equal(draw([sunk], camera, 80, 80, ground=0.0), draw([], camera, 80, 80, ground=0.0))


def test_the_depth_of_a_large_triangle_is_that_of_its_points() -> None:
    """In perspective depth is not linear over a picture, and a long floor hides all that is below it."""
    floor = Solid(
        np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 50.0, 0.0], [-1.0, 50.0, 0.0]]),
        np.array([[0, 1, 2], [0, 2, 3]], np.int32),
        np.ones((2, 3)),
    )
    low = ball((1.0, 0.0, 0.0), (0.0, 10.0, -0.6))  # below the floor
    image = draw([low, floor], Camera((0.0, -3.0, 3.0), (0.0, 10.0, 0.0)), 120, 120).astype(int)
    assert not (image[:, :, 0] > 2 * image[:, :, 2]).any()


def test_names_are_written_where_they_belong() -> None:
    b = km.Builder("pair")
    for name, x in (("one", -1.0), ("two", 1.0)):
        b.link(name, None, km.Joint.free(), (x, 0, 0), km.Inertia(1.0, (0, 0, 0), np.eye(3)), km.Shape.sphere(0.2))
    model = b.build()
    q = km.neutral(model)
    plain = km.picture(model, q, direction=(0, -1, 0.1), size=(400, 300))
    named = km.picture(model, q, direction=(0, -1, 0.1), size=(400, 300), names={"left": (-1.0, 0, 0.35)})
    _, columns = np.nonzero((plain != named).any(axis=2))
    assert len(columns) > 50
    assert columns.max() < 200  # the left one is named, the right one is not
    far = km.picture(model, q, direction=(0, -1, 0.1), size=(400, 300), names={"outside": (-50.0, 0, 0)})
    rows, columns = np.nonzero((plain != far).any(axis=2))
    assert columns.max() - columns.min() > 20  # pushed inside, and read in full
    assert columns.min() > 0
    assert rows.max() < 299


def test_the_log_of_a_simulation_is_drawn_at_a_time() -> None:
    b = km.Builder("pendulum")
    rod, shape = km.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1)), km.Shape.capsule(0.05, 0.9, km.Pose((0, 0, -0.5)))
    b.link("arm", None, km.Joint.revolute("y"), (0, 0, 1.2), rod, shape)
    model = b.build()
    log = km.simulate(model, km.State(np.array([1.0]), np.zeros(1)), 0.5, dt=0.01)
    first, last = (km.picture(log, t, size=(160, 120)) for t in (0.0, 0.5))
    assert (first != last).any()


def test_a_camera_just_sees_all_points() -> None:
    """On each side of the frame that binds, something touches the margin, however deep the points are."""
    from kinemorph.view.pictures.raster import FRAME_GROWTH, Camera

    rng = np.random.default_rng(3)
    for _ in range(50):
        points = rng.normal(size=(30, 3)) * rng.uniform(0.1, 5.0, 3)
        x, y, depth = Camera.framing(points, rng.normal(size=3), 1.5).project(points, 300, 200).T
        reach = max(np.abs(x - 150.0).max() / 150.0, np.abs(y - 100.0).max() / 100.0)
        assert reach == pytest.approx(1.0 / FRAME_GROWTH, rel=1e-9)
        assert depth.min() > 0.0
        sides = (x.max() + x.min() - 300.0, y.max() + y.min() - 200.0)
        assert min(map(abs, sides)) < 1e-6


@pytest.mark.parametrize("height", [2.0, -2.0])
def test_a_camera_may_look_straight_down_or_up(height: float) -> None:
    from kinemorph.view.pictures.raster import Camera

    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    origin, x, y = Camera.framing(points, (0.0, 0.0, height), 1.0).project(points, 200, 200)[:, :2]
    assert np.allclose(y[0], origin[0])  # y is up in the picture
    assert y[1] < origin[1] - 50.0
    assert np.allclose(x[1], origin[1])  # x to the right, or to the left as seen from below
    assert np.sign(x[0] - origin[0]) == np.sign(height)
    with pytest.raises(ValueError, match=r"camera: direction \(0, 0, 0\) is none"):
        Camera.framing(points, (0.0, 0.0, 0.0), 1.0)


def test_pictures_of_worlds_have_bright_ground_and_what_stands_near() -> None:
    """Level ground was a plate that darkened the whole picture."""
    world = km.World()
    world.add_ground()
    world.add(km.Shape.box((0.3, 0.3, 0.3)), at=(0, 0, 0.15))
    with km.film(world, name="a box") as taken:
        world.run(0.02)
    image = km.picture(taken.recording, 0.0, size=(120, 90))
    assert image[:10].mean() > 180.0
    assert image[45, 60].max() < 220
    _, plain = np.unique(image.reshape(-1, 3), axis=0, return_counts=True)
    assert len(plain) > 50  # sky, shadow and box
