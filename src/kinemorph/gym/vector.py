"""WorldVectorEnv: many episodes of a task at once, whose worlds go on side by side on all cores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from kinemorph.gym.env import action_space, observation_space
from kinemorph.gym.episode import NUMBERS, PRESENT, Episode, Observation
from kinemorph.gym.task import Task
from kinemorph.gym.tasks import task_of
from kinemorph.motion.parallel import batch
from kinemorph.motion.parallel.many_worlds import BatchError
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_whole, repr_of

Array = np.ndarray[Any, Any]
THREAD_WORTH_TIME = 0.02  # s: what takes less is not worth a second thread


@checked_first
class WorldVectorEnv(VectorEnv[Observation, Any, Array]):
    """Each goes as a `WorldEnv` goes alone, bit for bit: number k of seed s is that of seed s + k.

    An episode that is over begins anew with the next step, whose action does not count for it. `workers` is the number
    of threads; if it is not given, all cores, unless one does it in a moment.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": [], "render_fps": 50, "autoreset_mode": AutoresetMode.NEXT_STEP,
    }  # fmt: skip

    def __init__(
        self, task: Task | str = "walk", num_envs: int = 4, workers: int | None = None, render_mode: str | None = None
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs {num_envs} must be at least 1")
        self.task, self.num_envs, self.workers = task_of(task), num_envs, workers
        self.names, self.actions = self.task.names, self.task.actions
        self.single_observation_space = observation_space(self.task)
        self.single_action_space = action_space(self.task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        start = self.task.world()
        self._episodes = [Episode(self.task, start) for _ in range(num_envs)]
        self.metadata = self.metadata | {"render_fps": round(1.0 / self.task.period)}  # type: ignore[misc]
        self._rngs: list[np.random.Generator] = []
        self._over = np.zeros(num_envs, np.bool_)
        self._quick = True  # whether all worlds together go on in a moment

    @property
    def worlds(self) -> list[Any]:
        """The worlds of the episodes."""
        return [episode.world for episode in self._episodes]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """New episodes, all of them."""
        seeds: list[int | None] = [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray):
            seeds = list(seed)
        elif seed is not None:
            seeds = [check_whole("reset: seed", seed) + k for k in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"there are {self.num_envs} episodes, and {len(seeds)} seeds")
        seeds = [None if one is None else check_whole("reset: seed", one) for one in seeds]
        old = self._rngs or [np.random.default_rng() for _ in seeds]
        pairs = zip(old, seeds, strict=True)
        self._rngs = [rng if one is None else np.random.default_rng(one) for rng, one in pairs]
        self._over[:] = False
        begun = [episode.begin(rng) for episode, rng in zip(self._episodes, self._rngs, strict=True)]
        return self._stacked([seen for seen, _ in begun]), self._told([info for _, info in begun])

    def step(self, actions: Any) -> tuple[Observation, Array, Array, Array, dict[str, Any]]:
        """An action for each, and all worlds go on for a period; those that were over begin anew."""
        rows = isinstance(actions, Sequence) or (isinstance(actions, np.ndarray) and actions.ndim > 0)
        if not rows or len(actions) != self.num_envs:
            raise ValueError(f"actions are {self.num_envs} rows, one for each episode, not {repr_of(actions)}")
        going = np.flatnonzero(~self._over).tolist()
        worlds = [self._episodes[k].act(actions[k]) for k in going]
        errors: dict[int, Exception] = {}
        began = time.perf_counter()
        try:
            batch.run(worlds, self.task.period, workers=self.workers or (1 if self._quick else None))
        except BatchError as error:
            errors = {going[i]: one for i, one in error.errors.items()}
        self._quick = time.perf_counter() - began < (THREAD_WORTH_TIME if self._quick else 0.5 * THREAD_WORTH_TIME)
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        seen, infos = [], []
        for k, episode in enumerate(self._episodes):
            if self._over[k]:
                look, info = episode.begin(self._rngs[k])
            else:
                look, rewards[k], terminated[k], truncated[k], info = episode.outcome(errors.get(k))
            seen.append(look)
            infos.append(info)
        self._over = terminated | truncated
        return self._stacked(seen), rewards, terminated, truncated, self._told(infos)

    def _stacked(self, seen: list[Observation]) -> Observation:
        return {name: np.stack([one[name] for one in seen]) for name in (NUMBERS, PRESENT)}

    def _told(self, infos: list[dict[str, Any]]) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for k, info in enumerate(infos):
            told = self._add_info(told, info, k)
        return told
