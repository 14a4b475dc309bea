"""How a kernel goes through Numba: the passes that do something for kernels, each followed by no more than it needs.

Numba looks over a function again after every pass, tells listeners about it, and makes the list of passes anew for each
function. Kernels have no closures, `with` blocks, generators or parallel loops; what they need is looked over once,
before they are lowered (`IRLegalization`). The code that comes out is the same.
"""

from __future__ import annotations

import functools
from types import CodeType
from typing import Any

from numba import types

from ._jit_numba import found, no_cache

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
