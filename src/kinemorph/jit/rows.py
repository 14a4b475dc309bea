"""Rows by their address: what a kernel gets is one integer, and the dtype says what lies there.

`rows_at(address, count, dtype)` are rows anywhere. A header is a row with addresses of tables and how many rows these
have: `trees_of = table(TREE_SLOT, "trees", "tree_room")` makes a function by which kernels and Python reach one of
them, `trees_of(forest)`; `forest_of = row(FOREST, "forest")` one for a single row, `forest_of(world)`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from kinemorph.jit.lazy_import import emit, when_needed

_MEMORY: Any = ctypes.c_char * (1 << 46)  # one type for all: to make one of each length takes longer than all the rest


def rows_at(address: int, count: int, dtype: Any) -> Any:
    """The `count` rows of a structured dtype that start at an address; the owner of the memory must stay alive."""
    return np.frombuffer(_MEMORY.from_address(int(address)), dtype, int(count))


def table(dtype: Any, address: str, count: str, times: int = 1, more: int = 0) -> Callable[[Any], Any]:
    """An accessor: of a header, the `times` · header[count] + `more` rows that start at header[address]."""

    def rows(header: Any) -> Any:
        return rows_at(header[address], times * int(header[count]) + more, dtype)

    def register(numba: Any) -> None:
        types = numba.types
        array = types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C")

        def typed(context: Any, header: Any) -> Any:
            return array if isinstance(header, types.Record) else None

        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = _field(numba, context, builder, signature.args[0], args[0], count)
            if times != 1:
                number = builder.mul(number, context.get_constant(types.intp, times))
            if more != 0:
                number = builder.add(number, context.get_constant(types.intp, more))
            start = _field(numba, context, builder, signature.args[0], args[0], address)
            return numba.array_at(context, builder, array, start, number)

        emit(numba, rows, typed, lower)

    when_needed(register)
    return rows


def vector(dtype: Any, address: str, place: int, room: str, count: str) -> Callable[[Any, Any], Any]:
    """An accessor: of a header and a row of sizes, vector number `place` of those at header[address], each with room
    for sizes[room] numbers; it has sizes[count]."""
    size = np.dtype(dtype).itemsize

    def numbers(header: Any, sizes: Any) -> Any:
        return rows_at(header[address] + size * place * int(sizes[room]), sizes[count], dtype)

    def register(numba: Any) -> None:
        types = numba.types
        array = types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C")

        def typing(context: Any) -> Callable[..., Any]:
            return lambda header, sizes: array if isinstance(header, types.Record) else None

        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            start = _field(numba, context, builder, signature.args[0], args[0], address)
            each = _field(numba, context, builder, signature.args[1], args[1], room)
            start = builder.add(start, builder.mul(each, context.get_constant(types.intp, size * place)))
            number = _field(numba, context, builder, signature.args[1], args[1], count)
            return numba.array_at(context, builder, array, start, number)

        numba.type_callable(numbers)(typing)
        numba.lower_builtin(numbers, types.Record, types.Record)(lower)

    when_needed(register)
    return numbers


def row(dtype: Any, address: str) -> Callable[[Any], Any]:
    """An accessor: of a header, the one row at header[address]."""

    def one(header: Any) -> Any:
        return rows_at(header[address], 1, dtype)[0]

    def register(numba: Any) -> None:
        types = numba.types
        record = numba.from_dtype(np.dtype(dtype))

        def typed(context: Any, header: Any) -> Any:
            return record if isinstance(header, types.Record) else None

        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            start = _field(numba, context, builder, signature.args[0], args[0], address)
            return builder.inttoptr(start, context.get_value_type(record))

        emit(numba, one, typed, lower)

    when_needed(register)
    return one


def _field(numba: Any, context: Any, builder: Any, record: Any, value: Any, name: str) -> Any:
    """A whole number in a field of a record, as Numba's intp."""
    types = numba.types
    kind = context.get_value_type(record.typeof(name))
    byte = builder.bitcast(value, context.get_value_type(types.voidptr))
    place = builder.gep(byte, [context.get_constant(types.intp, record.offset(name))])
    number = builder.load(builder.bitcast(place, kind.as_pointer()), align=1 if not record.aligned else kind.width // 8)
    return number if kind.width == 64 else builder.sext(number, context.get_value_type(types.intp))


def _register(numba: Any) -> None:
    types = numba.types

    def typed(context: Any, address: Any, count: Any, dtype: Any) -> Any:
        numbers = isinstance(address, types.Integer) and isinstance(count, types.Integer)
        return types.Array(dtype.dtype, 1, "C") if numbers and isinstance(dtype, types.DType) else None

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        count = context.cast(builder, args[1], signature.args[1], types.intp)
        return numba.array_at(context, builder, signature.return_type, args[0], count)

    emit(numba, rows_at, typed, lower)


when_needed(_register)
