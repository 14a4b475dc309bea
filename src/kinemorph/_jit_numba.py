"""What kinemorph uses of Numba without Numba's promise to keep it, in one place, and looked at before it is used.

Everything else keeps to what Numba documents: `numba.jit`, `numba.types`, `numba.config` and `numba.extending`. Where a
name is gone, or the code behind it works in another way, `no_cache` says so: kernels are then plain Numba functions,
compiled anew in every process, with the same numbers. The few things without such a way out are refused at import.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import pickle
import re
import secrets
from collections.abc import Iterator
from typing import Any

import llvmlite.binding
import llvmlite.ir
import numba
from numba import types

TESTED = ((0, 66), (0, 68))  # the oldest and the newest Numba that the tests have passed with, as in pyproject.toml
_TESTED = " to ".join(f"{major}.{minor}" for major, minor in TESTED)


# --- looking before use ---


def _find(path: str, *mentions: str) -> Any:
    """What is called `path` in Numba; None if it is not there, or if its code does not mention all of `mentions`."""
    found: Any = numba
    for name in path.split("."):
        found = getattr(found, name, None)
    code = getattr(inspect.unwrap(found), "__code__", None)
    known = {*code.co_names, *code.co_varnames, *code.co_consts} if code else set()
    return found if known.issuperset(mentions) else None


def _fault(probes: dict[str, str]) -> str | None:
    """A sentence about the first of the probes, given as the name and what its code mentions, that fails."""
    lost = next((path for path, mentions in probes.items() if _find(path, *mentions.split()) is None), None)
    return lost and f"numba.{lost} in Numba {numba.__version__} is not as in the versions tested, {_TESTED}"


def _needed(path: str, mentions: str = "") -> Any:
    """What is called `path` in Numba, and has no substitute."""
    if fault := _fault({path: mentions}):
        raise ImportError(f"{fault}, which kinemorph cannot do without: install one of those")
    return _find(path)


_CACHE = {  # what the kernels, and the cache behind them, are built on
    "core.bytecode.FunctionIdentity._unique_ids": "",
    "core.bytecode.FunctionIdentity.from_function": "_unique_ids unique_id",
    "core.codegen.CodeLibrary.has_dynamic_globals": "",
    "core.codegen.CPUCodegen.magic_tuple": "self",
    "core.compiler.CompileResult._rebuild": "target_context",
    "core.compiler.CompileResult._reduce": "self",
    "core.compiler.CompileResult.lifted": "",
    "core.compiler_lock.global_compiler_lock.__enter__": "",
    "core.cpu.CPUContext.refresh": "self",
    "core.dispatcher.OmittedArg": "",
    "core.funcdesc.FunctionDescriptor.__init__": "mangled_name uid",
    "core.itanium_mangler.mangle": "uid",
    "core.registry.CPUDispatcher.__init__": "py_func targetoptions",
    "core.registry.CPUDispatcher._compile_for_args": "args compile",
    "core.registry.CPUDispatcher.compile": "sig _cache load_overload save_overload",
    "core.serialize.dumps": "obj",
    "core.sigutils.normalize_signature": "sig",
}
_MEMORY = {"core.cpu.CPUTargetOptions._nrt": ""}

no_cache = _fault(_CACHE)  # why compiled kernels cannot be kept, if so


def untested() -> str | None:
    """What to say about a version that pip would not have installed."""
    if TESTED[0] <= tuple(map(int, re.findall(r"\d+", numba.__version__)[:2])) <= TESTED[1]:
        return None
    return f"Numba {numba.__version__} is not one that kinemorph was tested with ({_TESTED})"


# --- dispatchers: the objects that functions become ---

Dispatcher: Any = object if no_cache else _find("core.registry.CPUDispatcher")
without_memory: dict[str, Any] = {} if _fault(_MEMORY) else {"_nrt": False}  # an option: no references to count


def is_stand_in(value: Any) -> bool:
    """Whether an argument is Numba's own, for a default or a constant."""
    return isinstance(value, numba.core.dispatcher.OmittedArg | types.Literal)


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """One thread at a time, and names of machine code that no other process gives.

    Such a name is made of the function, the types and a count. Numba counts from 1 in every process: two closures of
    one function, one loaded from disk and one compiled here, could get the same name, and a caller of both would call
    one of them twice. Here each compilation of a kernel, with all that is compiled on its behalf, counts from anywhere.
    Other users of Numba, who wait for the lock, then find their count as they left it.
    """
    identity = numba.core.bytecode.FunctionIdentity
    with numba.core.compiler_lock.global_compiler_lock:
        count, identity._unique_ids = identity._unique_ids, itertools.count(secrets.randbits(60))
        try:
            yield
        finally:
            identity._unique_ids = count


# --- compiled kernels, as a cache sees them ---


def split_signature(signature: Any) -> tuple[tuple[Any, ...], Any]:
    """The types of the arguments, and the type of the result if that is asked for."""
    return numba.core.sigutils.normalize_signature(signature)


def complete(target_context: Any) -> None:
    """Define what Numba puts off until it compiles, and machine code may refer to."""
    target_context.refresh()


def machine(target_context: Any) -> tuple[str, str, str]:
    """The triple, name and features of the processor that code is made for, as settled when Numba first asked LLVM."""
    return target_context.codegen().magic_tuple()


def holds_addresses(result: Any) -> bool:
    """Whether a compiled kernel is of no use to other processes."""
    return bool(result.library.has_dynamic_globals or result.lifted)


def packed(result: Any) -> bytes:
    return numba.core.serialize.dumps(result._reduce())


def unpacked(content: bytes, target_context: Any) -> Any:
    return numba.core.compiler.CompileResult._rebuild(target_context, *pickle.loads(content))


# --- what code is made of: there is no way around these ---

safe_conversion: Any = _needed("core.typeconv.Conversion.safe")
_fields_of: Any = _needed("core.cgutils.create_struct_proxy")
_needed("core.datamodel.models.ArrayModel.__init__", "meminfo parent nitems itemsize data shape strides")


def array_at(context: Any, builder: Any, array_type: Any, address: Any, count: Any) -> Any:
    """An array of one dimension over memory that somebody else owns."""
    array = _fields_of(array_type)(context, builder)
    item_size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    array.data = builder.inttoptr(address, array.data.type)
    array.nitems, array.itemsize = count, context.get_constant(types.intp, item_size)
    array.shape = builder.insert_value(array.shape, array.nitems, 0)
    array.strides = builder.insert_value(array.strides, array.itemsize, 0)
    for nobody in ("meminfo", "parent"):  # no one counts references: the owner is elsewhere
        setattr(array, nobody, llvmlite.ir.Constant(getattr(array, nobody).type, None))
    return array._getvalue()


def array_data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """A pointer to the first element."""
    return _fields_of(array_type)(context, builder, value=array).data


def fuses(context: Any) -> bool:
    """Whether the processor multiplies and adds in one instruction: x86 says so in its features, ARM always can."""
    if _find("core.codegen.CPUCodegen.magic_tuple"):
        triple, _, features = machine(context)
    else:
        triple, features = llvmlite.binding.get_process_triple(), numba.config.CPU_FEATURES
        features = llvmlite.binding.get_host_cpu_features().flatten() if features is None else features
    return "+fma" in features.split(",") or triple.startswith(("aarch64", "arm64"))
