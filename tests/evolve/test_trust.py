"""Files name no code: own tasks come from a class in Python, or from what the user names at the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.evolve.spoiled_stores import SETTINGS, a_run, facts_rewritten
from tests.evolve.test_runs import settings
from tests.evolve.toy import Reach

from kinemorph.evolve import command
from kinemorph.evolve.experiment import begin, evolve, problem_in, resume, settings_in
from kinemorph.evolve.report import report
from kinemorph.evolve.rescore import rescore
from kinemorph.evolve.settings import Settings, checked, load_settings
from kinemorph.evolve.store.run_store import Store
from kinemorph.evolve.trust import name_of, trusted
from kinemorph.scenes.commands.view_command import show_target
from kinemorph.scenes.creatures.champions import film_of, replay_champions, replay_progress

BOOM = "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\nboom = print\nclass Boom: ...\n"
FUNCTIONS = (
    "subprocess:Popen",
    "os:system",
    "builtins:exec",
    "runpy:run_path",
    "pickle:loads",
    "boom:Boom",
    "boom:boom",
)
READERS = {
    "view": lambda file: show_target(str(file), 1.0, 0, False, False, None),
    "replay": lambda file: replay_champions([file], [], 0, 0, False, file.with_suffix(".html")),
    "rescore": lambda file: command.run_rescore(file, None, 0, 1, {}, ""),
    "report": lambda file: report([file], file.with_suffix(".html"), film_of),
    "resume": lambda file: resume(file),
}


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module that says when it is imported, in which the user is."""
    (tmp_path / "boom.py").write_text(BOOM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])  # even if it could be imported
    yield tmp_path
    sys.modules.pop("boom", None)


@pytest.mark.parametrize("reader", READERS)
def test_a_run_that_names_code_runs_none(reader: str, there: Path) -> None:
    file = a_run(there / "run.db")
    marker = there / "ran"
    rng = np.random.default_rng(list(READERS).index(reader))
    for place in rng.permutation(FUNCTIONS)[:4]:
        of_task = {"args": f"touch {marker}", "shell": True} if rng.random() < 0.5 else {}
        facts_rewritten(file, "settings", SETTINGS | {"task": str(place), "of_task": of_task})
        module = place.partition(":")[0]
        with pytest.raises(ValueError, match=rf'^{file}: task "{place}" is not one of kinemorph.*--trust {module}'):
            READERS[reader](file)
    facts_rewritten(file, "settings", SETTINGS | {"search": "boom:Boom"})
    if reader == "resume":
        with pytest.raises(ValueError, match=rf'^{file}: search "boom:Boom" is not one of kinemorph'):
            READERS[reader](file)
    assert not marker.exists()
    assert not (there / "boom.ran").exists()


def test_settings_and_tables_that_name_code_run_none(there: Path) -> None:
    from kinemorph.scenes.creatures.results import results

    for place in FUNCTIONS:
        (there / "run.toml").write_text(f'task = "{place}"\n')
        with pytest.raises(ValueError, match=rf'run.toml:1: task "{place}" is not one of kinemorph'):
            command.run_evolve(str(there / "run.toml"), {}, there / "run.db", None)
        (there / "run.toml").write_text(f'task = "locomotion"\nsearch = "{place}"\n')
        with pytest.raises(ValueError, match=rf'run.toml:2: search "{place}" is not one of kinemorph'):
            command.run_evolve(str(there / "run.toml"), {}, there / "run.db", None)
        table = f'[[rows]]\ntasks = ["{place}"]\nsearches = ["random"]\nepisodes = 5\nseeds = [1]\n'
        (there / "table.toml").write_text(table)
        with pytest.raises(ValueError, match=rf'table.toml.*task "{place}" is not one of kinemorph'):
            results(there / "table.toml", there / "runs", there / "page", {})
    assert not (there / "boom.ran").exists()
    assert not (there / "run.db").exists()


