"""Numba's private names: in one folder only, looked at before use, and without effect on other users of Numba."""

import ast
import inspect
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding
import llvmlite.ir
import numba
import pytest
from tests.workshop import CALL_OUTER, SOURCES, ZOO, Workshop

from kinemorph.jit.compiler import numba_names

PACKAGE = SOURCES / "kinemorph"


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


# --- private names, in one folder ---

FOLDER = "jit/compiler"
DOCUMENTED = {  # by the manuals of Numba and llvmlite, with all that is in them
    *("numba.types", "numba.config", "numba.extending", "numba.core.cgutils", "numba.__version__"),
    *("llvmlite.ir", "llvmlite.binding", "llvmlite.__version__"),
    *(f"numba.{name}" for name in numba.__all__),
}
MOST_PATHS, MOST_ATTRIBUTES = 55, 22  # of 94 and 27 before most substitutes were dropped


def is_private(path: str) -> bool:
    """Whether a dotted path is one of Numba or llvmlite that their manuals do not document."""
    parts = path.split(".")
    if parts[0] not in ("numba", "llvmlite") or len(parts) == 1:
        return False
    is_documented = any(path == name or path.startswith(f"{name}.") for name in DOCUMENTED)
    return not is_documented or any(re.match("_[^_]", part) for part in parts)


def exists(path: str) -> bool:
    """Whether there is something of Numba or llvmlite at a path."""
    found: object = {"numba": numba, "llvmlite": llvmlite}.get(path.split(".")[0])
    for name in path.split(".")[1:]:
        found = getattr(found, name, None) if found is not None else None
    return found is not None


def named(text: str) -> str:
    """The path that a text names, with the name of Numba or llvmlite in front of it or without; "" if none."""
    is_path = re.fullmatch(r"[A-Za-z_]\w*(\.\w+)+", text)
    return next((path for path in (text, f"numba.{text}", f"llvmlite.{text}") if exists(path)), "") if is_path else ""


def chain(node: ast.AST, names: dict[str, str]) -> str | None:
    """What `a.b.c` stands for, if `a` is a name that an import has given to a module."""
    if isinstance(node, ast.Attribute):
        owner = chain(node.value, names)
        return owner and f"{owner}.{node.attr}"
    return names.get(node.id) if isinstance(node, ast.Name) else None


def paths_in(source: str) -> set[str]:
    """The private paths that a source imports, reaches as attributes, or has in a text."""
    tree, names, used = ast.parse(source), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            used.update(alias.name for alias in node.names)
            for alias in node.names:
                first = alias.name.split(".")[0]
                names |= {alias.asname: alias.name} if alias.asname else {first: first}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            used.update(f"{node.module}.{alias.name}" for alias in node.names)
    names.setdefault("numba", "numba")  # a parameter, perhaps
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            path = chain(node, names) or ""
            used.update([path] if exists(path) else [])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            used.add(named(node.value))
        elif isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            path = f"{chain(node.args[0], names)}.{node.args[1].value}"  # getattr(numba, "core")
            used.update([path] if exists(path) else [])
    return {path for path in used if is_private(path)}


def underscored(classes: tuple[type, ...]) -> set[str]:
    """The attributes of classes that begin with one underscore, with those that their methods give to `self`."""
    found = set()
    for owner in {base for kind in classes for base in kind.__mro__}:
        found.update(vars(owner))
        for member in vars(owner).values():
            code = getattr(inspect.unwrap(member), "__code__", None) if callable(member) else None
            found.update(code.co_names if code else ())
    return {name for name in found if re.match("_[^_]", name)} - {*vars(NamedTuple("Row", [("x", int)]))}


def attributes_in(source: str, known: set[str]) -> set[str]:
    """The attributes with an underscore that a source asks other objects for, and that are known ones of Numba."""
    tree = ast.parse(source)
    made = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            made.add(node.attr)
    asked = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return (asked & known) - made


@pytest.fixture(scope="module")
def known_attributes() -> set[str]:
    from numba.core import base, codegen, compiler, dispatcher, lowering, registry, typing
    from numba.np import arrayobj  # noqa: F401

    library = (codegen.JITCodeLibrary, codegen.JITCPUCodegen, compiler.CompileResult, compiler.Compiler)
    context = (base.BaseContext, typing.Context, lowering.Lower, registry.CPUDispatcher, dispatcher._FunctionCompiler)
    text = (llvmlite.ir.Module, llvmlite.ir.IRBuilder, llvmlite.ir.Block, llvmlite.ir.Function, llvmlite.ir.Type)
    return underscored((*library, *context, *text)) | {"_numba_type_"}


