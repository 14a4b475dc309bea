"""A hint to the processor: rows that are read next, in an order that it cannot guess, or written by another thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinemorph.jit import api

CACHE_LINE_BYTES = 64  # bytes of a cache line


def prefetch(address: int) -> None:
    """Bring the cache line at an address closer; nothing if it is there, or if the JIT is off."""


def prefetch_to_write(address: int) -> None:
    """The same, and take it from other cores: it is written next."""


def _type_prefetch(context: Any) -> Callable[..., Any]:
    def typer(address: Any) -> Any:
        return api.types.none(api.types.int64)

    return typer


def _prefetching(writes: int) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _lower_prefetch(context, builder, args, writes)

    return lower


def _lower_prefetch(context: Any, builder: Any, args: Any, writes: int) -> Any:
    pointer = builder.inttoptr(args[0], context.get_value_type(api.types.voidptr))
    number = context.get_value_type(api.types.int32)
    with builder.goto_entry_block():
        unused = builder.alloca(args[0].type)
    nothing = builder.store(args[0], unused).type  # the type `void`; LLVM drops the store
    kind = type(builder.function.function_type)(nothing, [pointer.type, number, number, number])
    hints = [context.get_constant(api.types.int32, value) for value in (writes, 3, 1)]  # and again; data
    builder.call(builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind), [pointer, *hints])
    return context.get_dummy_value()


def _register(numba: Any) -> None:
    for function, writes in ((prefetch, 0), (prefetch_to_write, 1)):
        numba.type_callable(function)(_type_prefetch)
        numba.lower_builtin(function, numba.types.Integer)(_prefetching(writes))


api.when_needed(_register)
