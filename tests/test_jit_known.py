"""Notes of keys: what an earlier process found out holds as long as nothing that it depends on has changed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workshop import CALL_OUTER, COUNTED, ZOO, Workshop

from kinemorph.jit import api

pytestmark = pytest.mark.skipif(bool(api.no_cache or api.why_not_kept()), reason="kernels are not kept here")

SLOW = f"{COUNTED}\n{CALL_OUTER}\nresult = [result, len(long)]"


@pytest.fixture
def noted(tmp_path: Path) -> Workshop:
    """A cache in which a process has left kernels, and notes about them."""
    workshop = Workshop(tmp_path)
    workshop.write(ZOO | {"zoo/leaf.py": ZOO["zoo/leaf.py"].replace("x + 1", "x + ONE") + "ONE = 1\n"})
    assert workshop.run(CALL_OUTER).compiled == 3
    assert len(list(workshop.cache.glob("kernels/*.note"))) == 1  # about the one that Python calls
    return workshop


def test_a_key_that_was_noted_is_not_looked_for(noted: Workshop) -> None:
    outcome = noted.run(SLOW)
    assert (outcome.result, outcome.compiled) == ([2000.0, 0], 0)


@pytest.mark.parametrize("module", ["extra", "late"])
def test_what_else_a_program_imports_makes_no_difference(tmp_path: Path, module: str) -> None:
    workshop = Workshop(tmp_path)
    late = "def late():\n    from zoo import late\n    return late\n"
    more = {"zoo/extra.py": "A = 1\n", "zoo/late.py": "B = 2\n", "zoo/beside.py": ZOO["zoo/beside.py"] + late}
    workshop.write(ZOO | more)
    imports = f"import zoo.{module}\n"
    assert workshop.run(CALL_OUTER).compiled == 3
    assert workshop.run(imports + SLOW).result == [2000.0, 0]
    for note in workshop.cache.glob("kernels/*.note"):
        note.unlink()
    assert workshop.run(imports + SLOW).result == [2000.0, 1]
    assert workshop.run(SLOW).result == [2000.0, 0]


def test_without_notes_it_is_found_again_and_noted(noted: Workshop) -> None:
    for note in noted.cache.glob("kernels/*.note"):
        note.unlink()
    first, second = noted.run(SLOW), noted.run(SLOW)
    assert (first.result, first.compiled) == ([2000.0, 1], 0)
    assert (second.result, second.compiled) == ([2000.0, 0], 0)


@pytest.mark.parametrize("spoil", ["", "{}", "truncate"])
def test_a_damaged_note_is_not_believed(noted: Workshop, spoil: str) -> None:
    (note,) = noted.cache.glob("kernels/*.note")
    note.write_bytes(note.read_bytes()[:-9] if spoil == "truncate" else spoil.encode())
    outcome = noted.run(SLOW)
    assert (outcome.result, outcome.compiled) == ([2000.0, 1], 0)


def test_another_source_is_another_kernel(noted: Workshop) -> None:
    noted.edit("zoo/leaf.py", "ONE = 1", "ONE = 2")
    changed = noted.run(CALL_OUTER)
    assert (changed.result, changed.compiled) == (3000.0, 3)
    noted.edit("zoo/leaf.py", "ONE = 2", "ONE = 1")
    assert noted.run(CALL_OUTER).compiled == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("import zoo.leaf; zoo.leaf.ONE = 4", 5000.0),
        ("import zoo.leaf, zoo.middle, zoo.beside; zoo.middle.leaf = zoo.beside.beside", 1000.0),
        ("import zoo.leaf; zoo.leaf.leaf.py_func.__code__ = (lambda x: x + 7).__code__", 8000.0),
    ],
    ids=["constant", "kernel", "code"],
)
def test_what_is_changed_in_the_process_counts(noted: Workshop, change: str, expected: float) -> None:
    for _ in range(2):  # the second time there is a note about that, too
        assert noted.run(f"{change}\n{CALL_OUTER}").result == expected
    assert noted.run(CALL_OUTER).result == 2000.0


def test_a_module_that_was_loaded_again_counts_for_those_that_import_it_again(noted: Workshop) -> None:
    reload = f"""
import importlib, pathlib, zoo, zoo.leaf
file = pathlib.Path(zoo.leaf.__file__)
file.write_text(file.read_text().replace("ONE = 1", "ONE = 9"))
importlib.reload(zoo.leaf)
{CALL_OUTER}
"""
    assert noted.run(reload).result == 10000.0  # `ONE` is looked up in the one module that there is
    assert noted.run(CALL_OUTER).result == 10000.0


def test_numba_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, json, kinemorph as km; km.aba, km.simulate, km.World; print(json.dumps('numba' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False
