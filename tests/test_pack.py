"""Kernel packs: wheels of machine code, in virtual environments of their own. What fits is used, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.workshop import CALL_OUTER, COUNTED, SOURCES, ZOO, Workshop
from tests.world import golden

from kinemorph import pack
from kinemorph.jit import api
from kinemorph.jit.cache.pack import Pack

pytestmark = pytest.mark.skipif(
    bool(api.no_cache or api.why_not_kept()) or os.name == "nt", reason="kernels are not kept here"
)


@dataclass
class Place:
    """A virtual environment, with the packages of this one behind it."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def pack(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages/kinemorph_kernels")
        return found

    def install(self, *wheels: Path) -> None:
        command = [sys.executable, "-m", "pip", "--python", self.python, "install", "-q", "--no-deps", "--no-index"]
        subprocess.run([*command, *map(str, wheels)], check=True, env={**os.environ, "HOME": str(self.folder)})


def place(folder: Path) -> Place:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "behind.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Place(folder)


@pytest.fixture(scope="module")
def zoo_pack(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Path]:
    """A pack of the kernels of a small package, installed; and the wheel."""
    folder = tmp_path_factory.mktemp("zoo")
    workshop = Workshop(folder)
    workshop.write(ZOO)
    workshop.run(CALL_OUTER)
    files = [*workshop.kept(), *workshop.cache.glob("kernels/*.note")]
    wheel = pack.wheel_of(files, ["zoo"], api.target(), folder / "dist")
    here = place(folder / "venv")
    here.install(wheel)
    shutil.copytree(here.pack, here.pack.with_name("kept"))
    return here, wheel


@pytest.fixture
def zoo(zoo_pack: tuple[Place, Path], tmp_path: Path) -> tuple[Workshop, Path]:
    """The package, with a fresh cache, and a pack that may be spoilt."""
    (kept,) = zoo_pack[0].folder.glob("lib/python*/site-packages/kept")
    installed = kept.with_name("kinemorph_kernels")
    shutil.rmtree(installed, ignore_errors=True)  # a test may have taken it away
    shutil.copytree(kept, installed)
    workshop = Workshop(tmp_path, zoo_pack[0].python)
    workshop.write(ZOO)
    return workshop, installed


def _edit(folder: Path, **changes: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))


def _sentence(workshop: Workshop) -> str:
    """What a process says about the pack, which it must not use; its results are right all the same."""
    outcome = workshop.run(CALL_OUTER)
    assert (outcome.result, outcome.compiled, outcome.loaded) == (2000.0, 3, 0)
    found = re.search(r"the kernel pack is not used: (.*)\)\n", outcome.stderr)
    assert found, outcome.stderr
    return found[1]


def test_what_is_in_a_pack_is_not_compiled(zoo: tuple[Workshop, Path]) -> None:
    workshop, _ = zoo
    outcome = workshop.run(CALL_OUTER)
    assert (outcome.result, outcome.compiled, outcome.loaded, outcome.stderr) == (2000.0, 0, 1, "")
    assert not workshop.kept()


def test_a_pack_can_be_left_aside(zoo: tuple[Workshop, Path]) -> None:
    outcome = zoo[0].run(CALL_OUTER, KINEMORPH_PACK="0")
    assert (outcome.result, outcome.compiled) == (2000.0, 3)
    assert "kernel pack" not in outcome.stderr


def test_edited_sources_are_compiled_and_not_taken_from_the_pack(zoo: tuple[Workshop, Path]) -> None:
    zoo[0].edit("zoo/leaf.py", "x + 1", "x + 2")
    outcome = zoo[0].run(CALL_OUTER)
    assert (outcome.result, outcome.compiled) == (3000.0, 3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2}, "its format is 2, and this kinemorph reads 1; install the one for this kinemorph"),
        ({"format": 2, "kernels": []}, "its format is 2, and this kinemorph reads 1; .*"),
        ({"versions": {}}, "it was made for Python None, and this is cpython-.*"),
        ({"target": ["m68k-unknown-amiga", "68060", ""]}, "it was made for m68k-unknown-amiga, and this is .*"),
        ({"target": [api.target()[0], "x", "+sse,+warp9"]}, "it needs a processor with .*warp9"),
        ({"settings": {}}, "it was made with NUMBA_ALWAYS_WARN_UNINIT_VAR = None, and here it is 0"),
        (
            {"kernels": 3},
            r"its manifest cannot be read \(Expected `object`, got `int` - at `\$.kernels`\); install it.*",
        ),
    ],
)
def test_a_pack_for_something_else_is_not_used(
    zoo: tuple[Workshop, Path], change: dict[str, object], sentence: str
) -> None:
    (key,) = json.loads((zoo[1] / "manifest.json").read_text())["kernels"]
    assert Pack(zoo[1]).read(key) is not None
    _edit(zoo[1], **change)
    spoilt = Pack(zoo[1])
    assert spoilt.read(key) is None
    assert re.fullmatch(sentence, spoilt.fault or "")


