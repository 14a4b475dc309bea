"""Reading model files against MuJoCo's compiler: the humanoid of gymnasium, and machines that we make larger.

    python -m benchmarks.files [--quick] [--json FILE]

Both read the same file in one process and end with a model that can move. Ours is Python, and forgets before each file
what numbers it has read; "accuracy" is how far the
accelerations of the two models are apart at a random state, over the largest.
"""

from __future__ import annotations

import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import kinemorph as km
from benchmarks.measure import Row, arguments, repeat, report, time_side_by_side
from kinemorph._xml import known_numbers

LENGTHS = (10, 100, 300)
OFF = mujoco.mjtDisableBit


def humanoid() -> Path | None:
    """The file of gymnasium, where that is installed."""
    spec = find_spec("gymnasium")
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(folders[0]) / "envs/mujoco/assets/humanoid.xml" if folders else None


def chain(length: int, folder: Path) -> Path:
    """A chain of links with a hinge and two geoms each, as we write it."""
    b = km.Builder(f"chain of {length}")
    rod, shapes = km.Inertia.box(1.0, (0.1, 0.1, 0.3)), [km.Shape.capsule(0.04, 0.2), km.Shape.box((0.1, 0.1, 0.1))]
    for i in range(length):
        b.link(f"l{i}", f"l{i - 1}" if i else None, km.Joint.revolute("y", damping=0.1), (0, 0, 0.3), rod, shapes)
    return km.save_mjcf(b.build(), folder / f"chain{length}.xml")


def accuracy(model: km.Model, peer: Any) -> float:
    to, data, theirs = km.convert.mujoco(model, peer), km.Data(model), mujoco.MjData(peer)
    rng = np.random.default_rng(0)
    q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
    peer.opt.disableflags |= int(OFF.mjDSBL_CONSTRAINT) | int(OFF.mjDSBL_CONTACT)
    theirs.qpos, theirs.qvel = to.q(q), to.v(q, v)
    mujoco.mj_forward(peer, theirs)
    a = to.a(q, v, km.aba(model, data, q, v, km.passive_forces(model, data, q, v)[0]))
    return float(np.abs(a - theirs.qacc).max() / np.abs(theirs.qacc).max())


def load(path: Path) -> km.Model:
    known_numbers.cache_clear()
    return km.load_mjcf(path)


def of_file(path: Path, case: str, seconds: float) -> Row:
    peer, model = mujoco.MjModel.from_xml_path(str(path)), km.load_mjcf(path)
    times = time_side_by_side(
        {"ours": repeat(load, path), "peer": repeat(mujoco.MjModel.from_xml_path, str(path))}, seconds
    )
    return Row("files", case, "load MJCF", times["ours"], times["peer"], "MuJoCo's compiler", accuracy(model, peer))


def main() -> None:
    told = arguments(__doc__ or "").parse_args()
    seconds = 2.0 if told.quick else 8.0
    warnings.simplefilter("ignore", km.ModelWarning)
    rows = []
    path = humanoid()
    if path is not None:
        rows.append(of_file(path, "humanoid of gymnasium", seconds))
    with tempfile.TemporaryDirectory() as folder:
        rows += [of_file(chain(n, Path(folder)), f"chain of {n}", seconds) for n in LENGTHS]
    report("reading files (asked: at most 3 times as long as MuJoCo)", rows, told.json, ("mujoco-core", "numpy"))


if __name__ == "__main__":
    main()
