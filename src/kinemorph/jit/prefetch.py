"""A hint to the processor: rows that are read next, in an order that it cannot guess, or written by another thread."""

from __future__ import annotations

from typing import Any

from kinemorph.jit import api
from kinemorph.jit.lazy_import import emit

CACHE_LINE_BYTES = 64  # bytes of a cache line


def prefetch(address: int) -> None:
    """Bring the cache line at an address closer; nothing if it is there, or if the JIT is off."""


def prefetch_to_write(address: int) -> None:
    """The same, and take it from other cores: it is written next."""


def _prefetching(writes: int) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], context.get_value_type(api.types.voidptr))
        number = context.get_value_type(api.types.int32)
        kind = api.ir.FunctionType(api.ir.VoidType(), [pointer.type, number, number, number])
        hints = [context.get_constant(api.types.int32, value) for value in (writes, 3, 1)]  # and again; data
        builder.call(builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind), [pointer, *hints])
        return context.get_dummy_value()

    return lower


def _register(numba: Any) -> None:
    for function, writes in ((prefetch, 0), (prefetch_to_write, 1)):
        emit(numba, function, lambda context, address: numba.types.none(numba.types.int64), _prefetching(writes))


api.when_needed(_register)
