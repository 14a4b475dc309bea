"""Worlds that are stopped and started in the middle of a scene go on as if they had not been."""

from __future__ import annotations

from typing import Any

import numpy as np

import kinemorph as km


def bits(world: km.World) -> bytes:
    """Time, poses and twists of all bodies, to the last bit."""
    numbers = [np.array([world.time])]
    for body in world.bodies:
        pose: Any = body.pose
        numbers += [pose.position, pose.rotation.ravel(), body.twist]
    return np.concatenate(numbers).tobytes()


def goes_on_alike(world: km.World, seconds: float) -> None:
    """Run a world, and a branch of it, from here on: the same bits. Where worlds can be saved, the branch has been."""
    branch = world.branch()
    if hasattr(world, "save"):
        data = world.save()
        assert bits(km.World.load(data)) == bits(world)
        branch.restore(data)  # its events keep their actions, which know the branch
    world.run(seconds)
    branch.run(seconds)
    assert bits(branch) == bits(world)
