"""`kinemorph convert A B`, over all pairs of kinds: the same machine is written, or one sentence says why not."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import kinemorph as km
from kinemorph.cli import main
from kinemorph.creatures.gallery import handmade
from kinemorph.creatures.genotype.genotype import save_genotype
from kinemorph.io import model_formats

MODELS = ("arm.xml", "arm.mjcf", "arm.urdf", "arm.sdf", "crawler.json")
ENDS = (".xml", ".mjcf", ".urdf", ".sdf")
OTHERS = ("walk.bvh", "heel.c3d", "arm.csv", "arm.h5", "swing.glb", "box.stl", "bridge.toml")
RECORDINGS = ("swing.npz", "swing.film")
SEEN = {".html": b"<!", ".gif": b"GIF8", ".webp": b"RIFF", ".glb": b"glTF"}  # and how such files begin
REST = sorted({Path(name).suffix for name in OTHERS + RECORDINGS} | {".txt", ""})


def arm() -> km.Model:
    """What all three formats have: hinges and a slide with limits, and shapes off their frames."""
    b = km.Builder("arm")
    parent = None
    for name, joint in (
        ("upper", km.Joint.revolute("y", lower=-1.0, upper=2.0, damping=0.1)),
        ("lower", km.Joint.revolute((0.6, 0.0, 0.8), lower=-2.0, upper=1.0)),
        ("hand", km.Joint.prismatic("x", lower=0.0, upper=0.3)),
    ):
        inertia = km.Inertia(1.5, (0.0, 0.1, 0.2), [[0.3, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]])
        shape = km.Shape.capsule(0.05, 0.3, km.Pose((0.0, 0.0, 0.15)))
        b.link(name, parent, joint, (0.1, 0.2, 0.3), inertia, shape)
        parent = name
    return b.build()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of every kind that we read or write."""
    folder = tmp_path_factory.mktemp("convert")
    model = arm()
    km.save_mjcf(model, folder / "arm.xml")
    shutil.copyfile(folder / "arm.xml", folder / "arm.mjcf")
    km.save_urdf(model, folder / "arm.urdf")
    km.save_sdf(model, folder / "arm.sdf")
    save_genotype(handmade("worm"), folder / "crawler.json")
    shutil.copyfile(km.mocap.walk_file(), folder / "walk.bvh")
    (folder / "heel.c3d").write_bytes(b"\x02\x50" + bytes(510))
    recording = km.Recording("swing")
    for t in (0.0, 0.1, 0.2):
        recording.add(model, np.full(model.nq, t), t)
    recording.save(folder / "swing.npz")
    shutil.copyfile(folder / "swing.npz", folder / "swing.film")
    km.save_glb(recording, folder / "swing.glb")
    for suffix in (".csv", ".h5"):
        km.save_table(folder / f"arm{suffix}", {"time": np.arange(3.0)})
    shutil.copyfile(Path(km.__file__).parent / "scenes/data/chain_bridge.toml", folder / "bridge.toml")
    (folder / "box.stl").write_text("solid box\nendsolid box\n")
    return folder


def told(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["kinemorph", *map(str, words)])
    try:
        main()
    except SystemExit as end:
        return int(str(end.code))
    return 0


@pytest.mark.filterwarnings("ignore::kinemorph.ModelWarning")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("source", MODELS)
def test_machine_stays_the_same(source, end, folder, tmp_path, monkeypatch, capsys, rng):
    target = tmp_path / f"out{end}"
    assert told(monkeypatch, "convert", folder / source, target) == 0, capsys.readouterr().err
    before, after = model_formats.load(folder / source), model_formats.load(target)
    assert str(target) in capsys.readouterr().out
    assert (after.n, after.nq, after.nv) == (before.n, before.nq, before.nv)
    assert after.mass == pytest.approx(before.mass, rel=1e-9)
    q, v = km.random_configuration(before, rng), rng.normal(size=before.nv)
    assert after.names == before.names
    tau = [km.rnea(model, km.Data(model), q, v, np.zeros(model.nv)) for model in (before, after)]
    np.testing.assert_allclose(tau[1], tau[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("end", [*ENDS, *REST])
@pytest.mark.parametrize("source", OTHERS)
def test_what_is_no_model_is_refused_in_a_sentence(source, end, folder, tmp_path, monkeypatch, capsys):
    target = tmp_path / f"out{end}"
    assert told(monkeypatch, "convert", folder / source, target) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"kinemorph: {folder / source}: this is no model file (MJCF, URDF, SDF or a genotype)")
    assert (said.out, said.err.count("\n"), target.exists()) == ("", 1, False)


@pytest.mark.parametrize("end", SEEN)
@pytest.mark.parametrize("source", RECORDINGS)
def test_recordings_become_what_can_be_looked_at(source, end, folder, tmp_path, monkeypatch, capsys):
    target = tmp_path / f"out{end}"
    assert told(monkeypatch, "convert", folder / source, target) == 0, capsys.readouterr().err
    assert str(target) in capsys.readouterr().out
    assert target.read_bytes().startswith(SEEN[end])


@pytest.mark.parametrize("end", [*ENDS, *(end for end in REST if end not in SEEN)])
@pytest.mark.parametrize("source", RECORDINGS)
def test_recordings_become_nothing_else(source, end, folder, tmp_path, monkeypatch, capsys):
    target = tmp_path / f"out{end}"
    assert told(monkeypatch, "convert", folder / source, target) == 2
    said = capsys.readouterr()
    assert f'{target}: recordings are not written as files that end in "{end}"; use .html, .gif' in said.err
    assert (said.out, said.err.count("\n"), target.exists()) == ("", 1, False)


@pytest.mark.parametrize("end", [*REST, ".json"])
@pytest.mark.parametrize("source", MODELS)
def test_what_is_not_written_is_refused_in_a_sentence(source, end, folder, tmp_path, monkeypatch, capsys):
    target = tmp_path / f"out{end}"
    assert told(monkeypatch, "convert", folder / source, target) == 2
    said = capsys.readouterr()
    assert f'{target}: files that end in "{end}" are not written; use .xml, .mjcf, .urdf, .sdf' in said.err
    assert (said.out, said.err.count("\n"), target.exists()) == ("", 1, False)


LOOPED = """<mujoco><worldbody>
<body name="a"><joint name="j" axis="0 1 0"/><geom size="0.1"/>
<body name="b" pos="0 0 1"><joint name="k" axis="0 1 0"/><geom size="0.1"/>
<body name="c" pos="1 0 0"><joint name="l" axis="0 1 0"/><geom size="0.1"/></body></body></body></worldbody>
<equality><connect name="closing" body1="a" body2="c" anchor="1 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("end", ENDS)
def test_loops_stay_or_are_refused_by_name(end, tmp_path, monkeypatch, capsys):
    (tmp_path / "loop.xml").write_text(LOOPED)
    code = told(monkeypatch, "convert", tmp_path / "loop.xml", tmp_path / f"out{end}")
    if end == ".urdf":
        said = capsys.readouterr().err
        assert (code, said.count("\n"), "closing" in said) == (2, 1, True)
        assert not (tmp_path / "out.urdf").exists()
    else:
        assert code == 0
        assert model_formats.load(tmp_path / f"out{end}").loop_names == ("closing",)
