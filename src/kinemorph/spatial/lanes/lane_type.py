"""Four floats in one register, as a Numba type: kernels written for a number run on four of them at once.

It can be used in any Numba project: `from kinemorph.spatial.lanes import four as lanes`, and in a jitted function

    x = lanes.load(a, k)                  # a[k, 0] ... a[k, 3], of a C-contiguous array of shape (n, 4)
    y = 2.0 * x + lanes.maximum(x, 0.0)   # all four at once; numbers mix freely
    lanes.store(a, k, y)

The type is LLVM's `<4 x double>`: one AVX2 register. On processors without AVX2 LLVM makes two or four operations of
each. Comparisons give a mask; `select(mask, yes, no)` chooses by it, `any_true` and `all_true` ask about it. There is
no branch on four numbers: they must take the same way. Every lane is computed as if it were alone, so a result does
not depend on its neighbours, to the last bit.

The functions are those of `spatial.lanes.four`, which this module makes known to Numba. With the JIT off, four lanes
are a NumPy array of four (`Four`), and everything still works, slowly.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

from kinemorph.jit.api import (
    OVERLOAD,
    array_data,
    box,
    intrinsic,
    ir,
    lower_builtin,
    lower_cast,
    models,
    overload,
    register_model,
    type_callable,
    types,
)
from kinemorph.spatial.lanes import four as functions

_F64 = ir.VectorType(ir.DoubleType(), functions.LANE_COUNT)
_PAIR = ir.VectorType(ir.DoubleType(), 2)
_I64 = ir.VectorType(ir.IntType(64), functions.LANE_COUNT)
_BIT = ir.VectorType(ir.IntType(1), functions.LANE_COUNT)
_INDEX = ir.IntType(32)
_FOUR = ir.VectorType(_INDEX, functions.LANE_COUNT)


class LanesType(types.Type):
    """Four float64. A number becomes four equal ones where it meets them."""

    is_lanes = True  # what `jit.api.generic` looks for

    def __init__(self) -> None:
        super().__init__(name=f"f64x{functions.LANE_COUNT}")

    def can_convert_from(self, typingctx: Any, other: types.Type) -> Any:
        is_number = isinstance(other, types.Float | types.Integer)
        return typingctx.can_convert(types.int64, types.float64) if is_number else None  # safe, as Numba has it there


class MaskType(types.Type):
    """Four booleans, from a comparison."""

    is_lanes = True

    def __init__(self) -> None:
        super().__init__(name=f"b1x{functions.LANE_COUNT}")


f64x4 = LanesType()
b1x4 = MaskType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: types.Type) -> None:
        super().__init__(manager, fe_type, _F64)


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: types.Type) -> None:
        super().__init__(manager, fe_type, _BIT)


@box(LanesType)
def _box(typ: types.Type, value: Any, c: Any) -> Any:
    """To Python as a tuple of four floats: for tests and a look inside."""
    items = [c.builder.extract_element(value, ir.Constant(_INDEX, i)) for i in range(functions.LANE_COUNT)]
    return c.pyapi.tuple_pack([c.pyapi.float_from_double(x) for x in items])


# ---------------------------------------------------------------------------------------------- arithmetic


def _splat(builder: Any, x: Any) -> Any:
    first = builder.insert_element(ir.Constant(_F64, ir.Undefined), x, ir.Constant(_INDEX, 0))
    zeros = ir.Constant(ir.VectorType(_INDEX, functions.LANE_COUNT), [0] * functions.LANE_COUNT)
    return builder.shuffle_vector(first, ir.Constant(_F64, ir.Undefined), zeros)


def _cast_number(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return _splat(builder, context.cast(builder, value, fromty, types.float64))


lower_cast(types.Float, f64x4)(_cast_number)
lower_cast(types.Integer, f64x4)(_cast_number)


def _is_operand(t: types.Type) -> bool:
    return t == f64x4 or isinstance(t, types.Float | types.Integer)


def _binary(op: Any, result: types.Type, emit: Any) -> None:
    """Teach Numba an operator on lanes, and on lanes with numbers."""

    def typer(a: types.Type, b: types.Type) -> Any:
        return result(f64x4, f64x4) if f64x4 in (a, b) and _is_operand(a) and _is_operand(b) else None

    type_callable(op)(lambda context: typer)
    lower_builtin(op, f64x4, f64x4)(lambda context, builder, sig, args: emit(builder, *args))


_binary(operator.add, f64x4, lambda builder, a, b: builder.fadd(a, b))
_binary(operator.sub, f64x4, lambda builder, a, b: builder.fsub(a, b))
_binary(operator.mul, f64x4, lambda builder, a, b: builder.fmul(a, b))
_binary(operator.truediv, f64x4, lambda builder, a, b: builder.fdiv(a, b))
for _op, _sign in (
    (operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">="), (operator.eq, "=="),
):  # fmt: skip
    _binary(_op, b1x4, lambda builder, a, b, sign=_sign: builder.fcmp_ordered(sign, a, b))
_binary(operator.ne, b1x4, lambda builder, a, b: builder.fcmp_unordered("!=", a, b))


def _unary(op: Any, operand: types.Type, emit: Any) -> None:
    type_callable(op)(lambda context: lambda a: operand(operand) if a == operand else None)
    lower_builtin(op, operand)(lambda context, builder, sig, args: emit(builder, args[0]))


def _masks(op: Any, emit: Any) -> None:
    type_callable(op)(lambda context: lambda a, b: b1x4(b1x4, b1x4) if a == b == b1x4 else None)
    lower_builtin(op, b1x4, b1x4)(lambda context, builder, sig, args: emit(builder, *args))


def _intrinsic_call(builder: Any, name: str, *args: Any) -> Any:
    """A function of LLVM that works lane by lane."""
    kind = ir.FunctionType(_F64, [_F64] * len(args))
    return builder.call(builder.module.declare_intrinsic(f"{name}.v{functions.LANE_COUNT}f64", fnty=kind), args)


_unary(operator.neg, f64x4, lambda builder, a: builder.fneg(a))
_unary(operator.pos, f64x4, lambda builder, a: a)
_unary(abs, f64x4, lambda builder, a: _intrinsic_call(builder, "llvm.fabs", a))
_unary(operator.invert, b1x4, lambda builder, a: builder.not_(a))
_masks(operator.and_, lambda builder, a, b: builder.and_(a, b))
_masks(operator.or_, lambda builder, a, b: builder.or_(a, b))


# ------------------------------------------------------------------------------------- memory and single lanes


@intrinsic
def _load(typingctx: Any, a: Any, k: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = builder.load(_address(context, builder, sig.args[0], args))
        value.align = 8
        return value

    return f64x4(a, types.intp) if _rows_of_four(a) else None, emit


@intrinsic
def _store(typingctx: Any, a: Any, k: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[2], _address(context, builder, sig.args[0], args)).align = 8
        return context.get_dummy_value()

    return types.void(a, types.intp, f64x4) if _rows_of_four(a) else None, emit


@intrinsic
def _load_from(typingctx: Any, a: Any, i: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = builder.load(_entry(context, builder, sig.args[0], args[0], args[1], _F64))
        value.align = 8
        return value

    return f64x4(a, types.intp) if _flat(a) else None, emit


@intrinsic
def _store_from(typingctx: Any, a: Any, i: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[2], _entry(context, builder, sig.args[0], args[0], args[1], _F64)).align = 8
        return context.get_dummy_value()

    return types.void(a, types.intp, f64x4) if _flat(a) else None, emit


@intrinsic
def _load_pairs(typingctx: Any, a: Any, i: Any, j: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pairs = [builder.load(_entry(context, builder, sig.args[0], args[0], at, _PAIR)) for at in args[1:]]
        for pair in pairs:
            pair.align = 8
        return builder.shuffle_vector(*pairs, ir.Constant(_FOUR, [0, 1, 2, 3]))

    return f64x4(a, types.intp, types.intp) if _flat(a) else None, emit


@intrinsic
def _store_pairs(typingctx: Any, a: Any, i: Any, j: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        for at, half in zip(args[1:3], ([0, 1], [2, 3]), strict=True):
            pair = builder.shuffle_vector(args[3], args[3], ir.Constant(ir.VectorType(_INDEX, 2), half))
            builder.store(pair, _entry(context, builder, sig.args[0], args[0], at, _PAIR)).align = 8
        return context.get_dummy_value()

    return types.void(a, types.intp, types.intp, f64x4) if _flat(a) else None, emit


@intrinsic
def _load_pair(typingctx: Any, a: Any, i: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pair = builder.load(_entry(context, builder, sig.args[0], args[0], args[1], _PAIR))
        pair.align = 8
        return builder.shuffle_vector(pair, ir.Constant(_PAIR, [0.0, 0.0]), ir.Constant(_FOUR, [0, 1, 2, 3]))

    return f64x4(a, types.intp) if _flat(a) else None, emit


@intrinsic
def _store_pair(typingctx: Any, a: Any, i: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pair = builder.shuffle_vector(args[2], args[2], ir.Constant(ir.VectorType(_INDEX, 2), [0, 1]))
        builder.store(pair, _entry(context, builder, sig.args[0], args[0], args[1], _PAIR)).align = 8
        return context.get_dummy_value()

    return types.void(a, types.intp, f64x4) if _flat(a) else None, emit


def _flat(a: types.Type) -> bool:
    return isinstance(a, types.Array) and a.ndim == 1 and a.layout == "C" and a.dtype == types.float64


def _entry(context: Any, builder: Any, array_type: Any, array: Any, i: Any, kind: Any) -> Any:
    """Address of numbers from entry i of a flat array on."""
    return builder.bitcast(builder.gep(array_data(context, builder, array_type, array), [i]), kind.as_pointer())


def _rows_of_four(a: types.Type) -> bool:
    return isinstance(a, types.Array) and a.ndim == 2 and a.layout == "C" and a.dtype == types.float64


def _address(context: Any, builder: Any, array_type: Any, args: Any) -> Any:
    """Of row k of an array of shape (n, 4)."""
    data = array_data(context, builder, array_type, args[0])
    start = builder.mul(args[1], ir.Constant(args[1].type, functions.LANE_COUNT))
    return builder.bitcast(builder.gep(data, [start]), _F64.as_pointer())


@intrinsic
def _lane(typingctx: Any, x: Any, i: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], _INDEX))

    return types.float64(f64x4, types.intp), emit


@intrinsic
def _replaced(typingctx: Any, x: Any, i: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], _INDEX))

    return f64x4(f64x4, types.intp, types.float64), emit


@intrinsic
def _turned(typingctx: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.shuffle_vector(args[0], args[0], ir.Constant(_FOUR, [1, 2, 0, 3]))

    return f64x4(f64x4), emit


@intrinsic
def _columns(typingctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def mixed(x: Any, y: Any, *lanes: int) -> Any:
            return builder.shuffle_vector(x, y, ir.Constant(_FOUR, lanes))

        even = [mixed(x, y, 0, 4, 2, 6) for x, y in (args[:2], args[2:])]
        odd = [mixed(x, y, 1, 5, 3, 7) for x, y in (args[:2], args[2:])]
        found = [mixed(*half, *lanes) for lanes in ((0, 1, 4, 5), (2, 3, 6, 7)) for half in (even, odd)]
        return context.make_tuple(builder, sig.return_type, found)

    return types.UniTuple(f64x4, functions.LANE_COUNT)(f64x4, f64x4, f64x4, f64x4), emit


@intrinsic
def _bits(typingctx: Any, mask: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.zext(builder.bitcast(args[0], ir.IntType(functions.LANE_COUNT)), ir.IntType(64))

    return types.int64(b1x4), emit


@intrinsic
def _select(typingctx: Any, mask: Any, yes: Any, no: Any) -> Any:
    return f64x4(b1x4, f64x4, f64x4), lambda context, builder, sig, args: builder.select(*args)


@intrinsic
def _sqrt(typingctx: Any, x: Any) -> Any:
    return f64x4(f64x4), lambda context, builder, sig, args: _intrinsic_call(builder, "llvm.sqrt", args[0])


@intrinsic
def _splat_number(typingctx: Any, x: Any) -> Any:
    return f64x4(types.float64), lambda context, builder, sig, args: _splat(builder, args[0])


@intrinsic
def _power_of_two(typingctx: Any, k: Any) -> Any:
    """2^k for whole k from -1022 to 1023, by writing the exponent's bits."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        whole = builder.add(builder.fptosi(args[0], _I64), ir.Constant(_I64, [1023] * functions.LANE_COUNT))
        return builder.bitcast(builder.shl(whole, ir.Constant(_I64, [52] * functions.LANE_COUNT)), _F64)

    return f64x4(f64x4), emit


