"""A creature's life in MuJoCo: the same body, drives, brain and senses, and another engine that says where it gets.

What walks here and not there lives on something that one engine of the two does not have. Lives are chaotic, so it is
means over many that can be compared.
"""

from __future__ import annotations

import cmath
import functools
import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._extras import require_module
from kinemorph.brain import Acted, Brain, Sense, Sensed
from kinemorph.creatures.genotype.genotype import Genotype
from kinemorph.creatures.growth.develop import Phenotype, develop
from kinemorph.creatures.tasks.locomotion import TARGET_DISTANCE, Locomotion
from kinemorph.creatures.tasks.task import Stage
from kinemorph.evolve.creature_problem import Species
from kinemorph.evolve.problem import Draw, Outcome
from kinemorph.evolve.rescore import Elsewhere
from kinemorph.geometry.ground import HalfSpace
from kinemorph.io.mjcf.save_mjcf import save_mjcf
from kinemorph.multibody.model.equipment import Floor
from kinemorph.spatial.pose import Pose

TARGET = np.array([TARGET_DISTANCE, 0.0, 0.0])
SETTLING = 0.5  # s with motors off, from where it lies here
DEAD, LIVELY = 0.01, 0.4  # restitution: less of it takes more damping, and more of it shorter steps, than there are


def walks() -> dict[str, Elsewhere]:
    """Ways to walk elsewhere: in MuJoCo, if it is installed."""
    return {"in MuJoCo": in_mujoco} if find_spec("mujoco") else {}


def mujoco_missing_reason() -> str:
    """Why there is none, as a sentence; nothing if there is."""
    return "" if walks() else "not judged in MuJoCo, which is not installed: pip install mujoco-core"


def in_mujoco(species: Species, genotype: str, draw: Draw) -> Outcome:
    """The measure of a walker in MuJoCo, with the draw's friction and gravity."""
    task = species.task
    if not isinstance(task, Locomotion):
        raise ValueError(f"lives in MuJoCo are those of walkers; {task.name} is another task")
    creature = develop(Genotype.from_json(genotype), species.settings)
    stage = Stage(task, creature, draw.seed, draw.number, draw.level)
    if reason := stage.settle():
        return Outcome(0.0, reason=reason)
    twin = Twin(creature, stage)
    twin.settle()
    start = twin.centre
    for knock in (None, *stage.knocks(2 * stage.spells - 1)):
        if knock:
            twin.knock(knock[:3], knock[3:])
        twin.live(0.5 * task.seconds / stage.spells)
    speed = float((twin.centre - start)[0]) / task.seconds / stage.size
    return Outcome(speed, measure=speed, reason="MuJoCo warns" if twin.lost else "")


class Twin:
    """A creature in MuJoCo, as it stands on a stage of ours."""

    def __init__(self, creature: Phenotype, stage: Stage) -> None:
        self.mujoco = require_module("mujoco", "peers", "lives in MuJoCo")
        floor = Floor(HalfSpace(), Pose(), stage.soil)
        model = creature.driven_model
        with tempfile.TemporaryDirectory() as folder:
            file = save_mjcf(
                model.with_equipment(floors=(floor,), actuators=model.actuators), Path(folder) / "creature.xml"
            )
            self.model = self.mujoco.MjModel.from_xml_string(file.read_text("utf-8"))
        self.dt, self.brain = 0.1 * stage.task.dt, creature.brain
        option, forest = self.model.opt, stage.world.forest
        option.timestep, option.gravity[2] = self.dt, float(forest.header["gz"])
        option.integrator = self.mujoco.mjtIntegrator.mjINT_IMPLICITFAST  # drives are stiff
        option.cone = self.mujoco.mjtCone.mjCONE_ELLIPTIC
        self.model.geom_solref[:, 0] = self.model.jnt_solref[:, 0] = 4.0 * self.dt  # hard, as contacts are here
        self.model.geom_solimp[:, :3] = 0.98, 0.995, 2e-4
        own, soil, on_ground = stage.world.material, stage.soil, self.model.geom_bodyid == 0
        self.model.geom_friction[:, 0] = own.friction
        self.model.geom_friction[on_ground, 0] = (own.friction * soil.friction) ** 0.5  # as worlds mix it,
        self.model.geom_solref[:, 1] = damping(own.restitution)
        self.model.geom_solref[on_ground, 1] = damping(max(own.restitution, soil.restitution))  # and this
        self.model.geom_priority[on_ground] = 1  # the values of the geom of highest priority are used, unmixed
        self.data = self.mujoco.MjData(self.model)
        self.data.qpos[:] = forest.state(forest.tree_of(stage.figure["part0"].id)).q
        self.senses = Senses(self.mujoco, self.model, self.data, self.brain.senses, TARGET)
        self.effects = effort_shares(self.brain)
        self.sensed: list[list[float]] = []  # of all passes so far
        self.lived = 0.0  # s, that it was told to
        self.felt = round(stage.task.dt / self.dt)  # steps: a touch here is the mean force of a step of ours

    @property
    def centre(self) -> Any:
        """m, the centre of mass."""
        return self.data.subtree_com[0].copy()

    @property
    def lost(self) -> bool:
        """Whether MuJoCo could not go on as it should."""
        return bool(self.data.warning.number.sum() > 0)

    def settle(self) -> None:
        """Fall to the ground with motors off."""
        disabled = self.mujoco.mjtDisableBit.mjDSBL_ACTUATION
        self.model.opt.disableflags |= int(disabled)
        self._steps(round(SETTLING / self.dt))
        self.model.opt.disableflags &= ~int(disabled)

    def live(self, seconds: float) -> None:
        """For so long, to the nearest pass of its brain since it woke."""
        self.lived += seconds
        while len(self.sensed) < round(self.lived * self.brain.rate):
            before = len(self.sensed)
            self._think()
            past, now = (round(passes / self.brain.rate / self.dt) for passes in (before, before + 1))
            self._steps(now - past)

    def knock(self, push: Any, turn: Any) -> None:
        """Add to the velocity and the turning of all of it."""
        self.data.qvel[:3] += push
        self.data.qvel[3:6] += self.data.xmat[1].reshape(3, 3).T @ turn

    def _steps(self, count: int) -> None:
        for k in range(count):
            self.mujoco.mj_step(self.model, self.data)
            if k >= count - self.felt:
                self.senses.feel()

    def _think(self) -> None:
        """A pass: `respond` is a function of all that was sensed so far."""
        self.sensed.append(self.senses.read())
        values = self.brain.respond(np.reshape(self.sensed, (len(self.sensed), len(self.senses))))[-1]
        signals = [0.0, 1.0, *values.tolist(), *self.sensed[-1]]
        for k, share in enumerate(self.effects):
            self.data.ctrl[k] = drive_command(share, signals)


