"""Scene files: what they make, how their changes happen, and one sentence for whatever is wrong with one."""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.geometry.samples import binary_stl
from tests.test_cli import kinemorph, read_png

import kinemorph as km
from kinemorph._toml import lines_of
from kinemorph.scenes.commands.run_command import print_figures, run_scene
from kinemorph.scenes.commands.view_command import scene_of
from kinemorph.scenes.files.scene import shipped
from kinemorph.scenes.files.scene_events import KINDS
from kinemorph.scenes.gallery import DEMOS
from kinemorph.scenes.robots.catalog import ARM

HEAD = '[[ground]]\n[[body]]\nname = "ball"\nsphere = 0.1\nat = [0.0, 0.0, 0.5]\n'
CRANE = shipped()["crane"].read_text()


def scene(folder: Path, text: str) -> km.Scene:
    file = folder / "mine.toml"
    file.write_text(text)
    return km.load_scene(file)


# ------------------------------------------------------------------------------------------------------- what comes


def test_a_file_makes_the_world_that_python_makes(tmp_path: Path) -> None:
    text = """
seconds = 0.3
[world]
gravity = [0.0, 0.0, -5.0]
dt = 1e-3
material = "ice"
[[material]]
name = "ice"
friction = 0.1
restitution = 0.5
[[ground]]
normal = [0.1, 0.0, 1.0]
[[ground]]
box = [1.0, 1.0, 0.1]
at = [2.0, 0.0, 1.0]
turn = { axis = "x", degrees = 30.0 }
[[body]]
name = "brick"
box = [0.2, 0.3, 0.4]
at = [0.0, 0.0, 0.6]
turn = { axis = [1.0, 1.0, 0.0], radians = 0.5 }
velocity = [1.0, 0.0, 0.0]
spin = [0.0, 2.0, 0.0]
density = 500.0
"""
    ice = km.Material(friction=0.1, restitution=0.5)
    world = km.World((0.0, 0.0, -5.0), 1e-3, material=ice)
    world.add_ground(km.HalfSpace((0.1, 0.0, 1.0)))
    world.add_ground(km.Shape.box((1.0, 1.0, 0.1), km.Pose.turn((1, 0, 0), np.radians(30.0), (2.0, 0.0, 1.0))))
    at = km.Pose.turn((1, 1, 0), 0.5, (0.0, 0.0, 0.6))
    world.add(km.Shape.box((0.2, 0.3, 0.4)), at, twist=(0, 2, 0, 1, 0, 0), density=500.0, name="brick")
    world.run(0.3)
    made = scene(tmp_path, text)
    recording = made.run()
    assert made.world.hash() == world.hash()
    assert (recording.name, len(recording.t)) == ("mine", 19)


def test_masses_shapes_and_rows_are_as_told(tmp_path: Path) -> None:
    text = """
[default.body]
mass = 3.0
[[body]]
name = "dumbbell"
at = [0.0, 0.0, 1.0]
shapes = [{ sphere = 0.1, at = [-0.5, 0.0, 0.0] }, { sphere = 0.1, at = [0.5, 0.0, 0.0] }]
[[body]]
name = "as a box"
sphere = 0.1
at = [3.0, 0.0, 0.0]
inertia = { box = [1.0, 1.0, 1.0] }
[[body]]
name = "ball {}"
sphere = 0.1
at = [0.0, 5.0, 0.0]
row = { count = [2, 1, 3], step = [1.0, 1.0, 2.0] }
[[figure]]
name = "one"
robot = "arm"
at = [0.0, -5.0, 0.0]
[[figure]]
name = "somebody"
human = { mass = 60.0, height = 1.6 }
at = [9.0, 0.0, 1.5]
"""
    world = scene(tmp_path, text).world
    assert world["dumbbell"].mass == pytest.approx(3.0)
    about_z = 2 * 1.5 * (0.4 * 0.1**2 + 0.5**2)
    assert world.queries.link_of(world["dumbbell"].id)["I"][5] == pytest.approx(about_z)
    assert world.queries.link_of(world["as a box"].id)["I"][0] == pytest.approx(3.0 / 6.0)
    places = [world[f"ball {k}"].position.tolist() for k in range(6)]
    assert places == [[x, 5.0, z] for x in (-0.5, 0.5) for z in (-2.0, 0.0, 2.0)]
    assert sum(body.mass for body in world.figure("somebody")) == pytest.approx(60.0)
    assert len(world.figure("one")) == 6


