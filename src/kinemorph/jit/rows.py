"""Rows by their address: what a kernel gets is one integer, and the dtype says what lies there."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from kinemorph.jit.lazy_import import when_needed

_MEMORY: Any = ctypes.c_char * (1 << 46)  # one type for all: to make one of each length takes longer than all the rest


def rows_at(address: int, count: int, dtype: Any) -> Any:
    """The `count` rows of a structured dtype that start at an address; the owner of the memory must stay alive."""
    return np.frombuffer(_MEMORY.from_address(int(address)), dtype, int(count))


def _register(numba: Any) -> None:
    types = numba.types

    def typing(context: Any) -> Callable[..., Any]:
        def typer(address: Any, count: Any, dtype: Any) -> Any:
            kinds = (types.Integer, types.Integer, types.DType)
            if all(isinstance(value, kind) for value, kind in zip((address, count, dtype), kinds, strict=True)):
                return types.Array(dtype.dtype, 1, "C")
            return None

        return typer

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        count = context.cast(builder, args[1], signature.args[1], types.intp)
        return numba.array_at(context, builder, signature.return_type, args[0], count)

    numba.type_callable(rows_at)(typing)
    numba.lower_builtin(rows_at, types.Integer, types.Integer, types.DType)(lower)


when_needed(_register)