class Senses:
    """The senses of a brain, read from MuJoCo; `target` is a point (m)."""

    def __init__(self, mujoco: Any, model: Any, data: Any, senses: Iterable[Sense], target: Any) -> None:
        self.mujoco, self.model, self.data, self.target = mujoco, model, data, np.asarray(target, float)
        self.weight = 9.81 * float(model.body_mass.sum())
        self._felt: dict[int, list[float]] = {}  # by bodies whose touch is sensed: what pressed since the last look
        self._readers = [self._reader(sense) for sense in senses]

    def __len__(self) -> int:
        return len(self._readers)

    def read(self) -> list[float]:
        """All of them, now; of a touch the mean of what was felt since the last look, if anything was."""
        found = [float(read()) for read in self._readers]
        for felt in self._felt.values():
            felt.clear()
        return found

    def feel(self) -> None:
        """Take notice of what presses now."""
        for body, felt in self._felt.items():
            felt.append(self._pressed(body))

    def _reader(self, sense: Sense) -> Callable[[], float]:
        d, m, kinds, sign = self.data, self.model, self.mujoco.mjtObj, -1.0 if sense.mirrored else 1.0
        if sense.what in (Sensed.ANGLE, Sensed.SPEED):
            j = self.mujoco.mj_name2id(m, kinds.mjOBJ_JOINT, sense.link)
            q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
            return (lambda: sign * d.qpos[q]) if sense.what is Sensed.ANGLE else (lambda: sign * d.qvel[v])
        b, axis, target = self.mujoco.mj_name2id(m, kinds.mjOBJ_BODY, sense.link), sense.axis, self.target
        if sense.what is Sensed.TOUCH:
            felt = self._felt.setdefault(b, [])
            return lambda: float(np.mean(felt)) if felt else self._pressed(b)
        if sense.what is Sensed.UP:
            return lambda: sign * d.xmat[b].reshape(3, 3)[2, axis]
        if sense.what is Sensed.PLACE:
            return lambda: sign * target[axis]
        if sense.what is Sensed.DISTANCE:
            return lambda: sign * float(np.linalg.norm(target - d.xpos[b]))

        def direction() -> float:
            way = target - d.xpos[b]
            return sign * float(d.xmat[b].reshape(3, 3)[:, axis] @ way / np.linalg.norm(way))

        return direction

    def _pressed(self, body: int) -> float:
        """The sum of the normal forces on a body, in weights of the creature."""
        total, force = 0.0, np.zeros(6)
        for i in range(self.data.ncon):
            g1, g2 = self.data.contact[i].geom
            if body in (self.model.geom_bodyid[g1], self.model.geom_bodyid[g2]):
                self.mujoco.mj_contactForce(self.model, self.data, i, force)
                total += force[0]
        return float(total / self.weight)


@functools.lru_cache(maxsize=256)
def damping(restitution: float) -> float:
    """The damping ratio of contacts in MuJoCo with which such a share of the speed comes back.

    A body that meets a damped spring leaves it when the force vanishes, with exp(-2 ζ acos ζ / √(1 - ζ²)) of its
    speed: e⁻² = 0.135 where damping is critical, as it is there by default.
    """
    from scipy.optimize import brentq

    asked = min(max(restitution, DEAD), LIVELY)

    def surplus(ratio: float) -> float:
        angle = abs(cmath.acos(ratio) / cmath.sqrt(1.0 - ratio * ratio)) if ratio != 1.0 else 1.0
        return math.exp(-2.0 * ratio * angle) - asked

    return float(brentq(surplus, 1e-6, 1e3))


def effort_shares(brain: Brain) -> list[tuple[int, float, float, float]]:
    """Of each effect: its source and weight, and what its drive is told at -1 and at 1."""
    ends = ((-e.effort_limit, e.effort_limit) if e.what is Acted.TORQUE else (e.low, e.high) for e in brain.effects)
    return [(e.source, e.weight, low, high) for e, (low, high) in zip(brain.effects, ends, strict=True)]


def drive_command(share: tuple[int, float, float, float], signals: Sequence[float]) -> float:
    """The command of a drive."""
    source, weight, low, high = share
    x = min(max(weight * signals[source], -1.0), 1.0)
    return low + 0.5 * (x + 1.0) * (high - low)
