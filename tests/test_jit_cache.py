"""The files of the kernel cache: each is good for its own name only, and only where nobody else can write."""

import os
import stat

import pytest
from tests.workshop import Workshop

FACTORY = """
from kinemorph.jit.api import kernel
def make(factor):
    @kernel
    def scaled(x):
        return factor * x
    return scaled
"""
CALL = "from factory import make; result = [make(2)(1.0), make(3)(1.0)]"

posix = pytest.mark.skipif(os.name == "nt", reason="folders have no mode there")
as_root = pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root can give a folder away")


@pytest.fixture
def workshop(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.write({"factory.py": FACTORY})
    return workshop


def test_swapped_files_are_compiled_again(workshop):
    workshop.run(CALL)
    first, second = workshop.kept()
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    swapped = workshop.run(CALL)
    assert (swapped.result, swapped.compiled, swapped.loaded) == ([2.0, 3.0], 2, 0)
    repaired = workshop.run(CALL)
    assert (repaired.result, repaired.compiled, repaired.loaded) == ([2.0, 3.0], 0, 2)


def test_renamed_files_are_compiled_again(workshop):
    workshop.run(CALL)
    first, second = workshop.kept()
    os.replace(first, second)
    renamed = workshop.run(CALL)
    assert (renamed.result, renamed.compiled) == ([2.0, 3.0], 2)


@posix
def test_only_the_owner_gets_into_the_cache_whatever_the_umask(workshop):
    workshop.run("import os; os.umask(0)\n" + CALL)
    kernels = workshop.cache / "kernels"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (workshop.cache, kernels, *workshop.kept())]
    assert modes == [0o700, 0o700, 0o600, 0o600]


def elsewhere(workshop, why):
    """What a run does when the cache is not safe: a private folder is used instead, and says so in one sentence."""
    before = [(path, path.stat().st_mtime_ns) for path in workshop.kept()]
    temporary = workshop.folder / "temporary"
    temporary.mkdir(mode=0o700)
    private = temporary / f"kinemorph-{os.geteuid()}"
    for compiled, loaded in ((2, 0), (0, 2)):
        refused = workshop.run(CALL, TMPDIR=str(temporary))
        assert (refused.result, refused.compiled, refused.loaded) == ([2.0, 3.0], compiled, loaded)
        told = [line for line in refused.stderr.splitlines() if why in line]
        assert len(told) == 1
        assert told[0].endswith(
            f"goes to {private / 'kernels'} instead; name a folder of your own by KINEMORPH_CACHE_DIR"
        )
    assert len(list((private / "kernels").glob("*.kernel"))) == 2
    assert stat.S_IMODE((private / "kernels").stat().st_mode) == stat.S_IMODE(private.stat().st_mode) == 0o700
    assert [(path, path.stat().st_mtime_ns) for path in workshop.kept()] == before


@posix
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_folder_that_others_can_write_to_is_not_used(workshop, mode):
    workshop.run(CALL)
    (workshop.cache / "kernels").chmod(mode)
    elsewhere(workshop, "kernels can be written to by other users")


@posix
@as_root
@pytest.mark.parametrize("place", ["cache/kernels", "cache"])
def test_folder_of_another_user_is_not_used_nor_one_below_it(workshop, place):
    workshop.run(CALL)
    os.chown(workshop.folder / place, 12345, -1)
    elsewhere(workshop, f"{workshop.folder / place} belongs to another user")


@posix
@as_root
@pytest.mark.parametrize("owner", [0, 12345])
def test_a_symbolic_link_is_followed_if_nobody_else_can_change_it(workshop, owner):
    workshop.run(CALL)
    away = workshop.cache.rename(workshop.folder / "away")
    workshop.cache.symlink_to(away)
    os.chown(workshop.cache, owner, -1, follow_symlinks=False)
    if owner:
        elsewhere(workshop, f"{workshop.cache} belongs to another user")
    else:
        followed = workshop.run(CALL)
        assert (followed.result, followed.compiled, followed.loaded, followed.stderr) == ([2.0, 3.0], 0, 2, "")


@posix
@as_root
def test_where_no_place_is_safe_nothing_is_kept(workshop):
    workshop.run(CALL)
    (workshop.folder / f"kinemorph-{os.geteuid()}").mkdir()
    for place in (workshop.cache, workshop.folder / f"kinemorph-{os.geteuid()}"):
        os.chown(place, 12345, -1)
    refused = workshop.run(CALL, TMPDIR=str(workshop.folder))
    assert (refused.result, refused.compiled, refused.loaded) == ([2.0, 3.0], 2, 0)
    assert refused.stderr.count("\n") == refused.stderr.count("not kept") == refused.stderr.count(", and ") == 1
    assert list((workshop.folder / f"kinemorph-{os.geteuid()}").iterdir()) == []


@posix
def test_file_that_others_can_write_to_is_compiled_again(workshop):
    workshop.run(CALL)
    first, _ = workshop.kept()
    first.chmod(0o666)
    replaced = workshop.run(CALL)
    assert (replaced.result, replaced.compiled, replaced.loaded) == ([2.0, 3.0], 1, 1)
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
