"""What modules with kernels import: the decorators `kernel` and `entry`, and what extends Numba.

    @kernel                   # a function that other kernels call: it becomes part of their machine code
    @kernel(inline=False)     # the same as a unit of its own, compiled when it is first called
    @entry                    # a kernel that Python calls, with a check of its arguments
    @generic, @for_lanes(f)   # a function of numbers, and its version for four SIMD lanes
    rows_at(address, n, ROW)  # n rows of a structured dtype at an address
    when_needed(register)     # call `register(api)` when the first kernel is needed: to extend Numba

The decorators only note a function. Numba is imported, and the function compiled or loaded from the cache on disk, when
a kernel is first called (`jit.lazy_import`). `compile_count` says how many were. All names of `jit.compiler.dispatch`
(`types`, `ir`, `overload`, `intrinsic`, ...) can be had from here, too, so that no other module imports Numba.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kinemorph.jit.cache.claims import claims
from kinemorph.jit.cache.folder import cache_folder, kept_folder, make_kept, why_foreign_file
from kinemorph.jit.generic import Function, for_lanes, generic, with_options
from kinemorph.jit.kernel import Kernel
from kinemorph.jit.lazy_import import is_switched_off, machinery, when_needed
from kinemorph.jit.progress import CompileCount, progress
from kinemorph.jit.rows import rows_at

__all__ = [
    "CompileCount", "Kernel", "cache_folder", "claims", "compile_count", "entry", "for_lanes", "generic",
    "kept_folder", "kernel", "make_kept", "progress", "rows_at", "switched_off", "when_needed", "why_foreign_file",
]  # fmt: skip

switched_off = is_switched_off()  # kernels are plain Python, of which one thread runs at a time


def __getattr__(name: str) -> Any:
    """A name of `jit.compiler.dispatch`, which imports Numba: that happens at the first use of such a name."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(machinery(), name)


@with_options
def kernel(*, inline: bool = True) -> Callable[[Function], Function]:
    """Compile a function at first use and keep it on disk; with NUMBA_DISABLE_JIT=1 it stays plain Python.

    It becomes part of its callers, so that tuples stay in registers. With `inline=False` it is a unit of machine code
    of its own, which is not compiled before it is called: for a large one, for one with several callers, and for what
    is seldom needed. Let its annotation say what it returns, if that is numbers or nothing: then its callers can be
    compiled without it.
    """
    return _decorator(False, {"nogil": True, "forceinline": inline})


def entry(function: Callable[..., Any] | None = None, *, nogil: bool = False) -> Callable[..., Any]:
    """A `kernel` for Python to call: arguments that would only cost a new compilation raise TypeError.

    A parameter annotated as `float`, `int`, `bool`, `NDArray[...]` or a tuple of these takes just that, not
    even an int for a float. Without an annotation it takes a float, int or bool, an array of float64 or
    records, or a tuple of any. Elements of arrays are float64, int64, int32, uint8, bool or records; arrays
    must be C-contiguous, aligned and native, and only those of records may be read-only. Let parameters have
    no defaults: one left out is yet another type. The check runs only when no compiled version fits the
    arguments, so it costs a good call nothing.

    To release the GIL takes time that a call of a microsecond feels: `nogil=True` is for long ones.
    """
    decorate = _decorator(True, {"nogil": nogil})
    return decorate if function is None else decorate(function)


def _decorator(is_entry: bool, options: dict[str, bool]) -> Any:
    def decorate(function: Any) -> Any:
        if is_switched_off():
            return function
        if not inspect.isfunction(function):
            raise TypeError(f"only a plain function can become a kernel, not {function!r}")
        return Kernel(function, is_entry, options)

    return decorate


def compile_count() -> CompileCount:
    """How many (function, signature) pairs this process has compiled, and how many loaded from the cache."""
    return progress.count
