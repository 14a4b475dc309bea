"""Numbers in memory that several threads read and write at once, for kernels that share their work.

Each is an int64 at an address. All that a thread has written before it changes one of them is visible to a thread that
reads the change. Without the JIT they are plain numbers, which no other thread uses.
"""

from __future__ import annotations

import ctypes
from typing import Any

from kinemorph.jit import api
from kinemorph.jit.lazy_import import emit

ORDER = "seq_cst"


def _number(address: int) -> Any:
    return ctypes.c_int64.from_address(int(address))


def load(address: int) -> int:
    """The number at an address."""
    return int(_number(address).value)


def store(address: int, value: int) -> None:
    """Put a number there."""
    _number(address).value = int(value)


def add(address: int, value: int) -> None:
    """Add to the number there."""
    _number(address).value += int(value)


def lower(address: int, value: int) -> None:
    """Let the number there be no more than that."""
    store(address, min(load(address), value))


def swap(address: int, old: int, new: int) -> bool:
    """Put another number in place of one, if it is still there; whether it was."""
    same = load(address) == old
    if same:
        store(address, new)
    return same


def raise_float(address: int, value: float) -> None:
    """Let the float at an address be no less than that; neither is negative, so that their bits are in order."""
    number = ctypes.c_double.from_address(int(address))
    number.value = max(number.value, float(value))


def pause() -> None:
    """Let the core do something else for a moment, while a number there does not change."""


def _at(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, address.type.as_pointer())


def _lower_load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.load_atomic(_at(builder, args[0]), ORDER, 8)


def _lower_store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    builder.store_atomic(args[1], _at(builder, args[0]), ORDER, 8)
    return context.get_dummy_value()


def _lower_swap(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.extract_value(builder.cmpxchg(_at(builder, args[0]), args[1], args[2], ORDER), 1)


def _lower_change(operation: str) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.bitcast(args[1], args[0].type)
        builder.atomic_rmw(operation, _at(builder, args[0]), value, ORDER)
        return context.get_dummy_value()

    return lower


def _lower_pause(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    if "x86" in str(builder.module.triple):
        kind = api.ir.FunctionType(api.ir.VoidType(), [])
        builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
    return context.get_dummy_value()


def _register(numba: Any) -> None:
    none, int64, float64 = numba.types.none, numba.types.int64, numba.types.float64
    for function, lowered, signature in (
        (load, _lower_load, int64(int64)),
        (store, _lower_store, none(int64, int64)),
        (add, _lower_change("add"), none(int64, int64)),
        (lower, _lower_change("min"), none(int64, int64)),
        (swap, _lower_swap, numba.types.boolean(int64, int64, int64)),
        (raise_float, _lower_change("max"), none(int64, float64)),
        (pause, _lower_pause, none()),
    ):
        emit(numba, function, lambda context, *arguments, known=signature: known, lowered)


api.when_needed(_register)
