"""Reset of the episode statistics, in one call."""

from __future__ import annotations

from math import inf
from typing import Any

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.structure.forest.memory import address_of, clear_words
from kinemorph.world.brains.instance_rows import LIFE, MIND, WINDOW, minds_of
from kinemorph.world.layout import WORLD, WORLD_KIND, Status

DONE, WRONG_ROW = int(Status.DONE), int(Status.WRONG_ROW)
MIND_SIZE, LIFE_SIZE, WINDOW_SIZE = MIND.itemsize, LIFE.itemsize, WINDOW.itemsize
LIFE_AT: int = MIND.fields["life"][1]  # type: ignore[index]


@kernel
def initialize_statistics(life: Any) -> None:
    """Initialize the statistics of a brain instance whose other fields are zero."""
    life["highest"] = life["top"] = -inf
    life["smallest_gap"] = inf


@entry
def restart_statistics(address: int, budget: int, until_still: float, window: int) -> int:
    """Reset the statistics and record from now on; `budget` limits work, `until_still` is in s, `window` in steps."""
    world = rows_at(address, 1, WORLD)[0]
    if world["kind"] != WORLD_KIND:
        return WRONG_ROW
    reset_statistics(minds_of(world), budget, until_still, window)
    return DONE


@kernel(inline=False)
def reset_statistics(brains: Any, budget: int, until_still: float, window: int) -> None:
    """`restart_statistics` for kernels."""
    brains["watched"], brains["budget"], brains["until_still"], brains["window"] = 1, budget, until_still, window
    brains["work"] = brains["known"] = 0
    brains["start"] = brains["energy"] = brains["done"] = brains["effort"] = brains["conveyed"] = brains["surplus"] = (
        0.0
    )
    minds = rows_at(brains["minds"], brains["mind_room"], MIND)
    for i in range(brains["mind_room"]):
        clear_words(address_of(minds) + i * MIND_SIZE + LIFE_AT, LIFE_SIZE)
        initialize_statistics(minds[i]["life"])
    clear_words(brains["windows"], brains["effect_room"] * WINDOW_SIZE)
