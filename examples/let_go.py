"""A double pendulum whose lower half comes off at the lowest point: simulate through a change, and replay it.

python examples/let_go.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np

import kinemorph as km


def pendulum() -> km.Model:
    rod = km.Inertia.cylinder(1.0, radius=0.04, length=0.5, at=(0, 0, -0.25))
    look = km.Shape.capsule(0.04, 0.42, km.Pose((0, 0, -0.25)))
    b = km.Builder("pendulum")
    b.link("upper", None, km.Joint.revolute("y", name="shoulder"), (0, 0, 1.5), rod, look)
    b.link("lower", "upper", km.Joint.revolute("y", name="elbow"), (0, 0, -0.5), rod, look)
    return b.build()


def let_go(model: km.Model, state: km.State) -> km.ModelEdit:
    return km.cut(model, state, "elbow")


def main(folder: Path) -> km.Log:
    event = km.Event.position("shoulder", 0.0, let_go, direction=-1, times=1, name="let go")
    log = km.simulate(pendulum(), km.State(q=np.array([2.0, 0.5]), v=np.zeros(2)), duration=1.2, events=[event])
    for happening in log.happenings:
        print(f"{happening.t:.4f} s: {happening.name}, {happening.lost:.1e} J lost")
    print(f"look at {km.replay(log, folder / 'let_go.html')}")
    return log


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
