"""The kernel decorators and their cache: small packages, written here, that real processes import."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.needs import linux
from tests.workshop import CALL_OUTER, ZOO, Workshop

from kinemorph.jit.api import cache_folder, generic, kernel, rows_at
from kinemorph.jit.cache.keys import kernel_key
from kinemorph.jit.cache.machine_code import checksum


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


@pytest.fixture(scope="module")
def warm_zoo(tmp_path_factory):
    """The zoo after its first run; tests copy it."""
    workshop = Workshop(tmp_path_factory.mktemp("zoo"))
    workshop.write(ZOO)
    return workshop, workshop.run(CALL_OUTER)


@pytest.fixture
def zoo(warm_zoo, tmp_path):
    shutil.copytree(warm_zoo[0].folder, tmp_path, dirs_exist_ok=True)
    return Workshop(tmp_path)


# --- what is compiled when ---


def test_first_process_compiles_and_says_so_once(warm_zoo):
    workshop, first = warm_zoo
    assert (first.result, first.compiled, first.loaded) == (2000.0, 3, 0)
    where = f"kept in {workshop.cache}; all at once: kinemorph warm"
    assert first.stderr == f"kinemorph: compiling outer and what it calls, a moment (first use; {where})\n"


def test_second_process_compiles_nothing_and_says_nothing(zoo):
    second = zoo.run(CALL_OUTER)
    assert (second.result, second.compiled, second.loaded) == (2000.0, 0, 1)
    assert second.stderr == ""


def test_edit_of_callee_in_another_module_reaches_callers(zoo):
    zoo.edit("zoo/leaf.py", "x + 1", "x + 2")
    edited = zoo.run(CALL_OUTER)
    assert (edited.result, edited.compiled) == (3000.0, 3)


def test_edit_compiles_no_more_than_it_must(zoo):
    zoo.edit("zoo/beside.py", "return x", "return 2 * x")
    assert zoo.run(CALL_OUTER).compiled == 0
    zoo.edit("zoo/outer.py", "100", "1000")
    edited = zoo.run(CALL_OUTER)
    assert (edited.result, edited.compiled, edited.loaded) == (20000.0, 1, 2)


def test_edit_between_import_and_first_call_does_not_poison_the_cache(zoo):
    shutil.rmtree(zoo.cache)
    edit = "import zoo, pathlib; p = pathlib.Path(zoo.__path__[0], 'leaf.py')"
    edit += "; p.write_text(p.read_text().replace('x + 1', 'x + 4')); result = zoo.outer(1.0)"
    assert zoo.run(edit).result == 2000.0
    assert zoo.run(CALL_OUTER).result == 5000.0


def test_edit_of_an_overload_reaches_kernels_that_use_it(workshop):
    workshop.write(
        {
            "pack/__init__.py": "",
            "pack/extension.py": """
from kinemorph.jit.api import overload
def double(x):
    return 2 * x
@overload(double)
def typed_double(x):
    return lambda x: 2 * x
""",
            "pack/user.py": """
from kinemorph.jit.api import kernel
from pack.extension import double
@kernel
def use(x):
    return double(x)
