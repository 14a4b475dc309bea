"""A world whose structure changes while it runs: connect, cut, re-root, add, remove, branch; and what it refuses."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import kinemorph as km


def pile(n=4):
    world = km.World()
    world.add_ground()
    bricks = [world.add(km.Shape.box((0.4, 0.2, 0.1)), at=(0, 0, 0.05 + 0.1 * i), name=f"brick {i}") for i in range(n)]
    return world, bricks


def state_of(world):
    return np.concatenate([np.r_[world.forest.state(t).q, world.forest.state(t).v] for t in world.forest.trees])


def test_a_grip_carries_a_brick_and_lets_go():
    world, bricks = pile(2)
    hand = world.add(km.Shape.sphere(0.05), at=(0, 0, 0.6), name="hand")
    rail = world.connect(None, hand, km.Joint.prismatic("z"), at=(0, 0, 0.6))
    world.run(0.1)
    grip = world.connect(hand, bricks[1], km.Joint.fixed())
    assert grip.pose_error < 1e-9
    above = bricks[1].position[2] - hand.position[2]
    world.run(0.1)
    assert bricks[1].position[2] - hand.position[2] == pytest.approx(above, abs=1e-9)
    world.cut(grip)
    world.cut(rail)
    world.run(1.0)
    assert bricks[1].position[2] == pytest.approx(0.15, abs=1e-3)


def test_momentum_stays_when_wagons_couple():
    world = km.World(gravity=(0, 0, 0))
    wagons = [
        world.add(km.Shape.box((1.0, 0.5, 0.5)), at=(1.2 * i, 0, 0), twist=(0, 0, 0, 3.0 - i, 0, 0)) for i in range(3)
    ]
    before = world.forest.momentum()
    world.run(0.05)
    for a, b in zip(wagons[1:], wagons, strict=False):
        world.connect(a, b, km.Joint.fixed())
    world.run(0.1)
    assert world.forest.momentum() == pytest.approx(before, rel=1e-10)
    assert np.ptp([w.velocity[0] for w in wagons]) < 1e-12


def test_a_joint_that_was_made_is_known_by_its_name_until_it_is_cut():
    world = km.World(gravity=(0, 0, 0))
    a, b = (world.add(km.Shape.sphere(0.1), at=(x, 0, 0), name=name) for x, name in ((0.0, "a"), (1.0, "b")))
    with km.film(world) as taken:
        world.connect(a, b, km.Joint.fixed(name="grip"))
        again = km.World.load(world.save())
        world.cut("grip")
        again.cut("grip")
    assert [chapter.what for chapter in taken.recording.chapters] == ["start", "connect a and b", "cut a and b"]
    assert again.hash() == world.hash()
    with pytest.raises(KeyError, match="there is no joint 'grip'"):
        world.cut("grip")


def test_neighbours_in_a_tree_do_not_touch_and_do_after_a_cut():
    world = km.World(gravity=(0, 0, 0))
    a = world.add(km.Shape.sphere(0.1))
    b = world.add(km.Shape.sphere(0.1), at=(0.15, 0, 0))
    tie = world.connect(a, b, km.Joint.fixed())
    world.run(0.1)
    assert b.position[0] - a.position[0] == pytest.approx(0.15, abs=1e-12)
    world.cut(tie)
    world.run(0.5)
    assert b.position[0] - a.position[0] > 0.199


def test_removing_what_carries_a_pile_lets_it_fall():
    world, bricks = pile(3)
    world.run(1.5)
    assert all(brick.asleep for brick in bricks)
    world.remove(bricks[0])
    world.run(0.5)
    assert bricks[1].position[2] == pytest.approx(0.05, abs=1e-3)
    assert bricks[2].position[2] == pytest.approx(0.15, abs=1e-3)
    with pytest.raises(KeyError, match="no body"):
        _ = bricks[0].pose


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w)), km.World.branch])
def test_a_branch_goes_the_same_way_bit_for_bit(copied):
    world, bricks = pile(4)
    world.add(km.Shape.sphere(0.1), at=(-1.0, 0.02, 0.2), twist=(0, 0, 0, 6.0, 0, 0))
    world.run(0.2)
    world.connect(bricks[2], bricks[3], km.Joint.fixed())
    other = copied(world)
    for _ in range(5):
        world.run(0.1)
        other.run(0.1)
        assert np.array_equal(state_of(world), state_of(other))
    assert other.time == world.time


def test_two_runs_are_the_same_bit_for_bit():
    ends = []
    for steps in (1, 50):
        world, _ = pile(4)
        world.add(km.Shape.sphere(0.1), at=(-1.0, 0.02, 0.2), twist=(0, 0, 0, 6.0, 0, 0))
        for _ in range(250 // steps):
            world.step(steps)
        ends.append(state_of(world))
    assert np.array_equal(*ends)


def test_a_robot_stands_where_it_is_put():
    b = km.Builder("arm")
    b.link("arm", None, km.Joint.revolute("y"), inertia=km.Inertia.box(1.0, (0.1, 0.1, 1.0), (0, 0, -0.5)))
    world = km.World()
    arm = world.add(b.build(), at=(2.0, 0.0, 1.0))
    assert arm["arm"].position == pytest.approx([2.0, 0.0, 1.0])
    floating = km.Builder("float")
    floating.link("body", None, km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
    body = world.add(floating.build(), at=km.Pose.turn((0, 0, 1), 0.5, (0, 1, 2)))
    assert body["body"].position == pytest.approx([0, 1, 2])


def test_bad_things_are_refused_by_name():
    world = km.World()
    body = world.add(km.Shape.sphere(0.1))
    with pytest.raises(TypeError, match=r"Shape, Parts or a kinemorph\.Model"):
        world.add(3)
    with pytest.raises(ValueError, match="twist"):
        world.add(km.Shape.sphere(0.1), twist=(0, 0, 0, np.nan, 0, 0))
    with pytest.raises(ValueError, match="dt"):
        km.World(dt=-1.0)
    with pytest.raises(ValueError, match="another world"):
        km.World().remove(body)
    with pytest.raises(ValueError, match="seconds"):
        world.run(np.inf)


def test_a_world_that_explodes_stays_where_it_was():
    b = km.Builder("arm")
    for name, parent in (("upper", None), ("lower", "upper")):
        inertia = km.Inertia.box(1.0, (0.1, 0.1, 1.0), (0, 0, -0.5))
        b.link(name, parent, km.Joint.revolute("y"), (0, 0, -1.0 if parent else 0.0), inertia)
    world = km.World()
    arm = world.add(b.build(), q=[0.3, 0.4])
    tree = world.forest.tree_of(arm["upper"].id)
    world.forest.set_state(tree, v=[1e200, -1e200])
    before = world.forest.state(tree)
    with pytest.raises(km.WorldError, match="upper"):
        world.run(1.0)
    after = world.forest.state(tree)
    assert np.array_equal(before.q, after.q)
    assert np.array_equal(before.v, after.v)
    assert world.time == 0.0


def test_what_does_not_act_is_told_by_name():
    b = km.Builder("float")
    joint = km.Joint.free(lower=-1.0, upper=1.0, name="tether")
    b.link("body", None, joint, inertia=km.Inertia.box(1.0, (0.1, 0.1, 1.0)))
    with pytest.warns(km.ModelWarning, match="limits of free joints.*tether"):
        km.World().add(b.build())


def test_what_has_no_shape_does_not_fall_asleep_while_it_moves():
    world = km.World(gravity=(0, 0, 0))
    b = km.Builder("wheel")
    b.link("wheel", joint=km.Joint.revolute("z"), inertia=km.Inertia.sphere(1.0, 0.1))
    wheel = world.add(b.build(), v=[1.0])
    world.run(2.0)
    assert not wheel["wheel"].asleep
    assert wheel.position("wheel")[0] == pytest.approx(2.0)


def test_what_sleeps_says_what_it_rests_on():
    world = km.World()
    world.add_ground()
    boxes = [world.add(km.Shape.box((1, 1, 1)), at=(0, 0, 0.5 + k), density=100) for k in range(3)]
    world.add(km.Shape.sphere(0.1), at=(5, 0, 0.1), twist=(0, 0, 0, 2.0, 0, 0))  # rolls on, awake
    world.run(2.0)
    assert boxes[0].asleep
    for contacts, weight in ((world.contacts(boxes[0]), 100.0), (world.contacts(boxes[2]), 100.0)):
        assert sum(touch.force for touch in contacts)[2] == pytest.approx(9.81 * weight, rel=1e-3)
    assert sum(touch.force[2] for touch in world.contacts(boxes[0]) if touch.other is None) == pytest.approx(
        9.81 * 300.0, rel=1e-3
    )
    count = len(world.contacts())
    kept = world.save()
    world.run(1.0)
    assert len(world.contacts()) == count
    again = km.World.load(kept)
    again.run(1.0)
    assert again.hash() == world.hash()


def test_a_body_passes_through_what_its_mask_leaves_out_and_wakes_for_it() -> None:
    world = km.World()
    ground = world.add_ground()
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 0.1), name="ball")
    world.run(1.0)
    assert ball.asleep
    world.collision_filter.set_groups(ball, mask=0)
    world.run(0.2)
    assert ball.position[2] < 0.0
    world.collision_filter.set_groups(ball, mask=0xFFFFFFFF)
    world.collision_filter.set_groups(ground, group=2)
    before = ball.position[2]
    world.run(0.2)
    assert ball.position[2] > before  # pushed out again
    with pytest.raises(ValueError, match="group"):
        world.collision_filter.set_groups(ball, group=-1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda w: w.step(-1), "step: count is -1"),
        (lambda w: w.step(1.5), r"step: count is 1\.5"),
        (lambda w: w.queries.profile(-1), "step: count is -1"),
        (lambda w: w.contacts("box"), r"not 'box'; by its name it is world\[name\]"),
        (lambda w: w.apply_force("box", force=(0, 0, 1)), "not 'box'"),
        (lambda w: w["box"], "there is no body 'box' alone, but 2 of them"),
        (lambda w: w["ball"], "there is no body 'ball'"),
    ],
)  # fmt: skip
def test_what_worlds_cannot_do_is_said(call, sentence):
    world = km.World()
    for x in (0.0, 3.0):
        world.add(km.Shape.box((1, 1, 1)), at=(x, 0, 0), name="box")
    with pytest.raises((KeyError, TypeError, ValueError), match=sentence):
        call(world)


def test_time_passes_at_once_where_all_sleep():
    """To the same state, bit for bit, as step by step; and what wakes moves on from there."""
    worlds = []
    for _ in range(2):
        world = km.World(dt=2e-3)
        world.add_ground()
        world.add(km.Shape.box((1, 1, 1)), at=(0, 0, 0.5))
        world.run(3.0)
        assert world.queries.statistics.asleep == 1
        worlds.append(world)
    at_once, step_by_step = worlds
    at_once.step(1234)
    for _ in range(1234):
        step_by_step.step()
    assert at_once.hash() == step_by_step.hash()
    assert at_once.time == step_by_step.time == 2e-3 * (1500 + 1234)
    for world in worlds:
        world.add(km.Shape.sphere(0.2), at=(0, 0, 2))
        world.run(1.0)
    assert at_once.hash() == step_by_step.hash()


def test_shapes_stand_as_ground() -> None:
    """A box that stands bears what falls on it, has its own material, and comes back from a file."""
    world = km.World()
    slab = km.Shape.box((1.0, 1.0, 0.2), km.Pose((0.0, 0.0, 0.4)), material=km.Material(friction=0.0, priority=1))
    id = world.add_ground(slab)
    cube = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0.0, 0.0, 0.61), twist=(0, 0, 0, 0.1, 0, 0))
    world.run(1.0)
    np.testing.assert_allclose(cube.position, (0.1, 0.0, 0.6), atol=1e-3)  # it slides on
    assert not world.bodies[1:]
    again = km.World.load(world.save())
    again.run(0.5)
    world.run(0.5)
    np.testing.assert_array_equal(again.bodies[0].position, cube.position)
    assert world.shapes[id].size == slab.size


def test_a_world_goes_with_its_last_handle() -> None:
    """Nothing in it leads back to it, so that its memory is free at once: lives make very many worlds."""
    world = km.World()
    world.add_ground()
    body = world.add(km.Shape.sphere(0.1), at=(0, 0, 1))
    world.every(0.1, lambda world: None)
    world.run(0.2)
    gone, timers = weakref.ref(world), world._timers
    gc.disable()
    try:
        del world, body
        assert gone() is None
    finally:
        gc.enable()
    with pytest.raises(ReferenceError, match="is gone"):
        timers.call()


SLOW_ONES = {
    "a pendulum that swings by a degree": (
        (0.0, 0.0, -9.81),
        lambda w, b: w.connect(None, b, km.Joint.revolute("y"), at=(0, 0, 2)),
        {"at": (np.sin(0.02), 0.0, 2.0 - np.cos(0.02))},
    ),
    "a ball that drifts": ((0.0, 0.0, 0.0), None, {"twist": (0, 0, 0, 0.02, 0, 0)}),
    "a fall on a small moon": ((0.0, 0.0, -0.0057), None, {"at": (0, 0, 5)}),
}


@pytest.mark.parametrize("name", SLOW_ONES)
def test_what_moves_slowly_does_not_sleep(name):
    gravity, tie, where = SLOW_ONES[name]
    found = []
    for sleep in (True, False):
        world = km.World(gravity, sleep=sleep)
        ball = world.add(km.Shape.sphere(0.05), **where)
        if tie:
            tie(world, ball)
        world.run(5.0)
        assert not ball.asleep
        found.append(ball.position)
    assert np.array_equal(*found)


def test_how_slow_is_asleep_can_be_said():
    world = km.World(gravity=(0, 0, 0), sleep=0.05)
    ball = world.add(km.Shape.sphere(0.1), twist=(0, 0, 0, 0.04, 0, 0))
    world.run(1.0)
    assert ball.asleep
    for wrong in (-1.0, "no", np.nan):
        with pytest.raises(ValueError, match="world: sleep"):
            km.World(sleep=wrong)


def test_a_body_says_whether_it_is_still_there():
    world = km.World()
    one, other = (world.add(km.Shape.sphere(0.1), at=(x, 0, 1)) for x in (0.0, 1.0))
    before = world.save()
    world.remove(one)
    assert (one.alive, other.alive) == (False, True)
    world.add(km.Shape.sphere(0.1), at=(2, 0, 1))
    assert not one.alive
    world.restore(before)
    assert one.alive


def test_a_handle_of_a_body_that_is_gone_is_not_the_one_that_has_its_number():
    world = km.World()
    kept = world.save()
    first = world.add(km.Shape.sphere(0.1))
    world.restore(kept)
    second = world.add(km.Shape.sphere(0.1))
    assert first.id == second.id
    assert first != second
    assert first not in world.bodies


@pytest.mark.parametrize("wrong", [{"substeps": 2.5}, {"dt": 1e-12}, {"dt": "a"}])
def test_worlds_refuse_steps_that_cannot_be(wrong):
    with pytest.raises(ValueError, match=f"world: {next(iter(wrong))}"):
        km.World(**wrong)


def test_what_is_no_material_is_refused_before_anything_is_there():
    world = km.World()
    with pytest.raises(TypeError, match=r"a material is a kinemorph\.Material, not 0\.5"):
        world.add(km.Shape.sphere(0.1), material=0.5)
    with pytest.raises(TypeError, match=r"a material is a kinemorph\.Material, not 0\.5"):
        world.add_ground(km.Shape.box((1, 1, 1)), material=0.5)
    assert not world.bodies
    assert world.shapes.count == 0
