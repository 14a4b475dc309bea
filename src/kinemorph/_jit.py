"""Stub, to be replaced."""
import inspect
import numba
import os


def kernel(function=None, *, inline=True):
    options = dict(nogil=True, error_model="numpy", _nrt=False, forceinline=inline, fastmath={"contract"})
    return numba.njit(**options)(function) if function else numba.njit(**options)

def entry(function=None, *, nogil=False):
    options = dict(nogil=nogil, error_model="numpy", _nrt=False, fastmath={"contract"})
    return numba.njit(**options)(function) if function else numba.njit(**options)

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, overload, type_callable
from numba.np.arrayobj import make_array, populate_array
import ctypes, numpy as np


def rows_at(address, count, dtype):
    """The `count` rows of a structured dtype that start at an address, as an array; its owner must stay alive."""
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


@type_callable(rows_at)
def _type_rows_at(context):
    def typer(address, count, dtype):
        if isinstance(address, types.Integer) and isinstance(count, types.Integer) and isinstance(dtype, types.DType):
            return types.Array(dtype.dtype, 1, "C")
    return typer


@lower_builtin(rows_at, types.Integer, types.Integer, types.DType)
def _lower_rows_at(context, builder, signature, args):
    array_type = signature.return_type
    array = make_array(array_type)(context, builder)
    itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
    count = context.cast(builder, args[1], signature.args[1], types.intp)
    data = builder.inttoptr(args[0], array.data.type)
    populate_array(array, data=data, shape=cgutils.pack_array(builder, [count]), strides=cgutils.pack_array(builder, [itemsize]), itemsize=itemsize, meminfo=None)
    return array._getvalue()


OVERLOAD = dict(nogil=True, error_model="numpy", _nrt=False, forceinline=True, fastmath={"contract"})


def is_lanes(t):
    """Whether an argument type belongs to four states at once: lanes, arrays of them, or a tree of them."""
    if isinstance(t, types.Array):
        return t.ndim > 1
    if isinstance(t, types.Record):
        return "lanes" in t.fields
    return getattr(t, "is_lanes", False)


def generic(function):
    """A function of numbers of which lanes have a version of their own: kernels get the one for their types."""
    def choose(*arguments):
        return None if any(is_lanes(t) for t in arguments) else function
    choose.__signature__ = inspect.signature(function)
    overload(function, jit_options=OVERLOAD)(choose)
    return function


def for_lanes(function):
    """Register the decorated function as the version of a generic function for lanes."""
    def register(version):
        def choose(*arguments):
            return version if any(is_lanes(t) for t in arguments) else None
        choose.__signature__ = inspect.signature(version)
        overload(function, jit_options=OVERLOAD)(choose)
        return version
    return register
