"""Every scene that can be viewed goes back in time, past events that happen once, by `restore` and by R."""

from __future__ import annotations

import pytest

from kinemorph.scenes.commands.view_command import scene_of
from kinemorph.scenes.files.scene import shipped
from kinemorph.scenes.gallery import DEMOS
from kinemorph.view.live.history import History

VIEWABLE = sorted({name for name, demo in DEMOS.items() if demo.in_world} | set(shipped()))
SECONDS = {"train": 6.2, "crane": 5.6}  # until its last event
ONCE = {"chain_bridge", "crane", "dismount", "glued_tower", "gripper", "train", "wall_and_car"}  # what happens, once
PARTS = 4


def happened(world, start):
    """Whether something that the world waited for at the start is over."""
    return len(world.monitors) < start


@pytest.mark.parametrize("name", VIEWABLE)
def test_a_scene_takes_the_same_way_again_from_any_time(name):
    world, kept_alive = scene_of(name)
    steps = round(SECONDS.get(name, 2.6 if name in ONCE else 1.0) / PARTS / world.dt)
    history, first, saved, found = History(world), len(world.monitors), [], []
    for _ in range(PARTS):
        saved.append(world.save())
        world.step(steps)
        history.keep()
        found.append(world.hash())
    assert happened(world, first) is (name in ONCE)
    for k in (PARTS - 1, 1):
        world.restore(saved[k])
        for expected in found[k:]:
            world.step(steps)
            assert world.hash() == expected, f"{name}: from part {k}"
    history.reset()
    assert world.time == 0.0
    for k, expected in enumerate(found):
        world.step(steps)
        history.keep()
        assert world.hash() == expected, f"{name}: part {k} after R"
    history.go_to(steps + steps // 2)
    history.go_to(steps)
    assert world.hash() == found[0]
    history.close()
    assert kept_alive is not None
