"""HDF5 tables that name other files, or inflate without end, are refused; what holds its numbers itself is read."""

from __future__ import annotations

import resource
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.needs import library, linux

import kinemorph as km
from kinemorph.io.motion import hdf5

library("h5py")
import h5py  # noqa: E402

KINDS = ("f8", "f4", "i8", "i4", "u1", "u2", ">f8", ">i4")
SECRET = bytes(range(1, 255)) * 40


def numbers(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return rng.integers(0, 100, int(rng.integers(1, 500))).astype(KINDS[int(rng.integers(len(KINDS)))])


def external(file: Any, rng: np.random.Generator, other: Path) -> None:
    kind = np.dtype(KINDS[int(rng.integers(len(KINDS)))])
    count = int(rng.integers(1, 50))
    start = int(rng.integers(0, 100))
    file.create_dataset("a", (count,), kind, external=[(str(other / "secret"), start, count * kind.itemsize)])


def external_link(file: Any, rng: np.random.Generator, other: Path) -> None:
    file["a"] = h5py.ExternalLink(str(other / "other.h5"), str(rng.choice(["/a", "/", "/none"])))


def soft_link(file: Any, rng: np.random.Generator, other: Path) -> None:
    """Through a group that is in another file."""
    file.create_group("inner")["out"] = h5py.ExternalLink(str(other / "other.h5"), "/")
    file["a"] = h5py.SoftLink(str(rng.choice(["/inner/out/a", "/b", "nowhere"])))
    file["b"] = np.arange(3.0)


def virtual(file: Any, rng: np.random.Generator, other: Path) -> None:
    layout = h5py.VirtualLayout((3,), "f8", maxshape=(None,) if rng.random() < 0.5 else None)
    source = h5py.VirtualSource(str(other / "other.h5"), "a", (3,))
    layout[:3] = source[:3]
    file.create_virtual_dataset("a", layout)


WAYS: tuple[Callable[..., None], ...] = (external, external_link, soft_link, virtual)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder with what must not be read."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "secret").write_bytes(SECRET)
    with h5py.File(folder / "other.h5", "w") as file:
        file["a"] = np.arange(3.0)
    return folder


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(5))
def test_a_table_says_nothing_of_other_files(way: Callable[..., None], seed: int, other: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    rng = np.random.default_rng(seed)
    with h5py.File(path, "w") as file:
        way(file, rng, other)
        file["z"] = np.arange(4.0)
    with pytest.raises(km.FileError, match=r'^.*a\.h5: column "a" (is a link|has its numbers in another file)'):
        km.load_table(path)


@pytest.mark.parametrize("seed", range(12))
def test_numbers_of_all_kinds_and_chunks_are_read(seed: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(seed), tmp_path / "a.h5"
    given = {f"column {k}": numbers(rng) for k in range(4)}
    with h5py.File(path, "w") as file:
        for name, values in given.items():
            packed = {"compression": "gzip", "shuffle": bool(rng.integers(2)), "fletcher32": bool(rng.integers(2))}
            longer = {"maxshape": (None,), "chunks": (int(rng.integers(1, 700)),)}
            how = (packed if rng.random() < 0.6 else {}) | (longer if rng.random() < 0.6 else {})
            file.create_dataset(name, data=values, **how)
        file.create_dataset("half", (300,), "f8", chunks=(100,), compression="gzip")[100:200] = 1.0
        file.create_group("group")["inner"] = np.arange(3.0)
        file["text"] = ["a", "b"]
    found = km.load_table(path)
    assert found.keys() == {*given, "half"}
    for name, values in given.items():
        np.testing.assert_array_equal(found[name], values.astype(float))
    assert found["half"].sum() == 100.0


@linux
@pytest.mark.parametrize("times", [2, 30, 3000])
def test_a_chunk_inflates_to_what_it_says(times: int, tmp_path: Path) -> None:
    """The library would inflate it to its end, here up to 240 MB: from 24 MB, whole."""
    path, size = tmp_path / "a.h5", 80_000
    with h5py.File(path, "w") as file:
        data = file.create_dataset("a", (size // 8,), "f8", chunks=(size // 8,), compression="gzip")
        packing = zlib.compressobj(1)
        packed = b"".join(packing.compress(bytes(size)) for _ in range(times)) + packing.flush()
        data.id.write_direct_chunk((0,), packed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(km.FileError, match="its chunk at 0 does not inflate to 80000 bytes"):
        km.load_table(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


@pytest.mark.parametrize("packed", [b"x", zlib.compress(bytes(100))[:-3], zlib.compress(bytes(799)), bytes(800)])
def test_a_chunk_that_is_damaged_is_a_sentence(packed: bytes, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        data = file.create_dataset("a", (100,), "f8", chunks=(100,), compression="gzip")
        data.id.write_direct_chunk((0,), packed)
    with pytest.raises(km.FileError, match=r"a\.h5"):
        km.load_table(tmp_path / "a.h5")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda f: f.create_dataset("a", (1 << 40,), "u1", chunks=(1 << 20,), compression="gzip"), "has 1099511627776"),
        (lambda f: f.create_dataset("a", (3,), "f8", maxshape=(None,), chunks=(1 << 28,)), "in chunks of 268435456"),
        (lambda f: f.create_dataset("a", (1 << 20,), "f4", chunks=(1,)), "in chunks of 1 numbers"),
        (lambda f: f.create_dataset("a", data=np.arange(9.0), compression="lzf"), "packed by a filter"),
        (lambda f: f.create_dataset("a", data=np.arange(9), scaleoffset=0), "packed by a filter"),
        (
            lambda f: [f.create_dataset(f"{k}", (1 << 24,), "u1", chunks=(1 << 20,)) for k in range(9)],
            "all columns may",
        ),
    ],
)
def test_what_takes_more_than_a_file_may_is_a_sentence(
    make: Callable[[Any], object], said: str, tmp_path: Path
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        make(file)
    with pytest.raises(km.FileError, match=said):
        km.load_table(tmp_path / "a.h5")


def test_columns_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "MOST_COLUMNS", 3)
    km.save_table(tmp_path / "a.h5", {name: [1.0] for name in "abcd"})
    with pytest.raises(km.FileError, match="it has 4 columns, the limit is 3"):
        km.load_table(tmp_path / "a.h5")