@intrinsic
def _exponent(typingctx: Any, x: Any) -> Any:
    """The exponent field of positive normal numbers, as numbers; no bias removed."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        field = builder.lshr(builder.bitcast(args[0], _I64), ir.Constant(_I64, [52] * functions.LANE_COUNT))
        return builder.sitofp(field, _F64)

    return f64x4(f64x4), emit


@intrinsic
def _mantissa(typingctx: Any, x: Any) -> Any:
    """The same digits with exponent zero: 1 <= m < 2."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        digits = builder.and_(builder.bitcast(args[0], _I64), ir.Constant(_I64, [(1 << 52) - 1] * functions.LANE_COUNT))
        return builder.bitcast(builder.or_(digits, ir.Constant(_I64, [1023 << 52] * functions.LANE_COUNT)), _F64)

    return f64x4(f64x4), emit


# ---------------------------------------------------------------------------------- what kernels call for `four`


def _in_kernels(function: Any) -> Any:
    """Register what kernels call for one of the functions above."""

    def register(version: Any) -> Any:
        def choose(*arguments: Any) -> Any:
            return version

        choose.__signature__ = inspect.signature(version)  # type: ignore[attr-defined]
        overload(function, jit_options=OVERLOAD)(choose)
        return version

    return register


@_in_kernels(functions.load)
def _(a: Any, k: int) -> Any:
    return _load(a, k)


