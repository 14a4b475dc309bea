"""Numba's private names, which are looked at before they are used, and the switch that does without them.

The modules of this folder use them, and no other module does: the rest of kinemorph keeps to what the manuals of Numba
and llvmlite document (`numba.jit`, `numba.types`, `numba.config`, `numba.extending`, `numba.core.cgutils`,
`llvmlite.ir`, `llvmlite.binding`). `tests/test_jit_numba.py` checks that, and counts the names.

With KINEMORPH_PLAIN_NUMBA=1 no private name is used: kernels are plain Numba functions, which every process compiles
anew, and results are the same bits. The same happens where a name is gone or its code works in another way; `no_cache`
gives the reason.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import pickle
import re
from typing import Any

import llvmlite.binding
import llvmlite.ir
import numba
from numba import types
from numba.core import cgutils  # its manual uses this one
from numba.extending import models

TESTED = ((0, 66), (0, 68))  # the oldest and the newest Numba that the tests have passed with, as in pyproject.toml
_TESTED = " to ".join(f"{major}.{minor}" for major, minor in TESTED)


# --- the switch, and a look before use ---

SWITCH = "KINEMORPH_PLAIN_NUMBA"
switched_to_plain = os.environ.get(SWITCH, "") not in ("", "0")


def found(path: str, *mentions: str) -> Any:
    """What is called `path` in Numba; None if it is not there, or if its code does not mention all of `mentions`.

    With the switch on nothing is found.
    """
    found: Any = None if switched_to_plain else numba
    for name in path.split("."):
        found = getattr(found, name, None)
    code = getattr(inspect.unwrap(found), "__code__", None)
    known = {*code.co_names, *code.co_varnames, *code.co_consts} if code else set()
    return found if known.issuperset(mentions) else None


def _fault(probes: dict[str, str]) -> str | None:
    """A sentence about the first of the probes, given as the name and what its code mentions, that fails."""
    if switched_to_plain:
        return f"{SWITCH} is set"
    lost = next((path for path, mentions in probes.items() if found(path, *mentions.split()) is None), None)
    return lost and f"numba.{lost} in Numba {numba.__version__} is not as in the versions tested, {_TESTED}"


_CACHE = {  # what dispatchers, units, the passes and the cache on disk rely on
    "core.base.BaseContext.mangler": "default_mangler types uid",
    "core.bytecode.FunctionIdentity._unique_ids": "",
    "core.bytecode.FunctionIdentity.from_function": "_unique_ids unique_id",
    "core.codegen.CodeLibrary.has_dynamic_globals": "",
    "core.codegen.CPUCodegen.magic_tuple": "self",
    "core.codegen.CPUCodeLibrary._finalize_final_module": "_add_module _finalize_specific",
    "core.codegen.CPUCodeLibrary._optimize_final_module": "_final_module",
    "core.codegen.CPUCodeLibrary._unserialize": "_set_compiled_object _finalize_final_module _load_defined_symbols",
    "core.codegen.CPUCodeLibrary._finalize_dynamic_globals": "numba.dynamic.globals",
    "core.codegen.CPUCodeLibrary._optimize_functions": "data_layout _data_layout",
    "core.codegen.CPUCodeLibrary.finalize": "_linking_libraries _reload_init link_in _get_module_for_linking",
    "core.codegen.CPUCodeLibrary.serialize_using_object_code": "_get_compiled_object",
    "core.codegen.CPUCodegen._module_pass_manager": "",
    "core.codegen.CPUCodegen._pass_builder": "create_pass_builder",
    "core.codegen.Codegen.create_library": "_library_class",
    "core.codegen.Codegen.unserialize_library": "_library_class _unserialize",
    "core.codegen.JITCodeLibrary.get_pointer_to_function": "_ensure_finalized",
    "core.compiler.CompileResult._rebuild": "target_context",
    "core.compiler.CompileResult._reduce": "self",
    "core.compiler.CompileResult.lifted": "",
    "core.compiler.Compiler.define_pipelines": "DefaultPassBuilder",
    "core.compiler.DefaultPassBuilder.define_nopython_pipeline": "define_untyped_pipeline define_typed_pipeline",
    "core.compiler.Flags.no_compile": "",
    "core.compiler.compile_result": "entries",
    "core.compiler_machinery.PassManager._runPass": "pss run_initialization run_pass run_finalizer",
    "core.compiler_machinery.PassManager.run": "_runPass passes",
    "core.compiler_lock.global_compiler_lock": "",
    "core.cpu.CPUContext.refresh": "self",
    "core.dispatcher.OmittedArg": "",
    "core.funcdesc.FunctionDescriptor.__init__": "mangled_name uid",
    "core.funcdesc.default_mangler": "name argtypes uid",
    "core.postproc.PostProcessor.run": "emit_dels",
    "core.registry.CPUDispatcher.__init__": "py_func targetoptions pipeline_class",
    "core.registry.CPUDispatcher._compile_for_args": "args compile",
    "core.registry.CPUDispatcher.add_overload": "cres overloads",
    "core.registry.CPUDispatcher.compile": "sig _cache load_overload save_overload insert_user_function add_overload",
    "core.registry.CPUDispatcher.get_call_template": "compile nopython_signatures",
    "core.registry.CPUDispatcher.get_overload": "overloads entry_point",
    "core.registry.CPUDispatcher.targetdescr": "",
    "core.serialize.dumps": "obj",
    "core.typing.make_concrete_template": "key signatures",
}
_MEMORY = {"core.cpu.CPUTargetOptions._nrt": ""}
_VALUES = {  # what `lowering.find_values` relies on
    "core.analysis.compute_cfg_from_blocks": "blocks",
    "core.lowering.Lower._find_singly_assigned_variable": "_singly_assigned_vars _blk_local_varmap",
    "core.lowering.Lower.loadvar": "name getvar",
    "core.lowering.Lower.storevar": "value name argidx getvar",
}

no_cache = _fault(_CACHE)  # why compiled kernels cannot be kept, if so
values_are_found = not _fault(_VALUES)


def untested() -> str | None:
    """What to say about a version that pip would not have installed."""
    if TESTED[0] <= tuple(map(int, re.findall(r"\d+", numba.__version__)[:2])) <= TESTED[1]:
        return None
    return f"Numba {numba.__version__} is not one that kinemorph was tested with ({_TESTED})"


def with_indices() -> Any:
    """The module with `fix_integer_index`, through which all indices go; None if they go in another way."""
    module = importlib.import_module("numba.np.arrayobj")  # Numba, too, imports it when it compiles
    return module if found("np.arrayobj.fix_integer_index", "context", "builder", "idxty", "idx", "size") else None


# --- dispatchers: the objects that functions become ---

Dispatcher: Any = object if no_cache else found("core.registry.CPUDispatcher")
without_memory: dict[str, Any] = {} if _fault(_MEMORY) else {"_nrt": False}  # an option: no references to count


def is_stand_in(value: Any) -> bool:
    """Whether an argument is Numba's own, for a default or a constant."""
    return isinstance(value, found("core.dispatcher.OmittedArg") | types.Literal)


