"""How Numba compiles a kernel: with the passes that do something for kernels, and with substitutes for some functions.

Numba looks over a function again after every pass, tells listeners about it, and makes the list of passes anew for each
function. Kernels have no closures, `with` blocks, generators or parallel loops. The substitutes (`_GROUPS`, most of
them in `jit.compiler.lowering`) are in place only while a kernel is compiled. `docs/start.md` says what each brings.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import secrets
from collections.abc import Iterator
from types import CodeType
from typing import Any

import llvmlite.ir
from numba import types

from kinemorph.jit.compiler import lowering
from kinemorph.jit.compiler.library import KernelLibrary
from kinemorph.jit.compiler.numba_names import found, no_cache, values_are_found, with_indices


@contextlib.contextmanager
def loading(target_context: Any) -> Iterator[None]:
    """One thread at a time, and libraries of our own. Other users of Numba, which wait for the lock, then find all as
    they left it."""
    with contextlib.ExitStack() as changes:
        changes.enter_context(found("core.compiler_lock.global_compiler_lock"))
        if vars(target_context.codegen()).get("_library_class") is not KernelLibrary:  # else a caller is being compiled
            changes.enter_context(_changed(target_context.codegen(), "_library_class", KernelLibrary))
            if gc.isenabled():
                gc.disable()  # Numba makes a million objects that stay: to look through them again and again is in vain
                changes.callback(_enable_collection)
        yield


@contextlib.contextmanager
def compiling(target_context: Any, key: str | None) -> Iterator[None]:
    """Numba as it is for kernels, and names of machine code that only a key decides.

    Such a name is made of the function and a count. Numba counts from 1 in every process: two closures of
    one function, one loaded from disk and one compiled here, could get the same name, and a caller of both would call
    one of them twice. Here each compilation of a kernel, with all that is compiled on its behalf, counts from a number
    that follows from its key: whichever process compiled the caller and the callee, the name is the same.
    """
    count = itertools.count(int(key[:15], 16) if key else secrets.randbits(60))
    with contextlib.ExitStack() as changes:
        changes.enter_context(_changed(found("core.bytecode.FunctionIdentity"), "_unique_ids", count))
        if vars(target_context).get("mangler") is not _mangled:  # else a caller is being compiled
            changes.enter_context(_changed(target_context, "mangler", _mangled))
            for owner, name, value in _substitutes():
                changes.enter_context(_changed(owner, name, value))
        yield


def _enable_collection() -> None:
    if gc.get_freeze_count() == 0:
        gc.freeze()  # all that was made belongs to what is old, and is not looked through at once
        gc.unfreeze()
    gc.enable()


# What works in another way while kernels are compiled: by Numba's name, what is called instead, and what the code of
# that name mentions. Those of a group make sense together only. A function gets Numba's own before the arguments.
_GROUPS: list[dict[str, tuple[Any, str]]] = [
    {
        "np.arrayobj.basic_indexing": (lowering.element, "builder aryty ary index_types indices boundscheck"),
        "np.arrayobj.make_array": (lowering.make_array, "array_type as_array create_struct_proxy"),
    },
    {
        "core.lowering.Lower._find_singly_assigned_variable": (
            lowering.find_values,
            "_singly_assigned_vars _blk_local_varmap",
        )
    },
    {"np.arrayobj.fix_integer_index": (lowering.fix_integer_index, "context builder idxty idx size")},
    {
        "core.callconv.CPUCallConv.call_function": (lowering.call_function, "resty argtys attrs _get_arg_packer"),
        "core.callconv.CPUCallConv.return_status_propagate": (lowering.return_status_propagate, "status code"),
    },
    {"core.postproc.PostProcessor.run": (lowering.postprocess, "emit_dels extend_lifetimes canonicalize_cfg")},
    {"core.base._has_loc": (lowering.has_loc, "fn pysignature loc parameters")},
    {
        "core.event.end_event": (lowering.told, "kind data exc_details broadcast"),
        "core.event.start_event": (lowering.told, "kind data broadcast"),
    },
]


@functools.cache
def _substitutes() -> list[tuple[Any, str, Any]]:
    """As far as this Numba has what they stand for: the owner, the name, and the substitute."""
    with_indices()
    chosen = [
        (types.Dispatcher, "get_call_type", _known_call_type(types.Dispatcher.get_call_type)),
        (types.Function, "get_call_type", _known_call_type(types.Function.get_call_type)),
        (type(types.Type), "__instancecheck__", type.__instancecheck__),  # none are registered
        (llvmlite.ir.Function, "descr_body", lowering.write_body),
    ]
    for group in _GROUPS:
        numbas = {path: found(path, *mentions.split()) for path, (_, mentions) in group.items()}
        for path, (substitute, _) in group.items() if None not in numbas.values() else ():
            owner, _, name = path.rpartition(".")
            of_a_class = isinstance(found(owner), type)
            chosen.append(
                (found(owner), name, substitute if of_a_class else functools.partial(substitute, numbas[path]))
            )
    return chosen


def _known_call_type(numbas: Any) -> Any:
    """What a call of a built-in function or of a kernel is: found once, where Numba looks for it in every call."""

    def call_type(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        if keywords or (isinstance(function, types.Dispatcher) and not hasattr(function.dispatcher, "called")):
            return numbas(function, context, arguments, keywords)
        known = vars(function).setdefault("__known_call_types", {})
        if arguments not in known:
            known[arguments] = numbas(function, context, arguments, keywords)
        return known[arguments]

    return call_type


@contextlib.contextmanager
def _changed(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give an attribute another value for a while, or one of its own to what inherited it."""
    had, before = name in vars(owner), getattr(owner, name, None)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if had:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def _mangled(name: str, types: Any, **others: Any) -> str:
    """A name of machine code, without the types: Numba numbers those of rows as they come in this process."""
    return str(found("core.funcdesc.default_mangler")(name, (), **others))


