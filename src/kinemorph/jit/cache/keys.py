"""All that the machine code of a kernel depends on, as one hash: the name under which it is kept on disk."""

from __future__ import annotations

import enum
import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from numba import types
from numba.extending import is_jitted

from kinemorph.jit.cache.source_hash import module_key, modules_behind
from kinemorph.jit.compiler.numba_names import is_lanes
from kinemorph.jit.generic import lane_modules
from kinemorph.jit.kernel import Kernel

# Settings of Numba that cannot change machine code. All others are part of the key: to turn on a dump
# recompiles, which is what one wants then.
_HARMLESS_SETTINGS = (
    *("CACHE_", "COLOR_SCHEME", "CUDA_", "DEBUG_CACHE", "DISABLE_CUDA", "DISABLE_PERFORMANCE_WARNINGS"),
    *("FULL_TRACEBACKS", "FUNCTION_CACHE_SIZE", "GDB_BINARY", "HIGHLIGHT_DUMPS", "NUMBA_", "SHOW_HELP"),
    *("THREADING_LAYER", "_"),
)
_VERSIONS = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
# What is imported when a kernel is called: all are made by it.
_LATER = ("jit.compiler.dispatch", "spatial.lanes.lane_type")
PYTHON = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"


def version_key(kernel: Any, arguments: tuple[Any, ...], result: Any) -> str | None:
    """A hash of the version of `kernel` for some types, on any machine; None if it cannot be known again."""
    options = options_text(kernel)
    kernel = getattr(kernel, "kernel", kernel)  # Python calls one, kernels the other: their code is the same
    key = kernel_key(kernel)
    text = types_text(arguments, result)
    if key is None or text is None:
        return None
    return hash_of(key, options, text, _extension_keys(kernel, arguments))


def types_text(arguments: tuple[Any, ...], result: Any) -> str | None:
    """The types of a version, and what it returns if that is asked for; None if others could not know them again."""
    text = "".join(map(_type_text, arguments)) + repr(result)
    return None if " at 0x" in text else text  # of a function or an object: an address means nothing elsewhere


