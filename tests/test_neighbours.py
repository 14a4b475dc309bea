# ruff: noqa: E501  (tables)
"""What is beside the cases that strangers met: other kinds, names, sizes and orders of the same mistakes."""

import os
import sys
import warnings

import numpy as np
import pytest
from tests import valid_calls
from tests.gym.test_generated import Drawn

import kinemorph as km
import kinemorph.gym as kg
from kinemorph.cli import main
from kinemorph.scenes.commands.view_command import scene_of


def masked(array, which=-1):
    mask = np.zeros(np.shape(array), bool)
    mask.flat[which] = True
    return np.ma.masked_array(array, mask)


BENCH = valid_calls.Bench()
OF_ROWS = {  # by name: a call with numbers in the last argument
    "rnea": lambda q, v: km.rnea(BENCH.chain, BENCH.chain_data, q, v, np.zeros(8)),
    "aba": lambda q, v: km.aba(BENCH.chain, BENCH.chain_data, q, v, np.zeros(8)),
    "forward_dynamics": lambda q, v: km.forward_dynamics(BENCH.chain, BENCH.chain_data, q, v, np.zeros(8)),
    "kinematics": lambda q, v: km.kinematics(BENCH.chain, BENCH.chain_data, q, v),
    "integrate": lambda q, v: km.integrate(BENCH.chain, q, v),
    "momentum": lambda q, v: km.momentum(BENCH.chain, BENCH.chain_data, q, v),
    "rollout": lambda q, v: km.rollout(BENCH.chain, BENCH.chain_data, q, v, steps=2),
}


@pytest.mark.parametrize("call", OF_ROWS)
def test_masked_numbers_are_none_for_kernels_that_have_seen_arrays(call):
    """The numbers behind the mask were computed with, once a version for arrays was there."""
    q, v = BENCH.chain_q, np.ones(8)
    OF_ROWS[call](q, v)
    for which in (0, -1):
        for given in ((masked(q, which), v), (q, masked(v, which))):
            with pytest.raises((TypeError, ValueError), match=r"masked|must be real numbers"):
                OF_ROWS[call](*given)
    OF_ROWS[call](np.ma.masked_array(q), v)  # nothing is masked in this one


MASKED = {
    "Pose": lambda a: km.Pose(a), "box": lambda a: km.Inertia.box(1.0, a), "matrix": lambda a: km.Inertia(1.0, (0, 0, 0), a),
    "cast_rays": lambda a: BENCH.world.queries.cast_rays(np.zeros((1, 3)), a[None]),
    "swept": lambda a: km.swept(a, np.ones(3), np.ones(3)), "broad": lambda a: km.BroadPhase().add(np.zeros(3), a),
    "place": lambda a: BENCH.world.placement.place(BENCH.world["box"], a),
}  # fmt: skip


@pytest.mark.parametrize("call", MASKED)
def test_masked_numbers_are_none_for_anybody(call):
    for which in range(3):
        with pytest.raises((TypeError, ValueError), match=r"masked|nan|finite|numbers"):
            MASKED[call](masked(np.ones(3), which))
    gaps = np.isnan(km.Pose().apply(masked(np.ones((2, 3))))).any(axis=1)  # points may have some
    assert gaps.tolist() == [False, True]


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_adaptive_rollouts_in_pieces_are_one(pieces, monkeypatch):
    from kinemorph.motion import rollout

    q, v = BENCH.chain_q + 0.1, np.ones(8)
    whole = km.rollout_adaptive(BENCH.chain, BENCH.chain_data, q, v, [0.0, 0.3, 0.3, 0.5])
    monkeypatch.setattr(rollout, "STEPS_AT_ONCE", pieces)
    path = km.rollout_adaptive(BENCH.chain, BENCH.chain_data, q, v, [0.0, 0.3, 0.3, 0.5])
    np.testing.assert_array_equal(path.q, whole.q)
    np.testing.assert_array_equal(path.v, whole.v)
    with pytest.raises(ArithmeticError, match=r"could not reach t = 0\.5 s"):
        km.rollout_adaptive(BENCH.chain, BENCH.chain_data, q, v, [0.0, 0.5], most_steps=3)


