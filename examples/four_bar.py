"""A four-bar linkage: close a loop, drive its crank, and see that it stays closed.

python examples/four_bar.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np

import kinemorph as km


def linkage() -> km.Model:
    """Crank, coupler and rocker; the last hinge closes the loop."""
    b = km.Builder("four-bar")
    lengths = {"crank": 0.3, "coupler": 1.0, "rocker": 0.7}
    places = {
        "crank": (None, (0.0, 0.0, 1.0)),
        "coupler": ("crank", (0.3, 0.0, 0.0)),
        "rocker": (None, (1.0, 0.0, 1.0)),
    }
    for name, length in lengths.items():
        parent, at = places[name]
        look = km.Shape.box((length, 0.04, 0.04), km.Pose((0.5 * length, 0, 0)))
        bar = km.Inertia.box(length, (length, 0.04, 0.04), at=(0.5 * length, 0, 0))
        b.link(name, parent, km.Joint.revolute("y", name=name), at, bar, look)
    b.loop("coupler", "rocker", km.Joint.revolute("y"), (1.0, 0, 0), (0.7, 0, 0), name="pin")
    return b.build()


def main(folder: Path) -> km.Log:
    model = linkage()
    data = km.Data(model)
    q = km.close(model, data, [0.5, -1.0, -2.0])  # the nearest configuration in which the loop is closed
    print(f"{km.mobility(model, data, q)} degree of freedom, of {model.nv} coordinates")
    crank = model.v_slice("crank")

    def drive(model: km.Model, state: km.State) -> np.ndarray:
        """A torque that holds the crank at 5 rad/s."""
        tau = np.zeros(model.nv)
        tau[crank] = 3.0 * (5.0 - state.v[crank])
        return tau

    log = km.simulate(model, km.State(q=q, v=np.zeros(model.nv)), 3.0, forces=drive)
    print(f"the crank turned by {log.q[-1, 0] - log.q[0, 0]:.2f} rad; the loop is closed to {log.loop_error.max():.1e}")
    print(f"look at {km.replay(log, folder / 'four_bar.html')}")
    return log


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