""",
        }
    )
    call = "from pack.user import use; result = use(1.0)"
    assert workshop.run(call).result == 2.0
    extension = workshop.folder / "pack/extension.py"
    before = extension.stat()
    workshop.edit("pack/extension.py", "lambda x: 2", "lambda x: 3")
    os.utime(extension, ns=(before.st_atime_ns, before.st_mtime_ns))  # same size and time: the content counts
    assert workshop.run(call).result == 3.0


def test_edit_of_a_version_for_lanes_reaches_kernels_that_do_not_import_it(workshop):
    imports = "from kinemorph.jit.api import for_lanes, generic, kernel\n"
    workshop.write(
        {
            "pack/__init__.py": "",
            "pack/scalars.py": imports + "@generic\ndef get(a):\n    return a[0]\n",
            "pack/lanes.py": imports
            + "from pack import scalars\n@for_lanes(scalars.get)\ndef get(a):\n    return a[0, 0] + 1\n",
            "pack/inner.py": imports + "from pack.scalars import get\n@kernel\ndef inner(a):\n    return get(a)\n",
            "pack/outer.py": imports
            + "from pack import inner, lanes\n@kernel\ndef outer(a):\n    return inner.inner(a)\n",
        }
    )
    call = "import numpy as np; from pack.outer import outer; result = outer(np.ones((2, 2)))"
    assert workshop.run(call).result == 2.0
    assert workshop.run(call).compiled == 0
    workshop.edit("pack/lanes.py", "+ 1", "+ 2")
    assert workshop.run(call).result == 3.0


def test_edit_of_a_version_for_lanes_reaches_kernels_of_rows_with_lanes(workshop):
    """The row does not say that it is of lanes; what is in it does."""
    imports = "import numpy as np\nfrom kinemorph.jit.api import for_lanes, generic, kernel\n"
    workshop.write(
        {
            "pack/__init__.py": "",
            "pack/scalars.py": imports + "@generic\ndef get(a):\n    return a[0]\n",
            "pack/lanes.py": imports
            + "from pack import scalars\n@for_lanes(scalars.get)\ndef get(a):\n    return a[0, 0] + 1\n",
            "pack/inner.py": imports
            + "from pack.scalars import get\n@kernel\ndef first(a):\n    return get(a)\n"
            + '@kernel\ndef inner(row):\n    return first(row["x"])\n',
            "pack/outer.py": imports
            + "from pack import inner, lanes\n@kernel\ndef outer(rows):\n    return inner.inner(rows[0])\n",
        }
    )
    rows = "np.ones(1, [('x', 'f8', (2, 4))])"
    call = f"import numpy as np; from pack.outer import outer; result = outer({rows})"
    assert workshop.run(call).result == 2.0
    assert workshop.run(call).compiled == 0
    workshop.edit("pack/lanes.py", "+ 1", "+ 2")
    assert workshop.run(call).result == 3.0


def test_keys_do_not_depend_on_what_else_is_imported():
    """Forces on the links are an array of two dimensions, as lanes are. Where nothing had imported the lanes, aba was
    compiled although a pack had it."""
    program = """
import sys
from numba import types
from kinemorph.jit.cache.keys import version_key
from kinemorph.multibody.algorithms.aba import _aba
one, two = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
arguments = (types.int64, one, one, one, two, one)
print("kinemorph.spatial.lanes.lane_math" in sys.modules, version_key(_aba, arguments, None))
"""
    found = []
    for imports in ("", "import kinemorph.motion.parallel.batch, kinemorph.spatial.lanes.lane_math\n"):
        told = subprocess.run([sys.executable, "-c", imports + program], capture_output=True, text=True, check=True)
        found.append(told.stdout.split())
    (alone, key), (beside, same) = found
    assert (alone, beside) == ("False", "True")
    assert key == same != "None"


def test_a_version_for_lanes_beside_its_function_is_nothing_to_other_kernels(workshop):
    """Whether a process has imported it or not, they find what was compiled before."""
    imports = "from kinemorph.jit.api import for_lanes, generic, kernel\n"
    beside = "@generic\ndef get(a):\n    return a[0]\n@for_lanes(get)\ndef get_lanes(a):\n    return a[0, 0]\n"
    corner = "@kernel\ndef corner(a):\n    return a[0, 0]\n"
    workshop.write({"beside.py": imports + beside, "other.py": imports + corner})
    call = "import numpy as np; from other import corner; result = corner(np.ones((2, 2)))"
    assert workshop.run(call).compiled == 1
    assert workshop.run(f"import beside; {call}").compiled == 0


def test_script_sees_edits_in_the_modules_beside_it(workshop):
    workshop.write(
        {
            "helper.py": "from kinemorph.jit.api import kernel\n@kernel\ndef helper(x):\n    return x + 1\n",
            "script.py": """
import helper
from kinemorph.jit.api import kernel
@kernel
def call(x):
    return helper.helper(x)
result = call(1.0)
""",
        }
    )
    run_script = f"import runpy; result = runpy.run_path({str(workshop.folder / 'script.py')!r})['result']"
    workshop.run(run_script)
    again = workshop.run(run_script)
    assert (again.result, again.compiled) == (2.0, 0)
    workshop.edit("helper.py", "x + 1", "x + 2")
    assert workshop.run(run_script).result == 3.0


def test_values_that_kernels_capture_are_part_of_the_key(workshop):
    """Closures of one function, and a constant that is in no source file, all under the same name."""
    workshop.write(
        {
            "factory.py": """
import os
from kinemorph.jit.api import kernel
LIMIT = float(os.environ["LIMIT"])
def make(factor):
    @kernel
    def scaled(x):
        return factor * x + LIMIT
    return scaled
