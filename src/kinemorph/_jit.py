"""The decorators `kernel` and `entry`: a function becomes machine code at first use, and that is kept on disk.

No module of the package imports Numba but this one, those beside it and two that extend Numba, `spatial.lanes` and
`spatial.fused`. Beside it: what Numba does not promise (`_jit_numba`), the way through Numba (`_jit_pipeline`) with its
short cuts (`_jit_lowering`, `_jit_shortcuts`, `_jit_typing`), the files on disk (`_jit_cache`) and their names
(`_jit_keys`), calls between units of machine code (`_jit_calls`), rows by their address (`_jit_rows`), versions for
lanes (`_jit_generic`), who compiles what if there are several processes (`_jit_claims`), and, above it, a hint to the
processor (`_jit_prefetch`).
"""

from __future__ import annotations

import functools
import inspect
import os
import secrets
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.extending import intrinsic, lower_builtin, models, overload, register_model, type_callable

from ._jit_arguments import refuse
from ._jit_cache import KernelCache, cache_folder, cache_size, files_in_use, for_packs, why_not_kept
from ._jit_calls import call_of_unit, result_type
from ._jit_claims import claims
from ._jit_generic import for_lanes, generic, in_kernels, is_lanes
from ._jit_keys import surroundings, versions
from ._jit_numba import (
    Dispatcher,
    address_of,
    call_template,
    is_stand_in,
    machine,
    no_cache,
    only_lowered,
    part_of_callers,
    split_signature,
    untested,
    usual_type,
    with_machine_code,
    without_c_wrapper,
    without_wrappers,
)
from ._jit_options import OPTIONS, OVERLOAD
from ._jit_pack import installed_pack
from ._jit_pipeline import KernelCompiler, compiling, loading
from ._jit_progress import CompileCount, progress
from ._jit_rows import rows_at

__all__ = [  # with what modules that extend Numba need, such as the SIMD lanes
    "CompileCount",
    "OVERLOAD",
    "cache_folder",
    "cache_size",
    "claims",
    "compile_count",
    "entry",
    "files_in_use",
    "for_lanes",
    "for_packs",
    "generic",
    "intrinsic",
    "is_lanes",
    "kernel",
    "lower_builtin",
    "models",
    "installed_pack",
    "no_cache",
    "overload",
    "progress",
    "register_model",
    "rows_at",
    "setting_key",
    "switched_off",
    "target",
    "type_callable",
    "types",
    "untested",
    "versions",
    "why_not_kept",
]

Function = TypeVar("Function", bound=Callable[..., Any])
switched_off = bool(numba.config.DISABLE_JIT)  # kernels are plain Python, of which one thread runs at a time


@typing.overload
def kernel(function: Function) -> Function: ...
@typing.overload
def kernel(*, inline: bool = True) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, *, inline: bool = True) -> Any:
    """Compile a function at first use and keep it on disk; with NUMBA_DISABLE_JIT=1 it stays plain Python.

    It becomes part of its callers, so that tuples stay in registers. With `inline=False` it is a unit of machine code
    of its own, which is not compiled before it is called: for a large one, for one with several callers, and for what
    is seldom needed. Let its annotation say what it returns, if that is numbers or nothing: then its callers can be
    compiled without it.
    """
    return _decorator(_plain_kernel if no_cache else _Kernel, function, nogil=True, forceinline=inline)


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
    return _decorator(_plain_entry if no_cache else _Entry, function, nogil=nogil)


def compile_count() -> CompileCount:
    """How many (function, signature) pairs this process has compiled, and how many loaded from the cache."""
    return progress.count


def setting_key() -> str:
    """A hash of all but the sources that machine code depends on: the processor, the versions, Numba's settings."""
    return surroundings(target())


def target() -> tuple[str, str, str]:
    """The triple, name and features of the processor that kernels are compiled for."""
    return machine(Dispatcher.targetdescr.target_context)


def _decorator(make: Any, function: Any, **options: bool) -> Any:
    def decorate(function: Any) -> Any:
        if numba.config.DISABLE_JIT:
            return function
        if not inspect.isfunction(function):
            raise TypeError(f"only a plain function can become a kernel, not {function!r}")
        vars(function)["__signature__"] = inspect.signature(function)  # Numba asks for it three times
        return make(function, targetoptions={"nopython": True} | OPTIONS | options)

    return decorate if function is None else decorate(function)


class _Kept(Dispatcher):
    """A Numba function that is kept in our cache, and tells how far its compilation is."""

    def __init__(self, py_func: Any, source_file: str, targetoptions: dict[str, Any]) -> None:
        super().__init__(py_func, targetoptions=targetoptions, pipeline_class=KernelCompiler)
        self.source_file = source_file
        self._cache = KernelCache(self)

    def compile(self, sig: Any) -> Any:
        """As Numba's, without its timers, which hear of every call of LLVM."""
        arguments, result_type = split_signature(sig)
        with loading(self.targetctx), progress.compiling():
            if arguments not in self.overloads:
                with self._compiling_counter, claims.on(self._cache.path(sig)):
                    result = self._cache.load_overload(sig, self.targetctx)
                    if result is not None:
                        self.add_overload(self.ready(result))
                    else:
                        with compiling(self.targetctx, self._cache.key(sig)):
                            result = self.ready(self._compiler.compile(arguments, result_type))
                            self.add_overload(result)
                            self._cache.save_overload(sig, result)
            return self.overloads[arguments].entry_point

    def ready(self, result: Any) -> Any:
        """A result of the compiler, or of the cache, ready to be called."""
        return result

    def calls_in(self, path: Path) -> list[tuple[Any, Any]]:
        """The units that a version calls which is kept there, and the types."""
        return self._cache.calls(path)


