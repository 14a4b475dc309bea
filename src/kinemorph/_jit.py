"""Numba, in one place: the `kernel` and `entry` decorators, and the disk cache behind them.

No other module of the package imports Numba. The cache exists because Numba's own looks at a single file: it
hands out stale machine code after an edit in a callee elsewhere (numba#1833), and its index races between
processes. Here each (function, signature) is one file, named by a hash of all that its machine code depends
on and written atomically: nothing has to be kept in step with anything else.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import functools
import glob
import hashlib
import importlib
import inspect
import itertools
import os
import pickle
import re
import secrets
import sys
import tempfile
import time
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple, TypeVar

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import _Cache
from numba.core.dispatcher import Dispatcher, OmittedArg
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic, lower_builtin, models, overload, register_model, type_callable

from ._jit_arguments import declared_types, objection
from ._jit_progress import CompileCount, Progress
from ._jit_sources import module_key

__all__ = [  # with what modules that extend Numba need, such as the SIMD lanes
    "CompileCount",
    "OVERLOAD",
    "cache_folder",
    "compile_count",
    "entry",
    "for_lanes",
    "generic",
    "intrinsic",
    "is_lanes",
    "kernel",
    "lower_builtin",
    "models",
    "overload",
    "register_model",
    "rows_at",
    "type_callable",
    "types",
]

_OPTIONS: dict[str, Any] = {
    "_nrt": False,  # kernels write into arrays that they are given: no memory to manage, no references to count
    "error_model": "numpy",  # x / 0 is inf, as in NumPy: no branch and no exception in every division
    "boundscheck": None,  # None leaves the choice to NUMBA_BOUNDSCHECK
    "fastmath": False,  # not even fused multiply-adds: LLVM fuses other pairs in lanes than in scalars, to other bits
}
OVERLOAD: Any = _OPTIONS | {"nogil": True, "forceinline": True}  # the jit_options of an `overload`: like a kernel

# Settings of Numba that cannot change machine code. All others are part of the key: to turn on a dump
# recompiles, which is what one wants then.
_HARMLESS_SETTINGS = (
    *("CACHE_", "COLOR_SCHEME", "CUDA_", "DEBUG_CACHE", "DISABLE_CUDA", "DISABLE_PERFORMANCE_WARNINGS"),
    *("FULL_TRACEBACKS", "FUNCTION_CACHE_SIZE", "GDB_BINARY", "HIGHLIGHT_DUMPS", "NUMBA_", "SHOW_HELP"),
    *("THREADING_LAYER", "_"),
)
_VERSIONS = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
_DAY = 86400.0
_FORGOTTEN_AFTER = 30 * _DAY

_core: Any = numba.core  # Any: what annotations Numba has are of no use for its internals
_progress = Progress()
Function = TypeVar("Function", bound=Callable[..., Any])


# --- decorators ---


@typing.overload
def kernel(function: Function) -> Function: ...
@typing.overload
def kernel(*, inline: bool = True) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, *, inline: bool = True) -> Any:
    """Compile a function at first use and keep it on disk; with NUMBA_DISABLE_JIT=1 it stays plain Python.

    It becomes part of its callers, so that tuples stay in registers; for a large one with several callers,
    `inline=False` makes it a call.
    """
    return _decorator(_Kernel, function, nogil=True, forceinline=inline)


@typing.overload
def entry(function: Callable[..., Any]) -> Callable[..., Any]: ...
@typing.overload
def entry(*, nogil: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def entry(function: Any = None, *, nogil: bool = False) -> Any:
    """A `kernel` for Python to call: arguments that would only cost a new compilation raise TypeError.

    A parameter annotated as `float`, `int`, `bool`, `NDArray[...]` or a tuple of these takes just that, not
    even an int for a float. Without an annotation it takes a float, int or bool, an array of float64 or
    records, or a tuple of any. Elements of arrays are float64, int64, int32, uint8, bool or records; arrays
    must be C-contiguous, aligned and native, and only those of records may be read-only. Let parameters have
    no defaults: one left out is yet another type. The check runs only when no compiled version fits the
    arguments, so it costs a good call nothing.

    To release the GIL takes time that a call of a microsecond feels: `nogil=True` is for long ones.
    """
    return _decorator(_Entry, function, nogil=nogil)


def compile_count() -> CompileCount:
    """How many (function, signature) pairs this process has compiled, and how many loaded from the cache."""
    return _progress.count


def _decorator(dispatcher: type[_Kernel], function: Any, **options: bool) -> Any:
    def decorate(function: Any) -> Any:
        if _core.config.DISABLE_JIT:
            return function
        if not inspect.isfunction(function):
            raise TypeError(f"only a plain function can become a kernel, not {function!r}")
        return dispatcher(function, targetoptions={"nopython": True} | _OPTIONS | options)

    return decorate if function is None else decorate(function)


class _Kernel(CPUDispatcher):
    def __init__(self, py_func: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(py_func, *args, **kwargs)
        self._cache: _KernelCache = _KernelCache(py_func, self)

    def compile(self, sig: Any) -> Any:
        def expect() -> int:
            return sum(not kernel.overloads for kernel in _reachable(self))

        # Numba takes this lock as well, but too late for the progress to see one thread at a time.
        with _core.compiler_lock.global_compiler_lock, _progress.compiling(expect):
            return super().compile(sig)


class _Entry(_Kernel):
    def _compile_for_args(self, *args: Any, **kwargs: Any) -> Any:
        """Numba comes here when no compiled version fits the arguments."""
        declared = declared_types(self.py_func)
        for name, value in zip(inspect.signature(self.py_func).parameters, args, strict=False):
            stand_in = isinstance(value, OmittedArg | types.Literal)  # Numba's own, for a default or a constant
            if not stand_in and (reason := objection(value, declared.get(name))):
                raise TypeError(f"{self.py_func.__qualname__}: {name} {reason}")
        return _core.dispatcher.Dispatcher._compile_for_args(self, *args, **kwargs)


# --- the cache on disk ---


def cache_folder() -> Path:
    """Where kinemorph keeps what it can make again: $KINEMORPH_CACHE_DIR, or the system's usual place."""
    if chosen := os.environ.get("KINEMORPH_CACHE_DIR"):
        return Path(chosen).expanduser().absolute()
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches, "kinemorph").absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "kinemorph", "cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kinemorph"
    return Path.home() / ".cache" / "kinemorph"


