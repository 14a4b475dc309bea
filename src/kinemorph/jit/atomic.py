"""Numbers in memory that several threads read and write at once, for kernels that share their work.

Each is an int64 at an address. All that a thread has written before it changes one of them is visible to a thread that
reads the change. Without the JIT they are plain numbers, which no other thread uses.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

from kinemorph.jit import api

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


def _typed(function: Any, result: Any, *arguments: Any) -> None:
    def typing(context: Any) -> Callable[..., Any]:
        def typer(*given: Any) -> Any:
            return result(*arguments)

        vars(typer)["__signature__"] = inspect.signature(function)
        return typer

    api.type_callable(function)(typing)


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
        with builder.goto_entry_block():
            unused = builder.alloca(context.get_value_type(api.types.int64))
        nothing = builder.store(context.get_constant(api.types.int64, 0), unused).type  # the type `void`
        kind = type(builder.function.function_type)(nothing, [])
        builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
    return context.get_dummy_value()


def _register(numba: Any) -> None:
    types = numba.types
    _typed(load, types.int64, types.int64)
    _typed(store, types.none, types.int64, types.int64)
    _typed(add, types.none, types.int64, types.int64)
    _typed(lower, types.none, types.int64, types.int64)
    _typed(swap, types.boolean, types.int64, types.int64, types.int64)
    _typed(raise_float, types.none, types.int64, types.float64)
    _typed(pause, types.none)
    numba.lower_builtin(load, types.Integer)(_lower_load)
    numba.lower_builtin(store, types.Integer, types.Integer)(_lower_store)
    numba.lower_builtin(add, types.Integer, types.Integer)(_lower_change("add"))
    numba.lower_builtin(lower, types.Integer, types.Integer)(_lower_change("min"))
    numba.lower_builtin(swap, types.Integer, types.Integer, types.Integer)(_lower_swap)
    numba.lower_builtin(raise_float, types.Integer, types.Float)(_lower_change("max"))
    numba.lower_builtin(pause)(_lower_pause)


api.when_needed(_register)
