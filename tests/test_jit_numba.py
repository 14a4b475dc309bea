"""What is used of Numba beyond its promises: by one file only, looked at before use, and to nobody else's cost."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from tests.workshop import CALL_OUTER, SOURCES, ZOO, Workshop

from kinemorph.jit.compiler import numba_names

PACKAGE = SOURCES / "kinemorph"


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


# --- one file ---

PROMISED = {"numba", "numba.types", "numba.extending", "llvmlite", "llvmlite.ir", "llvmlite.binding"}


def used_modules(file: Path) -> set[str]:
    """The modules of Numba and llvmlite that a file imports, or reaches by their name."""
    used = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            used.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            used.add(node.module)
            used.update(f"numba.{alias.name}" for alias in node.names if alias.name in ("core", "np", "misc"))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba":
            used.update([f"numba.{node.attr}"] if node.attr in ("core", "np", "misc") else [])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("numba."):
            used.add(node.value)
    return {name for name in used if name.split(".")[0] in ("numba", "llvmlite")}


def test_one_file_uses_what_numba_does_not_promise():
    users = {file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py") if used_modules(file) - PROMISED}
    assert users == {"jit/compiler/numba_names.py"}


def test_bounds_of_the_requirement_are_the_tested_versions():
    project = tomllib.loads((SOURCES.parent / "pyproject.toml").read_text())["project"]
    (requirement,) = [text for text in project["dependencies"] if text.startswith("numba")]
    (_, oldest), (major, newest) = numba_names.TESTED
    assert requirement == f"numba>={major}.{oldest},<{major}.{newest + 1}"


# --- looked at before use ---

OTHER_NUMBA = {  # how a later Numba might differ
    "method gone": "del numba.core.compiler.CompileResult._rebuild",
    "property gone": "del numba.core.codegen.CodeLibrary.has_dynamic_globals",
    "machine unknown": "del numba.core.codegen.CPUCodegen.magic_tuple",
    "dispatcher renamed": """
numba.core.registry.Dispatcher = numba.core.registry.CPUDispatcher
del numba.core.registry.CPUDispatcher
""",
    "count renamed": """
import inspect
from numba.core import bytecode
exec(inspect.getsource(bytecode).replace("_unique_ids", "_count"), vars(bytecode))
""",
    "cache elsewhere": """
def compile(self, sig, within=numba.core.dispatcher.Dispatcher.compile):
    return within(self, sig)
numba.core.dispatcher.Dispatcher.compile = compile
""",
}
CALL_AND_REFUSE = """
import numpy as np, zoo
result = [zoo.outer(1.0), zoo.outer(x=2.0)]
for bad in np.float32(1.0), [1.0]:
    try:
        zoo.outer(bad)
    except TypeError as error:
        result.append(str(error))
from kinemorph.jit.api import kernel
@kernel
def twice(x):
    return 2 * zoo.outer(x)
result.append(twice(1.0))
"""


@pytest.mark.parametrize("change", OTHER_NUMBA)
def test_without_a_private_name_kernels_work_and_one_sentence_says_they_are_not_kept(workshop, change):
    workshop.write(ZOO)
    outcome = workshop.run(f"import numba\n{OTHER_NUMBA[change]}\n{CALL_AND_REFUSE}")
    refusals = ["outer: x must be float, not float32", "outer: x must be float, not list"]
    assert outcome.result == [2000.0, 3000.0, *refusals, 4000.0]
    sentence = r"kinemorph: compiled kernels are not kept: numba\.core\.\S+ in Numba \S+ is not as in .* 0\.66 to .*\n"
    assert re.fullmatch(sentence, outcome.stderr)
    assert workshop.kept() == []


@pytest.mark.parametrize(
    ("path", "mentions", "there"),
    [
        ("core.sigutils.normalize_signature", "", True),
        ("core.sigutils.normalize_signature", "sig return_type", True),
        ("core.sigutils.normalize_signature", "other_parameter", False),
        ("core.sigutils.no_such_name", "", False),
        ("core.no_such_module.name", "", False),
        ("core.sigutils", "a module has no code", False),
    ],
)
def test_probes_see_what_is_gone_or_works_in_another_way(path, mentions, there):
    fault = numba_names._fault({path: mentions})
    assert fault is None if there else fault.startswith(f"numba.{path} in Numba ")


def test_without_the_option_to_leave_memory_alone_kernels_still_work(workshop):
    workshop.write(ZOO)
    forget = """