def _why_not_kept() -> str | None:
    """Make the folder of the kernels, or say why that fails."""
    try:
        folder = cache_folder() / "kernels"
        folder.mkdir(parents=True, exist_ok=True)
        return None if os.access(folder, os.W_OK) else f"{folder} is not writable"
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        return str(error)


class _KernelCache(_Cache):
    """What a Numba dispatcher asks for compiled versions of its function, and hands new ones to."""

    def __init__(self, function: Any, kernel: _Kernel) -> None:
        self._kernel = kernel
        self._enabled = True
        self._paths: dict[Any, Path | None] = {}
        self._prefix = re.sub(r"[^\w.]", "", f"{function.__module__}.{function.__qualname__}")[:150] + "-"
        self.file = os.path.abspath(function.__code__.co_filename)  # now: a script may change folders later

    @property
    def cache_path(self) -> str:
        return str(cache_folder() / "kernels")

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        self._remove(older_than=0.0)

    def _remove(self, older_than: float) -> None:
        for path in Path(self.cache_path).glob(glob.escape(self._prefix) + "*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime >= older_than:
                    path.unlink()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()  # defines what Numba puts off until now, and machine code may refer to
        path = self._paths[sig] = self._path(sig, target_context.codegen())
        result = _read(path, target_context) if path else None
        if result is None:
            _progress.missed(_why_not_kept, cache_folder)
        else:
            _progress.finished(compiled=False)
        return result

    def save_overload(self, sig: Any, data: Any) -> None:
        if path := self._paths.pop(sig, None):
            if data.library.has_dynamic_globals or data.lifted:
                _progress.complain(f"{self._prefix[:-1]} holds addresses of this process")
            elif _write(path, data):
                self._remove(older_than=_FORGOTTEN_AFTER)
        _progress.finished(compiled=True)

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        if not self._enabled or (key := _kernel_key(self._kernel)) is None:
            return None
        arguments, result = _core.sigutils.normalize_signature(signature)
        types_text = "".join(map(_type_text, arguments)) + repr(result)
        if " at 0x" in types_text:  # the type of a function or an object: an address means nothing elsewhere
            return None
        extensions = _extension_keys(arguments)
        name = _hash(key, types_text, extensions, codegen.magic_tuple(), _settings(), _VERSIONS)[:40]
        with contextlib.suppress(RuntimeError):  # there is no home folder
            return cache_folder() / "kernels" / f"{self._prefix}{name}.kernel"
        return None


def _read(path: Path, target_context: Any) -> Any:
    try:
        content = path.read_bytes()
        checksum, body = content[:32], content[32:]
        if hashlib.sha256(body).digest() != checksum:
            return None
        if time.time() - path.stat().st_mtime > _DAY:
            with contextlib.suppress(OSError):  # the folder may be shared and read-only
                os.utime(path)  # what is in use is not forgotten
        return _core.compiler.CompileResult._rebuild(target_context, *pickle.loads(body))
    except Exception:  # whatever is wrong with the file, compiling again puts it right
        return None


def _write(path: Path, result: Any) -> bool:
    reason: object = _why_not_kept()
    if not reason:
        try:
            body = _core.serialize.dumps(result._reduce())
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
            try:
                with open(handle, "wb") as file:
                    file.write(hashlib.sha256(body).digest() + body)
                os.replace(temporary, path)
                return True
            except BaseException:
                os.unlink(temporary)
                raise
        except Exception as error:  # a full disk, something that cannot be pickled: it works all the same
            reason = error
    _progress.complain(reason)
    return False


# --- keys: all that the machine code of a kernel depends on ---


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _settings() -> list[tuple[str, str]]:
    """Numba's settings, whether they come from the environment, a file or the program."""
    settings = {name: repr(value) for name, value in vars(_core.config).items() if name.isupper()}
    return sorted(item for item in settings.items() if not item[0].startswith(_HARMLESS_SETTINGS))


def _type_text(numba_type: Any) -> str:
    text = repr(numba_type)
    if isinstance(numba_type, _core.types.BaseNamedTuple):  # its repr leaves out the names of the fields
        text += f"{numba_type.instance_class.__module__}{numba_type.fields}"
    if isinstance(numba_type, _core.types.BaseTuple):
        text += "".join(map(_type_text, numba_type))
    return text


_lane_modules: set[str] = set()  # where `for_lanes` was used


def _extension_keys(arguments: Any) -> list[str]:
    """Keys of the modules that decide what a kernel does with types from outside Numba.

    It need not import them: its caller does, and hands it the types.
    """
    flat = [kind for argument in arguments for kind in _plain_types(argument)]
    modules = {type(kind).__module__ for kind in flat} | (_lane_modules if any(map(is_lanes, flat)) else set())
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in modules}
    return sorted(module_key(name, file) for name, file in files.items() if file and name.split(".")[0] != "numba")


