# ruff: noqa: E501  (a table)
"""Absurd values for everything public: a share of them here, all of them by `python -m tests.absurd_values`.

Each outcome is a result or a sentence. Below are also the cases that strangers met, one by one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests import absurd_values, copies, valid_calls
from tests.absurd_values import ABSURD, judge, public, run
from tests.valid_calls import Bench

import kinemorph as km
from kinemorph import creatures, evolve, mocap
from kinemorph.spatial.arguments.annotations import is_package_error

NAMES = [one.name for one in public()]
SHARE = 0.004  # of all calls, in the suite


@pytest.mark.parametrize("seed", [1, 2])
def test_a_share_of_all_calls_is_answered_by_a_result_or_a_sentence(seed):
    wrong = run({"only": "", "share": SHARE, "seed": seed}, first_patience=600.0)
    assert not wrong, "\n".join(absurd_values.said(case, what) for case, what in wrong.items())


def test_everything_public_is_called_or_skipped_by_name():
    assert len(NAMES) == len(set(NAMES)) > 500
    called = [name for name in NAMES if name not in valid_calls.SKIPPED]
    assert len(called) > 640
    for reason, names in valid_calls.NOT_CALLED.items():
        assert len(reason.split()) > 5, reason
        for name in names:
            assert any(one == name or one.startswith(name) for one in NAMES), f"{name} is no public name"
    said = [name for names in valid_calls.NOT_CALLED.values() for name in names]
    assert len(said) == len(set(said)) < 70
    assert not valid_calls.RESULTS & set(said)
    methods = {name for name in NAMES if "." in name}
    for name in (valid_calls.INNER | valid_calls.RESULTS) - {"Ground", "Model"}:
        assert name in NAMES or any(one.startswith(f"{name}.") for one in methods), f"{name} is no public name"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("None.x", "from inside"), ("[][3]", "from inside"), ("{}['a']", "from inside"), ("1 + 'a'", "from inside"),
        ("np.linalg.inv(np.zeros((2, 2)))", "from inside"), ("int('x')", "from inside"),
        ("warnings.warn('overflow encountered', RuntimeWarning)", "warning"), ("km.Pose('word')", ""),
        ("km.World(dt='word')", "names neither"), ("open('no such file')", ""),
    ],
)  # fmt: skip
def test_the_judge_tells_a_sentence_from_an_accident(code, found):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((Exception, Warning)) as caught:
            exec(code, {"np": np, "km": km, "warnings": warnings})
    argument = "position" if "Pose" in code else "nothing"
    said = judge(caught.value, "called", argument, object(), None)
    assert said.startswith(found) if found else not said


# ------------------------------------------------------------------------------------------ what strangers have met


def _chain(**more):
    return {"model": valid_calls.chain(), "state": Bench().chain_state, **more}


def _fd(call, **more):
    b = Bench()
    return call(b.chain, b.chain_data, b.chain_q, np.zeros(8), **more)


def _gym_step(action):
    from kinemorph.gym import WorldEnv

    env = WorldEnv("walk")
    env.reset(seed=0)
    env.step(action)


def _viewed(world, call):
    with km.viewer(world, open_browser=False) as v:
        call(v)


def _shape_pair(world):
    ground = world.add_ground()
    world.surfaces.set_pair_material(ground, ground, km.Material())


MET = {
    # accepted
    "human, too tall": (lambda b: km.human(height=1e9), "height is 1000000000.0, and must be from 0.2 to 5"),
    "human, not finite": (lambda b: km.human(height=np.inf), "height is inf"),
    "human, too heavy": (lambda b: km.human(mass=1e9), "mass is"),
    "close, no tries": (lambda b: km.close(b.model, b.data, b.q, tries=-1), "close: tries is -1, and must be a whole"),
    "parts, no concavity": (lambda b: b.model.with_parts(-1), "concavity is -1, and must be from 0.01 to 1"),
    "agree, one shape": (lambda b: _shape_pair(b.world), "set_pair_material: a and b are one shape"),
    "picture, no picture": (
        lambda b: km.picture(valid_calls.tree_model(), [0, 0], "x.exe"), r"file is 'x.exe', and must end in \.png",
    ),
    "c3d, no rate": (lambda b: km.save_c3d(km.Markers(("a",), np.zeros((2, 1, 3)), np.nan), "x.c3d"), "rate is nan"),
    # indices
    "connect": (lambda b: km.connect(**_chain(a=0.5, b="free", joint=b.joint, at=(0, 0, 0))), "connect: a is 0.5"),
    "connect, None": (lambda b: km.connect(**_chain(a="l1", b=[], joint=b.joint, at=(0, 0, 0))), r"connect: b is \[\]"),
    "pose_of": (lambda b: km.pose_of(b.model, b.data, 1.5), "place is 1.5, and must be a name or an index"),
    "pose_of, Loop": (lambda b: km.pose_of(b.model, b.data, b.model.loops[0]), "place is .*Loop"),
    "rollout": (lambda b: _fd(km.rollout, steps=1.5), "rollout: steps is 1.5, and must be a whole number"),
    "step": (lambda b: _fd(km.step, steps=2**63), "steps"),
    "Forest.connect": (
        lambda b: b.forest.connect(0.5, b.bodies[0], b.joint, (0, 0, 0)), "Forest.connect: a is 0.5, and must be a whole",
    ),
    "Forest.cut": (lambda b: b.forest.cut("x"), "Forest.cut: joint is 'x', and must be a whole number"),
    "Forest.position": (lambda b: b.forest.position(None), "Forest.position: joint is None"),
    # types
    "with_loops": (lambda b: b.model.with_loops(b.model.loops[0]), "with_loops: loops is .*, and must be a list of Loops"),
    "Simulation": (lambda b: km.Simulation(b.other_model, b.other_state, events=5), "events is 5, and must be a list"),
    "Forest.tie": (lambda b: b.forest.tie("x", *b.bodies), "tie.* (not|is) 'x'"),
    "viewer": (lambda b: km.viewer("x", open_browser=False), "viewer: world is 'x', and must be a World"),
    "save_glb": (lambda b: km.save_glb("x", "x.glb"), "save_glb: recording is 'x', and must be a Recording"),
    "parse_bvh": (lambda b: km.parse_bvh(5), "parse_bvh: text is 5, and must be a string or bytes"),
    "load_urdf": (lambda b: km.load_urdf(None), "load_urdf: path is None, and must be a path"),
    "parse_mjcf": (lambda b: km.parse_mjcf("<mujoco/>", ignore=5), "parse_mjcf: ignore is 5, and must be a list of"),
    "parse_mjcf, a word": (lambda b: km.parse_mjcf("<mujoco/>", ignore="word"), "ignore is 'word', and must be a list"),
    "convert": (lambda b: km.convert.pinocchio(None), "pinocchio: model is None, and must be a Model"),
    "Scene.run": (lambda b: km.load_scene("crane").run("x"), "Scene.run: seconds is 'x', and must be a real number"),
    "load_scene": (lambda b: km.load_scene("crane", changes=[]), r"load_scene: changes is \[\], and must be a dict"),
    "mutate": (lambda b: creatures.mutate(b.genotype, rng=5), "mutate: rng is 5, and must be a Generator"),
    "crossover": (lambda b: creatures.crossover(None, b.genotype, b.rng), "crossover: a is None, and must be a Genotype"),
    "gym": (lambda b: _gym_step("go"), "action"),
    # values
    "swept": (lambda b: km.swept(np.zeros((2, 3)), np.ones((2, 3)), np.zeros((3, 3))), "swept: lows, highs and moves"),
    "swept, nan": (lambda b: km.swept(np.zeros((2, 3)), np.ones((2, 3)), np.full((2, 3), np.nan)), "moves must be finite"),
    "loop_forces": (lambda b: km.loop_forces(b.model, b.data, np.ones(3)), r"wrenches .* shape \(3,\)"),
    "loop_forces, rows": (lambda b: km.loop_forces(b.model, b.data, np.ones((5, 6))), r"wrenches .* shape \(5, 6\)"),
    "replay": (lambda b: km.replay(b.recording, "x.html", speed=np.inf), "replay: speed is inf, and must be positive"),
    "animate": (lambda b: km.animate(b.recording, "x.gif", size=(0, 0)), "animate: size is 0, and must be a whole number"),
    "animate, slow": (lambda b: km.animate(b.recording, "x.gif", speed=1e-300), "speed 1e-300 make .* pictures"),
    "picture": (lambda b: km.picture(valid_calls.tree_model(), [0, 0], size=(-5, 5)), "picture: size is -5"),
    "random_genotype": (lambda b: creatures.random_genotype(-1), "seed is -1, and must be a whole number, 0 or more"),
    "founder": (lambda b: creatures.founder("x"), "founder: seed is 'x'"),
    "random_configuration": (lambda b: km.random_configuration(b.model, -1), "rng is -1, and must be a whole number"),
    "synthetic_walk": (lambda b: mocap.synthetic_walk(-1), "synthetic_walk: seconds is -1, and must be positive"),
    "with_equipment": (lambda b: b.model.with_equipment(actuators=None), "Equipment: actuators is None, and must be a list"),
    "with_equipment, exclusions": (lambda b: b.model.with_equipment(exclusions=[1]), r"exclusions is .*1.*, and must be a list of pairs"),
    "with_equipment, unknown": (lambda b: b.model.with_equipment(wheels=4), "there is no equipment 'wheels'"),
    "Processes": (lambda b: evolve.Processes(None, 1), "Processes: problem is None, and must be"),
    "task": (lambda b: creatures.tasks.Swim(root=np.ones(3)), r"root is array\(\[1., 1., 1.\]\), and must be one of"),
    "go_to": (lambda b: _viewed(b.world, lambda v: v.go_to(2**53)), "step is 9007199254740992, and must be from 0 to"),
    "animate, slower than files can say": (lambda b: km.animate(b.recording, "x.gif", rate=1e-300), "animate: rate is 1e-300, and must be from 0.001 to 100"),
    "apply_impulse": (lambda b: b.world.apply_impulse(b.world["box"], (0, 0, 1e308)), r"apply_impulse: impulse .*1e\+308.* is too large for a step"),
    "apply_impulse, moment": (lambda b: b.world.apply_impulse(b.world["box"], (0, 0, 0), (-1e308, 0, 0)), "apply_impulse: moment .* is too large"),
    "batch.run": (lambda b: km.batch.run([b.world], 1e308), r"batch: seconds is 1e\+308, and must be from 0 to"),
    "convert, lists": (lambda b: km.convert.pinocchio(b.chain, [[]]), r"Pinocchio: peer has \[\], and must be names"),
    "evaluate, level": (lambda b: creatures.evaluate(b.genotype, creatures.tasks.JumpUp(), 0, level=1e308), r"level is 1e\+308, and must be from 0"),
    "gym, complex": (lambda b: _gym_step(np.zeros(6) + 1j), "an action is .* finite numbers, not array"),
    "None in an array": (lambda b: km.kinematics(b.other_data.model, b.other_data, np.array([None], object)), r"q\[0\] is nan"),
    "ltl_solve, no factor": (lambda b: km.ltl_solve(b.chain, np.zeros((8, 8)), np.ones(8)), "L has a zero on its diagonal"),
    "smooth, no rotations": (lambda b: mocap.smooth(b.analysis.body.model, 0.0 * b.analysis.body.q, 0.01), "is a quaternion of length 0, which is no rotation"),
    "a world as a list": (lambda b: km.Builder("x").base(shapes=b.world), "shapes is World at .*, and must be a list of Shapes"),
    "save_bvh": (lambda b: km.save_bvh(b.bvh, "x.bvh", digits=-1), "digits is -1, and must be a whole number, from 0 to 17"),
    "held_out": (lambda b: evolve.held_out(-1, 2), "held_out: seed is -1"),
    "smooth": (lambda b: mocap.smooth(b.analysis.body.model, b.analysis.body.q, 0.0), "dt is 0.0, and must be positive"),
    "run, without end": (lambda b: b.world.run(1e308), r"seconds is 1e\+308, and must be from 0 to"),
    "Shape, an array": (lambda b: km.Shape(km.ShapeKind.BOX, np.ones(2)), "size is .*, and must be 3 finite numbers for a box"),
    "synthetic_walk, long": (lambda b: mocap.synthetic_walk(1e300), "synthetic_walk: frames"),
}  # fmt: skip


@pytest.mark.parametrize("case", MET)
def test_what_strangers_met_is_a_sentence(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, sentence = MET[case]
    bench = Bench()
    with pytest.raises((TypeError, ValueError)) as caught:
        call(bench)
    assert is_package_error(caught.value)
    assert re.search(sentence, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_refused_frame_leaves_a_recording_as_it_was():
    """Bodies of the model were taken in before its state was looked at."""
    film = valid_calls.filmed()
    with pytest.raises(ValueError, match=r"q has shape \(2,\)"):
        film.add(copies.pendulum(), [0.1, 0.2], 1.0)
    assert [body.name for body in film.bodies] == ["l0", "l1"]
    assert len(film.t) == 2


def test_what_is_kept_of_iterators_is_there_again():
    """Actuators from a generator were checked, and gone."""
    model = valid_calls.driven_model()
    other = model.with_equipment(actuators=(one for one in model.actuators))
    assert [a.name for a in other.actuators] == [a.name for a in model.actuators] == ["m"]


@pytest.mark.parametrize("kind", [np.float64, np.float32, ">f8", np.int64])
def test_numbers_of_genotypes_may_be_an_array(kind):
    species = Bench().species
    line = valid_calls.quadruped().line()
    numbers = [round(one) for one in species.numbers(line)]
    assert species.with_numbers(line, np.array(numbers, kind)) == species.with_numbers(
        line, [float(n) for n in numbers]
    )


@pytest.mark.parametrize("marks", [None, 0.5, (1.0, 0.0, 1.0), {"value": 1.0}])
def test_tasks_that_return_no_marks_are_named(marks):
    class Careless(creatures.tasks.Swim):
        def mark(self, stage):
            return marks

    with pytest.raises(TypeError, match=re.escape(f"Careless.mark returned {marks!r}, and must return Marks")):
        creatures.evaluate(valid_calls.quadruped(), Careless(seconds=0.1), 0)


@pytest.mark.parametrize("dt", [2**63, np.float32(0.5), 1])
def test_steps_of_batches_are_numbers_of_any_kind(dt):
    b = Bench()
    path = km.batch.rollout(b.chain, [b.chain_q], [np.zeros(8)], dt=dt, steps=1, method="euler")
    np.testing.assert_array_equal(path.t, [0.0, float(dt)])


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e308])
def test_a_direction_may_have_any_length(size):
    model = valid_calls.tree_model()
    there = km.picture(model, [0, 0], direction=(size, -size, 0.5 * size), size=(80, 60))
    np.testing.assert_array_equal(there, km.picture(model, [0, 0], direction=(1, -1, 0.5), size=(80, 60)))


def test_nothing_overlaps_farther_away_than_there_are_numbers():
    world = Bench().world
    assert world.queries.overlaps(Bench.ball, (0, 1e308, 0)) == []
    assert world.queries.overlaps(Bench.ball, (0, 0, 0.2))


def test_twins_are_beside_what_is_valid():
    wrong = [label for label in absurd_values.TWINS if absurd_values.twin(label, [1.0, 2.0]) is None]
    assert not wrong
    assert absurd_values.twin("twin, masked", "word") is None
    chosen = {label for _, _, label in absurd_values.cases("aba")}
    assert chosen >= set(absurd_values.TWINS)


def test_timers_without_end_let_worlds_go_on():
    world, calls = km.World(), []
    world.every(1e308, lambda world: calls.append("often"))
    world.every(1.0, lambda world: calls.append("late"), start=1e308, name="late")
    world.step(3)
    assert world.time == pytest.approx(3 * world.dt)
    assert calls == ["often"]  # at once, and then never again


@pytest.mark.parametrize("path", ["\x00", "a\x00b"])
def test_paths_in_recordings_that_cannot_be_are_file_errors(tmp_path, path):
    import json

    film = km.Recording("film")
    film.add_body(valid_calls._drawn_body(Bench()))
    film.save(tmp_path / "film.npz")
    arrays = dict(np.load(tmp_path / "film.npz"))
    text = json.loads(arrays["text"].tobytes())
    text["bodies"][0]["shapes"][0]["path"] = path
    arrays["text"] = np.frombuffer(json.dumps(text).encode(), np.uint8)
    np.savez(tmp_path / "film.npz", **arrays)
    with pytest.raises(km.FileError, match=r"film.npz"):
        km.Recording.load(tmp_path / "film.npz")


def test_a_run_without_settings_is_a_sentence(tmp_path):
    evolve.Store.create(tmp_path / "run.db", {}).close()
    with pytest.raises(evolve.StoreError, match="it does not say its settings"):
        evolve.resume(tmp_path / "run.db")


def test_a_report_of_no_runs_is_refused(tmp_path):
    command = [sys.executable, "-m", "kinemorph", "report", "--out", str(tmp_path / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "there are no runs to report" in done.stdout + done.stderr
    assert not Path(tmp_path / "page.html").exists()


def test_worlds_stay_as_they_were_whoever_is_given():
    """What `World`'s methods refuse of all absurd values leaves no trace."""
    rng = np.random.default_rng(7)
    methods = [one for one in public() if one.owner == "World" and one.name not in valid_calls.SKIPPED]
    for one in rng.permutation(np.array(methods, object))[:12]:
        for argument in one.arguments[:2]:
            for label in rng.permutation(list(ABSURD))[:4]:
                said = absurd_values.trial(one, argument, str(label))
                assert not said, absurd_values.said((one.name, argument, str(label)), said)


def test_samples_of_copies_have_receivers():
    assert set(valid_calls.RECEIVERS) - set(copies.SAMPLES) <= {name.rpartition(".")[0] for name in NAMES} | {"Journal"}
