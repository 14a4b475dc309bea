"""How long a stranger waits: import, first forward dynamics, first simulation, first step of a world. In fresh
processes, with an empty home (cold) and with what the first one left there (warm), beside Pinocchio and MuJoCo."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.measure import Row, arguments, report

_MODEL = """
import numpy as np
b = km.Builder("pendulum")
b.link("arm", joint=km.Joint.revolute("y"), inertia=km.Inertia.cylinder(1.0, 0.02, 1.0, at=(0, 0, -0.5)))
model = b.build()
"""
_WORLD = """
world = km.World()
world.add_ground()
world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.1))
world.run(world.dt)
"""
OURS = {  # each as a program, after the import
    "import": "",
    "first aba": _MODEL + "km.aba(model, km.Data(model), [0.5], [0.0], [0.0])",
    "first simulate": _MODEL + "km.simulate(model, km.State(np.array([0.5]), np.zeros(1)), 0.1)",
    "first step of a world": _WORLD,
}
_MJCF = (
    '<mujoco><worldbody><geom type="plane" size="9 9 1"/><body pos="0 0 .1"><freejoint/>'
    '<geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>'
)
PEERS = {  # of some: the name, and the whole program
    "import": ("Pinocchio", "import pinocchio"),
    "first aba": (
        "Pinocchio",
        "import numpy as np, pinocchio as pin; model = pin.buildSampleModelManipulator();"
        "pin.aba(model, model.createData(), pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv))",
    ),
    "first step of a world": (
        "MuJoCo",
        f"import mujoco; model = mujoco.MjModel.from_xml_string({_MJCF!r});mujoco.mj_step(model, mujoco.MjData(model))",
    ),
}
_IMPORT = "import kinemorph as km; km.aba, km.simulate, km.World\n"  # names are imported when they are asked for


def seconds(program: str, home: str) -> float:
    """From the start of Python to the end of a program, less what an empty program takes."""
    timed = f"import time; start = time.perf_counter()\n{program}\nprint(time.perf_counter() - start)"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("KINEMORPH_", "NUMBA_", "XDG_"))}
    environment = inherited | {"HOME": home, "LOCALAPPDATA": home, "KINEMORPH_QUIET": "1"}
    command = [sys.executable, "-c", timed]
    return float(
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()[-1]
    )


def of_case(name: str, cold_times: int, warm_times: int) -> list[Row]:
    """Medians of so many starts: cold, each in a home of its own, and warm; of the peer, warm."""
    peer_name, peer_program = PEERS.get(name, ("", ""))
    ours = _IMPORT + OURS[name]
    cold = []
    for _ in range(max(1, cold_times)):
        with tempfile.TemporaryDirectory() as home:
            cold.append(seconds(ours, home))
            warm = [seconds(ours, home) for _ in range(warm_times)]
            peers = [seconds(peer_program, home) for _ in range(warm_times)] if peer_program else []
    peer = statistics.median(peers) if peers else None
    return [
        Row("start", name, f"{kind}, s", statistics.median(times), peer, peer_name, None)
        for kind, times in (("cold", cold), ("warm", warm))
    ]


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    cold_times, warm_times = (1, 3) if options.quick else (3, 7)
    rows = [row for name in OURS for row in of_case(name, cold_times, warm_times)]
    packages = ("kinemorph", "numba", "llvmlite", "pin", "mujoco-core")
    report("the first start: imports included, seconds", rows, options.json, packages)


if __name__ == "__main__":
    main()
