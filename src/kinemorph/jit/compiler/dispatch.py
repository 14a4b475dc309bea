"""What a noted function (`jit.kernel.Kernel`) becomes: the dispatcher that Python calls, and the one that kernels call.

A dispatcher is Numba's object with one compiled version for each tuple of argument types. Ours look for a version in
the cache on disk (`jit.cache.machine_code`, by the key of `jit.cache.keys`), and compile it (`jit.compiler.pipeline`)
if it is not there, unless another process does (`jit.cache.claims`). A kernel is either part of the machine code of its
callers or a unit that they call (`jit.compiler.calls`). Without Numba's private names (`jit.compiler.numba_names`) they
are Numba's own, and no cache keeps them. `jit.lazy_import.machinery` imports this module when a kernel is first needed.
"""

from __future__ import annotations

import functools
import inspect
import secrets
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import NumbaError, from_dtype, types
from numba.extending import (
    box,
    intrinsic,
    lower_builtin,
    lower_cast,
    models,
    overload,
    register_model,
    type_callable,
    typeof_impl,
)

from kinemorph.jit.arguments import refuse
from kinemorph.jit.cache.claims import claims
from kinemorph.jit.cache.keys import surroundings, versions
from kinemorph.jit.cache.machine_code import KernelCache, cache_size, files_in_use, for_packs, why_not_kept
from kinemorph.jit.cache.pack import installed_pack
from kinemorph.jit.compiler.calls import call_of_unit, expect, plain_call, result_type
from kinemorph.jit.compiler.numba_names import (
    Dispatcher,
    address_of,
    array_at,
    array_data,
    call_template,
    fuses,
    is_lanes,
    is_stand_in,
    machine,
    no_cache,
    only_lowered,
    part_of_callers,
    split_signature,
    switched_to_plain,
    untested,
    usual_type,
    with_machine_code,
    without_wrappers,
)
from kinemorph.jit.compiler.pipeline import KernelCompiler, compiling, loading
from kinemorph.jit.kernel import Kernel
from kinemorph.jit.lazy_import import emit
from kinemorph.jit.options import OPTIONS, options_of
from kinemorph.jit.progress import progress

__all__ = [  # with what modules that extend Numba need, such as the SIMD lanes
    "OVERLOAD", "NumbaError", "array_at", "array_data", "box", "cache_size", "dispatcher_of", "files_in_use",
    "for_packs", "from_dtype", "fuses", "installed_pack", "intrinsic", "ir", "is_lanes", "lower_builtin",
    "lower_cast", "models", "no_cache", "options_of", "overload", "register_model", "setting_key", "target",
    "type_callable", "types", "untested", "versions", "why_not_kept",
]  # fmt: skip

# Numba's look-up of compiled versions takes subclasses of arrays for arrays, unless their class says that it shall not.
# Its compiler refuses masked arrays, so they were accepted where a version was there, with the numbers behind the mask.
np.ma.MaskedArray.__numba_array_subtype_dispatch__ = True  # type: ignore[attr-defined]

OVERLOAD = OPTIONS | without_wrappers | {"nogil": True, "forceinline": True}  # the jit_options of an `overload`
if not no_cache:
    OVERLOAD["pipeline_class"] = KernelCompiler


def dispatcher_of(kernel: Any) -> Any:
    """What Python calls of a `Kernel`."""
    vars(kernel.py_func)["__signature__"] = inspect.signature(kernel.py_func)  # Numba asks for it three times
    if no_cache:
        return _plain_entry(kernel) if kernel.is_entry else _plain_kernel(kernel)
    return (_Entry if kernel.is_entry else _Kernel)(kernel)


def setting_key() -> str:
    """A hash of all but the sources that machine code depends on: the processor, the versions, Numba's settings."""
    return surroundings(target())


def target() -> tuple[str, str, str]:
    """The triple, name and features of the processor that kernels are compiled for."""
    return machine(Dispatcher.targetdescr.target_context)


class _Kept(Dispatcher):  # type: ignore[misc]
    """A Numba function that is kept in our cache, and tells how far its compilation is."""

    is_noted = True  # its key is (`jit.cache.known_keys`)

    def __init__(self, kernel: Any, **more_options: bool) -> None:
        options = kernel.targetoptions | more_options
        super().__init__(kernel.py_func, targetoptions=options, pipeline_class=KernelCompiler)
        self.kernel = kernel
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

    def kept_at(self, arguments: Any) -> Path | None:
        """Where its machine code for some types is kept, or will be."""
        return self._cache.path(arguments)

    def ready(self, result: Any) -> Any:
        """A result of the compiler, or of the cache, ready to be called."""
        return result

    def calls_in(self, path: Path) -> list[tuple[Any, Any]]:
        """The units that a version calls which is kept there, and the types."""
        return self._cache.calls(path)