def pair(first, second):
    first, second = make(first), make(second)
    first(1.0), second(1.0)
    @kernel
    def both(x):
        return first(x), second(x)
    return both(1.0)
"""
        }
    )
    call = "from factory import make, pair; result = "
    assert workshop.run(call + "make(2)(1.0)", LIMIT="0").result == 2.0
    # One of the pair is loaded, the other compiled: Numba gives both the same name, and calls one of them twice.
    assert workshop.run(call + "pair(3, 2)", LIMIT="0").result == [3.0, 2.0]
    assert workshop.run(call + "pair(2, 3)", LIMIT="0").result == [2.0, 3.0]
    assert workshop.run(call + "pair(2, 3)", LIMIT="7").result == [9.0, 10.0]


def test_captured_tuples_of_different_shape_are_different():
    def capture(values):
        @kernel
        def count():
            return len(values)

        return count

    keys = {kernel_key(capture(values)) for values in [((1,), (2, 3)), ((1, 2), (3,)), (1, 2, 3)]}
    assert len(keys) == 3
    assert kernel_key(capture(object())) is None  # not to be known again in another process


def test_code_that_is_in_no_file_is_compiled_but_not_kept(workshop):
    code = "from kinemorph.jit.api import kernel\n@kernel\ndef f(x):\n    return x\nresult = f(1.0)"
    typed = workshop.run(code)
    assert (typed.result, typed.compiled) == (1.0, 1)
    assert workshop.kept() == []


# --- settings of Numba and of kinemorph ---


def test_bounds_checks_are_honoured_and_have_kernels_of_their_own(workshop):
    text = "from kinemorph.jit.api import kernel\n@kernel\ndef pick(a, k):\n    return a[k]\n"
    workshop.write({"picker.py": text})
    call = "import numpy as np; from picker import pick\n"
    workshop.run(call + "result = pick(np.ones(3), 2)", NUMBA_BOUNDSCHECK="0")
    attempt = "try:\n    result = pick(np.ones(3), 3)\nexcept IndexError:\n    result = 'IndexError'"
    checked = workshop.run(call + attempt, NUMBA_BOUNDSCHECK="1")
    assert (checked.result, checked.compiled) == ("IndexError", 1)


def test_constants_count_from_the_end_and_bounds_checks_refuse_other_negative_indices(workshop):
    text = "from kinemorph.jit.api import kernel\n@kernel\ndef last(a):\n    return a[-1]\n"
    text += "@kernel\ndef pick(a, k):\n    return a[k]\n"
    workshop.write({"picker.py": text})
    attempt = "import numpy as np; from picker import last, pick\nresult = [last(np.arange(3.0))]\n"
    attempt += "try:\n    pick(np.arange(3.0), -1)\nexcept IndexError:\n    result.append('IndexError')"
    assert workshop.run(attempt, NUMBA_BOUNDSCHECK="1").result == [2.0, "IndexError"]


def test_without_jit_kernels_are_plain_functions(zoo):
    code = "import zoo, types; assert type(zoo.outer) is types.FunctionType; result = zoo.outer(1.0)"
    plain = zoo.run(code, NUMBA_DISABLE_JIT="1")
    assert (plain.result, plain.compiled, plain.loaded) == (2000.0, 0, 0)


def test_quiet_is_quiet(zoo):
    shutil.rmtree(zoo.cache)
    quiet = zoo.run(CALL_OUTER, KINEMORPH_QUIET="1")
    assert (quiet.compiled, quiet.stderr) == (3, "")


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", "~/chosen")
    assert cache_folder() == Path.home() / "chosen"
    monkeypatch.delenv("KINEMORPH_CACHE_DIR")
    assert cache_folder() == tmp_path / "kinemorph"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().is_relative_to(Path.home())


# --- accidents ---


def test_processes_that_start_cold_together_all_succeed(workshop):
    workshop.write(ZOO)
    two_threads = """
