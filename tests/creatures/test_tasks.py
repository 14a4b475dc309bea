"""Tasks: what each is worth, that a life is the same wherever it is lived, and what the fluid of one does."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import astuple, replace
from typing import Any

import msgspec
import numpy as np
import pytest

import kinemorph as km
from kinemorph.creatures import begin_statistics
from kinemorph.creatures.evaluate import REJECTED, Score, evaluate
from kinemorph.creatures.gallery import handmade
from kinemorph.creatures.genotype.genotype import Connection, EffectorGene, From, Genotype, NeuronGene, Node, Source
from kinemorph.creatures.genotype.initial_genotypes import founder
from kinemorph.creatures.growth.develop import develop
from kinemorph.creatures.settings import Root
from kinemorph.creatures.tasks import (
    TASKS,
    Brachiate,
    Carry,
    Follow,
    HitBall,
    HitBallAnywhere,
    JumpUp,
    Locomotion,
    Stage,
    Swim,
    Task,
)
from kinemorph.evolve.creature_problem import creatures
from kinemorph.evolve.problem import BLANK, Draw

ONE = Source()


def staged(task: Any, genotype: Genotype | None = None, **draw: Any) -> Stage:
    genotype = genotype or handmade("quadruped")
    return Stage(task, develop(genotype, task.grown()), 0, **draw)


@pytest.mark.parametrize("task", [kind() for kind in TASKS], ids=lambda task: task.name)
def test_a_still_creature_is_worth_nothing(task: Any) -> None:
    """With motors off nobody gets anywhere, in any task."""
    score = evaluate(handmade("quadruped"), replace(task, seconds=2.0, moves=False), 3, motors=False)
    if isinstance(task, Brachiate):
        assert score.measure < 0.5  # it hangs, or falls
        return
    assert score.reason == ""
    assert abs(score.value) < 0.15
    assert score.thesis < 0.3 or isinstance(task, Follow)


def test_the_same_life_anywhere() -> None:
    """In another order, with something else in between, in another process, from JSON."""
    jobs = [
        (founder(seed), kind(seconds=1.0)) for seed in (2, 11) for kind in (Locomotion, HitBallAnywhere, Carry, Swim)
    ]
    first = [evaluate(genotype, task, 7, number=3) for genotype, task in jobs]
    again = [evaluate(genotype, task, 7, number=3) for genotype, task in reversed(jobs)][::-1]
    assert [astuple(score) for score in again] == [astuple(score) for score in first]
    assert any(not score.reason for score in first)
    code = (
        "import sys; from kinemorph.creatures import *; from kinemorph.creatures.tasks import *\n"
        "for line in sys.stdin:\n"
        "    name, text = line.split(' ', 1)\n"
        "    print(repr(evaluate(Genotype.from_json(text), globals()[name](seconds=1.0), 7, number=3)))"
    )
    lines = [f"{type(task).__name__} {genotype.to_json()}" for genotype, task in jobs]
    out = subprocess.run(
        [sys.executable, "-c", code], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    assert out.stdout.splitlines() == [repr(score) for score in first]


@pytest.mark.parametrize(
    "bad",
    [
        {"seconds": math.nan}, {"seconds": 0.0}, {"seconds": "9"}, {"dt": 0.0}, {"dt": 1.0}, {"substeps": 0},
        {"patience": -1.0}, {"work": -1}, {"work": 1.5}, {"gravity": math.inf}, {"vary": math.nan}, {"fine": math.nan},
        {"turn": math.nan}, {"kick": -0.1}, {"looks": 0}, {"root": "hung"}, {"settings": None},
    ],
    ids=str,
)  # fmt: skip
def test_tasks_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=f"task locomotion: {next(iter(bad))} .* must be "):
        Locomotion(**bad)
    assert Locomotion(root="fixed").grown().root is Root.FIXED  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("task", "draw", "words"),
    [
        (Locomotion, {"seed": 0}, "task is .*Locomotion.*, and must be a Task"),
        (Locomotion(), {"seed": -1}, "seed is -1, and must be a whole number, 0 or more"),
        (Locomotion(), {"seed": 1.5}, "seed is 1.5, and must be a whole number"),
        (Locomotion(), {"seed": 0, "number": -1}, "number is -1, and must be"),
    ],
)
def test_what_cannot_be_evaluated_is_said(task: Any, draw: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"evaluate: {words}"):
        evaluate(handmade("worm"), task, **draw)


def test_draws_differ_and_levels_matter() -> None:
    task = HitBallAnywhere()
    stages = [staged(task, number=k) for k in range(8)]
    for stage in stages:
        begin_statistics(stage.world)
    places = np.array([task.place(stage) for stage in stages])
    r = np.linalg.norm(places, axis=1)
    assert ((r >= task.near) & (r <= task.far)).all()
    octants = {(int(math.atan2(y, x) // (math.pi / 4)), z > 0) for x, y, z in places}
    assert len(octants) == 8  # four ranges of azimuth, above and below
    assert task.place(staged(task, number=3, level=0.0))[1:] == (0.0, 0.0)
    near, far = (HitBall().place(staged(HitBall(), level=level)) for level in (0.0, 1.0))
    assert (near, far) == ((0.5, 0.0, 0.0), (1.0, 0.0, 0.0))
    gravities = {float(staged(Locomotion(), number=k).world.forest.header["gz"]) for k in range(4)}
    assert len(gravities) == 4
    assert staged(Locomotion(vary=0.0)).world.forest.header["gz"] == -9.81


def arm() -> Genotype:
    """A base with an arm below it that swings up at once."""
    swing = NeuronGene("constant", (ONE, ONE, ONE), (1.0, 0.0, 0.0))
    limb = Node(
        size=(0.04, 0.04, 0.3), axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)), limits=((-1.5, 1.5),) * 3, neurons=(swing,),
        effectors=(EffectorGene(Source(From.LOCAL, 0), 1.0),) * 3,
    )  # fmt: skip
    return Genotype(nodes=(Node(), limb), connections=(Connection(0, 1, direction=(0.0, 0.0, -1.0)),)).checked()


def test_a_ball_in_the_way_is_hit_and_the_life_ends() -> None:
    found = []
    for turn in np.linspace(0.0, 2.0 * math.pi, 16, endpoint=False):
        g = arm()
        connection = msgspec.structs.replace(g.connections[0], turn=float(turn))
        g = msgspec.structs.replace(g, connections=(connection,))
        near = HitBall(near=0.5, far=0.5, moves=False)
        found.append(evaluate(g, replace(near, seconds=2.0), 0))
    hits = [score for score in found if score.measure == 1.0]
    assert hits
    assert all(1.2 <= score.value <= 1.5 and score.steps < 400 for score in hits if not score.reason)
    assert any(score.thesis > 0.0 for score in hits)  # some go up
    assert all(score.thesis >= 0.0 for score in found)
    below = evaluate(g, HitBall(near=0.15, far=0.15, moves=False), 0)
    assert (below.value, below.measure) == (0.0, 0.0)  # who is there already has hit nothing


def test_many_balls_at_once_say_what_is_hit_by_chance() -> None:
    """Of a life without senses: an arm that swings hits some, a still one what it covers, and balls hit no balls."""
    task, seeds = replace(HitBallAnywhere(seconds=2.0, moves=False).blinded(), crowd=64), range(4)
    connection = msgspec.structs.replace(arm().connections[0], direction=(1.0, 0.0, 0.3))
    ahead = msgspec.structs.replace(arm(), connections=(connection,))
    swept = np.mean([evaluate(ahead, task, seed, blank=True).measure for seed in seeds])
    still = np.mean([evaluate(ahead, task, seed, motors=False).measure for seed in seeds])
    assert swept > still + 0.03
    single = replace(task, crowd=0)
    alone = np.mean([evaluate(ahead, single, seed, number=seed, blank=True).measure for seed in range(64)])
    assert abs(alone - swept) < 0.05


@pytest.mark.parametrize("task", [kind for kind in TASKS if kind.trials], ids=lambda kind: kind.__name__)
def test_a_catch_trial_says_what_comes_without_looking(task: Any) -> None:
    """Of every task where the target is at varying places: many of them at once, and the life does not depend on them.

    A still creature brings nothing about; what a blind one does is a share of what it does to single targets.
    """
    blind, single = task(seconds=1.5, moves=False).blinded(), task(seconds=1.5, moves=False)
    bodies = [one for one in map(founder, range(12)) if not develop(one, blind.grown()).rejected]
    for seed, one in enumerate(bodies):
        lives = [evaluate(one, replace(blind, crowd=crowd), seed, blank=True) for crowd in (16, 16, 1)]
        assert lives[0] == lives[1]
        assert all(0.0 <= life.measure <= 1.0 for life in lives)
        assert evaluate(one, blind, seed, motors=False).measure == 0.0 or task is HitBallAnywhere  # it may cover some
    targets = {tuple(staged_target(single, seed, number)) for seed in range(2) for number in range(8)}
    assert len(targets) == 16


def staged_target(task: Any, seed: int, number: int) -> Any:
    stage = Stage(task, develop(handmade("quadruped"), task.grown()), seed, number)
    task.begin(stage)
    target = stage.mind.target
    return target.position if isinstance(target, km.Body) else target


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("bearing", [0.0, 0.4, math.radians(60.0), 3.0])
def test_who_carries_straight_ahead_without_looking_comes_to_few_goals(bearing: float, number: int) -> None:
    task = Carry(vary=0.0, bearing=bearing)
    stage = Stage(task, develop(handmade("quadruped"), task.grown()), number, number)
    task.begin(stage)
    (goal, start), ball = stage.notes["ways"][0], stage.world["ball"]
    angle = math.atan2(*(goal - stage.centre[:2])[::-1])
    assert abs(angle) <= bearing + 1e-12
    assert math.dist(goal, stage.centre[:2]) == pytest.approx(2.0)
    assert stage.mind.target[:2] == pytest.approx(tuple(goal))
    assert task.mark(stage).measure == pytest.approx(0.0)
    ball.position = (*goal, 0.1)
    assert task.mark(stage)[1:] == pytest.approx((start, start))
    crowd = Stage(task.blinded(), develop(handmade("quadruped"), task.grown()), number)
    crowd.task.begin(crowd)
    crowd.world["ball"].position = (crowd.centre[0] + 2.0, crowd.centre[1], 0.1)
    share = crowd.task.mark(crowd).measure
    assert share > 0.8 if bearing == 0.0 else share < {0.4: 0.9, math.radians(60.0): 0.5, 3.0: 0.3}[bearing]


def test_in_a_catch_trial_it_is_worth_most_to_fail() -> None:
    species = creatures({"seconds": 1.0, "moves": False}, "carry", "default")
    assert species.advice("default")["blanks"] == species.advice("steady")["blanks"] == 2
    one = next(one for one in map(founder, range(12)) if not develop(one, species.settings).rejected)
    blank = species.evaluate(one.line(), Draw(BLANK, 1))
    blind = evaluate(one, species.task.blinded(), 1, number=BLANK, blank=True)
    assert blank.score == 1.0 - blind.measure


@pytest.mark.parametrize("kind", [kind for kind in TASKS if kind().gravity > 0.0], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("light", [0.0, 0.05, 0.3, 1.0])
def test_weight_rises_with_the_level(kind: Any, light: float) -> None:
    """Fontijne 4.8.3: little at first, and all of it at what is asked, to the bit."""
    task = replace(kind(vary=0.0), light=light)
    pulls = [-staged(task, level=level).world.gravity[2] / task.gravity for level in (0.0, 0.25, 0.5, 1.0, 1.5, 3.0)]
    assert pulls[:3] == pytest.approx([light + level * (1.0 - light) for level in (0.0, 0.25, 0.5)])
    assert pulls[3:] == [1.0, 1.0, 1.0]
    usual = replace(kind(), light=1.0)
    assert [staged(usual, number=k).world.gravity[2] for k in range(3)] == [
        staged(replace(usual, light=light), number=k).world.gravity[2] for k in range(3)
    ]


def test_jumping_is_harder_at_a_higher_level() -> None:
    """What gets off the ground under little weight gets less far off it under more."""
    jumpers = [one for one in map(founder, range(40)) if not develop(one, JumpUp().grown()).rejected]
    lives = [[evaluate(one, JumpUp(seconds=2.0), 1, level=level) for level in (0.0, 0.5, 1.0)] for one in jumpers]
    high = np.array([[life.measure for life in three] for three in lives if not any(life.reason for life in three)])
    assert len(high) > 6
    assert (np.diff(high.mean(axis=0)) < 0.0).all()
    assert high[:, 0].mean() > 3.0 * high[:, 2].mean()


def test_the_marks_of_a_known_motion() -> None:
    """A creature that is carried along x at a known speed."""
    for task in (Locomotion(seconds=2.0, vary=0.0), Swim(seconds=2.0, vary=0.0, density=0.0)):
        stage = staged(task)
        assert stage.settle() == ""
        stage.mind.asleep = True
        stage.live()
        start, stage.start = stage.start, stage.centre - (1.0, 0.2, 0.0)
        marks = task.mark(stage)
        assert marks.measure == pytest.approx(0.5 / stage.size)
        assert marks.value == pytest.approx((1.0 - 0.3 * 0.2) / 2.0 / stage.size)
        assert marks.thesis == pytest.approx(1.0 / (0.2 + stage.size))
        stage.start = start


def test_a_jump_is_measured_by_the_lowest_point() -> None:
    task = JumpUp(seconds=1.5, vary=0.0, moves=False)
    stage = staged(task)
    assert stage.settle() == ""
    begin = task.begin

    def thrown(stage: Stage) -> None:
        begin(stage)
        tree = stage.world.forest.tree_of(stage.figure["part0"].id)
        v = stage.world.forest.state(tree).v
        v[3:6] = stage.figure["part0"].pose.rotation.T @ (0.0, 0.0, 3.0)
        stage.world.forest.set_state(tree, v=v)

    object.__setattr__(task, "begin", thrown)
    stage.mind.asleep = True
    stage.live()
    rise = 9.0 / (2 * 9.81)  # v² / 2g
    assert task.mark(stage).measure * stage.tall == pytest.approx(rise, rel=0.08)  # its limbs hang


def test_walkers_meet_harder_and_softer_ground() -> None:
    creature = develop(handmade("worm"))
    stages = [Stage(Locomotion(), creature, seed) for seed in range(24)]
    substeps = [stage.substeps for stage in stages]
    assert min(substeps) == 2
    assert 6 <= max(substeps) <= 8
    assert all(int(stage.world.solver.header["substeps"][0]) == stage.substeps for stage in stages)
    assert [stage.work for stage in stages] == [Locomotion().work // 2 * n for n in substeps]
    bounces = [stage.soil.restitution for stage in stages]
    assert 6 <= bounces.count(0.0) <= 18
    assert 0.1 < max(bounces) <= 0.2
    for calm in (Stage(Locomotion(vary=0.0), creature, 0), Stage(Locomotion(), creature, 0, level=0.0)):
        assert calm.substeps == 2


def test_weight_differs_more_in_draws_that_are_much_harder_than_what_is_asked() -> None:
    creature = develop(handmade("worm"))

    def pulls(task: Locomotion, level: float) -> list[float]:
        return [-Stage(task, creature, seed, level=level).world.gravity[2] / 9.81 - 1.0 for seed in range(24)]

    asked = pulls(Locomotion(), 1.0)
    assert asked == pulls(Locomotion(weigh=0.0), 1.0) == pulls(Locomotion(), 0.3) == pulls(Locomotion(), 1.5)
    assert 0.01 < max(map(abs, asked)) <= 0.02
    harder = pulls(Locomotion(weigh=0.4), 2.0)
    assert harder == pytest.approx([11.0 * pull for pull in asked])  # 0.02 + 0.5 * 0.4
    assert pulls(Locomotion(weigh=0.0), 2.0) == asked
    assert min(pulls(Locomotion(), 1000.0)) == pytest.approx(-0.95)  # never none, and never upwards


def test_draws_that_are_much_harder_than_what_is_asked_throw_walkers_up() -> None:
    usual, harder = (Stage(Locomotion(hop=2.0), develop(handmade("worm")), 3, level=level) for level in (1.5, 1.75))
    assert [knock[2] for knock in usual.knocks(7)] == [0.0] * 7
    up = [knock[2] for knock in harder.knocks(50)]
    assert 0.0 <= min(up) < 0.1
    assert 0.4 < max(up) <= 0.5
    assert usual.settle() == harder.settle() == ""
    for stage in (usual, harder):
        stage.live()
        assert len(stage.gaps) == 8
        assert stage.time == pytest.approx(9.0)
    assert harder.spells == 3 * usual.spells


def test_who_is_only_thrown_up_is_so_and_what_is_seen_is_seen_as_often() -> None:
    ways = []
    for hop in (0.0, 2.0):
        stage = Stage(Locomotion(kick=0.0, hop=hop), develop(handmade("worm")), 3, level=2.0)
        assert stage.settle() == ""
        stage.live()
        ways.append(stage.way)
    assert not np.array_equal(*ways)
    stage = Stage(Follow(hop=1.0, patience=2.0), develop(handmade("worm")), 3, level=2.0)
    assert stage.settle() == ""
    stage.live()
    assert len(stage.gaps) == 2 * Follow().looks


@pytest.mark.parametrize("level", [3.0, 10.0, 1000.0])
def test_draws_of_any_level_can_be_lived(level: float) -> None:
    walker = develop(handmade("quadruped"))
    for seed in range(8):
        stage = Stage(Locomotion(bounce=0.1 * (seed % 2)), walker, seed, level=level)
        assert 0.0 < stage.soil.friction < np.inf
        assert stage.substeps <= 16
        assert 0.0 <= stage.soil.restitution <= 1.0
        stage.world.step(3)


def test_walkers_look_aside_and_are_knocked_about_as_their_draw_says() -> None:
    bearings = []
    for seed in range(6):
        rotation = Stage(Locomotion(), develop(handmade("worm")), seed).figure["part0"].pose.rotation
        bearings.append(math.atan2(rotation[1, 0], rotation[0, 0]))
    assert max(map(abs, bearings)) < 0.7
    assert min(bearings) < -0.1 < 0.1 < max(bearings)
    stage = staged(Locomotion(kick=0.3))
    tree = stage.world.forest.tree_of(stage.figure["part0"].id)
    v, turned = stage.world.forest.state(tree).v, stage.figure["part0"].pose.rotation
    (knock,) = stage.knocks(1)
    stage.world.forest.knock(stage.figure["part0"].id, knock[:3], knock[3:])
    change = stage.world.forest.state(tree).v - v
    assert np.linalg.norm(change[3:6]) == pytest.approx(0.3)
    assert abs((turned @ change[3:6])[2]) < 1e-12
    assert 0.0 < np.linalg.norm(change[:3]) <= 1.2
    assert (change[6:] == 0.0).all()


def test_weight_pulls_aslant_while_a_creature_settles() -> None:
    class Falling(Locomotion):
        def prepare(self, stage: Stage) -> None:
            """Nothing that it could lie on."""

    stage = staged(Falling(vary=0.0, patience=0.01))
    before, weight = stage.centre, stage.world.gravity.copy()
    assert stage.settle() == "never still"
    aside = np.linalg.norm((stage.centre - before)[:2])
    pull = 0.05 * 9.81
    assert aside == pytest.approx(0.5 * pull * 0.5**2 + pull * 0.5 * 0.01, rel=1e-2)
    assert stage.world.gravity == pytest.approx(weight, abs=0.0)


class Posts(Locomotion):
    """Many things come when it wakes, and in another world too, which gets the memory that is given back for them."""

    def begin(self, stage: Stage) -> None:
        others = km.World()
        for world, count in ((stage.world, 300), (others, 130)):
            for k in range(count):
                world.add_ground(km.Shape.capsule(0.02, 2.0, km.Pose((60.0 + k, 50.0, 0.0))))
        stage.mind.target = (*(stage.centre + 5.0)[:2], 0.1)
        stage.notes["others"] = others


def test_what_comes_when_it_wakes_is_seen_at_once() -> None:
    stage = staged(Posts(seconds=0.1, vary=0.0))
    for k in range(120):
        stage.world.add_ground(km.Shape.capsule(0.02, 2.0, km.Pose((50.0, 50.0 + k, 0.0))))
    assert stage.settle() == ""
    stage.live()
    assert abs(stage.height) < 1e-3
    assert 4.0 < stage.gap < 9.0


@pytest.mark.parametrize("task", [Locomotion(seconds=2.0), Follow(seconds=1.0)])
def test_a_life_is_the_same_if_somebody_looks_on(task: Task) -> None:
    """Alone it is one call of a kernel; else Python has its turn at each look."""
    alone, seen = staged(task), staged(task)
    seen.world.every(0.1, lambda world: None)
    for stage in (alone, seen):
        assert stage.settle() == ""
        stage.live()
    seen.world.clear_callbacks()  # a hash is of timers, too
    assert alone.world.hash() == seen.world.hash()
    assert (alone.gaps, alone.half, alone.time) == (seen.gaps, seen.half, seen.time)
    assert len(alone.gaps) == 2 * task.looks


def test_who_spends_its_budget_within_a_life_is_seen_once_more() -> None:
    whole, cut = staged(Locomotion(seconds=2.0)), staged(Locomotion(seconds=2.0, work=4000))
    for stage in (whole, cut):
        stage.live()
    assert (whole.early, cut.early, cut.spent) == (False, True, True)
    assert 0 < len(cut.gaps) < len(whole.gaps)
    assert cut.gaps[:-1] == whole.gaps[: len(cut.gaps) - 1]


def test_who_cannot_be_knocked_about_is_told_so() -> None:
    stage = staged(Locomotion(root=Root.FIXED, gravity=0.0, patience=0.0))
    with pytest.raises(ValueError, match="does not float"):
        stage.live()


def test_the_time_at_a_target_is_what_is_seen_of_it() -> None:
    task = Follow(seconds=1.0, moves=False)
    stage = staged(task)
    assert stage.settle() == ""
    stage.live()
    assert len(stage.gaps) == 90
    assert task.mark(stage).measure == 0.0  # the target is a metre away
    far = task.mark(stage).value
    stage.gaps = [0.1] * 30 + [0.5] * 60
    assert task.mark(stage).measure == pytest.approx(1.0 / 3.0)
    assert task.mark(stage).value == pytest.approx(far + 1.0 / 3.0)


def test_who_holds_a_bar_ahead_is_worth_more() -> None:
    """Though it has not moved yet: its hands have."""
    task, animal = Brachiate(seconds=0.02, moves=False), handmade("quadruped")
    grip = EffectorGene(ONE, 1.0)  # it never lets go
    nodes = [msgspec.structs.replace(node, effectors=(*node.effectors[:2], grip)) for node in animal.nodes]
    stage = staged(task, msgspec.structs.replace(animal, nodes=tuple(nodes)))
    stage.live()
    alone = task.mark(stage)
    assert task.reach(stage) == (0.0, 0.0)
    stage.notes["first"] -= 0.4  # as if its first hand had been a bar behind
    assert task.reach(stage) == pytest.approx((0.4, 0.4), abs=0.02)
    ahead = task.mark(stage)
    assert ahead.value == pytest.approx(alone.value + 1.0, abs=0.1)
    assert ahead.measure == alone.measure


def test_a_drag_takes_speed_as_it_should() -> None:
    world = km.World(gravity=(0, 0, 0), dt=2e-3)
    world.forces.set_fluid(1000.0, drag=1.0)
    box = world.add(km.Shape.box((0.2, 0.1, 0.1)), twist=(0, 0, 0, 1.0, 0, 0), density=500.0)
    k, m = 0.5 * 1000.0 * 0.1 * 0.1, 500.0 * 0.2 * 0.1 * 0.1
    world.run(1.0)
    assert box.velocity[0] == pytest.approx(1.0 / (1.0 + k / m), rel=2e-3)  # of m v' = -k v²
    assert np.abs(box.velocity[1:]).max() < 1e-12
    spun = world.add(km.Shape.box((1.0, 0.1, 0.1)), at=(0, 5, 0), twist=(0, 0, 3.0, 0, 0, 0), density=500.0)
    energy = [world.forest.kinetic_energy()]
    for _ in range(100):
        world.step(5)
        energy.append(world.forest.kinetic_energy())
    assert (np.diff(energy) < 0.0).all()
    assert 0.0 < spun.angular_velocity[2] < 2.9
    other = km.World.load(world.save())
    for each in (world, other):
        each.run(0.1)
    assert world.hash() == other.hash()
    light = km.World(gravity=(0, 0, 0), dt=5e-3)
    light.forces.set_fluid(1e6)
    feather = light.add(km.Shape.box((1.0, 1.0, 0.01)), twist=(0, 0, 0, 0, 0, 50.0), density=1.0)
    light.run(1.0)
    assert 0.0 <= feather.velocity[2] < 50.0  # no step takes more than there is
    for bad in (-1.0, math.nan):
        with pytest.raises(ValueError, match="density"):
            light.forces.set_fluid(bad)


def test_rejected_lives_rank_below_all_honest_ones() -> None:
    rng = np.random.default_rng(0)
    scores = [evaluate(founder(rng), Locomotion(seconds=1.0, moves=False), 0) for _ in range(12)]
    honest = [score.value for score in scores if not score.reason]
    rejected = [score.value for score in scores if score.reason]
    assert honest and rejected  # noqa: PT018
    assert min(honest) >= -1.0 > max(rejected) == REJECTED
    assert all(isinstance(score, Score) and score.thesis >= 0.0 for score in scores)


@pytest.mark.parametrize("level", [math.nan, math.inf, -0.1])
def test_a_level_that_is_none_is_named(level: float) -> None:
    with pytest.raises(ValueError, match=r"evaluate: level is (nan|inf|-0.1), and must be from 0 to 1e\+06"):
        evaluate(handmade("worm"), Locomotion(), 1, level=level)