import numba
for options in numba.core.cpu.CPUTargetOptions.__mro__:
    if "_nrt" in vars(options):
        del options._nrt
"""
    outcome = workshop.run(forget + CALL_OUTER)
    assert (outcome.result, outcome.compiled) == (2000.0, 3)


def test_short_cuts_are_left_out_where_numba_works_in_another_way(workshop):
    workshop.write(ZOO)
    wrap = """
import numba
from numba.core import callconv, lowering, typeinfer
def wrapped(owner, name):
    within = getattr(owner, name)
    setattr(owner, name, lambda *arguments, **keywords: within(*arguments, **keywords))
wrapped(lowering.Lower, "getvar")
wrapped(callconv.CPUCallConv, "call_function")
wrapped(typeinfer.ConstraintNetwork, "propagate")
"""
    ask = """
from kinemorph.jit.compiler import numba_names, pipeline
names = [name for _, name, _ in pipeline._substitutes()]
result = [result, numba_names.lowers_plainly, *(name in names for name in ("call_function", "propagate", "find"))]
"""
    ours, others = (workshop.run(before + CALL_OUTER + ask) for before in ("", wrap))
    assert (ours.result, ours.compiled) == ([2000.0, True, True, True, True], 3)
    assert (others.result, others.loaded) == ([2000.0, False, False, False, True], 1)
    workshop.edit("zoo/leaf.py", "x + 1", "x + 2")
    changed = workshop.run(wrap + CALL_OUTER)
    assert (changed.result, changed.compiled) == (3000.0, 3)


def test_without_what_has_no_substitute_the_first_kernel_says_what_to_install(workshop):
    call = "from kinemorph.jit.api import kernel; kernel(lambda x: x)(1.0)"
    process = workshop.start(f"import numba; del numba.core.cgutils.create_struct_proxy; {call}")
    _, stderr = process.communicate(timeout=120)
    assert process.returncode != 0
    last = stderr.splitlines()[-1]
    assert last.startswith("ImportError: numba.core.cgutils.create_struct_proxy in Numba ")
    assert last.endswith("which kinemorph cannot do without: install one of those")


@pytest.mark.parametrize("version", ["0.65.1", "0.99.0rc1", "0+unknown"])
def test_untested_numba_is_used_with_one_warning(workshop, version):
    workshop.write(ZOO)
    renumber = f"import numba; numba.__version__ = {version!r}\n"
    told = [workshop.run(renumber + CALL_OUTER) for _ in range(2)]
    assert [(outcome.result, outcome.compiled) for outcome in told] == [(2000.0, 3), (2000.0, 0)]
    assert re.fullmatch(rf"kinemorph: Numba {re.escape(version)} is not one that .* tested .*\n", told[1].stderr)


def test_without_jit_nothing_is_said_about_numba(workshop):
    workshop.write(ZOO)
    silent = workshop.run("import numba; numba.__version__ = '0.99.0'\n" + CALL_OUTER, NUMBA_DISABLE_JIT="1")
    assert (silent.result, silent.stderr) == (2000.0, "")


def test_dynamics_are_the_same_without_the_cache(workshop):
    """The whole way: kernels that call kernels, rows by their address, overloads for lanes."""
    code = """
import kinemorph as km
builder = km.Builder("pendulum")
builder.link("arm", joint=km.Joint.revolute("y"), inertia=km.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1)))
model = builder.build()
result = km.crba(model, km.Data(model), [0.5]).tolist()
"""
    outcome = workshop.run("import numba; del numba.core.compiler.CompileResult._rebuild\n" + code)
    assert outcome.result == [[pytest.approx(1 / 3, rel=1e-12)]]


# --- other users of Numba ---

FACTORY = """
import math
import numba
from kinemorph.jit.api import kernel
def make(factor):
    @kernel
    def scaled(x):
        return factor * x
    return scaled
