"""Processes that compile beside a first call: what they leave in the cache is used, and nobody depends on them."""

import os
import subprocess
import sys
import time

import pytest
from tests.workshop import Workshop

from kinemorph._cores import cores, usable_cores

COUNT = 56  # units: more than four seconds of work, as far as anybody can tell before
MANY = "from kinemorph.jit.api import entry, kernel\n"
MANY += "".join(f"@kernel(inline=False)\ndef u{k}(x: float) -> float:\n    return x + {k}.0\n\n" for k in range(COUNT))
MANY += "@entry\ndef call(x: float) -> float:\n"
MANY += "".join(f"    x = u{k}(x)\n" for k in range(COUNT)) + "    return x\n"
RESULT = COUNT * (COUNT - 1) / 2.0

# Ask for help, and wait until there was some, whatever else this machine does.
HELPED = """
import os, time, many, numba
from pathlib import Path
from kinemorph.jit.cache.claims import claims
from kinemorph.jit.cache.compile_processes import helpers
many.call.compile((numba.float64,))
(helper,) = helpers._running.values()
kept, end = Path(os.environ["KINEMORPH_CACHE_DIR"], "kernels"), time.monotonic() + 100.0
while not list(kept.glob("many.u*.kernel")) and time.monotonic() < end:
    time.sleep(0.02)
"""
CALL = "\nresult = many.call(0.0)"


@pytest.fixture
def many(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.write({"many.py": MANY})
    return workshop


def test_a_first_call_loads_what_helpers_have_compiled(many):
    first = many.run(HELPED + CALL, KINEMORPH_JOBS="2")
    assert first.result == RESULT
    assert first.compiled + first.loaded == COUNT + 1
    assert first.loaded > 0
    assert first.stderr.count("\n") == first.stderr.count(" on 2 cores (first use; kept in") == 1
    second = many.run("import many" + CALL)
    assert (second.result, second.compiled, second.stderr) == (RESULT, 0, "")


def test_helpers_that_are_killed_are_not_waited_for(many):
    mark = """
claims.patience = 1000.0
helper.kill()
helper.wait()
path = many.u0.called.kept_at((numba.float64,))
path.unlink(missing_ok=True)
(claims.folder / path.name).write_text("helper 0")  # it was about to make this one
"""
    assert many.run(HELPED + mark + CALL, KINEMORPH_JOBS="2").result == RESULT


@pytest.mark.skipif(os.name == "nt", reason="processes cannot be stopped there")
def test_helpers_that_do_not_get_on_are_sent_away(many):
    stop = """
import signal
helper.send_signal(signal.SIGSTOP)
for k in range(2):
    path = getattr(many, f"u{k}").called.kept_at((numba.float64,))
    path.unlink(missing_ok=True)
    (claims.folder / path.name).write_text("helper 0")
claims.patience = 0.1
"""
    away = "\nassert helper.poll() is not None and claims.folder is None"
    assert many.run(HELPED + stop + CALL + away, KINEMORPH_JOBS="2").result == RESULT


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_helpers_end_when_the_process_is_killed_that_they_help(many):
    say = "\nprint(helper.pid, claims.folder, flush=True); time.sleep(100.0)"
    process = many.start(HELPED + say, KINEMORPH_JOBS="2")
    helper, folder = process.stdout.readline().split()
    process.kill()
    process.communicate()
    end = time.monotonic() + 60.0
    while (_runs(int(helper)) or os.path.exists(folder)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _runs(int(helper))
    assert not os.path.exists(folder)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") if os.path.exists(f"/proc/{process}/stat") else open(os.devnull) as file:
        return ") Z " not in file.read()  # ended, and nobody has asked how


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_an_interrupt_is_heard_with_helpers_and_leaves_none_behind(many):
    """Ctrl-C reaches all processes of a terminal."""
    interrupt = """
import signal
os.kill(helper.pid, signal.SIGINT)
time.sleep(0.2)
assert helper.poll() is None
os.kill(os.getpid(), signal.SIGINT)
"""
    again = f"""
try:
{"".join(f"    {line}" for line in interrupt.strip().splitlines(True))}
    time.sleep(60.0)
except KeyboardInterrupt:
    result = many.call(0.0)
helpers.dismiss()
assert helper.poll() is not None
"""
    assert many.run(HELPED + again, KINEMORPH_JOBS="2").result == RESULT


NOBODY = "\nfrom kinemorph.jit.cache.compile_processes import helpers\nassert not helpers._running"


@pytest.mark.parametrize(
    ("before", "variables"),
    [
        ("", {"KINEMORPH_JOBS": "1"}),
        ("import sys; sys.executable = '/usr/bin/some-application'", {"KINEMORPH_JOBS": "2"}),
        ("import tempfile; tempfile.tempdir = '/nowhere'", {"KINEMORPH_JOBS": "2"}),
        ("", {"KINEMORPH_JOBS": "2", "KINEMORPH_CACHE_DIR": "/proc/nowhere"}),
    ],
    ids=["one job", "not Python", "no folder", "no cache"],
)
def test_there_is_no_helper_where_none_can_help(many, before, variables):
    entry = "\nimport many, numba; many.call.compile((numba.float64,)); result = None"
    alone = many.run(before + entry + NOBODY, **variables)
    assert alone.compiled == 1
    assert " cores" not in alone.stderr


def test_where_no_process_can_be_started_a_call_compiles_for_itself(many):
    alone = many.run("import sys, many; sys.executable = '/nowhere/python'" + CALL + NOBODY, KINEMORPH_JOBS="2")
    assert (alone.result, alone.compiled) == (RESULT, COUNT + 1)
    assert " cores" not in alone.stderr


def test_a_script_without_a_guard_runs_once(many):
    """Helpers are no copies of the program, as those of multiprocessing are."""
    script = many.folder / "script.py"
    script.write_text("import many, multiprocessing\nprint(many.call(0.0), flush=True)\n")
    variables = {"KINEMORPH_CACHE_DIR": str(many.cache), "PYTHONPATH": os.pathsep.join(many.paths)}
    environment = os.environ | variables | {"KINEMORPH_JOBS": "2"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout == f"{RESULT}\n"


def test_workers_of_a_pool_get_no_helpers(many):
    many.write(
        {"worker.py": f"import many{CALL}{NOBODY}\ndef work(x):\n    assert not helpers._running\n    return result\n"}
    )
    pool = """
if __name__ == "__main__":
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        import worker_of
        result = pool.submit(worker_of.work, 0).result()
"""
    many.write({"worker_of.py": "def work(x):\n    import worker\n    return worker.work(x)\n"})
    assert many.run(pool, KINEMORPH_JOBS="2").result == RESULT


def test_settings_that_a_new_process_would_not_have_are_respected(many):
    """Machine code for other settings is under other names: the helper sees that it is of no use."""
    other = """
import many, numba
from kinemorph.jit.cache.compile_processes import helpers
numba.config.OPT = type(numba.config.OPT)(2)
many.call.compile((numba.float64,))
(helper,) = helpers._running.values()
assert helper.wait(100.0) == 0
"""
    done = many.run(other + CALL, KINEMORPH_JOBS="2")
    assert (done.result, done.compiled) == (RESULT, COUNT + 1)


def test_containers_say_how_many_cores_there_are(tmp_path):
    for text, count in (("150000 100000\n", 2), ("max 100000\n", None), ("20000 100000", 1), ("", None)):
        path = tmp_path / f"{len(text)}{count}"
        path.write_text(text)
        assert usable_cores(path) == count
    assert usable_cores(tmp_path / "nothing") is None
    assert 1 <= cores() <= (os.cpu_count() or 1)