def test_a_model_file_comes_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.urdf").write_text(ARM.read_text())
    text = '[[figure]]\nname = "arm"\nfile = "models/mine.urdf"\nq = [0.1, 0.2, 0.3, 0.0, 0.0, 0.0]\n'
    made = scene(tmp_path, text + '[[servo]]\njoint = "arm/elbow"\nposition = 0.5\nstiffness = 1e4\ndamping = 1e3\n')
    assert made.world.figure("arm").position("shoulder") == pytest.approx(0.2, abs=0.2)
    made.world.run(1.0)
    assert made.world.figure("arm").position("elbow") == pytest.approx(0.5, abs=0.02)


def test_what_acts_acts_and_changes_set_and_stop_it(tmp_path: Path) -> None:
    text = """
[world]
gravity = [0.0, 0.0, 0.0]
[default.body]
sphere = 0.1
mass = 2.0
[[body]]
name = "pushed"
[[body]]
name = "turned"
at = [0.0, 2.0, 0.0]
[[body]]
name = "follows"
at = [0.0, 4.0, 0.0]
[[body]]
name = "hangs"
at = [0.0, 9.0, 2.0]
[[joint]]
name = "axle"
between = ["world", "turned"]
kind = "revolute"
axis = "x"
[[joint]]
name = "geared"
between = ["turned", "follows"]
kind = "revolute"
axis = "x"
[[motor]]
name = "motor"
joint = "axle"
speed = 2.0
[[couple]]
joint = "geared"
source = "axle"
ratio = -1.5
[[push]]
name = "thrust"
body = "pushed"
force = [4.0, 0.0, 0.0]
[[spring]]
between = ["world", "hangs"]
stiffness = 8.0
length = 1.0
at_a = [0.0, 9.0, 0.0]
[[change]]
at = 0.5
set = { name = "thrust", force = [0.0, 2.0, 0.0] }
[[change]]
at = 1.0
stop = "thrust"
set = { name = "motor", speed = -2.0 }
"""
    world = scene(tmp_path, text).world
    world.run(1.0)
    assert world["pushed"].velocity == pytest.approx([1.0, 0.5, 0.0], abs=1e-9)
    axle, geared = (float(world.forest.velocity(world.joint_id(name))[0]) for name in ("axle", "geared"))
    assert (axle, geared) == (pytest.approx(2.0, abs=1e-6), pytest.approx(-3.0, abs=1e-4))
    assert world["hangs"].position[2] == pytest.approx(1.0 + np.cos(2.0), abs=5e-3)  # ω² = k/m
    world.run(0.5)
    assert world["pushed"].velocity == pytest.approx([1.0, 0.5, 0.0], abs=5e-3)
    assert float(world.forest.velocity(world.joint_id("axle"))[0]) == pytest.approx(-2.0, abs=1e-6)


