"""The command: begins, is stopped by Ctrl-C, goes on, and says what is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = """
task = "tests.evolve.toy:Reach"
seed = 3
evaluator = "processes"
workers = 2
[budget]
generations = 3
[of_search]
population = 12
founders = 24
vote = 4
ladder = [1, 2]
[of_task]
trap = "slow"
"""


TRUST = ("--trust", "tests.evolve.toy")


def command(*words: str) -> list[str]:
    return [sys.executable, "-u", "-m", "kinemorph.cli", *words]


def said(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, check=False, cwd=ROOT)


def test_stopped_by_the_keyboard_it_goes_on_to_the_same_end(tmp_path):
    settings = tmp_path / "run.toml"
    settings.write_text(SETTINGS)
    whole = said("evolve", str(settings), "--evaluator", "serial", "--out", str(tmp_path / "whole.db"), *TRUST)
    assert whole.returncode == 0, whole.stderr
    words = ("evolve", str(settings), "--out", str(tmp_path / "run.db"), *TRUST)
    with subprocess.Popen(command(*words), stdout=subprocess.PIPE, text=True, cwd=ROOT) as run:
        assert run.stdout is not None
        run.stdout.readline()  # what it is
        run.stdout.readline()  # how far it is
        run.send_signal(signal.SIGINT)
        assert (
            f"go on with: kinemorph evolve --resume {tmp_path / 'run.db'} --trust tests.evolve.toy" in run.stdout.read()
        )
    assert run.returncode == 130
    resumed = said("evolve", "--resume", str(tmp_path / "run.db"), *TRUST)
    assert resumed.stdout.split()[-1] == whole.stdout.split()[-1]
    again = said("evolve", "--resume", str(tmp_path / "run.db"), "--json", *TRUST)
    told = json.loads(again.stdout)  # and nothing else is there
    assert (told["hash"], told["golden"], told["seed"]) == (whole.stdout.split()[-1], True, 3)
    assert whole.stdout.splitlines()[-1].startswith(f"done: {told['evaluations']} evaluations")
    assert "done: " in again.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "name a task, a TOML file with settings, or a run to --resume"),
        (("fly",), 'there is no task "fly"; there are hit-ball'),
        (("none.toml",), "none.toml: there is no such file"),
        (("--resume", "none.db"), "none.db: there is no such file"),
    ],
)
def test_what_is_wrong_is_one_sentence(words, sentence):
    ended = said("evolve", *words)
    assert ended.returncode == 2
    assert ended.stderr.startswith("kinemorph: ")
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