def is_implied(caller: Any, callee: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether the key of a kernel sees all that the key of one that it calls does, for some types.

    Then a process that has found the caller need not look at the sources of the callee: it is the one that the caller
    was compiled with.
    """
    if callee not in _reached(caller) or _extension_keys(callee, arguments):
        return False
    return callee.py_func.__module__ in modules_behind(caller.py_func.__module__, _file(caller))


def surroundings(machine: object) -> str:
    """A hash of all that the machine code of every kernel depends on, but sources."""
    return _surroundings(machine, tuple(settings()))


@functools.cache
def _surroundings(machine: object, settings: tuple[tuple[str, str], ...]) -> str:
    return hash_of(machine, settings, _VERSIONS)


def versions() -> dict[str, str]:
    """The versions of all that machine code depends on, as far as others have the same."""
    return {"Python": PYTHON, "Numba": numba.__version__, "llvmlite": llvmlite.__version__, "NumPy": np.__version__}


@functools.cache
def kernel_key(kernel: Any) -> str | None:
    """A hash of the code, constants, callees and imports of `kernel`; None if it cannot be known again."""
    number = _reached(kernel)
    graph = [(_identity(k), [number[callee] for callee in _uses(k.py_func).kernels]) for k in number]
    if any(identity is None for identity, _ in graph):
        return None
    # The code is what runs, whatever was edited since the import, and also covers other packages. The imports
    # cover what no name in the code leads to, such as overloads and annotations; those of kernels, too, that were
    # handed over and not imported.
    return hash_of(graph, [module_key(*place) for place in _places(kernel)])


def _places(kernel: Any) -> list[tuple[str, str]]:
    """Modules, and their files, whose imports lead to all that a kernel is made of."""
    here = (kernel.py_func.__module__, _file(kernel))
    behind = modules_behind(*here)
    handed = {(k.py_func.__module__, _file(k)) for k in _reached(kernel) if k.py_func.__module__ not in behind}
    folder = Path(__file__).parents[2]
    later = [(f"kinemorph.{name}", f"{folder.joinpath(*name.split('.'))}.py") for name in _LATER]
    return [*later, here, *sorted(handed)]


def key_modules(kernel: Any) -> set[str]:
    """The modules that the key of a kernel sees."""
    return {name for place in _places(kernel) for name in modules_behind(*place)}


def used_kernels(kernel: Any) -> list[Any]:
    """The kernels that the code of one names."""
    return _uses(kernel.py_func).kernels


def used_modules(kernel: Any) -> list[str]:
    """The modules that its code names."""
    return _uses(kernel.py_func).modules


def reachable(kernel: Any) -> list[Any]:
    """`kernel` and all kernels that it calls, directly or not, in the same order in every process."""
    return list(_reached(kernel))


@functools.cache
def _reached(kernel: Any) -> dict[Any, int]:
    """The same, each with its place among them."""
    found = {kernel: 0}
    pending = [kernel]
    for caller in pending:  # grows on the way
        for callee in _uses(caller.py_func).kernels:
            if callee not in found:
                found[callee] = len(pending)
                pending.append(callee)
    return found


def reference(kernel: Any, callee: Any) -> Any:
    """By what `kernel` finds one that it calls, in any process: its place and its name; None if there is nothing."""
    place = _reached(kernel).get(callee)
    name = (callee.__module__, callee.__qualname__) if is_known_by_name(callee) else None
    return (place, name) if place is not None or name else None


def referred(kernel: Any, reference: Any, by_name: bool = False) -> Any:
    """The kernel that a reference stands for. A name may stand for another one by then: modules can be loaded again.
    Where it is known not to, no place has to be counted out."""
    place, name = reference
    return reachable(kernel)[place] if name is None or (place is not None and not by_name) else named(*name)


def named(module: str, name: str) -> Any:
    """The kernel of a name."""
    return functools.reduce(getattr, name.split("."), sys.modules.get(module) or importlib.import_module(module))


def hash_of(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def settings() -> list[tuple[str, str]]:
    """Numba's settings, whether they come from the environment, a file or the program."""
    return [(name, repr(getattr(numba.config, name, None))) for name in _setting_names()]


@functools.cache
def _setting_names() -> list[str]:
    return sorted(name for name in vars(numba.config) if name.isupper() and not name.startswith(_HARMLESS_SETTINGS))


# --- types ---


def _type_text(numba_type: Any) -> str:
    text = repr(numba_type)
    if isinstance(numba_type, types.BaseNamedTuple):  # its repr leaves out the names of the fields
        text += f"{numba_type.instance_class.__module__}{numba_type.fields}"
    if isinstance(numba_type, types.BaseTuple):
        text += "".join(map(_type_text, numba_type))
    return text


def _extension_keys(kernel: Any, arguments: Any) -> list[str]:
    """Keys of the modules that decide what a kernel does with types from outside Numba.

    It need not import them: its caller does, and hands it the types.
    """
    files = {name: module_file(name) for name in _extensions(kernel, arguments)}
    return sorted(module_key(name, file) for name, file in files.items() if file)


def extension_modules(kernel: Any, arguments: Any) -> set[str]:
    """These modules, and all that they import."""
    files = {name: module_file(name) for name in _extensions(kernel, arguments)}
    return {behind for name, file in files.items() if file for behind in modules_behind(name, file)}


def _extensions(kernel: Any, arguments: Any) -> set[str]:
    flat = [kind for argument in arguments for kind in _plain_types(argument)]
    modules = {type(kind).__module__ for kind in flat}
    if any(map(_concerns_lanes, flat)):
        functions = [function for called in reachable(kernel) for function in _uses(called.py_func).functions]
        modules.update(lane_modules[function] for function in functions if function in lane_modules)
    return {name for name in modules if name.split(".")[0] != "numba"}


def module_file(name: str) -> str | None:
    """Where a module is, imported or not: a key must not depend on what else a program imports.

    Nothing is imported to find it, as `importlib.util.find_spec` does with packages: a note in the cache names it.
    """
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    top, *parts = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
        for part in parts:
            if spec is None or spec.submodule_search_locations is None:
                return None
            spec = importlib.machinery.PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    except (ImportError, ValueError):
        return None
    return spec.origin if spec else None


def _concerns_lanes(numba_type: Any) -> bool:
    """Whether a type is that of lanes, or of a row that has some."""
    if is_lanes(numba_type):
        return True
    fields = numba_type.fields.values() if isinstance(numba_type, types.Record) else ()
    return any(getattr(field.type, "ndim", 1) > 1 for field in fields)


def _plain_types(numba_type: Any) -> Iterator[Any]:
    if isinstance(numba_type, types.BaseTuple):
        for item in numba_type:
            yield from _plain_types(item)
    else:
        yield numba_type


# --- functions ---


def _file(kernel: Any) -> str:
    return getattr(kernel, "source_file", kernel.py_func.__code__.co_filename)


@functools.cache
def _identity(kernel: Any) -> str | None:
    function, code = kernel.py_func, kernel.py_func.__code__
    constants = _uses(function).constants
    if constants is None or not _exists(_file(kernel)):  # no file: typed into a notebook, for instance
        return None
    if not hasattr(kernel, "source_file") and not is_known_by_name(kernel):
        return None
    texts = [(part.co_code, part.co_names, *map(constant_text, part.co_consts)) for part in codes(code)]
    where = (function.__module__, function.__qualname__, code.co_firstlineno)
    return hash_of(where, texts, constants, options_text(kernel))


def options_text(kernel: Any) -> list[str]:
    return sorted(map(repr, kernel.targetoptions.items()))


_exists = functools.cache(os.path.exists)


def is_known_by_name(function: Any) -> bool:
    """Whether a function that others gave to Numba is the only one of its name.

    Numba tells closures of one function apart by a count, which says nothing in another process.
    """
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


class _Uses(NamedTuple):
    kernels: list[Any]
    functions: list[Any]  # of Python, not compiled by themselves
    modules: list[str]
    constants: str | None  # None: a closure holds something that another process could not recognise


@functools.cache
def _uses(function: Any) -> _Uses:
    """What the names in `function` stand for: other kernels, and values that Numba compiles in."""
    names = sorted({name for code in codes(function.__code__) for name in code.co_names})
    scopes, values, modules = [function.__globals__], [], []
    for scope in scopes:  # grows on the way: a name may be one in a module, and that one in a package
        for name in names:
            values.append(value := scope.get(name))
            if isinstance(value, ModuleType) and all(vars(value) is not known for known in scopes):
                scopes.append(vars(value))
                modules.append(value.__name__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    enclosed = (function.__defaults__, function.__kwdefaults__, *cells)
    unknown = any(constant_text(leaf) is None for leaf in _leaves(enclosed))
    constants = None if unknown else constant_text((enclosed, *values))
    leaves = list(_leaves((enclosed, *values)))
    kernels = [leaf for leaf in leaves if is_kernel(leaf)]
    return _Uses(kernels, [leaf for leaf in leaves if isinstance(leaf, FunctionType)], modules, constants)


def is_kernel(value: Any) -> bool:
    kind = type(value)
    if kind not in _kinds:
        _kinds[kind] = issubclass(kind, Kernel) or is_jitted(value)
    return _kinds[kind]


_kinds: dict[type, bool] = {}  # whether objects of a type are functions that Numba compiles: to ask Numba takes long


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):  # a comprehension or an inner function
            yield from codes(constant)


def _leaves(value: tuple[Any, ...]) -> Iterator[Any]:
    for item in value:
        if isinstance(item, tuple):
            yield from _leaves(item)
        else:
            yield item


def constant_text(value: Any) -> str | None:
    """A text that is the same for the same value in every process; None if there is none."""
    if type(value) in _NUMBERS:
        return repr(value)
    if is_kernel(value):
        return "kernel"  # which one is seen elsewhere
    if isinstance(value, tuple):
        return hash_of(*map(constant_text, value))
    if isinstance(value, np.ndarray):
        return hash_of(value.dtype, value.shape, value.tobytes())
    if isinstance(value, enum.EnumMeta):
        return repr(list(value))
    if isinstance(value, np.dtype):
        return _dtype_text(value)
    text = repr(value)
    if isinstance(value, type) and issubclass(value, tuple):
        text += repr(getattr(value, "_fields", ()))
    return None if isinstance(value, ModuleType) or " at 0x" in text else text


_NUMBERS = {type(None), bool, float, int}
_dtype_texts: dict[int, tuple[Any, str]] = {}  # by identity, and kept alive: to write one out takes long


def _dtype_text(dtype: Any) -> str:
    if id(dtype) not in _dtype_texts:
        _dtype_texts[id(dtype)] = dtype, repr(dtype)
    return _dtype_texts[id(dtype)][1]
