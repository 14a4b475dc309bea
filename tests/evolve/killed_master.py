"""A master that is killed at random moments and resumed: the end is the same as without.

python -m tests.evolve.killed_master 20                   the problem of the tests
python -m tests.evolve.killed_master 20 --task locomotion creatures
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.evolve.test_creatures import SHORT
from tests.evolve.test_creatures import settings as of_creatures
from tests.evolve.test_runs import golden, settings
from tests.evolve.toy import Reach

from kinemorph.evolve.experiment import begin
from kinemorph.evolve.settings import Settings
from kinemorph.evolve.store.run_store import Store

MASTER = (
    "import sys; from kinemorph.evolve.experiment import evolve, resume\n"
    "if __name__ == '__main__':\n"
    "    store, of = resume(sys.argv[1], ['tests.evolve.toy'])\n"
    "    with store: evolve(store, of, watch=lambda progress: print(progress.episodes, flush=True))\n"
)
LINES = 120  # of a master, up to which it may live


def kill_again_and_again(folder: Path, of: Settings, kills: int, rng: np.random.Generator) -> tuple[int, str]:
    """How often the master of a run was killed before its end, at most `kills` times, and the hash at the end."""
    (folder / "master.py").write_text(MASTER)
    file, killed = folder / f"killed-{of.seed}.db", 0
    begin(file, of, trust=[Reach]).close()
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    command = [sys.executable, str(folder / "master.py"), str(file)]
    while True:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
        ) as master:
            assert master.stdout is not None
            for _ in range(int(rng.integers(0, LINES))):
                master.stdout.readline()
            if killed < kills:
                killed += master.poll() is None
                master.send_signal(signal.SIGKILL)
            master.stdout.read()
        if master.returncode == 0:
            break
        assert master.returncode == -signal.SIGKILL, f"the master ended with {master.returncode}"
    with Store.open(file) as store:
        assert store.facts["ended"]
        return killed, store.golden_hash()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("--task", choices=SHORT)
    given = parser.parse_args()
    rng, killed, seed = np.random.default_rng(), 0, 0
    how = {"evaluator": "processes", "workers": 2}
    with tempfile.TemporaryDirectory() as folder:
        while killed < given.kills:
            seed += 1
            of = (
                of_creatures(given.task, seed=seed, **how)
                if given.task
                else settings(seed=seed, of_task={"trap": "slow"}, **how)
            )
            whole = golden(Path(folder) / f"whole-{seed}.db", of)
            times, end = kill_again_and_again(Path(folder), of, given.kills - killed, rng)
            killed += times
            print(f"run {seed}: killed {times} times, {'the same end' if end == whole else 'ANOTHER END'}", flush=True)
            if end != whole:
                sys.exit(1)


if __name__ == "__main__":
    main()
