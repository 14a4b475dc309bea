"""The files of the kernel cache: each is good for its own name only, and only where nobody else can write."""

import os
import stat

import pytest
from tests.workshop import Workshop

FACTORY = """
from kinemorph._jit import kernel
def make(factor):
    @kernel
    def scaled(x):
        return factor * x
    return scaled
"""
CALL = "from factory import make; result = [make(2)(1.0), make(3)(1.0)]"

posix = pytest.mark.skipif(os.name == "nt", reason="folders have no mode there")


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


@posix
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_folder_that_others_can_write_to_is_not_used(workshop, mode):
    workshop.run(CALL)
    before = [(path, path.stat().st_mtime_ns) for path in workshop.kept()]
    (workshop.cache / "kernels").chmod(mode)
    refused = workshop.run(CALL)
    assert (refused.result, refused.compiled, refused.loaded) == ([2.0, 3.0], 2, 0)
    assert refused.stderr.count("\n") == refused.stderr.count("kernels can be written to by other users") == 1
    assert [(path, path.stat().st_mtime_ns) for path in workshop.kept()] == before


@posix
@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root can give a folder away")
def test_folder_of_another_user_is_not_used(workshop):
    workshop.run(CALL)
    os.chown(workshop.cache / "kernels", 12345, -1)
    refused = workshop.run(CALL)
    assert (refused.result, refused.compiled, refused.loaded) == ([2.0, 3.0], 2, 0)
    assert refused.stderr.count("\n") == refused.stderr.count("kernels belongs to another user") == 1


@posix
def test_file_that_others_can_write_to_is_compiled_again(workshop):
    workshop.run(CALL)
    first, _ = workshop.kept()
    first.chmod(0o666)
    replaced = workshop.run(CALL)
    assert (replaced.result, replaced.compiled, replaced.loaded) == ([2.0, 3.0], 1, 1)
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