def test_with_a_pack_for_another_numpy_kernels_are_compiled(zoo: tuple[Workshop, Path]) -> None:
    _edit(zoo[1], versions=api.versions() | {"NumPy": "1.2.3"})
    assert _sentence(zoo[0]).startswith("it was made for NumPy 1.2.3, and this is ")


def test_other_settings_of_numba_are_not_those_of_the_pack(zoo: tuple[Workshop, Path]) -> None:
    outcome = zoo[0].run(CALL_OUTER, NUMBA_BOUNDSCHECK="1")
    assert (outcome.result, outcome.compiled) == (2000.0, 3)
    assert "it was made with NUMBA_BOUNDSCHECK = None, and here it is 1" in outcome.stderr


def test_a_truncated_manifest_is_not_used(zoo: tuple[Workshop, Path]) -> None:
    manifest = zoo[1] / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:200])
    assert _sentence(zoo[0]).startswith("its manifest cannot be read (Input data was truncated)")


@pytest.mark.parametrize("spoil", ["truncated", "gone", "foreign"])
def test_a_kernel_that_is_not_what_the_manifest_says_is_compiled(zoo: tuple[Workshop, Path], spoil: str) -> None:
    """The foreign one would raise if anybody unpickled it."""
    for file in zoo[1].glob("*.kernel"):
        content = file.read_bytes()
        file.unlink()
        if spoil != "gone":
            file.write_bytes(content[: len(content) // 2] if spoil == "truncated" else b"cos\n_exit\n(I3\ntR.")
    sentence = _sentence(zoo[0])
    assert "there is no such file" in sentence if spoil == "gone" else "is not what the manifest says" in sentence
    assert sentence.endswith("install it again")


@pytest.mark.parametrize("spoil", ["nothing", "truncated", "gone", "foreign", "unlisted"])
def test_notes_of_a_pack_are_believed_if_the_manifest_lists_them(zoo: tuple[Workshop, Path], spoil: str) -> None:
    (note,) = zoo[1].glob("*.note")
    if spoil == "unlisted":
        _edit(zoo[1], notes={})
    elif spoil == "gone":
        note.unlink()
    elif spoil != "nothing":
        note.write_bytes(note.read_bytes()[:-9] if spoil == "truncated" else b'["0", "0", []]')
    outcome = zoo[0].run(f"{COUNTED}\n{CALL_OUTER}\nresult = [result, len(long)]")
    assert (outcome.result, outcome.compiled) == ([2000.0, 0 if spoil == "nothing" else 1], 0)


def test_a_kernel_that_no_manifest_lists_is_not_read(zoo: tuple[Workshop, Path]) -> None:
    _edit(zoo[1], kernels={})
    outcome = zoo[0].run(CALL_OUTER)
    assert (outcome.result, outcome.compiled) == (2000.0, 3)


def test_machine_code_that_asks_for_what_is_nowhere_is_compiled_again(zoo: tuple[Workshop, Path]) -> None:
    """LLVM would end the process."""
    program = "import kinemorph.jit.compiler.numba_names as n; n._lacking = lambda names: True; " + CALL_OUTER
    outcome = zoo[0].run(program)
    assert (outcome.result, outcome.compiled, outcome.loaded) == (2000.0, 3, 0)


def test_a_folder_of_that_name_elsewhere_is_not_a_pack(zoo: tuple[Workshop, Path]) -> None:
    workshop, installed = zoo
    shutil.move(installed, workshop.folder / installed.name)  # which is on the path of modules
    outcome = workshop.run(f"import {installed.name}; {CALL_OUTER}")
    assert (outcome.result, outcome.compiled, outcome.loaded) == (2000.0, 3, 0)


def test_the_version_of_a_wheel_names_what_its_code_depends_on(zoo_pack: tuple[Place, Path]) -> None:
    with ZipFile(zoo_pack[1]) as wheel:
        files = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
        manifest = json.loads(wheel.read("kinemorph_kernels/manifest.json"))
    metadata, tags = message_from_string(files["METADATA"]), message_from_string(files["WHEEL"])
    known = manifest["versions"]
    numbers = ".".join(["0.1.0", known["Numba"], known["llvmlite"], known["NumPy"]])
    assert re.fullmatch(rf"{re.escape(numbers)}\.\d+", metadata["Version"])
    assert {f"numba=={known['Numba']}", f"numpy=={known['NumPy']}"} < set(metadata.get_all("Requires-Dist") or [])
    assert tags["Root-Is-Purelib"] == "false"
    assert all(tag.startswith(f"cp{sys.version_info[0]}{sys.version_info[1]}-") for tag in tags.get_all("Tag") or [])


def test_versions_that_no_wheel_can_ask_for_are_refused() -> None:
    with pytest.raises(ValueError, match=r"pack: numba 0\.69\.0dev0\+12 is no released version"):
        pack._three_numbers("numba", "0.69.0dev0+12")


def test_faults_are_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        pack.main(["--only", "levitate"])
    assert capsys.readouterr().err.startswith("kinemorph: pack: there is no exercise 'levitate'; there are world, ")


# --- the whole: kinemorph's wheel and a portable pack, where nothing else is ---

NEEDED = "world", "robot_in_a_world", "scenes_of_worlds", "keeping", "dynamics", "motion", "pictures"  # demo, goldens
NUMBERS = """
import numpy as np, kinemorph as km
from kinemorph.scenes.commands.known_tree import every_joint, state
model = every_joint()
data, (q, v, tau) = km.Data(model), state(model)
found = [km.aba(model, data, q, v, tau), km.rnea(model, data, q, v, v), km.crba(model, data, q)]
result = [np.ascontiguousarray(each).tobytes().hex() for each in found]
"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A virtual environment with kinemorph's own wheel, and a pack for the portable target."""
    folder = tmp_path_factory.mktemp("fresh")
    project = folder / "project"
    ignored = shutil.ignore_patterns("__pycache__", "*.nbc", "*.nbi")
    shutil.copytree(SOURCES, project / "src", ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(SOURCES.parent / name, project)
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (wheel,) = (project / "dist").iterdir()
    command = [sys.executable, "-m", "kinemorph.pack", "--out", folder / "dist", "--only", *NEEDED]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    (kernels,) = (folder / "dist").iterdir()
    here = place(folder / "venv")
    here.install(wheel, kernels)
    return here


def _run(here: Place, home: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("KINEMORPH_", "NUMBA_", "XDG_", "PYTHON"))}
    environment = inherited | {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    return subprocess.run(
        [here.python, *command], cwd=home, env=environment, capture_output=True, text=True, timeout=600
    )


def test_a_stranger_sees_the_first_picture_without_a_compiler(fresh: Place, tmp_path: Path) -> None:
    code = "import sys; from kinemorph.cli import main; sys.argv = ['kinemorph', 'demo']; main(); "
    code += "from kinemorph.jit import api; from kinemorph import __file__; print(*api.compile_count(), __file__)"
    shown = _run(fresh, tmp_path, "-c", code)
    assert (shown.returncode, shown.stderr) == (0, ""), shown.stderr
    compiled, loaded, file = shown.stdout.split()[-3:]
    assert int(compiled) == 0 < int(loaded)
    assert Path(file).is_relative_to(fresh.folder)
    assert list(tmp_path.glob("out/*.png"))
    assert not list(tmp_path.rglob("*.kernel"))


def test_a_portable_pack_has_the_same_bits_as_what_is_compiled_here(fresh: Place, tmp_path: Path) -> None:
    packed = Workshop(tmp_path, fresh.python, None).run(NUMBERS)
    assert packed.compiled == 0 < packed.loaded
    scope: dict[str, object] = {}
    exec(NUMBERS, scope)
    assert packed.result == scope["result"]


def test_golden_scenes_come_to_the_same_bits_by_a_portable_pack(fresh: Place, tmp_path: Path) -> None:
    known = json.loads(golden.FILE.read_text())
    if known["machine"] != golden.machine():
        pytest.skip(f"the digests are of {known['machine']}, and this is {golden.machine()}")
    code = "from tests.world.golden import digest, SCENES; result = {name: digest(name) for name in SCENES}"
    packed = Workshop(tmp_path, fresh.python, Path(__file__).parents[1]).run(code)
    assert (packed.result, packed.compiled) == (known["digests"], 0)


def test_doctor_knows_the_pack(fresh: Place, tmp_path: Path) -> None:
    told = _run(fresh, tmp_path, "-m", "kinemorph.cli", "doctor", COLUMNS="500")
    assert re.search(r"kernel pack +\S+kinemorph_kernels: \d+ kernels for ", told.stdout), told.stdout
    assert not re.search(r"cold: .*\bdynamics\b", told.stdout)
    file = next(fresh.pack.glob("*.kernel"))
    content = file.read_bytes()
    try:
        file.write_bytes(content[:-1])
        told = _run(fresh, tmp_path, "-m", "kinemorph.cli", "doctor", COLUMNS="500")
    finally:
        file.write_bytes(content)
    assert f"not used: {file} is not what the manifest says; install it again" in told.stdout
