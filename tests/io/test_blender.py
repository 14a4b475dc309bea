"""Blender reads our GLB files, where its wheel is installed: pip install bpy (half a gigabyte)."""

from itertools import product

import numpy as np
import pytest

import kinemorph as km
from kinemorph.spatial.quaternion_arrays import to_matrices

bpy = pytest.importorskip("bpy", reason="Blender is not installed as a module: pip install bpy")

SIZE = (0.2, 0.3, 0.4)
CORNERS = 0.5 * np.array(SIZE) * np.array(list(product((-1.0, 1.0), repeat=3)))
DIRECTIONS = np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3))])


def test_blender_plays_what_was_recorded(tmp_path):
    world = km.World()
    world.add_ground()
    for i in range(3):
        world.add(km.Shape.box(SIZE), at=(i, 0.0, 1.0), twist=(i, 2.0, 1.0, 0.5, 0.0, 1.0), name=f"box {i}")
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
            thing = bpy.data.objects[body.name]
            found = np.array([thing.matrix_world @ vertex.co for vertex in thing.data.vertices])
            wanted = CORNERS @ to_matrices(recording.poses[k, i, 3:]).T + recording.poses[k, i, :3]
            for axis in DIRECTIONS:  # Blender has its own frames, and the same surfaces
                np.testing.assert_allclose((found @ axis).max(), (wanted @ axis).max(), atol=2e-6)
