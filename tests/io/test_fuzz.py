"""A few of the files that `python -m tests.fuzz` makes by the hundred thousand."""

import pytest

pytest.importorskip("resource")  # not on Windows, which has no alarm either

from tests.fuzz import TARGETS, run

FILES = {
    "mjcf": 400,
    "urdf": 100,
    "sdf": 300,
    "bvh": 300,
    "table": 300,
    "mesh": 400,
    "recording": 200,
    "film": 150,
    "snapshot": 60,
}


@pytest.mark.parametrize("name", TARGETS)
def test_broken_files_are_read_or_refused_with_one_sentence(name):
    assert run(name, FILES.get(name, 200), seed=1) == []
