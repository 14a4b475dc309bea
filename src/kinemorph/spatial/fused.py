"""Fused multiply-add (FMA) requested explicitly, never left to LLVM.

LLVM may fuse a product and a sum by itself (`contract`), but it picks different pairs in SIMD lanes than in scalar
code, and the results differ in their last bits. Here the source selects the fused pairs, so both round alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinemorph.jit import api


def fma(a: Any, b: Any, c: Any) -> Any:
    """a b + c, of numbers or lanes. It rounds once, or twice if the processor cannot or the JIT is off."""
    return a * b + c


def _type_fma(context: Any) -> Callable[..., Any]:
    def typer(a: Any, b: Any, c: Any) -> Any:
        kind = next((t for t in (a, b, c) if api.is_lanes(t)), api.types.float64)
        return kind(kind, kind, kind)

    return typer


def _lower_fma(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    if not api.fuses(context):  # LLVM would call a slow function
        return builder.fadd(builder.fmul(args[0], args[1]), args[2])
    kind, ir = args[0].type, api.ir
    name = f"llvm.fma.v{kind.count}f64" if isinstance(kind, ir.VectorType) else "llvm.fma.f64"
    return builder.call(builder.module.declare_intrinsic(name, fnty=ir.FunctionType(kind, [kind] * 3)), args)


def _register(numba: Any) -> None:
    numba.type_callable(fma)(_type_fma)
    numba.lower_builtin(fma, *[numba.types.Any] * 3)(_lower_fma)


api.when_needed(_register)