@_in_kernels(functions.store)
def _(a: Any, k: int, x: Any) -> None:
    _store(a, k, x)


@_in_kernels(functions.load_from)
def _(a: Any, i: int) -> Any:
    return _load_from(a, i)


@_in_kernels(functions.store_from)
def _(a: Any, i: int, x: Any) -> None:
    _store_from(a, i, x)


@_in_kernels(functions.load_pairs)
def _(a: Any, i: int, j: int) -> Any:
    return _load_pairs(a, i, j)


@_in_kernels(functions.store_pairs)
def _(a: Any, i: int, j: int, x: Any) -> None:
    _store_pairs(a, i, j, x)


@_in_kernels(functions.load_pair)
def _(a: Any, i: int) -> Any:
    return _load_pair(a, i)


@_in_kernels(functions.store_pair)
def _(a: Any, i: int, x: Any) -> None:
    _store_pair(a, i, x)


@_in_kernels(functions.load_strided)
def _(a: Any, start: int, stride: int) -> Any:
    x = _splat_number(a[start])
    for i in range(1, functions.LANE_COUNT):
        x = _replaced(x, i, a[start + i * stride])
    return x


@_in_kernels(functions.store_strided)
def _(a: Any, start: int, stride: int, x: Any) -> None:
    for i in range(functions.LANE_COUNT):
        a[start + i * stride] = _lane(x, i)


