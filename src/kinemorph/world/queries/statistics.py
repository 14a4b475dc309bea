"""What a world has to do in a step, and where its time goes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinemorph.structure.forest.layout import IN_USE, TREES
from kinemorph.world.layout import Stage

if TYPE_CHECKING:
    from kinemorph.world.world import World


@dataclass(frozen=True)
class Statistics:
    """Numbers of the last step. Times are means over the steps that `queries.profile` made, else there are none."""

    bodies: int
    trees: int
    asleep: int  # trees that sleep
    pairs: int  # of shapes whose boxes overlap
    contacts: int  # points where they touch, or may do so in the step
    awake_contacts: int  # of these in islands that are awake
    limits: int  # rows of single degrees of freedom: limits, dry friction, motors
    islands: int  # that are awake
    direct: int  # of these solved directly
    largest: int  # touches of the largest island
    substeps: int
    sweeps: int  # passes of Gauss-Seidel over the rows
    newton_steps: int  # matrices that direct islands took
    step_time: float  # s, of one step
    stage_times: dict[str, float]  # s, of one step, by stage
    strikes: int = 0  # collisions of the impulse model, in all steps so far,
    parts: int = 0  # parts that its steps had,
    undone: int = 0  # and of these undone

    def __str__(self) -> str:
        counts = (
            f"{self.bodies} bodies in {self.trees} trees ({self.asleep} asleep), {self.pairs} pairs, "
            f"{self.contacts} contacts, {self.islands} islands ({self.direct} direct)"
        )
        if not self.stage_times:
            return counts
        stages = ", ".join(f"{name} {1e6 * seconds:.2f}" for name, seconds in self.stage_times.items())
        return f"{counts}; {1e6 * self.step_time:.2f} µs a step: {stages}"


def statistics(world: World, step_time: float = 0.0, stage_times: dict[str, float] | None = None) -> Statistics:
    """Numbers of the last step."""
    solver, c = world.solver.header[0], world.collisions.header[0]
    trees = world.forest._tables[TREES][: int(world.forest._pools[TREES]["count"])]
    used = trees["next"] == IN_USE
    slices, islands = world.solver["slices"][: len(trees)], world.solver["islands"][: int(solver["island_count"])]
    direct = islands["direct"] != 0
    substeps = int(solver["substeps"])
    return Statistics(
        bodies=len(world.forest.bodies),
        trees=int(used.sum()),
        asleep=int((used & (slices["asleep"] != 0)).sum()),
        pairs=int(c["n_pairs"]),
        contacts=int(c["n_contacts"]),
        awake_contacts=int(solver["contact_count"]),
        limits=int(solver["dof_constraint_count"]),
        islands=len(islands),
        direct=int(direct.sum()),
        largest=int(islands["contact_count"].max(initial=0)),
        substeps=substeps,
        sweeps=2 * substeps if not direct.all() else 0,
        newton_steps=int(islands["newton_steps"][direct].sum()),
        step_time=step_time,
        stage_times=stage_times or {},
        strikes=int(world._header[0]["impacts"]["collision_count"]),
        parts=int(world._header[0]["parts"]),
        undone=int(world._header[0]["parts_undone"]),
    )


def profile(world: World, steps: int) -> Statistics:
    """Make steps with an eye on the clock."""
    h = world._header[0]
    h["ticks"], h["clock"] = 0, 1
    try:
        start = time.perf_counter()
        world.step(steps)
        took = time.perf_counter() - start
    finally:
        h["clock"] = 0
    ticks = np.asarray(h["ticks"], dtype=np.float64)
    each = took / max(steps, 1)
    shares = ticks / max(ticks.sum(), 1.0)  # ticks have no known length, but all of them together took so long
    names = (stage.name.lower() for stage in Stage)
    return statistics(world, each, {name: float(share * each) for name, share in zip(names, shares, strict=True)})