without_c_wrapper = {"no_cfunc_wrapper": True}  # an option: nothing for C to call
without_wrappers = {"no_cpython_wrapper": True, **without_c_wrapper}  # nor for Python


def only_lowered(dispatcher: Any) -> None:
    """Let a dispatcher stop before machine code: what it compiles has a library, and nothing to call."""

    def without_machine_code(flags: Any) -> Any:
        flags.no_compile = True
        return flags

    dispatcher._compiler._customize_flags = without_machine_code


def part_of_callers(result: Any) -> Any:
    """What was only lowered, made known to those that are compiled next, which take it in."""
    description, library = result.fndesc, result.library

    def call(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        callee, convention = context.declare_function(builder.module, description), context.call_conv
        status, value = convention.call_function(builder, callee, description.restype, description.argtypes, arguments)
        if library.may_fail:
            with builder.if_then(status.is_error, likely=False):
                convention.return_status_propagate(builder, status)
        return value

    vars(call)["libs"] = (library,)
    result = result._replace(entry_point=object())  # what Numba knows it by
    if isinstance(description.restype, types.Optional):
        result.target_context.insert_user_function(result.entry_point, description, [library])
    else:
        result.target_context.insert_func_defn([(call, result.entry_point, description.argtypes)])
    return result


def with_machine_code(result: Any) -> Any:
    """What was only lowered, made a unit."""
    result.library.python_calls_it = False
    result.library._ensure_finalized()
    return result


def address_of(result: Any) -> int:
    return int(result.library.get_pointer_to_function(result.fndesc.mangled_name))


def call_template(name: str, signature: Any) -> Any:
    """What type inference asks for: the one way to call a function."""
    return found("core.typing.make_concrete_template")(f"CallTemplate({name})", key=name, signatures=[signature])


def usual_type(kind: Any) -> Any:
    """The type for which a kernel is compiled if it is called with another one that means the same.

    A constant, or an integer of 32 bits, is an int64 for kernels: Numba would compile one more version for each.
    """
    if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral):
        kind = kind.literal_type
    return types.int64 if kind in _SMALLER else kind


_SMALLER = (types.int8, types.int16, types.int32)


def is_lanes(numba_type: Any) -> bool:
    """Whether an argument type belongs to four states at once: lanes, arrays of them, or a tree of them."""
    if isinstance(numba_type, types.Array):
        return bool(numba_type.ndim > 1)
    if isinstance(numba_type, types.Record):
        return "lanes" in numba_type.fields
    return bool(getattr(numba_type, "is_lanes", False))


