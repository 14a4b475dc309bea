"""Environments of gymnasium over worlds: observations by names with a mask of what is there (extra `gym`).

`import kinemorph.gym` registers `kinemorph/Walk-v0`, `kinemorph/HandOver-v0` and `kinemorph/StandUp-v0`.
"""

from kinemorph.gym import _gymnasium  # noqa: F401  (says how to get it, if it is not there)
from kinemorph.gym.env import WorldEnv
from kinemorph.gym.hand_over import HandOver
from kinemorph.gym.observation_reader import Reading
from kinemorph.gym.stand_up import StandUp
from kinemorph.gym.task import Task
from kinemorph.gym.tasks import TASKS, register
from kinemorph.gym.vector import WorldVectorEnv
from kinemorph.gym.walk import Walk

__all__ = ["TASKS", "HandOver", "Reading", "StandUp", "Task", "Walk", "WorldEnv", "WorldVectorEnv"]

register()
