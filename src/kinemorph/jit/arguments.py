"""Which arguments an entry compiles for. A float32 array or an int for a float would each cost a compilation of
many seconds, only to do the same: they are refused with a sentence that says what to pass instead."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_SCALARS: dict[Any, Any] = {float: (float, np.float64), int: (int, np.int64), bool: (bool, np.bool_)}
_FLOATS, _RECORDS = np.dtype(np.float64), np.dtype(np.void)
_ELEMENTS = [_FLOATS, *map(np.dtype, ("int64", "int32", "uint8", "bool")), _RECORDS]


class _ArrayOf:
    """An annotation that asks for arrays of a dtype and, if it says so, of a number of dimensions."""

    def __init__(self, dtype: Any, dimensions: int | None = None) -> None:
        self.dtype, self.dimensions = dtype, dimensions


def refuse(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise TypeError about the first of the named arguments that an entry is not compiled for, if there is one."""
    declared = declared_types(function)
    for name, value in arguments.items():
        if reason := objection(value, declared.get(name)):
            raise TypeError(f"{function.__qualname__}: {name} {reason}")


@functools.cache
def declared_types(function: Callable[..., Any]) -> dict[str, Any]:
    """What the annotations of an entry ask for, by parameter: see `_declared`."""
    try:
        return {name: _declared(hint) for name, hint in typing.get_type_hints(function).items()}
    except Exception:  # a name that only type checkers import: then nothing is declared
        return {}


def numba_types(function: Callable[..., Any], types: Any) -> tuple[Any, ...] | None:
    """The types that an entry is compiled for, where its annotations say it all; `types` are Numba's."""
    declared = declared_types(function)
    found = [_numba_type(declared.get(name), types) for name in inspect.signature(function).parameters]
    return None if None in found else tuple(found)


def _numba_type(declared: Any, types: Any) -> Any:
    if isinstance(declared, _ArrayOf):
        known = declared.dtype == _FLOATS and declared.dimensions
        return types.Array(types.float64, declared.dimensions, "C") if known else None
    scalars: dict[Any, Any] = {float: types.float64, int: types.int64, bool: types.boolean}
    return scalars.get(declared)


def _declared(hint: Any) -> Any:
    """What an annotation asks for: float, int, bool, the dtype of an array, a tuple of these; None if anything."""
    if hint in _SCALARS:
        return hint
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and ... not in arguments:
        return tuple(map(_declared, arguments))
    if typing.get_origin(hint) is np.ndarray:
        dtype = next((dtype for dtype in _ELEMENTS if dtype.type in typing.get_args(arguments[1])), None)
        shape = typing.get_args(arguments[0])
        return dtype and _ArrayOf(dtype, len(shape) if shape and all(size is int for size in shape) else None)
    return None


def objection(value: Any, declared: Any = None) -> str | None:
    """Why no version of an entry is compiled for `value`; None if it is fine."""
    if isinstance(value, np.ndarray) and (declared is None or isinstance(declared, _ArrayOf)):
        return _array_objection(value, declared)
    if isinstance(value, tuple) and (declared is None or isinstance(declared, tuple)):
        if declared is not None and len(declared) != len(value):
            return f"must have {len(declared)} items, not {len(value)}"
        reasons = map(objection, value, declared or [None] * len(value))
        return next((f"holds an item that {reason}" for reason in reasons if reason), None)
    if type(value) not in _SCALARS.get(declared, () if declared is not None else sum(_SCALARS.values(), ())):
        return f"must be {_name(declared)}, not {type(value).__name__}"
    if type(value) is int and not -(2**63) <= value < 2**63:
        return f"must fit in 64 bits, unlike {value}"
    return None


def _array_objection(array: Any, declared: Any) -> str | None:
    element = _RECORDS if array.dtype.names else array.dtype
    if element not in ([_FLOATS, _RECORDS] if declared is None else [declared.dtype]):
        hint = "; annotate it if that is meant" if declared is None and element in _ELEMENTS else ""
        return f"must be {_name(declared or _ArrayOf(_FLOATS))}, not {_name(_ArrayOf(element))}{hint}"
    if declared is not None and declared.dimensions not in (None, array.ndim):
        return f"must have {declared.dimensions} dimensions, not {array.ndim}"
    if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
        return "must be C-contiguous, aligned and in native byte order"
    if type(array) is not np.ndarray:
        return f"must be a plain array, not {type(array).__name__}"
    return None if array.flags.writeable or element == _RECORDS else "must not be read-only"


def _name(declared: Any) -> str:
    if isinstance(declared, _ArrayOf):
        return f"an array of {'records' if declared.dtype == _RECORDS else declared.dtype}"
    if isinstance(declared, tuple):
        return f"a tuple of {len(declared)}"
    return "an array, float, int, bool or tuple" if declared is None else str(declared.__name__)
