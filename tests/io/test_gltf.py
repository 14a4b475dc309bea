"""GLB files: other readers find the meshes and the motion in them."""

import json
import struct

import numpy as np
import pygltflib
import pytest
import trimesh

import kinemorph as km
from kinemorph.io.gltf import GlbBody, GlbPart, format_glb
from kinemorph.spatial.quaternion_arrays import to_matrices

Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@pytest.fixture
def recording():
    """A pendulum that loses its lower half, which then is another body's."""
    model = km.human(limits=False)
    rng = np.random.default_rng(0)
    path = km.rollout(model, km.Data(model), km.neutral(model), rng.normal(size=model.nv), dt=2e-3, steps=200, every=10)
    recording = km.Recording.from_trajectory(model, path)
    part = km.submodel(model, "left upper arm")
    recording.chapter(float(path.t[-1]), "cut", part)
    for k in range(5):
        recording.add(part, km.neutral(part), float(path.t[-1]) + 0.02 * (k + 1))
    return recording


def parts(content: bytes) -> tuple[dict, bytes]:
    """The two chunks of a GLB file."""
    magic, version, length = struct.unpack_from("<III", content)
    assert (magic, version, length) == (0x46546C67, 2, len(content))
    size, kind = struct.unpack_from("<II", content, 12)
    assert kind == 0x4E4F534A
    text = json.loads(content[20 : 20 + size])
    more, kind = struct.unpack_from("<II", content, 20 + size)
    assert kind == 0x004E4942
    assert 28 + size + more == len(content)
    return text, content[28 + size :]


def numbers(text: dict, buffer: bytes, index: int) -> np.ndarray:
    accessor = text["accessors"][index]
    view = text["bufferViews"][accessor["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
    kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
    assert view["byteOffset"] % 4 == 0
    raw = buffer[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
    values = np.frombuffer(raw, kind).reshape(accessor["count"], width)
    assert np.allclose(values.min(axis=0), accessor["min"])
    assert np.allclose(values.max(axis=0), accessor["max"])
    return values


def test_animation_is_the_motion(recording, tmp_path):
    km.save_glb(recording, tmp_path / "arm.glb")
    text, buffer = parts((tmp_path / "arm.glb").read_bytes())
    (animation,) = text["animations"]
    t, poses = recording.t, recording.poses
    last = np.append(np.diff(t) > 0.0, True)
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        clock = numbers(text, buffer, sampler["input"])[:, 0]
        assert np.allclose(clock, t[last] - t[0], atol=1e-6)
        assert (np.diff(clock) > 0.0).all()
        name = text["nodes"][channel["target"]["node"]]["name"]
        row = [body.name for body in recording.bodies].index(name)
        there = np.isfinite(poses[last, row, 0])
        values = numbers(text, buffer, sampler["output"])
        assert len(values) == len(clock)
        if channel["target"]["path"] == "translation":
            assert np.abs(values[there] - poses[last, row, :3][there]).max() < 1e-6
        elif channel["target"]["path"] == "rotation":
            mine = to_matrices(values[:, [3, 0, 1, 2]].astype(float))
            assert np.abs(mine[there] - to_matrices(poses[last, row, 3:][there])).max() < 1e-6
            assert (np.sum(values[1:] * values[:-1], axis=1) > 0.0).all()
        else:
            assert sampler["interpolation"] == "STEP"
            assert np.array_equal(values[:, 0] > 0.5, there)


def test_another_reader_finds_the_same_bodies(recording, tmp_path):
    km.save_glb(recording, tmp_path / "arm.glb")
    scene = trimesh.load(tmp_path / "arm.glb")
    poses = recording.poses
    for row, body in enumerate(recording.bodies):
        matrix, geometry = scene.graph[body.name]
        assert np.abs(matrix[:3, :3] - Y_UP @ to_matrices(poses[0, row, 3:])).max() < 1e-6
        assert np.abs(matrix[:3, 3] - Y_UP @ poses[0, row, :3]).max() < 1e-6
        if geometry is not None and len(body.shapes) == 1:
            mesh, shape = scene.geometry[geometry], body.shapes[0]
            mine = shape.pose.apply(recording.mesh_of(shape).vertices)
            assert np.abs(mesh.bounds - [mine.min(axis=0), mine.max(axis=0)]).max() < 1e-6


def test_pygltflib_reads_it(recording, tmp_path):
    km.save_glb(recording, tmp_path / "arm.glb")
    gltf = pygltflib.GLTF2().load(str(tmp_path / "arm.glb"))
    assert len(gltf.nodes) == len(recording.bodies) + 1
    buffer = gltf.binary_blob()
    channel = next(c for c in gltf.animations[0].channels if c.target.path == "translation")
    accessor = gltf.accessors[gltf.animations[0].samplers[channel.sampler].output]
    view = gltf.bufferViews[accessor.bufferView]
    values = np.frombuffer(buffer[view.byteOffset : view.byteOffset + view.byteLength], "<f4").reshape(-1, 3)
    row = [body.name for body in recording.bodies].index(gltf.nodes[channel.target.node].name)
    last = np.append(np.diff(recording.t) > 0.0, True)
    there = np.isfinite(recording.poses[last, row, 0])
    assert np.abs(values[there] - recording.poses[last, row, :3][there]).max() < 1e-6


def test_one_mesh_is_stored_once_however_many_use_it():
    mesh = km.mesh_of(km.Shape.box((1.0, 1.0, 1.0)))
    still = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (2, 1))
    part = GlbPart(mesh, (1.0, 0.0, 0.0, 0.5))
    one = format_glb("a", np.array([0.0, 1.0]), [GlbBody("a", [part], still)])
    many = format_glb("a", np.array([0.0, 1.0]), [GlbBody(f"{k}", [part], still) for k in range(20)])
    text, _ = parts(many)
    assert len(text["materials"]) == 1
    assert text["materials"][0]["alphaMode"] == "BLEND"
    assert len(many) < len(one) + 20 * 1200


def test_a_still_picture_has_no_animation():
    mesh = km.mesh_of(km.Shape.sphere(0.3))
    text, _ = parts(
        format_glb(
            "",
            np.zeros(1),
            [GlbBody("ball", [GlbPart(mesh, (1.0, 1.0, 1.0, 1.0))], np.array([[1.0, 2, 3, 1, 0, 0, 0]]))],
        )
    )
    assert "animations" not in text
    assert text["nodes"][1]["translation"] == [1.0, 2.0, 3.0]


def test_a_recording_without_frames_is_refused(tmp_path):
    with pytest.raises(ValueError, match="recording 'empty' has no frames to write"):
        km.save_glb(km.Recording("empty"), tmp_path / "empty.glb")
