"""Kernels that are part of their callers, and kernels that are units of machine code of their own."""

import signal

import pytest
from tests.needs import linux
from tests.workshop import Workshop

UNITS = {
    "units.py": """
from kinemorph.jit.api import entry, kernel

@kernel
def part(x):
    return 2.0 * x

@kernel(inline=False)
def often(x: float) -> float:
    return part(x) + 1.0

@kernel(inline=False)
def seldom(x: float) -> tuple[float, int]:
    return part(x) + 100.0, 3

@kernel(inline=False)
def untold(x):
    return part(x) + 10.0

@entry
def ask(x: float):
    if x > 10.0:
        return seldom(x)[0]
    return often(x) + untold(x)

@entry
def late(turns: int):
    x = 1.0
    for _ in range(turns):
        x = 1.0 + 1.0 / (1.0 + x)
    return often(0.0 * x)
""",
    "mine.py": """
import numba, units

@numba.njit(cache=True)
def mine(x):
    return units.part(x) + units.often(x) + units.ask(20.0)
""",
}


@pytest.fixture
def units(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.write(UNITS)
    return workshop


def test_units_are_compiled_when_they_are_first_called(units):
    usual, rare = "import units; result = units.ask(1.0)", "import units; result = units.ask(20.0)"
    first = units.run(usual)
    assert (first.result, first.compiled) == (15.0, 4)  # ask, often, untold, part
    second = units.run(rare)
    assert (second.result, second.compiled) == (140.0, 1)
    both = units.run("import units; result = units.ask(1.0) + units.ask(20.0)")
    assert (both.result, both.compiled) == (155.0, 0)


def test_a_unit_that_is_gone_from_the_cache_is_compiled_again(units):
    units.run("import units; result = units.ask(1.0)")
    (file,) = units.kept("units.often")
    file.unlink()
    again = units.run("import units; result = units.ask(1.0)")
    assert (again.result, again.compiled) == (15.0, 1)


def test_units_of_a_kernel_that_is_found_are_loaded_without_a_look_at_their_sources(units):
    """The key of the kernel covers them: to find that of each unit anew took most of a warm start."""
    units.run("import units; result = units.ask(1.0)")
    program = """
import units
from kinemorph.jit.cache import keys
asked, version_key = [], keys.version_key
keys.version_key = lambda kernel, *types: asked.append(kernel.__name__) or version_key(kernel, *types)
result = [units.ask(1.0), asked]
"""
    again = units.run(program)
    assert (again.result, again.compiled, again.loaded) == ([15.0, []], 0, 3)  # there is a note about the kernel
    for note in units.cache.glob("kernels/*.note"):
        note.unlink()
    again = units.run(program)
    assert (again.result, again.compiled, again.loaded) == ([15.0, ["ask"]], 0, 3)


def test_edits_reach_a_unit_that_its_caller_does_not_import(tmp_path):
    """What the unit's module imports is behind the keys of both."""
    workshop = Workshop(tmp_path)
    workshop.write(
        {
            "pack/__init__.py": "",
            "pack/grow.py": """
from kinemorph.jit.api import overload
def grow(x):
    return x + 1.0
@overload(grow)
def typed_grow(x):
    return lambda x: x + 1.0
""",
            "pack/held.py": """
from kinemorph.jit.api import kernel
from pack.grow import grow
@kernel(inline=False)
def unit(x: float) -> float:
    return grow(x)
""",
            "pack/holder.py": """
from kinemorph.jit.api import entry
def caller(unit):
    @entry
    def ask(x: float) -> float:
        return 10.0 * unit(x)
    return ask
""",
        }
    )
    program = "from pack import held, holder; result = holder.caller(held.unit)(1.0)"
    assert [(run.result, run.compiled) for run in (workshop.run(program), workshop.run(program))] == [
        (20.0, 2),
        (20.0, 0),
    ]
    workshop.edit("pack/grow.py", "lambda x: x + 1.0", "lambda x: x + 2.0")
    edited = workshop.run(program)
    assert (edited.result, edited.compiled) == (30.0, 2)
    workshop.edit("pack/held.py", "(x: float) -> float", "(x: float) -> int")
    workshop.edit("pack/held.py", "return grow(x)", "return int(grow(x))")
    assert workshop.run(program).result == 30.0  # the caller reads another type


def test_a_module_that_is_loaded_again_spoils_nothing(tmp_path):
    """A unit that is first called after its module was loaded again is that of its caller, here and on the disk."""
    workshop = Workshop(tmp_path)
    workshop.write(
        {
            "pack/__init__.py": "",
            "pack/held.py": """
from kinemorph.jit.api import kernel
@kernel(inline=False)
def unit(x: float) -> float:
    return x + 1.0
""",
            "pack/holder.py": """
from kinemorph.jit.api import entry
from pack.held import unit
@entry
def ask(x: float) -> float:
    if x > 10.0:
        return unit(x)
    return x
""",
        }
    )
    assert workshop.run("from pack.holder import ask; result = ask(1.0)").result == 1.0
    again = """
import importlib, pathlib, pack.holder, pack.held
pack.holder.ask(1.0)
file = pathlib.Path(pack.held.__file__)
text = file.read_text()
file.write_text(text.replace("x + 1.0", "x + 2.0"))
importlib.reload(pack.held)
result = pack.holder.ask(20.0)
file.write_text(text)
"""
    assert workshop.run(again).result == 21.0
    assert workshop.run("from pack.holder import ask; result = ask(20.0)").result == 21.0


def test_functions_of_other_users_may_call_kernels(units):
    """Numba keeps such a function on disk only if it can be whole without ours."""
    program = "import warnings; warnings.simplefilter('ignore'); import mine; result = mine.mine(1.0)"
    assert [units.run(program).result for _ in range(2)] == [145.0, 145.0]


@linux
def test_an_interrupt_while_a_unit_is_compiled_comes_when_the_kernel_is_done(units):
    program = """
import os, signal, time, units
from kinemorph.jit.compiler import calls
def interrupted(before):
    def address():
        os.kill(os.getpid(), signal.SIGINT)
        return before()
    return address
units.ask.compile((__import__("numba").float64,))
for key, before in list(calls._addresses.items()):
    calls._addresses[key] = interrupted(before)
try:
    assert units.ask(1.0) == 15.0
    time.sleep(60.0)
except KeyboardInterrupt:
    time.sleep(1.0)  # two units were brought, and each was interrupted: it is heard once
    result = units.ask(1.0)
"""
    outcome = units.run(program)
    assert outcome.result == 15.0
    assert outcome.stderr.count("interrupted: this call ends when what it needs is compiled") == 1


@linux
def test_the_third_interrupt_ends_a_program_that_compiles_at_once(units):
    program = """
import os, signal, time, units
from kinemorph.jit.compiler import calls
def impatient():
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60.0)
units.ask.compile((__import__("numba").float64,))
for key in list(calls._addresses):
    calls._addresses[key] = impatient
result = units.ask(1.0)
"""
    process = units.start(program)
    assert process.communicate(timeout=120)[0] == ""
    assert process.returncode == -signal.SIGINT


def test_an_interrupt_that_waits_for_a_kernel_does_not_keep_it_from_calling_a_unit(units):
    """It is raised by whatever Python runs first, in the midst of the kernel."""
    program = """
import signal, time, units
signal.signal(signal.SIGALRM, signal.default_int_handler)
units.late.compile((__import__("numba").int64,))
signal.setitimer(signal.ITIMER_REAL, 0.01)
try:
    assert units.late(100_000_000) == 1.0
    time.sleep(60.0)
except KeyboardInterrupt:
    result = units.late(1)
"""
    assert units.run(program).result == 1.0


ROWS = {
    "rows.py": """
import numpy as np
from kinemorph.jit.api import entry, kernel
A, B = np.dtype([("x", "f8")], align=True), np.dtype([("x", "f8"), ("y", "f8")], align=True)

@kernel
def leaf(row):
    return 2.0 * row["x"]

@kernel
def middle(row):
    return leaf(row) + 1.0

@entry
def near(rows):
    return leaf(rows[0])

@entry
def far(rows):
    return middle(rows[0])
"""
}


def test_parts_fit_together_whichever_process_made_them(tmp_path):
    """Numba numbers types as they come: names that say these numbers would be others in another process."""
    workshop = Workshop(tmp_path)
    workshop.write(ROWS)
    call = "import numpy as np, rows; result = rows.{}(np.ones(1, rows.{})); "
    workshop.run(call.format("far", "A") + call.format("far", "B"))
    for file in workshop.kept("rows.leaf") + workshop.kept("rows.far"):
        file.unlink()
    workshop.run(call.format("near", "B") + call.format("near", "A"))
    later = workshop.run(call.format("far", "A"))
    assert (later.result, later.compiled) == (3.0, 1)  # far alone, of the first process's middle and the second's leaf


TABLES = {
    "tables.py": """
from kinemorph.jit.api import entry, kernel

@kernel(inline=False)
def seldom(table, x: float) -> int:
    return int(table[0, 0] + x)

@entry
def ask(table, x: float):
    return seldom(table, x) if x > 10.0 else 1
"""
}


def test_units_that_get_tables_and_return_a_status_are_compiled_when_they_are_first_called(tmp_path):
    """A table may be that of lanes, which makes lanes of floats; a status stays one."""
    workshop = Workshop(tmp_path)
    workshop.write(TABLES)
    call = "import numpy as np, tables; result = tables.ask(np.ones((1, 4)), {})"
    usual, rare = workshop.run(call.format(1.0)), workshop.run(call.format(20.0))
    assert (usual.result, usual.compiled) == (1, 1)
    assert (rare.result, rare.compiled) == (21, 1)


FAILING = {
    "failing.py": """
from kinemorph.jit.api import entry, kernel

@kernel
def sure(x):
    return max(2.0 * x, x + 1.0)

@kernel
def checked(x):
    if x < 0.0:
        raise ValueError("below zero")
    return sure(x)

@kernel
def between(x):
    return sure(checked(x))

@entry
def ask(x: float):
    return between(x)

@entry
def ask_later(x: float):
    return between(x) + 1.0
"""
}


def test_what_a_part_raises_comes_through_whether_it_was_compiled_or_loaded(tmp_path):
    """Callers do not look at the status of parts that cannot fail: which ones can is known from the cache, too."""
    workshop = Workshop(tmp_path)
    workshop.write(FAILING)
    ask = """
import failing
try:
    result = [failing.{0}(3.0)]
    failing.{0}(-1.0)
except ValueError as error:
    result += [str(error)]
"""
    first, later = workshop.run(ask.format("ask")), workshop.run(ask.format("ask_later"))
    assert (first.result, first.compiled) == ([12.0, "below zero"], 4)
    assert (later.result, later.compiled, later.loaded) == ([13.0, "below zero"], 1, 3)


def test_kernels_that_are_parts_of_others_get_no_machine_code(tmp_path):
    """Functions of Numba that they take in, such as `max`, do, and other users of Numba may call these."""
    workshop = Workshop(tmp_path)
    workshop.write(FAILING)
    count = """
from kinemorph.jit import api; api.machinery()
from kinemorph.jit.compiler import library
made, finalize = [], library.KernelLibrary.finalize
def noted(library):
    if library.name != "nrt":  # Numba's own, for memory
        made.append(library.name)
    finalize(library)
library.KernelLibrary.finalize = noted
import failing, numba
result = [failing.ask(3.0), sorted(set(made) & set(vars(failing)))]
@numba.njit
def theirs(x):
    return max(2.0 * x, x + 1.0)
result += [theirs(3.0)]
"""
    assert workshop.run(count).result == [12.0, ["ask"], 6.0]
