"""Recordings: nothing is lost, nothing lies, and no file can do harm."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import kinemorph as km
from kinemorph.view.recordings import archive
from kinemorph.view.recordings.recording import Body, Recording, depths, reroot_parents

pytestmark = pytest.mark.quick

LENGTH = 0.5
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def chain(order: str = "abc", top: float = 0.0, upwards: bool = False, colour: Any = None) -> km.Model:
    """Links one below the other; `upwards`, the first link is the lowest. Each frame is at the joint to the parent."""
    along = np.array([0.0, 0.0, LENGTH if upwards else -LENGTH])
    b = km.Builder("chain")
    b.base(km.Shape.box((1.0, 1.0, 0.1)))
    for k, name in enumerate(order):
        b.link(
            name,
            order[k - 1] if k else None,
            km.Joint.revolute("y"),
            at=(0.0, 0.0, top) if k == 0 else along,
            inertia=km.Inertia.rod(1.0, (0, 0, 0), along),
            shapes=[
                km.Shape.capsule(0.05, 0.4, km.Pose(along / 2), colour=colour),
                km.Shape.sphere(0.1, km.Pose((0, 0, LENGTH if upwards else 0)), name="upper end"),
            ],
        )
    return b.build()


def with_mesh(folder: Path) -> km.Model:
    file = folder / "tip.obj"
    file.write_text(TETRAHEDRON)
    b = km.Builder("ünïcode")
    mirrored = km.Shape.mesh(file, (1.0, -2.0, 1.0), km.Pose.rpy(0.1, 0.2, 0.3, (1, 2, 3)), colour=(1.0, 0.5, 0.0, 1.0))
    b.link("tip", None, km.Joint.free(), inertia=km.Inertia(1.0, (0, 0, 0), np.eye(3)), shapes=mirrored)
    return b.build()


def sample(folder: Path) -> Recording:
    """Two models, one after the other, with every kind of event and an absent body."""
    first, second = chain(), with_mesh(folder)
    recording = Recording("sample")
    for t in (0.0, 0.1, 1.0 / 3.0):
        recording.add(first, np.sin(t + np.arange(3)), t)
    recording.chapter(0.5, "reroot", root="c")
    recording.chapter(0.5, "cut", parents={"b": None})
    recording.chapter(0.5, "a loud bang")
    recording.add(second, km.neutral(second), 0.5)
    return recording


def same(a: Recording, b: Recording) -> None:
    assert a.name == b.name
    assert np.array_equal(a.t, b.t)
    assert np.array_equal(a.poses, b.poses, equal_nan=True)
    assert a.chapters == b.chapters
    assert list(a.meshes) == list(b.meshes)
    for path, mesh in a.meshes.items():
        assert np.array_equal(mesh.vertices, b.meshes[path].vertices)
        assert np.array_equal(mesh.faces, b.meshes[path].faces)
    pairs = [(a.base_shapes, b.base_shapes)]
    assert [body.name for body in a.bodies] == [body.name for body in b.bodies]
    pairs += [(x.shapes, y.shapes) for x, y in zip(a.bodies, b.bodies, strict=True)]  # type: ignore[misc]
    for xs, ys in pairs:
        for x, y in zip(xs, ys, strict=True):
            for field in ("kind", "size", "role", "colour", "path", "name"):
                assert getattr(x, field) == getattr(y, field)
            assert np.allclose(x.pose.matrix(), y.pose.matrix(), rtol=0.0, atol=1e-15)


def matrix(row: Any) -> Any:
    return km.Pose.quaternion(row[3:], row[:3]).matrix()


def test_poses_are_those_of_the_links() -> None:
    model, q = chain(), np.array([0.3, -0.7, 2.9])
    data = km.Data(model)
    km.kinematics(model, data, q)
    recording = Recording()
    recording.add(model, q, 0.0)
    recording.add(model, data, 0.5)
    assert np.array_equal(recording.poses[0], recording.poses[1])
    for i, row in enumerate(recording.poses[0]):
        assert np.allclose(matrix(row), km.pose_of(model, data, i).matrix(), atol=1e-14)


def test_a_trajectory_becomes_a_recording() -> None:
    model = chain()
    path = km.rollout(model, km.Data(model), [0.1, 0.2, 0.3], np.zeros(3), dt=1e-3, steps=100, every=10)
    recording = Recording.from_trajectory(model, path)
    assert np.array_equal(recording.t, path.t)
    assert repr(recording) == "Recording 'chain': 3 bodies, 11 frames, 1 chapters, 0 to 0.1 s"
    assert recording.chapters[0].what == "start"
    assert recording.chapters[0].roots == ("a",)


def test_data_of_a_caller_is_not_written_to() -> None:
    model = chain()
    data = km.Data(model)
    km.kinematics(model, data, [0.1, 0.2, 0.3])
    recording = Recording()
    recording.add(model, data, 0.0)
    before = data.links.copy()
    recording.add(model, [1.0, 1.0, 1.0], 1.0)
    assert np.array_equal(data.links, before)


def test_a_link_keeps_its_body_when_rerooting_gives_it_another_frame() -> None:
    down = chain("abc", top=3 * LENGTH)
    up = chain("cba", top=0.0, upwards=True)
    recording = Recording()
    recording.add(down, np.zeros(3), 0.0)
    recording.add(up, np.zeros(3), 0.0)
    assert np.allclose(recording.poses[0], recording.poses[1], atol=1e-14)
    assert [e.what for e in recording.chapters] == ["start", "reroot"]
    assert recording.parents == {"c": None, "b": "c", "a": "b"}
    assert recording.chapters[-1].frame == 1


def test_a_change_that_nobody_announced_is_an_event_and_an_announced_one_is_not_told_twice() -> None:
    recording = Recording()
    recording.add(chain("abc"), np.zeros(3), 0.0)
    recording.add(chain("abc"), np.zeros(3), 1.0)  # another model, the same tree
    assert len(recording.chapters) == 1
    recording.chapter(2.0, "reroot", root="c")
    recording.add(chain("cba", upwards=True), np.zeros(3), 2.0)
    assert [e.what for e in recording.chapters] == ["start", "reroot"]
    model = chain("cbad", upwards=True)
    recording.chapter(3.0, "connect d", model)
    recording.add(model, np.zeros(4), 3.0)
    assert [e.what for e in recording.chapters] == ["start", "reroot", "connect d"]
    recording.add(chain("cba", upwards=True), np.zeros(3), 4.0)
    assert recording.chapters[-1].what == "cut"
    assert recording.chapters[-1].parents == {"c": None, "b": "c", "a": "b"}


def test_a_body_that_a_frame_does_not_have_is_absent() -> None:
    recording = Recording()
    recording.add(chain("ab"), np.zeros(2), 0.0)
    recording.add(chain("abc"), np.zeros(3), 1.0)
    assert np.isnan(recording.poses[0, 2]).all()
    assert np.isfinite(recording.poses[1]).all()


def test_the_base_is_recorded_once() -> None:
    recording = Recording()
    recording.add(chain("ab"), np.zeros(2), 0.0)
    recording.add(chain("abc"), np.zeros(3), 1.0)
    assert len(recording.base_shapes) == 1


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda r: r.add(chain(), np.zeros(3), 0.5), "is at 1.0 s already and cannot go to t = 0.5 s"),
        (lambda r: r.chapter(0.5, "cut"), "is at 1.0 s already and cannot go to t = 0.5 s"),
        (lambda r: r.chapter(np.nan, "cut"), "cannot go to t = nan s"),
        (lambda r: r.chapter(2.0, ""), "the chapter at t = 2.0 s needs a name"),
        (lambda r: r.chapter(2.0, "reroot", root="x"), "there is no link 'x' to be the root; there are a, b, c"),
        (lambda r: r.chapter(2.0, "cut", parents={"a": "x"}), "chapter 'cut' names 'x', which is no body of it"),
        (lambda r: r.chapter(2.0, "connect", parents={"a": "c"}), "is its own ancestor"),
        (lambda r: r.chapter(2.0, "both", parents={"a": "c"}, root="b"), "is its own ancestor"),
        (lambda r: r.add(chain(), [0.0, np.nan, 0.0], 2.0), "q"),
        (lambda r: r.add(chain(), km.Data(chain()), 2.0), "Data"),
        (lambda r: r.add(chain(colour=(1.0, 0.0, 0.0, 1.0)), np.zeros(3), 2.0), "'a' has other shapes than before"),
        (lambda r: r.add_body(Body("a")), "there is already a body 'a'"),
        (lambda r: r.add_body(Body("d", (km.Shape.mesh("gone.obj"),))), "it has no mesh 'gone.obj'"),
        (lambda r: r.add_poses(2.0, np.array([0]), np.full((1, 7), np.inf)), "a pose at t = 2.0 s is not finite"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(do: Callable[[Recording], object], message: str) -> None:
    recording = Recording("r")
    recording.add(chain(), np.zeros(3), 1.0)
    poses, events = recording.poses, list(recording.chapters)
    with pytest.raises(ValueError, match=message):
        do(recording)
    assert np.array_equal(recording.poses, poses)
    assert recording.chapters == events


def test_shapes_that_move_against_each_other_are_no_body() -> None:
    def two(distance: float) -> km.Model:
        b = km.Builder()
        parts = [km.Shape.sphere(0.1), km.Shape.sphere(0.1, km.Pose((distance, 0, 0)))]
        b.link("a", None, km.Joint.revolute("y"), inertia=km.Inertia(1.0, (0, 0, 1), np.eye(3)), shapes=parts)
        return b.build()

    recording = Recording()
    recording.add(two(1.0), [0.0], 0.0)
    with pytest.raises(ValueError, match="its shapes have moved against each other"):
        recording.add(two(2.0), [0.0], 1.0)


def test_rerooting_turns_the_chain_round_and_back() -> None:
    tree = {"a": None, "b": "a", "c": "b", "d": "b", "e": "a", "lone": None}
    turned = reroot_parents(tree, "c")
    assert turned == {"c": None, "b": "c", "a": "b", "d": "b", "e": "a", "lone": None}
    assert reroot_parents(turned, "a") == tree
    assert reroot_parents(tree, "a") == tree
    assert depths(turned) == {"c": 0, "b": 1, "a": 2, "d": 2, "e": 3, "lone": 0}


def test_a_file_brings_everything_back(tmp_path: Path) -> None:
    recording = sample(tmp_path)
    recording.save(tmp_path / "a.npz")
    (tmp_path / "tip.obj").unlink()  # its mesh is in the recording
    loaded = Recording.load(tmp_path / "a.npz")
    same(recording, loaded)
    shape = loaded.bodies[3].shapes[0]
    assert loaded.mesh_of(shape).volume == pytest.approx(1.0 / 3.0)
    loaded.save(tmp_path / "b.npz")
    same(recording, Recording.load(tmp_path / "b.npz"))


def test_a_loaded_recording_goes_on(tmp_path: Path) -> None:
    sample(tmp_path).save(tmp_path / "a.npz")
    loaded = Recording.load(tmp_path / "a.npz")
    loaded.add(chain(), np.zeros(3), 1.0)
    assert loaded.chapters[-1].what == "connect"
    with pytest.raises(ValueError, match="already"):
        loaded.chapter(0.2, "too late")


def test_an_empty_recording_is_saved_too(tmp_path: Path) -> None:
    Recording("nothing").save(tmp_path / "a.npz")
    same(Recording("nothing"), Recording.load(tmp_path / "a.npz"))


def test_numpy_opens_the_file_without_pickle(tmp_path: Path) -> None:
    recording = sample(tmp_path)
    recording.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["t"], recording.t)
        text = msgspec.json.decode(arrays["text"].tobytes())
    assert (text["format"], text["version"]) == ("kinemorph recording", 1)
    assert [e["what"] for e in text["events"]] == [e.what for e in recording.chapters]


def test_the_same_recording_makes_the_same_bytes(tmp_path: Path) -> None:
    recording = sample(tmp_path)
    recording.save(tmp_path / "a.npz")
    recording.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "out" / "a.npz"
    file.parent.mkdir()
    sample(tmp_path).save(file)
    before = file.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk is full"):
        Recording("other").save(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_truncated_or_damaged_file_is_a_file_error(tmp_path: Path, rng: np.random.Generator) -> None:
    file = tmp_path / "a.npz"
    sample(tmp_path).save(file)
    whole = file.read_bytes()
    for size in np.linspace(0, len(whole) - 1, 40).astype(int):
        file.write_bytes(whole[:size])
        with pytest.raises(km.FileError, match=r"a\.npz"):
            Recording.load(file)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        try:
            Recording.load(file)  # some bits mean nothing, such as those of dates
        except km.FileError:
            refused += 1
    assert refused > 200


def test_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(km.FileError, match="there is no such file"):
        Recording.load(tmp_path / "none.npz")


Arrays = dict[str, np.ndarray[Any, Any]]


def set_array(name: str, value: Any) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.update({name: np.asarray(value)})


def edit_text(change: Callable[[dict[str, Any]], object]) -> Callable[[Arrays], None]:
    def edit(arrays: Arrays) -> None:
        text = msgspec.json.decode(arrays["text"].tobytes())
        change(text)
        arrays["text"] = np.frombuffer(msgspec.json.encode(text), np.uint8)

    return edit


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (lambda a: a.pop("text"), "there is no text in it"),
        (lambda a: a.pop("poses"), "there is no poses in it"),
        (lambda a: a.pop("faces_0"), "there is no faces_0 in it"),
        (set_array("text", np.frombuffer(b"[" * 100_000, np.uint8)), ""),
        (set_array("text", np.frombuffer(b"\xff\xfe{}", np.uint8)), ""),
        (edit_text(lambda t: t.update(version=2)), "version 2; this reads"),
        (edit_text(lambda t: t.update(format="cake")), '"cake"'),
        (edit_text(lambda t: t.pop("events")), "missing required field `events`"),
        (edit_text(lambda t: t["bodies"][0].update(name="b")), "there is already a body 'b'"),
        (edit_text(lambda t: t["bodies"].pop()), "which do not fit"),
        (edit_text(lambda t: t["events"][0].update(frame=99)), "there are 4 frames"),
        (edit_text(lambda t: t["events"][1].update(t=-1.0)), "cannot go to t = -1.0 s"),
        (edit_text(lambda t: t["events"][0]["parents"].update(a="c")), "its own ancestor"),
        (edit_text(lambda t: t["bodies"][0]["shapes"][0].update(size=[-1.0, 1.0])), "a capsule of size"),
        (edit_text(lambda t: t["bodies"][0]["shapes"][0].update(size=[1.0])), "a capsule of size"),
        (edit_text(lambda t: t["bodies"][0]["shapes"][0].update(rotation=[2.0] * 9)), "not a rotation"),
        (edit_text(lambda t: t["bodies"][0]["shapes"][0].update(position=[0.0])), "expected 3 numbers"),
        (edit_text(lambda t: t["bodies"][3]["shapes"][0].update(path="/etc/passwd")), "it has no mesh '/etc/passwd'"),
        (set_array("t", [0.0, 0.1, 0.05, 0.5]), "cannot go to"),
        (set_array("t", [0.0, 0.1, np.nan, 0.5]), "cannot go to"),
        (set_array("t", [0, 1, 2, 3]), "which do not fit"),
        (set_array("poses", np.zeros((4, 4, 7))), "a pose in it that is not one"),
        (set_array("poses", np.full((4, 4, 7), np.inf)), "a pose in it that is not one"),
        (set_array("poses", np.zeros((4, 5, 7))), "which do not fit"),
        (set_array("faces_0", np.array([[0, 1, 99]], np.int32)), "mesh 0 is none"),
        (set_array("faces_0", np.zeros((0, 3), np.int32)), "mesh 0 is none"),
        (set_array("vertices_0", np.full((4, 3), np.nan)), "mesh 0 is none"),
    ],
)
def test_a_file_with_nonsense_in_it_is_a_file_error(
    tmp_path: Path, tamper: Callable[[Arrays], object], message: str
) -> None:
    file = tmp_path / "a.npz"
    sample(tmp_path).save(file)
    arrays = archive.read_arrays(file)
    tamper(arrays)
    archive.write_arrays(file, arrays)
    with pytest.raises(km.FileError, match=rf"(?s)a\.npz: .*{message}"):
        Recording.load(file)


def test_an_array_that_claims_more_than_there_is_allocates_nothing(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    file = tmp_path / "a.npz"
    with zipfile.ZipFile(file, "w") as content:
        content.writestr("t.npy", header.getvalue() + b"\0" * 64)
    with pytest.raises(km.FileError, match=r"of shape \(1000000000000000,\) in 64 bytes"):
        archive.read_arrays(file)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    np.savez(file, text=np.array([{"a": 1}], dtype=object))
    with pytest.raises(km.FileError, match="object"):
        archive.read_arrays(file)


def test_nothing_beyond_the_limit_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    archive.write_arrays(file, {"zeros": np.zeros(1_000_000)})
    assert file.stat().st_size < 10_000
    with pytest.raises(km.FileError, match="its arrays have 8000128 bytes, the limit is 1000000"):
        archive.read_arrays(file, limit=1_000_000)


@pytest.mark.parametrize("seed", range(6))
def test_arrays_take_no_memory_on_the_word_of_a_short_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """What somebody else has packed a thousandfold is refused, and what is written here is always read."""
    monkeypatch.setattr(archive, "ROOM", 2**20)
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2**16, 2**18, size=int(rng.integers(6, 10)))
    arrays = {f"a{k}": np.full(size, rng.random()) for k, size in enumerate(sizes.tolist())}
    file, bomb = tmp_path / "a.npz", tmp_path / "b.npz"
    np.savez_compressed(bomb, **arrays)  # type: ignore[arg-type]
    size = sum(array.nbytes + 128 for array in arrays.values())
    assert size > 200 * bomb.stat().st_size
    most = archive.ROOM + archive.ROOM_PER_BYTE * bomb.stat().st_size
    with pytest.raises(km.FileError, match=f"its arrays have {size} bytes, the limit is {most}"):
        archive.read_arrays(bomb)
    archive.write_arrays(file, arrays)
    again = archive.read_arrays(file)
    assert all(np.array_equal(again[name], array) for name, array in arrays.items())
