"""Hulls of mesh files on disk: the same bits, damaged files ignored, many writers, a limit."""

from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.geometry.samples import binary_stl

from kinemorph.geometry import hull_cache, polyhedron
from kinemorph.geometry.hull_cache import hull_entry, load_hull, save_hull
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.geometry.shapes import Shape


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(tmp_path / "cache"))
    polyhedron._hull_of_mesh.cache_clear()
    return tmp_path / "cache" / "hulls"


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    gem = Polyhedron.hull(np.random.default_rng(0).normal(size=(60, 3)))
    path = tmp_path / "gem.stl"
    path.write_bytes(binary_stl(gem.points[gem.triangles]))
    return path


def afresh(path: Path, scale: float = 1.0, most: int | None = None) -> Polyhedron:
    """The core of a mesh, without what is in memory."""
    polyhedron._hull_of_mesh.cache_clear()
    return core_of(Shape.mesh(path, (scale,) * 3), most)[0]


def same(a: Polyhedron, b: Polyhedron) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a._rows, b._rows, strict=True))


def no_hulls(*_: object) -> None:
    raise AssertionError("a hull was made, though it was on disk")


def test_a_hull_from_disk_has_the_same_bits(folder: Path, mesh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = afresh(mesh)
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(polyhedron, "load_mesh", no_hulls)
    assert same(afresh(mesh), first)


def test_another_scale_limit_or_content_is_another_entry(folder: Path, mesh: Path) -> None:
    afresh(mesh), afresh(mesh, 2.0), afresh(mesh, most=10)
    assert len(list(folder.iterdir())) == 3
    mesh.write_bytes(mesh.read_bytes()[:-50] + b"\0" * 50)
    afresh(mesh)
    assert len(list(folder.iterdir())) == 4


def test_other_code_is_another_entry(folder: Path, mesh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hull_entry(str(mesh), 1.0)
    assert hull_entry(str(mesh), 1.0) == before
    monkeypatch.setattr(hull_cache, "module_key", lambda *_: "edited")
    assert hull_entry(str(mesh), 1.0) != before


def with_objects() -> bytes:
    """An entry that asks for pickle, with a right checksum."""
    body = io.BytesIO()
    np.savez(body, points=np.array([{}], dtype=object))
    return hull_cache.hashlib.sha256(body.getvalue()).digest() + body.getvalue()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[:-10],
        lambda content: b"",
        lambda content: content[:100] + bytes([content[100] ^ 1]) + content[101:],
        lambda content: b"\0" * len(content),
        lambda content: with_objects(),
    ],
    ids=["cut", "empty", "one bit", "zeros", "pickle"],
)
def test_a_damaged_entry_is_made_again(folder: Path, mesh: Path, spoil) -> None:
    first = afresh(mesh)
    (entry,) = folder.iterdir()
    good = entry.read_bytes()
    entry.write_bytes(spoil(good))
    assert load_hull(entry) is None
    assert same(afresh(mesh), first)
    assert entry.read_bytes() == good


@pytest.mark.parametrize("seed", range(8))
def test_an_entry_that_is_whole_and_cannot_be_is_made_again(folder: Path, mesh: Path, seed: int) -> None:
    """A checksum says nothing of indices, which kernels follow without a look."""
    first = afresh(mesh)
    (entry,) = folder.iterdir()
    good = entry.read_bytes()
    rng = np.random.default_rng(seed)
    with np.load(io.BytesIO(good[32:])) as file:
        arrays = dict(file)
    corners, counts, points = arrays["corners"], arrays["counts"], arrays["points"]
    k, value = int(rng.integers(len(corners))), int(rng.choice((-1, len(points), 2**31 - 1)))
    spoiled = (
        lambda: corners.__setitem__(k, value), lambda: counts.__setitem__(k % len(counts), -value),
        lambda: points.__setitem__((k % len(points), 1), rng.choice((np.nan, np.inf, 1e3))),
        lambda: corners.__setitem__(slice(k, k + 2), corners[k : k + 2][::-1].copy() if k % 2 else corners[:1]),
        lambda: arrays.update(corners=corners.astype(float)), lambda: arrays.update(points=points[:-1]),
        lambda: arrays.update(hollow=np.array(-1.0)), lambda: arrays.update(points=points.astype("U9")),
    )[seed]  # fmt: skip
    spoiled()
    body = io.BytesIO()
    np.savez(body, **arrays)
    entry.write_bytes(hull_cache.hashlib.sha256(body.getvalue()).digest() + body.getvalue())
    assert same(afresh(mesh), first)
    assert entry.read_bytes() == good


def test_without_a_folder_it_works_all_the_same(mesh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(tmp_path / "file"))
    assert len(afresh(mesh).vertices) > 10


def test_many_writers_and_readers(folder: Path, mesh: Path) -> None:
    core, entry = afresh(mesh), hull_entry(str(mesh), "shared")
    assert entry is not None

    def work(k: int) -> bool:
        save_hull(entry, core.points, core.loops, 0.0)
        known = load_hull(entry)
        return known is not None and np.array_equal(known[0], core.points)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(60)))
    assert not [path for path in folder.iterdir() if path.suffix == ".tmp"]


def test_the_oldest_entries_go_first(folder: Path, mesh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = afresh(mesh)
    (first,) = folder.iterdir()
    monkeypatch.setattr(hull_cache, "HULL_CACHE_BYTES", 3 * first.stat().st_size)
    os.utime(first, (1e9 - 1.0, 1e9 - 1.0))
    entries = [hull_entry(str(mesh), k) for k in range(6)]
    for k, entry in enumerate(entries):
        assert entry is not None
        save_hull(entry, core.points, core.loops, 0.0)
        os.utime(entry, (1e9 + k, 1e9 + k))
    assert {path.name for path in folder.iterdir()} == {entry.name for entry in entries[-3:] if entry}
