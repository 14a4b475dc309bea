"""Moving pictures and notebooks: what they show is what there is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import kinemorph as km


def swing() -> tuple[km.Model, km.Log]:
    b = km.Builder("pendulum <1>")
    rod, shape = km.Inertia.cylinder(1.0, 0.05, 0.9, (0, 0, -0.5)), km.Shape.capsule(0.05, 0.9, km.Pose((0, 0, -0.5)))
    b.link("arm", None, km.Joint.revolute("y"), (0, 0, 1.2), rod, shape)
    model = b.build()
    return model, km.simulate(model, km.State(np.array([1.0]), np.zeros(1)), 0.5, dt=0.01)


@pytest.mark.parametrize("end", ["gif", "webp"])
def test_a_log_becomes_a_moving_picture(end: str, tmp_path: Path) -> None:
    _, log = swing()
    path = km.animate(log, tmp_path / f"swing.{end}", rate=10, size=(80, 60))
    with Image.open(path) as film:
        assert (film.size, film.n_frames) == ((80, 60), 6)  # type: ignore[attr-defined]
        first = np.asarray(film.convert("RGB"), float)
        film.seek(5)
        assert np.abs(first - np.asarray(film.convert("RGB"), float)).max() > 50.0


def test_mp4_is_made_where_ffmpeg_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, log = swing()
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "which", lambda _: None)
        with pytest.raises(FileNotFoundError, match="MP4 needs the program ffmpeg"):
            km.animate(log, tmp_path / "swing.mp4")
    if shutil.which("ffprobe") is None:
        pytest.skip("there is no ffmpeg here")
    path = km.animate(log, tmp_path / "swing.mp4", rate=10, size=(81, 61))
    asked = [
        "ffprobe",
        "-v",
        "error",
        "-count_frames",
        "-show_entries",
        "stream=nb_read_frames,width",
        "-of",
        "csv=p=0",
    ]
    assert subprocess.run([*asked, path], capture_output=True, text=True, check=True).stdout.strip() == "82,6"


def test_what_cannot_be_animated_says_so(tmp_path: Path) -> None:
    _, log = swing()
    with pytest.raises(ValueError, match=r"end in \.gif, \.webp, \.mp4"):
        km.animate(log, tmp_path / "swing.avi")
    with pytest.raises(ValueError, match="rate 0 must be positive"):
        km.animate(log, tmp_path / "swing.gif", rate=0)
    with pytest.raises(ValueError, match="has no frames"):
        km.animate(km.Recording("none"), tmp_path / "swing.gif")


def test_objects_show_themselves_in_notebooks() -> None:
    model, log = swing()
    world = km.World()
    world.add_ground()
    world.add(km.Shape.sphere(0.1), at=(0, 0, 1))
    before = world.hash()
    report = km.cut(model, km.State(np.array([1.0]), np.zeros(1)), "arm")
    things = {"Model": model, "Log": log, "Recording": km.Recording.from_log(log), "World": world, "Report": report}
    shown = {kind: thing._repr_html_() for kind, thing in things.items()}  # type: ignore[attr-defined]
    for kind, page in shown.items():
        assert f"<b>{kind}" in page
        assert "http" not in page
        assert "<1>" not in page
    for kind in ("Model", "Recording", "World"):
        assert "data:image/png;base64,iVBOR" in shown[kind]
    assert world.hash() == before
    assert not world._onlookers
