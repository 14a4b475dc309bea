"""An episode of a task: a branch of its world, from its start to its end, one action after the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kinemorph.gym.observation_reader import Reading
from kinemorph.gym.task import Task
from kinemorph.spatial.arguments.checks import check_finite, check_flag, check_positive, check_whole, repr_of
from kinemorph.world.world import World

OBSERVATION_BOUND = 100.0  # what is seen has bounds: larger numbers are cut to these
# keys of an observation. Policies make submodules of them: no attribute of a dict or of a module of PyTorch may have
# such a name (`values`, `training`, ...), and no dot may be in it
NUMBERS, PRESENT = "numbers", "present"

Observation = dict[str, np.ndarray[Any, Any]]
Outcome = tuple[Observation, float, bool, bool, dict[str, Any]]


def check_period(task: Task, world: World) -> None:
    """Refuse a period that is no whole number of steps: the world would go on for another time than it says."""
    what = f"task {type(task).__name__}"
    period, steps = check_positive(f"{what}: period", task.period), task.period / world.dt
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-9 * steps:
        best = max(1, round(steps)) * world.dt
        raise ValueError(
            f"{what}: period {period:g} s is {steps:.6g} steps of {world.dt:g} s, and must be a whole number of them; "
            f"for example period = {best:g}, or World(dt={period / max(1, math.ceil(steps)):g})"
        )
    check_whole(f"{what}: longest", task.longest, 1)


class Episode:
    """The same for an environment alone and for one of many."""

    def __init__(self, task: Task, start: World) -> None:
        self.task, self.reading, self._start, self._is = task, Reading(task.names), start, f"task {type(task).__name__}"
        self.reading.check(start)
        check_period(task, start)
        self.world: World | None = None
        self.steps = 0

    def begin(self, rng: np.random.Generator) -> tuple[Observation, dict[str, Any]]:
        """Anew."""
        self.world, self.steps = self._start.branch(), 0
        self.task.begin(self.world, rng)
        return self.observe(), {"time": 0.0}

    def act(self, action: Any) -> World:
        """Do it, and return the world that is to go on for a `period`."""
        if self.world is None:
            raise RuntimeError("an episode begins with reset")
        try:
            given = np.asarray(action)
            if given.dtype.kind not in "biufO" or np.ma.is_masked(action):
                raise TypeError
            given = given.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            given = np.zeros(0)
        if given.shape != (len(self.task.actions),) or not np.isfinite(given).all():
            raise ValueError(f"an action is {len(self.task.actions)} finite numbers, not {repr_of(action)}")
        self._action = np.clip(given, -1.0, 1.0)
        self.task.act(self.world, self._action)
        return self.world

    def outcome(self, error: Exception | None = None) -> Outcome:
        """The result of a step: observation, reward, whether the episode has ended or was truncated, and info."""
        assert self.world is not None
        self.steps += 1
        info: dict[str, Any] = {"time": self.world.time}
        if error is not None:  # a world that cannot go on ends the episode
            return self.observe(), 0.0, True, False, info | {"error": str(error), "success": False}
        reward = check_finite(f"{self._is}: reward", self.task.reward(self.world, self._action))
        over = check_flag(f"{self._is}: over", self.task.over(self.world))
        success = check_flag(f"{self._is}: succeeded", self.task.succeeded(self.world))
        return self.observe(), reward, over, self.steps >= self.task.longest, info | {"success": success}

    def observe(self) -> Observation:
        """The observation of now."""
        assert self.world is not None
        values, present = self.reading.read(self.world)
        return {NUMBERS: np.clip(values, -OBSERVATION_BOUND, OBSERVATION_BOUND).astype(np.float32), PRESENT: present}
