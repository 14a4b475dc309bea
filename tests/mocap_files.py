"""Recordings that others made: Debian's assimp-testmodels has three, and a folder of your own may have more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.needs import lacking

DEBIAN = Path("/usr/share/assimp/models/BVH")
FOLDER = "MOCAP_FILES"  # environment: a folder with more files, such as CMU's 07_01.bvh


def recording(name: str) -> Path:
    """Where a recording of Debian's package is. It may be lacking."""
    for folder in (DEBIAN, Path(os.environ.get(FOLDER, "."))):
        if (folder / name).is_file():
            return folder / name
    lacking(f"there is no {name}: apt install assimp-testmodels, or name a folder that has it in {FOLDER}")


def own_recording(name: str) -> Path:
    """A recording that no package has: it must be in the folder that MOCAP_FILES names, else the test is skipped."""
    path = Path(os.environ.get(FOLDER, ".")) / name
    if not path.is_file():
        pytest.skip(f"there is no {name} in the folder that {FOLDER} names")
    return path
