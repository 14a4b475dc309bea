"""The wheel: pure Python, complete, and honest about its licence and the Python it needs."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
DATA = {".bvh", ".css", ".glb", ".html", ".js", ".json", ".obj", ".stl", ".toml", ".txt", ".typed", ".urdf", ".xml"}


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


def test_links_and_pictures_of_the_readme_lead_somewhere_from_a_package_index(info):
    """There a relative one leads nowhere. Each leads to a file of the repository, and nothing else is changed."""
    metadata = message_from_bytes(info["METADATA"])
    assert metadata["Description-Content-Type"] == "text/markdown"
    told, readme = metadata.get_payload(decode=True).decode(), (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", told)
    assert len(links) == len(re.findall(r"\]\(", readme)) > 40
    home = "https://github.com/kinemorph/kinemorph"
    for picture, link in links:
        place = f"{home}/{'raw' if picture else 'blob'}/main/"
        assert link.startswith(place)
        assert (ROOT / link.removeprefix(place)).is_file(), link
    assert re.sub(rf"{home}/(raw|blob)/main/", "", told) == readme
    assert f"Homepage, {home}" in metadata.get_all("Project-URL")


def test_wheel_installs_the_command(info):
    assert b"kinemorph = kinemorph.cli:main" in info["entry_points.txt"]


def test_extras_hold_what_is_imported_and_nothing_else(project):
    """An extra that nothing imports promises something that is not there; and whatever is imported can be had."""
    needs = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    extras = {name: {_plain(line) for line in lines} for name, lines in needs["optional-dependencies"].items()}
    offered = set().union(*(lines for name, lines in extras.items() if name not in ("peers", "dev")))
    core = {_plain(line) for line in needs["dependencies"]}
    used = {DISTRIBUTIONS.get(name, name) for name in _imported(project / "src" / "kinemorph")}
    assert offered - {"kinemorph-kernels"} <= used  # which is found by its folder, not imported
    assert used <= offered | core | {"llvmlite"} | COME_WITH


COME_WITH = {"mujoco-core", "websockets"}  # models of MuJoCo, whoever has them; viser's own
DISTRIBUTIONS = {"PIL": "pillow", "mujoco": "mujoco-core"}


def _plain(requirement):
    return re.match(r"[\w-]+", requirement)[0]


def _imported(folder):
    """Packages that are imported anywhere, or asked for by `require_module`."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("require_module", "needed"):
                found |= {each.value for each in node.args[:1] if isinstance(each, ast.Constant)}
    return {name.partition(".")[0] for name in found} - {"kinemorph", "__future__", *sys.stdlib_module_names}


# ------------------------------------------------------------------------------------------- an environment of its own


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh virtual environment with the wheel and what its extra `view` needs, and nothing else.

    The packages are those that are installed here, by links, so that no network is needed.
    """
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home / "venv", with_pip=False, symlinks=os.name != "nt")
    (site,) = (home / "venv").glob("lib/python*/site-packages") or (home / "venv").glob("Lib/site-packages")
    metadata = message_from_bytes(next(wheel.read(n) for n in wheel.namelist() if n.endswith("METADATA")))
    for name in _closure(metadata.get_all("Requires-Dist"), "view"):
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top != ".." and top != "__pycache__" and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    wheel.extractall(site)
    return home


def _closure(requirements, extra, found=None):
    """The names of all packages that some requirements lead to here."""
    found = set() if found is None else found
    for requirement in map(Requirement, requirements or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            name = requirement.name.lower()
            if name not in found:
                found.add(name)
                for inner in requirement.extras or {""}:
                    _closure(distribution(name).requires, inner, found)
                if requirement.extras:
                    _closure(distribution(name).requires, "", found)
    return found


def _run(home, *arguments):
    """python -m kinemorph, or a program, in that environment, in a folder of its own."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV"))}
    program = home / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    return subprocess.run(
        [program, *arguments], cwd=home, env=environment | {"KINEMORPH_QUIET": "1"}, capture_output=True, text=True,
        timeout=1200, check=False,
    )  # fmt: skip


def test_the_wheel_alone_shows_something(installed):
    """No repository, no other engines and their robots: the commands that the README names work."""
    asked = _run(installed, "-c", "import kinemorph; print(kinemorph.__file__)")
    assert str(installed) in asked.stdout, asked.stderr
    assert _run(installed, "-c", "import pinocchio").returncode == 1
    health = json.loads(_run(installed, "-m", "kinemorph", "doctor", "--json").stdout)
    assert (health["well"], health["packages"]["example-robot-data"]) == (True, None)
    done = _run(installed, "-m", "kinemorph", "demo")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (installed / "out").iterdir()} == {"swing.html", "swing.png", "swing_energy.png"}
    refused = _run(installed, "-m", "kinemorph", "demo", "--robot", "ur5")
    assert refused.returncode == 2
    assert "there is no robot 'ur5' here, but 'arm'" in refused.stderr


LOOK = """
import kinemorph as km
from kinemorph.scenes.commands.view_command import scene_of
world, scene = scene_of("gripper")
with km.viewer(world, open_browser=False) as v:
    while world.time < 0.25:
        v.advance()
        v.sync()
print(world.time)
"""


def test_the_wheel_alone_shows_a_world(installed):
    """The second command of the README: a scene, live, in a browser."""
    shown = _run(installed, "-m", "kinemorph", "view", "gripper", "--seconds", "0.5", "--no-browser")
    assert shown.returncode == 0, shown.stderr
    assert "http://127.0.0.1:" in shown.stdout
    run = _run(installed, "-c", LOOK)  # it waited for a browser, and this does not
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) > 0.2


def test_the_tutorial_runs_as_it_is_printed(installed):
    """All its blocks, in one session, with nothing but the wheel and its extra `view`."""
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (installed / "tutorial.py").write_text("\n".join(blocks), "utf-8")
    done = _run(installed, "-W", "error", "tutorial.py")
    assert done.returncode == 0, done.stderr
    for line in re.findall(r"^print\(.*\)  # (Model .*)$", page, re.MULTILINE):
        assert line in done.stdout
    assert {"start.png", "pendulum.html", "pendulum.gif", "arm.xml", "world.html"} <= {
        p.name for p in installed.iterdir()
    }
