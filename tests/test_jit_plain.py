"""Kernels as plain Numba functions, with KINEMORPH_PLAIN_NUMBA=1: no private name of Numba, and the same bits.

Nothing keeps what such a process compiles. So the whole comparison runs where it is asked for: `make numba`, with the
oldest and the newest Numba that pyproject.toml allows. CI runs `make numba NUMBAS=newest NUMBA_TESTS=quick`.

    KINEMORPH_PLAIN_NUMBA=1 python -m tests.test_jit_plain worlds     prints the digests of one program
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from tests.workshop import ZOO, Workshop

import kinemorph as km
from kinemorph.jit.compiler.numba_names import SWITCH

ASKED = os.environ.get("KINEMORPH_NUMBA_TESTS", "")  # "quick", "whole", or neither


def digest(*arrays: object) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:32]


def dynamics() -> Iterator[tuple[str, str]]:
    """Tree algorithms, of one state and of four states at once in SIMD lanes."""
    model = km.human()
    data, rng = km.Data(model), np.random.default_rng(0)
    q, v, tau = km.neutral(model), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    yield "aba", digest(km.aba(model, data, q, v, tau))
    yield "rnea", digest(km.rnea(model, data, q, v, tau))
    yield "crba", digest(km.crba(model, data, q))
    rows = [np.repeat(x[None], 8, axis=0) for x in (q, v, tau)]
    yield "batch", digest(km.batch.aba(model, *rows))


def step(names: Sequence[str] = ("box",)) -> Iterator[tuple[str, str]]:
    """One step of golden scenes; one process for all, as they share kernels."""
    from tests.world import golden

    for name in names:
        world, scene = golden.made(name)
        golden.go(world, scene, 1)
        yield name, world.hash()


def worlds() -> Iterator[tuple[str, str]]:
    """One step of each golden scene, and one evaluation of a creature."""
    from tests.world import golden

    from kinemorph.creatures import evaluate, handmade
    from kinemorph.creatures.tasks import Locomotion

    yield from step(golden.SCENES)
    yield "worm", repr(evaluate(handmade("worm"), Locomotion(seconds=1.0), seed=0))


PROGRAMS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    function.__name__: function for function in (dynamics, step, worlds)
}
QUICK = {"dynamics", "step"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_numba_functions_compute_the_same_bits(name):
    if ASKED != "whole" and not (ASKED == "quick" and name in QUICK):
        pytest.skip("takes minutes: make numba")
    command = [sys.executable, "-m", "tests.test_jit_plain", name]
    done = subprocess.run(command, env=os.environ | {SWITCH: "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == dict(PROGRAMS[name]())


CALLS = """
import sys
import zoo
from kinemorph.jit.api import kernel, machinery
from kinemorph.jit.compiler import numba_names

@kernel
def twice(x):
    return 2.0 * zoo.outer(x)

result = [zoo.outer(1.0), twice(1.0)]
try:
    zoo.outer([1.0])
except TypeError as error:
    result.append(str(error))
kinds = {type(one).__module__ + "." + type(one).__name__ for one in (twice.dispatcher, zoo.beside.beside.dispatcher)}
result += [sorted(kinds), machinery().no_cache, numba_names.found("core.registry.CPUDispatcher")]
"""


def test_with_the_switch_kernels_are_numbas_own_functions_and_no_private_name_is_looked_for(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.write(ZOO)
    outcome = workshop.run(CALLS, **{SWITCH: "1"})
    refusal = "outer: x must be float, not list"
    numbas = ["numba.core.registry.CPUDispatcher"]
    assert outcome.result == [2000.0, 4000.0, refusal, numbas, f"{SWITCH} is set", None]
    assert outcome.stderr == ""
    assert workshop.kept() == []


def test_the_switch_leaves_numba_as_it_was(tmp_path):
    """No function or attribute of Numba's classes and modules is another one while plain kernels are compiled."""
    workshop = Workshop(tmp_path)
    workshop.write(ZOO)
    code = """
import numba, sys, types

def seen():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "numba" and name in before_modules:
            for key, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType | type):
                    found[name, key] = value
                if isinstance(value, type) and value.__module__.startswith("numba."):
                    methods = {k: v for k, v in vars(value).items() if isinstance(v, types.FunctionType)}
                    found.update({(name, key, k): v for k, v in methods.items()})
    return found

before_modules = {name for name in sys.modules}
before, during = seen(), []
from kinemorph.jit.api import kernel, when_needed

def look():
    return 1.0

def version():
    now = seen()
    during.append(sorted(map(str, (key for key in before if now.get(key) is not before[key]))))
    return lambda: 2.0

when_needed(lambda api: api.overload(look)(version))

@kernel
def seeing():
    return look()

result = [seeing(), during]
"""
    assert workshop.run(code, **{SWITCH: "1"}).result == [2.0, [[]]]
    assert workshop.run(code).result[1] != [[]]  # what the test would see


if __name__ == "__main__":
    print(json.dumps(dict(PROGRAMS[sys.argv[1]]())))
