"""A world that is looked at can go back, step by step, also across changes of its structure."""

from __future__ import annotations

import kinemorph as km
from kinemorph.view.live.history import History


def pair() -> km.World:
    world = km.World()
    world.add_ground()
    for i in range(2):
        world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0.25 * i, 0, 0.5 + 0.3 * i), name=f"box {i}")
    return world


def live(world: km.World, history: History) -> dict[int, tuple[str, int]]:
    """Steps, a connection and a cut in between; the digest of each step, and how many trees there are."""
    seen = {}
    grip = None
    for k in range(120):
        if k == 40:
            grip = world.connect(world["box 0"], world["box 1"], km.Joint.spherical())
        if k == 90:
            assert grip is not None
            world.cut(grip)
        world.step()
        history.keep()
        seen[history.now] = world.hash(), len(world.forest.trees)
    return seen


def test_it_goes_back_to_any_step_bit_for_bit() -> None:
    world = pair()
    history = History(world)
    seen = live(world, history)
    box = world["box 0"]
    for step in (119, 118, 91, 90, 89, 70, 41, 40, 39, 3, 1, 60, 120):
        history.go_to(step)
        assert (world.hash(), len(world.forest.trees)) == seen[step]
    assert {trees for _, trees in seen.values()} == {1, 2}
    assert box.position.shape == (3,)  # handles go on working
    history.go_to(-5)
    assert history.now == 0
    history.close()
    assert not world.observers


def test_what_is_done_in_the_past_makes_another_future() -> None:
    world = pair()
    history = History(world)
    live(world, history)
    history.go_to(60)
    world.remove(world["box 1"])
    history.keep()
    world.step(30)
    history.keep()
    assert history.last == 90
    history.go_to(75)
    assert [body.name for body in world.bodies] == ["box 0"]
    history.go_to(59)
    assert len(world.bodies) == 2


def test_a_world_that_lives_on_from_its_past_does_so_without_what_was_done_later() -> None:
    world = pair()
    history = History(world)
    seen = live(world, history)
    history.go_to(30)
    world.step(5)
    history.keep()
    assert world.hash() == seen[35][0]
    assert history.last == 120, "nothing was passed that would make it another future"
    history.go_to(39)
    alone = {}
    for _ in range(60):  # past the connection after 40 steps and the cut after 90
        world.step()
        history.keep()
        alone[history.now] = world.hash(), len(world.forest.trees)
    assert {trees for _, trees in alone.values()} == {2}
    assert history.last == 99
    for step in (98, 41, 40, 91, 39, 60):
        history.go_to(step)
        assert (world.hash(), len(world.forest.trees)) == alone.get(step, seen[39])


def test_there_is_no_way_into_the_steps_of_an_input_that_nobody_kept() -> None:
    """As while the mouse pulls: a force for the steps of a frame, and another one for the next."""
    world = pair()
    history = History(world)
    seen = {}
    for k in range(10):
        seen[history.now] = world.hash()
        push = world.apply_force(world["box 0"], (0, 0, 40.0 * (k + 1)))
        world.step(8)
        push.withdraw()
        history.keep()
    for step in (79, 75, 40, 33, 8, 5):
        history.go_to(step)
        assert history.now == step // 8 * 8
        assert world.hash() == seen[history.now]
    assert history.last == 80
    world.step(30)
    history.keep()
    assert history.last == 30


def test_the_oldest_snapshots_give_way() -> None:
    world = pair()
    size = len(world.save())
    history = History(world, most=4 * size)
    for _ in range(600):
        world.step()
        history.keep()
    assert history._size <= 4 * size + size // 2
    assert 0 < history.first < history.last == 600
    history.go_to(0)
    assert history.now == history.first
    history.reset()
    assert history.now == 0
    assert world.time == 0.0