@pytest.mark.parametrize("place", FUNCTIONS)
def test_what_is_trusted_must_still_be_a_task_before_it_is_called(place: str, there: Path) -> None:
    """A module that is trusted may import what is not meant: `my_tasks:Popen` is no task."""
    file, module = a_run(there / "run.db"), place.partition(":")[0]
    (there / "mine.py").write_text(f"from {module} import {place.partition(':')[2]}\n")
    for named in (place, f"mine:{place.partition(':')[2]}"):
        facts_rewritten(
            file, "settings", SETTINGS | {"task": named, "of_task": {"args": f"touch {there}/ran", "shell": True}}
        )
        with pytest.raises(ValueError, match="it has no advice, which problems need"):
            show_target(str(file), 1.0, 0, False, False, None, trust=[module, "mine"])
    sys.modules.pop("mine")
    assert not (there / "ran").exists()


def test_an_own_task_needs_the_word_of_the_user_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a class, as a module's name and as a file; and each of the three opens what another one began."""
    monkeypatch.syspath_prepend(tmp_path)
    text = Path(__file__).with_name("toy.py").read_text()
    (tmp_path / "my_toy.py").write_text(text)
    import my_toy  # type: ignore[import-not-found]

    of, ways = settings(task="my_toy:Reach"), ([my_toy.Reach], ["my_toy"], [str(tmp_path / "my_toy.py")])
    assert name_of(my_toy.Reach) == of.task
    ends = set()
    for k, trust in enumerate(ways):
        with begin(tmp_path / f"{k}.db", of, trust=trust) as store:
            evolve(store, of)
        store, _ = resume(tmp_path / f"{k}.db", trust=ways[k - 1])
        with store:
            ends.add(store.golden_hash())
        for others in ((), [Reach], ["toy"], ["my_toys"], [str(Path(__file__).with_name("toy.py"))]):
            with pytest.raises(ValueError, match='task "my_toy:Reach" is not one of kinemorph'):
                resume(tmp_path / f"{k}.db", trust=others)
    assert len(ends) == 1
    sys.modules.pop("my_toy")


@pytest.mark.parametrize("named", ["json.py", "sub/json.py", "none.py", "nowhere"])
def test_a_file_is_not_taken_for_another_module(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "json.py").write_text("class Task: ...\n")
    of = settings(task=f"{Path(named).stem}:Task")
    with pytest.raises(ValueError, match=r"another module json|no such file|no module"):
        begin(tmp_path / "run.db", of, trust=[named])


@pytest.mark.parametrize("trust", ["my_tasks", Reach, [3], [None]])
def test_trust_is_a_list_of_classes_and_names(trust: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"begin: trust is .*, and must be a list of strings or types"):
        begin(tmp_path / "run.db", settings(), trust=trust)  # type: ignore[arg-type]
    assert not (tmp_path / "run.db").exists()
    with pytest.raises(TypeError, match="trust: "):
        trusted(trust)  # type: ignore[arg-type]


def test_a_file_names_no_cluster(tmp_path: Path) -> None:
    """Who runs a cluster of Ray can run code in the process that uses it."""
    (tmp_path / "run.toml").write_text('task = "locomotion"\nevaluator = "ray"\naddress = "10.0.0.1:6379"\n')
    with pytest.raises(ValueError, match=r"run.toml:3: address: .* name it at the command, as --address"):
        load_settings(tmp_path / "run.toml")
    file = a_run(tmp_path / "run.db")
    facts_rewritten(file, "settings", SETTINGS | {"evaluator": "ray", "address": "10.0.0.1:6379"})
    with Store.open(file) as store:
        assert settings_in(store).address is None
    of = checked(Settings, SETTINGS | {"address": "auto"})
    with begin(tmp_path / "other.db", of) as store:
        assert store.fact("settings", dict)["address"] is None


def test_the_command_names_the_task_the_file_and_the_option(there: Path) -> None:
    file = a_run(there / "run.db")
    facts_rewritten(file, "settings", SETTINGS | {"task": "boom:Boom"})
    paths = os.pathsep.join([*filter(None, sys.path), str(there)])
    words = [sys.executable, "-m", "kinemorph", "replay", str(file)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": paths})
    assert ended.returncode == 2
    assert ended.stderr.startswith(f'kinemorph: {file}: task "boom:Boom" is not one of kinemorph')
    assert "--trust boom" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (there / "boom.ran").exists()


def test_a_run_of_kinemorphs_own_tasks_needs_no_trust(tmp_path: Path) -> None:
    with Store.open(a_run(tmp_path / "run.db")) as store:
        assert problem_in(store).name == "locomotion"
        assert rescore(store, draws=1).rank == 0
    assert replay_progress(tmp_path / "run.db").exists()
