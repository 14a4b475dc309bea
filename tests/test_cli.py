"""The command as users run it, in processes of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinemorph as km
from kinemorph.scenes.robots.catalog import ARM

pytestmark = pytest.mark.filterwarnings("default")


def kinemorph(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kinemorph", *arguments],
        cwd=folder,
        env={**os.environ, "KINEMORPH_QUIET": "1", **environment},
        capture_output=True,
        text=True,
        timeout=1200,  # for a command that hangs; on a fresh machine kernels take their time
        check=False,
    )


def test_demo_prints_figures_and_leaves_pictures(tmp_path: Path) -> None:
    done = kinemorph("demo", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("Model 'arm'", "times real time", "energy at the start", "one call from Python", "look at"):
        assert words in done.stdout
    assert "swing.html" in done.stdout
    assert (tmp_path / "out" / "swing.html").stat().st_size > 100_000
    for name in ("swing.png", "swing_energy.png"):
        image = read_png(tmp_path / "out" / name)
        assert image.std() > 10.0  # not blank
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]  # nothing else is written


def test_walk_demo_prints_the_gait(tmp_path: Path) -> None:
    done = kinemorph("demo", "walk", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "step period 0.734" in done.stdout
    assert (tmp_path / "out" / "walker.png").exists()
    assert (tmp_path / "out" / "walker_strip.png").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("high_bar", "coordinates 24, 23, 22"),
        ("swing_breaks", "coordinates 25, 30, 29, 28"),
        ("human", "10 changes"),
    ],
)
def test_scenes_that_change_leave_a_plot_and_a_replay(name: str, words: str, tmp_path: Path) -> None:
    done = kinemorph("demo", name, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    assert read_png(tmp_path / "out" / f"{name}.png").std() > 10.0
    assert (tmp_path / "out" / f"{name}.html").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("walk_on_ground", "walker_on_ground", "step period 0.73"),
        ("dismount", "dismount", "lands on the"),
        ("gripper", "gripper", "takes the brick"),
        ("train", "train", "wagon 3 is coupled"),
        ("chain_bridge", "chain_bridge", "and breaks"),
        ("glued_tower", "glued_tower", "pieces"),
    ],
)
def test_scenes_of_worlds_leave_pictures_and_a_replay(name: str, file: str, words: str, tmp_path: Path) -> None:
    done = kinemorph("demo", name, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    assert read_png(tmp_path / "out" / f"{file}.png").std() > 5.0
    assert (tmp_path / "out" / f"{file}.html").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("features", "collision_features", "V-Clip steps in each"),
        ("tiles", "collision_tiles", "pairs of 15"),
        ("hashing", "collision_hashing_8", "28.0 pairs a step without hashing"),
        ("friction", "friction_cubes", "by Coulomb's law"),
        ("coins", "coin_toss", "show heads"),
        ("car", "car_track", "upside down for"),
        ("wall_and_car", "wall_and_car", "meets the wall"),
        ("double_demolition", "double_demolition", "wall 2:"),
    ],
)
def test_demonstrations_leave_pictures_and_a_replay(name: str, file: str, words: str, tmp_path: Path) -> None:
    done = kinemorph("demo", name, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    assert read_png(tmp_path / "out" / f"{file}.png").std() > 5.0
    assert (tmp_path / "out" / f"{file}.html").stat().st_size > 100_000


def test_all_demos_are_listed_with_a_sentence(tmp_path: Path) -> None:
    from kinemorph.scenes.gallery import DEMOS

    done = kinemorph("demo", "--list", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    assert {name: sentence.strip() for name, sentence in told.items()} == {
        n: f"{d.sentence} {d.written}" for n, d in DEMOS.items()
    }
    assert not list(tmp_path.iterdir())


def test_mechanisms_demo_prints_mobilities(tmp_path: Path) -> None:
    done = kinemorph("demo", "mechanisms", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("Stewart platform", "mobility", "Cassie", "S (eq. 48)\n[[0.  1. ]\n [0.5 0.5]]", "look at"):
        assert words in done.stdout
    assert read_png(tmp_path / "out" / "mechanisms.png").std() > 10.0
    assert (tmp_path / "out" / "mechanisms.html").stat().st_size > 100_000


def read_png(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return 255.0 * imread(path)[:, :, :3]


def test_doctor_says_that_all_is_well(tmp_path: Path) -> None:
    done = kinemorph("doctor", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("numba", "processor", "kernel cache", "writable", "forward dynamics against the stored oracle"):
        assert words in done.stdout
    assert "BAD" not in done.stdout
    assert not list(tmp_path.iterdir())


def test_doctor_says_what_is_cold(tmp_path: Path) -> None:
    """The folder is one that nothing can be kept in: then everything is compiled again and again."""
    (tmp_path / "file").write_text("")
    done = kinemorph("doctor", folder=tmp_path, KINEMORPH_CACHE_DIR=str(tmp_path / "file"), NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    for words in ("kernel cache not used:", "(0 kernels compiled,", "cold: world, distance", "kinemorph warm"):
        assert words in said
    assert "writable" not in said


def test_warm_says_that_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = kinemorph("warm", folder=tmp_path, KINEMORPH_CACHE_DIR=str(tmp_path / "file"))
    assert done.returncode == 2
    assert "compiled kernels are not kept" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("warm", "--jobs", "0"), "kernels cannot be compiled in 0 processes"),
        (("demo", "fly"), "there is no demo 'fly'"),
        (("demo", "--robot", "r2d2"), "there is no robot 'r2d2'"),
        ((), "name a command: bounce, convert"),
        (("fly",), "there is no command 'fly'; there are bounce, convert"),
        (("bounce", "--objects", "x"), "bounce: --objects x: expected a whole number"),
        (("evolve", "running", "--population=nan"), "evolve: --population nan: expected a whole number"),
        (("mocap", "--cutoff", "high"), "mocap: --cutoff high: expected a number or residuals"),
        (("evolve", "--evaluator", "me"), "--evaluator me: expected serial, processes or ray"),
        (("replay", "a.db", "--generation", "1", "two"), "--generation two: expected a whole number"),
        (("view", "--floating", "yes"), "--floating yes: expected True or False"),
        (("demo", "--out"), "demo: --out needs a file or folder"),
        (("demo", "--outt", "x"), "demo: there is no option --outt; there are --out, --robot, --contact, --list"),
        (("demo", "walk", "--contact", "impulse"), "demo walk: it does not go by impulses; those do: friction, "),
        (("demo", "wall", "--contact", "magic"), "demo: --contact magic: expected timestep or impulse"),
        (("bounce", "--side", "4,x"), "bounce: --side 4,x: expected a length in m, or three of them such as 12,8,4"),
        (("bounce", "--side", "4,5"), "bounce: the world's side is [4.0, 5.0] m; expected a positive length, or three"),
        (("bounce", "--steps", "0", "--replay", "a.html"), "bounce: steps is 0, and must be a whole number, 1 or more"),
        (("bounce", "--steps", "-4", "--replay", "a.html"), "bounce: steps is -4, and must be a whole number"),
        (("convert", "a.urdf"), "convert: TARGET is missing; see kinemorph convert --help"),
        (("convert", "a.urdf", "b.xml", "c.xml"), "convert: 3 words are too many, 2 may be given"),
        (("creature", "fly"), "there is no command 'fly'; there are random, show, trial"),
        (("creature", "random", "--seed", "-1"), "creature random: seed -1 must not be negative"),
        (("creature", "trial", "--count", "0"), "creature trial: count 0 and seconds 1.0 must be positive"),
        (("demo", "walk", "--robot", "r2d2"), "demo walk: --robot is for the demo swing"),
        (("view", "nothing"), "there is no demo, no creature and no file 'nothing'; demos are swing"),
        (("view", "walk"), "demo 'walk' has no world to look into, but these have: walk_on_ground"),
        (("view", "--seconds", "0"), "seconds 0.0 must be positive"),
        (("creature", "trial", "7"), "trial: it takes options only; see kinemorph creature trial --help"),
    ],
)
def test_errors_are_one_sentence(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = kinemorph(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.splitlines() == [done.stderr.strip()]


def without(module: str, folder: Path) -> dict[str, str]:
    """An environment in which a package is not installed, as far as Python can tell."""
    (folder / "hidden").mkdir()
    (folder / "hidden" / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {module!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
    )
    return {"PYTHONPATH": os.pathsep.join([str(folder / "hidden"), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("matplotlib", ("demo", "walk")),
        ("viser", ("demo",)),
        ("matplotlib", ("mocap",)),
        ("viser", ("bounce", "--replay", "out/bounce.html")),
    ],
)
def test_a_missing_extra_is_one_sentence_before_anything_is_computed(
    module: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """It was a traceback, after a minute of computing."""
    done = kinemorph(*arguments, folder=tmp_path, **without(module, tmp_path))
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.splitlines() == [done.stderr.strip()]
    assert f"need {module}: pip install 'kinemorph[view]'" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "command",
    ["run no.toml", "view no.toml", "view no.urdf", "mocap no.bvh", "creature show no.json", "demo --robot no.urdf"],
)
def test_a_missing_file_is_told_before_a_missing_extra(command: str, tmp_path: Path) -> None:
    """Else one would install something, only to be told of the file."""
    done = kinemorph(*command.split(), folder=tmp_path, **without("viser", tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kinemorph: {command.split()[-1]}: there is no such file\n"


@pytest.mark.parametrize("command", ["demo", "mocap", "thesis", "run crane", "creature show worm"])
def test_a_folder_that_cannot_be_is_told_before_anything_is_computed(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = kinemorph(*command.split(), "--out", "file/results", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kinemorph: file/results: {tmp_path / 'file'} is a file; name a folder\n"


def test_a_creature_is_converted_with_its_drives(tmp_path: Path) -> None:
    assert kinemorph("creature", "random", "--seed", "3", "--out", "one.json", folder=tmp_path).returncode == 0
    done = kinemorph("convert", "one.json", "one.xml", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "one.xml").read_text()
    assert text.count("<general ") == json.loads(done.stdout)["nv"] - 6 > 0
    (tmp_path / "two.json").write_text("?")
    wrong = kinemorph("convert", "two.json", "two.xml", folder=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "kinemorph: two.json: JSON is malformed: invalid character (byte 0)\n",
    )


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    import kinemorph as km

    done = kinemorph("--version", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"kinemorph {km.__version__}\n")


def test_scripts_can_read_what_is_told(tmp_path: Path) -> None:
    listed = json.loads(kinemorph("demo", "--list", "--json", folder=tmp_path).stdout)
    assert listed["swing"].endswith(".")
    health = json.loads(kinemorph("doctor", "--json", folder=tmp_path).stdout)
    assert health["well"] is True
    assert health["packages"]["numpy"] == np.__version__
    (tmp_path / "arm.urdf").write_text(ARM.read_text())
    written = json.loads(kinemorph("convert", "arm.urdf", "arm.xml", "--json", folder=tmp_path).stdout)
    assert (written["written"], written["links"], written["nv"]) == ("arm.xml", 6, 6)


def test_the_robot_of_a_demo_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.xml").write_text(
        '<mujoco model="mine"><worldbody><body name="b"><joint name="j" axis="0 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/></body></worldbody></mujoco>'
    )
    done = kinemorph("demo", "--robot", "mine.xml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Model 'mine': 1 links" in done.stdout
    gone = kinemorph("demo", "--robot", "yours.urdf", folder=tmp_path)
    assert (gone.returncode, "yours.urdf" in gone.stderr) == (2, True)


def test_a_recording_is_converted_into_what_can_be_watched(tmp_path: Path) -> None:
    world = km.World()
    world.add(km.Shape.sphere(0.1), at=(0, 0, 1), name="ball")
    with km.film(world, tmp_path / "ball.film", rate=20):
        world.run(0.2)
    km.Recording.load(tmp_path / "ball.film").save(tmp_path / "ball.npz")
    for source, target in (("ball.npz", "ball.gif"), ("ball.film", "ball.html"), ("ball.npz", "ball.glb")):
        done = kinemorph("convert", source, target, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{target}: Recording")
        assert (tmp_path / target).stat().st_size > 1000
    refused = kinemorph("convert", "ball.npz", "ball.urdf", folder=tmp_path)
    assert refused.returncode == 2
    assert "use .html, .gif, .webp, .mp4, .glb" in refused.stderr


def test_convert_writes_another_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(
        '<mujoco model="arm"><option density="1.2"/><worldbody><body name="b"><joint name="j" armature="1"/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    refused = kinemorph("convert", "arm.xml", "arm.urdf", folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "arm.xml:1: <option>: the model is in a fluid" in refused.stderr
    done = kinemorph("convert", "arm.xml", "out/arm.urdf", "--ignore", "fluid", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "out/arm.urdf: Model 'arm': 1 links (1 revolute)" in done.stdout
    assert "URDF has no armature: left out of 'j'" in done.stderr
    again = kinemorph("convert", "out/arm.urdf", "arm.sdf", folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert kinemorph("convert", "arm.sdf", "back.xml", folder=tmp_path).returncode == 0
    wrong = kinemorph("convert", "arm.sdf", "arm.txt", folder=tmp_path)
    assert (wrong.returncode, "arm.txt: files that end in" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("name", [".numba_config.yaml", "matplotlibrc"])
def test_settings_of_packages_in_the_working_folder_are_refused(name: str, tmp_path: Path) -> None:
    """Numba overwrote the file that its settings name when it was imported, and Matplotlib started LaTeX."""
    victim = tmp_path / "victim"
    victim.write_text("dear")
    (tmp_path / name).write_text(f"CHROME_TRACE: {victim}\n" if "numba" in name else "text.usetex: True\n")
    for words in (["demo", "--list"], ["doctor"], ["run", "none.toml"], ["--help"]):
        done = kinemorph(*words, folder=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith(f"kinemorph: {tmp_path / name}: ")
        assert "would take settings from it" in done.stderr
        assert done.stderr.count("\n") == 1
    assert victim.read_text() == "dear"