@pytest.mark.parametrize("times", [[0, 1e308], [-1e308, 0], [-1e308, 1e308], [1e16, 1e16 + 8], [0, 1e13]], ids=str)
def test_adaptive_rollouts_do_not_go_on_for_ever(times):
    """[0, 1e308] took minutes, that Ctrl-C did not end."""
    with pytest.raises(ValueError, match=r"times: the largest is [0-9.e+]+, and must be from 0 to 9.0072e\+12"):
        km.rollout_adaptive(BENCH.chain, BENCH.chain_data, BENCH.chain_q, np.zeros(8), times)


@pytest.mark.parametrize("shape", ["hull", "of_faces", "polygon"])
@pytest.mark.parametrize("size", [1e61, 1e200, 1e307])
def test_polyhedra_beyond_numbers_are_a_sentence(shape, size):
    call = {
        "hull": lambda p: km.Polyhedron.hull(p), "polygon": lambda p: km.Polyhedron.polygon(p[[0, 4, 2]]),
        "of_faces": lambda p: km.Polyhedron.of_faces(p, valid_calls._faces()),
    }[shape]  # fmt: skip
    with pytest.raises(ValueError, match=r"1e\+60 m"):
        call(size * valid_calls._corners())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"names": ()}, "task Drawn: names is .*at least one"), ({"names": None}, "task Drawn: names is None"),
        ({"actions": ()}, "task Drawn: actions"), ({"actions": None}, "task Drawn: actions"),
    ],
)  # fmt: skip
def test_tasks_without_numbers_are_named(given, said):
    task = Drawn(0, "fixed")
    vars(task).update(given)
    for make in (kg.WorldEnv, lambda task: kg.WorldVectorEnv(task, 2)):
        with pytest.raises(TypeError, match=said):
            make(task)


@pytest.mark.parametrize("value", [None, "x", float("nan"), float("inf"), np.array([1.0])], ids=str)
@pytest.mark.parametrize("what", ["reward", "over", "succeeded"])
def test_what_tasks_return_is_looked_at(what, value):
    task = Drawn(0, "fixed")
    setattr(task, what, lambda *_: value)
    env = kg.WorldEnv(task)
    env.reset(seed=0)
    with pytest.raises((TypeError, ValueError), match=f"task Drawn: {what} is "):
        env.step(np.zeros(env.action_space.shape))


@pytest.mark.parametrize(
    "make",
    [lambda p: km.Event.height(p), lambda p: km.Event.distance(p, "a", 1.0), lambda p: km.Event.distance("a", p, 1.0)],
)
def test_places_of_events_are_not_nothing(make):
    with pytest.raises(TypeError, match="must be two places, not None"):
        make(None)
    assert make("a").name


