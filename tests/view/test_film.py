"""Films of worlds: who was where, who came and went, and who carried whom."""

import numpy as np
import pytest
from tests.world.kept_worlds import asleep, ground

import kinemorph as km
from kinemorph.geometry.shapes import ShapeKind
from kinemorph.view.body_poses import base_shapes
from kinemorph.view.recordings.recording import standing_shapes


def acted(world: km.World) -> None:
    world.run(0.1)
    box = world.add(km.Shape.box((0.2, 0.1, 0.1)), at=(0, 0, 1.2), name="brick 0")
    world.run(0.1)
    tie = world.connect(world.bodies[0], box, km.Joint.fixed())
    world.run(0.1)
    world.cut(tie)
    world.remove(box)
    world.run(0.1)


def test_a_film_has_frames_and_events():
    world = asleep()
    start = world.time
    with km.film(world, rate=50) as taken:
        acted(world)
    film = taken.recording
    assert [event.what for event in film.chapters] == [
        "start",
        "connect brick 0 and brick 0 2",
        "cut brick 0 and brick 0 2",
    ]
    names = [body.name for body in film.bodies]
    assert names == ["brick 0", "brick 1", "brick 2", "brick 3", "ball", "brick 0 2"]
    there = ~np.isnan(film.poses[:, 5, 0])
    assert there.any()
    assert not there[0]
    assert not there[-1]
    assert film.chapters[1].parents["brick 0 2"] == "brick 0"
    assert film.t[0] == start
    assert film.t[-1] == world.time
    assert np.diff(film.t)[1:-1] == pytest.approx(0.02)
    assert film.poses[-1, 0, :3] == pytest.approx(world.bodies[0].position, abs=1e-12)
    assert len(film.base_shapes) == 1


def test_a_film_on_disk_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("kinemorph.view.recordings.film.FILM_CHUNK_BYTES", 2000)
    world = ground()
    with km.film(world) as kept, km.film(world, tmp_path / "a.film") as long:
        acted(world)
    one, other = kept.recording, long.recording
    assert np.array_equal(one.t, other.t)
    assert np.array_equal(one.poses, other.poses, equal_nan=True)
    assert [(e.t, e.what, e.parents, e.frame) for e in one.chapters] == [
        (e.t, e.what, e.parents, e.frame) for e in other.chapters
    ]
    assert [b.name for b in one.bodies] == [b.name for b in other.bodies]
    whole = (tmp_path / "a.film").read_bytes()
    (tmp_path / "a.film").write_bytes(whole[: len(whole) * 2 // 3])
    part = km.Recording.load(tmp_path / "a.film")
    assert 0 < len(part.t) < len(one.t)
    assert np.array_equal(part.t, one.t[: len(part.t)])
    (tmp_path / "a.film").write_bytes(whole[:100])
    with pytest.raises(km.FileError, match="cut"):
        km.Recording.load(tmp_path / "a.film")


def test_a_film_can_be_looked_at(tmp_path):
    world = ground()
    with km.film(world, rate=20) as taken:
        world.run(0.2)
    assert km.replay(taken.recording, tmp_path / "a.html").stat().st_size > 10_000
    image = km.picture(taken.recording, world.time, tmp_path / "a.png", size=(120, 90))
    assert image.shape == (90, 120, 3)
    assert image.std() > 5.0


def test_to_be_filmed_changes_nothing():
    one, other = asleep(), asleep()
    with km.film(one):
        acted(one)
    acted(other)
    assert one.hash() == other.hash()
    with pytest.raises(ValueError, match="rate"):
        km.film(one, rate=0.0)


URDF = """<robot name="lamp">
<link name="foot"><visual><geometry><cylinder radius="0.1" length="0.1"/></geometry>
  <material name="blue"><color rgba="0 0 1 1"/></material></visual>
  <collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="foot"/><child link="arm"/></joint></robot>"""


def test_the_base_of_a_robot_is_shown_as_its_file_shows_it(tmp_path):
    (tmp_path / "lamp.urdf").write_text(URDF)
    model = km.load_urdf(tmp_path / "lamp.urdf")
    world = km.World()
    world.add_ground()
    with km.film(world) as taken:
        world.add(model, at=(0, 0, 0.05))
        world.run(0.01)
    (foot,) = taken.recording.base_shapes[1:]  # beside the ground
    assert (foot.kind, foot.colour) == (ShapeKind.CYLINDER, (0, 0, 1, 1))
    assert foot.pose.position == pytest.approx((0, 0, 0.05))
    assert foot in standing_shapes(taken.recording)
    assert [s.kind for s in base_shapes(world, {}, solid=True).values()][1:] == [ShapeKind.BOX]
    copy = km.World.load(world.save())  # which does not know what it looks like: what collides is shown
    with km.film(copy) as taken:
        copy.run(0.01)
    assert [s.kind for s in standing_shapes(taken.recording)] == [ShapeKind.BOX]
