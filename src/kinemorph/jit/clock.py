"""The processor's clock, for kernels that say where their time goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kinemorph.jit import api


def ticks() -> int:
    """Ticks of a clock that runs on; only differences mean something. Without the JIT they are nanoseconds."""
    return time.perf_counter_ns()


def _type_ticks(context: Any) -> Callable[..., Any]:
    def typer() -> Any:
        return api.types.int64()

    return typer


def _lower_ticks(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    number = context.get_value_type(api.types.int64)
    kind = type(builder.function.function_type)(number, [])
    return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind), [])


def _register(numba: Any) -> None:
    numba.type_callable(ticks)(_type_ticks)
    numba.lower_builtin(ticks)(_lower_ticks)


api.when_needed(_register)