@_in_kernels(functions.splat)
def _(x: Any) -> Any:
    return _splat_number(float(x))


@_in_kernels(functions.lane)
def _(x: Any, i: int) -> float:
    return _lane(x, i)


@_in_kernels(functions.replaced)
def _(x: Any, i: int, value: float) -> Any:
    return _replaced(x, i, value)


@_in_kernels(functions.three)
def _(a: float, b: float, c: float) -> Any:
    return _replaced(_replaced(_replaced(_splat_number(0.0), 0, a), 1, b), 2, c)


@_in_kernels(functions.columns)
def _(a: Any, b: Any, c: Any, d: Any) -> Any:
    return _columns(a, b, c, d)


@_in_kernels(functions.turned)
def _(x: Any) -> Any:
    return _turned(x)


@_in_kernels(functions.select)
def _(mask: Any, yes: Any, no: Any) -> Any:
    return _select(mask, yes, no)


@_in_kernels(functions.any_true)
def _(mask: Any) -> bool:
    return _bits(mask) != 0


@_in_kernels(functions.all_true)
def _(mask: Any) -> bool:
    return _bits(mask) == (1 << functions.LANE_COUNT) - 1


@_in_kernels(functions.sqrt)
def _(x: Any) -> Any:
    return _sqrt(x)


@_in_kernels(functions.minimum)
def _(a: Any, b: Any) -> Any:
    return _select(a < b, a, b)


@_in_kernels(functions.maximum)
def _(a: Any, b: Any) -> Any:
    return _select(a > b, a, b)


@_in_kernels(functions.power_of_two)
def _(k: Any) -> Any:
    return _power_of_two(k)


@_in_kernels(functions.exponent)
def _(x: Any) -> Any:
    return _exponent(x)


@_in_kernels(functions.mantissa)
def _(x: Any) -> Any:
    return _mantissa(x)


for _reduction in (functions.sum_of, functions.min_of, functions.max_of):
    _in_kernels(_reduction)(_reduction)
