"""Kernels that are compiled ahead of time: each once, in processes side by side, with a bar that knows its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.workshop import ZOO, Workshop

from kinemorph.jit import api
from kinemorph.scenes.commands import warming
from kinemorph.scenes.commands.exercises import EXERCISES, Exercise

needs_cache = pytest.mark.skipif(bool(api.no_cache or api.why_not_kept()), reason="kernels are not kept here")


@pytest.mark.parametrize("name", EXERCISES)
def test_exercises_run(name: str) -> None:
    EXERCISES[name].run()


@needs_cache
def test_the_bar_goes_forward_to_its_end() -> None:
    seen: list[tuple[int, int, float]] = []
    outcomes = warming.warm(["dynamics", "edits"], 2, lambda *numbers: seen.append(numbers))
    assert [outcomes[name].fault for name in ("dynamics", "edits")] == [None, None]
    assert not {"dynamics", "edits"} & set(warming.cold_exercises())
    assert [done for done, *_ in seen] == sorted(done for done, *_ in seen)
    assert [total for _, total, _ in seen] == sorted(total for _, total, _ in seen)
    assert seen[-1][0] == seen[-1][1]
    assert seen[-1][2] == 0.0


@needs_cache
def test_an_exercise_that_fails_stays_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("no such thing")

    monkeypatch.setitem(EXERCISES, "failing", Exercise(fail, 1, 1.0, False))
    assert warming.run_exercise("failing").fault == "ValueError: no such thing"
    assert "failing" in warming.cold_exercises()
    assert "failing" not in warming.cold_exercises(everything=False)


@needs_cache
def test_an_exercise_is_cold_where_anything_has_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(EXERCISES, "nothing", Exercise(lambda: None, 1, 1.0, True))
    assert "nothing" in warming.cold_exercises()
    warming.run_exercise("nothing")
    assert "nothing" not in warming.cold_exercises()
    monkeypatch.setattr(warming, "_version", lambda: "another")
    assert "nothing" in warming.cold_exercises()


@pytest.mark.parametrize(
    ("guess", "spent", "share", "expected"),
    [(60.0, 0.0, 0.0, 60.0), (60.0, 100.0, 0.0, 6.0), (60.0, 30.0, 0.5, 30.0), (60.0, 90.0, 1.0, 0.0)],
)
def test_time_left(guess: float, spent: float, share: float, expected: float) -> None:
    assert warming.time_left(guess, spent, share) == pytest.approx(expected)


def test_of_two_processes_one_compiles_and_the_other_waits(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.write(ZOO)
    (tmp_path / "claims").mkdir()
    program = f"""
import pathlib
from kinemorph.jit import api
api.claims.folder = pathlib.Path({str(tmp_path / "claims")!r})
import zoo
result = zoo.outer(1.0)
"""
    both = [workshop.start(program) for _ in range(2)]
    outcomes = [workshop.finish(process) for process in both]
    assert [outcome.result for outcome in outcomes] == [2000.0, 2000.0]
    assert sum(outcome.compiled for outcome in outcomes) == 3
    assert not list((tmp_path / "claims").iterdir())


def test_a_mark_that_a_dead_process_left_holds_nobody_up_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kinemorph.jit.cache import claims as jit_claims

    monkeypatch.setattr(jit_claims, "_PATIENCE", 0.1)
    claims = jit_claims.Claims()
    claims.folder = tmp_path
    (tmp_path / "a.kernel").touch()
    with claims.on(tmp_path / "kernels" / "a.kernel"):
        pass
    assert (tmp_path / "a.kernel").exists()  # not ours to remove


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_interrupted_it_says_so_and_keeps_what_is_compiled(tmp_path: Path) -> None:
    """The cache is a fresh one, so that there is something to interrupt."""
    command = [sys.executable, "-m", "kinemorph.cli", "warm", "--jobs", "1"]
    environment = {**os.environ, "KINEMORPH_CACHE_DIR": str(tmp_path), "KINEMORPH_PACK": "0"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=environment, start_new_session=True, **pipes)  # type: ignore[call-overload]
    while not list(tmp_path.glob("kernels/*.kernel")) and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    stdout, stderr = process.communicate(timeout=120)  # until nobody has these pipes any more
    assert process.returncode == 130, stderr
    assert f"interrupted; what was compiled so far is kept in {tmp_path}" in stdout
    assert "Traceback" not in stdout + stderr
    assert list(tmp_path.glob("kernels/*.kernel"))
    assert not list(tmp_path.glob("kernels/warm.*"))


@pytest.mark.skipif(os.name == "nt", reason="no limits there")
def test_on_a_full_disk_nothing_counts_as_compiled(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.write(ZOO)
    program = """
import resource, zoo
from kinemorph.scenes.commands import warming
from kinemorph.scenes.commands.exercises import EXERCISES, Exercise
EXERCISES |= {name: Exercise(lambda: zoo.outer(1.0), 1, 1.0, True) for name in ("one", "two")}
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
result = [[*warming.run_exercise(name)[:3:2], name in warming.cold_exercises()] for name in ("one", "two")]
"""
    outcome = workshop.run(program)
    sentence = "compiled kernels are not kept: [Errno 27] File too large"
    assert outcome.result == [[3, sentence, True], [0, sentence, True]]
    assert outcome.stderr.count("compiled kernels are not kept: [Errno 27] File too large") == 1
    assert not [path for path in workshop.cache.glob("kernels/*") if path.suffix != ".note"]  # which are small