def _plain_types(numba_type: Any) -> Iterator[Any]:
    if isinstance(numba_type, _core.types.BaseTuple):
        for item in numba_type:
            yield from _plain_types(item)
    else:
        yield numba_type


@functools.cache
def _kernel_key(kernel: _Kernel) -> str | None:
    """A hash of the code, constants, callees and imports of `kernel`; None if it cannot be known again."""
    number = {callee: k for k, callee in enumerate(_reachable(kernel))}
    graph = [(_identity(k), [number[callee] for callee in _uses(k.py_func).kernels]) for k in number]
    if any(identity is None for identity, _ in graph):
        return None
    # The code is what runs, whatever was edited since the import, and also covers other packages. The imports
    # cover what no name in the code leads to, such as overloads.
    return _hash(graph, module_key(kernel.py_func.__module__, kernel._cache.file))


def _reachable(kernel: Any) -> list[Any]:
    """`kernel` and all kernels that it calls, directly or not, in the same order in every process."""
    found = [kernel]
    known = {kernel}
    for caller in found:  # grows on the way
        new = [callee for callee in _uses(caller.py_func).kernels if callee not in known]
        found += dict.fromkeys(new)
        known.update(new)
    return found


@functools.cache
def _identity(kernel: Any) -> str | None:
    function, code = kernel.py_func, kernel.py_func.__code__
    constants = _uses(function).constants
    file = kernel._cache.file if isinstance(kernel, _Kernel) else code.co_filename
    if constants is None or not os.path.exists(file):  # no file: typed into a notebook, for instance
        return None
    texts = [(part.co_code, part.co_names, *map(_constant_text, part.co_consts)) for part in _codes(code)]
    where = (function.__module__, function.__qualname__, code.co_firstlineno)
    return _hash(where, texts, constants, sorted(map(repr, kernel.targetoptions.items())))


class _Uses(NamedTuple):
    kernels: list[Any]
    constants: str | None  # None: a closure holds something that another process could not recognise


@functools.cache
def _uses(function: Any) -> _Uses:
    """What the names in `function` stand for: other kernels, and values that Numba compiles in."""
    names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
    scopes, values = [function.__globals__], []
    for scope in scopes:  # grows on the way: a name may be one in a module, and that one in a package
        for name in names:
            values.append(value := scope.get(name))
            if isinstance(value, ModuleType) and all(vars(value) is not known for known in scopes):
                scopes.append(vars(value))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    enclosed = (function.__defaults__, function.__kwdefaults__, *cells)
    unknown = any(_constant_text(leaf) is None for leaf in _leaves(enclosed))
    constants = None if unknown else _constant_text((enclosed, *values))
    kernels = [leaf for leaf in _leaves((enclosed, *values)) if isinstance(leaf, Dispatcher)]
    return _Uses(kernels, constants)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):  # a comprehension or an inner function
            yield from _codes(constant)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _constant_text(value: Any) -> str | None:
    """A text that is the same for the same value in every process; None if there is none."""
    if isinstance(value, tuple):
        return _hash(*map(_constant_text, value))
    if isinstance(value, np.ndarray):
        return _hash(value.dtype, value.shape, value.tobytes())
    if isinstance(value, enum.EnumMeta):
        return repr(list(value))
    if isinstance(value, Dispatcher):
        return "kernel"  # which one is seen elsewhere
    text = repr(value)
    return None if isinstance(value, ModuleType) or " at 0x" in text else text


