"""Moving pictures and notebooks: what they show is what there is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.needs import lacking

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


def frames_of(path: Path, size: tuple[int, int]) -> np.ndarray:
    """All frames of a film, (frames, height, width, 3), as ffmpeg sees them."""
    asked = ["ffmpeg", "-loglevel", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(asked, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, size[1], size[0], 3)


def test_mp4_shows_what_the_other_kinds_show(tmp_path: Path) -> None:
    if shutil.which("ffmpeg") is None:
        lacking("there is no ffmpeg here; on Debian: apt-get install ffmpeg")
    _, log = swing()
    path = km.animate(log, tmp_path / "swing.mp4", rate=10, size=(81, 61))
    film = frames_of(path, (82, 62)).astype(float)  # its sides are even
    assert len(film) == 6
    other = km.animate(log, tmp_path / "swing.webp", rate=10, size=(81, 61))
    with Image.open(other) as picture:
        for k in (0, 5):
            picture.seek(k)
            assert np.abs(film[k, :61, :81] - np.asarray(picture.convert("RGB"), float)).mean() < 4.0
    assert np.abs(film[0] - film[5]).max() > 50.0
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".mp4"] == ["swing.mp4"]


def test_mp4_without_ffmpeg_and_with_one_that_fails_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, log = swing()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(FileNotFoundError, match="MP4 needs the program ffmpeg"):
        km.animate(log, tmp_path / "swing.mp4")
    monkeypatch.setattr(shutil, "which", lambda _: sys.executable)  # a program that wants none of it
    with pytest.raises(OSError, match=r"swing\.mp4: ffmpeg could not make it: "):
        km.animate(log, tmp_path / "swing.mp4", size=(640, 480))
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_animated_says_so(tmp_path: Path) -> None:
    _, log = swing()
    with pytest.raises(ValueError, match=r"end in \.gif, \.webp, \.mp4"):
        km.animate(log, tmp_path / "swing.avi")
    with pytest.raises(ValueError, match="rate is 0, and must be from 0"):
        km.animate(log, tmp_path / "swing.gif", rate=0)
    with pytest.raises(ValueError, match="has no frames"):
        km.animate(km.Recording("none"), tmp_path / "swing.gif")
    with pytest.raises(km.FileError, match="there is no folder"):
        km.animate(log, tmp_path / "nowhere" / "swing.gif")


def test_objects_show_themselves_in_notebooks() -> None:
    model, log = swing()
    world = km.World()
    world.add_ground()
    world.add(km.Shape.sphere(0.1), at=(0, 0, 1))
    before = world.hash()
    report = km.cut(model, km.State(np.array([1.0]), np.zeros(1)), "arm")
    things = {"Model": model, "Log": log, "Recording": km.Recording.from_log(log), "World": world, "ModelEdit": report}
    shown = {kind: thing._repr_html_() for kind, thing in things.items()}  # type: ignore[attr-defined]
    for kind, page in shown.items():
        assert f"<b>{kind}" in page
        assert "http" not in page
        assert "<1>" not in page
        assert "data:image/png;base64,iVBOR" in page
    assert shown["Log"].count("<polyline") == 3  # kinetic, potential, total
    assert "1, 1, 1 before; 1, 7, 6 now" in shown["ModelEdit"]
    assert world.hash() == before
    assert not world.observers


def test_a_change_of_structure_is_shown_with_its_joint_and_a_log_with_its_moments(monkeypatch) -> None:
    b = km.Builder("two rods")
    for name, x in (("left", 0.0), ("right", 1.0)):
        rod = km.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0))
        b.link(name, None, km.Joint.revolute("y"), (x, 0, 0), rod, km.Shape.box((0.5, 0.1, 0.1), km.Pose((0.25, 0, 0))))
    model = b.build()
    state = km.State(np.array([0.0, np.pi]), np.zeros(2))
    loop = km.connect(model, state, "left", "right", km.Joint.revolute("y", name="closed"), at=(0.5, 0, 0))
    assert "<td>closed</td>" in loop._repr_html_()
    with_name = loop._repr_html_()
    monkeypatch.setitem(sys.modules, "PIL", None)  # a picture without names then
    monkeypatch.delitem(sys.modules, "PIL.ImageDraw", raising=False)
    without = loop._repr_html_()
    assert "data:image/png;base64,iVBOR" in without
    assert without != with_name
    log = km.simulate(model, state, 0.1)
    assert log._repr_html_().count("<polyline") == 3


def test_an_empty_log_and_one_without_shapes_can_be_shown() -> None:
    assert "nothing was simulated" in km.Log()._repr_html_()  # type: ignore[attr-defined]
    b = km.Builder("bare")
    b.link("rod", None, km.Joint.revolute("y"), inertia=km.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0)))
    model = b.build()
    page = km.simulate(model, km.State(np.zeros(1), np.zeros(1)), 0.1)._repr_html_()
    assert "<img" not in page
    assert "<polyline" in page
