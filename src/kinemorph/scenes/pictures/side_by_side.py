"""Recordings of several worlds in one, beside each other: the same scene under other settings, or several lives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinemorph.spatial.pose import Pose
from kinemorph.view.recordings.recording import SOIL, Body, Recording

SAME_FRAME_TIME = 1e-9  # s


def place_side_by_side(recordings: Mapping[str, Recording], apart: tuple[float, float, float], name: str) -> Recording:
    """All of them, each `apart` from the one before; bodies are called as in theirs, after what these are called.

    They must have frames at the same times. Level ground is there once.
    """
    if not recordings:
        raise ValueError(f"beside: {name!r} is of no recording; give at least one")
    first = next(iter(recordings.values()))
    whole = Recording(name)
    rows, poses = [], []
    for k, (called, recording) in enumerate(recordings.items()):
        if recording.t.shape != first.t.shape or np.abs(recording.t - first.t).max(initial=0.0) > SAME_FRAME_TIME:
            raise ValueError(f"beside: {called!r} has other times than the first one; film them alike")
        shift = Pose(k * np.array(apart))
        paths = {path: Path(f"{called} {path}") for path in recording.meshes}
        whole.meshes |= {paths[path]: mesh for path, mesh in recording.meshes.items()}
        for shape in recording.base_shapes:
            if shape.colour != SOIL or k == 0:
                renamed = replace(shape, path=paths.get(shape.path, shape.path) if shape.path else None)
                whole.add_base_shape(renamed.moved(shift))
        rows.append(len(whole.bodies) + np.arange(len(recording.bodies)))
        for body in recording.bodies:
            shapes = [replace(s, path=paths.get(s.path, s.path) if s.path else None) for s in body.shapes]
            whole.add_body(Body(f"{called} {body.name}", tuple(shapes)))
        moved = recording.poses.copy()
        moved[:, :, :3] += shift.position
        poses.append(moved)
    for i, t in enumerate(first.t):
        frame = np.concatenate([each[i] for each in poses])
        there = ~np.isnan(frame[:, 0])
        whole.add_poses(float(t), np.concatenate(rows)[there], frame[there])
    return whole


def cut_recording(recording: Recording, times: npt.NDArray[np.float64]) -> Recording:
    """The frames that hold at some times (s), which are told from the first one on, and the chapters between them."""
    part = Recording(recording.name)
    part.meshes |= recording.meshes
    for shape in recording.base_shapes:
        part.add_base_shape(shape)
    for body in recording.bodies:
        part.add_body(body)
    poses = recording.poses
    frames = np.searchsorted(recording.t, times + SAME_FRAME_TIME, side="right") - 1
    if len(frames) and frames.min() < 0:
        raise ValueError(f"excerpt: {recording.name!r} begins at {recording.t[0]} s, after {times.min()} s")
    chapters, last = list(recording.chapters), 0.0
    for t, i in zip((times - times[:1]).tolist(), frames.tolist(), strict=True):
        while chapters and chapters[0].frame <= i:
            chapter = chapters.pop(0)
            part.add_chapter(max(last, chapter.t - float(times[0])), chapter.what, chapter.parents)
            last = part.chapters[-1].t
        there = np.flatnonzero(~np.isnan(poses[i, :, 0]))
        part.add_poses(t, there, poses[i, there])
        last = t
    return part
