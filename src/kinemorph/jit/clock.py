"""The processor's clock, for kernels that say where their time goes."""

from __future__ import annotations

import time
from typing import Any

from kinemorph.jit import api
from kinemorph.jit.lazy_import import emit


def ticks() -> int:
    """Ticks of a clock that runs on; only differences mean something. Without the JIT they are nanoseconds."""
    return time.perf_counter_ns()


def _lower_ticks(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = api.ir.FunctionType(context.get_value_type(api.types.int64), [])
    return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind), [])


api.when_needed(lambda numba: emit(numba, ticks, lambda context: numba.types.int64(), _lower_ticks))
