"""Whether a folder is its user's alone, judged beside somebody else who really tries to get in."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.geometry.samples import binary_stl
from tests.needs import linux

from kinemorph.geometry import hull_cache
from kinemorph.geometry.meshes.kept_mesh import keep_mesh
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.jit.cache import folder as jit_folder
from kinemorph.jit.cache.folder import kept_folder, make_kept, why_foreign

OTHER = 12345
as_root = pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root can give a folder away")


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder of this user's that everybody may look into: those of pytest are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def a_way(base: Path, rng: np.random.Generator) -> tuple[Path, bool]:
    """A folder some levels down, each with an owner and a mode, or by way of a link; and whether all of it is plain."""
    here, plain = base, True
    for k in range(int(rng.integers(1, 5))):
        owner, mode = int(rng.choice([0, 0, 0, OTHER])), int(rng.choice([0o755, 0o700, 0o755, 0o777, 0o1777, 0o775]))
        if k and rng.random() < 0.3:
            target = base / f"target-{k}-{rng.integers(1 << 30)}"
            target.mkdir()
            link = here / f"link-{k}"
            link.symlink_to(target)
            of_link = int(rng.choice([0, 0, OTHER]))
            os.chown(link, of_link, -1, follow_symlinks=False)
            plain &= of_link == 0
            here = link
        else:
            here = here / f"level-{k}"
            here.mkdir()
        os.chown(here, owner, 0)
        here.chmod(mode)
        plain &= owner == 0 and not mode & 0o002
    return here, plain and not mode & 0o020


def gets_in(path: Path) -> bool:
    """Whether another user can put a file of his where `path / "file"` is looked for."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            for way in (Path(os.path.realpath(path)), path):
                for place in [*reversed(way.parents), way][3:]:
                    with contextlib.suppress(OSError):
                        place.chmod(0o777)
                    with contextlib.suppress(OSError):
                        place.rename(place.with_name(f"{place.name}-away"))
                        path.mkdir(parents=True)
                    with contextlib.suppress(OSError):
                        (path / "file").touch()
        os._exit(0)
    os.waitpid(child, 0)
    return (path / "file").exists()


@linux
@as_root
@pytest.mark.parametrize("seed", range(60))
def test_where_somebody_else_gets_in_is_foreign_and_what_is_plain_is_not(seed: int, base: Path) -> None:
    path, plain = a_way(base, np.random.default_rng(seed))
    why = why_foreign(path)
    assert why is None or str(base) in why
    if gets_in(path):
        assert why is not None
    elif plain:
        assert why is None


@linux
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_usual_places_are_good(umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home, a cache that the user chose, a folder of one's own among temporary files, links that root has made."""
    before = os.umask(umask)
    try:
        home = tmp_path / "home"
        (home / ".cache").mkdir(parents=True)
        (tmp_path / "moved").symlink_to(home)
        crowd = tmp_path / "crowd"
        crowd.mkdir()
        crowd.chmod(0o1777)
        for variable, place in (
            ("HOME", home), ("HOME", tmp_path / "moved"), ("XDG_CACHE_HOME", tmp_path / "mine"),
            ("KINEMORPH_CACHE_DIR", tmp_path / "x" / "y"), ("KINEMORPH_CACHE_DIR", crowd / "mine"),
            ("KINEMORPH_CACHE_DIR", tmp_path / "moved" / ".." / "moved" / "mine"),
        ):  # fmt: skip
            for other in ("XDG_CACHE_HOME", "KINEMORPH_CACHE_DIR"):
                monkeypatch.delenv(other, raising=False)
            monkeypatch.setenv(variable, str(place))
            for name in ("kernels", "hulls", "meshes"):
                assert make_kept(name) == kept_folder(name) == jit_folder.cache_folder() / name
                assert stat.S_IMODE(kept_folder(name).stat().st_mode) == 0o700
    finally:
        os.umask(before)


@linux
def test_links_in_a_circle_end() -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder, "one"), Path(folder, "other")
        one.symlink_to(other)
        other.symlink_to(one)
        assert "symbolic link" in (why_foreign(one / "kernels") or "")


@linux
@as_root
@pytest.mark.parametrize("place", ["hulls", "meshes", "."])
def test_hulls_and_meshes_are_not_taken_from_another_user(
    place: str, base: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KINEMORPH_QUIET", "0")
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(base / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(base))
    gem = Polyhedron.hull(np.random.default_rng(0).normal(size=(20, 3)))
    mesh = base / "gem.stl"
    mesh.write_bytes(binary_stl(gem.points[gem.triangles]))
    hull_cache.save_hull(hull_cache.hull_entry(str(mesh)), gem.points, tuple(gem.loops), 0.0)
    keep_mesh(gem.points, gem.triangles)
    assert hull_cache.load_hull(hull_cache.hull_entry(str(mesh))) is not None
    folder = base / "cache" / place
    os.chown(folder, OTHER, -1)
    jit_folder._safe.clear()
    capfd.readouterr()
    again, private = hull_cache.hull_entry(str(mesh)), base / f"kinemorph-{os.geteuid()}"
    if place == "meshes":
        assert keep_mesh(gem.points, gem.triangles).parent == private / "meshes"
        assert hull_cache.load_hull(again) is not None
    else:
        assert again is not None
        assert again.parent == private / "hulls"
        assert hull_cache.load_hull(again) is None
    assert f"{folder} belongs to another user; what is kept" in capfd.readouterr().err
    jit_folder._safe.clear()


@linux
@as_root
def test_a_hull_of_another_user_is_made_again(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of ours: somebody had a moment in which he could write there."""
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(base / "cache"))
    gem = Polyhedron.hull(np.random.default_rng(0).normal(size=(20, 3)))
    mesh = base / "gem.stl"
    mesh.write_bytes(binary_stl(gem.points[gem.triangles]))
    entry = hull_cache.hull_entry(str(mesh))
    hull_cache.save_hull(entry, gem.points, tuple(gem.loops), 0.0)
    assert entry is not None
    os.chown(entry, OTHER, -1)
    assert hull_cache.load_hull(entry) is None
