"""Each command, given a file of a kind that another one reads, says in a sentence what it is and what reads it."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

import kinemorph as km
from kinemorph.cli import main
from kinemorph.creatures.gallery import handmade
from kinemorph.creatures.genotype.genotype import save_genotype
from kinemorph.io.file_kind import FileKind, expect_kind, kind_of
from kinemorph.scenes.robots.catalog import ARM

ROOT = Path(__file__).parents[1]
K = FileKind
MODELS = {K.URDF, K.SDF, K.MJCF}
READS = {  # what each command takes
    "mocap FILE": {K.MOTION},
    "mocap --contacts FILE": {K.TABLE},
    "mocap --skeleton FILE": set(),
    "run FILE": {K.SCENE},
    "view FILE": MODELS | {K.SCENE, K.GENOTYPE, K.SNAPSHOT, K.JOURNAL, K.RECORDING, K.RUN},
    "convert FILE out.xml": MODELS | {K.GENOTYPE, K.RECORDING},
    "creature show FILE": {K.GENOTYPE},
    "demo --robot FILE": MODELS,
    "evolve FILE": {K.SEARCH},
    "evolve --resume FILE": {K.RUN},
    "rescore FILE": {K.RUN},
    "report FILE": {K.RUN},
    "replay FILE": {K.RUN},
    "results FILE": {K.TABLE_OF_RUNS},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FileKind]:
    """Files of every kind that there is, by what kind they are; some have no end, or that of another kind."""
    folder = tmp_path_factory.mktemp("kinds")
    b = km.Builder("bar")
    b.link("rod", None, km.Joint.revolute("y"), inertia=km.Inertia.sphere(1.0, 0.1), shapes=km.Shape.sphere(0.1))
    model = b.build()
    shutil.copyfile(ARM, folder / "arm.urdf")
    km.save_sdf(model, folder / "bar.sdf")
    km.save_mjcf(model, folder / "bar.xml")
    shutil.copyfile(ROOT / "src/kinemorph/scenes/data/crane.toml", folder / "crane.toml")
    shutil.copyfile(ROOT / "docs/results/table.toml", folder / "table.toml")
    (folder / "search.toml").write_text('task = "locomotion"\nseed = 3\n')
    save_genotype(handmade("worm"), folder / "worm.json")
    shutil.copyfile(km.mocap.walk_file(), folder / "walk.bvh")
    t = np.arange(4) / 100.0
    (folder / "heel.c3d").write_bytes(b"\x02\x50" + bytes(510))
    recording = km.Recording("bar")
    for at in t:
        recording.add(model, np.zeros(1), float(at))
    recording.save(folder / "bar.npz")
    km.save_glb(recording, folder / "bar.glb")
    world = km.World()
    ball = world.add(km.Shape.sphere(0.1))
    (folder / "ball.world").write_bytes(world.save())
    with km.film(world, folder / "ball.film"):
        world.step(2)
    with world.record(folder / "ball.journal"):
        world.step(2)
    assert ball.alive
    with sqlite3.connect(folder / "run.db") as db:
        db.execute("CREATE TABLE run (name TEXT, value TEXT)")
    db.close()
    km.save_table(folder / "bar.csv", {"time": t})
    km.save_table(folder / "bar.h5", {"time": t})
    (folder / "box.stl").write_text("solid box\nendsolid box\n")
    (folder / "page.html").write_text("<!doctype html><html></html>")
    km.picture(model, np.zeros(1), folder / "bar.png")
    known = {
        "arm.urdf": K.URDF, "bar.sdf": K.SDF, "bar.xml": K.MJCF, "crane.toml": K.SCENE, "table.toml": K.TABLE_OF_RUNS,
        "search.toml": K.SEARCH, "worm.json": K.GENOTYPE, "walk.bvh": K.MOTION, "heel.c3d": K.MARKERS,
        "bar.npz": K.RECORDING, "bar.glb": K.GLB, "ball.world": K.SNAPSHOT, "ball.film": K.RECORDING,
        "ball.journal": K.JOURNAL, "run.db": K.RUN, "bar.csv": K.TABLE, "bar.h5": K.TABLE, "box.stl": K.MESH,
        "page.html": K.PAGE, "bar.png": K.PICTURE,
    }  # fmt: skip
    found = {str(folder / name): kind for name, kind in known.items()}
    for name, end in itertools.product(known, ("", ".dat")):  # known by what is in them
        if known[name] not in (K.TABLE, K.MESH) and not name.endswith((".toml", ".json", ".csv")):
            copy = folder / f"{name.replace('.', '_')}{end}"
            shutil.copyfile(folder / name, copy)
            found[str(copy)] = known[name]
    return found


def told(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> int:
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["kinemorph", *words])
    try:
        main()
    except SystemExit as end:
        return int(str(end.code))
    return 0


def test_kinds_are_known_by_what_is_in_files(files: dict[str, FileKind]) -> None:
    assert set(FileKind) - {*files.values()} == {K.XACRO, K.WHEEL}
    for file, kind in files.items():
        assert kind_of(file) is kind, file


@pytest.mark.parametrize("command", READS)
def test_files_of_other_kinds_are_named(
    command: str, files: dict[str, FileKind], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """`kinemorph mocap x.c3d` said "line 2: this is not UTF-8 text"."""
    monkeypatch.chdir(tmp_path)
    for file, kind in files.items():
        if Path(file).suffix in ("", ".dat"):
            continue
        if kind in READS[command]:
            expect_kind(file, *READS[command], wanted="")
            continue
        words = [file if word == "FILE" else word for word in command.split()]
        code = told(monkeypatch, words)
        said = capsys.readouterr()
        assert (code, said.out, said.err.count("\n")) == (2, "", 1), (file, said.err)
        assert file in said.err
        if "--robot" not in command or Path(file).suffix in (".urdf", ".xml", ".sdf"):
            assert kind.what in said.err
            assert kind.reader in said.err
    assert list(tmp_path.iterdir()) == []


def test_what_nobody_knows_is_left_to_who_reads_it(tmp_path: Path) -> None:
    dice = np.random.default_rng(5)
    for size in (0, 1, 7, 100, 5000):
        file = tmp_path / f"{size}.dat"
        file.write_bytes(bytes([1, 2]) + dice.bytes(size))
        assert kind_of(file) is None
        expect_kind(file, K.MOTION, wanted="a motion")
    (tmp_path / "broken.toml").write_text("[[body")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert kind_of(tmp_path / "broken.toml") is kind_of(tmp_path / "deep.json") is None
    with pytest.raises(km.FileError, match="there is no such file"):
        expect_kind(tmp_path / "none", K.MOTION, wanted="a motion")


def test_readers_name_markers_too(tmp_path: Path) -> None:
    (tmp_path / "x.c3d").write_bytes(b"\x02\x50" + bytes(300) + b"\xff\xfe" * 100)
    with pytest.raises(km.FileError, match=r"one of markers \(C3D\); km.load_c3d reads it"):
        km.load_bvh(tmp_path / "x.c3d")
