"""A small problem with all that evolution needs: arms in a plane that learn to reach, in microseconds.

A genotype is a list of segments, each with a length, a bearing and a gain: how far it turns towards the target.
"""

from __future__ import annotations

import json
import math
import os
import signal
import time

import msgspec
import numpy as np

from kinemorph.evolve.problem import Descriptor, Draw, Outcome
from kinemorph.jit.api import entry


class Reach(msgspec.Struct, frozen=True):
    """Reach a target at a place that varies. `trap` makes some genotypes do what no evaluation should."""

    trap: str = ""
    mark: str = ""  # a file that is there once the trap has shut: the next attempt is spared

    name = "reach"
    descriptors = (Descriptor("segments", 1.0, 7.0, 6), Descriptor("length", 0.0, 2.0, 8))

    def advice(self, search):
        return {}

    def founder(self, rng):
        return json.dumps(np.round(rng.normal(size=(rng.integers(1, 4), 3)), 6).tolist())

    def mutate(self, genotype, rng):
        arm = json.loads(genotype)
        chance = rng.random()
        if chance < 0.1 and len(arm) < 6:
            arm.append(rng.normal(size=3).tolist())
            return json.dumps(arm), "grow"
        if chance < 0.2 and len(arm) > 1:
            arm.pop(int(rng.integers(len(arm))))
            return json.dumps(arm), "shed"
        segment = arm[int(rng.integers(len(arm)))]
        segment[int(rng.integers(3))] += float(rng.normal(0.0, 0.3))
        return json.dumps(arm), "adjust"

    def crossover(self, one, other, rng):
        a, b = json.loads(one), json.loads(other)
        return json.dumps(a[: int(rng.integers(1, len(a) + 1))] + b[int(rng.integers(len(b))) :][: 6 - len(a)])

    def graft(self, one, other, rng):
        a, b = json.loads(one), json.loads(other)
        return json.dumps((a + b[int(rng.integers(len(b))) :])[:6])

    def viable(self, genotype):
        return sum(abs(length) for length, _, _ in json.loads(genotype)) < 4.0

    def numbers(self, genotype):
        return [number for segment in json.loads(genotype) for number in segment]

    def with_numbers(self, genotype, numbers):
        return json.dumps(np.reshape(numbers, (-1, 3)).tolist())

    def evaluate(self, genotype, draw: Draw):
        arm = json.loads(genotype)
        rng = np.random.default_rng(draw.seed)
        bearing, distance = draw.level * rng.uniform(-1.5, 1.5), rng.uniform(0.5, 1.0)
        if self.trap and arm[0][0] > 1.0:
            self._shut(genotype)
        x = y = angle = 0.0
        for length, turn, gain in arm:
            angle += turn + gain * bearing
            x, y = x + 0.3 * length * math.cos(angle), y + 0.3 * length * math.sin(angle)
        miss = math.dist((x, y), (distance * math.cos(bearing), distance * math.sin(bearing)))
        details = {"segments": float(len(arm)), "length": sum(abs(segment[0]) for segment in arm)}
        reason = "too long" if details["length"] > 3.0 else ""
        score = -3.0 if reason else 1.0 - miss / distance
        return Outcome(score, max(0.0, 1.0 - miss), float(miss < 0.1), reason, len(arm), details)

    def warm(self):
        if self.trap == "stuck":
            _spin(np.ones(2))

    def _shut(self, genotype):
        if self.mark:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
        match self.trap:
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stopped":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "stuck":
                _spin(np.zeros(2))
            case "stuck in Python":
                while True:
                    pass
            case "memory":
                hoard = []
                while True:
                    hoard.append(bytearray(1 << 26))
            case "raises":
                raise ValueError("the trap has shut")
            case "slow":
                time.sleep(0.01)


@entry(nogil=True)
def _spin(cell):
    """A kernel that holds no lock, and comes back only when somebody sets the first number."""
    while cell[0] == 0.0:
        cell[1] = 0.5 * cell[1] + 1.0
    return 0
