"""The tasks that come along, by name, and their environments in gymnasium's registry."""

from __future__ import annotations

import gymnasium

from kinemorph._toml import nearest_name
from kinemorph.gym.hand_over import HandOver
from kinemorph.gym.stand_up import StandUp
from kinemorph.gym.task import Task
from kinemorph.gym.walk import Walk

TASKS: dict[str, type[Task]] = {"walk": Walk, "hand over": HandOver, "stand up": StandUp}


def task_of(what: Task | str) -> Task:
    """A task, or one of those that come along by its name."""
    if isinstance(what, Task):
        return what
    if what not in TASKS:
        raise ValueError(nearest_name(str(what), list(TASKS), "task"))
    return TASKS[what]()


def register() -> None:
    """Have `gymnasium.make` and `make_vec` know them."""
    for name, kind in TASKS.items():
        gymnasium.register(
            f"kinemorph/{kind.__name__}-v0",
            entry_point="kinemorph.gym.env:WorldEnv",
            vector_entry_point="kinemorph.gym.vector:WorldVectorEnv",
            kwargs={"task": name},
        )
