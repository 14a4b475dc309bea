"""Multiply and add in one rounding, asked for and never left to LLVM.

LLVM may fuse a product and a sum by itself (`contract`), but it picks other pairs in lanes than in scalar code, and
then the two differ in their last bits. Here the source says which pairs are fused, so both round alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
from numba import types
from numba.extending import lower_builtin, type_callable

from kinemorph._jit import is_lanes
from kinemorph._jit_numba import fuses


def fma(a: Any, b: Any, c: Any) -> Any:
    """a b + c, of numbers or lanes. It rounds once, or twice if the processor cannot or the JIT is off."""
    return a * b + c


@type_callable(fma)
def _type_fma(context: Any) -> Callable[..., Any]:
    def typer(a: Any, b: Any, c: Any) -> Any:
        kind = next((t for t in (a, b, c) if is_lanes(t)), types.float64)
        return kind(kind, kind, kind)

    return typer


def _lower_fma(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    if not fuses(context):  # LLVM would call a slow function
        return builder.fadd(builder.fmul(args[0], args[1]), args[2])
    kind = args[0].type
    name = f"llvm.fma.v{kind.count}f64" if isinstance(kind, ir.VectorType) else "llvm.fma.f64"
    return builder.call(builder.module.declare_intrinsic(name, fnty=ir.FunctionType(kind, [kind] * 3)), args)


lower_builtin(fma, types.Any, types.Any, types.Any)(_lower_fma)