# --- compiled kernels, as a cache sees them ---


def split_signature(signature: Any) -> tuple[tuple[Any, ...], Any]:
    """The types of the arguments, and the type of the result if that is asked for."""
    return (signature, None) if isinstance(signature, tuple) else (signature.args, signature.return_type)


def complete(target_context: Any) -> None:
    """Define what Numba puts off until it compiles, and machine code may refer to."""
    target_context.refresh()


def machine(target_context: Any) -> tuple[str, str, str]:
    """The triple, name and features of the processor that code is made for, as settled when Numba first asked LLVM."""
    return _machine(target_context.codegen(), *chosen_target())


@functools.cache  # LLVM looks at the processor every time
def _machine(codegen: Any, *chosen: str | None) -> tuple[str, str, str]:
    return codegen.magic_tuple()


def host_triple() -> str:
    return str(llvmlite.binding.get_process_triple())


def host_features() -> set[str]:
    """What this processor can do."""
    return {name for name, able in llvmlite.binding.get_host_cpu_features().items() if able}


def chosen_target() -> tuple[str | None, str | None]:
    """The name and features of the processor that the user asks Numba for, if any."""
    return numba.config.CPU_NAME, numba.config.CPU_FEATURES


ADDRESSES = "numba.dynamic.globals"  # how Numba calls what it does not keep on disk


def holds_addresses(result: Any) -> bool:
    """Whether a compiled kernel is of no use to other processes."""
    return bool(result.lifted or result.library.holds_addresses())


_PART, _WHOLE = b"p", b"w"


def packed(needs: Any, result: Any) -> bytes:
    """A compiled kernel, and how to find the kernels that it needs."""
    state = result._replace(type_annotation="")._reduce()
    return (_PART if state[0][1] == "part" else _WHOLE) + bytes(found("core.serialize.dumps")((needs, state)))


def unpacked(content: bytes) -> Any:
    """What was packed; the kernel itself comes back from `rebuilt`, when those that it takes in are there."""
    return pickle.loads(content[1:])


def is_part(content: bytes) -> bool:
    """Whether what was packed is to be taken in by others, and has no machine code of its own."""
    return content[:1] == _PART


def _lacking(names: list[str]) -> bool:
    """Whether some of what machine code asks for is nowhere in this process."""
    return any(llvmlite.binding.address_of_symbol(name) is None for name in names)


def rebuilt(reduced: Any, target_context: Any, parts: list[Any]) -> Any:
    """A compiled kernel again; `parts` are the libraries of the kernels that it takes in.

    None if its machine code needs what is not there: LLVM would end the process.
    """
    library_state, description, environment, signature, *_ = reduced
    if library_state[1] != "part":
        *_, asked_for = library_state[2]
        if _lacking(asked_for):
            complete(target_context)
            if _lacking(asked_for):
                return None
    if library_state[1] == "callable":
        return found("core.compiler.CompileResult._rebuild")(target_context, *reduced)
    result = found("core.compiler.compile_result")(
        library=target_context.codegen().unserialize_library(library_state),
        fndesc=description,
        environment=environment,
        signature=signature,
        objectmode=False,
        target_context=target_context,
    )
    result.library.take_in(parts)
    return result


# --- what code is made of: there is no way around these ---

_fields_of: Any = getattr(cgutils, "create_struct_proxy", None)
_ARRAY_FIELDS = {"meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides"}
if _fields_of is None or not _ARRAY_FIELDS.issubset(models.ArrayModel.__init__.__code__.co_consts):
    raise ImportError(
        f"arrays in Numba {numba.__version__} are not as in the versions tested, {_TESTED}, "
        "which kinemorph cannot do without: install one of those"
    )


def array_at(context: Any, builder: Any, array_type: Any, address: Any, count: Any) -> Any:
    """An array of one dimension over memory that another object owns."""
    array = _fields_of(array_type)(context, builder)
    item_size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    array.data = builder.inttoptr(address, array.data.type)
    array.nitems, array.itemsize = count, context.get_constant(types.intp, item_size)
    array.shape = builder.insert_value(array.shape, array.nitems, 0)
    array.strides = builder.insert_value(array.strides, array.itemsize, 0)
    for field in ("meminfo", "parent"):  # no references to count: the owner is elsewhere
        setattr(array, field, llvmlite.ir.Constant(getattr(array, field).type, None))
    return array._getvalue()


def array_data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """A pointer to the first element."""
    return _fields_of(array_type)(context, builder, value=array).data


def fuses(context: Any) -> bool:
    """Whether the processor multiplies and adds in one instruction: x86 says so in its features, ARM always can."""
    features = numba.config.CPU_FEATURES
    features = llvmlite.binding.get_host_cpu_features().flatten() if features is None else features
    return "+fma" in features.split(",") or host_triple().startswith(("aarch64", "arm64"))
