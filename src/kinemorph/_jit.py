"""Stub, to be replaced."""
import numba
import os

kernel = numba.njit(nogil=True, error_model="numpy", _nrt=not os.environ.get("NONRT"), forceinline=bool(os.environ.get("FI")), fastmath=eval(os.environ.get("FM","False")))
entry = kernel

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