@pytest.mark.parametrize("tag", ["joint", "geom", "motor"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_default_class_has_one_of_each(tag, depth):
    """As in MuJoCo; the last one won."""
    inner = f"<{tag}/><{tag}/>"
    for k in range(depth):
        inner = f'<default class="c{k}">{inner}</default>'
    text = f'<mujoco><default>{inner}</default><worldbody><body><geom size="0.1"/></body></worldbody></mujoco>'
    with pytest.raises(km.FileError, match=f"<{tag}>: class .* has one already"):
        km.parse_mjcf(text)
    km.parse_mjcf(text.replace(inner, "" if depth else f"<{tag}/>"))


ROOTS = {"free": km.Joint.free(), "fixed": km.Joint.fixed(), "revolute": km.Joint.revolute("z", name="r")}


@pytest.mark.parametrize("kind", ["urdf", "sdf", "mjcf"])
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("z", [-1.0, 0.0, 1.0])
def test_viewed_models_are_not_buried(kind, root, z, tmp_path):
    """Nothing overlaps the ground that the viewer adds, however the root is held: that would be a warning."""
    b = km.Builder("m")
    box, rod = km.Shape.box((0.4, 0.4, 0.4)), km.Shape.capsule(0.05, 0.4, km.Pose((0, 0, -0.2)))
    b.link("base", None, ROOTS[root], (0, 0, z), km.Inertia.box(5.0, (0.4, 0.4, 0.4)), box)
    b.link("leg", "base", km.Joint.revolute("y", name="hip"), (0, 0, -0.2), km.Inertia.sphere(1.0, 0.1), rod)
    file = tmp_path / f"m.{kind}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", km.ModelWarning)
        getattr(km, f"save_{kind}")(b.build(), file)
    world, _ = scene_of(str(file))
    world.step(1)
    assert min((contact.distance for contact in world.contacts()), default=0.0) > -1e-6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("mocap --contacts empty.csv", "empty.csv: in none of the times"),
        ("mocap --contacts late.csv", "late.csv: in none of the times"),
        ("mocap --skeleton empty.toml", "empty.toml: there is no table of a skeleton in it"),
    ],
)  # fmt: skip
def test_files_that_say_nothing_are_told_of(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in (("empty.csv", ""), ("empty.toml", ""), ("late.csv", "left,1e6,2e6\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "argv", ["kinemorph", *words.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code != 0
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "name", ["individual; DROP TABLE run", "individual WHERE 0", "sqlite_master", "", "\0", "x" * 999]
)
def test_tables_of_runs_are_those_that_there_are(name, tmp_path):
    with km.evolve.Store.create(tmp_path / "run.db", {}) as store, pytest.raises(KeyError, match="table: name is"):
        list(store.table(name))


@pytest.mark.parametrize("at", [1e151, -1e308])
def test_joints_are_not_put_beyond_numbers(at):
    state = km.State(BENCH.chain_q, np.zeros(8))
    for axis in np.eye(3):
        with pytest.raises(ValueError, match=r"at is .* and must be at most 1e\+150 m"):
            km.connect(BENCH.chain, state, "l1", "free", km.Joint.revolute("y"), at * axis)
        with pytest.raises(ValueError, match=r"Pose\.exp: twist is .* and must be at most"):
            km.Pose.exp(np.r_[at * axis, 0, 0, 0])


def _of_balls(quaternions):
    """Frames of a model of one free joint."""
    b = km.Builder("free")
    b.link("body", None, km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
    return b.build(), np.concatenate([np.zeros((len(quaternions), 3)), quaternions], axis=1)


@pytest.mark.parametrize("engine", ["pinocchio", "mujoco", "drake", "pybullet"])
@pytest.mark.parametrize("size", [1e-300, 5e-324, 1e-160, 1e-20, 1e100])
def test_quaternions_of_any_length_are_the_same_rotation(engine, size):
    """Squares of 1e-300 are 0: divisions by it were warnings, and their results NaN."""
    path = np.random.default_rng(3).normal(size=4) + 0.02 * np.random.default_rng(4).normal(size=(40, 4)).cumsum(axis=0)
    turns = np.rint(1e6 * path)  # so that multiples of 5e-324 are the same
    model, q = _of_balls(turns)
    _, small = _of_balls(size * turns)
    to, v = getattr(km.convert, engine)(model), np.arange(6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (to.v, to.v_back, to.tau, to.tau_back):
            first, second = (call(to.q(one) if call in (to.v_back, to.tau_back) else one, v) for one in (q, small))
            np.testing.assert_allclose(second, first, atol=1e-12)
        for cutoff in (6.0, None):
            first, second = (km.mocap.smooth(model, one, 0.01, cutoff) for one in (q, small))
            for one, other in zip(first, second, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(one).max())
        np.testing.assert_allclose(
            km.mocap.residuals(model, q, 0.01).angles, km.mocap.residuals(model, small, 0.01).angles, atol=1e-12
        )


@pytest.mark.parametrize("kind", [np.float32, ">f8", np.longdouble])
def test_motions_of_any_kind_of_number_are_smoothed(kind):
    model, q = _of_balls(np.tile([2.0, 1.0, 0.0, 0.0], (20, 1)))
    np.testing.assert_array_equal(km.mocap.smooth(model, q.astype(kind), 0.01).q, km.mocap.smooth(model, q, 0.01).q)


@pytest.mark.parametrize("dt", [1e308, 1e10, 1e-300, 0.0, -0.01, np.nan, "x"])
def test_frames_are_apart_by_times_that_there_are(dt):
    model, q = _of_balls(np.tile([1.0, 0.0, 0.0, 0.0], (20, 1)))
    points = {side: (np.ones((20, 3)), np.ones((20, 3))) for side in ("left", "right")}
    for call in (lambda: km.mocap.find_contacts(points, dt), lambda: km.mocap.smooth(model, q, dt, None)):
        with pytest.raises((TypeError, ValueError), match=r"dt is .*must be"):
            call()


@pytest.mark.parametrize("name", ["\ud800", "seed\udfff", "\0", "no such fact"])
def test_facts_that_a_run_has_not_are_named(name, tmp_path):
    with km.evolve.Store.create(tmp_path / "run.db", {"seed": 1}) as store:
        assert store.fact(name, int, 5) == 5
        with pytest.raises(km.evolve.StoreError, match=f"it does not say its {name}"):
            store.fact(name, int)
        assert store.fact("seed", int) == 1


@pytest.mark.parametrize("own", [int, dict, object, km.World, type, 5, km.creatures.tasks.Swim()])
def test_own_tasks_are_tasks(own):
    with pytest.raises(TypeError, match=r"own is .* and must be a kind of Task"):
        km.evolve.creatures({}, "swim", "thesis", own=own)
    assert isinstance(km.evolve.creatures({}, "x", "thesis", own=km.creatures.tasks.Swim).task, km.creatures.tasks.Swim)


@pytest.mark.parametrize("radius", [1e-300, 0.0, -1.0, np.inf, np.nan, "x", np.ones(3)])
def test_balls_of_stages_have_a_size(radius):
    with pytest.raises((TypeError, ValueError), match="radius is"):
        valid_calls.Bench().stage.add_ball((0, 0, 1), radius)


def test_balls_of_stages_take_all_numbers():
    assert valid_calls.Bench().stage.add_ball((0, 0, 5), np.array(0.2)).mass > 0.0


@pytest.mark.parametrize("level", [-np.inf, -1.0, np.nan, 2e6, "x", None])
def test_levels_of_stages_are_those_of_evaluations(level):
    stage = valid_calls.Bench().stage
    with pytest.raises((TypeError, ValueError), match="level is"):
        km.creatures.tasks.Stage(stage.task, stage.phenotype, 0, level=level)


@pytest.mark.parametrize("task", ["Carry", "Brachiate", "Follow"])
def test_marks_are_for_what_has_begun(task):
    stage = valid_calls.Bench().stage  # of another task
    with pytest.raises((KeyError, TypeError), match=r"stage.*(let the task that marks it begin|must be a Stage)"):
        getattr(km.creatures.tasks, task)().mark(stage)


def test_nobody_has_stood_in_a_foreign_world():
    task = kg.StandUp()
    assert not task.succeeded(km.World())
    with pytest.raises(KeyError, match="there is no body 'torso'"):
        task.over(km.World())


@pytest.mark.parametrize("end", ["gif", "webp", "mp4"])
@pytest.mark.parametrize("rate", [10**4, 1e300, 1001, np.inf, 0.0])
def test_pictures_move_as_fast_as_players_can(end, rate, tmp_path):
    with pytest.raises(ValueError, match=r"animate: rate is .*, and must be from 0\.001 to 1000?$"):
        km.animate(BENCH.recording, tmp_path / f"x.{end}", rate=rate)


@pytest.mark.parametrize("names", [("a", "a"), ("a", "b", "a"), ("b", "a", "a", "a")])
def test_readings_of_two_bodies_of_one_name_are_refused(names):
    """The last one was read."""
    world = km.World()
    for k, name in enumerate(names):
        world.add(km.Shape.sphere(0.1), at=(k, 0, 1), name=name)
    with pytest.raises(ValueError, match="body 'a' is there more than once; give each of them a name of its own"):
        kg.observation_reader.Reading(["a.z"]).check(world)
    kg.observation_reader.Reading(["c.z", *(f"{name}.x" for name in names if names.count(name) == 1)]).check(world)


def test_readings_of_two_joints_of_one_name_are_refused():
    world = km.World()
    for k in range(2):
        world.add(valid_calls.tree_model(), at=(2 * k, 0, 1))
    joint = next(iter(world.registry.joint_names.values()))
    with pytest.raises(ValueError, match=f"joint '{joint}' is there more than once"):
        kg.observation_reader.Reading([f"{joint}.q"]).check(world)


@pytest.mark.parametrize("text", ["", "# nothing", 'name = "x"', "[world]\ndt = 0.001", "seconds = 3"])
def test_scenes_of_nothing_are_not_looked_at(text, tmp_path):
    """`run` refused them, and `view` showed an empty world."""
    file = tmp_path / "empty.toml"
    file.write_text(text)
    with pytest.raises(km.FileError, match=r"empty.toml: there is nothing in it"):
        scene_of(str(file))
    file.write_text(f"{text}\n[[ground]]\n")
    assert scene_of(str(file))[0].registry.ground_shapes


@pytest.mark.parametrize("kind", ["fifo", "folder"])
@pytest.mark.parametrize(
    "words",
    [
        *(f"view x{end}" for end in ("", ".toml", ".urdf", ".json", ".npz", ".xml")), "run x.toml", "convert x.urdf y.urdf",
        "convert x.npz y.mp4", "replay x.db", "report x.db", "rescore x.db", "evolve x.toml", "creature show x.json",
        "mocap x.csv", "mocap x.bvh", "mocap x.c3d", "mocap --contacts x.csv", "mocap --skeleton x.toml",
    ],
)  # fmt: skip
def test_commands_do_not_wait_for_what_is_no_file(words, kind, tmp_path, monkeypatch, capsys):
    """Who opens a FIFO that nobody writes waits for ever."""
    monkeypatch.chdir(tmp_path)
    given = next(word for word in words.split() if word[0] == "x")
    os.mkfifo(given) if kind == "fifo" else os.mkdir(given)
    monkeypatch.setattr(sys, "argv", ["kinemorph", *words.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert given in capsys.readouterr().err


@pytest.mark.parametrize("name", ["world", "ground"])
@pytest.mark.parametrize("before", [0, 2])
def test_bodies_of_scenes_are_not_called_as_the_ground(name, before, tmp_path):
    """`contact ball ground` was of the ground, though a body had that name."""
    names = [*(f"b{k}" for k in range(before)), name]
    file = tmp_path / "s.toml"
    file.write_text(
        "".join(f'[[body]]\nname = "{one}"\nat = [{k}, 0, 1]\nsphere = 0.1\n' for k, one in enumerate(names))
    )
    with pytest.raises(km.FileError, match=rf"body\[{before}\]\.name: there is a body '{name}' already"):
        km.load_scene(file)


@pytest.mark.parametrize("count", [1, 5, 20])
@pytest.mark.parametrize("speed", [1.7e308, 1e200])
@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81)])
def test_world_errors_name_the_body_in_any_order(count, speed, gravity):
    for culprit in {0, count // 2, count - 1}:
        world = km.World(gravity=gravity)
        bodies = [world.add(km.Shape.sphere(0.1), at=(k, 0, 1), name=f"b{k}") for k in range(count)]
        bodies[culprit].velocity = (0, speed, 0)
        with pytest.raises(km.WorldError, match=f"'b{culprit}'"):
            world.run(0.1)


@pytest.mark.parametrize("unit", [0, -1.0, np.nan, np.inf, "x"])
def test_lengths_of_motions_have_a_unit(unit):
    model, q = _of_balls(np.tile([1.0, 0.0, 0.0, 0.0], (20, 1)))
    with pytest.raises((TypeError, ValueError), match="unit is"):
        km.mocap.bvh_of(model, q, 0.01, unit)
