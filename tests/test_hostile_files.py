"""Some of the files that `python -m tests.hostile_files` makes by the ten thousand, and whether its guards see harm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

pytest.importorskip("resource")  # not on Windows

from tests import hostile_files
from tests.hostile_files import campaign, judge
from tests.hostile_kinds import KINDS
from tests.mutators import WORDS, spoil_json
from tests.needs import linux

import kinemorph as km
from kinemorph._toml import Toml, checked
from kinemorph.creatures.genotype.genotype import load_genotype
from kinemorph.evolve.settings import load_settings
from kinemorph.io.file_kind import kind_of
from kinemorph.jit.cache import known_keys
from kinemorph.jit.cache.keys import module_file
from kinemorph.jit.cache.pack import MANIFEST, Pack
from kinemorph.mocap.body.skeleton import read_tables
from kinemorph.scenes.creatures.results import Table
from kinemorph.scenes.files.scene import load_scene

pytestmark = linux  # /proc tells how much memory a process takes

FILES = {
    "snapshot": 40,
    "rows": 40,
    "journal": 30,
    "store": 60,
    "scene": 100,
    "mjcf": 100,
    "cache": 60,
    "recording": 100,
}


@pytest.mark.parametrize("name", KINDS)
def test_hostile_files_are_read_or_refused_without_harm(name: str) -> None:
    """Other files than those of a campaign, which begins with seed 0."""
    told: dict[str, int] = {}
    assert list(campaign(KINDS[name], FILES.get(name, 150), seed=2, told=told)) == []
    if name not in ("pack", "cache"):  # which are not used, instead of refused
        assert 0 < told["refused"] < FILES.get(name, 150)


def _write_elsewhere(path: Path) -> None:
    (path.parent.parent / "elsewhere").write_text("x")


def _run_its_text(path: Path) -> None:
    exec(compile(path.read_text(), str(path), "exec"))


def _import_by_name(path: Path) -> None:
    __import__(path.read_text().strip())


def _fill_memory(path: Path) -> None:
    np.ones(3 * 2**22)


def _ask_for_memory(path: Path) -> None:
    np.empty(2**40)


def _wait(path: Path) -> None:
    while True:
        pass


HARMS = {
    "writes": (_write_elsewhere, "opened"),
    "reads": (lambda path: Path("/etc/hostname").read_text(), "opened /etc/hostname"),
    "removes": (lambda path: os.unlink(path.parent.parent / "nothing-there"), "os.remove"),
    "runs": (_run_its_text, "ran code"),
    "imports": (_import_by_name, "imported 'colorsys'"),
    "starts": (lambda path: subprocess.run(["true"], check=True), "subprocess.Popen"),
    "fills": (_fill_memory, "MB"),
    "asks": (_ask_for_memory, "MemoryError"),
    "dies": (lambda path: os.kill(os.getpid(), signal.SIGSEGV), "SIGSEGV"),
    "waits": (_wait, "more than"),
    "raises": (lambda path: 1 // 0, "ZeroDivisionError"),
    "leaves": (lambda path: sys.exit(0), "SystemExit"),
}


@pytest.mark.parametrize("name", HARMS)
def test_the_guards_see_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile_files, "MEMORY", 2**26)
    if name == "waits":
        monkeypatch.setattr(hostile_files, "SECONDS", 0.5)
    read, match = HARMS[name]
    sys.modules.pop("colorsys", None)
    assert match in judge(read, b"colorsys")


def test_a_file_that_does_no_harm_passes() -> None:
    assert judge(lambda path: path.read_bytes(), b"text") == ""


def _read_anything(path: Path) -> None:
    {".toml": load_scene, ".urdf": km.load_urdf, ".json": load_genotype}[path.suffix](path)


KEYS = (
    *(
        "a]",
        "[",
        "]",
        "a[",
        "x]y",
        "[0]",
        "a[0]",
        "].[",
        "...",
        "",
        "`",
        "` - at `$.name`",
        "\x1b[31m]",
        f"[{'9' * 5000}]",
    ),
    *("a" * 900_000 + "]", "[" * 900_000, "]" * 900_000, "a." * 450_000, "a]" * 450_000, "`" * 900_000),
)


@pytest.mark.parametrize("kind", [load_scene, load_settings, lambda path: checked(Table, Toml(path).table)])
@pytest.mark.parametrize("head", ["", "[[body]]\n", "[[rows]]\n"])
def test_keys_of_any_text_are_refused_in_a_sentence(kind: Callable[[Path], Any], head: str) -> None:
    """`view` of a scene with the key "a]" looked for its line without end, and for a long one almost so."""
    for key in KEYS:
        assert judge(kind, f"{head}{json.dumps(key)} = 1\n".encode(), ".toml") == "", key[:20]


SLOW = {
    ".toml": ("a" + ".a" * 500_000 + " = 1", 'a = "' + '\\"' * 500_000, '"' * 10**6, "a = " + "9" * 10**6, "[" * 10**6),
    ".urdf": ("<?" * 500_000, "<!--" * 250_000, "<!DOCTYPE" * 100_000, "<" * 10**6, "<a" + " a" * 500_000),
    ".json": ("[" * 10**6, '{"a":' * 200_000, "9" * 10**6, '"' + "\\u0000" * 170_000),
}  # what takes the square of its length, or more, for readers that look back


@pytest.mark.parametrize(
    ("reader", "suffix"),
    [*((reader, suffix) for reader in (kind_of, _read_anything) for suffix in SLOW), (read_tables, ".toml")],
)
def test_a_file_is_known_by_its_kind_in_a_time_that_grows_with_its_size(reader: Any, suffix: str) -> None:
    """`view` looked for 40 s and more at what a file of a megabyte was, before a reader with limits had it."""
    for text in SLOW[suffix]:
        assert judge(reader, text.encode(), suffix) == "", text[:20]


@pytest.mark.parametrize("place", KEYS)
def test_lines_of_places_of_any_text_are_found(place: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("x = 1\n[[body]]\ny = 2\n[[body]]\nsize = [1, 2]\n")
    toml = Toml(tmp_path / "a.toml")
    assert toml.where(f"body[1].size[0].{place}") == f"{toml.file}:5"
    assert toml.where(f"body[1].{place}") == f"{toml.file}:4"
    assert toml.where(f"body[0].y.{place}") == f"{toml.file}:3"
    assert toml.where("body[1].size[1].more") == f"{toml.file}:5"
    assert toml.where("body[1].other") == f"{toml.file}:4"


@pytest.mark.parametrize("seed", range(4))
def test_a_note_that_makes_no_sense_is_none(seed: int) -> None:
    """What modules it names may be anything: the key is found again."""
    rng = np.random.default_rng(seed)
    note = msgspec.json.encode(
        ["a" * 40, "b" * 40, ["kinemorph.world.step.many_steps", "numpy.linalg"], ["numpy", "json"]]
    )
    for _ in range(50):
        assert known_keys.version_in(spoil_json(note, [note], rng)) is None


def test_a_note_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To find `package.module` its package was imported, and so could any package that a note names."""
    (tmp_path / "loud_package").mkdir()
    (tmp_path / "loud_package" / "__init__.py").write_text("raise SystemExit('it was imported')")
    (tmp_path / "loud_package" / "inner.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    note = msgspec.json.encode(["a" * 40, "b" * 40, ["loud_package.inner"], ["loud_package.inner", "loud_package.x.y"]])
    assert known_keys.version_in(note) is None
    assert "loud_package" not in sys.modules
    assert module_file("loud_package.inner") == str(tmp_path / "loud_package" / "inner.py")


@pytest.mark.parametrize("seed", range(4))
def test_every_module_is_found_where_import_finds_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = [name for name in sorted(sys.modules) if name.startswith(("kinemorph", "numpy.", "json.", "concurrent."))]
    for name in rng.permutation(known)[:40]:
        module = sys.modules.pop(name)
        try:
            assert module_file(str(name)) == getattr(module.__spec__, "origin", None)
        finally:
            sys.modules[name] = module


@pytest.mark.parametrize("seed", range(4))
def test_the_fault_of_a_pack_is_one_short_line(tmp_path: Path, seed: int) -> None:
    """It is shown by commands, and its manifest may say anything."""
    rng = np.random.default_rng(seed)
    ((_, content),) = KINDS["pack"].examples()
    for _ in range(25):
        value = json.loads(content)
        group = value[("versions", "settings")[int(rng.integers(2))]]
        group[list(group)[int(rng.integers(len(group)))]] = WORDS[int(rng.integers(len(WORDS)))]
        (tmp_path / MANIFEST).write_text(json.dumps(value))
        fault = Pack(tmp_path).fault
        assert fault is not None
        assert "\n" not in fault
        assert len(fault) < 1000


@linux
@pytest.mark.parametrize(("kind", "number"), [("rows", 7982), ("pack", 16591)])
def test_files_that_once_went_wrong(kind: str, number: int) -> None:
    """A drive of a joint beyond the table; a name of a pack with a line end, which its fault repeated."""
    assert list(campaign(KINDS[kind], 1, 330719, number)) == []
