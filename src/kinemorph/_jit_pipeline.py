"""How a kernel goes through Numba: the passes that do something for kernels, each followed by no more than it needs.

Numba looks over a function again after every pass, tells listeners about it, and makes the list of passes anew for each
function. Kernels have no closures, `with` blocks, generators or parallel loops; what they need is looked over once,
before they are lowered (`IRLegalization`). The code that comes out is the same.
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

from ._jit_library import KernelLibrary
from ._jit_numba import found, no_cache, with_indices


@contextlib.contextmanager
def compiling(target_context: Any, key: str | None) -> Iterator[None]:
    """One thread at a time, libraries of our own, and names of machine code that only a key decides.

    Such a name is made of the function and a count. Numba counts from 1 in every process: two closures of
    one function, one loaded from disk and one compiled here, could get the same name, and a caller of both would call
    one of them twice. Here each compilation of a kernel, with all that is compiled on its behalf, counts from a number
    that follows from its key: whichever process compiled the caller and the callee, the name is the same. Other users
    of Numba, who wait for the lock, then find all as they left it.
    """
    count = itertools.count(int(key[:15], 16) if key else secrets.randbits(60))
    collects = gc.isenabled()
    with contextlib.ExitStack() as changes:
        changes.enter_context(found("core.compiler_lock.global_compiler_lock"))
        changes.enter_context(_changed(found("core.bytecode.FunctionIdentity"), "_unique_ids", count))
        changes.enter_context(_changed(target_context.codegen(), "_library_class", KernelLibrary))
        changes.enter_context(_changed(target_context, "mangler", _mangled))
        changes.enter_context(_changed(types.Function, "get_call_type", _known_call_type))
        if (arrays := with_indices()) is not None:
            index = functools.partial(_index, arrays.fix_integer_index)
            changes.enter_context(_changed(arrays, "fix_integer_index", index))
        if collects:
            gc.disable()  # Numba makes a million objects that stay: to look through them again and again is in vain
            changes.callback(gc.enable)
        yield


@contextlib.contextmanager
def _changed(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give an attribute another value for a while, or one of its own to what inherited it."""
    had, before = name in vars(owner), getattr(owner, name)
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


def _known_call_type(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
    """What a call of a built-in function is: found once, where Numba tries all that it might be in every call."""
    known = vars(function).setdefault("_known_call_types", {})
    if keywords or arguments not in known:
        found = super(types.Function, function).get_call_type(context, arguments, keywords)
        if keywords:
            return found
        known[arguments] = found
    return known[arguments]


def _index(numbas: Any, context: Any, builder: Any, idxty: Any, idx: Any, size: Any) -> Any:
    """An index, which counts from the end only if it is a constant, `a[-1]`.

    Numba asks of every index whether it is negative: a tenth of the time of a step. With bounds checks on, a negative
    one is refused.
    """
    if isinstance(idx, llvmlite.ir.Constant) or not idxty.signed:
        return numbas(context, builder, idxty, idx, size)
    return context.cast(builder, idx, idxty, types.intp)


# --- passes ---

_Compiler: Any = object if no_cache else found("core.compiler.Compiler")
_PassManager: Any = object if no_cache else found("core.compiler_machinery.PassManager")

_FOR_OTHERS = {  # passes that leave kernels as they are, or write what nobody reads
    "AnnotateTypes",
    "DumpParforDiagnostics",
    "FindLiterallyCalls",
    "InlineInlinables",
    "LiteralPropagationSubPipelinePass",
    "LiteralUnroll",
    "NoPythonSupportedFeatureValidation",
    "WithLifting",
}
_FOR_CLOSURES = {"InlineClosureLikes", "MakeFunctionToJitFunction"}


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
        self._key = (state.flags.no_rewrites, state.flags.enable_ssa)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.cache
def _passes(closures: bool, state: _Known) -> Any:
    whole = found("core.compiler.DefaultPassBuilder.define_nopython_pipeline")(state)
    left_out = _FOR_OTHERS if closures else _FOR_OTHERS | _FOR_CLOSURES
    passes = _Passes("kernels")
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
        before = _ends(state) if name == "DeadBranchPrune" else None
        one.analysis = self._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)
        if before is not None and before != _ends(state):
            found("core.postproc.PostProcessor")(state.func_ir).run()


def _ends(state: Any) -> list[int]:
    """How blocks end: another list if the flow has changed."""
    return [id(block.body[-1]) for block in state.func_ir.blocks.values()]


def _rewritten_later(state: Any) -> bool:
    """Whether Numba has something to rewrite where types are known: fields by a name that is one, sums of arrays."""
    if any(isinstance(kind, types.StringLiteral) for kind in state.typemap.values()):
        return True
    made = (signature.return_type for signature in state.calltypes.values() if signature is not None)
    return any(isinstance(kind, types.Array) for kind in made)
