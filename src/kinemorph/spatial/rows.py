"""Tuples read from the fields of rows, and written to them."""

import operator
from typing import Any

from kinemorph.jit.api import generic, kernel
from kinemorph.spatial.mat3 import Mat3, Sym3
from kinemorph.spatial.vec3 import Scalar, Vec3


def _type_get(numba: Any, context: Any, a: Any, k: Any) -> Any:
    return context.resolve_function_type(operator.getitem, (a, numba.types.int64), {})


def _lower_get(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.get_function(operator.getitem, signature)(builder, args)


@generic(lanes="kinemorph.spatial.lanes.lane_math", emitted=(_type_get, _lower_get))
def get(a: Any, k: int) -> Scalar:
    return a[k]


def _type_put(numba: Any, context: Any, a: Any, k: Any, x: Any) -> Any:
    return context.resolve_function_type(operator.setitem, (a, numba.types.int64, x), {})


def _lower_put(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    context.get_function(operator.setitem, signature)(builder, args)
    return context.get_dummy_value()


@generic(lanes="kinemorph.spatial.lanes.lane_math", emitted=(_type_put, _lower_put))
def put(a: Any, k: int, x: Scalar) -> None:
    a[k] = x


@kernel
def load3(a: Any) -> Vec3:
    return (get(a, 0), get(a, 1), get(a, 2))


@kernel
def load3_at(a: Any, k: int) -> Vec3:
    return (get(a, k), get(a, k + 1), get(a, k + 2))


@kernel
def load4_at(a: Any, k: int) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    return (get(a, k), get(a, k + 1), get(a, k + 2), get(a, k + 3))


@kernel
def load6(a: Any) -> Sym3:
    return (get(a, 0), get(a, 1), get(a, 2), get(a, 3), get(a, 4), get(a, 5))


@kernel
def load9(a: Any) -> Mat3:
    return (get(a, 0), get(a, 1), get(a, 2), get(a, 3), get(a, 4), get(a, 5), get(a, 6), get(a, 7), get(a, 8))


@kernel
def store3(a: Any, x: Vec3) -> None:
    put(a, 0, x[0])
    put(a, 1, x[1])
    put(a, 2, x[2])


@kernel
def store3_at(a: Any, k: int, x: Vec3) -> None:
    put(a, k, x[0])
    put(a, k + 1, x[1])
    put(a, k + 2, x[2])


@kernel
def store4_at(a: Any, k: int, x: tuple[Scalar, Scalar, Scalar, Scalar]) -> None:
    put(a, k, x[0])
    put(a, k + 1, x[1])
    put(a, k + 2, x[2])
    put(a, k + 3, x[3])


@kernel
def store6(a: Any, x: Sym3) -> None:
    put(a, 0, x[0])
    put(a, 1, x[1])
    put(a, 2, x[2])
    put(a, 3, x[3])
    put(a, 4, x[4])
    put(a, 5, x[5])


@kernel
def store9(a: Any, x: Mat3) -> None:
    put(a, 0, x[0])
    put(a, 1, x[1])
    put(a, 2, x[2])
    put(a, 3, x[3])
    put(a, 4, x[4])
    put(a, 5, x[5])
    put(a, 6, x[6])
    put(a, 7, x[7])
    put(a, 8, x[8])
