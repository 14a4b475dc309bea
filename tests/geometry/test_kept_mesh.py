"""Meshes from memory are kept as files, and those that nobody uses go when there are too many."""

import os
import time

import numpy as np
import pytest

import kinemorph as km
from kinemorph.geometry.cache_eviction import DAY, FOLDER_SCANS, evict_occasionally, evict_old_files
from kinemorph.geometry.meshes import kept_mesh


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(tmp_path))
    return tmp_path / "meshes"


def kept(size: float) -> os.PathLike[str]:
    box = km.mesh_of(km.Shape.box((size, 1.0, 1.0)))
    return kept_mesh.keep_mesh(box.vertices, box.faces)


def aged(path: os.PathLike[str], days: float) -> None:
    os.utime(path, (time.time() - days * DAY,) * 2)


def test_a_mesh_is_kept_once_and_read_back(folder):
    path = kept(2.0)
    assert path == kept(2.0)
    assert [p.name for p in folder.iterdir()] == [path.name]
    assert np.allclose(np.ptp(km.load_mesh(path).vertices, axis=0), [2.0, 1.0, 1.0])


def test_what_was_not_used_for_longest_goes_first(folder, monkeypatch):
    old, older, new = (kept(x) for x in (1.0, 2.0, 3.0))
    aged(old, 8.0)
    aged(older, 30.0)
    monkeypatch.setattr(kept_mesh, "KEPT_MESHES_BYTES", 3 * new.stat().st_size)
    kept(4.0)
    assert {p.name for p in folder.iterdir()} == {old.name, new.name, kept(4.0).name}


def test_what_was_used_this_week_stays_however_much_it_is(folder, monkeypatch):
    monkeypatch.setattr(kept_mesh, "KEPT_MESHES_BYTES", 1)
    first, second = kept(1.0), kept(2.0)
    aged(first, 3.0)
    kept(3.0)
    assert first.exists()
    assert second.exists()
    aged(first, 30.0)
    kept(1.0)  # it is used again
    kept(5.0)
    assert first.exists()


def test_what_was_left_half_written_goes_after_a_day(tmp_path):
    whole, half = tmp_path / "a.stl", tmp_path / ".a.stl.xyz"
    for path in (whole, half):
        path.write_bytes(b"x")
    evict_old_files(tmp_path, ".stl", 100)
    assert half.exists()
    aged(half, 2.0)
    evict_old_files(tmp_path, ".stl", 100)
    assert whole.exists()
    assert not half.exists()


def test_a_folder_is_looked_at_now_and_then_only(tmp_path):
    for k in range(3):
        path = tmp_path / f"{k}.stl"
        path.write_bytes(b"x" * 20)
        aged(path, 3.0 - k)
    evict_occasionally(tmp_path, ".stl", 40, 20)  # the first of this process
    assert {p.name for p in tmp_path.iterdir()} == {"1.stl", "2.stl"}
    (tmp_path / "3.stl").write_bytes(b"x" * 20)
    for _ in range(40 // FOLDER_SCANS):
        evict_occasionally(tmp_path, ".stl", 40, 1)
    assert len(list(tmp_path.iterdir())) == 3
    evict_occasionally(tmp_path, ".stl", 40, 1)
    assert len(list(tmp_path.iterdir())) == 2