def private_names(root: Path, known: set[str]) -> dict[str, set[str]]:
    """By file: the private paths and attributes that it uses."""
    files = {file.relative_to(root).as_posix(): file.read_text("utf-8") for file in root.rglob("*.py")}
    found = {name: paths_in(text) | attributes_in(text, known) for name, text in files.items()}
    return {name: names for name, names in found.items() if names}


@pytest.fixture(scope="module")
def users(known_attributes) -> dict[str, set[str]]:
    return private_names(PACKAGE, known_attributes)


def test_no_private_name_outside_one_folder(users):
    assert {name: names for name, names in users.items() if not name.startswith(FOLDER)} == {}
    assert f"{FOLDER}/numba_names.py" in users


PLANTED = {
    "import numba.core.compiler": "numba.core.compiler",
    "from numba.core import ir as numbas": "numba.core.ir",
    "from numba.np.arrayobj import make_array": "numba.np.arrayobj.make_array",
    "import numba\nnumba.core.registry.CPUDispatcher": "numba.core.registry.CPUDispatcher",
    "import numba as nb\nnb.core.errors": "numba.core.errors",
    "def register(numba):\n    numba.core.typing.templates": "numba.core.typing.templates",
    "import numba\ngetattr(numba, 'core')": "numba.core",
    "import importlib\nimportlib.import_module('numba.misc.special')": "numba.misc.special",
    "found('core.codegen.CPUCodegen')": "numba.core.codegen.CPUCodegen",
    "NAMES = {'np.arrayobj.basic_indexing': 1}": "numba.np.arrayobj.basic_indexing",
    "import llvmlite.ir as ir\nir.values._Undefined": "llvmlite.ir.values._Undefined",
    "of_llvmlite('binding.ffi._lib_fn_wrapper')": "llvmlite.binding.ffi._lib_fn_wrapper",
    "def flags(kernel):\n    return kernel._compiler": "_compiler",
    "def kind(kernel):\n    return kernel.dispatcher._numba_type_": "_numba_type_",
}


@pytest.mark.parametrize("source", PLANTED)
def test_a_private_name_anywhere_else_is_found(tmp_path, known_attributes, source):
    planted = tmp_path / "world" / "planted.py"
    planted.parent.mkdir()
    planted.write_text(source)
    (tmp_path / "world" / "innocent.py").write_text("from numba import types\nimport llvmlite.ir as ir\nir.Constant")
    found = private_names(tmp_path, known_attributes)
    assert list(found) == ["world/planted.py"]
    assert PLANTED[source] in found["world/planted.py"]


def test_private_names_become_no_more(users):
    """A path on the way to another one is not counted again."""
    names = set().union(*users.values())
    paths = {name for name in names if "." in name}
    leaves = {path for path in paths if not any(other.startswith(f"{path}.") for other in paths)}
    assert len(leaves) <= MOST_PATHS
    assert len(names - paths) <= MOST_ATTRIBUTES


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


def test_substitutes_are_left_out_where_numba_works_in_another_way(workshop):
    workshop.write(ZOO)
    wrap = """
import numba
from numba.core import callconv, lowering
def wrapped(owner, name):
    within = getattr(owner, name)
    setattr(owner, name, lambda *arguments, **keywords: within(*arguments, **keywords))
wrapped(lowering.Lower, "storevar")
wrapped(callconv.CPUCallConv, "call_function")
"""
    ask = """
from kinemorph.jit.compiler import numba_names, pipeline
names = [name for _, name, _ in pipeline._substitutes()]
result = [result, numba_names.values_are_found, "call_function" in names, "fix_integer_index" in names]
"""
    ours, others = (workshop.run(before + CALL_OUTER + ask) for before in ("", wrap))
    assert (ours.result, ours.compiled) == ([2000.0, True, True, True], 3)
    assert (others.result, others.loaded) == ([2000.0, False, False, True], 1)
    workshop.edit("zoo/leaf.py", "x + 1", "x + 2")
    changed = workshop.run(wrap + CALL_OUTER)
    assert (changed.result, changed.compiled) == (3000.0, 3)


def test_without_what_has_no_substitute_the_first_kernel_says_what_to_install(workshop):
    call = "from kinemorph.jit.api import kernel; kernel(lambda x: x)(1.0)"
    process = workshop.start(f"import numba; del numba.core.cgutils.create_struct_proxy; {call}")
    _, stderr = process.communicate(timeout=120)
    assert process.returncode != 0
    last = stderr.splitlines()[-1]
    assert last.startswith("ImportError: arrays in Numba ")
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