def _count_functions_from_anywhere() -> None:
    """Make Numba's names of machine code unique across processes.

    Such a name is made of the function, the types and a count that starts at 1. Two closures of one function,
    one loaded from disk and one compiled here, can get the same name: a caller of both then calls one of them
    twice.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


_count_functions_from_anywhere()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_functions_from_anywhere)


# --- functions that mean something else to Numba than to Python ---


def is_lanes(numba_type: Any) -> bool:
    """Whether an argument type belongs to four states at once: lanes, arrays of them, or a tree of them."""
    if isinstance(numba_type, _core.types.Array):
        return bool(numba_type.ndim > 1)
    if isinstance(numba_type, _core.types.Record):
        return "lanes" in numba_type.fields
    return bool(getattr(numba_type, "is_lanes", False))


def generic(function: Function) -> Function:
    """A function of numbers of which lanes have a version of their own: kernels get the one for their types."""
    if _core.config.DISABLE_JIT:
        return _chosen_when_called(function)
    _overload_if(lambda lanes: not lanes, function, function)
    return function


def for_lanes(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Register the decorated function as the version of a generic function for lanes."""

    def register(version: Function) -> Function:
        _lane_modules.add(version.__module__)
        if _core.config.DISABLE_JIT:
            vars(function)["for_lanes"] = version
        else:
            _overload_if(lambda lanes: lanes, function, version)
        return version

    return register


def _chosen_when_called(function: Any) -> Any:
    """Without the JIT there are no types to choose by ahead of time."""

    @functools.wraps(function)
    def choose(*arguments: Any) -> Any:
        if any(map(_holds_lanes, arguments)):
            return choose.for_lanes(*arguments)  # type: ignore[attr-defined]
        return function(*arguments)

    return choose


def _holds_lanes(value: Any) -> bool:
    """`is_lanes` for values: lanes themselves are a subclass of arrays then (`spatial.lanes`)."""
    if isinstance(value, np.void):
        return "lanes" in (value.dtype.names or ())
    return bool(getattr(value, "is_lanes", False) or np.ndim(value) > 1)


def _overload_if(wanted: Callable[[bool], bool], function: Any, version: Any) -> None:
    def choose(*arguments: Any) -> Any:
        return version if wanted(any(map(is_lanes, arguments))) else None

    vars(choose)["__signature__"] = inspect.signature(version)  # Numba compares the names of the parameters
    overload(function, jit_options=OVERLOAD)(choose)


def rows_at(address: int, count: int, dtype: Any) -> Any:
    """The `count` rows of a structured dtype that start at an address; the owner of the memory must stay alive."""
    memory: Any = (ctypes.c_char * int(count * dtype.itemsize)).from_address(int(address))
    return np.frombuffer(memory, dtype)


@type_callable(rows_at)
def _type_rows_at(context: Any) -> Callable[..., Any]:
    def typer(address: Any, count: Any, dtype: Any) -> Any:
        kinds = (types.Integer, types.Integer, types.DType)
        if all(isinstance(value, kind) for value, kind in zip((address, count, dtype), kinds, strict=True)):
            return types.Array(dtype.dtype, 1, "C")
        return None

    return typer


def _lower_rows_at(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    arrays: Any = importlib.import_module("numba.np.arrayobj")  # late: a warm start does without
    rows = arrays.make_array(signature.return_type)(context, builder)
    row_size = context.get_abi_sizeof(context.get_data_type(signature.return_type.dtype))
    item_size = context.get_constant(types.intp, row_size)
    count = context.cast(builder, args[1], signature.args[1], types.intp)
    arrays.populate_array(
        rows,
        data=builder.inttoptr(args[0], rows.data.type),
        shape=_core.cgutils.pack_array(builder, [count]),
        strides=_core.cgutils.pack_array(builder, [item_size]),
        itemsize=item_size,
        meminfo=None,  # nobody counts references: the owner is elsewhere
    )
    return rows._getvalue()


_core.imputils.lower_builtin(rows_at, types.Integer, types.Integer, types.DType)(_lower_rows_at)