class _Kernel(_Kept):
    """A kernel, as Python calls it."""

    @functools.cached_property
    def called(self) -> Any:
        """The same, as other kernels call it."""
        return _Part(self.kernel) if self.targetoptions.get("forceinline") else _Unit(self.kernel)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.called.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.called.get_overload(sig)


class _Called(_Kept):
    """A kernel, as other kernels call it: nothing that Python could call."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel, **without_wrappers)
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

    is_noted = False  # it is looked for when one of those is compiled, which takes longer than to find its key

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

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel)
        self._calls: dict[Any, Any] = {}  # by the types of the arguments: the signature, and what Numba knows it by

    def ready(self, result: Any) -> Any:
        return with_machine_code(result)

    def address(self, arguments: Any, version: str | None = None, noted: bool = False) -> int:
        """Where its machine code is. The caller may know what it computes (`computed`), perhaps from a note."""
        asked_for = self._asked_for(arguments)
        if version is not None:
            self._cache.suppose(asked_for, version, noted)
        self.compile(asked_for)
        return address_of(self.overloads[arguments])

    def computed(self, arguments: Any) -> str | None:
        """What stands for all that its machine code computes, on any machine."""
        return self._cache.computed(self._asked_for(arguments))

    def kept_at(self, arguments: Any) -> Path | None:
        return super().kept_at(self._asked_for(arguments))

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

    def typeof_pyval(self, val: Any) -> Any:
        """Numba comes here for the type of an argument that it has not seen; of a masked array it would raise."""
        return types.pyobject if isinstance(val, np.ma.MaskedArray) else super().typeof_pyval(val)


def _type_of_kernel(kernel: Any, context: Any) -> Any:
    """Numba's type of a kernel that another one names."""
    return typeof_impl(getattr(kernel.dispatcher, "compiled", kernel.dispatcher), context)


typeof_impl.register(Kernel)(_type_of_kernel)


# --- plain Numba functions, which no cache keeps: only what Numba's manual documents ---


def _plain_kernel(kernel: Any) -> Any:
    """A kernel that becomes part of its callers, or what calls a unit."""
    function = kernel.py_func if kernel.options.get("forceinline") else _plain_call(kernel)
    for_python = numba.jit(**kernel.targetoptions)(function)
    for_python.compiled = numba.jit(**kernel.targetoptions | without_wrappers)(function)  # what kernels call
    return for_python


def _plain_call(kernel: Any) -> Any:
    """A function that calls a unit.

    Numba takes a function into each of its callers, with all that it calls, and optimises it there again: a step of a
    world needs many minutes and gigabytes for that. So a unit whose annotations say what it returns is a C callback,
    which is compiled when it is first called.
    """
    function = kernel.py_func
    parameters = ", ".join(inspect.signature(function).parameters)

    def unit(*arguments: Any) -> Any:
        """Stands for the version of the unit for the types of the arguments."""

    def call(of: Any) -> Any:
        scope = {"_unit": of}
        exec(f"def call({parameters}):\n    return _unit({parameters})", scope)
        return scope["call"]

    def typed(context: Any, *arguments: Any) -> Any:
        result = result_type(function, arguments)
        return result and result(*map(usual_type, arguments))

    @functools.cache
    def key_of(signature: Any) -> str:
        key, made = secrets.token_hex(20), functools.cache(numba.cfunc(signature, **kernel.targetoptions))
        expect(key, lambda: int(made(function).address))
        return key

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return plain_call(context, builder, signature, arguments, key_of(signature))

    def choose(*arguments: Any) -> Any:
        known = result_type(function, arguments) is not None
        return None if known else call(numba.jit(**kernel.targetoptions | without_wrappers)(function))

    vars(choose)["__signature__"] = inspect.signature(call(unit))  # Numba looks for the names of the parameters
    emit(sys.modules[__name__], unit, typed, lower, function)
    overload(unit, jit_options=OVERLOAD)(choose)
    return call(unit)


def _plain_entry(kernel: Any) -> Any:
    """The arguments are checked in every call: slower, but callers count on it."""
    function = kernel.py_func
    compiled, signature = numba.jit(**kernel.targetoptions)(function), inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        refuse(function, arguments)
        return compiled(*arguments.values())

    vars(checked)["compiled"] = compiled  # what kernels call
    return checked


if not numba.config.DISABLE_JIT:
    if switched_to_plain:
        progress.unkept = no_cache
    elif no_cache:
        progress.complain(no_cache)
    elif warning := untested():
        progress.warn(warning)