import zoo
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    result = list(pool.map(lambda f: f(1.0), [zoo.outer, zoo.beside.beside]))
"""
    for process in [workshop.start(two_threads) for _ in range(4)]:
        together = workshop.finish(process)
        assert together.result == [2000.0, 1.0]
        assert together.compiled + together.loaded <= 4
    last = workshop.run(two_threads)
    assert (last.result, last.compiled, last.loaded) == ([2000.0, 1.0], 0, 2)


@pytest.mark.parametrize(
    ("folder", "before"),
    [
        pytest.param("file/cache", "", id="a file is in its place"),
        pytest.param("/proc/no/such/folder", "", id="not to be made"),
        pytest.param(
            "",
            "import pathlib\ndef home(): raise RuntimeError('no home')\npathlib.Path.home = home\n",
            id="no home",
        ),
        pytest.param(
            "full",
            "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n",
            id="disk full",
            marks=pytest.mark.skipif(os.name == "nt", reason="no such limit"),
        ),
    ],
)
def test_without_a_usable_cache_folder_kernels_still_work(workshop, folder, before):
    workshop.write(ZOO | {"file": ""})
    workshop.cache = workshop.folder / folder if folder else ""
    outcome = workshop.run(before + CALL_OUTER)
    assert (outcome.result, outcome.compiled) == (2000.0, 3)
    assert outcome.stderr.count("not kept") == 1
    assert list(workshop.folder.rglob("*.kernel*")) + list(workshop.folder.rglob("*.tmp")) == []


def test_damaged_files_are_compiled_again(zoo):
    (leaf,), (middle,), (outer,) = zoo.kept("zoo.leaf"), zoo.kept("zoo.middle"), zoo.kept("zoo.outer")
    outer.write_bytes(outer.read_bytes()[:-100])
    content = bytearray(middle.read_bytes())
    content[0] ^= 1
    middle.write_bytes(content)
    rubbish = b"not a pickle"
    leaf.write_bytes(checksum(leaf.name, rubbish) + rubbish)
    repaired = zoo.run(CALL_OUTER)
    assert (repaired.result, repaired.compiled) == (2000.0, 3)
    after = zoo.run(CALL_OUTER)
    assert (after.result, after.compiled) == (2000.0, 0)


@linux
def test_killed_process_leaves_a_usable_cache(workshop):
    links = [f"@kernel\ndef f{k}(x):\n    return f{k - 1}(x) + 1\n" for k in range(1, 30)]
    base = "from kinemorph.jit.api import kernel\n@kernel\ndef f0(x):\n    return x\n"
    workshop.write({"chain.py": base + "".join(links)})
    call = "from chain import f29; result = f29(0.0)"
    process = workshop.start(call)
    while len(workshop.kept()) < 3 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    (workshop.cache / "kernels" / "chain.f29-0.tmp").write_bytes(b"half of it")
    rest = workshop.run(call)
    assert rest.result == 29.0
    assert 0 < rest.compiled < 30
    assert workshop.run(call).compiled == 0


def test_old_files_are_removed_unless_they_are_in_use(zoo):
    (used,) = zoo.kept("zoo.outer")
    old, young = used.with_name("zoo.outer.outer-old.kernel"), used.with_name("zoo.outer.outer-young.kernel")
    for path, days in [(used, 40), (old, 40), (young, 20)]:
        path.touch()
        os.utime(path, (time.time() - days * 86400,) * 2)
    zoo.run(CALL_OUTER)  # uses one of them
    zoo.edit("zoo/outer.py", "100", "1000")
    zoo.run(CALL_OUTER)  # adds one
    assert used.exists()
    assert young.exists()
    assert not old.exists()


ROW = np.dtype([("x", "f8"), ("n", "i4")], align=True)


def test_rows_at_an_address_are_the_same_with_and_without_jit(monkeypatch, tmp_path):
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(tmp_path))

    @kernel
    def ends(address, count):
        rows = rows_at(address, count, ROW)
        return rows[0]["x"], rows[count - 1]["n"], rows.shape[0]

    rows = np.array([(1.5, 2), (2.5, 3)], ROW)
    assert ends(rows.ctypes.data, 2) == ends.py_func(rows.ctypes.data, 2) == (1.5, 3, 2)


@generic
def twice(x):
    return 2 * x


def test_generic_functions_work_in_kernels_and_outside(monkeypatch, tmp_path):
    monkeypatch.setenv("KINEMORPH_CACHE_DIR", str(tmp_path))

    @kernel
    def four_times(x):
        return twice(twice(x))

    assert four_times(1.5) == four_times.py_func(1.5) == 6.0


def test_only_functions_become_kernels():
    with pytest.raises(TypeError, match="plain function"):
        kernel(int)
