"""Evaluate: a genotype grows, settles and lives for a task. The same bits in any process, any order, any company."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from kinemorph.creatures.episodes.recorder import WINDOW_LENGTH
from kinemorph.creatures.exploits import find_exploit, joint_speed_penalty
from kinemorph.creatures.genotype.genotype import Genotype
from kinemorph.creatures.growth.develop import Phenotype, develop
from kinemorph.creatures.tasks.task import Marks, Stage, Task, check_draw, overspent
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.world.world import WorldError

REJECTED = -2.0  # what no honest life is worth
VIBRATION = 0.3  # share of a score that may be lost at half the step
TRIFLE_SCORE = 0.05  # scores of no more are not worth a doubt


@dataclass(frozen=True)
class Score:
    """What one life was worth: `reason` says why it does not count, and is empty if it does."""

    value: float  # what searches compare: dense, signed, from -1 up; REJECTED for what does not count
    thesis: float = 0.0  # by the formula of Fontijne 4.5; never negative
    measure: float = 0.0  # what is reported: body lengths a second, hit or not, ...
    reason: str = ""
    steps: int = 0  # that the world has made
    details: dict[str, float] = field(default_factory=dict)

    @property
    def faulty(self) -> bool:
        """Whether a step could not be made: such a creature ranks last and never breeds."""
        return self.reason.startswith("faulty")


@checked_first
def evaluate(
    genotype: Genotype | Phenotype, task: Task, seed: int, *, number: int = 0, level: float = 1.0, blank: bool = False,
    motors: bool = True,
) -> Score:  # fmt: skip
    """Let a creature live for a task. `number` is that of the draw, `level` how hard it is, 1: as is asked.

    With `blank` its senses read nothing, without `motors` it does nothing: to see what these are worth.
    """
    if not isinstance(task, Task):
        raise TypeError(
            f"evaluate: it takes a task, such as kinemorph.creatures.tasks.Locomotion(), not {repr_of(task)}"
        )
    check_draw("evaluate", seed, number, level)
    phenotype = genotype if isinstance(genotype, Phenotype) else develop(genotype, task.grown())
    if phenotype.rejected:
        return Score(REJECTED, reason=phenotype.rejected)
    if phenotype.brain.idle:
        return Score(REJECTED, reason="rigid")
    stage = Stage(task, phenotype, seed, number, level)
    try:
        reason = stage.settle()
        if reason:
            return _score(stage, reason=reason)
        if blank:
            stage.mind.blank = True
        if not motors:
            stage.mind.asleep = True
        stage.live()
        marks = task.mark(stage)
        if not isinstance(marks, Marks):
            raise TypeError(f"{type(task).__name__}.mark returned {repr_of(marks)}, and must return Marks")
        return _score(stage, marks)
    except WorldError as error:
        return Score(REJECTED, reason=f"faulty: {error}", steps=round(stage.world.time / task.dt))


def _exploit(stage: Stage, life: dict[str, Any], toil: dict[str, float]) -> str:
    if overspent(toil):
        return "budget"
    judged = stage.task.moves and life["steps"] * stage.task.dt >= WINDOW_LENGTH
    return find_exploit(life, toil, 9.81 * stage.phenotype.mass, stage.size, judged)


def _score(stage: Stage, marks: Marks | None = None, reason: str = "") -> Score:
    life, toil, steps = stage.life, stage.cost, round(stage.world.time / stage.task.dt)
    reason = reason or _exploit(stage, life, toil)
    details: dict[str, Any] = {name: float(life[name]) for name in ("fastest", "spin", "depth", "riding", "top")}
    details |= {"length": stage.length, "parts": float(stage.parts), "effort": toil["effort"], "work": toil["work"]}
    details |= {"swing": max(life["swing"], default=0.0), "surplus": toil["surplus"]}
    if marks is None or reason:
        return Score(REJECTED, 0.0, marks.measure if marks else 0.0, reason, steps, details)
    value = marks.value * (joint_speed_penalty(life) if marks.value > 0.0 else 1.0)
    return Score(float(value), float(marks.thesis), float(marks.measure), "", steps, details)


@dataclass(frozen=True)
class Audit:
    """A score, and those with finer steps, blank senses or no motors: one that stays as good was not earned."""

    score: Score
    half_step: Score  # with steps of half the length
    blank: Score  # with senses that read nothing
    limp: Score  # with motors off

    @property
    def reason(self) -> str:
        """Why the score does not count after all."""
        if self.score.reason:
            return self.score.reason
        kept = self.half_step.value if not self.half_step.reason else 0.0
        if self.score.value > TRIFLE_SCORE and kept < (1.0 - VIBRATION) * self.score.value:
            return "vibration"
        return ""


@checked_first
def audit(genotype: Genotype, task: Task, seed: int, *, number: int = 0, level: float = 1.0) -> Audit:
    """A score, and the same with half the step, with blank senses, and with motors off."""
    same: dict[str, Any] = {"number": number, "level": level}
    fine = replace(task, dt=0.5 * task.dt)
    return Audit(
        evaluate(genotype, task, seed, **same), evaluate(genotype, fine, seed, **same),
        evaluate(genotype, task, seed, blank=True, **same), evaluate(genotype, task, seed, motors=False, **same),
    )  # fmt: skip