def test_structure_changes_at_times_and_when_things_happen(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
[[change]]
name = "lands"
when = "contact ball ground"
add = { name = "second", box = [0.1, 0.1, 0.1], at = [0.0, 0.0, 1.0] }
[[change]]
name = "joined"
when = "near second ball 0.5" # which comes later
connect = { between = ["ball", "second"], name = "stick", kind = "spherical", at = "middle" }
[[change]]
name = "turned over"
at = 0.7
reroot = "second"
[[change]]
name = "torn"
at = 0.8
cut = "stick"
[[change]]
name = "gone"
at = 0.9
remove = "second"
[[change]]
name = "over"
at = 1.0
ends = true
"""
    )
    made = scene(tmp_path, text)
    made.run(5.0)
    assert made.world.time == pytest.approx(1.0)
    assert [(h.name, h.what) for h in made.happened] == [
        ("lands", "add"), ("joined", "connect"), ("turned over", "reroot"), ("torn", "cut"), ("gone", "remove"),
        ("over", "end"),
    ]  # fmt: skip
    assert made.happened[0].time == pytest.approx(np.sqrt(2 * 0.4 / 9.81), abs=5e-3)
    assert [body.name for body in made.world.bodies] == ["ball"]


UP = '[[change]]\nat = 2.0\nset = { name = "thrust", force = [0.0, 0.0, 80.0] }\n'
HAPPENS = {
    "contact ball ground": "", "contact ball": "", "parts ball ground": UP, "impact ball ground 1.0": "",
    "impact ball 1.0": "", "falls ball 0.3": "", "rises weight 0.11": "", "near ball weight 0.95": "",
    "apart ball weight 1.2": UP, "above hinge 0.1": "", "below hinge -0.1": "", "faster hinge 0.1": "",
    "slower hinge -0.1": "", "limit hinge": "", "load hinge 1.0": "", "moment hinge 0.01": "", "sleeps ball": "",
    "wakes ball": UP,
}  # fmt: skip


@pytest.mark.parametrize("when", HAPPENS)
def test_every_condition_can_come_true(when: str, tmp_path: Path) -> None:
    weight = """
[[body]]
name = "weight"
box = [0.2, 0.05, 0.05]
at = [0.9, 0.0, 0.1]
[[joint]]
name = "hinge"
between = ["world", "weight"]
kind = "revolute"
axis = "y"
at = [0.8, 0.0, 0.1]
lower = -0.5
upper = 0.5
[[push]]
name = "lift"
body = "weight"
force = [0.0, 0.0, 9.0]
[[push]]
name = "thrust"
body = "ball"
[[change]]
at = 0.5
stop = "lift"
"""
    waits = f'[[change]]\nname = "it"\nwhen = "{when}"\nends = true\n'
    made = scene(tmp_path, HEAD + weight + waits + HAPPENS[when])
    made.world.run(4.0)
    assert made.world.time < 3.9
    assert [h.name for h in made.happened][-1] == "it"


def test_every_kind_of_condition_is_tried() -> None:
    assert {when.split()[0] for when in HAPPENS} == set(KINDS)


def test_a_change_that_cannot_be_made_says_where_it_is_told(tmp_path: Path) -> None:
    grip = (
        '[[change]]\nat = 0.1\nconnect = { between = ["world", "ball"], kind = "revolute", lower = 1.0, upper = 2.0 }\n'
    )
    made = scene(tmp_path, f"{HEAD}{grip}")
    with pytest.raises(km.WorldError, match=r"at 0.1 s: .*mine\.toml:6: change\[0\]: .*outside of its limits"):
        made.world.run(1.0)
    assert made.world.time == pytest.approx(0.1)
    with pytest.raises(km.WorldError, match=r"limits.*; what was recorded until then is .*mine\.npz") as caught:
        run_scene(str(tmp_path / "mine.toml"), tmp_path / "out", 1.0)
    assert caught.value.time == pytest.approx(0.1)
    assert km.Recording.load(tmp_path / "out" / "mine.npz").t[-1] == pytest.approx(0.1)


NEVER = '[[change]]\nwhen = "impact ball 1e6"\n'
ABSENT = {  # changes that name what another one was to make, or has taken away
    'cut = "grip"': NEVER + 'connect = { between = ["world", "ball"], name = "grip" }\n',
    'remove = "late"': NEVER + 'add = { name = "late", sphere = 0.1 }\n',
    'reroot = "late"': NEVER + 'add = { name = "late", sphere = 0.1 }\n',
    'connect = { between = ["world", "late"] }': NEVER + 'add = { name = "late", sphere = 0.1 }\n',
    'set = { name = "p", force = [1.0, 0.0, 0.0] }': '[[push]]\nname = "p"\nbody = "ball"\n'
    '[[change]]\nat = 0.05\nremove = "ball"\n',
    'stop = "p"': '[[push]]\nname = "p"\nbody = "ball"\n[[change]]\nat = 0.05\nremove = "ball"\n',
}  # fmt: skip


@pytest.mark.parametrize("deed", ABSENT)
def test_a_change_of_what_is_not_there_is_told_and_the_run_goes_on(deed: str, tmp_path: Path) -> None:
    more = '[[body]]\nname = "other"\nsphere = 0.1\nat = [3.0, 0.0, 0.5]\n'
    beside = 'add = { name = "beside", sphere = 0.1, at = [6.0, 0.0, 1.0] }'
    due = f'[[change]]\nname = "too early"\nat = 0.1\n{deed}\n{beside}\n'
    made = scene(tmp_path, f"{HEAD}{more}{ABSENT[deed]}{due}")
    made.run(0.2)
    assert made.world.time == pytest.approx(0.2)
    late = [h for h in made.happened if h.name == "too early"]
    assert [(h.what, bool(h.missed)) for h in late if h.missed] == [(deed.partition(" ")[0], True)]
    assert "beside" in made.world  # the rest of it is made
    told: list[str] = []
    print_figures(run_scene(str(tmp_path / "mine.toml"), tmp_path / "out", 0.2), told.append)
    assert any("too early" in line and "not made, " in line for line in told)


@pytest.mark.parametrize(
    ("common", "own"),
    [
        ("density = 500.0", "mass = 2.0"), ("mass = 500.0", "density = 2.0"), ("box = [1.0, 1.0, 1.0]", ""),
        ("cylinder = [1.0, 1.0]\nmass = 3.0", "density = 100.0"),
    ],
)  # fmt: skip
def test_what_a_body_says_wins_over_what_bodies_have_by_default(common: str, own: str, tmp_path: Path) -> None:
    head, _, rest = HEAD.partition("[[body]]")
    plain = scene(tmp_path, f"{head}[[body]]{rest}{own}\n").world["ball"].mass
    made = scene(tmp_path, f"{head}[default.body]\n{common}\n[[body]]{rest}{own}\n").world["ball"]
    assert made.mass == pytest.approx(plain if own or "mass" not in common else 3.0)
    python = km.load_scene(tmp_path / "mine.toml", {"body": {"ball": {"mass": 7.0}}})
    assert python.world["ball"].mass == pytest.approx(7.0)
    for setting, value in (("mass", 6.0), ("density", 60.0)):  # other defaults
        changed = km.load_scene(tmp_path / "mine.toml", {"default": {"body": {setting: value}}}).world["ball"].mass
        if own:
            assert changed == pytest.approx(made.mass)
        elif setting == "mass":
            assert changed == 6.0


def test_a_joint_that_bears_too_much_breaks(tmp_path: Path) -> None:
    joint = '[[joint]]\nname = "thread"\nbetween = ["world", "ball"]\nkind = "revolute"\nat = [0.0, 0.0, 0.8]\n'
    weight = 9.81 * 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3
    holds = scene(tmp_path, f"{HEAD}{joint}strength = {1.05 * weight}\n")
    holds.world.run(0.2)
    assert not holds.broken
    breaks = scene(tmp_path, f"{HEAD}{joint}strength = {0.95 * weight}\n")
    breaks.world.run(0.2)
    assert [(name, force > 0.95 * weight) for _, name, force in breaks.broken] == [("thread", True)]
    assert breaks.world["ball"].position[2] < 0.4


def test_changes_from_python_win() -> None:
    made = km.load_scene("crane", {"world": {"dt": 2e-3}, "body": {"crate": {"density": 100.0}}, "seconds": 1.0})
    assert (made.world.dt, made.seconds) == (2e-3, 1.0)
    assert made.world["crate"].mass == pytest.approx(2.7)
    with pytest.raises(km.FileError, match='body: there is no body "crte"; did you mean "crate"'):
        km.load_scene("crane", {"body": {"crte": {}}})


@pytest.mark.parametrize("how", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_of_a_scene_goes_on_by_itself(how) -> None:
    made = km.load_scene("crane")
    made.world.run(0.9)
    other = how(made)
    for one in (made, other):
        one.world.run(0.2)
        assert [h.name for h in one.happened] == ["the hook takes the crate"]
    assert other.world.hash() == made.world.hash()


@pytest.mark.parametrize("name", shipped())
def test_scenes_that_come_along_load_and_say_what_they_show(name: str) -> None:
    made = km.load_scene(name)
    assert made.about.endswith(".")
    assert made.world.bodies
    assert scene_of(str(made.file))[0].hash() == made.world.hash()


def test_every_demo_is_a_scene_file_or_says_why_not() -> None:
    assert {name for name, demo in DEMOS.items() if not demo.python} == set(shipped()) - {"crane"}
    assert all(demo.python[0].islower() and not demo.python.endswith(".") for demo in DEMOS.values() if demo.python)


# -------------------------------------------------------------------------------------------------------- what is wrong


WRONG = [
    ("spehre = 0.1", r"mine\.toml:6: body\[0\]\.spehre: there is no such setting; there are .*did you mean sphere\?"),
    ("mass = nan", r"mine\.toml:6: body\[0\]\.mass: nan is not finite"),
    ("mass = -inf", r"mine\.toml:6: body\[0\]\.mass: -inf is not finite"),
    ("mass = 1e10", r"mine\.toml:6: body\[0\]\.mass: expected `float` <= 1000000000.0; it is 10000000000.0"),
    ("mass = 0", r"body\[0\]\.mass: expected `float` >= 1e-09; it is 0"),
    ("mass = " + "9" * 400, r"body\[0\]\.mass: number out of range; it is 999"),
    ("mass = " + "9" * 5000, r"mine\.toml: this TOML cannot be read: "),
    ("mass = true", r"body\[0\]\.mass: expected `float`, got `bool`; it is True"),
    ("velocity = [1.0, 2.0]", r"mine\.toml:6: body\[0\]\.velocity: expected `array` of length 3, got 2; it is \[1\.0"),
    ("velocity = [\n1.0,\n'x', 0.0]", r'mine\.toml:8: body\[0\]\.velocity\[1\]: expected `float`, got `str`; it is '),
    ("box = [1.0, 1.0, 1.0]", r"mine\.toml:2: body\[0\]: box and sphere are too many: give one of box, sphere, "),
    ('material = "glue"', r'mine\.toml:6: body\[0\]\.material: there is no material "glue"; there are none'),
    ("mass = 1.0\ndensity = 1.0", r"body\[0\]: give its density or its mass, not both"),
    ('turn = { axis = "y" }', r"mine\.toml:6: body\[0\]\.turn: give one of degrees, radians, quaternion and rpy"),
    ("turn = { axis = [0, 0, 0], degrees = 1 }", r"body\[0\]\.turn: Pose\.turn: the axis is zero"),
    ("turn = { quaternion = [0, 0, 0, 0] }", r"body\[0\]\.turn: Pose\.quaternion: the quaternion is zero"),
    ("row = { count = [2, 1, 1], step = [1, 1, 1] }", r"mine\.toml:3: body\[0\]\.name: bodies in a row need a name"),
    ("[[body]]\nsphere = 1", r"mine\.toml:6: body\[1\]: object missing required field `name`"),
    ('[[body]]\nname = "ball"\nsphere = 1', r"mine\.toml:7: body\[1\]\.name: there is a body 'ball' already"),
    ('[[body]]\nname = "b {}"\nsphere = 1\nrow = {count = [1000, 1000, 9], step = [1, 1, 1]}', r"than 20000 bodies"),
    ('[[body]]\nname = "b"', r"mine\.toml:6: body\[1\]: there is no shape: give one of"),
    ('[[body]]\nname = "a\\u0000"\nsphere = 1', r"body\[1\]\.name: there are characters in it that a name cannot have"),
    ("[[bdy]]", r"mine\.toml:6: bdy: there is no such setting; there are .*did you mean body\?"),
    ("[body]", r"this is not TOML"),
    ("x = = 1", r"mine\.toml: this is not TOML: .*line 6"),
    ("[world]\ndt = 0.0", r"mine\.toml:7: world\.dt: expected `float` > 0\.0; it is 0\.0"),
    ("[world]\ncontact = \"magic\"", r"mine\.toml:7: world\.contact: it must be one of impulse, timestep; it is \"mag"),
    ("[world]\nepsilon = 0.1", r"mine\.toml:6: world: "),
    ('[[figure]]\nname = "f"', r"mine\.toml:6: figure\[0\]: give one of file, robot and human"),
    ('[[figure]]\nname = "f"\nrobot = "arm"\nq = [1.0]', r"mine\.toml:6: figure\[0\]: "),
    ('[[figure]]\nname = "f"\nrobot = "../../x.urdf"', r"mine\.toml:8: figure\[0\]\.robot: a robot is one that"),
    ('[[figure]]\nname = "f"\nfile = "no.urdf"', r"mine\.toml:8: figure\[0\]\.file: there is no file \"no.urdf\" in"),
    ('[[figure]]\nname = "f"\nfile = "mine.toml"', r"mine\.toml:8: figure\[0\]\.file|mine\.toml:"),
    ('[[joint]]\nbetween = ["ball", "ball"]', r'mine\.toml:7: joint\[0\]\.between: "ball" and "ball": name two bodies'),
    ('[[joint]]\nbetween = ["ball", "bal"]', r'joint\[0\]\.between\[1\]: there is no body "bal"; did you mean "ball"'),
    ('[[joint]]\nbetween = ["world", "ball"]\nlower = 1\nupper = 0\nkind = "revolute"', r"joint\[0\]: .*leave no room"),
    ('[[joint]]\nbetween = ["world", "ball"]\nstrength = 1', r"joint\[0\]\.name: a joint that can break needs a name"),
    ('[[motor]]\njoint = "axle"', r'mine\.toml:7: motor\[0\]\.joint: there is no joint "axle"; there are none'),
    ('[[push]]\nbody = "bell"', r'mine\.toml:7: push\[0\]\.body: there is no body "bell"; did you mean "ball"\?'),
    ("[[change]]\nat = 1", r"mine\.toml:6: change\[0\]: it changes nothing: give one of cut, remove, add, connect, "),
    ('[[change]]\nwhen = "contact ball"\ntimes = 3', r"change\[0\]: it changes nothing"),
    ('[[push]]\nname = "p"\nbody = "ball"\n[[change]]\nat = 1\nset = { name = "p" }', "it sets nothing: give one"),
    ("[[change]]\nends = true", r"mine\.toml:6: change\[0\]: give at \(s\) or when, one of them"),
    ('[[change]]\nwhen = "contct ball"', r'change\[0\]\.when: there is no event "contct"; did you mean "contact"\?'),
    ('[[change]]\nwhen = "contact \'ball"', r"change\[0\]\.when: .* cannot be read"),
    ('[[change]]\nwhen = "contact ball nobody"', r'mine\.toml:7: change\[0\]\.when: there is no body "nobody"'),
    ('[[change]]\nwhen = "falls ball nan"', r'change\[0\]\.when: .*"nan" is not finite'),
    ('[[change]]\nwhen = "falls ball"', r"change\[0\]\.when: .*'falls' takes body, number"),
    ('[[change]]\nat = 1\ncut = "rope"', r'mine\.toml:8: change\[0\]\.cut: there is no joint "rope"'),
    ('[[change]]\nat = 1\nset = { name = "x" }', r'change\[0\]\.set\.name: there is no thing that acts "x"'),
    ('[[push]]\nname = "p"\nbody = "ball"\n[[change]]\nat = 1\nset = { name = "p", speed = 1 }', r"a push has none"),
    ('[[push]]\nname = "p"\nbody = "ball"\n[[change]]\nat = 1\nset = { name = "p", force = 1 }', r"three numbers"),
    ('[[change]]\nat = 1\nadd = { name = "b", box = [1, 1] }', r"change\[0\]\.add\.box: expected `array` of length 3"),
    ("[camera]\ndirection = [0.0, 0, 0]", r"camera\.direction: \(0, 0, 0\) is none; say from where to look"),
    ('[camera]\nfollow = "bull"', r'camera\.follow: there is no body "bull"; did you mean "ball"\?'),
    ("[default.bodi]\nmass = 1", r"default\.bodi: there is no table \"bodi\"; did you mean \"body\"\?"),
    ("[default.world]\ndt = 1", r"default\.world: |world"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "said"), WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_what_is_wrong_is_one_sentence_with_its_place(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(km.FileError, match=said) as caught:
        scene(tmp_path, f"{HEAD}{more}\n")
    assert len(str(caught.value)) < 1000
    assert str(tmp_path / "mine.toml") in str(caught.value)


def test_names_do_not_go_round_in_circles(tmp_path: Path) -> None:
    text = "".join(f'[[body]]\nname = "{n}"\nsphere = 0.1\nat = [{k}.0, 0.0, 0.0]\n' for k, n in enumerate("abc"))
    text += "".join(
        f'[[joint]]\nname = "{b}{c}"\nbetween = ["{b}", "{c}"]\nkind = "revolute"\n' for b, c in ("ab", "bc")
    )
    circle = '[[couple]]\njoint = "ab"\nsource = "bc"\n[[couple]]\njoint = "bc"\nsource = "ab"\n'
    with pytest.raises(km.FileError, match=r"couple\[1\]: joint 'bc' would follow itself in the end"):
        scene(tmp_path, text + circle)
    same = '[[joint]]\nname = "ab"\nbetween = ["a", "c"]\n'
    with pytest.raises(km.FileError, match=r"joint\[2\]\.name: there is a joint 'ab' already"):
        scene(tmp_path, text + same)
    closed = scene(tmp_path, text + '[[joint]]\nname = "ca"\nbetween = ["c", "a"]\nkind = "revolute"\n')
    assert closed.world.forest.closes_loop(closed.world.joint_id("ca"))  # bodies may


@pytest.mark.parametrize("path", ["../arm.urdf", "/etc/passwd", "link.urdf", "in/../../arm.urdf", ".", "a\\u0000b"])
def test_no_path_leads_out_of_the_folder(path: str, tmp_path: Path) -> None:
    folder = tmp_path / "scene"
    (folder / "in").mkdir(parents=True)
    (tmp_path / "arm.urdf").write_text(ARM.read_text())
    os.symlink(tmp_path / "arm.urdf", folder / "link.urdf")
    for kind, key in (("figure", "file"), ("body", "mesh")):
        with pytest.raises(km.FileError, match=r"is not in the folder of this file|is no path"):
            scene(folder, f'[[{kind}]]\nname = "x"\n{key} = "{path}"\n')


@pytest.mark.parametrize(
    "content",
    [b"\x00" * 1_000_000, b"[" * 100_000, b"a." * 300_000 + b"b = 1", b"\xff\xfe", b"x = " + b"[" * 3000 + b"]" * 3000,
     b'[[body]]\nname = "b"\n' * 45_000, b"a = 1\n" * 160_000, b"=" * 2_000_000, b"[a." + b"b." * 1000 + b"c]\n" * 2],
    ids=["zeros", "brackets", "dots", "no text", "arrays", "bodies", "keys", "too large", "tables"],
)  # fmt: skip
def test_nonsense_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    with pytest.raises(km.FileError, match=r"mine\.toml") as caught:
        km.load_scene(file)
    assert len(str(caught.value)) < 1000


HOSTILE = [
    "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "0", "-1", "true", '""', '"x"', '"../x"', "[]", "{}", "[[]]",
    "[1.0]", "[0.0, 0.0, 0.0]", "[nan, 0.0, 0.0]", "9" * 30, "{ a = 1 }", '"world"', '"ground"', '"hook"', "1979-05-27",
    '"contact hook"', '{ between = ["hook", "hook"] }', "[[0.0, 1.0], [0.0, 2.0]]", "[1e6, 1e6, 1e6]", "1e-6", "1e4",
]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_with_faults_loads_or_is_refused_in_a_sentence(data: st.DataObject, tmp_path: Path) -> None:
    lines = CRANE.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        k = data.draw(st.integers(0, len(lines) - 1))
        how = data.draw(st.sampled_from(["value", "value", "value", "drop", "twice", "cut"]))
        if how == "value" and " = " in lines[k]:
            lines[k] = f"{lines[k].partition(' = ')[0]} = {data.draw(st.sampled_from(HOSTILE))}"
        elif how == "drop":
            lines[k] = ""
        elif how == "twice":
            lines.insert(k, lines[k])
        elif how == "cut":
            lines[k] = lines[k][: data.draw(st.integers(0, len(lines[k])))]
    try:
        made = scene(tmp_path, "\n".join(lines))
    except km.FileError:
        return
    try:
        made.world.step(3)
    except km.WorldError:
        return
    assert all(np.isfinite(body.position).all() for body in made.world.bodies)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_lines_of_any_text_are_found_or_not(text: str) -> None:
    assert all(line >= 1 for line in lines_of(text).values())


# ---------------------------------------------------------------------------------------------------------- command


def test_the_command_runs_a_scene(tmp_path: Path) -> None:
    (tmp_path / "drop.toml").write_text('about = "A ball drops."\nseconds = 0.5\n' + HEAD)
    done = kinemorph("run", "drop.toml", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["scene"], told["seconds"], told["contacts"]) == ("drop", pytest.approx(0.5), 1)
    assert told["energy"]["start"]["potential"] > told["energy"]["end"]["potential"]
    assert read_png(tmp_path / told["files"]["pictures"]).std() > 5.0
    assert (tmp_path / told["files"]["replay"]).stat().st_size > 100_000
    assert len(km.Recording.load(tmp_path / told["files"]["recording"]).t) == 33
    with pytest.raises(km.FileError, match='there is no scene "cranes"; did you mean "crane"'):
        km.load_scene("cranes")


def test_figures_for_people_say_what_changed(tmp_path: Path) -> None:
    told: list[str] = []
    print_figures(run_scene("crane", tmp_path / "out", 1.1), told.append)
    assert any("the hook takes the crate: connect" in line for line in told)
    with pytest.raises(ValueError, match="seconds nan must be positive"):
        run_scene("crane", tmp_path / "out", float("nan"))
    long = km.load_scene("wall", {"record": {"rate": 1000.0}})
    with pytest.raises(km.FileError, match=r"86400 of 34 bodies are .* poses, .*; record them with a lower rate"):
        long.run(86400.0)
    (tmp_path / "empty.toml").write_text("seconds = 1.0\n")
    with pytest.raises(km.FileError, match=r"there is nothing in it that moves; give it a \[\[body\]\]"):
        run_scene(str(tmp_path / "empty.toml"), tmp_path / "out")


# ---------------------------------------------------------------------------------------------- what it may read

MESHES = {
    "urdf": (
        '<robot name="a"><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>'
    ),
    "sdf": (
        '<sdf version="1.7"><model name="a"><link name="b"><collision name="c"><geometry><mesh><uri>{}</uri></mesh>'
        "</geometry></collision></link></model></sdf>"
    ),
    "xml": (
        '<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="m"/>'
        "</body></worldbody></mujoco>"
    ),
}


@pytest.mark.parametrize("kind", MESHES)
def test_models_of_a_scene_have_their_meshes_in_its_folder(kind: str, tmp_path: Path) -> None:
    """Beside the folder there are packages that the file names, which a system of robots would find."""
    box = km.core_of(km.Shape.box((1, 1, 1)))[0]
    mesh, deep = binary_stl(box.points[box.triangles]), tmp_path / "scene" / "deep"
    for folder in (tmp_path / "package", tmp_path / "scene", deep, deep / "package", deep / "inner"):
        folder.mkdir(exist_ok=True, parents=True)
        (folder / "a.stl").write_bytes(mesh)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "only.stl").write_bytes(mesh)
    (deep / "link.stl").symlink_to(tmp_path / "package" / "a.stl")
    (deep / "a.toml").write_text(f'[[figure]]\nname = "a"\nfile = "inner/a.{kind}"\n')
    scheme = [] if kind == "xml" else ["package://"]
    bad = [f"{s}{path}" for s in scheme for path in ("beside/only.stl", "deep/../a.stl", "package/../../a.stl")]
    bad += ["../../a.stl", str(tmp_path / "package" / "a.stl"), "../link.stl", "../../../package/a.stl"]
    for path in bad:
        (deep / "inner" / f"a.{kind}").write_text(MESHES[kind].format(path))
        with pytest.raises(km.FileError, match="this is outside the folders that"):
            km.load_scene(deep / "a.toml")
    for path in ["a.stl", "../a.stl", *(f"{s}package/a.stl" for s in scheme)]:
        (deep / "inner" / f"a.{kind}").write_text(MESHES[kind].format(path))
        assert km.load_scene(deep / "a.toml").world.shapes.count == 1
