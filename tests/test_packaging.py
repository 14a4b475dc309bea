"""The wheel: pure Python, complete, and honest about its licence and the Python it needs."""

import shutil
import subprocess
import sys
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
DATA = {".bvh", ".css", ".glb", ".html", ".js", ".json", ".obj", ".stl", ".toml", ".typed", ".urdf", ".xml"}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of what the wheel is made of."""
    copy = tmp_path_factory.mktemp("project")
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.nbc", "*.nbi"))
    return copy


@pytest.fixture(scope="module")
def wheel(project):
    """The wheel, built without network."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    built = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (path,) = (project / "dist").iterdir()
    with ZipFile(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def info(wheel):
    """The files of the wheel's .dist-info folder, by name."""
    return {Path(name).name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" in name}


def test_wheel_runs_on_every_platform(wheel, info):
    tags = message_from_bytes(info["WHEEL"])
    assert wheel.filename.endswith("-py3-none-any.whl")
    assert tags.get_all("Tag") == ["py3-none-any"]
    assert tags["Root-Is-Purelib"] == "true"


def test_wheel_holds_python_and_data_only(wheel):
    suffixes = {Path(name).suffix for name in wheel.namelist() if ".dist-info/" not in name}
    assert {".py", ".pyi", ".typed"} <= suffixes <= {".py", ".pyi", *DATA}


def test_wheel_holds_every_file_of_the_package(wheel, project):
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    sources = {path.relative_to(project / "src") for path in (project / "src").rglob("*") if path.is_file()}
    assert packed == {path.as_posix() for path in sources}


def test_metadata_states_licence_and_python(info):
    metadata = message_from_bytes(info["METADATA"])
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert info["LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_wheel_installs_the_command(info):
    assert b"kinemorph = kinemorph.cli:main" in info["entry_points.txt"]
