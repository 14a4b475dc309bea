"""What creatures are to do: a task is a class of about twenty lines. As `km.creatures.tasks`."""

from kinemorph.creatures.tasks.ball import HitBall, HitBallAnywhere
from kinemorph.creatures.tasks.following import Follow
from kinemorph.creatures.tasks.grasping import Brachiate, Carry
from kinemorph.creatures.tasks.jumping import JumpAway, JumpUp
from kinemorph.creatures.tasks.locomotion import Locomotion, Swim
from kinemorph.creatures.tasks.task import Marks, Stage, Task

TASKS = (HitBall, HitBallAnywhere, JumpUp, JumpAway, Locomotion, Follow, Carry, Brachiate, Swim)

__all__ = [
    "Brachiate", "Carry", "Follow", "HitBall", "HitBallAnywhere", "JumpAway", "JumpUp", "Locomotion", "Marks",
    "Stage", "Swim", "TASKS", "Task",
]  # fmt: skip
