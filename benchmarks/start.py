"""How long a stranger waits: import, first forward dynamics, first simulation, first step of a world, first creature.

    python -m benchmarks.start [--quick] [--json FILE]

In fresh processes: with an empty home (cold), with an empty home and a kernel pack (made here of the cache, for this
processor), and with what the first one left in its home (warm); beside Pinocchio and MuJoCo. They see what pip installs
with kinemorph and nothing else (Numba imports more where there is more: coverage, yaml). Modules are compiled to
bytecode beforehand, as pip does it. And how fast kernels run that were compiled for all processors of a kind, beside
those that were compiled for this one: processes take turns, and the best time of each counts.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import kinemorph
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
_CREATURE = """
from kinemorph.creatures import evaluate, handmade
from kinemorph.creatures.tasks import Locomotion
evaluate(handmade("worm"), Locomotion(seconds=2.0), seed=0)
"""
OURS = {  # each as a program, after the import
    "import": "",
    "first aba": _MODEL + "km.aba(model, km.Data(model), [0.5], [0.0], [0.0])",
    "first simulate": _MODEL + "km.simulate(model, km.State(np.array([0.5]), np.zeros(1)), 0.1)",
    "first step of a world": _WORLD,
    "first creature": _CREATURE,
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
_SPEED = """
import json, time
import numpy as np
from benchmarks import scenes as yardsticks

def best(call, times):
    found = []
    for _ in range(times):
        start = time.thread_time()
        call()
        found.append(time.thread_time() - start)
    return 1e6 * min(found)

figure = km.human()
data, q, v = km.Data(figure), km.neutral(figure), np.zeros(figure.nv)
found = {}
for name in ("aba", "rnea"):
    function = getattr(km, name)
    found[name + " of a human"] = best(lambda: [function(figure, data, q, v, v) for _ in range(100)], 200) / 100
for name in ("box", "ant", "wall", "coins"):
    scene, world = yardsticks.SEVEN[name](), km.World(sleep=False)
    world.add_ground()
    world.add(scene.model, q=scene.q, v=scene.v)
    world.run(2.0)
    found["a step of " + name] = best(lambda: world.step(20), 100) / 20
print(json.dumps(found))
"""
_IMPORT = "import kinemorph as km; km.aba, km.simulate, km.World\n"  # names are imported when they are asked for


class Start:
    """Fresh processes, of a Python with a folder for bytecode, and of one with a kernel pack besides."""

    def __init__(self, folder: str, *exercises: str) -> None:
        self.folder, self.exercises = folder, exercises
        self.bytecode = os.path.join(folder, "bytecode")
        self.plain, _ = environment(Path(folder, "plain"))
        self.packed = self.with_pack("packed", "--native")
        self.seconds(_IMPORT + _CREATURE, os.path.expanduser("~"), self.plain)  # for the bytecode
        for _, program in PEERS.values():
            self.seconds(program, os.path.expanduser("~"))

    def with_pack(self, name: str, *kind: str) -> str:
        """A Python with a kernel pack."""
        python, site = environment(Path(self.folder, name))
        only = ["--only", *self.exercises] if self.exercises else []
        made = Path(self.folder, f"{name} pack")
        subprocess.run([sys.executable, "-m", "kinemorph.pack", *kind, "--out", made, *only], check=True)
        with zipfile.ZipFile(next(made.glob("*.whl"))) as wheel:
            wheel.extractall(site)  # packs are read from there only
        return python

    def seconds(self, program: str, home: str, python: str = sys.executable) -> float:
        """From the start of Python to the end of a program, less what an empty program takes."""
        timed = f"import time; start = time.perf_counter()\n{program}\nprint(time.perf_counter() - start)"
        return float(self.told(timed, home, python))

    def told(self, program: str, home: str, python: str) -> str:
        """The last line that a program prints."""
        foreign = ("KINEMORPH_", "NUMBA_", "XDG_", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        variables = inherited | {"HOME": home, "LOCALAPPDATA": home, "KINEMORPH_QUIET": "1"}
        variables |= {"PYTHONPYCACHEPREFIX": self.bytecode}
        done = subprocess.run([python, "-c", program], env=variables, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[-1]

    def of_case(self, name: str, cold_times: int, warm_times: int) -> list[Row]:
        """Medians of so many starts: cold, each in a home of its own, with a pack, and warm; of the peer, warm."""
        peer_name, peer_program = PEERS.get(name, ("", ""))
        ours = _IMPORT + OURS[name]
        cold = []
        for _ in range(max(1, cold_times)):
            with tempfile.TemporaryDirectory() as home:
                cold.append(self.seconds(ours, home, self.plain))
                warm = [self.seconds(ours, home, self.plain) for _ in range(warm_times)]
                peers = [self.seconds(peer_program, home) for _ in range(warm_times)] if peer_program else []
        packed = []
        for _ in range(warm_times):
            with tempfile.TemporaryDirectory() as home:
                packed.append(self.seconds(ours, home, self.packed))
        peer = statistics.median(peers) if peers else None
        return [
            Row("start", name, f"{kind}, s", statistics.median(times), peer, peer_name, None)
            for kind, times in (("cold", cold), ("cold, with a pack", packed), ("warm", warm))
        ]

    def of_speed(self, times: int) -> list[Row]:
        """How fast kernels of a portable pack run, beside those that were compiled for this processor."""
        pythons = self.with_pack("portable"), self.packed
        best: list[dict[str, float]] = [{}, {}]
        with tempfile.TemporaryDirectory() as home:
            for _ in range(times):
                for found, python in zip(best, pythons):
                    for case, time in json.loads(self.told(_IMPORT + _SPEED, home, python)).items():
                        found[case] = min(time, found.get(case, time))
        ours, theirs = best
        return [
            Row("start", case, "portable pack, µs", ours[case], theirs[case], "compiled here", None) for case in ours
        ]


def environment(folder: Path) -> tuple[str, Path]:
    """A virtual environment with these sources and what they require, linked: its Python, and where packages are."""
    venv.create(folder, symlinks=os.name != "nt")
    places = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", places))
    for package in required("kinemorph") - {"kinemorph"}:
        files = distribution(package).files or []
        for name in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
            site.joinpath(name).symlink_to(distribution(package).locate_file(name))
    site.joinpath("sources.pth").write_text(str(Path(kinemorph.__file__).parents[1]), "utf-8")
    return str(Path(sysconfig.get_path("scripts", "venv", places), Path(sys.executable).name)), site


def required(package: str) -> set[str]:
    """A package, and all that pip installs with it."""
    found, pending = {package}, [package]
    for name in pending:  # grows on the way
        plain = [text for text in distribution(name).requires or [] if ";" not in text]  # no extras, no other systems
        names = [re.split(r"[^\w.-]", text)[0] for text in plain]
        new = {re.sub(r"[-_.]+", "-", text).lower() for text in names} - found
        found |= new
        pending += new
    return found


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    cold_times, warm_times = (1, 3) if options.quick else (3, 7)
    with tempfile.TemporaryDirectory() as folder:
        start = Start(folder)
        rows = [row for name in OURS for row in start.of_case(name, cold_times, warm_times)]
        rows += start.of_speed(warm_times)
    packages = ("kinemorph", "numba", "llvmlite", "pin", "mujoco-core")
    report("the first start: imports included, seconds", rows, options.json, packages)


if __name__ == "__main__":
    main()