# --- passes ---

_Compiler: Any = object if no_cache else found("core.compiler.Compiler")
_PassManager: Any = object if no_cache else found("core.compiler_machinery.PassManager")

_FOR_OTHERS = {  # passes that leave kernels as they are, or write what is never read
    "AnnotateTypes", "DumpParforDiagnostics", "FindLiterallyCalls", "InlineInlinables",
    "LiteralPropagationSubPipelinePass", "LiteralUnroll", "NoPythonSupportedFeatureValidation", "WithLifting",
}  # fmt: skip
_FOR_CLOSURES = {"InlineClosureLikes", "MakeFunctionToJitFunction"}
_FOR_MEMORY = {"IRLegalization"}  # says when variables are forgotten, which counts for references alone


class KernelCompiler(_Compiler):  # type: ignore[misc]
    """Numba's compiler, with the passes for kernels."""

    def define_pipelines(self) -> list[Any]:
        code = self.state.func_id.code
        if self.state.flags.auto_parallel.enabled or self.state.flags.force_pyobject:
            return list(super().define_pipelines())
        return [_passes(any(isinstance(constant, CodeType) for constant in code.co_consts), _Known(self.state))]


class _Known:
    """The state of a compiler, as far as the list of passes depends on it."""

    def __init__(self, state: Any) -> None:
        self.func_ir, self.flags = None, state.flags
        code = state.func_id.code
        special = state.flags.nrt or state.flags.debuginfo or state.func_id.is_generator or code.co_exceptiontable
        self.is_plain = values_are_found and not special
        self._key = (state.flags.no_rewrites, state.flags.enable_ssa, self.is_plain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.cache
def _passes(closures: bool, state: _Known) -> Any:
    whole = found("core.compiler.DefaultPassBuilder.define_nopython_pipeline")(state)
    left_out = _FOR_OTHERS if closures else _FOR_OTHERS | _FOR_CLOSURES
    if state.is_plain:
        left_out = left_out | _FOR_MEMORY
    passes = _Passes("kernels")
    passes.is_plain = state.is_plain
    kept = [one for one in whole.passes if one[0].__name__ not in left_out]
    passes.passes = [one for k, one in enumerate(kept) if k == 0 or one[0] is not kept[k - 1][0]]
    passes.finalize()
    return passes


class _Passes(_PassManager):  # type: ignore[misc]
    """Numba's list of passes, run without listeners."""

    def _runPass(self, index: int, one: Any, state: Any) -> None:  # Numba's name
        name = type(one).__name__
        if name == "NopythonRewrites" and not _rewritten_later(state):
            return
        if name == "InlineOverloads" and not _inlines(state):
            return
        if name == "NativeLowering" and self.is_plain:
            state.func_ir.of_a_kernel = True
        before = _ends(state) if name == "DeadBranchPrune" else None
        one.analysis = self._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)
        if name == "TranslateByteCode" and self.is_plain:
            state.func_ir.known_flow = lowering.flow(state.func_ir)
        if before is not None and before != _ends(state):
            found("core.postproc.PostProcessor")(state.func_ir).run()


def _ends(state: Any) -> list[int]:
    """How blocks end: another list if the flow has changed."""
    return [id(block.body[-1]) for block in state.func_ir.blocks.values()]


def _rewritten_later(state: Any) -> bool:
    """Whether Numba has something to rewrite where types are known: fields by a name that is one, sums of arrays."""
    for inst, signature in state.calltypes.items():
        if signature is None:
            continue
        if len(signature.args) > 1 and isinstance(signature.args[1], types.StringLiteral):
            return True
        if isinstance(signature.return_type, types.Array) and _computes(inst, state.typemap):
            return True
    return False


def _computes(inst: Any, typemap: Any) -> bool:
    """Whether an instruction that has an array for a result may do what NumPy does, element by element."""
    operation = getattr(inst, "op", None)
    if operation != "call":
        return operation not in ("getitem", "static_getitem")
    kind = typemap.get(inst.func.name)
    return not isinstance(kind, types.Dispatcher) and "numpy" in repr(kind)


def _inlines(state: Any) -> bool:
    """Whether Numba would put the code of something that it knows in the place of a call."""
    functions = [kind for kind in state.typemap.values() if isinstance(kind, types.Function | types.BoundFunction)]
    if any(map(_is_inlined, functions)):
        return True
    for block in state.func_ir.blocks.values():
        for expression in block.find_exprs():
            if expression.op in ("binop", "inplace_binop", "unary"):
                if _is_inlined(state.typingctx.resolve_value_type(expression.fn)):
                    return True
            elif expression.op == "getattr" and not isinstance(state.typemap[expression.value.name], _PLAIN_OWNERS):
                return True
    return False


_PLAIN_OWNERS = (types.Record, types.Module)  # whose attributes are fields, constants and functions


@functools.cache
def _is_inlined(kind: Any) -> bool:
    templates = getattr(kind, "templates", None) or [kind.template]
    inlines = [getattr(template, "_inline", None) for template in templates]
    return any(inline is not None and not inline.is_never_inline for inline in inlines)