def make_theirs(factor):
    @numba.njit
    def scaled(x):  # too long for LLVM to make it part of its caller
        for _ in range(3):
            x = math.sin(x) + math.cos(x) + math.tan(x) + math.exp(-x * x) + math.atan(x) + math.log(1 + x * x)
            x = math.sinh(x / 9) + math.cosh(x / 9) + math.atan2(x, 2) + math.tanh(x) + math.acosh(1 + x * x)
        return factor + 0 * x
    return scaled
def make_around(theirs):
    @kernel
    def around(x):
        return theirs(x)
    return around
def call_both(first, second):
    first(1.0), second(1.0)
    @kernel
    def both(x):
        return first(x), second(x)
    return both(1.0)
"""


def test_other_users_count_goes_on_as_if_there_were_no_kinemorph(workshop):
    workshop.write(ZOO)
    code = """
from numba import njit
from numba.core.bytecode import FunctionIdentity
def name(function):
    function(1.0)
    (compiled,) = function.overloads.values()
    return compiled.fndesc.uid
names = [name(njit(lambda x: x + 1))]
import kinemorph, zoo
names.append(name(njit(lambda x: x + 2)))
zoo.outer(1.0)
names.append(name(njit(lambda x: x + 3)))
try:
    zoo.beside.beside(object())
except Exception:
    names.append(name(njit(lambda x: x + 4)))
result = names
"""
    first, *others = workshop.run(code).result
    assert others == [first + 1, first + 2, first + 3]


def test_closures_that_a_forked_process_compiles_are_told_apart(workshop):
    """Both processes go on from the same state: what one of them keeps on disk, the other loads."""
    workshop.write({"factory.py": FACTORY})
    code = """
import os
from factory import make, call_both
make(1)(1.0)
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    result = call_both(make(3), make(2))
else:
    make(2)(1.0)
    os._exit(0)
"""
    forked = workshop.run(code)
    assert (forked.result, forked.loaded) == ([3.0, 2.0], 1)


def test_closures_that_others_gave_to_numba_are_told_apart(workshop):
    """Numba names them by its own count, which is the same in every process."""
    workshop.write({"factory.py": FACTORY})
    one = "from factory import *; theirs = make_theirs(2); theirs(1.0); result = make_around(theirs)(1.0)"
    assert workshop.run(one).result == 2.0
    two = "from factory import *; theirs = make_theirs(3); theirs(1.0)\n"
    two += "result = call_both(make_around(theirs), make_around(make_theirs(2)))"
    assert workshop.run(two).result == [3.0, 2.0]


TEXT = """
from kinemorph.jit import api; api.machinery()
import contextlib
import llvmlite.ir as ir
from kinemorph.jit.compiler import lowering, pipeline

def written():
    module = ir.Module("m")
    number = ir.DoubleType()
    function = ir.Function(module, ir.FunctionType(number, [number, ir.PointerType(number)]), "f")
    for argument, name in zip(function.args, ['a"b', "c"]):
        argument.name = name
    builder = ir.IRBuilder(function.append_basic_block("first"))
    total = builder.fadd(function.args[0], builder.load(function.args[1]), name="x")
    for name in ("x", "x", "x.1", ""):
        total = builder.fmul(total, total, name=name)
    with builder.if_then(builder.fcmp_ordered("<", total, number(2.0)), likely=False):
        builder.store(total, function.args[1])
    builder.ret(builder.call(function, function.args, name="again"))
    return str(module)

plain = written()
with contextlib.ExitStack() as changes:
    substitutes = lowering.text_substitutes()
    for change in substitutes:
        changes.enter_context(pipeline._changed(*change))
    ours = written()
result = [len(substitutes), ours == plain, written() == plain]
"""


def test_text_for_llvm_is_what_llvmlite_writes(workshop):
    assert workshop.run(TEXT).result == [7, True, True]