class _Kernel(_Kept):
    """A kernel, as Python calls it."""

    def __init__(self, py_func: Any, targetoptions: dict[str, Any]) -> None:
        file = os.path.abspath(py_func.__code__.co_filename)  # now: a script may change folders later
        super().__init__(py_func, file, targetoptions | without_c_wrapper)

    @functools.cached_property
    def called(self) -> Any:
        """The same, as other kernels call it."""
        return _Part(self) if self.targetoptions.get("forceinline") else _Unit(self)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.called.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.called.get_overload(sig)


class _Called(_Kept):
    """A kernel, as other kernels call it: nothing that Python could call."""

    def __init__(self, kernel: _Kernel) -> None:
        super().__init__(kernel.py_func, kernel.source_file, kernel.targetoptions | without_wrappers)
        self.kernel = kernel
        only_lowered(self)

    def add_overload(self, cres: Any) -> None:
        self.overloads[cres.signature.args] = cres

    def get_call_template(self, args: Any, kws: Any) -> Any:
        signature, arguments = self._compiler.fold_argument_types(args, kws)
        template = call_template(self.py_func.__name__, self.known(tuple(map(usual_type, arguments))))
        return template, signature, arguments, {}

    def known(self, arguments: Any) -> Any:
        """The signature of the version for some types, which those that are compiled next may call."""
        self.compile(arguments)
        return self.overloads[arguments].signature


class _Part(_Called):
    """A kernel that becomes part of the machine code of those that call it."""

    def ready(self, result: Any) -> Any:
        result.library.kernel = self.kernel, result.signature.args
        return part_of_callers(result)

    def library(self, arguments: Any) -> Any:
        self.compile(arguments)
        return self.overloads[arguments].library


class _Unit(_Called):
    """A kernel with machine code of its own, made when it is first called.

    If its annotations say what it returns, its callers can be compiled before.
    """

    def __init__(self, kernel: _Kernel) -> None:
        super().__init__(kernel)
        self._calls: dict[Any, Any] = {}  # by the types of the arguments: the signature, and what Numba knows it by

    def ready(self, result: Any) -> Any:
        return with_machine_code(result)

    def address(self, arguments: Any, version: str | None = None) -> int:
        """Where its machine code is. The caller may know what it computes (`computed`)."""
        asked_for = self._asked_for(arguments)
        if version is not None:
            self._cache.suppose(asked_for, version)
        self.compile(asked_for)
        return address_of(self.overloads[arguments])

    def computed(self, arguments: Any) -> str | None:
        """What stands for all that its machine code computes, on any machine."""
        return self._cache.computed(self._asked_for(arguments))

    def kept_at(self, arguments: Any) -> Path | None:
        """Where its machine code is kept, or will be."""
        return self._cache.path(self._asked_for(arguments))

    def _asked_for(self, arguments: Any) -> Any:
        returned = result_type(self.py_func, arguments)
        return arguments if returned is None else returned(*arguments)

    def known(self, arguments: Any) -> Any:
        return self._call(arguments)[0]

    def get_overload(self, sig: Any) -> Any:
        return self._call(split_signature(sig)[0])[1]

    def _call(self, arguments: Any) -> Any:
        if arguments not in self._calls:
            returned = result_type(self.py_func, arguments)
            if returned is None:
                self.compile(arguments)
                returned = self.overloads[arguments].signature.return_type
            key = self._cache.key(arguments) or secrets.token_hex(20)
            self._calls[arguments] = call_of_unit(self, returned(*arguments), key)
        return self._calls[arguments]


class _Entry(_Kernel):
    def _compile_for_args(self, *args: Any, **kwargs: Any) -> Any:
        """Numba comes here when no compiled version fits the arguments."""
        named = zip(inspect.signature(self.py_func).parameters, args, strict=False)
        refuse(self.py_func, {name: value for name, value in named if not is_stand_in(value)})
        return super()._compile_for_args(*args, **kwargs)


# --- the same without a cache, where Numba is not as it was: by its promises alone ---


def _plain_kernel(function: Any, targetoptions: dict[str, Any]) -> Any:
    return numba.jit(**targetoptions)(function)


def _plain_entry(function: Any, targetoptions: dict[str, Any]) -> Any:
    """The arguments are checked in every call: slower, but callers count on it."""
    compiled, signature = _plain_kernel(function, targetoptions), inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        refuse(function, arguments)
        return compiled(*arguments.values())

    in_kernels(checked, function, lambda lanes: True, targetoptions)
    return checked


if not numba.config.DISABLE_JIT:
    if no_cache:
        progress.complain(no_cache)
    elif warning := untested():
        progress.warn(warning)
