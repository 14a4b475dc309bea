"""WorldEnv: a task as an environment of gymnasium."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from kinemorph.gym.episode import NUMBERS, OBSERVATION_BOUND, PRESENT, Episode, Observation, Outcome
from kinemorph.gym.task import Task
from kinemorph.gym.tasks import task_of
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_whole, repr_of
from kinemorph.view.pictures.picture import picture
from kinemorph.view.recordings.film import film
from kinemorph.world.world import World, WorldError


def observation_space(task: Task) -> spaces.Dict:
    """The numbers that a task names, and of each whether what it is of is there."""
    size = _count(task, "names")
    numbers = spaces.Box(-OBSERVATION_BOUND, OBSERVATION_BOUND, (size,), np.float32)
    return spaces.Dict({NUMBERS: numbers, PRESENT: spaces.MultiBinary(size)})


def action_space(task: Task) -> spaces.Box:
    """The numbers that a task takes."""
    return spaces.Box(-1.0, 1.0, (_count(task, "actions"),), np.float32)


def _count(task: Task, what: str) -> int:
    """How many of what a task names there are, at least one."""
    names = getattr(task, what, None)
    if not isinstance(names, tuple | list) or not names:
        raise TypeError(f"task {type(task).__name__}: {what} is {repr_of(names)}, and must be names, at least one")
    return len(names)


@checked_first
class WorldEnv(gymnasium.Env[Observation, Any]):
    """A task alone. `names` says what the observation's numbers are, `actions` what an action's numbers do."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 50}  # type: ignore[misc]

    def __init__(self, task: Task | str = "walk", render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode {render_mode!r} must be None or 'rgb_array'")
        self.task, self.render_mode = task_of(task), render_mode
        self.names, self.actions = self.task.names, self.task.actions
        self.observation_space: Any = observation_space(self.task)
        self.action_space = action_space(self.task)
        self._episode = Episode(self.task, self.task.world())
        self.metadata = self.metadata | {"render_fps": round(1.0 / self.task.period)}  # type: ignore[misc]

    @property
    def world(self) -> World:
        """The world of the episode: to be looked at, filmed, ..."""
        if self._episode.world is None:
            raise RuntimeError("an episode begins with reset")
        return self._episode.world

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new episode."""
        super().reset(seed=None if seed is None else check_whole("reset: seed", seed))
        return self._episode.begin(self.np_random)

    def step(self, action: Any) -> Outcome:
        """Do an action, and let the world go on for a period."""
        world = self._episode.act(action)
        try:
            world.run(self.task.period)
        except WorldError as error:
            return self._episode.outcome(error)
        return self._episode.outcome()

    def render(self) -> Any:
        """A picture of now."""
        if self.render_mode is None:
            return None
        with film(self.world) as taken:
            pass
        return picture(taken.recording, self.world.time, size=(480, 360))
