"""Blender reads our GLB files, where its wheel is installed: pip install bpy (half a gigabyte)."""

import numpy as np
import pytest

import kinemorph as km
from kinemorph.spatial.quaternion_arrays import to_matrix

bpy = pytest.importorskip("bpy", reason="Blender is not installed as a module: pip install bpy")


def test_blender_plays_what_was_recorded(tmp_path):
    world = km.World()
    world.add_ground()
    for i in range(3):
        world.add(km.Shape.box((0.2, 0.3, 0.4)), at=(i, 0.0, 1.0), twist=(i, 2.0, 1.0, 0.5, 0.0, 1.0), name=f"box {i}")
    with km.film(world) as film:
        world.run(0.5)
    recording = film.recording
    km.save_glb(recording, tmp_path / "boxes.glb")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=str(tmp_path / "boxes.glb"))
    scene = bpy.context.scene
    for k in range(0, len(recording.t), 5):
        frame = recording.t[k] * scene.render.fps
        scene.frame_set(int(frame), subframe=frame - int(frame))
        for i, body in enumerate(recording.bodies):
            pose = np.array(bpy.data.objects[body.name].matrix_world)
            np.testing.assert_allclose(pose[:3, 3], recording.poses[k, i, :3], atol=1e-6)
            np.testing.assert_allclose(pose[:3, :3], to_matrix(recording.poses[k, i, 3:]), atol=1e-5)
