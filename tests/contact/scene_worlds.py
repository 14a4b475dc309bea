"""Worlds that start as a scene does."""

from __future__ import annotations

from benchmarks.scenes import Yardstick

from kinemorph.world.world import World


def start(world: World, scene: Yardstick) -> None:
    """Add a scene to a world without bodies, tree by tree in its state."""
    world.add(scene.model)
    iq = iv = 0
    for tree in world.forest.trees:
        state = world.forest.state(int(tree))
        nq, nv = len(state.q), len(state.v)
        world.forest.set_state(int(tree), q=scene.q[iq : iq + nq], v=scene.v[iv : iv + nv])
        iq, iv = iq + nq, iv + nv
