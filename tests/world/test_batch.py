"""Batches of worlds: the same bits as one by one, and one that fails does not stop the others."""

import pytest
from tests.world.kept_worlds import SMALL, arm

import kinemorph as km


@pytest.mark.parametrize("workers", [1, 2, None])
def test_a_batch_gives_the_same_bits(workers):
    worlds = [make() for make in SMALL.values()] + [make() for make in SMALL.values()]
    for i, world in enumerate(worlds):
        world.step(i)
    alone = [world.branch() for world in worlds]
    km.batch.run(worlds, 0.3, workers=workers)
    for world in alone:
        world.run(0.3)
    assert [world.hash() for world in worlds] == [world.hash() for world in alone]


def test_an_error_names_the_world_and_the_others_go_on():
    bad = km.World()
    figure = bad.add(arm(), at=(0, 0, 1), q=[0.3, 1, 0, 0, 0])
    tree = bad.forest.tree_of(figure["part 0"].id)
    bad.forest.set_state(tree, tau=[1e300, 0, 0, 0])
    good = [make() for make in SMALL.values()]
    ends = [world.time + 0.1 for world in good]
    with pytest.raises(km.BatchError, match=r"world 1 of 4.*part 0") as caught:
        km.batch.run([good[0], bad, *good[1:]], 0.1, workers=2)
    assert list(caught.value.errors) == [1]
    assert isinstance(caught.value.errors[1], km.WorldError)
    assert [world.time for world in good] == pytest.approx(ends)


def test_bad_batches_are_refused():
    world = km.World()
    with pytest.raises(ValueError, match="twice"):
        km.batch.run([world, world], 0.1)
    with pytest.raises(ValueError, match="seconds"):
        km.batch.run([world], -1.0)
    with pytest.raises(ValueError, match="workers"):
        km.batch.run([world], 1.0, workers=0)
    km.batch.run([], 1.0)
